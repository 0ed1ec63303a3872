//! Syntax tree to compiled program: layout, control graphs, code.

mod code;
mod flow;
mod layout;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::ast::{Model, Proctype, VarRef};
use crate::error::{Diagnostic, Error, Pos};
use crate::program::{ChanType, Code, Create, Op, Pattern, Process, Program, Trans, Watch};
use crate::trail::Numbers;

use layout::Layout;

/// A model that is too large for the state's encoding, or uses what is not supported.
pub(crate) struct Refused {
    pub(crate) at: Pos,
    pub(crate) message: String,
    pub(crate) remedy: &'static str,
}

/// Compiles a model. With `claim`, the claim of that number moves along with it; with `watch`, its trace does.
pub(crate) fn lower(
    model: Rc<Model>,
    claim: Option<usize>,
    watch: bool,
    go_on: &dyn Fn() -> bool,
) -> Result<Program, Error> {
    let patience = Patience { go_on, work: Cell::new(0), stopped: Cell::new(false) };
    let mut lowerer = Lowerer::new(&model, &patience);
    let result = lowerer.program(claim, watch);
    match result {
        _ if patience.stopped.get() => Err(Error::Stopped),
        Ok(()) => {
            let mut program = lowerer.finish(model.clone(), claim);
            crate::por::mark_safe(&mut program);
            Ok(program)
        }
        Err(refused) => Err(Error::Unsupported(Diagnostic {
            location: model.files.location(refused.at),
            message: refused.message,
            remedy: (!refused.remedy.is_empty()).then(|| refused.remedy.to_string()),
        })),
    }
}

/// Units of work between two looks at whether to go on.
const EVERY: usize = 1 << 20;

/// Asks now and then whether to go on.
struct Patience<'a> {
    go_on: &'a dyn Fn() -> bool,
    work: Cell<usize>,
    stopped: Cell<bool>,
}

impl Patience<'_> {
    /// Counts work; refuses to go on when it is told to stop.
    fn spend(&self, work: usize) -> Result<(), Refused> {
        let sum = self.work.get() + work;
        self.work.set(sum % EVERY);
        if sum >= EVERY && !(self.go_on)() {
            self.stopped.set(true);
            return Err(Refused { at: Pos::default(), message: "stopped".to_string(), remedy: "" });
        }
        Ok(())
    }
}

pub(crate) struct Lowerer<'a> {
    patience: &'a Patience<'a>,
    model: &'a Model,
    numbers: Numbers,
    /// The process types; then the claim and the trace, if they are checked.
    sources: Vec<&'a Proctype>,
    layouts: Vec<Layout>,
    globals: Layout,
    ops: Vec<Op>,
    trans: Vec<Trans>,
    procs: Vec<Process>,
    chans: Vec<ChanType>,
    patterns: Vec<Pattern>,
    asserts: Vec<(String, Pos)>,
    global_create: Vec<Create>,
    /// Label locations of every process, by name; filled in before any code is made.
    labels: Vec<HashMap<String, u16>>,
    uses_timeout: bool,
    hidden: usize,
    last: Option<usize>,
    watch: Option<Watch>,
    wide: bool,
    priority: bool,
    /// The process whose code is being made.
    process: usize,
    /// Registers in use, and the most that were.
    registers: usize,
    /// The statement whose code is being made.
    stmt: u32,
    /// In a `d_step` that can begin with a receive: nothing else begins while a message is offered.
    offered: bool,
}

impl<'a> Lowerer<'a> {
    fn new(model: &'a Model, patience: &'a Patience<'a>) -> Self {
        let priority = model.uses_priority;
        Lowerer {
            patience,
            model,
            numbers: Numbers::of(model),
            sources: Vec::new(),
            layouts: Vec::new(),
            globals: Layout::default(),
            ops: Vec::new(),
            trans: Vec::new(),
            procs: Vec::new(),
            chans: Vec::new(),
            patterns: Vec::new(),
            asserts: Vec::new(),
            global_create: Vec::new(),
            labels: Vec::new(),
            uses_timeout: false,
            hidden: 0,
            last: None,
            watch: None,
            wide: false,
            priority,
            process: 0,
            registers: 0,
            stmt: 0,
            offered: false,
        }
    }

    fn program(&mut self, claim: Option<usize>, watch: bool) -> Result<(), Refused> {
        let mut sources: Vec<&Proctype> = self.model.procs.iter().collect();
        sources.extend(claim.map(|number| &self.model.claims[number]));
        if let (true, Some((trace, denied))) = (watch, &self.model.trace) {
            self.watch = Some(Watch { process: sources.len(), at: 0, denied: *denied });
            sources.push(trace);
        }
        self.sources = sources.clone();
        let graphs: Vec<flow::Graph<'_>> = sources
            .iter()
            .enumerate()
            .map(|(number, source)| {
                let watched = self.model.remote_labels.iter().filter(|(proc, _)| *proc == number);
                flow::Graph::new(self.patience, source, watched.map(|(_, label)| label.as_str()).collect())
            })
            .collect::<Result<_, _>>()?;
        self.wide = graphs.iter().any(|graph| graph.places() > 256);
        self.labels = graphs.iter().map(flow::Graph::labels).collect();
        self.lay_out(&sources)?;
        self.create_globals()?;
        for (number, (source, graph)) in sources.iter().zip(&graphs).enumerate() {
            self.process = number;
            let process = self.process_code(source, graph)?;
            self.procs.push(process);
        }
        Ok(())
    }

    fn finish(self, model: Rc<Model>, claim: Option<usize>) -> Program {
        let uses_provided = model.procs.iter().any(|p| p.provided.is_some());
        Program {
            claim: claim.map(|_| model.procs.len()),
            model,
            ops: self.ops,
            trans: self.trans,
            procs: self.procs,
            chans: self.chans,
            patterns: self.patterns,
            asserts: self.asserts,
            hidden: self.hidden,
            globals_end: self.globals.size,
            globals: self.global_create,
            last: self.last,
            watch: self.watch,
            wide: self.wide,
            uses_timeout: self.uses_timeout,
            uses_priority: self.priority,
            uses_provided,
        }
    }

    fn create_globals(&mut self) -> Result<(), Refused> {
        for index in 0..self.model.globals.len() {
            self.process = usize::MAX;
            let var = &self.model.globals[index];
            let list = self.create(VarRef::Global(index), var)?;
            self.global_create.extend(list);
        }
        Ok(())
    }

    /// What creating a variable takes: its channels, and code for initial values.
    fn create(&mut self, var: VarRef, declared: &'a crate::ast::Var) -> Result<Vec<Create>, Refused> {
        let mut out = Vec::new();
        let slot = self.slot(var);
        if let Some(init) = &declared.chan {
            let ty = self.chan_type(init, declared.at)?;
            for index in 0..declared.array.unwrap_or(1) {
                out.push(Create::Chan(ty, slot + index));
            }
        } else if let Some(init) = &declared.init {
            let code = self.initial(var, declared, init)?;
            out.push(Create::Value(code));
        } else if let (false, crate::ast::Type::Basic(basic)) = (declared.elements.is_empty(), declared.ty) {
            out.push(Create::Value(self.listed(
                var,
                crate::program::Cell::of(basic),
                slot,
                &declared.elements,
            )?));
        } else if let crate::ast::Type::Struct(number) = declared.ty {
            // Fields may have initial values and channels of their own.
            let element = self.layout_of(declared.ty).0 as u32;
            for index in 0..declared.array.unwrap_or(1) {
                self.create_fields(var, number, slot + index * element, &mut out)?;
            }
        }
        Ok(out)
    }

    fn process_code(&mut self, source: &'a Proctype, graph: &flow::Graph<'a>) -> Result<Process, Refused> {
        let layout = &self.layouts[self.process];
        let params = (0..source.params)
            .map(|index| (layout.cells[index].expect("parameters are basic"), layout.offsets[index]))
            .collect();
        let size = layout.size;
        let mut create = Vec::new();
        for (index, var) in source.locals.iter().enumerate() {
            create.extend(self.create(VarRef::Local(index), var)?);
        }
        let provided = match &source.provided {
            Some(condition) => self.guard_code(condition)?,
            None => Code::default(),
        };
        let places = self.places(graph)?;
        let priority = source.priority.min(255) as u8;
        Ok(Process { places, size, params, create, provided, priority })
    }
}
