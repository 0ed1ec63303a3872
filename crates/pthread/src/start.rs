//! Taking over: before `main`, the process becomes the one that executions are forked from.
//!
//! The program is loaded and its constructors are run once. Where its `main` would begin, this process waits for
//! requests; each makes it fork a process that goes on into `main` under control, and wait for that to end.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::protocol::{AREA_VARIABLE, Area, BIND_MARK, MAGIC, turn};
use crate::runtime::{self, begin, rt};
use crate::sys::{self, futex_wait, futex_wake, real};
use crate::{
    again, cancel, cores, coroutine, exit, fault, heap, shell, site, thread, thread_local, told, verifier,
};

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
    let last = exit::come_last(rtld_fini);
    // SAFETY: the arguments are passed on, with another `main` of the same type, and another function for the end.
    unsafe { start(controlled_main, argc, argv, init, fini, last, stack_end) }
}

/// In place of `main`.
unsafe extern "C-unwind" fn controlled_main(
    argc: c_int,
    argv: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    let Some(area) = map_area() else {
        // SAFETY: it was stored from a `Main`.
        let main: Main = unsafe { std::mem::transmute(MAIN.load(Ordering::Relaxed)) };
        // Not started by the command: an ordinary run.
        // SAFETY: the arguments of `main`.
        return unsafe { main(argc, argv, environment) };
    };
    forget_environment();
    find_code(area);
    cancel::set_used(area.cancels.load(Ordering::Relaxed) != 0);
    // One heap for all threads: addresses do not depend on how the system schedules, and a thread costs less.
    // SAFETY: no thread has been created yet.
    unsafe { sys::mallopt(M_ARENA_MAX, 1) };
    if thread::EARLY.load(Ordering::Relaxed) > 0 {
        refuse(area, b"a thread was created before main, in a constructor, which is not supported");
    }
    // Whatever every execution needs and inherits is done once.
    let here = 0_usize;
    let top = &raw const here as usize;
    ARGUMENTS[0].store(argc as usize, Ordering::Relaxed);
    ARGUMENTS[1].store(argv as usize, Ordering::Relaxed);
    ARGUMENTS[2].store(environment as usize, Ordering::Relaxed);
    coroutine::prepare();
    if !again::prepare(area, top - MARGIN, execute) {
        refuse(area, b"there is no memory for the runtime");
    }
    let may_reuse = fault::catch_signals();
    // SAFETY: the heap grows here rather than in each execution. (The compiler would leave out what it sees to be unused.)
    unsafe { sys::free(std::hint::black_box(sys::malloc(HEAP))) };
    sys::find_all();
    fault::catch_terminate();
    told::prepare();
    shell::prepare();
    cores::prepare();
    serve(area, may_reuse);
}

/// What `main` is called with.
static ARGUMENTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// How far below the frame of `controlled_main` executions begin.
const MARGIN: usize = 1024;

/// An execution, on the first thread's stack.
extern "C-unwind" fn execute() -> ! {
    let [argc, argv, environment] = ARGUMENTS.each_ref().map(|argument| argument.load(Ordering::Relaxed));
    begin(again::area(), argv);
    thread::register_main();
    // SAFETY: the program's `main`, and its arguments.
    let status = unsafe {
        let main = MAIN.load(Ordering::Relaxed);
        coroutine::call_main(main, argc as c_int, argv as *mut *mut c_char, environment as *mut *mut c_char)
    };
    exit::begin(site::Frame::NONE);
    thread_local::run_destructors();
    exit::really_exit(status)
}

/// Says why the program cannot be checked.
fn refuse(area: &Area, text: &[u8]) {
    // SAFETY: the other side reads it in its turn.
    unsafe { (&mut (*area.text.get()))[..text.len()].copy_from_slice(text) };
    area.text_length.store(text.len() as u32, Ordering::Relaxed);
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

/// Finds the executable's code and its end, the unwinder's code, and C++'s library.
fn find_code(area: &Area) {
    /// By how much the addresses of the executable are shifted, once it was seen, and whether C++'s library was.
    struct Seen {
        shift: Option<usize>,
        has_cpp: bool,
    }
    extern "C" fn each(info: *mut sys::DlInfo, _: usize, seen: *mut c_void) -> c_int {
        const LOAD: u32 = 1;
        const EXECUTE: u32 = 1;
        // SAFETY: the loader gives valid headers.
        unsafe {
            let (info, seen) = (&*info, &mut *seen.cast::<Seen>());
            // The first is the executable.
            let is_first = seen.shift.is_none();
            seen.shift.get_or_insert(info.base);
            let name = std::slice::from_raw_parts(info.name.cast::<u8>(), sys::strlen(info.name));
            let is_unwinder = name.windows(8).any(|window| window == b"libgcc_s");
            seen.has_cpp |= name.windows(9).any(|window| window == b"libstdc++");
            for index in 0..usize::from(info.count) {
                let header = &*info.headers.add(index);
                let from = info.base + header.address as usize;
                let to = from + header.memory_size as usize;
                if header.kind == LOAD && is_first {
                    // They are in the order of their addresses.
                    heap::prepare(to);
                }
                if header.kind == LOAD && header.flags & EXECUTE != 0 {
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
    let mut seen = Seen { shift: None, has_cpp: false };
    // SAFETY: the callback takes what the loader gives, and this.
    unsafe { sys::dl_iterate_phdr(each, (&raw mut seen).cast()) };
    fault::find_cpp(area, seen.shift.unwrap_or(0), seen.has_cpp);
    verifier::find_functions(area, seen.shift.unwrap_or(0));
}

/// How often in a row processes may not do for a second execution, before that is not tried any more.
const STRIKES: u32 = 3;

/// Forks a process for each request that the one before does not serve.
fn serve(area: &'static Area, mut may_reuse: bool) -> ! {
    const PR_SET_PDEATHSIG: c_int = 1;
    const SIGKILL: c_int = 9;
    let number_at = thread_number_at();
    let mut strikes = 0;
    // How many shells the image has.
    let mut imaged = None;
    // Ready.
    area.turn.store(turn::CONTROLLER, Ordering::Release);
    futex_wake(&area.turn, false);
    loop {
        let taken = area.taken.load(Ordering::Relaxed);
        while area.request.load(Ordering::Acquire) == taken {
            futex_wait(&area.request, taken, false);
        }
        if area.leaving.load(Ordering::Relaxed) != 0 {
            sys::end_process(0);
        }
        area.taken.store(area.request.load(Ordering::Acquire), Ordering::Relaxed);
        again::move_to_core(area);
        let shells = shell::make(area.shells.load(Ordering::Relaxed) as usize);
        if may_reuse && imaged != Some(shells) {
            again::make_image();
            imaged = Some(shells);
        }
        let reused = area.reused.load(Ordering::Relaxed);
        let pid = fork_execution(number_at);
        if pid == 0 {
            // SAFETY: ends with the process that it was forked from.
            unsafe { sys::prctl(PR_SET_PDEATHSIG, SIGKILL) };
            again::begin(may_reuse, number_at);
        }
        let mut status = -1;
        if pid > 0 {
            area.pid.store(pid as u32, Ordering::Release);
            // SAFETY: the status is a local.
            while unsafe { sys::waitpid(pid, &raw mut status, 0) } < 0 {
                // SAFETY: errno of this thread.
                if unsafe { *sys::__errno_location() } != sys::EINTR {
                    break;
                }
            }
        }
        area.pid.store(0, Ordering::Release);
        strikes = if area.reused.load(Ordering::Relaxed) == reused { strikes + 1 } else { 0 };
        may_reuse &= strikes < STRIKES;
        if area.taken.load(Ordering::Relaxed) == area.request.load(Ordering::Acquire)
            && area.dead.load(Ordering::Relaxed) == 0
        {
            area.status.store(status as u32, Ordering::Relaxed);
            area.dead.store(1, Ordering::Relaxed);
            area.turn.store(turn::CONTROLLER, Ordering::Release);
            futex_wake(&area.turn, false);
        }
    }
}

/// Where the C library keeps the number of the first thread, if the system tells; otherwise 0.
fn thread_number_at() -> usize {
    const PR_GET_TID_ADDRESS: c_int = 40;
    let mut at = 0_usize;
    // SAFETY: a local.
    if unsafe { sys::prctl(PR_GET_TID_ADDRESS, &raw mut at) } == 0 { at } else { 0 }
}

/// Forks by the system itself: the C library would make its own of what the threads that are not in the new process,
/// the shells, leave there.
fn fork_execution(number_at: usize) -> c_int {
    const SIGCHLD: usize = 17;
    const CHILD_CLEARTID: usize = 0x0020_0000;
    const CHILD_SETTID: usize = 0x0100_0000;
    let flags = if number_at == 0 { SIGCHLD } else { SIGCHLD | CHILD_SETTID | CHILD_CLEARTID };
    // SAFETY: a process without shared memory, which goes on as this one.
    unsafe { sys::call(sys::SYS_CLONE, [flags, 0, 0, number_at, 0, 0]) as c_int }
}

/// The program asks for a process or a thread of the system's.
pub(crate) fn not_controlled(what: &[u8], frame: site::Frame) -> ! {
    let message: &[&[u8]] = &[
        b"the program calls ",
        what,
        b": what comes of that is not controlled (posix_spawn, system and popen are let through)",
    ];
    rt().stop(crate::protocol::stop::UNSUPPORTED, frame, message)
}

/// Functions of the C library that make a process or a thread, and which of its functions they are where nothing is checked.
macro_rules! not_controlled {
    ($($says:literal $name:ident($($argument:ident: $type:ty),*), as $real:literal;)*) => {$(
        /// Not supported in an execution.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            if runtime::is_on() {
                not_controlled($says, site::frame!());
            }
            // SAFETY: passed on; what is not given is not looked at.
            unsafe { real!($real, fn($($type),*) -> c_int)($($argument),*) }
        }
    )*};
}

// Whoever calls `vfork` cannot tell it from `fork`, if it keeps to the little that it may do. In `daemon` and `forkpty` the C
// library forks by a call that cannot be interposed.
not_controlled! {
    b"fork" fork(), as c"fork";
    b"fork" __fork(), as c"fork";
    b"_Fork" _Fork(), as c"_Fork";
    b"vfork" vfork(), as c"fork";
    b"vfork" __vfork(), as c"fork";
    b"daemon" daemon(keeps_folder: c_int, keeps_files: c_int), as c"daemon";
    b"forkpty" forkpty(terminal: usize, name: usize, settings: usize, size: usize), as c"forkpty";
    b"clone" clone(
        function: usize, stack: usize, flags: c_int, argument: usize, parent_number: usize, thread_locals: usize,
        child_number: usize
    ), as c"clone";
}
