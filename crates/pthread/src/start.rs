//! Taking over: before `main`, the process becomes the one that executions are forked from.
//!
//! The program is loaded and its constructors are run once. Where its `main` would begin, this process waits for
//! requests; each makes it fork a process that goes on into `main` under control, and wait for that to end.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::protocol::{AREA_VARIABLE, Area, BIND_MARK, MAGIC, turn};
use crate::runtime::{self, begin, rt};
use crate::sys::{self, futex_wait, futex_wake, real};
use crate::{cancel, coroutine, fault, shell, site, thread, thread_local};

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's own `main`.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Stands in for the C library's function that runs constructors, `main` and `exit`.
///
/// # Safety
/// Called by the program's start code, with what the C library's function takes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    MAIN.store(main as usize, Ordering::Relaxed);
    let start = real!(
        c"__libc_start_main",
        fn(Main, c_int, *mut *mut c_char, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int
    );
    // SAFETY: the arguments are passed on, with another `main` of the same type.
    unsafe { start(controlled_main, argc, argv, init, fini, rtld_fini, stack_end) }
}

/// In place of `main`.
unsafe extern "C-unwind" fn controlled_main(
    argc: c_int,
    argv: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    // SAFETY: it was stored from a `Main`.
    let main: Main = unsafe { std::mem::transmute(MAIN.load(Ordering::Relaxed)) };
    let Some(area) = map_area() else {
        // Not started by the command: an ordinary run.
        // SAFETY: the arguments of `main`.
        return unsafe { main(argc, argv, environment) };
    };
    forget_environment();
    find_code();
    cancel::set_used(area.cancels.load(Ordering::Relaxed) != 0);
    // One heap for all threads: addresses do not depend on how the system schedules, and a thread costs less.
    // SAFETY: no thread has been created yet.
    unsafe { sys::mallopt(M_ARENA_MAX, 1) };
    if thread::EARLY.load(Ordering::Relaxed) > 0 {
        let text = b"a thread was created before main, in a constructor, which is not supported";
        // SAFETY: the other side reads it in its turn.
        unsafe { (&mut (*area.text.get()))[..text.len()].copy_from_slice(text) };
        area.text_length.store(text.len() as u32, Ordering::Relaxed);
    }
    // Whatever every execution needs and inherits is done once.
    fault::catch_signals();
    // SAFETY: the heap grows here rather than in each execution. (The compiler would leave out what it sees to be unused.)
    unsafe { sys::free(std::hint::black_box(sys::malloc(HEAP))) };
    sys::find_all();
    fault::catch_terminate();
    coroutine::prepare();
    shell::prepare();
    serve(area);
    // A process of its own from here on.
    let here = 0_usize;
    begin(area, (&raw const here as usize).max(argv as usize));
    thread::register_main();
    // SAFETY: the arguments of `main`.
    let status = unsafe { coroutine::call_main(main as usize, argc, argv, environment) };
    thread::leave(status, site::Frame::NONE);
    thread_local::run_destructors();
    status
}

const M_ARENA_MAX: c_int = -8;
const HEAP: usize = 100_000;

/// The shared area, if the command has given one.
fn map_area() -> Option<&'static Area> {
    let mut name = [0_u8; 32];
    name[..AREA_VARIABLE.len()].copy_from_slice(AREA_VARIABLE.as_bytes());
    // SAFETY: C strings; the mapping is checked before it is used.
    unsafe {
        let value = sys::getenv(name.as_ptr().cast());
        if value.is_null() {
            return None;
        }
        let file = sys::atoi(value);
        let protection = sys::PROT_READ | sys::PROT_WRITE;
        let length = size_of::<Area>();
        let area = sys::mmap(std::ptr::null_mut(), length, protection, sys::MAP_SHARED, file, 0);
        if area as isize == -1 {
            return None;
        }
        sys::close(file);
        let area = &*(area as *const Area);
        (area.magic == MAGIC).then_some(area)
    }
}

/// What the program starts is not under control, and the program itself must not see how it is.
fn forget_environment() {
    // SAFETY: C strings, and no other thread.
    unsafe {
        let mut name = [0_u8; 32];
        name[..AREA_VARIABLE.len()].copy_from_slice(AREA_VARIABLE.as_bytes());
        sys::unsetenv(name.as_ptr().cast());
        if !sys::getenv(BIND_MARK.as_ptr()).is_null() {
            sys::unsetenv(BIND_MARK.as_ptr());
            sys::unsetenv(c"LD_BIND_NOW".as_ptr());
        }
        let before = sys::getenv(c"SELVEDGE_PRELOAD_BEFORE".as_ptr());
        if before.is_null() {
            sys::unsetenv(c"LD_PRELOAD".as_ptr());
        } else {
            sys::setenv(c"LD_PRELOAD".as_ptr(), before, 1);
            sys::unsetenv(c"SELVEDGE_PRELOAD_BEFORE".as_ptr());
        }
    }
}

/// Finds the executable's code, the unwinder's, and whether there is C++'s library.
fn find_code() {
    extern "C" fn each(info: *mut sys::DlInfo, _: usize, seen: *mut c_void) -> c_int {
        const LOAD: u32 = 1;
        const EXECUTE: u32 = 1;
        // SAFETY: the loader gives valid headers.
        unsafe {
            let info = &*info;
            // The first is the executable.
            let is_first = !std::mem::replace(&mut *seen.cast::<bool>(), true);
            let name = std::slice::from_raw_parts(info.name.cast::<u8>(), sys::strlen(info.name));
            let is_unwinder = name.windows(8).any(|window| window == b"libgcc_s");
            if name.windows(9).any(|window| window == b"libstdc++") {
                fault::set_cpp();
            }
            for index in 0..usize::from(info.count) {
                let header = &*info.headers.add(index);
                if header.kind == LOAD && header.flags & EXECUTE != 0 {
                    let from = info.base + header.address as usize;
                    let to = from + header.memory_size as usize;
                    if is_first {
                        site::set_code(from, to);
                    } else if is_unwinder {
                        site::set_unwinder(from, to);
                    }
                }
            }
        }
        0
    }
    let mut seen = false;
    // SAFETY: the callback takes what the loader gives, and this.
    unsafe { sys::dl_iterate_phdr(each, (&raw mut seen).cast()) };
}

/// Forks a process for each request. Returns in those processes only.
fn serve(area: &'static Area) {
    const PR_SET_PDEATHSIG: c_int = 1;
    const SIGKILL: c_int = 9;
    let mut served = 0;
    // Ready.
    area.turn.store(turn::CONTROLLER, Ordering::Release);
    futex_wake(&area.turn, false);
    loop {
        while area.request.load(Ordering::Acquire) == served {
            futex_wait(&area.request, served, false);
        }
        served = area.request.load(Ordering::Acquire);
        shell::make(area.shells.load(Ordering::Relaxed) as usize);
        let pid = fork_execution();
        if pid == 0 {
            // SAFETY: ends with the process that it was forked from.
            unsafe { sys::prctl(PR_SET_PDEATHSIG, SIGKILL) };
            return;
        }
        let mut status = -1;
        if pid > 0 {
            area.pid.store(pid as u32, Ordering::Relaxed);
            // SAFETY: the status is a local.
            while unsafe { sys::waitpid(pid, &raw mut status, 0) } < 0 {
                // SAFETY: errno of this thread.
                if unsafe { *sys::__errno_location() } != sys::EINTR {
                    break;
                }
            }
        }
        area.status.store(status as u32, Ordering::Relaxed);
        area.dead.store(1, Ordering::Relaxed);
        area.turn.store(turn::CONTROLLER, Ordering::Release);
        futex_wake(&area.turn, false);
    }
}

/// Forks by the system itself: the C library would make its own of what the threads that are not in the new process,
/// the shells, leave there.
fn fork_execution() -> c_int {
    const SIGCHLD: usize = 17;
    const CHILD_CLEARTID: usize = 0x0020_0000;
    const CHILD_SETTID: usize = 0x0100_0000;
    const PR_GET_TID_ADDRESS: c_int = 40;
    // Where the C library keeps the number of the first thread, if the system tells: there the new one belongs.
    let mut number = 0_usize;
    // SAFETY: a local; a process without shared memory, which goes on as this one.
    unsafe {
        let known = sys::prctl(PR_GET_TID_ADDRESS, &raw mut number) == 0 && number != 0;
        let flags = if known { SIGCHLD | CHILD_SETTID | CHILD_CLEARTID } else { SIGCHLD };
        sys::call(sys::SYS_CLONE, [flags, 0, 0, number, 0, 0]) as c_int
    }
}

/// `exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn exit(status: c_int) -> ! {
    if runtime::is_on() {
        thread::leave(status, site::frame!());
        thread_local::run_destructors();
    }
    runtime::really_exit(status)
}

/// `_exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _exit(status: c_int) -> ! {
    if runtime::is_on() {
        thread::leave(status, site::frame!());
    }
    sys::exit_group(status)
}

/// `_Exit`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Exit(status: c_int) -> ! {
    if runtime::is_on() {
        thread::leave(status, site::frame!());
    }
    sys::exit_group(status)
}

/// `fork` by the program.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn fork() -> c_int {
    if runtime::is_on() {
        let message: &[&[u8]] = &[
            b"the program calls fork: what a forked process does is not controlled (posix_spawn, system and popen ",
            b"are let through)",
        ];
        rt().stop(crate::protocol::stop::UNSUPPORTED, site::frame!(), 0, message);
    }
    // SAFETY: passed on.
    unsafe { real!(c"fork", fn() -> c_int)() }
}
