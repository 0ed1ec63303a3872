//! Threads, with the names and meaning of [`std::thread`].

mod builder;
mod handle;
mod local;
mod park;
mod scoped;

use std::panic::Location;
use std::time::Duration;

use selvedge_core::{Op, OpKind};

use crate::rt;

pub use builder::{Builder, spawn};
pub use handle::{JoinHandle, Thread, ThreadId, current};
pub use local::{AccessError, LocalKey};
pub use park::{park, park_timeout};
pub use scoped::{Scope, ScopedJoinHandle, scope};
pub use std::thread::Result;

/// Lets other threads run, as [`std::thread::yield_now`]. In a check the switch is no preemption.
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    match rt::current() {
        None => std::thread::yield_now(),
        Some(handle) => handle.visible(Op::local(OpKind::Yield), Location::caller()),
    }
}

/// Sleeps, as [`std::thread::sleep`]. In a check it takes no time: other threads may run for as long as they
/// like, or not at all, and then virtual time has passed.
#[track_caller]
pub fn sleep(duration: Duration) {
    match rt::current() {
        None => std::thread::sleep(duration),
        Some(handle) => {
            let until = handle.get().now().saturating_add(duration);
            handle.visible(Op::local(OpKind::Sleep), Location::caller());
            handle.get().pass_time(until);
        }
    }
}

/// Whether the thread is unwinding because of a panic, as [`std::thread::panicking`], which does not know
/// the threads of a check.
pub fn panicking() -> bool {
    match rt::current() {
        None => std::thread::panicking(),
        Some(handle) => handle.get().is_unwinding(),
    }
}

/// How many threads can run at once, as [`std::thread::available_parallelism`]. In a check always two, so
/// that a program does not depend on the machine it is checked on.
pub fn available_parallelism() -> std::io::Result<std::num::NonZero<usize>> {
    match rt::current() {
        None => std::thread::available_parallelism(),
        Some(_) => Ok(std::num::NonZero::new(2).expect("two is not zero")),
    }
}
