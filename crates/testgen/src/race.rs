//! Data races, the slow way: the graph of everything that synchronises, and a search in it for every pair of
//! accesses.
//!
//! All atomics are sequentially consistent here, so a load is after the store that it reads, and after the
//! read-modify-writes in between.

use std::collections::BTreeMap;

use selvedge_core::{Access, OpKind};

use crate::machine::{Object, Performed};

/// What synchronises with what in an execution so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synchronisation {
    /// For each step and each access, those that are directly before it.
    before: Vec<Vec<usize>>,
    /// The last step or access of each thread, or the creation of the thread.
    last: BTreeMap<usize, usize>,
    /// The steps that published through an object what is now there to be seen.
    published: BTreeMap<Object, Vec<usize>>,
    /// The steps by which readers gave a lock back, which only writers see.
    read: BTreeMap<Object, Vec<usize>>,
    /// The accesses to each cell, and whether they wrote.
    accesses: BTreeMap<usize, Vec<(usize, bool)>>,
}

impl Synchronisation {
    fn add(&mut self, thread: usize, also_after: Vec<usize>) -> usize {
        let mut before = also_after;
        before.extend(self.last.get(&thread));
        self.before.push(before);
        let node = self.before.len() - 1;
        self.last.insert(thread, node);
        node
    }

    /// A thread created another.
    pub(crate) fn spawned(&mut self, parent: usize, child: usize) {
        let node = self.add(parent, Vec::new());
        self.last.insert(child, node);
    }

    /// A thread took a step.
    pub(crate) fn performed(&mut self, thread: usize, done: &Performed) {
        // Which object it sees, which it publishes through, and whether what was published stays.
        let first = done.touches.first().copied();
        let (sees, publishes, keeps) = match (done.kind, first) {
            _ if done.refused => (None, None, false),
            (OpKind::Lock | OpKind::TryLock | OpKind::Join | OpKind::Load, Some((object, _))) => {
                (Some(object), None, false)
            }
            (OpKind::ReadLock | OpKind::TryReadLock, Some((object, _))) => (Some(object), None, false),
            // One whose time ran out only reads.
            (OpKind::Park, Some((object, Access::Write))) => (Some(object), None, false),
            (OpKind::Unlock | OpKind::Store | OpKind::End, Some((object, _))) => (None, Some(object), false),
            (OpKind::Unpark, Some((object, _))) => (None, Some(object), true),
            (OpKind::Rmw | OpKind::CompareExchange, Some((object, Access::Write))) => {
                (Some(object), Some(object), true)
            }
            (OpKind::CompareExchange, Some((object, _))) => (Some(object), None, false),
            (OpKind::Wait, _) => (None, Some(done.touches[1].0), false),
            // One with a time limit locks afterwards.
            (OpKind::Wake, _) => (done.touches.get(1).map(|(mutex, _)| *mutex), None, false),
            _ => (None, None, false),
        };
        let mut seen = sees.and_then(|object| self.published.get(&object).cloned()).unwrap_or_default();
        if let (OpKind::Lock | OpKind::TryLock, Some(object)) = (done.kind, sees) {
            seen.extend(self.read.get(&object).into_iter().flatten());
        }
        let node = self.add(thread, seen);
        if let (OpKind::ReadUnlock, Some((object, _))) = (done.kind, first) {
            self.read.entry(object).or_default().push(node);
        }
        if let Some(object) = publishes {
            let published = self.published.entry(object).or_default();
            if !keeps {
                published.clear();
            }
            published.push(node);
        }
    }

    /// A thread accessed a cell. Says whether that races with an access before.
    pub(crate) fn access(&mut self, thread: usize, cell: usize, writes: bool) -> bool {
        let node = self.add(thread, Vec::new());
        let earlier = self.accesses.get(&cell).cloned().unwrap_or_default();
        self.accesses.entry(cell).or_default().push((node, writes));
        earlier.iter().any(|&(other, wrote)| (writes || wrote) && !self.reaches(other, node))
    }

    /// Whether there is a path from one to the other.
    fn reaches(&self, from: usize, to: usize) -> bool {
        from == to || (from < to && self.before[to].iter().any(|&before| self.reaches(from, before)))
    }
}
