//! Values that belong to an execution.
//!
//! A `OnceLock` or `LazyLock` may be a static, or come from outside of the check; what an execution puts into
//! it must be gone when the next begins. So the value is in a box that hangs on the object, not in the lock.
//! The lock drops it when it is dropped itself; for a static the end of the execution does. If neither
//! happens the value is leaked: something that lives on may borrow from it.
//!
//! All functions must be used with one type for one object: that of the lock which the object stands for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use selvedge_core::ObjectId;

use super::{Handle, Phase, is_static};

/// Puts a value into the object that stands for `owner`. There must be none in it.
pub(crate) fn put<T, O>(handle: Handle, object: ObjectId, owner: &O, value: Box<T>) {
    let content = NonNull::from(Box::leak(value)).cast::<()>();
    let runtime = handle.get();
    let before = runtime.state(object).content.replace(content);
    debug_assert!(before.is_none(), "a value is put where there is none");
    if runtime.phase == Phase::Running && is_static(owner) {
        runtime.at_end(Box::new(move || {
            let state = handle.get().state(object);
            state.word = 0;
            if let Some(content) = state.content.take() {
                // SAFETY: `put` made the pointer from a box of this type, and it was taken out just now. A
                // static has a type without borrows, and all threads have ended, so that nobody uses it.
                let value = unsafe { Box::from_raw(content.cast::<T>().as_ptr()) };
                // Statics are not dropped outside of a check, so that a panic there is no one's.
                let _ = catch_unwind(AssertUnwindSafe(move || drop(value)));
            }
        }));
    }
}

/// The value in an object.
pub(crate) fn get<T>(handle: Handle, object: ObjectId) -> Option<NonNull<T>> {
    handle.get().state(object).content.map(NonNull::cast)
}

/// Takes the value out of an object.
///
/// # Safety
/// Nobody may use the value any more: the lock that the object stands for is borrowed exclusively, and the
/// type is the one that was put.
pub(crate) unsafe fn take<T>(handle: Handle, object: ObjectId) -> Option<Box<T>> {
    let content = handle.get().state(object).content.take()?;
    // SAFETY: `put` made the pointer from a box; the caller promises the type and that it is not in use.
    Some(unsafe { Box::from_raw(content.cast::<T>().as_ptr()) })
}
