//! Threads that wait for signals of the system, and signals that threads send each other and their process.
//!
//! A thread in `sigwait` waits until another sends it, or the process, one of its signals; signals from outside of the
//! program do not come in an execution. What is sent to whoever has it blocked is kept, for `sigwait` or until it is
//! blocked no more. What is sent and not blocked is the system's: its handler runs in the thread that sends it, and
//! cannot run in another. What a thread blocks is the kernel thread's for as long as it runs.

use std::ffi::c_int;

use crate::cancel;
use crate::protocol::{Gate, Op, access, head, object, op, stop, tag};
use crate::runtime::{is_on, rt, visible};
use crate::site::{Frame, frame};
use crate::sys::{self, EAGAIN, EINVAL, ESRCH, Timespec, real, set_errno};
use crate::{thread, time};

/// `sigset_t`: its first word has the signals.
type SignalSet = u64;

/// The object of signals to the process.
fn process() -> u32 {
    let runtime = rt();
    if runtime.signals == 0 {
        runtime.signals = runtime.new_object(object::PROCESS, 0, 0) + 1;
    }
    runtime.signals - 1
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Takes one of the signals that were sent before.
fn take_pending(set: u64) -> Option<c_int> {
    let me = rt().current as usize;
    let runtime = rt();
    for pending in [&mut runtime.threads[me].pending_signals, &mut runtime.pending_signals] {
        let found = *pending & set;
        if found != 0 {
            *pending &= !(found & found.wrapping_neg());
            return Some(found.trailing_zeros() as c_int + 1);
        }
    }
    None
}

/// Waits for one of the signals; `None` if the time has run out.
fn wait(set: u64, deadline: Option<u64>, frame: Frame) -> Option<c_int> {
    cancel::act(frame);
    let me = rt().current as usize;
    let (own, process) = (rt().threads[me].object, process());
    loop {
        rt().threads[me].awaited_signals = set;
        rt().threads[me].sent_signal = 0;
        let is_there = (rt().threads[me].pending_signals | rt().pending_signals) & set != 0;
        let gate = Gate { needs_signal: !is_there, timed: !is_there && deadline.is_some(), ..Gate::OPEN };
        let operation =
            Op::on(op::SIGNAL_WAIT, access::READ, own).with(process).ordered(crate::protocol::order::ACQUIRE);
        let timed_out = cancel::visible_when(operation, gate, frame);
        rt().threads[me].awaited_signals = 0;
        if timed_out {
            rt().pass_time(deadline.unwrap_or(0));
            return None;
        }
        // What came before a signal to the process is behind whoever gets it.
        rt().log([head(tag::PUBLISH, 0), 0, u64::from(process), 0, 0, 0, 0, 0]);
        let sent = rt().threads[me].sent_signal;
        let got = if sent != 0 { Some(sent) } else { take_pending(set) };
        // Another may have taken what was there.
        if got.is_some() {
            return got;
        }
    }
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
    // SAFETY: the program's.
    unsafe { *signal = wait(*set, None, frame!()).unwrap_or(0) };
    0
}

/// Says which signal it was, and that this process has sent it.
fn describe(signal: c_int, information: *mut c_int) -> c_int {
    /// `siginfo_t` in words: the signal is the first, the sender the fifth.
    const LENGTH: usize = 32;
    if !information.is_null() {
        // SAFETY: the program's.
        unsafe {
            information.write_bytes(0, LENGTH);
            *information = signal;
            *information.add(4) = sys::getpid();
        }
    }
    signal
}

/// `sigwaitinfo`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigwaitinfo(set: *const SignalSet, information: *mut c_int) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"sigwaitinfo", fn(*const SignalSet, *mut c_int) -> c_int)(set, information) };
    }
    // SAFETY: the program's.
    let signal = wait(unsafe { *set }, None, frame!());
    describe(signal.unwrap_or(0), information)
}

/// `sigtimedwait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigtimedwait(
    set: *const SignalSet,
    information: *mut c_int,
    limit: *const Timespec,
) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe {
            real!(c"sigtimedwait", fn(*const SignalSet, *mut c_int, *const Timespec) -> c_int)(
                set,
                information,
                limit,
            )
        };
    }
    let frame = frame!();
    // SAFETY: the program's.
    let (set, limit) = unsafe { (*set, limit.as_ref()) };
    let deadline = match limit.map(|limit| time::after(*limit)) {
        Some(None) => {
            set_errno(EINVAL);
            return -1;
        }
        Some(deadline) => deadline,
        None => None,
    };
    match wait(set, deadline, frame) {
        Some(signal) => describe(signal, information),
        None => {
            set_errno(EAGAIN);
            -1
        }
    }
}

/// `sigpending`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigpending(set: *mut SignalSet) -> c_int {
    // SAFETY: passed on.
    let failed = unsafe { real!(c"sigpending", fn(*mut SignalSet) -> c_int)(set) };
    if is_on() && failed == 0 {
        let runtime = rt();
        let own = runtime.threads[runtime.current as usize].pending_signals;
        // SAFETY: the program's.
        unsafe { *set |= own | runtime.pending_signals };
    }
    failed
}

/// A signal is sent to a thread that can only be interrupted when it runs.
fn not_waiting(frame: Frame) -> ! {
    let message: &[&[u8]] =
        &[b"a thread sends a signal to one that does not wait for it, which is not supported"];
    rt().stop(stop::UNSUPPORTED, frame, message)
}

/// Gives a signal to a thread that waits for it.
fn give(target: u32, signal: c_int) {
    let state = &mut rt().threads[target as usize];
    if !state.signalled {
        state.sent_signal = signal;
        rt().signal(target);
    }
}

fn waits_for(target: u32, signal: c_int) -> bool {
    let state = &rt().threads[target as usize];
    !state.ended && state.awaited_signals & bit(signal) != 0
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
    let runtime = rt();
    let state = &mut runtime.threads[target as usize];
    if signal == 0 || state.ended {
        return 0;
    }
    if waits_for(target, signal) {
        give(target, signal);
    } else if state.signal_mask & bit(signal) != 0 {
        state.pending_signals |= bit(signal);
    } else if target == runtime.current {
        // SAFETY: a signal that there is.
        return unsafe { real!(c"raise", fn(c_int) -> c_int)(signal) };
    } else {
        not_waiting(frame);
    }
    0
}

/// `raise`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn raise(signal: c_int) -> c_int {
    if is_on() && (1..=64).contains(&signal) {
        let runtime = rt();
        let state = &mut runtime.threads[runtime.current as usize];
        if state.signal_mask & bit(signal) != 0 {
            state.pending_signals |= bit(signal);
            return 0;
        }
    }
    // SAFETY: passed on.
    unsafe { real!(c"raise", fn(c_int) -> c_int)(signal) }
}

/// `kill`, of which a signal to the process itself is of interest. It is for one of those who wait for it; then for
/// whoever has it not blocked, and that is the caller; and then it is kept.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn kill(pid: c_int, signal: c_int) -> c_int {
    // SAFETY: takes nothing.
    if is_on() && (1..=64).contains(&signal) && pid == unsafe { sys::getpid() } {
        let frame = frame!();
        visible(Op::on(op::KILL, access::WRITE, process()), frame);
        let threads = 0..rt().thread_count;
        let waiting = threads.clone().filter(|thread| waits_for(*thread, signal)).count() as u32;
        if waiting > 0 {
            let chosen = rt().choose(waiting) as usize;
            if let Some(target) = threads.filter(|thread| waits_for(*thread, signal)).nth(chosen) {
                give(target, signal);
            }
            return 0;
        }
        let runtime = rt();
        let blocks = |thread: u32| runtime.threads[thread as usize].signal_mask & bit(signal) != 0;
        if blocks(runtime.current) {
            let mut others = threads.filter(|thread| !runtime.threads[*thread as usize].ended);
            if !others.all(blocks) {
                not_waiting(frame);
            }
            runtime.pending_signals |= bit(signal);
            return 0;
        }
    }
    // SAFETY: passed on.
    unsafe { real!(c"kill", fn(c_int, c_int) -> c_int)(pid, signal) }
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
            let mask = rt().threads[me].signal_mask;
            sys::set_signal_mask(mask);
            // What was kept comes now.
            while let Some(signal) = take_pending(!mask) {
                real!(c"raise", fn(c_int) -> c_int)(signal);
            }
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
