//! Where in the program an operation is.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the program has called the runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The address to which the call returns.
    pub(crate) call: usize,
    /// The frame of the caller, if the caller has one.
    pub(crate) outer: usize,
    /// From where on the stack is the caller's.
    pub(crate) stack: usize,
}

/// The frame of the function that this is written in. It must be one that the program calls.
macro_rules! frame {
    () => {{
        let frame: usize;
        #[allow(unused_unsafe, reason = "some callers are in an unsafe block already")]
        // SAFETY: reads a register. The runtime is compiled with frame pointers.
        unsafe { std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
        $crate::site::Frame::of(frame)
    }};
}
pub(crate) use frame;

/// The code of the executable itself, from and to; set once, before there are threads.
static CODE: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

pub(crate) fn set_code(from: usize, to: usize) {
    CODE[0].store(from, Ordering::Relaxed);
    CODE[1].store(to, Ordering::Relaxed);
}

/// The code of the library that unwinds stacks, from and to. The locks that it takes and gives back at once are no
/// business of the program's: nothing happens while one is held.
static UNWINDER: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

pub(crate) fn set_unwinder(from: usize, to: usize) {
    UNWINDER[0].store(from, Ordering::Relaxed);
    UNWINDER[1].store(to, Ordering::Relaxed);
}

/// How many words above the frame are looked at for a return address into the executable.
const LOOKED_AT: usize = 96;

impl Frame {
    /// No place.
    pub(crate) const NONE: Frame = Frame { call: 0, outer: 0, stack: 0 };

    /// The caller of the function with this frame.
    #[inline(always)]
    pub(crate) fn of(frame: usize) -> Self {
        // SAFETY: the frame is that of a running function, which has saved its caller's frame and where to return.
        let (outer, call) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        Frame { call, outer, stack: frame + 16 }
    }

    /// Whether the unwinder calls: its locks are the C library's own.
    #[inline]
    pub(crate) fn is_unwinder(self) -> bool {
        (UNWINDER[0].load(Ordering::Relaxed)..UNWINDER[1].load(Ordering::Relaxed)).contains(&self.call)
    }

    /// The place of the call, and those of the calls around it as far as they are easily found: in the executable if
    /// the call is from a library, and along the frame pointers if there are any. Zero where there is none.
    pub(crate) fn places<const N: usize>(self, stack_top: usize) -> [u64; N] {
        let mut places = [0; N];
        if self.call == 0 {
            return places;
        }
        places[0] = self.call as u64;
        let mut count = 1;
        let code = CODE[0].load(Ordering::Relaxed)..CODE[1].load(Ordering::Relaxed);
        if !code.contains(&self.call) {
            let words = (0..LOOKED_AT).map(|index| self.stack + 8 * index);
            for at in words.take_while(|at| at + 8 <= stack_top) {
                // SAFETY: on the thread's stack, between the caller's frame and its beginning.
                let word = unsafe { *(at as *const usize) };
                if code.contains(&word) && follows_a_call(word, code.start) {
                    places[count] = word as u64;
                    count += 1;
                    break;
                }
            }
        }
        let (mut inner, mut outer) = (self.stack.saturating_sub(16), self.outer);
        while count < N && outer > inner && outer + 16 <= stack_top && outer.is_multiple_of(8) {
            // SAFETY: as above.
            let (next, call) = unsafe { (*(outer as *const usize), *((outer + 8) as *const usize)) };
            if !code.contains(&call) {
                break;
            }
            if call as u64 != places[count - 1] {
                places[count] = call as u64;
                count += 1;
            }
            (inner, outer) = (outer, next);
        }
        places
    }
}

/// Whether the instruction before this address, in the code of the executable, is a call.
fn follows_a_call(address: usize, start: usize) -> bool {
    if address < start + 7 {
        return false;
    }
    // SAFETY: within the code of the executable, which can be read.
    let byte = |back: usize| unsafe { *((address - back) as *const u8) };
    // call rel32; call r/m64 in its lengths
    byte(5) == 0xE8 || (2..8).any(|back| byte(back) == 0xFF && byte(back - 1) >> 3 & 7 == 2)
}
