//! [`Arc`] and [`Weak`].
//!
//! They are std's, around a value with a header. The number of references changes with every clone and drop,
//! and nearly no program looks at it; so clones and drops are no scheduling points, and only what observes
//! the number is one. What a thread did before it dropped its reference is behind the thread that drops the
//! last, as in std, so that the value's destructor races with nothing.

mod convert;
mod traits;
mod weak;

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;

use selvedge_core::{Access, ObjectId, Op, OpKind};
use selvedge_stateless::LocalEvent;

use crate::rt::{self, Handle, ObjectKind, ObjectSlot, Phase, Value};

pub use weak::Weak;

/// What std's reference count counts.
#[repr(C)]
struct Inner<T: ?Sized> {
    slot: ObjectSlot,
    /// Its place in the list of Arcs that are alive, when leaks are checked; only for the execution that
    /// made it.
    listed: ObjectSlot,
    value: T,
}

/// A shared reference that is counted, as [`std::sync::Arc`].
///
/// In a check, clones and drops of references are no scheduling points, with one exception: the drop of the
/// last reference while there are [`Weak`] ones. Whatever observes the number of references is one:
/// [`strong_count`](Arc::strong_count), [`weak_count`](Arc::weak_count), [`get_mut`](Arc::get_mut),
/// [`make_mut`](Arc::make_mut), [`try_unwrap`](Arc::try_unwrap), [`into_inner`](Arc::into_inner),
/// [`Weak::upgrade`]. A drop counts as part of the operation before it.
///
/// An `Arc<T>` does not turn into an `Arc<dyn Trait>` or `Arc<[T]>` by itself, as std's does by means that
/// are not open to other crates: use [`unsize!`](crate::sync::unsize). For the same reason it cannot be the
/// type of `self` in a method. Where that is needed std's `Arc` can be used in a check as well: it is merely
/// not observed.
///
/// ```
/// use selvedge::sync::{Arc, Mutex};
///
/// selvedge::check(|| {
///     let shared = Arc::new(Mutex::new(1));
///     let other = Arc::clone(&shared);
///     selvedge::thread::spawn(move || *other.lock().unwrap() += 1).join().unwrap();
///     assert_eq!(Arc::strong_count(&shared), 1);
///     assert_eq!(Arc::try_unwrap(shared).unwrap().into_inner().unwrap(), 2);
/// });
/// ```
pub struct Arc<T: ?Sized> {
    inner: std::sync::Arc<Inner<T>>,
}

/// The runtime, if a check runs that is not being torn down.
#[inline]
fn running() -> Option<Handle> {
    rt::current().filter(|handle| handle.get().phase == Phase::Running)
}

/// An observation of the number of references. It ends with the operation under way.
fn observe(handle: Handle, object: ObjectId, access: Access, site: &'static Location<'static>) {
    handle.visible(Op::on(OpKind::RefCount, access, object), site);
}

impl<T: ?Sized> Inner<T> {
    fn object(&self, handle: Handle) -> ObjectId {
        handle.get().object(&self.slot, ObjectKind::Arc, 0)
    }

    /// Takes it off the list of Arcs that are alive.
    fn unlist(&self, handle: Handle) {
        let runtime = handle.get();
        if let Some(place) = self.listed.get(runtime.stamp) {
            runtime.arcs[place.index()] = None;
        }
    }
}

impl<T> Inner<T> {
    fn new(value: T, site: &'static Location<'static>) -> Self {
        Inner { slot: ObjectSlot::new(), listed: list(site), value }
    }
}

/// Puts a new Arc on the list of those that are alive, when leaks are checked.
fn list(site: &'static Location<'static>) -> ObjectSlot {
    let listed = ObjectSlot::new();
    if let Some(handle) = running() {
        let runtime = handle.get();
        if runtime.options.check_leaks {
            listed.set(runtime.stamp, ObjectId::new(runtime.arcs.len() as u32));
            runtime.arcs.push(Some(site));
        }
    }
    listed
}

impl<T> Arc<T> {
    /// The first reference to a new value.
    #[inline]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Arc { inner: std::sync::Arc::new(Inner::new(value, Location::caller())) }
    }

    /// The first reference to a new value that has weak references to itself, which do not upgrade before it
    /// is there.
    #[track_caller]
    pub fn new_cyclic<F>(make: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let site = Location::caller();
        let inner = std::sync::Arc::new_cyclic(|weak| {
            let value = make(&Weak { inner: weak.clone(), slot: ObjectSlot::new() });
            Inner::new(value, site)
        });
        Arc { inner }
    }

    /// The first reference to a new value that is pinned.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: the value is on the heap, and an Arc moves it only out of an Arc that is not pinned.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// Takes the value out if this is the only reference.
    ///
    /// # Errors
    /// With the reference, when there is another.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if let Some(handle) = running() {
            let object = this.inner.object(handle);
            observe(handle, object, Access::Write, Location::caller());
        }
        this.unwrap_now()
    }

    /// Takes the value out if this is the only reference, and drops the reference otherwise.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let Some(handle) = running() else {
            let inner = std::sync::Arc::into_inner(this.into_std())?;
            if let Some(handle) = rt::current() {
                inner.unlist(handle);
            }
            return Some(inner.value);
        };
        let object = this.inner.object(handle);
        observe(handle, object, Access::Write, Location::caller());
        this.unwrap_now().ok()
    }

    /// As `try_unwrap`, within the operation that observes the number.
    fn unwrap_now(self) -> Result<T, Self> {
        match std::sync::Arc::try_unwrap(self.into_std()) {
            Ok(inner) => {
                if let Some(handle) = rt::current() {
                    inner.unlist(handle);
                    note(Value::Note("the only one"));
                }
                Ok(inner.value)
            }
            Err(inner) => {
                if let Some(handle) = running() {
                    handle.get().performed.access = Access::Read;
                }
                note(Value::Number(std::sync::Arc::strong_count(&inner) as u64));
                Err(Arc { inner })
            }
        }
    }

    /// Takes the value out if this is the only reference, and clones it otherwise.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }
}

/// Says what the operation under way has found.
fn note(value: Value) {
    if let Some(handle) = running() {
        handle.get().value = value;
    }
}

impl<T: ?Sized> Arc<T> {
    /// The reference without this type's destructor.
    fn into_std(self) -> std::sync::Arc<Inner<T>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so that the reference is moved out once.
        unsafe { std::ptr::read(&raw const this.inner) }
    }

    /// Gives up the reference for a pointer to the value.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        let this = ManuallyDrop::new(this);
        Arc::as_ptr(&this)
    }

    /// A pointer to the value.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        let inner = std::sync::Arc::as_ptr(&this.inner);
        // SAFETY: the pointer is to what the reference keeps alive. No reference is made, so that the pointer
        // may be turned back into one to the whole.
        unsafe { &raw const (*inner).value }
    }

    /// The reference that [`into_raw`](Arc::into_raw) gave up.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::from_raw`]: the pointer must come from `into_raw`, for a type that is laid
    /// out alike, and be turned back once.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller promises that the pointer is to the value of an Arc, which is alive.
        let inner = unsafe { Arc::whole(pointer) };
        // SAFETY: as above, and that the reference was given up.
        Arc { inner: unsafe { std::sync::Arc::from_raw(inner) } }
    }

    /// From the value to the whole.
    ///
    /// # Safety
    /// The pointer must be to the value of an Arc that is alive.
    unsafe fn whole(pointer: *const T) -> *const Inner<T> {
        // SAFETY: the value is alive.
        let align = unsafe { std::mem::align_of_val(&*pointer) };
        let offset = std::mem::size_of::<Inner<()>>().next_multiple_of(align);
        // SAFETY: as `repr(C)` lays it out, the value is so far from the beginning of the same allocation.
        unsafe { pointer.byte_sub(offset) as *const Inner<T> }
    }

    /// Makes one more reference, to be turned into an Arc by [`from_raw`](Arc::from_raw).
    ///
    /// # Safety
    /// As for [`std::sync::Arc::increment_strong_count`].
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller promises that there is a reference, which is not given up here.
        let this = unsafe { ManuallyDrop::new(Arc::from_raw(pointer)) };
        std::mem::forget(Arc::clone(&this));
    }

    /// Drops one reference that [`into_raw`](Arc::into_raw) or
    /// [`increment_strong_count`](Arc::increment_strong_count) gave up.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::decrement_strong_count`].
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller promises that the reference was given up.
        drop(unsafe { Arc::from_raw(pointer) });
    }

    /// A weak reference to the value.
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    pub fn downgrade(this: &Self) -> Weak<T> {
        if let Some(handle) = running() {
            this.inner.object(handle);
        }
        Weak { inner: std::sync::Arc::downgrade(&this.inner), slot: this.inner.slot.copy() }
    }

    /// How many references there are.
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        this.count(Location::caller(), std::sync::Arc::strong_count)
    }

    /// How many weak references there are.
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        this.count(Location::caller(), std::sync::Arc::weak_count)
    }

    fn count(
        &self,
        site: &'static Location<'static>,
        count: impl FnOnce(&std::sync::Arc<Inner<T>>) -> usize,
    ) -> usize {
        if let Some(handle) = running() {
            observe(handle, self.inner.object(handle), Access::Read, site);
        }
        let count = count(&self.inner);
        note(Value::Number(count as u64));
        count
    }

    /// Whether both refer to the same value, not just to equal ones.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&this.inner, &other.inner)
    }

    /// The value, if there is no other reference to it, not even a weak one.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if let Some(handle) = running() {
            observe(handle, this.inner.object(handle), Access::Read, Location::caller());
        }
        let inner = std::sync::Arc::get_mut(&mut this.inner);
        note(Value::Note(if inner.is_some() { "the only one" } else { "there are others" }));
        inner.map(|inner| &mut inner.value)
    }
}

impl<T: Clone> Arc<T> {
    /// The value, after making it this reference's alone: if there are other references it is cloned first,
    /// and if there are weak ones they lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        let site = Location::caller();
        if let Some(handle) = running() {
            observe(handle, this.inner.object(handle), Access::Write, site);
        }
        if std::sync::Arc::get_mut(&mut this.inner).is_some() {
            note(Value::Note("the only one"));
        } else if std::sync::Arc::strong_count(&this.inner) == 1 {
            note(Value::Note("the only one that is not weak"));
            std::sync::Arc::make_mut(&mut this.inner);
        } else {
            note(Value::Note("there are others"));
            let value = (**this).clone();
            *this = Arc { inner: std::sync::Arc::new(Inner::new(value, site)) };
        }
        &mut std::sync::Arc::get_mut(&mut this.inner).expect("it is the only one now").value
    }
}

impl<T: Clone> Clone for Inner<T> {
    /// For a reference that another OS thread has made since; it is on no list.
    fn clone(&self) -> Self {
        Inner { slot: ObjectSlot::new(), listed: ObjectSlot::new(), value: self.value.clone() }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    /// Makes another reference to the same value.
    #[inline]
    fn clone(&self) -> Self {
        Arc { inner: self.inner.clone() }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(handle) = rt::current() {
            self.drop_in_check(handle);
        }
    }
}

impl<T: ?Sized> Arc<T> {
    fn is_last(&self) -> bool {
        std::sync::Arc::strong_count(&self.inner) == 1
    }

    fn drop_in_check(&self, handle: Handle) {
        if handle.get().phase == Phase::Running {
            let object = self.inner.object(handle);
            if self.is_last() && std::sync::Arc::weak_count(&self.inner) > 0 {
                handle.visible(Op::on(OpKind::RefCount, Access::Write, object), Location::caller());
                let runtime = handle.get();
                runtime.site = None;
                runtime.value = Value::Note("the last one goes");
            }
            // Another may have been made meanwhile.
            let last = self.is_last();
            let event = if last { LocalEvent::Acquire(object) } else { LocalEvent::Release(object) };
            handle.get().event(event);
        }
        if self.is_last() {
            self.inner.unlist(handle);
        }
    }
}

/// Turns an [`Arc<T>`](Arc) into an `Arc<dyn Trait>` or, from an array, an `Arc<[T]>`, whichever is expected
/// where it stands.
///
/// std's `Arc` does this by itself, by means that are not open to other crates. Outside of a check it costs
/// nothing.
///
/// ```
/// use selvedge::sync::{Arc, unsize};
///
/// let shape: Arc<dyn Fn(u32) -> u32 + Send + Sync> = unsize!(Arc::new(|side| side * side));
/// assert_eq!(shape(3), 9);
/// let sides: Arc<[u32]> = unsize!(Arc::new([3, 4, 5]));
/// assert_eq!(sides.len(), 3);
/// ```
#[macro_export]
macro_rules! unsize {
    ($arc:expr) => {{
        let raw = $crate::sync::Arc::into_raw($arc);
        // SAFETY: the pointer comes from `into_raw`; that it may now be to something unsized does not change
        // what it points to.
        unsafe { $crate::sync::Arc::from_raw(raw) }
    }};
}
