//! Threads: creating, joining, detaching, ending.
//!
//! A thread of the program is one of the C library's, so that thread-local storage, `errno` and destructors are as
//! they always are. It ends in two steps: the C library calls the destructor of a key of the runtime's own, after the
//! destructors of C++ thread-locals; there the thread runs the destructors of the program's keys, takes its last step,
//! and then waits for ever, until the process ends. So nothing of a thread's real end happens at a time of its own, and
//! no two threads of an execution have the same handle.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::protocol::{Gate, Op, access, head, note, op, stop, tag};
use crate::runtime::{Phase, Runtime, is_on, really_exit, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::sys::{EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT, Timespec, real};
use crate::{cancel, fault, key, mutex, time};

/// Threads that were created before `main`, and not joined.
pub(crate) static EARLY: AtomicU32 = AtomicU32::new(0);

/// The runtime's own key, plus 1.
static OWN_KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the runtime's own key, before there are executions.
pub(crate) fn make_own_key() {
    let mut own = 0_u32;
    // SAFETY: the key is a local, and the destructor is of the right type.
    let failed = unsafe {
        real!(c"pthread_key_create", fn(*mut u32, unsafe extern "C-unwind" fn(*mut c_void)) -> c_int)(
            &raw mut own,
            done,
        )
    };
    OWN_KEY.store(if failed == 0 { own + 1 } else { 0 }, Ordering::Relaxed);
}

/// How many threads' stacks executions inherit. The C library keeps no more of them than some 40 MB.
const STACKS: usize = 4;

/// Has some threads begin and end, before there are executions: the C library keeps their stacks for the next ones.
pub(crate) fn prepare_stacks() {
    unsafe extern "C-unwind" fn nothing(_: *mut c_void) -> *mut c_void {
        std::ptr::null_mut()
    }
    let mut handles = [0_usize; STACKS];
    // SAFETY: the C library's own functions, with locals and a function of the right type.
    unsafe {
        let create = real!(
            c"pthread_create",
            fn(
                *mut usize,
                *const c_void,
                unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
                *mut c_void,
            ) -> c_int
        );
        let join = real!(c"pthread_join", fn(usize, *mut *mut c_void) -> c_int);
        let mut created = 0;
        while created < STACKS
            && create(&raw mut handles[created], std::ptr::null(), nothing, std::ptr::null_mut()) == 0
        {
            created += 1;
        }
        for &handle in &handles[..created] {
            join(handle, std::ptr::null_mut());
        }
    }
}

/// Prepares the first thread.
pub(crate) fn register_main() {
    if OWN_KEY.load(Ordering::Relaxed) == 0 {
        rt().stop(stop::UNSUPPORTED, Frame::NONE, 0, &[b"no thread-specific key is left for the runtime"]);
    }
    rt().threads[0].handle = own_handle();
    set_own_key();
}

fn own_handle() -> usize {
    // SAFETY: takes nothing.
    unsafe { real!(c"pthread_self", fn() -> usize)() }
}

fn set_own_key() {
    let own = OWN_KEY.load(Ordering::Relaxed) - 1;
    // SAFETY: the key was created.
    unsafe { real!(c"pthread_setspecific", fn(u32, *const c_void) -> c_int)(own, std::ptr::dangling()) };
}

/// Where every created thread begins.
unsafe extern "C-unwind" fn trampoline(index: *mut c_void) -> *mut c_void {
    let me = index as usize;
    Runtime::wait(me as u32);
    let here = 0_usize;
    let thread = &mut rt().threads[me];
    thread.stack_top = &raw const here as usize;
    thread.handle = own_handle();
    let (function, argument, is_c11) = (thread.function, thread.argument, thread.is_c11);
    set_own_key();
    fault::use_signal_stack();
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
    // The C library runs destructors, `done` among them.
    result
}

/// The destructor of the runtime's key: the thread is done.
unsafe extern "C-unwind" fn done(_: *mut c_void) {
    if rt().phase == Phase::Leaving {
        // `main` called `pthread_exit`, and it was the last thread.
        return;
    }
    key::run_destructors();
    mutex::abandon_robust();
    let me = rt().current;
    let object = rt().threads[me as usize].object;
    visible(Op::on(op::END, access::WRITE, object), Frame::NONE);
    rt().end_thread();
    // Here again only to end the process.
    really_exit(0);
}

/// The process is to exit: every other thread ends or comes to rest first. Returns when the caller may exit.
pub(crate) fn leave(status: c_int, frame: Frame) {
    let runtime = rt();
    if runtime.phase == Phase::Leaving {
        return;
    }
    let me = runtime.current;
    let object = runtime.threads[me as usize].object;
    visible(Op::on(op::END, access::WRITE, object), frame);
    rt().end_process(status);
    let runtime = rt();
    if runtime.phase != Phase::Leaving {
        // Another thread exits.
        loop {
            Runtime::wait(me);
        }
    }
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
        let message: &[&[u8]] = &[b"a thread is created while the process exits, which is not supported"];
        runtime.stop(stop::UNSUPPORTED, frame, 0, message);
    }
    let mut detached = 0;
    if !attributes.is_null() {
        // SAFETY: the program's attributes, and a local.
        unsafe {
            real!(c"pthread_attr_getdetachstate", fn(*const c_void, *mut c_int) -> c_int)(
                attributes,
                &raw mut detached,
            )
        };
    }
    let index = runtime.new_thread(function);
    let thread = &mut runtime.threads[index as usize];
    (thread.argument, thread.is_c11, thread.detached) = (argument, is_c11, detached != 0);
    // SAFETY: the program's handle and attributes; the new thread gets its number.
    let failed = unsafe {
        real!(
            c"pthread_create",
            fn(
                *mut usize,
                *const c_void,
                unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
                *mut c_void,
            ) -> c_int
        )(handle, attributes, trampoline, index as usize as *mut c_void)
    };
    if failed != 0 {
        rt().undo_thread(frame);
    }
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
    let state = &runtime.threads[thread as usize];
    if thread == runtime.current {
        return EDEADLK;
    }
    if state.detached || state.joined {
        return EINVAL;
    }
    let object = state.object;
    cancel::act(frame);
    let gate = Gate { timed: deadline.is_some(), ..Gate::set(object, 1) };
    let timed_out = cancel::visible_when(Op::on(op::JOIN, access::READ, object), gate, frame);
    let runtime = rt();
    if timed_out {
        runtime.pass_time(deadline.unwrap_or(0));
        return ETIMEDOUT;
    }
    runtime.threads[thread as usize].joined = true;
    if !result.is_null() {
        // SAFETY: the program's.
        unsafe { *result = runtime.threads[thread as usize].result };
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
    if rt().threads[thread as usize].joined {
        return EINVAL;
    }
    let object = rt().threads[thread as usize].object;
    visible(Op::on(op::IS_FINISHED, access::READ, object), frame!());
    let runtime = rt();
    if runtime.object(object).word == 0 {
        runtime.note = note::BUSY;
        return EBUSY;
    }
    if runtime.threads[thread as usize].detached {
        return EINVAL;
    }
    runtime.threads[thread as usize].joined = true;
    if !result.is_null() {
        // SAFETY: the program's.
        unsafe { *result = runtime.threads[thread as usize].result };
    }
    0
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
    let state = &mut rt().threads[thread as usize];
    if state.detached || state.joined {
        return EINVAL;
    }
    state.detached = true;
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
    if is_on()
        && let Some(thread) = find(handle)
    {
        let mut bytes = [0_u8; 16];
        for (index, byte) in bytes.iter_mut().take(15).enumerate() {
            // SAFETY: a C string, read up to its end.
            *byte = unsafe { *name.add(index) } as u8;
            if *byte == 0 {
                break;
            }
        }
        let word = |half: &[u8]| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let (low, high) = (word(&bytes[..8]), word(&bytes[8..]));
        rt().log([head(tag::NAME, thread), low, high, 0, 0, 0, 0, 0]);
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_setname_np", fn(usize, *const c_char) -> c_int)(handle, name) }
}

/// `sched_yield`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sched_yield() -> c_int {
    if is_on() {
        visible_when(Op::local(op::YIELD), Gate::OPEN, frame!());
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
        visible_when(Op::local(op::YIELD), Gate::OPEN, frame!());
    }
    0
}
