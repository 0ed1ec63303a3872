//! What a thread will surely do from a state on, as far as the last execution through that state has shown it.
//!
//! A thread's step does the same wherever all that it depends on has been done. So the steps after a state that depend
//! on nothing after it but on each other, thread by thread, are what the thread does if it goes on there, unless another
//! thread comes before one of them with something that conflicts. The first that does so is one that is awake.
//!
//! Say that something sleeps in the state. Every execution from there that is not covered wakes it. Of the threads that are
//! awake, one is the first to wake something, or to come to a step after which it is not known what it does. Up to there
//! its steps are known, and depend on no other thread's; so it could have taken them first. The thread needs to be tried
//! only if they are within the bound; and if it ends before, it need not be tried at all.
//!
//! Where a thread chooses a value, it does what it did with the one that was chosen last, or something else; what that is
//! may be known from earlier executions through the state ([`facts`](super::facts)). If with none of the values it wakes
//! anything before it ends, it need not be tried either. What it can do then may come before the others' steps.

use selvedge_core::{Op, ThreadId, ThreadSet};

use super::super::wakeup::may_conflict;
use super::facts::Facts;
use super::sleep::Here;
use crate::graph::Graph;

/// So many steps of a thread are looked at.
const MOST: usize = 24;

/// How far a thread's steps are certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreseen {
    /// It takes so many steps as it did in the last execution, and perhaps the next that it announces.
    Steps(u32, bool),
    /// It ends, and wakes nothing.
    Nothing,
}

/// What a thread will surely do in a state in which these steps sleep, each with its thread. A thread that is not among
/// them is awake. Facts are those that were learnt since an execution.
pub(super) fn foresee(
    here: Here<'_>,
    lengths: &[u32],
    thread: ThreadId,
    sleepers: &ThreadSet,
    wakes: impl Fn(&Op) -> bool,
    (facts, since): (&Facts, u64),
) -> Foreseen {
    let Here { graph, marks, .. } = here;
    let number = lengths[thread.index()];
    let certain = marks.certain(graph, lengths, thread.index(), MOST);
    let awake = |other: &usize| *other != thread.index() && !sleepers.contains(ThreadId(*other as u32));
    // What a thread can do after these steps, or from the first choice among them on, if that is known and wakes nothing.
    let known = graph.words.known_after(here.event);
    let beyond = |thread: usize, certain: &[u32]| {
        let ops = facts.onward(here, lengths, ThreadId(thread as u32), certain, since)?;
        ops.iter().all(|op| !touches_known(op, known) || !wakes(op)).then_some(ops)
    };
    let others = || {
        (0..lengths.len()).filter(awake).map(|other| {
            let theirs = marks.certain(graph, lengths, other, MOST);
            let next = graph.threads[other].pending.get(lengths[other] as usize + theirs.len());
            let ops = theirs.iter().map(|event| &graph.events[*event as usize].op);
            (other, theirs, ops.chain(next.map(|(op, _)| op)))
        })
    };
    let known_of_others: Vec<Op> =
        others().filter_map(|(other, theirs, _)| beyond(other, theirs)).flatten().collect();
    let ends_quietly = || {
        let mut all = others().flat_map(|(.., ops)| ops).chain(&known_of_others);
        beyond(thread.index(), certain)
            .is_some_and(|ops| !all.any(|other| ops.iter().any(|op| may_conflict(op, other, known))))
    };
    for (at, event) in certain.iter().enumerate() {
        let event = *event as usize;
        let (op, at) = (&graph.events[event].op, at as u32);
        let announced = &graph.threads[thread.index()].pending[(number + at) as usize].0;
        let disturbed = others().any(|(.., mut ops)| ops.any(|op| op.conflicts_with(announced)))
            || known_of_others.iter().any(|op| may_conflict(op, announced, known));
        if disturbed {
            return Foreseen::Steps(at, true);
        }
        if !graph.choices(event).is_empty() {
            return if ends_quietly() { Foreseen::Nothing } else { Foreseen::Steps(at, true) };
        }
        if wakes(op) || creates(graph, event) || graph.stopped && event + 1 == graph.events.len() {
            return Foreseen::Steps(at + 1, false);
        }
    }
    let line = &graph.threads[thread.index()];
    let ended = line.ended && number as usize + certain.len() == line.events.len();
    if ended || ends_quietly() { Foreseen::Nothing } else { Foreseen::Steps(certain.len() as u32, true) }
}

/// Whether an operation touches one of the first so many objects.
fn touches_known(op: &Op, known: usize) -> bool {
    op.touches().any(|(object, _)| object.index() < known)
}

/// Whether a thread was created within an event's step.
fn creates(graph: &Graph, event: usize) -> bool {
    graph.threads.iter().any(|line| line.creator == Some(event as u32))
}
