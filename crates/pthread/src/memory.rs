//! Accesses to memory, in programs that are compiled for it: which object an address is.
//!
//! Atomic operations are on the object at their address. Where those of different addresses overlap (a word, and a byte within
//! it), that would be two objects, and it would not be seen that the order of the two operations matters. Which comes first
//! depends on the schedule, so they cannot be made one when it is found out; the search is begun anew, and from then on all
//! atomics within eight bytes are one object, or within sixteen where one is as large.
//!
//! Plain accesses are on *cells*: an address with a size. Two
//! accesses of different sizes that overlap are on two cells, and each is noted for both once both are known. So two
//! variables that are neighbours are never taken for one; a race between accesses of different sizes may be missed the
//! first time.
//!
//! An atomic access races with a plain one as another plain one would, but not with an atomic one. So it is noted for the
//! cell too, as long as no other thread's atomic access is, up to the next plain write: such a race may be missed in an
//! execution in which several threads have been at the atomic, and is found in one in which the other was first. It is
//! noted before its step: whatever it publishes comes with it. In race mode, whichever of the two comes second is an
//! operation on both objects.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ops::Range;

use crate::heap;
use crate::protocol::{Op, access, head, how, object, op, stop, tag};
use crate::runtime::{Phase, rt, visible};
use crate::site::{Frame, frame};
use crate::spin;
use crate::sys::real;
use crate::told;

const BUCKETS: usize = 1 << 16;
const CELLS: usize = 1 << 18;

#[derive(Clone, Copy)]
struct Cell {
    address: usize,
    /// 0 for an atomic object.
    size: u32,
    /// The size of the largest atomic access here.
    atomic_size: u32,
    object: u32,
    /// The next in the same bucket, plus 1.
    next: u32,
    /// The last access that was noted: its thread plus 1, and whether it wrote.
    last_thread: u32,
    last_wrote: bool,
    /// There was a plain access.
    is_plain: bool,
    /// The thread whose atomic accesses are noted, plus 1.
    atomic_by: u32,
    /// Before what was published next, counted.
    last_step: u32,
}

struct Table {
    buckets: [u32; BUCKETS],
    cells: [Cell; CELLS],
    count: usize,
    /// There is an atomic of sixteen bytes.
    has_wide: bool,
}
struct Shared(UnsafeCell<Table>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Shared {}

const NO_CELL: Cell = Cell {
    address: 0,
    size: 0,
    atomic_size: 0,
    object: 0,
    next: 0,
    last_thread: 0,
    last_wrote: false,
    is_plain: false,
    atomic_by: 0,
    last_step: 0,
};
static TABLE: Shared = Shared(UnsafeCell::new(Table {
    buckets: [0; BUCKETS],
    cells: [NO_CELL; CELLS],
    count: 0,
    has_wide: false,
}));

/// Where what is kept here is.
pub(crate) fn memory() -> std::ops::Range<usize> {
    let at = TABLE.0.get() as usize;
    at..at + size_of::<Table>()
}

fn table() -> &'static mut Table {
    // SAFETY: see `Shared`.
    unsafe { &mut *TABLE.0.get() }
}

/// The bucket of eight bytes.
fn bucket(address: usize) -> usize {
    // Neighbours share a page of the table, so that a small program touches little of it.
    (address >> 3 ^ address >> 19) % BUCKETS
}

impl Table {
    fn find(&self, address: usize, size: u32) -> Option<usize> {
        let mut at = self.buckets[bucket(address)];
        while at != 0 {
            let cell = &self.cells[at as usize - 1];
            if cell.address == address && cell.size == size {
                return Some(at as usize - 1);
            }
            at = cell.next;
        }
        None
    }

    /// The atomics in the bucket of an address.
    fn atomics(&self, address: usize) -> impl Iterator<Item = &Cell> {
        let cell = |at: u32| (at as usize).checked_sub(1).map(|index| &self.cells[index]);
        let in_bucket =
            std::iter::successors(cell(self.buckets[bucket(address)]), move |last| cell(last.next));
        in_bucket.filter(|cell| cell.size == 0)
    }

    /// The atomics that some of these bytes are within, which are within sixteen.
    fn atomics_within(&self, address: usize, size: usize) -> impl Iterator<Item = &Cell> {
        let halves = if self.has_wide || size > 8 { 2 } else { 1 };
        let first = if halves == 2 { address & !(WIDE - 1) } else { address };
        let near = (0..halves).flat_map(move |half| self.atomics(first + 8 * half));
        near.filter(move |cell| {
            cell.address < address + size && address < cell.address + cell.atomic_size as usize
        })
    }

    fn add(&mut self, address: usize, size: u32, kind: u8, frame: Frame) -> usize {
        let index = self.count;
        if index == CELLS {
            rt().stop(stop::UNSUPPORTED, frame, &[b"an execution touches more than 262,144 variables"]);
        }
        self.count += 1;
        let object = rt().new_object(kind, 0, address);
        let bucket = bucket(address);
        self.cells[index] = Cell { address, size, object, next: self.buckets[bucket], ..NO_CELL };
        self.buckets[bucket] = index as u32 + 1;
        index
    }
}

impl Cell {
    /// Whether it is for plain accesses, and has some of these bytes.
    fn overlaps(&self, address: usize, size: u32) -> bool {
        self.size > 0 && self.address < address + size as usize && address < self.address + self.size as usize
    }
}

/// The size of the largest atomics.
const WIDE: usize = 16;

/// The object of the atomic of so many bytes at an address.
pub(crate) fn atomic(address: usize, size: usize, frame: Frame) -> u32 {
    // Within so many bytes they are one; none has more.
    let together = rt().atomics_together.max(1);
    let address = address & !(together - 1);
    let table = table();
    let index = table.find(address, 0).unwrap_or_else(|| table.add(address, 0, object::ATOMIC, frame));
    let cell = &mut table.cells[index];
    let (object, size) = (cell.object, size.max(together) as u32);
    if cell.atomic_size < size {
        cell.atomic_size = size;
        spin::is_shared(address, size as usize);
        table.has_wide |= size > 8;
        let overlapping = table.atomics_within(address, size as usize).filter(|cell| cell.object != object);
        if let Some(largest) = overlapping.map(|other| other.atomic_size.max(size)).max() {
            let which = if largest > 8 { stop::MIXED_IN_16 } else { stop::MIXED_IN_8 };
            rt().stop(which, frame, &[b"atomic operations of different sizes overlap"]);
        }
    }
    object
}

/// An atomic access is about to be made, which would write now, or not.
pub(crate) fn atomic_access(address: usize, size: usize, kind: u8, writes: bool, order: u8, frame: Frame) {
    let object = atomic(address, size, frame);
    let how = if kind == op::LOAD { access::READ } else { access::WRITE };
    let mut operation = Op::on(kind, how, object).ordered(order);
    if rt().phase == Phase::Running && rt().thread_count > 1 {
        // Sixteen bytes are two cells, of which one can be named in an operation.
        let halves = (0..size).step_by(8).map(|half| (address + half, (size - half).min(8) as u32));
        let plain = halves.fold(None, |plain, (at, size)| plain.or(note_atomic(at, size, writes, frame)));
        if let Some(plain) = plain.filter(|_| rt().race_mode) {
            operation = operation.with(plain);
        }
    }
    visible(operation, frame);
    look_for_freed(address, writes, frame);
}

/// Notes an atomic access for those who access the same bytes otherwise. Says for which object there is one who does.
fn note_atomic(address: usize, size: u32, writes: bool, frame: Frame) -> Option<u32> {
    let table = table();
    if table.find(address, size).is_none() {
        table.add(address, size, object::CELL, frame);
    }
    let me = rt().current + 1;
    let mut plain = None;
    let mut at = table.buckets[bucket(address)];
    while at != 0 {
        let cell = &mut table.cells[at as usize - 1];
        at = cell.next;
        if !cell.overlaps(address, size) {
            continue;
        }
        if cell.is_plain {
            plain = Some(cell.object);
        }
        if cell.atomic_by == 0 || cell.atomic_by == me {
            cell.atomic_by = me;
            note(cell, me, how(writes), frame);
        }
    }
    plain
}

/// Notes an access to a cell, unless it was noted since anything was last published.
fn note(cell: &mut Cell, me: u32, how: u64, frame: Frame) {
    let (step, writes) = (rt().published, how != how::READS);
    if cell.last_thread == me && cell.last_step == step && (cell.last_wrote || !writes) {
        return;
    }
    (cell.last_thread, cell.last_step, cell.last_wrote) = (me, step, writes);
    told::calls(rt(), frame);
    rt().log([head(tag::ACCESS, 0), u64::from(cell.object), how, frame.call as u64, 0, 0, 0, 0]);
}

fn how(writes: bool) -> u64 {
    if writes { how::WRITES } else { how::READS }
}

/// An access to memory that was freed is a violation.
#[inline]
fn look_for_freed(address: usize, writes: bool, frame: Frame) {
    if heap::is_freed(address) {
        let what: &[u8] = if writes {
            b"memory is written after it was freed"
        } else {
            b"memory is read after it was freed"
        };
        told::stale(address);
        rt().stop(stop::USE_AFTER_FREE, frame, &[what]);
    }
}

/// A plain access.
#[inline]
pub(crate) fn access(address: usize, size: usize, writes: bool, frame: Frame) {
    pieces(address, size, writes, usize::MAX, frame);
}

/// So much of a range is noted.
const NOTED: usize = 4096;

/// An access to many bytes, as by `memcpy`. In race mode it is one step; of a large range the beginning is noted.
pub(crate) fn range(address: usize, size: usize, writes: bool, frame: Frame) {
    pieces(address, size.min(NOTED), writes, 1, frame);
}

/// Accesses in pieces that are within eight bytes, of which the first ones are steps in race mode.
#[inline]
fn pieces(address: usize, size: usize, writes: bool, steps: usize, frame: Frame) {
    let runtime = rt();
    if runtime.phase != Phase::Running {
        return;
    }
    // What comes before the first thread is created happens before everything that it does.
    let is_alone = runtime.thread_count == 1;
    let (mut at, end, mut number) = (address, address.saturating_add(size), 0);
    while at < end {
        let piece = (end - at).min(8 - at % 8);
        look_for_freed(at, writes, frame);
        if !is_alone {
            access_piece(at, piece as u32, writes, number < steps, frame);
        }
        at += piece;
        number += 1;
    }
}

fn access_piece(address: usize, size: u32, writes: bool, may_be_step: bool, frame: Frame) {
    let table = table();
    let index = table.find(address, size).unwrap_or_else(|| table.add(address, size, object::CELL, frame));
    table.cells[index].is_plain = true;
    let runtime = rt();
    if writes {
        spin::writes(address, size as usize, frame);
    }
    let alone = runtime.threads[runtime.current as usize].atomic > 0;
    let is_step = may_be_step && runtime.race_mode && !alone;
    let may_wait = !(is_step || writes || alone);
    if may_wait && spin::reads(table.cells[index].object, frame) {
        look_for_freed(address, writes, frame);
    }
    if is_step {
        let (kind, how) = if writes { (op::WRITE, access::WRITE) } else { (op::READ, access::READ) };
        let operation = Op::on(kind, how, table.cells[index].object);
        let beside = table.atomics_within(address, size as usize).next().map(|cell| cell.object);
        visible(beside.map_or(operation, |atomic| operation.with(atomic)), frame);
        look_for_freed(address, writes, frame);
    }
    let me = rt().current + 1;
    let mut at = table.buckets[bucket(address)];
    while at != 0 {
        let other = at as usize - 1;
        let cell = &mut table.cells[other];
        at = cell.next;
        if !cell.overlaps(address, size) {
            continue;
        }
        if writes {
            cell.atomic_by = 0;
        }
        // In race mode the step itself is the access.
        if !is_step || other != index {
            note(cell, me, how(writes), frame);
        }
    }
}

/// The memory is given back, which is as good as written, and what it is used for next is something else.
pub(crate) fn retire(address: usize, size: usize, frame: Frame) {
    let count = table().count;
    let range = address..address.saturating_add(size);
    if size / 8 <= count {
        let first = address & !7;
        (first..range.end).step_by(8).for_each(|at| retire_at(at, &range, frame));
    } else {
        // There are fewer cells than places for them.
        for index in 0..count {
            let at = table().cells[index].address;
            if range.contains(&at) {
                retire_at(at, &range, frame);
            }
        }
    }
}

/// The same for what is in the bucket of an address.
fn retire_at(at: usize, range: &Range<usize>, frame: Frame) {
    let table = table();
    let bucket = bucket(at);
    let (mut before, mut index) = (0, table.buckets[bucket]);
    while index != 0 {
        let cell = table.cells[index as usize - 1];
        if range.contains(&cell.address) {
            match before {
                0 => table.buckets[bucket] = cell.next,
                _ => table.cells[before as usize - 1].next = cell.next,
            }
            if cell.size > 0 {
                note(&mut table.cells[index as usize - 1], rt().current + 1, how::FREES, frame);
                rt().log([head(tag::RETIRE, 0), u64::from(cell.object), 0, 0, 0, 0, 0, 0]);
            }
        } else {
            before = index;
        }
        index = cell.next;
    }
}

/// Memory that the program has mapped itself is mapped no longer.
fn unmapped(address: *mut c_void, size: usize, frame: Frame) {
    if rt().phase == Phase::Running {
        retire(address as usize, size, frame);
    }
}

/// `munmap`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn munmap(address: *mut c_void, size: usize) -> c_int {
    unmapped(address, size, frame!());
    // SAFETY: passed on.
    unsafe { real!(c"munmap", fn(*mut c_void, usize) -> c_int)(address, size) }
}

/// `mremap`; an argument that is optional is passed on either way.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mremap(
    address: *mut c_void,
    size: usize,
    new_size: usize,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    unmapped(address, size, frame!());
    // SAFETY: passed on.
    unsafe {
        real!(c"mremap", fn(*mut c_void, usize, usize, c_int, *mut c_void) -> *mut c_void)(
            address,
            size,
            new_size,
            flags,
            new_address,
        )
    }
}
