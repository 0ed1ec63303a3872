//! The destructors of C++ thread-locals. The C library would run them when it ends a thread, which it never does here.

use std::ffi::{c_int, c_void};

use crate::runtime::{is_on, rt};
use crate::sys::{self, real};

type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// A destructor that is to be run.
#[repr(C)]
pub(crate) struct Entry {
    destructor: Destructor,
    object: *mut c_void,
    /// The one that was registered before.
    next: *mut Entry,
    /// As large as the C library's, so that the program's memory is where it always is.
    _unused: usize,
}

/// Registers a destructor: C++'s library calls it for each thread-local that has one.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __cxa_thread_atexit_impl(
    destructor: Destructor,
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if !is_on() {
        // Of the first thread, before `main`: run when the process exits.
        let register = real!(c"__cxa_thread_atexit_impl", fn(Destructor, *mut c_void, *mut c_void) -> c_int);
        // SAFETY: passed on.
        return unsafe { register(destructor, object, library) };
    }
    // SAFETY: the memory is checked, and as large as an entry.
    unsafe {
        let entry = sys::malloc(size_of::<Entry>()).cast::<Entry>();
        if entry.is_null() {
            return -1;
        }
        let me = rt().current as usize;
        let first = &mut rt().threads[me].thread_locals;
        entry.write(Entry { destructor, object, next: *first, _unused: 0 });
        *first = entry;
    }
    0
}

/// Runs the destructors of the current thread, the last registered first, and those that they register.
pub(crate) fn run_destructors() {
    let me = rt().current as usize;
    loop {
        let entry = rt().threads[me].thread_locals;
        if entry.is_null() {
            return;
        }
        // SAFETY: an entry of the list, which is freed once it is out of it.
        unsafe {
            let Entry { destructor, object, next, .. } = entry.read();
            rt().threads[me].thread_locals = next;
            destructor(object);
            crate::heap::give_back(entry.cast());
        }
    }
}
