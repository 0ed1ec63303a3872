//! Context-bounded reachability: Algorithm 1, a context more at a time.
//!
//! Suwimonteerabuth, Esparza, Schwoon, SPIN 2008, section 2.5. The worklist holds view tuples; the level of a
//! tuple is the number of contexts that it took to make it, and a level is finished before the next begins, so
//! that bounds 1, 2, 3, ... are answered in turn and nothing is done twice.
//!
//! Where this differs:
//! 1. n processes: within a class of a safe partition the new globals determine the old ones, so the quantifier
//!    distributes over any number of passive views and Theorem 1 holds unchanged.
//! 2. A context in which its process reaches nothing new is skipped: what another process could do after it, it
//!    can do before.
//! 3. A tuple that is contained in one that was made before, with the same last process, is dropped.
//! 4. Contexts may end only where the switch guard holds; what is reached elsewhere counts as reached all the
//!    same.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::automaton::{Automaton, Edges, State};
use crate::bdd::{Bdd, Fallible};
use crate::encoding::{Block, Encoding};
use crate::network::LabelId;
use crate::post_star::{Saturation, post_star};
use crate::split::{Splitting, eager, split};

/// A view tuple, and how it came about.
pub(crate) struct Node {
    /// The tuple from which its last context began.
    pub(crate) parent: Option<usize>,
    /// The process of its last context.
    pub(crate) process: Option<usize>,
    /// How the globals changed in its last context, over `Start` and `Now`.
    pub(crate) step: Bdd,
    /// A view for each process.
    pub(crate) views: Vec<Rc<Automaton>>,
}

/// What a context of one process from one tuple reached; given to whoever watches the search.
pub(crate) struct Context<'a> {
    pub(crate) node: usize,
    pub(crate) process: usize,
    pub(crate) views: &'a [Rc<Automaton>],
    pub(crate) saturation: &'a Saturation,
    /// `U'(g, g')`.
    pub(crate) globals: &'a Bdd,
}

/// What a watcher answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    GoOn,
    Stop,
}

/// The search, level by level.
pub(crate) struct Search<'a> {
    pub(crate) encoding: &'a Encoding,
    splitting: Splitting,
    pub(crate) nodes: Vec<Node>,
    /// The tuples of the level that is to be expanded next.
    frontier: Vec<usize>,
    known: HashSet<(usize, Vec<Rc<Automaton>>)>,
    /// The tuples by their last process, and if splitting is eager by their globals: only those can contain
    /// another.
    comparable: HashMap<(usize, Option<Bdd>), Vec<usize>>,
    /// For each process and label, the globals with which it has been on top, over `Now`.
    pub(crate) heads: Vec<Vec<Bdd>>,
    /// Contexts so far: the level of the frontier.
    pub(crate) level: u32,
    /// Tuples that have been taken from the worklist.
    pub(crate) expanded: u64,
}

/// A tuple is compared with so many others, the latest first, to see whether one contains it. A tuple that is
/// kept although another contains it costs time and nothing else; comparing it with all would cost more where
/// eager splitting makes tens of thousands.
const COMPARED: usize = 256;

impl<'a> Search<'a> {
    /// A search that has not begun.
    pub(crate) fn new(encoding: &'a Encoding, splitting: Splitting) -> Fallible<Search<'a>> {
        let network = &encoding.network;
        let start = encoding.initial_globals(Block::Start)?;
        let mut views = Vec::new();
        for process in &network.processes {
            let frame = encoding.initial_locals(process.entry, &Default::default())?;
            let first = start.and(&encoding.clear_registers()?)?.and(&frame)?;
            let edges = Edges::from([((process.entry, State::Final), first)]);
            views.push(Rc::new(Automaton::new(edges, encoding.store.falsity(), Default::default())));
        }
        let step = start.and(&encoding.start_is_now)?;
        let classes = match splitting {
            Splitting::Lazy => vec![step],
            Splitting::Eager => eager(encoding, &step)?,
        };
        let mut search = Search {
            encoding,
            splitting,
            nodes: Vec::new(),
            frontier: Vec::new(),
            known: HashSet::new(),
            comparable: HashMap::new(),
            heads: vec![vec![encoding.store.falsity(); network.labels.len()]; network.processes.len()],
            level: 0,
            expanded: 0,
        };
        for step in classes {
            let views = views
                .iter()
                .map(|view| view.rebase(encoding, &step).map(Rc::new))
                .collect::<Fallible<Vec<_>>>()?;
            search.frontier.push(search.nodes.len());
            search.nodes.push(Node { parent: None, process: None, step, views });
        }
        let everything = start.rename(&encoding.rename.start_to_now)?;
        for (process, heads) in network.processes.iter().zip(&mut search.heads) {
            heads[process.entry.index()] = everything.clone();
        }
        Ok(search)
    }

    /// Whether no context is left that could reach anything new: the sets are those of every bound.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.frontier.is_empty()
    }

    /// Adds a context: expands every tuple of the frontier. `tell` is called again and again, with the number of
    /// tuples that have been taken from the worklist. Answers whether the watcher let the context finish.
    pub(crate) fn advance(
        &mut self,
        stop_at: &dyn Fn(LabelId) -> bool,
        tell: &mut dyn FnMut(u64),
        watch: &mut dyn FnMut(&Context<'_>) -> Fallible<Watch>,
    ) -> Fallible<bool> {
        let frontier = std::mem::take(&mut self.frontier);
        for node in frontier {
            self.expanded += 1;
            for process in 0..self.encoding.network.processes.len() {
                if self.nodes[node].process != Some(process)
                    && self.expand(node, process, stop_at, tell, watch)? == Watch::Stop
                {
                    return Ok(false);
                }
            }
        }
        self.level += 1;
        Ok(true)
    }

    fn expand(
        &mut self,
        node: usize,
        process: usize,
        stop_at: &dyn Fn(LabelId) -> bool,
        tell: &mut dyn FnMut(u64),
        watch: &mut dyn FnMut(&Context<'_>) -> Fallible<Watch>,
    ) -> Fallible<Watch> {
        let encoding = self.encoding;
        let views = self.nodes[node].views.clone();
        let expanded = self.expanded;
        let saturation = post_star(encoding, &views[process], stop_at, &mut || tell(expanded), false)?;
        // The first tuple is shown even where nothing moves: nothing else shows the first configurations.
        if !saturation.grew && self.nodes[node].parent.is_some() {
            return Ok(Watch::GoOn);
        }
        let globals = saturation.globals(encoding)?;
        self.note_heads(process, &views, &saturation, &globals)?;
        let context = Context { node, process, views: &views, saturation: &saturation, globals: &globals };
        if watch(&context)? == Watch::Stop || saturation.stopped_at.is_some() {
            return Ok(Watch::Stop);
        }
        if !saturation.grew {
            return Ok(Watch::GoOn);
        }
        let switches = globals.and(&encoding.may_switch)?;
        let classes = {
            let passive = views.iter().enumerate().filter(|&(index, _)| index != process);
            let passive = passive.flat_map(|(_, view)| view.relations());
            let below = views[process].middle.values().flatten().map(|(_, relation)| relation);
            split(encoding, self.splitting, &switches, &mut passive.chain(below))?
        };
        for step in classes {
            tell(expanded);
            let mut next = Vec::with_capacity(views.len());
            for (index, view) in views.iter().enumerate() {
                next.push(Rc::new(if index == process {
                    saturation.rest(encoding, &step)?
                } else {
                    view.rebase(encoding, &step)?
                }));
            }
            // With a single process there is nobody to go on.
            if views.len() > 1 && self.is_new(process, &step, &next)? {
                self.frontier.push(self.nodes.len());
                self.nodes.push(Node { parent: Some(node), process: Some(process), step, views: next });
            }
        }
        encoding.store.sample();
        Ok(Watch::GoOn)
    }

    /// Whether no tuple with the same last process contains this one; if so, notes it.
    fn is_new(&mut self, process: usize, step: &Bdd, views: &[Rc<Automaton>]) -> Fallible<bool> {
        if !self.known.insert((process, views.to_vec())) {
            return Ok(false);
        }
        let globals = match self.splitting {
            Splitting::Eager => Some(step.exists(&self.encoding.quantify.start)?),
            Splitting::Lazy => None,
        };
        let own = self.comparable.entry((process, globals)).or_default();
        for &other in own.iter().rev().take(COMPARED) {
            let mut inside = true;
            for (view, other) in views.iter().zip(&self.nodes[other].views) {
                if !view.is_within(other)? {
                    inside = false;
                    break;
                }
            }
            if inside {
                return Ok(false);
            }
        }
        own.push(self.nodes.len());
        Ok(true)
    }

    fn note_heads(
        &mut self,
        process: usize,
        views: &[Rc<Automaton>],
        saturation: &Saturation,
        globals: &Bdd,
    ) -> Fallible<()> {
        let encoding = self.encoding;
        let quantify = &encoding.quantify;
        for (&(label, _), relation) in &saturation.initial {
            let here = relation.exists(&quantify.beside_globals)?.exists(&quantify.start)?;
            let all = &mut self.heads[process][label.index()];
            *all = all.or(&here)?;
        }
        for (passive, view) in views.iter().enumerate().filter(|&(index, _)| index != process) {
            for (label, with) in view.heads(encoding)? {
                let here = with.and_exists(globals, &quantify.start)?;
                let all = &mut self.heads[passive][label.index()];
                *all = all.or(&here)?;
            }
        }
        Ok(())
    }
}
