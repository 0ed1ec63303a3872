//! The end of the process.
//!
//! Natively, whoever calls `exit` runs what is to be done then (the destructors of its thread-locals, exit handlers, the
//! destructors of globals and of libraries) while the other threads go on; then the process is gone. So here: what is to
//! be done are steps as any other, in which threads can be joined, stopped and even created. After the last of it, the
//! thread [leaves](leave): the others go on until each has ended or is at rest, and then the process ends.
//!
//! The last thing that the C library does before it writes out its streams is to call what it was given when the program
//! began: the loader's function that runs the destructors of libraries. The runtime has its own function there, which calls
//! that one. So all ways to `exit` come to it, also those from within the C library.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::again;
use crate::protocol::{Gate, Op, access, head, object, op, tag};
use crate::runtime::{Phase, Runtime, is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::sys::real;
use crate::thread_local;

/// The word of the object of calls of `exit`, once there was one.
const CALLED: u64 = 1;

/// The word of the object of the exit, once a thread is to end the process.
pub(crate) const EXITING: u64 = 1;

/// A call of `exit`, or a return from `main`.
pub(crate) struct Call {
    /// The object of such calls, plus 1.
    object: u32,
    /// Who was the first to make one, plus 1, and where.
    thread: u32,
    frame: Frame,
}

impl Call {
    pub(crate) const NONE: Call = Call { object: 0, thread: 0, frame: Frame::NONE };
}

impl Runtime {
    /// The object of the process's exit.
    pub(crate) fn exit_object(&mut self) -> u32 {
        if self.exit == 0 {
            self.exit = self.new_object(object::PROCESS, 0, 0) + 1;
        }
        self.exit - 1
    }

    /// The object of calls of `exit`.
    fn calls_object(&mut self) -> u32 {
        if self.exit_call.object == 0 {
            let word = if self.exit_call.thread == 0 { 0 } else { CALLED };
            self.exit_call.object = self.new_object(object::PROCESS, word, 0) + 1;
        }
        self.exit_call.object - 1
    }

    /// A yield or a sleep, which is possible until the process is about to exit: then the thread is at rest. So its order
    /// with the exit matters.
    pub(crate) fn pause(&mut self, kind: u8) -> (Op, Gate) {
        if self.phase == Phase::Leaving || self.threads[self.current as usize].atomic > 0 {
            return (Op::local(kind), Gate::OPEN);
        }
        let exit = self.exit_object();
        (Op::on(kind, access::READ, exit), Gate::clear(exit, EXITING))
    }

    /// An exit: of several, which is first matters, and so does who has paused before.
    pub(crate) fn leaving(&mut self, operation: Op) -> Op {
        if self.is_alone() { operation } else { operation.with(self.exit_object()) }
    }

    /// Whether all other threads were joined. That is known from what has happened before alone, and so does not depend on
    /// the schedule, as whether they have ended does.
    fn is_alone(&self) -> bool {
        let threads = self.threads[..self.thread_count as usize].iter().enumerate();
        threads.into_iter().all(|(index, thread)| index == self.current as usize || thread.joined)
    }
}

/// The loader's function, which runs the destructors of libraries.
static LIBRARIES: AtomicUsize = AtomicUsize::new(0);

/// Takes the place of the loader's function, and of the first that is to be done at a `quick_exit`, which is done last.
pub(crate) fn come_last(libraries: *mut c_void) -> *mut c_void {
    LIBRARIES.store(libraries as usize, Ordering::Relaxed);
    let register =
        real!(c"__cxa_at_quick_exit", fn(unsafe extern "C-unwind" fn(*mut c_void), *mut c_void) -> c_int);
    // SAFETY: a function of the type that it takes, which is never unloaded.
    unsafe { register(quick_exit_is_done, std::ptr::null_mut()) };
    exit_is_done as *mut c_void
}

/// After all that is to be done at an exit, other than to write out streams.
unsafe extern "C-unwind" fn exit_is_done() {
    let libraries = LIBRARIES.load(Ordering::Relaxed);
    if libraries != 0 {
        // SAFETY: what the loader has given for the C library to call, which takes nothing.
        unsafe { std::mem::transmute::<usize, unsafe extern "C-unwind" fn()>(libraries)() };
    }
    all_is_done();
}

unsafe extern "C-unwind" fn quick_exit_is_done(_: *mut c_void) {
    all_is_done();
}

fn all_is_done() {
    if is_on() {
        let Call { thread, frame, .. } = rt().exit_call;
        // A thread that exits by a way that is not known has not begun to.
        leave(if thread == rt().current + 1 { frame } else { Frame::NONE });
    }
}

/// The current thread begins to exit. Of several threads, the first goes on, and the others wait until the process is
/// gone. A thread that has begun already is in a handler, from where it goes on with what is left.
pub(crate) fn begin(frame: Frame) {
    let runtime = rt();
    let me = runtime.current;
    if runtime.phase == Phase::Leaving || runtime.exit_call.thread == me + 1 {
        return;
    }
    // If all others were joined, there is nobody whose exit could have been the first: it is no step.
    if !runtime.is_alone() || runtime.exit_call.thread != 0 {
        let calls = runtime.calls_object();
        visible_when(Op::on(op::EXIT, access::WRITE, calls), Gate::clear(calls, CALLED), frame);
        rt().set_word(calls, CALLED, 0);
        // What came before others registered something is behind what was registered.
        rt().log([head(tag::PUBLISH, 0), 0, u64::from(calls), 0, 0, 0, 0, 0]);
    }
    let call = &mut rt().exit_call;
    (call.thread, call.frame) = (me + 1, frame);
}

/// The result of registering something when it is too late.
const TOO_LATE: c_int = -1;

/// Something that is to be done at the exit is about to be registered: whether another thread exits before that matters, and
/// of several who comes first. Says whether it may be. Once a thread exits, the others come too late, as they may do natively from
/// when it has done all that was registered: otherwise it would matter between which two of these steps they come.
fn registers(frame: Frame) -> bool {
    let runtime = rt();
    if runtime.phase == Phase::Leaving
        || runtime.exit_call.thread == runtime.current + 1
        || runtime.is_alone()
    {
        return true;
    }
    let calls = runtime.calls_object();
    visible(Op::on(op::AT_EXIT, access::WRITE, calls), frame);
    rt().object(calls).word != CALLED
}

/// What `atexit` is made of, which is part of the program, and how destructors of C++'s statics are registered. These have an
/// argument: the static. They are no steps: a library registers its own while it is loaded, where the loader must not be left.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __cxa_atexit(
    function: *const c_void,
    argument: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if is_on() && argument.is_null() && !registers(frame!()) {
        return TOO_LATE;
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"__cxa_atexit", fn(*const c_void, *mut c_void, *mut c_void) -> c_int)(
            function, argument, library,
        )
    }
}

/// What `at_quick_exit` is made of.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __cxa_at_quick_exit(
    function: *const c_void,
    library: *mut c_void,
) -> c_int {
    if is_on() && !registers(frame!()) {
        return TOO_LATE;
    }
    // SAFETY: passed on.
    unsafe { real!(c"__cxa_at_quick_exit", fn(*const c_void, *mut c_void) -> c_int)(function, library) }
}

/// `on_exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn on_exit(function: *const c_void, argument: *mut c_void) -> c_int {
    if is_on() && !registers(frame!()) {
        return TOO_LATE;
    }
    // SAFETY: passed on.
    unsafe { real!(c"on_exit", fn(*const c_void, *mut c_void) -> c_int)(function, argument) }
}

/// The process is to end: every other thread ends or comes to rest first. Returns when the caller may end it.
fn leave(frame: Frame) {
    let runtime = rt();
    if runtime.phase == Phase::Leaving {
        return;
    }
    let me = runtime.current;
    let object = runtime.threads[me as usize].object;
    let operation = rt().leaving(Op::on(op::END, access::WRITE, object));
    visible(operation, frame);
    rt().end_process();
    let runtime = rt();
    assert!(runtime.phase == Phase::Leaving, "a thread that has ended goes on only to end the process");
}

/// Exits as the C library does.
pub(crate) fn really_exit(status: c_int) -> ! {
    // SAFETY: `exit` takes a status, and does not return.
    unsafe { real!(c"exit", fn(c_int))(status) };
    again::end(status)
}

/// `exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn exit(status: c_int) -> ! {
    if is_on() {
        begin(frame!());
        thread_local::run_destructors();
    }
    really_exit(status)
}

/// `quick_exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn quick_exit(status: c_int) -> ! {
    if is_on() {
        begin(frame!());
    }
    // SAFETY: passed on: it runs its own handlers.
    unsafe { real!(c"quick_exit", fn(c_int))(status) };
    again::end(status)
}

/// Ends the process without anything else to be done.
pub(crate) fn at_once(status: c_int, frame: Frame) -> ! {
    if is_on() {
        leave(frame);
    }
    again::end(status)
}

/// `_exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _exit(status: c_int) -> ! {
    at_once(status, frame!())
}

/// `_Exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Exit(status: c_int) -> ! {
    at_once(status, frame!())
}

/// Functions of the C library that print something and exit, with when they do. They take any number of arguments, so all
/// that arguments can be in is kept while the exit begins, and then the C library's function goes on in place of this one.
macro_rules! complaints {
    ($($text:literal $name:ident($status:ident), if $when:expr;)*) => {$(
        /// Prints, and may exit.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C-unwind" fn $name() {
            extern "C-unwind" fn before($status: c_int, frame: usize) -> usize {
                if is_on() && $when {
                    begin(Frame::of(frame));
                    thread_local::run_destructors();
                }
                real!($text, fn()) as usize
            }
            naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "sub rsp, 192",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov [rsp + 48], rax",
                "movaps [rsp + 64], xmm0",
                "movaps [rsp + 80], xmm1",
                "movaps [rsp + 96], xmm2",
                "movaps [rsp + 112], xmm3",
                "movaps [rsp + 128], xmm4",
                "movaps [rsp + 144], xmm5",
                "movaps [rsp + 160], xmm6",
                "movaps [rsp + 176], xmm7",
                "mov rsi, rbp",
                "call {}",
                "mov r11, rax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 32]",
                "mov r9, [rsp + 40]",
                "mov rax, [rsp + 48]",
                "movaps xmm0, [rsp + 64]",
                "movaps xmm1, [rsp + 80]",
                "movaps xmm2, [rsp + 96]",
                "movaps xmm3, [rsp + 112]",
                "movaps xmm4, [rsp + 128]",
                "movaps xmm5, [rsp + 144]",
                "movaps xmm6, [rsp + 160]",
                "movaps xmm7, [rsp + 176]",
                "leave",
                "jmp r11",
                sym before,
            )
        }
    )*};
}

complaints! {
    c"err" err(_status), if true;
    c"errx" errx(_status), if true;
    c"verr" verr(_status), if true;
    c"verrx" verrx(_status), if true;
    c"error" error(status), if status != 0;
    c"error_at_line" error_at_line(status), if status != 0;
}
