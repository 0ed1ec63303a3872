//! One-time initialisation, also of the local statics of C++.

use std::ffi::c_int;

use crate::memory;
use crate::protocol::{Gate, Op, access, note, op};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::slot::{Slot, Sort};
use crate::sys::real;

const RUNNING: u64 = 1;
const DONE: u64 = 2;

type Routine = unsafe extern "C-unwind" fn();

/// Leaves the initialisation undone when its routine does not return: it has thrown, or its thread was ended.
struct Leave {
    object: u32,
    frame: Frame,
    word: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        visible(Op::on(op::ONCE_LEAVE, access::WRITE, self.object), self.frame);
        rt().set_word(self.object, self.word, 0);
    }
}

fn once(control: *mut u32, routine: Routine, frame: Frame) {
    let slot = Slot::of(control, Sort::Once);
    // A copy is as far as what it was copied from. The C library's mark of what is done is 2.
    let initial = |word| match slot.original(word) {
        Some(original) => rt().object(original).word & DONE,
        None if word & 3 == 2 => DONE,
        None => 0,
    };
    let object = slot.object(frame, initial);
    // What is done stays done.
    let done = rt().object(object).word == DONE;
    let how = if done { access::READ } else { access::WRITE };
    visible_when(Op::on(op::ONCE_ENTER, how, object), Gate::clear(object, RUNNING), frame);
    let runtime = rt();
    if runtime.object(object).word == DONE {
        runtime.performs(access::READ);
        runtime.note = note::DONE;
        return;
    }
    let me = runtime.current + 1;
    runtime.set_word(object, RUNNING, me);
    let mut leave = Leave { object, frame, word: 0 };
    // SAFETY: the program's routine.
    unsafe { routine() };
    leave.word = DONE;
}

/// `pthread_once`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_once(control: *mut u32, routine: Routine) -> c_int {
    let frame = frame!();
    if is_on() && !frame.is_unwinder() {
        once(control, routine, frame);
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"pthread_once", fn(*mut u32, Routine) -> c_int)(control, routine) }
}

/// C11's `call_once`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn call_once(control: *mut u32, routine: Routine) {
    if is_on() {
        return once(control, routine, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"call_once", fn(*mut u32, Routine))(control, routine) };
}

/// What guards a local static of C++: its first byte says whether the static is there. Programs that are compiled for it
/// look at that byte themselves first, which is the same object.
type Guard = *mut u8;

/// `__cxa_guard_acquire`: whether the caller is to initialise.
///
/// # Safety
/// As that of C++'s library.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __cxa_guard_acquire(guard: Guard) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"__cxa_guard_acquire", fn(Guard) -> c_int)(guard) };
    }
    let frame = frame!();
    let object = memory::atomic(guard as usize, 1, frame);
    visible_when(Op::on(op::ONCE_ENTER, access::WRITE, object), Gate::clear(object, RUNNING), frame);
    let runtime = rt();
    // SAFETY: the program's.
    if unsafe { *guard } != 0 {
        runtime.performs(access::READ);
        runtime.note = note::DONE;
        return 0;
    }
    let me = runtime.current + 1;
    runtime.set_word(object, RUNNING, me);
    1
}

/// The initialisation of a local static is over, with or without success.
fn leave_guard(guard: Guard, done: bool, frame: Frame) {
    let object = memory::atomic(guard as usize, 1, frame);
    visible(Op::on(op::ONCE_LEAVE, access::WRITE, object), frame);
    // SAFETY: the program's.
    unsafe { *guard = u8::from(done) };
    rt().set_word(object, 0, 0);
}

/// `__cxa_guard_release`: the static is there.
///
/// # Safety
/// As that of C++'s library.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __cxa_guard_release(guard: Guard) {
    if is_on() {
        return leave_guard(guard, true, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"__cxa_guard_release", fn(Guard))(guard) };
}

/// `__cxa_guard_abort`: the initialisation has thrown.
///
/// # Safety
/// As that of C++'s library.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __cxa_guard_abort(guard: Guard) {
    if is_on() {
        return leave_guard(guard, false, frame!());
    }
    // SAFETY: passed on.
    unsafe { real!(c"__cxa_guard_abort", fn(Guard))(guard) };
}
