//! How much a search may look at between executions.
//!
//! `Mark` of Algorithm 2 walks over the states of an execution, and there may be exponentially many of them: of `n` threads
//! that have nothing to do with each other, every set of those that have begun is one. So what is looked at is counted. It
//! may be no more than a fixed multiple of what was run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::deadline::Deadline;

/// How many looks `cb-por` may take before another strategy takes its place.
///
/// ```
/// use selvedge_stateless::strategy::{Looks, Parameters};
/// assert_eq!(Parameters::default().looks, Looks::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// Before anything was run.
    pub first: u64,
    /// For each step that was run.
    pub a_step: u64,
}

impl Default for Looks {
    /// As many at first as take some tenths of a second, and for each step as many as take a thousand times as long as it.
    fn default() -> Self {
        Looks { first: 1 << 20, a_step: 1 << 9 }
    }
}

/// What a search has looked at, and may.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effort {
    deadline: Deadline,
    looks_a_step: u64,
    /// How many more looks it may take; `None` if that is not limited.
    left: Option<u64>,
    looks: u64,
    /// It must not look at anything more: what it was about to find out is not known.
    over: bool,
    /// There was an execution that it could not look at.
    blind: bool,
    /// The search has ended, for copies of it that still work on something.
    ended: Arc<AtomicBool>,
}

impl Effort {
    /// The clock is read once in so many looks.
    const POLL: u64 = 1 << 10;

    /// From now on, only so many.
    pub(crate) fn limit(&mut self, looks: Looks) {
        (self.left, self.looks_a_step) = (Some(looks.first), looks.a_step);
    }

    pub(crate) fn heed(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// That of a copy of the search, which ends with it.
    pub(crate) fn of_copy(&self) -> Self {
        Effort { left: None, ..self.clone() }
    }

    /// An execution of so many steps was run.
    pub(crate) fn ran(&mut self, steps: usize) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_add((steps as u64).saturating_mul(self.looks_a_step));
        }
    }

    /// Counts a look. Says whether it may be taken.
    #[inline]
    pub(crate) fn look(&mut self) -> bool {
        self.looks += 1;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            self.over |= *left == 0;
        }
        if self.looks.is_multiple_of(Self::POLL) {
            self.over |= self.deadline.has_come() || self.ended.load(Ordering::Relaxed);
        }
        !self.over
    }

    /// There is an execution that it cannot look at. What there is to look at is more than it may, if that is limited and
    /// there are others.
    pub(crate) fn cannot_look(&mut self) {
        self.blind = self.left.is_some();
    }

    /// There is another execution. Says whether the search may go on to it.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.over |= self.blind;
        !self.over
    }

    /// Whether a look was refused.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Ends it, and that of copies.
    pub(crate) fn end(&mut self) {
        self.over = true;
        self.ended.store(true, Ordering::Relaxed);
    }
}
