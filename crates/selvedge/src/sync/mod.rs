//! Synchronisation, with the names and meaning of [`std::sync`].

pub mod atomic;
mod condvar;
pub mod mpsc;
mod mutex;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use std::sync::{Arc, Weak};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
