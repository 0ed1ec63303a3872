//! A generalised automaton to one with accepting states, and without what no accepting run needs.

use std::collections::{BTreeSet, HashMap};

use super::normal::Id;
use super::tableau::{Label, Tableau, TooLarge};

/// A Büchi automaton; its first state is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Buchi {
    pub(super) states: Vec<State>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Runs that come here infinitely often accept; it lies on a cycle.
    pub(super) accepting: bool,
    pub(super) steps: Vec<(Label, Target)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Target {
    State(usize),
    /// Every word is accepted from here on.
    Everything,
}

/// Automata with more states are refused.
const MOST_STATES: usize = 2000;

/// Counts the acceptance sets through: a run accepts if the count comes to its end infinitely often.
pub(super) fn buchi(tableau: &Tableau) -> Result<Buchi, TooLarge> {
    let steps = tableau.states.iter().flatten();
    let untils: Vec<Id> =
        steps.flat_map(|step| &step.postponed).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let last = untils.len();
    let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut number = |pair: (usize, usize), open: &mut Vec<(usize, usize)>| {
        *numbers.entry(pair).or_insert_with(|| {
            open.push(pair);
            open.len() - 1
        })
    };
    let mut automaton = Buchi::default();
    if tableau.everything == Some(0) {
        // Everything is accepted; a step is needed to say so.
        let steps = vec![(Label::new(), Target::Everything)];
        automaton.states.push(State { accepting: false, steps });
        return Ok(automaton);
    }
    number((0, 0), &mut open);
    while automaton.states.len() < open.len() {
        if open.len() > MOST_STATES {
            return Err(TooLarge);
        }
        let (state, count) = open[automaton.states.len()];
        let mut steps = Vec::new();
        for step in &tableau.states[state] {
            let mut next = if count == last { 0 } else { count };
            while next < last && !step.postponed.contains(&untils[next]) {
                next += 1;
            }
            let target = if Some(step.target) == tableau.everything {
                Target::Everything
            } else {
                Target::State(number((step.target, next), &mut open))
            };
            steps.push((step.label.clone(), target));
        }
        automaton.states.push(State { accepting: count == last, steps });
    }
    automaton.trim();
    while automaton.merge() {}
    Ok(automaton)
}

impl Buchi {
    /// What can be reached from a state in one step or more.
    fn reach(&self, from: usize) -> Vec<bool> {
        let mut seen = vec![false; self.states.len()];
        let mut open = vec![from];
        while let Some(state) = open.pop() {
            for (_, target) in &self.states[state].steps {
                if let Target::State(next) = *target
                    && !std::mem::replace(&mut seen[next], true)
                {
                    open.push(next);
                }
            }
        }
        seen
    }

    /// Leaves acceptance only to states on a cycle, and steps only to where a run can still accept.
    fn trim(&mut self) {
        for state in 0..self.states.len() {
            if self.states[state].accepting && !self.reach(state)[state] {
                self.states[state].accepting = false;
            }
        }
        let mut useful: Vec<bool> = self.states.iter().map(|state| state.accepting).collect();
        loop {
            let before = useful.clone();
            for (number, state) in self.states.iter().enumerate() {
                useful[number] |= state.steps.iter().any(|(_, target)| match *target {
                    Target::State(next) => useful[next],
                    Target::Everything => true,
                });
            }
            if before == useful {
                break;
            }
        }
        for state in &mut self.states {
            state.steps.retain(|(_, target)| match *target {
                Target::State(next) => useful[next],
                Target::Everything => true,
            });
        }
    }

    /// Makes states one that accept alike and have the same steps, and drops those that are not reached. Whether there
    /// were any.
    fn merge(&mut self) -> bool {
        let mut first: HashMap<(bool, BTreeSet<(Label, Target)>), usize> = HashMap::new();
        let names: Vec<usize> = (0..self.states.len())
            .map(|number| {
                let state = &self.states[number];
                *first.entry((state.accepting, state.steps.iter().cloned().collect())).or_insert(number)
            })
            .collect();
        self.rename(|number| names[number]);
        let mut stays = self.reach(0);
        stays[0] = true;
        let (before, mut number) = (self.states.len(), 0);
        let new: Vec<usize> = stays
            .iter()
            .scan(0, |count, &stays| {
                let this = *count;
                *count += usize::from(stays);
                Some(this)
            })
            .collect();
        self.states.retain(|_| {
            number += 1;
            stays[number - 1]
        });
        self.rename(|number| new[number]);
        self.states.len() < before
    }

    fn rename(&mut self, name: impl Fn(usize) -> usize) {
        for state in &mut self.states {
            let renamed = state.steps.drain(..).map(|(label, target)| match target {
                Target::State(number) => (label, Target::State(name(number))),
                Target::Everything => (label, target),
            });
            state.steps = renamed.collect::<BTreeSet<_>>().into_iter().collect();
        }
    }
}
