//! Running one given schedule.

use selvedge_core::{Bounds, Decision, Schedule, ThreadId};

use super::{Choice, Finished, Point, Prefix, Strategy};

/// Runs one schedule exactly, and goes on without preemption should it end early.
///
/// ```
/// use selvedge_core::Schedule;
/// use selvedge_stateless::{Prefix, Strategy, strategy::Replay};
/// let mut replay = Replay::new(Schedule::default());
/// let mut prefix = Prefix::default();
/// assert!(replay.next_prefix(&mut prefix));
/// assert!(!replay.next_prefix(&mut prefix));
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    schedule: Option<Schedule>,
}

impl Replay {
    /// Replays this schedule.
    pub fn new(schedule: Schedule) -> Self {
        Replay { schedule: Some(schedule) }
    }
}

impl Strategy for Replay {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        prefix.expect = None;
        match self.schedule.take() {
            Some(schedule) => {
                prefix.decisions = schedule.0;
                true
            }
            None => false,
        }
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        Choice::Take(point.without_preemption())
    }

    fn finished(&mut self, _: &Finished<'_>) {}

    fn exhausted(&self) -> Option<Bounds> {
        None
    }

    fn cut(&self) -> bool {
        true
    }
}

/// A run of steps by one thread, with the values that it chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) thread: ThreadId,
    pub(crate) steps: usize,
}

/// Follows a list of contexts as far as it can: a context ends early when its thread cannot go on, and
/// after the last one the scheduler does not preempt. Used to try simpler forms of a counterexample.
#[derive(Clone, Debug)]
pub(crate) struct Guided {
    pub(crate) contexts: Vec<Context>,
    pub(crate) values: Vec<u32>,
}

impl Guided {
    /// The contexts and values of a schedule.
    pub(crate) fn from_decisions(decisions: &[Decision]) -> Self {
        let (mut contexts, mut values) = (Vec::<Context>::new(), Vec::new());
        for decision in decisions {
            match (*decision, contexts.last_mut()) {
                (Decision::Value(value), _) => values.push(value),
                (Decision::Thread(thread), Some(last)) if last.thread == thread => last.steps += 1,
                (Decision::Thread(thread), _) => contexts.push(Context { thread, steps: 1 }),
            }
        }
        Guided { contexts, values }
    }

    /// What to do at a point, given how far the guide has been followed.
    pub(crate) fn decide(&self, point: &Point<'_>, progress: &mut GuideProgress) -> Decision {
        if point.arity > 0 {
            let value = self.values.get(progress.values).copied().unwrap_or(0);
            progress.values += 1;
            return Decision::Value(value.min(point.arity - 1));
        }
        while let Some(context) = self.contexts.get(progress.context) {
            if progress.steps < context.steps && point.enabled.contains(context.thread) {
                progress.steps += 1;
                return Decision::Thread(context.thread);
            }
            progress.context += 1;
            progress.steps = 0;
        }
        point.without_preemption()
    }
}

/// How far a guide has been followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuideProgress {
    context: usize,
    steps: usize,
    values: usize,
}
