//! The prefixes of a happens-before graph, with their canonical hashes: a walk that takes steps back and
//! adds them again.

use selvedge_core::{Access, Op, OpKind, ThreadId};

use crate::config::Status;
use crate::gate::Gate;
use crate::graph::Graph;
use crate::happens_before::{action_hash, alone_hash, stop_hash, value_hash, whole};

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

/// A prefix of a graph. What two graphs that follow each other have in common is loaded once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lattice {
    /// How many steps of each thread are in it.
    pub(crate) taken: Vec<u32>,
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
    /// Whether any thread yields.
    has_yields: bool,
    objects: Vec<Object>,
    /// What the steps of the whole graph do, in the order of its execution.
    steps: Vec<Step>,
    /// How they change the words of objects.
    changes: Vec<(u32, u64)>,
    /// For each event and thread, the thread's first step that depends on the event, or [`NONE`]; so many threads
    /// have a place.
    heirs: Vec<u32>,
    width: usize,
    /// Where each thread stands after so many of its steps.
    stands: Vec<Vec<Stand>>,
    /// What has been counted of each thread's preemptions for another thread; and what had been before an event.
    counted: Vec<Counted>,
    counted_before: Vec<(u32, u8, Counted)>,
}

/// No step.
const NONE: u32 = u32::MAX;

/// Threads in a prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Masks {
    /// They can go on, and will be able to until they do.
    open: Threads,
    /// Whether they can go on depends on the others.
    waiting: Threads,
    /// Their last step yielded.
    yielded: Threads,
}

/// An object in a prefix.
#[derive(Clone, Debug, Default)]
struct Object {
    actions: Actions,
    word: u64,
    /// The word that it begins with.
    initial: u64,
    /// The events of the whole graph that write it.
    writes: Vec<u32>,
    /// How many changes of its word in the whole graph are by events that do not write it.
    unwritten: u32,
}

/// What has been done to an object.
#[derive(Clone, Copy, Debug, Default)]
struct Actions {
    /// The XOR of the hashes of its actions.
    all: u128,
    /// What it adds to the hash.
    adds: u128,
    /// How often it has been written.
    writes: u32,
}

/// What an event does.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// What it adds to the hash by itself.
    alone: u128,
    /// What it does to objects, as many of them as it touches.
    touches: [Touch; 2],
    touched: u8,
    /// The thread.
    thread: u8,
    /// Where its changes of words begin and end.
    changes: (u32, u32),
    /// The state after it, in the execution that the graph is of.
    after: u128,
    /// The threads whose last step nothing depends on in that state.
    frontier: Threads,
    costs: Costs,
    forced: Forced,
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
    /// So many this one had; more than any if that is not known.
    pub(crate) run: u32,
}

/// What an event does to an object.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    object: u32,
    writes: bool,
    action: u128,
}

/// Where a thread stands after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    /// The event of its last step.
    last: u32,
    /// How often it has yielded.
    yields: u32,
    /// Its last step yielded.
    yielded: bool,
    /// Its next step waits for nothing.
    open: bool,
    /// It has no next step.
    ended: bool,
    /// Whoever runs next preempts it, whatever the others have done.
    left: bool,
    /// So often it has been preempted for certain before its last step, and those steps are so many.
    preempted: u32,
    counted: u32,
    /// From so many steps on it could have gone on wherever it stood before its last step, whatever the others
    /// have done.
    free_from: u32,
    /// So many of its steps happened before something that happened before its last one.
    seen: u32,
    /// Whoever runs next preempts it as long as this object is open to it and has been written no more than so
    /// often.
    unless: Option<(u32, u32)>,
    /// The preemptions that were counted may be some of this thread's, before so many of its steps.
    instead: Option<Instead>,
}

/// A thread that may have been preempted, before so many of its steps, in place of another.
#[derive(Clone, Copy, Debug)]
struct Instead {
    thread: u8,
    until: u32,
}

/// What must not be counted of a thread's preemptions again.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// Those before so many of its steps.
    until: u32,
    /// The thread that they were counted for, if there is one.
    by: Option<u8>,
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

/// Whether a thread has taken the last step or will take the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Last,
    Next,
}

impl Step {
    #[inline]
    fn touches(&self) -> &[Touch] {
        &self.touches[..usize::from(self.touched & 3).min(2)]
    }

    /// Its changes of words.
    #[inline]
    fn changes<'a>(&self, all: &'a [(u32, u64)]) -> &'a [(u32, u64)] {
        let (begin, end) = self.changes;
        if begin == end { &[] } else { &all[begin as usize..end as usize] }
    }
}

impl Masks {
    /// A thread stands there.
    #[inline]
    fn set(&mut self, thread: usize, stand: &Stand) {
        let put = |set: &mut Threads, on: bool| *set = *set & !(1 << thread) | Threads::from(on) << thread;
        put(&mut self.open, stand.open);
        put(&mut self.waiting, !stand.open && !stand.ended);
        put(&mut self.yielded, stand.yielded);
    }
}

impl Stand {
    /// So often the thread has been preempted at least, if another runs next.
    #[inline]
    fn least(&self) -> u32 {
        self.preempted + u32::from(self.left)
    }

    /// Goes on after a step, not its first. A preemption is certain where the thread must have been interrupted
    /// since the last one that was counted, and could have gone on wherever that was. Where it may have waited for
    /// a lock, the one that held it was preempted instead; `holder` says who that is, if it is certain.
    fn follow(
        &mut self,
        graph: &Graph,
        number: usize,
        before: &Stand,
        fair: bool,
        holder: impl FnOnce() -> Option<Instead>,
    ) {
        let event = &graph.events[self.last as usize];
        let thread = event.thread.index();
        let mut alone = true;
        if event.joins {
            let (clock, earlier) = (graph.clock(self.last as usize), graph.clock(before.last as usize));
            for (other, (now, then)) in clock.iter().zip(earlier).enumerate() {
                if now > then && other != thread {
                    alone = false;
                    let between = graph.threads[other].events[*now as usize - 1];
                    self.seen = self.seen.max(graph.clock(between as usize)[thread]);
                }
            }
        }
        if !before.left {
            let gate = &graph.threads[thread].pending[number - 1].1;
            let waits = |(object, access)| access == Access::Write && gate.waits_for(object);
            let plain = before.is_free(fair) && !gate.needs_signal && !gate.timed;
            // If it is alone, what it waited for was as it was all the time since its step before.
            if !(plain && alone && event.op.touches().any(waits)) {
                if plain
                    && self.seen >= self.uncounted()
                    && let Some(holder) = holder()
                {
                    self.preempted += 1;
                    self.counted = number as u32;
                    self.instead = Some(holder);
                }
                self.free_from = number as u32;
            }
        }
        if self.seen >= self.uncounted() {
            self.preempted += 1;
            self.counted = number as u32;
        }
    }

    /// A preemption that has not been counted is certain when something comes after so many of the thread's steps
    /// and before its last one. At least 1, once it has taken one.
    #[inline]
    fn uncounted(&self) -> u32 {
        self.free_from.max(self.counted)
    }

    /// Whether nothing but what it waits for can keep it from going on, or make a switch free.
    #[inline]
    fn is_free(&self, fair: bool) -> bool {
        // The fair bound may hold back a thread that has yielded.
        !self.yielded && (self.yields == 0 || !fair)
    }
}

impl Lattice {
    /// For graphs of executions within this fair bound.
    pub(crate) fn new(yields: Option<u32>) -> Self {
        Lattice { yields, ..Lattice::default() }
    }

    /// The whole graph, of which the first so many events are those of the graph that was loaded before, and
    /// the state is all of that. After each of its steps from there on the execution had so many preemptions; it is
    /// within this bound, if there is one.
    pub(crate) fn load(
        &mut self,
        graph: &Graph,
        common: usize,
        most: Option<u32>,
        mut costs: impl Iterator<Item = u32>,
    ) {
        self.most = most;
        self.unload(common);
        let mut initials = graph.words.initials();
        for index in 0..self.objects.len().max(initials.len()) {
            let initial = initials.next().unwrap_or(0);
            let object = self.object(index);
            object.word = object.word.wrapping_add(initial.wrapping_sub(object.initial));
            object.initial = initial;
        }
        self.keep_heirs(graph, common);
        self.stands.resize_with(graph.threads.len(), Vec::new);
        self.counted.resize(graph.threads.len(), Counted::default());
        self.length = common;
        self.taken.clear();
        self.least = 0;
        self.masks = Masks::default();
        self.has_yields = false;
        for (thread, line) in graph.threads.iter().enumerate() {
            let taken = line.events.partition_point(|event| (*event as usize) < common);
            self.taken.push(taken as u32);
            // What it does next may not have been known when the graph ended there.
            self.stands[thread].truncate(taken + 1);
            let stand = self.stands[thread].pop().unwrap_or_default();
            debug_assert_eq!(self.stands[thread].len(), taken, "where it stood before is known");
            self.least += self.stand_at(graph, thread, stand);
        }
        let mut log = graph.words.log_from(common as u32);
        for index in common..graph.events.len() {
            let changes = log.iter().take_while(|change| change.0 == index as u32).count();
            let run = costs.next().unwrap_or(u32::MAX);
            self.load_event(graph, index, &log[..changes], run);
            log = &log[changes..];
        }
    }

    fn object(&mut self, index: usize) -> &mut Object {
        if index >= self.objects.len() {
            self.objects.resize_with(index + 1, Object::default);
        }
        &mut self.objects[index]
    }

    /// Forgets the heirs of all but the first so many events, and among them.
    fn keep_heirs(&mut self, graph: &Graph, common: usize) {
        let threads = graph.threads.len();
        if threads > self.width {
            let width = threads.next_power_of_two();
            let rows = self.heirs.chunks_exact(self.width.max(1)).take(common);
            let none = std::iter::repeat_n(&NONE, width - self.width);
            self.heirs = rows.flat_map(|row| row.iter().chain(none.clone())).copied().collect();
            self.width = width;
        }
        self.heirs.truncate(common * self.width);
        for (thread, line) in graph.threads.iter().enumerate() {
            let kept = line.events.partition_point(|event| (*event as usize) < common) as u32;
            for heir in self.heirs.iter_mut().skip(thread).step_by(self.width) {
                *heir = if *heir < kept { *heir } else { NONE };
            }
        }
        self.heirs.resize(graph.events.len() * self.width, NONE);
    }

    /// Notes what the next event depends on, and says whose last step nothing depends on after it.
    fn load_heir(&mut self, graph: &Graph, index: usize) -> Threads {
        let event = &graph.events[index];
        let thread = event.thread.index();
        let mut frontier = self.steps.last().map_or(0, |step| step.frontier) | 1 << thread;
        if !event.joins {
            return frontier;
        }
        let before = event.number.checked_sub(1).map(|before| graph.threads[thread].events[before as usize]);
        let before = before.map_or(&[][..], |before| graph.clock(before as usize));
        for (other, (line, now)) in graph.threads.iter().zip(graph.clock(index)).enumerate() {
            let then = before.get(other).copied().unwrap_or(0);
            if other != thread && *now > then {
                for past in &line.events[then as usize..*now as usize] {
                    self.heirs[*past as usize * self.width + thread] = event.number;
                }
                frontier &= !(Threads::from(*now == self.taken[other]) << other);
            }
        }
        frontier
    }

    /// Whether something in the prefix depends on an event in it.
    #[inline]
    fn has_heir(&self, event: u32) -> bool {
        let row = &self.heirs[event as usize * self.width..][..self.taken.len()];
        row.iter().zip(&self.taken).any(|(heir, taken)| taken > heir)
    }

    /// Notes where a thread stands after a step that it has just taken. Says how often it has been preempted at least,
    /// if another runs next.
    fn load_stand(&mut self, graph: &Graph, thread: usize) -> u32 {
        let fair = self.yields.is_some();
        let number = self.taken[thread] as usize;
        let before = *self.stand_before(thread);
        let mut stand = before;
        stand.last = graph.threads[thread].events[number - 1];
        stand.yielded = graph.events[stand.last as usize].op.yields();
        stand.yields += u32::from(stand.yielded);
        stand.counted = stand.counted.max(self.counted[thread].until);
        if number == 1 {
            stand.free_from = 1;
        } else {
            let instead = before.instead;
            stand.follow(graph, number, &before, fair, || self.holder(graph, thread, instead));
            if let Some(Instead { thread: other, until }) = stand.instead
                && stand.counted == number as u32
            {
                let counted = &mut self.counted[usize::from(other)];
                self.counted_before.push((stand.last, other, *counted));
                *counted = Counted { until: counted.until.max(until), by: Some(thread as u8) };
            }
        }
        self.stand_at(graph, thread, stand)
    }

    #[inline]
    fn stand_before(&self, thread: usize) -> &Stand {
        self.stands[thread].last().expect("it stood somewhere before its step")
    }

    /// Who must have been preempted if a thread waited for the lock that it has just taken, where it is one thread that
    /// nothing could have kept from going on while it had the lock, and that none of its preemptions at that time has
    /// been counted of.
    fn holder(&self, graph: &Graph, thread: usize, instead: Option<Instead>) -> Option<Instead> {
        let own = graph.threads[thread].events[self.taken[thread] as usize - 1];
        let is_of = |op: &Op, object| op.object == Some(object) && op.also.is_none();
        let op = &graph.events[own as usize].op;
        let lock = op.object.filter(|lock| op.kind == OpKind::Lock && is_of(op, *lock))?;
        let object = &self.objects[lock.index()];
        if object.unwritten != 0 {
            return None;
        }
        let mut holder = None;
        let (mut from, mut until) = (0, 0);
        let mut released = None;
        for write in object.writes.iter().rev().skip_while(|write| **write >= own) {
            let event = &graph.events[*write as usize];
            let other = event.thread.index();
            if other == thread {
                break;
            }
            if !is_of(&event.op, lock) || *holder.get_or_insert(other) != other {
                return None;
            }
            let steps = event.number + 1;
            match (event.op.kind, released.take()) {
                (OpKind::Unlock, None) => {
                    until = until.max(steps);
                    released = Some(steps);
                }
                (OpKind::Lock, Some(released)) => {
                    let inside = &self.stands[other][steps as usize..released as usize];
                    if !inside.iter().all(|stand| stand.left) {
                        return None;
                    }
                    from = steps;
                }
                _ => return None,
            }
        }
        let holder = holder.filter(|_| released.is_none())?;
        let stands = &self.stands[holder];
        let is_counted = self.stand_before(holder).preempted > stands[from as usize].preempted;
        let counted_by = self.counted[holder].by;
        let is_free = !is_counted
            && counted_by.is_none_or(|by| usize::from(by) == thread)
            && instead.is_none_or(|instead| usize::from(instead.thread) == holder);
        is_free.then_some(Instead { thread: holder as u8, until })
    }

    /// Adds where a thread stands, with what it waits for there. Says the same.
    #[inline]
    fn stand_at(&mut self, graph: &Graph, thread: usize, mut stand: Stand) -> u32 {
        let line = &graph.threads[thread];
        let fair = self.yields.is_some();
        let number = self.taken[thread] as usize;
        let ended = line.ended && number == line.events.len();
        let gate = line.pending.get(number).map(|(_, gate)| gate).filter(|_| !ended);
        let free = number > 0 && stand.is_free(fair);
        let is_open = gate.is_some_and(Gate::is_open);
        // A thread that has not begun may not exist yet.
        stand.open = is_open && number > 0;
        stand.ended = gate.is_none();
        stand.left = stand.open && free;
        stand.unless = None;
        if let Some(gate) = gate
            && !is_open
            && free
            && !gate.needs_signal
            && !gate.timed
            && let Some(object) = gate.object
        {
            let past = graph.clock(stand.last as usize);
            let object = object.index();
            let writes = self.objects.get(object).map_or(&[][..], |object| &object.writes);
            let seen = writes.partition_point(|write| graph.contains(past, *write));
            stand.unless = Some((object as u32, seen as u32));
        }
        self.masks.set(thread, &stand);
        self.has_yields |= stand.yields > 0;
        self.stands[thread].push(stand);
        stand.least()
    }

    /// Adds the next event, by which the execution had so many preemptions.
    fn load_event(&mut self, graph: &Graph, index: usize, changes: &[(u32, u32, u64)], run: u32) {
        let event = &graph.events[index];
        let thread = event.thread.index();
        let name = graph.threads[thread].name;
        let number = u64::from(event.number) + 1;
        let (least, forced) = self.weigh(graph, index, run);
        let mut touches = [Touch::default(); 2];
        let mut touched = 0;
        let mut alone = 0;
        for (slot, (object, access)) in event.op.touches().enumerate() {
            if access == Access::None {
                continue;
            }
            let writes = access == Access::Write;
            let entry = self.object(object.index());
            if writes {
                entry.writes.push(index as u32);
            }
            let action = action_hash(name, number, &event.op, slot, entry.writes.len() as u32);
            let touch = Touch { object: object.index() as u32, writes, action };
            let adds = entry.actions.toggle(&touch, true);
            self.hash ^= adds;
            touches[touched] = touch;
            touched += 1;
        }
        if touched == 0 {
            alone = alone_hash(name, number, &event.op);
        }
        for &(value, _) in graph.choices(index) {
            alone ^= value_hash(name, number - 1, value);
        }
        if graph.stopped && index + 1 == graph.events.len() {
            alone ^= stop_hash(name, number);
        }
        self.hash ^= alone;
        let begin = self.changes.len() as u32;
        for &(_, object, difference) in changes {
            self.changes.push((object, difference));
            let written = touches[..touched].iter().any(|touch| touch.object == object && touch.writes);
            let object = self.object(object as usize);
            object.word = object.word.wrapping_add(difference);
            object.unwritten += u32::from(!written);
        }
        let frontier = self.load_heir(graph, index);
        self.steps.push(Step {
            alone,
            touches,
            touched: touched as u8,
            thread: thread as u8,
            changes: (begin, self.changes.len() as u32),
            after: self.hash,
            frontier,
            costs: Costs { least, run },
            forced,
        });
        let before = self.stand(thread).least();
        self.taken[thread] += 1;
        self.length += 1;
        self.least = self.least - before + self.load_stand(graph, thread);
    }

    /// So many preemptions at least has an execution that goes on from here with the next event, with which the one at
    /// hand has had so many; and whether that one had to.
    fn weigh(&self, graph: &Graph, index: usize, run: u32) -> (u32, Forced) {
        let Some(last) = self.steps.last() else { return (0, Forced::No) };
        let thread = graph.events[index].thread.index();
        // The execution at hand has been here with the last step of this thread; another one, of any of the frontier.
        let price = if run == u32::MAX { 0 } else { run.saturating_sub(last.costs.run) };
        let mut least = last.costs.least + price;
        let mut one_way = graph.choices(index).is_empty();
        for other in each(last.frontier & !(1 << last.thread)) {
            let budget = self.most.unwrap_or(least);
            let mut cost = self.preempted(graph, other, Runs::Last, budget);
            one_way &= self.most.is_some() && cost > budget;
            if cost + 1 == least && other != thread {
                cost += (self.allowed(graph).1 >> other & 1) as u32;
            }
            least = least.min(cost);
        }
        if !one_way {
            return (least, Forced::No);
        }
        let (allowed, preemptible) = self.allowed(graph);
        let others = allowed & !(1 << thread);
        let switch = last.costs.least + (preemptible >> last.thread & 1) as u32;
        let forced = match self.most {
            _ if others == 0 => Forced::Alone,
            Some(most) if others >> last.thread & 1 == 0 && switch > most => Forced::Bound,
            _ => Forced::No,
        };
        (least, forced)
    }

    /// Forgets all but the first so many events. The state is all of them, before and after.
    fn unload(&mut self, kept: usize) {
        if kept == self.steps.len() {
            return;
        }
        for step in self.steps.drain(kept..).rev() {
            for touch in step.touches() {
                let object = &mut self.objects[touch.object as usize];
                object.actions.all ^= touch.action;
                if touch.writes {
                    object.writes.pop();
                }
            }
            for &(object, difference) in step.changes(&self.changes) {
                let written = step.touches().iter().any(|touch| touch.object == object && touch.writes);
                let object = &mut self.objects[object as usize];
                object.word = object.word.wrapping_sub(difference);
                object.unwritten -= u32::from(!written);
            }
        }
        self.changes.truncate(self.steps.last().map_or(0, |step| step.changes.1 as usize));
        while let Some((_, thread, counted)) = self.counted_before.pop_if(|before| before.0 as usize >= kept)
        {
            self.counted[usize::from(thread)] = counted;
        }
        for object in &mut self.objects {
            object.actions.adds = whole(object.actions.all);
            object.actions.writes = object.writes.len() as u32;
        }
        self.hash = self.steps.last().map_or(0, |step| step.after);
    }

    /// Takes the last step of a thread of the frontier back.
    #[inline]
    pub(crate) fn remove(&mut self, thread: usize) -> Removed {
        let taken = self.taken[thread] as usize;
        self.taken[thread] -= 1;
        self.length -= 1;
        let stands = &self.stands[thread];
        let (stand, before) = (&stands[taken], &stands[taken - 1]);
        let event = stand.last as usize;
        let step = &self.steps[event];
        let mut removed =
            Removed { event, hash: self.hash, least: self.least, masks: self.masks, adds: [0; 2] };
        self.least = self.least - stand.least() + before.least();
        self.masks.set(thread, before);
        let mut hash = self.hash ^ step.alone;
        for (touch, adds) in step.touches().iter().zip(&mut removed.adds) {
            let actions = &mut self.objects[touch.object as usize].actions;
            *adds = actions.adds;
            hash ^= actions.toggle(touch, false);
        }
        self.hash = hash;
        for &(object, difference) in step.changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_sub(difference);
        }
        removed
    }

    /// Adds a step again that was taken back last.
    #[inline]
    pub(crate) fn put_back(&mut self, thread: usize, removed: &Removed) {
        self.taken[thread] += 1;
        self.length += 1;
        self.least = removed.least;
        self.hash = removed.hash;
        self.masks = removed.masks;
        let step = &self.steps[removed.event];
        for (touch, adds) in step.touches().iter().zip(&removed.adds) {
            let actions = &mut self.objects[touch.object as usize].actions;
            actions.all ^= touch.action;
            actions.writes += u32::from(touch.writes);
            actions.adds = *adds;
        }
        for &(object, difference) in step.changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_add(difference);
        }
    }

    /// Adds the next step of a thread again.
    pub(crate) fn add(&mut self, thread: usize) {
        let taken = self.taken[thread] as usize;
        self.taken[thread] += 1;
        self.length += 1;
        let (before, stand) = (&self.stands[thread][taken], &self.stands[thread][taken + 1]);
        self.least = self.least - before.least() + stand.least();
        self.masks.set(thread, stand);
        let step = &self.steps[stand.last as usize];
        self.hash ^= step.alone;
        for touch in step.touches() {
            self.hash ^= self.objects[touch.object as usize].actions.toggle(touch, true);
        }
        for &(object, difference) in step.changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_add(difference);
        }
    }

    #[inline]
    fn stand(&self, thread: usize) -> &Stand {
        &self.stands[thread][self.taken[thread] as usize]
    }

    /// At least so many preemptions are in an execution that leads here and in which this thread has the last
    /// step, or takes the next one; when they are more than the budget, there may be more that are certain.
    #[inline]
    pub(crate) fn preempted(&self, graph: &Graph, thread: usize, runs: Runs, budget: u32) -> u32 {
        let own = self.stand(thread);
        let mut least = self.least - u32::from(own.left);
        if least > budget {
            return least;
        }
        // When it will run next it may have been interrupted where it stands now, too.
        if runs == Runs::Last || own.left {
            let mut from = own.uncounted();
            for (stands, taken) in self.stands.iter().zip(&self.taken) {
                if let Some(instead) = stands[*taken as usize].instead
                    && usize::from(instead.thread) == thread
                {
                    from = from.max(instead.until);
                }
            }
            if from <= self.taken[thread] && self.has_heir(self.stands[thread][from as usize].last) {
                least += 1;
            }
        }
        for other in each(self.masks.waiting & !(1 << thread)) {
            let stand = self.stand(other);
            if let Some((object, writes)) = stand.unless {
                let object = &self.objects[object as usize];
                if object.actions.writes == writes && object.unwritten == 0 {
                    let gate = &graph.threads[other].pending[self.taken[other] as usize].1;
                    least += u32::from(gate.allows(object.word));
                }
            }
        }
        least
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
        if length < self.length {
            self.walk_to(length);
        }
        by_bound
    }

    /// Whether the execution was in this state.
    #[inline]
    fn is_on_path(&self) -> bool {
        self.length.checked_sub(1).is_none_or(|last| self.steps[last].after == self.hash)
    }

    /// Goes to where the execution was after so many steps, from where it was too.
    pub(crate) fn walk_to(&mut self, length: usize) {
        let add = length > self.length;
        let steps = if add { self.length..length } else { length..self.length };
        for step in &self.steps[steps] {
            let taken = &mut self.taken[usize::from(step.thread)];
            *taken = if add { *taken + 1 } else { *taken - 1 };
            for touch in step.touches() {
                let actions = &mut self.objects[touch.object as usize].actions;
                actions.all ^= touch.action;
                let one = u32::from(touch.writes);
                actions.writes = if add { actions.writes + one } else { actions.writes - one };
            }
            for &(object, difference) in step.changes(&self.changes) {
                let word = &mut self.objects[object as usize].word;
                *word = if add { word.wrapping_add(difference) } else { word.wrapping_sub(difference) };
            }
        }
        for object in &mut self.objects {
            object.actions.adds = whole(object.actions.all);
        }
        self.length = length;
        self.hash = length.checked_sub(1).map_or(0, |last| self.steps[last].after);
        self.least = 0;
        for (thread, (stands, taken)) in self.stands.iter().zip(&self.taken).enumerate() {
            let stand = &stands[*taken as usize];
            self.least += stand.least();
            self.masks.set(thread, stand);
        }
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Where the execution was: the thread that took the last step, and the threads whose last step nothing depends on.
    pub(crate) fn last_run(&self) -> (usize, Threads) {
        debug_assert!(self.is_on_path(), "the execution was here");
        let last = &self.steps[self.length - 1];
        (last.thread.into(), last.frontier)
    }

    /// The last step of a thread that has taken one.
    #[inline]
    pub(crate) fn last_event(&self, thread: usize) -> u32 {
        self.stand(thread).last
    }

    /// The threads whose last step nothing depends on.
    pub(crate) fn frontier(&self) -> Threads {
        let last = |thread: &usize| self.taken[*thread] > 0 && !self.has_heir(self.last_event(*thread));
        (0..self.taken.len()).filter(last).fold(0, |frontier, thread| frontier | 1 << thread)
    }

    /// The same, where it is known from before this thread's last step was taken back.
    pub(crate) fn frontier_without(
        &self,
        graph: &Graph,
        was: Threads,
        thread: usize,
        removed: &Removed,
    ) -> Threads {
        if self.length > 0 && self.is_on_path() {
            return self.steps[self.length - 1].frontier;
        }
        let mut frontier = was & !(1 << thread);
        for (other, (needed, taken)) in graph.clock(removed.event).iter().zip(&self.taken).enumerate() {
            let uncovered = needed == taken || other == thread;
            if uncovered && *taken > 0 && !self.has_heir(self.last_event(other)) {
                frontier |= 1 << other;
            }
        }
        frontier
    }

    /// The threads that can be chosen in this state, within the fair bound; and those of them that a switch
    /// preempts if they have just run.
    pub(crate) fn allowed(&self, graph: &Graph) -> (Threads, Threads) {
        let mut allowed = self.masks.open;
        let mut preemptible = self.masks.open;
        let word = |object: usize| self.objects.get(object).map_or(0, |object| object.word);
        for thread in each(self.masks.waiting) {
            let taken = self.taken[thread];
            let gate = &graph.threads[thread].pending[taken as usize].1;
            if taken > 0 && !gate.needs_signal && !gate.timed {
                let open = gate.object.is_none_or(|object| gate.allows(word(object.index())));
                allowed |= Threads::from(open) << thread;
                preemptible |= Threads::from(open) << thread;
                continue;
            }
            match graph.status_with(&self.taken, ThreadId(thread as u32), word) {
                Status::Blocked => {}
                Status::Waiting => allowed |= 1 << thread,
                Status::Enabled => {
                    allowed |= 1 << thread;
                    preemptible |= 1 << thread;
                }
            }
        }
        preemptible &= !self.masks.yielded;
        if let Some(bound) = self.yields.filter(|_| self.has_yields) {
            let count = |thread: &usize| self.stand(*thread).yields;
            let least = each(allowed).map(|thread| count(&thread)).min().unwrap_or(0);
            for thread in each(allowed).filter(|thread| count(thread) - least > bound) {
                allowed &= !(1 << thread);
                preemptible &= !(1 << thread);
            }
        }
        (allowed, preemptible)
    }
}

impl Actions {
    /// Adds an action or takes it back, and says how the hash of the state changes.
    #[inline]
    fn toggle(&mut self, touch: &Touch, add: bool) -> u128 {
        let before = self.adds;
        self.all ^= touch.action;
        self.adds = whole(self.all);
        let one = u32::from(touch.writes);
        self.writes = if add { self.writes + one } else { self.writes - one };
        before ^ self.adds
    }
}
