//! Depth-bounded search, once or iterated over growing depths.
//!
//! The searches that ICB is compared with (Musuvathi and Qadeer, PLDI 2007, sections 2.1 and 4.4): `db:N`
//! ends every execution after N steps, `idfs` does so for growing N.

use selvedge_core::{Bounds, Measure};

use super::dfs::DfsStack;
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted, alternatives};

/// Depth-first search over executions that are ended after a number of steps.
#[derive(Debug)]
pub struct Depth {
    stack: DfsStack,
    /// The depth that is being explored.
    depth: u32,
    most: u32,
    increment: u32,
    cut: bool,
}

impl Depth {
    /// Explores to depth `increment`, 2 × `increment`, ... up to `most`; and only to `most` when
    /// `increment` is not less.
    ///
    /// ```
    /// use selvedge_stateless::{Strategy, strategy::Depth};
    /// assert_eq!(Depth::new(40, 10).bound().unwrap().1, 10);
    /// assert_eq!(Depth::new(40, 40).bound().unwrap().1, 40);
    /// ```
    pub fn new(most: u32, increment: u32) -> Self {
        let increment = increment.max(1);
        Depth { stack: DfsStack::default(), depth: increment.min(most), most, increment, cut: false }
    }
}

impl Strategy for Depth {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        loop {
            if self.stack.next(prefix) {
                return true;
            }
            if !self.cut || self.depth >= self.most {
                return false;
            }
            self.depth = (self.depth + self.increment).min(self.most);
            self.cut = false;
            self.stack.clear();
        }
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let stack = self.stack.ahead(wanted)?;
        Some(Box::new(Depth { stack, ..*self }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        if point.step >= self.depth as usize {
            Choice::Prune
        } else {
            Choice::Take(point.without_preemption())
        }
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.stack.ran(execution);
        for index in execution.prefix..execution.record.len() {
            for (decision, _) in alternatives(execution.record, index) {
                self.stack.push(execution, index, decision);
            }
        }
        self.cut |= execution.pruned;
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        Some((Measure::Depth, self.depth))
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds { depth: Some(self.depth), ..Bounds::default() })
    }

    fn cut(&self) -> bool {
        self.cut
    }
}
