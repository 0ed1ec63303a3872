//! Counting preemptions while an execution runs.

use selvedge_core::{Op, ThreadId, ThreadSet};

/// Who ran last, and whether a switch away from it would preempt it.
///
/// A switch is a preemption when the running thread is enabled. It is free when the running thread is
/// blocked, has ended, waits with a time limit, or has just yielded of its own accord.
///
/// ```
/// use selvedge_core::{Op, OpKind, ThreadId, ThreadSet};
/// use selvedge_stateless::ContextBound;
///
/// let both: ThreadSet = [ThreadId(0), ThreadId(1)].into_iter().collect();
/// let mut bound = ContextBound::default();
/// assert!(!bound.preempts(ThreadId(1), &both, &ThreadSet::default())); // nobody ran yet
/// bound.stepped(ThreadId(1), &Op::local(OpKind::Local), false);
/// assert!(bound.preempts(ThreadId(0), &both, &ThreadSet::default()));
/// bound.stepped(ThreadId(1), &Op::local(OpKind::Yield), false);
/// assert!(!bound.preempts(ThreadId(0), &both, &ThreadSet::default())); // it yielded
/// ```
#[derive(Clone, Debug, Default)]
pub struct ContextBound {
    running: Option<ThreadId>,
    yielded: bool,
    preemptions: u32,
    switches: u32,
}

impl ContextBound {
    /// The thread that took the last step.
    #[inline]
    pub fn running(&self) -> Option<ThreadId> {
        self.running
    }

    /// Preemptions so far.
    #[inline]
    pub fn preemptions(&self) -> u32 {
        self.preemptions
    }

    /// Switches so far, of either kind.
    #[inline]
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Whether a switch to any other thread would be a preemption.
    #[inline]
    pub fn preemptible(&self, enabled: &ThreadSet, waiting: &ThreadSet) -> bool {
        match self.running {
            Some(running) => !self.yielded && enabled.contains(running) && !waiting.contains(running),
            None => false,
        }
    }

    /// Whether choosing this thread would be a preemption.
    pub fn preempts(&self, thread: ThreadId, enabled: &ThreadSet, waiting: &ThreadSet) -> bool {
        self.running != Some(thread) && self.preemptible(enabled, waiting)
    }

    /// Notes that a thread took a step, and whether that preempted another.
    #[inline]
    pub fn stepped(&mut self, thread: ThreadId, op: &Op, preempted: bool) {
        self.switches += u32::from(self.running.is_some_and(|running| running != thread));
        self.running = Some(thread);
        self.yielded = op.yields();
        self.preemptions += u32::from(preempted);
    }
}
