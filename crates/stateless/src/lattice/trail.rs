//! Executions that followed each other, each as what it has more than the one before.

use selvedge_core::{Decision, Op, ThreadId};

use super::script::{Move, Plain, Run, Script};
use crate::record::{Pending, in_common};
use crate::strategy::Finished;

/// Executions, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    executions: Vec<Kept>,
    steps: Vec<Step>,
    choices: Vec<(u32, u32)>,
    changes: Vec<(u32, u32, u64)>,
    signals: Vec<(u32, ThreadId)>,
    next: Vec<Pending>,
    names: Vec<u64>,
    /// The words that objects begin with.
    initials: Vec<u64>,
    /// The decisions of the last one, and whether something went wrong in it.
    last: Vec<Decision>,
    stopped: bool,
}

/// What an execution has more than the one before.
#[derive(Debug)]
struct Kept {
    /// So many steps it has in common with that one.
    common: usize,
    /// Its first list in [`Trail::next`] is of the beginning.
    first: usize,
    stops: bool,
    /// It is to be looked at again.
    open: bool,
    /// Where the next one begins in each list.
    ends: Ends,
}

/// What one of the executions has of some steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    index: usize,
    /// From the step of this number to that, or to the last.
    pub(crate) begin: usize,
    end: usize,
}

/// Places in the lists of a trail.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    steps: usize,
    choices: usize,
    changes: usize,
    signals: usize,
    next: usize,
    names: usize,
    initials: usize,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    after: u128,
    op: Op,
    run: u32,
    thread: u8,
    /// How many of the lists are its.
    next: u8,
    changes: u8,
    signals: u8,
    choices: u16,
}

impl Trail {
    /// How many executions there are.
    pub(crate) fn len(&self) -> usize {
        self.executions.len()
    }

    /// Adds an execution, with at most 64 threads. It is open: it is to be looked at again.
    pub(crate) fn add(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        let decisions = record.decisions();
        let mut common = in_common(&self.last, self.stopped, decisions, execution.stopped);
        // The values that a step has chosen are part of it.
        while let Some(Decision::Value(_)) = decisions.get(common) {
            common -= 1;
        }
        let steps = decisions[..common].iter().filter(|decision| matches!(decision, Decision::Thread(_)));
        let steps = steps.count();
        self.last.truncate(common);
        self.last.extend_from_slice(&decisions[common..]);
        self.stopped = execution.stopped;
        self.push(steps, record.threads(), Run::starting(execution, common));
    }

    /// Adds an execution whose first so many steps are those of the one that was added before; the script goes on
    /// from there. It has so many threads.
    pub(crate) fn push<'a>(&mut self, common: usize, threads: usize, mut script: impl Script<'a>) {
        let first = if common == 0 { script.first() } else { &[] };
        self.next.extend_from_slice(first);
        let mut stops = false;
        while let Some(step) = script.next(&mut self.choices) {
            self.next.extend_from_slice(step.next);
            self.changes.extend_from_slice(step.changes);
            self.signals.extend_from_slice(step.signals);
            stops = step.stops;
            self.steps.push(Step {
                after: step.after,
                op: step.op,
                run: step.run,
                thread: step.thread.0 as u8,
                next: step.next.len() as u8,
                changes: step.changes.len() as u8,
                signals: step.signals.len() as u8,
                choices: step.choices as u16,
            });
        }
        self.names.extend((0..threads as u32).map(|thread| script.name(ThreadId(thread))));
        self.initials.extend(script.initials());
        let ends = Ends {
            steps: self.steps.len(),
            choices: self.choices.len(),
            changes: self.changes.len(),
            signals: self.signals.len(),
            next: self.next.len(),
            names: self.names.len(),
            initials: self.initials.len(),
        };
        self.executions.push(Kept { common, first: first.len(), stops, open: true, ends });
    }

    /// Goes through the executions that are open, or through all: the number of each, and the pieces that it has more than the
    /// one that was loaded last. Is told whether it was loaded.
    pub(crate) fn again(&self, all: bool, mut look: impl FnMut(usize, &[Piece]) -> bool) {
        // What the executions since the last one that was loaded have of the one at hand, in the order of the steps.
        let mut pieces: Vec<Piece> = Vec::new();
        for (index, &Kept { common, open, .. }) in self.executions.iter().enumerate() {
            while pieces.pop_if(|piece| piece.begin >= common).is_some() {}
            if let Some(last) = pieces.last_mut() {
                last.end = last.end.min(common);
            }
            pieces.push(Piece { index, begin: common, end: usize::MAX });
            if (open || all) && look(index, &pieces) {
                pieces.clear();
            }
        }
    }

    /// Has an execution be one that is looked at again, or one that is not.
    pub(crate) fn set_open(&mut self, index: usize, open: bool) {
        self.executions[index].open = open;
    }

    /// The names of the threads of an execution.
    pub(crate) fn names(&self, index: usize) -> &[u64] {
        let begin = index.checked_sub(1).map_or(0, |before| self.executions[before].ends.names);
        &self.names[begin..self.executions[index].ends.names]
    }

    /// A piece of an execution.
    pub(crate) fn get(&self, piece: &Piece) -> Again<'_> {
        let &Piece { index, begin: common, end } = piece;
        let kept = &self.executions[index];
        let begin = index.checked_sub(1).map_or(Ends::default(), |before| self.executions[before].ends);
        let ends = &kept.ends;
        let (first, next) = self.next[begin.next..ends.next].split_at(kept.first);
        let steps = &self.steps[begin.steps..ends.steps];
        let count = steps.len().min(end - common);
        let (steps, rest) = steps.split_at(count);
        Again {
            steps,
            stops: kept.stops && rest.is_empty(),
            first,
            next,
            choices: &self.choices[begin.choices..ends.choices],
            changes: &self.changes[begin.changes..ends.changes],
            signals: &self.signals[begin.signals..ends.signals],
            names: &self.names[begin.names..ends.names],
            initials: &self.initials[begin.initials..ends.initials],
        }
    }
}

/// An execution that was kept.
#[derive(Debug)]
pub(crate) struct Again<'a> {
    steps: &'a [Step],
    stops: bool,
    first: &'a [Pending],
    next: &'a [Pending],
    choices: &'a [(u32, u32)],
    changes: &'a [(u32, u32, u64)],
    signals: &'a [(u32, ThreadId)],
    names: &'a [u64],
    initials: &'a [u64],
}

impl<'a> Script<'a> for Again<'a> {
    fn first(&self) -> &'a [Pending] {
        self.first
    }

    fn name(&self, thread: ThreadId) -> u64 {
        self.names[thread.index()]
    }

    fn initials(&self) -> impl Iterator<Item = u64> {
        self.initials.iter().copied()
    }

    #[inline(always)]
    fn plain(&self, thread: ThreadId) -> Option<Plain<'a>> {
        let [step, _, ..] = self.steps else { return None };
        if ThreadId(step.thread.into()) != thread || (step.next, step.signals, step.choices) != (1, 0, 0) {
            return None;
        }
        let changes = &self.changes[..step.changes.into()];
        Plain::new(thread, &step.op, step.after, None, 0, changes, &self.next[0])
    }

    #[inline(always)]
    fn pass(&mut self, plain: &Plain<'a>) {
        self.steps = &self.steps[1..];
        self.changes = &self.changes[usize::from(plain.changes)..];
        self.next = &self.next[1..];
    }

    #[inline]
    fn next(&mut self, choices: &mut Vec<(u32, u32)>) -> Option<Move<'a>> {
        let (step, rest) = self.steps.split_first()?;
        self.steps = rest;
        choices.extend_from_slice(take(&mut self.choices, step.choices.into()));
        Some(Move {
            thread: ThreadId(step.thread.into()),
            op: step.op,
            run: step.run,
            after: step.after,
            action: None,
            decisions: 0,
            choices: step.choices.into(),
            stops: self.stops && rest.is_empty(),
            changes: take(&mut self.changes, step.changes.into()),
            signals: take(&mut self.signals, step.signals.into()),
            next: take(&mut self.next, step.next.into()),
        })
    }
}

/// Takes so many elements of a list.
#[inline]
fn take<'a, T>(list: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, rest) = list.split_at(count);
    *list = rest;
    first
}

#[cfg(test)]
mod tests {
    use selvedge_core::{Access, ObjectId, OpKind};

    use super::super::{Lattice, Written};
    use super::*;

    /// An execution of two threads beside the first, in this order; what each step does follows from its place.
    fn execution(order: &[usize]) -> Written {
        let mut taken = [0; 3];
        let steps = order.iter().map(|thread| {
            taken[*thread] += 1;
            let object = ObjectId::new(taken[*thread] % 2);
            let (kind, access) =
                if *thread == 1 { (OpKind::Store, Access::Write) } else { (OpKind::Load, Access::Read) };
            (*thread, Op::on(kind, access, object))
        });
        Written::new(3, 0, &steps.collect::<Vec<_>>())
    }

    #[test]
    fn executions_are_what_they_were_whichever_are_passed_over() {
        let orders: [&[usize]; 6] = [
            &[1, 1, 1, 2, 2, 2],
            &[1, 1, 2, 1, 2, 2],
            &[1, 1, 2, 2, 1, 2],
            &[1, 2, 1, 1, 2, 2],
            &[1, 2, 1, 2, 2, 1],
            &[2, 2, 2, 1, 1, 1],
        ];
        let executions = orders.map(execution);
        for wanted in 1_u32..1 << orders.len() {
            let is_open = |index: usize| wanted >> index & 1 == 1;
            let mut trail = Trail::default();
            for (index, execution) in executions.iter().enumerate() {
                let before = index.checked_sub(1).map_or(&[][..], |before| orders[before]);
                let common = before.iter().zip(orders[index]).take_while(|(a, b)| a == b).count();
                // The first step of all of them creates the threads.
                let common = if index == 0 { 0 } else { common + 1 };
                let mut script = execution.script();
                (0..common).for_each(|_| assert!(script.next(&mut Vec::new()).is_some()));
                trail.push(common, 3, script);
            }
            let mut indices = Vec::new();
            trail.again(false, |index, pieces| {
                assert_eq!(pieces.len(), 1);
                indices.push(index);
                true
            });
            assert_eq!(indices, [0, 1, 2, 3, 4, 5]);
            (0..orders.len()).for_each(|index| trail.set_open(index, is_open(index)));
            // Whichever are not loaded.
            for unloaded in 0_u32..1 << orders.len() {
                let mut open = (0..orders.len()).filter(|index| is_open(*index));
                let mut state = Lattice::default();
                trail.again(false, |index, pieces| {
                    assert_eq!(open.next(), Some(index));
                    if unloaded >> index & 1 == 1 {
                        return false;
                    }
                    for piece in pieces {
                        state.load(piece.begin, None, trail.get(piece));
                    }
                    let mut whole = Lattice::default();
                    whole.load(0, None, executions[index].script());
                    assert_eq!((state.len(), state.hash), (whole.len(), whole.hash));
                    assert_eq!(state.frontier(), whole.frontier());
                    assert!((0..state.len()).all(|step| state.step(step) == whole.step(step)));
                    assert!(state.names().eq(trail.names(index).iter().copied()));
                    true
                });
                assert!(open.next().is_none());
            }
            (0..orders.len()).for_each(|index| trail.set_open(index, false));
            trail.again(false, |_, _| unreachable!("none is open any more"));
            let mut all = 0;
            trail.again(true, |_, pieces| {
                all += pieces.len();
                true
            });
            assert_eq!(all, orders.len());
        }
    }
}
