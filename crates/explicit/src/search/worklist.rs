//! Depth first and breadth first over an exact store: one loop, a stack or a queue.
//!
//! A state's successors are stored as soon as they are found, so the depth-first order is that of a stack
//! of open states. What is reached, how often, and every count are the same as for the recursive search.
//!
//! Nothing is kept per state but what finds it and, breadth first, the state that it was reached from.
//! Depth first, a state stays on the stack below its successors until they are done: the way to a state is
//! what lies open below it. Breadth first, the store itself is the queue, since states lie in it in the order
//! in which they were found.
//!
//! Partial-order reduction: where one process has only safe steps, the others are left out, provided that
//! one of the steps leads to a state that is not yet expanded. This is the stack proviso for an arbitrary
//! order: along steps that were taken alone, the time of expansion grows, so every chain of postponements
//! ends in a state that postpones nothing.

use super::{Budget, Found, Options, Problem, Progress, Report, Search, Stop};
use crate::store::{Exact, Handle};
use crate::system::{Fault, Successors, TransitionSystem, expand_all};

/// Header with reduction: one byte, set when the state has been expanded.
const EXPANDED: u8 = 1;
/// Header breadth first: the state it was reached from, after the byte above if there is one.
const PARENT: usize = 5;
/// Where the first state lies.
const FIRST: Handle = 1;
/// Marks a state of the stack whose successors lie above it.
const ON_PATH: Handle = 1 << 63;

/// The open states, and the way to the one at hand.
enum Open {
    Stack { states: Vec<Handle>, path: u64 },
    Queue { next: Handle, level: u64, next_level: Option<Handle> },
}

impl Open {
    /// The next state to expand, and the steps to it.
    fn take<S: TransitionSystem>(&mut self, system: &S, store: &Exact) -> Option<(Handle, u64)> {
        match self {
            Open::Stack { states, path } => loop {
                let top = states.last_mut()?;
                if *top & ON_PATH == 0 {
                    let handle = *top;
                    *top |= ON_PATH;
                    *path += 1;
                    return Some((handle, *path - 1));
                }
                states.pop();
                *path -= 1;
            },
            Open::Queue { next, level, next_level } => {
                let handle = store.from(*next)?;
                if *next_level == Some(handle) {
                    *level += 1;
                    *next_level = None;
                }
                *next = handle + store.span(system.length(store.tail(handle)));
                Some((handle, *level))
            }
        }
    }

    fn memory(&self) -> u64 {
        match self {
            Open::Stack { states, .. } => states.capacity() as u64 * 8,
            Open::Queue { .. } => 0,
        }
    }
}

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
    let breadth = options.search == Search::Bfs;
    let mark = usize::from(options.reduce);
    let mut store = Exact::new(mark + if breadth { PARENT } else { 0 }, system.key());
    let (handle, _) = store.insert(&first, store.hash(&first));
    let mut open = if breadth {
        Open::Queue { next: handle, level: 0, next_level: None }
    } else {
        Open::Stack { states: vec![handle], path: 0 }
    };
    report.state_bytes = first.len() as u64;
    let (mut out, mut state) = (Successors::default(), Vec::new());
    let mut hashes = Vec::new();
    let mut truncated = false;
    while let Some((current, depth)) = open.take(system, &store) {
        if depth + 1 >= budget.depth() {
            truncated = true;
            continue;
        }
        state.clear();
        let tail = store.tail(current);
        state.extend_from_slice(&tail[..system.length(tail)]);
        let mut done = false;
        if options.reduce {
            store.header_mut(current)[0] |= EXPANDED;
            done = reduced(system, &store, &state, &mut out);
        }
        if !done {
            out.clear();
            expand_all(system, &state, &mut out);
        }
        if system.is_stopped() {
            report.stopped = Some(Stop::Time);
            break;
        }
        let problem = |fault: Fault, owner| Problem::Step { fault, owner };
        let mut bad: Option<Problem> = None;
        if out.list.is_empty()
            && let Some(fault) = system.stuck(&state)
        {
            report.errors += 1;
            bad = Some(Problem::Stuck(fault));
        }
        hashes.clear();
        hashes.extend((0..out.list.len()).map(|index| match out.list[index].dead {
            true => 0,
            false => store.hash(out.state(index)),
        }));
        store.touch(&hashes);
        for (index, &hash) in hashes.iter().enumerate() {
            let step = out.list[index];
            if let Some(fault) = step.fault {
                report.errors += 1;
                bad = bad.or(Some(problem(fault, step.owner)));
            }
            if step.dead {
                continue;
            }
            let successor = out.state(index);
            let (handle, fresh) = store.insert(successor, hash);
            if !fresh {
                report.matched += 1;
                continue;
            }
            report.state_bytes = report.state_bytes.max(successor.len() as u64);
            report.depth = report.depth.max(depth + 1);
            match &mut open {
                Open::Stack { states, .. } => states.push(handle),
                Open::Queue { next_level, .. } => {
                    next_level.get_or_insert(handle);
                    let parent = &mut store.header_mut(handle)[mark..];
                    parent.copy_from_slice(&current.to_le_bytes()[..PARENT]);
                }
            }
            if store.is_crowded() {
                store.grow(|bytes| system.length(bytes));
            }
        }
        if let Some(problem) = bad
            && report.found.is_none()
        {
            let states = path(system, &store, &open, mark, current);
            report.found = Some(Found { problem, states, bound: None });
        }
        if report.found.is_some() && !options.all_errors {
            break;
        }
        let progress = || {
            let states = store.len();
            let transitions = states + report.matched;
            let now = Progress { states, transitions, bound: None, ..Progress::default() };
            (now, store.memory() + open.memory())
        };
        if let Some(stop) = budget.check(false, progress) {
            report.stopped = Some(stop);
            break;
        }
    }
    if truncated && report.stopped.is_none() {
        report.stopped = Some(Stop::Depth);
    }
    report.complete = report.stopped.is_none() && (report.found.is_none() || options.all_errors);
    report.states = store.len();
    report.transitions = report.states + report.matched;
    report.memory = store.memory() + open.memory();
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

/// The states from the first to the one at hand.
fn path<S: TransitionSystem>(
    system: &S,
    store: &Exact,
    open: &Open,
    mark: usize,
    current: Handle,
) -> Vec<Vec<u8>> {
    let handles: Vec<Handle> = match open {
        Open::Stack { states, .. } => {
            states.iter().filter(|&state| state & ON_PATH != 0).map(|state| state & !ON_PATH).collect()
        }
        Open::Queue { .. } => {
            let mut list = vec![current];
            let mut at = current;
            while at != FIRST {
                let mut bytes = [0; 8];
                bytes[..PARENT].copy_from_slice(&store.header(at)[mark..]);
                at = Handle::from_le_bytes(bytes);
                list.push(at);
            }
            list.reverse();
            list
        }
    };
    let state = |handle| {
        let tail = store.tail(handle);
        tail[..system.length(tail)].to_vec()
    };
    handles.into_iter().map(state).collect()
}
