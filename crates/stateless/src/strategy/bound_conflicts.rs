//! Where a bound on preemptions cuts something off, which steps need no other to be tried in their place; and schedules
//! with few preemptions.
//!
//! Say that the search has taken a step p from a state. A complete execution from there that it has not covered has
//! something before p that conflicts with p: otherwise p could have come first. Where nothing can conflict with p
//! ([`is_inert`]) there is none.

use selvedge_core::{Decision, Op, OpKind, ThreadId};

use crate::graph::Graph;

/// Whether no operation can conflict with this one, when its thread can perform it, apart from asking for the end of its
/// thread. It can be added to any partial order, as the last step, at no cost: whoever is left for it is not left before
/// something that conflicts with what he is about to do. So what can be done without it can be done with it.
pub(crate) fn is_inert(op: &Op) -> bool {
    op.object.is_none() || matches!(op.kind, OpKind::End | OpKind::Join)
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
