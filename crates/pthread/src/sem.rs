//! Semaphores, unnamed and named. The names are the execution's own: at its beginning there are none.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::cancel;
use crate::mutex::destroy;
use crate::protocol::{Gate, Op, access, note, object, op, order, stop};
use crate::runtime::{is_on, rt, visible};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort};
use crate::sys::{EAGAIN, EINVAL, EOVERFLOW, ETIMEDOUT, Timespec, real, set_errno, strlen};
use crate::time;

const MOST: u64 = 0x7FFF_FFFF;

/// `sem_t`: its value is at 0.
fn slot(semaphore: *mut c_void) -> Slot {
    Slot::of(semaphore, Sort::Semaphore)
}

fn object_of(semaphore: *mut c_void, frame: Frame) -> u32 {
    // SAFETY: the program's semaphore.
    slot(semaphore).object(frame, |_| u64::from(unsafe { semaphore.cast::<u32>().read() }))
}

/// An operation on it is under way: its memory must be there still.
fn must_be_there(semaphore: *mut c_void, frame: Frame) {
    slot(semaphore).must_be_there(frame);
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
    let timed_out = cancel::visible_when(operation, gate, frame);
    must_be_there(semaphore, frame);
    if timed_out {
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
    if is_on() {
        slot(semaphore).look_for_freed(frame!());
    }
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
            must_be_there(semaphore, frame);
            let runtime = rt();
            let threads = &runtime.threads[..runtime.thread_count as usize];
            threads.iter().any(|thread| !thread.ended && thread.gate.object == object + 1)
        };
        destroy(object, waits, frame);
        slot(semaphore).destroy(object);
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
    must_be_there(semaphore, frame);
    if rt().object(object).word == 0 {
        rt().performs(access::READ);
        rt().note = note::BUSY;
        return fail(EAGAIN);
    }
    rt().performed.order = order::ACQUIRE;
    lower(object);
    0
}

fn until(semaphore: *mut c_void, clock: c_int, limit: *const Timespec, frame: Frame) -> c_int {
    // SAFETY: the program's.
    let moment = || time::moment(clock, unsafe { *limit });
    match time::is_clock(clock).then(moment).flatten() {
        Some(deadline) => take(semaphore, Some(deadline), frame),
        None => {
            slot(semaphore).look_for_freed(frame);
            fail(EINVAL)
        }
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
    must_be_there(semaphore, frame);
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
    must_be_there(semaphore, frame);
    let word = rt().object(object).word;
    (rt().note, rt().number) = (note::NUMBER, word);
    // SAFETY: the program's.
    unsafe { *value = word as c_int };
    0
}

const NAMES: usize = 64;
/// The C library has them in files, with `sem.` before each: together as long as the name of a file may be.
const NAME: usize = 255 - 4;

/// A named semaphore: its name, while it has one, and the memory that the program gets.
struct Named {
    name: [u8; NAME],
    length: usize,
    users: u32,
    memory: [u64; 4],
}

impl Named {
    const NONE: Named = Named { name: [0; NAME], length: 0, users: 0, memory: [0; 4] };

    fn is(&self, name: &[u8]) -> bool {
        self.length > 0 && self.name[..self.length] == *name
    }
}

struct Names {
    /// The object that they are together, plus 1: who is first to make or remove a name matters.
    object: u32,
    named: [Named; NAMES],
}

struct Table(UnsafeCell<Names>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(Names { object: 0, named: [Named::NONE; NAMES] }));

/// The names. The reference must be gone before anything switches.
fn names() -> &'static mut Names {
    // SAFETY: see `Table`; the callers keep to what is said above.
    unsafe { &mut *TABLE.0.get() }
}

/// Stops before the names are looked at or changed.
fn at_names(frame: Frame) {
    if names().object == 0 {
        names().object = rt().new_object(object::NAMES, 0, 0) + 1;
    }
    visible(Op::on(op::COMPARE_EXCHANGE, access::WRITE, names().object - 1), frame);
}

const ENOENT: c_int = 2;
const ENAMETOOLONG: c_int = 36;

/// A name without the slashes before it, which are all the same to the C library.
///
/// # Safety
/// It is a C string.
unsafe fn bare<'a>(name: *const c_char) -> Result<&'a [u8], c_int> {
    // SAFETY: the caller's.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), strlen(name)) };
    let slashes = name.iter().take_while(|byte| **byte == b'/').count();
    match &name[slashes..] {
        name if name.is_empty() || name.contains(&b'/') => Err(EINVAL),
        name if name.len() > NAME => Err(ENAMETOOLONG),
        name => Ok(name),
    }
}

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
    const EEXIST: c_int = 17;
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
    let name = match unsafe { bare(name) } {
        Ok(name) => name,
        Err(error) => return failed(error),
    };
    let creates = flags & CREATE != 0;
    let excludes = creates && flags & EXCLUSIVE != 0;
    let is_too_much = u64::from(value) > MOST;
    if excludes && is_too_much {
        return failed(EINVAL);
    }
    let frame = frame!();
    at_names(frame);
    let names = names();
    let found = names.named.iter_mut().find(|named| named.is(name));
    if found.is_some() || !creates || is_too_much {
        // It changes nothing that another thread could tell.
        rt().performs(access::READ);
    }
    match found {
        Some(_) if excludes => {
            rt().note = note::BUSY;
            return failed(EEXIST);
        }
        Some(found) => {
            found.users += 1;
            return found.memory.as_mut_ptr().cast();
        }
        None if !creates => return failed(ENOENT),
        None if is_too_much => return failed(EINVAL),
        None => {}
    }
    let Some(free) = names.named.iter_mut().find(|named| named.length == 0 && named.users == 0) else {
        rt().stop(stop::UNSUPPORTED, frame, &[b"more than 64 named semaphores are open"]);
    };
    rt().note = note::TAKEN;
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
    let found = names()
        .named
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
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sem_unlink", fn(*const c_char) -> c_int)(name) };
    }
    // SAFETY: a C string.
    let name = match unsafe { bare(name) } {
        Ok(name) => name,
        Err(EINVAL) => return fail(ENOENT),
        Err(error) => return fail(error),
    };
    at_names(frame!());
    match names().named.iter_mut().find(|named| named.is(name)) {
        Some(named) => {
            named.length = 0;
            0
        }
        None => {
            rt().performs(access::READ);
            fail(ENOENT)
        }
    }
}
