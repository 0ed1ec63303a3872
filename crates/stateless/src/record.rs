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
        let common = self.common(decisions);
        let mut kept = if keeps { common.min(self.most_kept(details)) } else { 0 };
        while kept > 0 && matches!(self.decisions[kept], Decision::Value(_)) {
            kept -= 1;
        }
        // Where it is to go another way, nothing is of interest that comes after.
        let end = if common < decisions.len() { common + 1 } else { usize::MAX };
        let went = self.decisions.iter().zip(&self.points).take(end).skip(kept);
        before.first = kept;
        before.went.clear();
        before.went.extend(went.map(|(decision, point)| (*decision, point.fingerprint)));
        self.keep(kept, details);
        kept
    }

    /// How many decisions it begins with that another one begins with too.
    pub(crate) fn common(&self, decisions: &[Decision]) -> usize {
        self.decisions.iter().zip(decisions).take_while(|(ours, theirs)| ours == theirs).count()
    }

    /// Of how many decisions what is noted can be kept.
    fn most_kept(&self, details: bool) -> usize {
        let noted = self.points.len().min(if details { self.details.states.len() } else { usize::MAX });
        noted.saturating_sub(1)
    }

    /// Forgets all but the first decisions, so many, and what is noted of them.
    fn keep(&mut self, kept: usize, details: bool) {
        if kept == 0 {
            return self.clear();
        }
        self.words.truncate(self.points[kept].enabled_at as usize);
        self.points.truncate(kept);
        self.decisions.truncate(kept);
        if details {
            self.details.keep(kept);
        } else {
            self.details.clear();
        }
    }

    /// Whether the execution that the end is of begins with these decisions as this one does, as far as it is not there.
    pub(crate) fn goes_on_to(&self, tail: &Tail, decisions: &[Decision], details: bool) -> bool {
        let from = tail.from;
        from == 0 || self.common(decisions) >= from && from <= self.most_kept(details)
    }

    /// Becomes the record of an execution that begins as this one does, and goes on to that end.
    pub(crate) fn go_on_to(&mut self, tail: &Tail, details: bool) {
        self.keep(tail.from, details);
        debug_assert_eq!(
            (self.decisions.len(), self.words.len(), self.details.names.len()),
            (tail.from, tail.words, tail.names)
        );
        let Record { decisions, points, words, details } = &tail.record;
        self.decisions.extend_from_slice(decisions);
        self.points.extend_from_slice(points);
        self.words.extend_from_slice(words);
        self.details.pending.extend_from_slice(&details.pending);
        self.details.pending_at.extend_from_slice(&details.pending_at);
        self.details.names.extend_from_slice(&details.names);
        self.details.states.extend_from_slice(&details.states);
        self.details.changes.extend_from_slice(&details.changes);
        self.details.initial.clone_from(&details.initial);
        self.details.signals.extend_from_slice(&details.signals);
    }

    /// Forgets all from a decision on, but for what became known before it.
    pub(crate) fn end_before(&mut self, step: usize) {
        let Details { pending, pending_at, names, states, changes, signals, .. } = &mut self.details;
        self.decisions.truncate(step);
        if let Some(point) = self.points.get(step) {
            self.words.truncate(point.enabled_at as usize);
            self.points.truncate(step);
        }
        if let Some(end) = pending_at.get(step + 1) {
            pending.truncate(*end as usize);
            pending_at.truncate(step + 1);
        }
        if let Some(state) = states.get(step) {
            names.truncate(state.threads as usize);
            states.truncate(step);
        }
        let is_before = |at: u32| (at as usize) < step;
        changes.truncate(changes.partition_point(|change| is_before(change.0)));
        signals.truncate(signals.partition_point(|signal| is_before(signal.0)));
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

/// How an execution ended, from one of its decisions on. Executions that follow each other mostly begin with the same
/// decisions: what is noted of these is known, and need not go from core to core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    /// The number of its first decision.
    from: usize,
    /// How many words and names there are before that.
    words: usize,
    names: usize,
    /// What is noted from there on; where it refers to something, that is counted from the beginning of the execution.
    record: Record,
}

impl Tail {
    /// Becomes that of an execution, from a decision on. The memory is kept.
    pub(crate) fn copy_from(&mut self, other: &Record, from: usize) {
        let Record { decisions, points, words, details } = &mut self.record;
        let theirs = &other.details;
        let pending = theirs.pending_at.get(from).map_or(theirs.pending.len(), |begin| *begin as usize);
        let is_before = |step: u32| (step as usize) < from;
        self.from = from;
        self.words = other.points.get(from).map_or(0, |point| point.enabled_at as usize);
        self.names =
            from.checked_sub(1).and_then(|last| theirs.states.get(last)).map_or(0, |s| s.threads as usize);
        copy(decisions, &other.decisions, from);
        copy(points, &other.points, from);
        copy(words, &other.words, self.words);
        copy(&mut details.pending, &theirs.pending, pending);
        copy(&mut details.pending_at, &theirs.pending_at, from);
        copy(&mut details.names, &theirs.names, self.names);
        copy(&mut details.states, &theirs.states, from);
        copy(
            &mut details.changes,
            &theirs.changes,
            theirs.changes.partition_point(|change| is_before(change.0)),
        );
        copy(&mut details.initial, &theirs.initial, 0);
        copy(
            &mut details.signals,
            &theirs.signals,
            theirs.signals.partition_point(|signal| is_before(signal.0)),
        );
    }

    /// Adds a choice that no decision was made from, with the state there, where that is noted.
    pub(crate) fn push_last_choice(
        &mut self,
        choice: PointRecord,
        enabled: &ThreadSet,
        state: Option<StateHash>,
    ) {
        if let Some(state) = state {
            let threads = (self.names + self.record.details.names.len()) as u32;
            self.record.details.states.push(StateRecord { state, action: 0, threads });
        }
        self.record.push_point(choice, enabled);
        if let Some(last) = self.record.points.last_mut() {
            last.enabled_at += self.words as u32;
        }
    }

    /// How many decisions the execution has, from its beginning.
    pub(crate) fn len(&self) -> usize {
        self.from + self.record.len()
    }

    /// Whether it is all of the execution.
    pub(crate) fn is_whole(&self) -> bool {
        self.from == 0
    }

    /// Whether choices were noted.
    pub(crate) fn has_points(&self) -> bool {
        !self.record.points.is_empty()
    }

    /// A choice of the execution, if it was noted.
    pub(crate) fn point(&self, step: usize) -> Option<&PointRecord> {
        self.record.points.get(step.checked_sub(self.from)?)
    }

    /// How many decisions another one begins with too, of those that it has from the beginning; and that it begins with those
    /// before its end is known.
    pub(crate) fn common(&self, other: &Record) -> usize {
        self.from + self.record.common(other.decisions.get(self.from..).unwrap_or_default())
    }

    /// How many bytes it takes, about.
    pub(crate) fn size(&self) -> usize {
        self.record.size()
    }
}

/// Makes a list the same as another from some index on.
fn copy<T: Copy>(to: &mut Vec<T>, all: &[T], from: usize) {
    to.clear();
    to.extend_from_slice(all.get(from..).unwrap_or_default());
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

    /// One of some steps, in which threads are started and things change, and that goes its own way from a step on.
    fn record(length: u32, own: u32, way: u32) -> Record {
        let mut record = Record::default();
        for step in 0..length {
            let of = |what: u32| u64::from(what + step) + if step < own { 0 } else { u64::from(way) << 32 };
            if step % 3 == 0 {
                record.note_thread(of(1));
            }
            record.note_word(step as usize / 2, || of(2));
            let pending = Pending { thread: ThreadId(step), op: Op::default(), gate: Gate::default() };
            (0..=step % 2).for_each(|_| record.note_pending(pending));
            record.push(Decision::Thread(ThreadId(if step < own { step } else { step + way })));
            record.note_state(StateHash(u128::from(of(3))));
            let point = PointRecord { fingerprint: of(4), ..choice() };
            record.push_point(point, &[ThreadId(0), ThreadId(step)].into_iter().collect());
            record.note_action(u128::from(of(5)));
            record.note_change(step as usize / 2, of(6));
            if step % 4 == 1 {
                record.note_signal(ThreadId(step));
            }
        }
        record.note_pending(Pending { thread: ThreadId(0), op: Op::default(), gate: Gate::default() });
        record
    }

    fn choice() -> PointRecord {
        PointRecord {
            running: None,
            preemptible: false,
            arity: 0,
            preemptions: 0,
            held_back: false,
            op: Op::default(),
            fingerprint: 0,
            enabled_at: 0,
            enabled_words: 0,
        }
    }

    fn shown(record: &Record) -> String {
        format!("{record:?}")
    }

    #[test]
    fn an_execution_is_put_together_of_what_is_known_and_its_end() {
        let mut tail = Tail::default();
        for (own, from) in (0..8).flat_map(|own| (0..=own as usize).map(move |from| (own, from))) {
            let whole = record(9, own, 1);
            let mut other = record(10, own, 2);
            tail.copy_from(&whole, from);
            assert!(other.goes_on_to(&tail, whole.decisions(), true));
            assert_eq!((tail.len(), tail.common(&other)), (9, own as usize));
            assert_eq!(
                tail.point(from).map(|point| point.fingerprint),
                Some(whole.points()[from].fingerprint)
            );
            other.go_on_to(&tail, true);
            assert_eq!(shown(&other), shown(&whole), "they part at {own}, and it is kept from {from} on");
            // One that the strategy ended has a choice more, which is no part of it.
            let last: ThreadSet = [ThreadId(70)].into_iter().collect();
            tail.push_last_choice(choice(), &last, Some(StateHash(1)));
            other.go_on_to(&tail, true);
            let ends = &other.points()[9];
            assert_eq!((other.enabled(ends).next(), other.state(9)), (Some(ThreadId(70)), StateHash(1)));
            other.forget_last_choice();
            assert_eq!(shown(&other), shown(&whole));
        }
        let (whole, other) = (record(9, 5, 1), record(10, 5, 2));
        tail.copy_from(&whole, 6);
        assert!(!other.goes_on_to(&tail, whole.decisions(), true), "they part before that");
        assert!(
            !record(6, 6, 1).goes_on_to(&tail, whole.decisions(), true),
            "it is not known what it led to"
        );
    }

    #[test]
    fn an_execution_that_is_ended_earlier_is_as_if_it_had_come_so_far() {
        for step in 0..9 {
            let (whole, mut copy) = (record(9, 9, 1), Record::default());
            copy.copy_from(&whole, step);
            let mut ended = whole.clone();
            ended.end_before(step);
            assert_eq!(shown(&ended), shown(&copy), "before {step}");
        }
    }
}
