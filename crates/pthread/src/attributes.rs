//! What threads are created with, and what they are told of that.

use std::ffi::{c_int, c_void};

use crate::cores::{self, Cores};
use crate::runtime::{DETACHED, is_on, rt};
use crate::shell::{self, Shell};
use crate::sys::{self, EINVAL, ESRCH, Real, real};
use crate::thread;

/// A stack as a thread is told of it.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    /// Its highest address, and how many bytes there are below.
    top: usize,
    pub(crate) size: usize,
    guard: usize,
}

/// What a thread is to have.
pub(crate) struct Attributes {
    given: *const c_void,
    pub(crate) is_detached: bool,
    /// The signals that it is to block, if not those of its creator.
    pub(crate) signal_mask: Option<u64>,
    /// The cores that it is to run on, if not those of its creator.
    pub(crate) cores: Option<Cores>,
}

impl Attributes {
    /// What the program asks for, by `pthread_attr_t` or, with null, by default.
    pub(crate) fn of(given: *const c_void) -> Result<Self, c_int> {
        let mut asked = Attributes { given, is_detached: false, signal_mask: None, cores: None };
        if given.is_null() {
            return Ok(asked);
        }
        let mut state = 0;
        let mut cores: Cores = [0; 16];
        // SAFETY: the program's attributes, and locals.
        unsafe {
            real!(c"pthread_attr_getdetachstate", fn(*const c_void, *mut c_int) -> c_int)(
                given,
                &raw mut state,
            );
            real!(
                c"pthread_attr_getaffinity_np" @ c"GLIBC_2.3.4",
                fn(*const c_void, usize, *mut Cores) -> c_int
            )(given, size_of::<Cores>(), &raw mut cores);
        }
        asked.is_detached = state != 0;
        asked.signal_mask = signal_mask(given);
        // All that there could be: none were asked for.
        if cores != [u64::MAX; 16] {
            asked.cores = Some(cores::existing(cores).ok_or(EINVAL)?);
        }
        Ok(asked)
    }

    /// Where the stack of the thread begins, and what it is told of it, if that is not the shell's: in its shell, unless
    /// the program gives another or wants a larger one.
    pub(crate) fn stack(&self, shell: &Shell) -> Option<(usize, Option<Stack>)> {
        const PAGE: usize = 4096;
        if self.given.is_null() {
            return Some((shell.stack_top, None));
        }
        let (mut lowest, mut size, mut guard) = (0_usize, 0_usize, 0_usize);
        // SAFETY: the program's attributes, and locals.
        unsafe {
            real!(c"pthread_attr_getstack", fn(*const c_void, *mut usize, *mut usize) -> c_int)(
                self.given,
                &raw mut lowest,
                &raw mut size,
            );
            real!(c"pthread_attr_getguardsize", fn(*const c_void, *mut usize) -> c_int)(
                self.given,
                &raw mut guard,
            );
        }
        let top = lowest.wrapping_add(size);
        if top != 0 {
            return Some((top, Some(Stack { top, size, guard: 0 })));
        }
        let guard = guard.next_multiple_of(PAGE);
        if size == 0 {
            size = shell::stack_size();
        }
        if size <= shell::stack_size() {
            let is_default = size == shell::stack_size() && guard == PAGE;
            let told = Stack { top: shell.stack_top.next_multiple_of(PAGE), size, guard };
            return Some((shell.stack_top, (!is_default).then_some(told)));
        }
        // SAFETY: new memory, whose lowest pages are a guard.
        unsafe {
            let flags = sys::MAP_PRIVATE | sys::MAP_ANONYMOUS | sys::MAP_NORESERVE | sys::MAP_STACK;
            let protection = sys::PROT_READ | sys::PROT_WRITE;
            let lowest = sys::mmap(std::ptr::null_mut(), size + guard, protection, flags, -1, 0);
            if lowest as isize == -1 || guard > 0 && sys::mprotect(lowest, guard, 0) != 0 {
                return None;
            }
            let top = lowest as usize + guard + size;
            Some((top, Some(Stack { top, size, guard })))
        }
    }
}

/// The signals that attributes have, if they do. C libraries before 2.32 have none.
fn signal_mask(attributes: *const c_void) -> Option<u64> {
    static GET: Real = Real::new(c"pthread_attr_getsigmask_np");
    let get = GET.address();
    if get.is_null() {
        return None;
    }
    let mut set = [0_u64; 16];
    // SAFETY: the C library's function of this name is of this type; a set has 128 bytes.
    let none = unsafe {
        let get: unsafe extern "C-unwind" fn(*const c_void, *mut [u64; 16]) -> c_int =
            std::mem::transmute(get);
        get(attributes, &raw mut set)
    };
    (none == 0).then_some(set[0])
}

/// `pthread_getattr_np`. What the C library knows is of the thread's shell.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_getattr_np(handle: usize, attributes: *mut c_void) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real!(c"pthread_getattr_np", fn(usize, *mut c_void) -> c_int)(handle, attributes) };
    if !is_on() || error != 0 {
        return error;
    }
    let Some(thread) = thread::find(handle) else { return ESRCH };
    let runtime = rt();
    let state = &runtime.threads[thread as usize];
    let (told, object) = (state.stack, state.object);
    let is_detached = runtime.object(object).word & DETACHED != 0;
    // SAFETY: the program's attributes, which the C library has filled in.
    unsafe {
        if let Some(Stack { top, size, guard }) = told {
            real!(c"pthread_attr_setstack", fn(*mut c_void, usize, usize) -> c_int)(
                attributes,
                top - size,
                size,
            );
            real!(c"pthread_attr_setguardsize", fn(*mut c_void, usize) -> c_int)(attributes, guard);
        }
        real!(c"pthread_attr_setdetachstate", fn(*mut c_void, c_int) -> c_int)(
            attributes,
            c_int::from(is_detached),
        );
    }
    0
}
