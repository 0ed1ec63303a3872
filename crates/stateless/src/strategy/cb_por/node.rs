//! A decision of the last execution after which another may follow, and what may be tried there.

use selvedge_core::{Decision, ThreadId, ThreadSet};

use super::marks::Marks;
use crate::lattice::{Threads, each};

#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The number of the decision.
    pub(super) at: usize,
    /// The threads that were tried; for a choice of a value, the values.
    pub(super) tried: Few,
    /// Threads that this execution cannot afford to choose, and another one to this state can.
    pub(super) cheaper: Threads,
    pub(super) fingerprint: u64,
    pub(super) state: u128,
    pub(super) arity: u32,
    /// The thread that took the step before; for a choice of a value, the one that chooses.
    pub(super) running: Option<ThreadId>,
    pub(super) preemptible: bool,
    pub(super) preemptions: u32,
    /// The threads that can be chosen.
    pub(super) threads: Few,
}

/// A set that is small as long as its elements are.
#[derive(Clone, Debug, Default)]
pub(super) struct Few {
    /// The elements, if all are less than 64.
    low: Threads,
    /// All of them, if they are not.
    all: Option<Box<ThreadSet>>,
}

impl Few {
    pub(super) fn one(element: ThreadId) -> Self {
        let mut set = Few::default();
        set.insert(element);
        set
    }

    pub(super) fn of(words: &[u64]) -> Self {
        match words {
            [] => Few::default(),
            [low] => Few { low: *low, all: None },
            words => Few { low: 0, all: Some(Box::new(ThreadSet::from_words(words))) },
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, element: ThreadId) {
        if self.all.is_none() && element.0 < 64 {
            self.low |= 1 << element.0;
            return;
        }
        let low = self.low;
        self.all.get_or_insert_with(|| Box::new(ThreadSet::from_words(&[low]))).insert(element);
    }

    #[inline]
    fn contains(&self, element: ThreadId) -> bool {
        match &self.all {
            None => element.0 < 64 && self.low >> element.0 & 1 == 1,
            Some(all) => all.contains(element),
        }
    }

    /// The elements, if all are less than 64.
    #[inline]
    fn word(&self) -> Option<Threads> {
        self.all.is_none().then_some(self.low)
    }

    fn iter(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let low = if self.all.is_none() { self.low } else { 0 };
        let all = self.all.iter().flat_map(|all| all.iter());
        each(low).map(|element| ThreadId(element as u32)).chain(all)
    }
}

/// A thread or a value as one of a set.
pub(super) fn member(decision: Decision) -> ThreadId {
    match decision {
        Decision::Thread(thread) => thread,
        Decision::Value(value) => ThreadId(value),
    }
}

impl Node {
    /// Whether it is seen at once that nothing may be tried here; notes whether the bound cuts something off.
    pub(super) fn is_done(&self, marks: &Marks, names: &[u64], bound: Option<u32>, cut: &mut bool) -> bool {
        let (0, Some(threads), Some(tried)) = (self.arity, self.threads.word(), self.tried.word()) else {
            return false;
        };
        let rest = threads & !tried;
        if rest == 0 {
            return true;
        }
        let within = bound.is_none_or(|most| self.preemptions <= most);
        let left = bound.map_or(u32::MAX, |most| most.saturating_sub(self.preemptions));
        let affordable = match self.running.filter(|_| self.preemptible && left == 0) {
            _ if !within => 0,
            Some(running) => rest & 1_u64.checked_shl(running.0).unwrap_or(0),
            None => rest,
        };
        let wanted = affordable | rest & self.cheaper;
        if wanted == 0 && *cut {
            return true;
        }
        let Some(into) = marks.cost.marked(self.state).threads(names) else { return false };
        let done = wanted & !into == 0;
        *cut |= done && rest & !into != 0;
        done
    }

    /// What may be tried here next, those that cost nothing first; notes whether the bound cuts something off.
    pub(super) fn untried<'a>(
        &'a self,
        marks: &'a Marks,
        names: &'a [u64],
        bound: Option<u32>,
        cut: &'a mut bool,
    ) -> impl Iterator<Item = Decision> + 'a {
        let name = |thread: ThreadId| names[thread.index()];
        let marked = move || marks.cost.marked(self.state);
        let chooses = self.running.map_or(0, name);
        let values = (0..self.arity)
            .filter(move |value| {
                !self.tried.contains(ThreadId(*value)) && !marked().has_value(chooses, *value)
            })
            .map(Decision::Value);
        let price = |thread: ThreadId| u32::from(self.preemptible && self.running != Some(thread));
        let fresh = move |thread: &ThreadId| self.arity == 0 && !self.tried.contains(*thread);
        let at = move |wanted| {
            let threads = self.threads.iter().filter(fresh).filter(move |thread| price(*thread) == wanted);
            threads.map(move |thread| (wanted, thread))
        };
        let threads = at(0).chain(at(1));
        let threads = threads.filter(move |(price, thread)| {
            if marked().has(*thread, name(*thread)) {
                return false;
            }
            let affordable = bound.is_none_or(|most| self.preemptions + *price <= most);
            let cheaper = 1_u64.checked_shl(thread.0).unwrap_or(0) & self.cheaper != 0;
            let wanted = affordable || cheaper;
            *cut |= !wanted;
            wanted
        });
        values.chain(threads.map(|(_, thread)| Decision::Thread(thread)))
    }
}
