//! A step of the current path: what sleeps before it, what is still to be tried in its place, and whether anything needs
//! to be.

use std::cell::OnceCell;

use selvedge_core::{Op, OpKind, ThreadId};

use super::super::bound_conflicts::is_inert;
use super::super::prefix_cost::{Marks, Scratch};
use super::super::wakeup::{Branch, Step};
use super::facts::Facts;
use super::sleep::{
    Asleep, Here, Taken, anything_within, anything_within_stretch, covered, goes_on_within, leads_on_within,
    others_next, stays_asleep,
};
use crate::graph::{Event, Graph};

/// A step of the current path. What it did is in the graph.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) thread: ThreadId,
    /// A fingerprint of everything before the step.
    pub(super) fingerprint: u64,
    /// The first execution that went through here.
    pub(super) since: u64,
    /// How many preemptions there were before the step, and whether another thread's step would have been one.
    pub(super) preemptions: u32,
    pub(super) preemptible: bool,
    /// See [`Taken`].
    pub(super) racers: Vec<(u64, u32)>,
    pub(super) ends: bool,
    /// Steps that need not be taken here: what they lead to is explored elsewhere, or has been from here. Mostly they are
    /// those of the node before.
    pub(super) asleep: Asleep,
    /// What is still to be tried here.
    pub(super) tree: Vec<Branch>,
    /// Whether the bound allows that the current step comes after something that conflicts with it and has not been
    /// done, and likewise all that sleeps; `None` when that has not been asked for.
    pub(super) may_wait: Option<bool>,
    /// Whether a stretch that begins with it, or is longer, was asked about in vain.
    pub(super) splits: bool,
    /// Whether the bound has cut something off here or below; and whether below the current step.
    pub(super) cut: bool,
    pub(super) child_cut: bool,
    /// Whether the fair bound holds a thread back here; here or below; and below the current step.
    pub(super) held: bool,
    pub(super) held_below: bool,
    pub(super) child_held: bool,
}

/// The step of an event.
pub(super) fn step(graph: &Graph, event: usize) -> Step {
    let values = graph.choices(event).iter().map(|(value, _)| *value).collect();
    Step { thread: graph.threads[graph.events[event].thread.index()].name, values }
}

/// An event's step as one that was taken.
pub(super) fn taken(graph: &Graph, event: usize, racers: &[(u64, u32)], ends: bool) -> Taken {
    let Event { thread, number, op, .. } = graph.events[event];
    let arities = graph.choices(event).iter().map(|(_, arity)| *arity).collect();
    Taken {
        step: step(graph, event),
        thread,
        number,
        arities,
        op,
        racers: racers.to_vec(),
        stale: false,
        ends,
    }
}

/// What sleeps after an event of which this is the node.
#[inline]
pub(super) fn asleep_after(graph: &Graph, event: usize, node: &Node) -> Asleep {
    if node.asleep.is_empty() {
        return Asleep::default();
    }
    let mut asleep = node.asleep.clone();
    let Event { thread, number, op, .. } = &graph.events[event];
    let name = graph.threads[thread.index()].name;
    asleep.retain(|taken| !taken.ends && stays_asleep(taken, name, || *number, op));
    asleep
}

/// Whether nothing else needs to be tried once the last step of a path has been, when nothing is planned: nothing can wake
/// it, no other thread that is awake could have gone on, or what any of them leads to exceeds the bound.
#[inline]
pub(super) fn is_done(path: &mut [Node], here: Here<'_>, asks: bool, scratch: &mut Scratch) -> bool {
    let Here { graph, event, .. } = here;
    let node = &path[event];
    if node.held_below || !node.sleeps_soundly(graph, event) {
        return false;
    }
    if node.may_wait == Some(false) {
        return true;
    }
    let op = &graph.events[event].op;
    if is_inert(op) && !(asks && op.kind == OpKind::End) {
        return true;
    }
    let awake = |thread: ThreadId| {
        let thread = graph.threads[thread.index()].name;
        node.asleep.is_empty() || !covered(&node.asleep, &Step { thread, values: Vec::new() })
    };
    if !graph.enabled(event).any(|thread| thread != node.thread && awake(thread)) {
        return true;
    }
    !may_wait(path, here, scratch)
}

/// See [`Node::may_wait`]. What is found out of the step before an event is often true of those before it too.
pub(super) fn may_wait(path: &mut [Node], here: Here<'_>, scratch: &mut Scratch) -> bool {
    let Here { graph, event, .. } = here;
    let node = &path[event];
    if let Some(may_wait) = node.may_wait {
        return may_wait;
    }
    let left = Some(node.thread).filter(|_| node.sleeps_soundly(graph, event));
    // How long the fair bound lets a thread go on is not known of a stretch.
    if let Some(thread) = left.filter(|_| here.yields.is_none() || !here.marks.yields())
        && let Some(first) = refused_stretch(path, here, thread, scratch)
    {
        path[first..=event].iter_mut().for_each(|node| node.may_wait = Some(false));
        return false;
    }
    let node = &path[event];
    let may_wait = anything_within(here, &node.asleep, left, scratch);
    path[event].may_wait = Some(may_wait);
    may_wait
}

/// Where a stretch of a thread begins which ends with an event, and in which nothing new is within the bound. The longer it
/// is, the less is certain of it; so if something may be, half of it is asked about, and the whole never again.
fn refused_stretch(
    path: &mut [Node],
    here: Here<'_>,
    thread: ThreadId,
    scratch: &mut Scratch,
) -> Option<usize> {
    let Here { graph, marks, event, bound, yields, .. } = here;
    let asleep = path[event].asleep.clone();
    let alike = |at: &usize| {
        let other = &path[*at];
        other.thread == thread
            && other.may_wait.is_none()
            && !other.splits
            && other.asleep.is_shared(&asleep)
            && other.sleeps_soundly(graph, *at)
    };
    let number = graph.events[event].number;
    let earliest = number - (0..event).rev().take_while(alike).count() as u32;
    let others = OnceCell::new();
    let nobody_before = |number: u32| {
        let others = others.get_or_init(|| others_next(here, &asleep, thread, earliest));
        let last_conflict = |op| marks.last_conflict(op, thread.index(), number);
        others.iter().map(last_conflict).min().unwrap_or(Some(number))
    };
    let mut from = earliest;
    loop {
        let stretch = marks.stretch(graph, thread.index(), from..=number, nobody_before)?;
        let steps = number - stretch.first;
        if steps == 0 {
            return None;
        }
        let first = event - steps as usize;
        let before = |event: usize| path[event].here(graph, marks, event, bound, yields);
        if !anything_within_stretch(before(first), &asleep, (thread, stretch), scratch) {
            debug_assert!(
                (first..=event).all(|at| !anything_within(before(at), &asleep, Some(thread), scratch)),
                "nowhere in a stretch is anything within the bound",
            );
            return Some(first);
        }
        path[first].splits = true;
        from = number - steps / 2;
    }
}

impl Node {
    /// The state before it, of which it is the event.
    pub(super) fn here<'a>(
        &self,
        graph: &'a Graph,
        marks: &'a Marks,
        event: usize,
        bound: Option<u32>,
        yields: Option<u32>,
    ) -> Here<'a> {
        let Node { preemptions, preemptible, .. } = *self;
        Here { graph, marks, event, bound, yields, preemptions, preemptible }
    }

    /// What sleeps here, and may go on to. A step that ends an execution depends on everything that is done
    /// before it.
    pub(super) fn inherited(&self) -> Asleep {
        let mut asleep = self.asleep.clone();
        asleep.retain(|taken| !taken.ends);
        asleep
    }

    /// Whether only what conflicts with its step can wake that, as far as is known.
    pub(super) fn sleeps_soundly(&self, graph: &Graph, event: usize) -> bool {
        graph.choices(event).is_empty() && self.racers.is_empty() && !self.ends
    }

    /// The next branch of the tree that is not covered and within the bound, with its thread's number.
    pub(super) fn next_branch(
        &mut self,
        here: Here<'_>,
        scratch: &mut Scratch,
    ) -> Option<(Branch, ThreadId)> {
        while !self.tree.is_empty() {
            let branch = self.tree.remove(0);
            let thread = here.graph.threads.iter().position(|line| line.name == branch.step.thread);
            if let Some(thread) = thread.map(|thread| ThreadId(thread as u32))
                && here.graph.was_enabled(here.event, thread)
                && !covered(&self.asleep, &branch.step)
            {
                // The sequence wakes the step that was taken when it was planned, and nothing else fell asleep since.
                let weighed = branch.sleeping.is_some_and(|sleeping| sleeping + 1 == self.asleep.len());
                if weighed || goes_on_within(here, thread, &self.asleep, scratch).is_some() {
                    return Some((branch, thread));
                }
                self.cut = true;
            }
        }
        None
    }

    /// Where a bound has cut something off: a thread that has not been tried, may lead to something new, and
    /// is within the bound on preemptions.
    pub(super) fn beyond_the_plans(
        &mut self,
        here: Here<'_>,
        asks: bool,
        facts: &Facts,
        scratch: &mut Scratch,
    ) -> Option<(Branch, ThreadId)> {
        let step =
            |thread: ThreadId| Step { thread: here.graph.threads[thread.index()].name, values: Vec::new() };
        let inert = |taken: &Taken| {
            is_inert(&taken.op)
                && !taken.ends
                && taken.racers.is_empty()
                && !(asks && taken.op.kind == OpKind::End)
                && covered(&self.asleep, &Step { thread: taken.step.thread, values: Vec::new() })
        };
        if !self.held_below && self.asleep.iter().any(inert) {
            return None;
        }
        let awake = |thread: &ThreadId| !covered(&self.asleep, &step(*thread));
        let asked = self.may_wait.take();
        if !self.held_below
            && here.graph.enabled(here.event).any(|thread| awake(&thread))
            && !asked.unwrap_or_else(|| anything_within(here, &self.asleep, None, scratch))
        {
            self.cut = true;
            return None;
        }
        for thread in here.graph.enabled(here.event).filter(awake) {
            let within = match self.held_below {
                false => leads_on_within(here, thread, &self.asleep, (facts, self.since), scratch),
                true => goes_on_within(here, thread, &self.asleep, scratch).is_some(),
            };
            if within {
                return Some((Branch::leaf(step(thread), Op::default(), 0), thread));
            }
            self.cut = true;
        }
        None
    }
}
