//! Threads that wait for signals of the system, and signals that threads send each other.
//!
//! A thread in `sigwait` waits until another sends it one of its signals by `pthread_kill`; signals from outside of the
//! program do not come in an execution. What a thread blocks is the kernel thread's for as long as it runs.

use std::ffi::c_int;

use crate::cancel;
use crate::protocol::{Gate, Op, access, op, stop};
use crate::runtime::{is_on, rt, visible};
use crate::site::{Frame, frame};
use crate::sys::{self, EINVAL, ESRCH, real};
use crate::thread;

/// `sigset_t`: its first word has the signals.
type SignalSet = u64;

/// Waits for one of the signals.
fn wait(set: *const SignalSet, frame: Frame) -> c_int {
    cancel::act(frame);
    let me = rt().current as usize;
    let object = rt().threads[me].object;
    // SAFETY: the program's set.
    rt().threads[me].awaited_signals = unsafe { *set };
    let gate = Gate { needs_signal: true, ..Gate::OPEN };
    cancel::visible_when(Op::on(op::SIGNAL_WAIT, access::READ, object), gate, frame);
    rt().threads[me].awaited_signals = 0;
    rt().threads[me].sent_signal
}

/// `sigwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigwait(set: *const SignalSet, signal: *mut c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sigwait", fn(*const SignalSet, *mut c_int) -> c_int)(set, signal) };
    }
    let sent = wait(set, frame!());
    // SAFETY: the program's.
    unsafe { *signal = sent };
    0
}

/// `pthread_kill`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_kill(handle: usize, signal: c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_kill", fn(usize, c_int) -> c_int)(handle, signal) };
    }
    let Some(target) = thread::find(handle) else { return ESRCH };
    if !(0..=64).contains(&signal) {
        return EINVAL;
    }
    let frame = frame!();
    let object = rt().threads[target as usize].object;
    visible(Op::on(op::KILL, access::WRITE, object), frame);
    let state = &mut rt().threads[target as usize];
    if signal == 0 || state.ended {
        return 0;
    }
    if state.awaited_signals >> (signal - 1) & 1 == 0 {
        let message: &[&[u8]] =
            &[b"a thread sends a signal to one that does not wait for it, which is not supported"];
        rt().stop(stop::UNSUPPORTED, frame, message);
    }
    if !state.signalled {
        state.sent_signal = signal;
        rt().signal(target);
    }
    0
}

/// Changes which signals the current thread blocks.
fn change_mask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> Result<(), c_int> {
    let me = rt().current as usize;
    let before = rt().threads[me].signal_mask;
    // SAFETY: the program's sets; more than the first word of one is never used.
    unsafe {
        if !set.is_null() {
            rt().threads[me].signal_mask = match how {
                0 => before | *set,
                1 => before & !*set,
                2 => *set,
                _ => return Err(EINVAL),
            };
            sys::set_signal_mask(rt().threads[me].signal_mask);
        }
        if !old.is_null() {
            old.write(before);
        }
    }
    Ok(())
}

/// `pthread_sigmask`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_sigmask(
    how: c_int,
    set: *const SignalSet,
    old: *mut SignalSet,
) -> c_int {
    if is_on() {
        return change_mask(how, set, old).err().unwrap_or(0);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_sigmask", fn(c_int, *const SignalSet, *mut SignalSet) -> c_int)(how, set, old) }
}

/// `sigprocmask`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigprocmask(
    how: c_int,
    set: *const SignalSet,
    old: *mut SignalSet,
) -> c_int {
    if is_on() {
        return match change_mask(how, set, old) {
            Ok(()) => 0,
            Err(error) => {
                sys::set_errno(error);
                -1
            }
        };
    }
    // SAFETY: passed on.
    unsafe { real!(c"sigprocmask", fn(c_int, *const SignalSet, *mut SignalSet) -> c_int)(how, set, old) }
}
