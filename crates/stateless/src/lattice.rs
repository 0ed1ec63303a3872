//! The prefixes of a happens-before graph, with their canonical hashes: a walk that takes steps back and
//! adds them again.

use selvedge_core::{Access, Op, ThreadId, ThreadSet};

use crate::config::Status;
use crate::graph::Graph;
use crate::happens_before::{action_hash, alone_hash, stop_hash, value_hash, whole};

/// A prefix of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lattice {
    /// How many steps of each thread are in it.
    pub(crate) taken: Vec<u32>,
    pub(crate) hash: u128,
    /// The XOR of the hashes of each object's actions in it.
    objects: Vec<u128>,
    /// What each event adds: by itself, and to its objects.
    alone: Vec<u128>,
    touches: Vec<[Option<(usize, u128)>; 2]>,
    /// How often each thread has yielded in its first so many steps.
    yields: Vec<Vec<u32>>,
    /// The words of objects, and where each event's changes to them are in the graph's list.
    words: Vec<u64>,
    changes_at: Vec<u32>,
    /// For finding out where an object's versions stand.
    versions: Vec<u32>,
}

impl Lattice {
    /// The whole graph.
    pub(crate) fn load(&mut self, graph: &Graph) {
        self.alone.clear();
        self.touches.clear();
        self.objects.clear();
        self.hash = 0;
        self.yields.resize_with(graph.threads.len(), Vec::new);
        for yields in &mut self.yields {
            yields.clear();
            yields.push(0);
        }
        self.words.clear();
        self.words.extend(graph.words.initials());
        self.changes_at.clear();
        let mut changes = 0;
        for event in 0..=graph.events.len() as u32 {
            while graph.words.log().get(changes).is_some_and(|change| change.0 < event) {
                changes += 1;
            }
            self.changes_at.push(changes as u32);
        }
        self.taken.clear();
        self.taken.resize(graph.threads.len(), 0);
        let mut versions = std::mem::take(&mut self.versions);
        versions.clear();
        for (index, event) in graph.events.iter().enumerate() {
            let name = graph.threads[event.thread.index()].name;
            let number = u64::from(event.number) + 1;
            let mut touches = [None; 2];
            let mut alone = 0;
            for (slot, (object, access)) in event.op.touches().enumerate() {
                if access == Access::None {
                    continue;
                }
                let object = object.index();
                if object >= versions.len() {
                    versions.resize(object + 1, 0);
                    self.objects.resize(object + 1, 0);
                }
                versions[object] += u32::from(access == Access::Write);
                touches[slot] = Some((object, action_hash(name, number, &event.op, slot, versions[object])));
            }
            if touches == [None; 2] {
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
            let yields = &mut self.yields[event.thread.index()];
            let before = yields.last().copied().unwrap_or(0);
            yields.push(before + u32::from(event.op.yields()));
            self.add(graph, event.thread.index());
        }
        self.versions = versions;
    }

    fn toggle(&mut self, event: usize) {
        self.hash ^= self.alone[event];
        for (object, action) in self.touches[event].into_iter().flatten() {
            let before = self.objects[object];
            self.objects[object] ^= action;
            self.hash ^= whole(before) ^ whole(self.objects[object]);
        }
    }

    /// Takes the last step of a thread of the frontier back.
    pub(crate) fn remove(&mut self, graph: &Graph, thread: usize) -> usize {
        self.taken[thread] -= 1;
        let event = graph.threads[thread].events[self.taken[thread] as usize] as usize;
        self.toggle(event);
        for &(_, object, difference) in self.changes(graph, event) {
            let word = &mut self.words[object as usize];
            *word = word.wrapping_sub(difference);
        }
        event
    }

    /// Adds the next step of a thread again.
    pub(crate) fn add(&mut self, graph: &Graph, thread: usize) {
        let event = graph.threads[thread].events[self.taken[thread] as usize] as usize;
        self.taken[thread] += 1;
        self.toggle(event);
        for &(_, object, difference) in self.changes(graph, event) {
            let word = &mut self.words[object as usize];
            *word = word.wrapping_add(difference);
        }
    }

    fn changes<'g>(&self, graph: &'g Graph, event: usize) -> &'g [(u32, u32, u64)] {
        &graph.words.log()[self.changes_at[event] as usize..self.changes_at[event + 1] as usize]
    }

    fn status(&self, graph: &Graph, thread: usize) -> Status {
        let word = |object: usize| self.words.get(object).copied().unwrap_or(0);
        graph.status_with(&self.taken, ThreadId(thread as u32), word)
    }

    /// The threads whose last step nothing depends on.
    pub(crate) fn frontier(&self, graph: &Graph) -> ThreadSet {
        let mut frontier: ThreadSet = (0..self.taken.len())
            .filter(|&thread| self.taken[thread] > 0)
            .map(|thread| ThreadId(thread as u32))
            .collect();
        for (thread, &taken) in self.taken.iter().enumerate().filter(|(_, taken)| **taken > 0) {
            let last = graph.threads[thread].events[taken as usize - 1];
            for (other, &needed) in graph.clock(last as usize)[..self.taken.len()].iter().enumerate() {
                if other != thread && needed == self.taken[other] {
                    frontier.remove(ThreadId(other as u32));
                }
            }
        }
        frontier
    }

    /// The last step of a thread in the prefix.
    fn last_op<'g>(&self, graph: &'g Graph, thread: usize) -> Option<&'g Op> {
        let last = (self.taken[thread] as usize).checked_sub(1)?;
        Some(&graph.events[graph.threads[thread].events[last] as usize].op)
    }

    /// The threads that can be chosen in this state, within the fair bound.
    pub(crate) fn allowed(&self, graph: &Graph, yields: Option<u32>) -> ThreadSet {
        let mut enabled: ThreadSet = (0..self.taken.len())
            .filter(|&thread| self.status(graph, thread) != Status::Blocked)
            .map(|thread| ThreadId(thread as u32))
            .collect();
        if let Some(bound) = yields {
            let count = |thread: ThreadId| self.yields[thread.index()][self.taken[thread.index()] as usize];
            let least = enabled.iter().map(count).min().unwrap_or(0);
            for thread in enabled.clone().iter().filter(|thread| count(*thread) - least > bound) {
                enabled.remove(thread);
            }
        }
        enabled
    }

    /// Whether a switch away from a thread that has just run preempts it in this state.
    pub(crate) fn preemptible(&self, graph: &Graph, thread: usize, allowed: &ThreadSet) -> bool {
        allowed.contains(ThreadId(thread as u32))
            && self.status(graph, thread) == Status::Enabled
            && !self.last_op(graph, thread).is_some_and(Op::yields)
    }
}
