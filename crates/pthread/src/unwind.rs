//! Ending a thread from within: its stack is unwound, and what is to be cleaned up is.
//!
//! As the C library does it, which would end the kernel thread afterwards: a forced unwinding, in which the destructors
//! of C++ and the cleanup handlers of C that is compiled with exceptions run by themselves. Other C has its handlers in
//! one of two lists: of buffers that are jumped to (`pthread_cleanup_push` of today's headers), and of functions.

use std::ffi::{c_int, c_void};

use crate::protocol::stop;
use crate::runtime::{is_on, rt};
use crate::site::Frame;
use crate::sys::{self, real};
use crate::thread;

/// `struct _Unwind_Exception`.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Exception {
    class: u64,
    cleanup: Option<unsafe extern "C-unwind" fn(c_int, *mut Exception)>,
    private: [usize; 2],
}

impl Exception {
    pub(crate) const NEW: Exception = Exception { class: 0, cleanup: None, private: [0; 2] };
}

/// `__pthread_unwind_buf_t`: what `sigsetjmp` has saved, and four words that are the library's, here the runtime's.
#[repr(C)]
pub(crate) struct Buffer {
    saved: [u64; 9],
    outer: *mut Buffer,
    functions: *mut Cleanup,
    unused: [usize; 2],
}

/// `struct _pthread_cleanup_buffer`.
#[repr(C)]
pub(crate) struct Cleanup {
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    cancel_type: c_int,
    outer: *mut Cleanup,
}

/// A thread's lists of what is to be cleaned up, the innermost first; and what its stack is unwound with.
pub(crate) struct Unwinding {
    buffers: *mut Buffer,
    functions: *mut Cleanup,
    exception: Exception,
}

impl Unwinding {
    pub(crate) const NEW: Unwinding = Unwinding {
        buffers: std::ptr::null_mut(),
        functions: std::ptr::null_mut(),
        exception: Exception::NEW,
    };
}

type Stop = unsafe extern "C-unwind" fn(c_int, c_int, u64, *mut Exception, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetGR(context: *mut c_void, register: c_int) -> usize;
    fn _Unwind_Backtrace(
        each: unsafe extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
}

fn mine() -> &'static mut Unwinding {
    let me = rt().current as usize;
    &mut rt().threads[me].unwinding
}

/// Unwinds the current thread's stack, and ends it.
pub(crate) fn unwind() -> ! {
    let exception = &mut mine().exception;
    exception.cleanup = Some(not_rethrown);
    let exception = &raw mut *exception;
    // SAFETY: the exception lives as long as the thread; the function is of the right type.
    unsafe { _Unwind_ForcedUnwind(exception, stopped_at, std::ptr::null_mut()) };
    rt().stop(stop::CRASH, Frame::NONE, &[b"a thread is to end, but its stack cannot be unwound"])
}

/// A program has caught what unwinds its stack, and goes on as if it could.
unsafe extern "C-unwind" fn not_rethrown(_: c_int, _: *mut Exception) {
    let message: &[&[u8]] =
        &[b"a thread that ends is held up: catch (...) must throw on what unwinds the stack, which is not rethrown"];
    rt().stop(stop::CRASH, Frame::NONE, message);
}

/// Called for each frame, before it is left.
unsafe extern "C-unwind" fn stopped_at(
    _: c_int,
    actions: c_int,
    _: u64,
    _: *mut Exception,
    context: *mut c_void,
    _: *mut c_void,
) -> c_int {
    const END_OF_STACK: c_int = 16;
    let at_end = actions & END_OF_STACK != 0;
    // SAFETY: the unwinder gives its context. The lists are in frames that are not left yet.
    unsafe {
        // Whatever is below is in a frame that is left, or in this one.
        let frame = _Unwind_GetCFA(context);
        let buffer = mine().buffers;
        let jumps = !buffer.is_null() && (at_end || frame > buffer as usize);
        let until = if buffer.is_null() { std::ptr::null_mut() } else { (*buffer).functions };
        loop {
            let cleanup = mine().functions;
            if cleanup == until || !(jumps || at_end || frame > cleanup as usize) {
                break;
            }
            mine().functions = (*cleanup).outer;
            ((*cleanup).function)((*cleanup).argument);
        }
        if jumps {
            // There the handler is called, and then `__pthread_unwind_next`.
            sys::longjmp(buffer.cast(), 1);
        }
        if at_end {
            thread::finish();
        }
    }
    0
}

/// What `pthread_cleanup_push` begins with.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __pthread_register_cancel(buffer: *mut Buffer) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"__pthread_register_cancel", fn(*mut Buffer))(buffer) };
    }
    let mine = mine();
    // SAFETY: the program's buffer, which has room for these.
    unsafe { ((*buffer).outer, (*buffer).functions) = (mine.buffers, mine.functions) };
    mine.buffers = buffer;
}

/// What `pthread_cleanup_pop` begins with.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __pthread_unregister_cancel(buffer: *mut Buffer) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"__pthread_unregister_cancel", fn(*mut Buffer))(buffer) };
    }
    // SAFETY: it was registered.
    mine().buffers = unsafe { (*buffer).outer };
}

/// As [`__pthread_register_cancel`], of `pthread_cleanup_push_defer_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __pthread_register_cancel_defer(buffer: *mut Buffer) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"__pthread_register_cancel_defer", fn(*mut Buffer))(buffer) };
    }
    // SAFETY: as there. Cancellation is always deferred.
    unsafe { __pthread_register_cancel(buffer) }
}

/// As [`__pthread_unregister_cancel`], of `pthread_cleanup_pop_restore_np`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __pthread_unregister_cancel_restore(buffer: *mut Buffer) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"__pthread_unregister_cancel_restore", fn(*mut Buffer))(buffer) };
    }
    // SAFETY: as there.
    unsafe { __pthread_unregister_cancel(buffer) }
}

/// After a handler that was jumped to has run: the stack is unwound further.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __pthread_unwind_next(buffer: *mut Buffer) -> ! {
    if !is_on() {
        // SAFETY: passed on.
        unsafe { real!(c"__pthread_unwind_next", fn(*mut Buffer))(buffer) };
    }
    // SAFETY: it was registered.
    mine().buffers = unsafe { (*buffer).outer };
    unwind()
}

/// `_pthread_cleanup_push`, of programs that were compiled long ago.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _pthread_cleanup_push(
    cleanup: *mut Cleanup,
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) {
    if !is_on() {
        let push = real!(
            c"_pthread_cleanup_push",
            fn(*mut Cleanup, unsafe extern "C-unwind" fn(*mut c_void), *mut c_void)
        );
        // SAFETY: passed on.
        return unsafe { push(cleanup, function, argument) };
    }
    let mine = mine();
    // SAFETY: the program's.
    unsafe { cleanup.write(Cleanup { function, argument, cancel_type: 0, outer: mine.functions }) };
    mine.functions = cleanup;
}

/// `_pthread_cleanup_pop`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _pthread_cleanup_pop(cleanup: *mut Cleanup, execute: c_int) {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"_pthread_cleanup_pop", fn(*mut Cleanup, c_int))(cleanup, execute) };
    }
    // SAFETY: it was pushed.
    unsafe {
        mine().functions = (*cleanup).outer;
        if execute != 0 {
            ((*cleanup).function)((*cleanup).argument);
        }
    }
}

/// `_pthread_cleanup_push_defer`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _pthread_cleanup_push_defer(
    cleanup: *mut Cleanup,
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: as there. Cancellation is always deferred.
    unsafe { _pthread_cleanup_push(cleanup, function, argument) }
}

/// `_pthread_cleanup_pop_restore`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _pthread_cleanup_pop_restore(cleanup: *mut Cleanup, execute: c_int) {
    // SAFETY: as there.
    unsafe { _pthread_cleanup_pop(cleanup, execute) }
}

/// A frame of the stack, while it is gone through.
pub(crate) struct Unwound(*mut c_void);

impl Unwound {
    /// Where its function goes on.
    pub(crate) fn place(&self) -> usize {
        // SAFETY: the unwinder's context, while it shows it.
        unsafe { _Unwind_GetIP(self.0) }
    }

    /// Where the stack of its caller begins.
    pub(crate) fn stack(&self) -> usize {
        // SAFETY: as above.
        unsafe { _Unwind_GetCFA(self.0) }
    }

    /// One of the registers that calls leave as they are, by the number that debugging information has for it.
    pub(crate) fn register(&self, number: c_int) -> usize {
        // SAFETY: as above. These are known in every frame.
        unsafe { _Unwind_GetGR(self.0, number) }
    }
}

/// Goes through the frames of the current stack, the innermost first, as long as it is told to go on.
pub(crate) fn each_frame<F: FnMut(&Unwound) -> bool>(mut each: F) {
    unsafe extern "C-unwind" fn show<F: FnMut(&Unwound) -> bool>(
        context: *mut c_void,
        each: *mut c_void,
    ) -> c_int {
        const GO_ON: c_int = 0;
        const ENOUGH: c_int = 4;
        // SAFETY: what the unwinder was given below.
        let each = unsafe { &mut *each.cast::<F>() };
        if each(&Unwound(context)) { GO_ON } else { ENOUGH }
    }
    // SAFETY: the function is of the right type, and takes this. Unwinding only reads the stack.
    unsafe { _Unwind_Backtrace(show::<F>, (&raw mut each).cast()) };
}
