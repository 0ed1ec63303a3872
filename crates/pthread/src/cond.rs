//! Condition variables. Which waiter a signal wakes is explored; waits do not end by themselves unless they have a time
//! limit, which may run out at any point, or spurious wakeups are explored.

use std::ffi::{c_int, c_void};

use crate::cancel;
use crate::mutex::{self, Mutex};
use crate::protocol::{Gate, Op, access, note, op, order, stop};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort};
use crate::spurious::{self, Spurious, Surprise};
use crate::sys::{EINVAL, EPERM, ETIMEDOUT, Timespec, real};
use crate::time;

/// `pthread_cond_t`: the flags are at 36.
fn slot(condvar: *mut c_void) -> Slot {
    Slot::of(condvar, Sort::Condvar)
}

fn object_of(condvar: *mut c_void, frame: Frame) -> u32 {
    slot(condvar).object(frame, |_| 0)
}

/// The clock of its time limits.
fn clock(condvar: *mut c_void) -> c_int {
    // SAFETY: the program's condition variable.
    let flags = unsafe { condvar.cast::<u32>().add(9).read() };
    if flags & 2 != 0 { time::MONOTONIC } else { time::REALTIME }
}

pub(crate) fn wait(condvar: *mut c_void, mutex: *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let memory = Mutex::new(mutex);
    let (object, mutex) = (object_of(condvar, frame), memory.object(frame));
    if !mutex::is_mine(mutex) {
        if memory.says_not_held() {
            return EPERM;
        }
        waits_without(frame);
    }
    let must_be_there = || {
        slot(condvar).must_be_there(frame);
        memory.must_be_there(frame);
    };
    let error = wait_begun(object, mutex, deadline, must_be_there, frame);
    // A condition variable may be destroyed and freed once all who wait were woken; not so the mutex that they lock again.
    memory.must_be_there(frame);
    error
}

/// The current thread waits with a mutex that does not say so itself.
pub(crate) fn waits_without(frame: Frame) -> ! {
    rt().stop(
        stop::MISUSE,
        frame,
        &[b"a thread waits on a condition variable with a mutex that it does not hold"],
    )
}

/// Waits with a mutex that the current thread holds.
pub(crate) fn wait_on(object: u32, mutex: u32, deadline: Option<u64>, frame: Frame) -> c_int {
    wait_begun(object, mutex, deadline, || (), frame)
}

/// The same; `begun` is called when the wait begins.
fn wait_begun(object: u32, mutex: u32, deadline: Option<u64>, begun: impl FnOnce(), frame: Frame) -> c_int {
    let surprise = spurious::decides(Spurious::Wakeup, frame);
    let is_spurious = surprise == Surprise::Yes;
    cancel::act(frame);
    // A recursive mutex that is locked more than once stays locked, as in the C library: the wait does nothing to it
    // that another thread could tell.
    let stays = rt().object(mutex).count > 1;
    let me = rt().current;
    rt().threads[me as usize].in_cancellable_wait = true;
    // Who wakes for no reason is nobody's to wake, but can be cancelled.
    let touches = if is_spurious && !cancel::is_used() { access::NONE } else { access::WRITE };
    let begin = Op::on(op::WAIT, touches, object);
    visible(if stays { begin } else { begin.with(mutex) }, frame);
    begun();
    let runtime = rt();
    if surprise == Surprise::Never {
        runtime.leaves_out(Spurious::Wakeup);
    }
    if runtime.threads[me as usize].woken_to_cancel {
        // It was cancelled on its way here: it need not be woken.
        runtime.signal(me);
    } else if !is_spurious {
        runtime.add_waiter(object, me);
    }
    if stays {
        runtime.object(mutex).count -= 1;
    } else {
        mutex::release(mutex);
    }
    let by_itself = is_spurious || deadline.is_some();
    let how = match by_itself {
        true if is_spurious => touches,
        true => access::WRITE,
        false => access::READ,
    };
    let wake = Op::on(op::WAKE, how, object);
    // Where threads are cancelled, it wakes first, in order with that, and then locks the mutex; and so if it may wake by
    // itself, which may be while another thread has the mutex.
    let locks_later = !stays && (by_itself || cancel::is_used());
    let (wake, gate) = match stays || locks_later {
        true => (cancel::in_order(wake), Gate::OPEN),
        false => (wake.with(mutex), mutex::free(mutex)),
    };
    let gate = Gate { needs_signal: true, timed: by_itself, ..gate };
    // Cancelled or not, it has the mutex when it goes on.
    let me = me as usize;
    let woke_by_itself = visible_when(wake, gate, frame);
    let timed_out = woke_by_itself && !is_spurious;
    rt().threads[me].in_cancellable_wait = false;
    let runtime = rt();
    if is_spurious {
        // No time has run out.
        runtime.performed.timed_out = false;
        runtime.threads[me].late = false;
    } else if timed_out {
        runtime.take_waiter(object, |_, thread| thread as usize == me);
        runtime.pass_time(deadline.unwrap_or(0));
    } else {
        runtime.performs(access::READ);
    }
    if locks_later {
        let operation = Op::on(op::LOCK, access::WRITE, mutex).ordered(order::ACQUIRE);
        visible_when(operation, mutex::free(mutex), frame);
    }
    let error = if stays {
        rt().object(mutex).count += 1;
        0
    } else {
        mutex::hold(mutex)
    };
    if rt().threads[me].woken_to_cancel {
        rt().threads[me].woken_to_cancel = false;
        cancel::act_now();
    }
    // What is wrong with the mutex matters more than the time.
    if timed_out && error == 0 { ETIMEDOUT } else { error }
}

/// Waits until a moment that a clock shows.
fn wait_until(
    condvar: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
    frame: Frame,
) -> c_int {
    // SAFETY: the program's.
    match time::moment(clock, unsafe { *limit }) {
        Some(deadline) if time::is_clock(clock) => wait(condvar, mutex, Some(deadline), frame),
        _ => {
            look_for_freed(condvar, mutex, frame);
            EINVAL
        }
    }
}

/// To wait fails because of something else than the two: they must not be in memory that was freed either.
pub(crate) fn look_for_freed(condvar: *mut c_void, mutex: *mut c_void, frame: Frame) {
    slot(condvar).look_for_freed(frame);
    Mutex::new(mutex).look_for_freed(frame);
}

pub(crate) fn notify(condvar: *mut c_void, all: bool, frame: Frame) {
    notify_on(object_of(condvar, frame), all, frame);
    slot(condvar).must_be_there(frame);
}

/// Wakes one of those who wait, or all.
pub(crate) fn notify_on(object: u32, all: bool, frame: Frame) {
    visible(Op::on(if all { op::NOTIFY_ALL } else { op::NOTIFY_ONE }, access::WRITE, object), frame);
    let runtime = rt();
    let waiting = runtime.waiters(object);
    if waiting == 0 {
        runtime.performs(access::READ);
        runtime.note = note::NOBODY_WAITS;
        return;
    }
    if all {
        while let Some(thread) = runtime.take_waiter(object, |_, _| true) {
            runtime.signal(thread);
        }
        return;
    }
    let chosen = runtime.choose(waiting);
    let runtime = rt();
    if let Some(thread) = runtime.take_waiter(object, |place, _| place == chosen) {
        runtime.signal(thread);
    }
}

/// A thread that was signalled is cancelled before it has gone on. Either the signal was first, and the thread goes on
/// with it, or the thread leaves, and another that waits gets the signal. Both are explored; says whether it leaves.
pub(crate) fn leaves_signal(object: u32) -> bool {
    let runtime = rt();
    let heirs = runtime.waiters(object).max(1);
    let Some(heir) = runtime.choose(1 + heirs).checked_sub(1) else { return false };
    let runtime = rt();
    if let Some(thread) = runtime.take_waiter(object, |place, _| place == heir) {
        runtime.signal(thread);
    }
    true
}

pub(crate) fn destroy_condvar(condvar: *mut c_void, frame: Frame) {
    let object = object_of(condvar, frame);
    // Threads that have been signalled and have yet to wake are allowed.
    let is_used = || {
        slot(condvar).must_be_there(frame);
        rt().waiters(object) > 0
    };
    mutex::destroy(object, is_used, frame);
    slot(condvar).destroy(object);
}

/// `pthread_cond_init`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_init(
    condvar: *mut c_void,
    attributes: *const c_void,
) -> c_int {
    if is_on() {
        slot(condvar).look_for_freed(frame!());
    }
    // SAFETY: passed on. It writes the whole of it, so that it is a new object.
    unsafe {
        real!(c"pthread_cond_init" @ c"GLIBC_2.3.2", fn(*mut c_void, *const c_void) -> c_int)(
            condvar, attributes,
        )
    }
}

/// `pthread_cond_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_destroy(condvar: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_cond_destroy" @ c"GLIBC_2.3.2", fn(*mut c_void) -> c_int)(condvar) };
    }
    destroy_condvar(condvar, frame!());
    0
}

/// `pthread_cond_wait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_wait(condvar: *mut c_void, mutex: *mut c_void) -> c_int {
    if is_on() {
        return wait(condvar, mutex, None, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_cond_wait" @ c"GLIBC_2.3.2", fn(*mut c_void, *mut c_void) -> c_int)(condvar, mutex)
    }
}

/// `pthread_cond_timedwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condvar: *mut c_void,
    mutex: *mut c_void,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return wait_until(condvar, mutex, clock(condvar), limit, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_cond_timedwait" @ c"GLIBC_2.3.2", fn(*mut c_void, *mut c_void, *const Timespec) -> c_int)(
            condvar, mutex, limit,
        )
    }
}

/// `pthread_cond_clockwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condvar: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    limit: *const Timespec,
) -> c_int {
    if is_on() {
        return wait_until(condvar, mutex, clock, limit, frame!());
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_cond_clockwait", fn(*mut c_void, *mut c_void, c_int, *const Timespec) -> c_int)(
            condvar, mutex, clock, limit,
        )
    }
}

/// `pthread_cond_signal`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_signal(condvar: *mut c_void) -> c_int {
    if is_on() {
        notify(condvar, false, frame!());
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_cond_signal" @ c"GLIBC_2.3.2", fn(*mut c_void) -> c_int)(condvar) }
}

/// `pthread_cond_broadcast`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_broadcast(condvar: *mut c_void) -> c_int {
    if is_on() {
        notify(condvar, true, frame!());
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_cond_broadcast" @ c"GLIBC_2.3.2", fn(*mut c_void) -> c_int)(condvar) }
}
