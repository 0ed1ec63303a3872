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

use selvedge_core::{Op, ThreadId, ThreadSet};

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
/// them is awake.
pub(super) fn foresee(
    here: Here<'_>,
    lengths: &[u32],
    thread: ThreadId,
    sleepers: &ThreadSet,
    wakes: impl Fn(&Op) -> bool,
) -> Foreseen {
    let Here { graph, marks, .. } = here;
    let number = lengths[thread.index()];
    let certain = marks.certain(graph, lengths, thread.index(), MOST);
    let awake = |other: &usize| *other != thread.index() && !sleepers.contains(ThreadId(*other as u32));
    for (at, event) in certain.iter().enumerate() {
        let event = *event as usize;
        let (op, at) = (&graph.events[event].op, at as u32);
        let announced = &graph.threads[thread.index()].pending[(number + at) as usize].0;
        let disturbed = (0..lengths.len()).filter(awake).any(|other| {
            let theirs = marks.certain(graph, lengths, other, MOST);
            let ops = theirs.iter().map(|event| &graph.events[*event as usize].op);
            let next = graph.threads[other].pending.get(lengths[other] as usize + theirs.len());
            ops.chain(next.map(|(op, _)| op)).any(|op| op.conflicts_with(announced))
        });
        if disturbed || !graph.choices(event).is_empty() {
            return Foreseen::Steps(at, true);
        }
        if wakes(op) || creates(graph, event) || graph.stopped && event + 1 == graph.events.len() {
            return Foreseen::Steps(at + 1, false);
        }
    }
    let line = &graph.threads[thread.index()];
    let ended = line.ended && number as usize + certain.len() == line.events.len();
    if ended { Foreseen::Nothing } else { Foreseen::Steps(certain.len() as u32, true) }
}

/// Whether a thread was created within an event's step.
fn creates(graph: &Graph, event: usize) -> bool {
    graph.threads.iter().any(|line| line.creator == Some(event as u32))
}
