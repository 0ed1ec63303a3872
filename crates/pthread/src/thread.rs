//! Threads: creating, joining, detaching, ending.
//!
//! A thread of the program has the stack, the thread-local storage and the handle of one of the C library's, its *shell*,
//! and takes turns with the others on the one kernel thread. What the C library does when a thread ends is done here, in
//! its order: the stack is unwound, destructors of C++ thread-locals and then of keys run. Then the thread takes its last
//! step. Its shell is not used again, so that no two threads of an execution have the same handle.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::attributes::Attributes;
use crate::coroutine::{self, Context};
use crate::exit::really_exit;
use crate::protocol::{Gate, Op, access, head, note, op, stop, tag};
use crate::runtime::{DETACHED, ENDED, Phase, is_on, rt, visible, visible_when};
use crate::shell;
use crate::site::{Frame, frame};
use crate::sys::{self, EBUSY, EDEADLK, EINVAL, ERANGE, ESRCH, ETIMEDOUT, Timespec, real};
use crate::{again, cancel, key, mutex, thread_local, time, unwind, verifier};

/// The length of a thread's name, with the zero at its end.
const NAME: usize = 16;

const PR_SET_NAME: c_int = 15;
const PR_GET_NAME: c_int = 16;

/// Threads that were created before `main`, and not joined.
pub(crate) static EARLY: AtomicU32 = AtomicU32::new(0);

/// Prepares the first thread.
pub(crate) fn register_main() {
    let main = &mut rt().threads[0];
    main.handle = own_handle();
    let (thread_pointer, signal_mask) = again::first_thread();
    main.context = Context::current(thread_pointer);
    main.signal_mask = signal_mask;
}

fn own_handle() -> usize {
    // SAFETY: takes nothing.
    unsafe { real!(c"pthread_self", fn() -> usize)() }
}

/// Where every created thread begins.
extern "C-unwind" fn begin() -> ! {
    let me = rt().current as usize;
    let thread = &mut rt().threads[me];
    let (function, argument, is_c11) = (thread.function, thread.argument, thread.is_c11);
    // SAFETY: the program gave the function, which is of one of these types, and its argument.
    let result = unsafe {
        if is_c11 {
            let function: unsafe extern "C-unwind" fn(*mut c_void) -> c_int = std::mem::transmute(function);
            function(argument) as isize as *mut c_void
        } else {
            let function: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void =
                std::mem::transmute(function);
            function(argument)
        }
    };
    rt().threads[me].result = result;
    finish()
}

/// The current thread is done, and has left its function: what the C library does at a thread's end is done in its
/// order, and then the thread's last step.
pub(crate) fn finish() -> ! {
    let me = rt().current as usize;
    rt().threads[me].cancel_disabled = true;
    thread_local::run_destructors();
    if rt().phase != Phase::Leaving {
        key::run_destructors();
        mutex::abandon_robust();
        let object = rt().threads[me].object;
        visible(Op::on(op::END, access::WRITE, object), Frame::NONE);
        rt().end_thread();
    }
    // Here again only to end the process.
    really_exit(0)
}

/// Creates a thread that runs `function`.
pub(crate) fn create(
    handle: *mut usize,
    attributes: *const c_void,
    function: usize,
    argument: *mut c_void,
    is_c11: bool,
    frame: Frame,
) -> c_int {
    let runtime = rt();
    if runtime.phase == Phase::Leaving {
        let message: &[&[u8]] =
            &[b"a thread is created while the process exits because all have ended, which is not supported"];
        runtime.stop(stop::UNSUPPORTED, frame, message);
    }
    let asked = match Attributes::of(attributes) {
        Ok(asked) => asked,
        Err(error) => return error,
    };
    let index = runtime.new_thread(function);
    let thread = &mut runtime.threads[index as usize];
    (thread.argument, thread.is_c11) = (argument, is_c11);
    let object = thread.object;
    if asked.is_detached {
        runtime.set_word(object, DETACHED, 0);
    }
    let creator = &runtime.threads[runtime.current as usize];
    let signal_mask = asked.signal_mask.unwrap_or(creator.signal_mask);
    let cores = asked.cores.unwrap_or(creator.cores);
    let Some(shell) = shell::take(index as usize - 1) else { rt().undo_thread(frame) };
    rt().area().shells.fetch_max(index, std::sync::atomic::Ordering::Relaxed);
    let Some((stack_top, stack)) = asked.stack(&shell) else { rt().undo_thread(frame) };
    let thread = &mut rt().threads[index as usize];
    thread.signal_mask = signal_mask;
    thread.cores = cores;
    thread.stack = stack;
    (thread.handle, thread.stack_top) = (shell.handle, stack_top);
    // SAFETY: the stack is the new thread's alone.
    thread.context =
        unsafe { Context::new(stack_top, shell.thread_pointer, coroutine::FloatingPoint::current(), begin) };
    // SAFETY: the program's.
    unsafe { *handle = shell.handle };
    rt().start(index);
    0
}

/// `pthread_create`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_create(
    handle: *mut usize,
    attributes: *const c_void,
    function: usize,
    argument: *mut c_void,
) -> c_int {
    if is_on() {
        return create(handle, attributes, function, argument, false, frame!());
    }
    EARLY.fetch_add(1, Ordering::Relaxed);
    // SAFETY: passed on.
    unsafe {
        real!(c"pthread_create", fn(*mut usize, *const c_void, usize, *mut c_void) -> c_int)(
            handle, attributes, function, argument,
        )
    }
}

/// The thread with this handle.
pub(crate) fn find(handle: usize) -> Option<u32> {
    let runtime = rt();
    let threads = &runtime.threads[..runtime.thread_count as usize];
    threads.iter().position(|thread| thread.handle == handle).map(|index| index as u32)
}

/// Waits for a thread to end; with a time limit perhaps in vain.
pub(crate) fn join(handle: usize, result: *mut *mut c_void, deadline: Option<u64>, frame: Frame) -> c_int {
    let Some(thread) = find(handle) else { return ESRCH };
    let runtime = rt();
    if thread == runtime.current {
        return EDEADLK;
    }
    let object = runtime.threads[thread as usize].object;
    cancel::act(frame);
    // Whether it can be joined is seen in the step: it may be detached until then.
    let gate = Gate { timed: deadline.is_some(), ..Gate::set(object, ENDED | DETACHED) };
    let timed_out = cancel::visible_when(Op::on(op::JOIN, access::READ, object), gate, frame);
    let runtime = rt();
    if timed_out {
        runtime.pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    take_result(thread, result)
}

/// A thread that has ended, or can never be joined, is joined, within a step that has seen that.
fn take_result(thread: u32, result: *mut *mut c_void) -> c_int {
    let runtime = rt();
    let object = runtime.threads[thread as usize].object;
    let is_detached = runtime.object(object).word & DETACHED != 0;
    let state = &mut runtime.threads[thread as usize];
    if is_detached || std::mem::replace(&mut state.joined, true) {
        return EINVAL;
    }
    if !result.is_null() {
        // SAFETY: the program's.
        unsafe { *result = state.result };
    }
    0
}

/// `pthread_join`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_join(handle: usize, result: *mut *mut c_void) -> c_int {
    if is_on() {
        return join(handle, result, None, frame!());
    }
    EARLY.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: passed on.
    unsafe { real!(c"pthread_join", fn(usize, *mut *mut c_void) -> c_int)(handle, result) }
}

/// `pthread_tryjoin_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_tryjoin_np(handle: usize, result: *mut *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_tryjoin_np", fn(usize, *mut *mut c_void) -> c_int)(handle, result) };
    }
    let Some(thread) = find(handle) else { return ESRCH };
    let object = rt().threads[thread as usize].object;
    visible(Op::on(op::IS_FINISHED, access::READ, object), frame!());
    let runtime = rt();
    if runtime.object(object).word & ENDED == 0 {
        runtime.note = note::BUSY;
        return EBUSY;
    }
    // What the thread did is behind whoever joins it.
    runtime.log([head(tag::PUBLISH, 0), 0, u64::from(object), 0, 0, 0, 0, 0]);
    take_result(thread, result)
}

/// `pthread_timedjoin_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_timedjoin_np(
    handle: usize,
    result: *mut *mut c_void,
    limit: *const Timespec,
) -> c_int {
    // SAFETY: as the C library's.
    unsafe { pthread_clockjoin_np_at(handle, result, time::REALTIME, limit, frame!()) }
}

/// `pthread_clockjoin_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_clockjoin_np(
    handle: usize,
    result: *mut *mut c_void,
    clock: c_int,
    limit: *const Timespec,
) -> c_int {
    // SAFETY: as the C library's.
    unsafe { pthread_clockjoin_np_at(handle, result, clock, limit, frame!()) }
}

unsafe fn pthread_clockjoin_np_at(
    handle: usize,
    result: *mut *mut c_void,
    clock: c_int,
    limit: *const Timespec,
    frame: Frame,
) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe {
            real!(c"pthread_clockjoin_np", fn(usize, *mut *mut c_void, c_int, *const Timespec) -> c_int)(
                handle, result, clock, limit,
            )
        };
    }
    if !time::is_clock(clock) {
        return EINVAL;
    }
    if limit.is_null() {
        return join(handle, result, None, frame);
    }
    // SAFETY: the program's.
    match time::moment(clock, unsafe { *limit }) {
        Some(deadline) => join(handle, result, Some(deadline), frame),
        None => EINVAL,
    }
}

/// `pthread_detach`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_detach(handle: usize) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_detach", fn(usize) -> c_int)(handle) };
    }
    let Some(thread) = find(handle) else { return ESRCH };
    let object = rt().threads[thread as usize].object;
    visible(Op::on(op::DETACH, access::WRITE, object), frame!());
    let runtime = rt();
    let word = runtime.object(object).word;
    if word & DETACHED != 0 || runtime.threads[thread as usize].joined {
        return EINVAL;
    }
    runtime.set_word(object, word | DETACHED, 0);
    0
}

/// `pthread_exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    if is_on() {
        let me = rt().current;
        rt().threads[me as usize].result = result;
        rt().threads[me as usize].cancel_disabled = true;
        unwind::unwind();
    }
    // SAFETY: passed on: it unwinds the stack and runs destructors.
    unsafe { real!(c"pthread_exit", fn(*mut c_void))(result) };
    unreachable!("pthread_exit does not return")
}

/// `pthread_setname_np`: reports call the thread so.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_setname_np(handle: usize, name: *const c_char) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_setname_np", fn(usize, *const c_char) -> c_int)(handle, name) };
    }
    let Some(thread) = find(handle) else { return ESRCH };
    // SAFETY: a C string.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), sys::strlen(name)) };
    if name.len() >= NAME {
        return ERANGE;
    }
    set_name(thread, name);
    0
}

/// Names a thread, by as much as there is room for.
fn set_name(thread: u32, name: &[u8]) {
    let mut bytes = [0_u8; NAME];
    let length = name.len().min(NAME - 1);
    bytes[..length].copy_from_slice(&name[..length]);
    rt().threads[thread as usize].name = bytes;
    let word = |half: &[u8]| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let (low, high) = (word(&bytes[..8]), word(&bytes[8..]));
    rt().log([head(tag::NAME, thread), low, high, 0, 0, 0, 0, 0]);
}

/// `prctl`, of which the name of the current thread is of interest.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn prctl(
    option: c_int,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
) -> c_int {
    // SAFETY: a C string, or room for one; anything else is passed on.
    unsafe {
        match option {
            PR_SET_NAME if is_on() => {
                let name =
                    std::slice::from_raw_parts(first as *const u8, sys::strlen(first as *const c_char));
                set_name(rt().current, name);
                0
            }
            PR_GET_NAME if is_on() => {
                let handle = rt().threads[rt().current as usize].handle;
                pthread_getname_np(handle, first as *mut c_char, NAME)
            }
            _ => real!(c"prctl", fn(c_int, usize, usize, usize, usize) -> c_int)(
                option, first, second, third, fourth,
            ),
        }
    }
}

/// `pthread_getname_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_getname_np(
    handle: usize,
    name: *mut c_char,
    length: usize,
) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe {
            real!(c"pthread_getname_np", fn(usize, *mut c_char, usize) -> c_int)(handle, name, length)
        };
    }
    let Some(thread) = find(handle) else { return ESRCH };
    if length < NAME {
        return ERANGE;
    }
    let mut bytes = rt().threads[thread as usize].name;
    // SAFETY: both are as long as the longest name.
    unsafe {
        if bytes[0] == 0 {
            // That of the process, which threads begin with.
            sys::call(sys::SYS_PRCTL, [PR_GET_NAME as usize, bytes.as_mut_ptr() as usize, 0, 0, 0, 0]);
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), name.cast::<u8>(), NAME);
    }
    0
}

/// `gettid`: each thread has a number of its own, though the system knows one of them only.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn gettid() -> c_int {
    if is_on() {
        // SAFETY: takes nothing.
        return unsafe { sys::getpid() } + rt().current as c_int;
    }
    // SAFETY: passed on.
    unsafe { real!(c"gettid", fn() -> c_int)() }
}

/// Lets others run.
pub(crate) fn yields(frame: Frame) {
    let (operation, gate) = rt().pause(op::YIELD);
    visible_when(operation, gate, frame);
}

/// `sched_yield`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sched_yield() -> c_int {
    if is_on() {
        let frame = frame!();
        if !verifier::is_lingering(frame) {
            yields(frame);
        }
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"sched_yield", fn() -> c_int)() }
}

/// `pthread_yield`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_yield() -> c_int {
    if is_on() {
        yields(frame!());
    }
    0
}
