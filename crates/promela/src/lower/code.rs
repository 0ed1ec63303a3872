//! Expressions and statements to register code.

use super::{Lowerer, Refused};
use crate::ast::{Access, Binary, Expr, ExprKind, Place, RecvArg, Seq, Stmt, StmtKind, Type, Var, VarRef};
use crate::parser::fold;
use crate::print::{Printer, has_run};
use crate::program::{Cell, Code, Kind, NO_PID, Op, Pattern, Reg};

/// Registers above this are not given out.
const MOST_REGISTERS: usize = 240;

/// Values of which nothing is known.
const ANY: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

/// Where a value lies.
enum Address {
    /// At a fixed offset.
    Fixed(bool, Cell, u32),
    /// At an offset in a register plus a fixed one.
    Computed(bool, Cell, u32, Reg),
}

impl<'a> Lowerer<'a> {
    fn reg(&mut self) -> Result<Reg, Refused> {
        if self.registers >= MOST_REGISTERS {
            let message = "an expression or a message is too long".to_string();
            return Err(Refused { at: Default::default(), message, remedy: "split it" });
        }
        self.registers += 1;
        Ok((self.registers - 1) as Reg)
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn code(&mut self, make: impl FnOnce(&mut Self) -> Result<(), Refused>) -> Result<Code, Refused> {
        let start = self.here();
        self.registers = 0;
        make(self)?;
        Ok(Code { start, end: self.here() })
    }

    /// Code that leaves a condition in register 0.
    pub(super) fn guard_code(&mut self, condition: &Expr) -> Result<Code, Refused> {
        if let Some(value) = fold(condition)
            && value != 0
        {
            return Ok(Code::default());
        }
        self.code(|l| {
            let result = l.reg()?;
            l.expr(condition, result)
        })
    }

    pub(super) fn initial(&mut self, var: VarRef, declared: &Var, init: &Expr) -> Result<Code, Refused> {
        let (Type::Basic(basic), slot) = (declared.ty, self.slot(var)) else {
            return Err(Refused {
                at: declared.at,
                message: "a structure has no initial value".to_string(),
                remedy: "",
            });
        };
        let cell = Cell::of(basic);
        self.code(|l| {
            let value = l.reg()?;
            l.expr(init, value)?;
            for index in 0..declared.array.unwrap_or(1) {
                l.store_fixed(var, cell, slot + index * cell.size() as u32, value);
            }
            Ok(())
        })
    }

    pub(super) fn initial_field(
        &mut self,
        var: VarRef,
        cell: Cell,
        at: u32,
        init: &Expr,
    ) -> Result<Code, Refused> {
        self.code(|l| {
            let value = l.reg()?;
            l.expr(init, value)?;
            l.store_fixed(var, cell, at, value);
            Ok(())
        })
    }

    /// Stores the elements of an array that lists them.
    pub(super) fn listed(&mut self, var: VarRef, cell: Cell, at: u32, list: &[i32]) -> Result<Code, Refused> {
        self.code(|l| {
            let value = l.reg()?;
            for (index, &element) in list.iter().enumerate() {
                l.ops.push(Op::Const(value, element));
                l.store_fixed(var, cell, at + (index * cell.size()) as u32, value);
            }
            Ok(())
        })
    }

    fn store_fixed(&mut self, var: VarRef, cell: Cell, at: u32, value: Reg) {
        self.ops.push(match var {
            VarRef::Global(_) => Op::StoreGlobal(value, cell, at),
            VarRef::Local(_) => Op::StoreLocal(value, cell, at),
        });
    }

    /// The kind, the guard and the effect of a basic statement.
    pub(super) fn statement_code(&mut self, stmt: &'a Stmt) -> Result<(Kind, Code, Code), Refused> {
        let none = Code::default();
        self.stmt = stmt.id.0;
        Ok(match &stmt.kind {
            StmtKind::Expr(value) if has_run(&value.kind) => {
                // A run both decides and acts; the search looks at register 0 afterwards.
                let effect = self.code(|l| {
                    let result = l.reg()?;
                    l.expr(value, result)
                })?;
                (Kind::Plain, none, effect)
            }
            StmtKind::Expr(value) => (Kind::Plain, self.guard_code(value)?, none),
            StmtKind::Else => (Kind::Else, none, none),
            StmtKind::Goto(_) | StmtKind::Break | StmtKind::Join | StmtKind::Declare => {
                (Kind::Plain, none, none)
            }
            StmtKind::Send { chan, sorted, args } => {
                let guard = self.code(|l| l.send_values(chan, args))?;
                (Kind::Send(args.len() as u8, *sorted), guard, none)
            }
            StmtKind::Recv { chan, anywhere, keep, args } => {
                let guard = self.code(|l| l.recv_values(chan, args).map(|_| ()))?;
                let pattern = self.pattern(args, *anywhere, *keep)?;
                let effect = self.code(|l| {
                    l.registers = args.len() + 1;
                    l.bind(chan, args, 0)
                })?;
                (Kind::Recv(pattern), guard, effect)
            }
            StmtKind::Event { send, chan, args } => {
                let pattern = self.pattern(args, false, true)?;
                (Kind::Event(*send, pattern), self.code(|l| l.recv_values(chan, args).map(|_| ()))?, none)
            }
            StmtKind::DStep(body) => {
                self.offered = receives(&body[0]);
                let guard = self.code(|l| {
                    let result = l.reg()?;
                    l.can_begin(&body[0], result)
                })?;
                let effect = self.code(|l| l.d_step(body))?;
                self.offered = false;
                (Kind::Plain, guard, effect)
            }
            _ => {
                let effect = self.code(|l| l.effect(stmt))?;
                (Kind::Plain, none, effect)
            }
        })
    }

    /// Code for a statement that never blocks.
    fn effect(&mut self, stmt: &Stmt) -> Result<(), Refused> {
        let mark = self.registers;
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let reg = self.reg()?;
                self.expr(value, reg)?;
                self.store(place, reg, self.range(value))?;
                // Register 0 must not look like a failed run.
                if has_run(&value.kind) && mark == 0 {
                    self.ops.push(Op::Const(0, 1));
                }
            }
            StmtKind::Assert(value) => {
                let reg = self.reg()?;
                self.expr(value, reg)?;
                let text = Printer { model: self.model, process: self.source() }.expr(value);
                self.asserts.push((text, stmt.at));
                self.ops.push(Op::Assert(reg, self.asserts.len() as u32 - 1));
            }
            StmtKind::Printf(_, args) => {
                // The values are not shown in a search, but an index among them may be out of range.
                for arg in args {
                    let mark = self.registers;
                    let reg = self.reg()?;
                    self.expr(arg, reg)?;
                    self.registers = mark;
                }
            }
            _ => {}
        }
        self.registers = mark;
        Ok(())
    }

    /// The channel into register 0 (or the next), and the values after it.
    fn send_values(&mut self, chan: &Place, args: &[Expr]) -> Result<(), Refused> {
        let target = self.reg()?;
        self.load(chan, target)?;
        for arg in args {
            let reg = self.reg()?;
            self.expr(arg, reg)?;
        }
        Ok(())
    }

    /// The channel and the values to match; the base register.
    fn recv_values(&mut self, chan: &Place, args: &[RecvArg]) -> Result<Reg, Refused> {
        let base = self.reg()?;
        self.load(chan, base)?;
        for arg in args {
            let reg = self.reg()?;
            if let RecvArg::Match(value) = arg {
                self.expr(value, reg)?;
            }
        }
        Ok(base)
    }

    fn bind(&mut self, chan: &Place, args: &[RecvArg], base: Reg) -> Result<(), Refused> {
        // Where the channel is known by its declaration, so are the values that its messages can have.
        let declared = match (chan.var, chan.path.iter().any(|step| matches!(step, Access::Field(_)))) {
            (VarRef::Global(index), false) => self.model.globals[index].chan.as_ref(),
            _ => None,
        };
        for (index, arg) in args.iter().enumerate() {
            if let RecvArg::Bind(place) = arg {
                let field = declared.and_then(|init| init.fields.get(index));
                let range = field.map_or(ANY, |&basic| Cell::of(basic).range());
                self.store(place, base + 1 + index as Reg, range)?;
            }
        }
        Ok(())
    }

    fn pattern(&mut self, args: &[RecvArg], anywhere: bool, keep: bool) -> Result<u16, Refused> {
        let matches = args.iter().map(|arg| matches!(arg, RecvArg::Match(_))).collect();
        let pattern = Pattern { matches, anywhere, keep };
        self.patience.spend(self.patterns.len())?;
        let number = self.patterns.iter().position(|p| *p == pattern).unwrap_or_else(|| {
            self.patterns.push(pattern);
            self.patterns.len() - 1
        });
        u16::try_from(number).map_err(|_| Refused {
            at: Default::default(),
            message: "there are too many kinds of receives".to_string(),
            remedy: "receive alike fields alike",
        })
    }

    fn address(&mut self, place: &Place) -> Result<Address, Refused> {
        let declared = match place.var {
            VarRef::Global(index) => &self.model.globals[index],
            VarRef::Local(index) => &self.source().locals[index],
        };
        let global = matches!(place.var, VarRef::Global(_));
        let slot = self.slot(place.var);
        self.walk(place, declared, global, slot)
    }

    fn source(&self) -> &'a crate::ast::Proctype {
        self.sources[self.process]
    }

    fn walk(&mut self, place: &Place, declared: &Var, global: bool, slot: u32) -> Result<Address, Refused> {
        let (mut ty, mut array, mut fixed) = (declared.ty, declared.array, slot);
        let mut computed: Option<Reg> = None;
        for step in &place.path {
            match step {
                Access::Index(index) => {
                    let stride = self.layout_of(ty).0 as u32;
                    let length = array.unwrap_or(1);
                    array = None;
                    match fold(index) {
                        Some(value) if (0..length as i32).contains(&value) => fixed += value as u32 * stride,
                        _ => {
                            let reg = self.reg()?;
                            self.expr(index, reg)?;
                            self.ops.push(Op::Bound(reg, length));
                            if stride != 1 {
                                self.ops.push(Op::Scale(reg, stride));
                            }
                            if let Some(sum) = computed {
                                self.ops.push(Op::Binary(Binary::Add, sum, sum, reg));
                            } else {
                                computed = Some(reg);
                            }
                        }
                    }
                }
                Access::Field(number) => {
                    if let Type::Struct(index) = ty {
                        fixed += self.field_offset(index, *number);
                        let field = &self.model.typedefs[index].fields[*number];
                        (ty, array) = (field.ty, field.array);
                    }
                }
            }
        }
        let Type::Basic(basic) = ty else {
            return Err(Refused {
                at: place.at,
                message: "a whole structure cannot be used here".to_string(),
                remedy: "name one of its fields",
            });
        };
        let cell = Cell::of(basic);
        Ok(match computed {
            None => Address::Fixed(global, cell, fixed),
            Some(reg) => Address::Computed(global, cell, fixed, reg),
        })
    }

    fn load(&mut self, place: &Place, into: Reg) -> Result<(), Refused> {
        let mark = self.registers;
        match self.address(place)? {
            Address::Fixed(true, cell, at) => self.ops.push(Op::LoadGlobal(into, cell, at)),
            Address::Fixed(false, cell, at) => self.ops.push(Op::LoadLocal(into, cell, at)),
            Address::Computed(global, cell, at, reg) => {
                self.ops.push(if global {
                    Op::LoadGlobalAt(into, reg, cell, at)
                } else {
                    Op::LoadLocalAt(into, reg, cell, at)
                });
            }
        }
        self.registers = mark;
        Ok(())
    }

    /// Stores a value that is known to lie in a range. Where it may not fit, that is noted first.
    fn store(&mut self, place: &Place, value: Reg, range: (i64, i64)) -> Result<(), Refused> {
        let mark = self.registers;
        let address = self.address(place)?;
        let (Address::Fixed(_, cell, _) | Address::Computed(_, cell, ..)) = &address;
        let holds = cell.range();
        if range.0 < holds.0 || range.1 > holds.1 {
            self.ops.push(Op::Fits(value, *cell, self.stmt));
        }
        match address {
            Address::Fixed(true, cell, at) => self.ops.push(Op::StoreGlobal(value, cell, at)),
            Address::Fixed(false, cell, at) => self.ops.push(Op::StoreLocal(value, cell, at)),
            Address::Computed(true, cell, at, reg) => self.ops.push(Op::StoreGlobalAt(value, reg, cell, at)),
            Address::Computed(false, cell, at, reg) => self.ops.push(Op::StoreLocalAt(value, reg, cell, at)),
        }
        self.registers = mark;
        Ok(())
    }

    /// The values that an expression can have, as far as its form tells.
    fn range(&self, expr: &Expr) -> (i64, i64) {
        if let Some(value) = fold(expr) {
            return (i64::from(value), i64::from(value));
        }
        let whole = |(low, high): (i64, i64)| if low < ANY.0 || high > ANY.1 { ANY } else { (low, high) };
        match &expr.kind {
            ExprKind::Place(place) => self.cell_of(place).map_or(ANY, Cell::range),
            ExprKind::Cond(_, a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                match op {
                    Binary::Add => whole((a.0 + b.0, a.1 + b.1)),
                    Binary::Sub => whole((a.0 - b.1, a.1 - b.0)),
                    Binary::Mul => {
                        let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
                        whole(all.iter().fold((i64::MAX, i64::MIN), |(l, h), &v| (l.min(v), h.max(v))))
                    }
                    Binary::Div if a.0 >= 0 && b.0 >= 0 => (0, a.1),
                    Binary::Rem if a.0 >= 0 && b.0 >= 0 => (0, a.1.min((b.1 - 1).max(0))),
                    Binary::BitAnd if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
                    Binary::Shl
                    | Binary::Shr
                    | Binary::BitAnd
                    | Binary::BitOr
                    | Binary::BitXor
                    | Binary::Div
                    | Binary::Rem => ANY,
                    _ => (0, 1),
                }
            }
            ExprKind::Unary(crate::ast::Unary::Not, _)
            | ExprKind::ChanTest(..)
            | ExprKind::Poll { .. }
            | ExprKind::Timeout
            | ExprKind::NonProgress
            | ExprKind::Enabled(_)
            | ExprKind::RemoteLabel { .. } => (0, 1),
            ExprKind::Len(_) | ExprKind::Run { .. } | ExprKind::Pid | ExprKind::NrPr | ExprKind::Last => {
                (0, 255)
            }
            _ => ANY,
        }
    }

    fn cell_of(&self, place: &Place) -> Option<Cell> {
        let declared = match place.var {
            VarRef::Global(index) => &self.model.globals[index],
            VarRef::Local(index) => &self.source().locals[index],
        };
        let mut ty = declared.ty;
        for step in &place.path {
            if let (Access::Field(number), Type::Struct(index)) = (step, ty) {
                ty = self.model.typedefs[index].fields[*number].ty;
            }
        }
        match ty {
            Type::Basic(basic) => Some(Cell::of(basic)),
            Type::Struct(_) => None,
        }
    }

    /// A comparison of a one-byte variable with a small constant, as one instruction.
    fn compare_byte(&mut self, op: Binary, a: &Expr, b: &Expr, into: Reg) -> Result<bool, Refused> {
        use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
        let (ExprKind::Place(place), Some(value)) = (&a.kind, fold(b)) else { return Ok(false) };
        if !matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
            || place.path.iter().any(|s| matches!(s, Access::Index(i) if fold(i).is_none()))
        {
            return Ok(false);
        }
        let (mark, ops) = (self.registers, self.ops.len());
        let address = self.address(place)?;
        self.registers = mark;
        if let (Address::Fixed(global, Cell::U8 | Cell::Bit, at), Ok(value)) = (&address, u8::try_from(value))
            && let Ok(at) = u16::try_from(*at)
        {
            let compare = if *global { Op::CompareGlobalByte } else { Op::CompareLocalByte };
            self.ops.push(compare(op, into, at, value));
            return Ok(true);
        }
        self.ops.truncate(ops);
        Ok(false)
    }

    /// An expression as 0 or 1.
    fn truth(&mut self, expr: &Expr, into: Reg) -> Result<(), Refused> {
        use Binary::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        self.expr(expr, into)?;
        let already = matches!(expr.kind, ExprKind::Binary(And | Or | Eq | Ne | Lt | Le | Gt | Ge, ..));
        if !already {
            self.ops.push(Op::Bool(into));
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, into: Reg) -> Result<(), Refused> {
        let mark = self.registers;
        if let Some(value) = fold(expr) {
            self.ops.push(Op::Const(into, value));
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Const(value) => self.ops.push(Op::Const(into, *value)),
            ExprKind::Place(place) => self.load(place, into)?,
            ExprKind::Unary(op, a) => {
                self.expr(a, into)?;
                self.ops.push(Op::Unary(*op, into, into));
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                self.truth(a, into)?;
                let jump = self.ops.len();
                self.ops.push(Op::Jump(0));
                self.truth(b, into)?;
                let end = self.here();
                self.ops[jump] =
                    if *op == Binary::And { Op::JumpIfZero(into, end) } else { Op::JumpIfNot(into, end) };
            }
            ExprKind::Binary(op, a, b) => {
                if !self.compare_byte(*op, a, b, into)? {
                    self.expr(a, into)?;
                    if let Some(value) = fold(b) {
                        self.ops.push(Op::BinaryConst(*op, into, into, value));
                    } else {
                        let right = self.reg()?;
                        self.expr(b, right)?;
                        self.ops.push(Op::Binary(*op, into, into, right));
                    }
                }
            }
            ExprKind::Cond(c, a, b) => {
                self.expr(c, into)?;
                let branch = self.ops.len();
                self.ops.push(Op::Jump(0));
                self.expr(a, into)?;
                let leave = self.ops.len();
                self.ops.push(Op::Jump(0));
                self.ops[branch] = Op::JumpIfZero(into, self.here());
                self.expr(b, into)?;
                self.ops[leave] = Op::Jump(self.here());
            }
            ExprKind::Len(chan) => {
                self.load(chan, into)?;
                self.ops.push(Op::ChanLen(into, into));
            }
            ExprKind::ChanTest(test, chan) => {
                self.load(chan, into)?;
                self.ops.push(Op::ChanTest(*test, into, into));
            }
            ExprKind::Poll { chan, anywhere, args } => {
                let base = self.recv_values(chan, args)?;
                let pattern = self.pattern(args, *anywhere, true)?;
                self.ops.push(Op::Poll(into, pattern, base));
            }
            ExprKind::Run { proc, args, priority } => {
                self.run(expr, *proc, args, priority.as_deref(), into)?
            }
            ExprKind::Timeout => {
                self.uses_timeout = true;
                self.ops.push(Op::Timeout(into));
            }
            ExprKind::NonProgress => self.ops.push(Op::NonProgress(into)),
            ExprKind::Enabled(pid) => {
                self.expr(pid, into)?;
                self.ops.push(Op::Enabled(into, into));
            }
            ExprKind::PcValue(pid) => {
                self.expr(pid, into)?;
                self.ops.push(Op::PcValue(into, into));
            }
            ExprKind::GetPriority(pid) => {
                self.expr(pid, into)?;
                self.ops.push(Op::GetPriority(into, into));
            }
            ExprKind::SetPriority(pid, value) => {
                let (who, what) = (self.reg()?, self.reg()?);
                self.expr(pid, who)?;
                self.expr(value, what)?;
                self.ops.push(Op::SetPriority(who, what));
                self.ops.push(Op::Const(into, 1));
            }
            ExprKind::RemoteVar { proc, pid, place } => {
                self.remote_var(*proc, pid.as_deref(), place, into)?
            }
            ExprKind::RemoteLabel { proc, pid, label } => {
                let Some(&at) = self.labels[*proc].get(label) else {
                    // Control never rests at this label.
                    if !has_label(&self.model.procs[*proc].body, label) {
                        let name = &self.model.procs[*proc].name;
                        let message = format!("'{name}' has no label '{label}'");
                        return Err(Refused { at: expr.at, message, remedy: "" });
                    }
                    self.ops.push(Op::Const(into, 0));
                    return Ok(());
                };
                let who = self.remote_pid(pid.as_deref())?;
                self.ops.push(Op::RemoteAt(into, who, at, *proc as u8));
            }
            ExprKind::Pid => self.ops.push(Op::Pid(into)),
            ExprKind::NrPr => self.ops.push(Op::NrPr(into)),
            ExprKind::Last => self.ops.push(Op::Last(into)),
        }
        self.registers = mark;
        Ok(())
    }

    fn run(
        &mut self,
        expr: &Expr,
        proc: usize,
        args: &[Expr],
        priority: Option<&Expr>,
        into: Reg,
    ) -> Result<(), Refused> {
        let Some(target) = self.model.procs.get(proc) else {
            return Err(Refused { at: expr.at, message: "no such process".to_string(), remedy: "" });
        };
        if args.len() != target.params {
            let message =
                format!("'{}' takes {} arguments, found {}", target.name, target.params, args.len());
            return Err(Refused { at: expr.at, message, remedy: "" });
        }
        let base = self.registers as Reg;
        for arg in args {
            let reg = self.reg()?;
            self.expr(arg, reg)?;
        }
        self.ops.push(Op::Run(into, proc as u16, base, self.stmt));
        if let (Some(priority), true) = (priority, self.priority) {
            let reg = self.reg()?;
            self.expr(priority, reg)?;
            self.ops.push(Op::SetPriority(into, reg));
        }
        Ok(())
    }

    fn remote_pid(&mut self, pid: Option<&Expr>) -> Result<Reg, Refused> {
        match pid {
            None => Ok(NO_PID),
            Some(pid) => {
                let reg = self.reg()?;
                self.expr(pid, reg)?;
                Ok(reg)
            }
        }
    }

    fn remote_var(
        &mut self,
        proc: usize,
        pid: Option<&Expr>,
        place: &Place,
        into: Reg,
    ) -> Result<(), Refused> {
        let VarRef::Local(index) = place.var else { return self.load(place, into) };
        let declared = &self.model.procs[proc].locals[index];
        let slot = self.layouts[proc].offsets[index];
        let who = self.remote_pid(pid)?;
        let (cell, fixed) = match self.walk(place, declared, false, slot)? {
            Address::Fixed(_, cell, fixed) => {
                self.ops.push(Op::Const(into, 0));
                (cell, fixed)
            }
            Address::Computed(_, cell, fixed, reg) => {
                self.ops.push(Op::Move(into, reg));
                (cell, fixed)
            }
        };
        let Ok(fixed) = u16::try_from(fixed) else {
            return Err(Refused {
                at: place.at,
                message: "this process is too large".to_string(),
                remedy: "",
            });
        };
        self.ops.push(Op::RemoteLoad(into, who, cell, fixed, proc as u8));
        Ok(())
    }

    /// Whether a statement within a `d_step` can begin, into a register.
    fn can_begin(&mut self, stmt: &Stmt, into: Reg) -> Result<(), Refused> {
        let mark = self.registers;
        match &stmt.kind {
            StmtKind::Expr(value) if !has_run(&value.kind) => self.expr(value, into)?,
            StmtKind::Send { chan, args, .. } => {
                let base = self.registers as Reg;
                self.send_values(chan, args)?;
                self.ops.push(Op::TestSend(into, base));
            }
            StmtKind::Recv { chan, anywhere, keep, args } => {
                let base = self.recv_values(chan, args)?;
                let pattern = self.pattern(args, *anywhere, *keep)?;
                self.ops.push(Op::TestRecv(into, pattern, base));
            }
            StmtKind::If(options) | StmtKind::Do(options) => {
                let mut leave = Vec::new();
                for option in options {
                    self.can_begin(&option[0], into)?;
                    leave.push(self.ops.len());
                    self.ops.push(Op::Jump(0));
                }
                let end = self.here();
                for jump in leave {
                    self.ops[jump] = Op::JumpIfNot(into, end);
                }
            }
            StmtKind::Atomic(body)
            | StmtKind::DStep(body)
            | StmtKind::Block(body)
            | StmtKind::Unless(body, _) => {
                self.can_begin(&body[0], into)?;
            }
            _ => self.ops.push(Op::Const(into, 1)),
        }
        let part = matches!(
            stmt.kind,
            StmtKind::If(_)
                | StmtKind::Do(_)
                | StmtKind::Atomic(_)
                | StmtKind::DStep(_)
                | StmtKind::Block(_)
                | StmtKind::Unless(..)
                | StmtKind::Recv { .. }
        );
        if self.offered && !part {
            self.ops.push(Op::Alone(into));
        }
        self.registers = mark;
        Ok(())
    }

    /// A whole `d_step`: the first executable option is taken, and nothing may block after the beginning.
    fn d_step(&mut self, body: &Seq) -> Result<(), Refused> {
        let mut context = Steps::default();
        self.d_sequence(body, &mut context)?;
        let end = self.here();
        for jump in std::mem::take(&mut context.leave) {
            self.ops[jump] = Op::Jump(end);
        }
        for (jump, label, at) in std::mem::take(&mut context.gotos) {
            match context.labels.iter().find(|(name, _)| *name == label) {
                Some((_, target)) => self.ops[jump] = Op::Jump(*target),
                None => {
                    let message = format!("goto {label} leaves the d_step");
                    return Err(Refused { at, message, remedy: "use atomic" });
                }
            }
        }
        // Register 0 tells the search that nothing failed.
        self.ops.push(Op::Const(0, 1));
        Ok(())
    }

    fn d_sequence(&mut self, body: &Seq, context: &mut Steps) -> Result<(), Refused> {
        for stmt in body {
            self.d_statement(stmt, None, context)?;
        }
        Ok(())
    }

    /// One statement. Where it cannot begin, control goes on at the returned jumps, if `tentative`.
    fn d_statement(
        &mut self,
        stmt: &Stmt,
        tentative: Option<&mut Vec<usize>>,
        context: &mut Steps,
    ) -> Result<(), Refused> {
        self.registers = 1;
        self.stmt = stmt.id.0;
        context.labels.extend(stmt.labels.iter().map(|label| (label.clone(), self.ops.len() as u32)));
        let result = self.reg()?;
        let blocks = self.offered
            || !matches!(
                stmt.kind,
                StmtKind::Assign(..) | StmtKind::Assert(_) | StmtKind::Printf(..) | StmtKind::Else
            );
        if blocks {
            self.can_begin(stmt, result)?;
            match tentative {
                Some(jumps) => jumps.push(self.ops.len()),
                None => {
                    let over = self.here() + 2;
                    self.ops.push(Op::JumpIfNot(result, over));
                }
            }
            self.ops.push(Op::Blocked);
        }
        match &stmt.kind {
            StmtKind::Expr(value) if has_run(&value.kind) => self.expr(value, result)?,
            StmtKind::Send { chan, sorted, args } => {
                let base = self.registers as Reg;
                self.send_values(chan, args)?;
                self.ops.push(Op::DoSend(base, args.len() as u8, *sorted, self.stmt));
            }
            StmtKind::Recv { chan, anywhere, keep, args } => {
                let base = self.recv_values(chan, args)?;
                let pattern = self.pattern(args, *anywhere, *keep)?;
                self.ops.push(Op::DoRecv(pattern, base));
                self.bind(chan, args, base)?;
            }
            StmtKind::If(options) => self.d_options(options, None, context)?,
            StmtKind::Do(options) => {
                let start = self.here();
                let outer = std::mem::take(&mut context.leave);
                self.d_options(options, Some(start), context)?;
                let end = self.here();
                for jump in std::mem::replace(&mut context.leave, outer) {
                    self.ops[jump] = Op::Jump(end);
                }
            }
            StmtKind::Atomic(body)
            | StmtKind::DStep(body)
            | StmtKind::Block(body)
            | StmtKind::Unless(body, _) => {
                self.d_sequence(body, context)?;
            }
            StmtKind::Break => {
                context.leave.push(self.ops.len());
                self.ops.push(Op::Jump(0));
            }
            StmtKind::Goto(label) => {
                context.gotos.push((self.ops.len(), label.clone(), stmt.at));
                self.ops.push(Op::Jump(0));
            }
            _ => self.effect(stmt)?,
        }
        Ok(())
    }

    fn d_options(&mut self, options: &[Seq], back: Option<u32>, context: &mut Steps) -> Result<(), Refused> {
        let is_else = |o: &&Seq| matches!(o[0].kind, StmtKind::Else);
        let ordered: Vec<&Seq> =
            options.iter().filter(|o| !is_else(o)).chain(options.iter().filter(is_else)).collect();
        let mut leave = Vec::new();
        for option in ordered {
            let mut skip = Vec::new();
            self.d_statement(&option[0], Some(&mut skip), context)?;
            for stmt in &option[1..] {
                self.d_statement(stmt, None, context)?;
            }
            match back {
                Some(start) => self.ops.push(Op::Jump(start)),
                None => {
                    leave.push(self.ops.len());
                    self.ops.push(Op::Jump(0));
                }
            }
            // The test left its result in register 1, and a placeholder to jump over the option.
            for jump in skip {
                self.ops[jump] = Op::JumpIfZero(1, self.here());
            }
        }
        self.ops.push(Op::Blocked);
        let end = self.here();
        for jump in leave {
            self.ops[jump] = Op::Jump(end);
        }
        Ok(())
    }
}

/// Whether a statement of a `d_step` can begin with a receive.
pub(super) fn receives(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Recv { .. } => true,
        StmtKind::If(options) | StmtKind::Do(options) => options.iter().any(|option| receives(&option[0])),
        StmtKind::Atomic(body)
        | StmtKind::DStep(body)
        | StmtKind::Block(body)
        | StmtKind::Unless(body, _) => receives(&body[0]),
        _ => false,
    }
}

/// Jumps of a `d_step` that are not yet resolved.
#[derive(Default)]
struct Steps {
    leave: Vec<usize>,
    gotos: Vec<(usize, String, crate::error::Pos)>,
    labels: Vec<(String, u32)>,
}

fn has_label(seq: &Seq, label: &str) -> bool {
    seq.iter().any(|stmt| {
        stmt.labels.iter().any(|l| l == label)
            || match &stmt.kind {
                StmtKind::If(options) | StmtKind::Do(options) => options.iter().any(|o| has_label(o, label)),
                StmtKind::Atomic(s) | StmtKind::DStep(s) | StmtKind::Block(s) => has_label(s, label),
                StmtKind::Unless(a, b) => has_label(a, label) || has_label(b, label),
                _ => false,
            }
    })
}
