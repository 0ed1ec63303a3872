//! The progress line on a terminal, and Ctrl-C.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use selvedge_stateless::Progress;

/// Set by Ctrl-C: every check is to stop and say what it has covered.
pub(crate) static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Held by the check that draws: there is one line, and tests run side by side.
static LINE: Mutex<()> = Mutex::new(());

/// Draws a line on standard error while a check takes long, and removes it at its end.
pub(crate) struct ProgressLine<'a> {
    subject: &'a str,
    line: Option<std::sync::MutexGuard<'static, ()>>,
    drawn: bool,
}

impl<'a> ProgressLine<'a> {
    /// A line for a check; it stays silent unless standard error is a terminal, or it is asked for.
    pub(crate) fn new(subject: &'a str, wanted: Option<bool>) -> Self {
        let wanted = wanted.unwrap_or_else(|| std::io::stderr().is_terminal());
        let line = if wanted { LINE.try_lock().ok() } else { None };
        if wanted {
            interrupt::catch();
        }
        ProgressLine { subject, line, drawn: false }
    }

    pub(crate) fn draw(&mut self, progress: &Progress) {
        if self.line.is_none() || progress.elapsed < Duration::from_secs(1) {
            return;
        }
        let bound =
            progress.bound.map_or_else(String::new, |(measure, bound)| format!("{}, ", measure.count(bound)));
        let rate = progress.executions as f64 / progress.elapsed.as_secs_f64();
        let text = format!(
            "\r\x1b[Kselvedge: {}: {bound}{} executions ({rate:.0}/s), {:.0} s",
            self.subject,
            progress.executions,
            progress.elapsed.as_secs_f64()
        );
        // A line that cannot be drawn is not worth failing for.
        let _ = std::io::stderr().write_all(text.as_bytes());
        self.drawn = true;
    }
}

impl Drop for ProgressLine<'_> {
    fn drop(&mut self) {
        if self.drawn {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// Makes Ctrl-C end checks rather than the process.
pub(crate) fn catch_interrupts() {
    interrupt::catch();
}

#[cfg(unix)]
mod interrupt {
    use std::sync::Once;
    use std::sync::atomic::Ordering;

    /// The first Ctrl-C ends the checks; a second one the process.
    pub(super) fn catch() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: the action is fully initialised; the handler only stores to an atomic, and
            // `SA_RESETHAND` gives the signal its old meaning back.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_interrupt as *const () as usize;
                action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
            }
        });
    }

    extern "C" fn on_interrupt(_: libc::c_int) {
        super::INTERRUPTED.store(true, Ordering::Relaxed);
    }
}

#[cfg(not(unix))]
mod interrupt {
    pub(super) fn catch() {}
}

/// Whether the user has asked for an end.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
