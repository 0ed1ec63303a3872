//! Creating threads.

use std::io;
use std::sync::OnceLock;

use super::handle::{Inner, JoinHandle, Joinable, Packet, Thread};
use crate::rt::{self, Handle};

/// Creates a thread, as [`std::thread::spawn`].
///
/// ```
/// selvedge::check(|| {
///     let answer = selvedge::thread::spawn(|| 42).join().unwrap();
///     assert_eq!(answer, 42);
/// });
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// How to create a thread, as [`std::thread::Builder`].
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// A thread without a name, with a stack of the usual size.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Names the thread. The name appears in counterexamples.
    ///
    /// # Panics
    /// When the name has a NUL byte.
    pub fn name(self, name: String) -> Self {
        assert!(!name.contains('\0'), "thread name may not contain interior null bytes");
        Builder { name: Some(name), ..self }
    }

    /// The size of the stack in bytes. A check may give it more.
    pub fn stack_size(self, size: usize) -> Self {
        Builder { stack_size: Some(size), ..self }
    }

    /// Creates the thread.
    ///
    /// # Errors
    /// When the operating system cannot; never in a check.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: the closure and its result are 'static.
        unsafe { self.spawn_unchecked(f) }.map(JoinHandle)
    }

    /// Creates a thread whose closure may borrow.
    ///
    /// # Safety
    /// What the closure borrows must outlive the thread: its creator must wait for its end.
    #[track_caller]
    pub(super) unsafe fn spawn_unchecked<'a, F, T>(self, f: F) -> io::Result<Inner<T>>
    where
        F: FnOnce() -> T + Send + 'a,
        T: Send + 'a,
    {
        let Some(handle) = rt::current() else {
            let builder = self.std();
            // SAFETY: as this function's.
            let handle = unsafe { builder.spawn_unchecked(f) }?;
            let thread = Thread::outside(handle.thread().clone());
            return Ok(Inner::Outside(handle, thread));
        };
        // SAFETY: as this function's.
        Ok(unsafe { self.spawn_controlled(handle, None, f) })
    }

    /// Creates a thread of a check, which may take what is not `Send`: all threads of a check run on one OS thread.
    ///
    /// # Panics
    /// Outside of a check.
    #[track_caller]
    pub fn spawn_in_check<F, T>(self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let handle = rt::current().expect("only in a check can a thread take what is not `Send`");
        // SAFETY: the closure and its result are 'static.
        JoinHandle(unsafe { self.spawn_controlled(handle, Some(handle.get().stamp), f) })
    }

    /// Creates a thread whose result is dropped only in the execution `home`, if that is given.
    ///
    /// # Safety
    /// As for `spawn_unchecked`; what is not `Send` needs a `home`.
    unsafe fn spawn_controlled<F, T>(self, handle: Handle, home: Option<u64>, f: F) -> Inner<T>
    where
        F: FnOnce() -> T,
    {
        let packet = Packet::new(home);
        let result = packet.clone();
        let main = move || rt::body(f, |value| result.put(value));
        // SAFETY: as this function's; and a coroutine that is torn down is unwound before its creator's.
        let index = unsafe { rt::spawn(handle, self.name, self.stack_size, main) };
        let stamp = handle.get().stamp;
        Inner::InCheck(Joinable { handle, index, packet, stamp, thread: OnceLock::new() })
    }

    pub(super) fn std(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}
