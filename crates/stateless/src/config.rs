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
    /// For each object, its first word, and the steps that changed it.
    objects: Vec<(u64, Vec<(u32, u64)>)>,
    /// For each thread, the steps that signalled it and how many steps it had taken.
    signals: Vec<Vec<(u32, u32)>>,
}

impl Words {
    pub(crate) fn clear(&mut self, record: &Record) {
        self.objects.clear();
        self.signals.iter_mut().for_each(Vec::clear);
        self.signals.resize_with(record.threads(), Vec::new);
    }

    #[cfg(test)]
    pub(crate) fn signals_for(&mut self, threads: usize) {
        self.signals.resize_with(threads, Vec::new);
    }

    pub(crate) fn initial(&mut self, object: usize, record: &Record) {
        while self.objects.len() <= object {
            self.objects.push((record.initial_word(self.objects.len()), Vec::new()));
        }
    }

    pub(crate) fn changed(&mut self, object: usize, event: u32, difference: u64) {
        self.objects[object].1.push((event, difference));
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
        let line = &self.threads[thread.index()];
        let number = taken[thread.index()];
        let created = thread.index() == 0 || line.creator.is_some_and(|event| self.contains(taken, event));
        let ended = line.ended && number as usize == line.events.len();
        let Some((_, gate)) = line.pending.get(number as usize) else { return Status::Blocked };
        if !created || ended {
            return Status::Blocked;
        }
        let condition = gate.object.is_none_or(|object| {
            let Some((initial, changes)) = self.words.objects.get(object.index()) else {
                return gate.allows(0);
            };
            let inside = changes.iter().filter(|(event, _)| self.contains(taken, *event));
            gate.allows(inside.fold(*initial, |word, (_, difference)| word.wrapping_add(*difference)))
        });
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
