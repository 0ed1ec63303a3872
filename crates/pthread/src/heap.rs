//! Freed memory: it rests for a while before it is used again, so that freeing it twice, and using it, is found.
//!
//! Memory is the C library's. What is freed is overwritten and kept in a queue of the last blocks; it goes back to the
//! C library when the queue is full. Which blocks are in it depends on the execution alone.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::memory;
use crate::protocol::stop;
use crate::runtime::{Phase, rt};
use crate::site::{Frame, frame};
use crate::sys::{self, real};

/// How many blocks rest, and how large each may be.
const BLOCKS: usize = 128;
const LARGEST: usize = 64 * 1024;
/// What freed memory is overwritten with: no pointer that can be followed, no plausible number.
const FREED: u8 = 0xDB;

struct Queue {
    blocks: [(usize, usize); BLOCKS],
    next: usize,
}
struct Shared(UnsafeCell<Queue>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Shared {}
static QUEUE: Shared = Shared(UnsafeCell::new(Queue { blocks: [(0, 0); BLOCKS], next: 0 }));

fn queue() -> &'static mut Queue {
    // SAFETY: see `Shared`.
    unsafe { &mut *QUEUE.0.get() }
}

/// The freed block that an address is in.
pub(crate) fn freed_block(address: usize) -> Option<(usize, usize)> {
    queue().blocks.iter().copied().find(|(at, size)| (*at..at + size).contains(&address))
}

/// The C library's `free`. To look that up may free what the lookup before has left, which is then lost: it is a message
/// of some bytes, once.
///
/// # Safety
/// As the C library's.
pub(crate) unsafe fn give_back(block: *mut c_void) {
    static LOOKS: AtomicBool = AtomicBool::new(false);
    static FOUND: AtomicBool = AtomicBool::new(false);
    if !FOUND.load(Ordering::Relaxed) && LOOKS.swap(true, Ordering::Relaxed) {
        return;
    }
    let free = real!(c"free", fn(*mut c_void));
    FOUND.store(true, Ordering::Relaxed);
    // SAFETY: passed on.
    unsafe { free(block) };
}

/// Takes a block out of use. Says whether the C library is to have it back now.
fn retire(block: *mut c_void, frame: Frame) -> bool {
    let address = block as usize;
    if queue().blocks.iter().any(|(at, size)| *at == address && *size > 0) {
        rt().stop(stop::DOUBLE_FREE, frame, address, &[b"memory is freed that was freed before"]);
    }
    // SAFETY: a block of the C library's, in use.
    let size = unsafe { sys::malloc_usable_size(block) };
    memory::retire(address, size);
    if size > LARGEST || size == 0 {
        return true;
    }
    // SAFETY: the whole of the block.
    unsafe { std::ptr::write_bytes(block.cast::<u8>(), FREED, size) };
    let queue = queue();
    let (old, _) = std::mem::replace(&mut queue.blocks[queue.next], (address, size));
    queue.next = (queue.next + 1) % BLOCKS;
    if old != 0 {
        // SAFETY: it was freed by the program, and not given back since.
        unsafe { give_back(old as *mut c_void) };
    }
    false
}

/// `free`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn free(block: *mut c_void) {
    if block.is_null() || rt().phase == Phase::Running && !retire(block, frame!()) {
        return;
    }
    // SAFETY: passed on.
    unsafe { give_back(block) };
}

/// `realloc`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !block.is_null() && rt().phase == Phase::Running {
        let frame = frame!();
        if queue().blocks.iter().any(|(at, size)| *at == block as usize && *size > 0) {
            rt().stop(
                stop::USE_AFTER_FREE,
                frame,
                block as usize,
                &[b"memory is resized after it was freed"],
            );
        }
        // SAFETY: a block of the C library's, in use; a new one is as large as asked for.
        unsafe {
            let old = sys::malloc_usable_size(block);
            if size > 0 && size <= old && old <= 2 * size {
                return block;
            }
            let new = sys::malloc(size);
            if new.is_null() {
                return new;
            }
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
            if retire(block, frame) {
                give_back(block);
            }
            return new;
        }
    }
    // SAFETY: passed on.
    unsafe { real!(c"realloc", fn(*mut c_void, usize) -> *mut c_void)(block, size) }
}
