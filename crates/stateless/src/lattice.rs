//! The prefixes of the happens-before graph of an execution, with their canonical hashes: a walk that takes steps
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

use selvedge_core::{Decision, OpKind, ThreadId};

pub(crate) use self::certain::Runs;
#[cfg(test)]
pub(crate) use self::script::written::Written;
pub(crate) use self::trail::Trail;

use self::certain::{Counted, Stand};
use crate::gate::Gate;
use crate::happens_before::whole;

/// A set of threads, as bits. Graphs with more than 64 of them have more prefixes than anyone can walk over.
pub(crate) type Threads = u64;

/// The most threads that a graph may have.
pub(crate) const MOST_THREADS: usize = Threads::BITS as usize;

/// The threads of a set, in the order of their numbers.
pub(crate) fn each(mut threads: Threads) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = threads.trailing_zeros() as usize;
        if threads == 0 {
            return None;
        }
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
    /// Whether any thread ever yielded.
    has_yields: bool,
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
    /// The last step that was loaded changes nothing about what others could have done instead of its thread's next.
    calm: bool,
    /// Where the step before the last was loaded, there was no other way to come there within the bound.
    one_way: bool,
    /// Memory that is used again and again.
    undone: Vec<u32>,
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
    /// How many changes of its word in the whole graph are by steps that do not write it.
    unwritten: u32,
    /// The threads that have ever waited for it.
    waiters: Threads,
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

/// A step that was taken back, and what was true before.
#[derive(Clone, Debug)]
pub(crate) struct Removed {
    pub(crate) event: usize,
    hash: u128,
    least: u32,
    masks: Masks,
    /// What the objects added to the hash.
    adds: [u128; 2],
}

/// Steps of a thread that were taken back at once, and what was true before.
#[derive(Clone, Debug)]
pub(crate) struct Slid {
    thread: usize,
    taken: u32,
    hash: u128,
    least: u32,
    masks: Masks,
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
            waiters: 0,
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

    /// Takes the last thing back that was done to it. Says what it added to the hash before.
    #[inline]
    fn take_back(&mut self, touch: &Touch) -> u128 {
        let adds = if self.is_added { self.adds } else { whole(self.all) };
        self.all ^= touch.action;
        (self.adds, self.is_added) = (whole(self.all), true);
        self.written -= u32::from(touch.writes);
        adds
    }

    /// Adds it again; what it adds to the hash then is known.
    #[inline]
    fn add(&mut self, touch: &Touch, adds: u128) {
        self.all ^= touch.action;
        self.adds = adds;
        self.written += u32::from(touch.writes);
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
    /// A thread stands there. Whether it can go on is not clear yet where it waits.
    #[inline]
    fn set(&mut self, thread: usize, stand: &Stand) {
        let put = |set: &mut Threads, on: bool| *set = *set & !(1 << thread) | Threads::from(on) << thread;
        put(&mut self.enabled, stand.open());
        put(&mut self.timed, false);
        put(&mut self.waiting, stand.waits());
        put(&mut self.yielded, stand.yielded());
        put(&mut self.left, stand.left());
        put(&mut self.unless, stand.has_unless());
        put(&mut self.instead, stand.has_instead());
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

    /// Notes that a step with this clock is there, which depends on more of these threads than the one before.
    #[inline]
    fn cover(&mut self, row: u32, joins: Threads) {
        let clock = &self.clocks[row as usize * self.stride..];
        for other in each(joins) {
            let (now, covered) = (clock[other], &mut self.covered[other]);
            if now > *covered {
                *covered = now;
                self.masks.frontier &= !(Threads::from(now == self.taken[other]) << other);
            }
        }
    }

    /// Takes the last step of a thread of the frontier back.
    #[inline]
    pub(crate) fn remove(&mut self, thread: usize) -> Removed {
        let taken = self.taken[thread] as usize;
        self.taken[thread] -= 1;
        self.length -= 1;
        let stands = &self.lines[thread].stands;
        let (stand, before) = (&stands[taken], &stands[taken - 1]);
        let event = stand.last as usize;
        let step = &self.steps[event];
        let mut removed =
            Removed { event, hash: self.hash, least: self.least, masks: self.masks, adds: [0; 2] };
        self.least = self.least - stand.least() + before.least();
        let mut hash = self.hash;
        let mut affected = 0;
        if step.touch.object != NONE {
            let object = &mut self.objects[step.touch.object as usize];
            removed.adds[0] = object.take_back(&step.touch);
            hash ^= removed.adds[0] ^ object.adds;
        }
        if let Some(more) = self.more.get(step.more as usize) {
            hash ^= more.alone;
            affected = more.wakes;
            if more.also.object != NONE {
                let object = &mut self.objects[more.also.object as usize];
                removed.adds[1] = object.take_back(&more.also);
                hash ^= removed.adds[1] ^ object.adds;
            }
        }
        debug_assert!(
            event != self.length || removed.hash != step.after || hash == self.hash_after(event),
            "the step before led there"
        );
        self.hash = hash;
        for &Change { object, difference, .. } in step.changes(&self.changes) {
            let object = &mut self.objects[object as usize];
            object.word = object.word.wrapping_sub(difference);
            affected |= object.waiters;
        }
        if stand.flags != before.flags || before.waits() {
            self.masks.set(thread, before);
            affected |= 1 << thread;
        }
        if step.joins != 0 {
            let (row, joins) = (stand.row, step.joins);
            self.uncover(row, joins);
        }
        let is_last = self.taken[thread] > self.covered[thread];
        self.masks.frontier = self.masks.frontier & !(1 << thread) | Threads::from(is_last) << thread;
        if affected & self.masks.waiting != 0 {
            self.look_again(affected);
        }
        removed
    }

    /// Notes that a step with this clock is not there any more, which depended on more of these threads than the one
    /// before.
    fn uncover(&mut self, row: u32, joins: Threads) {
        let stride = self.stride;
        for other in each(joins) {
            if self.clocks[row as usize * stride + other] < self.covered[other] {
                continue;
            }
            let mut covered = 0;
            for (line, taken) in self.lines.iter().zip(&self.taken) {
                let row = line.stands[*taken as usize].row as usize;
                covered = covered.max(self.clocks[row * stride + other]);
            }
            self.covered[other] = covered;
            self.masks.frontier |= Threads::from(self.taken[other] > covered) << other;
        }
    }

    /// Takes the last steps of a thread back that a state was come to by, as long as there is nothing else to do there, and
    /// no other way to come there is within the bound. Says how many.
    pub(crate) fn slide_back(&mut self, thread: usize) -> Option<Slid> {
        let own = 1 << thread;
        let idle = (self.masks.enabled | self.masks.timed) & !own == 0;
        if !idle || self.has_yields || !self.steps[self.last_event(thread) as usize].calm {
            return None;
        }
        let most = self.most?;
        let is_beyond = |other: usize| self.preempted(other, Runs::Last, most) > most;
        if !each(self.masks.frontier & !own).all(is_beyond) {
            return None;
        }
        let slid =
            Slid { thread, taken: self.taken[thread], hash: self.hash, least: self.least, masks: self.masks };
        let last = self.covered[thread] + 1;
        let mut taken = slid.taken;
        while taken > last {
            let step = &self.steps[self.lines[thread].stands[taken as usize].last as usize];
            let changes = step.changes(&self.changes);
            let others = self.masks.waiting & !own;
            if !step.calm
                || changes.iter().any(|change| self.objects[change.object as usize].waiters & others != 0)
            {
                break;
            }
            let object = &mut self.objects[step.touch.object as usize];
            let adds = object.take_back(&step.touch);
            self.hash ^= adds ^ object.adds;
            for change in changes {
                let word = &mut self.objects[change.object as usize].word;
                *word = word.wrapping_sub(change.difference);
            }
            taken -= 1;
        }
        if taken == slid.taken {
            return None;
        }
        self.length -= (slid.taken - taken) as usize;
        self.taken[thread] = taken;
        let stands = &self.lines[thread].stands;
        let (stand, before) = (&stands[slid.taken as usize], stands[taken as usize]);
        self.least = self.least - stand.least() + before.least();
        self.masks.set(thread, &before);
        // It can go on, because it did.
        self.masks.enabled |= own;
        debug_assert!(self.can_go_on(thread) == Can::Now, "it went on");
        debug_assert!(
            each(self.masks.frontier & !own).all(|other| self.preempted(other, Runs::Last, most) > most)
        );
        Some(slid)
    }

    /// Adds the steps again that were taken back.
    pub(crate) fn slide_on(&mut self, slid: &Slid) {
        let stands = &self.lines[slid.thread].stands;
        for stand in &stands[self.taken[slid.thread] as usize + 1..=slid.taken as usize] {
            let step = &self.steps[stand.last as usize];
            let object = &mut self.objects[step.touch.object as usize];
            object.all ^= step.touch.action;
            object.is_added = false;
            object.written += u32::from(step.touch.writes);
            for change in step.changes(&self.changes) {
                let word = &mut self.objects[change.object as usize].word;
                *word = word.wrapping_add(change.difference);
            }
        }
        self.length += (slid.taken - self.taken[slid.thread]) as usize;
        self.taken[slid.thread] = slid.taken;
        (self.hash, self.least, self.masks) = (slid.hash, slid.least, slid.masks);
    }

    /// Adds a step again that was taken back last.
    #[inline]
    pub(crate) fn put_back(&mut self, thread: usize, removed: &Removed) {
        self.taken[thread] += 1;
        self.length += 1;
        self.least = removed.least;
        self.hash = removed.hash;
        let step = &self.steps[removed.event];
        if step.touch.object != NONE {
            self.objects[step.touch.object as usize].add(&step.touch, removed.adds[0]);
        }
        if let Some(more) = self.more.get(step.more as usize)
            && more.also.object != NONE
        {
            self.objects[more.also.object as usize].add(&more.also, removed.adds[1]);
        }
        for &Change { object, difference, .. } in step.changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_add(difference);
        }
        if step.joins != 0 {
            let (row, joins) = (self.stand(thread).row, step.joins);
            self.cover(row, joins);
        }
        self.masks = removed.masks;
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
        let is_signalled = || line.signals.iter().any(|(step, at)| *at == taken && self.contains(*step));
        if condition && (!gate.needs_signal || is_signalled()) {
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

    /// Goes back from where the execution was, as long as it had to take the step that it took. Says whether that was
    /// because of the bound anywhere.
    pub(crate) fn go_back(&mut self) -> bool {
        debug_assert!(self.is_on_path(), "the execution was here");
        let (mut length, mut by_bound) = (self.length, false);
        while let Some(step) = length.checked_sub(1).map(|last| &self.steps[last])
            && step.forced != Forced::No
        {
            by_bound |= step.forced == Forced::Bound;
            length -= 1;
        }
        self.walk_to(length);
        by_bound
    }

    /// Whether the execution was in this state.
    #[inline]
    fn is_on_path(&self) -> bool {
        self.length.checked_sub(1).is_none_or(|last| self.steps[last].after == self.hash)
    }

    /// Goes to where the execution was after so many steps, from where it was too.
    pub(crate) fn walk_to(&mut self, length: usize) {
        if length != self.length {
            self.retrace(length);
            self.arrive();
        }
    }

    /// The same for what is counted along the execution.
    fn retrace(&mut self, length: usize) {
        debug_assert!(self.is_on_path(), "the execution was here");
        let add = length > self.length;
        let by = |count: u32, one: bool| if add { count + u32::from(one) } else { count - u32::from(one) };
        let steps = self.length.min(length)..self.length.max(length);
        let changes = self.changes_until(steps.start)..self.changes_until(steps.end);
        for step in &self.steps[steps] {
            let taken = &mut self.taken[usize::from(step.thread)];
            *taken = by(*taken, true);
            let also = self.more.get(step.more as usize).map(|more| &more.also);
            for touch in [Some(&step.touch), also].into_iter().flatten().filter(|touch| touch.object != NONE)
            {
                let object = &mut self.objects[touch.object as usize];
                object.written = by(object.written, touch.writes);
                object.all ^= touch.action;
                object.is_added = false;
            }
        }
        for change in &self.changes[changes] {
            let word = &mut self.objects[change.object as usize].word;
            let difference = change.difference;
            *word = if add { word.wrapping_add(difference) } else { word.wrapping_sub(difference) };
        }
        self.length = length;
        self.hash = self.hash_after(length);
    }

    /// How many changes of words the first so many steps of the execution make.
    #[inline]
    fn changes_until(&self, length: usize) -> usize {
        self.steps.get(length).map_or(self.changes.len(), |step| step.changes as usize)
    }

    /// The state that the execution was in after so many steps.
    #[inline]
    fn hash_after(&self, length: usize) -> u128 {
        length.checked_sub(1).map_or(0, |last| self.steps[last].after)
    }

    /// Works out what follows from where the threads stand.
    fn arrive(&mut self) {
        self.least = 0;
        self.masks = Masks::default();
        self.covered.fill(0);
        for thread in 0..self.taken.len() {
            let stand = *self.stand(thread);
            self.least += stand.least();
            self.masks.set(thread, &stand);
            let clock = &self.clocks[stand.row as usize * self.stride..];
            for (covered, now) in self.covered.iter_mut().zip(clock) {
                *covered = (*covered).max(*now);
            }
        }
        for (thread, (taken, covered)) in self.taken.iter().zip(&self.covered).enumerate() {
            self.masks.frontier |= Threads::from(taken > covered) << thread;
        }
        self.look_again(self.masks.waiting);
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

    /// What it costs to come here, and to go on with a thread, by the steps that are here in the order of the execution,
    /// but for the last run of steps of a thread of the frontier, which comes last; if that is within the budget.
    pub(crate) fn cost_in_order(&mut self, last: usize, next: usize, budget: u32) -> Option<u32> {
        if self.has_yields {
            return None;
        }
        let end = self.latest(self.masks.frontier).map_or(0, |last| self.last_event(last) as usize + 1);
        let mut run = self.last_event(last) as usize + 1;
        if run == end {
            run = 0;
        } else if let Some(covered) = self.covered[last].checked_sub(1) {
            // If something depends on a step of its last run, then that cannot be put last.
            let covered = self.lines[last].stands[covered as usize + 1].last as usize;
            if self.steps[covered..run].iter().all(|step| usize::from(step.thread) == last) {
                return None;
            }
        }
        let mut undone = std::mem::take(&mut self.undone);
        let (mut left, mut next, mut cost) = (self.length, next, 0);
        while run > 0 && usize::from(self.steps[run - 1].thread) == last && cost <= budget {
            run -= 1;
            cost += self.undo(run, next, budget, &mut undone);
            (left, next) = (left - 1, last);
        }
        // As long as something before this step is not here.
        let mut step = end;
        while left < step && cost <= budget {
            step -= 1;
            let Step { thread, number, .. } = self.steps[step];
            if number < self.taken[usize::from(thread)] {
                cost += self.undo(step, next, budget, &mut undone);
                (left, next) = (left - 1, thread.into());
            }
        }
        if let Some(last) = left.checked_sub(1).map(|last| &self.steps[last]).filter(|_| cost <= budget) {
            let last_thread = usize::from(last.thread);
            cost +=
                last.costs.run + u32::from(last_thread != next && self.can_go_on(last_thread) == Can::Now);
        }
        for step in undone.drain(..).rev() {
            let step = &self.steps[step as usize];
            self.taken[usize::from(step.thread)] += 1;
            for &Change { object, difference, .. } in step.changes(&self.changes) {
                let word = &mut self.objects[object as usize].word;
                *word = word.wrapping_add(difference);
            }
        }
        self.undone = undone;
        (cost <= budget).then_some(cost)
    }

    /// Takes a step back, as far as who can go on depends on it. Says what it costs to go on with a thread after it; more than
    /// the budget if it could not have been taken.
    #[inline(always)]
    fn undo(&mut self, step: usize, next: usize, budget: u32, undone: &mut Vec<u32>) -> u32 {
        let thread = usize::from(self.steps[step].thread);
        let price = u32::from(thread != next && self.can_go_on(thread) == Can::Now);
        self.taken[thread] -= 1;
        for &Change { object, difference, .. } in self.steps[step].changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_sub(difference);
        }
        undone.push(step as u32);
        if self.can_go_on(thread) == Can::Not { budget + 1 } else { price }
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
            Some(bound) if self.has_yields => self.fairly_allowed(allowed, preemptible, bound),
            _ => (allowed, preemptible),
        }
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
