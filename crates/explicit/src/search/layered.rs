//! The layered search: every bound on preemptions in one pass, at the cost of an unbounded search.
//!
//! Holzmann and Florian's bounded search (Figure 3) goes depth first, so a state's lowest number of
//! preemptions is known only at the end, and states are searched again whenever they are reached better.
//! Here pairs (state, process that moved last) are taken in the order of their preemptions, and within a
//! layer in the order of their steps: a breadth-first search over edges of cost 0 and 1.
//!
//! Let a state be reached first in layer n, and let M be the processes that moved last on the ways to reach
//! it there. Then, in layer n, the steps of each process of M are free; all steps are free if a process of M
//! is blocked; and every other step costs one preemption, whichever of M was running: it belongs to layer
//! n + 1. A process that reaches the state only in layer n + 1 adds nothing, since its steps are taken
//! there anyway. So each step is taken exactly once, and the states of layers 0 to n are exactly those
//! reachable with at most n preemptions.
//!
//! Deviations from the paper's definition: none. (1) The first step is free to any process. (2) With
//! timeouts, a process is blocked if it cannot move when the timeout, which depends on the state only, is
//! taken into account. (3) A handshake is a step of its
//! sender, and after it either side counts as the process that moved last.
//!
//! There is no partial-order reduction here: a system may merge steps that nobody sees, before it is searched.
//!
//! Steps count atomic sequences as one. Within the fewest preemptions, the first violation found has the
//! fewest steps: a pair is first met by its shortest way, because buckets of equal length are emptied in
//! order.

use std::collections::{HashMap, HashSet};

use super::{Budget, Found, Options, Problem, Progress, Report, Row, Stop};
use crate::store::{Exact, Handle};
use crate::system::{Successors, TransitionSystem};

/// Work: a pair of a state and the process that moved last, or the charged steps of a state. The handle is in
/// the low 40 bits, the process above it.
type Item = u64;

/// Where the process lies in an item.
const MOVER: u32 = 40;
/// The process of the first state, which any may leave for free.
const ANY: u8 = u8::MAX;
/// Marks queued work that is charged: the steps of a state that were not free in the layer before.
const CHARGED: Item = 1 << 48;

fn item(handle: Handle, mover: u8) -> Item {
    handle | u64::from(mover) << MOVER
}

fn handle_of(item: Item) -> Handle {
    item & ((1 << MOVER) - 1)
}

fn mover_of(item: Item) -> u8 {
    (item >> MOVER) as u8
}

/// What the header of a state holds: the processes whose steps were taken from it, and those that are queued
/// or were. After the layer in which its charged steps belong, all have been taken.
const HEADER: usize = 4;
const FIRED: usize = 0;
const QUEUED: usize = 2;
/// Bits of a mask that stand for a process each; the last bit stands for all of them.
const DIRECT: u8 = 15;
const ALL: u16 = 1 << 15;
/// Steps that are gathered before their states are looked up, together.
const BATCH: usize = 24;

struct Layers<'a, S> {
    system: &'a mut S,
    store: Exact,
    /// Work of this layer by the number of steps taken, and of the next.
    buckets: Vec<Vec<Item>>,
    later: Vec<Vec<Item>>,
    /// Items that there is room for in both.
    room: usize,
    /// Processes beyond the masks: which mask, state, process.
    beyond: HashSet<(usize, Handle, u8)>,
    /// The pair that each pair was first reached from; kept only when there is a way to be shown.
    parents: Option<HashMap<Item, Item>>,
    layer: u16,
    report: Report,
    out: Successors,
    hashes: Vec<u64>,
    /// Of each item of a batch: where its steps end in `out`, and what is wrong with its state.
    batch: Vec<(Item, usize, Option<Problem>)>,
    state: Vec<u8>,
}

/// The whole search. The first time, nothing is kept to show a way; if there is one to show, the search is
/// done once more up to where it was found, which takes less memory than to keep all ways until then.
pub(super) fn layered<S: TransitionSystem>(
    system: &mut S,
    options: &Options,
    budget: &mut Budget<'_>,
) -> Report {
    let first = match system.initial() {
        Ok(state) => state,
        Err(fault) => {
            let found = Some(Found { problem: Problem::Initial(fault), states: vec![], bound: Some(0) });
            return Report { errors: 1, found, ..Report::default() };
        }
    };
    let mut report = pass(system, options, budget, &first, false);
    if report.found.is_some() {
        let again = pass(system, &Options { all_errors: false, ..*options }, budget, &first, true);
        report.show(again);
    }
    report
}

fn pass<S: TransitionSystem>(
    system: &mut S,
    options: &Options,
    budget: &mut Budget<'_>,
    first: &[u8],
    keep: bool,
) -> Report {
    let key = system.key();
    let mut layers = Layers {
        system,
        store: Exact::new(HEADER, key),
        buckets: Vec::new(),
        later: Vec::new(),
        room: 0,
        beyond: HashSet::new(),
        parents: keep.then(HashMap::new),
        layer: 0,
        report: Report { state_bytes: first.len() as u64, ..Report::default() },
        out: Successors::default(),
        hashes: Vec::new(),
        batch: Vec::new(),
        state: Vec::new(),
    };
    let (handle, _) = layers.store.insert(first, layers.store.hash(first));
    layers.room += push(&mut layers.buckets, 0, item(handle, ANY));
    loop {
        let stopped = layers.run_layer(options, budget);
        layers.report.stopped = stopped;
        let finished = stopped.is_none() && (layers.report.found.is_none() || options.all_errors);
        if finished {
            layers.report.rows.push(layers.row(budget));
            layers.report.finished = Some(u32::from(layers.layer));
        }
        let cut = if finished { layers.something_is_cut(budget) } else { Ok(false) };
        layers.report.stopped = stopped.or(cut.err());
        if cut != Ok(true) {
            layers.report.complete = finished && cut.is_ok();
            break;
        }
        if options.bound.is_some_and(|bound| u32::from(layers.layer) >= bound) || layers.layer == u16::MAX {
            break;
        }
        layers.layer += 1;
        layers.buckets = std::mem::take(&mut layers.later);
    }
    layers.finish()
}

impl<S: TransitionSystem> Layers<'_, S> {
    fn row(&self, budget: &Budget<'_>) -> Row {
        Row {
            bound: u32::from(self.layer),
            states: self.store.len(),
            transitions: self.transitions(),
            elapsed: budget.elapsed(),
        }
    }

    /// Whether a step is left for the next layer. States without one are forgotten on the way.
    fn something_is_cut(&mut self, budget: &mut Budget<'_>) -> Result<bool, Stop> {
        let mut out = Successors::default();
        for steps in 0..self.later.len() {
            while let Some(&item) = self.later[steps].last() {
                let handle = handle_of(item);
                let fired = self.mask(handle, FIRED);
                if fired & ALL == 0 {
                    let tail = self.store.tail(handle);
                    let state = tail[..self.system.length(tail)].to_vec();
                    out.clear();
                    self.expand_rest(&state, handle, &mut out);
                    if let Some(stop) = self.check(budget) {
                        return Err(stop);
                    }
                    if !out.list.is_empty() {
                        return Ok(true);
                    }
                    self.set_mask(handle, FIRED, ALL);
                }
                self.later[steps].pop();
            }
        }
        Ok(false)
    }

    /// Whether to stop, and why.
    fn check(&self, budget: &mut Budget<'_>) -> Option<Stop> {
        budget.check(self.system.is_stopped(), || {
            let bound = Some(u32::from(self.layer));
            let (states, transitions) = (self.store.len(), self.transitions());
            (Progress { states, transitions, bound, ..Progress::default() }, self.memory())
        })
    }

    /// Steps taken, the one to the first state among them.
    fn transitions(&self) -> u64 {
        self.report.transitions + 1
    }

    fn memory(&self) -> u64 {
        let kept = self.parents.as_ref().map_or(0, HashMap::capacity);
        self.store.memory() + self.room as u64 * 8 + kept as u64 * 17
    }

    fn finish(mut self) -> Report {
        self.report.states = self.store.len();
        self.report.transitions = self.transitions();
        self.report.matched = self.report.transitions - self.report.states;
        self.report.memory = self.report.memory.max(self.memory());
        self.report.stored_bytes = self.store.state_bytes();
        self.report
    }

    fn run_layer(&mut self, options: &Options, budget: &mut Budget<'_>) -> Option<Stop> {
        let mut steps = 0;
        while steps < self.buckets.len() {
            // What is found from a bucket goes into the ones after it: steps only grow.
            let bucket = std::mem::take(&mut self.buckets[steps]);
            let mut index = 0;
            while index < bucket.len() {
                self.out.clear();
                self.batch.clear();
                while index < bucket.len() && self.out.list.len() < BATCH {
                    self.visit(bucket[index]);
                    index += 1;
                }
                // Looked at first: the steps of a state in which the system has stopped are not all.
                if let Some(stop) = self.check(budget) {
                    return Some(stop);
                }
                if self.arrive(steps, options.all_errors) {
                    return None;
                }
            }
            self.report.memory = self.report.memory.max(self.memory());
            self.room -= bucket.capacity();
            self.report.depth = self.report.depth.max(steps as u64);
            steps += 1;
        }
        None
    }

    /// Takes the steps that a pair, or what was put off of a state, can take in this layer.
    fn visit(&mut self, item: Item) {
        let (handle, mover) = (handle_of(item), mover_of(item));
        let fired = self.mask(handle, FIRED);
        if fired & ALL != 0 {
            return;
        }
        let tail = self.store.tail(handle);
        let mut state = std::mem::take(&mut self.state);
        state.clear();
        state.extend_from_slice(&tail[..self.system.length(tail)]);
        let mut out = std::mem::take(&mut self.out);
        let before = out.list.len();
        let mut stuck = false;
        if item & CHARGED != 0 || mover == ANY {
            self.expand_rest(&state, handle, &mut out);
            self.set_mask(handle, FIRED, ALL);
            stuck = mover == ANY && item & CHARGED == 0;
        } else if !self.is_in(handle, FIRED, mover) {
            self.system.expand(&state, u32::from(mover), false, &mut out);
            if out.list.len() == before && self.system.has_timeout() && self.all_blocked(&state) {
                self.system.expand(&state, u32::from(mover), true, &mut out);
            }
            if out.list.len() == before {
                // Blocked: a switch is forced, and free.
                self.expand_rest(&state, handle, &mut out);
                self.set_mask(handle, FIRED, ALL);
                stuck = fired == 0;
            } else {
                self.put(handle, FIRED, mover);
            }
        }
        let mut bad = None;
        if stuck
            && out.list.len() == before
            && let Some(fault) = self.system.stuck(&state)
        {
            bad = Some(Problem::Stuck(fault));
        }
        self.batch.push((item, out.list.len(), bad));
        self.out = out;
        self.state = state;
    }

    /// Stores the states that the steps of a batch lead to, and queues the pairs that are new in this layer.
    /// Whether to stop, because something is wrong.
    fn arrive(&mut self, steps: usize, all_errors: bool) -> bool {
        let out = std::mem::take(&mut self.out);
        let batch = std::mem::take(&mut self.batch);
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        hashes.extend((0..out.list.len()).map(|index| match out.list[index].dead {
            true => 0,
            false => self.store.hash(out.state(index)),
        }));
        self.store.touch(&hashes);
        let mut index = 0;
        for &(current, end, mut bad) in &batch {
            self.report.errors += u64::from(bad.is_some());
            while index < end {
                let step = out.list[index];
                if let Some(fault) = step.fault {
                    self.report.errors += 1;
                    bad = bad.or(Some(Problem::Step { fault, owner: step.owner }));
                }
                if !step.dead {
                    for mover in step.movers() {
                        let mover = mover.min(u32::from(ANY) - 1) as u8;
                        self.reach(out.state(index), hashes[index], mover, current, steps + 1);
                    }
                    self.report.transitions += 1;
                }
                index += 1;
            }
            let Some(problem) = bad else { continue };
            if self.report.found.is_none() {
                let states = self.path(current);
                self.report.found = Some(Found { problem, states, bound: Some(u32::from(self.layer)) });
            }
            if !all_errors {
                return true;
            }
        }
        (self.out, self.batch, self.hashes) = (out, batch, hashes);
        false
    }

    /// A step has led to a state.
    #[inline]
    fn reach(&mut self, state: &[u8], hash: u64, mover: u8, current: Item, steps: usize) {
        let (handle, fresh) = self.store.insert(state, hash);
        if fresh {
            self.report.state_bytes = self.report.state_bytes.max(state.len() as u64);
            self.room += push(&mut self.later, steps, item(handle, mover) | CHARGED);
        } else {
            // Two layers on, everything has been taken. One layer on, what is left is queued; a pair
            // that comes there by a shorter way may still take its own steps first.
            if self.mask(handle, FIRED) & ALL != 0 || self.is_in(handle, QUEUED, mover) {
                return;
            }
        }
        self.put(handle, QUEUED, mover);
        self.room += push(&mut self.buckets, steps, item(handle, mover));
        if let Some(parents) = &mut self.parents {
            parents.insert(item(handle, mover), current & !CHARGED);
        }
        if fresh && self.store.is_crowded() {
            let system = &*self.system;
            self.store.grow(|bytes| system.length(bytes));
        }
    }

    /// Adds the steps of every process that has not taken its own, with a timeout if all are stuck.
    fn expand_rest(&mut self, state: &[u8], handle: Handle, out: &mut Successors) {
        let count = self.system.processes(state);
        let none = self.mask(handle, FIRED) == 0;
        let before = out.list.len();
        for process in 0..count {
            if none || !self.is_in(handle, FIRED, process.min(254) as u8) {
                self.system.expand(state, process, false, out);
            }
        }
        if out.list.len() == before && self.system.has_timeout() && self.all_blocked(state) {
            for process in 0..count {
                if none || !self.is_in(handle, FIRED, process.min(254) as u8) {
                    self.system.expand(state, process, true, out);
                }
            }
        }
        if out.list.len() == before && none {
            self.system.stutter(state, out);
        }
    }

    /// The states from the first to that of an item; empty where the ways are not kept.
    fn path(&self, item: Item) -> Vec<Vec<u8>> {
        let Some(parents) = &self.parents else { return Vec::new() };
        let (mut current, mut states) = (Some(item & !CHARGED), Vec::new());
        while let Some(pair) = current {
            let tail = self.store.tail(handle_of(pair));
            states.push(tail[..self.system.length(tail)].to_vec());
            current = parents.get(&pair).copied();
        }
        states.reverse();
        states
    }

    fn all_blocked(&mut self, state: &[u8]) -> bool {
        let mut probe = Successors::default();
        (0..self.system.processes(state)).all(|process| {
            self.system.expand(state, process, false, &mut probe);
            probe.list.is_empty()
        })
    }

    #[inline]
    fn mask(&self, handle: Handle, which: usize) -> u16 {
        let header = self.store.header(handle);
        u16::from_le_bytes([header[which], header[which + 1]])
    }

    fn set_mask(&mut self, handle: Handle, which: usize, mask: u16) {
        self.store.header_mut(handle)[which..which + 2].copy_from_slice(&mask.to_le_bytes());
    }

    #[inline]
    fn is_in(&self, handle: Handle, which: usize, process: u8) -> bool {
        let mask = self.mask(handle, which);
        if which == FIRED && mask & ALL != 0 {
            return true;
        }
        if process < DIRECT - 1 {
            mask >> process & 1 == 1
        } else {
            self.beyond.contains(&(which, handle, process))
        }
    }

    fn put(&mut self, handle: Handle, which: usize, process: u8) {
        // The bit below the last says that a process beyond the mask is in the set.
        let bit = process.min(DIRECT - 1);
        self.set_mask(handle, which, self.mask(handle, which) | 1 << bit);
        if process >= DIRECT - 1 {
            self.beyond.insert((which, handle, process));
        }
    }
}

/// Adds an item to the bucket of its steps. By how many items the room has grown.
#[inline]
fn push(buckets: &mut Vec<Vec<Item>>, steps: usize, item: Item) -> usize {
    if buckets.len() <= steps {
        buckets.resize_with(steps + 1, Vec::new);
    }
    let before = buckets[steps].capacity();
    buckets[steps].push(item);
    buckets[steps].capacity() - before
}
