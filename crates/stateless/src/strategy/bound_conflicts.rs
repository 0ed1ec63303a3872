//! Where a bound on preemptions cuts something off, which steps need no other to be tried in their place; and schedules
//! with few preemptions.
//!
//! Say that the search has taken a step p from a state. A complete execution from there that it has not covered has
//! something before p that conflicts with p: otherwise p could have come first. Where nothing can conflict with p
//! ([`is_inert`]) there is none.

use selvedge_core::{Decision, Op, OpKind, ThreadId};

use crate::graph::{Event, Graph};

/// Whether no operation can conflict with an event, apart from asking for the end of its thread; and it can be added
/// to any execution that its thread's last step is in at no cost: right after that step, from where leaving costs
/// no more than it did. To leave a thread before it chooses a value costs a preemption, as it does at most afterwards,
/// unless the thread has just yielded.
pub(crate) fn is_inert(graph: &Graph, event: usize) -> bool {
    let local = |op: &Op| op.object.is_none() || matches!(op.kind, OpKind::End | OpKind::Join);
    let Event { thread, number, op, .. } = graph.events[event];
    let line = &graph.threads[thread.index()];
    let Some(last) = number.checked_sub(1).map(|last| line.events[last as usize] as usize) else {
        return false;
    };
    let (past, before) = (graph.clock(event), graph.clock(last));
    // Or right after the end that it waits for, if the thread was left before that, and so for free.
    let directly = op.kind == OpKind::Join
        || (0..graph.threads.len()).all(|other| other == thread.index() || past[other] == before[other]);
    let next = line.pending.get(number as usize + 1).map(|(op, _)| op);
    let chooses = op.kind == OpKind::Choose && !graph.events[last].op.yields();
    local(&op) && directly && (op.kind == OpKind::End || op.yields() || chooses || next.is_none_or(local))
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
