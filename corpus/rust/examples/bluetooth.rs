//! A Plug and Play driver that is stopped while requests are under way.
//!
//! After the Bluetooth driver that Qadeer and Wu found a bug in, one of the programs of Musuvathi and Qadeer's
//! *Iterative Context Bounding* (PLDI 2007). Requests come from any thread and may come at any time; the Plug
//! and Play manager stops the driver when the device goes away. Stopping must wait for the requests under way
//! and turn away new ones: no request may touch a device that is gone.
//!
//@ check-then-count: violated, panic, 1 preemption
//@ check-then-count at 0: 2 executions, 2 orders, 36 states
//@ fixed: holds, 2 preemptions
//@ fixed at 0: 2 executions, 2 orders, 41 states
//@ fixed at 1: 20 executions, 20 orders, 357 states
//@ fixed at 2: 84 executions, 84 orders, 1355 states

use selvedge::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge_corpus::{Variant, start};

/// How a request announces itself to the driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// It looks at the flag and then counts itself. In between the driver may stop: it finds nothing pending
    /// and lets the device go, and the request carries on with a device that is no longer there.
    CheckThenCount,
    /// It counts itself first, so that the driver cannot finish stopping from then on, and then looks.
    CountThenCheck,
}

/// What the driver keeps for a device.
struct DeviceExtension {
    entry: Entry,
    /// Requests under way, and one more until the driver is stopped.
    pending_io: AtomicU32,
    /// The driver takes no more requests.
    stopping: AtomicBool,
    /// Set when nothing is pending any more.
    stop_event: Event,
    /// The device has been let go.
    stopped: AtomicBool,
}

/// The driver is stopping and takes no requests.
#[derive(Debug)]
struct DeletePending;

impl DeviceExtension {
    fn new(entry: Entry) -> Self {
        DeviceExtension {
            entry,
            pending_io: AtomicU32::new(1),
            stopping: AtomicBool::new(false),
            stop_event: Event::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Called by each request before it uses the device.
    fn io_increment(&self) -> Result<(), DeletePending> {
        match self.entry {
            Entry::CheckThenCount => {
                if self.stopping.load(SeqCst) {
                    return Err(DeletePending);
                }
                self.pending_io.fetch_add(1, SeqCst);
            }
            Entry::CountThenCheck => {
                self.pending_io.fetch_add(1, SeqCst);
                if self.stopping.load(SeqCst) {
                    self.io_decrement();
                    return Err(DeletePending);
                }
            }
        }
        Ok(())
    }

    /// Called by each request when it is done, and once when the driver stops.
    fn io_decrement(&self) {
        if self.pending_io.fetch_sub(1, SeqCst) == 1 {
            self.stop_event.set();
        }
    }

    /// A request: reads from the device, unless that is going away.
    fn read(&self) -> Result<(), DeletePending> {
        self.io_increment()?;
        assert!(!self.stopped.load(SeqCst), "a request uses the device after the driver let it go");
        self.io_decrement();
        Ok(())
    }

    /// The Plug and Play manager stops the driver.
    fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.io_decrement();
        self.stop_event.wait();
        self.stopped.store(true, SeqCst);
    }
}

/// An event that stays set.
#[derive(Default)]
struct Event {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    fn set(&self) {
        *self.is_set.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let is_set = self.is_set.lock().unwrap();
        drop(self.changed.wait_while(is_set, |is_set| !*is_set).unwrap());
    }
}

/// Two requests while the driver is being stopped.
fn stop_during_requests(entry: Entry) {
    let device = Arc::new(DeviceExtension::new(entry));
    let pnp = start("pnp", {
        let device = device.clone();
        move || device.stop()
    });
    let reader = start("reader", {
        let device = device.clone();
        move || drop(device.read())
    });
    let _ = device.read();
    pnp.join().unwrap();
    reader.join().unwrap();
}

/// The driver as it was, and mended.
pub(crate) const VARIANTS: &[Variant] = &[
    ("check-then-count", || stop_during_requests(Entry::CheckThenCount)),
    ("fixed", || stop_during_requests(Entry::CountThenCheck)),
];

fn main() {
    selvedge_corpus::check("bluetooth", VARIANTS);
}
