//! A step of the current path: what sleeps before it, and what is still to be tried in its place.

use std::ops::Deref;
use std::sync::Arc;

use selvedge_core::{Op, ThreadId};

use super::wakeup::{Branch, Step};
use crate::graph::{Event, Graph};

/// A step of the current path. What it did is in the graph.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) thread: ThreadId,
    /// A fingerprint of everything before the step.
    pub(super) fingerprint: u64,
    /// See [`Taken`].
    pub(super) racers: Vec<(u64, u32)>,
    pub(super) ends: bool,
    /// Steps that need not be taken here: what they lead to is explored elsewhere, or has been from here. Mostly they are
    /// those of the node before.
    pub(super) asleep: Asleep,
    /// What is still to be tried here.
    pub(super) tree: Vec<Branch>,
    /// Whether the fair bound holds a thread back here; here or below; and below the current step.
    pub(super) held: bool,
    pub(super) held_below: bool,
    pub(super) child_held: bool,
}

/// A step that was taken.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) step: Step,
    /// For each of its values, how many there were.
    arities: Vec<u32>,
    pub(super) op: Op,
    /// The steps that raced with it for a cell: their threads, and how many steps these had taken before.
    pub(super) racers: Vec<(u64, u32)>,
    /// For one that sleeps: nothing that was planned will wake it.
    pub(super) stale: bool,
    /// It ended the execution, or after it the fair bound held a thread back: it sleeps in no other state.
    pub(super) ends: bool,
}

impl Taken {
    /// Whether it goes on sleeping after this step of a thread.
    pub(super) fn stays_asleep(&self, thread: u64, number: impl Fn() -> u32, op: &Op) -> bool {
        self.step.thread != thread
            && !self.op.conflicts_with(op)
            && !self.racers.iter().any(|racer| racer.0 == thread && racer.1 == number())
    }
}

/// The steps that sleep in a state. States that follow each other share them; mostly there are none.
#[derive(Clone, Debug, Default)]
pub(super) struct Asleep(Option<Arc<Vec<Taken>>>);

impl Asleep {
    /// To be changed, in this state alone.
    pub(super) fn change(&mut self) -> &mut Vec<Taken> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Wakes all but those that stay asleep.
    pub(super) fn retain(&mut self, stays: impl Fn(&Taken) -> bool) {
        let left = self.iter().filter(|taken| stays(taken)).count();
        if left == 0 {
            self.0 = None;
        } else if left < self.len() {
            self.change().retain(stays);
        }
    }

    /// Whether a step sleeps, whatever the values that it has still to choose.
    pub(super) fn covers(&self, step: &Step) -> bool {
        let mut agreeing = self.iter().filter(|taken| taken.step.agrees(step));
        let Some(first) = agreeing.next() else { return false };
        if first.step.values.len() <= step.values.len() {
            return true;
        }
        (0..first.arities[step.values.len()]).all(|value| {
            let values = step.values.iter().copied().chain([value]).collect();
            self.covers(&Step { thread: step.thread, values })
        })
    }

    /// Whether the next step of the thread with this name sleeps.
    pub(super) fn covers_thread(&self, thread: u64) -> bool {
        !self.is_empty() && self.covers(&Step { thread, values: Vec::new() })
    }
}

impl Deref for Asleep {
    type Target = [Taken];

    #[inline]
    fn deref(&self) -> &[Taken] {
        self.0.as_ref().map_or(&[], |taken| taken)
    }
}

/// The step of an event.
pub(super) fn step(graph: &Graph, event: usize) -> Step {
    let values = graph.choices(event).iter().map(|(value, _)| *value).collect();
    Step { thread: graph.threads[graph.events[event].thread.index()].name, values }
}

impl Node {
    /// Has its step sleep here, of which this is the event.
    pub(super) fn put_to_sleep(&mut self, graph: &Graph, event: usize) {
        let arities = graph.choices(event).iter().map(|(_, arity)| *arity).collect();
        let taken = Taken {
            step: step(graph, event),
            arities,
            op: graph.events[event].op,
            racers: std::mem::take(&mut self.racers),
            stale: false,
            ends: std::mem::take(&mut self.ends),
        };
        self.asleep.change().push(taken);
    }

    /// What sleeps here, and may go on to. A step that ends an execution depends on everything that is done
    /// before it.
    pub(super) fn inherited(&self) -> Asleep {
        let mut asleep = self.asleep.clone();
        asleep.retain(|taken| !taken.ends);
        asleep
    }

    /// What sleeps after its step, of which this is the event.
    #[inline]
    pub(super) fn asleep_after(&self, graph: &Graph, event: usize) -> Asleep {
        if self.asleep.is_empty() {
            return Asleep::default();
        }
        let mut asleep = self.asleep.clone();
        let Event { thread, number, op, .. } = &graph.events[event];
        let name = graph.threads[thread.index()].name;
        asleep.retain(|taken| !taken.ends && taken.stays_asleep(name, || *number, op));
        asleep
    }

    /// The next branch of the tree that does not sleep, with its thread's number.
    pub(super) fn next_branch(&mut self, graph: &Graph, event: usize) -> Option<(Branch, ThreadId)> {
        while !self.tree.is_empty() {
            let branch = self.tree.remove(0);
            let thread = graph.threads.iter().position(|line| line.name == branch.step.thread);
            if let Some(thread) = thread.map(|thread| ThreadId(thread as u32))
                && graph.was_enabled(event, thread)
                && !self.asleep.covers(&branch.step)
            {
                return Some((branch, thread));
            }
        }
        None
    }

    /// Where the fair bound has held a thread back: any other that has not been tried.
    pub(super) fn beyond_the_plans(&self, graph: &Graph, event: usize) -> Option<(Branch, ThreadId)> {
        let name = |thread: ThreadId| graph.threads[thread.index()].name;
        let thread = graph.enabled(event).find(|thread| !self.asleep.covers_thread(name(*thread)))?;
        let step = Step { thread: name(thread), values: Vec::new() };
        Some((Branch::leaf(step, Op::default(), 0), thread))
    }
}
