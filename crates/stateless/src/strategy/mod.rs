//! Which executions to run. One file an algorithm.
//!
//! A strategy learns from finished executions and says how the next one begins ([`Strategy::next_prefix`])
//! and how it goes on after that ([`Strategy::choose`]). `choose` only reads, so that an execution can run
//! elsewhere and report back.

mod backtrack;
mod bpor;
mod cb_por;
mod context_cost;
mod depth;
mod dfs;
mod dpor;
mod draw;
mod effort;
mod iterative;
mod named;
mod optimal;
mod pct;
mod random;
mod replay;
mod within_reason;

use selvedge_core::{Bounds, Decision, Measure, ThreadId, ThreadSet};

use crate::deadline::Deadline;
use crate::happens_before::StateHash;
use crate::program::Onward;
use crate::record::Record;

pub use bpor::Bpor;
pub use cb_por::{CbPor, Lesson};
pub use depth::Depth;
pub use dfs::Dfs;
pub use dpor::Dpor;
pub use effort::Looks;
pub use iterative::{Cost, Iterative};
pub use named::{Bound, Named, Parameters, Unheeded};
pub use optimal::Optimal;
pub use pct::Pct;
pub use random::Random;
pub use replay::Replay;
pub(crate) use replay::{Context, GuideProgress, Guided};

/// A choice that has to be made.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The number of the decision, from 0.
    pub step: usize,
    /// For a choice among values, how many there are; 0 for a choice among threads.
    pub arity: u32,
    /// The threads to choose from: those that are enabled and within the fair bound. Never empty when
    /// `arity` is 0.
    pub enabled: &'a ThreadSet,
    /// Whether the fair bound holds another one back.
    pub held_back: bool,
    /// The thread that took the last step.
    pub running: Option<ThreadId>,
    /// Whether a switch away from `running` would preempt it.
    pub preemptible: bool,
    /// Preemptions so far.
    pub preemptions: u32,
    /// The decisions so far.
    pub decisions: &'a [Decision],
    /// The execution so far; of one that was run ahead of time, also how it went on.
    pub record: &'a Record,
    /// The state, for strategies that want to see what is pending.
    pub state: StateHash,
    /// The execution is made up, to find out what will most likely be chosen in one: there is no more of it in the
    /// record than its decisions and what threads are called.
    pub foreseen: bool,
}

impl Point<'_> {
    /// The decision of a scheduler that never preempts: the running thread goes on while it can and does
    /// not yield; then comes the next thread in the order of their numbers, round robin.
    #[inline]
    pub fn without_preemption(&self) -> Decision {
        if self.arity > 0 {
            return Decision::Value(0);
        }
        Decision::Thread(match self.running {
            Some(running) if self.preemptible && self.enabled.contains(running) => running,
            Some(running) => self.round_robin(running),
            None => self.enabled.first().expect("a point has an enabled thread"),
        })
    }

    /// The first enabled thread after this one, going round.
    #[inline]
    fn round_robin(&self, after: ThreadId) -> ThreadId {
        if let Some(word) = self.enabled.word() {
            let above = word & u64::MAX.checked_shl(after.0 + 1).unwrap_or(0);
            let word = if above != 0 { above } else { word };
            return ThreadId(word.trailing_zeros());
        }
        self.enabled
            .iter()
            .find(|thread| *thread > after)
            .or_else(|| self.enabled.first())
            .expect("a point has an enabled thread")
    }
}

/// What a strategy makes of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Go on like this.
    Take(Decision),
    /// End this execution here: what lies behind is outside the bound or known.
    Prune,
}

/// How the next execution begins.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    /// The decisions to take first.
    pub decisions: Vec<Decision>,
    /// The fingerprint that the execution must have before the last of them, where it is known: if it has
    /// another, the program is not deterministic.
    pub expect: Option<u64>,
    /// What will most likely follow them, and how it goes on then. Nothing is promised.
    pub likely: Vec<Decision>,
    /// See `likely`.
    pub onward: Onward,
}

impl Prefix {
    /// These decisions, and no more is known: what is run again goes no further than it went before.
    pub(crate) fn of(decisions: Vec<Decision>) -> Self {
        Prefix { decisions, onward: Onward::Unknown, ..Prefix::default() }
    }

    /// Makes it the empty one.
    pub(crate) fn clear(&mut self) {
        self.decisions.clear();
        self.expect = None;
        self.likely.clear();
        self.onward = Onward::Calmly;
    }
}

/// An execution that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its decisions and choices.
    pub record: &'a Record,
    /// How many of the decisions were given as its prefix.
    pub prefix: usize,
    /// Preemptions in it.
    pub preemptions: u32,
    /// It was ended by [`Choice::Prune`].
    pub pruned: bool,
    /// Its last step ended it, whatever other threads could still have done: something went wrong in it.
    pub stopped: bool,
    /// The state that it ended in, for strategies that want to see what is pending.
    pub state: StateHash,
    /// What a copy of the strategy has learnt from it, if that has run it ahead of time.
    pub lesson: Option<&'a Lesson>,
}

/// What to make of an execution in which something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is reported.
    AsItIs,
    /// This one is reported instead, if something goes wrong in it too: it is equivalent as far as that is concerned, with
    /// fewer preemptions.
    Like(Vec<Decision>),
}

/// Whether an execution that begins with these decisions, and goes on like that, is wanted.
pub type Wanted<'a> = &'a mut dyn FnMut(&[Decision], Onward) -> bool;

/// An algorithm that decides which executions to run.
pub trait Strategy {
    /// Writes how the next execution begins; `false` when there is none.
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool;

    /// Offers what the executions after the next one will most likely begin with and how they go on, soonest first. When
    /// one is wanted, a copy of the search that goes on from there, as if everything before it were done. Nothing is
    /// promised: what is still to be learnt may change it. Asked only where executions are run ahead of time.
    fn ahead(&self, _wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        None
    }

    /// Goes ahead itself, as a copy of it would, and says whether something was wanted; `None` if it cannot. Asked of
    /// copies, that have come to what they were copied from, and know more by now.
    fn go_ahead(&mut self, _wanted: Wanted<'_>) -> Option<bool> {
        None
    }

    /// The search has to end when this says so, also while the strategy works on what comes next.
    fn heed(&mut self, _deadline: Deadline) {}

    /// Something to be said about the search when it is over.
    fn note(&self) -> Option<String> {
        None
    }

    /// How an execution goes on after its prefix.
    fn choose(&self, point: &Point<'_>) -> Choice;

    /// Whether it often chooses otherwise than [without preemption](Point::without_preemption), by `state` and what the
    /// other fields say of a point, and by no more of the record than the names of threads: then executions that go on
    /// by themselves are begun with what it chooses at points that are foreseen. It must not mind being asked for nothing.
    fn strays(&self) -> bool {
        false
    }

    /// Learns from an execution.
    fn finished(&mut self, execution: &Finished<'_>);

    /// Says what it has learnt from the last execution, if it is a copy, so that others of the same search need not do so again:
    /// they are [told](Finished::lesson) with the execution.
    fn teach(&mut self, _lesson: &mut Lesson) {}

    /// What to make of an execution in which something went wrong, once it has been learnt from.
    fn report(&mut self, _execution: &Finished<'_>) -> Report {
        Report::AsItIs
    }

    /// Whether it learns more from an execution than how long it was: only then are the choices recorded that
    /// there were.
    fn learns(&self) -> bool {
        true
    }

    /// For a strategy that iterates over a bound: what it counts, and the bound that it is exploring.
    fn bound(&self) -> Option<(Measure, u32)> {
        None
    }

    /// The bounds within which everything has been explored once `next_prefix` has said `false`; or `None`
    /// for a strategy that samples and so never exhausts anything.
    fn exhausted(&self) -> Option<Bounds>;

    /// Whether the bounds have cut anything off so far.
    fn cut(&self) -> bool;

    /// Whether it needs to see every thread's next step at every point: [`Record::pending`].
    fn wants_pending(&self) -> bool {
        false
    }

    /// Whether the executions of every lower bound are explored before those of a higher one.
    fn in_order(&self) -> bool {
        false
    }
}

/// The decisions that could have been made at a point instead of the one that was, in the order of a
/// round-robin scheduler; each with whether it preempts.
pub(crate) fn alternatives<'a>(
    record: &'a Record,
    index: usize,
) -> impl Iterator<Item = (Decision, bool)> + 'a {
    let point = &record.points()[index];
    let taken = record.decisions()[index];
    let values = (0..point.arity).map(|value| (Decision::Value(value), false));
    let after = point.running.map_or(0, |running| running.0);
    let threads = move || record.enabled(point).filter(move |_| point.arity == 0);
    let above = threads().filter(move |thread| thread.0 > after);
    let rest = threads().filter(move |thread| thread.0 <= after);
    let threads = above
        .chain(rest)
        .map(move |thread| (Decision::Thread(thread), point.preemptible && point.running != Some(thread)));
    values.chain(threads).filter(move |(decision, _)| *decision != taken)
}
