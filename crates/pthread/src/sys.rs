//! What the runtime uses of the system: a few declarations, the futex, and the functions that it stands in for.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

pub(crate) const EPERM: c_int = 1;
pub(crate) const ESRCH: c_int = 3;
pub(crate) const EINTR: c_int = 4;
pub(crate) const EAGAIN: c_int = 11;
pub(crate) const EFAULT: c_int = 14;
pub(crate) const EBUSY: c_int = 16;
pub(crate) const EINVAL: c_int = 22;
pub(crate) const ERANGE: c_int = 34;
pub(crate) const EDEADLK: c_int = 35;
pub(crate) const EOVERFLOW: c_int = 75;
pub(crate) const ETIMEDOUT: c_int = 110;
pub(crate) const EOWNERDEAD: c_int = 130;
pub(crate) const ENOTRECOVERABLE: c_int = 131;

pub(crate) const SYS_FUTEX: c_long = 202;
pub(crate) const SYS_SCHED_SETAFFINITY: c_long = 203;
pub(crate) const SYS_EXIT_GROUP: c_long = 231;
pub(crate) const SYS_RT_SIGPROCMASK: c_long = 14;
pub(crate) const SYS_READ: c_long = 0;
pub(crate) const SYS_WRITE: c_long = 1;
pub(crate) const SYS_OPEN: c_long = 2;
pub(crate) const SYS_FCNTL: c_long = 72;
pub(crate) const SYS_CLOSE: c_long = 3;
pub(crate) const SYS_MMAP: c_long = 9;
pub(crate) const SYS_MPROTECT: c_long = 10;
pub(crate) const SYS_MUNMAP: c_long = 11;
pub(crate) const SYS_BRK: c_long = 12;
pub(crate) const SYS_RT_SIGACTION: c_long = 13;
pub(crate) const SYS_PREAD64: c_long = 17;
pub(crate) const SYS_FTRUNCATE: c_long = 77;
pub(crate) const SYS_PRCTL: c_long = 157;
pub(crate) const SYS_OPENAT: c_long = 257;
pub(crate) const SYS_MEMFD_CREATE: c_long = 319;
pub(crate) const SYS_MADVISE: c_long = 28;
pub(crate) const SYS_PAUSE: c_long = 34;
pub(crate) const SYS_CLONE: c_long = 56;
pub(crate) const SYS_ARCH_PRCTL: c_long = 158;

pub(crate) const PROT_READ: c_int = 1;
pub(crate) const PROT_WRITE: c_int = 2;
pub(crate) const PROT_EXEC: c_int = 4;
pub(crate) const MAP_SHARED: c_int = 1;
pub(crate) const MAP_PRIVATE: c_int = 2;
pub(crate) const MAP_ANONYMOUS: c_int = 0x20;
pub(crate) const MAP_NORESERVE: c_int = 0x4000;
pub(crate) const MAP_STACK: c_int = 0x2_0000;

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

/// `struct sigaction` of the C library.
#[repr(C)]
pub(crate) struct SigAction {
    pub(crate) handler: usize,
    pub(crate) mask: [u64; 16],
    pub(crate) flags: c_int,
    pub(crate) restorer: usize,
}

/// `stack_t`.
#[repr(C)]
pub(crate) struct SignalStack {
    pub(crate) base: *mut c_void,
    pub(crate) flags: c_int,
    pub(crate) size: usize,
}

unsafe extern "C" {
    pub(crate) fn getauxval(which: u64) -> u64;
    pub(crate) fn longjmp(buffer: *mut c_void, value: c_int) -> !;
    pub(crate) fn getpid() -> c_int;
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    pub(crate) fn dlopen(name: *const c_char, how: c_int) -> *mut c_void;
    pub(crate) fn dlclose(library: *mut c_void) -> c_int;
    pub(crate) fn getenv(name: *const c_char) -> *const c_char;
    pub(crate) fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int;
    pub(crate) fn unsetenv(name: *const c_char) -> c_int;
    pub(crate) fn atoi(text: *const c_char) -> c_int;
    pub(crate) fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub(crate) fn mprotect(at: *mut c_void, length: usize, protection: c_int) -> c_int;
    pub(crate) fn close(file: c_int) -> c_int;
    pub(crate) fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub(crate) fn prctl(option: c_int, ...) -> c_int;
    pub(crate) fn fflush(stream: *mut c_void) -> c_int;
    pub(crate) fn free(block: *mut c_void);
    pub(crate) fn malloc(size: usize) -> *mut c_void;
    pub(crate) fn malloc_usable_size(block: *mut c_void) -> usize;
    pub(crate) fn sbrk(more: isize) -> *mut c_void;
    pub(crate) fn mallopt(parameter: c_int, value: c_int) -> c_int;
    pub(crate) fn sigaction(signal: c_int, action: *const SigAction, old: *mut SigAction) -> c_int;
    pub(crate) fn sigaltstack(stack: *const SignalStack, old: *mut SignalStack) -> c_int;
    pub(crate) fn __errno_location() -> *mut c_int;
    pub(crate) fn strlen(text: *const c_char) -> usize;
    pub(crate) fn dl_iterate_phdr(
        callback: extern "C" fn(*mut DlInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// `struct dl_phdr_info`, its beginning.
#[repr(C)]
pub(crate) struct DlInfo {
    pub(crate) base: usize,
    pub(crate) name: *const c_char,
    pub(crate) headers: *const ProgramHeader,
    pub(crate) count: u16,
    /// How often something was loaded.
    pub(crate) loads: u64,
}

/// `Elf64_Phdr`.
#[repr(C)]
pub(crate) struct ProgramHeader {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) physical: u64,
    pub(crate) file_size: u64,
    pub(crate) memory_size: u64,
    pub(crate) alignment: u64,
}

/// Writes what the program has printed and standard output has kept so far, without a lock and as far as it is there. On a
/// terminal it would have been seen by now.
pub(crate) fn write_out_stdout() {
    /// `FILE`, its beginning.
    #[repr(C)]
    struct File {
        _before: [usize; 4],
        from: usize,
        to: usize,
    }
    unsafe extern "C" {
        static stdout: *const File;
    }
    const STDOUT: usize = 1;
    // SAFETY: the C library's own, whatever the program has made of it; the system looks whether the bytes can be read.
    unsafe {
        if let Some(&File { from, to, .. }) = stdout.as_ref()
            && from < to
        {
            crate::again::touches_files();
            call(SYS_WRITE, [STDOUT, from, to - from, 0, 0, 0]);
        }
    }
}

pub(crate) fn set_errno(error: c_int) {
    // SAFETY: the location of this thread's errno is always valid.
    unsafe { *__errno_location() = error };
}

// All that the runtime itself calls the system with is here, in one piece: these calls are not caught (`again.rs`).
std::arch::global_asm!(
    ".pushsection .text",
    ".balign 16",
    ".globl selvedge_calls",
    ".hidden selvedge_calls",
    ".globl selvedge_call_system",
    ".hidden selvedge_call_system",
    ".globl selvedge_return_from_signal",
    ".hidden selvedge_return_from_signal",
    ".globl selvedge_calls_end",
    ".hidden selvedge_calls_end",
    "selvedge_calls:",
    "selvedge_call_system:",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "mov r10, r8",
    "mov r8, r9",
    "mov r9, [rsp + 8]",
    "syscall",
    "ret",
    "selvedge_return_from_signal:",
    "mov eax, 15",
    "syscall",
    "ud2",
    "selvedge_calls_end:",
    ".popsection",
);

unsafe extern "C" {
    static selvedge_calls: u8;
    static selvedge_calls_end: u8;
    fn selvedge_return_from_signal();
    fn selvedge_call_system(
        number: c_long,
        first: usize,
        second: usize,
        third: usize,
        fourth: usize,
        fifth: usize,
        sixth: usize,
    ) -> isize;
}

/// The code that calls the system: from where, and how long.
pub(crate) fn own_calls() -> (usize, usize) {
    let (from, to) = (&raw const selvedge_calls as usize, &raw const selvedge_calls_end as usize);
    (from, to - from)
}

/// Calls the system. What it answers is as the system gives it: an error is a negative number.
///
/// # Safety
/// As for the call.
#[inline]
pub(crate) unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: the caller's.
    unsafe { selvedge_call_system(number, first, second, third, fourth, fifth, sixth) }
}

/// Blocks these signals of the kernel thread, and no other; gives those that were blocked. Those that the runtime needs
/// itself, SIGSEGV and SIGSYS, are never blocked: a program cannot tell, unless it sends them to itself.
pub(crate) fn set_signal_mask(mask: u64) -> u64 {
    const SIG_SETMASK: usize = 2;
    const NEEDED: u64 = 1 << (11 - 1) | 1 << (31 - 1);
    let mask = mask & !NEEDED;
    let mut old = 0_u64;
    let (new, old_at) = (&raw const mask as usize, &raw mut old as usize);
    // SAFETY: two locals of the size that is given.
    unsafe { call(SYS_RT_SIGPROCMASK, [SIG_SETMASK, new, old_at, size_of::<u64>(), 0, 0]) };
    old
}

/// The signals that the kernel thread has blocked.
pub(crate) fn signal_mask() -> u64 {
    let mut old = 0_u64;
    // SAFETY: a local of the size that is given.
    unsafe { call(SYS_RT_SIGPROCMASK, [0, 0, &raw mut old as usize, size_of::<u64>(), 0, 0]) };
    old
}

const FUTEX_WAIT: usize = 0;
const FUTEX_WAKE: usize = 1;
const FUTEX_PRIVATE: usize = 128;

/// Waits as long as the word has this value; may return early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, private: bool) {
    let operation = FUTEX_WAIT | if private { FUTEX_PRIVATE } else { 0 };
    // SAFETY: the word is a live u32; there is no time limit.
    unsafe { call(SYS_FUTEX, [word.as_ptr() as usize, operation, value as usize, 0, 0, 0]) };
}

/// Wakes who waits on the word.
pub(crate) fn futex_wake(word: &AtomicU32, private: bool) {
    let operation = FUTEX_WAKE | if private { FUTEX_PRIVATE } else { 0 };
    // SAFETY: the word is a live u32.
    unsafe { call(SYS_FUTEX, [word.as_ptr() as usize, operation, 1, 0, 0, 0]) };
}

/// Has a function called when this signal comes, on the stack for signals: with its number, what is known of it, and the
/// context.
pub(crate) fn handle(signal: c_int, function: unsafe extern "C" fn(c_int, *const u8, *mut u8)) {
    const SA_SIGINFO: usize = 4;
    const SA_RESTORER: usize = 0x0400_0000;
    const SA_ONSTACK: usize = 0x0800_0000;
    const SA_NODEFER: usize = 0x4000_0000;
    let flags = SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_NODEFER;
    // As the system has it: what returns from the function is the runtime's own, and so not caught.
    let action =
        [function as *const () as usize, flags, selvedge_return_from_signal as *const () as usize, 0];
    // SAFETY: the action is complete; a set of signals has 8 bytes.
    unsafe { call(SYS_RT_SIGACTION, [signal as usize, &raw const action as usize, 0, 8, 0, 0]) };
}

/// Ends the process, now.
pub(crate) fn end_process(status: c_int) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(SYS_EXIT_GROUP, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// A function that comes after the runtime's own of that name: the C library's. Looked up once.
pub(crate) struct Real {
    name: &'static CStr,
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Real { name, version: None, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// For a function of which there are several: `dlsym` would give the oldest.
    pub(crate) const fn versioned(name: &'static CStr, version: &'static CStr) -> Self {
        Real { name, version: Some(version), found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address; null if the C library has no such function.
    pub(crate) fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: names are C strings.
        let found = unsafe {
            match self.version {
                Some(version) => {
                    let found = dlvsym(RTLD_NEXT, self.name.as_ptr(), version.as_ptr());
                    if found.is_null() { dlsym(RTLD_NEXT, self.name.as_ptr()) } else { found }
                }
                None => dlsym(RTLD_NEXT, self.name.as_ptr()),
            }
        };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Looks up every function that the runtime stands in for, so that executions need not.
pub(crate) fn find_all() {
    unsafe extern "C" {
        // The linker's names for the ends of the section that `real` puts them in.
        static __start_selvedge_real: u8;
        static __stop_selvedge_real: u8;
    }
    // SAFETY: the section is an array of them.
    unsafe {
        let mut at = (&raw const __start_selvedge_real).cast::<Real>();
        while at < (&raw const __stop_selvedge_real).cast::<Real>() {
            (*at).address();
            at = at.add(1);
        }
    }
}

/// Calls the C library's function of this name: `real!(c"pthread_mutex_lock", fn(*mut c_void) -> c_int)(mutex)`.
macro_rules! real {
    ($name:literal, fn($($argument:ty),* $(,)?) $(-> $result:ty)?) => {
        $crate::sys::real!(@ $crate::sys::Real::new($name), fn($($argument),*) $(-> $result)?)
    };
    ($name:literal @ $version:literal, fn($($argument:ty),* $(,)?) $(-> $result:ty)?) => {
        $crate::sys::real!(@ $crate::sys::Real::versioned($name, $version), fn($($argument),*) $(-> $result)?)
    };
    (@ $real:expr, fn($($argument:ty),* $(,)?) $(-> $result:ty)?) => {{
        // Used as it is: the optimiser must not take it apart.
        #[used]
        #[unsafe(link_section = "selvedge_real")]
        static REAL: $crate::sys::Real = $real;
        type Function = unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?;
        // SAFETY: the type is that of the C library's function of this name, which exists wherever the function
        // that stands in for it is called.
        #[allow(unused_unsafe, reason = "most callers are in an unsafe block already")]
        let function = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(REAL.address()) };
        function
    }};
}
pub(crate) use real;
