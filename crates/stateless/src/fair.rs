//! The fair bound: how far a thread may run ahead in yields.
//!
//! Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013), section 2.5.2, Definition
//! 2.6. A thread that yields says that it makes no progress; one that has yielded more often than another
//! thread which could run instead, by more than the bound, is not scheduled. A spin loop that yields is so
//! unrolled a bounded number of times, and every choice that remains leads on.
//!
//! Deviation: a thread's yields are counted place by place, and what is compared is its largest count. The paper counts
//! all of them, and so cuts off a thread that yields twice in a row and never again. A thread that yields for ever does so at
//! some place for ever; one whose yields are at different places is in no loop, and bound 1 or more leaves all of its
//! executions in.
//!
//! Under a preemption bound too, a thread that is held back could leave every thread beyond one bound or the
//! other (section 5.3). Here the switch away from it is free, as the section suggests. That only adds
//! executions: one that has at most c preemptions when such switches are counted has at most c when not.

use selvedge_core::{OpKind, ThreadId, ThreadSet};

use crate::graph::Graph;
use crate::program::Site;

/// The yield counts of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fair {
    /// For each thread, how often it has yielded at the place where it did so most often.
    counts: Vec<u32>,
    /// No thread has yielded: nothing to compute.
    untouched: bool,
}

/// Where threads have yielded, and how often.
#[derive(Debug, Default)]
pub(crate) struct Places {
    threads: Vec<Vec<(Site, u32)>>,
}

impl Places {
    pub(crate) fn clear(&mut self) {
        self.threads.iter_mut().for_each(Vec::clear);
    }

    /// A thread has yielded here. Says whether it had not done so as often at any place before: then the bound counts it.
    pub(crate) fn yielded(&mut self, thread: ThreadId, site: Site) -> bool {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, Vec::new);
        }
        let places = &mut self.threads[thread.index()];
        let most = places.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let at = places.iter().position(|(place, _)| *place == site).unwrap_or_else(|| {
            places.push((site, 0));
            places.len() - 1
        });
        places[at].1 += 1;
        places[at].1 > most
    }
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

    /// A thread has taken a step that [counts](selvedge_core::Op::counted).
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

/// Whether an execution with this graph may be one in which the bound holds a thread back. A search that leaves executions out
/// runs one of those with the same graph, in which it may not.
///
/// Let `thread` be held back after its step `event`. Then `other` can go on there, and has yielded less. Without loss of
/// generality it takes the next step, `step`, so that neither step is before the other; and the prefix contains all that
/// happened before `event`. What is looked for is a little more than that, since a search need not have run the execution
/// that goes on with `step`: that `other` is not known to wait for the next step of `thread`.
pub(crate) fn may_hold_back(graph: &Graph, bound: u32) -> bool {
    // For each thread, what the bound has counted after so many of its steps.
    let counts: Vec<Vec<u32>> = graph.threads.iter().map(|line| counts(graph, &line.events)).collect();
    let held_back = |thread: usize, taken: usize| {
        let (line, count) = (&graph.threads[thread], counts[thread][taken]);
        let event = line.events[taken - 1] as usize;
        let clock = graph.clock(event);
        count > bound
            && graph.events[event].op.kind != OpKind::End
            && (0..graph.threads.len()).any(|other| {
                let theirs = clock[other] as usize;
                other != thread
                    && counts[other][theirs] + bound < count
                    && may_be_enabled_together(graph, (thread, taken), (other, theirs))
            })
    };
    (0..graph.threads.len()).any(|thread| (1..counts[thread].len()).any(|taken| held_back(thread, taken)))
}

fn counts(graph: &Graph, events: &[u32]) -> Vec<u32> {
    let mut count = 0;
    let counted = events.iter().map(|event| {
        count += u32::from(graph.events[*event as usize].op.counted);
        count
    });
    std::iter::once(0).chain(counted).collect()
}

/// Whether two threads may both be able to go on, where they have taken so many steps. It is said of too many rather than of
/// too few.
fn may_be_enabled_together(
    graph: &Graph,
    (thread, taken): (usize, usize),
    (other, theirs): (usize, usize),
) -> bool {
    let (line, their_line) = (&graph.threads[thread], &graph.threads[other]);
    let Some((_, gate)) = their_line.pending.get(theirs) else { return false };
    if their_line.ended && theirs == their_line.events.len() {
        return false;
    }
    // Whether an event is after the next step of the thread.
    let is_after = |event: u32| graph.clock(event as usize)[thread] as usize > taken;
    if theirs == 0 && their_line.creator.is_some_and(is_after) {
        return false;
    }
    let their_next = their_line.events.get(theirs).copied();
    if !gate.is_open() && their_next.is_some_and(is_after) {
        return false;
    }
    // A thread that joins waits for all that happens before the end of the other one.
    let joins = line.pending.get(taken).is_some_and(|(op, _)| op.kind == OpKind::Join);
    let next = line.events.get(taken).map(|event| graph.clock(*event as usize));
    !(joins && next.is_none_or(|clock| clock[other] as usize > theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_at_different_places_count_once() {
        let (thread, other) = (ThreadId(1), ThreadId(0));
        let mut places = Places::default();
        assert!(places.yielded(thread, Site(1)));
        assert!(!places.yielded(thread, Site(2)) && !places.yielded(thread, Site(3)));
        assert!(places.yielded(thread, Site(2)) && !places.yielded(thread, Site(1)));
        assert!(places.yielded(thread, Site(1)));
        assert!(places.yielded(other, Site(1)));
        places.clear();
        assert!(places.yielded(thread, Site(1)));
    }

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
