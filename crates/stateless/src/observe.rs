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

    /// Goes on after a step that this thread has taken, which was noted, and all before it, in an earlier
    /// execution.
    pub(crate) fn resume<E: Execution + ?Sized>(
        &mut self,
        execution: &E,
        stepped: ThreadId,
        record: &Record,
    ) {
        self.stepped = Some(stepped);
        for thread in (0..record.threads() as u32).map(ThreadId) {
            self.waiters.set(thread, execution.gate(thread).needs_signal);
            self.signalled.set(thread, execution.is_signalled(thread));
        }
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
        // What the others are about to do was noted before.
        if let Some(thread) = self.stepped {
            self.note(execution, thread, stopped == Some(thread), record);
        }
        for thread in (record.threads() as u32..execution.thread_count() as u32).map(ThreadId) {
            record.note_thread(names.name(thread));
            self.note(execution, thread, stopped == Some(thread), record);
        }
    }

    /// Notes what a thread is about to do, unless it has been stopped.
    #[inline]
    fn note<E: Execution + ?Sized>(
        &mut self,
        execution: &E,
        thread: ThreadId,
        stopped: bool,
        record: &mut Record,
    ) {
        let gate = execution.gate(thread);
        let mut op = execution.pending(thread);
        let waits_for = gate.object.filter(|object| op.object != Some(*object));
        for object in [waits_for, op.object, op.also].into_iter().flatten() {
            record.note_word(object.index(), || execution.word(object));
        }
        if stopped {
            op = Op::default();
        }
        self.waiters.set(thread, gate.needs_signal);
        record.note_pending(Pending { thread, op, gate });
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
        let mut follow = |thread: ThreadId| {
            let now = execution.is_signalled(thread);
            if now && !self.signalled.contains(thread) {
                record.note_signal(thread);
            }
            self.signalled.set(thread, now);
        };
        if !self.waiters.is_empty() {
            self.waiters.iter().for_each(&mut follow);
        }
        self.stepped.into_iter().for_each(follow);
    }
}
