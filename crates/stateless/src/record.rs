//! What is remembered of an execution while it runs: enough for a strategy to see where else it could have
//! gone. Its memory is kept from one execution to the next, so recording a step allocates nothing.

use selvedge_core::{Decision, Op, ThreadId, ThreadSet};

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
    /// The operation that was performed by this decision.
    pub op: Op,
    /// A fingerprint of everything that happened before this decision.
    pub fingerprint: u64,
    /// Where this point's set begins in the words.
    pub(crate) enabled_at: u32,
    /// How many words it has.
    pub(crate) enabled_words: u32,
}

/// An execution: its decisions, and for each the choice that there was.
#[derive(Clone, Debug, Default)]
pub struct Record {
    decisions: Vec<Decision>,
    points: Vec<PointRecord>,
    words: Vec<u64>,
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
    pub fn enabled(&self, point: &PointRecord) -> impl Iterator<Item = ThreadId> + '_ {
        let words = &self.words[point.enabled_at as usize..(point.enabled_at + point.enabled_words) as usize];
        words.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| ThreadId((index * 64 + bit) as u32))
        })
    }

    pub(crate) fn clear(&mut self) {
        self.decisions.clear();
        self.points.clear();
        self.words.clear();
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
            self.words.extend_from_slice(enabled.words());
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
}
