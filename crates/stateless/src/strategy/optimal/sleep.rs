//! Steps that sleep: what they lead to has been explored. Which of them a step wakes, and what it costs that they must
//! be woken.

use selvedge_core::{Op, ThreadId, ThreadSet};

use super::super::bound_conflicts::steps_before;
use super::super::prefix_cost::{Marks, PartialOrder, Scratch};
use super::super::wakeup::Step;
use crate::graph::Graph;

/// A step that was taken.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) step: Step,
    /// How many steps its thread had taken before.
    pub(super) number: u32,
    /// For each of its values, how many there were.
    pub(super) arities: Vec<u32>,
    pub(super) op: Op,
    /// The steps that raced with it for a cell: their threads, and how many steps these had taken before.
    pub(super) racers: Vec<(u64, u32)>,
    /// For one that sleeps: nothing that was planned will wake it.
    pub(super) stale: bool,
    /// It ended the execution, or after it the fair bound held a thread back: it sleeps in no other state.
    pub(super) ends: bool,
    /// Nothing can conflict with it any more, and it costs nothing: whatever is done first, it could have
    /// been taken before.
    pub(super) inert: bool,
}

/// Whether a step goes on sleeping after this one of a thread.
pub(super) fn stays_asleep(taken: &Taken, thread: u64, number: impl Fn() -> u32, op: &Op) -> bool {
    taken.step.thread != thread
        && !taken.op.conflicts_with(op)
        && !taken.racers.iter().any(|racer| racer.0 == thread && racer.1 == number())
}

/// Wakes those that depend on a step.
pub(super) fn wake(asleep: &mut Vec<Taken>, by: &Taken) {
    asleep.retain(|taken| stays_asleep(taken, by.step.thread, || by.number, &by.op));
}

/// Whether a step sleeps, whatever the values that it has still to choose.
pub(super) fn covered(asleep: &[Taken], step: &Step) -> bool {
    let mut agreeing = asleep.iter().filter(|taken| taken.step.agrees(step));
    let Some(first) = agreeing.next() else { return false };
    if first.step.values.len() <= step.values.len() {
        return true;
    }
    (0..first.arities[step.values.len()]).all(|value| {
        let values = step.values.iter().copied().chain([value]).collect();
        covered(asleep, &Step { thread: step.thread, values })
    })
}

/// A state of an execution, and the bounds that are in force.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) graph: &'a Graph,
    pub(super) marks: &'a Marks,
    /// The state before this event.
    pub(super) event: usize,
    pub(super) bound: Option<u32>,
    pub(super) yields: Option<u32>,
}

/// What a thread's step in a state costs, with all that sleeps woken later, if that is within the
/// bound; see [`PartialOrder::cost`].
pub(super) fn goes_on_within(
    here: Here<'_>,
    thread: ThreadId,
    asleep: &[Taken],
    scratch: &mut Scratch,
) -> Option<(u32, Option<usize>)> {
    let Here { graph, marks, event, bound, yields } = here;
    let Some(most) = bound else { return Some((0, None)) };
    let lengths = steps_before(graph, event);
    let line = &graph.threads[thread.index()];
    let next = line.pending.get(lengths[thread.index()] as usize).map_or(Op::default(), |(op, _)| *op);
    let sleepers =
        sleepers(asleep, graph, |taken| taken.step.thread != line.name && !taken.op.conflicts_with(&next));
    let order = PartialOrder::new(graph, marks, lengths, yields).from(event);
    order.and(thread.index()).asleep(sleepers).cost(most, scratch)
}

/// The threads all of whose next steps sleep and still do after something. What raced for a cell may be woken by more
/// than conflicts.
pub(super) fn sleepers(asleep: &[Taken], graph: &Graph, still: impl Fn(&Taken) -> bool) -> ThreadSet {
    let sleeps = |name: u64| {
        let mut own = asleep.iter().filter(|taken| taken.step.thread == name).peekable();
        own.peek().is_some()
            && own.all(|taken| !taken.ends && taken.racers.is_empty() && still(taken))
            && covered(asleep, &Step { thread: name, values: Vec::new() })
    };
    let threads = (0..graph.threads.len()).filter(|index| sleeps(graph.threads[*index].name));
    threads.map(|index| ThreadId(index as u32)).collect()
}
