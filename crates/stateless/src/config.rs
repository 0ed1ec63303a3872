//! Prefixes of a happens-before graph as states, whether or not an execution was ever in them.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12)
//! needs to know which threads are enabled in such a state. It follows from the graph: the word of an object
//! is what the steps in the prefix have made of it, and a thread's gate tests that word.

use std::ops::Range;

use selvedge_core::{ObjectId, ThreadId};

use crate::graph::Graph;
use crate::record::Record;

/// What can become of a thread in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can take its next step.
    Enabled,
    /// It can, but only because its time may run out.
    Waiting,
    /// It has to wait, has ended, or does not exist yet.
    Blocked,
}

/// How steps change what gates test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// For each object, its first word, and the steps that changed it; those that are not known have none.
    objects: Vec<(u64, Vec<Change>)>,
    known: usize,
    /// After how many steps how many objects were known.
    seen: Vec<(u32, usize)>,
    /// For each thread, the steps that signalled it and how many steps it had taken.
    signals: Vec<Vec<(u32, u32)>>,
}

/// What a step did to an object.
#[derive(Clone, Copy, Debug)]
struct Change {
    event: u32,
    difference: u64,
    /// The word after it.
    word: u64,
}

impl Words {
    /// There are so many threads.
    pub(crate) fn threads(&mut self, threads: usize) {
        self.signals.resize_with(threads, Vec::new);
    }

    /// How many objects were known after so many events.
    pub(crate) fn known_after(&self, events: usize) -> usize {
        let before = self.seen.partition_point(|(seen, _)| *seen as usize <= events);
        before.checked_sub(1).map_or(0, |last| self.seen[last].1)
    }

    /// How many objects are known.
    pub(crate) fn known(&self) -> usize {
        self.known
    }

    /// Forgets what events from this one on did, and the objects that were not known before it; without any event, all
    /// objects.
    pub(crate) fn truncate(&mut self, event: u32) {
        let kept = self.seen.partition_point(|(events, _)| *events <= event && event > 0);
        self.seen.truncate(kept);
        self.known = self.seen.last().map_or(0, |(_, known)| *known);
        for (index, (_, changes)) in self.objects.iter_mut().enumerate() {
            let kept =
                if index < self.known { changes.partition_point(|change| change.event < event) } else { 0 };
            changes.truncate(kept);
        }
        for signals in &mut self.signals {
            signals.truncate(signals.partition_point(|signal| signal.0 < event));
        }
    }

    /// So many objects are known after so many steps.
    pub(crate) fn initial(&mut self, objects: usize, events: u32, record: &Record) {
        self.seen.push((events, objects));
        while self.known < objects {
            if self.known == self.objects.len() {
                self.objects.push((0, Vec::new()));
            }
            self.objects[self.known].0 = record.initial_word(self.known);
            self.known += 1;
        }
    }

    /// What objects begin with, by another execution that begins as the last one did: of some that did not see. They have their
    /// numbers from when they were made, so that later ones may have been seen before.
    pub(crate) fn begin_with(&mut self, record: &Record) {
        for (object, (initial, changes)) in self.objects[..self.known].iter_mut().enumerate() {
            let before = std::mem::replace(initial, record.initial_word(object));
            let difference = initial.wrapping_sub(before);
            if difference != 0 {
                changes.iter_mut().for_each(|change| change.word = change.word.wrapping_add(difference));
            }
        }
    }

    pub(crate) fn changed(&mut self, object: usize, event: u32, difference: u64) {
        let (initial, changes) = &mut self.objects[object];
        let word = changes.last().map_or(*initial, |change| change.word).wrapping_add(difference);
        changes.push(Change { event, difference, word });
    }

    /// The word of an object, when all the steps before a range, none after it, and of those in it some are `inside` of what
    /// has happened.
    #[inline]
    pub(crate) fn word_within(&self, object: usize, range: Range<u32>, inside: impl Fn(u32) -> bool) -> u64 {
        let Some((initial, changes)) = self.objects[..self.known].get(object) else { return 0 };
        let (before, after) = changes.split_at(changes.partition_point(|change| change.event < range.start));
        let word = before.last().map_or(*initial, |change| change.word);
        let after = after.iter().take_while(|change| change.event < range.end);
        let after = after.filter(|change| inside(change.event));
        after.fold(word, |word, change| word.wrapping_add(change.difference))
    }

    /// The steps of a range that changed an object, the last first.
    pub(crate) fn changes_within(&self, object: usize, range: Range<u32>) -> impl Iterator<Item = u32> {
        let changes =
            self.objects[..self.known].get(object).map_or(&[][..], |(_, changes)| changes.as_slice());
        let begin = changes.partition_point(|change| change.event < range.start);
        let end = changes.partition_point(|change| change.event < range.end);
        changes[begin..end].iter().rev().map(|change| change.event)
    }

    pub(crate) fn signalled(&mut self, thread: ThreadId, event: u32, taken: u32) {
        self.signals[thread.index()].push((event, taken));
    }
}

impl Graph {
    /// What can become of a thread after the first so many steps of each thread.
    pub(crate) fn status(&self, taken: &[u32], thread: ThreadId) -> Status {
        let inside = |event: u32| {
            let event = &self.events[event as usize];
            event.number < taken[event.thread.index()]
        };
        self.status_within(0..u32::MAX, taken[thread.index()], thread, inside)
    }

    /// What can become of a thread after so many of its steps, when all the steps before a range, none after it, and of
    /// those in it some are `inside` of what has happened.
    #[inline]
    pub(crate) fn status_within(
        &self,
        range: Range<u32>,
        number: u32,
        thread: ThreadId,
        inside: impl Fn(u32) -> bool,
    ) -> Status {
        let line = &self.threads[thread.index()];
        let Some((_, gate)) = line.pending.get(number as usize) else { return Status::Blocked };
        let ended = line.ended && number as usize == line.events.len();
        if ended || line.creator.is_some_and(|event| !inside(event)) {
            return Status::Blocked;
        }
        let word = |object: ObjectId| self.words.word_within(object.index(), range, &inside);
        let condition = gate.object.is_none_or(|object| gate.allows(word(object)));
        let signalled = gate.hears_signals()
            && self.words.signals[thread.index()].iter().any(|(event, at)| *at == number && inside(*event));
        if gate.is_passed(condition, signalled) {
            Status::Enabled
        } else if gate.timed && (condition || !gate.needs_signal) {
            Status::Waiting
        } else {
            Status::Blocked
        }
    }
}

#[cfg(test)]
mod tests {
    use selvedge_core::Op;

    use super::*;
    use crate::gate::Gate;
    use crate::graph::ThreadLine;

    /// A thread that waits twice and is signalled once goes on once.
    #[test]
    fn a_signal_is_for_the_wait_that_it_was_sent_to() {
        let waits = (Op::default(), Gate::OPEN.and_signal());
        let line = ThreadLine { pending: vec![waits; 3], ..ThreadLine::default() };
        let mut graph = Graph::default();
        graph.threads = vec![ThreadLine::default(), line];
        graph.words.threads(2);
        graph.words.signalled(ThreadId(1), 4, 1);
        let status = |number, happened: u32| {
            graph.status_within(0..u32::MAX, number, ThreadId(1), |event| event <= happened)
        };
        assert_eq!(
            [0, 1, 2].map(|number| status(number, 9)),
            [Status::Blocked, Status::Enabled, Status::Blocked]
        );
        assert_eq!(status(1, 3), Status::Blocked);
    }
}
