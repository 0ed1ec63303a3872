//! Boolean programs as pushdown networks.
//!
//! Each statement has a label and takes one step. A call takes two: the push, and after the callee's pop the
//! assignment of its results, which registers carry. A condition is evaluated in one step. Atomic sections have a
//! file of their own, [`atomic`].

mod atomic;

use std::collections::HashMap;

use selvedge_symbolic::expression::{Expression, Place};
use selvedge_symbolic::network::{
    Assignment, Effect, Initial, Label, LabelId, Network, Procedure, ProcedureId, Process, Rule, Target,
    Variable,
};

use crate::Error;
use crate::ast::{self, Declaration, Kind, Program, Statement};
use crate::lexer::At;
use crate::scope::{Lowering, Named, Scope, meaning, type_name};

/// Lowers a program.
pub(crate) fn lower(file: &str, program: &Program) -> Result<Network, Error> {
    let mut network = Network::default();
    let mut globals = HashMap::new();
    for global in &program.globals {
        declare(file, global, &mut network.globals, &mut globals, Place::Global)?;
    }
    let atomic = uses_atomic(program).then(|| {
        let hidden = Variable { hidden: true, ..Variable::new("atomic section", 1) };
        network.globals.push(hidden);
        network.globals.len() as u32 - 1
    });
    network.switch_guard = atomic.map(|atomic| Expression::global(atomic).equals(0, 1));
    let mut procedures: HashMap<&str, usize> = HashMap::new();
    for (index, procedure) in program.procedures.iter().enumerate() {
        if procedures.insert(&procedure.name, index).is_some() {
            let message = format!("there are two procedures called `{}`", procedure.name);
            return meaning(file, procedure.at, message, "rename one of them");
        }
        for (number, &width) in procedure.results.iter().enumerate() {
            if network.registers.len() <= number {
                let name = format!("result {number}");
                network.registers.push(Variable { hidden: true, ..Variable::new(name, width) });
            }
            let register = &mut network.registers[number];
            register.width = register.width.max(width);
        }
    }
    let mut shared = Shared { file, program, globals, procedures, atomic, network, entries: Vec::new() };
    let mut bodies = Vec::new();
    for procedure in &program.procedures {
        bodies.push(shared.declare_procedure(procedure)?);
    }
    for (index, (procedure, locals)) in program.procedures.iter().zip(&bodies).enumerate() {
        let scope = Scope { file, globals: &shared.globals.clone(), locals };
        Body::new(&mut shared, procedure, ProcedureId(index as u32), &scope).lower()?;
    }
    shared.processes()?;
    Ok(shared.network)
}

fn uses_atomic(program: &Program) -> bool {
    fn any(statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            Kind::AtomicBegin | Kind::AtomicEnd => true,
            Kind::If(arms, otherwise) => arms.iter().any(|(_, body)| any(body)) || any(otherwise),
            Kind::While(_, body) => any(body),
            _ => false,
        })
    }
    program.procedures.iter().any(|procedure| any(&procedure.body))
}

/// Adds a declared variable, an array as several.
fn declare(
    file: &str,
    declaration: &Declaration,
    variables: &mut Vec<Variable>,
    names: &mut HashMap<String, Named>,
    place: fn(u32) -> Place,
) -> Result<(), Error> {
    let Declaration { name, at, width, length, initial } = declaration;
    let first = place(variables.len() as u32);
    if names.insert(name.clone(), Named { first, width: *width, length: *length }).is_some() {
        let message = format!("`{name}` is declared twice");
        return meaning(file, *at, message, "rename one of the two");
    }
    let initial = initial.map_or(Initial::Any, Initial::Value);
    for index in 0..length.unwrap_or(1) {
        let name = if length.is_some() { format!("{name}[{index}]") } else { name.clone() };
        variables.push(Variable { name, width: *width, initial, hidden: false });
    }
    Ok(())
}

/// What all procedures share.
struct Shared<'a> {
    file: &'a str,
    program: &'a Program,
    globals: HashMap<String, Named>,
    procedures: HashMap<&'a str, usize>,
    /// The hidden bit of atomic sections, if there are any.
    atomic: Option<u32>,
    network: Network,
    /// Where each procedure begins.
    entries: Vec<LabelId>,
}

impl<'a> Shared<'a> {
    fn declare_procedure(&mut self, procedure: &ast::Procedure) -> Result<HashMap<String, Named>, Error> {
        let (mut variables, mut names) = (Vec::new(), HashMap::new());
        for local in procedure.parameters.iter().chain(&procedure.locals) {
            declare(self.file, local, &mut variables, &mut names, Place::Local)?;
        }
        let id = ProcedureId(self.network.procedures.len() as u32);
        self.network.procedures.push(Procedure { name: procedure.name.clone(), locals: variables });
        let entry = self.label(format!("entry of {}", procedure.name), id, procedure.at);
        self.entries.push(entry);
        Ok(names)
    }

    fn label(&mut self, name: String, procedure: ProcedureId, at: At) -> LabelId {
        let location = Some(at.in_file(self.file));
        self.network.labels.push(Label { name, procedure, location, violation: None, blocks: false });
        LabelId(self.network.labels.len() as u32 - 1)
    }

    fn procedure(&self, name: &str, at: At) -> Result<(usize, &'a ast::Procedure), Error> {
        match self.procedures.get(name) {
            Some(&index) => Ok((index, &self.program.procedures[index])),
            None => {
                let message = format!("no procedure is called `{name}`");
                meaning(self.file, at, message, "define it, or mend the name")
            }
        }
    }

    /// The processes that exist at first. One that takes arguments begins with a step that gives them.
    fn processes(&mut self) -> Result<(), Error> {
        if self.program.processes.is_empty() {
            let Some(&main) = self.procedures.get("main") else {
                let at = At { line: 1, column: 1 };
                let remedy = "define `main`, or name what runs: `process p = f();`";
                return meaning(self.file, at, "the program has no process", remedy);
            };
            if let Some(parameter) = self.program.procedures[main].parameters.first() {
                let remedy = "write `process p = main(...);`";
                return meaning(self.file, parameter.at, "`main` takes parameters", remedy);
            }
            self.network.processes.push(Process { name: "main".into(), entry: self.entries[main] });
            return Ok(());
        }
        let program = self.program;
        for process in &program.processes {
            if self.network.processes.iter().any(|other| other.name == process.name) {
                let message = format!("there are two processes called `{}`", process.name);
                return meaning(self.file, process.at, message, "rename one of them");
            }
            let (index, procedure) = self.procedure(&process.procedure, process.at)?;
            let mut entry = self.entries[index];
            if !procedure.parameters.is_empty() || !process.arguments.is_empty() {
                let (globals, locals) = (self.globals.clone(), HashMap::new());
                let scope = Scope { file: self.file, globals: &globals, locals: &locals };
                let mut lowering = Lowering::new(&scope);
                let assignments = arguments(&mut lowering, process.at, procedure, &process.arguments)?;
                let own = ProcedureId(self.network.procedures.len() as u32);
                self.network.procedures.push(Procedure { name: process.name.clone(), locals: Vec::new() });
                let begin = self.label(format!("begin of {}", process.name), own, process.at);
                self.network.rules.push(Rule {
                    from: begin,
                    effect: Effect::Jump { to: entry },
                    inputs: lowering.inputs,
                    guard: Expression::truth(true),
                    assignments,
                    text: format!("begins {}", process.procedure),
                });
                entry = begin;
            }
            self.network.processes.push(Process { name: process.name.clone(), entry });
        }
        Ok(())
    }
}

/// The assignments that give a fresh frame its parameters.
fn arguments(
    lowering: &mut Lowering<'_>,
    at: At,
    procedure: &ast::Procedure,
    arguments: &[ast::Expression],
) -> Result<Vec<Assignment>, Error> {
    let (wanted, given) = (procedure.parameters.len(), arguments.len());
    if wanted != given {
        let message = format!("`{}` takes {wanted} arguments, and {given} are given", procedure.name);
        return meaning(lowering.scope.file, at, message, "give as many as it has parameters");
    }
    let parameters = procedure.parameters.iter().zip(arguments).enumerate();
    parameters
        .map(|(index, (parameter, argument))| {
            let value = lowering.value(argument, parameter.width)?;
            Ok(Assignment { target: Target::Fresh(index as u32), value })
        })
        .collect()
}

/// A procedure being lowered.
struct Body<'s, 'a> {
    shared: &'s mut Shared<'a>,
    procedure: &'s ast::Procedure,
    id: ProcedureId,
    scope: &'s Scope<'s>,
    /// The label of each statement, by where the statement begins.
    places: HashMap<(u32, u32), LabelId>,
    /// The labels that the program names.
    names: HashMap<String, LabelId>,
    end: LabelId,
    /// The statements that begin and end atomic sections: they are lowered last, when it is known how they nest.
    sections: Vec<atomic::Section>,
}

/// What a rule is made of besides its place and effect.
#[derive(Default)]
struct Parts {
    inputs: Vec<u32>,
    guard: Option<Expression>,
    assignments: Vec<Assignment>,
}

impl Parts {
    fn when(inputs: Vec<u32>, guard: Expression) -> Parts {
        Parts { inputs, guard: Some(guard), assignments: Vec::new() }
    }

    fn set(mut self, place: Place, value: Expression) -> Parts {
        self.assignments.push(Assignment { target: Target::Place(place), value });
        self
    }
}

impl<'s, 'a> Body<'s, 'a> {
    fn new(
        shared: &'s mut Shared<'a>,
        procedure: &'s ast::Procedure,
        id: ProcedureId,
        scope: &'s Scope<'s>,
    ) -> Body<'s, 'a> {
        let end = shared.label(format!("end of {}", procedure.name), id, procedure.end);
        let (places, names, sections) = (HashMap::new(), HashMap::new(), Vec::new());
        Body { shared, procedure, id, scope, places, names, end, sections }
    }

    fn lower(mut self) -> Result<(), Error> {
        let body = &self.procedure.body;
        let (entry, end) = (self.shared.entries[self.id.index()], self.end);
        match body.first() {
            Some(first) => {
                self.places.insert((first.at.line, first.at.column), entry);
                self.shared.network.labels[entry.index()].location = Some(first.at.in_file(self.shared.file));
            }
            None => self.rule(entry, Effect::Step { to: end }, Parts::default(), "skip"),
        }
        self.name_statements(body)?;
        self.block(body, end)?;
        // Falling off the end returns anything, as in other tools.
        let inputs = self.procedure.results.clone();
        let results = (0..inputs.len() as u32).map(Expression::Input).collect();
        self.pop(end, inputs, results, "return");
        self.lower_sections()
    }

    /// Gives each statement its label, before any is lowered: a goto may go anywhere in the procedure.
    fn name_statements(&mut self, statements: &[Statement]) -> Result<(), Error> {
        for statement in statements {
            let At { line, column } = statement.at;
            let label = match self.places.get(&(line, column)) {
                Some(&entry) => entry,
                None => self.shared.label(format!("line {line}"), self.id, statement.at),
            };
            self.places.insert((line, column), label);
            for name in &statement.labels {
                if self.names.insert(name.clone(), label).is_some() {
                    let message = format!("label `{name}` stands twice in `{}`", self.procedure.name);
                    return meaning(self.shared.file, statement.at, message, "rename one of them");
                }
                self.shared.network.labels[label.index()].name = name.clone();
            }
            match &statement.kind {
                Kind::If(arms, otherwise) => {
                    arms.iter().try_for_each(|(_, body)| self.name_statements(body))?;
                    self.name_statements(otherwise)?;
                }
                Kind::While(_, body) => self.name_statements(body)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn place(&self, statement: &Statement) -> LabelId {
        self.places[&(statement.at.line, statement.at.column)]
    }

    /// Where a block begins; an empty one, where it ends.
    fn begin(&self, statements: &[Statement], next: LabelId) -> LabelId {
        statements.first().map_or(next, |first| self.place(first))
    }

    fn block(&mut self, statements: &[Statement], next: LabelId) -> Result<(), Error> {
        for (index, statement) in statements.iter().enumerate() {
            let after = self.begin(&statements[index + 1..], next);
            self.statement(statement, self.place(statement), after)?;
        }
        Ok(())
    }

    fn rule(&mut self, from: LabelId, effect: Effect, parts: Parts, text: &str) {
        let Parts { inputs, guard, assignments } = parts;
        let guard = guard.unwrap_or_else(|| Expression::truth(true));
        let rule = Rule { from, effect, inputs, guard, assignments, text: text.into() };
        self.shared.network.rules.push(rule);
    }

    /// A return. The registers that the procedure does not use stay 0, as the call left them.
    fn pop(&mut self, from: LabelId, inputs: Vec<u32>, results: Vec<Expression>, text: &str) {
        let mut parts = Parts { inputs, ..Parts::default() };
        for (index, value) in results.into_iter().enumerate() {
            let width = self.shared.network.registers[index].width;
            parts = parts.set(Place::Register(index as u32), Expression::Resize(width, Box::new(value)));
        }
        self.rule(from, Effect::Pop, parts, text);
    }

    fn lowering(&self) -> Lowering<'s> {
        Lowering::new(self.scope)
    }

    fn fail<T>(&self, at: At, message: String, remedy: &str) -> Result<T, Error> {
        meaning(self.shared.file, at, message, remedy)
    }

    fn statement(&mut self, statement: &Statement, at: LabelId, next: LabelId) -> Result<(), Error> {
        let text = statement.text.as_str();
        let step = Effect::Step { to: next };
        match &statement.kind {
            Kind::Skip => self.rule(at, step, Parts::default(), text),
            Kind::Assign { targets, values, constrain } => {
                self.assign(statement, targets, values, constrain.as_ref(), at, next)?;
            }
            Kind::Dead(targets) => {
                let zero = |target: &ast::Target| ast::Expression {
                    at: target.at,
                    kind: ast::Value::Number(0),
                    depth: 0,
                };
                let values: Vec<_> = targets.iter().map(zero).collect();
                self.assign(statement, targets, &values, None, at, next)?;
            }
            Kind::Call { targets, procedure, arguments } => {
                self.call(statement, targets, procedure, arguments, at, next)?;
            }
            Kind::Return(values) => self.return_statement(statement, values, at)?,
            Kind::If(arms, otherwise) => self.if_statement(arms, otherwise, text, at, next)?,
            Kind::While(condition, body) => {
                let inside = self.begin(body, at);
                self.branch(condition, at, inside, next, text)?;
                self.block(body, at)?;
            }
            Kind::Goto(targets) => {
                for (name, place) in targets {
                    let to = self.named(name, *place)?;
                    self.rule(at, Effect::Step { to }, Parts::default(), text);
                }
            }
            Kind::Assume(condition) | Kind::Await(condition) => {
                let mut lowering = self.lowering();
                let guard = lowering.condition(condition)?;
                self.rule(at, step, Parts::when(lowering.inputs, guard), text);
                let blocks = matches!(statement.kind, Kind::Await(_));
                self.shared.network.labels[at.index()].blocks = blocks;
            }
            Kind::Assert(condition) => self.assert_statement(statement, condition, at, next)?,
            Kind::Lock(target) | Kind::Unlock(target) => self.lock(statement, target, at, next)?,
            Kind::StartAt(name) => {
                let mut child = self.named(name, statement.at)?;
                if child == self.shared.entries[self.id.index()] {
                    // Who is started with arguments begins there; a copy has more to be given.
                    let entry = Effect::Step { to: child };
                    child = self.shared.label(format!("copy at {name}"), self.id, statement.at);
                    self.rule(child, entry, Parts::default(), &format!("goto {name}"));
                }
                let count = self.shared.network.procedures[self.id.index()].locals.len() as u32;
                let copy =
                    |index| Assignment { target: Target::Fresh(index), value: Expression::local(index) };
                let parts = Parts { assignments: (0..count).map(copy).collect(), ..Parts::default() };
                self.rule(at, Effect::Fork { to: next, child }, parts, text);
            }
            Kind::Start { procedure, arguments: given } => {
                let (index, procedure) = self.shared.procedure(procedure, statement.at)?;
                let mut lowering = self.lowering();
                let assignments = arguments(&mut lowering, statement.at, procedure, given)?;
                let child = self.shared.entries[index];
                let parts = Parts { inputs: lowering.inputs, guard: None, assignments };
                self.rule(at, Effect::Fork { to: next, child }, parts, text);
            }
            Kind::AtomicBegin | Kind::AtomicEnd => self.sections.push(atomic::Section {
                begins: matches!(statement.kind, Kind::AtomicBegin),
                from: at,
                to: next,
                at: statement.at,
            }),
            Kind::EndThread => {
                let ended =
                    self.shared.label(format!("ended at line {}", statement.at.line), self.id, statement.at);
                let mut parts = Parts::default();
                if let Some(atomic) = self.shared.atomic {
                    parts = parts.set(Place::Global(atomic), Expression::truth(false));
                }
                self.rule(at, Effect::Step { to: ended }, parts, text);
            }
        }
        Ok(())
    }

    fn named(&self, name: &str, at: At) -> Result<LabelId, Error> {
        match self.names.get(name) {
            Some(&label) => Ok(label),
            None => {
                let message = format!("`{}` has no label `{name}`", self.procedure.name);
                self.fail(at, message, "a goto stays within its procedure: put the label there")
            }
        }
    }

    /// Two rules: where a condition holds, and where it does not. Each has its own inputs.
    fn branch(
        &mut self,
        condition: &ast::Expression,
        at: LabelId,
        yes: LabelId,
        no: LabelId,
        text: &str,
    ) -> Result<(), Error> {
        for (value, to) in [(true, yes), (false, no)] {
            let mut lowering = self.lowering();
            let guard = lowering.condition(condition)?;
            let guard = if value { guard } else { guard.inverted() };
            let text = format!("{text}: {}", if value { "yes" } else { "no" });
            self.rule(at, Effect::Step { to }, Parts::when(lowering.inputs, guard), &text);
        }
        Ok(())
    }

    fn if_statement(
        &mut self,
        arms: &[(ast::Expression, Vec<Statement>)],
        otherwise: &[Statement],
        text: &str,
        at: LabelId,
        next: LabelId,
    ) -> Result<(), Error> {
        let mut here = at;
        for (index, (condition, body)) in arms.iter().enumerate() {
            let inside = self.begin(body, next);
            let last = index + 1 == arms.len();
            let other = if last {
                self.begin(otherwise, next)
            } else {
                let place = arms[index + 1].0.at;
                self.shared.label(format!("line {}", place.line), self.id, place)
            };
            self.branch(condition, here, inside, other, if index == 0 { text } else { "elsif" })?;
            self.block(body, next)?;
            here = other;
        }
        self.block(otherwise, next)
    }

    fn assert_statement(
        &mut self,
        statement: &Statement,
        condition: &ast::Expression,
        at: LabelId,
        next: LabelId,
    ) -> Result<(), Error> {
        let line = statement.at.line;
        let failed = self.shared.label(format!("failure at line {line}"), self.id, statement.at);
        let text = statement.text.strip_prefix("assert").unwrap_or(&statement.text).trim();
        self.shared.network.labels[failed.index()].violation = Some(format!("the assertion {text} fails"));
        for (value, to) in [(true, next), (false, failed)] {
            let mut lowering = self.lowering();
            let guard = lowering.condition(condition)?;
            let guard = if value { guard } else { guard.inverted() };
            let text = format!("{}: {}", statement.text, if value { "holds" } else { "fails" });
            self.rule(at, Effect::Step { to }, Parts::when(lowering.inputs, guard), &text);
        }
        Ok(())
    }

    fn lock(
        &mut self,
        statement: &Statement,
        target: &ast::Target,
        at: LabelId,
        next: LabelId,
    ) -> Result<(), Error> {
        let (to, width, read) = self.target(&mut self.lowering(), target)?;
        if width != 1 {
            let message = format!("`{}` is of type {}, and a lock is a bool", target.name, type_name(width));
            return self.fail(target.at, message, "declare it as `decl`");
        }
        let locks = matches!(statement.kind, Kind::Lock(_));
        let mut parts = Parts::default();
        if locks {
            parts.guard = Some(read.inverted());
            self.shared.network.labels[at.index()].blocks = true;
        }
        parts.assignments.push(Assignment { target: to, value: Expression::truth(locks) });
        self.rule(at, Effect::Step { to: next }, parts, &statement.text);
        Ok(())
    }

    /// What is assigned to, its width, and how it is read.
    fn target(
        &self,
        lowering: &mut Lowering<'_>,
        target: &ast::Target,
    ) -> Result<(Target, u32, Expression), Error> {
        let Some(index) = &target.index else {
            let named = self.scope.scalar(&target.name, target.at)?;
            return Ok((Target::Place(named.first), named.width, Expression::Read(named.first)));
        };
        let (array, width) = self.scope.array(&target.name, target.at)?;
        let element = ast::Value::Element(target.name.clone(), Box::new(index.clone()));
        let read = lowering.value(&ast::Expression { at: target.at, kind: element, depth: 0 }, width)?;
        let Expression::Element(_, index) = &read else { unreachable!("an element was lowered") };
        Ok((Target::Element(array, (**index).clone()), width, read))
    }

    fn assign(
        &mut self,
        statement: &Statement,
        targets: &[ast::Target],
        values: &[ast::Expression],
        constrain: Option<&ast::Expression>,
        at: LabelId,
        next: LabelId,
    ) -> Result<(), Error> {
        if targets.len() != values.len() {
            let message = format!("{} values are assigned to {} variables", values.len(), targets.len());
            return self.fail(statement.at, message, "give a value for each");
        }
        let mut lowering = self.lowering();
        let mut parts = Parts::default();
        for (target, value) in targets.iter().zip(values) {
            let (to, width, _) = self.target(&mut lowering, target)?;
            self.once(target, &to, &parts.assignments)?;
            let value = lowering.value(value, width)?;
            lowering.after.insert(target.name.clone(), (value.clone(), width));
            parts.assignments.push(Assignment { target: to, value });
        }
        if let Some(constrain) = constrain {
            parts.guard = Some(lowering.condition(constrain)?);
        }
        parts.inputs = lowering.inputs;
        self.rule(at, Effect::Step { to: next }, parts, &statement.text);
        Ok(())
    }

    /// That nothing is assigned twice in one statement.
    fn once(&self, target: &ast::Target, to: &Target, earlier: &[Assignment]) -> Result<(), Error> {
        let first = |target: &Target| match target {
            Target::Place(place) => Some(*place),
            Target::Element(array, _) => Some(array.first),
            Target::Fresh(_) => None,
        };
        if earlier.iter().any(|assignment| first(&assignment.target) == first(to)) {
            let message = format!("`{}` is assigned twice in one statement", target.name);
            return self.fail(target.at, message, "use two statements");
        }
        Ok(())
    }

    fn call(
        &mut self,
        statement: &Statement,
        targets: &[ast::Target],
        name: &str,
        given: &[ast::Expression],
        at: LabelId,
        next: LabelId,
    ) -> Result<(), Error> {
        if name == "print" && targets.is_empty() && !self.shared.procedures.contains_key(name) {
            // What is printed is not part of an execution.
            let mut lowering = self.lowering();
            given.iter().try_for_each(|value| lowering.free_width(value).map(drop))?;
            self.rule(at, Effect::Step { to: next }, Parts::default(), &statement.text);
            return Ok(());
        }
        let (index, procedure) = self.shared.procedure(name, statement.at)?;
        let results = &procedure.results;
        if !targets.is_empty() && targets.len() != results.len() {
            let (has, wanted) = (results.len(), targets.len());
            let message = format!("`{name}` has {has} results, and {wanted} are wanted");
            return self.fail(statement.at, message, "assign all of them, or none");
        }
        let mut lowering = self.lowering();
        let assignments = arguments(&mut lowering, statement.at, procedure, given)?;
        let callee = self.shared.entries[index];
        let parts = Parts { inputs: lowering.inputs, guard: None, assignments };
        let back = if results.is_empty() {
            next
        } else {
            self.shared.label(format!("line {}, back", statement.at.line), self.id, statement.at)
        };
        self.rule(at, Effect::Push { callee, back }, parts, &format!("call {name}"));
        if results.is_empty() {
            return Ok(());
        }
        let mut lowering = self.lowering();
        let mut parts = Parts::default();
        for (index, (target, &width)) in targets.iter().zip(results).enumerate() {
            let (to, has, _) = self.target(&mut lowering, target)?;
            self.once(target, &to, &parts.assignments)?;
            if has != width {
                let (wants, gives) = (type_name(has), type_name(width));
                let message = format!("`{}` is of type {wants}, and `{name}` gives {gives}", target.name);
                return self.fail(target.at, message, "assign it to a variable of that type first");
            }
            let register = Box::new(Expression::Read(Place::Register(index as u32)));
            let value = Expression::Resize(width, register);
            parts.assignments.push(Assignment { target: to, value });
        }
        for index in 0..results.len() {
            let width = self.shared.network.registers[index].width;
            parts = parts.set(Place::Register(index as u32), Expression::constant(0, width));
        }
        parts.inputs = lowering.inputs;
        self.rule(back, Effect::Step { to: next }, parts, &statement.text);
        Ok(())
    }

    fn return_statement(
        &mut self,
        statement: &Statement,
        values: &[ast::Expression],
        at: LabelId,
    ) -> Result<(), Error> {
        let results = &self.procedure.results;
        if values.len() != results.len() {
            let (gives, has) = (values.len(), results.len());
            let message =
                format!("{gives} values are returned, and `{}` has {has} results", self.procedure.name);
            return self.fail(statement.at, message, "return a value for each result");
        }
        let mut lowering = self.lowering();
        let returned = values
            .iter()
            .zip(results)
            .map(|(value, &width)| lowering.value(value, width))
            .collect::<Result<Vec<_>, _>>()?;
        self.pop(at, lowering.inputs, returned, &statement.text);
        Ok(())
    }
}
