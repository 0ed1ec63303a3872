//! A test that does not come back: one of its threads waits for something that Selvedge does not see, such as a lock of std
//! that another of them holds, or computes without end. All of them run on one OS thread, so nothing else can run then, and
//! nobody would say why. The thread that waits for the search looks whether there is a pulse.

use std::io::Write as _;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long a step may take before something is said, unless another time is given.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The step that is under way. Only the search writes here, and each part is of use by itself.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// Odd within a step.
    beats: AtomicU64,
    /// The thread that takes it, and the operation that it begins with.
    thread: AtomicU32,
    site: AtomicPtr<Location<'static>>,
}

impl Pulse {
    /// A step begins.
    #[inline(always)]
    pub(crate) fn begin(&self, thread: u32, site: Option<&'static Location<'static>>) {
        self.goes_on(thread, site);
        self.beats.store(self.beats.load(Relaxed) + 1, Relaxed);
    }

    /// The step goes on in this thread, which runs since this operation: a new one runs to its first within its creator's
    /// step.
    #[inline(always)]
    pub(crate) fn goes_on(&self, thread: u32, site: Option<&'static Location<'static>>) {
        self.thread.store(thread, Relaxed);
        self.site.store(site.map_or(ptr::null_mut(), |site| ptr::from_ref(site).cast_mut()), Relaxed);
    }

    /// It has ended.
    #[inline(always)]
    pub(crate) fn end(&self) {
        self.beats.store(self.beats.load(Relaxed) + 1, Relaxed);
    }

    /// Waits until the search ends, which drops the other end of the channel. Says whether a step took longer than this
    /// before; it may still be under way.
    pub(crate) fn is_missed(&self, ended: &Receiver<()>, patience: Duration) -> bool {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            match ended.recv_timeout(patience / 8) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return false,
            }
            let beats = self.beats.load(Relaxed);
            if beats != last {
                (last, since) = (beats, Instant::now());
            } else if beats % 2 == 1 && since.elapsed() >= patience {
                return true;
            }
        }
    }

    /// Says what is the matter. It goes past what keeps the output of tests, who may never end.
    pub(crate) fn complain(&self, subject: &str, patience: Duration) {
        let text = self.complaint(subject, patience);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn complaint(&self, subject: &str, patience: Duration) -> String {
        let thread = match self.thread.load(Relaxed) {
            0 => "main".to_string(),
            number => format!("thread {number}"),
        };
        // SAFETY: only references that are valid for ever are stored there.
        let site = unsafe { self.site.load(Relaxed).as_ref() };
        let since = match site {
            Some(site) => format!("its operation at {site}"),
            None => "it began".to_string(),
        };
        format!(
            "\nselvedge: {subject}: {thread} has not come to another operation of Selvedge's types for {patience:?}, since \
             {since}.\n\
             Nothing else can run meanwhile. If it waits for a lock, a channel or a thread of std's, it may wait for ever, \
             because Selvedge\n\
             does not see what it waits for: use selvedge::sync and selvedge::thread in its place. If it only takes long, \
             have more patience:\n\
             SELVEDGE_PATIENCE=5m, or 0 to wait in silence.\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn only_a_step_that_does_not_end_is_missed() {
        let pulse = Pulse::default();
        let (search, ended) = channel();
        pulse.begin(0, None);
        pulse.end();
        pulse.begin(2, Some(Location::caller()));
        assert!(pulse.is_missed(&ended, Duration::from_millis(80)));
        let complaint = pulse.complaint("queue", Duration::from_secs(20));
        assert!(
            complaint.contains("selvedge: queue: thread 2") && complaint.contains("for 20s"),
            "{complaint}"
        );
        assert!(complaint.contains("its operation at crates/selvedge/src/pulse.rs:"), "{complaint}");

        // Between two steps a search may take as long as it likes.
        pulse.end();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                drop(search);
            });
            assert!(!pulse.is_missed(&ended, Duration::from_millis(8)));
        });
    }
}
