//! Virtual time: clocks, sleeping, and the limits of waits.
//!
//! Each thread has a time of its own, which moves on when it sleeps or a wait of its runs out, and is carried along
//! with what operations see. So it is a function of what happened before, and reading a clock is no step. A clock moves
//! on by a microsecond each time that it is read, so that a loop which waits for time to pass ends; and by more and more, up to a
//! second, for a thread that does nothing but read it and look at memory, where that is known.

use std::ffi::{c_int, c_uint, c_void};

use crate::cancel;
use crate::protocol::{Op, access, op};
use crate::runtime::{Runtime, is_on, rt};
use crate::site::{Frame, frame};
use crate::spin;
use crate::sys::{EINVAL, Timespec, real, set_errno};

pub(crate) const REALTIME: c_int = 0;
pub(crate) const MONOTONIC: c_int = 1;
const CPU_TIME: c_int = 2;

const SECOND: u64 = 1_000_000_000;
/// What clocks show when an execution begins, in seconds: a day in September 2001, and a while after the start.
const EPOCH: u64 = 1_000_000_000;
const UPTIME: u64 = 10_000;
const TICK: u64 = 1_000;

fn base(clock: c_int) -> u64 {
    match clock {
        // CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_TAI
        0 | 5 | 11 => EPOCH * SECOND,
        // CLOCK_THREAD_CPUTIME_ID
        CPU_TIME | 3 => 0,
        _ => UPTIME * SECOND,
    }
}

/// Whether waits can be limited by this clock.
pub(crate) fn is_clock(clock: c_int) -> bool {
    clock == REALTIME || clock == MONOTONIC
}

/// A moment that a clock shows, in the time of the execution; `None` if it is none.
pub(crate) fn moment(clock: c_int, time: Timespec) -> Option<u64> {
    if !(0..SECOND as i64).contains(&time.nanoseconds) {
        return None;
    }
    rt().looks_at_clocks = true;
    let seconds = u64::try_from(time.seconds).unwrap_or(0);
    let nanoseconds = seconds.saturating_mul(SECOND).saturating_add(time.nanoseconds as u64);
    Some(nanoseconds.saturating_sub(base(clock)))
}

/// How much faster a clock moves on, as a power of two.
fn tick_shift(runtime: &Runtime) -> u32 {
    const AS_USUAL: u32 = 32;
    const MOST: u32 = 20;
    // What a thread does is not followed as long as it is the only one.
    let is_known = runtime.is_instrumented && runtime.thread_count > 1;
    if is_known { spin::reads_clock().saturating_sub(AS_USUAL).min(MOST) } else { 0 }
}

/// What a clock shows now.
fn read(clock: c_int) -> u64 {
    let runtime = rt();
    let tick = TICK << tick_shift(runtime);
    let thread = &mut runtime.threads[runtime.current as usize];
    thread.now += tick;
    runtime.time_passes = true;
    runtime.looks_at_clocks = true;
    base(clock) + thread.now
}

/// The virtual times of those who wrote an object last, and who have read it, whichever is the latest.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    written: u64,
    read: u64,
}

impl Times {
    pub(crate) const NONE: Times = Times { written: 0, read: 0 };

    fn latest(&self) -> u64 {
        self.written.max(self.read)
    }
}

/// What time the step under way began with, so that it can turn out to touch its object in another way than it announced.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    /// The object, plus 1, and what its times were.
    object: u32,
    times: Times,
    /// Another object that it writes, plus 1.
    also: u32,
    /// The thread's time, without what it has from the first object.
    now: u64,
}

impl Carried {
    pub(crate) const NOTHING: Carried = Carried { object: 0, times: Times::NONE, also: 0, now: 0 };
}

impl Runtime {
    /// The virtual time of the current thread.
    pub(crate) fn now(&self) -> u64 {
        self.threads[self.current as usize].now
    }

    /// Moves the current thread's virtual time on to this moment, if it is not there yet.
    pub(crate) fn pass_time(&mut self, moment: u64) {
        let now = &mut self.threads[self.current as usize].now;
        *now = (*now).max(moment);
        self.time_passes = true;
    }

    /// Carries virtual time along with what an operation does: it is not earlier than anything that happened before. So
    /// time is a function of what happened before, not of the schedule.
    pub(crate) fn carry_time(&mut self, operation: &Op) {
        let times = |plus_one: u32| match plus_one {
            0 => Times::NONE,
            _ => self.objects[plus_one as usize - 1].times,
        };
        // Of what a request to end may wake a thread from, nothing is known before.
        let also = if operation.kind == op::CANCEL { 0 } else { operation.also };
        let now = self.now().max(times(also).latest());
        self.carried = Carried { object: operation.object, times: times(operation.object), also, now };
        self.settle(operation.access);
    }

    /// The step under way touches its object like this, and not as it announced.
    pub(crate) fn performs(&mut self, how: u8) {
        self.performed.access = how;
        if self.time_passes {
            self.settle(how);
        }
    }

    fn settle(&mut self, how: u8) {
        let Carried { object, mut times, also, mut now } = self.carried;
        match how {
            access::READ => {
                now = now.max(times.written);
                times.read = times.read.max(now);
            }
            access::WRITE => {
                now = now.max(times.latest());
                times.written = now;
            }
            _ => {}
        }
        if object > 0 {
            self.objects[object as usize - 1].times = times;
        }
        if also > 0 {
            self.objects[also as usize - 1].times.written = now;
        }
        self.threads[self.current as usize].now = now;
    }
}

fn timespec(nanoseconds: u64) -> Timespec {
    Timespec { seconds: (nanoseconds / SECOND) as i64, nanoseconds: (nanoseconds % SECOND) as i64 }
}

/// Sleeps until a moment: others may run for as long as they like.
fn sleep_until(moment: u64, frame: Frame) {
    cancel::act(frame);
    let (operation, gate) = rt().pause(op::SLEEP);
    cancel::visible_when(operation, gate, frame);
    rt().pass_time(moment);
}

/// Sleeps for so many nanoseconds.
pub(crate) fn sleep_for(nanoseconds: u64, frame: Frame) {
    sleep_until(rt().now().saturating_add(nanoseconds), frame);
}

/// `clock_gettime`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    // The CPU time of a thread or a process has a number of its own, below 0, as clocks that are files have.
    const FILE: c_int = 3;
    let is_cpu_time = clock < 0 && clock & 7 != FILE;
    if is_on() && (is_cpu_time || (0..16).contains(&clock)) {
        // SAFETY: the program's.
        unsafe { *time = timespec(read(if is_cpu_time { CPU_TIME } else { clock })) };
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"clock_gettime", fn(c_int, *mut Timespec) -> c_int)(clock, time) }
}

/// `timespec_get`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn timespec_get(time: *mut Timespec, base: c_int) -> c_int {
    if is_on() {
        if base != 1 {
            return 0;
        }
        // SAFETY: the program's.
        unsafe { *time = timespec(read(REALTIME)) };
        return base;
    }
    // SAFETY: passed on.
    unsafe { real!(c"timespec_get", fn(*mut Timespec, c_int) -> c_int)(time, base) }
}

/// `gettimeofday`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn gettimeofday(time: *mut [i64; 2], zone: *mut c_void) -> c_int {
    if is_on() {
        let now = read(REALTIME);
        if !time.is_null() {
            // SAFETY: the program's.
            unsafe { *time = [(now / SECOND) as i64, (now % SECOND / 1000) as i64] };
        }
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"gettimeofday", fn(*mut [i64; 2], *mut c_void) -> c_int)(time, zone) }
}

/// `time`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn time(time: *mut i64) -> i64 {
    if is_on() {
        let seconds = (read(REALTIME) / SECOND) as i64;
        if !time.is_null() {
            // SAFETY: the program's.
            unsafe { *time = seconds };
        }
        return seconds;
    }
    // SAFETY: passed on.
    unsafe { real!(c"time", fn(*mut i64) -> i64)(time) }
}

/// `clock`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn clock() -> i64 {
    if is_on() {
        return (read(CPU_TIME) / 1000) as i64;
    }
    // SAFETY: passed on.
    unsafe { real!(c"clock", fn() -> i64)() }
}

/// `sleep`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    if is_on() {
        sleep_until(rt().now() + u64::from(seconds) * SECOND, frame!());
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"sleep", fn(c_uint) -> c_uint)(seconds) }
}

/// `usleep`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn usleep(microseconds: c_uint) -> c_int {
    if is_on() {
        sleep_until(rt().now() + u64::from(microseconds) * 1000, frame!());
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"usleep", fn(c_uint) -> c_int)(microseconds) }
}

/// A duration; `None` if it is none.
pub(crate) fn duration(time: Timespec) -> Option<u64> {
    let valid = time.seconds >= 0 && (0..SECOND as i64).contains(&time.nanoseconds);
    valid.then(|| (time.seconds as u64).saturating_mul(SECOND).saturating_add(time.nanoseconds as u64))
}

/// The moment after a duration; `None` if it is none.
pub(crate) fn after(time: Timespec) -> Option<u64> {
    duration(time).map(|duration| rt().now().saturating_add(duration))
}

/// `nanosleep`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn nanosleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"nanosleep", fn(*const Timespec, *mut Timespec) -> c_int)(time, left) };
    }
    // SAFETY: the program's.
    let Some(until) = after(unsafe { *time }) else {
        set_errno(EINVAL);
        return -1;
    };
    sleep_until(until, frame!());
    0
}

/// `clock_nanosleep`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe {
            real!(c"clock_nanosleep", fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int)(
                clock, flags, time, left,
            )
        };
    }
    // The clocks of the system by which a thread can sleep.
    if !matches!(clock, 0..=2 | 7..=9 | 11) {
        return EINVAL;
    }
    // SAFETY: the program's.
    let time = unsafe { *time };
    match if flags & 1 != 0 { moment(clock, time) } else { after(time) } {
        Some(until) => {
            sleep_until(until, frame!());
            0
        }
        None => EINVAL,
    }
}

/// C11's `thrd_sleep`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn thrd_sleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    if !is_on() {
        // SAFETY: passed on.
        return unsafe { real!(c"thrd_sleep", fn(*const Timespec, *mut Timespec) -> c_int)(time, left) };
    }
    // SAFETY: the program's.
    match after(unsafe { *time }) {
        Some(until) => {
            sleep_until(until, frame!());
            0
        }
        None => -2,
    }
}
