//! Making an [`Arc`] from something else.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::path::{Path, PathBuf};

use super::{Arc, Inner, list};
use crate::rt::ObjectSlot;

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Arc::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Self {
        let layout = Layout::for_value::<T>(&value);
        let value: *mut T = Box::into_raw(value);
        // SAFETY: the value is moved out of the box, whose memory is freed without dropping it.
        unsafe {
            let inner = with_header(value, Location::caller());
            if layout.size() > 0 {
                dealloc(value.cast::<u8>(), layout);
            }
            Arc { inner: ManuallyDrop::new(std::sync::Arc::from(inner)) }
        }
    }
}

impl<T: ?Sized> Arc<T> {
    /// An Arc of a value that std's has, which may be of a type that has no size, such as a trait object. The value moves:
    /// pointers to it are left dangling.
    ///
    /// # Panics
    /// When there is another reference to it.
    ///
    /// ```
    /// use selvedge::sync::Arc;
    ///
    /// let shape: Arc<dyn Fn(u32) -> u32> = Arc::from_std(std::sync::Arc::new(|side| side * side));
    /// assert_eq!(shape(3), 9);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn from_std(mut std: std::sync::Arc<T>) -> Self {
        let value: *const T = std::sync::Arc::get_mut(&mut std)
            .expect("`Arc::from_std` takes the only reference to a value, and there are others");
        // SAFETY: nobody else refers to the value, which is moved out here once: what is left is freed as something that
        // is laid out alike and drops nothing.
        unsafe {
            let inner = with_header(value, Location::caller());
            drop(std::sync::Arc::from_raw(std::sync::Arc::into_raw(std) as *const ManuallyDrop<T>));
            Arc { inner: ManuallyDrop::new(std::sync::Arc::from(inner)) }
        }
    }
}

/// Moves a value behind a header.
///
/// # Safety
/// The value must be there, and not be dropped nor used at its old place after.
unsafe fn with_header<T: ?Sized>(value: *const T, site: &'static Location<'static>) -> Box<Inner<T>> {
    // SAFETY: the value is there.
    let content = unsafe { Layout::for_value::<T>(&*value) };
    let (whole, offset) = Layout::new::<Inner<()>>().extend(content).expect("there is room for a header");
    let whole = whole.pad_to_align();
    let header = Inner { slot: ObjectSlot::new(), listed: list(site), value: () };
    // SAFETY: the memory is laid out as `repr(C)` says: the header, which has a size, then the value, which
    // is moved there. A pointer to the whole has the metadata of
    // one to the value, its last field, and begins with the address, as the assertion makes sure.
    unsafe {
        let memory = alloc(whole);
        if memory.is_null() {
            handle_alloc_error(whole);
        }
        memory.cast::<Inner<()>>().write(header);
        std::ptr::copy_nonoverlapping(value.cast::<u8>(), memory.add(offset), content.size());
        let mut inner = value as *mut Inner<T>;
        (&raw mut inner).cast::<*mut u8>().write(memory);
        assert!(std::ptr::addr_eq(inner, memory), "a pointer begins with the address");
        Box::from_raw(inner)
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    #[track_caller]
    fn from(values: Vec<T>) -> Self {
        Arc::from(values.into_boxed_slice())
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        crate::sync::unsize!(Arc::new(values))
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    #[track_caller]
    fn from(values: &[T]) -> Self {
        Arc::from(Box::<[T]>::from(values))
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Arc::from(values.into_iter().collect::<Vec<T>>())
    }
}

/// Those that go by way of a box.
macro_rules! by_box {
    ($($from:ty => $to:ty),* $(,)?) => {
        $(
            impl From<$from> for Arc<$to> {
                #[track_caller]
                fn from(value: $from) -> Self {
                    Arc::from(Box::<$to>::from(value))
                }
            }
        )*
    };
}

by_box! {
    &str => str,
    String => str,
    Cow<'_, str> => str,
    &CStr => CStr,
    CString => CStr,
    &OsStr => OsStr,
    OsString => OsStr,
    &Path => Path,
    PathBuf => Path,
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(text: Arc<str>) -> Self {
        // SAFETY: a string is laid out as its bytes are.
        unsafe { Arc::from_raw(Arc::into_raw(text) as *const [u8]) }
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(values: Arc<[T]>) -> Result<Self, Arc<[T]>> {
        if values.len() == N {
            // SAFETY: a slice with so many elements is laid out as the array is.
            Ok(unsafe { Arc::from_raw(Arc::into_raw(values).cast::<[T; N]>()) })
        } else {
            Err(values)
        }
    }
}

impl<T> Arc<T> {
    /// The first reference to a value that is not initialised yet.
    #[must_use]
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::new(MaybeUninit::uninit())
    }
}

impl<T> Arc<[T]> {
    /// The first reference to a slice whose elements are not initialised yet.
    #[must_use]
    #[track_caller]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::from(Box::new_uninit_slice(len))
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// Takes the value for initialised.
    ///
    /// # Safety
    /// It must be.
    #[must_use = "`self` will be dropped if the result is not used"]
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: both are laid out alike, and the caller promises that the value is initialised.
        unsafe { Arc::from_raw(Arc::into_raw(self).cast()) }
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// Takes the elements for initialised.
    ///
    /// # Safety
    /// They must be.
    #[must_use = "`self` will be dropped if the result is not used"]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: both are laid out alike, and the caller promises that the elements are initialised.
        unsafe { Arc::from_raw(Arc::into_raw(self) as *const [T]) }
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The reference to a value of a type, if that is its type.
    ///
    /// # Errors
    /// With the reference, when the type is another.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        if (*self).is::<T>() {
            // SAFETY: the value is a `T`.
            Ok(unsafe { Arc::from_raw(Arc::into_raw(self).cast()) })
        } else {
            Err(self)
        }
    }
}
