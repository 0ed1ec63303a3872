//! [`RwLock`].

use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind};

use super::rwlock_guard::{ReadHeld, RwLockReadGuard, RwLockWriteGuard, WriteHeld};
use crate::rt::{self, Gate, Handle, ObjectKind, ObjectSlot, Value};

/// The object's word: whether a writer has it, whether it is poisoned, above these the number of readers, and above that the
/// number of writers that wait for readers to leave.
pub(crate) const WRITER: u64 = 1;
pub(super) const POISONED: u64 = 2;
pub(super) const READER: u64 = 1 << 8;
pub(super) const READERS: u64 = (WAITER - 1) & !(READER - 1);
const WAITER: u64 = 1 << 32;
const WAITERS: u64 = !(WAITER - 1);

/// A lock for one writer or many readers, as [`std::sync::RwLock`].
///
/// Whether a writer that waits keeps new readers out depends on the system; a check explores both. A writer that finds
/// readers begins to wait in a step of its own, and from then on `read` waits for it and `try_read` fails. Until that step
/// it keeps nobody out. So a thread that read-locks it twice deadlocks when a writer comes between.
/// For the data of a `static` see [`Mutex`](crate::sync::Mutex).
///
/// ```
/// use selvedge::sync::{Arc, RwLock};
///
/// selvedge::check(|| {
///     let names = Arc::new(RwLock::new(vec!["Ada"]));
///     let other = names.clone();
///     let writer = selvedge::thread::spawn(move || other.write().unwrap().push("Grace"));
///     assert!(names.read().unwrap().contains(&"Ada"));
///     writer.join().unwrap();
///     assert_eq!(names.read().unwrap().len(), 2);
/// });
/// ```
pub struct RwLock<T: ?Sized> {
    pub(super) slot: ObjectSlot,
    /// Taken outside of a check.
    used_outside: AtomicBool,
    /// Poisoned outside of a check.
    pub(super) poisoned: AtomicBool,
    /// Outside of a check, writers take this before the lock, so that one can turn into a reader with no
    /// other coming between.
    pub(super) turnstile: std::sync::Mutex<()>,
    /// The lock outside of a check.
    pub(super) outside: std::sync::RwLock<()>,
    pub(super) data: UnsafeCell<T>,
}

// SAFETY: as for std's: the lock owns its data.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as for std's: one thread at a time gets exclusive access, or several get shared access.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    /// A new lock, which nobody holds.
    #[inline]
    pub const fn new(value: T) -> Self {
        RwLock {
            slot: ObjectSlot::new(),
            used_outside: AtomicBool::new(false),
            poisoned: AtomicBool::new(false),
            turnstile: std::sync::Mutex::new(()),
            outside: std::sync::RwLock::new(()),
            data: UnsafeCell::new(value),
        }
    }

    /// Takes the data out.
    ///
    /// # Errors
    /// When the lock is poisoned. The error has the data.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.is_poisoned();
        poison_result(poisoned, self.data.into_inner())
    }
}

/// The running step, which wanted to take the lock for writing, begins to wait instead; returns when the readers have left.
fn wait_for_readers(handle: Handle, lock: ObjectId, op: Op, site: &'static Location<'static>) {
    let runtime = handle.get();
    runtime.performs_instead(Op::on(OpKind::TryLock, Access::Write, lock));
    runtime.value = Value::Note("waits for its readers");
    let word = runtime.state(lock).word;
    runtime.set_word(lock, word + WAITER);
    handle.visible_when(op, Gate::clear(lock, WRITER | READERS), site);
    let state = handle.get().state(lock);
    state.word -= WAITER;
}

pub(super) fn poison_result<G>(poisoned: bool, guard: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

/// The guard of one of std's locks, of which only ours is ever poisoned.
fn try_result<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline]
    #[track_caller]
    pub(super) fn object(&self, handle: Handle) -> ObjectId {
        match self.slot.get(handle.get().stamp) {
            Some(lock) => lock,
            None => self.first_object(handle, Location::caller()),
        }
    }

    #[cold]
    fn first_object(&self, handle: Handle, site: &'static Location<'static>) -> ObjectId {
        let initial = if self.poisoned.load(Ordering::Relaxed) { POISONED } else { 0 };
        let lock = handle.get().object(&self.slot, ObjectKind::RwLock, initial);
        rt::begin_anew(handle, &self.data, self.used_outside.load(Ordering::Relaxed), site);
        lock
    }

    /// Takes the lock for reading, waiting for it if need be.
    ///
    /// # Errors
    /// When the lock is poisoned. The error has the guard.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let site = Location::caller();
        let Some(handle) = rt::current() else {
            let outside = self.outside.read().unwrap_or_else(PoisonError::into_inner);
            return self.read_guard(ReadHeld::Outside(outside), site);
        };
        let lock = self.object(handle);
        let op = Op::on(OpKind::ReadLock, Access::Read, lock).ordered(MemoryOrder::Acquire);
        handle.visible_when(op, Gate::clear(lock, WRITER | WAITERS), site);
        self.read_locked(handle, lock, site)
    }

    /// Takes the lock for reading if no writer has it or waits for it.
    ///
    /// # Errors
    /// When a writer has it or waits for it, or it is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let site = Location::caller();
        let Some(handle) = rt::current() else {
            let outside = try_result(self.outside.try_read()).ok_or(TryLockError::WouldBlock)?;
            return Ok(self.read_guard(ReadHeld::Outside(outside), site)?);
        };
        let lock = self.object(handle);
        handle.visible(Op::on(OpKind::TryReadLock, Access::Read, lock), site);
        let runtime = handle.get();
        let word = runtime.state(lock).word;
        if word & (WRITER | WAITERS) != 0 {
            let why = if word & WRITER != 0 { "it is taken" } else { "a writer waits for it" };
            runtime.value = Value::Note(why);
            return Err(TryLockError::WouldBlock);
        }
        runtime.performed.order = MemoryOrder::Acquire;
        runtime.value = Value::Note("taken");
        Ok(self.read_locked(handle, lock, site)?)
    }

    /// Takes the lock for writing, waiting for it if need be.
    ///
    /// # Errors
    /// When the lock is poisoned. The error has the guard.
    #[inline(always)]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let site = Location::caller();
        let Some(handle) = rt::current() else {
            let turn = self.turnstile.lock().unwrap_or_else(PoisonError::into_inner);
            let outside = self.outside.write().unwrap_or_else(PoisonError::into_inner);
            return self.write_guard(WriteHeld::Outside(outside, turn), site);
        };
        let lock = self.object(handle);
        let op = Op::on(OpKind::Lock, Access::Write, lock).ordered(MemoryOrder::Acquire);
        handle.visible_when(op, Gate::clear(lock, WRITER), site);
        if handle.get().state(lock).word & READERS != 0 {
            wait_for_readers(handle, lock, op, site);
        }
        self.write_locked(handle, lock, site)
    }

    /// Takes the lock for writing if nobody has it.
    ///
    /// # Errors
    /// When somebody has it, or it is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let site = Location::caller();
        let Some(handle) = rt::current() else {
            let turn = try_result(self.turnstile.try_lock()).ok_or(TryLockError::WouldBlock)?;
            let outside = try_result(self.outside.try_write()).ok_or(TryLockError::WouldBlock)?;
            return Ok(self.write_guard(WriteHeld::Outside(outside, turn), site)?);
        };
        let lock = self.object(handle);
        handle.visible(Op::on(OpKind::TryLock, Access::Write, lock), site);
        let runtime = handle.get();
        let word = runtime.state(lock).word;
        if word & (WRITER | READERS) != 0 {
            // That readers have it depends on what they do, and they only read: it stays a write.
            if word & WRITER != 0 {
                runtime.performs(Access::Read);
            }
            runtime.value = Value::Note("it is taken");
            return Err(TryLockError::WouldBlock);
        }
        runtime.performed.order = MemoryOrder::Acquire;
        runtime.value = Value::Note("taken");
        Ok(self.write_locked(handle, lock, site)?)
    }

    /// Makes the running thread one of the readers.
    fn read_locked(
        &self,
        handle: Handle,
        lock: ObjectId,
        site: &'static Location<'static>,
    ) -> LockResult<RwLockReadGuard<'_, T>> {
        let runtime = handle.get();
        let current = runtime.current;
        let state = runtime.state(lock);
        state.holder = Some(current);
        let word = state.word;
        runtime.set_word(lock, word + READER);
        self.read_guard(ReadHeld::InCheck(handle), site)
    }

    /// Makes the running thread the writer.
    fn write_locked(
        &self,
        handle: Handle,
        lock: ObjectId,
        site: &'static Location<'static>,
    ) -> LockResult<RwLockWriteGuard<'_, T>> {
        let runtime = handle.get();
        let current = runtime.current;
        let state = runtime.state(lock);
        state.holder = Some(current);
        let word = state.word;
        runtime.set_word(lock, word | WRITER);
        self.write_guard(WriteHeld::InCheck(handle), site)
    }

    /// Notes a use outside of a check, where there are others that must not be slowed down.
    fn is_used_outside(&self) {
        if !self.used_outside.load(Ordering::Relaxed) {
            self.used_outside.store(true, Ordering::Relaxed);
        }
    }

    fn read_guard<'a>(
        &'a self,
        held: ReadHeld<'a>,
        site: &'static Location<'static>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        if let ReadHeld::Outside(_) = held {
            self.is_used_outside();
        }
        poison_result(self.is_poisoned(), RwLockReadGuard::new(self, held, site))
    }

    fn write_guard<'a>(
        &'a self,
        held: WriteHeld<'a>,
        site: &'static Location<'static>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        if let WriteHeld::Outside(..) = held {
            self.is_used_outside();
        }
        poison_result(self.is_poisoned(), RwLockWriteGuard::new(self, held, site))
    }

    /// Whether a thread panicked while it held the lock for writing.
    pub fn is_poisoned(&self) -> bool {
        match rt::current() {
            None => self.poisoned.load(Ordering::Relaxed),
            Some(handle) => {
                let lock = self.object(handle);
                handle.get().state(lock).word & POISONED != 0
            }
        }
    }

    /// Forgets that a thread panicked while it held the lock.
    pub fn clear_poison(&self) {
        match rt::current() {
            None => self.poisoned.store(false, Ordering::Relaxed),
            Some(handle) => {
                let lock = self.object(handle);
                handle.get().state(lock).word &= !POISONED;
            }
        }
    }

    /// The data, which nobody else can have.
    ///
    /// # Errors
    /// When the lock is poisoned. The error has the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        poison_result(poisoned, self.data.get_mut())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => text.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}
