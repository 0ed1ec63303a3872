//! The prefixes of the happens-before graph of an execution, with their canonical hashes: a walk that takes steps
//! back and adds them again.
//!
//! The graph is made step by step from what was recorded, once for what two executions that follow each other have in
//! common. Most steps depend on nothing that their thread had not seen already. Such a step has the clock of the one
//! before, and if it changes nothing that another thread waits for, little more than itself is noted of it. The hashes
//! of objects are brought up to date only where a walk leaves the execution.

mod certain;
mod script;
mod trail;

use selvedge_core::{Access, Decision, OpKind, ThreadId};

pub(crate) use self::certain::Runs;
#[cfg(test)]
pub(crate) use self::script::written::Written;
pub(crate) use self::script::{Run, Script};
pub(crate) use self::trail::Trail;

use self::certain::{Counted, Stand};
use self::script::Move;
use crate::gate::Gate;
use crate::happens_before::{action_hash, alone_hash, stop_hash, value_hash, whole};
use crate::record::Pending;
use crate::strategy::Finished;

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
    /// Where the execution was when the hashes of objects were last brought up to date, if they are not.
    stale: Option<usize>,
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
    /// How they change the words of objects.
    changes: Vec<(u32, u64)>,
    /// The values that they chose, each among how many.
    choices: Vec<(u32, u32)>,
    /// Clocks: how many steps of each thread happened before. Of the thread whose clock it is, no more is said than that
    /// they are fewer than it has taken. Each has so many words; the first is that of a thread that has not begun.
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
}

/// No step.
const NONE: u32 = u32::MAX;

/// No thread.
const NOBODY: u8 = u8::MAX;

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
    /// What it adds to the hash.
    adds: u128,
    /// In the prefix: its word, and how often it has been written.
    word: u64,
    written: u32,
    /// The word that it begins with.
    initial: u64,
    /// The steps of the whole graph that touch it, each twice its number, and one more if it writes it.
    touches: Vec<u32>,
    /// How many steps of the whole graph write it, and the last of them, or [`NONE`].
    writes: u32,
    last_write: u32,
    /// How many changes of its word in the whole graph are by steps that do not write it.
    unwritten: u32,
    /// The thread that everything that was done to it happened before, if it is known who that is.
    owner: u8,
    /// The threads that have ever waited for it.
    waiters: Threads,
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The state after it, in the execution that the graph is of.
    after: u128,
    /// What it adds to the hash by itself.
    alone: u128,
    /// What it does to objects, as many of them as it touches.
    touches: [Touch; 2],
    touched: u8,
    thread: u8,
    forced: Forced,
    kind: OpKind,
    /// The threads of which more happened before it than before its thread's last one.
    joins: Threads,
    /// The threads that it has signalled or created.
    wakes: Threads,
    /// It names one object, and no second one.
    single: bool,
    /// Whether other threads can go on is the same after it.
    quiet: bool,
    /// How many steps its thread had taken before.
    number: u32,
    /// How many decisions there were with it.
    decisions: u32,
    /// Where its changes of words begin and end, and where its choices end.
    changes: (u32, u32),
    choices: u32,
    costs: Costs,
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

/// What a step does to an object.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    action: u128,
    object: u32,
    writes: bool,
    /// The object's owner before, and the last step that wrote it.
    owner: u8,
    last_write: u32,
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

impl Default for Object {
    fn default() -> Self {
        Object {
            all: 0,
            adds: 0,
            word: 0,
            written: 0,
            initial: 0,
            touches: Vec::new(),
            writes: 0,
            last_write: NONE,
            unwritten: 0,
            owner: NOBODY,
            waiters: 0,
        }
    }
}

impl Step {
    #[inline]
    fn touches(&self) -> &[Touch] {
        &self.touches[..usize::from(self.touched).min(2)]
    }

    /// Whether it writes an object.
    #[inline]
    fn writes(&self, object: u32) -> bool {
        self.touches().iter().any(|touch| touch.object == object && touch.writes)
    }

    /// Its changes of words.
    #[inline]
    fn changes<'a>(&self, all: &'a [(u32, u64)]) -> &'a [(u32, u64)] {
        if self.quiet { &[] } else { &all[self.changes.0 as usize..self.changes.1 as usize] }
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
        put(&mut self.unless, stand.has_unless());
        put(&mut self.instead, stand.has_instead());
    }
}

impl Lattice {
    /// For executions within this fair bound.
    pub(crate) fn new(yields: Option<u32>) -> Self {
        Lattice { yields, ..Lattice::default() }
    }

    /// Makes the graph that of an execution, which is within this bound, if there is one; the prefix is all of it. Says
    /// how many steps it has in common with the one before.
    pub(crate) fn update(&mut self, execution: &Finished<'_>, most: Option<u32>) -> usize {
        let decisions = execution.record.decisions();
        let mut common =
            self.decisions.iter().zip(decisions).take_while(|(ours, theirs)| ours == theirs).count();
        if self.stopped {
            common = common.min(self.decisions.len().saturating_sub(1));
        }
        // A step that could still have chosen a value has not been seen to its end.
        if let Some(Decision::Value(_)) = decisions.get(common) {
            common = common.saturating_sub(1);
        }
        let kept = self.steps.partition_point(|step| step.decisions as usize <= common);
        let script = self.script(execution, kept);
        self.decisions.truncate(common);
        self.decisions.extend_from_slice(&decisions[common..]);
        self.load(kept, most, script);
        kept
    }

    /// The steps of an execution but for the first so many, which are loaded.
    pub(crate) fn script<'a>(&self, execution: &Finished<'a>, kept: usize) -> Run<'a> {
        Run::starting(execution, kept.checked_sub(1).map_or(0, |last| self.steps[last].decisions as usize))
    }

    /// Forgets the graph.
    pub(crate) fn clear(&mut self) {
        self.decisions.clear();
        self.unload(0);
    }

    /// Makes the graph that of an execution, which is within this bound, if there is one. Its first steps are loaded, so
    /// many, and the script goes on from there.
    pub(crate) fn load<'a>(&mut self, kept: usize, most: Option<u32>, mut script: impl Script<'a>) {
        self.most = most;
        self.unload(kept);
        self.stale.get_or_insert(kept);
        let mut initials = script.initials();
        for index in 0.. {
            let Some(initial) = initials.next().or((index < self.objects.len()).then_some(0)) else { break };
            let object = self.object(index);
            object.word = object.word.wrapping_add(initial.wrapping_sub(object.initial));
            object.initial = initial;
        }
        drop(initials);
        self.calm = false;
        if kept == 0 {
            for pending in script.first() {
                self.add_thread(pending, NONE, script.name(pending.thread));
            }
        }
        // What can go on may depend on the words that objects begin with.
        self.look_again(self.masks.waiting);
        while let Some(step) = script.next(&mut self.choices) {
            self.load_step(&step, &script);
        }
    }

    fn object(&mut self, index: usize) -> &mut Object {
        if index >= self.objects.len() {
            self.objects.resize_with(index + 1, Object::default);
        }
        &mut self.objects[index]
    }

    /// Adds a thread that has been created.
    fn add_thread(&mut self, pending: &Pending, creator: u32, name: u64) {
        let thread = self.taken.len();
        debug_assert_eq!(thread, pending.thread.index(), "threads are numbered as they are created");
        self.taken.push(0);
        self.covered.push(0);
        self.counted.push(Counted::default());
        if thread >= self.stride {
            self.widen();
        }
        if thread >= self.lines.len() {
            self.lines.resize_with(thread + 1, Line::default);
        }
        let line = &mut self.lines[thread];
        line.name = name;
        line.creator = creator;
        line.stands.clear();
        line.gates.clear();
        line.signals.clear();
        let mut stand = Stand::new();
        if !pending.gate.is_open() {
            self.wait_at(thread, &mut stand, &pending.gate, false);
        }
        self.lines[thread].stands.push(stand);
        self.masks.set(thread, &stand);
        self.look_again(1 << thread);
    }

    /// Makes room for more threads in clocks.
    #[cold]
    fn widen(&mut self) {
        let width = self.taken.len().next_power_of_two().max(4);
        let rows = self.clocks.chunks_exact(self.stride.max(1));
        let rest = std::iter::repeat_n(&0, width - self.stride);
        let clocks: Vec<u32> = rows.flat_map(|row| row.iter().chain(rest.clone())).copied().collect();
        self.clocks = clocks;
        if self.clocks.is_empty() {
            self.clocks.resize(width, 0);
        }
        self.stride = width;
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

    /// Adds the next step.
    fn load_step<'a>(&mut self, step: &Move<'a>, script: &impl Script<'a>) {
        let index = self.steps.len();
        let thread = step.thread.index();
        let number = self.taken[thread];
        let ordinal = u64::from(number) + 1;
        let line = &self.lines[thread];
        let name = line.name;
        let mut row = line.stands[number as usize].row;
        let before = self.steps.last().map_or(0, |last| last.choices as usize);
        let chooses = before < self.choices.len();
        let (least, forced) = self.weigh(thread, step.run, !chooses);

        if let Some(last) = step.op.object.max(step.op.also)
            && last.index() >= self.objects.len()
        {
            self.object(last.index());
        }
        let mut touches = [Touch::default(); 2];
        let (mut touched, mut owned, mut waited) = (0, true, false);
        let mut touch = |slot: usize, object: usize, writes: bool| {
            let object = &self.objects[object];
            owned &= usize::from(object.owner) == thread || object.touches.is_empty();
            waited |= writes && object.waiters != 0;
            action_hash(name, ordinal, &step.op, slot, object.writes + u32::from(writes))
        };
        let mut slot = 0;
        if let Some(object) = step.op.object {
            if step.op.access != Access::None {
                let writes = step.op.access == Access::Write;
                let action = touch(0, object.index(), writes);
                touches[0] = Touch { action, object: object.index() as u32, writes, ..Touch::default() };
                touched = 1;
            }
            slot = 1;
        }
        if let Some(object) = step.op.also {
            let action = touch(slot, object.index(), true);
            touches[touched] =
                Touch { action, object: object.index() as u32, writes: true, ..Touch::default() };
            touched += 1;
        }
        let mut joins = 0;
        if !owned || number == 0 || step.stops {
            (row, joins) = self.join(thread, row, &touches[..touched], step.stops);
        }
        let mut alone = 0;
        if touched == 0 {
            alone = alone_hash(name, ordinal, &step.op);
        }
        if chooses {
            for &(value, _) in &self.choices[before..] {
                alone ^= value_hash(name, ordinal - 1, value);
            }
        }
        if step.stops {
            alone ^= stop_hash(name, ordinal);
        }
        for touch in &mut touches[..touched] {
            let object = &mut self.objects[touch.object as usize];
            (touch.owner, touch.last_write) = (object.owner, object.last_write);
            // After a read others may have read that this thread knows nothing of.
            let was_written = object.touches.last().is_none_or(|touch| touch & 1 == 1);
            if touch.writes || was_written {
                object.owner = thread as u8;
            } else if usize::from(object.owner) != thread {
                object.owner = NOBODY;
            }
            object.touches.push((index as u32) << 1 | u32::from(touch.writes));
            if touch.writes {
                object.last_write = index as u32;
                object.writes += 1;
                object.written += 1;
            }
        }
        let begin = self.changes.len() as u32;
        let (mut wakes, mut affects): (Threads, Threads) = (0, 0);
        for &(_, object, difference) in step.changes {
            self.changes.push((object, difference));
            let written = touches[..touched].iter().any(|touch| touch.object == object && touch.writes);
            let object = &mut self.objects[object as usize];
            object.word = object.word.wrapping_add(difference);
            object.unwritten += u32::from(!written);
            affects |= object.waiters;
        }
        for &(_, signalled) in step.signals {
            let taken = self.taken[signalled.index()];
            self.lines[signalled.index()].signals.push((index as u32, taken));
            wakes |= 1 << signalled.0;
        }
        let mut own = None;
        for next in step.next {
            if next.thread == step.thread {
                own = Some(&next.gate).filter(|_| step.op.kind != OpKind::End);
            } else {
                wakes |= 1 << next.thread.0;
            }
        }
        self.steps.push(Step {
            after: step.after,
            alone,
            touches,
            touched: touched as u8,
            thread: thread as u8,
            forced,
            kind: step.op.kind,
            joins,
            wakes,
            single: step.op.also.is_none(),
            quiet: step.changes.is_empty(),
            number,
            decisions: step.decisions,
            changes: (begin, self.changes.len() as u32),
            choices: self.choices.len() as u32,
            costs: Costs { least, run: step.run },
        });
        self.taken[thread] = number + 1;
        self.length += 1;
        self.hash = step.after;
        self.stopped = step.stops;
        self.masks.frontier |= 1 << thread;
        if joins != 0 {
            self.cover(row, joins);
        }
        let same = self.load_stand(thread, row, joins, step.op.yields(), own);
        self.calm = same && joins == 0 && wakes == 0 && !waited && !chooses && step.changes.is_empty();
        if affects | wakes != 0 {
            self.look_again(affects | wakes);
        }
        if step.next.len() > 1 {
            for pending in step.next.iter().filter(|next| next.thread != step.thread) {
                self.add_thread(pending, index as u32, script.name(pending.thread));
            }
        }
    }

    /// The clock of a thread's next step, which touches these objects, and the threads of which more happened before it
    /// than before its last one, whose clock is given.
    #[inline(never)]
    fn join(&mut self, thread: usize, row: u32, touches: &[Touch], stops: bool) -> (u32, Threads) {
        let (stride, threads) = (self.stride, self.taken.len());
        let begin = self.clocks.len();
        let Lattice { clocks, steps, lines, objects, taken, .. } = self;
        let before = row as usize * stride;
        let line = &lines[thread];
        // Takes over what has happened before a step, and that.
        let after = |clocks: &mut Vec<u32>, earlier: u32| {
            let step = &steps[earlier as usize];
            let other = usize::from(step.thread);
            let clock = if clocks.len() > begin { begin } else { before };
            if other == thread || step.number < clocks[clock + other] {
                return;
            }
            if clocks.len() == begin {
                clocks.extend_from_within(before..before + stride);
            }
            let (past, clock) = clocks.split_at_mut(begin);
            let theirs = lines[other].stands[step.number as usize + 1].row as usize * stride;
            for (mine, theirs) in clock.iter_mut().zip(&past[theirs..theirs + threads]) {
                *mine = (*mine).max(*theirs);
            }
            clock[other] = clock[other].max(step.number + 1);
        };
        if taken[thread] == 0 && line.creator != NONE {
            after(clocks, line.creator);
        }
        for touch in touches {
            let object = &objects[touch.object as usize];
            if touch.writes {
                let since = object.touches.iter().rev().take_while(|touch| **touch & 1 == 0);
                since.for_each(|touch| after(clocks, *touch >> 1));
            }
            if object.last_write != NONE {
                after(clocks, object.last_write);
            }
        }
        if stops {
            if clocks.len() == begin {
                clocks.extend_from_within(before..before + stride);
            }
            clocks[begin..begin + threads].copy_from_slice(taken);
        }
        if clocks.len() == begin {
            return (row, 0);
        }
        let (past, clock) = clocks.split_at(begin);
        let more = clock.iter().zip(&past[before..]).enumerate().filter(|(_, (now, then))| now > then);
        let joins = more.fold(0, |set, (other, _)| set | 1 << other);
        ((begin / stride) as u32, joins & !(1 << thread))
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

    /// Forgets all but the first so many steps, which become the prefix. The execution has been where it is.
    fn unload(&mut self, kept: usize) {
        if kept == self.steps.len() && kept > 0 {
            self.walk_to(kept);
            return;
        }
        self.retrace(kept);
        if self.stale.is_some_and(|stale| stale > kept) {
            self.rehash(kept);
            self.stale = Some(kept);
        }
        for step in self.steps[kept..].iter().rev() {
            for touch in step.touches().iter().rev() {
                let object = &mut self.objects[touch.object as usize];
                object.touches.pop();
                (object.owner, object.last_write) = (touch.owner, touch.last_write);
                object.writes -= u32::from(touch.writes);
            }
            for &(object, _) in step.changes(&self.changes) {
                self.objects[object as usize].unwritten -= u32::from(!step.writes(object));
            }
        }
        self.steps.truncate(kept);
        self.changes.truncate(self.steps.last().map_or(0, |step| step.changes.1 as usize));
        self.choices.truncate(self.steps.last().map_or(0, |step| step.choices as usize));
        self.stopped = false;
        while let Some((_, thread, counted)) = self.counted_before.pop_if(|before| before.0 as usize >= kept)
        {
            self.counted[usize::from(thread)] = counted;
        }
        let exists = |line: &&Line| kept > 0 && (line.creator == NONE || (line.creator as usize) < kept);
        let threads = self.lines[..self.taken.len()].iter().take_while(exists).count();
        self.taken.truncate(threads);
        self.covered.truncate(threads);
        self.counted.truncate(threads);
        let mut rows = 0;
        for (line, taken) in self.lines.iter_mut().zip(&self.taken) {
            line.stands.truncate(*taken as usize + 1);
            let stand = &line.stands[*taken as usize];
            line.gates.truncate(stand.gates as usize);
            line.signals.truncate(line.signals.partition_point(|signal| (signal.0 as usize) < kept));
            rows = rows.max(stand.row as usize);
        }
        self.clocks.truncate((rows + 1) * self.stride);
        self.arrive();
    }

    /// Takes the last step of a thread of the frontier back. Hashes are [up to date](Lattice::bring_up_to_date).
    #[inline]
    pub(crate) fn remove(&mut self, thread: usize) -> Removed {
        debug_assert!(self.stale.is_none(), "hashes are up to date");
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
        let mut hash = self.hash ^ step.alone;
        for (touch, adds) in step.touches().iter().zip(&mut removed.adds) {
            let object = &mut self.objects[touch.object as usize];
            *adds = object.adds;
            object.all ^= touch.action;
            object.adds = whole(object.all);
            object.written -= u32::from(touch.writes);
            hash ^= *adds ^ object.adds;
        }
        debug_assert!(
            event != self.length || removed.hash != step.after || hash == self.hash_after(event),
            "the step before led there"
        );
        self.hash = hash;
        let mut affected = step.wakes;
        for &(object, difference) in step.changes(&self.changes) {
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
            for (thread, (line, taken)) in self.lines.iter().zip(&self.taken).enumerate() {
                let row = line.stands[*taken as usize].row as usize;
                covered =
                    if thread == other { covered } else { covered.max(self.clocks[row * stride + other]) };
            }
            self.covered[other] = covered;
            self.masks.frontier |= Threads::from(self.taken[other] > covered) << other;
        }
    }

    /// Adds a step again that was taken back last.
    #[inline]
    pub(crate) fn put_back(&mut self, thread: usize, removed: &Removed) {
        debug_assert!(self.stale.is_none(), "hashes are up to date");
        self.taken[thread] += 1;
        self.length += 1;
        self.least = removed.least;
        self.hash = removed.hash;
        let step = &self.steps[removed.event];
        for (touch, adds) in step.touches().iter().zip(&removed.adds) {
            let object = &mut self.objects[touch.object as usize];
            object.all ^= touch.action;
            object.written += u32::from(touch.writes);
            object.adds = *adds;
        }
        for &(object, difference) in step.changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_add(difference);
        }
        if step.joins != 0 {
            let (row, joins) = (self.stand(thread).row, step.joins);
            self.cover(row, joins);
        }
        self.masks = removed.masks;
    }

    /// Finds out which of these threads, which all wait, can go on.
    fn look_again(&mut self, threads: Threads) {
        let threads = threads & self.masks.waiting;
        let (mut enabled, mut timed): (Threads, Threads) = (0, 0);
        for thread in each(threads) {
            let line = &self.lines[thread];
            let taken = self.taken[thread];
            if taken == 0 && line.creator != NONE && !self.contains(line.creator) {
                continue;
            }
            let gate = line.stands[taken as usize].gate(line);
            let word = |object: usize| self.objects.get(object).map_or(0, |object| object.word);
            let condition = gate.object.is_none_or(|object| gate.allows(word(object.index())));
            let is_signalled = || line.signals.iter().any(|(step, at)| *at == taken && self.contains(*step));
            let can = condition && (!gate.needs_signal || is_signalled());
            enabled |= Threads::from(can) << thread;
            timed |= Threads::from(!can && gate.timed && (condition || !gate.needs_signal)) << thread;
        }
        self.masks.enabled = self.masks.enabled & !threads | enabled;
        self.masks.timed = self.masks.timed & !threads | timed;
    }

    #[inline]
    fn stand(&self, thread: usize) -> &Stand {
        &self.lines[thread].stands[self.taken[thread] as usize]
    }

    /// What it costs to be in this state, if the execution was, and this thread had taken the last step.
    #[inline]
    pub(crate) fn was_run(&self, last: usize) -> Option<Costs> {
        let step = &self.steps[self.length.checked_sub(1)?];
        (step.after == self.hash && step.thread as usize == last).then_some(step.costs)
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

    /// The same for what is counted along the execution. Hashes are not up to date any more.
    fn retrace(&mut self, length: usize) {
        debug_assert!(self.is_on_path(), "the execution was here");
        let add = length > self.length;
        let steps = if add { self.length..length } else { length..self.length };
        for step in &self.steps[steps] {
            let taken = &mut self.taken[usize::from(step.thread)];
            *taken = if add { *taken + 1 } else { *taken - 1 };
            for touch in step.touches() {
                let written = &mut self.objects[touch.object as usize].written;
                let one = u32::from(touch.writes);
                *written = if add { *written + one } else { *written - one };
            }
            for &(object, difference) in step.changes(&self.changes) {
                let word = &mut self.objects[object as usize].word;
                *word = if add { word.wrapping_add(difference) } else { word.wrapping_sub(difference) };
            }
        }
        self.stale.get_or_insert(self.length);
        self.length = length;
        self.hash = self.hash_after(length);
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
            for (other, (covered, now)) in self.covered.iter_mut().zip(clock).enumerate() {
                *covered = if other == thread { *covered } else { (*covered).max(*now) };
            }
        }
        for (thread, (taken, covered)) in self.taken.iter().zip(&self.covered).enumerate() {
            self.masks.frontier |= Threads::from(taken > covered) << thread;
        }
        self.look_again(self.masks.waiting);
    }

    /// Brings the hashes of objects up to date.
    #[inline]
    pub(crate) fn bring_up_to_date(&mut self) {
        if self.stale.is_some() {
            self.rehash(self.length);
            self.stale = None;
        }
    }

    /// Makes the hashes of objects those after so many steps of the execution.
    fn rehash(&mut self, length: usize) {
        let was = self.stale.unwrap_or(self.length);
        let steps = &self.steps[was.min(length)..was.max(length)];
        for touch in steps.iter().flat_map(Step::touches) {
            self.objects[touch.object as usize].all ^= touch.action;
        }
        if steps.len() < self.objects.len() {
            for touch in steps.iter().flat_map(Step::touches) {
                let object = &mut self.objects[touch.object as usize];
                object.adds = whole(object.all);
            }
        } else {
            for object in &mut self.objects {
                object.adds = whole(object.all);
            }
        }
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
        if self.choices.is_empty() {
            return &[];
        }
        let begin = event.checked_sub(1).map_or(0, |before| self.steps[before].choices as usize);
        &self.choices[begin..self.steps[event].choices as usize]
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
