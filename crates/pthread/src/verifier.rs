//! The intrinsics of verification benchmarks: values that are explored, assumptions, atomic sections, errors.
//! `selvedge.h` declares them.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory;
use crate::protocol::{Area, Gate, Op, SECTIONS, access, head, inputs, note, object, op, order, stop, tag};
use crate::runtime::{Phase, is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};

/// One of `count` numbers from the first one on, each of which is explored.
fn choose(from: i32, count: u32, frame: Frame) -> i32 {
    if rt().phase != Phase::Running || count <= 1 {
        return from;
    }
    visible(Op::local(op::CHOOSE), frame);
    let number = from.wrapping_add(rt().choose(count) as i32);
    (rt().note, rt().number) = (note::SIGNED, i64::from(number) as u64);
    number
}

/// Notes that the program asks for an input.
fn asks(inputs: u32) {
    if is_on() {
        rt().area().inputs.fetch_or(inputs, Ordering::Relaxed);
    }
}

/// A value from a range, both ends included.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn selvedge_choose(from: c_int, to: c_int) -> c_int {
    let frame = frame!();
    if to < from || i64::from(to) - i64::from(from) >= 1 << 16 {
        let message: &[&[u8]] =
            &[b"selvedge_choose is to choose from a range that is empty, or longer than 65,536"];
        rt().stop(stop::UNSUPPORTED, frame, message);
    }
    choose(from, to.abs_diff(from) + 1, frame)
}

macro_rules! nondeterministic {
    ($($name:ident -> $number:ty;)*) => {$(
        /// A value of the range that the controlling side has given, as a number of this type.
        ///
        /// # Safety
        /// Any caller.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name() -> $number {
            let (from, count) = rt().nondet;
            // Of the smallest types all may be tried.
            if size_of::<$number>() >= 4 || count < 1 << (8 * size_of::<$number>()) {
                asks(inputs::NUMBERS);
            }
            choose(from, count, frame!()) as $number
        }
    )*};
}

nondeterministic! {
    __VERIFIER_nondet_int -> i32;
    __VERIFIER_nondet_uint -> u32;
    __VERIFIER_nondet_long -> i64;
    __VERIFIER_nondet_ulong -> u64;
    __VERIFIER_nondet_longlong -> i64;
    __VERIFIER_nondet_ulonglong -> u64;
    __VERIFIER_nondet_short -> i16;
    __VERIFIER_nondet_ushort -> u16;
    __VERIFIER_nondet_char -> i8;
    __VERIFIER_nondet_uchar -> u8;
    __VERIFIER_nondet_unsigned_char -> u8;
    __VERIFIER_nondet_unsigned -> c_uint;
    __VERIFIER_nondet_unsigned_int -> c_uint;
    __VERIFIER_nondet_u8 -> u8;
    __VERIFIER_nondet_u16 -> u16;
    __VERIFIER_nondet_u32 -> u32;
    __VERIFIER_nondet_size_t -> usize;
    __VERIFIER_nondet_loff_t -> i64;
    __VERIFIER_nondet_sector_t -> u64;
    __VERIFIER_nondet_float -> f32;
    __VERIFIER_nondet_double -> f64;
    __VERIFIER_nondet_int128 -> i128;
    __VERIFIER_nondet_uint128 -> u128;
}

/// Memory of which each byte is the same value of that range.
///
/// # Safety
/// The memory is the caller's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_nondet_memory(at: *mut c_void, size: usize) {
    let frame = frame!();
    let (from, count) = rt().nondet;
    asks(inputs::NUMBERS);
    let value = choose(from, count, frame) as u8;
    memory::range(at as usize, size, true, frame);
    // SAFETY: the caller's.
    unsafe { at.cast::<u8>().write_bytes(value, size) };
}

macro_rules! no_pointer {
    ($($name:ident)*) => {$(
        /// No pointer: of those that there are, none can be listed.
        ///
        /// # Safety
        /// Any caller.
        #[unsafe(no_mangle)]
        pub(crate) extern "C-unwind" fn $name() -> *mut c_void {
            asks(inputs::POINTERS);
            std::ptr::null_mut()
        }
    )*};
}

no_pointer! { __VERIFIER_nondet_pointer __VERIFIER_nondet_pchar }

/// True or false.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_nondet_bool() -> bool {
    choose(0, 2, frame!()) == 1
}

/// A thread for which the condition is 0 stays here, and that it does is no deadlock: what the others do is what they
/// would have done before it came here. In an atomic section they may have seen the half of it, so there the execution ends.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_assume(condition: c_int) {
    if condition == 0 && rt().phase != Phase::Off {
        assumption_fails(frame!());
    }
}

/// The current thread goes no further.
pub(crate) fn assumption_fails(frame: Frame) -> ! {
    let me = rt().current as usize;
    if rt().threads[me].atomic > 0 || rt().phase == Phase::Leaving {
        rt().stop(stop::INFEASIBLE, frame, &[]);
    }
    let never = Gate::set(rt().threads[me].object, 1 << 63);
    visible_when(Op::local(op::ASSUME), never, frame);
    unreachable!("the gate is never open")
}

/// Reaching this is what must not happen.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_error() -> ! {
    rt().stop(stop::ASSERTION, frame!(), &[b"__VERIFIER_error is reached"])
}

/// Reaching this is what must not happen, unless the program defines it otherwise.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn reach_error() -> ! {
    rt().stop(stop::ASSERTION, frame!(), &[b"reach_error is reached"])
}

/// Fails if the condition is 0.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_assert(condition: c_int) {
    if condition == 0 {
        rt().stop(stop::ASSERTION, frame!(), &[b"__VERIFIER_assert fails"]);
    }
}

/// The one object that every atomic section is on.
fn section() -> u32 {
    let runtime = rt();
    if runtime.section == 0 {
        runtime.section = runtime.new_object(object::ATOMIC_SECTION, 0, 0) + 1;
    }
    runtime.section - 1
}

/// Until the end of the section no other thread runs.
pub(crate) fn enter_section(frame: Frame) {
    if rt().phase != Phase::Running {
        return;
    }
    let me = rt().current as usize;
    if rt().threads[me].atomic == 0 {
        visible(Op::on(op::RMW, access::WRITE, section()).ordered(order::SEQ_CST), frame);
    }
    rt().threads[me].atomic += 1;
}

/// The end of the section.
pub(crate) fn leave_section(frame: Frame) {
    if rt().phase != Phase::Running {
        return;
    }
    let me = rt().current as usize;
    if rt().threads[me].atomic == 0 {
        rt().stop(stop::MISUSE, frame, &[b"__VERIFIER_atomic_end without __VERIFIER_atomic_begin"]);
    }
    rt().threads[me].atomic -= 1;
    if rt().threads[me].atomic == 0 {
        // What was done in the section is behind whoever enters one next.
        let object = section();
        rt().published += 1;
        rt().log([head(tag::PUBLISH, 0), 1, u64::from(object), 0, 0, 0, 0, 0]);
    }
}

/// The beginning of a section.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_atomic_begin() {
    enter_section(frame!());
}

/// The end of a section.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_atomic_end() {
    leave_section(frame!());
}

type Function = [AtomicUsize; 2];

/// The functions that are atomic sections by their names, where each begins and ends, the one by whose `abort` something is
/// assumed, and the one by which C++'s library yields before it waits; set once, before there are threads.
static SECTION_FUNCTIONS: [Function; SECTIONS] = [const { [const { AtomicUsize::new(0) }; 2] }; SECTIONS];
static SECTION_COUNT: AtomicUsize = AtomicUsize::new(0);
static ASSUMES: Function = [const { AtomicUsize::new(0) }; 2];
static LINGERS: Function = [const { AtomicUsize::new(0) }; 2];

/// Finds these functions, where the executable is so far from where its file has it.
pub(crate) fn find_functions(area: &Area, shift: usize) {
    let count = (area.section_count.load(Ordering::Relaxed) as usize).min(SECTIONS);
    let sections = SECTION_FUNCTIONS.iter().zip(&area.sections[..count]);
    for (function, found) in sections.chain([(&ASSUMES, &area.assumes), (&LINGERS, &area.lingers)]) {
        for (place, address) in function.iter().zip(found) {
            let address = address.load(Ordering::Relaxed) as usize;
            // One that is not there stays nowhere.
            place.store(if address == 0 { 0 } else { address.wrapping_add(shift) }, Ordering::Relaxed);
        }
    }
    SECTION_COUNT.store(count, Ordering::Relaxed);
}

#[inline]
fn is_in([begin, end]: &Function, call: usize) -> bool {
    // A call that does not return may be the last of its function.
    let call = call.wrapping_sub(1);
    (begin.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&call)
}

/// Whether a call of the runtime is by a function that is an atomic section.
#[inline]
pub(crate) fn is_in_section(frame: Frame) -> bool {
    let count = SECTION_COUNT.load(Ordering::Relaxed);
    SECTION_FUNCTIONS[..count].iter().any(|function| is_in(function, frame.call))
}

/// Whether it is by the one that assumes something.
pub(crate) fn is_assuming(frame: Frame) -> bool {
    is_in(&ASSUMES, frame.call)
}

/// Whether C++'s library yields, by a function of the compiler's, before it waits for an atomic in the system. It is no loop that
/// has to be ended by others, and if it yielded the fair bound would have those who end the wait always come first.
pub(crate) fn is_lingering(frame: Frame) -> bool {
    if LINGERS[0].load(Ordering::Relaxed) == 0 {
        return false;
    }
    let calls = frame.places::<2>(rt().threads[rt().current as usize].stack_top);
    calls.into_iter().any(|call| is_in(&LINGERS, call as usize))
}
