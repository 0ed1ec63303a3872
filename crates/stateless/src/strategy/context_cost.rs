//! The context bound of a state: the fewest preemptions of any execution that leads to it.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! sections 2 and 3.2: CB(s, t) by recursion over the frontier of s, each value computed once and kept for
//! the whole search.
//!
//! Deviations:
//! 1. A switch is free also after a thread that yielded, waits with a time limit, or is held back by the
//!    fair bound; and a step that the fair bound rules out costs more than any bound.

use std::ops::Range;

use selvedge_core::ThreadId;

use crate::coverage::HashedMap;
use crate::graph::Graph;
use crate::lattice::Lattice;

/// More than any bound.
pub(crate) const NEVER: u32 = u32::MAX / 2;

/// The costs that are known.
#[derive(Debug)]
pub(crate) struct ContextCost {
    /// The fair bound.
    pub(crate) yields: Option<u32>,
    /// For each state, where its costs begin and how many there are.
    known: HashedMap<(u32, u32)>,
    /// For each thread of a state's frontier, its name, and the cost of arriving by its step.
    costs: Vec<(u64, u32)>,
    /// Costs of states that are being worked out.
    under_way: Vec<(u64, u32)>,
}

impl ContextCost {
    /// Nothing is known yet.
    pub(crate) fn new(yields: Option<u32>) -> Self {
        ContextCost { yields, known: HashedMap::default(), costs: Vec::new(), under_way: Vec::new() }
    }

    /// How many states are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// CB(s, t): the fewest preemptions of an execution whose last step is the thread's, from this state.
    pub(crate) fn of_step(&mut self, graph: &Graph, state: &mut Lattice, thread: usize) -> u32 {
        let allowed = state.allowed(graph, self.yields);
        if !allowed.contains(ThreadId(thread as u32)) {
            return NEVER;
        }
        if state.taken.iter().all(|taken| *taken == 0) {
            return 0;
        }
        let mut least = NEVER;
        for index in self.arrivals(graph, state) {
            let (name, cost) = self.costs[index];
            let Some(last) = graph.threads.iter().position(|line| line.name == name) else { continue };
            if cost < least {
                least =
                    least.min(cost + u32::from(last != thread && state.preemptible(graph, last, &allowed)));
            }
        }
        least
    }

    /// Where the costs are of arriving in this state by the step of each thread of the frontier.
    fn arrivals(&mut self, graph: &Graph, state: &mut Lattice) -> Range<usize> {
        if let Some(&(begin, length)) = self.known.get(&state.hash) {
            return begin as usize..(begin + length) as usize;
        }
        let base = self.under_way.len();
        for thread in state.frontier(graph).iter().map(ThreadId::index) {
            state.remove(graph, thread);
            let cost = self.of_step(graph, state, thread);
            state.add(graph, thread);
            self.under_way.push((graph.threads[thread].name, cost));
        }
        let begin = self.costs.len();
        self.costs.extend(self.under_way.drain(base..));
        self.known.insert(state.hash, (begin as u32, (self.costs.len() - begin) as u32));
        begin..self.costs.len()
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
        let mut costs = ContextCost::new(None);
        let arrivals = costs.arrivals(graph, &mut state);
        costs.costs[arrivals].iter().map(|(_, cost)| *cost).min().unwrap_or(0)
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
