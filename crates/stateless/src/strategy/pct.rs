//! Probabilistic concurrency testing.
//!
//! Burckhardt, Kothari, Musuvathi, Nagarakatte: *A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs* (ASPLOS 2010). Threads have random priorities and the one with the highest runs; at d − 1
//! random steps the running thread's priority drops below all others. A bug of depth d is found with
//! probability at least 1 / (n k^(d−1)).
//!
//! Deviations:
//! 1. k, the number of steps, is not given: it is the length of the longest execution so far.
//! 2. A thread that yields drops below all others too, so that spin loops end.

use selvedge_core::{Bounds, Decision, ThreadId};

use super::draw::{change_point, draw, priority, value};
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted};
use crate::program::Onward;

/// A sampler that finds bugs of a given depth with a known probability.
///
/// ```
/// use selvedge_stateless::{Strategy, strategy::Pct};
/// assert_eq!(Pct::new(7, 3).exhausted(), None); // a sample exhausts nothing
/// ```
#[derive(Clone, Debug)]
pub struct Pct {
    seed: u64,
    executions: u64,
    current: u64,
    longest: u64,
    /// The steps at which the running thread's priority drops, in no order.
    change_points: Vec<u64>,
}

impl Pct {
    /// A sampler with this seed for bugs of this depth (1 and more).
    pub fn new(seed: u64, depth: u32) -> Self {
        let change_points = vec![0; depth.saturating_sub(1) as usize];
        Pct { seed, executions: 0, current: 0, longest: 1, change_points }
    }

    /// How an execution with this seed goes on.
    fn onward(&self, seed: u64) -> Onward {
        Onward::ByPriority { seed, longest: self.longest, drops: self.change_points.len() as u32 }
    }

    /// The priority of a thread.
    fn priority(&self, thread: ThreadId, point: &Point<'_>) -> u64 {
        let dropped = self
            .change_points
            .iter()
            .filter(|&&step| {
                step > 0
                    && step <= point.step as u64
                    && point.decisions[..step as usize].iter().rev().find_map(as_thread) == Some(thread)
            })
            .max();
        priority(self.current, thread.0, dropped.copied())
    }
}

fn as_thread(decision: &Decision) -> Option<ThreadId> {
    match decision {
        Decision::Thread(thread) => Some(*thread),
        Decision::Value(_) => None,
    }
}

impl Strategy for Pct {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        prefix.clear();
        self.executions += 1;
        self.current = draw(self.seed, self.executions);
        for (index, point) in self.change_points.iter_mut().enumerate() {
            *point = change_point(self.current, index as u64, self.longest);
        }
        prefix.onward = self.onward(self.current);
        true
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let is_wanted = |number: &u64| wanted(&[], self.onward(draw(self.seed, number + 1)));
        let executions = (self.executions..).find(is_wanted)?;
        Some(Box::new(Pct { executions, ..self.clone() }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        if point.arity > 0 {
            let value = value(self.current, point.step as u64, u64::from(point.arity));
            return Choice::Take(Decision::Value(value as u32));
        }
        // A thread that is enabled and cannot be preempted has yielded, or waits for time to pass.
        let patient = point.running.filter(|_| !point.preemptible);
        let thread = point
            .enabled
            .iter()
            .max_by_key(|thread| (Some(*thread) != patient, self.priority(*thread, point)))
            .expect("a point has an enabled thread");
        Choice::Take(Decision::Thread(thread))
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.longest = self.longest.max(execution.record.len() as u64);
    }

    fn learns(&self) -> bool {
        false
    }

    fn exhausted(&self) -> Option<Bounds> {
        None
    }

    fn cut(&self) -> bool {
        true
    }
}
