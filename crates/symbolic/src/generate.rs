//! Random networks, for tests: recursion, several processes, few globals, thread creation.
//!
//! Here, and not in a test, so that other engines can be tested on the same programs: a network made with
//! [`Shape::recursion`] off has bounded stacks and can be translated for an engine that has none.

use crate::expression::{Array, Expression, Operator, Place};
use crate::network::{
    Assignment, Effect, Initial, LabelId, Network, Procedure, ProcedureId, Process, Rule, Target, Variable,
};

/// A small generator of numbers (SplitMix64): the same seed, the same numbers, for ever.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What kind of networks to make.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Processes at first.
    pub processes: u64,
    /// Whether procedures may call each other and themselves without end.
    pub recursion: bool,
    /// Whether threads are created.
    pub forks: bool,
    /// Whether there are registers, arrays, free variables and a switch guard, besides globals and locals.
    pub rich: bool,
}

/// Makes the network of a seed.
///
/// ```
/// use selvedge_symbolic::generate::{Shape, network};
/// let shape = Shape { processes: 2, recursion: true, forks: false, rich: false };
/// assert!(network(7, shape).validate().is_ok());
/// assert_eq!(network(7, shape), network(7, shape));
/// ```
pub fn network(seed: u64, shape: Shape) -> Network {
    let mut random = Random::new(seed);
    let mut maker = Maker { shape, network: Network::default() };
    maker.variables(&mut random);
    maker.procedures(&mut random);
    maker.rules(&mut random);
    for process in 0..shape.processes {
        let procedure = random.below(maker.network.procedures.len() as u64);
        let entry = maker.labels_of(ProcedureId(procedure as u32))[0];
        maker.network.processes.push(Process { name: format!("process {process}"), entry });
    }
    maker.network
}

struct Maker {
    shape: Shape,
    network: Network,
}

impl Maker {
    fn labels_of(&self, procedure: ProcedureId) -> Vec<LabelId> {
        let own = |(index, label): (usize, &crate::network::Label)| {
            (label.procedure == procedure).then_some(LabelId(index as u32))
        };
        self.network.labels.iter().enumerate().filter_map(own).collect()
    }

    fn variable(&self, random: &mut Random, name: String) -> Variable {
        let width = if random.percent(75) { 1 } else { 2 };
        let initial = if self.shape.rich && random.percent(20) {
            Initial::Any
        } else {
            Initial::Value(random.below(2))
        };
        Variable { name, width, initial, hidden: false }
    }

    fn variables(&mut self, random: &mut Random) {
        for index in 0..1 + random.below(2) {
            let variable = self.variable(random, format!("g{index}"));
            self.network.globals.push(variable);
        }
        if self.shape.rich {
            if random.percent(40) {
                self.network.registers.push(Variable::new("r", 1));
            }
            if random.percent(30) {
                self.network.switch_guard =
                    Some(Expression::global(0).equals(0, self.network.globals[0].width));
                self.network.globals[0].initial = Initial::Value(0);
            }
        }
    }

    fn procedures(&mut self, random: &mut Random) {
        for index in 0..2 + random.below(2) {
            let locals = (0..random.below(2) + u64::from(self.shape.rich && random.percent(20)))
                .map(|local| self.variable(random, format!("l{local}")))
                .collect();
            self.network.procedures.push(Procedure { name: format!("p{index}"), locals });
            for label in 0..2 + random.below(3) {
                self.network.add_label(format!("p{index}.{label}"), ProcedureId(index as u32));
            }
        }
    }

    fn rules(&mut self, random: &mut Random) {
        for index in 0..self.network.labels.len() {
            let from = LabelId(index as u32);
            for _ in 0..1 + random.below(2) {
                let rule = self.rule(random, from);
                self.network.rules.push(rule);
            }
        }
    }

    fn rule(&self, random: &mut Random, from: LabelId) -> Rule {
        let procedure = self.network.label(from).procedure;
        let own = self.labels_of(procedure);
        let to = own[random.below(own.len() as u64) as usize];
        // Without recursion, calls go to procedures with larger numbers only.
        let least = if self.shape.recursion { 0 } else { u64::from(procedure.0) + 1 };
        let count = self.network.procedures.len() as u64;
        let callee = (least < count).then(|| {
            let callee = ProcedureId((least + random.below(count - least)) as u32);
            self.labels_of(callee)[0]
        });
        let effect = match (random.below(10), callee) {
            (0..=2, _) => Effect::Pop,
            (3..=4, Some(callee)) => Effect::Push { callee, back: to },
            (5, Some(child)) if self.shape.forks => Effect::Fork { to, child },
            (6, Some(callee)) if self.shape.rich => Effect::Jump { to: callee },
            _ => Effect::Step { to },
        };
        let inputs = if random.percent(25) { vec![1 + random.below(2) as u32] } else { Vec::new() };
        let guard = if random.percent(60) {
            self.expression(random, from, &inputs, 1, 2)
        } else {
            Expression::truth(true)
        };
        let mut rule = Rule { from, effect, inputs, guard, assignments: Vec::new(), text: String::new() };
        self.assignments(random, &mut rule);
        rule
    }

    fn assignments(&self, random: &mut Random, rule: &mut Rule) {
        let mut targets: Vec<(Target, u32)> = Vec::new();
        let network = &self.network;
        for (index, global) in network.globals.iter().enumerate() {
            if random.percent(35) {
                targets.push((Target::Place(Place::Global(index as u32)), global.width));
            }
        }
        let keeps = !matches!(rule.effect, Effect::Pop | Effect::Jump { .. });
        for (index, local) in network.procedure_of(rule.from).locals.iter().enumerate() {
            if keeps && random.percent(35) {
                targets.push((Target::Place(Place::Local(index as u32)), local.width));
            }
        }
        for (index, register) in network.registers.iter().enumerate() {
            if !matches!(rule.effect, Effect::Push { .. }) && random.percent(40) {
                targets.push((Target::Place(Place::Register(index as u32)), register.width));
            }
        }
        let fresh = match rule.effect {
            Effect::Push { callee, .. } => Some((callee, 60)),
            Effect::Jump { to } => Some((to, 60)),
            Effect::Fork { child, .. } => Some((child, 100)),
            Effect::Step { .. } | Effect::Pop => None,
        };
        if let Some((label, percent)) = fresh {
            for (index, local) in network.procedure_of(label).locals.iter().enumerate() {
                if random.percent(percent) {
                    targets.push((Target::Fresh(index as u32), local.width));
                }
            }
        }
        // An element of the globals, if there are two of a width, instead of the globals themselves.
        if let Some((array, width)) = self.array()
            && random.percent(15)
        {
            targets.retain(|(target, _)| !matches!(target, Target::Place(Place::Global(_))));
            let bits = 1 + random.below(2) as u32;
            let index = self.expression(random, rule.from, &rule.inputs, bits, 1);
            targets.push((Target::Element(array, index), width));
        }
        for (target, width) in targets {
            let value = self.expression(random, rule.from, &rule.inputs, width, 2);
            rule.assignments.push(Assignment { target, value });
        }
    }

    /// The globals as an array: of networks with arrays, where there are several globals of one width.
    fn array(&self) -> Option<(Array, u32)> {
        let globals = &self.network.globals;
        let width = globals.first()?.width;
        let is_one =
            self.shape.rich && globals.len() > 1 && globals.iter().all(|global| global.width == width);
        is_one.then_some((Array { first: Place::Global(0), length: globals.len() as u32 }, width))
    }

    fn expression(
        &self,
        random: &mut Random,
        at: LabelId,
        inputs: &[u32],
        width: u32,
        depth: u32,
    ) -> Expression {
        let network = &self.network;
        let locals = &network.procedure_of(at).locals;
        let mut leaves: Vec<(Expression, u32)> = Vec::new();
        let mut add = |list: &[Variable], place: fn(u32) -> Place| {
            for (index, variable) in list.iter().enumerate() {
                leaves.push((Expression::Read(place(index as u32)), variable.width));
            }
        };
        add(&network.globals, Place::Global);
        add(locals, Place::Local);
        add(&network.registers, Place::Register);
        leaves.extend(
            inputs.iter().enumerate().map(|(index, &width)| (Expression::Input(index as u32), width)),
        );
        if depth == 0 || random.percent(40) {
            if random.percent(25) {
                return Expression::constant(random.below(1 << width), width);
            }
            let (leaf, is) = leaves[random.below(leaves.len() as u64) as usize].clone();
            return if is == width { leaf } else { Expression::Resize(width, Box::new(leaf)) };
        }
        let below = |random: &mut Random, width| self.expression(random, at, inputs, width, depth - 1);
        if let Some((array, is)) = self.array()
            && is == width
            && random.percent(10)
        {
            let index = below(random, 1 + (depth > 1) as u32);
            return Expression::Element(array, Box::new(index));
        }
        match random.below(4) {
            0 => below(random, width).inverted(),
            1 => {
                let condition = below(random, 1);
                let (yes, no) = (below(random, width), below(random, width));
                Expression::If(Box::new(condition), Box::new(yes), Box::new(no))
            }
            2 if width == 1 => {
                use Operator::{Equal, Less, LessEqual, NotEqual, SignedLess};
                let operators = [Equal, NotEqual, Less, LessEqual, SignedLess];
                let operator = operators[random.below(5) as usize];
                let (left, right) = (below(random, 2), below(random, 2));
                Expression::binary(operator, left, right)
            }
            _ => {
                use Operator::{Add, And, Multiply, Or, ShiftLeft, ShiftRight, Subtract, Xor};
                let operators = [Add, Subtract, And, Or, Xor, Multiply, ShiftLeft, ShiftRight];
                let operator = operators[random.below(8) as usize];
                let (left, right) = (below(random, width), below(random, width));
                Expression::binary(operator, left, right)
            }
        }
    }
}
