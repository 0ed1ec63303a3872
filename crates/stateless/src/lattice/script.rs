//! What a lattice is made from: the steps of an execution, as it was run or as it was [kept](super::Trail).

use std::ops::Range;

use selvedge_core::{Access, Decision, Op, OpKind, ThreadId};

use super::Threads;
use crate::gate::Gate;
use crate::record::Pending;
use crate::strategy::Finished;

/// One step of an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move<'a> {
    pub(super) thread: ThreadId,
    pub(super) op: Op,
    /// How many preemptions there were with it.
    pub(super) run: u32,
    /// The state after it.
    pub(super) after: u128,
    /// What it adds to its first object, if it touches one and that is known.
    pub(super) action: Option<u128>,
    /// How many decisions there were with it.
    pub(super) decisions: u32,
    /// How many values it chose.
    pub(super) choices: u32,
    /// It ended the execution, and so depends on everything.
    pub(super) stops: bool,
    /// By how much it has changed the words of objects; what is first is of no importance.
    pub(super) changes: &'a [(u32, u32, u64)],
    /// The threads that it has signalled.
    pub(super) signals: &'a [(u32, ThreadId)],
    /// What its thread does next, and threads that are new.
    pub(super) next: &'a [Pending],
}

/// What most steps do: a thread goes on with an operation on one object, and nothing that it does to it is of interest to
/// others but for its word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<'a> {
    pub(super) op: &'a Op,
    pub(super) object: usize,
    pub(super) writes: bool,
    pub(super) after: u128,
    pub(super) action: Option<u128>,
    pub(super) decisions: u32,
    /// Whether it changes the word of the object, and by how much.
    pub(super) changes: bool,
    pub(super) difference: u64,
    /// What its thread waits for next.
    pub(super) gate: &'a Gate,
}

impl<'a> Plain<'a> {
    /// A step, if it is one of these.
    #[inline(always)]
    pub(super) fn new(
        thread: ThreadId,
        op: &'a Op,
        after: u128,
        action: Option<u128>,
        decisions: u32,
        changes: &[(u32, u32, u64)],
        next: &'a Pending,
    ) -> Option<Self> {
        let object = op.object?;
        let writes = op.access == Access::Write;
        let (changed, difference) = match *changes {
            [] => (false, 0),
            [(_, changed, difference)] if writes && changed == object.index() as u32 => (true, difference),
            _ => return None,
        };
        let plain = op.also.is_none()
            && op.access != Access::None
            && !op.yields()
            && op.kind != OpKind::End
            && next.thread == thread;
        plain.then_some(Plain {
            op,
            object: object.index(),
            writes,
            after,
            action,
            decisions,
            changes: changed,
            difference,
            gate: &next.gate,
        })
    }
}

/// Steps, one after the other, from some step on.
pub(crate) trait Script<'a> {
    /// What threads do first that there are at the beginning.
    fn first(&self) -> &'a [Pending];

    /// The name of a thread.
    fn name(&self, thread: ThreadId) -> u64;

    /// The words that objects begin with.
    fn initials(&self) -> impl Iterator<Item = u64>;

    /// The next step, if it is a plain one of this thread, and not the last.
    fn plain(&self, thread: ThreadId) -> Option<Plain<'a>>;

    /// Goes on after a plain step.
    fn pass(&mut self, plain: &Plain<'a>);

    /// Whether the next step is this thread's, and from here on nothing is left to choose within the [ending](Ending).
    fn is_in_ending(&self, _thread: ThreadId) -> bool {
        false
    }

    /// The floating steps of the ending, one by one, as they were taken later, where the thread at hand goes on before them.
    fn floating(&self, _number: usize) -> Option<Move<'a>> {
        None
    }

    /// The next step. The values that it chose are added, each with among how many.
    fn next(&mut self, choices: &mut Vec<(u32, u32)>) -> Option<Move<'a>>;
}

/// An execution that was run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    execution: Finished<'a>,
    /// The next decision, change and signal.
    decision: usize,
    changes: &'a [(u32, u32, u64)],
    signals: &'a [(u32, ThreadId)],
    ending: Ending,
}

/// How an execution ends. From some decision on nothing was left to choose: one thread could go on, none yielded, and each
/// step depends on the one before. Just before that one thread may have run until it could go on no longer, while another
/// could have taken *floating* steps: joins of threads that have ended, which change nothing for anybody and depend on
/// nothing that it did. These come right after it then, and what comes after them depends on the last step of that thread. So the states of the ending are those
/// along the execution, each with some or all of the floating steps, and they all lead to the same end.
#[derive(Clone, Debug)]
struct Ending {
    /// The first decision of it.
    begin: usize,
    /// The decisions for the floating steps.
    floating: Range<usize>,
}

impl Ending {
    /// There is none.
    const NONE: Ending = Ending { begin: usize::MAX, floating: 0..0 };

    fn of(execution: &Finished<'_>) -> Self {
        if execution.stopped || execution.pruned {
            return Ending::NONE;
        }
        let record = execution.record;
        let (points, decisions) = (record.points(), record.decisions());
        // The thread that went on, if there was no choice but between it and another one.
        let only = |at: usize, other: Threads| {
            let (Decision::Thread(thread), point) = (decisions[at], &points[at]) else { return None };
            let own = 1_u64.checked_shl(thread.0)?;
            let &[enabled] = record.enabled_words(point) else { return None };
            let free = enabled != own && !(point.preemptible && point.running == Some(thread));
            let no_choice = enabled & !own & !other == 0 && !free;
            (no_choice && !point.held_back && !point.op.yields()).then_some(thread)
        };
        let mut ending = Ending { begin: decisions.len(), floating: 0..0 };
        let mut next = None;
        while let Some(last) = ending.begin.checked_sub(1)
            && let Some(thread) = only(last, 0)
            && next.is_none_or(|next| next == thread || points[last + 1].op.conflicts_with(&points[last].op))
        {
            (ending.begin, next) = (last, Some(thread));
        }
        let (Some(last), Some(next)) = (ending.begin.checked_sub(1), next) else { return ending };
        // They end with one that depends on what the thread before did last.
        let is_next = |at: &usize| decisions.get(*at) == Some(&Decision::Thread(next));
        let depends = |at: usize| points[at].op.conflicts_with(&points[last].op);
        let is_join = |op: &Op| op.kind == OpKind::Join && op.access == Access::Read && op.also.is_none();
        let floats = |at: &usize| is_next(at) && is_join(&points[*at].op) && !depends(*at);
        let end = (ending.begin..).find(|at| !floats(at)).filter(|at| is_next(at) && depends(*at));
        let thread = only(last, 1 << next.0).filter(|thread| *thread != next);
        let (Some(end), Some(thread)) = (end.filter(|end| *end > ending.begin), thread) else {
            return ending;
        };
        ending.floating = ending.begin..end;
        // A thread that has ended can still be sent a signal, for instance: a join does not float past that.
        let passes = |at: usize| {
            !points[ending.floating.clone()].iter().any(|join| join.op.conflicts_with(&points[at].op))
        };
        while let Some(last) = ending.begin.checked_sub(1)
            && only(last, 1 << next.0) == Some(thread)
            && passes(last)
        {
            ending.begin = last;
        }
        ending
    }
}

impl<'a> Run<'a> {
    /// The same, and it is found out how the execution ends.
    pub(super) fn with_ending(mut self) -> Self {
        self.ending = Ending::of(&self.execution);
        self
    }

    /// From the step on that begins with this decision.
    pub(super) fn starting(execution: &Finished<'a>, decision: usize) -> Self {
        let record = execution.record;
        let begin = |at: u32| (at as usize) < decision;
        let (changes, signals) = (record.changes(), record.signals());
        Run {
            execution: *execution,
            decision,
            changes: &changes[changes.partition_point(|change| begin(change.0))..],
            signals: &signals[signals.partition_point(|signal| begin(signal.0))..],
            ending: Ending::NONE,
        }
    }
}

impl<'a> Script<'a> for Run<'a> {
    fn first(&self) -> &'a [Pending] {
        self.execution.record.pending(0)
    }

    fn name(&self, thread: ThreadId) -> u64 {
        self.execution.record.name(thread)
    }

    fn initials(&self) -> impl Iterator<Item = u64> {
        self.execution.record.initials()
    }

    #[inline(always)]
    fn plain(&self, thread: ThreadId) -> Option<Plain<'a>> {
        let record = self.execution.record;
        let (at, end) = (self.decision, self.decision + 1);
        let &[Decision::Thread(chosen), Decision::Thread(_), ..] = record.decisions().get(at..)? else {
            return None;
        };
        let point = record.points().get(at)?;
        let pending = record.only_pending(end)?;
        let is_here = |step: u32| step as usize == at;
        if chosen != thread || self.signals.first().is_some_and(|s| is_here(s.0)) {
            return None;
        }
        let changes = match self.changes {
            [_, second, ..] if is_here(second.0) => return None,
            [first, ..] if is_here(first.0) => std::slice::from_ref(first),
            _ => &[],
        };
        let (action, after) = record.step(at)?;
        Plain::new(thread, &point.op, after.0, Some(action), end as u32, changes, pending)
    }

    #[inline(always)]
    fn pass(&mut self, plain: &Plain<'a>) {
        self.decision += 1;
        self.changes = &self.changes[usize::from(plain.changes)..];
    }

    #[inline]
    fn is_in_ending(&self, thread: ThreadId) -> bool {
        let decisions = self.execution.record.decisions();
        self.decision >= self.ending.begin && decisions.get(self.decision) == Some(&Decision::Thread(thread))
    }

    fn floating(&self, number: usize) -> Option<Move<'a>> {
        let at = self
            .ending
            .floating
            .clone()
            .nth(number)
            .filter(|_| self.decision < self.ending.floating.start)?;
        Run::starting(&self.execution, at).next(&mut Vec::new())
    }

    #[inline]
    fn next(&mut self, choices: &mut Vec<(u32, u32)>) -> Option<Move<'a>> {
        let record = self.execution.record;
        let decisions = record.decisions();
        let Decision::Thread(thread) = *decisions.get(self.decision)? else {
            unreachable!("a step begins with a choice between threads")
        };
        let points = record.points();
        let mut end = self.decision + 1;
        while let Some(Decision::Value(value)) = decisions.get(end) {
            choices.push((*value, points[end].arity));
            end += 1;
        }
        let chosen = end - self.decision - 1;
        self.decision = end;
        let changes = take(&mut self.changes, |change| change.0 as usize == end - 1);
        let signals = take(&mut self.signals, |signal| signal.0 as usize == end - 1);
        let (run, after, stops) = match points.get(end) {
            Some(point) => (point.preemptions, record.state(end), false),
            None => (self.execution.preemptions, self.execution.state, self.execution.stopped),
        };
        Some(Move {
            thread,
            op: points[end - 1].op,
            run,
            after: after.0,
            action: Some(record.action(end - 1)),
            decisions: end as u32,
            choices: chosen as u32,
            stops,
            changes,
            signals,
            next: record.pending(end),
        })
    }
}

/// Takes the first elements of a list that are wanted.
#[inline]
fn take<'a, T>(list: &mut &'a [T], wanted: impl Fn(&T) -> bool) -> &'a [T] {
    let count = list.iter().take_while(|element| wanted(element)).count();
    let (first, rest) = list.split_at(count);
    *list = rest;
    first
}

#[cfg(test)]
pub(crate) mod written {
    use super::*;
    use crate::happens_before::HappensBefore;

    /// An execution that was written down: the first thread takes one step, which creates the others and ends it; then
    /// come given steps. Threads end after their last one.
    #[derive(Clone, Debug)]
    pub(crate) struct Written {
        names: Vec<u64>,
        steps: Vec<(usize, Op)>,
        first: Vec<Pending>,
        next: Vec<Vec<Pending>>,
    }

    impl Written {
        pub(crate) fn new(threads: usize, name: u64, steps: &[(usize, Op)]) -> Self {
            let names = (0..threads as u64).map(|thread| thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ name);
            let first = std::iter::once((0, Op::local(OpKind::End)));
            let steps: Vec<_> = first.chain(steps.iter().copied()).collect();
            let open = |thread: usize| {
                let thread = ThreadId(thread as u32);
                Pending { thread, op: Op::default(), gate: Gate::OPEN }
            };
            let goes_on = |index: usize| steps[index + 1..].iter().any(|step| step.0 == steps[index].0);
            let next = |index: usize| goes_on(index).then(|| open(steps[index].0)).into_iter().collect();
            let mut next: Vec<Vec<_>> = (0..steps.len()).map(next).collect();
            next[0].extend((1..threads).map(open));
            Written { names: names.collect(), steps, first: vec![open(0)], next }
        }

        /// How many steps there are.
        pub(crate) fn len(&self) -> usize {
            self.steps.len()
        }

        pub(crate) fn script(&self) -> Reading<'_> {
            let mut state = HappensBefore::default();
            for (thread, name) in self.names.iter().enumerate() {
                state.named(ThreadId(thread as u32), *name);
            }
            Reading { written: self, state, index: 0, run: 0 }
        }
    }

    /// A written execution, from some step on.
    #[derive(Debug)]
    pub(crate) struct Reading<'a> {
        written: &'a Written,
        state: HappensBefore,
        index: usize,
        run: u32,
    }

    impl<'a> Script<'a> for Reading<'a> {
        fn first(&self) -> &'a [Pending] {
            &self.written.first
        }

        fn name(&self, thread: ThreadId) -> u64 {
            self.written.names[thread.index()]
        }

        fn initials(&self) -> impl Iterator<Item = u64> {
            std::iter::empty()
        }

        fn plain(&self, _: ThreadId) -> Option<Plain<'a>> {
            None
        }

        fn pass(&mut self, _: &Plain<'a>) {
            unreachable!("no step is plain")
        }

        fn next(&mut self, _: &mut Vec<(u32, u32)>) -> Option<Move<'a>> {
            let written = self.written;
            let (thread, op) = *written.steps.get(self.index)?;
            let last = self.index.checked_sub(1).map(|last| (written.steps[last].0, &written.next[last]));
            let preempts = |(last, next): (usize, &Vec<Pending>)| {
                last != thread && next.iter().any(|next| next.thread.index() == last)
            };
            self.run += u32::from(last.is_some_and(preempts));
            let next = &written.next[self.index];
            self.index += 1;
            let thread = ThreadId(thread as u32);
            self.state.step(thread, &op);
            Some(Move {
                thread,
                op,
                run: self.run,
                after: self.state.hash().0,
                action: None,
                decisions: self.index as u32,
                choices: 0,
                stops: false,
                changes: &[],
                signals: &[],
                next,
            })
        }
    }
}
