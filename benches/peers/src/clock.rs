//! CPU time of this process, all of its threads together.

use std::time::Duration;

/// The CPU time that the process has used so far.
pub(crate) fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives for the call.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "every system that this runs on has the clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What some work returned, and the CPU time that it took in nanoseconds.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = now();
    let value = work();
    (value, (now() - began).as_nanos() as f64)
}

/// The one in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The geometric mean.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
