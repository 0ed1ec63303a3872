//! post\*: all local configurations that one process reaches by its own moves.
//!
//! Suwimonteerabuth, Esparza, Schwoon, SPIN 2008, sections 2.5 and 3.2; the saturation is that of Esparza and
//! Schwoon's symbolic post\*. The globals are duplicated: `Start` keeps their values at the beginning of the
//! context, so the result is the relation `U(g, g', α)` and not just the set.
//!
//! Where this differs:
//! 1. Saturation works on *deltas*: what a transition has gained since it was last looked at. The transition with
//!    the least label goes first, which follows the program text.
//! 2. A pop into a middle state is remembered (`epsilon`) and combined at once with the transitions that leave
//!    the state; it is not an empty stack. Only a pop into the final state is.
//! 3. Where provenance is wanted, each gain is logged with the rule that made it ([`Log`]).

use std::collections::BTreeMap;

use crate::automaton::{Automaton, Edge, Edges, Middle, State, map_edges};
use crate::bdd::{Bdd, Fallible};
use crate::encoding::Encoding;
use crate::network::{Effect, LabelId, RuleId};

/// What a gain came from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    /// It was there at first.
    Given,
    /// A step or jump, from a transition of the initial state.
    Rule(RuleId, Edge),
    /// Into a middle state: the entry of a call. Which one, the transition below tells.
    Entry,
    /// Of a middle state: what is left below a call, made by a push from a transition of the initial state.
    Call(RuleId, Edge),
    /// A return into this middle state.
    Return(Middle),
    /// A pop, from a transition of the initial state to the state where the frame below begins.
    Pop(RuleId, Edge),
}

/// Which transition gained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gainer {
    Initial(Edge),
    Middle(Middle, Edge),
    Epsilon(State),
}

/// A gain of a transition.
#[derive(Clone, Debug)]
pub(crate) struct Gain {
    pub(crate) gainer: Gainer,
    pub(crate) gained: Bdd,
    pub(crate) cause: Cause,
}

/// All gains, in order.
pub(crate) type Log = Vec<Gain>;

/// The result of a context of one process.
pub(crate) struct Saturation {
    /// Transitions of the initial state, over `Start`, `Now`, registers, locals and `Entry`.
    pub(crate) initial: Edges,
    /// Where the stack is empty, over `Start`, `Now` and registers.
    pub(crate) empty: Bdd,
    /// Transitions of middle states; they do not depend on `Now`.
    pub(crate) middle: BTreeMap<Middle, Edges>,
    /// Whether anything was reached that was not there at first.
    pub(crate) grew: bool,
    /// A label at which the search was told to stop, if it was reached.
    pub(crate) stopped_at: Option<LabelId>,
    /// The log, if one was wanted.
    pub(crate) log: Option<Log>,
}

/// A saturation under way.
struct Run<'a> {
    encoding: &'a Encoding,
    generation: u32,
    saturation: Saturation,
    pending: Edges,
    epsilon: BTreeMap<Middle, Bdd>,
    stop_at: &'a dyn Fn(LabelId) -> bool,
}

/// Computes post\* of a process's configurations. Stops early once a label is reached for which `stop_at` holds.
/// `tell` is called again and again.
pub(crate) fn post_star(
    encoding: &Encoding,
    from: &Automaton,
    stop_at: &dyn Fn(LabelId) -> bool,
    tell: &mut dyn FnMut(),
    with_log: bool,
) -> Fallible<Saturation> {
    let lift = |relation: &Bdd| relation.and(&encoding.start_is_now);
    let saturation = Saturation {
        initial: Edges::new(),
        empty: encoding.store.falsity(),
        middle: from.middle.clone(),
        grew: false,
        stopped_at: None,
        log: with_log.then(Log::new),
    };
    let mut run = Run {
        encoding,
        generation: from.next_generation(),
        saturation,
        pending: Edges::new(),
        epsilon: BTreeMap::new(),
        stop_at,
    };
    for (edge, relation) in map_edges(&from.initial, lift)? {
        run.gain_initial(edge, relation, Cause::Given)?;
    }
    run.gain_empty(lift(&from.empty)?, Cause::Given)?;
    if let Some(log) = &mut run.saturation.log {
        for (&state, edges) in &from.middle {
            for (&edge, relation) in edges {
                let gainer = Gainer::Middle(state, edge);
                log.push(Gain { gainer, gained: relation.clone(), cause: Cause::Given });
            }
        }
    }
    run.saturation.grew = false;
    while run.saturation.stopped_at.is_none()
        && let Some((edge, gained)) = run.pending.pop_first()
    {
        tell();
        run.apply_rules(edge, &gained)?;
    }
    encoding.store.sample();
    Ok(run.saturation)
}

impl Run<'_> {
    fn log(&mut self, gainer: Gainer, gained: &Bdd, cause: Cause) {
        if let Some(log) = &mut self.saturation.log {
            log.push(Gain { gainer, gained: gained.clone(), cause });
        }
    }

    /// Adds to a transition of the initial state.
    fn gain_initial(&mut self, edge: Edge, relation: Bdd, cause: Cause) -> Fallible<()> {
        let gained = match self.saturation.initial.get(&edge) {
            Some(known) => relation.minus(known)?,
            None => relation,
        };
        if gained.is_false() {
            return Ok(());
        }
        self.log(Gainer::Initial(edge), &gained, cause);
        self.saturation.grew = true;
        if (self.stop_at)(edge.0) {
            self.saturation.stopped_at = Some(edge.0);
        }
        add(&mut self.saturation.initial, edge, &gained)?;
        add(&mut self.pending, edge, &gained)
    }

    fn gain_empty(&mut self, relation: Bdd, cause: Cause) -> Fallible<()> {
        let gained = relation.minus(&self.saturation.empty)?;
        if !gained.is_false() {
            self.log(Gainer::Epsilon(State::Final), &gained, cause);
            self.saturation.grew = true;
            self.saturation.empty = self.saturation.empty.or(&gained)?;
        }
        Ok(())
    }

    fn apply_rules(&mut self, edge: Edge, gained: &Bdd) -> Fallible<()> {
        let encoding = self.encoding;
        let (label, below) = edge;
        for &id in &encoding.rules_by_label[label.index()] {
            let rule = encoding.compiled(id)?;
            let image = gained.and_exists(&rule.relation, &rule.quantify)?;
            if image.is_false() {
                continue;
            }
            let image = image.rename(&rule.rename)?;
            match encoding.network.rule(id).effect {
                Effect::Step { to } => self.gain_initial((to, below), image, Cause::Rule(id, edge))?,
                Effect::Jump { to } => {
                    let fresh = rule.fresh.as_ref().expect("a jump makes a frame");
                    self.gain_initial((to, below), image.and(fresh)?, Cause::Rule(id, edge))?;
                }
                Effect::Pop => self.pop(id, edge, image)?,
                Effect::Push { callee, back } => {
                    let fresh = rule.fresh.as_ref().expect("a push makes a frame");
                    self.push(id, edge, callee, back, image, fresh)?;
                }
                Effect::Fork { .. } => unreachable!("forks have been reduced to slots"),
            }
        }
        Ok(())
    }

    fn pop(&mut self, id: RuleId, edge: Edge, image: Bdd) -> Fallible<()> {
        let cause = Cause::Pop(id, edge);
        let State::Middle(below) = edge.1 else { return self.gain_empty(image, cause) };
        let gained = match self.epsilon.get(&below) {
            Some(known) => image.minus(known)?,
            None => image,
        };
        if gained.is_false() {
            return Ok(());
        }
        self.log(Gainer::Epsilon(State::Middle(below)), &gained, cause);
        let all = match self.epsilon.get(&below) {
            Some(known) => known.or(&gained)?,
            None => gained.clone(),
        };
        self.epsilon.insert(below, all);
        let edges: Vec<(Edge, Bdd)> = match self.saturation.middle.get(&below) {
            Some(edges) => edges.iter().map(|(&edge, relation)| (edge, relation.clone())).collect(),
            None => Vec::new(),
        };
        for (edge, relation) in edges {
            self.give_back(below, edge, &gained, &relation)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        id: RuleId,
        edge: Edge,
        callee: LabelId,
        back: LabelId,
        image: Bdd,
        fresh: &Bdd,
    ) -> Fallible<()> {
        let (encoding, below) = (self.encoding, edge.1);
        let state = Middle { generation: self.generation, entry: callee };
        let left = image.rename(&encoding.rename.into_middle)?;
        let kept = self.saturation.middle.entry(state).or_default();
        let gained = match kept.get(&(back, below)) {
            Some(known) => left.minus(known)?,
            None => left,
        };
        if gained.is_false() {
            return Ok(());
        }
        add(kept, (back, below), &gained)?;
        self.saturation.grew = true;
        self.log(Gainer::Middle(state, (back, below)), &gained, Cause::Call(id, edge));
        if let Some(returned) = self.epsilon.get(&state).cloned() {
            self.give_back(state, (back, below), &returned, &gained)?;
        }
        let entered =
            image.exists(&encoding.quantify.saved_and_entry)?.rename(&encoding.rename.fresh_to_now)?;
        self.gain_initial((callee, State::Middle(state)), entered.and(fresh)?, Cause::Entry)
    }

    /// A process that returned into a middle state goes on with the frame below.
    fn give_back(&mut self, from: Middle, edge: Edge, returned: &Bdd, below: &Bdd) -> Fallible<()> {
        let joined = returned.and_exists(below, &self.encoding.quantify.entry)?;
        if joined.is_false() {
            return Ok(());
        }
        let joined = joined.rename(&self.encoding.rename.below_to_entry)?;
        self.gain_initial(edge, joined, Cause::Return(from))
    }
}

/// Adds to a transition.
fn add(edges: &mut Edges, edge: Edge, gained: &Bdd) -> Fallible<()> {
    let all = match edges.get(&edge) {
        Some(known) => known.or(gained)?,
        None => gained.clone(),
    };
    edges.insert(edge, all);
    Ok(())
}

impl Saturation {
    /// The globals at the beginning and the end of the context, `U'(g, g')`, over `Start` and `Now`.
    pub(crate) fn globals(&self, encoding: &Encoding) -> Fallible<Bdd> {
        let mut all = self.empty.exists(&encoding.quantify.beside_globals)?;
        for relation in self.initial.values() {
            all = all.or(&relation.exists(&encoding.quantify.beside_globals)?)?;
        }
        Ok(all)
    }

    /// The configurations in which the process can be left, when the globals went from `Start` to `Now` as `step`
    /// says.
    pub(crate) fn rest(&self, encoding: &Encoding, step: &Bdd) -> Fallible<Automaton> {
        let Automaton { initial, empty, middle, .. } = self.leave(encoding, step)?;
        Ok(Automaton::new(initial, empty, middle))
    }

    /// As [`rest`](Saturation::rest), with the names that the states have here.
    pub(crate) fn leave(&self, encoding: &Encoding, step: &Bdd) -> Fallible<Automaton> {
        Automaton::moved(&self.initial, &self.empty, &self.middle, encoding, step)
    }
}
