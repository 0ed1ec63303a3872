//! What ends an execution by itself: failed assertions, `abort`, and signals that mean a crash.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_uint};

use crate::protocol::stop;
use crate::runtime::{is_on, rt};
use crate::site::{Frame, frame};
use crate::sys::{self, SigAction, SignalStack, real};

const SIGNALS: [(c_int, &[u8]); 5] = [
    (11, b"segmentation fault"),
    (7, b"bus error"),
    (8, b"arithmetic error"),
    (4, b"illegal instruction"),
    (5, b"trap"),
];

const STACK: usize = 64 * 1024;
struct Stack(UnsafeCell<[u8; STACK]>);
// SAFETY: used by a thread that crashes; only one thread runs, and the process ends with it.
unsafe impl Sync for Stack {}
static SIGNAL_STACK: Stack = Stack(UnsafeCell::new([0; STACK]));

/// Makes the current thread use a stack of its own for signals: its own may have overflown.
pub(crate) fn use_signal_stack() {
    let stack = SignalStack { base: SIGNAL_STACK.0.get().cast(), flags: 0, size: STACK };
    // SAFETY: the stack is static.
    unsafe { sys::sigaltstack(&raw const stack, std::ptr::null_mut()) };
}

/// Makes crashes known with their place. What the program does about a signal itself has precedence.
pub(crate) fn catch_signals() {
    const SA_SIGINFO: c_int = 4;
    const SA_ONSTACK: c_int = 0x0800_0000;
    use_signal_stack();
    for (signal, _) in SIGNALS {
        let action = SigAction {
            handler: crashed as *const () as usize,
            mask: [0; 16],
            flags: SA_SIGINFO | SA_ONSTACK,
            restorer: 0,
        };
        let mut old = SigAction { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };
        // SAFETY: the actions are complete.
        unsafe {
            sys::sigaction(signal, std::ptr::null(), &raw mut old);
            if old.handler == 0 {
                sys::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
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

unsafe extern "C" fn crashed(signal: c_int, information: *const u8, context: *const u8) {
    // siginfo_t has the address at 16; ucontext_t the registers from 40, of which 10 is rbp, 15 rsp, 16 rip.
    // SAFETY: the kernel gives both.
    let (address, frame, stack, place) = unsafe {
        let register = |index: usize| *(context.add(40 + 8 * index).cast::<usize>());
        (*(information.add(16).cast::<usize>()), register(10), register(15), register(16))
    };
    let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or(&b"signal"[..], |(_, name)| name);
    let mut digits = [0; 16];
    let runtime = rt();
    let on_address: [&[u8]; 2] = match signal {
        11 | 7 if address < 4096 => [b" at a null pointer (address 0x", hexadecimal(address, &mut digits)],
        11 | 7 => [b" at address 0x", hexadecimal(address, &mut digits)],
        _ => [b"", b""],
    };
    let close: &[u8] = if (signal == 11 || signal == 7) && address < 4096 { b")" } else { b"" };
    let frame = Frame { call: place + 1, outer: frame, stack };
    runtime.stop(stop::CRASH, frame, address, &[name, on_address[0], on_address[1], close]);
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
        rt().stop(stop::ASSERTION, frame!(), 0, &[b"assertion failed: ", text]);
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"__assert_fail", fn(*const c_char, *const c_char, c_uint, *const c_char))(
            assertion, file, line, function,
        )
    };
    unreachable!("a failed assertion does not return")
}

/// `abort`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn abort() -> ! {
    if is_on() {
        rt().stop(stop::CRASH, frame!(), 0, &[b"abort was called"]);
    }
    // SAFETY: passed on.
    unsafe { real!(c"abort", fn())() };
    unreachable!("abort does not return")
}
