//! The context bound of a state: the fewest preemptions of any execution that leads to it.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! sections 2 and 3.2: CB(s, t) by recursion over the frontier of s, each value computed once and kept for
//! the whole search.
//!
//! Deviations:
//! 1. A switch is free also after a thread that yielded, waits with a time limit, or is held back by the
//!    fair bound; and a step that the fair bound rules out costs more than any bound.
//! 2. What is asked is only whether a cost is within a budget. So what is kept of it is two numbers that it
//!    lies between; and an execution that was run is an answer for the states that it was in.
//! 3. A thread that was left where nothing could have blocked it was preempted there, so a state in which
//!    more of them stand about than the budget has is not looked into.

use std::collections::HashMap;

use selvedge_core::{ThreadId, ThreadSet};

use crate::coverage::HashedMap;
use crate::graph::Graph;
use crate::lattice::Lattice;

/// More than any bound.
pub(crate) const NEVER: u32 = u16::MAX as u32;

/// The states that were looked at, and what is known of the costs of arriving there. There may be millions:
/// entries are small.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContextCost {
    states: HashedMap<State>,
    arrivals: Vec<Arrival>,
    /// What marks states, less 1.
    epoch: u8,
    /// A number for each name of a thread that was ever seen, the same in all executions.
    numbers: HashMap<u64, u32>,
    /// The numbers of the threads of the graph at hand.
    number_of: Vec<u32>,
    /// The thread of the graph at hand that has a number, if there is one.
    thread_of: Vec<Option<u32>>,
    /// Whether each thread of the graph at hand is its number.
    same: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Where its arrivals begin, and how many there are.
    begin: u32,
    length: u16,
    /// The epoch that it was marked in, plus 1.
    marked: u8,
    /// Whether the sets are known.
    known: bool,
    /// The threads that can be chosen, and those of them that would be preempted by others if they had come
    /// here last, by their numbers.
    allowed: u32,
    preemptible: u32,
}

/// An arrival in a state by the step of a thread of its frontier, and the costs that it lies between.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    number: u32,
    least: u16,
    most: u16,
}

/// A state that is being looked at.
#[derive(Debug)]
pub(crate) struct Here {
    /// The threads that can be chosen.
    pub(crate) allowed: ThreadSet,
    preemptible: ThreadSet,
    pub(crate) marked: bool,
    begin: u32,
    length: u16,
}

impl ContextCost {
    /// How many states are known.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Marks a state. Says whether it was not marked before.
    pub(crate) fn mark(&mut self, hash: u128) -> bool {
        let mark = self.epoch + 1;
        let state = self.states.entry(hash).or_default();
        std::mem::replace(&mut state.marked, mark) != mark
    }

    /// Whether a state is marked.
    pub(crate) fn is_marked(&self, hash: u128) -> bool {
        self.states.get(&hash).is_some_and(|state| state.marked == self.epoch + 1)
    }

    /// Takes all marks away.
    pub(crate) fn unmark_all(&mut self) {
        self.epoch += 1;
        if self.epoch == u8::MAX {
            self.epoch = 0;
            self.states.values_mut().for_each(|state| state.marked = 0);
        }
    }

    /// Prepares for states of a graph.
    pub(crate) fn begin(&mut self, graph: &Graph) {
        for number in self.number_of.drain(..) {
            self.thread_of[number as usize] = None;
        }
        for (thread, line) in graph.threads.iter().enumerate() {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(line.name).or_insert(next);
            self.thread_of.resize(self.numbers.len(), None);
            self.thread_of[number as usize] = Some(thread as u32);
            self.number_of.push(number);
        }
        self.same = self.number_of.iter().zip(0..).all(|(number, thread)| *number == thread);
    }

    /// Looks at a state of the graph at hand.
    pub(crate) fn look(&mut self, graph: &Graph, state: &Lattice) -> Here {
        let known = self.states.entry(state.hash).or_default();
        if known.length == 0 {
            known.begin = self.arrivals.len() as u32;
            for thread in state.frontier(graph).iter().map(ThreadId::index) {
                self.arrivals.push(Arrival { number: self.number_of[thread], least: 0, most: u16::MAX });
            }
            known.length = (self.arrivals.len() - known.begin as usize) as u16;
            // What the execution did last is asked first: that leads back to where it has been.
            if known.length > 1 {
                let thread_of = &self.thread_of;
                self.arrivals[known.begin as usize..].sort_unstable_by_key(|arrival| {
                    let thread = thread_of[arrival.number as usize];
                    std::cmp::Reverse(thread.map(|thread| state.last_event(graph, thread as usize)))
                });
            }
        }
        let (allowed, preemptible) = if known.known && self.same {
            (
                ThreadSet::from_words(&[known.allowed.into()]),
                ThreadSet::from_words(&[known.preemptible.into()]),
            )
        } else if known.known {
            (in_numbers(known.allowed, &self.thread_of), in_numbers(known.preemptible, &self.thread_of))
        } else {
            let (allowed, preemptible) = state.allowed(graph);
            if self.numbers.len() <= 32 {
                known.known = true;
                known.allowed = numbers(&allowed, &self.number_of);
                known.preemptible = numbers(&preemptible, &self.number_of);
            }
            (allowed, preemptible)
        };
        let State { begin, length, marked, .. } = *known;
        Here { allowed, preemptible, marked: marked == self.epoch + 1, begin, length }
    }

    /// The frontier of a state.
    pub(crate) fn frontier(&self, here: &Here) -> ThreadSet {
        let arrivals = &self.arrivals[here.begin as usize..][..usize::from(here.length)];
        arrivals.iter().filter_map(|arrival| self.thread_of[arrival.number as usize].map(ThreadId)).collect()
    }

    /// CB(s, t), the fewest preemptions of an execution whose last step is the thread's, from this state: a
    /// number of preemptions within the budget that is enough for one; else, something more than the budget.
    pub(crate) fn of_step(
        &mut self,
        graph: &Graph,
        state: &mut Lattice,
        here: &Here,
        thread: usize,
        budget: u32,
    ) -> u32 {
        let id = ThreadId(thread as u32);
        if !here.allowed.contains(id) {
            return NEVER;
        }
        if here.length == 0 {
            return 0;
        }
        let price =
            |last: usize| u32::from(last != thread && here.preemptible.contains(ThreadId(last as u32)));
        let arrivals = here.begin as usize..here.begin as usize + usize::from(here.length);
        let number = self.number_of[thread];
        for arrival in &self.arrivals[arrivals.clone()] {
            // That the switch may be free is not needed to know that it costs no more than this.
            let enough = u32::from(arrival.most) + u32::from(arrival.number != number);
            if enough <= budget {
                return enough;
            }
        }
        let mut over = false;
        for index in arrivals {
            let Some(last) = self.thread_of[self.arrivals[index].number as usize] else { continue };
            let last = last as usize;
            let price = price(last);
            if price > budget {
                over = true;
                continue;
            }
            let cost = self.of_arrival(graph, state, index, last, budget - price);
            if cost <= budget - price {
                return cost + price;
            }
            over |= cost < NEVER;
        }
        if over { budget + 1 } else { NEVER }
    }

    /// The same for an execution that leads to a state with the thread's step at the end.
    fn of_arrival(
        &mut self,
        graph: &Graph,
        state: &mut Lattice,
        index: usize,
        last: usize,
        budget: u32,
    ) -> u32 {
        let Arrival { least, most, .. } = self.arrivals[index];
        if u32::from(most) <= budget {
            return most.into();
        }
        if u32::from(least) > budget {
            return least.into();
        }
        if let Some(cost) = state.was_run(graph, last)
            && cost <= budget
        {
            self.arrivals[index].most = cost as u16;
            return cost;
        }
        let preempted = state.preempted(last);
        if preempted > budget {
            self.arrivals[index].least = preempted as u16;
            return preempted;
        }
        let removed = state.remove(graph, last);
        let before = self.look(graph, state);
        let cost = self.of_step(graph, state, &before, last, budget);
        state.put_back(graph, last, &removed);
        let arrival = &mut self.arrivals[index];
        if cost <= budget {
            arrival.most = cost as u16;
        } else {
            arrival.least = cost as u16;
        }
        cost
    }
}

/// A set of threads by their numbers.
fn numbers(threads: &ThreadSet, number_of: &[u32]) -> u32 {
    threads.iter().map(|thread| 1 << number_of[thread.index()]).sum()
}

/// The threads with these numbers.
fn in_numbers(mut numbers: u32, thread_of: &[Option<u32>]) -> ThreadSet {
    let mut threads = ThreadSet::default();
    while numbers != 0 {
        if let Some(thread) = thread_of[numbers.trailing_zeros() as usize] {
            threads.insert(ThreadId(thread));
        }
        numbers &= numbers - 1;
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CB(s) of a whole graph, and of the graph without the last step of a thread.
    fn context_bound(graph: &Graph, without: Option<usize>) -> u32 {
        let mut state = Lattice::default();
        state.load(graph, 0, &[]);
        if let Some(thread) = without {
            state.remove(graph, thread);
        }
        let mut costs = ContextCost::default();
        costs.begin(graph);
        let here = costs.look(graph, &state);
        let arrivals = here.begin as usize..here.begin as usize + usize::from(here.length);
        let least = arrivals.map(|index| {
            let last = costs.thread_of[costs.arrivals[index].number as usize].expect("one of its threads");
            let last = last as usize;
            let within = |budget: &u32| costs.of_arrival(graph, &mut state, index, last, *budget) <= *budget;
            (0..graph.events.len() as u32).find(within).unwrap_or(NEVER)
        });
        least.min().unwrap_or(0)
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
