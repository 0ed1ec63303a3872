//! What the search learns from an execution: sequences to be run, planned in the wakeup trees of the states that they
//! begin in.

use selvedge_core::{Access, Op, OpKind, ThreadId, ThreadSet};

use super::Optimal;
use super::node::{Taken, step};
use super::wakeup::{Branch, Planned, Sequence, Step, insert};
use crate::config::Status;
use crate::graph::{Event, Graph, ThreadLine};

/// A race that was planned the other way round.
#[derive(Clone, Debug)]
pub(super) struct TurnedRound {
    /// The first event.
    event: usize,
    /// The thread of the second, and how many steps it had taken.
    thread: ThreadId,
    number: usize,
    /// What else comes after the second then ([`Graph::moved_with`]).
    moved: Box<[u32]>,
}

/// A sequence that is being put together from the steps after an event, and where in it each of these is.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    sequence: Sequence,
    places: Vec<Option<usize>>,
}

/// Where in a draft the step is within which a thread was created.
fn draft_place(places: &[Option<usize>], event: usize, creator: Option<u32>) -> Option<usize> {
    let after = (creator? as usize).checked_sub(event + 1)?;
    places.get(after).copied().flatten()
}

impl Optimal {
    /// The steps after an event that depend neither on it nor on what is moved with it.
    fn draft_independent_of(&self, event: usize, moved: &[u32], draft: &mut Draft) {
        let Draft { sequence, places } = draft;
        let is_moved = |other: usize| {
            let depends_on = |on: usize| self.graph.happens_before(on, other);
            depends_on(event) || moved.iter().any(|moved| depends_on(*moved as usize))
        };
        // The threads of which a step is still to come that does not depend on it: once one does, all that follow do.
        let next = |line: &ThreadLine| {
            line.events.get(line.events.partition_point(|other| *other as usize <= event)).copied()
        };
        let is_open = |line: &ThreadLine| next(line).is_some_and(|next| !is_moved(next as usize));
        let threads = self.graph.threads.iter().zip(0..);
        let mut open: ThreadSet =
            threads.filter(|(line, _)| is_open(line)).map(|(_, thread)| ThreadId(thread)).collect();
        for (index, Event { thread, op, .. }) in self.graph.events.iter().enumerate().skip(event + 1) {
            if open.is_empty() {
                break;
            }
            if !open.contains(*thread) {
                continue;
            }
            if is_moved(index) {
                open.remove(*thread);
                continue;
            }
            places.resize(index - event - 1, None);
            places.push(Some(sequence.steps.len()));
            let creator = self.graph.threads[thread.index()].creator;
            sequence.steps.push(Planned {
                step: step(&self.graph, index),
                op: *op,
                performed: true,
                creator: draft_place(places, event, creator),
            });
        }
    }

    /// What an operation will do after a sequence from an event, where more is known than what it announces.
    fn expected(&self, op: Op, event: usize, thread: ThreadId, sequence: &Sequence) -> Op {
        match op.kind {
            // A waiter that was notified has nothing to take back.
            OpKind::Wake if op.access == Access::Write => {
                let lengths = steps_after(&self.graph, event, &sequence.steps);
                let signalled = self.graph.status(&lengths, thread) == Status::Enabled;
                Op { access: if signalled { Access::Read } else { op.access }, ..op }
            }
            // Where another was not the last, neither is this one.
            OpKind::Disconnect => {
                let Event { thread, number, op: first, .. } = self.graph.events[event];
                let announced = self.graph.threads[thread.index()].pending[number as usize].0;
                if announced == op && first.also.is_none() { first } else { op }
            }
            _ => op,
        }
    }

    /// Plans what follows from an event: the steps that depend neither on it nor on what is moved with it, and then this one.
    pub(super) fn plan(
        &mut self,
        event: usize,
        moved: &[u32],
        thread: ThreadId,
        number: usize,
        values: Vec<u32>,
    ) {
        let line = &self.graph.threads[thread.index()];
        let Some((op, _)) = line.pending.get(number) else { return };
        let (op, name, creator) = (*op, line.name, line.creator);
        let mut draft = std::mem::take(&mut self.draft);
        draft.sequence.steps.clear();
        draft.sequence.known = self.graph.words.known_after(event);
        draft.places.clear();
        self.draft_independent_of(event, moved, &mut draft);
        let op = self.expected(op, event, thread, &draft.sequence);
        let creator = draft_place(&draft.places, event, creator);
        let chosen = values.len();
        draft.sequence.steps.push(Planned {
            step: Step { thread: name, values },
            op,
            performed: false,
            creator,
        });
        // Where what a step does depends on the value that it chooses, one that chose another is no substitute for it.
        let is_first = draft.sequence.steps.iter().filter(|planned| planned.step.thread == name).count() == 1;
        let does_less = |taken: &Taken| {
            let Step { thread, values } = &taken.step;
            is_first && *thread == name && values.len() > chosen && taken.op.access != op.access
        };
        let covered = self.path[event].asleep.iter().filter(|taken| !does_less(taken)).any(|taken| {
            if taken.stale || taken.ends || !taken.racers.is_empty() {
                !draft.sequence.leave_out(&taken.step)
            } else {
                draft.sequence.may_begin_with(&taken.step, &taken.op)
            }
        });
        if !covered {
            self.insert(event, &draft.sequence);
        }
        self.draft = draft;
    }

    /// Adds a sequence to what is to be tried in place of an event.
    fn insert(&mut self, event: usize, sequence: &Sequence) {
        let graph = &self.graph;
        let next_op = |thread: u64, steps: usize| {
            let line = graph.threads.iter().find(|line| line.name == thread)?;
            let before = line.events.partition_point(|other| (*other as usize) < event);
            line.pending.get(before + steps).map(|(op, _)| *op)
        };
        insert(&mut self.path[event].tree, sequence, &next_op);
    }

    /// Plans every race of the execution the other way round. The first `common` events are also those of the last one:
    /// its races are planned again where what was planned is still to be run, because the sequences that go with them
    /// now may be others, of steps that come after the race.
    pub(super) fn turn_races_round(&mut self, common: usize) {
        let mut races = std::mem::take(&mut self.races);
        races.retain(|race| {
            let line = self.graph.threads.get(race.thread.index());
            let second = line.and_then(|line| line.events.get(race.number));
            second.is_some_and(|event| (*event as usize) < common)
        });
        for race in &races {
            if !self.path[race.event].tree.is_empty() {
                self.plan(race.event, &race.moved, race.thread, race.number, Vec::new());
            }
        }
        self.races = races;
        for index in 0..self.graph.reduced.len() {
            let race = self.graph.reduced[index];
            let number = self.graph.second_number(&race);
            let (event, thread) = (race.event as usize, race.thread);
            let moved: Box<[u32]> = self.graph.moved_with(&race).into();
            self.plan(event, &moved, thread, number, Vec::new());
            self.races.push(TurnedRound { event, thread, number, moved });
        }
    }

    /// Plans every choice of a value from an event on with the other values.
    pub(super) fn choose_otherwise(&mut self, first: usize) {
        for event in first..self.graph.events.len() {
            let Event { thread, number, .. } = self.graph.events[event];
            for at in 0..self.graph.choices(event).len() {
                let choices = &self.graph.choices(event)[..=at];
                let (chosen, arity) = choices[at];
                let mut values: Vec<u32> = choices.iter().map(|(value, _)| *value).collect();
                for value in (0..arity).filter(|value| *value != chosen) {
                    values[at] = value;
                    self.plan(event, &[], thread, number as usize, values.clone());
                }
            }
        }
    }

    /// Plans a data race the other way round. That two accesses to a cell depend on each other is known only
    /// once they have raced.
    pub(super) fn turn_data_race_round(&mut self, first: usize) {
        let last = self.graph.events.len() - 1;
        let second = self.graph.events[last];
        let creator = self.graph.threads[second.thread.index()].creator;
        let needed = (first..last).any(|event| {
            let other = &self.graph.events[event];
            let before = other.thread == second.thread
                || creator == Some(event as u32)
                || other.op.conflicts_with(&second.op);
            before && self.graph.happens_before(first, event)
        });
        if needed {
            return;
        }
        let Step { thread, values } = step(&self.graph, last);
        let node = &mut self.path[first];
        if !node.racers.contains(&(thread, second.number)) {
            node.racers.push((thread, second.number));
        }
        self.plan(first, &[], second.thread, second.number as usize, values);
    }

    /// Plans every thread that could have gone on instead of the step that ended the execution.
    pub(super) fn go_on_otherwise(&mut self) {
        let Some(last) = self.path.len().checked_sub(1) else { return };
        let node = &mut self.path[last];
        let known = self.graph.words.known_after(last);
        for thread in self.graph.enabled(last).filter(|thread| *thread != node.thread) {
            let line = &self.graph.threads[thread.index()];
            let step = Step { thread: line.name, values: Vec::new() };
            let listed = node.asleep.covers(&step) || node.tree.iter().any(|branch| branch.step == step);
            if !listed {
                let op = line.pending.get(line.events.len()).map_or(Op::default(), |(op, _)| *op);
                node.tree.push(Branch::leaf(step, op, known));
            }
        }
    }
}

/// How many steps each thread has taken before an event and then in a sequence from there.
fn steps_after(graph: &Graph, event: usize, sequence: &[Planned]) -> Vec<u32> {
    let before = |line: &ThreadLine| line.events.partition_point(|other| (*other as usize) < event) as u32;
    let mut lengths: Vec<u32> = graph.threads.iter().map(before).collect();
    for planned in sequence {
        let thread = graph.threads.iter().position(|line| line.name == planned.step.thread);
        lengths[thread.expect("a thread of this execution")] += 1;
    }
    lengths
}
