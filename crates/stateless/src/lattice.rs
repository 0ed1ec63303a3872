//! The prefixes of a happens-before graph, with their canonical hashes: a walk that takes steps back and
//! adds them again.

use selvedge_core::{Access, ThreadId, ThreadSet};

use crate::config::Status;
use crate::gate::Gate;
use crate::graph::Graph;
use crate::happens_before::{action_hash, alone_hash, stop_hash, value_hash, whole};

/// A prefix of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lattice {
    /// How many steps of each thread are in it.
    pub(crate) taken: Vec<u32>,
    pub(crate) hash: u128,
    /// How many steps there are in all.
    length: usize,
    /// Of how many threads it is certain that whoever ran next preempted them.
    left: u32,
    /// The fair bound.
    yields: Option<u32>,
    /// The XOR of the hashes of each object's actions in it, and what the object adds to the hash.
    objects: Vec<(u128, u128)>,
    /// The words of objects, and where each event's changes to them are in the graph's list.
    words: Vec<u64>,
    changes_at: Vec<u32>,
    /// What each event adds: by itself, and to its objects.
    alone: Vec<u128>,
    touches: Vec<[Option<Touch>; 2]>,
    /// Where each thread stands after so many of its steps.
    stands: Vec<Vec<Stand>>,
    /// The state after so many steps, and one more, of the execution that the graph is of.
    run: Vec<u128>,
    /// How many preemptions that execution had then, if it is known.
    costs: Vec<u32>,
    /// How often each object has been written in the whole graph.
    versions: Vec<u32>,
}

/// What an event does to an object.
#[derive(Clone, Copy, Debug)]
struct Touch {
    object: u32,
    writes: bool,
    action: u128,
}

/// Where a thread stands after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    /// How often it has yielded.
    yields: u32,
    /// Its last step yielded.
    yielded: bool,
    /// Its next step waits for nothing.
    open: bool,
    /// Whoever runs next preempts it, whatever the others have done.
    left: bool,
}

/// A step that was taken back, and what was true before.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) event: usize,
    hash: u128,
    left: u32,
    objects: [(u128, u128); 2],
}

impl Lattice {
    /// For graphs of executions within this fair bound.
    pub(crate) fn new(yields: Option<u32>) -> Self {
        Lattice { yields, ..Lattice::default() }
    }

    /// The whole graph, of which the first so many events are those of the graph that was loaded before, and
    /// the state is all of that. After each of its steps the execution had so many preemptions.
    pub(crate) fn load(&mut self, graph: &Graph, common: usize, costs: &[u32]) {
        self.costs.clear();
        self.costs.extend_from_slice(costs);
        self.length = graph.events.len();
        for event in (common..self.touches.len()).rev() {
            self.toggle(event);
            for touch in self.touches[event].iter().flatten() {
                self.versions[touch.object as usize] -= u32::from(touch.writes);
            }
        }
        self.touches.truncate(common);
        self.run.truncate(common);
        self.alone.truncate(common);
        if common == 0 {
            self.hash = 0;
            self.objects.clear();
            self.versions.clear();
        }
        self.load_words(graph);
        self.stands.resize_with(graph.threads.len(), Vec::new);
        self.taken.clear();
        self.left = 0;
        for (stands, line) in self.stands.iter_mut().zip(&graph.threads) {
            // What it does next may not have been known when the graph ended there.
            let kept = line.events.partition_point(|event| (*event as usize) < common);
            stands.truncate(kept);
            while stands.len() <= line.events.len() {
                let number = stands.len();
                let last = number.checked_sub(1).map(|last| line.events[last] as usize);
                let yielded = last.is_some_and(|last| graph.events[last].op.yields());
                let yields = stands.last().map_or(0, |stand| stand.yields) + u32::from(yielded);
                let ended = line.ended && number == line.events.len();
                let open = !ended && line.pending.get(number).is_some_and(|(_, gate)| *gate == Gate::OPEN);
                // The fair bound may hold back a thread that has yielded.
                let left = open && number > 0 && !yielded && (yields == 0 || self.yields.is_none());
                stands.push(Stand { yields, yielded, open, left });
            }
            self.left += u32::from(stands[line.events.len()].left);
            self.taken.push(line.events.len() as u32);
        }
        for index in common..graph.events.len() {
            self.load_event(graph, index);
        }
    }

    fn load_words(&mut self, graph: &Graph) {
        self.words.clear();
        self.words.extend(graph.words.initials());
        self.changes_at.clear();
        self.changes_at.push(0);
        let log = graph.words.log();
        let mut changes = 0;
        for event in 0..graph.events.len() as u32 {
            while let Some(&(_, object, difference)) = log.get(changes).filter(|change| change.0 == event) {
                let word = &mut self.words[object as usize];
                *word = word.wrapping_add(difference);
                changes += 1;
            }
            self.changes_at.push(changes as u32);
        }
    }

    fn load_event(&mut self, graph: &Graph, index: usize) {
        let event = &graph.events[index];
        let name = graph.threads[event.thread.index()].name;
        let number = u64::from(event.number) + 1;
        let mut touches = [None; 2];
        let mut alone = 0;
        for (slot, (object, access)) in event.op.touches().enumerate() {
            if access == Access::None {
                continue;
            }
            let object = object.index();
            if object >= self.versions.len() {
                self.versions.resize(object + 1, 0);
                self.objects.resize(object + 1, (0, 0));
            }
            let writes = access == Access::Write;
            self.versions[object] += u32::from(writes);
            let action = action_hash(name, number, &event.op, slot, self.versions[object]);
            touches[slot] = Some(Touch { object: object as u32, writes, action });
        }
        if touches.iter().all(Option::is_none) {
            alone = alone_hash(name, number, &event.op);
        }
        for &(value, _) in graph.choices(index) {
            alone ^= value_hash(name, number - 1, value);
        }
        if graph.stopped && index + 1 == graph.events.len() {
            alone ^= stop_hash(name, number);
        }
        self.alone.push(alone);
        self.touches.push(touches);
        self.toggle(index);
        self.run.push(self.hash);
    }

    #[inline]
    fn toggle(&mut self, event: usize) {
        self.hash ^= self.alone[event];
        for touch in self.touches[event].iter().flatten() {
            let (actions, adds) = &mut self.objects[touch.object as usize];
            *actions ^= touch.action;
            self.hash ^= *adds;
            *adds = whole(*actions);
            self.hash ^= *adds;
        }
    }

    /// Takes the last step of a thread of the frontier back.
    pub(crate) fn remove(&mut self, graph: &Graph, thread: usize) -> Removed {
        let taken = self.taken[thread] as usize - 1;
        self.taken[thread] = taken as u32;
        self.length -= 1;
        let left = self.left;
        let stands = &self.stands[thread];
        self.left -= u32::from(stands[taken + 1].left);
        self.left += u32::from(stands[taken].left);
        let event = graph.threads[thread].events[taken] as usize;
        let hash = self.hash;
        self.hash ^= self.alone[event];
        let mut objects = [(0, 0); 2];
        for (touch, was) in self.touches[event].iter().zip(&mut objects) {
            let Some(touch) = touch else { continue };
            let object = &mut self.objects[touch.object as usize];
            *was = *object;
            object.0 ^= touch.action;
            object.1 = whole(object.0);
            self.hash ^= was.1 ^ object.1;
        }
        let changes = self.changes(graph, event);
        for &(_, object, difference) in changes {
            let word = &mut self.words[object as usize];
            *word = word.wrapping_sub(difference);
        }
        Removed { event, hash, left, objects }
    }

    /// Adds a step again that was taken back last.
    pub(crate) fn put_back(&mut self, graph: &Graph, thread: usize, removed: &Removed) {
        self.taken[thread] += 1;
        self.length += 1;
        self.left = removed.left;
        self.hash = removed.hash;
        for (touch, was) in self.touches[removed.event].iter().zip(&removed.objects).rev() {
            if let Some(touch) = touch {
                self.objects[touch.object as usize] = *was;
            }
        }
        let changes = self.changes(graph, removed.event);
        for &(_, object, difference) in changes {
            let word = &mut self.words[object as usize];
            *word = word.wrapping_add(difference);
        }
    }

    /// Adds the next step of a thread again.
    pub(crate) fn add(&mut self, graph: &Graph, thread: usize) {
        let taken = self.taken[thread] as usize;
        self.taken[thread] = taken as u32 + 1;
        self.length += 1;
        let stands = &self.stands[thread];
        self.left -= u32::from(stands[taken].left);
        self.left += u32::from(stands[taken + 1].left);
        let event = graph.threads[thread].events[taken] as usize;
        self.toggle(event);
        let changes = self.changes(graph, event);
        for &(_, object, difference) in changes {
            let word = &mut self.words[object as usize];
            *word = word.wrapping_add(difference);
        }
    }

    #[inline]
    fn changes<'g>(&self, graph: &'g Graph, event: usize) -> &'g [(u32, u32, u64)] {
        &graph.words.log()[self.changes_at[event] as usize..self.changes_at[event + 1] as usize]
    }

    #[inline]
    fn stand(&self, thread: usize) -> &Stand {
        &self.stands[thread][self.taken[thread] as usize]
    }

    #[inline]
    fn status(&self, graph: &Graph, thread: usize) -> Status {
        if self.taken[thread] > 0 && self.stand(thread).open {
            return Status::Enabled;
        }
        let word = |object: usize| self.words.get(object).copied().unwrap_or(0);
        graph.status_with(&self.taken, ThreadId(thread as u32), word)
    }

    /// At least so many threads were preempted by an execution that led here with this thread's step at the
    /// end: those others that were left where nothing could have blocked them.
    pub(crate) fn preempted(&self, last: usize) -> u32 {
        self.left - u32::from(self.stand(last).left)
    }

    /// How many preemptions the execution had when it was in this state, if it was, and this thread had taken
    /// the last step.
    pub(crate) fn was_run(&self, graph: &Graph, last: usize) -> Option<u32> {
        let at = self.length.checked_sub(1)?;
        let here = self.run[at] == self.hash && graph.events[at].thread.index() == last;
        if here { self.costs.get(at).copied() } else { None }
    }

    /// The last step of a thread that has taken one.
    pub(crate) fn last_event(&self, graph: &Graph, thread: usize) -> u32 {
        graph.threads[thread].events[self.taken[thread] as usize - 1]
    }

    /// The threads whose last step nothing depends on.
    pub(crate) fn frontier(&self, graph: &Graph) -> ThreadSet {
        let mut frontier = ThreadSet::default();
        for (thread, &taken) in self.taken.iter().enumerate() {
            frontier.set(ThreadId(thread as u32), taken > 0);
        }
        for (thread, &taken) in self.taken.iter().enumerate() {
            let Some(last) = (taken as usize).checked_sub(1) else { continue };
            let clock = graph.clock(graph.threads[thread].events[last] as usize);
            for (other, (needed, taken)) in clock.iter().zip(&self.taken).enumerate() {
                if needed == taken && other != thread {
                    frontier.remove(ThreadId(other as u32));
                }
            }
        }
        frontier
    }

    /// The threads that can be chosen in this state, within the fair bound; and those of them that a switch
    /// preempts if they have just run.
    pub(crate) fn allowed(&self, graph: &Graph) -> (ThreadSet, ThreadSet) {
        let (mut allowed, mut preemptible) = (ThreadSet::default(), ThreadSet::default());
        for thread in 0..self.taken.len() {
            let id = ThreadId(thread as u32);
            match self.status(graph, thread) {
                Status::Blocked => {}
                Status::Waiting => allowed.insert(id),
                Status::Enabled => {
                    allowed.insert(id);
                    preemptible.set(id, !self.stand(thread).yielded);
                }
            }
        }
        if let Some(bound) = self.yields {
            let count = |thread: ThreadId| self.stand(thread.index()).yields;
            let least = allowed.iter().map(count).min().unwrap_or(0);
            let most = allowed.iter().map(count).max().unwrap_or(0);
            if most - least > bound {
                for thread in allowed.clone().iter().filter(|thread| count(*thread) - least > bound) {
                    allowed.remove(thread);
                    preemptible.remove(thread);
                }
            }
        }
        (allowed, preemptible)
    }
}
