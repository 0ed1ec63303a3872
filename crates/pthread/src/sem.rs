//! Semaphores, unnamed and named. The names are the execution's own: at its beginning there are none.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::cancel;
use crate::mutex::destroy;
use crate::protocol::{Gate, Op, access, note, object, op, order, stop};
use crate::runtime::{is_on, rt, visible};
use crate::site::{Frame, frame};
use crate::slot::Slot;
use crate::sys::{EAGAIN, EINVAL, EOVERFLOW, ETIMEDOUT, Timespec, real, set_errno, strlen};
use crate::time;

const MOST: u64 = 0x7FFF_FFFF;

/// `sem_t`: its value is at 0; from 16 on is what the runtime uses.
fn slot(semaphore: *mut c_void) -> Slot {
    Slot::at(semaphore, 16)
}

fn object_of(semaphore: *mut c_void, frame: Frame) -> u32 {
    // SAFETY: the program's semaphore.
    slot(semaphore).object(object::SEMAPHORE, frame, || u64::from(unsafe { semaphore.cast::<u32>().read() }))
}

fn fail(error: c_int) -> c_int {
    set_errno(error);
    -1
}

fn take(semaphore: *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let object = object_of(semaphore, frame);
    cancel::act(frame);
    let gate = Gate { timed: deadline.is_some(), ..Gate::above(object, !0, 0) };
    let operation = Op::on(op::TAKE, access::WRITE, object).ordered(order::ACQUIRE);
    if cancel::visible_when(operation, gate, frame) {
        rt().pass_time(deadline.unwrap_or(0));
        return fail(ETIMEDOUT);
    }
    lower(object);
    0
}

fn lower(object: u32) {
    let runtime = rt();
    let word = runtime.object(object).word;
    runtime.set_word(object, word - 1, 0);
    (runtime.note, runtime.number, runtime.number_after) = (note::CHANGED, word, word - 1);
}

/// `sem_init`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_init(
    semaphore: *mut c_void,
    shared: c_int,
    value: c_uint,
) -> c_int {
    // SAFETY: passed on.
    let failed =
        unsafe { real!(c"sem_init", fn(*mut c_void, c_int, c_uint) -> c_int)(semaphore, shared, value) };
    if failed == 0 {
        slot(semaphore).forget();
    }
    failed
}

/// `sem_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_destroy(semaphore: *mut c_void) -> c_int {
    if is_on() {
        let frame = frame!();
        let object = object_of(semaphore, frame);
        let waits = || {
            let runtime = rt();
            let threads = &runtime.threads[..runtime.thread_count as usize];
            threads.iter().any(|thread| !thread.ended && thread.gate.object == object + 1)
        };
        destroy(object, waits, frame);
        slot(semaphore).destroy();
    }
    0
}

/// `sem_wait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_wait(semaphore: *mut c_void) -> c_int {
    if is_on() {
        return take(semaphore, None, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"sem_wait", fn(*mut c_void) -> c_int)(semaphore) }
}

/// `sem_trywait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_trywait(semaphore: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sem_trywait", fn(*mut c_void) -> c_int)(semaphore) };
    }
    let frame = frame!();
    let object = object_of(semaphore, frame);
    visible(Op::on(op::TAKE, access::WRITE, object), frame);
    if rt().object(object).word == 0 {
        rt().performed.access = access::READ;
        rt().note = note::BUSY;
        return fail(EAGAIN);
    }
    rt().performed.order = order::ACQUIRE;
    lower(object);
    0
}

fn until(semaphore: *mut c_void, clock: c_int, limit: *const Timespec, frame: Frame) -> c_int {
    if !time::is_clock(clock) {
        return fail(EINVAL);
    }
    // SAFETY: the program's.
    match time::moment(clock, unsafe { *limit }) {
        Some(deadline) => take(semaphore, Some(deadline), frame),
        None => fail(EINVAL),
    }
}

/// `sem_timedwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_timedwait(
    semaphore: *mut c_void,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return until(semaphore, time::REALTIME, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"sem_timedwait", fn(*mut c_void, *const Timespec) -> c_int)(semaphore, limit) }
}

/// `sem_clockwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return until(semaphore, clock, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"sem_clockwait", fn(*mut c_void, c_int, *const Timespec) -> c_int)(semaphore, clock, limit)
    }
}

/// `sem_post`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_post(semaphore: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sem_post", fn(*mut c_void) -> c_int)(semaphore) };
    }
    let frame = frame!();
    let object = object_of(semaphore, frame);
    visible(Op::on(op::POST, access::WRITE, object).ordered(order::RELEASE), frame);
    let runtime = rt();
    let word = runtime.object(object).word;
    if word >= MOST {
        return fail(EOVERFLOW);
    }
    runtime.set_word(object, word + 1, 0);
    (runtime.note, runtime.number, runtime.number_after) = (note::CHANGED, word, word + 1);
    0
}

/// `sem_getvalue`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_getvalue(semaphore: *mut c_void, value: *mut c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sem_getvalue", fn(*mut c_void, *mut c_int) -> c_int)(semaphore, value) };
    }
    let frame = frame!();
    let object = object_of(semaphore, frame);
    visible(Op::on(op::LOAD, access::READ, object), frame);
    let word = rt().object(object).word;
    (rt().note, rt().number) = (note::NUMBER, word);
    // SAFETY: the program's.
    unsafe { *value = word as c_int };
    0
}

const NAMES: usize = 64;
const NAME: usize = 64;

/// A named semaphore: its name, while it has one, and the memory that the program gets.
struct Named {
    name: [u8; NAME],
    length: usize,
    users: u32,
    memory: [u64; 4],
}

struct Table(UnsafeCell<[Named; NAMES]>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Table {}
static TABLE: Table =
    Table(UnsafeCell::new([const { Named { name: [0; NAME], length: 0, users: 0, memory: [0; 4] } }; NAMES]));

/// `sem_open`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_open(
    name: *const c_char,
    flags: c_int,
    mode: c_uint,
    value: c_uint,
) -> *mut c_void {
    const CREATE: c_int = 0o100;
    const EXCLUSIVE: c_int = 0o200;
    const ENOENT: c_int = 2;
    const EEXIST: c_int = 17;
    const ENAMETOOLONG: c_int = 36;
    if !is_on() {
        // SAFETY: passed on.
        return unsafe {
            real!(c"sem_open", fn(*const c_char, c_int, c_uint, c_uint) -> *mut c_void)(
                name, flags, mode, value,
            )
        };
    }
    let failed = |error| {
        set_errno(error);
        std::ptr::null_mut()
    };
    // SAFETY: a C string.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), strlen(name)) };
    if name.len() > NAME {
        return failed(ENAMETOOLONG);
    }
    if name.len() < 2 || name[0] != b'/' || name[1..].contains(&b'/') {
        return failed(EINVAL);
    }
    // SAFETY: see `Table`.
    let table = unsafe { &mut *TABLE.0.get() };
    if let Some(found) =
        table.iter_mut().find(|named| named.length > 0 && named.name[..named.length] == *name)
    {
        if flags & CREATE != 0 && flags & EXCLUSIVE != 0 {
            return failed(EEXIST);
        }
        found.users += 1;
        return found.memory.as_mut_ptr().cast();
    }
    if flags & CREATE == 0 {
        return failed(ENOENT);
    }
    if u64::from(value) > MOST {
        return failed(EINVAL);
    }
    let Some(free) = table.iter_mut().find(|named| named.length == 0 && named.users == 0) else {
        rt().stop(stop::UNSUPPORTED, frame!(), &[b"more than 64 named semaphores are open"]);
    };
    free.name[..name.len()].copy_from_slice(name);
    (free.length, free.users, free.memory) = (name.len(), 1, [u64::from(value), 0, 0, 0]);
    free.memory.as_mut_ptr().cast()
}

/// `sem_close`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_close(semaphore: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sem_close", fn(*mut c_void) -> c_int)(semaphore) };
    }
    // SAFETY: see `Table`.
    let table = unsafe { &mut *TABLE.0.get() };
    let found = table
        .iter_mut()
        .find(|named| named.users > 0 && named.memory.as_ptr() == semaphore.cast_const().cast());
    match found {
        Some(named) => {
            named.users -= 1;
            0
        }
        None => fail(EINVAL),
    }
}

/// `sem_unlink`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sem_unlink(name: *const c_char) -> c_int {
    const ENOENT: c_int = 2;
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sem_unlink", fn(*const c_char) -> c_int)(name) };
    }
    // SAFETY: a C string; and see `Table`.
    let (name, table) =
        unsafe { (std::slice::from_raw_parts(name.cast::<u8>(), strlen(name)), &mut *TABLE.0.get()) };
    match table.iter_mut().find(|named| named.length > 0 && named.name[..named.length] == *name) {
        Some(named) => {
            named.length = 0;
            0
        }
        None => fail(ENOENT),
    }
}
