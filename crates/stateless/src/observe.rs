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
    /// Whether there ever were any of these.
    signals: bool,
    /// The thread that took the last step.
    stepped: Option<ThreadId>,
    /// The objects that this step touches, with their words before it.
    before: Option<(ObjectId, u64)>,
    before_also: Option<(ObjectId, u64)>,
}

impl Observer {
    pub(crate) fn clear(&mut self) {
        self.signalled.clear();
        self.waiters.clear();
        self.signals = false;
        self.stepped = None;
        self.before = None;
        self.before_also = None;
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
            self.waiters.set(thread, execution.gate(thread).hears_signals());
            self.signalled.set(thread, execution.is_signalled(thread));
        }
        self.signals = !(self.waiters.is_empty() && self.signalled.is_empty());
    }

    /// Before a step.
    #[inline]
    pub(crate) fn before_step<E: Execution + ?Sized>(&mut self, execution: &E, thread: ThreadId) {
        self.stepped = Some(thread);
        let op = execution.pending(thread);
        let word = |object| (object, execution.word(object));
        self.before = op.object.map(word);
        self.before_also = op.also.map(word);
    }

    /// After a step, before a decision between threads, and at the end. A step that ended the execution has
    /// `stopped` its thread, which has no next step then.
    #[inline(always)]
    pub(crate) fn at_point<E: Execution + ?Sized>(
        &mut self,
        execution: &E,
        names: &HappensBefore,
        stopped: bool,
        record: &mut Record,
    ) {
        if let Some(thread) = self.stepped {
            if let Some((object, word)) = self.before {
                record.note_change(object.index(), execution.word(object).wrapping_sub(word));
            }
            if self.signals || self.before_also.is_some() || execution.is_signalled(thread) {
                self.note_more(execution, thread, record);
            }
            // What the others are about to do was noted before.
            self.note(execution, thread, stopped, record);
        }
        if record.threads() < execution.thread_count() {
            self.note_threads(execution, names, record);
        }
    }

    /// Notes what few steps do: what a thread's step did to a second object, and whom it signalled.
    #[cold]
    fn note_more<E: Execution + ?Sized>(&mut self, execution: &E, stepped: ThreadId, record: &mut Record) {
        if let Some((object, word)) = self.before_also {
            record.note_change(object.index(), execution.word(object).wrapping_sub(word));
        }
        // The thread that has taken the step may wait from now on.
        for thread in self.waiters.iter().chain([stepped]) {
            let now = execution.is_signalled(thread);
            if now && !self.signalled.contains(thread) {
                record.note_signal(thread);
            }
            self.signalled.set(thread, now);
            self.signals |= now;
        }
    }

    /// Notes threads that are new.
    #[cold]
    fn note_threads<E: Execution + ?Sized>(
        &mut self,
        execution: &E,
        names: &HappensBefore,
        record: &mut Record,
    ) {
        for thread in (record.threads() as u32..execution.thread_count() as u32).map(ThreadId) {
            record.note_thread(names.name(thread));
            self.note(execution, thread, false, record);
        }
    }

    /// Notes what a thread is about to do, unless it has been stopped.
    #[inline(always)]
    fn note<E: Execution + ?Sized>(
        &mut self,
        execution: &E,
        thread: ThreadId,
        stopped: bool,
        record: &mut Record,
    ) {
        let gate = execution.gate(thread);
        let op = execution.pending(thread);
        let mut note_word = |object: ObjectId| record.note_word(object.index(), || execution.word(object));
        if let Some(object) = gate.object
            && op.object != gate.object
        {
            note_word(object);
        }
        if let Some(object) = op.object {
            note_word(object);
        }
        if let Some(object) = op.also {
            note_word(object);
        }
        if gate.hears_signals() || self.signals {
            self.waiters.set(thread, gate.hears_signals());
            self.signals = true;
        }
        record.note_pending(Pending { thread, op: if stopped { Op::default() } else { op }, gate });
    }
}
