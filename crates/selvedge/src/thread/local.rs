//! Thread-local variables.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;

use crate::rt;

/// A thread-local variable that [`thread_local!`](crate::thread_local) has declared; as
/// [`std::thread::LocalKey`].
pub struct LocalKey<T: 'static> {
    #[doc(hidden)]
    pub outside: &'static std::thread::LocalKey<T>,
    #[doc(hidden)]
    pub init: fn() -> T,
}

/// The variable has been, or is being, destroyed; as [`std::thread::AccessError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessError;

const DESTROYED: &str = "cannot access a Thread Local Storage value during or after destruction";

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

/// Declares thread-local variables, as [`std::thread_local!`]. In a check each thread of each execution has
/// its own, and drops it when it ends. A `join` waits for that, the end of a scope does not.
///
/// ```
/// use std::cell::Cell;
///
/// selvedge::thread_local! {
///     static DEPTH: Cell<u32> = const { Cell::new(1) };
///     pub static NAME: String = String::from("nobody");
/// }
///
/// selvedge::check(|| {
///     DEPTH.set(2);
///     let other = selvedge::thread::spawn(|| DEPTH.get()).join().unwrap();
///     assert_eq!((DEPTH.get(), other), (2, 1));
///     assert_eq!(NAME.with(|name| name.len()), 6);
/// });
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        $(#[$attribute])*
        $vis static $name: $crate::thread::LocalKey<$type> = {
            fn init() -> $type {
                $init
            }
            ::std::thread_local!(static OUTSIDE: $type = init());
            $crate::thread::LocalKey { outside: &OUTSIDE, init }
        };
    };
}

impl<T: 'static> LocalKey<T> {
    /// A key's identity is its address: it is a static.
    fn id(&'static self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The variable of the current thread of a check, made when it is first used.
    fn in_check(&'static self, handle: rt::Handle, init: impl FnOnce() -> T) -> Option<*const T> {
        let id = self.id();
        let find = |handle: rt::Handle| {
            let runtime = handle.get();
            let locals = &runtime.threads[runtime.current.index()].locals;
            locals.values.iter().find(|(key, _)| *key == id).map(|(_, value)| {
                let value: *const T = value.downcast_ref::<T>().expect("a key has one type");
                value
            })
        };
        if let Some(value) = find(handle) {
            return Some(value);
        }
        let runtime = handle.get();
        if runtime.threads[runtime.current.index()].locals.destroyed.contains(&id) {
            return None;
        }
        let value: Box<dyn Any> = Box::new(init());
        let runtime = handle.get();
        runtime.threads[runtime.current.index()].locals.values.push((id, value));
        find(handle)
    }

    /// Gives access to the variable.
    ///
    /// # Panics
    /// When the variable has been destroyed.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f).expect(DESTROYED)
    }

    /// Gives access to the variable.
    ///
    /// # Errors
    /// When the variable has been destroyed.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        match rt::current() {
            None => self.outside.try_with(f).map_err(|_| AccessError),
            Some(handle) => {
                let value = self.in_check(handle, self.init).ok_or(AccessError)?;
                // SAFETY: the variable is boxed, and lives until its thread drops it at its end, which is
                // not while this call, of the same thread, runs.
                Ok(f(unsafe { &*value }))
            }
        }
    }
}

impl<T: 'static> LocalKey<T> {
    /// Makes the variable from a value, without its initial value, or has `change` deal with the value if it
    /// is there already.
    #[track_caller]
    fn set_with<V>(&'static self, value: V, make: fn(V) -> T, change: fn(&T, V)) {
        let Some(handle) = rt::current() else { unreachable!("only in a check") };
        let mut value = Some(value);
        let variable = self.in_check(handle, || make(value.take().expect("it is called once")));
        let variable = variable.expect(DESTROYED);
        if let Some(value) = value {
            // SAFETY: as in `try_with`.
            change(unsafe { &*variable }, value);
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value. If the variable has not been used before, its initial value is not made.
    ///
    /// # Panics
    /// When the variable has been destroyed.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        match rt::current() {
            None => self.outside.set(value),
            Some(_) => self.set_with(value, Cell::new, Cell::set),
        }
    }

    /// A copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Gives shared access to the value.
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Gives exclusive access to the value.
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value. If the variable has not been used before, its initial value is not made.
    ///
    /// # Panics
    /// When the value is borrowed, or the variable has been destroyed.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        match rt::current() {
            None => self.outside.set(value),
            Some(_) => self.set_with(value, RefCell::new, |cell, value| *cell.borrow_mut() = value),
        }
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
