//! When the answer holds for every number of contexts.
//!
//! Liu, Wahl: CUBA: Interprocedural Context-Unbounded Analysis of Concurrent Programs (PLDI 2018). A *visible
//! state* is the globals with the registers and the topmost frame of every process. Let V(k) be those that are
//! reachable within k contexts. If V(k) = V(k+1), and every visible state that a pop may bring about, a
//! *generator*, is in V(k), then V(k) is all there ever is: a first visible state outside V(k) cannot come from a
//! pop, and what any other rule makes of a visible state in V(k) is in V(k+1).
//!
//! Which visible states a pop may bring about is over-approximated, without regard to contexts: all visible
//! states are explored, where a pop brings up any frame that some call of the same procedure has left below.
//!
//! Where this differs:
//! 1. All is symbolic; frames have locals, and the frames that calls leave below are collected with theirs.
//! 2. A frame comes up only where a procedure returns that the call was of, and the stack becomes empty only
//!    where a procedure returns that the process began with.
//! 3. Where a switch guard forbids switches, a visible state does not say who may move, so no claim is made.
//! 4. The simpler criterion, that no context reaches any new configuration, is the search's own
//!    ([`Search::is_exhausted`]).

use std::collections::BTreeMap;

use crate::automaton::Edges;
use crate::bdd::{Bdd, Cube, Fallible, Renaming};
use crate::context_bounded::Search;
use crate::encoding::{Block, Encoding};
use crate::network::{Effect, LabelId, ProcedureId};

/// Where visible states take more nodes than this, they are given up: the claim is not worth any price.
const MOST_NODES: usize = 20_000;

/// Watches the levels of a search.
pub(crate) struct Converging<'a> {
    encoding: &'a Encoding,
    processes: Vec<Process>,
    /// The heads at the end of the last level.
    last_heads: Option<Vec<Vec<Bdd>>>,
    /// How many tuples there were at the end of each level.
    ends: Vec<usize>,
    /// The visible states of the first so many levels.
    visible: Bdd,
    levels: usize,
    generators: Option<Bdd>,
    given_up: bool,
}

/// How one process's part of visible states is made and taken apart.
struct Process {
    to_top: Renaming,
    from_top: Renaming,
    label_cube: Cube,
}

impl<'a> Converging<'a> {
    /// `None` where the criterion cannot be used.
    pub(crate) fn new(encoding: &'a Encoding) -> Fallible<Option<Converging<'a>>> {
        if encoding.network.switch_guard.is_some() || encoding.tops.is_empty() {
            return Ok(None);
        }
        let store = &encoding.store;
        let mut processes = Vec::new();
        for process in 0..encoding.tops.len() {
            let pairs = encoding.top_pairs(process);
            processes.push(Process {
                to_top: store.renaming(pairs.iter().copied()),
                from_top: store.renaming(pairs.iter().map(|&(now, top)| (top, now))),
                label_cube: store.cube(encoding.tops[process].label.iter().copied())?,
            });
        }
        Ok(Some(Converging {
            encoding,
            processes,
            last_heads: None,
            ends: Vec::new(),
            visible: store.falsity(),
            levels: 0,
            generators: None,
            given_up: false,
        }))
    }

    /// Whether nothing more is visible with any number of contexts. To be called after each level.
    pub(crate) fn level_finished(&mut self, search: &Search<'_>) -> Fallible<bool> {
        self.ends.push(search.nodes.len());
        let plateau = self.last_heads.as_ref() == Some(&search.heads);
        self.last_heads = Some(search.heads.clone());
        if !plateau || self.given_up {
            return Ok(false);
        }
        // Heads are what is visible with parts left out: only where they stay the same is it worth to look.
        let last = self.ends.len();
        self.see(search, last - 1)?;
        let before = self.visible.clone();
        self.see(search, last)?;
        if self.visible != before || self.given_up {
            return Ok(false);
        }
        if self.generators.is_none() {
            self.generators = self.find_generators()?;
        }
        match &self.generators {
            Some(generators) => Ok(generators.minus(&self.visible)?.is_false()),
            None => {
                self.given_up = true;
                Ok(false)
            }
        }
    }

    /// Adds the visible states of all levels up to one.
    fn see(&mut self, search: &Search<'_>, levels: usize) -> Fallible<()> {
        while self.levels < levels {
            let from = if self.levels == 0 { 0 } else { self.ends[self.levels - 1] };
            for node in &search.nodes[from..self.ends[self.levels]] {
                let mut all: Option<Bdd> = None;
                for (process, view) in node.views.iter().enumerate() {
                    let own = self.part(process, &view.initial, &view.empty)?;
                    all = Some(match all {
                        Some(all) => all.and(&own)?,
                        None => own,
                    });
                }
                if let Some(all) = all {
                    self.visible = self.visible.or(&all)?;
                }
                if self.visible.nodes() > MOST_NODES {
                    self.given_up = true;
                    return Ok(());
                }
            }
            self.levels += 1;
        }
        Ok(())
    }

    /// One process's part of the visible states of a set: over globals as they come, and the process's top.
    fn part(&self, process: usize, initial: &Edges, empty: &Bdd) -> Fallible<Bdd> {
        let encoding = self.encoding;
        let mut all = self.at_label(process, empty, None)?;
        for (&(label, _), relation) in initial {
            let own = relation.exists(&encoding.quantify.entry)?;
            all = all.or(&self.at_label(process, &own, Some(label))?)?;
        }
        Ok(all)
    }

    /// A function of registers and locals as one of a process's top with this label, or an empty stack.
    fn at_label(&self, process: usize, of: &Bdd, label: Option<LabelId>) -> Fallible<Bdd> {
        of.rename(&self.processes[process].to_top)?.and(&self.label_is(process, label)?)
    }

    fn label_is(&self, process: usize, label: Option<LabelId>) -> Fallible<Bdd> {
        let number = label.map_or(self.encoding.network.labels.len() as u64, |label| u64::from(label.0));
        self.encoding.point(&self.encoding.tops[process].label, number)
    }

    /// The visible states that pops may bring about, over-approximated; `None` if they are too many.
    fn find_generators(&self) -> Fallible<Option<Bdd>> {
        let encoding = self.encoding;
        let families = families(encoding);
        let store = &encoding.store;
        // What is visible at first, with globals in `Now`.
        let mut states = encoding.initial_globals(Block::Now)?;
        for (process, first) in encoding.network.processes.iter().enumerate() {
            let frame = encoding.initial_locals(first.entry, &Default::default())?;
            let own = encoding.clear_registers()?.and(&frame)?;
            states = states.and(&self.at_label(process, &own, Some(first.entry))?)?;
        }
        let mut generators = store.falsity();
        // For each process, family of the callee and label of the frame left below: its locals.
        let mut left: BTreeMap<(usize, usize, LabelId), Bdd> = BTreeMap::new();
        loop {
            let (before, before_left) = (states.clone(), left.clone());
            for process in 0..self.processes.len() {
                for label in (0..encoding.network.labels.len() as u32).map(LabelId) {
                    let here = self.taken_apart(&states, process, label)?;
                    if here.is_false() {
                        continue;
                    }
                    self.apply(process, label, &here, &families, &mut states, &mut generators, &mut left)?;
                    if states.nodes() > MOST_NODES {
                        return Ok(None);
                    }
                }
            }
            if states == before && left == before_left {
                break;
            }
        }
        generators.rename(&encoding.rename.now_to_start).map(Some)
    }

    /// The states with a label on top of a process, its registers and locals in `Now`.
    fn taken_apart(&self, states: &Bdd, process: usize, label: LabelId) -> Fallible<Bdd> {
        let own = &self.processes[process];
        states.and_exists(&self.label_is(process, Some(label))?, &own.label_cube)?.rename(&own.from_top)
    }

    #[allow(clippy::too_many_arguments)] // Three of them are the fixpoint's state.
    fn apply(
        &self,
        process: usize,
        label: LabelId,
        here: &Bdd,
        families: &[usize],
        states: &mut Bdd,
        generators: &mut Bdd,
        left: &mut BTreeMap<(usize, usize, LabelId), Bdd>,
    ) -> Fallible<()> {
        let encoding = self.encoding;
        let family = |label: LabelId| families[encoding.network.label(label).procedure.index()];
        for &id in &encoding.rules_by_label[label.index()] {
            let rule = encoding.compiled(id)?;
            let image = here.and_exists(&rule.relation, &rule.quantify)?.rename(&rule.rename)?;
            if image.is_false() {
                continue;
            }
            match encoding.network.rule(id).effect {
                Effect::Step { to } => *states = states.or(&self.at_label(process, &image, Some(to))?)?,
                Effect::Jump { to } => {
                    let image = image.and(rule.fresh.as_ref().expect("a jump makes a frame"))?;
                    *states = states.or(&self.at_label(process, &image, Some(to))?)?;
                }
                Effect::Push { callee, back } => {
                    let below = image.exists(&encoding.quantify.all_but_locals)?;
                    let below = below.exists(&self.tops_cube()?)?;
                    let known = left.remove(&(process, family(callee), back));
                    let known = known.unwrap_or_else(|| encoding.store.falsity());
                    left.insert((process, family(callee), back), known.or(&below)?);
                    let entered = image.exists(&encoding.quantify.locals)?;
                    let entered = entered.rename(&encoding.rename.fresh_to_now)?;
                    let fresh = rule.fresh.as_ref().expect("a push makes a frame");
                    let fresh = fresh.exists(&encoding.quantify.entry)?;
                    *states = states.or(&self.at_label(process, &entered.and(&fresh)?, Some(callee))?)?;
                }
                Effect::Pop => {
                    let mut up = encoding.store.falsity();
                    if family(encoding.network.processes[process].entry) == family(label) {
                        up = self.at_label(process, &image, None)?;
                    }
                    for (&(of, callee, back), below) in left.iter() {
                        if of == process && callee == family(label) {
                            up = up.or(&self.at_label(process, &image.and(below)?, Some(back))?)?;
                        }
                    }
                    *generators = generators.or(&up)?;
                    *states = states.or(&up)?;
                }
                Effect::Fork { .. } => unreachable!("forks have been reduced to slots"),
            }
        }
        Ok(())
    }

    /// All variables of tops.
    fn tops_cube(&self) -> Fallible<Cube> {
        let encoding = self.encoding;
        let tops = (0..encoding.tops.len()).flat_map(|process| {
            let copies = encoding.top_pairs(process).into_iter().map(|(_, top)| top);
            copies.chain(encoding.tops[process].label.iter().copied()).collect::<Vec<_>>()
        });
        encoding.store.cube(tops)
    }
}

/// Procedures between which jumps go, by the number of their family: a frame that a call made may be popped in
/// any procedure of the callee's family.
fn families(encoding: &Encoding) -> Vec<usize> {
    let network = &encoding.network;
    let mut families: Vec<usize> = (0..network.procedures.len()).collect();
    for rule in &network.rules {
        if let Effect::Jump { to } = rule.effect {
            let of = |procedure: ProcedureId| families[procedure.index()];
            let (one, other) = (of(network.label(rule.from).procedure), of(network.label(to).procedure));
            families.iter_mut().filter(|family| **family == other).for_each(|family| *family = one);
        }
    }
    families
}
