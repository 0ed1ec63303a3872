//! Walking back through a saturation: which rules led to a given local configuration.
//!
//! The log of a saturation has every gain in order, with its cause. The first gain that contains a transition of
//! a word was made from gains before it; undoing it gives the word before the rule. Undoing a step replaces the
//! first transition by an earlier one; undoing a call replaces the two first by one that is earlier than the
//! second; undoing a return replaces the first by two earlier ones. So it ends.

use crate::automaton::{Edge, Middle, State};
use crate::bdd::{Bdd, Fallible, Variable};
use crate::configurations::{Point, at, cube_of, value};
use crate::encoding::{Block, Encoding, fresh_label, fresh_targets};
use crate::expression::Place;
use crate::network::{Effect, Initial, LabelId, Rule, RuleId};
use crate::post_star::{Cause, Gainer, Log};

/// A frame of a word, and the state below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) label: LabelId,
    pub(crate) locals: Vec<u64>,
    pub(crate) below: State,
    /// The valuation that names the state below: globals, then parameters.
    pub(crate) name: Vec<u64>,
}

/// A local configuration, with the states through which the automaton reads it. The top frame is the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) globals: Vec<u64>,
    pub(crate) registers: Vec<u64>,
    pub(crate) links: Vec<Link>,
}

/// A rule that was applied, with what it chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) rule: RuleId,
    pub(crate) inputs: Vec<u64>,
    /// The values of fresh locals that may be any.
    pub(crate) free: Vec<u64>,
}

/// Reads and writes points over the copies of variables.
pub(crate) struct Points<'a>(pub(crate) &'a Encoding);

impl Points<'_> {
    pub(crate) fn set(&self, point: &mut Point, variables: &[Variable], value: u64) {
        point.extend(variables.iter().enumerate().map(|(bit, &variable)| (variable, value >> bit & 1 == 1)));
    }

    pub(crate) fn globals(&self, point: &mut Point, block: Block, values: &[u64]) {
        for (index, &value) in values.iter().enumerate() {
            self.set(point, self.0.bits_of(Place::Global(index as u32), block, None), value);
        }
    }

    /// The values that are given of a list of variables.
    pub(crate) fn some(
        &self,
        point: &mut Point,
        place: fn(u32) -> Place,
        block: Block,
        label: Option<LabelId>,
        values: &[Option<u64>],
    ) {
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = *value {
                self.set(point, self.0.bits_of(place(index as u32), block, label), value);
            }
        }
    }

    pub(crate) fn registers(&self, point: &mut Point, values: &[u64]) {
        for (index, &value) in values.iter().enumerate() {
            self.set(point, self.0.bits_of(Place::Register(index as u32), Block::Now, None), value);
        }
    }

    pub(crate) fn locals(&self, point: &mut Point, label: LabelId, values: &[u64]) {
        for (index, &value) in values.iter().enumerate() {
            self.set(point, self.0.bits_of(Place::Local(index as u32), Block::Now, Some(label)), value);
        }
    }

    /// The vectors of variables that name a state.
    pub(crate) fn name_variables(&self, state: State, block: Block) -> Vec<&[Variable]> {
        let State::Middle(middle) = state else { return Vec::new() };
        let globals = 0..self.0.network.globals.len() as u32;
        let mut all: Vec<_> =
            globals.map(|index| self.0.bits_of(Place::Global(index), block, None)).collect();
        for index in self.0.parameters(middle.entry) {
            all.push(self.0.bits_of(Place::Local(index), block, Some(middle.entry)));
        }
        all
    }

    pub(crate) fn name(&self, point: &mut Point, state: State, block: Block, values: &[u64]) {
        for (variables, &value) in self.name_variables(state, block).into_iter().zip(values) {
            self.set(point, variables, value);
        }
    }

    pub(crate) fn read_globals(&self, point: &Point, block: Block) -> Vec<u64> {
        let count = self.0.network.globals.len() as u32;
        (0..count).map(|index| value(point, self.0.bits_of(Place::Global(index), block, None))).collect()
    }

    pub(crate) fn read_registers(&self, point: &Point) -> Vec<u64> {
        let count = self.0.network.registers.len() as u32;
        (0..count)
            .map(|index| value(point, self.0.bits_of(Place::Register(index), Block::Now, None)))
            .collect()
    }

    pub(crate) fn read_locals(&self, point: &Point, label: LabelId) -> Vec<u64> {
        let count = self.0.network.procedure_of(label).locals.len() as u32;
        let read = |index| value(point, self.0.bits_of(Place::Local(index), Block::Now, Some(label)));
        (0..count).map(read).collect()
    }

    pub(crate) fn read_name(&self, point: &Point, state: State, block: Block) -> Vec<u64> {
        self.name_variables(state, block).into_iter().map(|variables| value(point, variables)).collect()
    }
}

/// A point of a function: variables that do not matter are 0.
pub(crate) fn pick(of: &Bdd) -> Option<Point> {
    let picked = of.pick()?;
    let known = |(index, value): (usize, Option<bool>)| Some((Variable(index as u32), value?));
    Some(picked.into_iter().enumerate().filter_map(known).collect())
}

/// Walks back through one saturation that began with these globals.
pub(crate) struct Walk<'a> {
    pub(crate) encoding: &'a Encoding,
    pub(crate) log: &'a Log,
    pub(crate) start: &'a [u64],
}

/// What undoing gave: the word before, and the move that led from it; or that the word was given.
type Undone = Option<(Word, Move)>;

impl Walk<'_> {
    fn points(&self) -> Points<'_> {
        Points(self.encoding)
    }

    /// The moves that lead to a word from one that was given, in order, and the given one. `None` if the word is
    /// not among what was reached.
    pub(crate) fn back(&self, mut word: Word) -> Fallible<Option<(Word, Vec<Move>)>> {
        let mut moves = Vec::new();
        loop {
            let Some(undone) = self.undo(&word)? else { return Ok(None) };
            match undone {
                None => {
                    moves.reverse();
                    return Ok(Some((word, moves)));
                }
                Some((before, made)) => {
                    moves.push(made);
                    word = before;
                }
            }
        }
    }

    /// A point with the start, and the control of a word.
    fn control(&self, word: &Word) -> Point {
        let mut point = Vec::new();
        self.points().globals(&mut point, Block::Start, self.start);
        self.points().globals(&mut point, Block::Now, &word.globals);
        self.points().registers(&mut point, &word.registers);
        point
    }

    /// The first gain of a transition that contains a point, and its place.
    fn first(&self, gainer: Gainer, point: &Point) -> Fallible<Option<(usize, Cause)>> {
        let cube = cube_of(self.encoding, point)?;
        for (index, gain) in self.log.iter().enumerate() {
            if gain.gainer == gainer && !gain.gained.and(&cube)?.is_false() {
                return Ok(Some((index, gain.cause)));
            }
        }
        Ok(None)
    }

    fn undo(&self, word: &Word) -> Fallible<Option<Undone>> {
        let Some(top) = word.links.first() else {
            let found = self.first(Gainer::Epsilon(State::Final), &self.control(word))?;
            return Ok(match found {
                None => None,
                Some((_, Cause::Given)) => Some(None),
                Some((index, Cause::Pop(rule, edge))) => self.undo_pop(word, index, rule, edge, &[], None)?,
                Some(_) => unreachable!("an empty stack is given or popped to"),
            });
        };
        let mut point = self.control(word);
        self.points().locals(&mut point, top.label, &top.locals);
        self.points().name(&mut point, top.below, Block::Entry, &top.name);
        let edge = (top.label, top.below);
        let Some((index, cause)) = self.first(Gainer::Initial(edge), &point)? else { return Ok(None) };
        match cause {
            Cause::Given => Ok(Some(None)),
            Cause::Rule(rule, from) => self.undo_rule(word, index, rule, from),
            Cause::Entry => self.undo_call(word),
            Cause::Return(state) => self.undo_return(word, index, state, edge),
            Cause::Call(..) | Cause::Pop(..) => unreachable!("neither adds to the initial state"),
        }
    }

    /// The relation of a rule, with its inputs, where what it changed has the values of a word, as does what it
    /// did not change. `locals` are those that the frame has afterwards, if it stays.
    fn applied(&self, rule: &Rule, word: &Word, locals: Option<&[u64]>) -> Fallible<Bdd> {
        let changed = self.encoding.changed(rule)?;
        let mut point = Vec::new();
        let mut after = |place: Place, value: u64| {
            let block = if changed.contains(&place) { Block::Next } else { Block::Now };
            let variables = self.encoding.bits_of(place, block, Some(rule.from));
            self.points().set(&mut point, variables, value);
        };
        for (index, &value) in word.globals.iter().enumerate() {
            after(Place::Global(index as u32), value);
        }
        // A push clears the registers, whatever they were.
        if !matches!(rule.effect, Effect::Push { .. }) {
            for (index, &value) in word.registers.iter().enumerate() {
                after(Place::Register(index as u32), value);
            }
        }
        for (index, &value) in locals.unwrap_or_default().iter().enumerate() {
            after(Place::Local(index as u32), value);
        }
        if let Some(label) = fresh_label(rule) {
            let fresh = &word.links[0].locals;
            let mut given: Vec<u32> = fresh_targets(rule).collect();
            if matches!(rule.effect, Effect::Push { .. }) {
                given.extend(self.encoding.parameters(label));
                given.sort_unstable();
                given.dedup();
            }
            for index in given {
                let variables = self.encoding.bits_of(Place::Local(index), Block::Fresh, Some(label));
                self.points().set(&mut point, variables, fresh[index as usize]);
            }
        }
        self.encoding.relation(rule, &cube_of(self.encoding, &point)?)
    }

    /// Finds the word before a rule, among gains before `index` of the transition it was applied to. `links` are
    /// the frames below the one that the rule was applied to.
    fn before(
        &self,
        index: usize,
        (id, edge): (RuleId, Edge),
        applied: &Bdd,
        name: &[u64],
        links: &[Link],
        fresh: Option<&Link>,
    ) -> Fallible<Option<Undone>> {
        let rule = self.encoding.network.rule(id);
        let mut point = Vec::new();
        self.points().globals(&mut point, Block::Start, self.start);
        self.points().name(&mut point, edge.1, Block::Entry, name);
        let wanted = applied.and(&cube_of(self.encoding, &point)?)?;
        for gain in &self.log[..index] {
            if gain.gainer != Gainer::Initial(edge) {
                continue;
            }
            let Some(found) = pick(&gain.gained.and(&wanted)?) else { continue };
            let inputs = self.encoding.input_variables(rule);
            let inputs = inputs.into_iter().map(|variables| value(&found, variables)).collect();
            let link = Link {
                label: rule.from,
                locals: self.points().read_locals(&found, rule.from),
                below: edge.1,
                name: name.to_vec(),
            };
            let word = Word {
                globals: self.points().read_globals(&found, Block::Now),
                registers: self.points().read_registers(&found),
                links: std::iter::once(link).chain(links.iter().cloned()).collect(),
            };
            let free = fresh.map_or(Vec::new(), |fresh| self.free(rule, fresh));
            return Ok(Some(Some((word, Move { rule: id, inputs, free }))));
        }
        Ok(None)
    }

    /// The locals of a fresh frame that the rule left open.
    fn free(&self, rule: &Rule, fresh: &Link) -> Vec<u64> {
        let locals = &self.encoding.network.procedure_of(fresh.label).locals;
        let open = |&(index, _): &(usize, &u64)| {
            locals[index].initial == Initial::Any && fresh_targets(rule).all(|given| given as usize != index)
        };
        fresh.locals.iter().enumerate().filter(open).map(|(_, &value)| value).collect()
    }

    fn undo_rule(&self, word: &Word, index: usize, id: RuleId, from: Edge) -> Fallible<Option<Undone>> {
        let rule = self.encoding.network.rule(id);
        let top = &word.links[0];
        let stays = matches!(rule.effect, Effect::Step { .. });
        let applied = self.applied(rule, word, stays.then_some(&top.locals[..]))?;
        let fresh = (!stays).then_some(top);
        self.before(index, (id, from), &applied, &top.name, &word.links[1..], fresh)
    }

    fn undo_call(&self, word: &Word) -> Fallible<Option<Undone>> {
        let (top, back) = (&word.links[0], &word.links[1]);
        let State::Middle(state) = top.below else { unreachable!("a call's frame is above a middle state") };
        let mut point = Vec::new();
        self.points().globals(&mut point, Block::Start, self.start);
        self.points().name(&mut point, top.below, Block::Entry, &top.name);
        self.points().locals(&mut point, back.label, &back.locals);
        self.points().name(&mut point, back.below, Block::Below, &back.name);
        let gainer = Gainer::Middle(state, (back.label, back.below));
        let Some((index, Cause::Call(id, from))) = self.first(gainer, &point)? else { return Ok(None) };
        let rule = self.encoding.network.rule(id);
        let applied = self.applied(rule, word, Some(&back.locals))?;
        self.before(index, (id, from), &applied, &back.name, &word.links[2..], Some(top))
    }

    fn undo_return(&self, word: &Word, index: usize, state: Middle, edge: Edge) -> Fallible<Option<Undone>> {
        let top = &word.links[0];
        let control = self.control(word);
        let mut below = Vec::new();
        self.points().globals(&mut below, Block::Start, self.start);
        self.points().locals(&mut below, top.label, &top.locals);
        self.points().name(&mut below, top.below, Block::Below, &top.name);
        let here = State::Middle(state);
        for (at_pop, popped) in self.log[..index].iter().enumerate() {
            let (Gainer::Epsilon(into), Cause::Pop(id, from)) = (popped.gainer, popped.cause) else {
                continue;
            };
            if into != here {
                continue;
            }
            let returned = at(self.encoding, &popped.gained, &control)?;
            for kept in &self.log[..index] {
                if kept.gainer != Gainer::Middle(state, edge) {
                    continue;
                }
                let names = returned.and(&at(self.encoding, &kept.gained, &below)?)?;
                if let Some(name) = pick(&names) {
                    let name = self.points().read_name(&name, here, Block::Entry);
                    return self.undo_pop(word, at_pop, id, from, &name, Some(top));
                }
            }
        }
        Ok(None)
    }

    fn undo_pop(
        &self,
        word: &Word,
        index: usize,
        id: RuleId,
        from: Edge,
        name: &[u64],
        top: Option<&Link>,
    ) -> Fallible<Option<Undone>> {
        let rule = self.encoding.network.rule(id);
        let applied = self.applied(rule, word, None)?;
        debug_assert!(top.is_some() || word.links.is_empty());
        self.before(index, (id, from), &applied, name, &word.links, None)
    }
}
