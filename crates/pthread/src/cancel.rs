//! Cancellation: at the cancellation points that wait for threads or for time, at those in `io.rs`, and by
//! `pthread_testcancel`.
//!
//! A thread that has been asked to end finds out at its next such point, or is woken if it waits at one. To find out is
//! a step of its own, so that it is seen in every order with the request; programs that never call `pthread_cancel` do
//! without.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::protocol::{Gate, Op, access, note, op, stop};
use crate::runtime::{self, is_on, rt, visible};
use crate::site::{Frame, frame};
use crate::sys::{EINVAL, ESRCH, real};
use crate::{cond, thread, unwind};

/// Whether the program can ask threads to end at all.
static USED: AtomicBool = AtomicBool::new(false);

/// What each thread has last asked for: asynchronous cancellation, or the default.
static ASYNCHRONOUS: [AtomicBool; runtime::MAX_THREADS] =
    [const { AtomicBool::new(false) }; runtime::MAX_THREADS];

/// Whether the program has `pthread_cancel` among the functions that it calls.
pub(crate) fn set_used(used: bool) {
    USED.store(used, Ordering::Relaxed);
}

const CANCELED: *mut c_void = -1_isize as *mut c_void;

/// A cancellation point: ends the thread if it has been asked to end.
pub(crate) fn act(frame: Frame) {
    if !is_used() || rt().phase != runtime::Phase::Running {
        return;
    }
    let me = rt().current as usize;
    if rt().threads[me].cancel_disabled {
        return;
    }
    let object = rt().threads[me].object;
    visible(Op::on(op::TEST_CANCEL, access::READ, object), frame);
    act_now();
}

/// A cancellation point within a step that is on the thread itself.
pub(crate) fn act_within() {
    if rt().phase == runtime::Phase::Running {
        act_now();
    }
}

/// Ends the thread if it has been asked to end, within a step that has seen the request.
pub(crate) fn act_now() {
    let me = rt().current as usize;
    let thread = &mut rt().threads[me];
    if !thread.cancelled || thread.cancel_disabled {
        return;
    }
    thread.cancel_disabled = true;
    thread.awaited_signals = 0;
    thread.result = CANCELED;
    rt().note = note::CANCELLED;
    unwind::unwind();
}

/// Whether the program can ask threads to end at all.
pub(crate) fn is_used() -> bool {
    USED.load(Ordering::Relaxed)
}

/// The end of a wait in which the thread can be cancelled: whether it is before a request to end matters. If it touches two
/// objects already, the thread is one of them.
pub(crate) fn in_order(operation: Op) -> Op {
    let me = rt().current as usize;
    if operation.also == 0 && is_used() { operation.with(rt().threads[me].object) } else { operation }
}

/// As [`runtime::visible_when`], for a wait in which the thread can be cancelled.
pub(crate) fn visible_when(operation: Op, gate: Gate, frame: Frame) -> bool {
    let me = rt().current as usize;
    rt().threads[me].in_cancellable_wait = true;
    // A request to end is a signal that does instead of what it waits for.
    let gate = Gate { or_signal: !gate.needs_signal && is_used(), ..gate };
    let timed_out = runtime::visible_when(in_order(operation), gate, frame);
    rt().threads[me].in_cancellable_wait = false;
    if rt().threads[me].woken_to_cancel {
        rt().threads[me].woken_to_cancel = false;
        act_now();
    }
    timed_out
}

/// `pthread_cancel`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cancel(handle: usize) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_cancel", fn(usize) -> c_int)(handle) };
    }
    let Some(target) = thread::find(handle) else { return ESRCH };
    let state = &rt().threads[target as usize];
    let operation = Op::on(op::CANCEL, access::WRITE, state.object);
    // It may wake the target from what it waits for, and says so before. One that waits for a signal waits on itself.
    let also_on = |awaited: u32| if awaited == operation.object { 0 } else { awaited };
    let also = if state.in_cancellable_wait { also_on(state.pending.object) } else { 0 };
    visible(Op { also, ..operation }, frame!());
    let runtime = rt();
    // What it does wake it from is seen here: where the target was when this was announced is nothing to go by.
    runtime.performed.also = 0;
    let state = &mut runtime.threads[target as usize];
    if state.ended || state.cancelled {
        return 0;
    }
    state.cancelled = true;
    if state.in_cancellable_wait && !state.cancel_disabled {
        let waits_for = state.pending.object;
        let was_signalled = state.signalled && state.pending.kind == op::WAKE;
        runtime.performed.also = also_on(waits_for);
        if was_signalled && !cond::leaves_signal(waits_for - 1) {
            return 0;
        }
        let runtime = rt();
        let state = &mut runtime.threads[target as usize];
        state.woken_to_cancel = true;
        let begins_to_wait = state.pending.kind == op::WAIT;
        if state.gate.needs_signal {
            // It leaves the condition variable, with the mutex.
            runtime.take_waiter(waits_for - 1, |_, thread| thread == target);
        }
        if !begins_to_wait {
            runtime.signal(target);
        }
    }
    0
}

/// `pthread_testcancel`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_testcancel() {
    if is_on() {
        act(frame!());
    }
}

/// `pthread_setcancelstate`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_setcancelstate", fn(c_int, *mut c_int) -> c_int)(state, old) };
    }
    if !(0..=1).contains(&state) {
        return EINVAL;
    }
    let me = rt().current as usize;
    if !old.is_null() {
        // SAFETY: the program's.
        unsafe { *old = c_int::from(rt().threads[me].cancel_disabled) };
    }
    rt().threads[me].cancel_disabled = state == 1;
    0
}

/// `pthread_setcanceltype`. Only the default, deferred cancellation, is supported where threads are cancelled.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_setcanceltype", fn(c_int, *mut c_int) -> c_int)(kind, old) };
    }
    match kind {
        0 => {}
        // Nobody can ask the thread to end, and it is only remembered.
        1 if !is_used() => {}
        1 => {
            let message: &[&[u8]] =
                &[b"the program asks for asynchronous cancellation, which is not supported"];
            rt().stop(stop::UNSUPPORTED, frame!(), message);
        }
        _ => return EINVAL,
    }
    let was = ASYNCHRONOUS[rt().current as usize].swap(kind == 1, Ordering::Relaxed);
    if !old.is_null() {
        // SAFETY: the program's.
        unsafe { *old = c_int::from(was) };
    }
    0
}
