//! [`LazyLock`] and [`lazy_static!`](crate::lazy_static).

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

use selvedge_core::ObjectId;

use super::once::{self, Entry};
use super::once_lock::OnceLock;
use crate::rt::{self, Handle, ObjectKind, boxed};

/// A value that is made when it is first used, as [`std::sync::LazyLock`].
///
/// In a check, one in a `static` begins every execution without a value, whether or not it has one outside.
/// What an execution has made is dropped with the lock or, for a `static`, at the end of the execution: a
/// reference to it must not be kept in anything that outlives that. A lock that is made outside of the check,
/// with a closure that captures something, serves for one execution only; make it inside.
///
/// ```
/// use selvedge::sync::{LazyLock, Mutex};
///
/// static NAMES: LazyLock<Mutex<Vec<&str>>> = LazyLock::new(|| Mutex::new(vec!["Ada"]));
///
/// selvedge::check(|| {
///     let other = selvedge::thread::spawn(|| NAMES.lock().unwrap().push("Grace"));
///     NAMES.lock().unwrap().push("Barbara");
///     other.join().unwrap();
///     assert_eq!(NAMES.lock().unwrap().len(), 3);
/// });
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    /// Whether `init` has been moved out.
    taken: AtomicBool,
    init: UnsafeCell<ManuallyDrop<F>>,
}

// SAFETY: as for std's: one thread runs the closure, and then all may share the value; `taken` gives the
// closure to one thread only.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// One whose value `f` will make.
    #[inline]
    pub const fn new(f: F) -> Self {
        LazyLock {
            cell: OnceLock::new(),
            taken: AtomicBool::new(false),
            init: UnsafeCell::new(ManuallyDrop::new(f)),
        }
    }

    /// Makes the value if it has not been made; waits if it is just being made.
    ///
    /// # Panics
    /// When the closure panics, or has panicked before.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        let Some(handle) = rt::current() else {
            this.force_outside();
            // SAFETY: it is completed.
            return unsafe { this.cell.outside() };
        };
        let object = this.object(handle);
        match once::enter(handle, object, false, Location::caller()) {
            Entry::Done => {}
            Entry::Poisoned => poisoned(),
            Entry::Entered(running) => {
                let value = Box::new(this.make());
                running.complete();
                boxed::put(handle, object, this, value);
            }
        }
        // SAFETY: it is done, by this thread or by another.
        unsafe { this.cell.inside(handle, object) }
    }

    fn force_outside(&self) {
        self.cell.once.outside.call_once_force(|state| {
            if state.is_poisoned() {
                poisoned();
            }
            let value = self.make();
            // SAFETY: only one thread is in here, and others look when it is completed.
            unsafe { (*self.cell.outside.get()).write(value) };
        });
    }

    /// Calls the closure.
    #[track_caller]
    fn make(&self) -> T {
        if !Self::is_repeatable() && self.taken.swap(true, Ordering::Relaxed) {
            panic!(
                "this LazyLock was made outside of the check, and another execution has used up its closure: \
                 make it inside of the check, or make it a static"
            );
        }
        // SAFETY: nobody writes it. Either it can be copied, or `taken` has given it to this thread alone.
        let init = unsafe { std::ptr::read(self.init.get()) };
        ManuallyDrop::into_inner(init)()
    }

    /// Makes the value if it has not been made.
    ///
    /// # Panics
    /// When the closure panics, or has panicked before.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        LazyLock::force(this);
        this.cell.get_mut().expect("it has just been made")
    }
}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F> LazyLock<T, F> {
    /// Whether the closure may be copied bit by bit and called once for each copy: whether it is a function
    /// pointer, as it is in every static. The names of their types, and of no others, begin as here.
    fn is_repeatable() -> bool {
        std::any::type_name::<F>().starts_with("fn()")
    }

    /// The object. If the value can be made again, the execution makes its own.
    fn object(&self, handle: Handle) -> ObjectId {
        let runtime = handle.get();
        match self.cell.once.slot.get(runtime.stamp) {
            Some(object) => object,
            None if Self::is_repeatable() => runtime.object(&self.cell.once.slot, ObjectKind::Once, 0),
            None => self.cell.once.object(handle),
        }
    }

    /// The value, if it has been made.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        if let Some(handle) = rt::current() {
            this.object(handle);
        }
        this.cell.get()
    }

    /// The value, if it has been made.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.cell.get_mut()
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        if !*self.taken.get_mut() {
            // SAFETY: the closure has not been moved out. One that was copied has nothing to drop.
            unsafe { ManuallyDrop::drop(self.init.get_mut()) };
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}

/// Declares statics that are made when they are first used, in the way of the crate `lazy_static`; in a check
/// they are made anew, and dropped, in every execution. Each is a [`LazyLock`].
///
/// ```
/// use selvedge::sync::Mutex;
///
/// selvedge::lazy_static! {
///     /// Who has come.
///     static ref GUESTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
///     pub static ref LIMIT: usize = 2;
/// }
///
/// selvedge::check(|| {
///     GUESTS.lock().unwrap().push("Ada".to_string());
///     assert!(GUESTS.lock().unwrap().len() < *LIMIT);
/// });
/// ```
#[macro_export]
macro_rules! lazy_static {
    ($($(#[$attribute:meta])* $vis:vis static ref $name:ident: $type:ty = $init:expr;)*) => {
        $(
            $(#[$attribute])*
            $vis static $name: $crate::sync::LazyLock<$type> = $crate::sync::LazyLock::new(|| $init);
        )*
    };
}
