//! [`UnsafeCell`].

use std::fmt;
use std::panic::Location;

use crate::rt::{self, Lasting, ObjectSlot};

/// The core of interior mutability, as [`std::cell::UnsafeCell`], with accesses that a check sees.
///
/// A check cannot see what is done through a pointer. So say what you do: [`with`](UnsafeCell::with) is a
/// read and [`with_mut`](UnsafeCell::with_mut) is a write, from the beginning of the closure to its end;
/// [`const_ptr`](UnsafeCell::const_ptr) and [`mut_ptr`](UnsafeCell::mut_ptr) last as long as what they return.
/// Two accesses that overlap, one of them a write, are a data race, also in one thread.
/// [`get`](UnsafeCell::get) is there so that code written for std's compiles; it counts as a read at the moment
/// of the call, and writes through it go unseen.
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
        let _lasting = rt::begin(&self.slot, false, Location::caller());
        f(self.value.get())
    }

    /// Gives a pointer to read and write the value through. In a check this is a write.
    #[inline(always)]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _lasting = rt::begin(&self.slot, true, Location::caller());
        f(self.value.get())
    }

    /// A pointer to read the value through. In a check this is a read that lasts until the pointer is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn const_ptr(&self) -> ConstPtr<T> {
        let lasting = rt::begin(&self.slot, false, Location::caller());
        ConstPtr { pointer: self.value.get(), lasting }
    }

    /// A pointer to read and write the value through. In a check this is a write that lasts until the pointer is
    /// dropped.
    #[inline(always)]
    #[track_caller]
    pub fn mut_ptr(&self) -> MutPtr<T> {
        let lasting = rt::begin(&self.slot, true, Location::caller());
        MutPtr { pointer: self.value.get(), lasting }
    }

    /// The value, which nobody else can have. This is no access: an exclusive borrow cannot race.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.slot.clear();
        self.value.get_mut()
    }
}

/// A pointer to the value of an [`UnsafeCell`], which is being read for as long as this exists. It may outlive the cell;
/// it must not be used then.
pub struct ConstPtr<T: ?Sized> {
    pointer: *const T,
    #[expect(dead_code, reason = "it ends the access when it is dropped")]
    lasting: Lasting,
}

/// A pointer to the value of an [`UnsafeCell`], which is being written for as long as this exists. It may outlive the
/// cell; it must not be used then.
pub struct MutPtr<T: ?Sized> {
    pointer: *mut T,
    #[expect(dead_code, reason = "it ends the access when it is dropped")]
    lasting: Lasting,
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// The cell must exist, and nobody may write its value meanwhile.
    #[inline]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.pointer }
    }

    /// Gives the pointer, which must not be kept.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// The cell must exist, and nobody else may use its value meanwhile.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "it stands for a raw pointer")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.pointer }
    }

    /// Gives the pointer, which must not be kept.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
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
