//! Expressions and places.

use std::rc::Rc;

use super::{Parse, Parser};
use crate::ast::{Access, Basic, Binary, ChanTest, Expr, ExprKind, Place, Type, Unary, Var, VarRef};
use crate::error::Pos;
use crate::lexer::Tok;

/// More operators in a row than this are not a model, and would exhaust the stack.
pub(super) const LONGEST_CHAIN: u32 = 500;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.binary(0)
    }

    /// An expression that must be a constant.
    pub(super) fn constant(&mut self, what: &str) -> Parse<i32> {
        let at = self.at();
        let value = self.unary()?;
        let value =
            if self.peek().is("]") || self.peek().is(",") { value } else { self.binary_after(value, 0)? };
        match fold(&value) {
            Some(value) => Ok(value),
            None => self.fail(at, format!("{what} must be a constant")),
        }
    }

    pub(super) fn binary(&mut self, level: u8) -> Parse<Expr> {
        let left = self.nested(Self::unary)?;
        self.binary_after(left, level)
    }

    pub(super) fn binary_after(&mut self, mut left: Expr, level: u8) -> Parse<Expr> {
        let mut operators = 0;
        while let Tok::Op(op) = self.peek().tok {
            let Some((precedence, op)) = binary_op(op) else { break };
            if precedence <= level || (self.in_ltl && precedence <= 5) {
                break;
            }
            // Each operator makes the tree a level deeper.
            operators += 1;
            if operators > LONGEST_CHAIN {
                let message = format!("more than {LONGEST_CHAIN} operators in a row");
                return self.fail_with(self.at(), message, "split the expression");
            }
            self.next();
            let right = self.nested(|p| p.binary(precedence))?;
            let at = left.at;
            left = Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), at };
        }
        Ok(left)
    }

    pub(super) fn unary(&mut self) -> Parse<Expr> {
        let at = self.at();
        let op = match self.peek().tok {
            Tok::Op("!") => Unary::Not,
            Tok::Op("~") => Unary::Complement,
            Tok::Op("-") => Unary::Neg,
            _ => return self.primary(),
        };
        self.next();
        let operand = self.nested(Self::unary)?;
        if let (Unary::Neg, ExprKind::Const(value)) = (op, &operand.kind) {
            return Ok(Expr { kind: ExprKind::Const(value.wrapping_neg()), at });
        }
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), at })
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = self.peek().clone();
        let at = token.at;
        match &token.tok {
            Tok::Num(value) => {
                self.next();
                let small = i32::try_from(*value).or_else(|_| u32::try_from(*value).map(|v| v as i32));
                match small {
                    Ok(value) => Ok(Expr { kind: ExprKind::Const(value), at }),
                    Err(_) => self.fail(at, format!("{value} does not fit in 32 bits")),
                }
            }
            Tok::Op("(") => {
                self.next();
                let ltl = std::mem::replace(&mut self.in_ltl, false);
                let inner = self.nested(Self::conditional);
                self.in_ltl = ltl;
                let inner = inner?;
                self.expect(")")?;
                Ok(inner)
            }
            Tok::Ident(word) => self.word_expression(word.clone(), at),
            Tok::Str(_) => self.fail(at, "a text in quotes can only be printed"),
            _ => self.fail(at, format!("expected an expression, found '{}'", token.text())),
        }
    }

    /// `c -> a : b`, within parentheses, or a plain expression.
    fn conditional(&mut self) -> Parse<Expr> {
        let condition = self.expression()?;
        if !self.accept("->") {
            return Ok(condition);
        }
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.expression()?;
        let at = condition.at;
        Ok(Expr { kind: ExprKind::Cond(Box::new(condition), Box::new(yes), Box::new(no)), at })
    }

    fn word_expression(&mut self, word: Rc<str>, at: Pos) -> Parse<Expr> {
        if self.lookup(&word).is_some() && !self.is_remote() {
            let place = self.place()?;
            let op = self.peek().clone();
            if (op.is("?") || op.is("??")) && (self.peek_at(1).is("[") || self.peek_at(1).is("[]")) {
                self.next();
                self.expect("[")?;
                let args = self.recv_args()?;
                self.expect("]")?;
                self.check_arity(&place, args.len(), at);
                return Ok(Expr { kind: ExprKind::Poll { chan: place, anywhere: op.is("??"), args }, at });
            }
            if self.peek().is("++") || self.peek().is("--") {
                return self.fail_with(self.at(), "++ and -- are statements, not expressions", "write x + 1");
            }
            return Ok(Expr { kind: ExprKind::Place(place), at });
        }
        if let Some(&value) = self.constants.get(&word) {
            self.next();
            return Ok(Expr { kind: ExprKind::Const(value), at });
        }
        let simple = match &*word {
            "true" => Some(ExprKind::Const(1)),
            "skip" => Some(ExprKind::Const(1)),
            "false" => Some(ExprKind::Const(0)),
            "timeout" => Some(ExprKind::Timeout),
            "np_" => Some(ExprKind::NonProgress),
            "_pid" => Some(ExprKind::Pid),
            "_nr_pr" => Some(ExprKind::NrPr),
            "_last" => {
                self.model.uses_last = true;
                Some(ExprKind::Last)
            }
            "_priority" => {
                self.model.uses_priority = true;
                Some(ExprKind::GetPriority(Box::new(Expr { kind: ExprKind::Pid, at })))
            }
            _ => None,
        };
        if let Some(kind) = simple {
            self.next();
            return Ok(Expr { kind, at });
        }
        match &*word {
            "len" | "full" | "empty" | "nfull" | "nempty" => {
                self.next();
                self.expect("(")?;
                let chan = self.place()?;
                self.expect(")")?;
                let kind = match &*word {
                    "len" => ExprKind::Len(chan),
                    "full" => ExprKind::ChanTest(ChanTest::Full, chan),
                    "empty" => ExprKind::ChanTest(ChanTest::Empty, chan),
                    "nfull" => ExprKind::ChanTest(ChanTest::NFull, chan),
                    _ => ExprKind::ChanTest(ChanTest::NEmpty, chan),
                };
                Ok(Expr { kind, at })
            }
            "enabled" | "pc_value" | "get_priority" => {
                self.next();
                self.expect("(")?;
                let pid = Box::new(self.expression()?);
                self.expect(")")?;
                let kind = match &*word {
                    "enabled" => ExprKind::Enabled(pid),
                    "pc_value" => ExprKind::PcValue(pid),
                    _ => {
                        self.model.uses_priority = true;
                        ExprKind::GetPriority(pid)
                    }
                };
                Ok(Expr { kind, at })
            }
            "set_priority" => {
                self.next();
                self.expect("(")?;
                let pid = Box::new(self.expression()?);
                self.expect(",")?;
                let value = Box::new(self.expression()?);
                self.expect(")")?;
                self.model.uses_priority = true;
                Ok(Expr { kind: ExprKind::SetPriority(pid, value), at })
            }
            "run" => self.run(at),
            "c_expr" => self.refuse_c(&word, at),
            _ if self.is_remote() => self.remote(&word, at),
            _ => {
                self.next();
                if self.peek().is("(") {
                    return self.fail_with(
                        at,
                        format!("'{word}' is not an inline or a function"),
                        "declare it before its use",
                    );
                }
                self.fail_with(at, format!("'{word}' is not declared"), "declare it before its use")
            }
        }
    }

    fn run(&mut self, at: Pos) -> Parse<Expr> {
        self.next();
        let name = self.name("the name of a process type")?;
        let Some(&proc) = self.proc_names.get(&name) else {
            return self.fail(at, format!("no proctype '{name}'"));
        };
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.accept(")") {
            args.push(self.expression()?);
            if self.peek().is(")") {
                continue;
            }
            self.expect(",")?;
            if self.peek().is(")") {
                return self.fail(self.at(), "expected an argument, found ')'");
            }
        }
        let mut priority = None;
        if self.accept_word("priority") {
            self.model.uses_priority = true;
            priority = Some(Box::new(self.unary()?));
        }
        Ok(Expr { kind: ExprKind::Run { proc, args, priority }, at })
    }

    /// Whether `P[i]@label`, `P[i]:x`, `P@label` or `P:x` begins here.
    pub(super) fn is_remote(&self) -> bool {
        let Some(word) = self.peek().word() else { return false };
        if !self.proc_names.contains_key(word) {
            return false;
        }
        if self.peek_at(1).is("@") || (self.peek_at(1).is(":") && self.lookup(word).is_none()) {
            return true;
        }
        if !self.peek_at(1).is("[") {
            return false;
        }
        let mut depth = 0;
        for ahead in 1..500 {
            let token = self.peek_at(ahead);
            depth += i32::from(token.is("[")) - i32::from(token.is("]"));
            if token.tok == Tok::Eof {
                return false;
            }
            if depth == 0 {
                let after = self.peek_at(ahead + 1);
                return after.is("@") || after.is(":");
            }
        }
        false
    }

    fn remote(&mut self, word: &Rc<str>, at: Pos) -> Parse<Expr> {
        let proc = self.proc_names[word];
        self.next();
        let pid = if self.accept("[") {
            let pid = self.expression()?;
            self.expect("]")?;
            Some(Box::new(pid))
        } else {
            None
        };
        if self.accept("@") {
            let label = self.name("a label")?.to_string();
            self.model.remote_labels.push((proc, label.clone()));
            return Ok(Expr { kind: ExprKind::RemoteLabel { proc, pid, label }, at });
        }
        self.expect(":")?;
        let at = self.at();
        let name = self.name("a local variable")?;
        let declared =
            self.model.procs.get(proc).map(|p| &p.locals).or(self.current.as_ref().map(|p| &p.locals));
        let Some(index) = declared.and_then(|locals| locals.iter().position(|v| v.name == *name)) else {
            return self.fail_with(
                at,
                format!("'{word}' has no variable '{name}'"),
                "a process type must come before the references to its variables",
            );
        };
        let var = declared.expect("found in it")[index].clone();
        let mut place = Place { var: VarRef::Local(index), path: Vec::new(), at };
        self.accesses(&mut place, &var)?;
        Ok(Expr { kind: ExprKind::RemoteVar { proc, pid, place }, at })
    }

    /// A variable or a part of one.
    pub(super) fn place_or_array(&mut self) -> Parse<Place> {
        let at = self.at();
        let name = self.name("a variable")?;
        let Some(var) = self.lookup(&name) else {
            return self.fail_with(at, format!("'{name}' is not declared"), "declare it before its use");
        };
        let declared = self.var(var).clone();
        let mut place = Place { var, path: Vec::new(), at };
        self.accesses(&mut place, &declared)?;
        Ok(place)
    }

    /// A variable or a part of one, that is not a whole array.
    pub(super) fn place(&mut self) -> Parse<Place> {
        let place = self.place_or_array()?;
        match self.type_of(&place) {
            Some((_, Some(_))) => self.fail_with(place.at, "an array has no value", "name an element: a[0]"),
            _ => Ok(place),
        }
    }

    fn accesses(&mut self, place: &mut Place, declared: &Var) -> Parse<()> {
        let (mut ty, mut array, mut name) = (declared.ty, declared.array, declared.name.clone());
        loop {
            if self.peek().is("[") {
                if array.is_none() {
                    return self.fail(self.at(), format!("'{name}' is not an array"));
                }
                self.next();
                let ltl = std::mem::replace(&mut self.in_ltl, false);
                let index = self.expression();
                self.in_ltl = ltl;
                self.expect("]")?;
                place.path.push(Access::Index(Box::new(index?)));
                array = None;
            } else if self.peek().is(".") {
                let Type::Struct(index) = ty else {
                    return self.fail(self.at(), format!("'{name}' has no fields"));
                };
                if array.is_some() {
                    return self.fail_with(self.at(), "an array has no fields", "name an element: a[0]");
                }
                self.next();
                let at = self.at();
                let field = self.name("a field")?;
                let fields = &self.model.typedefs[index].fields;
                let Some(number) = fields.iter().position(|f| f.name == *field) else {
                    let ty = self.model.typedefs[index].name.clone();
                    return self.fail(at, format!("'{ty}' has no field '{field}'"));
                };
                let found = &fields[number];
                place.path.push(Access::Field(number));
                (ty, array, name) = (found.ty, found.array, found.name.clone());
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn var(&self, var: VarRef) -> &Var {
        match var {
            VarRef::Global(index) => &self.model.globals[index],
            VarRef::Local(index) => &self.current.as_ref().expect("a process is being read").locals[index],
        }
    }

    /// The type of a place, and its length if it is a whole array.
    pub(super) fn type_of(&self, place: &Place) -> Option<(Type, Option<u32>)> {
        let declared = self.var(place.var);
        let (mut ty, mut array) = (declared.ty, declared.array);
        for step in &place.path {
            match (step, ty) {
                (Access::Index(_), _) => array = None,
                (Access::Field(number), Type::Struct(index)) => {
                    let field = &self.model.typedefs[index].fields[*number];
                    (ty, array) = (field.ty, field.array);
                }
                (Access::Field(_), Type::Basic(Basic::Bit | _)) => return None,
            }
        }
        Some((ty, array))
    }
}

fn binary_op(op: &str) -> Option<(u8, Binary)> {
    Some(match op {
        "||" => (1, Binary::Or),
        "&&" => (2, Binary::And),
        "|" => (3, Binary::BitOr),
        "^" => (4, Binary::BitXor),
        "&" => (5, Binary::BitAnd),
        "==" => (6, Binary::Eq),
        "!=" => (6, Binary::Ne),
        "<" => (7, Binary::Lt),
        "<=" => (7, Binary::Le),
        ">" => (7, Binary::Gt),
        ">=" => (7, Binary::Ge),
        "<<" => (8, Binary::Shl),
        ">>" => (8, Binary::Shr),
        "+" => (9, Binary::Add),
        "-" => (9, Binary::Sub),
        "*" => (10, Binary::Mul),
        "/" => (10, Binary::Div),
        "%" => (10, Binary::Rem),
        _ => return None,
    })
}

/// The value of a constant expression.
pub(crate) fn fold(value: &Expr) -> Option<i32> {
    match &value.kind {
        ExprKind::Const(value) => Some(*value),
        ExprKind::Unary(op, a) => Some(apply_unary(*op, fold(a)?)),
        ExprKind::Binary(op, a, b) => apply_binary(*op, fold(a)?, fold(b)?),
        ExprKind::Cond(c, a, b) => {
            if fold(c)? != 0 {
                fold(a)
            } else {
                fold(b)
            }
        }
        _ => None,
    }
}

/// The value of an operator of one operand, as C computes it.
#[inline]
pub(crate) fn apply_unary(op: Unary, a: i32) -> i32 {
    match op {
        Unary::Neg => a.wrapping_neg(),
        Unary::Not => i32::from(a == 0),
        Unary::Complement => !a,
    }
}

/// The value of an operator of two operands, as C computes it; `None` for a division by zero.
#[inline]
pub(crate) fn apply_binary(op: Binary, a: i32, b: i32) -> Option<i32> {
    Some(match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div if b == 0 => return None,
        Binary::Rem if b == 0 => return None,
        Binary::Div => a.wrapping_div(b),
        Binary::Rem => a.wrapping_rem(b),
        Binary::Shl => a.wrapping_shl(b as u32),
        Binary::Shr => a.wrapping_shr(b as u32),
        Binary::BitAnd => a & b,
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::Lt => i32::from(a < b),
        Binary::Le => i32::from(a <= b),
        Binary::Gt => i32::from(a > b),
        Binary::Ge => i32::from(a >= b),
        Binary::Eq => i32::from(a == b),
        Binary::Ne => i32::from(a != b),
        Binary::And => i32::from(a != 0 && b != 0),
        Binary::Or => i32::from(a != 0 || b != 0),
    })
}
