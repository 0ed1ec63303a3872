//! Synchronisation: [`std::sync`]'s types, and [`Notify`].

mod notify;

pub use notify::Notify;
pub use selvedge::sync::mpsc;
pub use selvedge::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, RwLock, RwLockReadGuard,
    RwLockWriteGuard, TryLockResult, WaitTimeoutResult, Weak,
};

/// Atomic types, as in [`std::sync::atomic`].
pub mod atomic {
    pub use selvedge::hint::spin_loop as spin_loop_hint;
    pub use selvedge::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
        AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}
