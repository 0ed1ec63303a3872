//! The intrinsics of verification benchmarks: values that are explored, assumptions, atomic sections, errors.
//! `selvedge.h` declares them.

use std::ffi::{c_int, c_uint};

use crate::protocol::{Op, access, head, note, object, op, stop, tag};
use crate::runtime::{Phase, rt, visible, visible_when};
use crate::site::{Frame, frame};

/// One of `count` values, each of which is explored.
fn choose(count: u32, frame: Frame) -> u32 {
    if rt().phase != Phase::Running || count <= 1 {
        return 0;
    }
    visible(Op::local(op::CHOOSE), frame);
    let chosen = rt().choose(count);
    (rt().note, rt().number) = (note::NUMBER, u64::from(chosen));
    chosen
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
    from.wrapping_add(choose((to - from) as u32 + 1, frame) as c_int)
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
            from.wrapping_add(choose(count, frame!()) as i32) as $number
        }
    )*};
}

nondeterministic! {
    __VERIFIER_nondet_int -> i32;
    __VERIFIER_nondet_uint -> u32;
    __VERIFIER_nondet_long -> i64;
    __VERIFIER_nondet_ulong -> u64;
    __VERIFIER_nondet_longlong -> i64;
    __VERIFIER_nondet_short -> i16;
    __VERIFIER_nondet_ushort -> u16;
    __VERIFIER_nondet_char -> i8;
    __VERIFIER_nondet_uchar -> u8;
    __VERIFIER_nondet_unsigned -> c_uint;
}

/// True or false.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_nondet_bool() -> bool {
    choose(2, frame!()) == 1
}

/// A thread for which the condition is 0 stays here, and that it does is no deadlock: what the others do is what they
/// would have done before it came here.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_assume(condition: c_int) {
    if condition == 0 && rt().phase == Phase::Running {
        let me = rt().current as usize;
        rt().threads[me].atomic = 0;
        let never = crate::protocol::Gate::set(rt().threads[me].object, 1 << 63);
        visible_when(Op::local(op::ASSUME), never, frame!());
    }
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
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_atomic_begin() {
    if rt().phase != Phase::Running {
        return;
    }
    let me = rt().current as usize;
    if rt().threads[me].atomic == 0 {
        let object = section();
        let gate = crate::protocol::Gate::OPEN;
        visible_when(
            Op::on(op::RMW, access::WRITE, object).ordered(crate::protocol::order::SEQ_CST),
            gate,
            frame!(),
        );
    }
    rt().threads[me].atomic += 1;
}

/// The end of the section.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __VERIFIER_atomic_end() {
    if rt().phase != Phase::Running {
        return;
    }
    let me = rt().current as usize;
    if rt().threads[me].atomic == 0 {
        rt().stop(stop::MISUSE, frame!(), &[b"__VERIFIER_atomic_end without __VERIFIER_atomic_begin"]);
    }
    rt().threads[me].atomic -= 1;
    if rt().threads[me].atomic == 0 {
        // What was done in the section is behind whoever enters one next.
        let object = section();
        rt().log([head(tag::PUBLISH, 0), 1, u64::from(object), 0, 0, 0, 0, 0]);
    }
}
