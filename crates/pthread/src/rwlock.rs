//! Read-write locks.
//!
//! In a lock that prefers writers (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`) a reader does not get in while a writer
//! waits, even one that has read-locked it already. So that a writer waits is part of the lock's state, and to begin to
//! wait is a step of its own. All others let readers in whenever no writer has the lock, as the C library does.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use crate::mutex::{destroy, is_mine, not_held};
use crate::protocol::{Gate, Op, access, note, op, order, stop};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort};
use crate::sys::{EBUSY, EDEADLK, EINVAL, ETIMEDOUT, Timespec, real};
use crate::time;

const WRITER: u64 = 1;
/// One reader.
const READER: u64 = 2;
const READERS: u64 = (WAITER - 1) & !WRITER;
/// One writer that waits, in a lock that prefers writers.
const WAITER: u64 = 1 << 32;
const WAITERS: u64 = !(WAITER - 1);

/// `pthread_rwlock_t`: the kind is at 48.
fn slot(lock: *mut c_void) -> Slot {
    Slot::of(lock, Sort::Rwlock)
}

fn object_of(lock: *mut c_void, frame: Frame) -> u32 {
    slot(lock).object(frame, |_| 0)
}

/// An operation on it is under way: its memory must be there still.
fn must_be_there(lock: *mut c_void, frame: Frame) {
    slot(lock).must_be_there(frame);
}

fn prefers_writers(lock: *mut c_void) -> bool {
    const NONRECURSIVE: u32 = 2;
    // SAFETY: the program's lock.
    unsafe { lock.cast::<u32>().add(12).read() == NONRECURSIVE }
}

/// What keeps readers out.
fn closed_by(lock: *mut c_void) -> u64 {
    if prefers_writers(lock) { WRITER | WAITERS } else { WRITER }
}

/// How often a thread has read-locked a lock.
#[derive(Clone, Copy)]
struct Hold {
    object: u32,
    thread: u32,
    count: u32,
}

const HOLDS: usize = 1 << 13;

/// The read locks that are held, in no order: few at a time.
struct Holds {
    length: usize,
    all: [Hold; HOLDS],
}

struct Table(UnsafeCell<Holds>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(Holds {
    length: 0,
    all: [const { Hold { object: 0, thread: 0, count: 0 } }; HOLDS],
}));

impl Holds {
    /// The reference must be gone before anything switches.
    fn get() -> &'static mut Holds {
        // SAFETY: see `Table`; the callers keep to what is said above.
        unsafe { &mut *TABLE.0.get() }
    }

    /// Where it is that the current thread has read-locked the object.
    fn find(&self, object: u32) -> Option<usize> {
        let me = rt().current;
        self.all[..self.length].iter().position(|hold| hold.object == object && hold.thread == me)
    }

    fn add(&mut self, object: u32, frame: Frame) {
        if let Some(place) = self.find(object) {
            self.all[place].count += 1;
            return;
        }
        if self.length == HOLDS {
            rt().stop(stop::UNSUPPORTED, frame, &[b"more than 8,192 read locks are held at a time"]);
        }
        self.all[self.length] = Hold { object, thread: rt().current, count: 1 };
        self.length += 1;
    }

    fn remove(&mut self, object: u32) {
        let Some(place) = self.find(object) else { return };
        self.all[place].count -= 1;
        if self.all[place].count == 0 {
            self.length -= 1;
            self.all[place] = self.all[self.length];
        }
    }
}

/// The current thread reads, within an operation.
fn read(object: u32, frame: Frame) {
    let word = rt().object(object).word;
    rt().set_word(object, word + READER, 0);
    Holds::get().add(object, frame);
}

fn read_lock(lock: *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let object = object_of(lock, frame);
    if is_mine(object) {
        return EDEADLK;
    }
    let gate = Gate { timed: deadline.is_some(), ..Gate::clear(object, closed_by(lock)) };
    let operation = Op::on(op::READ_LOCK, access::READ, object).ordered(order::ACQUIRE);
    let timed_out = visible_when(operation, gate, frame);
    must_be_there(lock, frame);
    if timed_out {
        rt().pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    read(object, frame);
    0
}

fn write_lock(lock: *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let object = object_of(lock, frame);
    if is_mine(object) {
        return EDEADLK;
    }
    let waiter = if prefers_writers(lock) { WAITER } else { 0 };
    if waiter != 0 {
        if try_lock(lock, true, frame) == 0 {
            return 0;
        }
        // In the same step it begins to wait, which keeps readers out.
        rt().performs(access::WRITE);
        change(object, |word| word + waiter);
    }
    let gate = Gate { timed: deadline.is_some(), ..Gate::clear(object, WRITER | READERS) };
    let operation = Op::on(op::LOCK, access::WRITE, object).ordered(order::ACQUIRE);
    let timed_out = visible_when(operation, gate, frame);
    must_be_there(lock, frame);
    if timed_out {
        change(object, |word| word - waiter);
        rt().pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    let (me, word) = (rt().current + 1, rt().object(object).word);
    rt().set_word(object, (word - waiter) | WRITER, me);
    0
}

/// Changes who waits for the lock, and not who has it.
fn change(object: u32, to: impl Fn(u64) -> u64) {
    let runtime = rt();
    let (word, holder) = (runtime.object(object).word, runtime.object(object).holder);
    if to(word) != word {
        runtime.set_word(object, to(word), holder);
    }
}

fn try_lock(lock: *mut c_void, writes: bool, frame: Frame) -> c_int {
    let object = object_of(lock, frame);
    let operation = match writes {
        true => Op::on(op::TRY_LOCK, access::WRITE, object),
        false => Op::on(op::TRY_READ_LOCK, access::READ, object),
    };
    visible(operation, frame);
    must_be_there(lock, frame);
    let runtime = rt();
    let word = runtime.object(object).word;
    if word & closed_by(lock) != 0 || writes && word != 0 {
        // That readers have it depends on what they do, and they only read: then it stays a write.
        if word & WRITER != 0 {
            runtime.performs(access::READ);
        }
        runtime.note = note::BUSY;
        return EBUSY;
    }
    runtime.performed.order = order::ACQUIRE;
    runtime.note = note::TAKEN;
    let me = runtime.current + 1;
    match writes {
        true => runtime.set_word(object, WRITER, me),
        false => read(object, frame),
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
    // SAFETY: the program's.
    let moment = || time::moment(clock, unsafe { *limit });
    match time::is_clock(clock).then(moment).flatten() {
        Some(deadline) => take(lock, Some(deadline), frame),
        None => {
            slot(lock).look_for_freed(frame);
            EINVAL
        }
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
    if is_on() {
        slot(lock).look_for_freed(frame!());
    }
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
    let is_used = || {
        must_be_there(lock, frame);
        rt().object(object).word != 0
    };
    destroy(object, is_used, frame);
    slot(lock).destroy(object);
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
    // What the thread itself holds, no other can change.
    if is_mine(object) {
        visible(Op::on(op::UNLOCK, access::WRITE, object), frame);
        must_be_there(lock, frame);
        let word = rt().object(object).word;
        rt().set_word(object, word & !WRITER, 0);
    } else if Holds::get().find(object).is_some() {
        visible(Op::on(op::READ_UNLOCK, access::READ, object), frame);
        must_be_there(lock, frame);
        let word = rt().object(object).word;
        rt().set_word(object, word - READER, 0);
        Holds::get().remove(object);
    } else {
        not_held(object, rt().object(object).word & (WRITER | READERS) != 0, frame);
    }
    0
}
