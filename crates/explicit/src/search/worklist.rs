//! Depth first and breadth first over an exact store: one loop, a stack or a queue.
//!
//! A state's successors are stored as soon as they are found, so the depth-first order is that of a stack
//! of open states. What is reached, how often, and every count are the same as for the recursive search.
//!
//! Partial-order reduction: where one process has only safe steps, the others are left out, provided that
//! one of the steps leads to a state that is not yet expanded. This is the stack proviso for an arbitrary
//! order: along steps that were taken alone, the time of expansion grows, so every chain of postponements
//! ends in a state that postpones nothing.

use super::{Budget, Found, Options, Problem, Progress, Report, Search};
use crate::store::{Exact, Handle};
use crate::system::{Fault, Successors, TransitionSystem, expand_all};

/// How a state was first reached.
#[derive(Clone, Copy)]
struct Record {
    handle: Handle,
    parent: u32,
    depth: u32,
}

const NONE: u32 = u32::MAX;
/// Header: one byte, set when the state has been expanded. Only kept with reduction.
const EXPANDED: u8 = 1;

pub(super) fn worklist<S: TransitionSystem>(
    system: &mut S,
    options: &Options,
    budget: &mut Budget<'_>,
) -> Report {
    let mut report = Report::default();
    let first = match system.initial() {
        Ok(state) => state,
        Err(fault) => {
            report.errors = 1;
            report.found = Some(Found { problem: Problem::Initial(fault), states: vec![], bound: None });
            return report;
        }
    };
    let mut store = Exact::new(usize::from(options.reduce), system.key());
    let breadth = options.search == Search::Bfs;
    let mut records: Vec<Record> = Vec::new();
    let mut stack: Vec<u32> = Vec::new();
    let mut next = 0_usize;
    let (handle, _) = store.insert(&first, store.hash(&first));
    records.push(Record { handle, parent: NONE, depth: 0 });
    stack.push(0);
    report.state_bytes = first.len() as u64;
    let (mut out, mut state) = (Successors::default(), Vec::new());
    let mut edges = 0_u64;
    let mut new: Vec<bool> = Vec::new();
    loop {
        let current = if breadth {
            if next >= records.len() {
                break;
            }
            next += 1;
            (next - 1) as u32
        } else {
            match stack.pop() {
                Some(current) => current,
                None => break,
            }
        };
        let record = records[current as usize];
        state.clear();
        let tail = store.tail(record.handle);
        state.extend_from_slice(&tail[..system.length(tail)]);
        if options.reduce {
            store.header_mut(record.handle)[0] |= EXPANDED;
        }
        let mut done = false;
        if options.reduce {
            done = reduced(system, &store, &state, &mut out);
        }
        if !done {
            out.clear();
            expand_all(system, &state, &mut out);
        }
        let problem = |fault: Fault, owner| Problem::Step { fault, owner };
        let mut bad: Option<Problem> = None;
        if out.list.is_empty()
            && let Some(fault) = system.stuck(&state)
        {
            report.errors += 1;
            bad = Some(Problem::Stuck(fault));
        }
        new.clear();
        for index in 0..out.list.len() {
            let step = out.list[index];
            if let Some(fault) = step.fault {
                report.errors += 1;
                bad = bad.or(Some(problem(fault, step.owner)));
            }
            if step.dead {
                continue;
            }
            edges += 1;
            let successor = out.state(index);
            report.state_bytes = report.state_bytes.max(successor.len() as u64);
            let (handle, fresh) = store.insert(successor, store.hash(successor));
            if !fresh {
                report.matched += 1;
                continue;
            }
            if store.is_crowded() {
                store.grow(|bytes| system.length(bytes));
            }
            let depth = record.depth + 1;
            report.depth = report.depth.max(u64::from(depth));
            if !breadth {
                stack.push(records.len() as u32);
            }
            records.push(Record { handle, parent: current, depth });
        }
        if let Some(problem) = bad
            && report.found.is_none()
        {
            let states = path(system, &store, &records, current);
            report.found = Some(Found { problem, states, bound: None });
        }
        if report.found.is_some() && !options.all_errors {
            break;
        }
        let memory = || store.memory() + records.capacity() as u64 * 16 + stack.capacity() as u64 * 4;
        let progress = || {
            (
                Progress { states: store.len(), transitions: edges, bound: None, ..Progress::default() },
                memory(),
            )
        };
        if let Some(stop) = budget.check(progress) {
            report.stopped = Some(stop);
            break;
        }
        if records.len() >= NONE as usize - 1 {
            report.stopped = Some(super::Stop::Memory);
            break;
        }
    }
    report.complete = report.stopped.is_none() && (report.found.is_none() || options.all_errors);
    report.states = store.len();
    report.transitions = report.states + report.matched;
    report.memory = store.memory() + records.capacity() as u64 * 16 + stack.capacity() as u64 * 4;
    report.stored_bytes = store.state_bytes();
    report
}

/// Tries to expand one process alone. Whether that was enough.
fn reduced<S: TransitionSystem>(system: &mut S, store: &Exact, state: &[u8], out: &mut Successors) -> bool {
    for process in 0..system.processes(state) {
        if !system.safe(state, process) {
            continue;
        }
        out.clear();
        system.expand(state, process, false, out);
        let open = (0..out.list.len()).any(|index| {
            let successor = out.state(index);
            match store.find(successor, store.hash(successor)) {
                None => true,
                Some(handle) => store.header(handle)[0] & EXPANDED == 0,
            }
        });
        if open && out.list.iter().all(|step| step.fault.is_none()) {
            return true;
        }
    }
    false
}

/// The states from the first to a record.
fn path<S: TransitionSystem>(
    system: &S,
    store: &Exact,
    records: &[Record],
    mut current: u32,
) -> Vec<Vec<u8>> {
    let mut states = Vec::new();
    while current != NONE {
        let record = records[current as usize];
        let tail = store.tail(record.handle);
        states.push(tail[..system.length(tail)].to_vec());
        current = record.parent;
    }
    states.reverse();
    states
}
