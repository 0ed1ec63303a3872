//! Passing from one thread of the program to another, within one kernel thread.
//!
//! # The contract
//!
//! A [`Context`] is where a thread of the program goes on: the rest of it, the registers that a call preserves and the
//! control words of floating point, is on its stack. The *thread pointer* is the base of the segment register that the C
//! library and the compiler find thread-local storage by, so that a switch also gives the other thread its own `errno`,
//! its own thread-locals and its own handle. [`switch`] must be called with the context of the thread that runs, and with
//! one that was written by an earlier call of it, or by [`Context::new`], and not gone on from since.

use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Where a thread goes on.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    stack: usize,
    thread_pointer: usize,
}

/// The control words of floating point: of SSE in the lower half, of the x87 unit in the upper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatingPoint(u64);

impl FloatingPoint {
    /// Those of the thread that runs.
    pub(crate) fn current() -> Self {
        let mut words = 0_u64;
        // SAFETY: writes four and two bytes of a local.
        unsafe {
            asm!(
                "stmxcsr [{0}]",
                "fnstcw [{0} + 4]",
                in(reg) &raw mut words,
                options(nostack, preserves_flags)
            );
        }
        FloatingPoint(words)
    }
}

/// What is saved on a stack: floating point, six registers, and where to return.
const SAVED: usize = 8;

impl Context {
    /// None.
    pub(crate) const NONE: Context = Context { stack: 0, thread_pointer: 0 };

    /// The thread that runs: what else is of it is known when it is switched from.
    pub(crate) fn current(thread_pointer: usize) -> Self {
        Context { stack: 0, thread_pointer }
    }

    /// A thread that begins in `function`, on a stack that is free below `top`.
    ///
    /// # Safety
    /// Nothing else uses the stack, and it has room.
    pub(crate) unsafe fn new(
        top: usize,
        thread_pointer: usize,
        floating_point: FloatingPoint,
        function: extern "C-unwind" fn() -> !,
    ) -> Self {
        // As a function finds it that has just been called: a multiple of 16, less the return address.
        let stack = (top & !15) - 8 * (SAVED + 1);
        let mut words = [0_u64; SAVED + 1];
        words[0] = floating_point.0;
        // Gone through `bottom`, with the function in a register that it takes it from.
        words[1] = function as usize as u64;
        words[SAVED - 1] = bottom as *const () as usize as u64;
        // SAFETY: the caller's stack.
        unsafe { (stack as *mut [u64; SAVED + 1]).write(words) };
        Context { stack, thread_pointer }
    }
}

/// Whether a program may set its thread pointer by an instruction; otherwise the system has to.
static BY_INSTRUCTION: AtomicBool = AtomicBool::new(false);

/// Finds out what the processor and the system allow.
pub(crate) fn prepare() {
    const AT_HWCAP2: u64 = 26;
    const FSGSBASE: u64 = 2;
    // SAFETY: asks for a number.
    let features = unsafe { sys::getauxval(AT_HWCAP2) };
    BY_INSTRUCTION.store(features & FSGSBASE != 0, Ordering::Relaxed);
}

/// The thread pointer of the kernel thread that runs this.
pub(crate) fn thread_pointer() -> usize {
    const ARCH_GET_FS: usize = 0x1003;
    let mut pointer = 0_usize;
    // SAFETY: the pointer is a local.
    unsafe { sys::call(sys::SYS_ARCH_PRCTL, [ARCH_GET_FS, &raw mut pointer as usize, 0, 0, 0, 0]) };
    pointer
}

/// Goes on with another thread, until some thread goes on with this one.
///
/// # Safety
/// The contract in the module's documentation.
pub(crate) unsafe fn switch(from: *mut Context, to: *const Context) {
    const ARCH_SET_FS: usize = 0x1002;
    let by_instruction = BY_INSTRUCTION.load(Ordering::Relaxed);
    // SAFETY: the caller's contexts. Nothing between here and the end of `exchange` uses thread-local storage.
    unsafe {
        if !by_instruction {
            sys::call(sys::SYS_ARCH_PRCTL, [ARCH_SET_FS, (*to).thread_pointer, 0, 0, 0, 0]);
        }
        exchange(from, to, by_instruction);
    }
}

#[unsafe(naked)]
unsafe extern "C" fn exchange(from: *mut Context, to: *const Context, by_instruction: bool) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r15",
        "push r14",
        "push r13",
        "push r12",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, [rsi]",
        "test dl, dl",
        "jz 2f",
        "mov rax, [rsi + 8]",
        "wrfsbase rax",
        "2:",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r12",
        "pop r13",
        "pop r14",
        "pop r15",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// The outermost frame of a thread: calls the function in `r12`. There is no unwinding information for it, so that whoever
/// unwinds a stack finds its end here.
#[unsafe(naked)]
unsafe extern "C" fn bottom() {
    naked_asm!("sub rsp, 8", "xor ebp, ebp", "call r12", "ud2")
}

/// Calls `main` such that the stack ends there for whoever unwinds it, as in [`bottom`].
///
/// # Safety
/// As for the function that is called.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn call_main(
    main: usize,
    argc: std::ffi::c_int,
    argv: *mut *mut std::ffi::c_char,
    environment: *mut *mut std::ffi::c_char,
) -> std::ffi::c_int {
    naked_asm!(
        "sub rsp, 8",
        "mov rax, rdi",
        "mov edi, esi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        "add rsp, 8",
        "ret",
    )
}
