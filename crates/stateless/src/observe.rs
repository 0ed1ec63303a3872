//! What partial-order reduction needs to see of an execution while it runs. Only strategies that ask for it
//! pay for it.

use selvedge_core::{ObjectId, Op, ThreadId, ThreadSet};

use crate::happens_before::HappensBefore;
use crate::program::Execution;
use crate::record::{Pending, Record};

/// Notes what threads are about to do and what steps change.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// Whether the strategy asks for it.
    pub(crate) on: bool,
    /// Whether a step ended the execution.
    pub(crate) stopped: bool,
    signalled: ThreadSet,
    /// The threads that wait for a signal.
    waiters: ThreadSet,
    /// The thread that took the last step.
    stepped: Option<ThreadId>,
    /// The words of the objects that the step under way touches, before it.
    before: Vec<(ObjectId, u64)>,
}

impl Observer {
    pub(crate) fn clear(&mut self) {
        self.signalled.clear();
        self.waiters.clear();
        self.stepped = None;
        self.stopped = false;
    }

    /// Before a decision between threads, and at the end; with the thread whose step ended the execution, if
    /// one did: it has no next step.
    pub(crate) fn at_point<E: Execution + ?Sized>(
        &mut self,
        execution: &E,
        names: &HappensBefore,
        stopped: Option<ThreadId>,
        record: &mut Record,
    ) {
        let new = (record.threads() as u32..execution.thread_count() as u32).map(ThreadId);
        for thread in new.clone() {
            record.note_thread(names.name(thread));
        }
        // What the others are about to do was noted before.
        for thread in self.stepped.into_iter().chain(new) {
            let gate = execution.gate(thread);
            let mut op = execution.pending(thread);
            for object in gate.object.into_iter().chain(op.object).chain(op.also) {
                record.note_word(object.index(), || execution.word(object));
            }
            if stopped == Some(thread) {
                op = Op::default();
            }
            self.waiters.set(thread, gate.needs_signal);
            record.note_pending(Pending { thread, op, gate });
        }
    }

    /// Before a step.
    pub(crate) fn before_step<E: Execution + ?Sized>(&mut self, execution: &E, thread: ThreadId) {
        self.stepped = Some(thread);
        self.before.clear();
        for (object, _) in execution.pending(thread).touches() {
            self.before.push((object, execution.word(object)));
        }
    }

    /// After a step.
    pub(crate) fn after_step<E: Execution + ?Sized>(&mut self, execution: &E, record: &mut Record) {
        for &(object, word) in &self.before {
            record.note_change(object.index(), execution.word(object).wrapping_sub(word));
        }
        // The thread that has taken the step may wait from now on.
        for thread in self.waiters.iter().chain(self.stepped) {
            let now = execution.is_signalled(thread);
            if now && !self.signalled.contains(thread) {
                record.note_signal(thread);
            }
            self.signalled.set(thread, now);
        }
    }
}
