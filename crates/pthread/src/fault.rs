//! What ends an execution by itself: failed assertions, `abort`, C++ exceptions that nobody catches, and signals that mean
//! a crash.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::again;
use crate::heap;
use crate::protocol::{ASKS_WHERE, Area, CPP, stop};
use crate::runtime::{is_on, rt};
use crate::site::{Frame, frame};
use crate::sys::{self, SignalStack, real};
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
    use_signal_stack();
    let mut has_all = true;
    for signal in SIGNALS.map(|(signal, _)| signal).into_iter().chain([SIGSYS, ASKS_WHERE]) {
        if handler_in_force(signal) == 0 {
            catch(signal);
        } else if signal == SIGSEGV || signal == SIGSYS {
            has_all = false;
        }
    }
    has_all
}

const SIGABRT: c_int = 6;
const SIGBUS: c_int = 7;
const SIGSEGV: c_int = 11;
const SIGSYS: c_int = 31;

type Handler = unsafe extern "C" fn(c_int, *const u8, *mut u8);

/// The runtime's handler of a signal, if it has one.
fn own_handler(signal: c_int) -> Option<Handler> {
    match signal {
        SIGSYS => Some(called),
        ASKS_WHERE => Some(given_up),
        _ => SIGNALS.iter().any(|(number, _)| *number == signal).then_some(crashed),
    }
}

/// What the system calls when a signal comes. The question is the runtime's own, so that it is not caught.
fn handler_in_force(signal: c_int) -> usize {
    // As the system has it: the function, flags, what returns from it, and a set of signals.
    let mut action = [0_usize; 4];
    // SAFETY: a local of the size that is filled; a set of signals has 8 bytes.
    unsafe { sys::call(sys::SYS_RT_SIGACTION, [signal as usize, 0, &raw mut action as usize, 8, 0, 0]) };
    action[0]
}

/// Whether the handler of a signal is the runtime's: for all that the program knows, nothing is done about the signal.
pub(crate) fn is_caught(signal: c_int) -> bool {
    own_handler(signal).is_some_and(|own| handler_in_force(signal) == own as *const () as usize)
}

/// Makes the handler of a signal the runtime's, if it has one: the program does nothing about it.
pub(crate) fn catch(signal: c_int) {
    if let Some(handler) = own_handler(signal) {
        sys::handle(signal, handler);
    }
}

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

/// What freed memory is overwritten with, as a pointer. The processor has no such addresses.
const FREED: usize = usize::from_ne_bytes([heap::FREED; 8]);

/// Whether a number looks like a pointer that was read from freed memory: it is one but for a few bytes, or for what was
/// added to come to a field or an element.
fn looks_freed(number: usize) -> bool {
    const FURTHEST: usize = 1 << 20;
    const MOST: usize = 6;
    let same = (number ^ FREED).to_ne_bytes().into_iter().filter(|byte| *byte == 0);
    number.abs_diff(FREED) < FURTHEST || same.count() >= MOST
}

unsafe extern "C" fn crashed(signal: c_int, information: *const u8, context: *mut u8) {
    /// The processor does not say the address: it can be none, or not one for this instruction.
    const SI_KERNEL: c_int = 0x80;
    // siginfo_t has how the signal came at 8, the address at 16; ucontext_t the registers from 40, of which the first 16
    // are the general ones.
    // SAFETY: the kernel gives both.
    let (code, address, registers, frame) = unsafe {
        (
            *(information.add(8).cast::<c_int>()),
            *(information.add(16).cast::<usize>()),
            *(context.add(40).cast::<[usize; 16]>()),
            interrupted(context),
        )
    };
    let is_sent = code <= 0;
    let is_access = matches!(signal, SIGSEGV | SIGBUS);
    if signal == SIGSEGV && !is_sent && again::caught_access(address) {
        return;
    }
    let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or(&b"signal"[..], |(_, name)| name);
    // Memory around the top of a stack is there, unless the stack has come to its end. What is executed there is another matter.
    let overflows = signal == SIGSEGV && address.abs_diff(frame.stack) < NEAR && address + 1 != frame.call;
    let mut digits = [0; 16];
    let on_address: [&[u8]; 3] = if is_sent && signal != SIGABRT {
        [b", as a signal that the program sends itself", b"", b""]
    } else if is_access && code == SI_KERNEL {
        match registers.into_iter().find(|register| looks_freed(*register)) {
            Some(pointer) => [
                b" at an address that cannot be one (0x",
                hexadecimal(pointer, &mut digits),
                b"): it looks like a pointer that was read from freed memory",
            ],
            None => [b" at an address that cannot be one, or not one for this instruction", b"", b""],
        }
    } else if overflows {
        [b": the stack has overflown (address 0x", hexadecimal(address, &mut digits), b")"]
    } else if is_access && address < 4096 {
        [b" at a null pointer (address 0x", hexadecimal(address, &mut digits), b")"]
    } else if is_access {
        [b" at address 0x", hexadecimal(address, &mut digits), b""]
    } else {
        [b"", b"", b""]
    };
    told::interrupted(frame);
    rt().stop(stop::CRASH, frame, &[name, on_address[0], on_address[1], on_address[2]]);
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

/// Whether C++ gives up.
static TERMINATES: AtomicBool = AtomicBool::new(false);

/// Whether C++'s library calls [`terminated`] when it gives up; what the program has said to call then, and what the library
/// calls by itself.
static CATCHES: AtomicBool = AtomicBool::new(false);
static HANDLER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static FIRST: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The functions [`CPP`], if the program has C++'s library.
static FOUND: [AtomicPtr<c_void>; CPP.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CPP.len()];

/// Finds C++'s library: in the executable, whose addresses are shifted by so much, or in what is loaded.
pub(crate) fn find_cpp(area: &Area, shift: usize, is_loaded: bool) {
    for ((name, linked), found) in CPP.iter().zip(&area.cpp).zip(&FOUND) {
        let linked = linked.load(Ordering::Relaxed) as usize;
        let function = match linked {
            0 if !is_loaded => std::ptr::null_mut(),
            0 => library_function(name),
            _ => (shift + linked) as *mut c_void,
        };
        found.store(function, Ordering::Relaxed);
    }
}

fn cpp(number: usize) -> Option<*mut c_void> {
    Some(FOUND[number].load(Ordering::Relaxed)).filter(|function| !function.is_null())
}

/// A function of C++'s library, which may be one that the runtime stands in for; null if there is none.
fn library_function(name: &CStr) -> *mut c_void {
    const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;
    const RTLD_LAZY: c_int = 1;
    const RTLD_NOLOAD: c_int = 4;
    // SAFETY: C strings; a null handle means everything that is loaded. The library is kept if it is there, and stays.
    unsafe {
        let first = sys::dlsym(std::ptr::null_mut(), name.as_ptr());
        let own = [set_terminate as *const () as usize, get_terminate as *const () as usize];
        if !own.contains(&(first as usize)) {
            return first;
        }
        let next = sys::dlsym(RTLD_NEXT, name.as_ptr());
        if !next.is_null() {
            return next;
        }
        // A library that the program has loaded may have brought it, for itself alone.
        let library = sys::dlopen(c"libstdc++.so.6".as_ptr(), RTLD_LAZY | RTLD_NOLOAD);
        if library.is_null() { library } else { sys::dlsym(library, name.as_ptr()) }
    }
}

type Terminate = unsafe extern "C-unwind" fn();

/// Has C++'s library call a function when it gives up; says which it would have called. `None` if there is no such library.
fn set_in_library(handler: *mut c_void) -> Option<*mut c_void> {
    let set = cpp(0).unwrap_or_else(|| library_function(CPP[0]));
    if set.is_null() {
        return None;
    }
    // SAFETY: `std::set_terminate` takes a function and gives the one before.
    let before = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void>(set)(
            handler,
        )
    };
    // The first that is replaced is the library's own. That is so too where the program replaces it before `main`.
    let _ = FIRST.compare_exchange(std::ptr::null_mut(), before, Ordering::Relaxed, Ordering::Relaxed);
    Some(before)
}

/// Makes it known when C++ gives up: `abort`, which it calls then, is called by programs too.
pub(crate) fn catch_terminate() {
    if let Some(set) = cpp(0)
        && let Some(before) = set_in_library(terminated as Terminate as *mut c_void)
    {
        let mut library = Code { has: set as usize, from: 0, to: 0 };
        // SAFETY: the callback takes what the loader gives, and this.
        unsafe { sys::dl_iterate_phdr(find_code_around, (&raw mut library).cast()) };
        LIBRARY[0].store(library.from, Ordering::Relaxed);
        LIBRARY[1].store(library.to, Ordering::Relaxed);
        HANDLER.store(before, Ordering::Relaxed);
        CATCHES.store(true, Ordering::Relaxed);
    }
}

/// Code that is loaded in one piece with a function.
struct Code {
    has: usize,
    from: usize,
    to: usize,
}

/// The code of C++'s library, from and to.
static LIBRARY: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

extern "C" fn find_code_around(info: *mut sys::DlInfo, _: usize, code: *mut c_void) -> c_int {
    // SAFETY: the loader gives valid headers, and what it was given.
    unsafe {
        let (info, code) = (&*info, &mut *code.cast::<Code>());
        for index in 0..usize::from(info.count) {
            let header = &*info.headers.add(index);
            let from = info.base + header.address as usize;
            let to = from + header.memory_size as usize;
            if (from..to).contains(&code.has) {
                (code.from, code.to) = (from, to);
                return 1;
            }
        }
    }
    0
}

/// `std::set_terminate`: the library goes on to call [`terminated`], and the program is told of its own handlers only.
///
/// # Safety
/// As C++'s library's.
#[unsafe(export_name = "_ZSt13set_terminatePFvvE")]
pub(crate) unsafe extern "C-unwind" fn set_terminate(handler: *mut c_void) -> *mut c_void {
    if !CATCHES.load(Ordering::Relaxed)
        && let Some(before) = set_in_library(handler)
    {
        return before;
    }
    // None means the library's own.
    let handler = if handler.is_null() { FIRST.load(Ordering::Relaxed) } else { handler };
    HANDLER.swap(handler, Ordering::Relaxed)
}

/// What is to be called when C++ gives up, for all that the caller is to know.
fn handler_for(caller: Frame) -> *mut c_void {
    let [from, to] = LIBRARY.each_ref().map(|end| end.load(Ordering::Relaxed));
    if (from..to).contains(&caller.call) {
        return terminated as Terminate as *mut c_void;
    }
    HANDLER.load(Ordering::Relaxed)
}

/// `std::get_terminate`. The library itself asks this too, for each exception that is thrown and when it gives up.
///
/// # Safety
/// As C++'s library's.
#[unsafe(export_name = "_ZSt13get_terminatev")]
pub(crate) unsafe extern "C-unwind" fn get_terminate() -> *mut c_void {
    static GET: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    if CATCHES.load(Ordering::Relaxed) {
        // The compiler makes no frame where it sees that none is needed, and then there is the caller's instead.
        return handler_for(*std::hint::black_box(&frame!()));
    }
    if GET.load(Ordering::Relaxed).is_null() {
        GET.store(library_function(c"_ZSt13get_terminatev"), Ordering::Relaxed);
    }
    let get = GET.load(Ordering::Relaxed);
    if get.is_null() {
        return HANDLER.load(Ordering::Relaxed);
    }
    // SAFETY: it takes nothing and gives a function.
    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn() -> *mut c_void>(get)() }
}

/// C++ gives up. A handler of the program's is called if there is no exception. If there is one, that is what is wrong,
/// whatever the handler would make of it: an exit would hide it, and an `abort` would not say which exception it is.
unsafe extern "C-unwind" fn terminated() {
    TERMINATES.store(true, Ordering::Relaxed);
    let is_thrown = is_on() && exception().is_some();
    let handler = if is_thrown { &FIRST } else { &HANDLER }.load(Ordering::Relaxed);
    if !handler.is_null() {
        // SAFETY: the program's; or what C++'s library does, which is to print what the exception says, and to call `abort`.
        unsafe { std::mem::transmute::<*mut c_void, Terminate>(handler)() };
    }
    // SAFETY: takes nothing.
    unsafe { abort() }
}

/// The `std::type_info` of the exception that is being handled.
fn exception() -> Option<*const *const c_char> {
    let current = cpp(1)?;
    // SAFETY: the function is of the C++ ABI.
    let information = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn() -> *const *const c_char>(current)()
    };
    (!information.is_null()).then_some(information)
}

/// The type of the exception that is being handled, as the source has it.
fn exception_type() -> Option<&'static [u8]> {
    let information = exception()?;
    let demangle = cpp(2)?;
    // SAFETY: the function is of the C++ ABI. A `std::type_info` has a pointer to its name after that to its virtual
    // table. What is demangled is allocated, and left to the end of the process, which is near.
    unsafe {
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
