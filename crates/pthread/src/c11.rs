//! C11's threads, mutexes and condition variables. The C library's are pthreads' with other names and results, and call
//! them in a way that cannot be interposed; so they are stood in for too.

use std::ffi::{c_int, c_void};

use crate::runtime::is_on;
use crate::site::frame;
use crate::sys::{EBUSY, ETIMEDOUT, Timespec, real};
use crate::{cond, key, mutex, thread, time};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

fn result(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        EBUSY => BUSY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// `thrd_create`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn thrd_create(
    handle: *mut usize,
    function: usize,
    argument: *mut c_void,
) -> c_int {
    if is_on() {
        return result(thread::create(handle, std::ptr::null(), function, argument, true, frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"thrd_create", fn(*mut usize, usize, *mut c_void) -> c_int)(handle, function, argument) }
}

/// `thrd_join`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn thrd_join(handle: usize, status: *mut c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"thrd_join", fn(usize, *mut c_int) -> c_int)(handle, status) };
    }
    let mut value = std::ptr::null_mut();
    let joined = result(thread::join(handle, &raw mut value, None, frame!()));
    if joined == SUCCESS && !status.is_null() {
        // SAFETY: the program's.
        unsafe { *status = value as isize as c_int };
    }
    joined
}

/// `thrd_detach`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn thrd_detach(handle: usize) -> c_int {
    // SAFETY: as the caller's.
    result(unsafe { thread::pthread_detach(handle) })
}

/// `thrd_exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn thrd_exit(status: c_int) -> ! {
    // SAFETY: as the caller's.
    unsafe { thread::pthread_exit(status as isize as *mut c_void) }
}

/// `thrd_yield`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn thrd_yield() {
    if is_on() {
        thread::yields(frame!());
    }
}

/// `mtx_lock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_lock(mutex: *mut c_void) -> c_int {
    if is_on() {
        return result(mutex::lock(mutex::Mutex::new(mutex), None, frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"mtx_lock", fn(*mut c_void) -> c_int)(mutex) }
}

/// `mtx_trylock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_trylock(mutex: *mut c_void) -> c_int {
    if is_on() {
        return result(mutex::try_lock(mutex::Mutex::new(mutex), frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"mtx_trylock", fn(*mut c_void) -> c_int)(mutex) }
}

/// `mtx_timedlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_timedlock(mutex: *mut c_void, limit: *const Timespec) -> c_int {
    if is_on() {
        return result(mutex::lock_until(mutex::Mutex::new(mutex), time::REALTIME, limit, frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"mtx_timedlock", fn(*mut c_void, *const Timespec) -> c_int)(mutex, limit) }
}

/// `mtx_unlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_unlock(mutex: *mut c_void) -> c_int {
    if is_on() {
        return result(mutex::unlock(mutex::Mutex::new(mutex), frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"mtx_unlock", fn(*mut c_void) -> c_int)(mutex) }
}

/// `mtx_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_destroy(mutex: *mut c_void) {
    if is_on() {
        mutex::destroy_mutex(mutex::Mutex::new(mutex), frame!());
        return;
    }
    // SAFETY: passed on.
    unsafe { real!(c"mtx_destroy", fn(*mut c_void))(mutex) };
}

/// `cnd_wait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_wait(condvar: *mut c_void, mutex: *mut c_void) -> c_int {
    if is_on() {
        return result(cond::wait(condvar, mutex, None, frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"cnd_wait", fn(*mut c_void, *mut c_void) -> c_int)(condvar, mutex) }
}

/// `cnd_timedwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_timedwait(
    condvar: *mut c_void,
    mutex: *mut c_void,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        // SAFETY: the program's.
        return match time::moment(time::REALTIME, unsafe { *limit }) {
            Some(deadline) => result(cond::wait(condvar, mutex, Some(deadline), frame!())),
            None => {
                cond::look_for_freed(condvar, mutex, frame!());
                ERROR
            }
        };
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"cnd_timedwait", fn(*mut c_void, *mut c_void, *const Timespec) -> c_int)(condvar, mutex, limit)
    }
}

/// `cnd_signal`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_signal(condvar: *mut c_void) -> c_int {
    if is_on() {
        cond::notify(condvar, false, frame!());
        return SUCCESS;
    }
    // SAFETY: passed on.
    unsafe { real!(c"cnd_signal", fn(*mut c_void) -> c_int)(condvar) }
}

/// `cnd_broadcast`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_broadcast(condvar: *mut c_void) -> c_int {
    if is_on() {
        cond::notify(condvar, true, frame!());
        return SUCCESS;
    }
    // SAFETY: passed on.
    unsafe { real!(c"cnd_broadcast", fn(*mut c_void) -> c_int)(condvar) }
}

/// `cnd_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_destroy(condvar: *mut c_void) {
    if is_on() {
        cond::destroy_condvar(condvar, frame!());
        return;
    }
    // SAFETY: passed on.
    unsafe { real!(c"cnd_destroy", fn(*mut c_void))(condvar) };
}

/// `tss_create`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn tss_create(made: *mut u32, destructor: usize) -> c_int {
    // SAFETY: as the caller's.
    result(unsafe { key::pthread_key_create(made, destructor) })
}

/// `tss_delete`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn tss_delete(key: u32) {
    // SAFETY: as the caller's.
    unsafe { key::pthread_key_delete(key) };
}
