//! Spin's `.trail` files: one line a statement, `step:process:statement`.
//!
//! Statements are named by the numbers that Spin gives the elements of its own parse: in the order of the
//! text, a composite after its parts, with extra elements behind it (one after `if` and `unless`, two after
//! `do`), and one for the end of each process. Of an `unless`, a part without braces comes after the other part, and
//! the escape before the statement that it escapes from. Claims and traces are numbered where they stand in the text.
//! [`Numbers`] reproduces them from the syntax tree.

use std::collections::HashMap;

use crate::ast::{Model, Seq, Stmt, StmtId, StmtKind};
use crate::error::Error;
use crate::interp::END;
use crate::program::Program;
use crate::system::CLAIM;
use crate::trace::Witness;

/// A line of a trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: usize,
    /// The statement; `None` where the number stands for no statement of the text.
    pub(crate) stmt: Option<StmtId>,
}

/// Spin's numbers for the statements of a model.
pub(crate) struct Numbers {
    by_name: HashMap<StmtId, u32>,
    by_number: HashMap<u32, StmtId>,
    /// The first number of each process type, then of each claim, and that of its end.
    first: Vec<u32>,
    ends: Vec<u32>,
    /// The element behind the choice or `unless` before.
    join: u32,
    /// The number of the first claim among process types, claims and the trace.
    claim: usize,
}

impl Numbers {
    pub(crate) fn of(model: &Model) -> Self {
        let trace = model.trace.as_ref().map(|(trace, _)| trace);
        let mut bodies: Vec<_> = model.procs.iter().chain(&model.claims).chain(trace).enumerate().collect();
        let ends = vec![0; bodies.len()];
        bodies.sort_by_key(|(_, body)| body.rank);
        let claim = bodies.iter().position(|(index, _)| *index == model.procs.len()).unwrap_or(0);
        let (first, by_name, by_number) = (ends.clone(), HashMap::new(), HashMap::new());
        let mut numbers = Numbers { by_name, by_number, first, ends, join: 0, claim };
        let mut next = 0;
        for (index, body) in bodies {
            numbers.first[index] = next;
            numbers.sequence(&body.body, &mut next);
            numbers.ends[index] = next;
            numbers.by_number.insert(next, END);
            next += 1;
        }
        numbers
    }

    /// The state of a process at a statement, or at its end: what `pc_value` gives.
    pub(crate) fn state(&self, ty: usize, stmt: Option<StmtId>) -> i32 {
        let number = stmt.map_or(self.ends[ty], |stmt| self.by_name[&stmt]);
        (number - self.first[ty] + 1) as i32
    }

    fn sequence(&mut self, seq: &Seq, next: &mut u32) {
        for stmt in seq {
            self.parts(stmt, next);
            self.own(stmt, next);
        }
    }

    /// What stands within a statement.
    fn parts(&mut self, stmt: &Stmt, next: &mut u32) {
        match &stmt.kind {
            StmtKind::If(options) | StmtKind::Do(options) => {
                options.iter().for_each(|option| self.sequence(option, next));
            }
            StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => {
                self.sequence(body, next);
            }
            StmtKind::Unless(main, escape) => {
                // Of parts without braces only what is within them; they themselves follow, the escape first. Their
                // names are the last that were given before the name of the `unless`.
                let is_bare = |seq: &Seq, behind: u32| seq[0].id.0 + behind == stmt.id.0;
                let bare_main = is_bare(main, 1);
                let bare_escape = is_bare(escape, 1 + u32::from(bare_main));
                for (part, bare) in [(main, bare_main), (escape, bare_escape)] {
                    if bare { self.parts(&part[0], next) } else { self.sequence(part, next) }
                }
                for (part, bare) in [(escape, bare_escape), (main, bare_main)] {
                    if bare {
                        self.own(&part[0], next);
                    }
                }
            }
            _ => {}
        }
    }

    /// A statement itself, and what Spin puts behind it.
    fn own(&mut self, stmt: &Stmt, next: &mut u32) {
        // Its number among its elements, and how many there are. A label stands before all of an `unless`.
        let (own, elements) = match &stmt.kind {
            StmtKind::Unless(..) if !stmt.labels.is_empty() => (2, 3),
            StmtKind::If(_) | StmtKind::Unless(..) => (0, 2),
            StmtKind::Do(_) => (0, 3),
            StmtKind::Join => (0, 0),
            _ => (0, 1),
        };
        let number = if elements == 0 { self.join } else { *next + own };
        self.join = *next + 1;
        self.by_name.insert(stmt.id, number);
        self.by_number.insert(number, stmt.id);
        *next += elements;
    }
}

/// A counterexample as a trail.
pub(crate) fn write(program: &Program, witness: &Witness) -> String {
    let model = &program.model;
    let numbers = Numbers::of(model);
    let mut text = String::new();
    let shift = u32::from(program.claim.is_some());
    if program.claim.is_some() {
        text += &format!("-2:{}:-2\n", numbers.claim);
    }
    let cycle: Option<usize> =
        witness.cycle.map(|at| witness.steps[..at].iter().map(|step| step.micros.len()).sum());
    for (step, micro) in (1..).zip(witness.steps.iter().flat_map(|taken| &taken.micros)) {
        if cycle.is_some_and(|cycle| cycle + 1 == step) {
            // The cycle begins here.
            text += "-1:-1:-1\n";
        }
        let trans = &program.trans[micro.trans as usize];
        let number = if trans.stmt == END {
            // The end of a process has no statement; its transition belongs to one type.
            let ty = program.procs.iter().position(|process| {
                process.places.iter().any(|place| (place.first..place.last).contains(&micro.trans))
            });
            numbers.ends[ty.unwrap_or(0)]
        } else {
            numbers.by_name.get(&trans.stmt).copied().unwrap_or(0)
        };
        let pid = if micro.pid == CLAIM { 0 } else { micro.pid + shift };
        text += &format!("{step}:{pid}:{number}\n");
    }
    text
}

/// The statements of a trail.
pub(crate) fn read(model: &Model, text: &str) -> Result<Vec<Entry>, Error> {
    let numbers = Numbers::of(model);
    let mut entries = Vec::new();
    let mut claim = false;
    for (index, line) in text.lines().enumerate() {
        let parts: Option<Vec<i64>> = line.trim().split(':').map(|part| part.parse().ok()).collect();
        let Some([step, pid, number]) = parts.as_deref() else {
            if line.trim().is_empty() {
                continue;
            }
            let reason = format!("'{line}' is not step:process:statement");
            return Err(Error::Trail { step: index + 1, reason });
        };
        if *step < 0 {
            claim |= *step == -2;
            continue;
        }
        let Ok(pid) = usize::try_from(*pid) else {
            return Err(Error::Trail { step: index + 1, reason: format!("there is no process {pid}") });
        };
        if claim && pid == 0 {
            continue;
        }
        let stmt = u32::try_from(*number).ok().and_then(|number| numbers.by_number.get(&number)).copied();
        entries.push(Entry { pid: pid - usize::from(claim), stmt });
    }
    Ok(entries)
}
