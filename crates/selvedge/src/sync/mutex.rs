//! [`Mutex`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind};

use crate::rt::{self, Gate, Handle, ObjectKind, ObjectSlot, Phase, Value};

/// The object's word: whether it is locked, and whether it is poisoned.
const LOCKED: u64 = 1;
const POISONED: u64 = 2;

/// A mutual exclusion lock, as [`std::sync::Mutex`].
///
/// In a check, whether it is locked or poisoned belongs to the execution, and so does the data of a `static`, which begins
/// every execution as it was before the check. (If the data has a destructor, a static that was also used outside of the check
/// is refused: put it into a [`LazyLock`](crate::sync::LazyLock).) What an execution leaves in another mutex that
/// outlives it, such as one that the closure has captured, the next one finds.
///
/// ```
/// use selvedge::sync::{Arc, Mutex};
///
/// selvedge::check(|| {
///     let total = Arc::new(Mutex::new(0));
///     let other = total.clone();
///     let thread = selvedge::thread::spawn(move || *other.lock().unwrap() += 1);
///     *total.lock().unwrap() += 1;
///     thread.join().unwrap();
///     assert_eq!(*total.lock().unwrap(), 2);
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    slot: ObjectSlot,
    /// Taken outside of a check.
    used_outside: AtomicBool,
    /// Poisoned outside of a check.
    poisoned: AtomicBool,
    /// The lock outside of a check.
    outside: std::sync::Mutex<()>,
    data: UnsafeCell<T>,
}

// SAFETY: as for std's: the lock gives one thread at a time access to the data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// The lock on a [`Mutex`], released when it is dropped; as [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    held: Held<'a>,
    /// Whether the thread was panicking when it took the lock: then it does not poison it.
    panicking: bool,
    /// Where it was taken, for the report of its release.
    site: &'static Location<'static>,
    /// Not `Send`, as std's is not.
    not_send: PhantomData<*const ()>,
}

// SAFETY: as for std's: a shared guard gives shared access to the data.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

enum Held<'a> {
    InCheck(Handle),
    Outside(std::sync::MutexGuard<'a, ()>),
}

impl<T> Mutex<T> {
    /// A new mutex, unlocked.
    #[inline]
    pub const fn new(value: T) -> Self {
        Mutex {
            slot: ObjectSlot::new(),
            used_outside: AtomicBool::new(false),
            poisoned: AtomicBool::new(false),
            outside: std::sync::Mutex::new(()),
            data: UnsafeCell::new(value),
        }
    }

    /// Takes the data out.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.is_poisoned();
        poison_result(poisoned, self.data.into_inner())
    }
}

fn poison_result<G>(poisoned: bool, guard: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    #[track_caller]
    pub(super) fn object(&self, handle: Handle) -> ObjectId {
        match self.slot.get(handle.get().stamp) {
            Some(mutex) => mutex,
            None => self.first_object(handle, Location::caller()),
        }
    }

    #[cold]
    fn first_object(&self, handle: Handle, site: &'static Location<'static>) -> ObjectId {
        let initial = if self.poisoned.load(Ordering::Relaxed) { POISONED } else { 0 };
        let mutex = handle.get().object(&self.slot, ObjectKind::Mutex, initial);
        rt::begin_anew(handle, &self.data, self.used_outside.load(Ordering::Relaxed), site);
        mutex
    }

    /// Takes the lock, waiting for it if need be.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let site = Location::caller();
        let Some(handle) = rt::current() else {
            let guard = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
            let guard = self.guard(Held::Outside(guard), site);
            return poison_result(self.poisoned.load(Ordering::Relaxed), guard);
        };
        let mutex = self.object(handle);
        acquire(handle, mutex, site);
        self.locked(handle, mutex, site)
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let site = Location::caller();
        let Some(handle) = rt::current() else {
            let guard = match self.outside.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(error)) => error.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            let guard = self.guard(Held::Outside(guard), site);
            let poisoned = self.poisoned.load(Ordering::Relaxed);
            return poison_result(poisoned, guard).map_err(TryLockError::Poisoned);
        };
        let mutex = self.object(handle);
        handle.visible(Op::on(OpKind::TryLock, Access::Write, mutex), site);
        let runtime = handle.get();
        if runtime.state(mutex).word & LOCKED != 0 {
            runtime.performs(Access::Read);
            runtime.value = Value::Note("it is taken");
            return Err(TryLockError::WouldBlock);
        }
        runtime.performed.order = MemoryOrder::Acquire;
        runtime.value = Value::Note("taken");
        self.locked(handle, mutex, site).map_err(TryLockError::Poisoned)
    }

    /// Makes the running thread the holder.
    fn locked(
        &self,
        handle: Handle,
        mutex: ObjectId,
        site: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'_, T>> {
        let poisoned = hold(handle, mutex);
        poison_result(poisoned, self.guard(Held::InCheck(handle), site))
    }

    fn guard<'a>(&'a self, held: Held<'a>, site: &'static Location<'static>) -> MutexGuard<'a, T> {
        if let Held::Outside(_) = held {
            self.used_outside.store(true, Ordering::Relaxed);
        }
        let panicking = crate::thread::panicking();
        MutexGuard { lock: self, held, panicking, site, not_send: PhantomData }
    }

    /// Whether a thread panicked while it held the lock.
    pub fn is_poisoned(&self) -> bool {
        match rt::current() {
            None => self.poisoned.load(Ordering::Relaxed),
            Some(handle) => {
                let mutex = self.object(handle);
                handle.get().state(mutex).word & POISONED != 0
            }
        }
    }

    /// Forgets that a thread panicked while it held the lock.
    pub fn clear_poison(&self) {
        match rt::current() {
            None => self.poisoned.store(false, Ordering::Relaxed),
            Some(handle) => {
                let mutex = self.object(handle);
                handle.get().state(mutex).word &= !POISONED;
            }
        }
    }

    /// The data, which nobody else can have.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        poison_result(poisoned, self.data.get_mut())
    }
}

/// Makes the running thread the holder of a mutex that is free. Says whether it is poisoned.
pub(super) fn hold(handle: Handle, mutex: ObjectId) -> bool {
    let runtime = handle.get();
    let current = runtime.current;
    let state = runtime.state(mutex);
    state.holder = Some(current);
    let word = state.word;
    runtime.set_word(mutex, word | LOCKED);
    word & POISONED != 0
}

/// The step in which a thread takes a mutex, once it is free.
pub(super) fn acquire(handle: Handle, mutex: ObjectId, site: &'static Location<'static>) {
    let op = Op::on(OpKind::Lock, Access::Write, mutex).ordered(MemoryOrder::Acquire);
    handle.visible_when(op, free(mutex), site);
}

/// Makes nobody the holder of a mutex.
pub(super) fn release(handle: Handle, mutex: ObjectId) {
    let runtime = handle.get();
    let state = runtime.state(mutex);
    state.holder = None;
    let word = state.word;
    runtime.set_word(mutex, word & !LOCKED);
}

/// The gate of a thread that needs the mutex.
pub(super) fn free(mutex: ObjectId) -> Gate {
    Gate::clear(mutex, LOCKED)
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }

    /// For a wait outside of a check: the lock itself, and everything else to make the guard again.
    pub(super) fn outside(
        self,
    ) -> Option<(&'a Mutex<T>, std::sync::MutexGuard<'a, ()>, &'static Location<'static>)> {
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: the guard is not dropped, so its held lock is moved out once.
        match unsafe { std::ptr::read(&raw const guard.held) } {
            Held::Outside(outside) => Some((guard.lock, outside, guard.site)),
            Held::InCheck(_) => None,
        }
    }

    /// The inverse of [`outside`](Self::outside).
    pub(super) fn from_outside(
        lock: &'a Mutex<T>,
        outside: std::sync::MutexGuard<'a, ()>,
        site: &'static Location<'static>,
    ) -> LockResult<Self> {
        poison_result(lock.poisoned.load(Ordering::Relaxed), lock.guard(Held::Outside(outside), site))
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let poisons = !self.panicking && crate::thread::panicking();
        match self.held {
            Held::Outside(_) => {
                if poisons {
                    self.lock.poisoned.store(true, Ordering::Relaxed);
                }
            }
            Held::InCheck(handle) => {
                let mutex = self.lock.object(handle);
                if poisons && handle.get().phase == Phase::Running {
                    handle.get().state(mutex).word |= POISONED;
                }
                handle.visible(Op::on(OpKind::Unlock, Access::Write, mutex), self.site);
                release(handle, mutex);
            }
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => text.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}
