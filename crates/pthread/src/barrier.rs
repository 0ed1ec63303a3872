//! Barriers.

use std::ffi::{c_int, c_uint, c_void};

use crate::mutex::destroy;
use crate::protocol::{Gate, Op, access, head, note, op, tag};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort};
use crate::sys::real;

/// The threads that have come, in the word of the object; above it the number of times that all have.
const COUNT: u64 = (1 << 32) - 1;
const SERIAL_THREAD: c_int = -1;

/// `pthread_barrier_t`: the number of threads is at 8.
fn slot(barrier: *mut c_void) -> Slot {
    Slot::of(barrier, Sort::Barrier)
}

fn object_of(barrier: *mut c_void, frame: Frame) -> u32 {
    slot(barrier).object(frame, |_| 0)
}

/// `pthread_barrier_init`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_barrier_init(
    barrier: *mut c_void,
    attributes: *const c_void,
    count: c_uint,
) -> c_int {
    if is_on() {
        slot(barrier).look_for_freed(frame!());
    }
    // SAFETY: passed on. It writes the whole of it, so that it is a new object.
    unsafe {
        real!(c"pthread_barrier_init", fn(*mut c_void, *const c_void, c_uint) -> c_int)(
            barrier, attributes, count,
        )
    }
}

/// `pthread_barrier_destroy`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_barrier_destroy(barrier: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_barrier_destroy", fn(*mut c_void) -> c_int)(barrier) };
    }
    let frame = frame!();
    let object = object_of(barrier, frame);
    let is_used = || {
        slot(barrier).must_be_there(frame);
        rt().object(object).word & COUNT != 0
    };
    destroy(object, is_used, frame);
    slot(barrier).destroy(object);
    0
}

/// `pthread_barrier_wait`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"pthread_barrier_wait", fn(*mut c_void) -> c_int)(barrier) };
    }
    let frame = frame!();
    let object = object_of(barrier, frame);
    // SAFETY: the program's barrier.
    let threads = u64::from(unsafe { barrier.cast::<u32>().add(2).read() });
    visible(Op::on(op::BARRIER_ARRIVE, access::WRITE, object), frame);
    slot(barrier).must_be_there(frame);
    let runtime = rt();
    let word = runtime.object(object).word;
    let (generation, come) = (word & !COUNT, (word & COUNT) + 1);
    if come >= threads {
        runtime.note = note::LAST;
        // It goes on at once, with what those who came before have done behind it.
        runtime.log([head(tag::PUBLISH, 0), 0, u64::from(object), 0, 0, 0, 0, 0]);
        runtime.set_word(object, generation.wrapping_add(COUNT + 1), 0);
        return SERIAL_THREAD;
    }
    (runtime.note, runtime.number) = (note::NUMBER, come);
    runtime.set_word(object, generation | come, 0);
    let gate = Gate::above(object, !COUNT, generation);
    visible_when(Op::on(op::BARRIER_PASS, access::READ, object), gate, frame);
    0
}
