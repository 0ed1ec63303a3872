//! Depth-first search: every execution, the last choice varied first.

use selvedge_core::{Bounds, Decision};

use super::{Choice, Finished, Point, Prefix, Strategy, alternatives};
use crate::program::Onward;

/// Depth-first search over all executions, or over those with a limited number of preemptions.
///
/// ```
/// use selvedge_stateless::{Prefix, Strategy, strategy::Dfs};
/// let mut dfs = Dfs::new(Some(1));
/// let mut prefix = Prefix::default();
/// assert!(dfs.next_prefix(&mut prefix));
/// assert!(prefix.decisions.is_empty());
/// ```
#[derive(Debug)]
pub struct Dfs {
    stack: DfsStack,
    preemptions: Option<u32>,
    cut: bool,
}

impl Dfs {
    /// A search over the executions with at most so many preemptions; `None` is all of them.
    pub fn new(preemptions: Option<u32>) -> Self {
        Dfs { stack: DfsStack::default(), preemptions, cut: false }
    }
}

impl Strategy for Dfs {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.stack.next(prefix)
    }

    fn foresee(&self, tell: &mut dyn FnMut(&[Decision], Onward) -> bool) {
        self.stack.foresee(tell);
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        Choice::Take(point.without_preemption())
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.stack.ran(execution);
        for index in execution.prefix..execution.record.len() {
            for (decision, preempts) in alternatives(execution.record, index) {
                let preemptions = execution.record.points()[index].preemptions + u32::from(preempts);
                if self.preemptions.is_some_and(|most| preemptions > most) {
                    self.cut = true;
                } else {
                    self.stack.push(execution, index, decision);
                }
            }
        }
        self.cut |= execution.pruned;
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds { preemptions: self.preemptions, ..Bounds::default() })
    }

    fn cut(&self) -> bool {
        self.cut
    }
}

/// The untried alternatives along the current path, deepest last.
#[derive(Debug, Default)]
pub(crate) struct DfsStack {
    path: Vec<Decision>,
    /// Position in the path, the decision to take there, and the fingerprint before it.
    untried: Vec<(u32, Decision, u64)>,
    begun: bool,
}

impl DfsStack {
    /// Starts over.
    pub(crate) fn clear(&mut self) {
        *self = DfsStack::default();
    }

    /// Starts over from a given prefix.
    pub(crate) fn start_from(&mut self, prefix: &Prefix) {
        self.path.clone_from(&prefix.decisions);
        self.untried.clear();
        self.begun = true;
    }

    /// The next prefix to run, deepest alternative first; the empty one to begin with.
    pub(crate) fn next(&mut self, prefix: &mut Prefix) -> bool {
        if !self.begun {
            self.begun = true;
            prefix.clear();
            return true;
        }
        let Some((position, decision, fingerprint)) = self.untried.pop() else { return false };
        self.path.truncate(position as usize);
        self.path.push(decision);
        prefix.decisions.clone_from(&self.path);
        prefix.expect = Some(fingerprint);
        true
    }

    /// Tells what is untried, deepest first; says whether more can be used.
    pub(crate) fn foresee(&self, tell: &mut dyn FnMut(&[Decision], Onward) -> bool) -> bool {
        let mut decisions = self.path.clone();
        self.untried.iter().rev().all(|(position, decision, _)| {
            decisions.truncate(*position as usize);
            decisions.push(*decision);
            tell(&decisions, Onward::Calmly)
        })
    }

    /// Makes a finished execution the current path.
    pub(crate) fn ran(&mut self, execution: &Finished<'_>) {
        self.path.truncate(execution.prefix);
        self.path.extend_from_slice(&execution.record.decisions()[self.path.len()..]);
    }

    /// Adds an alternative to the current path.
    pub(crate) fn push(&mut self, execution: &Finished<'_>, index: usize, decision: Decision) {
        let fingerprint = execution.record.points()[index].fingerprint;
        self.untried.push((index as u32, decision, fingerprint));
    }
}
