//! [`Weak`].

use std::fmt;
use std::mem::{ManuallyDrop, offset_of};
use std::panic::Location;

use selvedge_core::{Access, ObjectId, Op, OpKind};

use super::{Arc, Inner, change, counting, note, running};
use crate::rt::{Handle, ObjectSlot, Value};

/// A reference that does not keep its value alive, as [`std::sync::Weak`].
///
/// ```
/// use selvedge::sync::Arc;
///
/// selvedge::check(|| {
///     let strong = Arc::new(5);
///     let weak = Arc::downgrade(&strong);
///     let other = selvedge::thread::spawn(move || drop(strong));
///     if let Some(five) = weak.upgrade() {
///         assert_eq!(*five, 5);
///     }
///     other.join().unwrap();
///     assert!(weak.upgrade().is_none());
/// });
/// ```
pub struct Weak<T: ?Sized> {
    pub(super) inner: std::sync::Weak<Inner<T>>,
    /// The object of the Arc, as far as it is known: when there is no Arc left it cannot be asked.
    pub(super) slot: ObjectSlot,
}

impl<T> Weak<T> {
    /// One that refers to nothing.
    #[must_use]
    pub const fn new() -> Self {
        Weak { inner: std::sync::Weak::new(), slot: ObjectSlot::new() }
    }

    /// A pointer to the value, which dangles if the value is gone. Unlike std's, only for types of known
    /// size.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.inner.as_ptr().wrapping_byte_add(offset_of!(Inner<T>, value)).cast()
    }

    /// Gives up the reference for a pointer. Unlike std's, only for types of known size.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        let pointer = self.as_ptr();
        std::mem::forget(self);
        pointer
    }

    /// The reference that [`into_raw`](Weak::into_raw) gave up.
    ///
    /// # Safety
    /// As for [`std::sync::Weak::from_raw`].
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let inner = pointer.wrapping_byte_sub(offset_of!(Inner<T>, value)).cast::<Inner<T>>();
        // SAFETY: the inverse of `as_ptr`; the caller promises that the reference was given up.
        Weak { inner: unsafe { std::sync::Weak::from_raw(inner) }, slot: ObjectSlot::new() }
    }
}

impl<T: ?Sized> Weak<T> {
    /// A reference, if the value is still there.
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        if let Some(handle) = running() {
            // What is gone stays gone.
            let access = if self.inner.strong_count() > 0 { Access::Write } else { Access::Read };
            self.observe(handle, access, Location::caller());
        }
        let arc = self.inner.upgrade().map(|inner| Arc { inner: ManuallyDrop::new(inner) });
        if let Some(handle) = running()
            && arc.is_none()
        {
            handle.get().performs(Access::Read);
        }
        note(Value::Note(if arc.is_some() { "it is there" } else { "it is gone" }));
        arc
    }

    /// How many references there are that keep the value alive.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.count(Location::caller(), std::sync::Weak::strong_count)
    }

    /// How many weak references there are; 0 if the value is gone.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        self.count(Location::caller(), std::sync::Weak::weak_count)
    }

    fn count(
        &self,
        site: &'static Location<'static>,
        count: impl FnOnce(&std::sync::Weak<Inner<T>>) -> usize,
    ) -> usize {
        if let Some(handle) = running() {
            self.observe(handle, Access::Write, site);
        }
        let count = count(&self.inner);
        note(Value::Number(count as u64));
        count
    }

    fn observe(&self, handle: Handle, access: Access, site: &'static Location<'static>) {
        let op = match self.object(handle) {
            Some(object) => Op::on(OpKind::RefCount, access, object),
            // It was gone when this execution began, and nothing can change that.
            None => Op::local(OpKind::RefCount),
        };
        handle.get().references_matter = true;
        handle.visible(op, site);
    }

    fn object(&self, handle: Handle) -> Option<ObjectId> {
        let stamp = handle.get().stamp;
        if let Some(object) = self.slot.get(stamp) {
            return Some(object);
        }
        let arc = self.inner.upgrade()?;
        let object = arc.object(handle);
        self.slot.set(stamp, object);
        Some(object)
    }

    /// Whether both refer to the same value, or both to nothing.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.inner.ptr_eq(&other.inner)
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[inline]
    fn drop(&mut self) {
        self.change("a weak one less");
    }
}

impl<T: ?Sized> Weak<T> {
    /// A step, where clones and drops are steps.
    fn change(&self, what: &'static str) {
        if let Some(handle) = counting()
            && let Some(object) = self.object(handle)
        {
            change(handle, object, false, what);
        }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        self.change("a weak one more");
        Weak { inner: self.inner.clone(), slot: self.slot.copy() }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
