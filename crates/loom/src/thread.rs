//! Threads, as in [`std::thread`].

use std::io;

pub use selvedge::thread::{
    AccessError, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, current, panicking, park,
    scope, sleep, yield_now,
};

/// Creates a thread. As loom's, and unlike std's, it takes what is not `Send`.
///
/// # Panics
/// Outside of a model.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    selvedge::thread::Builder::new().spawn_in_check(f)
}

/// How to create a thread.
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder(selvedge::thread::Builder);

impl Builder {
    /// A thread without a name.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Names the thread. The name appears in counterexamples.
    pub fn name(self, name: String) -> Self {
        Builder(self.0.name(name))
    }

    /// The size of the stack in bytes. A model may give it more.
    pub fn stack_size(self, size: usize) -> Self {
        Builder(self.0.stack_size(size))
    }

    /// Creates the thread.
    ///
    /// # Errors
    /// None, in a model.
    ///
    /// # Panics
    /// Outside of a model.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        Ok(self.0.spawn_in_check(f))
    }
}
