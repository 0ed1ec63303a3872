//! Steps that sleep: what they lead to has been explored. Which of them a step wakes, and what it costs that they must
//! be woken.

use std::ops::Deref;
use std::sync::Arc;

use selvedge_core::{Op, ThreadId, ThreadSet};

use super::super::bound_conflicts::steps_before;
use super::super::prefix_cost::{Marks, PartialOrder, Scratch, Stretch};
use super::super::wakeup::Step;
use super::facts::Facts;
use super::foresight::{Foreseen, foresee};
use crate::config::Status;
use crate::graph::Graph;

/// A step that was taken.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) step: Step,
    /// The number of its thread, which all executions agree on that go through a state where it sleeps.
    pub(super) thread: ThreadId,
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

    /// Whether two states surely have the same.
    pub(super) fn is_shared(&self, other: &Asleep) -> bool {
        match (&self.0, &other.0) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        }
    }
}

impl Deref for Asleep {
    type Target = [Taken];

    #[inline]
    fn deref(&self) -> &[Taken] {
        self.0.as_ref().map_or(&[], |taken| taken)
    }
}

/// Whether a step goes on sleeping after this one of a thread.
pub(super) fn stays_asleep(taken: &Taken, thread: u64, number: impl Fn() -> u32, op: &Op) -> bool {
    taken.step.thread != thread
        && !taken.op.conflicts_with(op)
        && !taken.racers.iter().any(|racer| racer.0 == thread && racer.1 == number())
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
    /// How many preemptions the execution has up to there, and whether it is one more if another thread goes on.
    pub(super) preemptions: u32,
    pub(super) preemptible: bool,
}

impl Here<'_> {
    /// How many preemptions the execution has at most when these threads go on, a step each.
    pub(super) fn preemptions_with(&self, threads: impl Iterator<Item = ThreadId>) -> u32 {
        let mut last = self.event.checked_sub(1).map(|last| self.graph.events[last].thread);
        let (mut preemptions, mut price) = (self.preemptions, u32::from(self.preemptible));
        for thread in threads {
            if last != Some(thread) {
                preemptions += price;
            }
            (last, price) = (Some(thread), 1);
        }
        preemptions
    }
}

/// What a thread's step in a state costs, with all that sleeps woken later, if that is within the
/// bound; see [`PartialOrder::cost`].
pub(super) fn goes_on_within(
    here: Here<'_>,
    thread: ThreadId,
    asleep: &[Taken],
    scratch: &mut Scratch,
) -> Option<(u32, Option<usize>)> {
    let Here { graph, event, bound, .. } = here;
    let Some(most) = bound else { return Some((0, None)) };
    let sleeping = sleepers(asleep);
    let next = Foreseen::Steps(0, true);
    order_after(here, steps_before(graph, event), thread, next, asleep, sleeping)?.cost(most, scratch)
}

/// Whether anything that is new in a state can be within the bound: all that sleeps is woken later, and so is this
/// thread's step.
pub(super) fn anything_within(
    here: Here<'_>,
    asleep: &[Taken],
    left: Option<ThreadId>,
    scratch: &mut Scratch,
) -> bool {
    let Here { graph, marks, event, bound, yields, preemptions, .. } = here;
    let Some(most) = bound else { return true };
    let mut sleeping = sleepers(asleep);
    left.into_iter().for_each(|thread| sleeping.insert(thread));
    let order = PartialOrder::new(graph, marks, steps_before(graph, event), yields).from(event);
    order.asleep(sleeping).within(preemptions, most, scratch)
}

/// Whether anything that is new in a state or in the next ones, in which a thread takes a stretch of steps, can be within
/// the bound: all that sleeps is woken later, and so is the thread's step.
pub(super) fn anything_within_stretch(
    here: Here<'_>,
    asleep: &[Taken],
    (thread, stretch): (ThreadId, Stretch),
    scratch: &mut Scratch,
) -> bool {
    let Here { graph, marks, event, bound, yields, preemptions, .. } = here;
    let Some(most) = bound else { return true };
    let order = PartialOrder::new(graph, marks, steps_before(graph, event), yields).from(event);
    let order = order.asleep(sleepers(asleep)).stretching(thread, stretch);
    order.within(preemptions, most, scratch)
}

/// What threads that are awake may do before any of a thread's steps from one on up to a state: the next step of each that
/// does not wait for something which these steps have nothing to do with.
pub(super) fn others_next(here: Here<'_>, asleep: &[Taken], thread: ThreadId, first: u32) -> Vec<Op> {
    let Here { graph, marks, event, .. } = here;
    let sleeping = sleepers(asleep);
    let lengths = steps_before(graph, event);
    let may_go_on = |other: &usize| {
        let line = &graph.threads[*other];
        let taken = lengths[*other] as usize;
        let Some((_, gate)) = line.pending.get(taken) else { return false };
        let untouched = |object| {
            let touch = marks.last_touch(thread.index(), lengths[thread.index()], object, |_| true);
            touch.is_none_or(|touch| touch < first)
        };
        let other = ThreadId(*other as u32);
        let waits = !gate.needs_signal
            && gate.object.is_some_and(untouched)
            && graph.status(&lengths, other) == Status::Blocked;
        let has_ended = line.ended && taken == line.events.len();
        !(other == thread || has_ended || waits || sleeping.contains(other))
    };
    let others = (0..lengths.len()).filter(may_go_on);
    others.map(|other| graph.threads[other].pending[lengths[other] as usize].0).collect()
}

/// Whether what a thread leads to in a state can be within the bound and new, as far as it can be foreseen, also from facts
/// that were learnt since an execution.
pub(super) fn leads_on_within(
    here: Here<'_>,
    thread: ThreadId,
    asleep: &[Taken],
    facts: (&Facts, u64),
    scratch: &mut Scratch,
) -> bool {
    let Here { graph, event, bound, .. } = here;
    let Some(most) = bound else { return true };
    let lengths = steps_before(graph, event);
    let sleeping = sleepers(asleep);
    let foreseen = if sleeping.is_empty() {
        Foreseen::Steps(0, true)
    } else {
        let wakes = |op: &Op| asleep.iter().any(|taken| taken.op.conflicts_with(op));
        foresee(here, &lengths, thread, &sleeping, wakes, facts)
    };
    let order = order_after(here, lengths, thread, foreseen, asleep, sleeping);
    let preemptions = here.preemptions_with([thread].into_iter());
    order.is_some_and(|order| order.within(preemptions, most, scratch))
}

/// The partial order of a state and then of what is foreseen of a thread, if that is anything.
fn order_after<'g>(
    here: Here<'g>,
    mut lengths: Vec<u32>,
    thread: ThreadId,
    foreseen: Foreseen,
    asleep: &[Taken],
    mut sleeping: ThreadSet,
) -> Option<PartialOrder<'g>> {
    let Foreseen::Steps(steps, announced) = foreseen else { return None };
    let Here { graph, marks, event, yields, .. } = here;
    let line = &graph.threads[thread.index()];
    let number = lengths[thread.index()] as usize;
    let end = number + steps as usize;
    lengths[thread.index()] = end as u32;
    let performed = line.events[number..end].iter().map(|event| &graph.events[*event as usize].op);
    let next = line.pending.get(end).filter(|_| announced).map(|(op, _)| op);
    sleeping.remove(thread);
    wake_by(&mut sleeping, asleep, |taken| {
        performed.clone().chain(next).any(|op| taken.op.conflicts_with(op))
    });
    let order = PartialOrder::new(graph, marks, lengths, yields).from(event).asleep(sleeping);
    Some(if announced { order.and(thread.index()) } else { order })
}

/// The threads all of whose next steps sleep. What raced for a cell may be woken by more than conflicts.
pub(super) fn sleepers(asleep: &[Taken]) -> ThreadSet {
    let mut sleepers = ThreadSet::default();
    for taken in asleep {
        let mut own = asleep.iter().filter(|other| other.thread == taken.thread);
        if own.all(|taken| !taken.ends && taken.racers.is_empty())
            && covered(asleep, &Step { thread: taken.step.thread, values: Vec::new() })
        {
            sleepers.insert(taken.thread);
        }
    }
    sleepers
}

/// Leaves out the threads of steps that something wakes.
pub(super) fn wake_by(sleeping: &mut ThreadSet, asleep: &[Taken], wakes: impl Fn(&Taken) -> bool) {
    asleep.iter().filter(|taken| wakes(taken)).for_each(|taken| sleeping.remove(taken.thread));
}
