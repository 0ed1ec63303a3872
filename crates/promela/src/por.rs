//! Static independence, for partial-order reduction.
//!
//! A statement is *safe* if it commutes with everything that other processes can do and nobody sees when it
//! happens (Holzmann and Peled 1994): it reads and writes locals only, or it is a send or a receive on a
//! channel of which its process is the only sender or the only receiver. Who sends and receives is read
//! off the model, not believed from `xr` and `xs`: a channel counts only if it is a plain global variable
//! whose name is never passed on, used by one process that runs once, and tested by no one.
//!
//! A location is *ample* if all its statements are safe, so that taking them alone postpones nothing that
//! could interfere. For channels that holds as long as the receive's is not empty and the send's is not
//! full, which is looked at in the state.

use std::collections::{HashMap, HashSet};

use crate::ast::{Expr, ExprKind, Model, Place, RecvArg, Seq, Stmt, StmtKind, VarRef};
use crate::program::{Kind, Op, Program};
use crate::system::System;
use crate::vm::location;

/// Who uses a channel: process types that send, that receive, and whether it is used in any other way.
#[derive(Default)]
struct Use {
    senders: HashSet<usize>,
    receivers: HashSet<usize>,
    other: bool,
}

/// Marks the transitions that commute with everything that other processes can do, and the locations that
/// have no others.
pub(crate) fn mark_safe(program: &mut Program) {
    let model = program.model.clone();
    // Where the moment of a local step can be seen, nothing is safe.
    let watched = |op: &Op| matches!(op, Op::Enabled(..) | Op::PcValue(..) | Op::NonProgress(_));
    if program.claim.is_some()
        || program.watch.is_some()
        || program.uses_priority
        || program.uses_provided
        || program.last.is_some()
        || program.ops.iter().any(watched)
    {
        return;
    }
    let remote: HashSet<usize> = program
        .ops
        .iter()
        .filter_map(|op| match op {
            Op::RemoteLoad(.., ty) | Op::RemoteAt(.., ty) => Some(usize::from(*ty)),
            _ => None,
        })
        .collect();
    let uses = channel_uses(&model);
    for number in (0..model.procs.len()).filter(|number| !remote.contains(number)) {
        let process = &model.procs[number];
        let single = process.active == 1 && !is_run(&model, number);
        let mut safe: HashMap<u32, bool> = HashMap::new();
        each(&process.body, &mut |stmt| {
            let judge = Judge { uses: &uses, process: number, single };
            safe.insert(stmt.id.0, judge.safe(stmt));
        });
        for place in &mut program.procs[number].places {
            let range = place.first as usize..place.last as usize;
            for trans in &mut program.trans[range.clone()] {
                trans.safe = !trans.atomic && safe.get(&trans.stmt.0).copied().unwrap_or(false);
            }
            place.ample = !range.is_empty() && program.trans[range].iter().all(|trans| trans.safe);
        }
    }
}

/// Whether all the steps of a process in a state are safe.
pub(crate) fn safe(system: &mut System<'_>, state: &[u8], pid: usize) -> bool {
    let program = system.program;
    let Some((ty, base)) = system.slot(state, pid) else { return false };
    let place = &program.procs[ty].places[location(program, state, base)];
    if !place.ample {
        return false;
    }
    let mut copy = None;
    (place.first..place.last).all(|number| {
        let trans = &program.trans[number as usize];
        if !matches!(trans.kind, Kind::Send(..) | Kind::Recv(_)) {
            return true;
        }
        let state = copy.get_or_insert_with(|| state.to_vec());
        if system.machine.run(program, trans.guard, state, base, pid).is_err() {
            return false;
        }
        match system.machine.chan(program, state, system.machine.regs[0]) {
            Ok((ty, at)) => {
                let capacity = program.chans[ty].capacity;
                capacity > 0
                    && match trans.kind {
                        Kind::Recv(_) => state[at] > 0,
                        _ => state[at] < capacity,
                    }
            }
            Err(_) => false,
        }
    })
}

struct Judge<'a> {
    uses: &'a HashMap<usize, Use>,
    process: usize,
    single: bool,
}

impl Judge<'_> {
    fn safe(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Expr(value) | StmtKind::Assert(value) | StmtKind::Printm(value) => local(value),
            StmtKind::Assign(place, value) => local_place(place) && local(value),
            StmtKind::Printf(_, args) => args.iter().all(local),
            StmtKind::Else | StmtKind::Declare | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Join => true,
            StmtKind::DStep(body) => {
                let mut all = true;
                each(body, &mut |inner| {
                    all &= !matches!(inner.kind, StmtKind::Send { .. } | StmtKind::Recv { .. })
                        && self.safe(inner);
                });
                all
            }
            StmtKind::If(_) | StmtKind::Do(_) | StmtKind::Block(_) => true,
            StmtKind::Send { chan, args, sorted: false } => {
                self.own(chan, |used| &used.senders) && args.iter().all(local)
            }
            StmtKind::Recv { chan, args, anywhere: false, .. } => {
                self.own(chan, |used| &used.receivers)
                    && args.iter().all(|arg| match arg {
                        RecvArg::Bind(place) => local_place(place),
                        RecvArg::Match(value) => local(value),
                        RecvArg::Any => true,
                    })
            }
            _ => false,
        }
    }

    /// Whether this process alone uses a channel in a direction.
    fn own(&self, chan: &Place, users: impl Fn(&Use) -> &HashSet<usize>) -> bool {
        let (VarRef::Global(index), true, true) = (chan.var, chan.path.is_empty(), self.single) else {
            return false;
        };
        self.uses
            .get(&index)
            .is_some_and(|used| !used.other && users(used).len() == 1 && users(used).contains(&self.process))
    }
}

/// Whether an expression depends on nothing but locals.
fn local(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Pid => true,
        ExprKind::Place(place) => local_place(place),
        ExprKind::Unary(_, a) => local(a),
        ExprKind::Binary(_, a, b) => local(a) && local(b),
        ExprKind::Cond(c, a, b) => local(c) && local(a) && local(b),
        _ => false,
    }
}

fn local_place(place: &Place) -> bool {
    matches!(place.var, VarRef::Local(_))
        && place.path.iter().all(|step| match step {
            crate::ast::Access::Index(index) => local(index),
            crate::ast::Access::Field(_) => true,
        })
}

fn each(seq: &Seq, visit: &mut impl FnMut(&Stmt)) {
    for stmt in seq {
        visit(stmt);
        match &stmt.kind {
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|o| each(o, visit)),
            StmtKind::Atomic(s) | StmtKind::DStep(s) | StmtKind::Block(s) => each(s, visit),
            StmtKind::Unless(a, b) => {
                each(a, visit);
                each(b, visit);
            }
            _ => {}
        }
    }
}

/// Whether a process type is ever started by a `run`.
fn is_run(model: &Model, number: usize) -> bool {
    let mut found = false;
    for process in &model.procs {
        each(&process.body, &mut |stmt| {
            expressions(stmt, &mut |expr| {
                found |= matches!(expr.kind, ExprKind::Run { proc, .. } if proc == number)
            });
        });
    }
    found
}

/// Every global channel that is a plain variable, with its users.
fn channel_uses(model: &Model) -> HashMap<usize, Use> {
    let mut uses: HashMap<usize, Use> = HashMap::new();
    for (index, var) in model.globals.iter().enumerate() {
        if var.chan.is_some() && var.array.is_none() {
            uses.insert(index, Use::default());
        }
    }
    let global = |place: &Place| match place.var {
        VarRef::Global(index) => Some(index),
        VarRef::Local(_) => None,
    };
    let bodies = model.procs.iter().enumerate().chain(model.claims.iter().map(|claim| (usize::MAX, claim)));
    for (number, process) in bodies {
        each(&process.body, &mut |stmt| {
            match &stmt.kind {
                StmtKind::Send { chan, .. } => {
                    if let Some(used) = global(chan).and_then(|index| uses.get_mut(&index)) {
                        used.senders.insert(number);
                    }
                }
                StmtKind::Recv { chan, args, .. } => {
                    if let Some(used) = global(chan).and_then(|index| uses.get_mut(&index)) {
                        used.receivers.insert(number);
                    }
                    for arg in args {
                        if let RecvArg::Bind(place) = arg
                            && let Some(used) = global(place).and_then(|index| uses.get_mut(&index))
                        {
                            used.other = true;
                        }
                    }
                }
                StmtKind::Assign(place, _) => {
                    if let Some(used) = global(place).and_then(|index| uses.get_mut(&index)) {
                        used.other = true;
                    }
                }
                _ => {}
            }
            // A test of the channel, or its name as a value.
            expressions(stmt, &mut |expr| match &expr.kind {
                ExprKind::Place(place)
                | ExprKind::Len(place)
                | ExprKind::ChanTest(_, place)
                | ExprKind::Poll { chan: place, .. } => {
                    if let Some(used) = global(place).and_then(|index| uses.get_mut(&index)) {
                        used.other = true;
                    }
                }
                _ => {}
            });
        });
        for var in &process.locals {
            if let Some(init) = &var.init {
                walk(init, &mut |expr| {
                    if let ExprKind::Place(place) = &expr.kind
                        && let Some(used) = global(place).and_then(|index| uses.get_mut(&index))
                    {
                        used.other = true;
                    }
                });
            }
        }
    }
    uses
}

/// Every expression of a statement itself.
fn expressions(stmt: &Stmt, visit: &mut impl FnMut(&Expr)) {
    match &stmt.kind {
        StmtKind::Expr(value) | StmtKind::Assert(value) | StmtKind::Printm(value) => walk(value, visit),
        StmtKind::Assign(place, value) => {
            indices(place, visit);
            walk(value, visit);
        }
        StmtKind::Printf(_, args) => args.iter().for_each(|arg| walk(arg, visit)),
        StmtKind::Send { chan, args, .. } => {
            indices(chan, visit);
            args.iter().for_each(|arg| walk(arg, visit));
        }
        StmtKind::Recv { chan, args, .. } => {
            indices(chan, visit);
            for arg in args {
                match arg {
                    RecvArg::Bind(place) => indices(place, visit),
                    RecvArg::Match(value) => walk(value, visit),
                    RecvArg::Any => {}
                }
            }
        }
        _ => {}
    }
}

fn indices(place: &Place, visit: &mut impl FnMut(&Expr)) {
    for step in &place.path {
        if let crate::ast::Access::Index(index) = step {
            walk(index, visit);
        }
    }
}

fn walk(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Place(place) | ExprKind::Len(place) | ExprKind::ChanTest(_, place) => indices(place, visit),
        ExprKind::Unary(_, a) | ExprKind::Enabled(a) | ExprKind::PcValue(a) | ExprKind::GetPriority(a) => {
            walk(a, visit)
        }
        ExprKind::Binary(_, a, b) | ExprKind::SetPriority(a, b) => {
            walk(a, visit);
            walk(b, visit);
        }
        ExprKind::Cond(c, a, b) => {
            walk(c, visit);
            walk(a, visit);
            walk(b, visit);
        }
        ExprKind::Run { args, .. } => args.iter().for_each(|arg| walk(arg, visit)),
        ExprKind::Poll { args, .. } => {
            for arg in args {
                if let RecvArg::Match(value) = arg {
                    walk(value, visit);
                }
            }
        }
        ExprKind::RemoteVar { pid: Some(pid), .. } | ExprKind::RemoteLabel { pid: Some(pid), .. } => {
            walk(pid, visit)
        }
        _ => {}
    }
}
