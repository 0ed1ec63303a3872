//! Mutexes of every type, and spin locks.

use std::ffi::{c_int, c_void};

use crate::protocol::{Gate, Op, access, note, op, order, stop};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort, name};
use crate::sys::{EBUSY, EDEADLK, EINVAL, ENOTRECOVERABLE, EOWNERDEAD, EPERM, ETIMEDOUT, Timespec, real};
use crate::time;

pub(crate) const LOCKED: u64 = 1;
/// Its holder has ended, and what it guards may be inconsistent.
const DEAD: u64 = 2;
/// Nobody has made it consistent again: it is of no use any more.
const LOST: u64 = 4;
/// Marks the object of a robust mutex.
const ROBUST: u64 = 8;

/// `pthread_mutex_t`: the count is at 4, the owner at 8, the kind at 16.
#[derive(Clone, Copy)]
pub(crate) struct Mutex(*mut c_void);

const RECURSIVE: c_int = 1;
const ERROR_CHECKING: c_int = 2;
const ROBUST_KIND: c_int = 16;

impl Mutex {
    pub(crate) fn new(memory: *mut c_void) -> Self {
        Mutex(memory)
    }

    fn kind_bits(self) -> c_int {
        // SAFETY: the program's mutex.
        unsafe { self.0.cast::<c_int>().add(4).read() }
    }

    fn kind(self) -> c_int {
        self.kind_bits() & 3
    }

    fn slot(self) -> Slot {
        Slot::of(self.0, Sort::Mutex)
    }

    pub(crate) fn object(self, frame: Frame) -> u32 {
        let robust = self.kind_bits() & ROBUST_KIND != 0;
        let mut was_held = false;
        let object = self.slot().object(frame, |_| {
            was_held = !robust && self.owner() != 0;
            match robust {
                true => ROBUST,
                false => u64::from(was_held) * LOCKED,
            }
        });
        if robust {
            rt().has_robust = true;
        }
        if was_held {
            // It was locked before `main`, by a constructor, when there was only the first thread.
            rt().object(object).count = self.count().max(1);
            rt().set_word(object, LOCKED, 1);
        }
        object
    }

    /// An operation on it is under way: its memory must be there still.
    #[inline]
    pub(crate) fn must_be_there(self, frame: Frame) {
        self.slot().must_be_there(frame);
    }

    /// The same where it is not looked up, because what it is used with is wrong.
    pub(crate) fn look_for_freed(self, frame: Frame) {
        self.slot().look_for_freed(frame);
    }

    /// Who holds it and how often, where that is left to the C library: before `main`.
    fn owner(self) -> c_int {
        // SAFETY: the program's mutex.
        unsafe { self.0.cast::<c_int>().add(2).read() }
    }

    fn count(self) -> u32 {
        // SAFETY: as above.
        unsafe { self.0.cast::<u32>().add(1).read() }
    }

    fn is_robust(self) -> bool {
        self.kind_bits() & ROBUST_KIND != 0
    }

    /// Whether it tells a thread that unlocks it and does not hold it. To others that is undefined.
    pub(crate) fn says_not_held(self) -> bool {
        matches!(self.kind(), RECURSIVE | ERROR_CHECKING) || self.is_robust()
    }
}

/// Whether the current thread holds the object.
pub(crate) fn is_mine(object: u32) -> bool {
    let runtime = rt();
    let me = runtime.current + 1;
    runtime.object(object).holder == me
}

/// Makes the current thread the holder of a mutex that is free, within an operation.
pub(crate) fn hold(object: u32) -> c_int {
    let runtime = rt();
    let me = runtime.current + 1;
    let word = runtime.object(object).word;
    if word & LOST != 0 {
        return ENOTRECOVERABLE;
    }
    runtime.object(object).count = 1;
    runtime.set_word(object, word | LOCKED, me);
    if word & DEAD != 0 {
        runtime.note = note::OWNER_DIED;
        return EOWNERDEAD;
    }
    0
}

/// Makes nobody the holder, within an operation.
pub(crate) fn release(object: u32) {
    let runtime = rt();
    let word = runtime.object(object).word;
    // A robust mutex that is unlocked while it is inconsistent is lost.
    let word = if word & DEAD != 0 { word & ROBUST | LOST } else { word & !LOCKED };
    runtime.object(object).count = 0;
    runtime.set_word(object, word, 0);
}

/// A mutex that is free can be taken; one that is lost too, to say so.
pub(crate) fn free(object: u32) -> Gate {
    Gate::clear(object, LOCKED)
}

pub(crate) fn lock(mutex: Mutex, deadline: Option<u64>, frame: Frame) -> c_int {
    let object = mutex.object(frame);
    if is_mine(object) {
        match mutex.kind() {
            RECURSIVE => {
                // No other thread can tell.
                rt().object(object).count += 1;
                return 0;
            }
            ERROR_CHECKING => return EDEADLK,
            _ => {}
        }
    }
    let gate = Gate { timed: deadline.is_some(), ..free(object) };
    let operation = Op::on(op::LOCK, access::WRITE, object).ordered(order::ACQUIRE);
    let timed_out = visible_when(operation, gate, frame);
    mutex.must_be_there(frame);
    if timed_out {
        rt().pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    hold(object)
}

pub(crate) fn try_lock(mutex: Mutex, frame: Frame) -> c_int {
    let object = mutex.object(frame);
    if is_mine(object) && mutex.kind() == RECURSIVE {
        rt().object(object).count += 1;
        return 0;
    }
    let error = try_object(object, frame);
    mutex.must_be_there(frame);
    error
}

/// Takes a mutex or a spin lock if it is free.
pub(crate) fn try_object(object: u32, frame: Frame) -> c_int {
    visible(Op::on(op::TRY_LOCK, access::WRITE, object), frame);
    let runtime = rt();
    if runtime.object(object).word & LOCKED != 0 {
        runtime.performs(access::READ);
        runtime.note = note::BUSY;
        return EBUSY;
    }
    runtime.performed.order = order::ACQUIRE;
    runtime.note = note::TAKEN;
    hold(object)
}

pub(crate) fn unlock(mutex: Mutex, frame: Frame) -> c_int {
    let object = mutex.object(frame);
    if !is_mine(object) {
        if mutex.says_not_held() {
            return EPERM;
        }
        not_held(object, rt().object(object).holder != 0, frame);
    }
    if rt().object(object).count > 1 {
        rt().object(object).count -= 1;
        return 0;
    }
    visible(Op::on(op::UNLOCK, access::WRITE, object), frame);
    mutex.must_be_there(frame);
    release(object);
    0
}

/// The current thread unlocks what it does not hold, and another may.
pub(crate) fn not_held(object: u32, another_holds: bool, frame: Frame) -> ! {
    let runtime = rt();
    let kind = runtime.object(object).kind;
    let holder: &[u8] = match another_holds {
        false => b", which nobody holds",
        true => b", which another thread holds",
    };
    runtime.stop(stop::MISUSE, frame, &[b"a thread unlocks a ", name(kind), holder])
}

/// Destroys an object, which must not be in use: an operation of its own, so that it is seen in every order with
/// other uses.
pub(crate) fn destroy(object: u32, is_used: impl FnOnce() -> bool, frame: Frame) {
    visible(Op::on(op::DESTROY, access::WRITE, object), frame);
    if is_used() {
        let kind = rt().object(object).kind;
        rt().stop(stop::MISUSE, frame, &[b"a ", name(kind), b" is destroyed while it is in use"]);
    }
}

pub(crate) fn destroy_mutex(mutex: Mutex, frame: Frame) {
    let object = mutex.object(frame);
    let is_used = || {
        mutex.must_be_there(frame);
        rt().object(object).word & LOCKED != 0
    };
    destroy(object, is_used, frame);
    mutex.slot().destroy(object);
}

/// The current thread ends: robust mutexes that it holds are for others to recover.
pub(crate) fn abandon_robust() {
    if !rt().has_robust {
        return;
    }
    for object in rt().objects() {
        if is_mine(object) && rt().object(object).word & ROBUST != 0 {
            visible(Op::on(op::UNLOCK, access::WRITE, object), Frame::NONE);
            let runtime = rt();
            runtime.object(object).count = 0;
            runtime.note = note::OWNER_DIED;
            runtime.set_word(object, ROBUST | DEAD, 0);
        }
    }
}

/// `pthread_mutex_init`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_init(
    mutex: *mut c_void,
    attributes: *const c_void,
) -> c_int {
    if is_on() {
        Mutex(mutex).look_for_freed(frame!());
    }
    // SAFETY: passed on. It writes the whole mutex, so that it is a new object.
    unsafe { real!(c"pthread_mutex_init", fn(*mut c_void, *const c_void) -> c_int)(mutex, attributes) }
}

/// `pthread_mutex_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_destroy(mutex: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_mutex_destroy", fn(*mut c_void) -> c_int)(mutex) };
    }
    destroy_mutex(Mutex(mutex), frame!());
    0
}

/// `pthread_mutex_lock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut c_void) -> c_int {
    let frame = frame!();
    if is_on() && !frame.is_unwinder() {
        return lock(Mutex(mutex), None, frame);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_mutex_lock", fn(*mut c_void) -> c_int)(mutex) }
}

/// `pthread_mutex_trylock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int {
    if is_on() {
        return try_lock(Mutex(mutex), frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_mutex_trylock", fn(*mut c_void) -> c_int)(mutex) }
}

/// `pthread_mutex_unlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int {
    let frame = frame!();
    if is_on() && !frame.is_unwinder() {
        return unlock(Mutex(mutex), frame);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_mutex_unlock", fn(*mut c_void) -> c_int)(mutex) }
}

pub(crate) fn lock_until(mutex: Mutex, clock: c_int, limit: *const Timespec, frame: Frame) -> c_int {
    // SAFETY: the program's.
    match time::moment(clock, unsafe { *limit }) {
        Some(deadline) => lock(mutex, Some(deadline), frame),
        // What is free is taken, whatever the limit says.
        None => match try_lock(mutex, frame) {
            EBUSY => EINVAL,
            other => other,
        },
    }
}

/// `pthread_mutex_timedlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut c_void,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return lock_until(Mutex(mutex), time::REALTIME, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_mutex_timedlock", fn(*mut c_void, *const Timespec) -> c_int)(mutex, limit) }
}

/// `pthread_mutex_clocklock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        if !time::is_clock(clock) {
            Mutex(mutex).look_for_freed(frame!());
            return EINVAL;
        }
        return lock_until(Mutex(mutex), clock, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_mutex_clocklock", fn(*mut c_void, c_int, *const Timespec) -> c_int)(
            mutex, clock, limit,
        )
    }
}

/// `pthread_mutex_consistent`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_consistent(mutex: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_mutex_consistent", fn(*mut c_void) -> c_int)(mutex) };
    }
    let object = Mutex(mutex).object(frame!());
    let word = rt().object(object).word;
    if word & DEAD == 0 || !is_mine(object) {
        return EINVAL;
    }
    // Nobody but the holder can tell.
    let holder = rt().object(object).holder;
    rt().set_word(object, word & !DEAD, holder);
    0
}

fn spin_slot(lock: *mut u32) -> Slot {
    Slot::of(lock, Sort::SpinLock)
}

fn spin(lock: *mut u32, frame: Frame) -> u32 {
    spin_slot(lock).object(frame, |_| 0)
}

/// An operation on it is under way: its memory must be there still.
fn spin_must_be_there(lock: *mut u32, frame: Frame) {
    spin_slot(lock).must_be_there(frame);
}

/// `pthread_spin_init`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_init(lock: *mut u32, shared: c_int) -> c_int {
    if is_on() {
        spin_must_be_there(lock, frame!());
    }
    // SAFETY: passed on; it writes the whole lock.
    unsafe { real!(c"pthread_spin_init", fn(*mut u32, c_int) -> c_int)(lock, shared) }
}

/// `pthread_spin_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_destroy(lock: *mut u32) -> c_int {
    if is_on() {
        let frame = frame!();
        let object = spin(lock, frame);
        let is_used = || {
            spin_must_be_there(lock, frame);
            rt().object(object).word & LOCKED != 0
        };
        destroy(object, is_used, frame);
    }
    0
}

/// `pthread_spin_lock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut u32) -> c_int {
    if is_on() {
        let frame = frame!();
        let object = spin(lock, frame);
        let operation = Op::on(op::LOCK, access::WRITE, object).ordered(order::ACQUIRE);
        visible_when(operation, free(object), frame);
        spin_must_be_there(lock, frame);
        return hold(object);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_spin_lock", fn(*mut u32) -> c_int)(lock) }
}

/// `pthread_spin_trylock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_trylock(lock: *mut u32) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_spin_trylock", fn(*mut u32) -> c_int)(lock) };
    }
    let frame = frame!();
    let error = try_object(spin(lock, frame), frame);
    spin_must_be_there(lock, frame);
    error
}

/// `pthread_spin_unlock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_unlock(lock: *mut u32) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_spin_unlock", fn(*mut u32) -> c_int)(lock) };
    }
    let frame = frame!();
    let object = spin(lock, frame);
    if !is_mine(object) {
        not_held(object, rt().object(object).holder != 0, frame);
    }
    visible(Op::on(op::UNLOCK, access::WRITE, object), frame);
    spin_must_be_there(lock, frame);
    release(object);
    0
}
