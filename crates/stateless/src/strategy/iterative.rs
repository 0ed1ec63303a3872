//! Search in the order of a cost: iterative context bounding, and delay bounding.
//!
//! Musuvathi, Qadeer: *Iterative Context Bounding for Systematic Testing of Multithreaded Programs* (PLDI
//! 2007), Algorithm 1: a work queue, phases, and `csb`, the cost that one phase may spend. At the end of
//! phase i every execution of cost at most (i + 1) · csb + i has been explored; with `csb` 0 every execution
//! of cost i comes before any of cost i + 1. Delay bounding is the same search with another cost (Emmi,
//! Qadeer, Rakamarić: *Delay-Bounded Scheduling*, POPL 2011): the k-th thread after the one that a
//! round-robin scheduler would run costs k delays.
//!
//! Deviations from Algorithm 1:
//! 1. The program is not stored: a work item is a schedule to run again, shared by all items that branch
//!    off the same execution.
//! 2. The switch after a thread that yielded, slept, waits with a time limit, or is held back by the fair
//!    bound is free (the paper's threads do not yield), and a choice of a value is free.
//! 3. Items whose cost is beyond the last phase are not stored; that there were some is remembered.

use std::collections::VecDeque;
use std::sync::Arc;

use selvedge_core::{Bounds, Decision, Measure};

use super::dfs::DfsStack;
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted, alternatives};
use crate::program::Onward;

/// What a departure from the default scheduler costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A switch away from a thread that could have gone on costs 1, any other nothing.
    Preemptions,
    /// Passing over k threads in round-robin order costs k.
    Delays,
}

/// Executions in the order of their cost.
///
/// ```
/// use selvedge_core::Measure;
/// use selvedge_stateless::{Strategy, strategy::{Cost, Iterative}};
/// let icb = Iterative::new(Cost::Preemptions, Some(2));
/// assert_eq!(icb.bound(), Some((Measure::Preemptions, 0)));
/// ```
#[derive(Debug)]
pub struct Iterative {
    cost: Cost,
    most: Option<u32>,
    /// What one phase may spend.
    csb: u32,
    phase: u32,
    /// The work of this phase and of later ones.
    queues: VecDeque<VecDeque<WorkItem>>,
    /// The depth-first search of the current work item, and the cost spent before it.
    stack: DfsStack,
    base: u32,
    cut: bool,
}

/// An execution to branch off, where, and how.
#[derive(Clone, Debug)]
struct WorkItem {
    schedule: Arc<[Decision]>,
    position: u32,
    decision: Decision,
    fingerprint: u64,
    /// The cost including this decision.
    cost: u32,
}

/// So much of the work is given to a search that goes ahead.
const MOST_AHEAD: usize = 256;

impl WorkItem {
    /// The decisions to begin with.
    fn write(&self, decisions: &mut Vec<Decision>) {
        decisions.clear();
        decisions.extend_from_slice(&self.schedule[..self.position as usize]);
        decisions.push(self.decision);
    }
}

impl Iterative {
    /// A search over the executions of cost at most `most`, strictly in the order of their cost.
    pub fn new(cost: Cost, most: Option<u32>) -> Self {
        Iterative {
            cost,
            most,
            csb: 0,
            phase: 0,
            queues: VecDeque::new(),
            stack: DfsStack::default(),
            base: 0,
            cut: false,
        }
    }

    /// Lets each phase spend so much; 0 is strict.
    pub fn csb(self, csb: u32) -> Self {
        Iterative { csb, ..self }
    }

    /// Everything of at most this cost has been explored when the current phase is done.
    fn phase_bound(&self) -> u32 {
        let bound = (self.phase + 1).saturating_mul(self.csb).saturating_add(self.phase);
        self.most.map_or(bound, |most| bound.min(most))
    }
}

impl Strategy for Iterative {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        loop {
            if self.stack.next(prefix) {
                return true;
            }
            let Some(queue) = self.queues.front_mut() else { return false };
            if let Some(item) = queue.pop_front() {
                item.write(&mut prefix.decisions);
                prefix.expect = Some(item.fingerprint);
                self.base = item.cost;
                self.stack.start_from(prefix);
                return true;
            }
            if self.queues.len() == 1 {
                return false;
            }
            self.queues.pop_front();
            self.phase += 1;
        }
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let mut items = self.queues.iter().flatten().peekable();
        let (stack, dearest) = match self.stack.ahead(wanted) {
            Some(stack) => (stack, self.base),
            None => {
                let mut decisions = Vec::new();
                loop {
                    let item = items.peek()?;
                    item.write(&mut decisions);
                    if wanted(&decisions, Onward::Calmly) {
                        break (DfsStack::done(), item.cost);
                    }
                    items.next();
                }
            }
        };
        // Of what costs more there will be more than is known now.
        let same = items.take_while(|item| item.cost <= dearest);
        Some(Box::new(Iterative {
            queues: VecDeque::from([same.take(MOST_AHEAD).cloned().collect()]),
            stack,
            most: Some(dearest + self.csb),
            ..*self
        }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        Choice::Take(point.without_preemption())
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.stack.ran(execution);
        self.cut |= execution.pruned;
        let record = execution.record;
        let mut shared: Option<Arc<[Decision]>> = None;
        // The cost at the end of the prefix; the decisions after it follow the default scheduler.
        let mut spent_before = match self.cost {
            Cost::Preemptions => 0,
            Cost::Delays => delays(record, execution.prefix),
        };
        for index in execution.prefix..record.len() {
            let preemptions = record.points()[index].preemptions;
            if self.cost == Cost::Preemptions {
                spent_before = preemptions;
            }
            for (passed, (decision, preempts)) in alternatives(record, index).enumerate() {
                let price = match (self.cost, decision) {
                    (_, Decision::Value(_)) => 0,
                    (Cost::Preemptions, _) => u32::from(preempts),
                    (Cost::Delays, _) => passed as u32 + 1,
                };
                let cost = spent_before + price;
                if self.most.is_some_and(|most| cost > most) {
                    self.cut = true;
                } else if cost - self.base <= self.csb {
                    self.stack.push(execution, index, decision);
                } else {
                    // With csb = 0 the cost is the phase; otherwise a price of 1 leads to the next phase.
                    let ahead = if self.csb == 0 { (cost - self.base) as usize } else { 1 };
                    while self.queues.len() <= ahead {
                        self.queues.push_back(VecDeque::new());
                    }
                    let schedule = shared.get_or_insert_with(|| Arc::from(record.decisions())).clone();
                    let fingerprint = record.points()[index].fingerprint;
                    let position = index as u32;
                    self.queues[ahead].push_back(WorkItem {
                        schedule,
                        position,
                        decision,
                        fingerprint,
                        cost,
                    });
                }
            }
        }
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        let measure = match self.cost {
            Cost::Preemptions => Measure::Preemptions,
            Cost::Delays => Measure::Delays,
        };
        Some((measure, self.phase_bound()))
    }

    fn exhausted(&self) -> Option<Bounds> {
        let reached = if self.cut { self.most } else { Some(self.phase_bound()) };
        Some(match self.cost {
            Cost::Preemptions => Bounds { preemptions: reached, ..Bounds::default() },
            Cost::Delays => Bounds { delays: reached, ..Bounds::default() },
        })
    }

    fn cut(&self) -> bool {
        self.cut
    }

    fn in_order(&self) -> bool {
        self.csb == 0
    }
}

/// The delays among the first decisions of an execution.
fn delays(record: &crate::record::Record, prefix: usize) -> u32 {
    (0..prefix)
        .map(|index| {
            let point = &record.points()[index];
            let taken = record.decisions()[index];
            if point.arity > 0 {
                return 0;
            }
            let stays = point.running.filter(|running| {
                point.preemptible && record.enabled(point).any(|thread| thread == *running)
            });
            let after = point.running.map_or(u32::MAX, |running| running.0);
            // The round-robin order from the default on: the running thread if it can go on, then those
            // above it, then those up to it.
            let mut order: Vec<_> = record.enabled(point).collect();
            order.sort_by_key(|thread| (Some(*thread) != stays, thread.0 <= after, thread.0));
            order.iter().position(|thread| Decision::Thread(*thread) == taken).unwrap_or(0) as u32
        })
        .sum()
}
