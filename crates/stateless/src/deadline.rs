//! When a search has to end, whatever it is doing: the user has interrupted it, or its time is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Every phase of a search that may take long asks it now and then.
///
/// ```
/// use selvedge_stateless::Deadline;
/// use std::time::Duration;
/// assert_eq!(Deadline::default().reached(), None);
/// let over = Deadline::new(None, Some(Duration::ZERO));
/// assert_eq!(over.reached().as_deref(), Some("the time limit of 0ns was reached"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline {
    interrupt: Option<&'static AtomicBool>,
    /// When the time is over, and how much there was.
    time: Option<(Instant, Duration)>,
}

impl Deadline {
    /// From now on: until the flag is set, and no longer than that.
    pub fn new(interrupt: Option<&'static AtomicBool>, limit: Option<Duration>) -> Self {
        let time = limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
        Deadline { interrupt, time }
    }

    /// Why the search has to end, if it has.
    pub fn reached(&self) -> Option<String> {
        if self.is_interrupted() {
            return Some("it was interrupted".into());
        }
        let (_, limit) = self.time.filter(|_| self.is_over())?;
        Some(format!("the time limit of {limit:?} was reached"))
    }

    /// Whether it has, for where the reason is of no interest yet.
    pub fn has_come(&self) -> bool {
        self.is_interrupted() || self.is_over()
    }

    /// How much time is left, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        self.time.map(|(end, _)| end.saturating_duration_since(Instant::now()))
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    fn is_over(&self) -> bool {
        self.time.is_some_and(|(end, _)| Instant::now() >= end)
    }
}
