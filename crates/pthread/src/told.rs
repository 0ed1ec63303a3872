//! What else is logged of an execution that people are told of: the calls around each place, as far as the stack can be
//! unwound, the libraries that were loaded, and where memory was freed.
//!
//! A place in a header of C++'s library says little, and which code is from there only the controlling side knows. To
//! unwind the stack takes longer than a step. So it is done where an execution is run again to be written down, and
//! nowhere else.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Record, head, tag};
use crate::runtime::{Runtime, rt};
use crate::site::Frame;
use crate::sys;
use crate::unwind::each_frame;

/// How many calls are looked at.
const DEEPEST: usize = 126;

/// The calls around one, from the inside out.
struct Calls {
    /// The innermost: what is further inside is the runtime's.
    frame: Frame,
    count: usize,
    /// Where they return to, and where on the stack that is.
    returns: [u64; DEEPEST],
    slots: [usize; DEEPEST],
}
struct Shared(UnsafeCell<Calls>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Shared {}
/// Those that were found last.
static LAST: Shared = Shared(UnsafeCell::new(Calls {
    frame: Frame::NONE,
    count: 0,
    returns: [0; DEEPEST],
    slots: [0; DEEPEST],
}));

/// Where what is kept here is.
pub(crate) fn memory() -> std::ops::Range<usize> {
    let at = LAST.0.get() as usize;
    at..at + size_of::<Calls>()
}

impl Calls {
    /// Finds those around this one. A function that accesses memory again and again has the same calls around it each
    /// time, and to see that they are still on the stack takes less than to unwind it.
    fn find(&mut self, frame: Frame, stack_top: usize) {
        let is_last = self.count > 0 && (self.frame.stack, self.frame.outer) == (frame.stack, frame.outer);
        self.frame = frame;
        if is_last && self.are_there(stack_top) {
            self.returns[0] = frame.call as u64;
            return;
        }
        self.count = 0;
        each_frame(|unwound| {
            if self.count > 0 || unwound.place() == self.frame.call {
                self.returns[self.count] = unwound.place() as u64;
                // The call has left it just below.
                self.slots[self.count] = unwound.stack().wrapping_sub(8);
                self.count += 1;
            }
            self.count < DEEPEST
        });
    }

    fn are_there(&self, stack_top: usize) -> bool {
        let (returns, slots) = (&self.returns[1..self.count], &self.slots[1..self.count]);
        let stack = self.frame.stack..stack_top.saturating_sub(7);
        returns.iter().zip(slots).all(|(at, slot)| {
            // SAFETY: on the thread's stack, between the caller's frame and its beginning.
            stack.contains(slot) && slot.is_multiple_of(8) && unsafe { *(*slot as *const u64) } == *at
        })
    }
}

/// Logs the calls around a place, if people are told. What is logged next has the place itself.
#[inline]
pub(crate) fn calls(runtime: &mut Runtime, frame: Frame) {
    if runtime.is_told && frame.call != 0 {
        log_calls(runtime, frame);
    }
}

#[cold]
fn log_calls(runtime: &mut Runtime, frame: Frame) {
    libraries(runtime);
    // SAFETY: see `Shared`.
    let calls = unsafe { &mut *LAST.0.get() };
    calls.find(frame, runtime.threads[runtime.current as usize].stack_top);
    log_returns(runtime, &calls.returns[..calls.count]);
}

fn log_returns(runtime: &mut Runtime, returns: &[u64]) {
    for part in returns.chunks(7) {
        let mut record: Record = [head(tag::CALLS, 0), 0, 0, 0, 0, 0, 0, 0];
        record[1..=part.len()].copy_from_slice(part);
        runtime.log(record);
    }
}

/// Logs the calls around where a signal has come that ends the execution. The stack may be in any state, and is not
/// unwound: calls are found along the frame pointers.
#[cold]
pub(crate) fn interrupted(frame: Frame) {
    let runtime = rt();
    if std::mem::take(&mut runtime.is_told) {
        libraries(runtime);
    }
    let places = frame.places::<DEEPEST>(runtime.threads[runtime.current as usize].stack_top);
    let count = places.iter().take_while(|place| **place != 0).count();
    log_returns(runtime, &places[..count]);
}

/// How often something had been loaded when this was last looked at.
static LOADS: AtomicU64 = AtomicU64::new(0);

fn loads() -> u64 {
    extern "C" fn first(info: *mut sys::DlInfo, _: usize, loads: *mut c_void) -> c_int {
        // SAFETY: the loader gives valid information, and what it was given.
        unsafe { *loads.cast::<u64>() = (*info).loads };
        1
    }
    let mut loads = 0_u64;
    // SAFETY: the callback takes what the loader gives, and this.
    unsafe { sys::dl_iterate_phdr(first, (&raw mut loads).cast()) };
    loads
}

/// Called before executions are forked: what is loaded by then the controlling side knows.
pub(crate) fn prepare() {
    LOADS.store(loads(), Ordering::Relaxed);
}

/// Logs what is loaded, if that has changed.
fn libraries(runtime: &mut Runtime) {
    extern "C" fn each(info: *mut sys::DlInfo, _: usize, runtime: *mut c_void) -> c_int {
        const LOAD: u32 = 1;
        // SAFETY: the loader gives what it was given.
        let (info, runtime) = unsafe { (&*info, &mut *runtime.cast::<Runtime>()) };
        // SAFETY: the loader gives valid headers, and a C string.
        let (headers, path) = unsafe {
            let length = sys::strlen(info.name) + 1;
            let headers = std::slice::from_raw_parts(info.headers, usize::from(info.count));
            (headers, std::slice::from_raw_parts(info.name.cast::<u8>(), length))
        };
        let parts = || headers.iter().filter(|header| header.kind == LOAD);
        let from = parts().map(|part| part.address).min().unwrap_or(0);
        let to = parts().map(|part| part.address + part.memory_size).max().unwrap_or(0);
        // The executable has no name.
        if path.len() == 1 || from == to {
            return 0;
        }
        let base = info.base as u64;
        for (index, part) in path.chunks(32).enumerate() {
            let mut bytes = [0_u8; 32];
            bytes[..part.len()].copy_from_slice(part);
            let mut record: Record =
                [head(tag::LOADED, 32 * index as u32), base + from, base + to, base, 0, 0, 0, 0];
            for (word, bytes) in record[4..].iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            runtime.log(record);
        }
        0
    }
    let loads = loads();
    if LOADS.swap(loads, Ordering::Relaxed) != loads {
        // SAFETY: the callback takes what the loader gives, and the runtime, which nobody else uses meanwhile.
        unsafe { sys::dl_iterate_phdr(each, std::ptr::from_mut(runtime).cast()) };
    }
}

/// A block was freed.
pub(crate) fn freed(address: usize, size: usize, frame: Frame) {
    let runtime = rt();
    if runtime.is_told {
        calls(runtime, frame);
        let (by, place) = (head(tag::FREED, runtime.current), frame.call as u64);
        runtime.log([by, address as u64, size as u64, place, 0, 0, 0, 0]);
    }
}

/// What is about to be reported is wrong because the memory at this address was freed.
pub(crate) fn stale(address: usize) {
    let runtime = rt();
    if runtime.is_told {
        runtime.log([head(tag::STALE, 0), address as u64, 0, 0, 0, 0, 0, 0]);
    }
}
