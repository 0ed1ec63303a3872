//! A network in BDDs: which variables stand for what, and the relation of each rule.
//!
//! Each bit of a global has six copies, and they stand beside each other in the order, the bits of equal weight
//! of all variables together:
//!
//! | copy | what it is |
//! | --- | --- |
//! | `Start` | the globals when the context began; at rest, the globals now |
//! | `Other` | a second `Start`, to compare two |
//! | `Now`, `Next` | the globals before and after a rule |
//! | `Entry` | the globals when the procedure of the frame on top was entered: they name the automaton's state |
//! | `Below` | the same of the frame below it |
//!
//! A local has `Now`, `Next`, and where it is a parameter `Fresh` (its value in the frame that a rule makes),
//! `Entry` and `Below`. A register has `Now` and `Next`.
//!
//! A rule's relation mentions only the variables that the rule reads or changes; what it does not change is
//! neither quantified nor renamed. Relations are made when first used.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::bdd::{Bdd, Capacity, Cube, Fallible, Renaming, Stop, Store, Variable};
use crate::bits::{self, Bits, Evaluator};
use crate::expression::{Expression, Place};
use crate::network::{Assignment, Effect, Initial, LabelId, Network, Rule, RuleId, Target};

/// A copy of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Block {
    Start,
    Other,
    Now,
    Next,
    Fresh,
    Entry,
    Below,
}

const COPIES: usize = 7;

/// The BDD variables of one variable of the network: by copy, then by bit, the least first.
type Blocks = [Vec<Variable>; COPIES];

/// A rule, ready to be applied.
pub(crate) struct Compiled {
    /// Over `Now`, and `Next` and `Fresh` of what changes.
    pub(crate) relation: Bdd,
    /// What to quantify once the relation is conjoined.
    pub(crate) quantify: Cube,
    /// What to rename then.
    pub(crate) rename: Renaming,
    /// What holds besides of a fresh frame, in `Now`; of a push, with the name of the state below it.
    pub(crate) fresh: Option<Bdd>,
}

/// The encoding of a network.
pub(crate) struct Encoding {
    pub(crate) network: Rc<Network>,
    pub(crate) store: Store,
    pub(crate) rules_by_label: Vec<Vec<RuleId>>,
    globals: Vec<Blocks>,
    registers: Vec<Blocks>,
    locals: Vec<Blocks>,
    inputs: Vec<Vec<Variable>>,
    /// For each process, the variables of its part of a visible state; empty if there are none.
    pub(crate) tops: Vec<Top>,
    compiled: RefCell<Vec<Option<Rc<Compiled>>>>,
    enabled: RefCell<BTreeMap<LabelId, Bdd>>,
    pub(crate) quantify: Quantify,
    pub(crate) rename: Rename,
    /// Where a context may end, over `Now`.
    pub(crate) may_switch: Bdd,
    /// `Start` is `Now`, and is less than, or is `Other`.
    pub(crate) start_is_now: Bdd,
    pub(crate) start_is_other: Bdd,
    pub(crate) start_less_other: Bdd,
}

/// The variables for the registers and the topmost frame of one process, besides those of the others.
pub(crate) struct Top {
    registers: Vec<Vec<Variable>>,
    locals: Vec<Vec<Variable>>,
    /// The label's number, or the number of labels where the stack is empty.
    pub(crate) label: Vec<Variable>,
}

/// Sets of variables that are quantified together.
pub(crate) struct Quantify {
    pub(crate) start: Cube,
    pub(crate) other: Cube,
    pub(crate) now_globals: Cube,
    /// All `Entry`.
    pub(crate) entry: Cube,
    /// Locals, registers and `Entry`: what a head leaves out.
    pub(crate) beside_globals: Cube,
    /// The same, and `Below`, but not `Start`: all that a transition may depend on besides.
    pub(crate) all_but_start: Cube,
    pub(crate) saved_and_entry: Cube,
    pub(crate) inputs: Cube,
    /// `Now` of locals.
    pub(crate) locals: Cube,
    /// `Now` of registers and locals.
    pub(crate) frame: Cube,
    /// `Now` of globals and registers, and `Fresh` of locals: what is visible besides the frame below a call.
    pub(crate) all_but_locals: Cube,
    /// All `Next` and `Fresh`: what a rule makes.
    pub(crate) made: Cube,
}

/// Renamings of whole copies.
pub(crate) struct Rename {
    pub(crate) now_to_start: Renaming,
    pub(crate) start_to_now: Renaming,
    pub(crate) start_to_other: Renaming,
    pub(crate) other_to_start: Renaming,
    pub(crate) below_to_entry: Renaming,
    /// Of a push: what was the state below becomes the second state below, the globals and parameters now name
    /// the state below.
    pub(crate) into_middle: Renaming,
    pub(crate) fresh_to_now: Renaming,
}

/// For each index of a local, the width of the widest, and whether some rule gives it to a fresh frame.
fn widest_locals(network: &Network) -> Vec<(u32, bool)> {
    let mut locals: Vec<(u32, bool)> = Vec::new();
    for procedure in &network.procedures {
        for (index, local) in procedure.locals.iter().enumerate() {
            if locals.len() <= index {
                locals.push((0, false));
            }
            locals[index].0 = locals[index].0.max(local.width);
        }
    }
    for index in network.rules.iter().flat_map(fresh_targets) {
        locals[index as usize].1 = true;
    }
    locals
}

/// For each index of an input, the width of the widest.
fn widest_inputs(network: &Network) -> Vec<u32> {
    let mut inputs: Vec<u32> = Vec::new();
    for rule in &network.rules {
        for (index, &width) in rule.inputs.iter().enumerate() {
            if inputs.len() <= index {
                inputs.push(0);
            }
            inputs[index] = inputs[index].max(width);
        }
    }
    inputs
}

/// The bits that the number of a label, or of none, takes.
fn label_bits(network: &Network) -> u32 {
    u32::BITS - (network.labels.len() as u32).leading_zeros()
}

impl Encoding {
    /// How many BDD variables a network needs, at most.
    pub(crate) fn variables_needed(network: &Network, visible: bool) -> u64 {
        let sum = |widths: &mut dyn Iterator<Item = u32>| widths.map(u64::from).sum::<u64>();
        let globals = sum(&mut network.globals.iter().map(|variable| variable.width));
        let registers = sum(&mut network.registers.iter().map(|variable| variable.width));
        let locals = sum(&mut widest_locals(network).iter().map(|&(width, _)| width));
        let inputs = sum(&mut widest_inputs(network).into_iter());
        let tops = if visible { network.processes.len() as u64 } else { 0 };
        6 * globals
            + 2 * registers
            + 5 * locals
            + inputs
            + tops * (registers + locals + u64::from(label_bits(network)))
    }

    /// Encodes a network without forks.
    pub(crate) fn new(
        network: Rc<Network>,
        capacity: Capacity,
        stop: &Stop,
        visible: bool,
    ) -> Fallible<Encoding> {
        let mut layout = Layout::default();
        let (locals, inputs) = (widest_locals(&network), widest_inputs(&network));
        use Block::*;
        let globals: Vec<_> = network
            .globals
            .iter()
            .map(|variable| layout.add(variable.width, &[Start, Other, Now, Next, Entry, Below]))
            .collect();
        let registers: Vec<_> =
            network.registers.iter().map(|variable| layout.add(variable.width, &[Now, Next])).collect();
        let locals_widths: Vec<u32> = locals.iter().map(|&(width, _)| width).collect();
        let locals: Vec<_> = locals
            .iter()
            .map(|&(width, parameter)| {
                let all = [Now, Next, Fresh, Entry, Below];
                layout.add(width, if parameter { &all } else { &all[..2] })
            })
            .collect();
        let inputs: Vec<_> = inputs.iter().map(|&width| layout.add(width, &[Fresh])).collect();
        // Visible states have the top of every process side by side: a copy of registers and locals for each.
        let label_bits = label_bits(&network);
        let copies: Vec<Vec<usize>> = (0..if visible { network.processes.len() } else { 0 })
            .map(|_| {
                let registers = network.registers.iter().map(|variable| variable.width);
                let widths = registers.chain(locals_widths.iter().copied()).chain([label_bits]);
                widths.map(|width| layout.add(width, &[Now])).collect()
            })
            .collect();
        let placed = layout.place();
        let store = Store::new(placed.count, capacity, stop)?;
        let take = |indices: Vec<usize>| -> Vec<Blocks> {
            indices.into_iter().map(|index| placed.blocks[index].clone()).collect()
        };
        let (globals, registers, locals) = (take(globals), take(registers), take(locals));
        let inputs: Vec<Vec<Variable>> =
            take(inputs).into_iter().map(|blocks| blocks[Block::Fresh as usize].clone()).collect();

        let tops: Vec<Top> = copies
            .into_iter()
            .map(|own| {
                let mut bits: Vec<Vec<Variable>> =
                    take(own).into_iter().map(|blocks| blocks[Block::Now as usize].clone()).collect();
                let label = bits.pop().unwrap_or_default();
                let locals = bits.split_off(registers.len());
                Top { registers: bits, locals, label }
            })
            .collect();
        let of = |list: &[Blocks], copies: &[Block]| -> Vec<Variable> {
            list.iter()
                .flat_map(|blocks| copies.iter().flat_map(|&copy| blocks[copy as usize].iter().copied()))
                .collect()
        };
        let pairs = |list: &[Blocks], from: Block, to: Block| -> Vec<(Variable, Variable)> {
            list.iter()
                .flat_map(|blocks| {
                    let (from, to) = (&blocks[from as usize], &blocks[to as usize]);
                    from.iter().copied().zip(to.iter().copied()).collect::<Vec<_>>()
                })
                .collect()
        };
        let joined = |lists: &[Vec<Variable>]| store.cube(lists.iter().flatten().copied());
        let quantify = Quantify {
            start: store.cube(of(&globals, &[Start]))?,
            other: store.cube(of(&globals, &[Other]))?,
            now_globals: store.cube(of(&globals, &[Now]))?,
            entry: joined(&[of(&globals, &[Entry]), of(&locals, &[Entry])])?,
            beside_globals: joined(&[
                of(&registers, &[Now]),
                of(&locals, &[Now, Entry]),
                of(&globals, &[Entry]),
            ])?,
            all_but_start: joined(&[
                of(&registers, &[Now]),
                of(&locals, &[Now, Entry, Below]),
                of(&globals, &[Entry, Below]),
            ])?,
            saved_and_entry: joined(&[of(&locals, &[Now, Entry]), of(&globals, &[Entry])])?,
            inputs: store.cube(inputs.iter().flatten().copied())?,
            locals: store.cube(of(&locals, &[Now]))?,
            frame: joined(&[of(&registers, &[Now]), of(&locals, &[Now])])?,
            all_but_locals: joined(&[of(&globals, &[Now]), of(&registers, &[Now]), of(&locals, &[Fresh])])?,
            made: joined(&[of(&globals, &[Next]), of(&registers, &[Next]), of(&locals, &[Next, Fresh])])?,
        };
        let rename = Rename {
            now_to_start: store.renaming(pairs(&globals, Now, Start)),
            start_to_now: store.renaming(pairs(&globals, Start, Now)),
            start_to_other: store.renaming(pairs(&globals, Start, Other)),
            other_to_start: store.renaming(pairs(&globals, Other, Start)),
            below_to_entry: store
                .renaming([pairs(&globals, Below, Entry), pairs(&locals, Below, Entry)].concat()),
            into_middle: store.renaming(
                [
                    pairs(&globals, Entry, Below),
                    pairs(&locals, Entry, Below),
                    pairs(&globals, Now, Entry),
                    pairs(&locals, Fresh, Entry),
                ]
                .concat(),
            ),
            fresh_to_now: store.renaming(pairs(&locals, Fresh, Now)),
        };
        // The uppermost in the order weighs most, which keeps the comparison small.
        let vector = |copy: Block| -> Bits {
            let mut variables = of(&globals, &[copy]);
            variables.sort_unstable_by(|a, b| b.cmp(a));
            bits::variables(&store, &variables)
        };
        let (start, now, other) = (vector(Start), vector(Now), vector(Other));
        let start_is_now = bits::equal(&store, &start, &now)?;
        let start_is_other = bits::equal(&store, &start, &other)?;
        let start_less_other = bits::less(&store, &start, &other)?;
        let rules_by_label = network.rules_by_label();
        let compiled = RefCell::new(network.rules.iter().map(|_| None).collect());
        let mut encoding = Encoding {
            may_switch: store.truth(),
            network,
            store,
            rules_by_label,
            globals,
            registers,
            locals,
            inputs,
            tops,
            compiled,
            enabled: RefCell::default(),
            quantify,
            rename,
            start_is_now,
            start_is_other,
            start_less_other,
        };
        if let Some(guard) = encoding.network.switch_guard.clone() {
            encoding.may_switch = encoding.evaluate(&guard)?.remove(0);
        }
        Ok(encoding)
    }

    /// The BDD variables of a copy of a variable, at the width that it has at a label.
    pub(crate) fn bits_of(&self, place: Place, copy: Block, label: Option<LabelId>) -> &[Variable] {
        match place {
            Place::Global(index) => &self.globals[index as usize][copy as usize],
            Place::Register(index) => &self.registers[index as usize][copy as usize],
            Place::Local(index) => {
                let all = &self.locals[index as usize][copy as usize];
                let label = label.expect("a local belongs to a label");
                let width = self.network.procedure_of(label).locals[index as usize].width as usize;
                &all[..width.min(all.len())]
            }
        }
    }

    /// The variables of a copy of all globals.
    pub(crate) fn globals(&self, copy: Block) -> Vec<Variable> {
        self.globals.iter().flat_map(|blocks| blocks[copy as usize].iter().copied()).collect()
    }

    /// The locals of a label that are parameters: they name the state below a frame that begins there.
    pub(crate) fn parameters(&self, entry: LabelId) -> BTreeSet<u32> {
        let mut parameters = BTreeSet::new();
        for rule in &self.network.rules {
            if matches!(rule.effect, Effect::Push { callee, .. } if callee == entry) {
                for assignment in &rule.assignments {
                    if let Target::Fresh(index) = assignment.target {
                        parameters.insert(index);
                    }
                }
            }
        }
        parameters
    }

    /// That the variables of a copy have these values.
    pub(crate) fn point(&self, variables: &[Variable], value: u64) -> Fallible<Bdd> {
        let bits = bits::variables(&self.store, variables);
        bits::equal(&self.store, &bits, &bits::constant(&self.store, value, variables.len() as u32))
    }

    /// That the globals in a copy are first ones.
    pub(crate) fn initial_globals(&self, copy: Block) -> Fallible<Bdd> {
        let mut all = self.store.truth();
        for (index, variable) in self.network.globals.iter().enumerate() {
            if let Initial::Value(value) = variable.initial {
                let bits = self.bits_of(Place::Global(index as u32), copy, None);
                all = all.and(&self.point(bits, value)?)?;
            }
        }
        Ok(all)
    }

    /// That the registers are 0.
    pub(crate) fn clear_registers(&self) -> Fallible<Bdd> {
        let mut all = self.store.truth();
        for index in 0..self.registers.len() {
            let bits = self.bits_of(Place::Register(index as u32), Block::Now, None);
            all = all.and(&self.point(bits, 0)?)?;
        }
        Ok(all)
    }

    /// That the locals of a fresh frame which `skip` does not hold are as its procedure says.
    pub(crate) fn initial_locals(&self, label: LabelId, skip: &BTreeSet<u32>) -> Fallible<Bdd> {
        let mut all = self.store.truth();
        for (index, local) in self.network.procedure_of(label).locals.iter().enumerate() {
            if let (Initial::Value(value), false) = (local.initial, skip.contains(&(index as u32))) {
                let bits = self.bits_of(Place::Local(index as u32), Block::Now, Some(label));
                all = all.and(&self.point(bits, value)?)?;
            }
        }
        Ok(all)
    }

    /// The value of an expression over globals, in `Now`.
    fn evaluate(&self, expression: &Expression) -> Fallible<Bits> {
        let read = |place| bits::variables(&self.store, self.bits_of(place, Block::Now, None));
        let input = |_| unreachable!("no rule, no input");
        Evaluator { store: &self.store, read: &read, input: &input }.bits(expression)
    }

    /// A rule's relation, made when first asked for.
    pub(crate) fn compiled(&self, id: RuleId) -> Fallible<Rc<Compiled>> {
        if let Some(known) = &self.compiled.borrow()[id.index()] {
            return Ok(known.clone());
        }
        let made = Rc::new(self.compile(self.network.rule(id))?);
        self.compiled.borrow_mut()[id.index()] = Some(made.clone());
        Ok(made)
    }

    /// Where some rule applies at a label, over `Now`.
    pub(crate) fn enabled(&self, label: LabelId) -> Fallible<Bdd> {
        if let Some(known) = self.enabled.borrow().get(&label) {
            return Ok(known.clone());
        }
        let mut all = self.store.falsity();
        for &id in &self.rules_by_label[label.index()] {
            all = all.or(&self.compiled(id)?.relation.exists(&self.quantify.made)?)?;
        }
        self.enabled.borrow_mut().insert(label, all.clone());
        Ok(all)
    }

    /// Each `Now` of registers and locals, with its copy in a process's part of a visible state.
    pub(crate) fn top_pairs(&self, process: usize) -> Vec<(Variable, Variable)> {
        let top = &self.tops[process];
        let now = self.registers.iter().chain(&self.locals).map(|blocks| &blocks[Block::Now as usize]);
        let copies = top.registers.iter().chain(&top.locals);
        now.zip(copies).flat_map(|(now, copy)| now.iter().copied().zip(copy.iter().copied())).collect()
    }

    /// How many rules have been given their relation.
    pub(crate) fn relations(&self) -> usize {
        self.compiled.borrow().iter().flatten().count()
    }

    fn compile(&self, rule: &Rule) -> Fallible<Compiled> {
        let (relation, changed) = (self.relation_without_inputs(rule)?, self.changed(rule)?);
        let (mut gone, mut pairs) = (Vec::new(), Vec::new());
        for &place in &changed {
            let now = self.bits_of(place, Block::Now, Some(rule.from));
            let next = self.bits_of(place, Block::Next, Some(rule.from));
            gone.extend_from_slice(now);
            pairs.extend(next.iter().copied().zip(now.iter().copied()));
        }
        let all_locals = || self.locals.iter().flat_map(|blocks| blocks[Block::Now as usize].iter().copied());
        let all_registers =
            || self.registers.iter().flat_map(|blocks| blocks[Block::Now as usize].iter().copied());
        let mut fresh = None;
        match rule.effect {
            Effect::Step { .. } => {}
            Effect::Pop => gone.extend(all_locals()),
            Effect::Jump { to } => {
                gone.extend(all_locals());
                let assigned: BTreeSet<u32> = fresh_targets(rule).collect();
                for &index in &assigned {
                    let place = Place::Local(index);
                    let from = self.bits_of(place, Block::Fresh, Some(to));
                    let now = self.bits_of(place, Block::Now, Some(to));
                    pairs.extend(from.iter().copied().zip(now.iter().copied()));
                }
                fresh = Some(self.initial_locals(to, &assigned)?);
            }
            Effect::Push { callee, .. } => {
                gone.extend(all_registers());
                fresh = Some(self.entry_of(callee)?);
            }
            Effect::Fork { .. } => unreachable!("forks have been reduced to slots"),
        }
        gone.sort_unstable();
        gone.dedup();
        Ok(Compiled { relation, quantify: self.store.cube(gone)?, rename: self.store.renaming(pairs), fresh })
    }

    /// What holds of a frame that a push has just made: other locals as they are at first, registers clear, and
    /// the state below named by the globals and the parameters.
    fn entry_of(&self, callee: LabelId) -> Fallible<Bdd> {
        let parameters = self.parameters(callee);
        let mut all = self.clear_registers()?.and(&self.initial_locals(callee, &parameters)?)?;
        let mut names: Vec<(Variable, Variable)> = Vec::new();
        let mut pair = |place, label| {
            let now = self.bits_of(place, Block::Now, label).iter().copied();
            names.extend(now.zip(self.bits_of(place, Block::Entry, label).iter().copied()));
        };
        (0..self.globals.len()).for_each(|index| pair(Place::Global(index as u32), None));
        parameters.iter().for_each(|&index| pair(Place::Local(index), Some(callee)));
        names.sort_unstable();
        for (now, entry) in names.into_iter().rev() {
            all = self.store.variable(now).iff(&self.store.variable(entry))?.and(&all)?;
        }
        Ok(all)
    }

    /// What a rule changes, besides making a frame.
    pub(crate) fn changed(&self, rule: &Rule) -> Fallible<BTreeSet<Place>> {
        let mut changed = BTreeSet::new();
        for assignment in &rule.assignments {
            match &assignment.target {
                Target::Place(place) => drop(changed.insert(*place)),
                Target::Element(array, index) => {
                    let index = self.rule_value(rule, index)?;
                    for (number, place) in array.elements().enumerate() {
                        if bits::is_number(&self.store, &index, number as u64)?
                            .is_some_and(|is| !is.is_false())
                        {
                            changed.insert(place);
                        }
                    }
                }
                Target::Fresh(_) => {}
            }
        }
        Ok(changed)
    }

    /// The value of an expression of a rule's, in `Now`.
    fn rule_value(&self, rule: &Rule, expression: &Expression) -> Fallible<Bits> {
        let store = &self.store;
        let read = |place| bits::variables(store, self.bits_of(place, Block::Now, Some(rule.from)));
        let input = |index: u32| bits::variables(store, self.input_variables(rule)[index as usize]);
        Evaluator { store, read: &read, input: &input }.bits(expression)
    }

    /// The relation of a rule, with its inputs, where `known` holds.
    pub(crate) fn relation(&self, rule: &Rule, known: &Bdd) -> Fallible<Bdd> {
        let mut relation = known.and(&self.rule_value(rule, &rule.guard)?[0])?;
        for assignment in &rule.assignments {
            relation = relation.and(&self.assigned(rule, assignment)?)?;
        }
        relation.and(&self.unassigned_parameters(rule)?)
    }

    /// The relation of a rule without its inputs. An input that only one part mentions goes before the parts are
    /// put together: `a, b, c := *, *, *` needs no more nodes than `skip`.
    fn relation_without_inputs(&self, rule: &Rule) -> Fallible<Bdd> {
        let mut mentioned = vec![0; rule.inputs.len()];
        let mut mention = |parts: &[&Expression]| {
            let mut own = BTreeSet::new();
            parts.iter().for_each(|part| part.inputs(&mut own));
            own.iter().for_each(|&index: &u32| mentioned[index as usize] += 1);
            own
        };
        let of_guard = mention(&[&rule.guard]);
        let of_assignments: Vec<BTreeSet<u32>> = rule
            .assignments
            .iter()
            .map(|assignment| match &assignment.target {
                Target::Element(_, index) => mention(&[&assignment.value, index]),
                Target::Place(_) | Target::Fresh(_) => mention(&[&assignment.value]),
            })
            .collect();
        let variables = self.input_variables(rule);
        let alone = |part: Bdd, inputs: &BTreeSet<u32>| {
            let own = inputs.iter().filter(|&&index| mentioned[index as usize] == 1);
            let own = own.flat_map(|&index| variables[index as usize].iter().copied());
            part.exists(&self.store.cube(own)?)
        };
        let mut relation = alone(self.rule_value(rule, &rule.guard)?.remove(0), &of_guard)?;
        for (assignment, inputs) in rule.assignments.iter().zip(&of_assignments) {
            relation = relation.and(&alone(self.assigned(rule, assignment)?, inputs)?)?;
        }
        relation.and(&self.unassigned_parameters(rule)?)?.exists(&self.quantify.inputs)
    }

    /// What an assignment of a rule says of `Next` and `Fresh`.
    fn assigned(&self, rule: &Rule, assignment: &Assignment) -> Fallible<Bdd> {
        let store = &self.store;
        let becomes = |variables: &[Variable], value: &[Bdd]| {
            bits::equal(store, &bits::variables(store, variables), value)
        };
        let value = self.rule_value(rule, &assignment.value)?;
        match &assignment.target {
            Target::Place(place) => becomes(self.bits_of(*place, Block::Next, Some(rule.from)), &value),
            Target::Element(array, index) => {
                let index = self.rule_value(rule, index)?;
                let mut all = store.truth();
                for (number, place) in array.elements().enumerate() {
                    let Some(here) = bits::is_number(store, &index, number as u64)? else { continue };
                    if here.is_false() {
                        continue;
                    }
                    let old = bits::variables(store, self.bits_of(place, Block::Now, Some(rule.from)));
                    let new: Fallible<Bits> =
                        value.iter().zip(&old).map(|(new, old)| here.if_else(new, old)).collect();
                    all = all.and(&becomes(self.bits_of(place, Block::Next, Some(rule.from)), &new?)?)?;
                }
                Ok(all)
            }
            Target::Fresh(index) => {
                let label = fresh_label(rule).expect("a fresh local is of a fresh frame");
                becomes(self.bits_of(Place::Local(*index), Block::Fresh, Some(label)), &value)
            }
        }
    }

    /// What holds of parameters that another push of the same callee assigns and this one does not.
    fn unassigned_parameters(&self, rule: &Rule) -> Fallible<Bdd> {
        let mut all = self.store.truth();
        if let Effect::Push { callee, .. } = rule.effect {
            let assigned: BTreeSet<u32> = fresh_targets(rule).collect();
            for index in self.parameters(callee).difference(&assigned) {
                let local = &self.network.procedure_of(callee).locals[*index as usize];
                if let Initial::Value(value) = local.initial {
                    let fresh = self.bits_of(Place::Local(*index), Block::Fresh, Some(callee));
                    all = all.and(&self.point(fresh, value)?)?;
                }
            }
        }
        Ok(all)
    }

    /// The BDD variables of a rule's inputs.
    pub(crate) fn input_variables(&self, rule: &Rule) -> Vec<&[Variable]> {
        rule.inputs.iter().enumerate().map(|(index, &width)| &self.inputs[index][..width as usize]).collect()
    }
}

/// The label of the frame that a rule makes.
pub(crate) fn fresh_label(rule: &Rule) -> Option<LabelId> {
    match rule.effect {
        Effect::Jump { to: label }
        | Effect::Push { callee: label, .. }
        | Effect::Fork { child: label, .. } => Some(label),
        Effect::Step { .. } | Effect::Pop => None,
    }
}

/// The fresh locals that a rule assigns.
pub(crate) fn fresh_targets(rule: &Rule) -> impl Iterator<Item = u32> {
    rule.assignments.iter().filter_map(|assignment| match assignment.target {
        Target::Fresh(index) => Some(index),
        _ => None,
    })
}

/// Gives BDD variables to the bits of variables.
#[derive(Default)]
struct Layout {
    wanted: Vec<(u32, Vec<Block>)>,
}

struct Placed {
    blocks: Vec<Blocks>,
    count: u32,
}

impl Layout {
    fn add(&mut self, width: u32, copies: &[Block]) -> usize {
        self.wanted.push((width, copies.to_vec()));
        self.wanted.len() - 1
    }

    /// Bits of equal weight together, so that equal or added values stay near each other.
    fn place(self) -> Placed {
        let mut blocks: Vec<Blocks> = self.wanted.iter().map(|_| Blocks::default()).collect();
        let mut count = 0;
        let widest = self.wanted.iter().map(|(width, _)| *width).max().unwrap_or(0);
        for bit in 0..widest {
            for ((width, copies), blocks) in self.wanted.iter().zip(&mut blocks) {
                if bit < *width {
                    for &copy in copies {
                        blocks[copy as usize].push(Variable(count));
                        count += 1;
                    }
                }
            }
        }
        Placed { blocks, count }
    }
}
