//! Where the searches for cheapest linearizations get to, whatever follows the first so many events of a graph.
//!
//! Searches in the partial orders of one execution, and of those that begin like it, look at the same places until a
//! thread has taken all of its steps among those that they have in common. So they begin where these places end.

use super::places::Places;

/// The checkpoints of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkpoints {
    most: u32,
    every: Vec<Checkpoint>,
}

/// The places that searches come to, and what it costs to get there.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    places: Places,
    costs: Vec<u32>,
    /// There are too many places.
    full: bool,
}

impl Checkpoints {
    /// There is one after each so many events.
    const STRIDE: usize = 8;

    /// Makes them those of searches within a bound.
    pub(super) fn within(&mut self, most: u32) -> &mut Self {
        if self.most != most {
            self.every.clear();
            self.most = most;
        }
        self
    }

    /// Forgets those after more than so many events.
    pub(super) fn truncate(&mut self, events: usize) {
        self.every.truncate(events / Checkpoints::STRIDE);
    }

    /// The last one after at most so many events.
    pub(super) fn nearest(&self, events: usize) -> Option<&Checkpoint> {
        let among = &self.every[..self.every.len().min(events / Checkpoints::STRIDE)];
        among.iter().rev().find(|checkpoint| !checkpoint.full)
    }

    /// After how many events, at most so many, the next one is to be made.
    pub(super) fn next(&self, most: usize) -> Option<usize> {
        let events = (self.every.len() + 1) * Checkpoints::STRIDE;
        let full = self.every.last().is_some_and(|last| last.full);
        (events <= most && !full).then_some(events)
    }

    pub(super) fn push(&mut self, checkpoint: Checkpoint) {
        self.every.push(checkpoint);
    }
}

impl Checkpoint {
    /// It has at most so many places.
    const MOST: usize = 64;

    /// One of so many threads, without places.
    pub(super) fn new(threads: usize) -> Self {
        let mut places = Places::default();
        places.clear(threads);
        Checkpoint { places, costs: Vec::new(), full: false }
    }

    /// Adds a place; says whether there was room for it.
    pub(super) fn push(&mut self, cost: u32, place: &[u32]) -> bool {
        self.full = self.costs.len() == Checkpoint::MOST;
        if !self.full {
            self.costs.push(cost);
            self.places.push(place);
        }
        !self.full
    }

    /// Adds the places with a cost to others, perhaps of more threads or of fewer, which have no steps there.
    pub(super) fn copy_to(&self, cost: u32, places: &mut Places) {
        for index in (0..self.costs.len()).filter(|index| self.costs[*index] == cost) {
            places.push_like(self.places.get(index));
        }
    }
}
