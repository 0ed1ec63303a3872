//! Happens-before graphs, written out in full: no hashes, no versions.
//!
//! An action is a step; it stands under the name of its thread (the body, which the program gives) and its
//! number within the thread, with what it did and to what, and with the names of all earlier actions of
//! other threads that it conflicts with. Two executions have the same graph exactly when they have the same
//! set of actions, and the same one of them, if any, ended them.

use std::collections::HashMap;

use selvedge_core::{Access, OpKind};

use crate::machine::{Object, Performed};

/// The name of an action: body and number.
type Name = (usize, usize);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Action {
    name: Name,
    kind: OpKind,
    touches: Vec<(Object, Access)>,
    timed_out: bool,
    value: Option<u32>,
    after: Vec<Name>,
}

/// A graph: its actions, by the numbers that a [`History`] gave them, sorted; and the one that ended the
/// execution, if one did.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Graph {
    numbers: Vec<u32>,
    ended_by: Option<u32>,
}

/// The steps of an execution so far, and a number for each action that was ever seen.
#[derive(Debug, Default)]
pub struct History {
    numbers: HashMap<Action, u32>,
    steps: Vec<Taken>,
}

/// A step of the execution at hand.
#[derive(Debug)]
struct Taken {
    name: Name,
    touches: Vec<(Object, Access)>,
    number: u32,
}

impl History {
    /// Adds the next step, taken by the thread with this body.
    pub fn push(&mut self, body: usize, done: &Performed) {
        let count = self.steps.iter().filter(|step| step.name.0 == body).count();
        let conflicts = |touches: &[(Object, Access)]| {
            touches.iter().any(|(object, access)| {
                done.touches.iter().any(|(other, how)| {
                    other == object
                        && *access != Access::None
                        && *how != Access::None
                        && (*access == Access::Write || *how == Access::Write)
                })
            })
        };
        let mut after: Vec<Name> = self
            .steps
            .iter()
            .filter(|step| step.name.0 != body && conflicts(&step.touches))
            .map(|step| step.name)
            .collect();
        after.sort_unstable();
        let action = Action {
            name: (body, count),
            kind: done.kind,
            touches: done.touches.clone(),
            timed_out: done.timed_out,
            value: done.value,
            after,
        };
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(action).or_insert(next);
        self.steps.push(Taken { name: (body, count), touches: done.touches.clone(), number });
    }

    /// Takes the last step back.
    pub fn pop(&mut self) {
        self.steps.pop();
    }

    /// The graph of the steps.
    pub fn graph(&self) -> Graph {
        let mut numbers: Vec<u32> = self.steps.iter().map(|step| step.number).collect();
        numbers.sort_unstable();
        Graph { numbers, ended_by: None }
    }

    /// The graph of steps of which the last ended the execution.
    pub fn ended_graph(&self) -> Graph {
        Graph { ended_by: self.steps.last().map(|step| step.number), ..self.graph() }
    }
}
