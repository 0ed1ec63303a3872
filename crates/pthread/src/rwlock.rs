//! Read-write locks.

use std::ffi::{c_int, c_void};

use crate::mutex::{destroy, is_mine, not_held};
use crate::protocol::{Gate, Op, access, note, object, op, order};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::Slot;
use crate::sys::{EBUSY, EDEADLK, EINVAL, ETIMEDOUT, Timespec, real};
use crate::time;

const WRITER: u64 = 1;
/// One reader.
const READER: u64 = 2;
const READERS: u64 = !WRITER;

/// `pthread_rwlock_t`: up to 16 is what the runtime uses.
fn slot(lock: *mut c_void) -> Slot {
    Slot::at(lock, 0)
}

fn object_of(lock: *mut c_void, frame: Frame) -> u32 {
    slot(lock).object(object::RWLOCK, frame, || 0)
}

fn read_lock(lock: *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let object = object_of(lock, frame);
    if is_mine(object) {
        return EDEADLK;
    }
    let gate = Gate { timed: deadline.is_some(), ..Gate::clear(object, WRITER) };
    let operation = Op::on(op::READ_LOCK, access::READ, object).ordered(order::ACQUIRE);
    if visible_when(operation, gate, frame) {
        rt().pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    let word = rt().object(object).word;
    rt().set_word(object, word + READER, 0);
    0
}

fn write_lock(lock: *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let object = object_of(lock, frame);
    if is_mine(object) {
        return EDEADLK;
    }
    let gate = Gate { timed: deadline.is_some(), ..Gate::clear(object, WRITER | READERS) };
    let operation = Op::on(op::LOCK, access::WRITE, object).ordered(order::ACQUIRE);
    if visible_when(operation, gate, frame) {
        rt().pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    let me = rt().current + 1;
    rt().set_word(object, WRITER, me);
    0
}

fn try_lock(lock: *mut c_void, writes: bool, frame: Frame) -> c_int {
    let object = object_of(lock, frame);
    let operation = match writes {
        true => Op::on(op::TRY_LOCK, access::WRITE, object),
        false => Op::on(op::TRY_READ_LOCK, access::READ, object),
    };
    visible(operation, frame);
    let runtime = rt();
    let word = runtime.object(object).word;
    if word & WRITER != 0 || writes && word != 0 {
        // That readers have it depends on what they do, and they only read: then it stays a write.
        if word & WRITER != 0 {
            runtime.performed.access = access::READ;
        }
        runtime.note = note::BUSY;
        return EBUSY;
    }
    runtime.performed.order = order::ACQUIRE;
    runtime.note = note::TAKEN;
    let me = runtime.current + 1;
    match writes {
        true => runtime.set_word(object, WRITER, me),
        false => runtime.set_word(object, word + READER, 0),
    }
    0
}

/// The lock with a time limit.
fn until(
    take: fn(*mut c_void, Option<u64>, Frame) -> c_int,
    lock: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
    frame: Frame,
) -> c_int {
    if !time::is_clock(clock) {
        return EINVAL;
    }
    // SAFETY: the program's.
    match time::moment(clock, unsafe { *limit }) {
        Some(deadline) => take(lock, Some(deadline), frame),
        None => EINVAL,
    }
}

/// `pthread_rwlock_init`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_init(
    lock: *mut c_void,
    attributes: *const c_void,
) -> c_int {
    // SAFETY: passed on. It writes the whole of it, so that it is a new object.
    unsafe { real!(c"pthread_rwlock_init", fn(*mut c_void, *const c_void) -> c_int)(lock, attributes) }
}

/// `pthread_rwlock_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_destroy(lock: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_rwlock_destroy", fn(*mut c_void) -> c_int)(lock) };
    }
    let frame = frame!();
    let object = object_of(lock, frame);
    destroy(object, || rt().object(object).word != 0, frame);
    slot(lock).destroy();
    0
}

/// `pthread_rwlock_rdlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int {
    if is_on() {
        return read_lock(lock, None, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_rwlock_rdlock", fn(*mut c_void) -> c_int)(lock) }
}

/// `pthread_rwlock_wrlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int {
    if is_on() {
        return write_lock(lock, None, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_rwlock_wrlock", fn(*mut c_void) -> c_int)(lock) }
}

/// `pthread_rwlock_tryrdlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int {
    if is_on() {
        return try_lock(lock, false, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_rwlock_tryrdlock", fn(*mut c_void) -> c_int)(lock) }
}

/// `pthread_rwlock_trywrlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int {
    if is_on() {
        return try_lock(lock, true, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_rwlock_trywrlock", fn(*mut c_void) -> c_int)(lock) }
}

/// `pthread_rwlock_timedrdlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_timedrdlock(
    lock: *mut c_void,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return until(read_lock, lock, time::REALTIME, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_rwlock_timedrdlock", fn(*mut c_void, *const Timespec) -> c_int)(lock, limit) }
}

/// `pthread_rwlock_timedwrlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_timedwrlock(
    lock: *mut c_void,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return until(write_lock, lock, time::REALTIME, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_rwlock_timedwrlock", fn(*mut c_void, *const Timespec) -> c_int)(lock, limit) }
}

/// `pthread_rwlock_clockrdlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_clockrdlock(
    lock: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return until(read_lock, lock, clock, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_rwlock_clockrdlock", fn(*mut c_void, c_int, *const Timespec) -> c_int)(
            lock, clock, limit,
        )
    }
}

/// `pthread_rwlock_clockwrlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_clockwrlock(
    lock: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return until(write_lock, lock, clock, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_rwlock_clockwrlock", fn(*mut c_void, c_int, *const Timespec) -> c_int)(
            lock, clock, limit,
        )
    }
}

/// `pthread_rwlock_unlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_rwlock_unlock", fn(*mut c_void) -> c_int)(lock) };
    }
    let frame = frame!();
    let object = object_of(lock, frame);
    let word = rt().object(object).word;
    if is_mine(object) {
        visible(Op::on(op::UNLOCK, access::WRITE, object), frame);
        rt().set_word(object, 0, 0);
    } else if word & READERS != 0 {
        visible(Op::on(op::READ_UNLOCK, access::READ, object), frame);
        let word = rt().object(object).word;
        rt().set_word(object, word - READER, 0);
    } else {
        not_held(object, frame);
    }
    0
}
