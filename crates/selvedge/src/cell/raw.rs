//! [`UnsafeCell`].

use std::fmt;
use std::panic::Location;

use crate::rt::{self, ObjectSlot};

/// The core of interior mutability, as [`std::cell::UnsafeCell`], with accesses that a check sees.
///
/// A check cannot see what is done through a pointer. So say what you do: [`with`](UnsafeCell::with) is a
/// read and [`with_mut`](UnsafeCell::with_mut) is a write, at the moment of the call. [`get`](UnsafeCell::get)
/// is there so that code written for std's compiles; it counts as a read, and writes through it go unseen.
///
/// ```
/// use selvedge::cell::UnsafeCell;
/// use selvedge::sync::Arc;
/// use selvedge::sync::atomic::{AtomicBool, Ordering};
///
/// struct Slot {
///     full: AtomicBool,
///     value: UnsafeCell<u32>,
/// }
///
/// // SAFETY: the value is written before `full` is set, and read after that.
/// unsafe impl Sync for Slot {}
///
/// selvedge::check(|| {
///     let slot = Arc::new(Slot { full: AtomicBool::new(false), value: UnsafeCell::new(0) });
///     let other = slot.clone();
///     let writer = selvedge::thread::spawn(move || {
///         // SAFETY: nobody reads it yet.
///         other.value.with_mut(|value| unsafe { *value = 7 });
///         other.full.store(true, Ordering::Release); // with `Relaxed` this would be a data race
///     });
///     if slot.full.load(Ordering::Acquire) {
///         // SAFETY: it is written and will not be again.
///         assert_eq!(slot.value.with(|value| unsafe { *value }), 7);
///     }
///     writer.join().unwrap();
/// });
/// ```
#[repr(C)]
pub struct UnsafeCell<T: ?Sized> {
    slot: ObjectSlot,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A cell with this value.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        UnsafeCell { slot: ObjectSlot::new(), value: std::cell::UnsafeCell::new(value) }
    }

    /// Takes the value out.
    #[inline(always)]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// A pointer to the value from a pointer to the cell. In a check this is no access, as there may be no
    /// cell yet. Unlike std's, only for types of known size.
    #[inline(always)]
    pub const fn raw_get(this: *const Self) -> *mut T {
        this.wrapping_byte_add(std::mem::offset_of!(Self, value)).cast_mut().cast()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// A pointer to the value. In a check this is a read; what is done through the pointer is not seen.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self) -> *mut T {
        rt::access(&self.slot, false, Location::caller());
        self.value.get()
    }

    /// Gives a pointer to read the value through. In a check this is a read.
    #[inline(always)]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        rt::access(&self.slot, false, Location::caller());
        f(self.value.get())
    }

    /// Gives a pointer to read and write the value through. In a check this is a write.
    #[inline(always)]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        rt::access(&self.slot, true, Location::caller());
        f(self.value.get())
    }

    /// The value, which nobody else can have. This is no access: an exclusive borrow cannot race.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.slot.clear();
        self.value.get_mut()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
