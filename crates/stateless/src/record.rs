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

/// What partial-order reduction needs to know of an execution.
#[derive(Clone, Debug, Default)]
struct Details {
    /// The next steps of threads, those that became known before each decision, and at the end.
    pending: Vec<Pending>,
    /// Where each point's begin.
    pending_at: Vec<u32>,
    /// A name for each thread that equivalent executions agree on.
    names: Vec<u64>,
    /// The state before each decision, and how many threads there were.
    states: Vec<(StateHash, u32)>,
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

impl Details {
    #[cold]
    fn note_initial(&mut self, object: usize, word: (u32, u64)) {
        if object >= self.initial.len() {
            self.initial.resize(object + 1, None);
        }
        self.initial[object] = Some(word);
    }

    /// Takes over what another execution has of its decisions from one on, up to another one or to its end; it is the same
    /// of those before, which is there.
    fn add(&mut self, other: &Details, from: usize, to: Option<usize>) {
        let begin = |at: usize| other.pending_at.get(at).map_or(other.pending.len(), |begin| *begin as usize);
        let end = to.unwrap_or(usize::MAX);
        self.pending.extend_from_slice(&other.pending[begin(from)..begin(end)]);
        let starts = &other.pending_at[..end.min(other.pending_at.len())];
        self.pending_at.extend_from_slice(&starts[from.min(starts.len())..]);
        self.states.extend_from_slice(&other.states[from..end.min(other.states.len())]);
        let within = |at: u32| (from..end).contains(&(at as usize));
        let changes = other.changes.partition_point(|change| (change.0 as usize) < from);
        self.changes.extend(other.changes[changes..].iter().take_while(|change| within(change.0)));
        let signals = other.signals.partition_point(|signal| (signal.0 as usize) < from);
        self.signals.extend(other.signals[signals..].iter().take_while(|signal| within(signal.0)));
        self.initial.resize(self.initial.len().max(other.initial.len()), None);
        for (ours, theirs) in self.initial.iter_mut().zip(&other.initial) {
            if ours.is_none() {
                *ours = theirs.filter(|word| within(word.0));
            }
        }
    }

    /// Takes over the names of so many threads.
    #[inline]
    fn add_names(&mut self, other: &Details, threads: usize) {
        self.names.extend_from_slice(&other.names[self.names.len()..threads]);
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
        self.details.states[step].0
    }

    /// How many threads there were before a decision, where the strategy wants it.
    pub(crate) fn threads_before(&self, step: usize) -> usize {
        self.details.states[step].1 as usize
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
        let details = &mut self.details;
        details.pending.clear();
        details.pending_at.clear();
        details.names.clear();
        details.states.clear();
        details.changes.clear();
        details.initial.clear();
        details.signals.clear();
        details.raced = None;
    }

    /// Begins as an execution before did that begins with the same decisions, and says how many of them it has
    /// now. Whole steps are taken over, and never the last decision: what that one led to may have been the end.
    pub(crate) fn begin_as(&mut self, before: &Record, decisions: &[Decision], details: bool) -> usize {
        self.clear();
        let most = before.points.len().min(if details { before.details.states.len() } else { usize::MAX });
        let theirs = &before.decisions[..most.saturating_sub(1)];
        let mut kept = theirs.iter().zip(decisions).take_while(|(theirs, ours)| theirs == ours).count();
        while kept > 0 && matches!(before.decisions[kept], Decision::Value(_)) {
            kept -= 1;
        }
        if kept == 0 {
            return 0;
        }
        self.decisions.extend_from_slice(&before.decisions[..kept]);
        self.points.extend_from_slice(&before.points[..kept]);
        self.words.extend_from_slice(&before.words[..before.points[kept].enabled_at as usize]);
        if details {
            self.details.add(&before.details, 0, Some(kept));
            self.details.add_names(&before.details, before.details.states[kept - 1].1 as usize);
        }
        kept
    }

    /// Whether it can go on as another execution did: of what that one has of its first decisions, this has as much as it
    /// has of its own, which are the same. If so, the decisions that follow there are added, with what they led to, but not
    /// the names of threads.
    pub(crate) fn go_on_as(&mut self, other: &Record) -> bool {
        let (from, to) = (self.decisions.len(), other.decisions.len());
        let (ours, theirs) = (&self.details, &other.details);
        let is_next =
            |length: usize, begins: Option<u32>| begins.is_none_or(|begin| begin as usize == length);
        let fits = is_next(self.words.len(), other.points.get(from).map(|point| point.enabled_at))
            && is_next(ours.pending.len(), theirs.pending_at.get(from).copied())
            && ours.pending_at.len() == from.min(theirs.pending_at.len())
            && ours.states.len() == from.min(theirs.states.len());
        if !fits || from > to {
            return false;
        }
        self.decisions.extend_from_slice(&other.decisions[from..]);
        if !other.points.is_empty() {
            let words = other.points.get(to).map_or(other.words.len(), |point| point.enabled_at as usize);
            self.words.extend_from_slice(&other.words[self.words.len()..words]);
            self.points.extend_from_slice(&other.points[from..to]);
        }
        self.details.add(theirs, from.min(theirs.states.len()), None);
        self.details.states.truncate(to);
        true
    }

    /// Forgets all but the first so many decisions, and what became known before the next one.
    pub(crate) fn truncate(&mut self, length: usize) {
        let Some(point) = self.points.get(length) else { return };
        self.words.truncate(point.enabled_at as usize);
        self.points.truncate(length);
        self.decisions.truncate(length);
        let details = &mut self.details;
        if let Some((_, threads)) = details.states.get(length) {
            details.names.truncate(*threads as usize);
        }
        details.states.truncate(length);
        if let Some(next) = details.pending_at.get(length + 1) {
            details.pending.truncate(*next as usize);
            details.pending_at.truncate(length + 1);
        }
        details.changes.truncate(details.changes.partition_point(|change| (change.0 as usize) < length));
        details.signals.truncate(details.signals.partition_point(|signal| (signal.0 as usize) < length));
        for word in &mut details.initial {
            *word = word.filter(|(step, _)| *step as usize <= length);
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

    /// Adds the names of threads up to so many.
    #[inline]
    pub(crate) fn name_as(&mut self, other: &Record, threads: usize) {
        self.details.add_names(&other.details, threads);
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
        self.details.states.push((state, self.details.names.len() as u32));
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
/// in the other: it ended the one, or the other chooses a value within it.
pub(crate) fn in_common(ours: &[Decision], stopped: bool, theirs: &[Decision]) -> usize {
    let common = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count();
    let common = if stopped { common.min(ours.len().saturating_sub(1)) } else { common };
    match theirs.get(common) {
        Some(Decision::Value(_)) => common.saturating_sub(1),
        _ => common,
    }
}
