//! A second, simple semantics: an interpreter of the syntax tree, independent of the compiler.
//!
//! It shares with the compiled semantics only the parser. A process is where it stands in the tree and the
//! values of its variables; a step is a statement executed by walking the tree. Every counterexample is run
//! through it before it is reported, and the tests compare its reachable states with the search's. It is
//! slow, and meant to be read.

mod control;
mod eval;
mod step;
mod watch;

use std::cell::RefCell;

use crate::ast::{Basic, Model, Proctype, StmtId, Type, Var};
use crate::error::Pos;

pub(crate) use control::Point;

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chan {
    pub(crate) capacity: usize,
    pub(crate) fields: Vec<Basic>,
    pub(crate) messages: Vec<Vec<i32>>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// Its type; for a claim, meaningless.
    pub(crate) ty: usize,
    /// Where it stands; `None` is the end of its body.
    pub(crate) point: Option<Point>,
    /// The values of its variables, each flattened.
    pub(crate) locals: Vec<Vec<i32>>,
    pub(crate) priority: i32,
    /// How many channels there were when it started: the later ones end with it.
    chans: usize,
}

/// A state, written for clarity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) globals: Vec<Vec<i32>>,
    pub(crate) procs: Vec<Process>,
    pub(crate) chans: Vec<Chan>,
    pub(crate) claim: Option<Process>,
    /// Where the trace stands; `None` is its end.
    event: Option<Point>,
    last: i32,
}

/// Why a step went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// An assertion does not hold: the step is taken all the same.
    Assertion,
    /// The trace does not have this message, or a notrace has it to its end: the step is taken all the same.
    Trace,
    /// A message has another number of fields than its channel: the step is taken all the same.
    Fields,
    /// Anything else: there is no next state.
    Error(&'static str),
}

/// The interpreter of one model.
pub(crate) struct Interpreter<'m> {
    pub(crate) model: &'m Model,
    pub(crate) claim: Option<usize>,
    /// Whether the model's trace is followed.
    watch: bool,
    /// Asked now and then in a long step; when it says no, the step fails.
    pub(crate) go_on: &'m dyn Fn() -> bool,
    /// Values that did not fit, in the order of the steps, until they are asked for.
    cuts: RefCell<Vec<Cut>>,
}

/// A value that did not fit what it was stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) at: Pos,
    pub(crate) value: i32,
    pub(crate) kept: i32,
}

/// One statement that a process can execute, by name, with the partner's for a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) stmt: StmtId,
    pub(crate) partner: Option<(usize, StmtId)>,
}

/// The name of the last step of a process.
pub(crate) const END: StmtId = StmtId(u32::MAX);

impl<'m> Interpreter<'m> {
    pub(crate) fn new(model: &'m Model, claim: Option<usize>, watch: bool) -> Self {
        Interpreter { model, claim, watch, go_on: &|| true, cuts: RefCell::default() }
    }

    /// The values that did not fit since this was last asked.
    pub(crate) fn take_cuts(&self) -> Vec<Cut> {
        self.cuts.take()
    }

    /// The value as a variable of this type holds it.
    fn cut(&self, basic: Basic, value: i32, at: Pos) -> i32 {
        let kept = basic.truncate(value);
        if kept != value {
            self.cuts.borrow_mut().push(Cut { at, value, kept });
        }
        kept
    }

    /// The first state.
    pub(crate) fn initial(&self) -> Result<State, Trouble> {
        let mut state = State {
            globals: Vec::new(),
            procs: Vec::new(),
            chans: Vec::new(),
            claim: None,
            event: None,
            last: 0,
        };
        for var in &self.model.globals {
            let values = self.zeros(var);
            state.globals.push(values);
        }
        for (index, var) in self.model.globals.iter().enumerate() {
            self.create(&mut state, None, index, var)?;
        }
        for (ty, process) in self.model.procs.iter().enumerate() {
            for _ in 0..process.active {
                let args = vec![0; process.params];
                self.start(&mut state, ty, &args, Pos::default())?;
            }
        }
        if let Some(claim) = self.claim {
            let body = &self.model.claims[claim];
            let locals = body.locals.iter().map(|var| self.zeros(var)).collect();
            let point = self.rest(body, Point::start(), false);
            state.claim = Some(Process { ty: usize::MAX, point, locals, priority: 1, chans: 0 });
        }
        if let (true, Some((trace, _))) = (self.watch, &self.model.trace) {
            state.event = self.rest(trace, Point::start(), false);
        }
        Ok(state)
    }

    fn zeros(&self, var: &Var) -> Vec<i32> {
        vec![0; self.leaves(var.ty) * var.array.unwrap_or(1) as usize]
    }

    /// How many numbers a value of this type is.
    fn leaves(&self, ty: Type) -> usize {
        match ty {
            Type::Basic(_) => 1,
            Type::Struct(index) => self.model.typedefs[index]
                .fields
                .iter()
                .map(|field| self.leaves(field.ty) * field.array.unwrap_or(1) as usize)
                .sum(),
        }
    }

    /// Gives a variable its initial value: constants, and new channels.
    fn create(&self, state: &mut State, pid: Option<usize>, index: usize, var: &Var) -> Result<(), Trouble> {
        let count = self.leaves(var.ty) * var.array.unwrap_or(1) as usize;
        let mut values = vec![0; count];
        self.fill(state, pid, var, &mut values, 0)?;
        match pid {
            None => state.globals[index] = values,
            Some(pid) => state.procs[pid].locals[index] = values,
        }
        Ok(())
    }

    fn fill(
        &self,
        state: &mut State,
        pid: Option<usize>,
        var: &Var,
        values: &mut [i32],
        at: usize,
    ) -> Result<(), Trouble> {
        let size = self.leaves(var.ty);
        for element in 0..var.array.unwrap_or(1) as usize {
            let at = at + element * size;
            match var.ty {
                Type::Basic(basic) => {
                    if let Some(init) = &var.chan {
                        state.chans.push(Chan {
                            capacity: init.capacity as usize,
                            fields: init.fields.clone(),
                            messages: Vec::new(),
                        });
                        values[at] = state.chans.len() as i32;
                    } else if let Some(init) = &var.init {
                        values[at] = basic.truncate(self.eval(state, pid, init)?);
                    } else if let Some(&value) = var.elements.get(element) {
                        values[at] = basic.truncate(value);
                    }
                }
                Type::Struct(number) => {
                    let mut inner = at;
                    for field in &self.model.typedefs[number].fields {
                        self.fill(state, pid, field, values, inner)?;
                        inner += self.leaves(field.ty) * field.array.unwrap_or(1) as usize;
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts a process; its number.
    fn start(&self, state: &mut State, ty: usize, args: &[i32], at: Pos) -> Result<i32, Trouble> {
        if state.procs.len() >= 255 {
            return Err(Trouble::Error("too many processes"));
        }
        let process = &self.model.procs[ty];
        if args.len() != process.params {
            return Err(Trouble::Error(
                "a process is run with more or fewer arguments than it has parameters",
            ));
        }
        let mut locals: Vec<Vec<i32>> = process.locals.iter().map(|var| self.zeros(var)).collect();
        for (index, &value) in args.iter().enumerate() {
            if let Type::Basic(basic) = process.locals[index].ty {
                locals[index][0] = self.cut(basic, value, at);
            }
        }
        let pid = state.procs.len();
        let (point, chans) = (self.rest(process, Point::start(), false), state.chans.len());
        state.procs.push(Process { ty, point, locals, priority: process.priority as i32, chans });
        for (index, var) in process.locals.iter().enumerate().skip(process.params) {
            self.create(state, Some(pid), index, var)?;
        }
        Ok(pid as i32)
    }

    /// A state without its hidden variables, which are no part of it.
    pub(crate) fn visible(&self, state: &State) -> State {
        let mut state = state.clone();
        for (values, _) in state.globals.iter_mut().zip(&self.model.globals).filter(|(_, var)| var.hidden) {
            values.clear();
        }
        state
    }

    /// Whether the claim stands at an `accept` label, or with `processes` also one of them.
    pub(crate) fn accepting(&self, state: &State, processes: bool) -> bool {
        let accepts = |body: &Proctype, point: &Option<Point>| {
            let labels = point.as_ref().map(|point| &self.statement(body, point).labels);
            labels.is_some_and(|labels| labels.iter().any(|label| label.starts_with("accept")))
        };
        let claim = self.claim.map(|claim| &self.model.claims[claim]);
        claim.zip(state.claim.as_ref()).is_some_and(|(body, claim)| accepts(body, &claim.point))
            || processes
                && state.procs.iter().any(|process| accepts(&self.model.procs[process.ty], &process.point))
    }

    /// Whether every process may stay where it is for ever.
    pub(crate) fn valid_end(&self, state: &State) -> bool {
        let followed = match (&self.model.trace, &state.event) {
            (Some((trace, _)), Some(point)) if self.watch && !state.procs.is_empty() => {
                let stmt = self.statement(trace, point);
                stmt.labels.iter().any(|label| label.starts_with("end"))
            }
            _ => true,
        };
        followed
            && state.procs.iter().all(|process| match &process.point {
                None => true,
                Some(point) => {
                    let stmt = self.statement(&self.model.procs[process.ty], point);
                    stmt.labels.iter().any(|label| label.starts_with("end"))
                }
            })
    }
}
