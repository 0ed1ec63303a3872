//! Dynamic partial-order reduction.
//!
//! Flanagan, Godefroid: *Dynamic Partial-Order Reduction for Model Checking Software* (POPL 2005), in the
//! form of Algorithm 2 of Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013), with
//! the most recent dependent step of each other thread; sleep sets; and the three optimisations of its
//! section 5 behind a switch.
//!
//! Deviations:
//! 1. Creating a thread is no step; a thread's first step depends on the step within which it was created.
//! 2. With the optimisations, what a step that was performed depends on is judged by what it did (a failed
//!    compare-exchange reads), not by what it might have done.

use selvedge_core::Bounds;

use super::backtrack::{Backtracking, Policy};
use super::{Choice, Finished, Point, Prefix, Strategy};

/// Every terminal partial order, by dynamic partial-order reduction with sleep sets. Loops that wait by
/// yielding do not end under it.
///
/// ```
/// use selvedge_stateless::{Prefix, Strategy, strategy::Dpor};
/// let mut dpor = Dpor::new();
/// assert!(dpor.next_prefix(&mut Prefix::default()));
/// assert!(!dpor.cut());
/// ```
#[derive(Debug)]
pub struct Dpor {
    search: Backtracking,
}

impl Default for Dpor {
    fn default() -> Self {
        Dpor::new()
    }
}

impl Dpor {
    /// With the optimisations.
    pub fn new() -> Self {
        Dpor::with(true)
    }

    /// With or without the optimisations.
    pub fn with(optimised: bool) -> Self {
        let policy = Policy { preemptions: None, fair: false, lazy: optimised, sleep: true };
        Dpor { search: Backtracking::new(policy) }
    }

    /// How many executions were ended because every thread that could go on was asleep.
    pub fn blocked(&self) -> u64 {
        self.search.blocked
    }
}

impl Strategy for Dpor {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.search.next(prefix)
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.search.choose(point)
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.search.finished(execution);
    }

    fn wants_pending(&self) -> bool {
        true
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds::default())
    }

    fn cut(&self) -> bool {
        false
    }
}
