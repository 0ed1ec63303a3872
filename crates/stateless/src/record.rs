//! What is remembered of an execution while it runs: enough for a strategy to see where else it could have
//! gone. Its memory is kept from one execution to the next, so recording a step allocates nothing.

use selvedge_core::{Decision, Op, ThreadId, ThreadIter, ThreadSet};

use crate::gate::Gate;
use crate::happens_before::StateHash;

/// One decision and the choice that there was.
#[derive(Clone, Copy, Debug)]
pub struct PointRecord {
    /// The thread that took the step before; `None` at the beginning.
    pub running: Option<ThreadId>,
    /// Whether a switch away from `running` preempts it: it could have gone on and did not just yield.
    pub preemptible: bool,
    /// For a choice among values, how many there were; 0 for a choice among threads.
    pub arity: u32,
    /// Preemptions before this decision.
    pub preemptions: u32,
    /// Whether the fair bound held a thread back that could have gone on.
    pub held_back: bool,
    /// The operation that was performed by this decision.
    pub op: Op,
    /// A fingerprint of everything that happened before this decision.
    pub fingerprint: u64,
    /// Where this point's set begins in the words.
    pub(crate) enabled_at: u32,
    /// How many words it has.
    pub(crate) enabled_words: u32,
}

/// What a thread will do when it is scheduled.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// The thread.
    pub thread: ThreadId,
    /// The operation, with the most that it may do to its objects.
    pub op: Op,
    /// What it waits for.
    pub gate: Gate,
}

/// An execution: its decisions, and for each the choice that there was.
#[derive(Clone, Debug, Default)]
pub struct Record {
    decisions: Vec<Decision>,
    points: Vec<PointRecord>,
    words: Vec<u64>,
    /// What only some strategies ask for; see [`Strategy::wants_pending`](crate::Strategy::wants_pending).
    details: Details,
}

/// How the execution before went on after what the one at hand has taken over of it.
#[derive(Debug, Default)]
pub(crate) struct Before {
    first: usize,
    /// Its decisions, and the fingerprints before them.
    went: Vec<(Decision, u64)>,
}

impl Before {
    /// A decision of it, and the fingerprint of all that happened before that.
    #[inline]
    pub(crate) fn get(&self, step: usize) -> Option<(Decision, u64)> {
        self.went.get(step.checked_sub(self.first)?).copied()
    }
}

/// What partial-order reduction needs to know of an execution.
#[derive(Clone, Debug, Default)]
struct Details {
    /// The next steps of threads, those that became known before each decision, and at the end.
    pending: Vec<Pending>,
    /// Where each point's begin.
    pending_at: Vec<u32>,
    /// A name for each thread that equivalent executions agree on.
    names: Vec<u64>,
    /// What there was before each decision.
    states: Vec<StateRecord>,
    /// By how much the words of the objects that a step touched have changed: the index of the decision
    /// that completed the step, the object, and the difference.
    changes: Vec<(u32, u32, u64)>,
    /// The words of objects when they were first seen, and before which decision that was.
    initial: Vec<Option<(u32, u64)>>,
    /// The decision that signalled a thread.
    signals: Vec<(u32, ThreadId)>,
    /// The step that the last one raced with.
    raced: Option<u32>,
}

/// What there was before a decision, and what the step that it completed added to that.
#[derive(Clone, Copy, Debug)]
struct StateRecord {
    state: StateHash,
    /// See [`HappensBefore::step`](crate::happens_before::HappensBefore::step); 0 for a decision that completed none.
    action: u128,
    /// How many threads there were.
    threads: u32,
}

impl Details {
    #[cold]
    fn note_initial(&mut self, object: usize, word: (u32, u64)) {
        if object >= self.initial.len() {
            self.initial.resize(object + 1, None);
        }
        self.initial[object] = Some(word);
    }

    /// Forgets all but what is known of the first decisions, so many, and there are more.
    fn keep(&mut self, kept: usize) {
        let begin = self.pending_at.get(kept).map_or(self.pending.len(), |begin| *begin as usize);
        self.pending.truncate(begin);
        self.pending_at.truncate(kept);
        self.names.truncate(self.states[kept - 1].threads as usize);
        self.states.truncate(kept);
        let is_kept = |step: u32| (step as usize) < kept;
        self.changes.truncate(self.changes.partition_point(|change| is_kept(change.0)));
        for word in &mut self.initial {
            *word = word.filter(|(step, _)| is_kept(*step));
        }
        self.signals.truncate(self.signals.partition_point(|signal| is_kept(signal.0)));
        self.raced = None;
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.pending_at.clear();
        self.names.clear();
        self.states.clear();
        self.changes.clear();
        self.initial.clear();
        self.signals.clear();
        self.raced = None;
    }

    /// Becomes what is known of another execution, up to before a decision of it, with what became known there.
    fn copy_from(&mut self, other: &Details, to: usize) {
        self.clear();
        let points = (to + 1).min(other.pending_at.len());
        let pending = other.pending_at.get(to + 1).map_or(other.pending.len(), |end| *end as usize);
        self.pending.extend_from_slice(&other.pending[..pending]);
        self.pending_at.extend_from_slice(&other.pending_at[..points]);
        self.states.extend_from_slice(&other.states[..to.min(other.states.len())]);
        let threads = other.states.get(to).map_or(other.names.len(), |state| state.threads as usize);
        self.names.extend_from_slice(&other.names[..threads]);
        let is_before = |step: u32| (step as usize) < to;
        let changes = other.changes.partition_point(|change| is_before(change.0));
        self.changes.extend_from_slice(&other.changes[..changes]);
        let signals = other.signals.partition_point(|signal| is_before(signal.0));
        self.signals.extend_from_slice(&other.signals[..signals]);
        self.initial.extend_from_slice(&other.initial);
    }
}

impl Record {
    /// The decisions so far.
    #[inline]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The choices so far; none where the strategy does not learn from them.
    #[inline]
    pub fn points(&self) -> &[PointRecord] {
        &self.points
    }

    /// How many decisions there were.
    pub fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Whether no decision was made.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// The threads that could be chosen at a point, within the fair bound.
    #[inline]
    pub fn enabled(&self, point: &PointRecord) -> ThreadIter<'_> {
        ThreadIter::over(self.enabled_words(point))
    }

    /// The same as words of a bit set.
    pub(crate) fn enabled_words(&self, point: &PointRecord) -> &[u64] {
        &self.words[point.enabled_at as usize..(point.enabled_at + point.enabled_words) as usize]
    }

    /// Those of a point and of all that follow it, one after the other.
    pub(crate) fn enabled_words_from(&self, point: &PointRecord) -> &[u64] {
        &self.words[point.enabled_at as usize..]
    }

    /// The next steps that became known before a decision, or with the number of decisions, at the end: that of
    /// the thread that has just taken one, and those of threads that are new. Empty before a choice of a value,
    /// and unless the strategy wants it.
    pub fn pending(&self, step: usize) -> &[Pending] {
        let at = &self.details.pending_at;
        let begin = at.get(step).map_or(self.details.pending.len(), |begin| *begin as usize);
        let end = at.get(step + 1).map_or(self.details.pending.len(), |end| *end as usize);
        &self.details.pending[begin..end]
    }

    /// The next step that became known before a decision, if there is one.
    #[inline]
    pub(crate) fn only_pending(&self, step: usize) -> Option<&Pending> {
        let Details { pending, pending_at, .. } = &self.details;
        let begin = *pending_at.get(step)? as usize;
        let end = pending_at.get(step + 1).map_or(pending.len(), |end| *end as usize);
        pending.get(begin).filter(|_| end == begin + 1)
    }

    /// The next steps of threads in the order in which they became known, and where those of each step begin.
    pub(crate) fn all_pending(&self) -> (&[Pending], &[u32]) {
        (&self.details.pending, &self.details.pending_at)
    }

    /// A name for a thread that equivalent executions agree on, where the strategy wants it.
    pub fn name(&self, thread: ThreadId) -> u64 {
        self.details.names[thread.index()]
    }

    /// How many threads there were, where the strategy wants it.
    pub fn threads(&self) -> usize {
        self.details.names.len()
    }

    /// The state before a decision, where the strategy wants it.
    pub(crate) fn state(&self, step: usize) -> StateHash {
        self.details.states[step].state
    }

    /// What the step that a decision completed adds to the first object that it touches, where the strategy wants it.
    #[inline]
    pub(crate) fn action(&self, step: usize) -> u128 {
        self.details.states[step].action
    }

    /// The same of a step of one decision, and the state after it, if it is not the last.
    #[inline]
    pub(crate) fn step(&self, step: usize) -> Option<(u128, StateHash)> {
        match self.details.states.get(step..)? {
            [before, after, ..] => Some((before.action, after.state)),
            _ => None,
        }
    }

    pub(crate) fn changes(&self) -> &[(u32, u32, u64)] {
        &self.details.changes
    }

    pub(crate) fn initial_word(&self, object: usize) -> u64 {
        self.details.initial.get(object).copied().flatten().map_or(0, |(_, word)| word)
    }

    /// The objects that were seen, with their words when they first were.
    pub(crate) fn initial_words(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.details.initial.iter().enumerate().filter_map(|(object, word)| Some((object, word.as_ref()?.1)))
    }

    /// The words of all objects when they were first seen; 0 of those that were not.
    pub(crate) fn initials(&self) -> impl Iterator<Item = u64> + '_ {
        self.details.initial.iter().map(|word| word.map_or(0, |(_, word)| word))
    }

    pub(crate) fn signals(&self) -> &[(u32, ThreadId)] {
        &self.details.signals
    }

    /// For an execution that a data race has ended: the step with the other access, counting from 0.
    pub(crate) fn raced(&self) -> Option<usize> {
        self.details.raced.map(|step| step as usize)
    }

    pub(crate) fn clear(&mut self) {
        self.decisions.clear();
        self.points.clear();
        self.words.clear();
        self.details.clear();
    }

    /// Becomes the record of another execution, which is to begin with these decisions. Of those that this one begins with too,
    /// what is noted is kept, if that is wanted; it says how many they are. Whole steps are kept, and never the last decision:
    /// what that one led to may have been the end. How this one went on is noted, as far as the other may go the same way.
    pub(crate) fn begin_again(
        &mut self,
        decisions: &[Decision],
        keeps: bool,
        details: bool,
        before: &mut Before,
    ) -> usize {
        let common = self.decisions.iter().zip(decisions).take_while(|(ours, theirs)| ours == theirs).count();
        let most = self.points.len().min(if details { self.details.states.len() } else { usize::MAX });
        let mut kept = if keeps { common.min(most.saturating_sub(1)) } else { 0 };
        while kept > 0 && matches!(self.decisions[kept], Decision::Value(_)) {
            kept -= 1;
        }
        // Where it is to go another way, nothing is of interest that comes after.
        let end = if common < decisions.len() { common + 1 } else { usize::MAX };
        let went = self.decisions.iter().zip(&self.points).take(end).skip(kept);
        before.first = kept;
        before.went.clear();
        before.went.extend(went.map(|(decision, point)| (*decision, point.fingerprint)));
        if kept == 0 {
            self.clear();
            return 0;
        }
        self.words.truncate(self.points[kept].enabled_at as usize);
        self.points.truncate(kept);
        self.decisions.truncate(kept);
        if details {
            self.details.keep(kept);
        } else {
            self.details.clear();
        }
        kept
    }

    /// Becomes the record of another execution, up to before a decision of it, with what became known there; or with the number
    /// of its decisions, to its end.
    pub(crate) fn copy_from(&mut self, other: &Record, to: usize) {
        self.decisions.clear();
        self.decisions.extend_from_slice(&other.decisions[..to]);
        self.points.clear();
        self.words.clear();
        if !other.points.is_empty() {
            let words = other.points.get(to).map_or(other.words.len(), |point| point.enabled_at as usize);
            self.words.extend_from_slice(&other.words[..words]);
            self.points.extend_from_slice(&other.points[..to]);
        }
        self.details.copy_from(&other.details, to);
    }

    /// Forgets a choice that no decision was made from, if there is one.
    pub(crate) fn forget_last_choice(&mut self) {
        let length = self.decisions.len();
        if let Some(choice) = self.points.get(length) {
            self.words.truncate(choice.enabled_at as usize);
            self.points.truncate(length);
            self.details.states.truncate(length);
        }
    }

    /// How many bytes it takes, about.
    pub(crate) fn size(&self) -> usize {
        let details = &self.details;
        size_of_val(&self.decisions[..])
            + size_of_val(&self.points[..])
            + size_of_val(&self.words[..])
            + size_of_val(&details.pending[..])
            + size_of_val(&details.states[..])
    }

    /// Adds a decision.
    #[inline]
    pub(crate) fn push(&mut self, decision: Decision) {
        self.decisions.push(decision);
    }

    /// Adds the choice that the last decision was made from.
    #[inline]
    pub(crate) fn push_point(&mut self, choice: PointRecord, enabled: &ThreadSet) {
        let enabled_at = self.words.len() as u32;
        if choice.arity == 0 {
            self.words.extend(enabled.words());
        }
        let enabled_words = self.words.len() as u32 - enabled_at;
        self.points.push(PointRecord { enabled_at, enabled_words, ..choice });
    }

    /// Fills in what the last decision led to.
    #[inline]
    pub(crate) fn performed(&mut self, op: Op) {
        if let Some(point) = self.points.last_mut() {
            point.op = op;
        }
    }

    /// Notes the state before the next decision.
    #[inline]
    pub(crate) fn note_state(&mut self, state: StateHash) {
        let threads = self.details.names.len() as u32;
        self.details.states.push(StateRecord { state, action: 0, threads });
    }

    /// Notes what the step that the last decision completed adds to the first object that it touches.
    #[inline]
    pub(crate) fn note_action(&mut self, action: u128) {
        if let Some(state) = self.details.states.last_mut() {
            state.action = action;
        }
    }

    /// Notes a thread's next step before the next decision.
    #[inline]
    pub(crate) fn note_pending(&mut self, pending: Pending) {
        let details = &mut self.details;
        let begin = details.pending.len() as u32;
        if details.pending_at.len() == self.decisions.len() {
            details.pending_at.push(begin);
        } else if details.pending_at.len() < self.decisions.len() {
            // None became known before choices of values.
            details.pending_at.resize(self.decisions.len() + 1, begin);
        }
        details.pending.push(pending);
    }

    /// Notes the word of an object that was not seen before.
    #[inline]
    pub(crate) fn note_word(&mut self, object: usize, word: impl FnOnce() -> u64) {
        let initial = &mut self.details.initial;
        if let Some(Some(_)) = initial.get(object) {
            return;
        }
        let now = (self.decisions.len() as u32, word());
        self.details.note_initial(object, now);
    }

    /// Notes that there is a thread.
    pub(crate) fn note_thread(&mut self, name: u64) {
        self.details.names.push(name);
    }

    /// Notes what the step that the last decision completed did to an object.
    #[inline]
    pub(crate) fn note_change(&mut self, object: usize, difference: u64) {
        if difference != 0 {
            self.details.changes.push((self.decisions.len() as u32 - 1, object as u32, difference));
        }
    }

    /// Notes that the step that the last decision completed raced with another.
    pub(crate) fn note_race(&mut self, step: u32) {
        self.details.raced = Some(step);
    }

    /// Notes that the step that the last decision completed signalled a thread.
    pub(crate) fn note_signal(&mut self, thread: ThreadId) {
        self.details.signals.push((self.decisions.len() as u32 - 1, thread));
    }
}

/// How many decisions of an execution another one begins with too, less the last one if its step may have gone on otherwise
/// in the other: it ended the one or the other, or the other chooses a value within it. (That it ended the other alone can be
/// only if the one was followed without clocks as far as it had come, and run again with them.)
pub(crate) fn in_common(ours: &[Decision], stopped: bool, theirs: &[Decision], they_stop: bool) -> usize {
    let common = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count();
    let common = if stopped { common.min(ours.len().saturating_sub(1)) } else { common };
    let common = if they_stop { common.min(theirs.len().saturating_sub(1)) } else { common };
    match theirs.get(common) {
        Some(Decision::Value(_)) => common.saturating_sub(1),
        _ => common,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_ends_an_execution_is_not_the_one_that_did_not() {
        let threads = |numbers: &[u32]| -> Vec<_> {
            numbers.iter().map(|number| Decision::Thread(ThreadId(*number))).collect()
        };
        let (longer, shorter, other) = (threads(&[0, 1, 0, 1]), threads(&[0, 1, 0]), threads(&[0, 1, 1]));
        assert_eq!(in_common(&longer, false, &shorter, false), 3);
        assert_eq!(in_common(&longer, false, &shorter, true), 2);
        assert_eq!(in_common(&shorter, true, &longer, false), 2);
        assert_eq!(in_common(&shorter, true, &shorter, true), 2);
        assert_eq!(in_common(&longer, true, &other, true), 2);
        let chooses = [shorter.clone(), vec![Decision::Value(1)]].concat();
        assert_eq!(in_common(&shorter, false, &chooses, false), 2);
    }
}
