//! [`OnceLock`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use selvedge_core::{Access, ObjectId, Op, OpKind};
use selvedge_stateless::LocalEvent;

use super::once::{self, DONE, Entry, Once};
use crate::rt::{self, Gate, Handle, Value, boxed};

/// A value that is set once, as [`std::sync::OnceLock`].
///
/// In a check, one in a `static` begins every execution without a value, unless it was set outside of the
/// check; then that value is seen. What an execution has set is dropped with the lock or, for a `static`, at
/// the end of the execution: a reference to it must not be kept in anything that outlives that, such as a
/// lock of std in a `static`. In a lock that is neither dropped nor a `static` it is leaked.
///
/// ```
/// use selvedge::sync::OnceLock;
///
/// static NAME: OnceLock<String> = OnceLock::new();
///
/// selvedge::check(|| {
///     assert_eq!(NAME.get(), None);
///     let other = selvedge::thread::spawn(|| NAME.get_or_init(|| "Ada".into()).len());
///     let name = NAME.get_or_init(|| "Grace".into());
///     assert_eq!(other.join().unwrap(), name.len());
/// });
/// ```
pub struct OnceLock<T> {
    pub(super) once: Once,
    /// The value outside of a check: initialised if `once` is completed outside.
    pub(super) outside: UnsafeCell<MaybeUninit<T>>,
    owns: PhantomData<T>,
}

// SAFETY: as for std's: whichever thread sets the value, all may share it, and any may drop it.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: as for std's: it owns its value.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// One without a value.
    #[inline]
    pub const fn new() -> Self {
        OnceLock { once: Once::new(), outside: UnsafeCell::new(MaybeUninit::uninit()), owns: PhantomData }
    }

    /// The value, if it is set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        match rt::current() {
            // SAFETY: it is completed.
            None => self.once.outside.is_completed().then(|| unsafe { self.outside() }),
            Some(handle) => {
                let object = self.once.object(handle);
                let done = once::is_done(handle, object, Location::caller());
                // SAFETY: it is done.
                done.then(|| unsafe { self.inside(handle, object) })
            }
        }
    }

    /// The value that was set outside.
    ///
    /// # Safety
    /// It is completed outside.
    pub(super) unsafe fn outside(&self) -> &T {
        // SAFETY: the value is written before it is completed, and then only through exclusive borrows.
        unsafe { (*self.outside.get()).assume_init_ref() }
    }

    /// The value in the current execution.
    ///
    /// # Safety
    /// It is done in this execution.
    pub(super) unsafe fn inside(&self, handle: Handle, object: ObjectId) -> &T {
        match boxed::get::<T>(handle, object) {
            // SAFETY: the box lives until the lock is dropped or borrowed exclusively, or the execution ends.
            Some(value) => unsafe { value.as_ref() },
            // SAFETY: done from the start, which is to say completed outside.
            None => unsafe { self.outside() },
        }
    }

    /// The value, if it is set.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if let Some(value) = self.in_check().and_then(|(handle, object)| boxed::get::<T>(handle, object)) {
            // SAFETY: the box belongs to this lock, which is borrowed exclusively.
            return Some(unsafe { &mut *value.as_ptr() });
        }
        // SAFETY: it is completed.
        self.once.outside.is_completed().then(|| unsafe { self.outside.get_mut().assume_init_mut() })
    }

    /// The object that this is in the current execution, if it has been touched.
    fn in_check(&self) -> Option<(Handle, ObjectId)> {
        let handle = rt::current()?;
        Some((handle, self.once.slot.get(handle.get().stamp)?))
    }

    /// Sets the value unless it is set; waits if it is just being set.
    ///
    /// # Errors
    /// With the value, when it is set already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let Some(handle) = rt::current() else {
            let mut value = Some(value);
            self.set_outside(|| value.take().expect("it is called once"));
            return value.map_or(Ok(()), Err);
        };
        let object = self.once.object(handle);
        let done = handle.get().state(object).word & DONE != 0;
        let access = if done { Access::Read } else { Access::Write };
        let gate = Gate::clear(object, once::RUNNING);
        handle.visible_when(Op::on(OpKind::OnceEnter, access, object), gate, Location::caller());
        let runtime = handle.get();
        if runtime.state(object).word & DONE != 0 {
            runtime.performs(Access::Read);
            runtime.value = Value::Note("it is done");
            return Err(value);
        }
        // Nothing runs between entering and leaving, so one step is enough.
        runtime.value = Value::Note("set");
        runtime.event(LocalEvent::Release(object));
        boxed::put(handle, object, self, Box::new(value));
        handle.get().set_word(object, DONE);
        Ok(())
    }

    /// Sets the value outside of a check, unless it is set.
    fn set_outside(&self, make: impl FnOnce() -> T) {
        self.once.outside.call_once_force(|_| {
            let value = make();
            // SAFETY: only one thread is in here, and others look when it is completed.
            unsafe { (*self.outside.get()).write(value) };
        });
    }

    /// The value, set to what `f` makes if it is not set; waits if it is just being set.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let Some(handle) = rt::current() else {
            self.set_outside(f);
            // SAFETY: it is completed.
            return unsafe { self.outside() };
        };
        let object = self.once.object(handle);
        if let Entry::Entered(running) = once::enter(handle, object, true, Location::caller()) {
            let value = Box::new(f());
            running.complete();
            boxed::put(handle, object, self, value);
        }
        // SAFETY: it is done, by this thread or by another.
        unsafe { self.inside(handle, object) }
    }

    /// Waits until the value is set.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let Some(handle) = rt::current() else {
            self.once.outside.wait_force();
            // SAFETY: it is completed.
            return unsafe { self.outside() };
        };
        let object = self.once.object(handle);
        once::wait(handle, object, DONE, Location::caller());
        // SAFETY: it is done.
        unsafe { self.inside(handle, object) }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> Option<T> {
        ManuallyDrop::new(self).take()
    }

    /// Takes the value out, and leaves none.
    pub fn take(&mut self) -> Option<T> {
        let inside = self.in_check().and_then(|(handle, object)| {
            // SAFETY: the lock is borrowed exclusively, and what is put into it is a `T`.
            unsafe { boxed::take::<T>(handle, object) }
        });
        let outside = self.once.outside.is_completed();
        self.once = Once::new();
        // SAFETY: it was completed, and is no longer, so that the value is read once.
        let outside = outside.then(|| unsafe { self.outside.get_mut().assume_init_read() });
        inside.map(|value| *value).or(outside)
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let lock = OnceLock::new();
        lock.set_outside(|| value);
        lock
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
