//! Counting what a search has visited.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::happens_before::StateHash;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Executions only. Memory stays flat however many there are.
    Executions,
    /// Distinct terminal partial orders too: an entry of memory for each.
    Orders,
    /// Distinct states too, that is, prefixes of them: an entry of memory for each.
    #[default]
    States,
    /// Distinct local states of threads too: an entry of memory for each.
    LocalStates,
}

/// Keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passthrough(u64);

/// A set of hashes.
pub(crate) type HashedSet = HashSet<u128, BuildHasherDefault<Passthrough>>;

/// A map from hashes.
pub(crate) type HashedMap<T> = HashMap<u128, T, BuildHasherDefault<Passthrough>>;

impl Hasher for Passthrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64 ^ (value >> 64) as u64;
    }
}

/// Past so many entries the count of states stops, and is left out of the result rather than wrong.
const MOST_ENTRIES: usize = 1 << 24;

/// The states and terminal partial orders seen so far.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    /// Each with the fewest preemptions that an execution reached it with.
    orders: HashedMap<u32>,
    states: HashedSet,
    local_states: HashedSet,
    overflow: bool,
    growth: Vec<(u64, u64)>,
}

impl Visited {
    /// Notes a state that was reached.
    #[inline]
    pub(crate) fn state(&mut self, hash: StateHash) {
        if self.states.len() < MOST_ENTRIES {
            self.states.insert(hash.0);
        } else {
            self.overflow |= !self.states.contains(&hash.0);
        }
    }

    /// Notes the end of an execution.
    pub(crate) fn order(&mut self, hash: StateHash, preemptions: u32) {
        if self.orders.len() < MOST_ENTRIES || self.orders.contains_key(&hash.0) {
            let least = self.orders.entry(hash.0).or_insert(preemptions);
            *least = (*least).min(preemptions);
        } else {
            self.overflow = true;
        }
    }

    /// Notes how many states there are after so many executions, at distances that grow.
    pub(crate) fn grown(&mut self, executions: u64) {
        let dense = executions < 64;
        if dense || executions.is_power_of_two() || executions.is_multiple_of(1 << (executions.ilog2() - 4)) {
            self.growth.push((executions, self.states.len() as u64));
        }
    }

    pub(crate) fn growth(&self) -> &[(u64, u64)] {
        &self.growth
    }

    /// Notes a local state that was reached.
    pub(crate) fn local_state(&mut self, hash: u128) {
        if self.local_states.len() < MOST_ENTRIES {
            self.local_states.insert(hash);
        } else {
            self.overflow = true;
        }
    }

    /// The local states that were reached.
    pub(crate) fn local_states(&self) -> impl Iterator<Item = StateHash> + '_ {
        self.local_states.iter().map(|hash| StateHash(*hash))
    }

    pub(crate) fn states(&self) -> Option<u64> {
        (!self.overflow).then_some(self.states.len() as u64)
    }

    /// Distinct terminal partial orders that were reached with at most so many preemptions.
    pub(crate) fn orders_within(&self, preemptions: u32) -> Option<u64> {
        (!self.overflow).then(|| self.orders.values().filter(|&&least| least <= preemptions).count() as u64)
    }

    pub(crate) fn orders(&self) -> Option<u64> {
        (!self.overflow).then_some(self.orders.len() as u64)
    }

    pub(crate) fn terminal_hashes(&self) -> impl Iterator<Item = (StateHash, u32)> + '_ {
        self.orders.iter().map(|(&hash, &preemptions)| (StateHash(hash), preemptions))
    }
}
