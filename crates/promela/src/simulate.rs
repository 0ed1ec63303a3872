//! Running a model: at random, along a trail, or as the user chooses. Uses the interpreter only.

use crate::ast::{Basic, ExprKind, Model, Place, StmtKind, Type, VarRef};
use crate::error::Error;
use crate::interp::{Choice, Cut, END, Interpreter, State, Trouble};
use crate::print::Printer;
use crate::trace::find;
use crate::trail::{Entry, read};

/// Who decides the steps of a simulation.
#[allow(missing_debug_implementations)] // It holds a function.
pub enum Guide<'a> {
    /// Chance, from this seed.
    Random(u64),
    /// The text of a `.trail` file.
    Trail(&'a str),
    /// Somebody, who is given the possible steps; `None` stops.
    Ask(Ask<'a>),
}

/// How a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Steps taken.
    pub steps: u64,
    /// An assertion failed, something went wrong, or the last state is an invalid end state.
    pub violated: bool,
    /// A failed assertion was among it.
    pub assertion: bool,
}

/// Width of a process's column.
const COLUMN: usize = 22;

/// Runs a model for at most `limit` steps, and gives one line a step to `print`: a column for each process,
/// arrows for messages, what the model itself prints, and warnings of values that do not fit. A `trace` or
/// `notrace` is followed; never claims are not.
///
/// # Errors
/// When a trail does not fit the model.
pub fn simulate(
    model: &Model,
    guide: Guide<'_>,
    limit: u64,
    print: &mut dyn FnMut(&str),
) -> Result<Ended, Error> {
    let interpreter = Interpreter::new(model, None, true);
    let mut state = match interpreter.initial() {
        Ok(state) => state,
        Err(_) => {
            return Err(Error::Request(
                "the model's first state cannot be made; check its initial values".into(),
            ));
        }
    };
    let mut run = Run { interpreter, seed: 0, trail: Vec::new(), next: 0, ask: None };
    match guide {
        Guide::Random(seed) => run.seed = seed.wrapping_mul(2).wrapping_add(1),
        Guide::Trail(text) => run.trail = read(model, text)?,
        Guide::Ask(ask) => run.ask = Some(ask),
    }
    let guided = !run.trail.is_empty();
    let mut ended = Ended { steps: 0, violated: false, assertion: false };
    // The process that is within an atomic sequence goes on alone while it can.
    let mut alone: Option<usize> = None;
    while ended.steps < limit {
        let mut options: Vec<(usize, Choice)> = Vec::new();
        if let Some(pid) = alone {
            options.extend(run.interpreter.going_on(&state, pid).into_iter().map(|choice| (pid, choice)));
        }
        if options.is_empty() {
            for pid in 0..state.procs.len() {
                options.extend(run.interpreter.choices(&state, pid).into_iter().map(|choice| (pid, choice)));
            }
        }
        if guided && run.next >= run.trail.len() {
            print("end of the trail");
            ended.violated |= options.is_empty() && !run.interpreter.valid_end(&state);
            break;
        }
        if options.is_empty() {
            if !run.interpreter.valid_end(&state) {
                ended.violated = true;
                print("invalid end state: no process can move");
            }
            break;
        }
        let Some((pid, choice)) = run.pick(&state, &options)? else { break };
        let text = run.text(&state, pid, choice);
        print(&format!("{:>5}  {}{text}", ended.steps, " ".repeat(pid.min(6) * COLUMN)));
        if let Some(line) = run.printed(&state, pid, choice) {
            print(&format!("       {}> {line}", " ".repeat(pid.min(6) * COLUMN)));
        }
        ended.steps += 1;
        let result = run.interpreter.execute(&mut state, pid, choice);
        for cut in run.interpreter.take_cuts() {
            let Cut { at, value, kept } = cut;
            let place = model.files.location(at);
            print(&format!("warning: {place}: {value} does not fit and becomes {kept}"));
        }
        match result {
            Ok((atomic, trouble)) => {
                alone = if atomic { Some(choice.partner.map_or(pid, |(other, _)| other)) } else { None };
                if let Some(trouble) = trouble {
                    ended.violated = true;
                    ended.assertion = true;
                    print(match trouble {
                        Trouble::Trace => "trace assertion violated",
                        Trouble::Fields => "a message has another number of fields than its channel",
                        _ => "assertion violated",
                    });
                    if !guided {
                        break;
                    }
                }
            }
            Err(Trouble::Error(text)) => {
                print(text);
                ended.violated = true;
                break;
            }
            Err(Trouble::Assertion | Trouble::Trace | Trouble::Fields) => break,
        }
    }
    Ok(ended)
}

/// Somebody who is given the possible steps and chooses one; `None` stops.
pub type Ask<'a> = &'a mut dyn FnMut(&[String]) -> Option<usize>;

struct Run<'m, 'a> {
    interpreter: Interpreter<'m>,
    seed: u64,
    trail: Vec<Entry>,
    next: usize,
    ask: Option<Ask<'a>>,
}

impl Run<'_, '_> {
    fn pick(&mut self, state: &State, options: &[(usize, Choice)]) -> Result<Option<(usize, Choice)>, Error> {
        if !self.trail.is_empty() {
            while self.trail[self.next].stmt.is_none() && self.next + 1 < self.trail.len() {
                self.next += 1;
            }
            let entry = self.trail[self.next];
            let fits = |(pid, choice): &&(usize, Choice)| {
                *pid == entry.pid
                    && entry.stmt.is_none_or(|stmt| stmt == choice.stmt)
                    && match choice.partner {
                        None => true,
                        Some((other, waiting)) => self.trail.get(self.next + 1).is_some_and(|next| {
                            next.pid == other && next.stmt.is_none_or(|stmt| stmt == waiting)
                        }),
                    }
            };
            let Some(found) = options.iter().find(fits) else {
                // Spin merges statements that nobody else can see, and writes only the first of them down.
                let mut own =
                    options.iter().filter(|(pid, choice)| *pid == entry.pid && choice.partner.is_none());
                match (own.next(), own.next()) {
                    (Some(only), None) => return Ok(Some(*only)),
                    _ => {
                        let reason = format!("process {} cannot do that", entry.pid);
                        return Err(Error::Trail { step: self.next + 1, reason });
                    }
                }
            };
            self.next += if found.1.partner.is_some() { 2 } else { 1 };
            return Ok(Some(*found));
        }
        if self.ask.is_some() {
            let texts: Vec<String> = options
                .iter()
                .map(|(pid, choice)| {
                    let name = &self.interpreter.model.procs[state.procs[*pid].ty].name;
                    format!("{name} ({pid}): {}", self.text(state, *pid, *choice))
                })
                .collect();
            let chosen = self.ask.as_mut().and_then(|ask| ask(&texts));
            return Ok(chosen.and_then(|index| options.get(index)).copied());
        }
        // Among the processes of the highest priority, each option alike.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let highest = options.iter().map(|(pid, _)| state.procs[*pid].priority).max().unwrap_or(1);
        let eligible: Vec<_> =
            options.iter().filter(|(pid, _)| state.procs[*pid].priority == highest).collect();
        Ok(Some(*eligible[(self.seed >> 33) as usize % eligible.len()]))
    }

    fn text(&self, state: &State, pid: usize, choice: Choice) -> String {
        let model = self.interpreter.model;
        if choice.stmt == END {
            return "-end-".to_string();
        }
        let process = &model.procs[state.procs[pid].ty];
        let printer = Printer { model, process };
        let Some(stmt) = find(&process.body, choice.stmt) else { return String::new() };
        let mut text = printer.statement(&stmt.kind);
        if let Some((other, waiting)) = choice.partner {
            let receiver = &model.procs[state.procs[other].ty];
            let theirs = find(&receiver.body, waiting);
            let theirs =
                theirs.map(|s| Printer { model, process: receiver }.statement(&s.kind)).unwrap_or_default();
            text += &format!(" --> {} ({other}): {theirs}", receiver.name);
        } else if let StmtKind::Send { args, .. } = &stmt.kind {
            let values: Vec<String> = args
                .iter()
                .map(|arg| {
                    self.interpreter.value_of(state, pid, arg).map_or("?".to_string(), |v| v.to_string())
                })
                .collect();
            text += &format!(" --> [{}]", values.join(","));
        } else if matches!(stmt.kind, StmtKind::Recv { .. }) {
            text = format!("--> {text}");
        }
        text
    }

    /// What a statement prints.
    fn printed(&self, state: &State, pid: usize, choice: Choice) -> Option<String> {
        let model = self.interpreter.model;
        let process = &model.procs[state.procs[pid].ty];
        let printer = Printer { model, process };
        let symbolic = |expr: &crate::ast::Expr| match &expr.kind {
            ExprKind::Place(place) => basic_type(model, process, place),
            _ => None,
        };
        match &find(&process.body, choice.stmt)?.kind {
            StmtKind::Printf(format, args) => {
                let mut args = args.iter();
                let mut out = String::new();
                let mut chars = format.chars();
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => match chars.next() {
                            Some('n') => out.push(' '),
                            Some('t') => out.push('\t'),
                            Some(other) => out.push(other),
                            None => {}
                        },
                        '%' => {
                            let kind = chars.next().unwrap_or('d');
                            if kind == '%' {
                                out.push('%');
                                continue;
                            }
                            let Some(arg) = args.next() else { continue };
                            let value = self.interpreter.value_of(state, pid, arg).unwrap_or(0);
                            match kind {
                                'c' => out.push(char::from(value as u8)),
                                'e' => out += &printer.symbol_name(value, symbolic(arg)),
                                'x' => out += &format!("{value:x}"),
                                'o' => out += &format!("{value:o}"),
                                'u' => out += &(value as u32).to_string(),
                                _ => out += &value.to_string(),
                            }
                        }
                        c => out.push(c),
                    }
                }
                Some(out)
            }
            StmtKind::Printm(value) => {
                let number = self.interpreter.value_of(state, pid, value)?;
                Some(printer.symbol_name(number, symbolic(value)))
            }
            _ => None,
        }
    }
}

fn basic_type(model: &Model, process: &crate::ast::Proctype, place: &Place) -> Option<Basic> {
    let var = match place.var {
        VarRef::Global(index) => &model.globals[index],
        VarRef::Local(index) => &process.locals[index],
    };
    let mut ty = var.ty;
    for step in &place.path {
        if let (crate::ast::Access::Field(number), Type::Struct(index)) = (step, ty) {
            ty = model.typedefs[index].fields[*number].ty;
        }
    }
    match ty {
        Type::Basic(basic) => Some(basic),
        Type::Struct(_) => None,
    }
}
