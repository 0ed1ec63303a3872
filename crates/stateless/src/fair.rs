//! The fair bound: how far a thread may run ahead in yields.
//!
//! Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013), section 2.5.2, Definition
//! 2.6. A thread that yields says that it makes no progress; one that has yielded more often than another
//! thread which could run instead, by more than the bound, is not scheduled. A spin loop that yields is so
//! unrolled a bounded number of times, and every choice that remains leads on.
//!
//! Under a preemption bound too, a thread that is held back could leave every thread beyond one bound or the
//! other (section 5.3). Here the switch away from it is free, as the section suggests. That only adds
//! executions: one that has at most c preemptions when such switches are counted has at most c when not.

use selvedge_core::{ThreadId, ThreadSet};

/// The yield counts of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fair {
    counts: Vec<u32>,
    /// No thread has yielded: nothing to compute.
    untouched: bool,
}

impl Fair {
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.untouched = true;
    }

    /// Becomes what another one is, and keeps its memory.
    pub(crate) fn copy_from(&mut self, other: &Fair) {
        self.counts.clone_from(&other.counts);
        self.untouched = other.untouched;
    }

    pub(crate) fn yielded(&mut self, thread: ThreadId) {
        if thread.index() >= self.counts.len() {
            self.counts.resize(thread.index() + 1, 0);
        }
        self.counts[thread.index()] += 1;
        self.untouched = false;
    }

    fn count(&self, thread: ThreadId) -> u32 {
        self.counts.get(thread.index()).copied().unwrap_or(0)
    }

    /// Whether a thread has yielded: otherwise every enabled thread is within every bound.
    #[inline]
    pub(crate) fn applies(&self) -> bool {
        !self.untouched
    }

    /// Puts the enabled threads that are within the bound into `allowed`. Says whether one was left out.
    #[inline]
    pub(crate) fn allow(&self, enabled: &ThreadSet, bound: u32, allowed: &mut ThreadSet) -> bool {
        allowed.copy_from(enabled);
        if self.untouched {
            return false;
        }
        if enabled.only().is_some() {
            return false;
        }
        let least = enabled.iter().map(|thread| self.count(thread)).min().unwrap_or(0);
        let mut cut = false;
        for thread in enabled.iter() {
            if self.count(thread) - least > bound {
                allowed.remove(thread);
                cut = true;
            }
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_ahead_by_more_than_the_bound_is_left_out_while_another_can_run() {
        let both: ThreadSet = [ThreadId(0), ThreadId(1)].into_iter().collect();
        let mut fair = Fair::default();
        fair.clear();
        let mut allowed = ThreadSet::default();
        assert!(!fair.allow(&both, 0, &mut allowed));
        fair.yielded(ThreadId(1));
        assert!(fair.allow(&both, 0, &mut allowed));
        assert_eq!(allowed.iter().collect::<Vec<_>>(), [ThreadId(0)]);
        assert!(!fair.allow(&both, 1, &mut allowed));
        let alone: ThreadSet = [ThreadId(1)].into_iter().collect();
        assert!(!fair.allow(&alone, 0, &mut allowed));
    }
}
