//! Being asked to stop: by Ctrl-C, or as `timeout` does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// When that was, in milliseconds; 0 before.
static FIRST: AtomicU64 = AtomicU64::new(0);
/// What comes so soon after the first is the same wish: `timeout` sends a signal to the process, and then to its group.
const SAME: u64 = 100;

/// Has SIGINT, SIGTERM and SIGHUP set a flag, for [`Search::check`](crate::Search::check), rather than end the process. A second one ends
/// it, with status 130.
///
/// ```
/// use std::sync::atomic::Ordering;
/// assert!(!selvedge_native::interrupts().load(Ordering::Relaxed));
/// ```
pub fn interrupts() -> &'static AtomicBool {
    // SAFETY: the action is fully initialised; the handler only uses atomics and calls that a handler may make.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    &INTERRUPTED
}

extern "C" fn on_signal(_: libc::c_int) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let now = (time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000).max(1);
    let first = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|first| now.saturating_sub(first) >= SAME) {
        // SAFETY: ends the process. The program's processes end with it.
        unsafe { libc::_exit(130) };
    }
    INTERRUPTED.store(true, Ordering::Relaxed);
}
