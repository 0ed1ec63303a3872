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
//! 3. "Add u if it is enabled" loses an order when u sleeps at that point. The plain form adds every enabled
//!    thread there; the optimised form uses source sets (Abdulla, Aronis, Jonsson, Sagonas: *Optimal Dynamic
//!    Partial Order Reduction*, POPL 2014).
//! 4. Of the first optimisation, backtracking only dependences in the transitive reduction: a failed attempt
//!    to lock can hide a race between a lock and a later lock. Whether two steps can be reversed is found out
//!    from the graph instead of from [`selvedge_core::Op::may_be_coenabled`].
//! 5. Where several steps together keep an operation from going on, as readers that never unlock do a writer, it comes
//!    before all of them or before none: such a race is one with a set of steps, which change places with it together.

use selvedge_core::Bounds;

use super::backtrack::{Backtracking, Policy};
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted};

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

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        Some(Box::new(Dpor { search: self.search.ahead(wanted)? }))
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
