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

#[cfg(test)]
mod tests {
    use super::*;

    /// CB(s) of a whole graph, and of the graph without the last step of a thread.
    fn context_bound(graph: &Graph, without: Option<usize>) -> u32 {
        let mut state = Lattice::default();
        state.load(graph);
        if let Some(thread) = without {
            state.remove(graph, thread);
        }
        let arrivals = ContextCost::new(None).arrivals(graph, &mut state);
        arrivals.iter().map(|(_, cost)| *cost).min().unwrap_or(0)
    }

    /// Figure 2: the bound may fall along a step. Thread 1 does a1, a2; thread 2 does b1 after a1.
    #[test]
    fn the_context_bound_is_not_monotonic() {
        let graph = Graph::from_edges(3, &[(1, vec![]), (2, vec![(1, 1)]), (1, vec![])]);
        assert_eq!(context_bound(&graph, Some(1)), 1);
        assert_eq!(context_bound(&graph, None), 0);
    }

    /// The fewest vertices that meet every cycle, by trying all subsets.
    fn feedback_vertex_set(vertices: usize, edges: &[(usize, usize)]) -> u32 {
        let acyclic = |removed: u32| {
            let mut left: Vec<usize> = (0..vertices).filter(|v| removed >> v & 1 == 0).collect();
            loop {
                let source = left.iter().position(|v| !edges.iter().any(|(a, b)| b == v && left.contains(a)));
                match source {
                    Some(index) => left.remove(index),
                    None => return left.is_empty(),
                };
            }
        };
        (0_u32..1 << vertices).filter(|set| acyclic(*set)).map(u32::count_ones).min().unwrap_or(0)
    }

    /// Theorem 5: a thread with two actions for each vertex, an edge from the first action of `u` to the
    /// second of `v` for each edge.
    #[test]
    fn the_context_bound_of_a_reduction_is_its_minimum_feedback_vertex_set() {
        let mut numbers = 0x5EED_u64;
        for round in 0..400 {
            let vertices = 2 + round % 4;
            let mut edges = Vec::new();
            for a in 0..vertices {
                for b in (0..vertices).filter(|b| *b != a) {
                    numbers = numbers
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    if numbers >> 33 & 3 < 2 {
                        edges.push((a, b));
                    }
                }
            }
            let mut events: Vec<(usize, Vec<(usize, u32)>)> =
                (0..vertices).map(|v| (v + 1, vec![])).collect();
            events.extend((0..vertices).map(|v| {
                let into = edges.iter().filter(|(_, b)| *b == v);
                (v + 1, into.map(|(a, _)| (a + 1, 1)).collect())
            }));
            let graph = Graph::from_edges(vertices + 1, &events);
            assert_eq!(context_bound(&graph, None), feedback_vertex_set(vertices, &edges), "{edges:?}");
        }
    }
}
