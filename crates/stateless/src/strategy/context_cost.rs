//! The context bound of a state: the fewest preemptions of any execution that leads to it.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! sections 2 and 3.2: CB(s, t) by recursion over the frontier of s, each value computed once and kept for
//! the whole search.
//!
//! Deviations:
//! 1. A switch is free also after a thread that yielded, waits with a time limit, or is held back by the
//!    fair bound; and a step that the fair bound rules out costs more than any bound.

use std::collections::HashMap;

use crate::graph::Graph;
use crate::lattice::Lattice;

/// More than any bound.
pub(crate) const NEVER: u32 = u32::MAX / 2;

/// The costs that are known.
#[derive(Debug)]
pub(crate) struct ContextCost {
    /// The fair bound.
    pub(crate) yields: Option<u32>,
    /// For each state, the threads of its frontier by name, each with the cost of arriving by its step.
    known: HashMap<u128, Box<[(u64, u32)]>>,
}

impl ContextCost {
    /// Nothing is known yet.
    pub(crate) fn new(yields: Option<u32>) -> Self {
        ContextCost { yields, known: HashMap::new() }
    }

    /// How many states are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// CB(s, t): the fewest preemptions of an execution whose last step is the thread's, from this state.
    pub(crate) fn of_step(&mut self, graph: &Graph, state: &mut Lattice, thread: usize) -> u32 {
        let allowed = state.allowed(graph, self.yields);
        if !allowed.contains(&thread) {
            return NEVER;
        }
        if state.taken.iter().all(|taken| *taken == 0) {
            return 0;
        }
        let arrivals = self.arrivals(graph, state);
        let costs = arrivals.iter().map(|&(last, cost)| {
            cost + u32::from(last != thread && state.preemptible(graph, last, &allowed))
        });
        costs.min().unwrap_or(NEVER).min(NEVER)
    }

    /// For each thread of the frontier, the cost of arriving in this state by its step.
    fn arrivals(&mut self, graph: &Graph, state: &mut Lattice) -> Vec<(usize, u32)> {
        if let Some(known) = self.known.get(&state.hash) {
            let thread = |name: u64| graph.threads.iter().position(|line| line.name == name);
            return known.iter().filter_map(|&(name, cost)| Some((thread(name)?, cost))).collect();
        }
        let mut arrivals = Vec::new();
        for thread in state.frontier(graph) {
            state.remove(graph, thread);
            let cost = self.of_step(graph, state, thread);
            state.add(graph, thread);
            arrivals.push((thread, cost));
        }
        let named = arrivals.iter().map(|&(thread, cost)| (graph.threads[thread].name, cost));
        self.known.insert(state.hash, named.collect());
        arrivals
    }
}
