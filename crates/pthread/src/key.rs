//! Thread-specific keys. Their values are the C library's affair; their destructors run before a thread's last step,
//! and not at its real end.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::runtime::is_on;
use crate::spin;
use crate::sys::real;

const KEYS: usize = 1024;
const ITERATIONS: usize = 4;

/// One more than the largest key that has a destructor.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// The destructor of each key; 0 for none.
static DESTRUCTORS: [AtomicUsize; KEYS] = [const { AtomicUsize::new(0) }; KEYS];

/// `pthread_key_create`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_key_create(key: *mut u32, destructor: usize) -> c_int {
    let create = real!(c"pthread_key_create", fn(*mut u32, usize) -> c_int);
    // Also before `main`: no thread that ends before is of interest.
    // SAFETY: passed on, without the destructor.
    let failed = unsafe { create(key, 0) };
    if failed == 0 {
        // SAFETY: the C library has written it.
        let key = unsafe { *key } as usize;
        if let Some(slot) = DESTRUCTORS.get(key) {
            slot.store(destructor, Ordering::Relaxed);
            if destructor != 0 {
                LARGEST.fetch_max(key + 1, Ordering::Relaxed);
            }
        }
    }
    failed
}

/// `pthread_key_delete`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_key_delete(key: u32) -> c_int {
    if let Some(slot) = DESTRUCTORS.get(key as usize) {
        slot.store(0, Ordering::Relaxed);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_key_delete", fn(u32) -> c_int)(key) }
}

/// `pthread_setspecific`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_setspecific(key: u32, value: *const c_void) -> c_int {
    if is_on() {
        spin::acts();
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_setspecific", fn(u32, *const c_void) -> c_int)(key, value) }
}

/// `tss_set`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn tss_set(key: u32, value: *mut c_void) -> c_int {
    if is_on() {
        spin::acts();
    }
    // SAFETY: passed on.
    unsafe { real!(c"tss_set", fn(u32, *mut c_void) -> c_int)(key, value) }
}

/// Runs the destructors of the current thread's values, as often as POSIX says.
pub(crate) fn run_destructors() {
    debug_assert!(is_on());
    for _ in 0..ITERATIONS {
        let mut any = false;
        for (key, slot) in DESTRUCTORS.iter().enumerate().take(LARGEST.load(Ordering::Relaxed)) {
            let destructor = slot.load(Ordering::Relaxed);
            if destructor == 0 {
                continue;
            }
            // SAFETY: the key exists: it has a destructor.
            unsafe {
                let value = real!(c"pthread_getspecific", fn(u32) -> *mut c_void)(key as u32);
                if value.is_null() {
                    continue;
                }
                any = true;
                real!(c"pthread_setspecific", fn(u32, *const c_void) -> c_int)(key as u32, std::ptr::null());
                let destructor: unsafe extern "C-unwind" fn(*mut c_void) = std::mem::transmute(destructor);
                destructor(value);
            }
        }
        if !any {
            return;
        }
    }
}
