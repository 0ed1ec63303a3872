//! What the threads of the program are made of.
//!
//! A thread needs a stack, thread-local storage, and all that the C library keeps of a thread. Only the C library can
//! make these right, so it does: a *shell* is a real thread of its making, which stops for ever before it does anything.
//! An execution is forked from a process that has shells at hand. A fork has none of their kernel threads, but all of
//! their memory; so the one kernel thread of the execution goes on in a shell's place, on its stack and with its thread
//! pointer (`coroutine.rs`).
//!
//! A shell is used once. An execution that wants more than there are makes them itself, and says so, for the next ones.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::coroutine;
use crate::runtime::MAX_THREADS;
use crate::sys::{self, futex_wait, futex_wake, real};

/// A thread that has not begun.
#[derive(Clone, Copy)]
pub(crate) struct Shell {
    /// What the C library calls it.
    pub(crate) handle: usize,
    pub(crate) thread_pointer: usize,
    /// Below this its stack is free.
    pub(crate) stack_top: usize,
}

struct Shells(UnsafeCell<[Shell; MAX_THREADS]>);
// SAFETY: each is written by its own thread before `READY` says so, and only read from then on.
unsafe impl Sync for Shells {}
static SHELLS: Shells =
    Shells(UnsafeCell::new([Shell { handle: 0, thread_pointer: 0, stack_top: 0 }; MAX_THREADS]));

/// How many there are.
static READY: AtomicU32 = AtomicU32::new(0);
/// How large their stacks are.
static STACK: AtomicUsize = AtomicUsize::new(0);

/// How many there are at first.
const FIRST: usize = 2;

/// Room that is left below the frames of a shell that has stopped.
const MARGIN: usize = 512;

/// Makes the first ones.
pub(crate) fn prepare() {
    let mut attributes = [0_u64; 8];
    let mut size = 0_usize;
    // SAFETY: `pthread_attr_t` has 56 bytes; the size is a local.
    unsafe {
        let attributes = (&raw mut attributes).cast::<c_void>();
        real!(c"pthread_attr_init", fn(*mut c_void) -> c_int)(attributes);
        real!(c"pthread_attr_getstacksize", fn(*const c_void, *mut usize) -> c_int)(
            attributes,
            &raw mut size,
        );
        real!(c"pthread_attr_destroy", fn(*mut c_void) -> c_int)(attributes);
    }
    STACK.store(size, Ordering::Relaxed);
    make(FIRST);
}

/// How large a shell's stack is.
pub(crate) fn stack_size() -> usize {
    STACK.load(Ordering::Relaxed)
}

/// Has so many of them at least, if the system gives them. Says how many there are.
pub(crate) fn make(count: usize) -> usize {
    unsafe extern "C-unwind" fn shell(index: *mut c_void) -> *mut c_void {
        let here = 0_usize;
        let made = Shell {
            // SAFETY: takes nothing.
            handle: unsafe { real!(c"pthread_self", fn() -> usize)() },
            thread_pointer: coroutine::thread_pointer(),
            stack_top: (&raw const here as usize) - MARGIN,
        };
        // SAFETY: in the array, and this thread's own.
        unsafe { (*SHELLS.0.get())[index as usize] = made };
        READY.store(index as u32 + 1, Ordering::Release);
        futex_wake(&READY, true);
        loop {
            // For ever: signals are blocked.
            // SAFETY: takes nothing.
            unsafe { sys::call(sys::SYS_PAUSE, [0; 6]) };
        }
    }
    let ready = READY.load(Ordering::Relaxed) as usize;
    if ready >= count.min(MAX_THREADS) {
        return ready;
    }
    let all = sys::set_signal_mask(u64::MAX);
    for index in ready..count.min(MAX_THREADS) {
        let mut handle = 0_usize;
        // SAFETY: the C library's own function, with a local and a function of the right type.
        let failed = unsafe {
            real!(
                c"pthread_create",
                fn(
                    *mut usize,
                    *const c_void,
                    unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
                    *mut c_void,
                ) -> c_int
            )(&raw mut handle, std::ptr::null(), shell, index as *mut c_void)
        };
        if failed != 0 {
            break;
        }
        loop {
            let made = READY.load(Ordering::Acquire);
            if made > index as u32 {
                break;
            }
            futex_wait(&READY, made, true);
        }
    }
    sys::set_signal_mask(all);
    READY.load(Ordering::Relaxed) as usize
}

/// The shell of this number, made if there is none; nothing if the system does not give it.
pub(crate) fn take(index: usize) -> Option<Shell> {
    if index >= READY.load(Ordering::Relaxed) as usize {
        make(index + 1);
    }
    // SAFETY: written before `READY` said so.
    (index < READY.load(Ordering::Relaxed) as usize).then(|| unsafe { (*SHELLS.0.get())[index] })
}
