//! What ends an execution by itself: failed assertions, `abort`, C++ exceptions that nobody catches, and signals that mean
//! a crash.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::again;
use crate::protocol::{ASKS_WHERE, Area, CPP, stop};
use crate::runtime::{is_on, rt};
use crate::site::{Frame, frame};
use crate::sys::{self, SigAction, SignalStack, real};
use crate::{told, verifier};

const SIGNALS: [(c_int, &[u8]); 6] = [
    // The C library itself does not call the `abort` that stands in for its own.
    (6, b"aborted, by the C library (see what it has printed) or by a signal that the program sends itself"),
    (11, b"segmentation fault"),
    (7, b"bus error"),
    (8, b"arithmetic error"),
    (4, b"illegal instruction"),
    (5, b"trap"),
];

/// So far from the top of a stack, an access is one to the stack.
const NEAR: usize = 64 << 10;

/// Makes the kernel thread use a stack of its own for signals: that of a thread may have overflown.
fn use_signal_stack() {
    let Some((base, size)) = again::signal_stack() else { return };
    let stack = SignalStack { base: base as *mut c_void, flags: 0, size };
    // SAFETY: the stack is never unmapped.
    unsafe { sys::sigaltstack(&raw const stack, std::ptr::null_mut()) };
}

/// Makes crashes known with their place. What the program does about a signal itself has precedence. Says whether it does
/// nothing about those that the runtime needs.
pub(crate) fn catch_signals() -> bool {
    const SIGSEGV: c_int = 11;
    const SIGSYS: c_int = 31;
    use_signal_stack();
    let mut has_all = true;
    let all = SIGNALS.iter().map(|(signal, _)| (*signal, crashed as Handler));
    for (signal, handler) in all.chain([(SIGSYS, called as Handler), (ASKS_WHERE, given_up as Handler)]) {
        let mut old = SigAction { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };
        // SAFETY: the action is a local.
        unsafe { sys::sigaction(signal, std::ptr::null(), &raw mut old) };
        if old.handler == 0 {
            sys::handle(signal, handler);
        } else if signal == SIGSEGV || signal == SIGSYS {
            has_all = false;
        }
    }
    has_all
}

type Handler = unsafe extern "C" fn(c_int, *const u8, *mut u8);

/// The context of a call of the system that was caught and is being made; null if there is none.
static CALLER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// The program has called the system, where that is caught.
unsafe extern "C" fn called(_: c_int, information: *const u8, context: *mut u8) {
    CALLER.store(context, Ordering::Relaxed);
    // siginfo_t has the number of the call at 24; ucontext_t the registers from 40.
    // SAFETY: the kernel gives both.
    unsafe { again::caught_call(*information.add(24).cast::<c_int>(), &mut *context.add(40).cast()) }
    CALLER.store(std::ptr::null_mut(), Ordering::Relaxed);
}

/// A number in hexadecimal.
fn hexadecimal(mut number: usize, text: &mut [u8; 16]) -> &[u8] {
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b"0123456789abcdef"[number % 16];
        number /= 16;
        if number == 0 {
            return &text[at..];
        }
    }
}

/// Where a signal has come.
///
/// # Safety
/// The context is the kernel's.
unsafe fn interrupted(context: *const u8) -> Frame {
    // ucontext_t has the registers from 40, of which 10 is rbp, 15 rsp, 16 rip.
    // SAFETY: the caller's.
    let register = |index: usize| unsafe { *(context.add(40 + 8 * index).cast::<usize>()) };
    Frame { call: register(16) + 1, outer: register(10), stack: register(15) }
}

/// The controlling side waits no longer.
unsafe extern "C" fn given_up(_: c_int, _: *const u8, context: *mut u8) {
    let caller = CALLER.load(Ordering::Relaxed);
    // SAFETY: the kernel gives it, and has given that of the call, which is not over.
    let frame = unsafe { interrupted(if caller.is_null() { context } else { caller }) };
    told::interrupted(frame);
    rt().stop(stop::GIVEN_UP, frame, &[]);
}

unsafe extern "C" fn crashed(signal: c_int, information: *const u8, context: *mut u8) {
    // siginfo_t has the address at 16.
    // SAFETY: the kernel gives both.
    let (address, frame) = unsafe { (*(information.add(16).cast::<usize>()), interrupted(context)) };
    if signal == 11 && again::caught_access(address) {
        return;
    }
    let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or(&b"signal"[..], |(_, name)| name);
    // Memory around the top of a stack is there, unless the stack has come to its end. What is executed there is another matter.
    let overflows = signal == 11 && address.abs_diff(frame.stack) < NEAR && address + 1 != frame.call;
    let mut digits = [0; 16];
    let on_address: [&[u8]; 2] = match signal {
        11 if overflows => [b": the stack has overflown (address 0x", hexadecimal(address, &mut digits)],
        11 | 7 if address < 4096 => [b" at a null pointer (address 0x", hexadecimal(address, &mut digits)],
        11 | 7 => [b" at address 0x", hexadecimal(address, &mut digits)],
        _ => [b"", b""],
    };
    let close: &[u8] = if overflows || matches!(signal, 11 | 7) && address < 4096 { b")" } else { b"" };
    told::interrupted(frame);
    rt().stop(stop::CRASH, frame, &[name, on_address[0], on_address[1], close]);
}

/// What `assert` calls.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __assert_fail(
    assertion: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) -> ! {
    if is_on() {
        // SAFETY: C strings.
        let text = unsafe { std::slice::from_raw_parts(assertion.cast::<u8>(), sys::strlen(assertion)) };
        rt().stop(stop::ASSERTION, frame!(), &[b"assertion failed: ", text]);
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"__assert_fail", fn(*const c_char, *const c_char, c_uint, *const c_char))(
            assertion, file, line, function,
        )
    };
    unreachable!("a failed assertion does not return")
}

/// Whether C++ gives up, and what it did about that before.
static TERMINATES: AtomicBool = AtomicBool::new(false);
static BEFORE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The functions [`CPP`], if the program has C++'s library.
static FOUND: [AtomicPtr<c_void>; CPP.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CPP.len()];

/// Finds C++'s library: in the executable, whose addresses are shifted by so much, or in what is loaded.
pub(crate) fn find_cpp(area: &Area, shift: usize, is_loaded: bool) {
    for ((name, linked), found) in CPP.iter().zip(&area.cpp).zip(&FOUND) {
        let linked = linked.load(Ordering::Relaxed) as usize;
        let function = match linked {
            0 if !is_loaded => std::ptr::null_mut(),
            // SAFETY: a C string; a null handle means everything that is loaded.
            0 => unsafe { sys::dlsym(std::ptr::null_mut(), name.as_ptr()) },
            _ => (shift + linked) as *mut c_void,
        };
        found.store(function, Ordering::Relaxed);
    }
}

fn cpp(number: usize) -> Option<*mut c_void> {
    Some(FOUND[number].load(Ordering::Relaxed)).filter(|function| !function.is_null())
}

/// Makes it known when C++ gives up: `abort`, which it calls then, is called by programs too.
pub(crate) fn catch_terminate() {
    if let Some(set) = cpp(0) {
        // SAFETY: `std::set_terminate` takes a function and gives the one before.
        unsafe {
            let set: unsafe extern "C-unwind" fn(unsafe extern "C-unwind" fn()) -> *mut c_void =
                std::mem::transmute(set);
            BEFORE.store(set(terminated), Ordering::Relaxed);
        }
    }
}

unsafe extern "C-unwind" fn terminated() {
    TERMINATES.store(true, Ordering::Relaxed);
    let before = BEFORE.load(Ordering::Relaxed);
    if !before.is_null() {
        // SAFETY: what C++'s library does, which is to print what the exception says, and to call `abort`.
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn()>(before)() };
    }
    // SAFETY: takes nothing.
    unsafe { abort() }
}

/// The type of the exception that is being handled, as the source has it.
fn exception_type() -> Option<&'static [u8]> {
    let current = cpp(1)?;
    let demangle = cpp(2)?;
    // SAFETY: the functions are of the C++ ABI. A `std::type_info` has a pointer to its name after that to its virtual
    // table. What is demangled is allocated, and left to the end of the process, which is near.
    unsafe {
        let current: unsafe extern "C-unwind" fn() -> *const *const c_char = std::mem::transmute(current);
        let information = current();
        if information.is_null() {
            return None;
        }
        let mangled = *information.add(1);
        let mut status = 0;
        let demangle: unsafe extern "C-unwind" fn(
            *const c_char,
            *mut c_char,
            *mut usize,
            *mut c_int,
        ) -> *const c_char = std::mem::transmute(demangle);
        let name = demangle(mangled, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut status);
        let name = if name.is_null() { mangled } else { name };
        Some(CStr::from_ptr(name).to_bytes())
    }
}

/// `abort`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn abort() -> ! {
    if is_on() {
        let frame = frame!();
        if verifier::is_assuming(frame) {
            verifier::assumption_fails(frame);
        }
        let message: [&[u8]; 2] = match TERMINATES.load(Ordering::Relaxed).then(exception_type) {
            Some(Some(name)) => [b"an exception is not caught: ", name],
            Some(None) => [b"std::terminate was called", b""],
            None => [b"abort was called", b""],
        };
        rt().stop(stop::CRASH, frame, &message);
    }
    // SAFETY: passed on.
    unsafe { real!(c"abort", fn())() };
    unreachable!("abort does not return")
}
