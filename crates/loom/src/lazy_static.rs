//! What [`lazy_static!`](crate::lazy_static!) declares.

pub use selvedge::thread::AccessError;

/// A value that each execution makes when it first uses it, and drops at its end.
pub struct Lazy<T: 'static> {
    #[doc(hidden)]
    pub value: selvedge::sync::LazyLock<T>,
}

impl<T: 'static> Lazy<T> {
    /// The value.
    pub fn get(&'static self) -> &'static T {
        &self.value
    }
}

impl<T: 'static> std::fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// Declares statics that are made when they are first used, as `lazy_static::lazy_static!`. In a model each execution has
/// its own.
///
/// ```
/// use loom::sync::Mutex;
///
/// loom::lazy_static! {
///     static ref NAMES: Mutex<Vec<&'static str>> = Mutex::new(vec!["Ada"]);
/// }
///
/// loom::model(|| {
///     NAMES.lock().unwrap().push("Grace");
///     assert_eq!(NAMES.lock().unwrap().len(), 2);
/// });
/// ```
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attribute:meta])* static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::__lazy_static!([$(#[$attribute])*] [] $name: $type = $init);
        $crate::lazy_static!($($rest)*);
    };
    ($(#[$attribute:meta])* pub static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::__lazy_static!([$(#[$attribute])*] [pub] $name: $type = $init);
        $crate::lazy_static!($($rest)*);
    };
    ($(#[$attribute:meta])* pub ($($vis:tt)+) static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::__lazy_static!([$(#[$attribute])*] [pub ($($vis)+)] $name: $type = $init);
        $crate::lazy_static!($($rest)*);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ([$($attribute:tt)*] [$($vis:tt)*] $name:ident: $type:ty = $init:expr) => {
        #[allow(non_camel_case_types, dead_code, missing_copy_implementations)]
        $($attribute)*
        $($vis)* struct $name {
            __private: (),
        }
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        $($vis)* static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;
            fn deref(&self) -> &$type {
                fn init() -> $type {
                    $init
                }
                static LAZY: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy { value: $crate::__private::LazyLock::new(init) };
                LAZY.get()
            }
        }
    };
}
