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
//! taken into account. (3) A handshake is a step of its sender.
//!
//! Steps count atomic sequences as one. Within the fewest preemptions, the first violation found has the
//! fewest steps: a pair is first met by its shortest way, because buckets of equal length are emptied in
//! order.

use std::collections::HashSet;

use super::{Budget, Found, Options, Problem, Progress, Report, Row, Stop};
use crate::store::{Exact, Handle};
use crate::system::{Successors, TransitionSystem};

/// A way a pair was reached: the state and the record of the pair it was reached from.
#[derive(Clone, Copy)]
struct Record {
    low: u32,
    parent: u32,
    high: u8,
    /// The process that moved last; [`ANY`] for the first state and for charged steps out of a state.
    mover: u8,
}

const ANY: u8 = u8::MAX;
const NONE: u32 = u32::MAX;

impl Record {
    fn handle(&self) -> Handle {
        u64::from(self.low) | u64::from(self.high) << 32
    }
}

/// What the header of a state holds: its layer, the processes whose steps were taken from it, and those
/// that are queued or were.
const HEADER: usize = 6;
const FIRED: usize = 2;
const QUEUED: usize = 4;
/// Bits of a mask that stand for a process each; the last bit stands for all of them.
const DIRECT: u8 = 15;
const ALL: u16 = 1 << 15;
/// Marks queued work that is charged: the steps of a state that were not free in the layer before.
const CHARGED: u32 = 1 << 31;

struct Layers<'a, S> {
    system: &'a mut S,
    store: Exact,
    records: Vec<Record>,
    /// Work of this layer by the number of steps taken, and of the next.
    buckets: Vec<Vec<u32>>,
    later: Vec<Vec<u32>>,
    /// Processes beyond the masks: which mask, state, process.
    beyond: HashSet<(usize, Handle, u8)>,
    layer: u16,
    report: Report,
    /// Violations of the step being taken.
    bad: Option<Problem>,
    out: Successors,
    state: Vec<u8>,
}

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
    let key = system.key();
    let mut layers = Layers {
        system,
        store: Exact::new(HEADER, key),
        records: Vec::new(),
        buckets: vec![Vec::new()],
        later: Vec::new(),
        beyond: HashSet::new(),
        layer: 0,
        report: Report { state_bytes: first.len() as u64, ..Report::default() },
        bad: None,
        out: Successors::default(),
        state: Vec::new(),
    };
    let (handle, _) = layers.store.insert(&first, layers.store.hash(&first));
    layers.records.push(Record { low: handle as u32, high: (handle >> 32) as u8, parent: NONE, mover: ANY });
    layers.buckets[0].push(0);
    loop {
        let stopped = layers.run_layer(options, budget);
        layers.report.stopped = stopped;
        let finished = stopped.is_none() && (layers.report.found.is_none() || options.all_errors);
        if finished {
            layers.report.rows.push(layers.row(budget));
            layers.report.finished = Some(u32::from(layers.layer));
        }
        let cut = finished && layers.something_is_cut();
        if !cut {
            layers.report.complete = finished;
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
        let states = self.store.len();
        Row {
            bound: u32::from(self.layer),
            states,
            transitions: states + self.report.matched,
            elapsed: budget.elapsed(),
        }
    }

    /// Whether a step is left for the next layer. States without one are forgotten on the way.
    fn something_is_cut(&mut self) -> bool {
        let mut out = Successors::default();
        for steps in 0..self.later.len() {
            while let Some(&item) = self.later[steps].last() {
                let handle = self.records[(item & !CHARGED) as usize].handle();
                let fired = self.mask(handle, FIRED);
                if fired & ALL == 0 {
                    let tail = self.store.tail(handle);
                    let state = tail[..self.system.length(tail)].to_vec();
                    out.clear();
                    self.expand_rest(&state, handle, &mut out);
                    if !out.list.is_empty() {
                        return true;
                    }
                }
                self.later[steps].pop();
            }
        }
        false
    }

    fn memory(&self) -> u64 {
        let queued: usize = self.buckets.iter().chain(&self.later).map(Vec::capacity).sum();
        self.store.memory() + self.records.capacity() as u64 * 12 + queued as u64 * 4
    }

    fn finish(mut self) -> Report {
        self.report.states = self.store.len();
        self.report.transitions = self.report.states + self.report.matched;
        self.report.memory = self.memory();
        self.report.stored_bytes = self.store.state_bytes();
        self.report
    }

    fn run_layer(&mut self, options: &Options, budget: &mut Budget<'_>) -> Option<Stop> {
        let mut steps = 0;
        while steps < self.buckets.len() {
            // Work added to this bucket while it is emptied belongs to it: steps only grow.
            let mut index = 0;
            while index < self.buckets[steps].len() {
                let current = self.buckets[steps][index];
                index += 1;
                self.visit(current, steps);
                if let Some(problem) = self.bad.take() {
                    if self.report.found.is_none() {
                        let states = self.path(current);
                        self.report.found =
                            Some(Found { problem, states, bound: Some(u32::from(self.layer)) });
                    }
                    if !options.all_errors {
                        return None;
                    }
                }
                let progress = || {
                    let bound = Some(u32::from(self.layer));
                    let states = self.store.len();
                    (
                        Progress {
                            states,
                            transitions: states + self.report.matched,
                            bound,
                            ..Progress::default()
                        },
                        self.memory(),
                    )
                };
                if let Some(stop) = budget.check(progress) {
                    return Some(stop);
                }
                if self.records.len() >= CHARGED as usize - 1 {
                    return Some(Stop::Memory);
                }
            }
            self.buckets[steps] = Vec::new();
            self.report.depth = self.report.depth.max(steps as u64);
            steps += 1;
        }
        None
    }

    /// Takes the steps that a pair, or what was put off of a state, can take in this layer.
    fn visit(&mut self, item: u32, steps: usize) {
        let current = item & !CHARGED;
        let record = self.records[current as usize];
        let handle = record.handle();
        if self.mask(handle, FIRED) & ALL != 0 {
            return;
        }
        let tail = self.store.tail(handle);
        let mut state = std::mem::take(&mut self.state);
        state.clear();
        state.extend_from_slice(&tail[..self.system.length(tail)]);
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        if item & CHARGED != 0 || record.mover == ANY {
            self.expand_rest(&state, handle, &mut out);
            self.set_mask(handle, FIRED, ALL);
        } else if !self.is_in(handle, FIRED, record.mover) {
            let mover = u32::from(record.mover);
            self.system.expand(&state, mover, false, &mut out);
            if out.list.is_empty() && self.system.has_timeout() && self.all_blocked(&state) {
                self.system.expand(&state, mover, true, &mut out);
            }
            if out.list.is_empty() {
                // Blocked: a switch is forced, and free.
                self.expand_rest(&state, handle, &mut out);
                let untouched = self.mask(handle, FIRED) == 0;
                self.set_mask(handle, FIRED, ALL);
                if out.list.is_empty()
                    && untouched
                    && let Some(fault) = self.system.stuck(&state)
                {
                    self.report.errors += 1;
                    self.bad = Some(Problem::Stuck(fault));
                }
            } else {
                self.put(handle, FIRED, record.mover);
            }
        }
        if record.mover == ANY
            && out.list.is_empty()
            && let Some(fault) = self.system.stuck(&state)
        {
            self.report.errors += 1;
            self.bad = Some(Problem::Stuck(fault));
        }
        self.arrive(current, steps, &out);
        self.out = out;
        self.state = state;
    }

    /// Stores the states that steps lead to, and queues the pairs that are new in this layer.
    fn arrive(&mut self, current: u32, steps: usize, out: &Successors) {
        for (index, step) in out.list.iter().enumerate() {
            if let Some(fault) = step.fault {
                self.report.errors += 1;
                self.bad = self.bad.or(Some(Problem::Step { fault, owner: step.owner }));
            }
            if step.dead {
                continue;
            }
            let successor = out.state(index);
            self.report.state_bytes = self.report.state_bytes.max(successor.len() as u64);
            let (handle, fresh) = self.store.insert(successor, self.store.hash(successor));
            let mover = step.mover.min(u32::from(ANY) - 1) as u8;
            if fresh {
                if self.store.is_crowded() {
                    let system = &*self.system;
                    self.store.grow(|bytes| system.length(bytes));
                }
                let layer = self.layer;
                self.store.header_mut(handle)[..2].copy_from_slice(&layer.to_le_bytes());
            } else {
                self.report.matched += 1;
                // Two layers on, everything has been taken. One layer on, what is left is queued; a pair
                // that comes there by a shorter way may still take its own steps first.
                if self.state_layer(handle) + 1 < self.layer
                    || self.mask(handle, FIRED) & ALL != 0
                    || self.is_in(handle, QUEUED, mover)
                {
                    continue;
                }
            }
            self.put(handle, QUEUED, mover);
            let number = self.records.len() as u32;
            self.records.push(Record {
                low: handle as u32,
                high: (handle >> 32) as u8,
                parent: current,
                mover,
            });
            push(&mut self.buckets, steps + 1, number);
            if fresh {
                push(&mut self.later, steps + 1, number | CHARGED);
            }
        }
    }

    /// Adds the steps of every process that has not taken its own, with a timeout if all are stuck.
    fn expand_rest(&mut self, state: &[u8], handle: Handle, out: &mut Successors) {
        let count = self.system.processes(state);
        let none = self.mask(handle, FIRED) == 0;
        for process in 0..count {
            if none || !self.is_in(handle, FIRED, process.min(254) as u8) {
                self.system.expand(state, process, false, out);
            }
        }
        if out.list.is_empty() && self.system.has_timeout() && self.all_blocked(state) {
            for process in 0..count {
                if none || !self.is_in(handle, FIRED, process.min(254) as u8) {
                    self.system.expand(state, process, true, out);
                }
            }
        }
        if out.list.is_empty() && none {
            self.system.stutter(state, out);
        }
    }

    /// The states from the first to a record.
    fn path(&self, item: u32) -> Vec<Vec<u8>> {
        let (mut current, mut states) = (item & !CHARGED, Vec::new());
        while current != NONE {
            let record = self.records[current as usize];
            let tail = self.store.tail(record.handle());
            states.push(tail[..self.system.length(tail)].to_vec());
            current = record.parent;
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

    fn state_layer(&self, handle: Handle) -> u16 {
        let header = self.store.header(handle);
        u16::from_le_bytes([header[0], header[1]])
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
        if mask & ALL != 0 {
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

fn push(buckets: &mut Vec<Vec<u32>>, steps: usize, item: u32) {
    if buckets.len() <= steps {
        buckets.resize_with(steps + 1, Vec::new);
    }
    buckets[steps].push(item);
}
