//! Cycles through accepting states, by strongly connected components found on the way.
//!
//! H. N. Gabow: *Path-based depth-first search for strong and biconnected components*, Information Processing Letters 74,
//! 2000, with the acceptance of each component beside its root, as J.-M. Couvreur has it (FM 1999). The search ends at
//! the first step that closes a cycle in a component with an accepting state. Each state is expanded once.
//!
//! What is shown is not the search's own path: the stem is a shortest way, through states that were visited, to an
//! accepting state of the component, and the cycle a shortest way from there back to it.
//!
//! A fault on the way, or a stuck state, ends the search as in the others. There is no bound and no reduction.

use super::{Budget, Found, Options, Problem, Progress, Report, Stop};
use crate::store::{Exact, Handle};
use crate::system::{Successors, TransitionSystem, expand_all};

/// Header: the number of a state in the order of the search. New states have none yet.
const NUMBER: usize = 4;
const NEW: u32 = 0;
/// In place of the number: its component is done, and has no such cycle.
const DONE: u32 = u32::MAX;
/// Header of the second search: the state that it was reached from.
const PARENT: usize = 5;

/// A state on the search's path.
struct Frame {
    state: Handle,
    /// Where its successors begin among those to come.
    begin: usize,
}

/// A component as far as it is known: the number of its first state, and whether it has an accepting one.
struct Root {
    number: u32,
    accepting: bool,
}

struct Search<'s, S> {
    system: &'s mut S,
    store: Exact,
    /// The search's path.
    path: Vec<Frame>,
    /// Successors of the states on the path that are still to be visited.
    open: Vec<Handle>,
    /// The components on the path.
    roots: Vec<Root>,
    /// The states of those components, in the order of their numbers.
    live: Vec<Handle>,
    last: u32,
    out: Successors,
    state: Vec<u8>,
    report: Report,
}

pub(super) fn cycles<S: TransitionSystem>(
    system: &mut S,
    options: &Options,
    budget: &mut Budget<'_>,
) -> Report {
    debug_assert!(options.bound.is_none() && !options.all_errors);
    let first = match system.initial() {
        Ok(state) => state,
        Err(fault) => {
            let found = Found { problem: Problem::Initial(fault), states: vec![], bound: None };
            return Report { errors: 1, found: Some(found), ..Report::default() };
        }
    };
    let store = Exact::new(NUMBER, system.key());
    let mut search = Search {
        system,
        store,
        path: Vec::new(),
        open: Vec::new(),
        roots: Vec::new(),
        live: Vec::new(),
        last: NEW,
        out: Successors::default(),
        state: Vec::new(),
        report: Report { state_bytes: first.len() as u64, ..Report::default() },
    };
    let stopped = search.run(&first, budget);
    let mut report = search.report;
    report.complete = stopped.is_none() && report.found.is_none();
    report.stopped = stopped;
    report.states = search.store.len();
    report.transitions = report.states + report.matched;
    report.memory = report.memory.max(search.store.memory());
    report.stored_bytes = search.store.state_bytes();
    report
}

impl<S: TransitionSystem> Search<'_, S> {
    /// Searches to the end, to a violation or to a limit.
    fn run(&mut self, first: &[u8], budget: &mut Budget<'_>) -> Option<Stop> {
        let (handle, _) = self.store.insert(first, self.store.hash(first));
        let mut truncated = false;
        let mut next = Some(handle);
        loop {
            if let Some(state) = next.take() {
                if self.last + 1 == DONE {
                    return Some(Stop::Memory);
                }
                truncated |= !self.visit(state, budget.depth());
                if self.system.is_stopped() {
                    return Some(Stop::Time);
                }
                if self.report.found.is_some() {
                    return None;
                }
                if let Some(stop) = budget.check(false, || self.progress()) {
                    return Some(stop);
                }
            }
            let Some(frame) = self.path.last() else { break };
            if self.open.len() == frame.begin {
                self.leave();
                continue;
            }
            let state = self.open.pop().expect("there is one above the frame's begin");
            match number(&self.store, state) {
                NEW => next = Some(state),
                DONE => {}
                number => {
                    if self.close(number) {
                        return self.show(first, budget);
                    }
                }
            }
        }
        truncated.then_some(Stop::Depth)
    }

    fn progress(&self) -> (Progress, u64) {
        let states = self.store.len();
        let transitions = states + self.report.matched;
        let stacks =
            self.path.capacity() * size_of::<Frame>() + (self.open.capacity() + self.live.capacity()) * 8;
        (Progress { states, transitions, ..Progress::default() }, self.store.memory() + stacks as u64)
    }

    /// Puts a state on the path, with its successors. False where the path is as long as it may be.
    fn visit(&mut self, state: Handle, longest: u64) -> bool {
        self.last += 1;
        self.store.header_mut(state)[..NUMBER].copy_from_slice(&self.last.to_le_bytes());
        let tail = self.store.tail(state);
        self.state.clear();
        self.state.extend_from_slice(&tail[..self.system.length(tail)]);
        self.roots.push(Root { number: self.last, accepting: self.system.accepting(&self.state) });
        self.live.push(state);
        self.path.push(Frame { state, begin: self.open.len() });
        self.report.depth = self.report.depth.max(self.path.len() as u64 - 1);
        if self.path.len() as u64 >= longest {
            return false;
        }
        self.out.clear();
        expand_all(self.system, &self.state, &mut self.out);
        if self.system.is_stopped() {
            return true;
        }
        let mut bad = None;
        if self.out.list.is_empty() {
            bad = self.system.stuck(&self.state).map(Problem::Stuck);
        }
        for index in 0..self.out.list.len() {
            let step = self.out.list[index];
            if let Some(fault) = step.fault {
                bad = bad.or(Some(Problem::Step { fault, owner: step.owner }));
            }
            if step.dead {
                continue;
            }
            let successor = self.out.state(index);
            let (handle, fresh) = self.store.insert(successor, self.store.hash(successor));
            self.report.matched += u64::from(!fresh);
            self.report.state_bytes = self.report.state_bytes.max(successor.len() as u64);
            self.open.push(handle);
            if self.store.is_crowded() {
                self.store.grow(|bytes| self.system.length(bytes));
            }
        }
        if let Some(problem) = bad {
            let path = self.path.iter().map(|frame| frame.state);
            let states = path.map(|handle| bytes(self.system, &self.store, handle)).collect();
            self.report.errors = 1;
            self.report.found = Some(Found { problem, states, bound: None });
        }
        true
    }

    /// Takes the last state off the path, and its component with it if that is complete.
    fn leave(&mut self) {
        let frame = self.path.pop().expect("there is one");
        let own = number(&self.store, frame.state);
        if self.roots.last().is_some_and(|root| root.number == own) {
            self.roots.pop();
            while let Some(state) = self.live.pop() {
                self.store.header_mut(state)[..NUMBER].copy_from_slice(&DONE.to_le_bytes());
                if state == frame.state {
                    break;
                }
            }
        }
    }

    /// A step leads back to a state of a component on the path: all from there on are one. Whether it now has a cycle
    /// through an accepting state.
    fn close(&mut self, back: u32) -> bool {
        let mut accepting = false;
        while let Some(root) = self.roots.pop() {
            accepting |= root.accepting;
            if root.number <= back {
                self.roots.push(Root { number: root.number, accepting });
                break;
            }
        }
        accepting
    }

    /// A stem to the last component and a cycle through an accepting state of it.
    fn show(&mut self, first: &[u8], budget: &mut Budget<'_>) -> Option<Stop> {
        let root = self.roots.last().expect("a component was closed").number;
        let (store, key) = (&self.store, self.system.key());
        let numbered = |state: &[u8]| {
            let found = store.find(state, store.hash(state));
            found.map(|handle| number(store, handle)).filter(|&number| number != NEW)
        };
        let visited = |state: &[u8]| numbered(state).is_some();
        let inside = |state: &[u8]| numbered(state).is_some_and(|number| number != DONE && number >= root);
        let mut way = Way { system: &mut *self.system, budget, beside: store.memory(), memory: 0 };
        let stem = way.find(first, &visited, &|system, state| inside(state) && system.accepting(state), true);
        let shown = stem.and_then(|mut states| {
            let (start, seed) = (states.len() - 1, states[states.len() - 1].clone());
            let back = |_: &S, state: &[u8]| state[key..] == seed[key..];
            let cycle = way.find(&seed, &inside, &back, false)?;
            states.extend(cycle.into_iter().skip(1));
            Ok(Found { problem: Problem::Cycle { start }, states, bound: None })
        });
        self.report.memory = way.memory;
        self.report.errors = 1;
        match shown {
            Ok(found) => {
                self.report.found = Some(found);
                None
            }
            Err(stop) => {
                self.report.unshown_cycle = true;
                Some(stop)
            }
        }
    }
}

/// A shortest way, breadth first.
struct Way<'a, 'b, S> {
    system: &'a mut S,
    budget: &'a mut Budget<'b>,
    /// Bytes of the search before, which stays.
    beside: u64,
    /// The most bytes that both took.
    memory: u64,
}

impl<S: TransitionSystem> Way<'_, '_, S> {
    /// The states from one to the first that is wanted, all of them `within`. With `at_once`, the first itself may be it;
    /// otherwise a step at least is taken.
    fn find(
        &mut self,
        from: &[u8],
        within: &dyn Fn(&[u8]) -> bool,
        wanted: &dyn Fn(&S, &[u8]) -> bool,
        at_once: bool,
    ) -> Result<Vec<Vec<u8>>, Stop> {
        if at_once && wanted(self.system, from) {
            return Ok(vec![from.to_vec()]);
        }
        let mut store = Exact::new(PARENT, self.system.key());
        let (first, _) = store.insert(from, store.hash(from));
        let mut out = Successors::default();
        let mut next = first;
        while let Some(current) = store.from(next) {
            let state = bytes(self.system, &store, current);
            next = current + store.span(state.len());
            out.clear();
            expand_all(self.system, &state, &mut out);
            self.memory = self.memory.max(self.beside + store.memory());
            let now = Progress { states: store.len(), transitions: store.len(), ..Progress::default() };
            if let Some(stop) = self.budget.check(self.system.is_stopped(), || (now, self.memory)) {
                return Err(stop);
            }
            for index in (0..out.list.len()).filter(|&index| !out.list[index].dead) {
                let successor = out.state(index);
                if !within(successor) {
                    continue;
                }
                if wanted(self.system, successor) {
                    let mut states = vec![successor.to_vec()];
                    let mut at = current;
                    loop {
                        states.push(bytes(self.system, &store, at));
                        if at == first {
                            break;
                        }
                        let mut parent = [0; 8];
                        parent[..PARENT].copy_from_slice(store.header(at));
                        at = Handle::from_le_bytes(parent);
                    }
                    states.reverse();
                    return Ok(states);
                }
                let (handle, fresh) = store.insert(successor, store.hash(successor));
                if fresh {
                    store.header_mut(handle).copy_from_slice(&current.to_le_bytes()[..PARENT]);
                    if store.is_crowded() {
                        store.grow(|bytes| self.system.length(bytes));
                    }
                }
            }
        }
        unreachable!("the states of a component reach one another")
    }
}

fn number(store: &Exact, state: Handle) -> u32 {
    u32::from_le_bytes(store.header(state)[..NUMBER].try_into().expect("four bytes"))
}

fn bytes<S: TransitionSystem>(system: &S, store: &Exact, state: Handle) -> Vec<u8> {
    let tail = store.tail(state);
    tail[..system.length(tail)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::{Search as Order, StoreKind, search};
    use super::*;
    use crate::system::Fault;

    /// A random graph; each state is a byte, and so is the process that takes a step.
    struct Graph {
        steps: Vec<Vec<u8>>,
        accepting: Vec<bool>,
    }

    impl TransitionSystem for Graph {
        fn initial(&mut self) -> Result<Vec<u8>, Fault> {
            Ok(vec![0])
        }
        fn length(&self, _: &[u8]) -> usize {
            1
        }
        fn processes(&self, _: &[u8]) -> u32 {
            1
        }
        fn expand(&mut self, state: &[u8], process: u32, _: bool, out: &mut Successors) {
            for &next in &self.steps[usize::from(state[0])] {
                out.push(&[next], process, process, None, false);
            }
        }
        fn has_timeout(&self) -> bool {
            false
        }
        fn stuck(&mut self, _: &[u8]) -> Option<Fault> {
            None
        }
        fn stutter(&mut self, _: &[u8], _: &mut Successors) {}
        fn accepting(&self, state: &[u8]) -> bool {
            self.accepting[usize::from(state[0])]
        }
        fn safe(&mut self, _: &[u8], _: u32) -> bool {
            false
        }
    }

    impl Graph {
        /// What is reached from a state in a step or more.
        fn reach(&self, from: usize) -> Vec<bool> {
            let (mut seen, mut open) = (vec![false; self.steps.len()], vec![from]);
            while let Some(state) = open.pop() {
                for &next in &self.steps[state] {
                    if !std::mem::replace(&mut seen[usize::from(next)], true) {
                        open.push(usize::from(next));
                    }
                }
            }
            seen
        }
    }

    #[test]
    fn cycles_are_found_where_an_accepting_state_reaches_itself() {
        let mut seed = 1_u64;
        let mut roll = |sides: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % sides
        };
        let mut verdicts = [0; 2];
        for _ in 0..5000 {
            let size = 1 + roll(20);
            let steps = (0..size).map(|_| (0..roll(4)).map(|_| roll(size) as u8).collect()).collect();
            let accepting = (0..size).map(|_| roll(5) == 0).collect();
            let mut graph = Graph { steps, accepting };
            let mut live = graph.reach(0);
            live[0] = true;
            let wanted = (0..size).any(|at| live[at] && graph.accepting[at] && graph.reach(at)[at]);
            let options =
                Options { search: Order::Dfs, store: StoreKind::Exact, cycles: true, ..Options::default() };
            let report = search(&mut graph, &options, &mut |_| true);
            assert_eq!(report.found.is_some(), wanted, "{:?} {:?}", graph.steps, graph.accepting);
            assert_eq!(report.complete, !wanted);
            verdicts[usize::from(wanted)] += 1;
            let Some(Found { problem: Problem::Cycle { start }, states, .. }) = report.found else {
                continue;
            };
            let path: Vec<usize> = states.iter().map(|state| usize::from(state[0])).collect();
            assert!(path[0] == 0 && start + 1 < path.len() && path[start] == path[path.len() - 1]);
            assert!(path.windows(2).all(|pair| graph.steps[pair[0]].contains(&(pair[1] as u8))));
            assert!(path[start..].iter().any(|&state| graph.accepting[state]));
        }
        assert!(verdicts.iter().all(|&count| count > 500), "{verdicts:?}");
    }

    #[test]
    fn a_path_that_is_too_long_is_cut_and_said() {
        let steps = (0..9).map(|state| vec![(state + 1) % 10]).chain([vec![0]]).collect();
        let mut graph = Graph { steps, accepting: (0..10).map(|state| state == 5).collect() };
        let mut limits = super::super::Limits { depth: Some(9), ..Default::default() };
        let mut run = |limits| {
            search(&mut graph, &Options { cycles: true, limits, ..Options::default() }, &mut |_| true)
        };
        let report = run(limits);
        assert!(report.found.is_none() && !report.complete && report.stopped == Some(Stop::Depth));
        limits.depth = Some(20);
        assert!(run(limits).found.is_some());
    }
}
