//! What an execution costs while it goes on: once that has been searched for, every step that follows adds to it little
//! enough that it need not be searched for again.
//!
//! Take a cheapest linearization of the execution so far that ends with the thread that runs, and let a thread go on after
//! it. What must be paid in addition? For leaving the thread that runs, if another goes on and it could have. For having
//! left the other one, if that has not been paid: its next step comes later. For each thread whose next step the new one
//! conflicts with, once: now that must come later too. A thread that sleeps pays for being left unless what wakes it may
//! have come before; that may turn out to be impossible when another thread, which might have, has to wait or goes on only
//! now.

use selvedge_core::{Decision, Op, OpKind, ThreadId, ThreadSet};

use super::super::prefix_cost::surely_conflicts;
use super::super::{Point, backtrack::last_thread};
use super::sleep::Taken;
use crate::gate::Gate;

/// What an execution costs at most when it is linearized such that the thread that runs is the last.
#[derive(Clone, Debug)]
pub(super) struct Bill {
    pub(super) cost: u32,
    /// The threads for whose being left nothing needs to be added: it is in the cost, or was free.
    paid: ThreadSet,
    /// Whether the last step may have made another thread wait.
    blocking: bool,
}

/// Whether the second of two operations may have to come after the first, and its thread could have performed it before.
fn delays(op: &Op, next: &Op) -> bool {
    op.conflicts_with(next)
        && !matches!((op.kind, next.kind), (OpKind::Join, OpKind::End) | (OpKind::End, OpKind::Join))
}

impl Bill {
    /// What was found to be the least cost with one more step of a thread, which is the last.
    pub(super) fn new(cost: u32, thread: ThreadId, pending: &[(Op, Gate)]) -> Self {
        let op = &pending[thread.index()].0;
        let (mut paid, mut blocking) = (ThreadSet::default(), false);
        for (other, (next, gate)) in pending.iter().enumerate().filter(|(other, _)| *other != thread.index())
        {
            blocking |= next.conflicts_with(op);
            if surely_conflicts(next, op, false) && gate.object.is_none_or(|gate| next.object == Some(gate)) {
                paid.insert(ThreadId(other as u32));
            }
        }
        Bill { cost, paid, blocking }
    }

    /// With one more step of a thread.
    pub(super) fn after(
        &self,
        thread: ThreadId,
        point: &Point<'_>,
        pending: &[(Op, Gate)],
        asleep: &[Taken],
    ) -> Bill {
        let Bill { mut cost, mut paid, blocking: blocked } = self.clone();
        // Whether the last step conflicts with what comes next in another thread was not certain before it was taken.
        if let (Some(last), Some(running)) = (last_op(point), point.running) {
            for (other, (next, _)) in pending.iter().enumerate() {
                let other = ThreadId(other as u32);
                if other != running && delays(last, next) && !paid.contains(other) {
                    cost += 1;
                    paid.insert(other);
                }
            }
        }
        let op = &pending[thread.index()].0;
        let left = point.running.filter(|running| *running != thread);
        if let Some(left) = left {
            cost += u32::from(point.preemptible);
            // If it was not paid now, it was free.
            paid.insert(left);
            if !paid.contains(thread) && !waited(thread, op, point) {
                cost += u32::from(point.decisions.contains(&Decision::Thread(thread)));
            }
            paid.remove(thread);
        }
        let mut pay = |other: usize| {
            let other = ThreadId(other as u32);
            cost += u32::from(!paid.contains(other));
            paid.insert(other);
        };
        let mut blocking = false;
        for (other, (next, _)) in pending.iter().enumerate().filter(|(other, _)| *other != thread.index()) {
            blocking |= next.conflicts_with(op);
            if delays(op, next) {
                pay(other);
            }
        }
        if blocking || blocked || left.is_some() {
            let left = asleep.iter().filter(|taken| taken.number > 0);
            left.for_each(|taken| pay(taken.thread.index()));
        }
        Bill { cost, paid, blocking }
    }
}

/// What the last step did.
fn last_op<'a>(point: &Point<'a>) -> Option<&'a Op> {
    point.step.checked_sub(1).map(|last| &point.record.points()[last].op)
}

/// Whether a thread has waited for the last step: it joins the thread which has ended with that.
fn waited(thread: ThreadId, op: &Op, point: &Point<'_>) -> bool {
    debug_assert_ne!(last_thread(point.decisions), thread, "another has taken the last step");
    op.kind == OpKind::Join
        && last_op(point).is_some_and(|last| last.kind == OpKind::End && last.conflicts_with(op))
}
