//! The prefixes of a happens-before graph, with their canonical hashes: a walk that takes steps back and
//! adds them again.

mod certain;

use selvedge_core::{Access, ThreadId};

pub(crate) use self::certain::Runs;

use self::certain::{Counted, Stand};
use crate::config::Status;
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

impl Step {
    #[inline]
    fn touches(&self) -> &[Touch] {
        &self.touches[..usize::from(self.touched).min(2)]
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

    #[inline]
    fn stand(&self, thread: usize) -> &Stand {
        &self.stands[thread][self.taken[thread] as usize]
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
