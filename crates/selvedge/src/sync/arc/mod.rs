//! [`Arc`] and [`Weak`].
//!
//! They are std's, around a value with a header. The number of references changes with every clone and drop,
//! and for most programs that makes no difference: they never look at it, and it does not matter which thread
//! drops the value. So clones and drops are no scheduling points, until an execution shows that the program
//! is not like that: it observes the number, or a value's destructor performs operations. Then the check
//! begins again with all of them as steps. Clones commute with each other (they only *read* the object, in
//! the engine's terms); drops do not, since the last drops the value.
//!
//! What a thread did before it dropped its reference is behind the thread that drops the last, as in std, so
//! that the value's destructor races with nothing.

mod convert;
mod traits;
mod weak;

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind};
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
/// In a check, clones and drops of references are no scheduling points, unless the program observes the number
/// of references ([`strong_count`](Arc::strong_count), [`weak_count`](Arc::weak_count),
/// [`get_mut`](Arc::get_mut), [`make_mut`](Arc::make_mut), [`try_unwrap`](Arc::try_unwrap),
/// [`into_inner`](Arc::into_inner), [`Weak::upgrade`]) or the destructor of a value that it shares performs
/// operations.
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
    /// Dropped by hand, for what its destructor does is watched.
    inner: ManuallyDrop<std::sync::Arc<Inner<T>>>,
}

/// The runtime, if a check runs that is not being torn down.
#[inline]
fn running() -> Option<Handle> {
    rt::current().filter(|handle| handle.get().phase == Phase::Running)
}

/// An observation of the number of references. It ends with the operation under way.
fn observe(handle: Handle, object: ObjectId, site: &'static Location<'static>) {
    handle.get().references_matter = true;
    handle.visible(Op::on(OpKind::RefCount, Access::Write, object), site);
}

/// The runtime, if a check runs in which clones and drops are steps.
#[inline]
fn counting() -> Option<Handle> {
    running().filter(|handle| handle.get().options.counts_references)
}

/// A clone or a drop, as a step. It commutes with clones unless it `may_drop` the value.
#[cold]
fn change(handle: Handle, object: ObjectId, may_drop: bool, what: &'static str) {
    let access = if may_drop { Access::Write } else { Access::Read };
    handle.visible(Op::on(OpKind::RefCount, access, object), Location::caller());
    let runtime = handle.get();
    runtime.site = None;
    runtime.value = Value::Note(what);
}

/// A pending operation that no thread ever has.
const UNTOUCHED: Op = Op {
    kind: OpKind::RefCount,
    access: Access::None,
    order: MemoryOrder::Relaxed,
    timed_out: true,
    counted: false,
    object: None,
    also: None,
};

/// Runs a destructor, and notes whether it performs operations.
#[inline]
fn destroy(handle: Handle, destructor: impl FnOnce()) {
    let runtime = handle.get();
    let current = runtime.current.index();
    runtime.threads[current].pending = UNTOUCHED;
    destructor();
    let runtime = handle.get();
    runtime.references_matter |= runtime.threads[current].pending != UNTOUCHED;
}

impl<T: ?Sized> Inner<T> {
    fn object(&self, handle: Handle) -> ObjectId {
        handle.get().object(&self.slot, ObjectKind::Arc, 0)
    }

    /// Takes it off the list of Arcs that are alive.
    fn unlist(&self, handle: Handle) {
        let runtime = handle.get();
        if let Some(place) = self.listed.get(runtime.stamp) {
            runtime.owned[place.index()] = None;
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
            listed.set(runtime.stamp, ObjectId::new(runtime.owned.len() as u32));
            runtime.owned.push(Some(("an Arc made", site)));
        }
    }
    listed
}

impl<T> Arc<T> {
    /// The first reference to a new value.
    #[inline]
    #[track_caller]
    pub fn new(value: T) -> Self {
        Arc { inner: ManuallyDrop::new(std::sync::Arc::new(Inner::new(value, Location::caller()))) }
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
        Arc { inner: ManuallyDrop::new(inner) }
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
            observe(handle, object, Location::caller());
        }
        this.unwrap_now()
    }

    /// Takes the value out if this is the only reference, and drops the reference otherwise.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        if let Some(handle) = running() {
            let object = this.inner.object(handle);
            observe(handle, object, Location::caller());
            // Looking and dropping are one operation: of several threads that do this, one gets the value.
            let last = this.is_last();
            let event = if last { LocalEvent::Acquire(object) } else { LocalEvent::Release(object) };
            handle.get().event(event);
            note(Value::Note(if last { "the only one" } else { "there are others" }));
        }
        let inner = std::sync::Arc::into_inner(this.into_std())?;
        if let Some(handle) = rt::current() {
            inner.unlist(handle);
        }
        Some(inner.value)
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
                note(Value::Number(std::sync::Arc::strong_count(&inner) as u64));
                Err(Arc { inner: ManuallyDrop::new(inner) })
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
        ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const this.inner) })
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
        Arc { inner: ManuallyDrop::new(unsafe { std::sync::Arc::from_raw(inner) }) }
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
            let object = this.inner.object(handle);
            if handle.get().options.counts_references {
                change(handle, object, false, "a weak one more");
            }
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
            observe(handle, self.inner.object(handle), site);
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
            observe(handle, this.inner.object(handle), Location::caller());
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
            observe(handle, this.inner.object(handle), site);
        }
        if std::sync::Arc::get_mut(&mut this.inner).is_some() {
            note(Value::Note("the only one"));
        } else if std::sync::Arc::strong_count(&this.inner) == 1 {
            note(Value::Note("the only one that is not weak"));
            std::sync::Arc::make_mut(&mut this.inner);
        } else {
            note(Value::Note("there are others"));
            let value = (**this).clone();
            *this = Arc { inner: ManuallyDrop::new(std::sync::Arc::new(Inner::new(value, site))) };
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
        if let Some(handle) = counting() {
            change(handle, self.inner.object(handle), false, "one more");
        }
        Arc { inner: self.inner.clone() }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `inner` is dropped here and nowhere else, and not used after.
        let drop_inner = |inner: &mut ManuallyDrop<_>| unsafe { ManuallyDrop::drop(inner) };
        let Some(handle) = rt::current() else { return drop_inner(&mut self.inner) };
        let running = handle.get().phase == Phase::Running;
        if running {
            self.drop_in_check(handle);
        }
        if !self.is_last() {
            return drop_inner(&mut self.inner);
        }
        self.inner.unlist(handle);
        if running {
            destroy(handle, || drop_inner(&mut self.inner));
        } else {
            drop_inner(&mut self.inner);
        }
    }
}

impl<T: ?Sized> Arc<T> {
    fn is_last(&self) -> bool {
        std::sync::Arc::strong_count(&self.inner) == 1
    }

    fn drop_in_check(&self, handle: Handle) {
        let object = self.inner.object(handle);
        let counts = handle.get().options.counts_references;
        if counts {
            change(handle, object, true, "the last one goes");
        }
        let runtime = handle.get();
        if self.is_last() {
            runtime.event(LocalEvent::Acquire(object));
        } else {
            runtime.event(LocalEvent::Release(object));
            if counts {
                runtime.value = Value::Note("one less");
            }
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
