//! GLib's mutexes and condition variables. GLib makes them of atomic operations, and asks the system for a futex only where
//! threads get into each other's way, so that nothing would be seen of most locks; they are stood in for.
//!
//! Of what is done once, GLib tells nobody but who asks for it; so that is told to the race detector.
//!
//! Of both the last four bytes are what the runtime uses. GLib's own objects (of its queues and thread pools) are locked
//! within the library, by calls that cannot be interposed: those are futexes.

use std::ffi::{c_int, c_void};

use crate::protocol::{Op, access, op, order};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort};
use crate::sys::{ETIMEDOUT, Timespec, real};
use crate::{annotate, cond, mutex, time};

const MICROSECONDS: i64 = 1_000_000;

/// `GMutex`: whether it is locked, for GLib, and four bytes that GLib does not use.
fn mutex_of(memory: *mut u32, frame: Frame) -> u32 {
    let mut was_held = false;
    let object = Slot::of(memory, Sort::GlibMutex).object(frame, |_| {
        // SAFETY: the program's mutex.
        was_held = unsafe { memory.read() } != 0;
        0
    });
    if was_held {
        // It was locked before `main`, by a constructor, when there was only the first thread.
        rt().object(object).count = 1;
        rt().set_word(object, mutex::LOCKED, 1);
    }
    object
}

/// `GCond`: a pointer, a number, and four bytes that GLib does not use.
fn condvar_of(memory: *mut u32, frame: Frame) -> u32 {
    Slot::of(memory, Sort::GlibCondvar).object(frame, |_| 0)
}

/// Makes memory a new object, which nobody has touched.
fn clear(memory: *mut u32, words: usize) {
    // SAFETY: the program's object, which has so many words.
    unsafe { memory.write_bytes(0, words) };
}

/// `g_mutex_init`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_mutex_init(mutex: *mut u32) {
    if is_on() {
        return clear(mutex, 2);
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_mutex_init", fn(*mut u32))(mutex) }
}

/// `g_mutex_clear`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_mutex_clear(mutex: *mut u32) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"g_mutex_clear", fn(*mut u32))(mutex) };
    }
    let frame = frame!();
    let object = mutex_of(mutex, frame);
    mutex::destroy(object, || rt().object(object).word & mutex::LOCKED != 0, frame);
    clear(mutex, 2);
}

/// `g_mutex_lock`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_mutex_lock(mutex: *mut u32) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"g_mutex_lock", fn(*mut u32))(mutex) };
    }
    let frame = frame!();
    let object = mutex_of(mutex, frame);
    let operation = Op::on(op::LOCK, access::WRITE, object).ordered(order::ACQUIRE);
    visible_when(operation, mutex::free(object), frame);
    mutex::hold(object);
}

/// `g_mutex_trylock`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_mutex_trylock(mutex: *mut u32) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"g_mutex_trylock", fn(*mut u32) -> c_int)(mutex) };
    }
    let frame = frame!();
    c_int::from(mutex::try_object(mutex_of(mutex, frame), frame) == 0)
}

/// `g_mutex_unlock`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_mutex_unlock(mutex: *mut u32) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"g_mutex_unlock", fn(*mut u32))(mutex) };
    }
    let frame = frame!();
    let object = mutex_of(mutex, frame);
    if !mutex::is_mine(object) {
        mutex::not_held(object, rt().object(object).holder != 0, frame);
    }
    visible(Op::on(op::UNLOCK, access::WRITE, object), frame);
    mutex::release(object);
    // One that was locked before `main` is free for GLib too.
    // SAFETY: the program's mutex.
    unsafe { mutex.write(0) };
}

/// `g_cond_init`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_cond_init(condvar: *mut u32) {
    if is_on() {
        return clear(condvar, 4);
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_cond_init", fn(*mut u32))(condvar) }
}

/// `g_cond_clear`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_cond_clear(condvar: *mut u32) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"g_cond_clear", fn(*mut u32))(condvar) };
    }
    let frame = frame!();
    let object = condvar_of(condvar, frame);
    mutex::destroy(object, || rt().waiters(object) > 0, frame);
    clear(condvar, 4);
}

/// Waits, and says whether the time has run out.
fn wait(condvar: *mut u32, mutex: *mut u32, deadline: Option<u64>, frame: Frame) -> bool {
    let (object, mutex) = (condvar_of(condvar, frame), mutex_of(mutex, frame));
    if !mutex::is_mine(mutex) {
        cond::waits_without(frame);
    }
    cond::wait_on(object, mutex, deadline, frame) == ETIMEDOUT
}

/// `g_cond_wait`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_cond_wait(condvar: *mut u32, mutex: *mut u32) {
    if is_on() {
        wait(condvar, mutex, None, frame!());
        return;
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_cond_wait", fn(*mut u32, *mut u32))(condvar, mutex) }
}

/// `g_cond_wait_until`: until a moment of the monotonic clock, in microseconds.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_cond_wait_until(
    condvar: *mut u32,
    mutex: *mut u32,
    end: i64,
) -> c_int {
    if is_on() {
        let limit = Timespec {
            seconds: end.div_euclid(MICROSECONDS),
            nanoseconds: end.rem_euclid(MICROSECONDS) * 1000,
        };
        let deadline = time::moment(time::MONOTONIC, limit).unwrap_or(0);
        return c_int::from(!wait(condvar, mutex, Some(deadline), frame!()));
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_cond_wait_until", fn(*mut u32, *mut u32, i64) -> c_int)(condvar, mutex, end) }
}

/// `g_cond_signal`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_cond_signal(condvar: *mut u32) {
    if is_on() {
        let frame = frame!();
        return cond::notify_on(condvar_of(condvar, frame), false, frame);
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_cond_signal", fn(*mut u32))(condvar) }
}

/// `g_cond_broadcast`.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_cond_broadcast(condvar: *mut u32) {
    if is_on() {
        let frame = frame!();
        return cond::notify_on(condvar_of(condvar, frame), true, frame);
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_cond_broadcast", fn(*mut u32))(condvar) }
}

/// `g_once_init_enter`. GLib waits; what was done before it was left is behind who does not enter.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_once_init_enter(place: *mut c_void) -> c_int {
    // SAFETY: passed on.
    let enters = unsafe { real!(c"g_once_init_enter", fn(*mut c_void) -> c_int)(place) };
    if is_on() && enters == 0 {
        annotate::order_by_atomic(place as usize, false, frame!());
    }
    enters
}

/// `g_once_init_leave`. GLib stores the result, which programs load without asking GLib first.
///
/// # Safety
/// As GLib's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn g_once_init_leave(place: *mut c_void, result: usize) {
    if is_on() {
        annotate::order_by_atomic(place as usize, true, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"g_once_init_leave", fn(*mut c_void, usize))(place, result) }
}
