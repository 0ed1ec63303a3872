//! Freed memory: it rests for a while before it is used again, so that freeing it twice, and using it, is found.
//!
//! Memory is the C library's. What is freed is overwritten and kept in a queue of the last blocks; it goes back to the
//! C library when the queue is full. Which blocks are in it depends on the execution alone. What cannot be a block, by
//! where it is or by what the C library keeps before and after each, is not taken for one.
//!
//! Of what was given back the C library itself knows whether it has handed it out since, whoever has asked for it. Small
//! blocks it keeps in a cache, with a mark in each that it takes away when it hands one out: the mark is found out before
//! executions begin. All others it joins with their free neighbours, and notes behind each that it is free. A third way,
//! without any mark (*fast bins*), it is told not to use.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::memory;
use crate::protocol::{Op, access, op, stop};
use crate::runtime::{Phase, rt, visible};
use crate::site::{Frame, frame};
use crate::slot;
use crate::sys::{self, real};
use crate::told;

/// How many blocks rest, and how large each may be.
const BLOCKS: usize = 128;
const LARGEST: usize = 64 * 1024;
/// What freed memory is overwritten with: no pointer that can be followed, no plausible number.
pub(crate) const FREED: u8 = 0xDB;
/// For how many addresses it is remembered that a block was there and was given back, a power of two.
const REMEMBERED: usize = 8192;

struct Queue {
    blocks: [(usize, usize); BLOCKS],
    next: usize,
    /// Where blocks have been, from and to.
    span: (usize, usize),
    /// What was given back, each at a place by its address, over what was there before. It only tells what was freed twice
    /// from what has never been a block.
    given_back: [usize; REMEMBERED],
}
struct Shared(UnsafeCell<Queue>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Shared {}
static QUEUE: Shared = Shared(UnsafeCell::new(Queue {
    blocks: [(0, 0); BLOCKS],
    next: 0,
    span: (0, 0),
    given_back: [0; REMEMBERED],
}));

impl Queue {
    /// Whether a block rests that begins there.
    fn has(&self, address: usize) -> bool {
        self.blocks.iter().any(|(at, size)| *at == address && *size > 0)
    }

    /// Where it is remembered that the block at an address was given back.
    fn given_back(&mut self, address: usize) -> &mut usize {
        &mut self.given_back[address / 16 % REMEMBERED]
    }
}

fn queue() -> &'static mut Queue {
    // SAFETY: see `Shared`.
    unsafe { &mut *QUEUE.0.get() }
}

/// Whether an address is in memory that was freed.
#[inline]
pub(crate) fn is_freed(address: usize) -> bool {
    let queue = queue();
    (queue.span.0..queue.span.1).contains(&address)
        && queue.blocks.iter().any(|(at, size)| (*at..at + size).contains(&address))
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

/// Where the heap begins, at the earliest; 0 if it is not the C library's.
static LOWEST: AtomicUsize = AtomicUsize::new(0);

/// Finds the heap, which begins after the executable if it is the C library's.
pub(crate) fn prepare(end_of_executable: usize) {
    let found = |name: &CStr| {
        // SAFETY: a C string; a null handle means everything that is loaded.
        unsafe { sys::dlsym(std::ptr::null_mut(), name.as_ptr()) }
    };
    let own = found(c"__libc_malloc");
    if !own.is_null() && own == found(c"malloc") {
        LOWEST.store(end_of_executable, Ordering::Relaxed);
        // SAFETY: no thread has been created yet.
        if unsafe { sys::mallopt(M_MXFAST, 0) } != 0 && MARK.load(Ordering::Relaxed) == 0 {
            MARK.store(find_mark().unwrap_or(0), Ordering::Relaxed);
        }
    }
}

const M_MXFAST: c_int = 1;

/// What the C library has in the second word of each small block that it may hand out; 0 if that is not known.
static MARK: AtomicUsize = AtomicUsize::new(0);

/// Finds out the mark: what is there once a block is given back, and is taken away when the same block is handed out
/// again. Neither is so of what the C library writes into blocks that it does not mark.
fn find_mark() -> Option<usize> {
    const SMALL: usize = 24;
    // SAFETY: each block has more than two words. What is in it after it was given back is the C library's, and is only read.
    unsafe {
        let block = black_box(sys::malloc(SMALL)).cast::<usize>();
        if block.is_null() {
            return None;
        }
        block.add(1).write_volatile(0);
        give_back(black_box(block.cast()));
        let mark = block.add(1).read_volatile();
        let again = black_box(sys::malloc(SMALL)).cast::<usize>();
        let is_taken_away = again == block && block.add(1).read_volatile() == 0;
        give_back(black_box(again.cast()));
        (is_taken_away && mark != 0).then_some(mark)
    }
}

/// Whether the C library has marked a block in the heap: it was given back, and not handed out since.
fn is_marked(address: usize) -> bool {
    let mark = MARK.load(Ordering::Relaxed);
    // SAFETY: a block has more than two words.
    mark != 0 && unsafe { *((address + 8) as *const usize) } == mark
}

/// Whether there may be a block at an address, for all that is known.
#[derive(PartialEq, Eq)]
enum Block {
    InHeap,
    Elsewhere,
    /// There was one, and it is free.
    Freed,
    None,
}

fn examine(address: usize, frame: Frame) -> Block {
    if queue().has(address) {
        return Block::Freed;
    }
    match examine_memory(address, frame) {
        Block::InHeap if is_marked(address) => Block::Freed,
        // Whatever it is now, it is no block any more.
        Block::None if *queue().given_back(address) == address => Block::Freed,
        found => found,
    }
}

/// The same by where it is, and by what the C library keeps around blocks.
fn examine_memory(address: usize, frame: Frame) -> Block {
    const HEAD: usize = 16;
    const SMALLEST: usize = 32;
    const BEFORE_IN_USE: usize = 1;
    const MAPPED: usize = 2;
    let lowest = LOWEST.load(Ordering::Relaxed);
    if lowest == 0 {
        return Block::InHeap;
    }
    let runtime = rt();
    let stack = frame.stack..runtime.threads[runtime.current as usize].stack_top;
    if !address.is_multiple_of(HEAD) || address < lowest + HEAD || stack.contains(&address) {
        return Block::None;
    }
    // SAFETY: takes nothing.
    let end = unsafe { sys::sbrk(0) as usize };
    if address >= end && *queue().given_back(address) == address {
        // Of the heap that was, which the C library has given back to the system.
        return Block::None;
    }
    // SAFETY: what is before a block of the C library's is its size and flags. If that cannot be read, there is no block, and to
    // free it would be a crash too.
    let word = unsafe { *((address - 8) as *const usize) };
    if address >= end || word & MAPPED != 0 {
        return Block::Elsewhere;
    }
    let size = word & !7;
    let next = (address - HEAD).saturating_add(size);
    let plausible = size >= SMALLEST && size.is_multiple_of(HEAD) && next + HEAD <= end;
    // SAFETY: within the heap.
    if plausible && unsafe { *((next + 8) as *const usize) } & BEFORE_IN_USE != 0 {
        Block::InHeap
    } else {
        Block::None
    }
}

/// The objects in a block that is freed end with it: each is an operation of its own, as if it was destroyed, so that it is
/// seen in every order with other uses. Many are never destroyed by a call: of a `std::mutex` nothing is seen. Says whether
/// there are any.
fn end_objects(block: *mut c_void, frame: Frame) -> bool {
    let runtime = rt();
    if runtime.thread_count == 1 || runtime.threads[runtime.current as usize].atomic > 0 {
        return false;
    }
    // SAFETY: a block of the C library's, in use.
    let size = unsafe { sys::malloc_usable_size(block) };
    let mut found = false;
    for offset in (0..size.min(LARGEST)).step_by(4) {
        if let Some(object) = slot::object_by(block.cast::<u8>().wrapping_add(offset).cast()) {
            visible(Op::on(op::DESTROY, access::WRITE, object), frame);
            found = true;
        }
    }
    found
}

/// Takes a block out of use. Says whether the C library is to have it back now.
fn retire(block: *mut c_void, frame: Frame) -> bool {
    let address = block as usize;
    let mut found = examine(address, frame);
    if found == Block::InHeap && end_objects(block, frame) {
        // Others have run meanwhile.
        found = examine(address, frame);
    }
    if found == Block::Freed {
        told::stale(address);
        rt().stop(stop::DOUBLE_FREE, frame, &[b"memory is freed that was freed before"]);
    }
    if found == Block::None {
        let message: &[&[u8]] =
            &[b"memory is freed that is no block of malloc's, or what is around it was overwritten"];
        rt().stop(stop::MISUSE, frame, message);
    }
    // SAFETY: a block of the C library's, in use.
    let size = unsafe { sys::malloc_usable_size(block) };
    memory::retire(address, size, frame);
    told::freed(address, size, frame);
    if found == Block::Elsewhere {
        return true;
    }
    if size > LARGEST || size == 0 {
        *queue().given_back(address) = address;
        return true;
    }
    // SAFETY: the whole of the block.
    unsafe { std::ptr::write_bytes(block.cast::<u8>(), FREED, size) };
    let queue = queue();
    queue.span = match queue.span {
        (0, 0) => (address, address + size),
        (from, to) => (from.min(address), to.max(address + size)),
    };
    let (old, _) = std::mem::replace(&mut queue.blocks[queue.next], (address, size));
    queue.next = (queue.next + 1) % BLOCKS;
    if old != 0 {
        *queue.given_back(old) = old;
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
        if examine(block as usize, frame) == Block::Freed {
            told::stale(block as usize);
            rt().stop(stop::USE_AFTER_FREE, frame, &[b"memory is resized after it was freed"]);
        }
        if size == 0 {
            // As the C library does.
            if retire(block, frame) {
                // SAFETY: the program's block.
                unsafe { give_back(block) };
            }
            return std::ptr::null_mut();
        }
        // SAFETY: a block of the C library's, in use; a new one is as large as asked for.
        unsafe {
            let old = sys::malloc_usable_size(block);
            if size <= old && old <= 2 * size {
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
