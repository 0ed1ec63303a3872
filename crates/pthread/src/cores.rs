//! Which cores a thread may run on. All of them, as far as the program can see: that its threads take turns on one, which
//! the controlling side chooses, is none of its business. A program that asks for certain cores is told that it has them.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::{is_on, rt};
use crate::sys::{self, EINVAL, ESRCH, real};
use crate::thread::find;

/// A set of cores. Systems with more have never been seen; cores above are as the system says.
pub(crate) type Cores = [u64; 16];

/// Those that the program was started on.
static ALL: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

/// Asks the system which they are, before the controlling side has chosen one.
pub(crate) fn prepare() {
    let mut cores: Cores = [0; 16];
    // SAFETY: the set is as large as is said.
    unsafe { get((&raw mut cores).cast(), size_of::<Cores>()) };
    for (all, word) in ALL.iter().zip(cores) {
        all.store(word, Ordering::Relaxed);
    }
}

fn all() -> Cores {
    ALL.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// Keeps the kernel thread on one core.
pub(crate) fn stay_on(core: usize) {
    let mut cores: Cores = [0; 16];
    if let Some(word) = cores.get_mut(core / 64) {
        *word |= 1 << (core % 64);
        let set = &raw const cores as usize;
        // SAFETY: the set is as large as is said.
        unsafe { sys::call(sys::SYS_SCHED_SETAFFINITY, [0, size_of::<Cores>(), set, 0, 0, 0]) };
    }
}

/// What the system says of this kernel thread.
///
/// # Safety
/// There are so many bytes.
unsafe fn get(to: *mut c_void, size: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { real!(c"sched_getaffinity", fn(c_int, usize, *mut c_void) -> c_int)(0, size, to) }
}

/// Tells which cores a thread may run on; fails as the system does.
///
/// # Safety
/// There are so many bytes.
unsafe fn tell(thread: u32, size: usize, to: *mut c_void) -> c_int {
    // SAFETY: passed on; then as much of the set as there is room for.
    unsafe {
        let result = get(to, size);
        if result == 0 {
            let asked = rt().threads[thread as usize].cores;
            let cores = if asked == [0; 16] { all() } else { asked };
            let bytes = size.min(size_of::<Cores>());
            to.cast::<u8>().copy_from_nonoverlapping((&raw const cores).cast(), bytes);
        }
        result
    }
}

/// Notes which cores a thread is to run on; says whether there is one among them.
///
/// # Safety
/// There are so many bytes.
unsafe fn note(thread: u32, size: usize, from: *const c_void) -> bool {
    let mut cores: Cores = [0; 16];
    let bytes = size.min(size_of::<Cores>());
    // SAFETY: as much as there is, and as there is room for.
    unsafe { (&raw mut cores).cast::<u8>().copy_from_nonoverlapping(from.cast(), bytes) };
    let Some(cores) = existing(cores) else { return false };
    rt().threads[thread as usize].cores = cores;
    true
}

/// Those of the cores that there are, if there is one.
pub(crate) fn existing(mut cores: Cores) -> Option<Cores> {
    for (word, all) in cores.iter_mut().zip(all()) {
        *word &= all;
    }
    (cores != [0; 16]).then_some(cores)
}

/// Whether a call is about the current thread.
fn is_self(pid: c_int) -> bool {
    // SAFETY: takes nothing.
    pid == 0 || pid == unsafe { sys::getpid() }
}

/// `sched_getaffinity`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sched_getaffinity(pid: c_int, size: usize, to: *mut c_void) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if is_on() && is_self(pid) {
            return tell(rt().current, size, to);
        }
        real!(c"sched_getaffinity", fn(c_int, usize, *mut c_void) -> c_int)(pid, size, to)
    }
}

/// `sched_setaffinity`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sched_setaffinity(
    pid: c_int,
    size: usize,
    from: *const c_void,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if !is_on() || !is_self(pid) {
            return real!(c"sched_setaffinity", fn(c_int, usize, *const c_void) -> c_int)(pid, size, from);
        }
        if note(rt().current, size, from) {
            return 0;
        }
    }
    sys::set_errno(EINVAL);
    -1
}

/// `pthread_getaffinity_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_getaffinity_np(
    handle: usize,
    size: usize,
    to: *mut c_void,
) -> c_int {
    // SAFETY: passed on; the error is this thread's.
    unsafe {
        if !is_on() {
            return real!(c"pthread_getaffinity_np", fn(usize, usize, *mut c_void) -> c_int)(
                handle, size, to,
            );
        }
        let Some(thread) = find(handle) else { return ESRCH };
        if tell(thread, size, to) == 0 { 0 } else { *sys::__errno_location() }
    }
}

/// `pthread_setaffinity_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_setaffinity_np(
    handle: usize,
    size: usize,
    from: *const c_void,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if !is_on() {
            let set = real!(c"pthread_setaffinity_np", fn(usize, usize, *const c_void) -> c_int);
            return set(handle, size, from);
        }
        let Some(thread) = find(handle) else { return ESRCH };
        if note(thread, size, from) { 0 } else { EINVAL }
    }
}
