//! The types of this crate against std's documented behaviour: each body runs once on threads of the
//! operating system, outside of a check, and once under a check.

mod arc;
mod arc_convert;
mod atomic;
mod barrier;
mod condvar;
mod lazy;
mod local;
mod mutex;
mod once;
mod once_lock;
mod park;
mod rwlock;
mod scope;
mod thread;
mod time;

use std::any::Any;

use selvedge::Checker;

/// Runs a body outside of a check, and then under one.
#[track_caller]
fn both(body: fn()) {
    body();
    Checker::new().check(body);
}

/// As [`both`], for a body some of whose threads panic.
#[track_caller]
fn both_with_panics(body: fn()) {
    body();
    Checker::new().allow_thread_panics().check(body);
}

/// The message of a panic.
fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<&str>() {
        Ok(text) => (*text).to_string(),
        Err(payload) => *payload.downcast::<String>().expect("a panic with a message"),
    }
}

/// Runs something that panics, and returns its message.
#[track_caller]
fn panics<R>(f: impl FnOnce() -> R) -> String {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
        Ok(_) => panic!("it should have panicked"),
        Err(payload) => message(payload),
    }
}
