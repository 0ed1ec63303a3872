//! The prefixes of the happens-before graph of an execution, with their canonical hashes. A [walk] over them takes steps
//! back and adds them again.
//!
//! The graph is made step by step from what was recorded, once for what two executions that follow each other have in
//! common. Most steps depend on nothing that their thread had not seen already. Such a step has the clock of the one
//! before, and as long as the thread goes on like that, what is certain of the others stays as it is: such steps are
//! added without looking at anything but themselves and their object.

mod certain;
mod load;
mod script;
mod trail;
mod walk;

use selvedge_core::{Decision, OpKind, ThreadId};

pub(crate) use self::certain::Runs;
#[cfg(test)]
pub(crate) use self::script::written::Written;
pub(crate) use self::trail::{Piece, Trail};
pub(crate) use self::walk::{Removed, Slid};

use self::certain::{Counted, Stand};
use crate::gate::Gate;

/// A set of threads, as bits. Graphs with more than 64 of them have more prefixes than anyone can walk over.
pub(crate) type Threads = u64;

/// The most threads that a graph may have.
pub(crate) const MOST_THREADS: usize = Threads::BITS as usize;

/// The threads of a set, in the order of their numbers.
pub(crate) fn each(mut threads: Threads) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if threads == 0 {
            return None;
        }
        let first = threads.trailing_zeros() as usize;
        threads &= threads - 1;
        Some(first)
    })
}

/// A graph, and a prefix of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lattice {
    /// How many steps of each thread are in the prefix.
    taken: Vec<u32>,
    /// On so many of them something depends that another thread has done in it.
    covered: Vec<u32>,
    pub(crate) hash: u128,
    /// How many steps there are in all.
    length: usize,
    /// So many preemptions are certain, if none of the threads runs next that were certainly left.
    least: u32,
    masks: Masks,
    /// The fair bound.
    yields: Option<u32>,
    /// The bound on preemptions.
    most: Option<u32>,
    /// How often the thread has yielded that did so most often in the whole graph.
    most_yields: u32,
    /// The threads of the graph, and the memory of others.
    lines: Vec<Line>,
    objects: Vec<Object>,
    /// What the steps of the whole graph do, in the order of its execution.
    steps: Vec<Step>,
    /// What few of them do.
    more: Vec<More>,
    /// How they change the words of objects.
    changes: Vec<Change>,
    /// The values that they chose, each among how many.
    choices: Vec<(u32, u32)>,
    /// Clocks: how many steps of each other thread happened before; 0 for the thread itself. Each has so many words; the
    /// first is that of a thread that has not begun.
    clocks: Vec<u32>,
    stride: usize,
    /// What has been counted of each thread's preemptions for another thread; and what had been before a step.
    counted: Vec<Counted>,
    counted_before: Vec<(u32, u8, Counted)>,
    /// The decisions that the graph was made from, where it is of an execution that was run.
    decisions: Vec<Decision>,
    /// Whether its last step ended the execution.
    stopped: bool,
    /// The execution has more steps than the graph; so many of those at the end of the graph came later in the execution.
    is_cut: bool,
    floating: usize,
    /// The last step that was loaded changes nothing about what others could have done instead of its thread's next.
    calm: bool,
    /// Where the step before the last was loaded, there was no other way to come there within the bound.
    one_way: bool,
    /// Of an object something is seen of which the opposite had been taken for granted.
    mistaken: bool,
    /// Memory that is used again and again: steps that were undone, and what had been taken before.
    undone: Vec<u32>,
    taken_before: Vec<u32>,
}

/// No step.
const NONE: u32 = u32::MAX;

/// No thread, and any thread.
const NOBODY: u8 = u8::MAX;
const ANYBODY: u8 = NOBODY - 1;

/// Threads in a prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Masks {
    /// They can go on.
    enabled: Threads,
    /// They can, but only because their time may run out.
    timed: Threads,
    /// Whether they can go on depends on the others.
    waiting: Threads,
    /// Their last step yielded.
    yielded: Threads,
    /// Whoever runs next preempts them, whatever the others have done.
    left: Threads,
    /// They have been left if what they wait for is still as it was.
    unless: Threads,
    /// Preemptions of another thread may have been counted for them.
    instead: Threads,
    /// Nothing depends on their last step.
    frontier: Threads,
}

/// A thread.
#[derive(Clone, Debug, Default)]
struct Line {
    /// A name that equivalent executions agree on.
    name: u64,
    /// The step within which it was created, or [`NONE`] if it was there from the beginning.
    creator: u32,
    /// Where it stands after so many of its steps.
    stands: Vec<Stand>,
    /// What it waits for in those of them where it waits for something.
    gates: Vec<Gate>,
    /// The steps that signalled it, and how many it had taken itself.
    signals: Vec<(u32, u32)>,
}

/// An object.
#[derive(Clone, Debug)]
struct Object {
    /// The XOR of the hashes of its actions.
    all: u128,
    /// What it adds to the hash; and whether that is up to date with the actions.
    adds: u128,
    is_added: bool,
    /// In the prefix: its word, and how often it has been written.
    word: u64,
    written: u32,
    /// The word that it begins with.
    initial: u64,
    /// What it was at the beginning, and after each step of the whole graph that touches it.
    touches: Vec<Touched>,
    /// How many changes of its word in the whole graph are by steps that do not write it; and the bits of all that there ever
    /// were.
    unwritten: u32,
    stirred: u64,
    /// The threads that have ever waited for it.
    waiters: Threads,
    /// Of a step that changes it, it was taken for granted that nobody waits for it.
    is_ignored: bool,
}

/// An object after a step that touches it, in the execution that the graph is of.
#[derive(Clone, Copy, Debug)]
struct Touched {
    /// The XOR of the hashes of its actions.
    all: u128,
    /// The step, or [`NONE`] at the beginning.
    step: u32,
    /// How often it has been written, and the last step that wrote it, or [`NONE`].
    writes: u32,
    last_write: u32,
    /// The thread that everything that was done to it happened before, if it is known who that is; or [`ANYBODY`].
    owner: u8,
}

/// How a step changes the word of an object.
#[derive(Clone, Copy, Debug)]
struct Change {
    object: u32,
    /// Whether the step writes the object.
    writes: bool,
    difference: u64,
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The state after it, in the execution that the graph is of.
    after: u128,
    /// What it does to the first object that it touches, if there is one.
    touch: Touch,
    thread: u8,
    forced: Forced,
    kind: OpKind,
    /// Its thread has seen nothing new of others, and whoever runs next preempts it as much or as little as before.
    calm: bool,
    /// How many changes of words it makes, and where they begin.
    changed: u8,
    changes: u32,
    /// What else it does is there, or [`NONE`].
    more: u32,
    /// How many steps its thread had taken before.
    number: u32,
    /// How many decisions there were with it.
    decisions: u32,
    costs: Costs,
    /// The threads of which more happened before it than before its thread's last one.
    joins: Threads,
}

/// What few steps do.
#[derive(Clone, Copy, Debug)]
struct More {
    /// What the step adds to the hash by itself.
    alone: u128,
    /// What it does to a second object, if there is one.
    also: Touch,
    /// Whether it names a second object.
    is_double: bool,
    step: u32,
    /// The threads that it has signalled or created.
    wakes: Threads,
    /// Where the values begin and end that it chose.
    choices: (u32, u32),
}

/// Whether there is no other step within the bound where one was taken, and no other way to come there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forced {
    /// There may be.
    No,
    /// No other thread could go on, and there was no other way to come there, whatever it costs.
    Only,
    /// No other thread could go on.
    Alone,
    /// It would be beyond the bound for every other thread.
    Bound,
}

/// What an execution has cost up to one of its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// So many preemptions at least has every execution that leads to the same state with a step of the same
    /// thread.
    pub(crate) least: u32,
    /// So many this one had.
    pub(crate) run: u32,
}

/// Whether a thread can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Can {
    Now,
    /// Only because its time may run out.
    InTime,
    Not,
}

/// What a step does to an object.
#[derive(Clone, Copy, Debug)]
struct Touch {
    action: u128,
    /// The object, or [`NONE`].
    object: u32,
    writes: bool,
}

impl Touch {
    /// Nothing.
    const NO: Touch = Touch { action: 0, object: NONE, writes: false };
}

impl Default for Object {
    fn default() -> Self {
        Object {
            all: 0,
            adds: 0,
            is_added: true,
            word: 0,
            written: 0,
            initial: 0,
            touches: vec![Touched { all: 0, step: NONE, writes: 0, last_write: NONE, owner: ANYBODY }],
            unwritten: 0,
            stirred: 0,
            waiters: 0,
            is_ignored: false,
        }
    }
}

impl Touched {
    /// Whether the step writes it. At the beginning, too, no one has read it since.
    #[inline]
    fn is_write(&self) -> bool {
        self.step == self.last_write
    }
}

impl Object {
    /// What it is after all steps of the graph.
    #[inline]
    fn last(&self) -> &Touched {
        self.touches.last().expect("it has a beginning")
    }

    /// Whether what a gate tests may be changed by steps that do not write it.
    #[inline]
    fn sways(&self, gate: &Gate) -> bool {
        self.unwritten != 0 && gate.is_moved_by(self.stirred)
    }

    /// Notes a change by a step that does not write it. Says whether that may change more of it than those that there were.
    fn stir(&mut self, difference: u64) -> bool {
        let lowest = self.stirred.trailing_zeros();
        self.unwritten += 1;
        self.stirred |= difference;
        self.stirred.trailing_zeros() < lowest
    }

    /// Notes that threads wait for it. Says whether it had been taken for granted that none does.
    #[inline]
    fn wait(&mut self, threads: Threads) -> bool {
        self.waiters |= threads;
        std::mem::take(&mut self.is_ignored)
    }

    /// Notes that a step of a thread touches it, and what that adds to its actions; this was the last one before.
    #[inline(always)]
    fn touch(&mut self, last: &Touched, step: u32, thread: u8, touch: &Touch) {
        let writes = last.writes + u32::from(touch.writes);
        // After a read others may have read that this thread knows nothing of.
        let owns = touch.writes || last.is_write() || last.owner == thread;
        let owner = if owns { thread } else { NOBODY };
        let last_write = if touch.writes { step } else { last.last_write };
        let all = last.all ^ touch.action;
        self.touches.push(Touched { all, step, writes, last_write, owner });
        (self.all, self.is_added, self.written) = (all, false, writes);
    }

    /// Forgets all but the first so many steps of the graph, and is what it was after them.
    #[inline]
    fn keep(&mut self, steps: u32) {
        let first = self.touches[1..].partition_point(|touch| touch.step < steps);
        self.touches.truncate(first + 1);
        let Touched { all, writes, .. } = *self.last();
        self.is_added &= self.all == all;
        (self.all, self.written) = (all, writes);
    }

    /// The steps that write it, the last one first.
    fn writes(&self) -> impl Iterator<Item = u32> {
        self.touches[1..].iter().rev().filter(|touch| touch.is_write()).map(|touch| touch.step)
    }
}

impl Step {
    /// Its changes of words.
    #[inline]
    fn changes<'a>(&self, all: &'a [Change]) -> &'a [Change] {
        if self.changed == 0 { &[] } else { &all[self.changes as usize..][..usize::from(self.changed)] }
    }
}

impl Masks {
    /// A thread stands there, of which nothing is noted yet. Whether it can go on is not clear yet where it waits.
    #[inline]
    fn add(&mut self, thread: usize, stand: &Stand) {
        let put = |set: &mut Threads, on: bool| *set |= Threads::from(on) << thread;
        put(&mut self.enabled, stand.open());
        put(&mut self.waiting, stand.waits());
        put(&mut self.yielded, stand.yielded());
        put(&mut self.left, stand.left());
        put(&mut self.unless, stand.has_unless());
        put(&mut self.instead, stand.has_instead());
    }

    /// The same for one that stood elsewhere.
    #[inline]
    fn set(&mut self, thread: usize, stand: &Stand) {
        let others = !(1 << thread);
        let Masks { enabled, timed, waiting, yielded, left, unless, instead, .. } = self;
        for set in [enabled, timed, waiting, yielded, left, unless, instead] {
            *set &= others;
        }
        self.add(thread, stand);
    }
}

impl Lattice {
    /// For executions within this fair bound.
    pub(crate) fn new(yields: Option<u32>) -> Self {
        Lattice { yields, ..Lattice::default() }
    }

    #[inline]
    fn clock(&self, row: u32) -> &[u32] {
        &self.clocks[row as usize * self.stride..][..self.taken.len()]
    }

    /// Whether a step is in the prefix.
    #[inline]
    fn contains(&self, step: u32) -> bool {
        let step = &self.steps[step as usize];
        step.number < self.taken[usize::from(step.thread)]
    }

    /// Finds out which of these threads can go on, as far as they wait.
    fn look_again(&mut self, threads: Threads) {
        let threads = threads & self.masks.waiting;
        let (mut enabled, mut timed): (Threads, Threads) = (0, 0);
        for thread in each(threads) {
            match self.can_go_on(thread) {
                Can::Now => enabled |= 1 << thread,
                Can::InTime => timed |= 1 << thread,
                Can::Not => {}
            }
        }
        self.masks.enabled = self.masks.enabled & !threads | enabled;
        self.masks.timed = self.masks.timed & !threads | timed;
    }

    /// Whether a thread can go on where it stands.
    #[inline]
    fn can_go_on(&self, thread: usize) -> Can {
        let stand = self.stand(thread);
        match stand.waits() {
            true => self.can_pass(thread, stand),
            false if stand.open() => Can::Now,
            false => Can::Not,
        }
    }

    /// The same where it waits.
    fn can_pass(&self, thread: usize, stand: &Stand) -> Can {
        let line = &self.lines[thread];
        let taken = self.taken[thread];
        if taken == 0 && line.creator != NONE && !self.contains(line.creator) {
            return Can::Not;
        }
        let gate = stand.gate(line);
        let word = |object: usize| self.objects.get(object).map_or(0, |object| object.word);
        let condition = gate.object.is_none_or(|object| gate.allows(word(object.index())));
        let signalled = gate.hears_signals()
            && line.signals.iter().any(|(step, at)| *at == taken && self.contains(*step));
        if gate.is_passed(condition, signalled) {
            Can::Now
        } else if gate.timed && (condition || !gate.needs_signal) {
            Can::InTime
        } else {
            Can::Not
        }
    }

    /// Whether a step writes an object.
    #[inline]
    fn writes(&self, step: &Step, object: u32) -> bool {
        let writes = |touch: &Touch| touch.object == object && touch.writes;
        writes(&step.touch) || self.more.get(step.more as usize).is_some_and(|more| writes(&more.also))
    }

    #[inline]
    fn stand(&self, thread: usize) -> &Stand {
        &self.lines[thread].stands[self.taken[thread] as usize]
    }

    /// The thread that took the last step, and what it costs to be in this state, if the execution was.
    #[inline]
    pub(crate) fn was_run(&self) -> Option<(u8, Costs)> {
        let step = &self.steps[self.length.checked_sub(1)?];
        (step.after == self.hash).then_some((step.thread, step.costs))
    }

    /// Whether the execution was in this state.
    #[inline]
    pub(crate) fn is_on_path(&self) -> bool {
        self.length.checked_sub(1).is_none_or(|last| self.steps[last].after == self.hash)
    }

    /// The state that the execution was in after so many steps.
    #[inline]
    fn hash_after(&self, length: usize) -> u128 {
        length.checked_sub(1).map_or(0, |last| self.steps[last].after)
    }

    /// Whether the graph is cut short. The execution goes on with a thread then, and nothing was left to choose from there on; and
    /// whoever comes within the bound to a state with more than that comes by where the graph ends. But some steps may
    /// [float](Lattice::floating): they are the last of the graph, came later in the execution, and may have been taken
    /// before it came there.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How many floating steps there are in the prefix, which the execution was in but for these.
    pub(crate) fn floating(&self) -> usize {
        (self.length + self.floating).saturating_sub(self.steps.len())
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// How many steps the whole graph has.
    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// How many decisions there were before a step of the whole graph, or in all.
    pub(crate) fn begin(&self, step: usize) -> usize {
        step.checked_sub(1).map_or(0, |last| self.steps[last].decisions as usize)
    }

    /// The threads of the whole graph, by their names.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = u64> {
        self.lines[..self.taken.len()].iter().map(|line| line.name)
    }

    /// The name of a thread.
    #[inline]
    pub(crate) fn name(&self, thread: usize) -> u64 {
        self.lines[thread].name
    }

    /// The thread of a step of the whole graph, and how many it had taken before.
    #[inline]
    pub(crate) fn step(&self, event: usize) -> (ThreadId, u32) {
        let step = &self.steps[event];
        (ThreadId(step.thread.into()), step.number)
    }

    /// The values that a step of the whole graph chose, each among how many.
    #[inline]
    pub(crate) fn choices(&self, event: usize) -> &[(u32, u32)] {
        match self.more.get(self.steps[event].more as usize) {
            Some(more) => &self.choices[more.choices.0 as usize..more.choices.1 as usize],
            None => &[],
        }
    }

    /// The thread that took the last step of the execution, which was here.
    pub(crate) fn last_run(&self) -> usize {
        debug_assert!(self.is_on_path(), "the execution was here");
        self.steps[self.length - 1].thread.into()
    }

    /// The last step of a thread that has taken one.
    #[inline]
    pub(crate) fn last_event(&self, thread: usize) -> u32 {
        self.stand(thread).last
    }

    /// The thread of a set whose last step comes last in the execution.
    #[inline]
    pub(crate) fn latest(&self, threads: Threads) -> Option<usize> {
        if threads.is_power_of_two() {
            return Some(threads.trailing_zeros() as usize);
        }
        each(threads).max_by_key(|thread| self.last_event(*thread))
    }

    /// The threads whose last step nothing depends on.
    #[inline]
    pub(crate) fn frontier(&self) -> Threads {
        self.masks.frontier
    }

    /// The threads that can be chosen in this state, within the fair bound; and those of them that a switch
    /// preempts if they have just run.
    #[inline]
    pub(crate) fn allowed(&self) -> (Threads, Threads) {
        let Masks { enabled, timed, yielded, .. } = self.masks;
        let (allowed, preemptible) = (enabled | timed, enabled & !yielded);
        match self.yields {
            Some(bound) if self.most_yields > bound => self.fairly_allowed(allowed, preemptible, bound),
            _ => (allowed, preemptible),
        }
    }

    /// Whether the fair bound may hold a thread back anywhere: one that has yielded no more often than it says is not, whatever
    /// the others have done.
    #[inline]
    fn may_hold_back(&self) -> bool {
        self.yields.is_some_and(|bound| self.most_yields > bound)
    }

    /// Those of these threads that are within the fair bound.
    fn fairly_allowed(
        &self,
        mut allowed: Threads,
        mut preemptible: Threads,
        bound: u32,
    ) -> (Threads, Threads) {
        let count = |thread: &usize| self.stand(*thread).yields;
        let least = each(allowed).map(|thread| count(&thread)).min().unwrap_or(0);
        for thread in each(allowed).filter(|thread| count(thread) - least > bound) {
            allowed &= !(1 << thread);
            preemptible &= !(1 << thread);
        }
        (allowed, preemptible)
    }
}
