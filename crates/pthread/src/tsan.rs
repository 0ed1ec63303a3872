//! What the compiler's thread-sanitizer instrumentation calls: every access to memory, and every atomic operation.
//!
//! Atomic operations are operations on the object at their address, with the memory order that the program asks for; the
//! values are sequentially consistent. Plain accesses are noted for the race detector, and are scheduling points in race
//! mode. Outside of a check the functions do what the program would have done without instrumentation.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::memory;
use crate::protocol::{Op, access, head, note, op, order, tag};
use crate::runtime::{Phase, is_on, rt, visible};
use crate::site::{Frame, frame};

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

/// Stops before an atomic operation.
fn atomic(kind: u8, how: u8, address: usize, number: c_int, frame: Frame) {
    if is_on() {
        let object = memory::atomic(address, frame);
        visible(Op::on(kind, how, object).ordered(engine_order(number)), frame);
    }
}

fn saw(value: u64) {
    if is_on() {
        (rt().note, rt().number) = (note::NUMBER, value);
    }
}

fn changed(before: u64, after: u64) {
    if is_on() {
        (rt().note, rt().number, rt().number_after) = (note::CHANGED, before, after);
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
    __tsan_volatile_write1: 1, true;
    __tsan_volatile_write2: 2, true;
    __tsan_volatile_write4: 4, true;
    __tsan_volatile_write8: 8, true;
    __tsan_vptr_read: 8, false;
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
        memory::access(address as usize, size, false, frame!());
    }
}

/// A range is written.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_write_range(address: *mut c_void, size: usize) {
    if is_on() {
        memory::access(address as usize, size, true, frame!());
    }
}

/// Nothing to prepare.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_init() {}

/// Nothing to note: places are found on the stack.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_func_entry(_: *mut c_void) {}

/// Nothing to note.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_func_exit() {}

/// A fence.
///
/// # Safety
/// Called by the compiler's instrumentation.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_atomic_thread_fence(number: c_int) {
    if rt().phase == Phase::Running {
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
            atomic(op::RMW, access::WRITE, at as usize, order, frame!());
            // SAFETY: the program's atomic.
            let before = unsafe { (*at).$method(value, Ordering::SeqCst) };
            let new: fn($number, $number) -> $number = $new;
            changed(before.into(), new(before, value).into());
            before
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
            atomic(op::LOAD, access::READ, at as usize, order, frame!());
            // SAFETY: the program's atomic.
            let value = unsafe { (*at).load(Ordering::SeqCst) };
            saw(value.into());
            value
        }

        /// An atomic store.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $store(at: *const $atomic, value: $number, order: c_int) {
            atomic(op::STORE, access::WRITE, at as usize, order, frame!());
            // SAFETY: the program's atomic.
            unsafe { (*at).store(value, Ordering::SeqCst) };
            saw(value.into());
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

        /// An atomic compare-exchange, which says whether it exchanged.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $strong(
            at: *const $atomic,
            expected: *mut $number,
            new: $number,
            order: c_int,
            failure: c_int,
        ) -> c_int {
            atomic(op::COMPARE_EXCHANGE, access::WRITE, at as usize, order, frame!());
            // SAFETY: the program's atomic, and what it expects.
            unsafe {
                match (*at).compare_exchange(*expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(before) => {
                        changed(before.into(), new.into());
                        1
                    }
                    Err(before) => {
                        failed(failure, before.into());
                        *expected = before;
                        0
                    }
                }
            }
        }

        /// As the strong one: it never fails for no reason.
        ///
        /// # Safety
        /// Called by the compiler's instrumentation.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $weak(
            at: *const $atomic,
            expected: *mut $number,
            new: $number,
            order: c_int,
            failure: c_int,
        ) -> c_int {
            atomic(op::COMPARE_EXCHANGE, access::WRITE, at as usize, order, frame!());
            // SAFETY: the program's atomic, and what it expects.
            unsafe {
                match (*at).compare_exchange(*expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(before) => {
                        changed(before.into(), new.into());
                        1
                    }
                    Err(before) => {
                        failed(failure, before.into());
                        *expected = before;
                        0
                    }
                }
            }
        }

        /// An atomic compare-exchange, which gives what was there.
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
            atomic(op::COMPARE_EXCHANGE, access::WRITE, at as usize, order, frame!());
            // SAFETY: the program's atomic.
            match unsafe { (*at).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) } {
                Ok(before) => {
                    changed(before.into(), new.into());
                    before
                }
                Err(before) => {
                    failed(failure, before.into());
                    before
                }
            }
        }
    };
}

/// A compare-exchange that failed has only read.
fn failed(number: c_int, value: u64) {
    if is_on() {
        rt().performed.access = access::READ;
        rt().performed.order = engine_order(number);
    }
    saw(value);
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
