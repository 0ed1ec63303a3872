//! Symbolic P-automata: regular sets of local configurations.
//!
//! An automaton has one symbolic initial state (the control: globals and registers), one final state, and a
//! *middle* state for each entry label of each context in which a call was made. The valuation of a middle state
//! (the globals and parameters at the entry) is in the `Entry` copy of a transition into it.
//!
//! At rest, between contexts, every transition also depends on `Start`, the globals of the configuration: the
//! word of a configuration is read with one value of `Start` throughout.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::bdd::{Bdd, Fallible};
use crate::encoding::Encoding;
use crate::network::LabelId;

/// A middle state, without its valuation. A context makes new ones: the old must not be confused with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Middle {
    /// Which of the process's contexts made it, counting only those of which something is left.
    pub(crate) generation: u32,
    /// Where the frame above it began.
    pub(crate) entry: LabelId,
}

/// The state that a transition goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum State {
    Final,
    Middle(Middle),
}

/// The label that a transition reads, and where it goes.
pub(crate) type Edge = (LabelId, State);

/// The transitions of one state.
pub(crate) type Edges = BTreeMap<Edge, Bdd>;

/// A set of local configurations at rest.
#[derive(Debug)]
pub(crate) struct Automaton {
    /// Transitions of the initial state, over `Start`, registers, locals and `Entry`.
    pub(crate) initial: Edges,
    /// Where the stack is empty, over `Start` and registers.
    pub(crate) empty: Bdd,
    /// Transitions of middle states, over `Start`, `Entry` (which names the state), locals and `Below`.
    pub(crate) middle: BTreeMap<Middle, Edges>,
    /// For each label, the globals with which it is on top; made when first asked for.
    heads: OnceCell<Vec<(LabelId, Bdd)>>,
}

impl PartialEq for Automaton {
    fn eq(&self, other: &Self) -> bool {
        self.initial == other.initial && self.empty == other.empty && self.middle == other.middle
    }
}

impl Eq for Automaton {}

impl std::hash::Hash for Automaton {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.initial.hash(state);
        self.empty.hash(state);
        self.middle.hash(state);
    }
}

impl Automaton {
    /// An automaton, trimmed: empty transitions and middle states that no transition leads to are dropped, and
    /// generations are numbered without gaps.
    pub(crate) fn new(mut initial: Edges, empty: Bdd, mut middle: BTreeMap<Middle, Edges>) -> Automaton {
        initial.retain(|_, relation| !relation.is_false());
        for edges in middle.values_mut() {
            edges.retain(|_, relation| !relation.is_false());
        }
        let mut live: Vec<Middle> = Vec::new();
        let mut from: Vec<State> = initial.keys().map(|&(_, to)| to).collect();
        while let Some(state) = from.pop() {
            if let State::Middle(state) = state
                && !live.contains(&state)
            {
                live.push(state);
                from.extend(middle.get(&state).into_iter().flatten().map(|(&(_, to), _)| to));
            }
        }
        let mut generations: Vec<u32> = live.iter().map(|middle| middle.generation).collect();
        generations.sort_unstable();
        generations.dedup();
        let name = |old: Middle| Middle {
            generation: generations.binary_search(&old.generation).expect("it is live") as u32,
            entry: old.entry,
        };
        let edges = |edges: Edges| -> Edges {
            edges
                .into_iter()
                .map(|((label, to), relation)| match to {
                    State::Final => ((label, to), relation),
                    State::Middle(to) => ((label, State::Middle(name(to))), relation),
                })
                .collect()
        };
        let middle = middle
            .into_iter()
            .filter(|(state, _)| live.contains(state))
            .map(|(state, from)| (name(state), edges(from)))
            .collect();
        Automaton { initial: edges(initial), empty, middle, heads: OnceCell::new() }
    }

    /// An automaton as it is, with the names that its states have.
    pub(crate) fn untrimmed(initial: Edges, empty: Bdd, middle: BTreeMap<Middle, Edges>) -> Automaton {
        Automaton { initial, empty, middle, heads: OnceCell::new() }
    }

    /// As [`rebase`](Automaton::rebase), untrimmed.
    pub(crate) fn move_on(&self, encoding: &Encoding, step: &Bdd) -> Fallible<Automaton> {
        Automaton::moved(&self.initial, &self.empty, &self.middle, encoding, step)
    }

    /// The automaton with these parts, after the globals went on as `step` says.
    pub(crate) fn moved(
        initial: &Edges,
        empty: &Bdd,
        middle: &BTreeMap<Middle, Edges>,
        encoding: &Encoding,
        step: &Bdd,
    ) -> Fallible<Automaton> {
        let move_on = |relation: &Bdd| {
            relation.and_exists(step, &encoding.quantify.start)?.rename(&encoding.rename.now_to_start)
        };
        Ok(Automaton::untrimmed(map_edges(initial, move_on)?, move_on(empty)?, map_middle(middle, move_on)?))
    }

    /// The number that the next context's middle states have.
    pub(crate) fn next_generation(&self) -> u32 {
        self.middle.keys().map(|middle| middle.generation + 1).max().unwrap_or(0)
    }

    /// For each label that can be on top, the globals with which it is, over `Start`.
    pub(crate) fn heads(&self, encoding: &Encoding) -> Fallible<&[(LabelId, Bdd)]> {
        if let Some(known) = self.heads.get() {
            return Ok(known);
        }
        let mut heads: Vec<(LabelId, Bdd)> = Vec::new();
        for (&(label, _), relation) in &self.initial {
            let globals = relation.exists(&encoding.quantify.beside_globals)?;
            match heads.last_mut() {
                Some((last, all)) if *last == label => *all = all.or(&globals)?,
                _ => heads.push((label, globals)),
            }
        }
        Ok(self.heads.get_or_init(|| heads))
    }

    /// Whether another automaton has every transition of this one; then it accepts all that this one accepts.
    pub(crate) fn is_within(&self, other: &Automaton) -> Fallible<bool> {
        if self.initial.len() > other.initial.len() || self.middle.len() > other.middle.len() {
            return Ok(false);
        }
        if !edges_within(&self.initial, &other.initial)? || !self.empty.minus(&other.empty)?.is_false() {
            return Ok(false);
        }
        for (state, edges) in &self.middle {
            match other.middle.get(state) {
                Some(others) if edges_within(edges, others)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Every transition.
    pub(crate) fn relations(&self) -> impl Iterator<Item = &Bdd> {
        self.initial
            .values()
            .chain(std::iter::once(&self.empty))
            .chain(self.middle.values().flatten().map(|(_, relation)| relation))
    }

    /// The same set after another process has changed the globals: `step` is over `Start` and `Now`.
    pub(crate) fn rebase(&self, encoding: &Encoding, step: &Bdd) -> Fallible<Automaton> {
        let Automaton { initial, empty, middle, .. } = self.move_on(encoding, step)?;
        Ok(Automaton::new(initial, empty, middle))
    }
}

fn edges_within(edges: &Edges, others: &Edges) -> Fallible<bool> {
    if !edges.keys().all(|edge| others.contains_key(edge)) {
        return Ok(false);
    }
    for (edge, relation) in edges {
        if *relation != others[edge] && !relation.minus(&others[edge])?.is_false() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Applies a function to each transition.
pub(crate) fn map_edges(edges: &Edges, of: impl Fn(&Bdd) -> Fallible<Bdd>) -> Fallible<Edges> {
    edges.iter().map(|(&edge, relation)| Ok((edge, of(relation)?))).collect()
}

/// Applies a function to each transition of middle states.
pub(crate) fn map_middle(
    middle: &BTreeMap<Middle, Edges>,
    of: impl Fn(&Bdd) -> Fallible<Bdd>,
) -> Fallible<BTreeMap<Middle, Edges>> {
    middle.iter().map(|(&state, edges)| Ok((state, map_edges(edges, &of)?))).collect()
}
