//! [`Cell`].

use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;

use crate::rt::{self, ObjectSlot};

/// A value that can be set through a shared reference, as [`std::cell::Cell`], with accesses that a check
/// sees. Like std's it is not `Sync`; a race needs a type around it that is made so by `unsafe`.
///
/// ```
/// use selvedge::cell::Cell;
///
/// let cell = Cell::new(5);
/// assert_eq!(cell.replace(10), 5);
/// assert_eq!(cell.get(), 10);
/// ```
#[repr(C)]
pub struct Cell<T: ?Sized> {
    slot: ObjectSlot,
    value: std::cell::Cell<T>,
}

impl<T> Cell<T> {
    /// A cell with this value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Cell { slot: ObjectSlot::new(), value: std::cell::Cell::new(value) }
    }

    /// Sets the value. In a check this is a write.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) {
        rt::access(&self.slot, true, Location::caller());
        self.value.set(value);
    }

    /// Swaps the values of two cells. In a check this writes both.
    ///
    /// # Panics
    /// When they overlap without being the same.
    #[inline]
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        rt::access(&self.slot, true, Location::caller());
        rt::access(&other.slot, true, Location::caller());
        self.value.swap(&other.value);
    }

    /// Sets the value and returns the one before. In a check this is a write.
    #[inline]
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        rt::access(&self.slot, true, Location::caller());
        self.value.replace(value)
    }

    /// Takes the value out.
    #[inline]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Takes the value and leaves the default. In a check this is a write.
    #[inline]
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }
}

impl<T: Copy> Cell<T> {
    /// A copy of the value. In a check this is a read.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> T {
        rt::access(&self.slot, false, Location::caller());
        self.value.get()
    }

    /// Replaces the value by what `f` makes of it. In a check this is a read and then a write.
    #[inline]
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T) {
        self.set(f(self.get()));
    }
}

impl<T: ?Sized> Cell<T> {
    /// A pointer to the value. In a check this is a read; what is done through the pointer is not seen.
    #[inline]
    #[track_caller]
    pub fn as_ptr(&self) -> *mut T {
        rt::access(&self.slot, false, Location::caller());
        self.value.as_ptr()
    }

    /// The value, which nobody else can have. This is no access: an exclusive borrow cannot race.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.slot.clear();
        self.value.get_mut()
    }
}

impl<T: Default> Default for Cell<T> {
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Self {
        Cell::new(value)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Cell::new(self.get())
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}
