//! Thread creation, reduced to a fixed number of processes.
//!
//! Qadeer and Rehof's reduction, which the paper names in section 2.2: each thread that may be created is a
//! process from the start, in a *slot*. A fork counts the threads started and leaves the child's entry and
//! arguments in globals of the next slot; the child's first step, in its own first context, takes them. So no
//! context is added, and a nondeterministic argument is chosen once, by the fork.
//!
//! An execution that forks when every slot is taken goes to a label of its own, [`Slots::overflow`]: whoever
//! finds it reachable must not claim to have seen all executions.

use std::collections::BTreeMap;

use crate::expression::{Expression, Operator, Place};
use crate::network::{
    Assignment, Effect, Initial, Label, LabelId, Network, Procedure, ProcedureId, Process, Rule, RuleId,
    Target, Variable,
};

/// How a network with slots relates to the one with forks that it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The globals of the original; those of the reduction follow.
    pub globals: usize,
    /// The processes that exist at first; those in slots follow.
    pub processes: usize,
    /// The labels of the original; those of the reduction follow.
    pub labels: usize,
    /// Where each slot waits to be started.
    pub waiting: Vec<LabelId>,
    /// Where an execution goes that forks once more than there are slots.
    pub overflow: Vec<LabelId>,
    /// The count of started threads.
    pub started: Option<u32>,
    /// For each slot, the global that says which entry it has.
    pub entry: Vec<u32>,
    /// The entries, by the number that the global gives them.
    pub entries: Vec<LabelId>,
    /// For each slot and each local of a child, the global that holds its argument.
    pub arguments: Vec<Vec<u32>>,
    /// For each entry, the locals that forks assign.
    pub given: BTreeMap<LabelId, Vec<u32>>,
    /// For each rule, the one of the original that it is a case of; `None` for a child's first step.
    pub origin: Vec<Option<RuleId>>,
}

/// The bits that hold the numbers from 0 to `largest`.
fn bits_for(largest: u64) -> u32 {
    (u64::BITS - largest.leading_zeros()).max(1)
}

impl Network {
    /// The same network without forks, with room for so many created threads.
    pub fn with_slots(&self, slots: u32) -> (Network, Slots) {
        let mut network = self.clone();
        let mut map = Slots {
            globals: self.globals.len(),
            processes: self.processes.len(),
            labels: self.labels.len(),
            ..Slots::default()
        };
        if !self.forks() {
            map.origin = (0..self.rules.len() as u32).map(|rule| Some(RuleId(rule))).collect();
            return (network, map);
        }
        for rule in &self.rules {
            if let Effect::Fork { child, .. } = rule.effect
                && !map.entries.contains(&child)
            {
                map.entries.push(child);
                map.given.insert(child, self.assigned_by_forks(child));
            }
        }
        let mut global = |name: String, width: u32| {
            let variable = Variable { name, width, initial: Initial::Value(0), hidden: true };
            network.globals.push(variable);
            network.globals.len() as u32 - 1
        };
        let count_width = bits_for(u64::from(slots));
        let started = global("threads started".into(), count_width);
        map.started = Some(started);
        let entry_width = bits_for(map.entries.len() as u64 - 1);
        let widths = self.argument_widths(&map.entries);
        for slot in 0..slots {
            map.entry.push(global(format!("entry of slot {slot}"), entry_width));
            let argument = |(index, &width)| global(format!("argument {index} of slot {slot}"), width);
            map.arguments.push(widths.iter().enumerate().map(argument).collect());
        }
        let started_is = |slot: u32| Expression::global(started).equals(u64::from(slot), count_width);
        self.lower_forks(&mut network, &mut map, slots, &started_is, count_width, entry_width);
        for slot in 0..slots {
            let procedure = ProcedureId(network.procedures.len() as u32);
            network.procedures.push(Procedure { name: format!("slot {slot}"), locals: Vec::new() });
            let waiting = network.add_label(format!("waiting to start in slot {slot}"), procedure);
            map.waiting.push(waiting);
            network.processes.push(Process { name: format!("thread {}", slot + 1), entry: waiting });
            let is_started = Expression::binary(
                Operator::Less,
                Expression::constant(u64::from(slot), count_width),
                Expression::global(started),
            );
            for (number, &entry) in map.entries.iter().enumerate() {
                let named = Expression::global(map.entry[slot as usize]).equals(number as u64, entry_width);
                let mut assignments = Vec::new();
                for (index, local) in self.procedure_of(entry).locals.iter().enumerate() {
                    if !map.given[&entry].contains(&(index as u32)) {
                        continue;
                    }
                    let argument = map.arguments[slot as usize][index];
                    let value = Expression::Resize(local.width, Box::new(Expression::global(argument)));
                    assignments.push(Assignment { target: Target::Fresh(index as u32), value });
                    // Forgotten once taken, so that it does not tell apart what is otherwise equal.
                    assignments.push(Assignment {
                        target: Target::Place(Place::Global(argument)),
                        value: Expression::constant(0, widths[index]),
                    });
                }
                map.origin.push(None);
                network.rules.push(Rule {
                    from: waiting,
                    effect: Effect::Jump { to: entry },
                    inputs: Vec::new(),
                    guard: is_started.clone().and(named),
                    assignments,
                    text: "starts".into(),
                });
            }
        }
        (network, map)
    }

    /// The locals of an entry that some fork assigns.
    fn assigned_by_forks(&self, entry: LabelId) -> Vec<u32> {
        let mut assigned = Vec::new();
        for rule in &self.rules {
            if matches!(rule.effect, Effect::Fork { child, .. } if child == entry) {
                assigned.extend(rule.assignments.iter().filter_map(|assignment| match assignment.target {
                    Target::Fresh(index) => Some(index),
                    _ => None,
                }));
            }
        }
        assigned.sort_unstable();
        assigned.dedup();
        assigned
    }

    /// The width of each argument: that of the widest local with its index among all entries.
    fn argument_widths(&self, entries: &[LabelId]) -> Vec<u32> {
        let mut widths = Vec::new();
        for &entry in entries {
            let assigned = self.assigned_by_forks(entry);
            for (index, local) in self.procedure_of(entry).locals.iter().enumerate() {
                if assigned.contains(&(index as u32)) {
                    if widths.len() <= index {
                        widths.resize(index + 1, 1);
                    }
                    widths[index] = local.width.max(widths[index]);
                }
            }
        }
        widths
    }

    /// Replaces every fork by a step for each slot, and one for the overflow.
    fn lower_forks(
        &self,
        network: &mut Network,
        map: &mut Slots,
        slots: u32,
        started_is: &dyn Fn(u32) -> Expression,
        count_width: u32,
        entry_width: u32,
    ) {
        let started = map.started.expect("a network with forks counts");
        network.rules.clear();
        for (index, rule) in self.rules.iter().enumerate() {
            let origin = Some(RuleId(index as u32));
            let Effect::Fork { to, child } = rule.effect else {
                network.rules.push(rule.clone());
                map.origin.push(origin);
                continue;
            };
            let number = map.entries.iter().position(|&entry| entry == child).expect("all are listed");
            for slot in 0..slots {
                let mut assignments = Vec::new();
                let mut set = |global: u32, value: Expression| {
                    assignments.push(Assignment { target: Target::Place(Place::Global(global)), value });
                };
                set(started, Expression::constant(u64::from(slot) + 1, count_width));
                set(map.entry[slot as usize], Expression::constant(number as u64, entry_width));
                let arguments = &map.arguments[slot as usize];
                for &index in &map.given[&child] {
                    let fresh = Target::Fresh(index);
                    let given = rule.assignments.iter().find(|assignment| assignment.target == fresh);
                    let width = network.globals[arguments[index as usize] as usize].width;
                    let initial = match self.procedure_of(child).locals[index as usize].initial {
                        Initial::Value(value) => value,
                        Initial::Any => 0,
                    };
                    set(
                        arguments[index as usize],
                        match given {
                            Some(given) => Expression::Resize(width, Box::new(given.value.clone())),
                            None => Expression::constant(initial, width),
                        },
                    );
                }
                let kept = rule
                    .assignments
                    .iter()
                    .filter(|assignment| !matches!(assignment.target, Target::Fresh(_)));
                assignments.extend(kept.cloned());
                map.origin.push(origin);
                network.rules.push(Rule {
                    effect: Effect::Step { to },
                    guard: rule.guard.clone().and(started_is(slot)),
                    assignments,
                    ..rule.clone()
                });
            }
            let overflow = LabelId(network.labels.len() as u32);
            network.labels.push(Label {
                name: format!("too many threads at {}", self.label(rule.from).name),
                violation: None,
                blocks: false,
                ..self.label(rule.from).clone()
            });
            map.overflow.push(overflow);
            map.origin.push(origin);
            network.rules.push(Rule {
                effect: Effect::Step { to: overflow },
                guard: rule.guard.clone().and(started_is(slots)),
                assignments: Vec::new(),
                text: "starts one thread more than there is room for".into(),
                ..rule.clone()
            });
        }
    }
}
