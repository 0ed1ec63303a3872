//! The guards of [`RwLock`].

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use selvedge_core::{Access, Op, OpKind};

use super::rwlock::{POISONED, READER, READERS, RwLock, WRITER};
use crate::rt::{Handle, Phase, Value};

/// Shared access to what an [`RwLock`] guards, until it is dropped; as [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    held: ReadHeld<'a>,
    /// Where it was taken, for the report of its release.
    site: &'static Location<'static>,
    /// Not `Send`, as std's is not.
    not_send: PhantomData<*const ()>,
}

pub(super) enum ReadHeld<'a> {
    InCheck(Handle),
    Outside(#[expect(dead_code, reason = "held until it is dropped")] std::sync::RwLockReadGuard<'a, ()>),
}

/// Exclusive access to what an [`RwLock`] guards, until it is dropped; as [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    held: WriteHeld<'a>,
    /// Whether the thread was panicking when it took the lock: then it does not poison it.
    panicking: bool,
    /// Where it was taken, for the report of its release.
    site: &'static Location<'static>,
    /// Not `Send`, as std's is not.
    not_send: PhantomData<*const ()>,
}

pub(super) enum WriteHeld<'a> {
    InCheck(Handle),
    /// The lock is released before the turnstile.
    Outside(std::sync::RwLockWriteGuard<'a, ()>, std::sync::MutexGuard<'a, ()>),
}

// SAFETY: as for std's: a shared guard gives shared access to the data.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    pub(super) fn new(lock: &'a RwLock<T>, held: ReadHeld<'a>, site: &'static Location<'static>) -> Self {
        RwLockReadGuard { lock, held, site, not_send: PhantomData }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    pub(super) fn new(lock: &'a RwLock<T>, held: WriteHeld<'a>, site: &'static Location<'static>) -> Self {
        RwLockWriteGuard { lock, held, panicking: crate::thread::panicking(), site, not_send: PhantomData }
    }

    /// Turns exclusive access into shared access. No other writer can come between.
    ///
    /// ```
    /// use selvedge::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write().unwrap();
    /// *writer = 2;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!(*reader, 2);
    /// assert!(lock.try_read().is_ok());
    /// assert!(lock.try_write().is_err());
    /// ```
    #[track_caller]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let site = Location::caller();
        let guard = ManuallyDrop::new(guard);
        // SAFETY: the guard is not dropped, so what it holds is moved out once.
        let held = match unsafe { std::ptr::read(&raw const guard.held) } {
            WriteHeld::Outside(outside, turn) => {
                drop(outside);
                let reader = guard.lock.outside.read().unwrap_or_else(PoisonError::into_inner);
                drop(turn);
                ReadHeld::Outside(reader)
            }
            WriteHeld::InCheck(handle) => {
                let lock = guard.lock.object(handle);
                handle.visible(Op::on(OpKind::Unlock, Access::Write, lock), site);
                let runtime = handle.get();
                runtime.value = Value::Note("and keep it for reading");
                let word = runtime.state(lock).word;
                runtime.set_word(lock, (word & !WRITER) + READER);
                ReadHeld::InCheck(handle)
            }
        };
        RwLockReadGuard::new(guard.lock, held, site)
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let ReadHeld::InCheck(handle) = self.held else { return };
        let lock = self.lock.object(handle);
        handle.visible(Op::on(OpKind::ReadUnlock, Access::Read, lock), self.site);
        let runtime = handle.get();
        let current = runtime.current;
        let state = runtime.state(lock);
        let word = state.word - READER;
        if word & READERS == 0 || state.holder == Some(current) {
            state.holder = None;
        }
        runtime.set_word(lock, word);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let poisons = !self.panicking && crate::thread::panicking();
        match self.held {
            WriteHeld::Outside(..) => {
                if poisons {
                    self.lock.poisoned.store(true, Ordering::Relaxed);
                }
            }
            WriteHeld::InCheck(handle) => {
                let lock = self.lock.object(handle);
                if poisons && handle.get().phase == Phase::Running {
                    handle.get().state(lock).word |= POISONED;
                }
                handle.visible(Op::on(OpKind::Unlock, Access::Write, lock), self.site);
                let runtime = handle.get();
                let state = runtime.state(lock);
                state.holder = None;
                let word = state.word;
                runtime.set_word(lock, word & !WRITER);
            }
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, so nobody writes.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock alone, and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
