//! Values of expressions, and places.

use super::{Chan, Interpreter, Process, State, Trouble};
use crate::ast::{Access, Basic, ChanTest, Expr, ExprKind, Place, Proctype, RecvArg, Type, VarRef};
use crate::parser::{apply_binary, apply_unary};
use crate::trail::Numbers;

/// A rendezvous channel is never looked into.
pub(super) const POLLED: Trouble = Trouble::Error("a rendezvous channel is polled");

impl<'m> Interpreter<'m> {
    /// The body of a process; `None` stands for the claim.
    pub(super) fn body(&self, state: &State, pid: Option<usize>) -> &'m Proctype {
        match pid {
            Some(pid) => &self.model.procs[state.procs[pid].ty],
            None => &self.model.claims[self.claim.unwrap_or(0)],
        }
    }

    fn process<'a>(&self, state: &'a State, pid: Option<usize>) -> Option<&'a Process> {
        match pid {
            Some(pid) => state.procs.get(pid),
            None => state.claim.as_ref(),
        }
    }

    /// Which number of which variable a place is, and its type. `owner` is whose local it is.
    fn locate(
        &self,
        state: &State,
        pid: Option<usize>,
        owner: &Proctype,
        place: &Place,
    ) -> Result<(usize, Basic), Trouble> {
        let var = match place.var {
            VarRef::Global(index) => &self.model.globals[index],
            VarRef::Local(index) => &owner.locals[index],
        };
        let (mut ty, mut array, mut offset) = (var.ty, var.array, 0);
        for step in &place.path {
            match step {
                Access::Index(index) => {
                    let value = self.eval(state, pid, index)?;
                    if value < 0 || value as u32 >= array.unwrap_or(1) {
                        return Err(Trouble::Error("array index out of range"));
                    }
                    offset += value as usize * self.leaves(ty);
                    array = None;
                }
                Access::Field(number) => {
                    let Type::Struct(index) = ty else { return Err(Trouble::Error("no such field")) };
                    let fields = &self.model.typedefs[index].fields;
                    for field in &fields[..*number] {
                        offset += self.leaves(field.ty) * field.array.unwrap_or(1) as usize;
                    }
                    (ty, array) = (fields[*number].ty, fields[*number].array);
                }
            }
        }
        match ty {
            Type::Basic(basic) => Ok((offset, basic)),
            Type::Struct(_) => Err(Trouble::Error("a whole structure")),
        }
    }

    pub(super) fn load(&self, state: &State, pid: Option<usize>, place: &Place) -> Result<i32, Trouble> {
        let process = self.process(state, pid);
        let owner = process.map(|_| self.body(state, pid));
        let empty;
        let owner = match owner {
            Some(owner) => owner,
            None => {
                empty = self.model.procs.first().expect("a model has a process");
                empty
            }
        };
        let (offset, _) = self.locate(state, pid, owner, place)?;
        Ok(match place.var {
            VarRef::Global(index) => state.globals[index][offset],
            VarRef::Local(index) => process.ok_or(Trouble::Error("no process"))?.locals[index][offset],
        })
    }

    pub(super) fn store(
        &self,
        state: &mut State,
        pid: Option<usize>,
        place: &Place,
        value: i32,
    ) -> Result<(), Trouble> {
        let (offset, basic) = self.locate(state, pid, self.body(state, pid), place)?;
        let value = self.cut(basic, value, place.at);
        match (place.var, pid) {
            (VarRef::Global(index), _) => state.globals[index][offset] = value,
            (VarRef::Local(index), Some(pid)) => state.procs[pid].locals[index][offset] = value,
            (VarRef::Local(index), None) => {
                state.claim.as_mut().expect("the claim moves").locals[index][offset] = value;
            }
        }
        Ok(())
    }

    pub(super) fn chan<'a>(
        &self,
        state: &'a State,
        pid: Option<usize>,
        place: &Place,
    ) -> Result<(usize, &'a Chan), Trouble> {
        let name = self.load(state, pid, place)?;
        let index =
            usize::try_from(name).ok().and_then(|n| n.checked_sub(1)).filter(|&n| n < state.chans.len());
        let index = index.ok_or(Trouble::Error("uninitialised channel"))?;
        Ok((index, &state.chans[index]))
    }

    /// Which message of a channel a receive takes.
    pub(super) fn message(
        &self,
        state: &State,
        pid: Option<usize>,
        chan: &Chan,
        args: &[RecvArg],
        anywhere: bool,
    ) -> Result<Option<usize>, Trouble> {
        let slots = if anywhere { chan.messages.len() } else { chan.messages.len().min(1) };
        for slot in 0..slots {
            if self.fits(state, pid, &chan.messages[slot], args)? {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    pub(super) fn fits(
        &self,
        state: &State,
        pid: Option<usize>,
        message: &[i32],
        args: &[RecvArg],
    ) -> Result<bool, Trouble> {
        for (value, arg) in message.iter().zip(args) {
            if let RecvArg::Match(wanted) = arg
                && self.eval(state, pid, wanted)? != *value
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The value of an expression that starts no process.
    pub(crate) fn eval(&self, state: &State, pid: Option<usize>, expr: &Expr) -> Result<i32, Trouble> {
        Ok(match &expr.kind {
            ExprKind::Const(value) => *value,
            ExprKind::Place(place) => self.load(state, pid, place)?,
            ExprKind::Unary(op, a) => apply_unary(*op, self.eval(state, pid, a)?),
            ExprKind::Binary(crate::ast::Binary::And, a, b) => {
                i32::from(self.eval(state, pid, a)? != 0 && self.eval(state, pid, b)? != 0)
            }
            ExprKind::Binary(crate::ast::Binary::Or, a, b) => {
                i32::from(self.eval(state, pid, a)? != 0 || self.eval(state, pid, b)? != 0)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.eval(state, pid, a)?, self.eval(state, pid, b)?);
                apply_binary(*op, a, b).ok_or(Trouble::Error("division by zero"))?
            }
            ExprKind::Cond(c, a, b) => {
                let branch = if self.eval(state, pid, c)? != 0 { a } else { b };
                self.eval(state, pid, branch)?
            }
            ExprKind::Len(place) => self.chan(state, pid, place)?.1.messages.len() as i32,
            ExprKind::ChanTest(test, place) => {
                let (_, chan) = self.chan(state, pid, place)?;
                let length = chan.messages.len();
                let full = chan.capacity > 0 && length == chan.capacity;
                i32::from(match test {
                    ChanTest::Full => full,
                    ChanTest::NFull => !full,
                    ChanTest::Empty => length == 0,
                    ChanTest::NEmpty => length != 0,
                })
            }
            ExprKind::Poll { chan, anywhere, args } => {
                let (_, chan) = self.chan(state, pid, chan)?;
                if chan.capacity == 0 {
                    return Err(POLLED);
                }
                i32::from(self.message(state, pid, chan, args, *anywhere)?.is_some())
            }
            ExprKind::Timeout => i32::from(self.timed_out(state)),
            ExprKind::NonProgress => {
                let progress = state.procs.iter().any(|process| {
                    process.point.as_ref().is_some_and(|point| {
                        let stmt = self.statement(&self.model.procs[process.ty], point);
                        stmt.labels.iter().any(|label| label.starts_with("progress"))
                    })
                });
                i32::from(!progress)
            }
            ExprKind::Enabled(who) => {
                let who = self.eval(state, pid, who)?;
                i32::from(
                    who >= 0
                        && (who as usize) < state.procs.len()
                        && self.locally_enabled(state, who as usize),
                )
            }
            ExprKind::PcValue(who) => {
                let who = self.eval(state, pid, who)?;
                let process = usize::try_from(who).ok().and_then(|who| state.procs.get(who));
                process.map_or(0, |process| {
                    let body = &self.model.procs[process.ty];
                    let stmt = process.point.as_ref().map(|point| self.statement(body, point).id);
                    Numbers::of(self.model).state(process.ty, stmt)
                })
            }
            ExprKind::GetPriority(who) => {
                let who = self.eval(state, pid, who)?;
                usize::try_from(who).ok().and_then(|who| state.procs.get(who)).map_or(0, |p| p.priority)
            }
            ExprKind::RemoteVar { proc, pid: who, place } => {
                match self.remote(state, pid, *proc, who.as_deref())? {
                    None => 0,
                    Some(other) => {
                        let (offset, _) = self.locate(state, pid, &self.model.procs[*proc], place)?;
                        match place.var {
                            VarRef::Global(index) => state.globals[index][offset],
                            VarRef::Local(index) => state.procs[other].locals[index][offset],
                        }
                    }
                }
            }
            ExprKind::RemoteLabel { proc, pid: who, label } => {
                let other = self.remote(state, pid, *proc, who.as_deref())?;
                i32::from(other.is_some_and(|other| {
                    self.at_label(&self.model.procs[*proc], &state.procs[other].point, label)
                }))
            }
            ExprKind::Pid => pid.map_or(0, |pid| pid as i32),
            ExprKind::NrPr => state.procs.len() as i32,
            ExprKind::Last => state.last,
            ExprKind::Run { .. } | ExprKind::SetPriority(..) => {
                return Err(Trouble::Error("run within an expression"));
            }
        })
    }

    fn remote(
        &self,
        state: &State,
        pid: Option<usize>,
        proc: usize,
        who: Option<&Expr>,
    ) -> Result<Option<usize>, Trouble> {
        Ok(match who {
            None => state.procs.iter().position(|process| process.ty == proc),
            Some(who) => {
                let who = self.eval(state, pid, who)?;
                usize::try_from(who).ok().filter(|&w| state.procs.get(w).is_some_and(|p| p.ty == proc))
            }
        })
    }
}

impl<'m> Interpreter<'m> {
    /// The value of an expression, for a trace.
    pub(crate) fn value_of(&self, state: &State, pid: usize, expr: &Expr) -> Option<i32> {
        self.eval(state, Some(pid), expr).ok()
    }

    /// The value of a variable, for a trace.
    pub(crate) fn place_of(&self, state: &State, pid: usize, place: &Place) -> Option<i32> {
        self.load(state, Some(pid), place).ok()
    }

    /// The statement that a process stands at.
    pub(crate) fn standing(&self, state: &State, pid: usize) -> Option<&'m crate::ast::Stmt> {
        let process = &state.procs[pid];
        let body = &self.model.procs[process.ty];
        process.point.as_ref().map(|point| self.statement(body, point))
    }
}
