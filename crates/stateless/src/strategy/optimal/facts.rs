//! What threads were seen to do, whichever values they chose: a few facts, the latest ones.
//!
//! What a thread does next follows from its steps so far, the values that they chose, and what they depend on. So facts are
//! kept under a hash of that: what a thread is about to do then; and what came of it when it did, after these steps of
//! others on the same object. Where all values of a choice have been tried, that is enough to say what the thread can do
//! after it, as long as nobody interferes.
//!
//! The memory is a table of a fixed size in which new facts replace old ones. Objects have no names, so that a fact is of
//! use only to states that executions have gone through since before the fact was learnt: what had a number there has the
//! same in the fact.

use selvedge_core::{Op, ThreadId};

use super::super::prefix_cost::Marks;
use super::sleep::Here;
use crate::gate::Gate;
use crate::graph::{Event, Graph};

/// What is known of the threads of a program in which values are chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// How many executions there were.
    pub(super) executions: u64,
    table: Vec<Option<(Key, u64, Fact)>>,
    /// For each event of the last execution what its step was, without its values, and with them.
    events: Vec<(Key, Key)>,
}

/// A hash of a step and all that it depends on.
type Key = u128;

#[derive(Clone, Copy, Debug)]
enum Fact {
    /// What a thread is about to do after a step, unless it has ended.
    Next(Option<Op>),
    /// Among how many values a step chooses, if it does.
    Did { arity: u32 },
}

/// So many facts are kept at most.
const SIZE: usize = 1 << 13;

/// So many steps are foreseen.
const MOST: usize = 48;

/// Mixes something into a key.
fn mix(key: Key, word: Key) -> Key {
    const FACTOR: Key = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
    let mixed = (key.rotate_left(47) ^ word).wrapping_mul(FACTOR);
    mixed ^ mixed >> 67
}

/// A step that has chosen a value or none.
fn after(step: Key, value: Option<u32>) -> Key {
    mix(step, value.map_or(0, |value| Key::from(value) + 1))
}

/// Whether what lets an operation go on, and what it does, is a matter of its one object.
fn is_simple(op: &Op, gate: &Gate) -> bool {
    let own = gate.object.is_none() || gate.object == op.object;
    own && op.also.is_none() && !gate.needs_signal && !gate.timed
}

impl Facts {
    /// None, after as many executions.
    pub(super) fn forgotten(&self) -> Facts {
        Facts { executions: self.executions, ..Facts::default() }
    }

    fn note(&mut self, key: Key, fact: Fact) {
        if self.table.is_empty() {
            self.table.resize(SIZE, None);
        }
        self.table[key as usize % SIZE] = Some((key, self.executions, fact));
    }

    /// A fact that was learnt in this execution or later.
    fn get(&self, key: Key, since: u64) -> Option<Fact> {
        let (other, learnt, fact) = self.table.get(key as usize % SIZE)?.as_ref()?;
        (*other == key && *learnt >= since).then_some(*fact)
    }

    /// Learns from an execution, of which the first `common` events are also those of the last one.
    pub(super) fn learn(&mut self, graph: &Graph, marks: &Marks, common: usize) {
        self.executions += 1;
        if !graph.chooses() {
            self.events.clear();
            return;
        }
        self.events.truncate(common);
        let mut lengths = vec![0; graph.threads.len()];
        for (index, Event { thread, number, op, .. }) in graph.events.iter().enumerate() {
            if index >= self.events.len() {
                let before = self.before(graph, *thread, *number);
                let (next, gate) = &graph.threads[thread.index()].pending[*number as usize];
                let simple = is_simple(next, gate) && !op.timed_out;
                let key = self.performing(before, next, (graph, marks), &lengths, *thread);
                // What it depends on is not all known: there is no other like it.
                let key = if simple { key } else { mix(key, mix(self.executions.into(), index as Key)) };
                let value = match graph.choices(index) {
                    [] => Some((0, None)),
                    [(value, arity)] => Some((*arity, Some(*value))),
                    _ => None,
                };
                let stopped = graph.stopped && index + 1 == graph.events.len();
                if simple {
                    self.note(before, Fact::Next(Some(*next)));
                }
                if let Some((arity, _)) = value
                    && !stopped
                    && !graph.threads.iter().any(|line| line.creator == Some(index as u32))
                {
                    self.note(key, Fact::Did { arity });
                }
                let values = graph.choices(index).iter().skip(1).map(|(value, _)| Key::from(*value));
                let first = graph.choices(index).first().map(|(value, _)| *value);
                self.events.push((key, values.fold(after(key, first), mix)));
            }
            lengths[thread.index()] += 1;
        }
        for (thread, line) in graph.threads.iter().enumerate().filter(|(_, line)| !line.pending.is_empty()) {
            let last = self.before(graph, ThreadId(thread as u32), line.events.len() as u32);
            match line.pending.get(line.events.len()) {
                _ if line.ended => self.note(last, Fact::Next(None)),
                Some((op, gate)) if is_simple(op, gate) => self.note(last, Fact::Next(Some(*op))),
                _ => {}
            }
        }
    }

    /// What a thread has done before its step with this number.
    fn before(&self, graph: &Graph, thread: ThreadId, number: u32) -> Key {
        let line = &graph.threads[thread.index()];
        match (number.checked_sub(1), line.creator) {
            (Some(last), _) => self.events[line.events[last as usize] as usize].1,
            (None, Some(creator)) => mix(self.events[creator as usize].1, line.name.into()),
            (None, None) => mix(0, line.name.into()),
        }
    }

    /// A thread's step that does this after what it has done before and so many steps of each other thread.
    fn performing(
        &self,
        before: Key,
        op: &Op,
        (graph, marks): (&Graph, &Marks),
        lengths: &[u32],
        thread: ThreadId,
    ) -> Key {
        let Some(object) = op.object else { return mix(before, 1) };
        let how = |access| op.access.conflicts_with(access);
        let others = (0..lengths.len()).filter(|other| *other != thread.index()).map(|other| {
            let last = marks.last_touch(other, lengths[other], object, how)?;
            let event = graph.threads[other].events[last as usize];
            Some(self.events[event as usize].1)
        });
        let past = others.flatten().fold(0, |past: Key, event| past.wrapping_add(mix(event, 2)));
        mix(before, past.wrapping_add(op.access as Key))
    }

    /// All that a thread can do in a state after these of its events, which depend on nothing else from there on, or from
    /// the first choice among them on; if that is known from what was learnt since an execution.
    pub(super) fn onward(
        &self,
        here: Here<'_>,
        lengths: &[u32],
        thread: ThreadId,
        events: &[u32],
        since: u64,
    ) -> Option<Vec<Op>> {
        let Here { graph, marks, .. } = here;
        let known = graph.words.known_after(here.event);
        if self.events.len() != graph.events.len() {
            return None;
        }
        let mut ops = Vec::new();
        let choice = events.iter().find(|event| !graph.choices(**event as usize).is_empty());
        let mut to_come: Vec<Key> = match choice {
            Some(event) => {
                let [(_, arity)] = graph.choices(*event as usize) else { return None };
                let (step, _) = self.events[*event as usize];
                (0..*arity).map(|value| after(step, Some(value))).collect()
            }
            None => vec![self.before(graph, thread, lengths[thread.index()] + events.len() as u32)],
        };
        while let Some(before) = to_come.pop() {
            let Some(Fact::Next(next)) = self.get(before, since) else { return None };
            let Some(op) = next else { continue };
            if ops.len() == MOST {
                return None;
            }
            ops.push(op);
            // Nobody has touched an object that is new.
            let is_new = op.object.is_some_and(|object| object.index() >= known);
            let lengths = if is_new { &[] } else { lengths };
            let step = self.performing(before, &op, (graph, marks), lengths, thread);
            let Some(Fact::Did { arity }) = self.get(step, since) else { return None };
            match arity {
                0 => to_come.push(after(step, None)),
                _ => to_come.extend((0..arity).map(|value| after(step, Some(value)))),
            }
        }
        Some(ops)
    }
}
