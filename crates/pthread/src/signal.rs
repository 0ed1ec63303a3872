//! Threads that wait for signals of the system, and signals that threads send each other and their process.
//!
//! A thread in `sigwait` waits until another sends it, or the process, one of its signals; signals from outside of the
//! program do not come in an execution. What is sent to whoever has it blocked is kept, for `sigwait` or until it is
//! blocked no more. What is sent and not blocked is the system's: its handler runs in the thread that sends it, and
//! cannot run in another. What a thread blocks is the kernel thread's for as long as it runs.
//!
//! The runtime has handlers of its own (`fault.rs`), where the program has none. What the program is told of handlers is
//! what it has set itself.

use std::ffi::{c_int, c_void};

use crate::cancel;
use crate::protocol::{Gate, Op, access, head, object, op, order, stop, tag};
use crate::runtime::{is_on, rt, visible};
use crate::site::{Frame, frame};
use crate::sys::{self, EAGAIN, EINTR, EINVAL, ESRCH, SigAction, Timespec, real, set_errno};
use crate::{fault, thread, time};

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

/// A value that was sent with a signal, and has not come yet.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// Whom it is for: a thread, plus 1, or the process.
    target: u32,
    /// 0 if there is none.
    signal: c_int,
    value: usize,
}

impl Value {
    pub(crate) const NONE: Value = Value { target: 0, signal: 0, value: 0 };
}

/// How many values may be under way. Of more, it is as if none was sent.
pub(crate) const VALUES: usize = 16;

/// The first signal that has a queue: what is sent twice comes twice.
const FIRST_QUEUED: c_int = 32;

/// Keeps what is sent with a signal until it comes.
fn keep_value(target: u32, signal: c_int, value: Option<usize>) {
    if let Some(value) = value
        && let Some(free) = rt().signal_values.iter_mut().find(|value| value.signal == 0)
    {
        *free = Value { target, signal, value };
    }
}

/// Takes what was sent with a signal, if something was. Says too whether there is more.
fn take_value(target: u32, signal: c_int) -> (Option<usize>, bool) {
    let values = &mut rt().signal_values;
    let is_it = |value: &Value| (value.target, value.signal) == (target, signal);
    let Some(at) = values.iter().position(is_it) else { return (None, false) };
    let value = values[at].value;
    // In their order.
    values.copy_within(at + 1.., at);
    values[VALUES - 1] = Value::NONE;
    (Some(value), values.iter().any(is_it))
}

/// A signal that has come, with what was sent with it.
type Sent = (c_int, Option<usize>);

/// Takes one of the signals that were sent before.
fn take_pending(set: u64) -> Option<Sent> {
    let me = rt().current;
    for target in [me + 1, 0] {
        let pending = pending_of(target);
        let found = *pending & set;
        if found != 0 {
            let signal = found.trailing_zeros() as c_int + 1;
            let (value, more) = take_value(target, signal);
            if !more {
                *pending_of(target) &= !bit(signal);
            }
            return Some((signal, value));
        }
    }
    None
}

/// What is kept for a thread, plus 1, or for the process.
fn pending_of(target: u32) -> &'static mut u64 {
    let runtime = rt();
    match target.checked_sub(1) {
        Some(thread) => &mut runtime.threads[thread as usize].pending_signals,
        None => &mut runtime.pending_signals,
    }
}

/// Keeps a signal for whoever has it blocked.
fn keep(target: u32, signal: c_int, value: Option<usize>) {
    let pending = pending_of(target);
    if *pending & bit(signal) == 0 || signal >= FIRST_QUEUED {
        *pending |= bit(signal);
        keep_value(target, signal, value);
    }
}

/// Has the system send a signal to its one thread, which does not block it: it comes at once.
fn come(signal: c_int, value: Option<usize>) -> c_int {
    // SAFETY: a signal that there is, to this process.
    unsafe {
        match value {
            Some(value) => real!(c"sigqueue", fn(c_int, c_int, usize) -> c_int)(sys::getpid(), signal, value),
            None => real!(c"raise", fn(c_int) -> c_int)(signal),
        }
    }
}

/// A step of its own before signals that others may have sent are looked at: that is seen in every order with sending them.
fn look(frame: Frame) {
    let runtime = rt();
    if runtime.thread_count > 1 {
        let own = runtime.threads[runtime.current as usize].object;
        visible(Op::on(op::SIGNAL_LOOK, access::READ, own).with(process()), frame);
    }
}

/// What came before a signal is behind whoever gets it, within a step.
fn acquire() {
    let process = u64::from(process());
    rt().performed.order = order::ACQUIRE;
    rt().log([head(tag::PUBLISH, 0), 0, process, 0, 0, 0, 0, 0]);
}

/// Waits for one of the signals; `None` if the time has run out. To look for one that was sent before is a step, in which the
/// thread begins to wait if there is none.
fn wait(set: u64, deadline: Option<u64>, frame: Frame) -> Option<Sent> {
    look(frame);
    cancel::act_within();
    if let Some(sent) = take_pending(set) {
        acquire();
        return Some(sent);
    }
    let me = rt().current as usize;
    (rt().threads[me].awaited_signals, rt().threads[me].sent_signal) = (set, 0);
    let gate = Gate { needs_signal: true, timed: deadline.is_some(), ..Gate::OPEN };
    let operation = Op::on(op::SIGNAL_WAIT, access::READ, rt().threads[me].object).with(process());
    let timed_out = cancel::visible_when(operation, gate, frame);
    rt().threads[me].awaited_signals = 0;
    if timed_out {
        rt().pass_time(deadline.unwrap_or(0));
        return None;
    }
    acquire();
    let sent = rt().threads[me].sent_signal;
    Some((sent, take_value(me as u32 + 1, sent).0))
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
    unsafe { *signal = wait(*set, None, frame!()).map_or(0, |(signal, _)| signal) };
    0
}

/// Says which signal it was, and that this process has sent it.
fn describe((signal, value): Sent, information: *mut c_int) -> c_int {
    /// `siginfo_t` in words: the signal is the first, how it was sent the third, the sender the fifth, the value from the
    /// seventh on.
    const LENGTH: usize = 32;
    const SI_QUEUE: c_int = -1;
    if !information.is_null() {
        // SAFETY: the program's.
        unsafe {
            information.write_bytes(0, LENGTH);
            *information = signal;
            *information.add(4) = sys::getpid();
            if let Some(value) = value {
                *information.add(2) = SI_QUEUE;
                information.add(6).cast::<usize>().write_unaligned(value);
            }
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
    describe(signal.unwrap_or((0, None)), information)
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
        Some(sent) => describe(sent, information),
        None => {
            set_errno(EAGAIN);
            -1
        }
    }
}

/// Waits for a signal that is not in a mask, and has it come, unless it is ignored. Says whether one has: the time may run out.
/// A thread that is alone can only wait for signals from outside, which are the system's; that gives `None`.
pub(crate) fn suspend(mask: SignalSet, deadline: Option<u64>, frame: Frame) -> Option<bool> {
    const IGNORED: usize = 1;
    let me = rt().current as usize;
    let kept = rt().threads[me].pending_signals | rt().pending_signals;
    if rt().thread_count == 1 && kept & !mask == 0 {
        return None;
    }
    loop {
        let Some((signal, value)) = wait(!mask, deadline, frame) else { return Some(false) };
        let mut action = SigAction { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };
        // SAFETY: the action is a local.
        unsafe { sys::sigaction(signal, std::ptr::null(), &raw mut action) };
        if action.handler == IGNORED {
            continue;
        }
        // The handler runs with the mask that was given.
        let before = std::mem::replace(&mut rt().threads[me].signal_mask, mask);
        sys::set_signal_mask(mask);
        come(signal, value);
        rt().threads[me].signal_mask = before;
        sys::set_signal_mask(before);
        set_errno(EINTR);
        return Some(true);
    }
}

/// `sigsuspend`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigsuspend(mask: *const SignalSet) -> c_int {
    if is_on() {
        let frame = frame!();
        // SAFETY: the program's.
        if suspend(unsafe { *mask }, None, frame).is_some() {
            return -1;
        }
        cancel::act(frame);
    }
    // SAFETY: passed on.
    unsafe { real!(c"sigsuspend", fn(*const SignalSet) -> c_int)(mask) }
}

/// `pause`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pause() -> c_int {
    if is_on() {
        let frame = frame!();
        let mask = rt().threads[rt().current as usize].signal_mask;
        if suspend(mask, None, frame).is_some() {
            return -1;
        }
        cancel::act(frame);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pause", fn() -> c_int)() }
}

/// `sigpending`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigpending(set: *mut SignalSet) -> c_int {
    if is_on() {
        look(frame!());
    }
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
fn give(target: u32, signal: c_int, value: Option<usize>) {
    rt().threads[target as usize].sent_signal = signal;
    keep_value(target + 1, signal, value);
    rt().signal(target);
}

/// Whether a thread waits for a signal. One that has been given one does not wait any more.
fn waits_for(target: u32, signal: c_int) -> bool {
    let state = &rt().threads[target as usize];
    !state.ended && !state.signalled && state.awaited_signals & bit(signal) != 0
}

/// Sends a signal to a thread; gives the error.
fn send(target: u32, signal: c_int, value: Option<usize>, frame: Frame) -> c_int {
    if !(0..=64).contains(&signal) {
        return EINVAL;
    }
    // If the target waits, then for a signal to the process too.
    let operation = Op::on(op::KILL, access::WRITE, rt().threads[target as usize].object).with(process());
    visible(operation, frame);
    let runtime = rt();
    let state = &runtime.threads[target as usize];
    if signal == 0 || state.ended {
        return 0;
    }
    if waits_for(target, signal) {
        give(target, signal, value);
    } else if state.signal_mask & bit(signal) != 0 {
        keep(target + 1, signal, value);
    } else if target == runtime.current {
        return come(signal, value);
    } else {
        not_waiting(frame);
    }
    0
}

/// Sends a signal to the process. It is for one of those who wait for it; then for whoever has it not blocked, and that
/// is the caller; and then it is kept. Says whether that is all.
fn send_to_process(signal: c_int, value: Option<usize>, frame: Frame) -> bool {
    visible(Op::on(op::KILL, access::WRITE, process()), frame);
    let threads = 0..rt().thread_count;
    let waiting = threads.clone().filter(|thread| waits_for(*thread, signal)).count() as u32;
    if waiting > 0 {
        let chosen = rt().choose(waiting) as usize;
        if let Some(target) = threads.filter(|thread| waits_for(*thread, signal)).nth(chosen) {
            give(target, signal, value);
        }
        return true;
    }
    let runtime = rt();
    let blocks = |thread: u32| runtime.threads[thread as usize].signal_mask & bit(signal) != 0;
    if !blocks(runtime.current) {
        return false;
    }
    let mut others = threads.filter(|thread| !runtime.threads[*thread as usize].ended);
    if !others.all(blocks) {
        not_waiting(frame);
    }
    keep(0, signal, value);
    true
}

/// Whether it is about a signal to this process.
fn is_own(pid: c_int, signal: c_int) -> bool {
    // SAFETY: takes nothing.
    is_on() && (1..=64).contains(&signal) && pid == unsafe { sys::getpid() }
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
    match thread::find(handle) {
        Some(target) => send(target, signal, None, frame!()),
        None => ESRCH,
    }
}

/// `pthread_sigqueue`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_sigqueue(handle: usize, signal: c_int, value: usize) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe {
            real!(c"pthread_sigqueue", fn(usize, c_int, usize) -> c_int)(handle, signal, value)
        };
    }
    match thread::find(handle) {
        Some(target) => send(target, signal, Some(value), frame!()),
        None => ESRCH,
    }
}

/// A signal to a thread by its number, as [`thread::gettid`] gives it. `None` if it is of another process.
pub(crate) fn send_to_number(process: c_int, number: c_int, signal: c_int, frame: Frame) -> Option<c_int> {
    // SAFETY: takes nothing.
    let own = unsafe { sys::getpid() };
    if !is_on() || process != own {
        return None;
    }
    let target = u32::try_from(number.wrapping_sub(own)).ok().filter(|target| *target < rt().thread_count);
    let error = match target {
        Some(target) => send(target, signal, None, frame),
        None => ESRCH,
    };
    if error == 0 {
        return Some(0);
    }
    set_errno(error);
    Some(-1)
}

/// `tgkill`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn tgkill(process: c_int, number: c_int, signal: c_int) -> c_int {
    if let Some(result) = send_to_number(process, number, signal, frame!()) {
        return result;
    }
    // SAFETY: passed on.
    unsafe { real!(c"tgkill", fn(c_int, c_int, c_int) -> c_int)(process, number, signal) }
}

/// `raise`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn raise(signal: c_int) -> c_int {
    if is_on() && (1..=64).contains(&signal) {
        let me = rt().current;
        if rt().threads[me as usize].signal_mask & bit(signal) != 0 {
            return send(me, signal, None, frame!());
        }
    }
    // SAFETY: passed on.
    unsafe { real!(c"raise", fn(c_int) -> c_int)(signal) }
}

/// `kill`, of which a signal to the process itself is of interest.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn kill(pid: c_int, signal: c_int) -> c_int {
    if is_own(pid, signal) && send_to_process(signal, None, frame!()) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"kill", fn(c_int, c_int) -> c_int)(pid, signal) }
}

/// `sigqueue`, as `kill`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigqueue(pid: c_int, signal: c_int, value: usize) -> c_int {
    if is_own(pid, signal) && send_to_process(signal, Some(value), frame!()) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"sigqueue", fn(c_int, c_int, usize) -> c_int)(pid, signal, value) }
}

/// Refuses what would make the C library create a thread, which is not one of the program's.
///
/// # Safety
/// `struct sigevent`, or null.
unsafe fn refuse_threads(event: *const c_void, what: &[u8], frame: Frame) {
    const NOTIFY: usize = 12;
    const SIGEV_THREAD: c_int = 2;
    // SAFETY: the caller's: a value, the signal and then how to notify.
    if is_on() && !event.is_null() && unsafe { *event.byte_add(NOTIFY).cast::<c_int>() } == SIGEV_THREAD {
        let message: &[&[u8]] =
            &[b"the program uses an API that is not controlled: ", what, b" with SIGEV_THREAD"];
        rt().stop(stop::UNSUPPORTED, frame, message);
    }
}

/// `timer_create`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn timer_create(
    clock: c_int,
    event: *mut c_void,
    timer: *mut c_void,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        refuse_threads(event, b"timer_create", frame!());
        real!(c"timer_create" @ c"GLIBC_2.3.3", fn(c_int, *mut c_void, *mut c_void) -> c_int)(
            clock, event, timer,
        )
    }
}

/// `mq_notify`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mq_notify(queue: c_int, event: *const c_void) -> c_int {
    // SAFETY: passed on.
    unsafe {
        refuse_threads(event, b"mq_notify", frame!());
        real!(c"mq_notify", fn(c_int, *const c_void) -> c_int)(queue, event)
    }
}

/// Changes which signals the current thread blocks.
fn change_mask(how: c_int, set: *const SignalSet, old: *mut SignalSet, frame: Frame) -> Result<(), c_int> {
    let me = rt().current as usize;
    let before = rt().threads[me].signal_mask;
    // SAFETY: the program's sets; more than the first word of one is never used.
    unsafe {
        if !set.is_null() {
            let mask = match how {
                0 => before | *set,
                1 => before & !*set,
                2 => *set,
                _ => return Err(EINVAL),
            };
            if before & !mask != 0 {
                look(frame);
            }
            rt().threads[me].signal_mask = mask;
            sys::set_signal_mask(mask);
            // What was kept comes now.
            while let Some((signal, value)) = take_pending(!mask) {
                come(signal, value);
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
        return change_mask(how, set, old, frame!()).err().unwrap_or(0);
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
        return match change_mask(how, set, old, frame!()) {
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

const SIG_DFL: usize = 0;
const SIG_ERR: usize = usize::MAX;

/// The program has changed what is done about a signal. If that is nothing, the runtime's handler takes its place: to have
/// none would end the process just so, without telling where.
fn changed(signal: c_int, handler: usize) {
    if handler == SIG_DFL && is_on() {
        fault::catch(signal);
    }
}

/// `sigaction`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sigaction(
    signal: c_int,
    action: *const SigAction,
    old: *mut SigAction,
) -> c_int {
    let is_caught = fault::is_caught(signal);
    // SAFETY: the program's.
    let handler = unsafe { action.as_ref() }.map(|action| action.handler);
    // As long as the handler is the runtime's, the program has none, and may say so again.
    if !is_caught || handler.is_some_and(|handler| handler != SIG_DFL) {
        // SAFETY: passed on.
        let failed = unsafe {
            real!(c"sigaction", fn(c_int, *const SigAction, *mut SigAction) -> c_int)(signal, action, old)
        };
        if failed != 0 {
            return failed;
        }
        if let Some(handler) = handler {
            changed(signal, handler);
        }
    }
    if is_caught && !old.is_null() {
        // SAFETY: the program's.
        unsafe { old.write(SigAction { handler: SIG_DFL, mask: [0; 16], flags: 0, restorer: 0 }) };
    }
    0
}

/// Sets a handler by one of the older functions, which give the handler before.
fn set_handler(
    signal: c_int,
    handler: usize,
    set: unsafe extern "C-unwind" fn(c_int, usize) -> usize,
) -> usize {
    let is_caught = fault::is_caught(signal);
    if is_caught && handler == SIG_DFL {
        return SIG_DFL;
    }
    // SAFETY: passed on.
    let before = unsafe { set(signal, handler) };
    if before == SIG_ERR {
        return before;
    }
    changed(signal, handler);
    if is_caught { SIG_DFL } else { before }
}

/// `signal`, as BSD has it: the handler stays.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn signal(number: c_int, handler: usize) -> usize {
    set_handler(number, handler, real!(c"signal", fn(c_int, usize) -> usize))
}

/// `signal`, as System V has it, and as it is in strict C: the handler is called once.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __sysv_signal(number: c_int, handler: usize) -> usize {
    set_handler(number, handler, real!(c"__sysv_signal", fn(c_int, usize) -> usize))
}
