//! Where a bound on preemptions cuts something off, which steps need to be tried although no race asks for
//! them; and schedules with few preemptions.
//!
//! The search explores the partial orders whose [`prefix_cost`](super::prefix_cost) is within the bound. Say that
//! from a state it has taken a step p, and that an order w from there, within the bound, is covered by nothing
//! that it has explored. Then p cannot come before w: either something in w conflicts with p, or p and w together
//! exceed the bound. If p can be added to anything for free ([`can_be_added_for_free`]) it is the former. Let
//! z be the first step of w that conflicts with p. What z needs is independent of p, so that executions that
//! begin with p get as far as being about to do z, and [`conflicting_threads`] sees it there. Otherwise, or
//! where steps sleep that were explored from an earlier state, every thread is tried that is within the bound.

use selvedge_core::{Access, Decision, Op, OpKind, ThreadId};

use super::prefix_cost::PartialOrder;
use crate::graph::{Event, Graph};

/// The threads, by name, that can come first in what leads to an operation that conflicts with an event, and
/// does not depend on it; as far as it is within the bound on preemptions, under that on yields. What the first `known` events lead to, the event
/// among them, has been noted before.
pub(crate) fn conflicting_threads(
    graph: &Graph,
    first: usize,
    known: usize,
    (most, yields): (u32, Option<u32>),
    wanted: &mut Vec<u64>,
) {
    let op = graph.events[first].op;
    let begin = steps_before(graph, first);
    // What must be done to get to an event, and then to the operation of a thread.
    let mut want = |needed: Option<usize>, second: usize| {
        let mut lengths = begin.clone();
        for (length, needed) in lengths.iter_mut().zip(needed.map_or(&[][..], |event| graph.clock(event))) {
            *length = (*length).max(*needed);
        }
        let mut steps = graph.events.iter().skip(first + 1);
        let thread = steps.find(|step| {
            let thread = step.thread.index();
            begin[thread] <= step.number && step.number < lengths[thread]
        });
        let name = graph.threads[thread.map_or(second, |step| step.thread.index())].name;
        if !wanted.contains(&name) && PartialOrder::new(graph, lengths, yields).and(second).within(most) {
            wanted.push(name);
        }
    };
    for (other, line) in graph.threads.iter().enumerate() {
        if other == graph.events[first].thread.index() {
            continue;
        }
        let before = begin[other] as usize;
        let after = &line.events[before..];
        let free = after.partition_point(|event| !graph.happens_before(first, *event as usize));
        let conflicts =
            |number: &usize| line.pending.get(*number).is_some_and(|(next, _)| next.conflicts_with(&op));
        let Some(second) = (before..=before + free).find(conflicts) else { continue };
        if second > before {
            let last = line.events[second - 1] as usize;
            if last >= known || first >= known {
                want(Some(last), other);
            }
            continue;
        }
        if first >= known {
            want(None, other);
        }
        for event in (first + 1).max(known)..graph.events.len() {
            let conflicts = graph.events[event].op.conflicts_with(&line.pending[second].0);
            let earlier = graph.clock(event)[other] as usize <= before;
            if conflicts && earlier && !graph.happens_before(first, event) {
                want(Some(event), other);
            }
        }
    }
}

/// Whether an event can be added to any partial order that it is independent of, its thread's last step
/// being in it, at no cost: right after that step, from where leaving costs no more than it did.
pub(crate) fn can_be_added_for_free(graph: &Graph, event: usize) -> bool {
    let Event { thread, number, op, .. } = graph.events[event];
    let line = &graph.threads[thread.index()];
    let Some(last) = number.checked_sub(1).map(|last| line.events[last as usize] as usize) else {
        return false;
    };
    let (past, before) = (graph.clock(event), graph.clock(last));
    // Or right after the end that it waits for, if the thread was left before that, and so for free.
    let directly = op.kind == OpKind::Join
        || (0..graph.threads.len()).all(|other| other == thread.index() || past[other] == before[other]);
    let local = |op: &Op| op.object.is_none() || matches!(op.kind, OpKind::End | OpKind::Join);
    let next = line.pending.get(number as usize + 1).map(|(op, _)| op);
    let harmless = op.kind == OpKind::End
        || op.yields()
        || next.is_none_or(|next| {
            local(next)
                || op.access == Access::Write
                    && op.also.is_none()
                    && next.also.is_none()
                    && op.object == next.object
        });
    let keeps_words = op.access == Access::Write || local(&op) || op.kind == OpKind::Load;
    directly && harmless && keeps_words
}

/// The decisions that let threads take their steps in this order. Threads are numbered as they are created.
pub(crate) fn schedule(graph: &Graph, order: &[usize]) -> Vec<Decision> {
    let mut numbers = vec![None; graph.threads.len()];
    numbers[0] = Some(0);
    let mut taken = vec![0; graph.threads.len()];
    let (mut created, mut decisions) = (1, Vec::new());
    for &thread in order {
        let event = graph.threads[thread].events[taken[thread]];
        taken[thread] += 1;
        decisions.push(Decision::Thread(ThreadId(numbers[thread].expect("a thread that was created"))));
        decisions.extend(graph.choices(event as usize).iter().map(|(value, _)| Decision::Value(*value)));
        for (line, number) in
            graph.threads.iter().zip(&mut numbers).filter(|(line, _)| line.creator == Some(event))
        {
            debug_assert!(!line.pending.is_empty(), "a thread that exists is about to do something");
            *number = Some(created);
            created += 1;
        }
    }
    decisions
}

/// How many steps each thread has taken before an event.
pub(crate) fn steps_before(graph: &Graph, event: usize) -> Vec<u32> {
    let before = |events: &Vec<u32>| events.partition_point(|other| (*other as usize) < event) as u32;
    graph.threads.iter().map(|line| before(&line.events)).collect()
}
