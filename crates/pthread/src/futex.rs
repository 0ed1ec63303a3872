//! What a program asks the system for by `syscall`: futexes, which C++ makes `std::atomic::wait`, latches, barriers,
//! semaphores, futures and the guards of local statics of, and the number of a thread.
//!
//! A futex is the atomic at its address. To wait on it is a step that compares and begins to wait, and another that wakes;
//! nothing is published by either, which is what the atomic operations around them are for. Which of those who wait are
//! woken is explored.

use std::ffi::{c_int, c_long};

use crate::memory;
use crate::protocol::{Gate, Op, access, note, op, stop};
use crate::runtime::{is_on, rt, visible, visible_when};
use crate::site::{Frame, frame};
use crate::sys::{self, EAGAIN, EFAULT, EINVAL, ETIMEDOUT, Timespec, real, set_errno};
use crate::{exit, signal, start, thread, time};

const SYS_FORK: c_long = 57;
const SYS_VFORK: c_long = 58;
const SYS_GETTID: c_long = 186;
const SYS_TKILL: c_long = 200;
const SYS_TGKILL: c_long = 234;
const SYS_CLONE3: c_long = 435;

/// What is asked of a futex.
const WAIT: c_int = 0;
const WAKE: c_int = 1;
const WAIT_BITSET: c_int = 9;
const WAKE_BITSET: c_int = 10;
const PRIVATE: c_int = 128;
const CLOCK_REALTIME: c_int = 256;
const ANY: u32 = u32::MAX;

fn fail(error: c_int) -> c_long {
    set_errno(error);
    -1
}

/// Waits until another thread wakes this one, if the futex has the value that is expected.
fn wait(at: *const u32, expected: u32, deadline: Option<u64>, frame: Frame) -> c_long {
    let object = memory::atomic(at as usize, size_of::<u32>(), frame);
    visible(Op::on(op::WAIT, access::WRITE, object), frame);
    // SAFETY: the program's.
    let value = unsafe { at.read_volatile() };
    let runtime = rt();
    (runtime.note, runtime.number) = (note::NUMBER, u64::from(value));
    if value != expected {
        runtime.performs(access::READ);
        return fail(EAGAIN);
    }
    let me = runtime.current;
    runtime.add_waiter(object, me);
    let how = if deadline.is_some() { access::WRITE } else { access::READ };
    let gate = Gate { needs_signal: true, timed: deadline.is_some(), ..Gate::OPEN };
    let timed_out = visible_when(Op::on(op::WAKE, how, object), gate, frame);
    let runtime = rt();
    if timed_out {
        runtime.take_waiter(object, |_, thread| thread == me);
        runtime.pass_time(deadline.unwrap_or(0));
        return fail(ETIMEDOUT);
    }
    runtime.performs(access::READ);
    0
}

/// Wakes so many of those who wait, and says how many those were.
fn wake(at: *const u32, most: u32, frame: Frame) -> c_long {
    let object = memory::atomic(at as usize, size_of::<u32>(), frame);
    let kind = if most == 1 { op::NOTIFY_ONE } else { op::NOTIFY_ALL };
    visible(Op::on(kind, access::WRITE, object), frame);
    let waiting = rt().waiters(object);
    if waiting == 0 {
        rt().performs(access::READ);
        rt().note = note::NOBODY_WAITS;
    }
    let woken = most.min(waiting);
    for left in (waiting - woken + 1..=waiting).rev() {
        let chosen = if most < waiting { rt().choose(left) } else { 0 };
        let runtime = rt();
        if let Some(thread) = runtime.take_waiter(object, |place, _| place == chosen) {
            runtime.signal(thread);
        }
    }
    c_long::from(woken)
}

/// The futexes of the system, as far as they are controlled.
fn futex(at: *const u32, what: c_int, value: u32, limit: *const Timespec, bits: u32, frame: Frame) -> c_long {
    let command = what & !(PRIVATE | CLOCK_REALTIME);
    let any = !matches!(command, WAIT_BITSET | WAKE_BITSET) || bits == ANY;
    if at.is_null() || !at.is_aligned() {
        return fail(if at.is_null() { EFAULT } else { EINVAL });
    }
    match command {
        WAIT | WAIT_BITSET if any => {
            if limit.is_null() {
                return wait(at, value, None, frame);
            }
            let clock = if what & CLOCK_REALTIME != 0 { time::REALTIME } else { time::MONOTONIC };
            // SAFETY: the program's.
            let limit = unsafe { *limit };
            let deadline = if command == WAIT { time::after(limit) } else { time::moment(clock, limit) };
            match deadline {
                Some(deadline) => wait(at, value, Some(deadline), frame),
                None => fail(EINVAL),
            }
        }
        WAKE | WAKE_BITSET if any => wake(at, value, frame),
        _ => rt().stop(
            stop::UNSUPPORTED,
            frame,
            &[b"the program asks for a futex other than to wait or to wake, which is not supported"],
        ),
    }
}

/// `syscall`. What takes any number of arguments has at least room for six.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "as many as the system takes")]
pub(crate) unsafe extern "C-unwind" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    if is_on() {
        let frame = frame!();
        match number {
            sys::SYS_FUTEX => {
                let (at, limit) = (first as *const u32, fourth as *const Timespec);
                return futex(at, second as c_int, third as u32, limit, sixth as u32, frame);
            }
            // SAFETY: takes nothing.
            SYS_GETTID => return c_long::from(unsafe { thread::gettid() }),
            SYS_TGKILL | SYS_TKILL => {
                // SAFETY: takes nothing.
                let (process, rest) = match number {
                    SYS_TGKILL => (first as c_int, [second, third]),
                    _ => (unsafe { sys::getpid() }, [first, second]),
                };
                let [thread, signal] = rest.map(|argument| argument as c_int);
                if let Some(result) = signal::send_to_number(process, thread, signal, frame) {
                    return c_long::from(result);
                }
            }
            sys::SYS_EXIT_GROUP => exit::at_once(first as c_int, frame),
            SYS_FORK | SYS_VFORK | sys::SYS_CLONE | SYS_CLONE3 => {
                start::not_controlled(b"the system to fork or to clone", frame)
            }
            _ => {}
        }
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"syscall", fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long)(
            number, first, second, third, fourth, fifth, sixth,
        )
    }
}
