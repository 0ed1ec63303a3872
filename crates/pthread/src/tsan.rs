//! What the compiler's thread-sanitizer instrumentation calls: every access to memory, and every atomic operation.
//!
//! Atomic operations are operations on the object at their address, with the memory order that the program asks for; the
//! values are sequentially consistent. Plain accesses are noted for the race detector, and are scheduling points in race
//! mode. Outside of a check the functions do what the program would have done without instrumentation.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::memory;
use crate::protocol::{access, head, leaning, note, op, order, tag};
use crate::runtime::{Phase, is_on, rt};
use crate::site::{Frame, frame};
use crate::spin;
use crate::spurious::{self, Spurious, Surprise};
use crate::verifier;

/// The order of the compiler's number: relaxed, consume, acquire, release, both, sequentially consistent.
fn engine_order(number: c_int) -> u8 {
    match number & 0xF {
        1 | 2 => order::ACQUIRE,
        3 => order::RELEASE,
        4 => order::ACQ_REL,
        5 => order::SEQ_CST,
        _ => order::RELAXED,
    }
}

/// Sixteen bytes with atomic operations, of which the low half is shown.
#[repr(C, align(16))]
pub(crate) struct AtomicU128(UnsafeCell<u128>);

impl AtomicU128 {
    fn compare_exchange(&self, expected: u128, new: u128, _: Ordering, _: Ordering) -> Result<u128, u128> {
        // SAFETY: the program's atomic, aligned as the compiler aligns it. Every processor of x86_64 but the first few
        // has the instruction, and a program with such atomics needs it too.
        let before = unsafe { exchange_16_bytes(self.0.get(), expected, new) };
        if before == expected { Ok(before) } else { Err(before) }
    }

    fn load(&self, order: Ordering) -> u128 {
        self.compare_exchange(0, 0, order, order).unwrap_or_else(|value| value)
    }

    fn update(&self, new: impl Fn(u128) -> u128) -> u128 {
        let mut before = self.load(Ordering::SeqCst);
        loop {
            match self.compare_exchange(before, new(before), Ordering::SeqCst, Ordering::SeqCst) {
                Ok(value) => return value,
                Err(value) => before = value,
            }
        }
    }

    fn store(&self, value: u128, order: Ordering) {
        self.swap(value, order);
    }

    fn swap(&self, value: u128, _: Ordering) -> u128 {
        self.update(|_| value)
    }

    fn fetch_add(&self, value: u128, _: Ordering) -> u128 {
        self.update(|before| before.wrapping_add(value))
    }

    fn fetch_sub(&self, value: u128, _: Ordering) -> u128 {
        self.update(|before| before.wrapping_sub(value))
    }

    fn fetch_and(&self, value: u128, _: Ordering) -> u128 {
        self.update(|before| before & value)
    }

    fn fetch_or(&self, value: u128, _: Ordering) -> u128 {
        self.update(|before| before | value)
    }

    fn fetch_xor(&self, value: u128, _: Ordering) -> u128 {
        self.update(|before| before ^ value)
    }

    fn fetch_nand(&self, value: u128, _: Ordering) -> u128 {
        self.update(|before| !(before & value))
    }
}

/// Puts new bytes in the place of the expected ones, and gives those that were there.
///
/// # Safety
/// The place is the program's, and aligned.
unsafe fn exchange_16_bytes(at: *mut u128, expected: u128, new: u128) -> u128 {
    let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
    // SAFETY: the caller's. The register rbx, which the compiler keeps for itself, is as it was at the end.
    unsafe {
        std::arch::asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

/// Stops before an atomic operation on so many bytes, which would write now, or not.
fn atomic(kind: u8, writes: bool, address: usize, size: usize, number: c_int, frame: Frame) {
    if is_on() {
        memory::atomic_access(address, size, kind, writes, engine_order(number), frame);
        is_ordered(number);
    }
}

/// The step under way is ordered like this, and that it is sequentially consistent all the same is taken for granted.
fn is_ordered(number: c_int) {
    if engine_order(number) != order::SEQ_CST {
        rt().leans(leaning::WEAK_ORDER);
    }
}

fn saw(value: u64) {
    if is_on() {
        (rt().note, rt().number) = (note::NUMBER, value);
    }
}

fn changed(before: u128, after: u128) {
    if is_on() {
        // Of sixteen bytes the half that is changed is shown.
        let half = if before != after && before as u64 == after as u64 { 64 } else { 0 };
        (rt().note, rt().number, rt().number_after) =
            (note::CHANGED, (before >> half) as u64, (after >> half) as u64);
    }
}

macro_rules! plain {
    ($($name:ident: $size:literal, $writes:literal;)*) => {$(
        /// A plain access.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(address: *mut c_void) {
            if is_on() {
                memory::access(address as usize, $size, $writes, frame!());
            }
        }
    )*};
}

plain! {
    __tsan_read1: 1, false;
    __tsan_read2: 2, false;
    __tsan_read4: 4, false;
    __tsan_read8: 8, false;
    __tsan_read16: 16, false;
    __tsan_write1: 1, true;
    __tsan_write2: 2, true;
    __tsan_write4: 4, true;
    __tsan_write8: 8, true;
    __tsan_write16: 16, true;
    __tsan_unaligned_read2: 2, false;
    __tsan_unaligned_read4: 4, false;
    __tsan_unaligned_read8: 8, false;
    __tsan_unaligned_read16: 16, false;
    __tsan_unaligned_write2: 2, true;
    __tsan_unaligned_write4: 4, true;
    __tsan_unaligned_write8: 8, true;
    __tsan_unaligned_write16: 16, true;
    __tsan_volatile_read1: 1, false;
    __tsan_volatile_read2: 2, false;
    __tsan_volatile_read4: 4, false;
    __tsan_volatile_read8: 8, false;
    __tsan_volatile_read16: 16, false;
    __tsan_volatile_write1: 1, true;
    __tsan_volatile_write2: 2, true;
    __tsan_volatile_write4: 4, true;
    __tsan_volatile_write8: 8, true;
    __tsan_volatile_write16: 16, true;
    __tsan_vptr_read: 8, false;
    // What only clang calls: a place that is read and written, volatile places that need not be aligned, and accesses
    // that are told with their place in the program, which is where they return to anyway.
    __tsan_read_write1: 1, true;
    __tsan_read_write2: 2, true;
    __tsan_read_write4: 4, true;
    __tsan_read_write8: 8, true;
    __tsan_read_write16: 16, true;
    __tsan_unaligned_read_write2: 2, true;
    __tsan_unaligned_read_write4: 4, true;
    __tsan_unaligned_read_write8: 8, true;
    __tsan_unaligned_read_write16: 16, true;
    __tsan_unaligned_volatile_read2: 2, false;
    __tsan_unaligned_volatile_read4: 4, false;
    __tsan_unaligned_volatile_read8: 8, false;
    __tsan_unaligned_volatile_read16: 16, false;
    __tsan_unaligned_volatile_write2: 2, true;
    __tsan_unaligned_volatile_write4: 4, true;
    __tsan_unaligned_volatile_write8: 8, true;
    __tsan_unaligned_volatile_write16: 16, true;
    __tsan_read1_pc: 1, false;
    __tsan_read2_pc: 2, false;
    __tsan_read4_pc: 4, false;
    __tsan_read8_pc: 8, false;
    __tsan_read16_pc: 16, false;
    __tsan_write1_pc: 1, true;
    __tsan_write2_pc: 2, true;
    __tsan_write4_pc: 4, true;
    __tsan_write8_pc: 8, true;
    __tsan_write16_pc: 16, true;
}

/// The pointer to a virtual table is written.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_vptr_update(address: *mut *mut c_void, new: *mut c_void) {
    // SAFETY: the compiler gives the pointer's address. Writing what is there already changes nothing: a destructor.
    if is_on() && unsafe { *address } != new {
        memory::access(address as usize, 8, true, frame!());
    }
}

/// A range is read.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_read_range(address: *mut c_void, size: usize) {
    if is_on() {
        memory::range(address as usize, size, false, frame!());
    }
}

/// A range is written.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_write_range(address: *mut c_void, size: usize) {
    if is_on() {
        memory::range(address as usize, size, true, frame!());
    }
}

/// Code that is instrumented is there.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_init() {
    rt().is_instrumented = true;
}

/// A function begins: of interest if it is an atomic section by its name.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_func_entry(returns_to: *mut c_void) {
    let frame = frame!();
    spin::enters(frame, returns_to as usize);
    if verifier::is_in_section(frame) {
        verifier::enter_section(frame);
    }
}

/// It ends.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_func_exit() {
    let frame = frame!();
    if verifier::is_in_section(frame) {
        verifier::leave_section(frame);
    }
}

/// A fence.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_atomic_thread_fence(number: c_int) {
    if rt().phase == Phase::Running {
        rt().published += 1;
        is_ordered(number);
        rt().log([head(tag::FENCE, 0), u64::from(engine_order(number)), 0, 0, 0, 0, 0, 0]);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// A fence against signal handlers.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_atomic_signal_fence(_: c_int) {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

macro_rules! update {
    ($atomic:ty, $number:ty, $($name:ident: $method:ident, $new:expr;)*) => {$(
        /// An atomic read-modify-write.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(at: *const $atomic, value: $number, order: c_int) -> $number {
            atomic(op::RMW, true, at as usize, size_of::<$number>(), order, frame!());
            // SAFETY: the program's atomic.
            let before = unsafe { (*at).$method(value, Ordering::SeqCst) };
            let new: fn($number, $number) -> $number = $new;
            changed(before as u128, new(before, value) as u128);
            before
        }
    )*};
}

/// Compare-exchanges that say whether they exchanged. Weak ones may fail for no reason.
macro_rules! compare_exchange {
    ($atomic:ty, $number:ty, $($name:ident: $is_weak:literal),*) => {$(
        /// An atomic compare-exchange, which says whether it exchanged.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(
            at: *const $atomic,
            expected: *mut $number,
            new: $number,
            order: c_int,
            failure: c_int,
        ) -> c_int {
            let frame = frame!();
            let surprise = if $is_weak && is_on() {
                spurious::decides(Spurious::Failure, frame)
            } else {
                Surprise::No
            };
            if surprise == Surprise::Yes {
                atomic(op::LOAD, false, at as usize, size_of::<$number>(), failure, frame);
                is_ordered(order);
                // SAFETY: the program's atomic, and what it expects.
                unsafe { *expected = (*at).load(Ordering::SeqCst) };
                // SAFETY: as above.
                saw(unsafe { *expected } as u64);
                return 0;
            }
            // SAFETY: the program's atomic, and what it expects.
            let writes = unsafe { (*at).load(Ordering::SeqCst) == *expected };
            atomic(op::COMPARE_EXCHANGE, writes, at as usize, size_of::<$number>(), order, frame);
            // SAFETY: as above.
            let result =
                unsafe { (*at).compare_exchange(*expected, new, Ordering::SeqCst, Ordering::SeqCst) };
            compared(result.map(|before| before as u128).map_err(|before| before as u64), new as u128, failure);
            if let Err(before) = result {
                // SAFETY: as above.
                unsafe { *expected = before };
            } else if $is_weak && surprise == Surprise::Never {
                rt().leaves_out(Spurious::Failure);
            }
            c_int::from(result.is_ok())
        }
    )*};
}

macro_rules! atomics {
    ($atomic:ty, $number:ty, $load:ident, $store:ident, $exchange:ident, $add:ident, $sub:ident, $and:ident, $or:ident,
     $xor:ident, $nand:ident, $strong:ident, $weak:ident, $value:ident) => {
        /// An atomic load.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $load(at: *const $atomic, order: c_int) -> $number {
            atomic(op::LOAD, false, at as usize, size_of::<$number>(), order, frame!());
            // SAFETY: the program's atomic.
            let value = unsafe { (*at).load(Ordering::SeqCst) };
            saw(value as u64);
            value
        }

        /// An atomic store.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $store(at: *const $atomic, value: $number, order: c_int) {
            atomic(op::STORE, true, at as usize, size_of::<$number>(), order, frame!());
            // SAFETY: the program's atomic.
            unsafe { (*at).store(value, Ordering::SeqCst) };
            saw(value as u64);
        }

        update! { $atomic, $number,
            $exchange: swap, |_, value| value;
            $add: fetch_add, |before, value| before.wrapping_add(value);
            $sub: fetch_sub, |before, value| before.wrapping_sub(value);
            $and: fetch_and, |before, value| before & value;
            $or: fetch_or, |before, value| before | value;
            $xor: fetch_xor, |before, value| before ^ value;
            $nand: fetch_nand, |before, value| !(before & value);
        }

        compare_exchange! { $atomic, $number, $strong: false, $weak: true }

        /// An atomic compare-exchange, which gives what was there. Clang calls it for weak ones too.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $value(
            at: *const $atomic,
            expected: $number,
            new: $number,
            order: c_int,
            failure: c_int,
        ) -> $number {
            // SAFETY: the program's atomic.
            let writes = unsafe { (*at).load(Ordering::SeqCst) } == expected;
            atomic(op::COMPARE_EXCHANGE, writes, at as usize, size_of::<$number>(), order, frame!());
            // SAFETY: as above.
            let result = unsafe { (*at).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) };
            compared(
                result.map(|before| before as u128).map_err(|before| before as u64),
                new as u128,
                failure,
            );
            if is_on() && result.is_ok() {
                rt().leans(leaning::NO_FAILURES_UNTOLD);
            }
            result.unwrap_or_else(|before| before)
        }
    };
}

/// Notes what came of a compare-exchange. One that failed has only read.
fn compared(result: Result<u128, u64>, new: u128, failure: c_int) {
    if is_on() {
        // In weaker memory one that succeeds could fail.
        is_ordered(failure);
    }
    match result {
        Ok(before) => changed(before, new),
        Err(before) => {
            if is_on() {
                rt().performs(access::READ);
                rt().performed.order = engine_order(failure);
            }
            saw(before);
        }
    }
}

atomics!(
    AtomicU8,
    u8,
    __tsan_atomic8_load,
    __tsan_atomic8_store,
    __tsan_atomic8_exchange,
    __tsan_atomic8_fetch_add,
    __tsan_atomic8_fetch_sub,
    __tsan_atomic8_fetch_and,
    __tsan_atomic8_fetch_or,
    __tsan_atomic8_fetch_xor,
    __tsan_atomic8_fetch_nand,
    __tsan_atomic8_compare_exchange_strong,
    __tsan_atomic8_compare_exchange_weak,
    __tsan_atomic8_compare_exchange_val
);
atomics!(
    AtomicU16,
    u16,
    __tsan_atomic16_load,
    __tsan_atomic16_store,
    __tsan_atomic16_exchange,
    __tsan_atomic16_fetch_add,
    __tsan_atomic16_fetch_sub,
    __tsan_atomic16_fetch_and,
    __tsan_atomic16_fetch_or,
    __tsan_atomic16_fetch_xor,
    __tsan_atomic16_fetch_nand,
    __tsan_atomic16_compare_exchange_strong,
    __tsan_atomic16_compare_exchange_weak,
    __tsan_atomic16_compare_exchange_val
);
atomics!(
    AtomicU32,
    u32,
    __tsan_atomic32_load,
    __tsan_atomic32_store,
    __tsan_atomic32_exchange,
    __tsan_atomic32_fetch_add,
    __tsan_atomic32_fetch_sub,
    __tsan_atomic32_fetch_and,
    __tsan_atomic32_fetch_or,
    __tsan_atomic32_fetch_xor,
    __tsan_atomic32_fetch_nand,
    __tsan_atomic32_compare_exchange_strong,
    __tsan_atomic32_compare_exchange_weak,
    __tsan_atomic32_compare_exchange_val
);
atomics!(
    AtomicU64,
    u64,
    __tsan_atomic64_load,
    __tsan_atomic64_store,
    __tsan_atomic64_exchange,
    __tsan_atomic64_fetch_add,
    __tsan_atomic64_fetch_sub,
    __tsan_atomic64_fetch_and,
    __tsan_atomic64_fetch_or,
    __tsan_atomic64_fetch_xor,
    __tsan_atomic64_fetch_nand,
    __tsan_atomic64_compare_exchange_strong,
    __tsan_atomic64_compare_exchange_weak,
    __tsan_atomic64_compare_exchange_val
);
atomics!(
    AtomicU128,
    u128,
    __tsan_atomic128_load,
    __tsan_atomic128_store,
    __tsan_atomic128_exchange,
    __tsan_atomic128_fetch_add,
    __tsan_atomic128_fetch_sub,
    __tsan_atomic128_fetch_and,
    __tsan_atomic128_fetch_or,
    __tsan_atomic128_fetch_xor,
    __tsan_atomic128_fetch_nand,
    __tsan_atomic128_compare_exchange_strong,
    __tsan_atomic128_compare_exchange_weak,
    __tsan_atomic128_compare_exchange_val
);
