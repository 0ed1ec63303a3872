//! When to stop: one clock for all that a check does.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::options::Progress;

/// The time of a check, and the user's wish to go on.
pub(crate) struct Clock<'a> {
    start: Instant,
    limit: Option<Duration>,
    progress: RefCell<&'a mut dyn FnMut(Progress) -> bool>,
    last: Cell<Progress>,
}

impl<'a> Clock<'a> {
    /// A clock that began to run at `started`, or begins now.
    pub(crate) fn start(
        started: Option<Instant>,
        limit: Option<Duration>,
        progress: &'a mut dyn FnMut(Progress) -> bool,
    ) -> Self {
        let (progress, last) = (RefCell::new(progress), Cell::default());
        Clock { start: started.unwrap_or_else(Instant::now), limit, progress, last }
    }

    /// Tells how far the search is. Whether to go on.
    pub(crate) fn tell(&self, now: Progress) -> bool {
        self.last.set(now);
        self.go_on()
    }

    /// Whether to go on, wherever the check is.
    pub(crate) fn go_on(&self) -> bool {
        let now = Progress { elapsed: self.start.elapsed(), ..self.last.get() };
        (self.progress.borrow_mut())(now) && !self.is_over()
    }

    /// Since it began to run.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether the time has run out.
    pub(crate) fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.start.elapsed() >= limit)
    }
}
