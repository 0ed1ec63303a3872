//! Bounded partial-order reduction.
//!
//! Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013): Algorithm 2 with Algorithm 3
//! (preemption bound), Algorithm 4 (fair bound), both (5.3), sleep sets and the optimised form (5.4). Every
//! local state that an execution within the bounds reaches is reached.
//!
//! Deviations:
//! 1. Sleep sets. The paper keeps a step out of them only when it was itself added conservatively. In the
//!    paper's own Figure 1 that is not enough: with bound 0 the conservative `t3` is tried at s0 while `t1`,
//!    tried before and not conservative, sleeps, and s' is missed again. Here a step that was tried sleeps
//!    beside its siblings only if no bound cut anything off behind it. And where `u` sleeps at a point to which it is
//!    to be added, also one at which a context begins, all that can be chosen are: see deviation 3 of `dpor.rs`.
//! 2. Conservative points are kept apart and tried only when the search is about to leave a state and a
//!    bound has cut something off below it. This is section 5.4's optimisation, decided exactly.
//! 3. A point where a switch is free although the same thread went on (it yielded, or waits with a time
//!    limit) counts as one where the executing thread changed: a thread can be scheduled there as cheaply.
//! 4. A thread that the fair bound holds back counts as disabled: at a point where it cannot be added, all
//!    that can be chosen are.
//! 5. Algorithm 4 tests the next operation of `u` for a release, Definition 5.4 the step S_i; here either
//!    one, or that S_i created a thread, makes the point conservative.
//! 6. The further points of section 5.3, where what can be chosen changes, are needed under the fair bound
//!    alone too: a thread that is created holds back those that have yielded more often, and its creation
//!    need not depend on anything that they do.
//! 7. A step that ended an execution depends on everything, and no decision that led there sleeps: two
//!    accesses to a tracked cell that race belong to steps that need not conflict otherwise.
//! 8. Deviation 5 of `dpor.rs`.

use selvedge_core::{Bounds, Measure};

use super::backtrack::{Backtracking, Policy};
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted};

/// Every local state within the bounds, bound by bound.
///
/// ```
/// use selvedge_core::Measure;
/// use selvedge_stateless::{Strategy, strategy::Bpor};
/// let bpor = Bpor::new(Some(2), false);
/// assert_eq!(bpor.bound(), Some((Measure::Preemptions, 0)));
/// ```
#[derive(Debug)]
pub struct Bpor {
    search: Backtracking,
    most: Option<u32>,
    bound: Option<u32>,
}

impl Bpor {
    /// A search over bounds 0 to `most` on preemptions, or at once without one. `fair` says whether a fair
    /// bound is in force.
    pub fn new(most: Option<u32>, fair: bool) -> Self {
        let policy = Policy { preemptions: most.map(|_| 0), fair, lazy: true, sleep: true };
        Bpor { search: Backtracking::new(policy), most, bound: most.map(|_| 0) }
    }

    /// Goes to the last bound at once.
    pub fn at_bound(mut self) -> Self {
        self.search.policy.preemptions = self.most;
        self.bound = self.most;
        self
    }

    /// Begins with this bound.
    pub(super) fn from(mut self, bound: u32) -> Self {
        self.search.policy.preemptions = Some(bound);
        self.bound = Some(bound);
        self
    }

    /// With or without the optimised form of section 5.4.
    pub fn optimised(mut self, optimised: bool) -> Self {
        self.search.policy.lazy = optimised;
        self
    }

    /// How many executions were ended because every thread that could go on was asleep.
    pub fn blocked(&self) -> u64 {
        self.search.blocked
    }
}

impl Strategy for Bpor {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        loop {
            if self.search.next(prefix) {
                return true;
            }
            match (self.bound, self.most) {
                (Some(bound), Some(most)) if bound < most && self.search.cut => {
                    self.bound = Some(bound + 1);
                    self.search.restart(self.bound);
                }
                _ => return false,
            }
        }
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let search = self.search.ahead(wanted)?;
        Some(Box::new(Bpor { search, most: self.bound, bound: self.bound }))
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

    fn bound(&self) -> Option<(Measure, u32)> {
        self.bound.map(|bound| (Measure::Preemptions, bound))
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds { preemptions: self.bound, ..Bounds::default() })
    }

    fn cut(&self) -> bool {
        self.search.cut
    }

    fn in_order(&self) -> bool {
        true
    }
}
