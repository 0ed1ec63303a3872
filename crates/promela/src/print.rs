//! Expressions and statements back to text, for messages, traces and unreached code.

use crate::ast::{
    Access, Basic, Binary, ChanTest, Expr, ExprKind, Model, Place, Proctype, RecvArg, StmtKind, Unary, VarRef,
};

/// Whether an expression starts a process.
pub(crate) fn has_run(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Run { .. } | ExprKind::SetPriority(..) => true,
        ExprKind::Unary(_, a) => has_run(&a.kind),
        ExprKind::Binary(_, a, b) => has_run(&a.kind) || has_run(&b.kind),
        ExprKind::Cond(c, a, b) => has_run(&c.kind) || has_run(&a.kind) || has_run(&b.kind),
        _ => false,
    }
}

/// A label as it is written: within an inline that is called several times, the name has a number behind it.
pub(crate) fn plain_label(label: &str) -> &str {
    label.split('#').next().unwrap_or(label)
}

/// Writes parts of one process of a model.
#[derive(Clone, Copy)]
pub(crate) struct Printer<'a> {
    pub(crate) model: &'a Model,
    pub(crate) process: &'a Proctype,
}

impl Printer<'_> {
    pub(crate) fn place(&self, place: &Place) -> String {
        self.place_in(place, self.process)
    }

    fn place_in(&self, place: &Place, process: &Proctype) -> String {
        let var = match place.var {
            VarRef::Global(index) => &self.model.globals[index],
            VarRef::Local(index) => &process.locals[index],
        };
        let mut text = var.name.clone();
        let mut ty = var.ty;
        for step in &place.path {
            match step {
                Access::Index(index) => text += &format!("[{}]", self.expr(index)),
                Access::Field(number) => {
                    if let crate::ast::Type::Struct(index) = ty {
                        let field = &self.model.typedefs[index].fields[*number];
                        text += &format!(".{}", field.name);
                        ty = field.ty;
                    }
                }
            }
        }
        text
    }

    pub(crate) fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const(value) => value.to_string(),
            ExprKind::Place(place) => self.place(place),
            ExprKind::Unary(op, a) => {
                let op = match op {
                    Unary::Neg => "-",
                    Unary::Not => "!",
                    Unary::Complement => "~",
                };
                format!("{op}({})", self.expr(a))
            }
            ExprKind::Binary(op, a, b) => format!("({}{}{})", self.expr(a), symbol(*op), self.expr(b)),
            ExprKind::Cond(c, a, b) => format!("({} -> {} : {})", self.expr(c), self.expr(a), self.expr(b)),
            ExprKind::Len(chan) => format!("len({})", self.place(chan)),
            ExprKind::ChanTest(test, chan) => {
                let name = match test {
                    ChanTest::Full => "full",
                    ChanTest::Empty => "empty",
                    ChanTest::NFull => "nfull",
                    ChanTest::NEmpty => "nempty",
                };
                format!("{name}({})", self.place(chan))
            }
            ExprKind::Poll { chan, anywhere, args } => {
                format!(
                    "{}{}[{}]",
                    self.place(chan),
                    if *anywhere { "??" } else { "?" },
                    self.recv_args(args)
                )
            }
            ExprKind::Run { proc, args, .. } => {
                let args: Vec<_> = args.iter().map(|a| self.expr(a)).collect();
                format!("run {}({})", self.model.procs[*proc].name, args.join(","))
            }
            ExprKind::Timeout => "timeout".to_string(),
            ExprKind::NonProgress => "np_".to_string(),
            ExprKind::Enabled(pid) => format!("enabled({})", self.expr(pid)),
            ExprKind::PcValue(pid) => format!("pc_value({})", self.expr(pid)),
            ExprKind::GetPriority(pid) => format!("get_priority({})", self.expr(pid)),
            ExprKind::SetPriority(pid, value) => {
                format!("set_priority({},{})", self.expr(pid), self.expr(value))
            }
            ExprKind::RemoteVar { proc, pid, place } => {
                let process = &self.model.procs[*proc];
                format!("{}{}:{}", process.name, self.pid(pid), self.place_in(place, process))
            }
            ExprKind::RemoteLabel { proc, pid, label } => {
                format!("{}{}@{label}", self.model.procs[*proc].name, self.pid(pid))
            }
            ExprKind::Pid => "_pid".to_string(),
            ExprKind::NrPr => "_nr_pr".to_string(),
            ExprKind::Last => "_last".to_string(),
        }
    }

    fn pid(&self, pid: &Option<Box<Expr>>) -> String {
        pid.as_ref().map_or(String::new(), |pid| format!("[{}]", self.expr(pid)))
    }

    fn recv_args(&self, args: &[RecvArg]) -> String {
        let args: Vec<_> = args
            .iter()
            .map(|arg| match arg {
                RecvArg::Bind(place) => self.place(place),
                RecvArg::Match(value) => match value.kind {
                    ExprKind::Const(value) => value.to_string(),
                    _ => format!("eval({})", self.expr(value)),
                },
                RecvArg::Any => "_".to_string(),
            })
            .collect();
        args.join(",")
    }

    pub(crate) fn statement(&self, kind: &StmtKind) -> String {
        match kind {
            StmtKind::Expr(value) => {
                let text = self.expr(value);
                if text.starts_with('(') { text } else { format!("({text})") }
            }
            StmtKind::Else => "else".to_string(),
            StmtKind::Assign(place, value) => format!("{} = {}", self.place(place), self.expr(value)),
            StmtKind::Declare => "declaration".to_string(),
            StmtKind::Send { chan, sorted, args } => {
                let args: Vec<_> = args.iter().map(|a| self.expr(a)).collect();
                format!("{}{}{}", self.place(chan), if *sorted { "!!" } else { "!" }, args.join(","))
            }
            StmtKind::Recv { chan, anywhere, keep, args } => {
                let (chan, args) = (self.place(chan), self.recv_args(args));
                let op = if *anywhere { "??" } else { "?" };
                if *keep { format!("{chan}{op}<{args}>") } else { format!("{chan}{op}{args}") }
            }
            StmtKind::Event { send, chan, args } => {
                format!("{}{}{}", self.place(chan), if *send { "!" } else { "?" }, self.recv_args(args))
            }
            StmtKind::Assert(value) => format!("assert({})", self.expr(value)),
            StmtKind::Printf(text, _) => format!("printf('{text}')"),
            StmtKind::Printm(value) => format!("printm({})", self.expr(value)),
            StmtKind::Goto(label) => format!("goto {}", plain_label(label)),
            StmtKind::Break => "break".to_string(),
            StmtKind::Join => ".(goto)".to_string(),
            StmtKind::If(_) => "if".to_string(),
            StmtKind::Do(_) => "do".to_string(),
            StmtKind::Atomic(_) => "atomic".to_string(),
            StmtKind::DStep(_) => "d_step".to_string(),
            StmtKind::Block(_) => "{...}".to_string(),
            StmtKind::Unless(..) => "unless".to_string(),
        }
    }

    /// The symbolic name of a value, for `printm` and `%e`.
    pub(crate) fn symbol_name(&self, value: i32, ty: Option<Basic>) -> String {
        let set = match ty {
            Some(Basic::Mtype(set)) => usize::from(set),
            _ => 0,
        };
        let named = |set: usize| self.model.mtypes.get(set)?.names.iter().find(|(_, v)| *v == value);
        named(set).map_or(value.to_string(), |(name, _)| name.clone())
    }
}

fn symbol(op: Binary) -> &'static str {
    match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Rem => "%",
        Binary::Shl => "<<",
        Binary::Shr => ">>",
        Binary::BitAnd => "&",
        Binary::BitOr => "|",
        Binary::BitXor => "^",
        Binary::Lt => "<",
        Binary::Le => "<=",
        Binary::Gt => ">",
        Binary::Ge => ">=",
        Binary::Eq => "==",
        Binary::Ne => "!=",
        Binary::And => "&&",
        Binary::Or => "||",
    }
}
