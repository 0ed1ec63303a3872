//! Symbolic pushdown networks.
//!
//! Suwimonteerabuth, Esparza, Schwoon: Symbolic Context-Bounded Analysis of Multithreaded Java Programs (SPIN
//! 2008), sections 2.1, 2.2 and 4.1. A network is a list of symbolic rules; the relation of a rule is given as a
//! guard and simultaneous assignments, and becomes a BDD only when a search first uses the rule.
//!
//! Where this differs from the paper:
//! 1. A process has *registers* besides its stack (the local state of section 2.2's APN): they carry a result
//!    from a pop to the step after it. A push clears them, so procedure summaries need not mention them.
//! 2. A frame has the local variables of its label's procedure. Locals that a push, jump or fork does not assign
//!    are 0 or free, as the procedure says.
//! 3. A context may be allowed to end only where a predicate on the globals holds (`switch_guard`): atomic
//!    sections.
//! 4. A label may be marked as one where a process that cannot go on is *blocked*; deadlock is defined by it.

use selvedge_core::Location;

use crate::Error;
use crate::expression::{Array, Expression, MAX_WIDTH, Place, Scope};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// A label: a possible value of the program counter.
    LabelId
);
index!(
    /// A procedure: what says which locals a label's frame has.
    ProcedureId
);
index!(
    /// A rule.
    RuleId
);

/// What a variable is at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// A value.
    Value(u64),
    /// Any value: all are looked at.
    Any,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in traces.
    pub name: String,
    /// Its bits.
    pub width: u32,
    /// What it is at first: of a local, in a frame that does not assign it.
    pub initial: Initial,
    /// Whether traces leave it out.
    pub hidden: bool,
}

impl Variable {
    /// A variable that is 0 at first.
    pub fn new(name: impl Into<String>, width: u32) -> Variable {
        Variable { name: name.into(), width, initial: Initial::Value(0), hidden: false }
    }
}

/// A procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Its name in traces.
    pub name: String,
    /// The locals of its frames.
    pub locals: Vec<Variable>,
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub procedure: ProcedureId,
    /// Where it stands in the source.
    pub location: Option<Location>,
    /// Reaching it is a violation, with this message.
    pub violation: Option<String>,
    /// A process that cannot go on here is blocked.
    pub blocks: bool,
}

/// What a rule does to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The topmost label changes; the frame stays.
    Step {
        /// The new label, of the same procedure.
        to: LabelId,
    },
    /// The topmost frame is replaced by a fresh one.
    Jump {
        /// The new label.
        to: LabelId,
    },
    /// A call: a fresh frame on top of the present one.
    Push {
        /// The label of the fresh frame.
        callee: LabelId,
        /// The label of the present frame, once the callee has been popped; of the same procedure.
        back: LabelId,
    },
    /// The topmost frame is dropped.
    Pop,
    /// As a step, and a new process starts with a fresh frame.
    Fork {
        /// The new label, of the same procedure.
        to: LabelId,
        /// The label of the new process's frame.
        child: LabelId,
    },
}

/// What an assignment changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A variable; of a push, a local is the one in the frame below the fresh one.
    Place(Place),
    /// An element of an array; nothing, where the index is out of range.
    Element(Array, Expression),
    /// A local of the fresh frame of a push, jump or fork.
    Fresh(u32),
}

/// One of a rule's simultaneous assignments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What changes.
    pub target: Target,
    /// To what; computed before anything changes.
    pub value: Expression,
}

/// A symbolic rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The topmost label where it applies.
    pub from: LabelId,
    /// What it does to the stack.
    pub effect: Effect,
    /// The widths of its inputs: values chosen freely each time.
    pub inputs: Vec<u32>,
    /// When it applies: one bit.
    pub guard: Expression,
    /// What it changes.
    pub assignments: Vec<Assignment>,
    /// What it does, for traces.
    pub text: String,
}

/// A process that exists at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its name in traces.
    pub name: String,
    /// The label of its only frame.
    pub entry: LabelId,
}

/// A pushdown network.
///
/// ```
/// use selvedge_symbolic::network::*;
/// let mut network = Network { globals: vec![Variable::new("x", 8)], ..Network::default() };
/// network.procedures.push(Procedure { name: "main".into(), locals: Vec::new() });
/// let entry = network.add_label("entry", ProcedureId(0));
/// network.processes.push(Process { name: "main".into(), entry });
/// assert_eq!(network.full_name(entry), "main.entry");
/// assert!(network.validate().is_ok() && !network.forks());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Shared variables.
    pub globals: Vec<Variable>,
    /// Variables that each process has outside its stack; they begin as 0, whatever they say.
    pub registers: Vec<Variable>,
    /// Procedures.
    pub procedures: Vec<Procedure>,
    /// Labels.
    pub labels: Vec<Label>,
    /// Rules.
    pub rules: Vec<Rule>,
    /// Processes that exist at first.
    pub processes: Vec<Process>,
    /// A context may end only where this predicate on the globals holds.
    pub switch_guard: Option<Expression>,
}

impl Network {
    /// A label.
    pub fn label(&self, id: LabelId) -> &Label {
        &self.labels[id.index()]
    }

    /// The procedure of a label.
    pub fn procedure_of(&self, id: LabelId) -> &Procedure {
        &self.procedures[self.label(id).procedure.index()]
    }

    /// A rule.
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.index()]
    }

    /// Adds a label without a place.
    pub fn add_label(&mut self, name: impl Into<String>, procedure: ProcedureId) -> LabelId {
        self.labels.push(Label {
            name: name.into(),
            procedure,
            location: None,
            violation: None,
            blocks: false,
        });
        LabelId(self.labels.len() as u32 - 1)
    }

    /// A label's name with its procedure's before it.
    pub fn full_name(&self, id: LabelId) -> String {
        format!("{}.{}", self.procedure_of(id).name, self.label(id).name)
    }

    /// The labels with a name, `name` or `procedure.name`.
    pub(crate) fn labels_called(&self, name: &str) -> Vec<LabelId> {
        let all = (0..self.labels.len() as u32).map(LabelId);
        all.filter(|&id| self.label(id).name == name || self.full_name(id) == name).collect()
    }

    /// That no label has a name; says which there are.
    pub(crate) fn unknown_label(&self, name: &str) -> Error {
        let all = (0..self.labels.len() as u32).map(LabelId);
        let mut known: Vec<String> =
            all.filter(|&id| !self.label(id).name.contains(' ')).map(|id| self.full_name(id)).collect();
        known.sort_unstable();
        known.dedup();
        known.truncate(12);
        Error::UnknownLabel { name: name.into(), known }
    }

    /// Whether a rule creates a process.
    pub fn forks(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.effect, Effect::Fork { .. }))
    }

    /// The rules of each label.
    pub fn rules_by_label(&self) -> Vec<Vec<RuleId>> {
        let mut by_label = vec![Vec::new(); self.labels.len()];
        for (index, rule) in self.rules.iter().enumerate() {
            by_label[rule.from.index()].push(RuleId(index as u32));
        }
        by_label
    }

    /// Checks that every index is in range and every width fits.
    pub fn validate(&self) -> Result<(), Error> {
        let fail = |part: String, message: String| Err(Error::Network { part, message });
        let locals = self.procedures.iter().flat_map(|procedure| &procedure.locals);
        for variable in self.globals.iter().chain(&self.registers).chain(locals) {
            let fits = match variable.initial {
                Initial::Value(value) => variable.width <= MAX_WIDTH && value >> variable.width == 0,
                Initial::Any => variable.width <= MAX_WIDTH,
            };
            if variable.width == 0 || !fits {
                let message = format!("its width of {} or its first value does not fit", variable.width);
                return fail(format!("variable {}", variable.name), message);
            }
        }
        for label in &self.labels {
            if label.procedure.index() >= self.procedures.len() {
                return fail(format!("label {}", label.name), "its procedure does not exist".into());
            }
        }
        for process in &self.processes {
            if process.entry.index() >= self.labels.len() {
                return fail(format!("process {}", process.name), "its entry label does not exist".into());
            }
        }
        if let Some(guard) = &self.switch_guard {
            let scope = RuleScope { network: self, locals: &[], inputs: &[], registers: &[] };
            match guard.width(&scope) {
                Ok(1) => {}
                Ok(width) => return fail("the switch guard".into(), format!("it has {width} bits")),
                Err(message) => return fail("the switch guard".into(), message),
            }
        }
        for (index, rule) in self.rules.iter().enumerate() {
            if let Err(message) = self.validate_rule(rule) {
                let from = self.labels.get(rule.from.index()).map_or("nowhere", |label| &label.name);
                return fail(format!("rule {index} from {from}"), message);
            }
        }
        self.validate_forks().or_else(|message| fail("the forks".into(), message))
    }

    /// All forks of one entry assign the same locals: the slots have an argument for each.
    fn validate_forks(&self) -> Result<(), String> {
        let mut known: Vec<(LabelId, Vec<u32>)> = Vec::new();
        for rule in &self.rules {
            let Effect::Fork { child, .. } = rule.effect else { continue };
            let fresh = |assignment: &Assignment| match assignment.target {
                Target::Fresh(index) => Some(index),
                _ => None,
            };
            let mut assigned: Vec<u32> = rule.assignments.iter().filter_map(fresh).collect();
            assigned.sort_unstable();
            match known.iter().find(|(entry, _)| *entry == child) {
                Some((_, earlier)) if *earlier != assigned => {
                    return Err(format!("those of {} assign different locals", self.label(child).name));
                }
                Some(_) => {}
                None => known.push((child, assigned)),
            }
        }
        Ok(())
    }

    fn validate_rule(&self, rule: &Rule) -> Result<(), String> {
        let known = |label: LabelId| {
            self.labels.get(label.index()).map(|label| label.procedure).ok_or("a label that does not exist")
        };
        let home = known(rule.from)?;
        let (stays, fresh) = match rule.effect {
            Effect::Step { to } => (Some(to), None),
            Effect::Jump { to } => (None, Some(to)),
            Effect::Push { callee, back } => (Some(back), Some(callee)),
            Effect::Pop => (None, None),
            Effect::Fork { to, child } => (Some(to), Some(child)),
        };
        if let Some(stays) = stays
            && known(stays)? != home
        {
            return Err("the frame stays, and yet its procedure changes".into());
        }
        let fresh = match fresh {
            Some(fresh) => &self.procedures[known(fresh)?.index()].locals[..],
            None => &[],
        };
        if rule.inputs.iter().any(|&width| !(1..=MAX_WIDTH).contains(&width)) {
            return Err("an input of no width that there is".into());
        }
        let locals = &self.procedures[home.index()].locals;
        let scope = RuleScope { network: self, locals, inputs: &rule.inputs, registers: &self.registers };
        if rule.guard.width(&scope)? != 1 {
            return Err("the guard has more than one bit".into());
        }
        let pushes = matches!(rule.effect, Effect::Push { .. });
        let (mut places, mut taken) = (Vec::new(), Vec::new());
        for Assignment { target, value } in &rule.assignments {
            let width = match target {
                Target::Fresh(index) => {
                    if taken.contains(index) {
                        return Err("a fresh local is assigned twice".into());
                    }
                    taken.push(*index);
                    fresh.get(*index as usize).ok_or("a fresh local that does not exist")?.width
                }
                Target::Place(place) => {
                    places.push(*place);
                    scope.place(*place).ok_or_else(|| format!("{place:?} does not exist"))?
                }
                Target::Element(array, index) => {
                    places.extend(array.elements());
                    Expression::Element(*array, Box::new(index.clone())).width(&scope)?
                }
            };
            let given = value.width(&scope)?;
            if given != width {
                return Err(format!("{given} bits are assigned to {width}"));
            }
        }
        if places.iter().any(|place| matches!(place, Place::Local(_))) && stays.is_none() {
            return Err("a local of a frame that is dropped is assigned".into());
        }
        if places.iter().any(|place| matches!(place, Place::Register(_))) && pushes {
            return Err("a push clears the registers and cannot assign them".into());
        }
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        if places.len() < count { Err("a variable is assigned twice".into()) } else { Ok(()) }
    }
}

/// What a rule's expressions may name.
struct RuleScope<'a> {
    network: &'a Network,
    locals: &'a [Variable],
    registers: &'a [Variable],
    inputs: &'a [u32],
}

impl Scope for RuleScope<'_> {
    fn place(&self, place: Place) -> Option<u32> {
        let (list, index) = match place {
            Place::Global(index) => (&self.network.globals[..], index),
            Place::Local(index) => (self.locals, index),
            Place::Register(index) => (self.registers, index),
        };
        list.get(index as usize).map(|variable| variable.width)
    }

    fn input(&self, index: u32) -> Option<u32> {
        self.inputs.get(index as usize).copied()
    }
}
