//! Memory whose accesses a model checks for data races.

use std::fmt;

pub use selvedge::cell::{Cell, ConstPtr, MutPtr};

/// The core of interior mutability, with accesses that a model sees: each from its beginning to its end, and the making of
/// the cell as a write.
///
/// ```should_panic
/// use loom::cell::UnsafeCell;
///
/// loom::model(|| {
///     let cell = UnsafeCell::new(1);
///     let reads = cell.get();
///     let writes = cell.get_mut(); // the read has not ended
///     drop((reads, writes));
/// });
/// ```
pub struct UnsafeCell<T: ?Sized>(selvedge::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell with this value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let cell = UnsafeCell(selvedge::cell::UnsafeCell::new(value));
        cell.0.with_mut(|_| ());
        cell
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Gives a pointer to read the value through, which is read until `f` returns.
    #[inline(always)]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.0.with(f)
    }

    /// Gives a pointer to write the value through, which is written until `f` returns.
    #[inline(always)]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.0.with_mut(f)
    }

    /// A pointer to the value, which is read until the pointer is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        self.0.const_ptr()
    }

    /// A pointer to the value, which is written until the pointer is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        self.0.mut_ptr()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
