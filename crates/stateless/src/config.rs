//! Prefixes of a happens-before graph as states, whether or not an execution was ever in them.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12)
//! needs to know which threads are enabled in such a state. It follows from the graph: the word of an object
//! is what the steps in the prefix have made of it, and a thread's gate tests that word.

use selvedge_core::ThreadId;

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
    /// What steps changed, in their order: the step, the object, and the difference.
    log: Vec<(u32, u32, u64)>,
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

    /// How many objects are known.
    pub(crate) fn known(&self) -> u32 {
        self.known as u32
    }

    /// Forgets what events from this one on did, and all but the first so many objects.
    pub(crate) fn truncate(&mut self, event: u32, objects: Option<u32>) {
        self.known = objects.map_or(self.known, |objects| objects as usize);
        for (index, (_, changes)) in self.objects.iter_mut().enumerate() {
            let kept =
                if index < self.known { changes.partition_point(|change| change.event < event) } else { 0 };
            changes.truncate(kept);
        }
        self.log.truncate(self.log.partition_point(|change| change.0 < event));
        for signals in &mut self.signals {
            signals.truncate(signals.partition_point(|signal| signal.0 < event));
        }
    }

    pub(crate) fn initial(&mut self, object: usize, record: &Record) {
        while self.known <= object {
            if self.known == self.objects.len() {
                self.objects.push((0, Vec::new()));
            }
            self.objects[self.known].0 = record.initial_word(self.known);
            self.known += 1;
        }
    }

    pub(crate) fn changed(&mut self, object: usize, event: u32, difference: u64) {
        let (initial, changes) = &mut self.objects[object];
        let word = changes.last().map_or(*initial, |change| change.word).wrapping_add(difference);
        changes.push(Change { event, difference, word });
    }

    /// Keeps what steps changed, in their order.
    pub(crate) fn log(&mut self, changes: &[(u32, u32, u64)]) {
        self.log.extend_from_slice(changes);
    }

    /// What a step and those after it changed, in their order: the step, the object, and the difference.
    pub(crate) fn log_from(&self, event: u32) -> &[(u32, u32, u64)] {
        &self.log[self.log.partition_point(|change| change.0 < event)..]
    }

    /// The threads that were signalled, with the step that did it and how many steps they had taken.
    pub(crate) fn signals(&self) -> impl Iterator<Item = (ThreadId, u32, u32)> + '_ {
        self.signals.iter().zip(0..).flat_map(|(signals, thread)| {
            signals.iter().map(move |(event, taken)| (ThreadId(thread), *event, *taken))
        })
    }

    /// Forgets what events from this one on did. These are the words that objects begin with, and there are so
    /// many threads.
    pub(crate) fn restore(&mut self, event: u32, initials: &[u64], threads: usize) {
        self.truncate(event, None);
        self.threads(threads);
        self.known = initials.len();
        self.objects.resize_with(self.known.max(self.objects.len()), Default::default);
        for ((initial, changes), now) in self.objects.iter_mut().zip(initials) {
            *initial = *now;
            debug_assert!(changes.iter().all(|change| change.event < event), "later ones are forgotten");
        }
    }

    /// The words that objects begin with.
    pub(crate) fn initials(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.objects[..self.known].iter().map(|(word, _)| *word)
    }

    pub(crate) fn signalled(&mut self, thread: ThreadId, event: u32, taken: u32) {
        self.signals[thread.index()].push((event, taken));
    }
}

impl Graph {
    /// Whether an event is among the first so many steps of each thread.
    pub(crate) fn contains(&self, taken: &[u32], event: u32) -> bool {
        let event = &self.events[event as usize];
        event.number < taken[event.thread.index()]
    }

    /// What can become of a thread after the first so many steps of each thread.
    pub(crate) fn status(&self, taken: &[u32], thread: ThreadId) -> Status {
        self.status_from(0, taken, thread)
    }

    /// The same, when they are all the steps before an event and perhaps more.
    pub(crate) fn status_from(&self, event: u32, taken: &[u32], thread: ThreadId) -> Status {
        self.status_with(taken, thread, |object| {
            let known = &self.words.objects[..self.words.known];
            let Some((initial, changes)) = known.get(object) else { return 0 };
            let (before, after) = changes.split_at(changes.partition_point(|change| change.event < event));
            let word = before.last().map_or(*initial, |change| change.word);
            let inside = after.iter().filter(|change| self.contains(taken, change.event));
            inside.fold(word, |word, change| word.wrapping_add(change.difference))
        })
    }

    /// The same where the words of objects are known.
    pub(crate) fn status_with(&self, taken: &[u32], thread: ThreadId, word: impl Fn(usize) -> u64) -> Status {
        let line = &self.threads[thread.index()];
        let number = taken[thread.index()];
        let Some((_, gate)) = line.pending.get(number as usize) else { return Status::Blocked };
        let ended = line.ended && number as usize == line.events.len();
        if ended || line.creator.is_some_and(|event| !self.contains(taken, event)) {
            return Status::Blocked;
        }
        let condition = gate.object.is_none_or(|object| gate.allows(word(object.index())));
        let signalled = !gate.needs_signal
            || self.words.signals[thread.index()]
                .iter()
                .any(|(event, at)| *at == number && self.contains(taken, *event));
        if condition && signalled {
            Status::Enabled
        } else if gate.timed && (condition || !gate.needs_signal) {
            Status::Waiting
        } else {
            Status::Blocked
        }
    }
}
