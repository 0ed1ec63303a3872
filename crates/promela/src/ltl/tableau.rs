//! A formula to a generalised Büchi automaton, whose acceptance lies on its transitions.
//!
//! J.-M. Couvreur: *On-the-fly Verification of Linear Temporal Logic*, FM 1999, LNCS 1708. A state is the set of
//! formulas that the rest of the word must satisfy. Its transitions are the ways to satisfy them now: literals, what is
//! left for the next state, and the untils that were put off. Each until is an acceptance set: the transitions that do
//! not put it off.
//!
//! Deviations, each for a reason:
//! 1. Covers are enumerated, where the paper has decision diagrams: formulas are small.
//! 2. Of two transitions of a state, one that asks for no less now, leaves no less for later and puts off no less is
//!    left out. The acceptance is compared with the rest: without it, `<> X [] p` would lose words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::normal::{Formulas, Id, Node};

/// Literals that must hold: propositions, and whether they are to.
pub(super) type Label = BTreeMap<u32, bool>;

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) label: Label,
    pub(super) target: usize,
    /// The untils that it puts off.
    pub(super) postponed: BTreeSet<Id>,
}

/// A generalised automaton; its first state is 0.
#[derive(Debug)]
pub(super) struct Tableau {
    pub(super) states: Vec<Vec<Step>>,
    /// The state that accepts every word: nothing is left to satisfy.
    pub(super) everything: Option<usize>,
}

/// A formula that needs more than this is refused.
const MOST_WORK: usize = 2_000_000;

/// A formula whose automaton is too large.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// A way to satisfy a set of formulas, as far as it has come.
#[derive(Clone, Default, PartialEq, Eq)]
struct Cover {
    todo: Vec<Id>,
    done: BTreeSet<Id>,
    label: Label,
    next: BTreeSet<Id>,
    postponed: BTreeSet<Id>,
}

pub(super) fn tableau(formulas: &Formulas, first: Id) -> Result<Tableau, TooLarge> {
    let mut first_set = BTreeSet::new();
    later(formulas, first, &mut first_set);
    let mut numbers = HashMap::from([(first_set.clone(), 0)]);
    let mut sets = vec![first_set];
    let mut states = Vec::new();
    let mut work = 0;
    while states.len() < sets.len() {
        let mut steps = Vec::new();
        for cover in covers(formulas, &sets[states.len()], &mut work)? {
            let target = *numbers.entry(cover.next.clone()).or_insert_with(|| {
                sets.push(cover.next.clone());
                sets.len() - 1
            });
            steps.push(Step { label: cover.label, target, postponed: cover.postponed });
        }
        states.push(steps);
    }
    Ok(Tableau { states, everything: numbers.get(&BTreeSet::new()).copied() })
}

/// Leaves a formula for the next state: a conjunction as its parts.
fn later(formulas: &Formulas, id: Id, next: &mut BTreeSet<Id>) {
    match formulas.get(id) {
        Node::True => {}
        Node::And(a, b) => {
            later(formulas, a, next);
            later(formulas, b, next);
        }
        _ => {
            next.insert(id);
        }
    }
}

fn covers(formulas: &Formulas, set: &BTreeSet<Id>, work: &mut usize) -> Result<Vec<Cover>, TooLarge> {
    let mut open = vec![Cover { todo: set.iter().copied().collect(), ..Cover::default() }];
    let mut found: Vec<Cover> = Vec::new();
    while let Some(mut cover) = open.pop() {
        *work += 1;
        if *work > MOST_WORK {
            return Err(TooLarge);
        }
        let Some(id) = cover.todo.pop() else {
            *work += found.len();
            if !found.iter().any(|known| known.dominates(&cover)) {
                found.retain(|known| !cover.dominates(known));
                found.push(cover);
            }
            continue;
        };
        if !cover.done.insert(id) {
            open.push(cover);
            continue;
        }
        match formulas.get(id) {
            Node::True => {}
            Node::False => continue,
            Node::Literal(atom, wanted) => {
                if *cover.label.entry(atom).or_insert(wanted) != wanted {
                    continue;
                }
            }
            Node::And(a, b) => cover.todo.extend([a, b]),
            Node::Or(a, b) => {
                let mut other = cover.clone();
                other.todo.push(b);
                open.push(other);
                cover.todo.push(a);
            }
            Node::Next(a) => later(formulas, a, &mut cover.next),
            Node::Until(a, b) => {
                let mut other = cover.clone();
                other.todo.push(a);
                other.next.insert(id);
                other.postponed.insert(id);
                open.push(other);
                cover.todo.push(b);
            }
            Node::Release(a, b) => {
                let mut other = cover.clone();
                other.todo.push(b);
                other.next.insert(id);
                open.push(other);
                cover.todo.extend([a, b]);
            }
        }
        open.push(cover);
    }
    Ok(found)
}

impl Cover {
    /// Whether whatever goes on with the other can go on with this one as well.
    fn dominates(&self, other: &Cover) -> bool {
        self.label.iter().all(|(atom, wanted)| other.label.get(atom) == Some(wanted))
            && self.next.is_subset(&other.next)
            && self.postponed.is_subset(&other.postponed)
    }
}
