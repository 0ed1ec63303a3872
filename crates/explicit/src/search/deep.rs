//! Depth first with a real stack: bounded context switching as the paper gives it, and every search whose
//! store keeps only hashes.
//!
//! G. J. Holzmann, M. Florian: *Model Checking with Bounded Context Switching*, Formal Aspects of Computing.
//! Figure 3 is `Frame` by `Frame` below; with reduction it is Figure 5, with its CONSTRAINT. Section 3.1 is
//! [`Options::free_cycles`]; section 3.2 is a store of hashes with a copy of a state for its own count of
//! preemptions and each higher one.
//!
//! Deviations, each for a reason:
//! 1. Line 20 of Figure 5 empties A* where a cycle closes; line 24 would then explore nothing. The text and
//!    the proof (case 1) mean the full set, and so it is here.
//! 2. Section 3.1 is off unless asked for: a switch that is not charged only adds behaviours, so the
//!    guarantee is the same, but without it the states stored at bound N are exactly those reachable with
//!    at most N preemptions, whatever the order.
//! 3. The bound is iterated from 0, and a row is given for each. With an exact store and no reduction, a bound
//!    goes on from where the one before it was cut: each state's lowest count, and who moved last at it, are
//!    final once a bound is done, so what was searched needs no searching again. Otherwise each bound begins
//!    afresh: credits and free cycles make a count depend on the way, and hashes cannot be gone on from.
//! 4. Section 3.2 does not store who moved last with hashes, to save memory. Then a state that is reached by two processes
//!    with equal counts is searched for one of them only, and what the other could do for free is missed, however large
//!    the store. Here it is stored: all that is missed comes from two states with one hash, which the answer names.

use std::collections::{HashMap, HashSet};

use super::{Budget, Found, Options, Problem, Progress, Report, Row, Search, Stop, StoreKind};
use crate::hash::hash;
use crate::store::{Exact, Handle, Lossy};
use crate::system::{Successor, Successors, TransitionSystem, expand_all};

/// A call of Search in the paper: a state, its preemptions, who moved last, and whether by a safe step.
#[derive(Clone, Copy)]
struct Call {
    start: usize,
    len: usize,
    n: u32,
    p: u32,
    safe: bool,
}

struct Frame {
    call: Call,
    /// The calls that it makes: an index range, of which `next` is to come.
    next: usize,
    end: usize,
    /// What to forget when it returns.
    bytes: usize,
}

pub(super) fn deep<S: TransitionSystem>(
    system: &mut S,
    options: &Options,
    budget: &mut Budget<'_>,
) -> Report {
    let bounded =
        options.search == Search::Bcs || (options.search == Search::Layered && options.bound.is_some());
    if bounded
        && !(options.at_bound || options.reduce || options.free_cycles)
        && options.store == StoreKind::Exact
        && options.limits.depth.is_none()
    {
        return iterate(system, options, budget);
    }
    let mut report = Report::default();
    let mut bound = match (bounded, options.at_bound) {
        (false, _) => None,
        (true, true) => Some(options.bound.unwrap_or(0)),
        (true, false) => Some(0),
    };
    loop {
        let mut run = Run::new(system, options, bound);
        run.search(budget);
        let cut = run.cut;
        let one = run.finish();
        let over = one.found.is_some() && !options.all_errors;
        if let (Some(bound), None, false) = (bound, one.stopped, over) {
            let (states, transitions) = (one.states, one.transitions);
            report.rows.push(Row { bound, states, transitions, elapsed: budget.elapsed() });
            report.finished = Some(bound);
        }
        let rows = std::mem::take(&mut report.rows);
        let finished = report.finished;
        report = Report { rows, finished, ..one };
        report.complete = !cut && report.stopped.is_none() && !over;
        let last =
            bound.is_none_or(|bound| options.at_bound || options.bound.is_some_and(|most| bound >= most));
        if over || last || !cut || report.stopped.is_some() {
            return report;
        }
        bound = bound.map(|bound| bound + 1);
    }
}

/// Every bound from 0, each going on from the one before it.
fn iterate<S: TransitionSystem>(system: &mut S, options: &Options, budget: &mut Budget<'_>) -> Report {
    let (mut rows, mut finished) = (Vec::new(), None);
    let mut run = Run::new(system, options, Some(0));
    run.edge = Some(Vec::new());
    run.search(budget);
    let complete = loop {
        if run.report.stopped.is_some() || (run.report.found.is_some() && !options.all_errors) {
            break false;
        }
        let (states, bound) = (run.report.states, run.bound);
        rows.push(Row { bound, states, transitions: states + run.report.matched, elapsed: budget.elapsed() });
        finished = Some(bound);
        match run.something_is_cut(budget) {
            Ok(true) => {}
            Ok(false) => break true,
            Err(stop) => {
                run.report.stopped = Some(stop);
                break false;
            }
        }
        if options.bound.is_some_and(|most| bound >= most) {
            break false;
        }
        run.bound += 1;
        run.go_on(budget);
    };
    let mut report = Report { rows, finished, complete, ..run.finish() };
    if let Some(found) = &report.found {
        // The stack began at an edge. The way from the first state is found by a search of this bound alone.
        let first_only = Options { all_errors: false, ..*options };
        let mut again = Run::new(system, &first_only, found.bound);
        again.search(budget);
        let again = again.finish();
        report.show(again);
    }
    report
}

/// The set S of the paper.
enum Visited {
    Exact(Exact, HashSet<(Handle, u32, bool)>),
    Lossy(Lossy),
}

/// Header of an exact state: its lowest count, and the processes that reached it so, by any and by safe steps.
const HEADER: usize = 20;
/// Where a bound goes on from the one before it, no step is safe, and this byte says that all were taken.
const DONE: usize = 12;
const DIRECT: u32 = 64;

struct Run<'a, S> {
    system: &'a mut S,
    options: &'a Options,
    bound: u32,
    counting: bool,
    visited: Visited,
    stack: Vec<Frame>,
    calls: Vec<Call>,
    bytes: Vec<u8>,
    /// Hashes of the states on the stack, where cycles matter.
    on_stack: HashMap<u64, u32>,
    cut: bool,
    /// States whose charged steps the next bound takes, with the steps to them; only when there is one.
    edge: Option<Vec<(Handle, u64)>>,
    /// Steps to the state that the stack begins with.
    before: u64,
    truncated: bool,
    report: Report,
    out: Successors,
}

impl<'a, S: TransitionSystem> Run<'a, S> {
    fn new(system: &'a mut S, options: &'a Options, bound: Option<u32>) -> Self {
        let key = system.key();
        let visited = match options.store {
            StoreKind::Exact => Visited::Exact(Exact::new(HEADER, key), HashSet::new()),
            StoreKind::HashCompact => Visited::Lossy(Lossy::hash_compact()),
            StoreKind::Bitstate { bytes, functions } => Visited::Lossy(Lossy::bitstate(bytes, functions)),
        };
        Run {
            system,
            options,
            bound: bound.unwrap_or(u32::MAX - 1),
            counting: bound.is_some(),
            visited,
            stack: Vec::new(),
            calls: Vec::new(),
            bytes: Vec::new(),
            on_stack: HashMap::new(),
            cut: false,
            edge: None,
            before: 0,
            truncated: false,
            report: Report::default(),
            out: Successors::default(),
        }
    }

    fn search(&mut self, budget: &mut Budget<'_>) {
        let first = match self.system.initial() {
            Ok(state) => state,
            Err(fault) => {
                self.report.errors = 1;
                self.report.found =
                    Some(Found { problem: Problem::Initial(fault), states: vec![], bound: None });
                return;
            }
        };
        self.bytes.extend_from_slice(&first);
        let call = Call { start: 0, len: first.len(), n: 0, p: u32::MAX, safe: false };
        if self.constraint(&call) {
            self.enter(call);
        }
        self.run_stack(budget);
    }

    /// Makes the calls of the stack, until it is empty.
    fn run_stack(&mut self, budget: &mut Budget<'_>) {
        while let Some(frame) = self.stack.last_mut() {
            if self.report.found.is_some() && !self.options.all_errors {
                return;
            }
            if frame.next == frame.end {
                self.leave();
                continue;
            }
            let call = self.calls[frame.next];
            frame.next += 1;
            if self.stack.len() as u64 >= budget.depth() {
                self.truncated = true;
            } else if self.constraint(&call) {
                self.enter(call);
            } else {
                self.report.matched += 1;
            }
            if let Some(stop) = self.check(budget) {
                self.report.stopped = Some(stop);
                return;
            }
        }
    }

    /// Whether to stop, and why.
    fn check(&self, budget: &mut Budget<'_>) -> Option<Stop> {
        budget.check(self.system.is_stopped(), || {
            let bound = self.counting.then_some(self.bound);
            let (states, transitions) = (self.report.states, self.report.states + self.report.matched);
            (Progress { states, transitions, bound, ..Progress::default() }, self.memory())
        })
    }

    /// The steps of a state that were cut: those of the processes that did not move last on a way to it.
    fn cut_steps(&mut self, handle: Handle) -> (Vec<u8>, Successors) {
        let Visited::Exact(store, beyond) = &self.visited else {
            unreachable!("only exact stores have an edge")
        };
        let tail = store.tail(handle);
        let state = tail[..self.system.length(tail)].to_vec();
        let header = store.header(handle);
        let movers = u64::from_le_bytes(header[4..12].try_into().expect("eight bytes"));
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let moved = |p: u32| match p < DIRECT {
            true => movers >> p & 1 == 1,
            false => beyond.contains(&(handle, p, false)),
        };
        if header[DONE] == 0 {
            expand_all(self.system, &state, &mut out);
            out.list.retain(|step| !moved(step.owner));
        }
        (state, out)
    }

    /// Whether the next bound has anything to do. States of the edge that have nothing left are forgotten.
    fn something_is_cut(&mut self, budget: &mut Budget<'_>) -> Result<bool, Stop> {
        let mut edge = self.edge.take().unwrap_or_default();
        edge.sort_unstable();
        edge.dedup_by_key(|&mut (handle, _)| handle);
        let mut cut = false;
        while let (false, Some(&(handle, _))) = (cut, edge.last()) {
            let (_, out) = self.cut_steps(handle);
            cut = !out.list.is_empty();
            self.out = out;
            if let Some(stop) = self.check(budget) {
                return Err(stop);
            }
            if !cut {
                edge.pop();
            }
        }
        self.edge = Some(edge);
        Ok(cut)
    }

    /// Searches a bound from the edge of the one below it.
    fn go_on(&mut self, budget: &mut Budget<'_>) {
        for (handle, before) in self.edge.replace(Vec::new()).unwrap_or_default() {
            if self.report.stopped.is_some() || (self.report.found.is_some() && !self.options.all_errors) {
                return;
            }
            let (state, out) = self.cut_steps(handle);
            if let Some(stop) = self.check(budget) {
                self.report.stopped = Some(stop);
                return;
            }
            self.bytes.clear();
            self.calls.clear();
            self.bytes.extend_from_slice(&state);
            let call = Call { start: 0, len: state.len(), n: self.bound - 1, p: u32::MAX, safe: false };
            self.before = before;
            for (index, step) in out.list.iter().enumerate() {
                self.push_call(call, self.bound, step, out.state(index), false);
            }
            self.out = out;
            self.stack.push(Frame { call, next: 0, end: self.calls.len(), bytes: 0 });
            self.run_stack(budget);
        }
    }

    /// Notes a call to be made, and what goes wrong on the step to it.
    fn push_call(&mut self, from: Call, n: u32, step: &Successor, state: &[u8], safe: bool) {
        if let Some(fault) = step.fault {
            self.problem(Problem::Step { fault, owner: step.owner }, from);
        }
        if !step.dead {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(state);
            // Who moved last matters only where preemptions are counted.
            for p in step.movers().take(if self.counting { 2 } else { 1 }) {
                self.calls.push(Call { start, len: state.len(), n, p, safe });
            }
        }
    }

    fn state(&self, call: &Call) -> &[u8] {
        &self.bytes[call.start..call.start + call.len]
    }

    /// Whether the call is to be made (the bound has been looked at); records it if so.
    fn constraint(&mut self, call: &Call) -> bool {
        let state = &self.bytes[call.start..call.start + call.len];
        match &mut self.visited {
            Visited::Lossy(store) => {
                let key = &state[self.system.key()..];
                // A state has the number 0; what was reached with fewer preemptions than n, n + 1; and a call one of its own.
                if !self.counting {
                    let fresh = store.insert(key, 0);
                    self.report.states += u64::from(fresh);
                    return fresh;
                }
                let by =
                    |safe: bool| 1 << 63 | u64::from(call.n) << 34 | u64::from(call.p) << 1 | u64::from(safe);
                if store.contains(key, u64::from(call.n) + 1)
                    || !call.safe && store.contains(key, by(true))
                    || !store.insert(key, by(call.safe))
                {
                    return false;
                }
                self.report.states += u64::from(store.insert(key, 0));
                for higher in call.n + 1..=self.bound {
                    if !store.insert(key, u64::from(higher) + 1) {
                        break;
                    }
                }
                true
            }
            Visited::Exact(store, beyond) => {
                let (handle, fresh) = store.insert(state, store.hash(state));
                if store.is_crowded() {
                    let system = &*self.system;
                    store.grow(|bytes| system.length(bytes));
                }
                let word = |header: &[u8], at: usize| {
                    u64::from_le_bytes(header[at..at + 8].try_into().expect("eight"))
                };
                let header = store.header_mut(handle);
                let lowest = u32::from_le_bytes(header[..4].try_into().expect("four bytes"));
                if fresh || lowest > call.n {
                    self.report.states += u64::from(fresh);
                    header[..4].copy_from_slice(&call.n.to_le_bytes());
                    header[4..].fill(0);
                    beyond.retain(|&(h, _, _)| h != handle || fresh);
                } else if lowest < call.n || !self.counting {
                    return false;
                } else {
                    let known = |at, safe| {
                        if call.p < DIRECT {
                            word(header, at) >> call.p & 1 == 1
                        } else {
                            beyond.contains(&(handle, call.p, safe))
                        }
                    };
                    if (known(12, true) || !call.safe) && known(4, false) {
                        return false;
                    }
                }
                let header = store.header_mut(handle);
                for (at, wanted) in [(4, true), (12, call.safe)] {
                    if !wanted {
                        continue;
                    }
                    if call.p < DIRECT {
                        let set = word(header, at) | 1 << call.p;
                        header[at..at + 8].copy_from_slice(&set.to_le_bytes());
                    } else {
                        beyond.insert((handle, call.p, at == 12));
                    }
                }
                true
            }
        }
    }

    /// The body of Search up to its calls.
    fn enter(&mut self, call: Call) {
        let bytes = self.bytes.len();
        let state = self.state(&call).to_vec();
        self.report.state_bytes = self.report.state_bytes.max(state.len() as u64);
        let watch = self.options.reduce || self.options.free_cycles;
        if watch {
            *self.on_stack.entry(hash(&state[self.system.key()..])).or_insert(0) += 1;
        }
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let first = self.calls.len();
        let initial = call.p == u32::MAX;
        let mut cycle = false;
        let mut left = false;
        let ample = self.options.reduce
            && !initial
            && call.n < self.bound
            && self.ample(&state, &mut out, &mut cycle);
        if !ample {
            out.clear();
            if self.edge.is_some() && !initial {
                // Every call is at the bound: what others could do is left for the next.
                self.system.expand(&state, call.p, false, &mut out);
            }
            left = !out.list.is_empty();
            if !left {
                self.expand(&state, call.p, &mut out);
            }
        }
        if self.system.is_stopped() {
            // What it can do is not known. The search ends at its next look.
            out.clear();
            self.out = out;
            self.report.stopped = Some(Stop::Time);
            return;
        }
        let own = out.list.iter().any(|step| step.owner == call.p);
        let looping =
            self.options.free_cycles
                && own
                && out.list.iter().enumerate().filter(|(_, step)| step.owner == call.p && !step.dead).all(
                    |(index, _)| self.on_stack.contains_key(&hash(&out.state(index)[self.system.key()..])),
                );
        let forced = initial || !own || call.safe || cycle || looping;
        if out.list.is_empty()
            && let Some(fault) = self.system.stuck(&state)
        {
            self.problem(Problem::Stuck(fault), call);
        }
        // The running process first.
        for pass in [true, false] {
            for (index, step) in out.list.iter().enumerate() {
                let same = ample || step.owner == call.p;
                if same != pass {
                    continue;
                }
                let u = u32::from(self.counting && !same && !forced);
                if call.n + u > self.bound {
                    self.cut = true;
                    left = true;
                    continue;
                }
                self.push_call(call, call.n + u, step, out.state(index), ample);
            }
        }
        self.out = out;
        if let (Some(edge), Visited::Exact(store, _)) = (&mut self.edge, &mut self.visited) {
            let handle = store.find(&state, store.hash(&state)).expect("the state has been stored");
            if left {
                edge.push((handle, self.before + self.stack.len() as u64));
            } else {
                store.header_mut(handle)[DONE] = 1;
            }
        }
        self.stack.push(Frame { call, next: first, end: self.calls.len(), bytes });
        self.report.depth = self.report.depth.max(self.before + self.stack.len() as u64 - 1);
    }

    /// All steps, those of the running process first.
    fn expand(&mut self, state: &[u8], running: u32, out: &mut Successors) {
        let count = self.system.processes(state);
        if running < count {
            self.system.expand(state, running, false, out);
        }
        for process in (0..count).filter(|&process| process != running) {
            self.system.expand(state, process, false, out);
        }
        let timeout = out.list.is_empty() && self.system.has_timeout();
        if timeout {
            for process in 0..count {
                self.system.expand(state, process, true, out);
            }
        }
        if out.list.is_empty() {
            self.system.stutter(state, out);
        }
    }

    /// Finds a process whose steps may be taken alone; `cycle` says that one was given up.
    fn ample(&mut self, state: &[u8], out: &mut Successors, cycle: &mut bool) -> bool {
        for process in 0..self.system.processes(state) {
            if !self.system.safe(state, process) {
                continue;
            }
            out.clear();
            self.system.expand(state, process, false, out);
            if out.list.is_empty() || out.list.iter().any(|step| step.fault.is_some()) {
                continue;
            }
            let key = self.system.key();
            if (0..out.list.len()).any(|index| self.on_stack.contains_key(&hash(&out.state(index)[key..]))) {
                *cycle = true;
                continue;
            }
            *cycle = false;
            return true;
        }
        false
    }

    fn problem(&mut self, problem: Problem, call: Call) {
        self.report.errors += 1;
        if self.report.found.is_none() {
            let mut states: Vec<Vec<u8>> =
                self.stack.iter().map(|frame| self.state(&frame.call).to_vec()).collect();
            states.push(self.state(&call).to_vec());
            let bound = self.counting.then_some(self.bound);
            self.report.found = Some(Found { problem, states, bound });
        }
    }

    fn leave(&mut self) {
        let frame = self.stack.pop().expect("a frame is being left");
        if self.options.reduce || self.options.free_cycles {
            let name = hash(&self.state(&frame.call)[self.system.key()..]);
            if let Some(count) = self.on_stack.get_mut(&name) {
                *count -= 1;
                if *count == 0 {
                    self.on_stack.remove(&name);
                }
            }
        }
        self.bytes.truncate(frame.bytes);
        let keep = self.stack.last().map_or(0, |below| below.end);
        self.calls.truncate(keep);
    }

    fn memory(&self) -> u64 {
        let store = match &self.visited {
            Visited::Exact(store, _) => store.memory(),
            Visited::Lossy(store) => store.memory(),
        };
        store
            + self.edge.as_ref().map_or(0, Vec::capacity) as u64 * 16
            + self.bytes.capacity() as u64
            + self.calls.capacity() as u64 * 40
            + self.stack.capacity() as u64 * 72
    }

    fn finish(mut self) -> Report {
        if self.truncated && self.report.stopped.is_none() {
            self.report.stopped = Some(Stop::Depth);
        }
        self.report.memory = self.memory();
        self.report.transitions = self.report.states + self.report.matched;
        match &self.visited {
            Visited::Exact(store, _) => self.report.stored_bytes = store.state_bytes(),
            Visited::Lossy(store) => self.report.coverage = Some(store.expected_coverage(self.report.states)),
        }
        self.report
    }
}
