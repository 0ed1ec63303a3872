//! Partial-order reduction for context-bounded search, with memory: every terminal partial order within the
//! bound exactly once.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! Algorithm 2 with `Mark`; and Algorithm 1, which visits every prefix within the bound too. States are
//! happens-before graphs by their canonical hashes.
//!
//! Deviations:
//! 1. A state that was never executed has no successor to look up before its step is taken. What is kept of
//!    H is therefore the *steps* into it: when `Mark` puts a state into H, the steps that lead there from
//!    each predecessor are known from the graph.
//! 2. `Search` takes a step if the execution that it is on can afford it, not if some other linearization
//!    could; so every execution has no more preemptions than the bound, and a counterexample is the simplest
//!    as it stands. Nothing is missed, because a state that was left early is not in H; an execution may end
//!    without reaching a new terminal state, and these are counted. Algorithm 1 puts states into H when it
//!    first visits them, so there a step is taken if its context bound allows it, as in the paper.
//! 3. A step that ends the execution (a violation) happens after everything.
//! 4. Terminal graphs are kept, so that the next bound need not run them again: they are marked anew.
//! 5. When the tables have grown past a limit, nothing more is marked: the search goes on as a plain bounded
//!    one, slower and no less complete.

use selvedge_core::{Bounds, Decision, Measure, ThreadId, ThreadSet};

use super::backtrack::last_thread;
use super::context_cost::{ContextCost, Here, NEVER};
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted};
use crate::coverage::HashedSet;
use crate::graph::{Graph, Races};
use crate::happens_before::{mix, value_hash};
use crate::lattice::Lattice;
use crate::program::Onward;

/// Every terminal partial order within a bound on preemptions, once, bound by bound.
///
/// ```
/// use selvedge_core::Measure;
/// use selvedge_stateless::{Strategy, strategy::CbPor};
/// let cb_por = CbPor::new(Some(2), None);
/// assert_eq!(cb_por.bound(), Some((Measure::Preemptions, 0)));
/// ```
#[derive(Debug)]
pub struct CbPor {
    /// Algorithm 1 rather than 2.
    all: bool,
    most: Option<u32>,
    bound: Option<u32>,
    path: Vec<Node>,
    begun: bool,
    cut: bool,
    blocked: u64,
    graph: Graph,
    state: Lattice,
    marks: Marks,
    /// How many of the graph's first events the lattice has.
    loaded: usize,
    /// How many preemptions the last execution had after each of its steps.
    costs: Vec<u32>,
    /// The names of the threads of the last execution.
    names: Vec<u64>,
    /// The terminal graphs that were reached, for the next bound.
    terminals: Vec<Graph>,
}

/// The part of H that is looked up.
#[derive(Clone, Debug)]
struct Marks {
    /// What states cost; marked are those from which every terminal state within the bound has been
    /// reached.
    cost: ContextCost,
    /// Steps into them; see [`step`].
    steps: HashedSet,
    bound: Option<u32>,
    cut: bool,
}

#[derive(Clone, Debug)]
struct Node {
    decision: Decision,
    /// The threads that were tried; for a choice of a value, the values.
    tried: ThreadSet,
    /// Threads that this execution cannot afford to choose, and another one to this state can.
    cheaper: ThreadSet,
    fingerprint: Option<u64>,
    state: u128,
    arity: u32,
    /// The thread that took the step before; for a choice of a value, the one that chooses.
    running: Option<ThreadId>,
    preemptible: bool,
    preemptions: u32,
    /// The threads that can be chosen.
    threads: ThreadSet,
}

/// A thread or a value as one of a set.
fn member(decision: Decision) -> ThreadId {
    match decision {
        Decision::Thread(thread) => thread,
        Decision::Value(value) => ThreadId(value),
    }
}

/// So many states may be remembered, and terminal graphs kept.
const MOST_STATES: usize = 1 << 23;
const MOST_TERMINALS: usize = 1 << 17;
/// Longer executions are not marked: walking their prefixes goes as deep as they are long.
const LONGEST: usize = 2_000;

impl CbPor {
    /// A search over bounds 0 to `most` on preemptions, or until one cuts nothing off; with this fair bound.
    pub fn new(most: Option<u32>, yields: Option<u32>) -> Self {
        let bound = Some(0);
        CbPor {
            all: false,
            most,
            bound,
            path: Vec::new(),
            begun: false,
            cut: false,
            blocked: 0,
            graph: Graph::default(),
            state: Lattice::new(yields),
            loaded: 0,
            costs: Vec::new(),
            names: Vec::new(),
            marks: Marks { cost: ContextCost::default(), steps: HashedSet::default(), bound, cut: false },
            terminals: Vec::new(),
        }
    }

    /// Every prefix of a partial order within the bound too (Algorithm 1), at the last bound at once.
    pub fn all(self) -> Self {
        CbPor { all: true, ..self }.at_bound()
    }

    /// Goes to the last bound at once, or searches without one.
    pub fn at_bound(mut self) -> Self {
        self.bound = self.most;
        self.marks.bound = self.most;
        self
    }

    /// How many executions ended without reaching a new terminal state.
    pub fn blocked(&self) -> u64 {
        self.blocked
    }

    /// Puts the states of an execution into H (Algorithm 1).
    fn visited(&mut self, execution: &Finished<'_>) {
        self.load(execution);
        let (graph, state) = (&self.graph, &mut self.state);
        if execution.pruned {
            // The state that it was ended in: where no step that it could afford was new.
            self.path.push(Node {
                decision: Decision::Value(u32::MAX),
                tried: ThreadSet::default(),
                cheaper: ThreadSet::default(),
                fingerprint: None,
                state: state.hash,
                arity: 0,
                running: None,
                preemptible: false,
                preemptions: u32::MAX,
                threads: (0..graph.threads.len() as u32).map(ThreadId).collect(),
            });
        }
        let mut index = self.path.len();
        for event in (0..=graph.events.len()).rev() {
            // `state` is what there is before this event.
            let begin = graph.events.get(event).map_or(execution.record.len(), |event| event.point as usize);
            if self.marks.cost.mark(state.hash) {
                for thread in state.frontier(graph).iter().map(ThreadId::index) {
                    let removed = state.remove(graph, thread);
                    self.marks.step_into(graph, state.hash, removed.event);
                    state.put_back(graph, thread, &removed);
                }
            }
            if begin < index {
                index = begin;
                let node = &mut self.path[begin];
                node.cheaper.clear();
                let here = self.marks.cost.look(graph, state);
                for thread in here.allowed.iter() {
                    if self.marks.within(graph, state, &here, thread.index()) {
                        node.cheaper.insert(thread);
                    }
                }
            }
            if let Some(last) = event.checked_sub(1) {
                state.remove(graph, graph.events[last].thread.index());
            }
        }
        for event in &graph.events {
            state.add(graph, event.thread.index());
        }
    }

    /// Makes the graph and the lattice those of an execution.
    fn load(&mut self, execution: &Finished<'_>) {
        let common = self.graph.update(execution, Races::No);
        let points = execution.record.points();
        let later = self.graph.events.iter().skip(1).map(|event| points[event.point as usize].preemptions);
        self.costs.clear();
        self.costs.extend(later.chain([execution.preemptions]));
        self.state.load(&self.graph, common.min(self.loaded), &self.costs);
        self.loaded = self.graph.events.len();
        self.marks.cost.begin(&self.graph);
    }

    /// Goes on to the next bound.
    fn next_bound(&mut self, bound: u32) {
        self.bound = Some(bound);
        self.marks.bound = self.bound;
        self.marks.cost.unmark_all();
        self.marks.steps.clear();
        self.marks.cut = false;
        self.cut = false;
        self.path.clear();
        self.begun = false;
        for graph in &self.terminals {
            self.state.load(graph, 0, &[]);
            self.marks.cost.begin(graph);
            let frontier = self.state.frontier(graph);
            self.marks.mark(graph, &mut self.state, &frontier);
        }
        self.loaded = 0;
    }
}

impl Strategy for CbPor {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        loop {
            if !self.begun {
                self.begun = true;
                // The state that every execution begins in has the hash 0.
                if !self.marks.cost.is_marked(0) {
                    prefix.clear();
                    return true;
                }
            }
            while let Some(node) = self.path.last_mut() {
                let next = node.untried(&self.marks, &self.names, self.bound, &mut self.cut).next();
                if let Some(decision) = next {
                    node.decision = decision;
                    node.tried.insert(member(decision));
                    prefix.expect = node.fingerprint;
                    prefix.decisions.clear();
                    prefix.decisions.extend(self.path.iter().map(|node| node.decision));
                    return true;
                }
                self.path.pop();
            }
            match (self.bound, self.most) {
                (Some(bound), most) if most.is_none_or(|most| bound < most) && self.cut() => {
                    self.next_bound(bound + 1);
                }
                _ => return false,
            }
        }
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let mut decisions: Vec<_> = self.path.iter().map(|node| node.decision).collect();
        let at = self.path.iter().rposition(|node| {
            decisions.pop();
            node.untried(&self.marks, &self.names, self.bound, &mut false).next().is_some_and(|decision| {
                decisions.push(decision);
                let is_wanted = wanted(&decisions, Onward::Calmly);
                decisions.pop();
                is_wanted
            })
        })?;
        Some(Box::new(CbPor {
            path: self.path[..=at].to_vec(),
            begun: true,
            graph: self.graph.clone(),
            state: self.state.clone(),
            marks: self.marks.clone(),
            costs: Vec::new(),
            names: self.names.clone(),
            terminals: Vec::new(),
            most: self.bound,
            ..*self
        }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        let record = point.record;
        if point.arity > 0 {
            let name = record.name(last_thread(point.decisions));
            let new = |value: &u32| !self.marks.steps.contains(&step(point.state.0, name, value + 1));
            return Choice::Take(Decision::Value((0..point.arity).find(new).unwrap_or(0)));
        }
        let Decision::Thread(preferred) = point.without_preemption() else {
            unreachable!("a choice between threads")
        };
        let others = point.enabled.iter().filter(|thread| *thread != preferred);
        for thread in std::iter::once(preferred).chain(others) {
            let price = u32::from(point.preemptible && point.running != Some(thread));
            let affordable = self.bound.is_none_or(|most| point.preemptions + price <= most);
            if affordable && !self.marks.steps.contains(&step(point.state.0, record.name(thread), 0)) {
                return Choice::Take(Decision::Thread(thread));
            }
        }
        Choice::Prune
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        self.path.truncate(execution.prefix);
        self.names.clear();
        self.names.extend((0..record.threads() as u32).map(|thread| record.name(ThreadId(thread))));
        let first = self.path.len();
        let mut last = (first > 0).then(|| last_thread(&record.decisions()[..first]));
        for (index, decision) in record.decisions().iter().enumerate().skip(first) {
            let point = &record.points()[index];
            self.path.push(Node {
                decision: *decision,
                tried: std::iter::once(member(*decision)).collect(),
                cheaper: ThreadSet::default(),
                fingerprint: Some(point.fingerprint),
                state: record.state(index).0,
                arity: point.arity,
                running: if point.arity > 0 { last } else { point.running },
                preemptible: point.preemptible,
                preemptions: point.preemptions,
                threads: ThreadSet::from_words(record.enabled_words(point)),
            });
            if let Decision::Thread(thread) = decision {
                last = Some(*thread);
            }
        }
        if self.all {
            return self.visited(execution);
        }
        if execution.pruned {
            self.blocked += 1;
            self.cut |= self.bound.is_some();
            return;
        }
        let room = self.marks.cost.len() < MOST_STATES;
        if record.len() > LONGEST || !room {
            return;
        }
        self.load(execution);
        let frontier = self.state.frontier(&self.graph);
        self.marks.mark(&self.graph, &mut self.state, &frontier);
        let more = self.bound.is_some_and(|bound| self.most.is_none_or(|most| bound < most));
        if more && self.terminals.len() < MOST_TERMINALS {
            self.terminals.push(self.graph.clone());
        }
    }

    fn wants_pending(&self) -> bool {
        true
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        self.bound.map(|bound| (Measure::Preemptions, bound))
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds { preemptions: self.bound, ..Bounds::default() })
    }

    fn cut(&self) -> bool {
        self.cut || self.marks.cut
    }

    fn in_order(&self) -> bool {
        true
    }
}

impl Node {
    /// What may be tried here next, those that cost nothing first; notes whether the bound cuts something off.
    fn untried<'a>(
        &'a self,
        marks: &'a Marks,
        names: &'a [u64],
        bound: Option<u32>,
        cut: &'a mut bool,
    ) -> impl Iterator<Item = Decision> + 'a {
        let name = |thread: ThreadId| names[thread.index()];
        let new = |name, value| !marks.steps.contains(&step(self.state, name, value));
        let chooses = self.running.map_or(0, name);
        let values = (0..self.arity)
            .filter(move |value| new(chooses, value + 1) && !self.tried.contains(ThreadId(*value)))
            .map(Decision::Value);
        let price = |thread: ThreadId| u32::from(self.preemptible && self.running != Some(thread));
        let prices = if self.arity > 0 { 0..0 } else { 0..u32::from(self.preemptible) + 1 };
        let threads = prices.flat_map(move |wanted| {
            self.threads
                .iter()
                .map(move |thread| (wanted, thread))
                .filter(move |(_, thread)| price(*thread) == wanted)
        });
        let threads = threads.filter(move |(price, thread)| {
            if self.tried.contains(*thread) || !new(name(*thread), 0) {
                return false;
            }
            let affordable = self.fingerprint.is_some()
                && bound.is_none_or(|most| self.preemptions.saturating_add(*price) <= most);
            let wanted = affordable || self.cheaper.contains(*thread);
            *cut |= !wanted;
            wanted
        });
        values.chain(threads.map(|(_, thread)| Decision::Thread(thread)))
    }
}

/// A step from a state by the thread with this name; with 0, or a value that it chooses plus 1.
#[inline]
fn step(state: u128, name: u64, value: u32) -> u128 {
    state ^ mix(name, u64::from(value))
}

impl Marks {
    /// Whether a step from a state is within the bound.
    fn within(&mut self, graph: &Graph, state: &mut Lattice, here: &Here, thread: usize) -> bool {
        let Some(most) = self.bound else { return true };
        let most = most.min(NEVER - 2);
        state.preempted(thread) <= most && self.cost.of_step(graph, state, here, thread, most) <= most
    }

    /// Puts a state with this frontier into H, and then every predecessor from which nothing new can be reached.
    fn mark(&mut self, graph: &Graph, state: &mut Lattice, frontier: &ThreadSet) {
        if !self.cost.mark(state.hash) {
            return;
        }
        for thread in frontier.iter().map(ThreadId::index) {
            let removed = state.remove(graph, thread);
            // Most of those that are not within the bound need not be looked at to know that.
            if self.bound.is_none_or(|most| state.preempted(thread) <= most) {
                let here = self.cost.look(graph, state);
                if self.within(graph, state, &here, thread) {
                    self.step_into(graph, state.hash, removed.event);
                    if !here.marked && self.exhausted(graph, state, &here) {
                        let frontier = self.cost.frontier(&here);
                        self.mark(graph, state, &frontier);
                    }
                }
            }
            state.put_back(graph, thread, &removed);
        }
    }

    /// Notes that a step leads into H; a step that chooses values, once all of them do.
    fn step_into(&mut self, graph: &Graph, before: u128, event: usize) {
        let thread = &graph.threads[graph.events[event].thread.index()];
        let choices = graph.choices(event);
        for (index, &(value, arity)) in choices.iter().enumerate().rev() {
            let actions = u64::from(graph.events[event].number);
            let chosen = choices[..index].iter().map(|(value, _)| value_hash(thread.name, actions, *value));
            let at = chosen.fold(before, |hash, value| hash ^ value);
            self.steps.insert(step(at, thread.name, value + 1));
            if !(1..=arity).all(|value| self.steps.contains(&step(at, thread.name, value))) {
                return;
            }
        }
        self.steps.insert(step(before, thread.name, 0));
    }

    /// Whether every step from a state leads into H or exceeds the bound.
    fn exhausted(&mut self, graph: &Graph, state: &mut Lattice, here: &Here) -> bool {
        let mut cut = false;
        let exhausted = here.allowed.iter().map(ThreadId::index).all(|thread| {
            if self.steps.contains(&step(state.hash, graph.threads[thread].name, 0)) {
                return true;
            }
            cut = true;
            !self.within(graph, state, here, thread)
        });
        self.cut |= exhausted && cut;
        exhausted
    }
}
