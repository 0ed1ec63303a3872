//! Networks as Promela models, so that an engine that shares nothing with this one can be asked the same.
//!
//! For tests, as [`generate`](crate::generate) is: networks with stacks of a bounded depth, few processes and values
//! of a few bits. Each process is a proctype with an array for its stack; each rule, with each choice of its inputs
//! and of what may be anything, is an option of its loop that takes one step. The model counts contexts by itself
//! and takes no step beyond their bound, so no bound of the engine that runs it matters.

use std::fmt::Write as _;

use crate::expression::{Array, Expression, Operator, Place};
use crate::network::{Effect, Initial, LabelId, Network, Rule, RuleId, Target, Variable};

/// What a model asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which heads are reachable: a statement of the model is reached where one is.
    Heads,
    /// Whether a label is reachable: an assertion fails where it is.
    Label(LabelId),
}

/// How far a model goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Contexts, at most.
    pub contexts: u32,
    /// Threads that may be created, at most.
    pub threads: u32,
    /// Frames of a stack, at most; the network must not need more.
    pub depth: usize,
}

/// A head that a statement of a model stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The statement's line, from 1.
    pub line: u32,
    /// The process.
    pub process: usize,
    /// The label on top of its stack.
    pub label: LabelId,
    /// The globals.
    pub globals: Vec<u64>,
    /// The contexts that it took.
    pub contexts: u32,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its text.
    pub text: String,
    /// What its statements stand for, if heads were asked for.
    pub probes: Vec<Probe>,
}

/// Wider values than this are not translated.
const WIDEST: u32 = 4;
/// More choices at once than this are not translated.
const MOST_CHOICES: u32 = 8;

/// Translates a network; `None` if its values are too wide or it has too many choices at once.
///
/// ```
/// use selvedge_symbolic::generate::{Shape, network};
/// use selvedge_symbolic::promela::{Extent, Question, translate};
///
/// let network = network(1, Shape { processes: 2, recursion: false, forks: false, rich: false });
/// let extent = Extent { contexts: 2, threads: 0, depth: 4 };
/// let model = translate(&network, extent, Question::Heads).unwrap();
/// assert!(model.text.contains("active proctype process1()"));
/// ```
pub fn translate(network: &Network, extent: Extent, question: Question) -> Option<Model> {
    let locals = network.procedures.iter().flat_map(|procedure| &procedure.locals);
    let widest = network.globals.iter().chain(&network.registers).chain(locals).map(|v| v.width).max();
    if widest.is_some_and(|widest| widest > WIDEST) {
        return None;
    }
    let locals = network.procedures.iter().map(|procedure| procedure.locals.len()).max().unwrap_or(0);
    let created = if network.forks() { extent.threads as usize } else { 0 };
    let processes = network.processes.len() + created;
    let translator = Translator { network, extent, locals, processes, text: String::new() };
    translator.model(question)
}

struct Translator<'a> {
    network: &'a Network,
    extent: Extent,
    /// The most locals that a frame has.
    locals: usize,
    processes: usize,
    text: String,
}

/// Choices that a rule makes: the values of its inputs and of the fresh locals that may be anything.
struct Choice {
    inputs: Vec<u64>,
    fresh: Vec<Option<u64>>,
}

/// Every combination of values for these widths.
fn combinations(widths: &[u32]) -> Option<Vec<Vec<u64>>> {
    let bits: u32 = widths.iter().sum();
    if bits > MOST_CHOICES {
        return None;
    }
    let of = |mut code: u64| {
        let mut take = |&width: &u32| {
            let value = code & ((1 << width) - 1);
            code >>= width;
            value
        };
        widths.iter().map(&mut take).collect()
    };
    Some((0..1_u64 << bits).map(of).collect())
}

fn fresh_entry(rule: &Rule) -> Option<LabelId> {
    match rule.effect {
        Effect::Jump { to: label }
        | Effect::Push { callee: label, .. }
        | Effect::Fork { child: label, .. } => Some(label),
        Effect::Step { .. } | Effect::Pop => None,
    }
}

impl Translator<'_> {
    fn model(mut self, question: Question) -> Option<Model> {
        self.declarations();
        self.init()?;
        for process in 0..self.processes {
            let _ = writeln!(self.text, "active proctype process{process}() {{");
            self.text.push_str("  byte t[16];\nend:\n  do\n");
            for id in (0..self.network.rules.len() as u32).map(RuleId) {
                self.rule(process, self.network.rule(id))?;
            }
            self.text.push_str("  :: false\n  od\n}\n");
        }
        let probes = self.observer(question)?;
        Some(Model { text: self.text, probes })
    }

    fn declarations(&mut self) {
        let mut names = vec!["ready".to_string(), "contexts".into(), "threads".into()];
        names.extend((0..self.network.globals.len()).map(|index| format!("g{index}")));
        for process in 0..self.processes {
            names.push(format!("top{process}"));
            names.extend((0..self.network.registers.len()).map(|index| format!("r{process}_{index}")));
            let frames = self.extent.depth + 1;
            names.push(format!("label{process}[{frames}]"));
            names.extend((0..self.locals).map(|index| format!("l{process}_{index}[{frames}]")));
        }
        for name in names {
            let _ = writeln!(self.text, "byte {name};");
        }
        self.text.push_str("byte last = 255;\n");
    }

    /// One step that gives everything its first value.
    fn init(&mut self) -> Option<()> {
        let network = self.network;
        let entries = || network.processes.iter().map(|process| process.entry).enumerate();
        let mut first: Vec<(String, &Variable)> = Vec::new();
        first.extend(network.globals.iter().enumerate().map(|(index, global)| (format!("g{index}"), global)));
        for (process, entry) in entries() {
            let locals = network.procedure_of(entry).locals.iter().enumerate();
            first.extend(locals.map(|(index, local)| (format!("l{process}_{index}[1]"), local)));
        }
        let is_open = |(_, variable): &&(String, &Variable)| variable.initial == Initial::Any;
        let widths: Vec<u32> = first.iter().filter(is_open).map(|(_, variable)| variable.width).collect();
        self.text.push_str("init {\n  if\n");
        for free in combinations(&widths)? {
            let mut free = free.into_iter();
            self.text.push_str("  :: d_step { ");
            for (name, variable) in &first {
                let value = match variable.initial {
                    Initial::Value(value) => value,
                    Initial::Any => free.next().expect("a value for each that is open"),
                };
                let _ = write!(self.text, "{name} = {value}; ");
            }
            for (process, entry) in entries() {
                let _ = write!(self.text, "top{process} = 1; label{process}[1] = {}; ", number(entry));
            }
            let _ = writeln!(self.text, "threads = {}; ready = 1 }}", network.processes.len());
        }
        self.text.push_str("  fi\n}\n");
        Some(())
    }

    /// The options of a rule: one for each choice, and for each number that a created thread may have.
    fn rule(&mut self, process: usize, rule: &Rule) -> Option<()> {
        let locals = fresh_entry(rule).map(|label| &self.network.procedure_of(label).locals[..]);
        let locals = locals.unwrap_or_default();
        let is_given = |index: usize| {
            rule.assignments.iter().any(|assignment| assignment.target == Target::Fresh(index as u32))
        };
        let open: Vec<usize> = (0..locals.len())
            .filter(|&index| locals[index].initial == Initial::Any && !is_given(index))
            .collect();
        let widths: Vec<u32> =
            rule.inputs.iter().copied().chain(open.iter().map(|&index| locals[index].width)).collect();
        for values in combinations(&widths)? {
            let (inputs, free) = values.split_at(rule.inputs.len());
            let mut fresh: Vec<Option<u64>> = locals
                .iter()
                .map(|local| match local.initial {
                    Initial::Value(value) => Some(value),
                    Initial::Any => None,
                })
                .collect();
            for (&index, &value) in open.iter().zip(free) {
                fresh[index] = Some(value);
            }
            let choice = Choice { inputs: inputs.to_vec(), fresh };
            if matches!(rule.effect, Effect::Fork { .. }) {
                for child in self.network.processes.len()..self.processes {
                    self.option(process, rule, &choice, Some(child));
                }
            } else {
                self.option(process, rule, &choice, None);
            }
        }
        Some(())
    }

    fn option(&mut self, process: usize, rule: &Rule, choice: &Choice, child: Option<usize>) {
        let value = |expression: &Expression| self.expression(process, rule, &choice.inputs, expression);
        let may_switch = self.network.switch_guard.as_ref().map_or("1".into(), value);
        let mut line = format!(
            "  :: d_step {{ ready && label{process}[top{process}] == {} && (last == {process} || \
             (contexts < {} && {may_switch} == 1)) && {} == 1",
            number(rule.from),
            self.extent.contexts,
            value(&rule.guard),
        );
        if let Some(child) = child {
            let _ = write!(line, " && threads == {child}");
        }
        let _ = write!(line, " -> contexts = contexts + (last != {process}); last = {process}; ");
        // All values are computed before any is assigned.
        let mut targets = Vec::new();
        let mut given = choice.fresh.clone();
        let mut fresh = Vec::new();
        for assignment in &rule.assignments {
            let new = value(&assignment.value);
            match &assignment.target {
                Target::Place(place) => targets.push((self.place(process, *place), new)),
                Target::Element(array, index) => {
                    let index = value(index);
                    for (at, place) in array.elements().enumerate() {
                        let name = self.place(process, place);
                        targets.push((name.clone(), format!("({index} == {at} -> {new} : {name})")));
                    }
                }
                Target::Fresh(index) => {
                    given[*index as usize] = None;
                    fresh.push((*index, new));
                }
            }
        }
        let temporaries = targets.len() + fresh.len();
        assert!(temporaries <= 16, "a rule with so many assignments is not one of the generator's");
        for (at, new) in
            targets.iter().map(|(_, new)| new).chain(fresh.iter().map(|(_, new)| new)).enumerate()
        {
            let _ = write!(line, "t[{at}] = {new}; ");
        }
        if matches!(rule.effect, Effect::Push { .. }) {
            for index in 0..self.network.registers.len() {
                let _ = write!(line, "r{process}_{index} = 0; ");
            }
        }
        for (at, (name, _)) in targets.iter().enumerate() {
            let _ = write!(line, "{name} = t[{at}]; ");
        }
        let frame = |line: &mut String, owner: usize, label: LabelId| {
            let top = format!("[top{owner}]");
            let _ = write!(line, "label{owner}{top} = {}; ", number(label));
            for index in 0..self.locals {
                let value = given.get(index).copied().flatten().unwrap_or(0);
                let _ = write!(line, "l{owner}_{index}{top} = {value}; ");
            }
            for (at, (index, _)) in fresh.iter().enumerate() {
                let _ = write!(line, "l{owner}_{index}{top} = t[{}]; ", targets.len() + at);
            }
        };
        let top = format!("top{process}");
        match rule.effect {
            Effect::Step { to } => {
                let _ = write!(line, "label{process}[{top}] = {}; ", number(to));
            }
            Effect::Jump { to } => frame(&mut line, process, to),
            Effect::Push { callee, back } => {
                let _ = write!(line, "label{process}[{top}] = {}; {top} = {top} + 1; ", number(back));
                frame(&mut line, process, callee);
            }
            Effect::Pop => {
                let _ = write!(line, "label{process}[{top}] = 0; ");
                for index in 0..self.locals {
                    let _ = write!(line, "l{process}_{index}[{top}] = 0; ");
                }
                let _ = write!(line, "{top} = {top} - 1; ");
            }
            Effect::Fork { to, child: entry } => {
                let child = child.expect("a fork has a child");
                let _ = write!(line, "label{process}[{top}] = {}; top{child} = 1; ", number(to));
                frame(&mut line, child, entry);
                let _ = write!(line, "threads = {}; ", child + 1);
            }
        }
        for at in 0..temporaries {
            let _ = write!(line, "t[{at}] = 0; ");
        }
        line.push_str("skip }\n");
        self.text.push_str(&line);
    }

    fn place(&self, process: usize, place: Place) -> String {
        match place {
            Place::Global(index) => format!("g{index}"),
            Place::Local(index) => format!("l{process}_{index}[top{process}]"),
            Place::Register(index) => format!("r{process}_{index}"),
        }
    }

    /// An expression of a rule's, for a process and values of its inputs.
    fn expression(&self, process: usize, rule: &Rule, inputs: &[u64], expression: &Expression) -> String {
        let text = |of: &Expression| self.expression(process, rule, inputs, of);
        let width = |of: &Expression| self.width(of, rule);
        let mask = |width: u32| (1_u64 << width) - 1;
        match expression {
            Expression::Constant { value, .. } => value.to_string(),
            Expression::Read(place) => self.place(process, *place),
            Expression::Input(index) => inputs[*index as usize].to_string(),
            Expression::Element(array, index) => {
                let index = text(index);
                array.elements().enumerate().fold("0".to_string(), |rest, (at, place)| {
                    format!("({index} == {at} -> {} : {rest})", self.place(process, place))
                })
            }
            Expression::Not(of) => format!("({} ^ {})", text(of), mask(width(of))),
            Expression::If(condition, yes, no) => {
                format!("({} == 1 -> {} : {})", text(condition), text(yes), text(no))
            }
            Expression::Resize(to, of) => format!("({} & {})", text(of), mask(*to)),
            Expression::Binary(operator, left, right) => {
                let width = width(left);
                let (left, right, all) = (text(left), text(right), mask(width));
                let plain = |sign: &str| format!("({left} {sign} {right})");
                let masked = |sign: &str| format!("(({left} {sign} {right}) & {all})");
                let shifted =
                    |sign: &str| format!("({right} >= {width} -> 0 : (({left} {sign} {right}) & {all}))");
                match operator {
                    Operator::Add => masked("+"),
                    Operator::Subtract => masked("-"),
                    Operator::Multiply => masked("*"),
                    Operator::And => plain("&"),
                    Operator::Or => plain("|"),
                    Operator::Xor => plain("^"),
                    Operator::ShiftLeft => shifted("<<"),
                    Operator::ShiftRight => shifted(">>"),
                    Operator::Equal => plain("=="),
                    Operator::NotEqual => plain("!="),
                    Operator::Less => plain("<"),
                    Operator::LessEqual => plain("<="),
                    Operator::SignedLess => {
                        let sign = 1_u64 << (width - 1);
                        format!("(({left} ^ {sign}) < ({right} ^ {sign}))")
                    }
                }
            }
        }
    }

    fn width(&self, expression: &Expression, rule: &Rule) -> u32 {
        let variable = |place: Place| match place {
            Place::Global(index) => self.network.globals[index as usize].width,
            Place::Local(index) => self.network.procedure_of(rule.from).locals[index as usize].width,
            Place::Register(index) => self.network.registers[index as usize].width,
        };
        match expression {
            Expression::Constant { width, .. } | Expression::Resize(width, _) => *width,
            Expression::Read(place) | Expression::Element(Array { first: place, .. }, _) => variable(*place),
            Expression::Input(index) => rule.inputs[*index as usize],
            Expression::Not(of) => self.width(of, rule),
            Expression::Binary(operator, ..) if operator.compares() => 1,
            Expression::Binary(_, left, _) => self.width(left, rule),
            Expression::If(_, yes, _) => self.width(yes, rule),
        }
    }

    /// A process that looks on, and changes nothing.
    fn observer(&mut self, question: Question) -> Option<Vec<Probe>> {
        let mut probes = Vec::new();
        self.text.push_str("active proctype observer() {\nend:\n  do\n");
        let at = |process: usize, label: LabelId| {
            format!("ready && label{process}[top{process}] == {}", number(label))
        };
        if let Question::Label(label) = question {
            for process in 0..self.processes {
                let _ = writeln!(self.text, "  :: atomic {{ {} -> assert(false) }}", at(process, label));
            }
        } else {
            let widths: Vec<u32> = self.network.globals.iter().map(|global| global.width).collect();
            let all = combinations(&widths)?;
            let mut line = self.text.lines().count() as u32;
            for process in 0..self.processes {
                for label in (0..self.network.labels.len() as u32).map(LabelId) {
                    for contexts in 0..=self.extent.contexts {
                        for globals in &all {
                            let values = globals.iter().enumerate();
                            let values: String =
                                values.map(|(index, value)| format!(" && g{index} == {value}")).collect();
                            let here = at(process, label);
                            // The statement that is reached, or not, has a line of its own.
                            let _ = write!(
                                self.text,
                                "  :: atomic {{ {here} && contexts == {contexts}{values} ->\n     skip }}\n"
                            );
                            line += 2;
                            probes.push(Probe { line, process, label, globals: globals.clone(), contexts });
                        }
                    }
                }
            }
        }
        self.text.push_str("  :: false\n  od\n}\n");
        Some(probes)
    }
}

/// Labels are numbered from 1: 0 is below the bottom of a stack.
fn number(label: LabelId) -> u32 {
    label.0 + 1
}
