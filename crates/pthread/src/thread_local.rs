//! The destructors of C++ thread-locals. The C library would run them when it ends a thread, which it never does here.

use std::ffi::{c_char, c_int, c_void};

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
    /// Keeps its library there until it has run; null if that cannot go. (So an entry is as large as the C library's,
    /// and the program's memory is where it always is.)
    library: *mut c_void,
}

/// Has the library that an address is in stay, though the program may close it. Null for the executable.
fn keep_library(address: *mut c_void) -> *mut c_void {
    const RTLD_LAZY: c_int = 1;
    const RTLD_NOLOAD: c_int = 4;
    extern "C" fn each(info: *mut sys::DlInfo, _: usize, found: *mut c_void) -> c_int {
        const LOAD: u32 = 1;
        // SAFETY: the loader gives valid headers; the pair is the caller's.
        unsafe {
            let (info, found) = (&*info, &mut *found.cast::<(usize, *const c_char)>());
            let mut headers = std::slice::from_raw_parts(info.headers, usize::from(info.count)).iter();
            let is_in = headers.any(|header| {
                let from = info.base + header.address as usize;
                header.kind == LOAD && (from..from + header.memory_size as usize).contains(&found.0)
            });
            if is_in {
                found.1 = info.name;
            }
            c_int::from(is_in)
        }
    }
    let mut found = (address as usize, std::ptr::null::<c_char>());
    // SAFETY: the callback takes what the loader gives, and this. A library that is loaded has a name, which is a C
    // string; that of the executable is empty.
    unsafe {
        sys::dl_iterate_phdr(each, (&raw mut found).cast());
        if found.1.is_null() || *found.1 == 0 {
            return std::ptr::null_mut();
        }
        sys::dlopen(found.1, RTLD_LAZY | RTLD_NOLOAD)
    }
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
        entry.write(Entry { destructor, object, next: *first, library: keep_library(library) });
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
            let Entry { destructor, object, next, library } = entry.read();
            rt().threads[me].thread_locals = next;
            destructor(object);
            if !library.is_null() {
                sys::dlclose(library);
            }
            crate::heap::give_back(entry.cast());
        }
    }
}
