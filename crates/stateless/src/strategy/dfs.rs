//! Depth-first search: every execution, the last choice varied first.

use selvedge_core::{Bounds, Decision};

use super::{Choice, Finished, Point, Prefix, Strategy, Wanted, alternatives};
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
#[derive(Clone, Debug)]
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

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let stack = self.stack.ahead(wanted)?;
        Some(Box::new(Dfs { stack, ..*self }))
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
#[derive(Clone, Debug, Default)]
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

    /// With nothing left to try.
    pub(crate) fn done() -> Self {
        DfsStack { begun: true, ..DfsStack::default() }
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

    /// Offers what is untried, deepest first; and what is left from there on, if one is wanted.
    pub(crate) fn ahead(&self, wanted: Wanted<'_>) -> Option<Self> {
        let mut decisions = self.path.clone();
        let last = self.untried.iter().rposition(|(position, decision, _)| {
            decisions.truncate(*position as usize);
            decisions.push(*decision);
            wanted(&decisions, Onward::Calmly)
        })?;
        decisions.pop();
        Some(DfsStack { path: decisions, untried: self.untried[..=last].to_vec(), begun: true })
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
