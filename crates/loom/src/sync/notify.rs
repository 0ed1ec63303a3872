//! [`Notify`].

use std::sync::atomic::{AtomicBool, Ordering};

use selvedge::sync::{Condvar, Mutex};
use selvedge::thread;

/// A notification that one thread waits for; one that comes early is kept.
///
/// A wait may end without a notification, as in loom: one of each `Notify`, and whether it does is explored.
///
/// ```
/// use loom::sync::{Arc, Notify};
///
/// loom::model(|| {
///     let notify = Arc::new(Notify::new());
///     let other = notify.clone();
///     let thread = loom::thread::spawn(move || other.notify());
///     notify.wait();
///     thread.join().unwrap();
/// });
/// ```
#[derive(Debug)]
pub struct Notify {
    notified: Mutex<bool>,
    changed: Condvar,
    /// Touched by one thread at a time, within steps.
    waits: AtomicBool,
    woke_spuriously: AtomicBool,
}

impl Notify {
    /// One without a notification.
    #[must_use]
    pub fn new() -> Self {
        Notify {
            notified: Mutex::new(false),
            changed: Condvar::new(),
            waits: AtomicBool::new(false),
            woke_spuriously: AtomicBool::new(false),
        }
    }

    /// Notifies the thread that waits, or the next to wait.
    #[track_caller]
    pub fn notify(&self) {
        let mut notified = self.notified.lock().expect("no thread panics with it");
        *notified = true;
        self.changed.notify_one();
    }

    /// Waits for a notification, and takes it.
    ///
    /// # Panics
    /// When another thread waits already.
    #[track_caller]
    pub fn wait(&self) {
        assert!(!self.waits.swap(true, Ordering::Relaxed), "only a single thread may wait on `Notify`");
        if !self.ends_spuriously() {
            let mut notified = self.notified.lock().expect("no thread panics with it");
            while !*notified {
                notified = self.changed.wait(notified).expect("no thread panics with it");
            }
            *notified = false;
        }
        self.waits.store(false, Ordering::Relaxed);
    }

    fn ends_spuriously(&self) -> bool {
        if self.woke_spuriously.load(Ordering::Relaxed) || !crate::model::spurious() {
            return false;
        }
        self.woke_spuriously.store(true, Ordering::Relaxed);
        thread::yield_now();
        true
    }
}

impl Default for Notify {
    fn default() -> Self {
        Notify::new()
    }
}
