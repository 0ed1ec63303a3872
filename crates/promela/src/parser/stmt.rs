//! Statements and sequences.

use std::collections::HashMap;

use super::{Parse, Parser};
use crate::ast::{
    Access, Basic, Binary, Exclusive, Expr, ExprKind, Place, RecvArg, Seq, Stmt, StmtKind, Type,
};
use crate::error::Pos;
use crate::lexer::{Tok, Token};

/// `select` over at most this many literal values is one choice, as in Spin.
const WIDEST_SELECT: i32 = 32;

impl Parser<'_> {
    /// Statements up to something that closes a sequence.
    pub(super) fn sequence(&mut self) -> Parse<Seq> {
        let mut list = Vec::new();
        let mut failed = false;
        loop {
            while self.accept(";") || self.accept("->") {}
            let token = self.peek();
            if token.tok == Tok::Eof
                || token.is("}")
                || token.is("::")
                || token.is_word("od")
                || token.is_word("fi")
            {
                break;
            }
            let (start, frames) = (self.frames.last().expect("a frame").1, self.frames.len());
            match self.step(&mut list) {
                Ok(()) => {
                    let token = self.peek();
                    let separated = token.is(";") || token.is("->") || token.line_start;
                    let closed =
                        token.is("}") || token.is("::") || token.is_word("od") || token.is_word("fi");
                    let done = list.last().is_some_and(|s: &Stmt| matches!(s.kind, StmtKind::Else));
                    let needless = done || self.after_brace();
                    if !separated && !closed && !needless && token.tok != Tok::Eof {
                        let found = token.text();
                        self.note(self.at(), format!("expected ';' or '->', found '{found}'"), None);
                        failed = true;
                        self.recover(start, frames);
                    }
                }
                Err(super::Failed) => {
                    failed = true;
                    self.recover(start, frames);
                }
            }
            if self.errors.len() > super::MOST_ERRORS {
                return Err(super::Failed);
            }
        }
        if failed { Err(super::Failed) } else { Ok(list) }
    }

    /// Whether a brace or the call of an inline has just been closed: no separator needs to follow, as in Spin.
    fn after_brace(&self) -> bool {
        let (tokens, index) = self.frames.last().expect("the model's frame stays");
        let brace = index.checked_sub(1).is_some_and(|before| tokens[before].is("}"));
        brace || self.call_end == (self.frames.len(), *index)
    }

    /// Goes on after an error, at the next separator.
    fn recover(&mut self, start: usize, frames: usize) {
        self.frames.truncate(frames);
        if self.frames.last().expect("a frame").1 == start {
            self.next();
        }
        loop {
            let token = self.peek();
            let stop = token.is(";") || token.is("->") || token.is("::") || token.is("}");
            if stop || token.tok == Tok::Eof || token.is_word("od") || token.is_word("fi") {
                return;
            }
            self.next();
        }
    }

    pub(super) fn block(&mut self) -> Parse<Seq> {
        self.expect("{")?;
        let seq = self.scoped()?;
        self.expect("}")?;
        if seq.is_empty() { self.fail(self.at(), "a block needs at least one statement") } else { Ok(seq) }
    }

    fn scoped(&mut self) -> Parse<Seq> {
        self.scopes.push(HashMap::new());
        let seq = self.nested(Self::sequence);
        self.scopes.pop();
        seq
    }

    /// One statement or declaration, with its labels and a following `unless`.
    fn step(&mut self, list: &mut Seq) -> Parse<()> {
        let at = self.at();
        if self.begins_declaration() {
            list.extend(self.declaration(Some(()))?);
            return Ok(());
        }
        if self.peek().is_word("xr") || self.peek().is_word("xs") {
            let receive = self.next().is_word("xr");
            loop {
                let chan = self.place()?;
                let process = self.current.as_mut().expect("a process is being read");
                process.exclusive.push(Exclusive { receive, chan });
                if !self.accept(",") {
                    return Ok(());
                }
            }
        }
        let mut labels = Vec::new();
        while self.peek().word().is_some() && self.peek_at(1).is(":") && !self.peek().is_word("else") {
            let label = self.new_name("a label")?;
            labels.push(self.label_here(&label));
            self.next();
            let token = self.peek();
            if token.is("}") || token.is("::") || token.is_word("od") || token.is_word("fi") {
                // A label at the end of a sequence, as Spin tolerates it.
                let kind = StmtKind::Expr(Expr { kind: ExprKind::Const(1), at });
                list.push(Stmt { id: self.fresh(), labels, kind, at });
                self.started = true;
                return Ok(());
            }
        }
        let mut statement = self.one_statement(labels, list)?;
        self.started = true;
        if self.peek().is_word("unless") {
            if self.in_trace {
                return self.fail(self.at(), "a trace has no 'unless'");
            }
            if let StmtKind::Else = statement.kind {
                return self.fail(self.at(), "expected ';' or '->' after 'else', found 'unless'");
            }
            // As in Spin: a label stands before a block, not before one statement or within the block.
            let misplaced = match &statement.kind {
                StmtKind::Block(seq) => seq.first().is_some_and(|first| !first.labels.is_empty()),
                kind => !statement.labels.is_empty() && !ends_in_brace(kind),
            };
            if misplaced {
                return self.fail_with(
                    at,
                    "a label before 'unless' is misplaced",
                    "write L: { ... } unless ...",
                );
            }
            self.next();
            let escape = self.one_statement(Vec::new(), list)?;
            let labels = std::mem::take(&mut statement.labels);
            // As in Spin, a part without braces is an element of the model only now, the escape first.
            let mut unwrap = |s: Stmt| match s.kind {
                StmtKind::Block(seq) if s.labels.is_empty() => seq,
                _ => vec![Stmt { id: self.fresh(), ..s }],
            };
            let escape = unwrap(escape);
            let kind = StmtKind::Unless(unwrap(statement), escape);
            statement = Stmt { id: self.fresh(), labels, kind, at };
        }
        list.push(statement);
        Ok(())
    }

    /// A statement without its `unless`. As in Spin, the first step of a loop that counts stands before both.
    fn one_statement(&mut self, labels: Vec<String>, list: &mut Seq) -> Parse<Stmt> {
        let at = self.at();
        if !self.in_trace && (self.peek().is_word("for") || self.peek().is_word("select")) {
            let mut steps = if self.peek().is_word("for") { self.for_loop()? } else { self.select()? };
            steps[0].labels = labels;
            let last = steps.pop().expect("a loop has a step");
            list.append(&mut steps);
            return Ok(last);
        }
        let kind = self.nested(Self::statement)?;
        Ok(Stmt { id: self.fresh(), labels, kind, at })
    }

    fn statement(&mut self) -> Parse<StmtKind> {
        let token = self.peek().clone();
        if token.is("{") {
            return Ok(StmtKind::Block(self.block()?));
        }
        let Some(word) = token.word().cloned() else { return self.other_statement() };
        let control = ["if", "do", "goto", "break"].contains(&&*word);
        if self.in_trace && !control {
            return self.event();
        }
        match &*word {
            "if" => {
                self.next();
                Ok(StmtKind::If(self.options("fi")?))
            }
            "do" => {
                self.next();
                Ok(StmtKind::Do(self.options("od")?))
            }
            "atomic" => {
                self.next();
                let mut body = self.block()?;
                self.join(&mut body);
                Ok(StmtKind::Atomic(body))
            }
            "d_step" => {
                self.next();
                let body = self.block()?;
                let mut escape = None;
                crate::check::visit(&body, &mut |stmt| {
                    if let StmtKind::Unless(..) = stmt.kind {
                        escape = Some(stmt.at);
                    }
                });
                match escape {
                    Some(at) => self.fail_with(at, "'unless' within a d_step", "use atomic"),
                    None => Ok(StmtKind::DStep(body)),
                }
            }
            "goto" => {
                self.next();
                let label = self.name("a label")?;
                Ok(StmtKind::Goto(self.goto_here(&label)))
            }
            "break" => {
                self.next();
                Ok(StmtKind::Break)
            }
            "else" => {
                self.next();
                Ok(StmtKind::Else)
            }
            "skip" => {
                self.next();
                Ok(StmtKind::Expr(Expr { kind: ExprKind::Const(1), at: token.at }))
            }
            "assert" => {
                self.next();
                Ok(StmtKind::Assert(self.expression()?))
            }
            "printf" => self.printf(),
            "printm" => {
                self.next();
                self.expect("(")?;
                let value = self.expression()?;
                self.expect(")")?;
                Ok(StmtKind::Printm(value))
            }
            "c_code" | "c_expr" | "c_decl" => self.refuse_c(&word, token.at),
            "return" => self.return_value(token.at),
            _ if self.begins_call() => {
                self.next();
                self.inline_call(&word, token.at, None)
            }
            _ => self.other_statement(),
        }
    }

    /// Where a choice or an `unless` ends an atomic sequence, control leaves it at an element behind them, as in Spin.
    fn join(&mut self, body: &mut Seq) {
        match body.last_mut() {
            Some(Stmt { kind: StmtKind::Block(inner), .. }) => self.join(inner),
            Some(Stmt { kind: StmtKind::If(_) | StmtKind::Unless(..), at, .. }) => {
                let join = self.make(StmtKind::Join, *at);
                body.push(join);
            }
            _ => {}
        }
    }

    /// Whether a call of an inline begins here.
    fn begins_call(&self) -> bool {
        self.peek().word().is_some_and(|word| self.inlines.contains_key(word)) && self.peek_at(1).is("(")
    }

    /// `return value`: an assignment to what stands before the call. As in Spin, control goes on in the inline.
    fn return_value(&mut self, at: Pos) -> Parse<StmtKind> {
        self.next();
        let Some(Some(place)) = self.returns.last().cloned() else {
            return self.fail_with(
                at,
                "'return' outside an inline whose value is assigned",
                "call the inline as x = name(...)",
            );
        };
        // The target was named where the inline was called: its parameters and locals do not hide it.
        Ok(StmtKind::Assign(place, self.expression()?))
    }

    /// A statement of a trace: a message that is sent or received.
    fn event(&mut self) -> Parse<StmtKind> {
        let at = self.at();
        let chan = self.place()?;
        let send = self.peek().is("!") || self.peek().is("!!");
        if !send && !self.peek().is("?") && !self.peek().is("??") || self.peek_at(1).is("[") {
            return self.fail(at, "expected a send or a receive: a trace has no other statements");
        }
        if let crate::ast::VarRef::Local(_) = chan.var {
            return self.fail_with(at, "a trace names global channels", "declare the channel outside");
        }
        self.next();
        let args = self.recv_args()?;
        self.check_arity(&chan, args.len(), at);
        Ok(StmtKind::Event { send, chan, args })
    }

    fn options(&mut self, end: &str) -> Parse<Vec<Seq>> {
        let mut list = Vec::new();
        while self.accept("::") {
            let at = self.at();
            let seq = self.option()?;
            if seq.is_empty() {
                return self.fail(at, "an option needs at least one statement");
            }
            let is_else = |seq: &Seq| matches!(seq[0].kind, StmtKind::Else);
            if is_else(&seq) && list.iter().any(is_else) {
                return self.fail(at, "a second 'else' in one choice");
            }
            list.push(seq);
        }
        if list.is_empty() {
            return self.fail(self.at(), format!("expected '::', found '{}'", self.peek().text()));
        }
        if !self.accept_word(end) {
            return self.fail(self.at(), format!("expected '::' or '{end}', found '{}'", self.peek().text()));
        }
        Ok(list)
    }

    /// As in Spin, what an option declares is known until the next brace is closed.
    fn option(&mut self) -> Parse<Seq> {
        self.scopes.push(HashMap::new());
        let seq = self.nested(Self::sequence);
        let declared = self.scopes.pop().expect("the scope of the option");
        self.scopes.last_mut().expect("the scope of the process").extend(declared);
        seq
    }

    fn printf(&mut self) -> Parse<StmtKind> {
        self.next();
        self.expect("(")?;
        let text = match self.next() {
            Token { tok: Tok::Str(text), .. } => text.to_string(),
            token => {
                return self.fail(token.at, format!("expected a text in quotes, found '{}'", token.text()));
            }
        };
        let mut args = Vec::new();
        while self.accept(",") {
            args.push(self.expression()?);
        }
        self.expect(")")?;
        Ok(StmtKind::Printf(text, args))
    }

    /// An assignment, a send, a receive, or an expression used as a statement.
    fn other_statement(&mut self) -> Parse<StmtKind> {
        let at = self.at();
        if self.peek().is_word("_priority") && self.peek_at(1).is("=") {
            self.next();
            self.next();
            self.model.uses_priority = true;
            let me = Box::new(Expr { kind: ExprKind::Pid, at });
            let value = Box::new(self.expression()?);
            return Ok(StmtKind::Expr(Expr { kind: ExprKind::SetPriority(me, value), at }));
        }
        if self.peek().word().is_some_and(|w| self.lookup(w).is_some()) && !self.is_remote() {
            let (frame, index) = (self.frames.len(), self.frames.last().expect("a frame").1);
            let place = self.place()?;
            let op = self.peek().clone();
            match &op.tok {
                Tok::Op("=") => {
                    self.next();
                    if self.begins_call() {
                        let name = self.name("an inline")?;
                        return self.inline_call(&name, at, Some(place));
                    }
                    let value = self.expression()?;
                    return Ok(StmtKind::Assign(place, value));
                }
                Tok::Op(op @ ("++" | "--")) => {
                    let op = if *op == "++" { Binary::Add } else { Binary::Sub };
                    self.next();
                    return Ok(StmtKind::Assign(place.clone(), step_by_one(place, op, at)));
                }
                Tok::Op("!" | "!!") if self.is_chan(&place) => {
                    self.next();
                    let sorted = op.is("!!");
                    let args = self.send_args()?;
                    self.check_arity(&place, args.len(), at);
                    return Ok(StmtKind::Send { chan: place, sorted, args });
                }
                Tok::Op("?" | "??") if self.is_chan(&place) && !self.peek_at(1).is("[") => {
                    self.next();
                    let keep = self.accept("<");
                    let args = self.recv_args()?;
                    if keep {
                        self.expect(">")?;
                    }
                    self.check_arity(&place, args.len(), at);
                    return Ok(StmtKind::Recv { chan: place, anywhere: op.is("??"), keep, args });
                }
                _ => {}
            }
            debug_assert_eq!(self.frames.len(), frame);
            self.frames.last_mut().expect("a frame").1 = index;
        }
        Ok(StmtKind::Expr(self.expression()?))
    }

    fn send_args(&mut self) -> Parse<Vec<Expr>> {
        let mut args = Vec::new();
        self.send_arg(&mut args)?;
        if self.peek().is("(") {
            self.next();
            loop {
                self.send_arg(&mut args)?;
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(")")?;
        } else {
            while self.accept(",") {
                self.send_arg(&mut args)?;
            }
        }
        Ok(args)
    }

    /// One argument; a structure stands for its fields.
    fn send_arg(&mut self, out: &mut Vec<Expr>) -> Parse<()> {
        let value = self.expression()?;
        match &value.kind {
            ExprKind::Place(place) if matches!(self.type_of(place), Some((Type::Struct(_), _))) => {
                for part in self.parts(place.clone()) {
                    out.push(Expr { at: part.at, kind: ExprKind::Place(part) });
                }
            }
            _ => out.push(value),
        }
        Ok(())
    }

    /// Arguments of a receive: `a, b`, `a(b, c)`, `(a, b)`, as Spin's grammar has them.
    pub(super) fn recv_args(&mut self) -> Parse<Vec<RecvArg>> {
        let mut args = Vec::new();
        loop {
            if !self.peek().is("(") {
                self.recv_arg(&mut args)?;
            }
            if self.accept("(") {
                args.append(&mut self.nested(Self::recv_args)?);
                self.expect(")")?;
                return Ok(args);
            }
            if !self.accept(",") {
                return Ok(args);
            }
        }
    }

    fn recv_arg(&mut self, out: &mut Vec<RecvArg>) -> Parse<()> {
        let token = self.peek().clone();
        if token.is_word("_") {
            self.next();
            out.push(RecvArg::Any);
        } else if token.is_word("eval") {
            self.next();
            self.expect("(")?;
            let value = self.expression()?;
            self.expect(")")?;
            match &value.kind {
                ExprKind::Place(place) if matches!(self.type_of(place), Some((Type::Struct(_), _))) => {
                    for part in self.parts(place.clone()) {
                        out.push(RecvArg::Match(Expr { at: part.at, kind: ExprKind::Place(part) }));
                    }
                }
                _ => out.push(RecvArg::Match(value)),
            }
        } else if token.word().is_some_and(|w| self.lookup(w).is_some()) {
            let place = self.place()?;
            if matches!(self.type_of(&place), Some((Type::Struct(_), _))) {
                out.extend(self.parts(place).into_iter().map(RecvArg::Bind));
            } else {
                out.push(RecvArg::Bind(place));
            }
        } else {
            // A constant: a number, a negative number, or a symbolic name.
            let value = self.unary()?;
            if !matches!(value.kind, ExprKind::Const(_)) {
                return self.fail_with(
                    token.at,
                    "expected a variable, a constant, '_' or 'eval'",
                    "write eval(...) around an expression",
                );
            }
            out.push(RecvArg::Match(value));
        }
        Ok(())
    }

    /// The basic parts of a place, in order.
    fn parts(&self, place: Place) -> Vec<Place> {
        let mut out = Vec::new();
        if let Some((ty, array)) = self.type_of(&place) {
            self.parts_of(place, ty, array, &mut out);
        }
        out
    }

    fn parts_of(&self, place: Place, ty: Type, array: Option<u32>, out: &mut Vec<Place>) {
        if let Some(length) = array {
            for index in 0..length.min(4096) {
                let mut part = place.clone();
                let value = Expr { kind: ExprKind::Const(index as i32), at: place.at };
                part.path.push(Access::Index(Box::new(value)));
                self.parts_of(part, ty, None, out);
            }
            return;
        }
        match ty {
            Type::Basic(_) => out.push(place),
            Type::Struct(index) => {
                for (number, field) in self.model.typedefs[index].fields.iter().enumerate() {
                    let mut part = place.clone();
                    part.path.push(Access::Field(number));
                    self.parts_of(part, field.ty, field.array, out);
                }
            }
        }
    }

    /// Notes a message of the wrong length, where the channel is known from its declaration.
    pub(super) fn check_arity(&mut self, chan: &Place, found: usize, at: Pos) {
        if let Some(init) = self.var(chan.var).chan.clone()
            && chan.path.iter().all(|step| matches!(step, Access::Index(_)))
            && init.fields.len() < found
        {
            let (name, expected) = (self.var(chan.var).name.clone(), init.fields.len());
            self.note(at, format!("a message of '{name}' has {expected} fields, found {found} values"), None);
        }
    }

    fn is_chan(&self, place: &Place) -> bool {
        matches!(self.type_of(place), Some((Type::Basic(_), _)))
    }

    fn make(&mut self, kind: StmtKind, at: Pos) -> Stmt {
        Stmt { id: self.fresh(), labels: Vec::new(), kind, at }
    }

    /// `for (i : a .. b)`, `for (i in array)`, `for (message in channel)`, written out as Spin does.
    fn for_loop(&mut self) -> Parse<Seq> {
        let at = self.at();
        self.next();
        self.expect("(")?;
        let place = self.place()?;
        let variable = Expr { kind: ExprKind::Place(place.clone()), at };
        let binary =
            |op, a: &Expr, b: Expr| Expr { kind: ExprKind::Binary(op, Box::new(a.clone()), Box::new(b)), at };
        let (first, guard, mut body, last);
        if self.accept(":") {
            let low = self.expression()?;
            self.expect("..")?;
            let high = self.expression()?;
            self.expect(")")?;
            first = self.make(StmtKind::Assign(place.clone(), low), at);
            guard = binary(Binary::Le, &variable, high);
            body = self.block()?;
            last = StmtKind::Assign(place.clone(), step_by_one(place, Binary::Add, at));
        } else if self.accept_word("in") {
            let list = self.place_or_array()?;
            self.expect(")")?;
            let zero = Expr { kind: ExprKind::Const(0), at };
            match self.type_of(&list) {
                Some((_, Some(length))) => {
                    first = self.make(StmtKind::Assign(place.clone(), zero), at);
                    let high = Expr { kind: ExprKind::Const(length as i32 - 1), at };
                    guard = binary(Binary::Le, &variable, high);
                    body = self.block()?;
                    last = StmtKind::Assign(place.clone(), step_by_one(place, Binary::Add, at));
                }
                Some((Type::Basic(Basic::Chan), None)) => {
                    // As in Spin, the message is a structure of the type that the channel is declared with.
                    let mut fields = Vec::new();
                    if let Some((ty @ Type::Struct(_), None)) = self.type_of(&place) {
                        self.flatten(ty, None, &mut fields);
                    }
                    let declared = self.var(list.var).chan.as_ref().map(|init| &init.fields);
                    if fields.is_empty() || declared != Some(&fields) {
                        return self.fail_with(
                            at,
                            "the channel does not carry what this loop reads",
                            "declare a typedef, the channel of that type, and a variable of it",
                        );
                    }
                    let counter = self.temporary(at);
                    let counted = Expr { kind: ExprKind::Place(counter.clone()), at };
                    first = self.make(StmtKind::Assign(counter.clone(), zero), at);
                    guard = binary(Binary::Lt, &counted, Expr { kind: ExprKind::Len(list.clone()), at });
                    let parts = self.parts(place);
                    let args = parts.iter().cloned().map(RecvArg::Bind).collect();
                    let take = StmtKind::Recv { chan: list.clone(), anywhere: false, keep: false, args };
                    let args = parts.into_iter().map(|p| Expr { kind: ExprKind::Place(p), at }).collect();
                    let put = StmtKind::Send { chan: list, sorted: false, args };
                    body = vec![self.make(take, at), self.make(put, at)];
                    body.extend(self.block()?);
                    last = StmtKind::Assign(counter.clone(), step_by_one(counter, Binary::Add, at));
                }
                _ => return self.fail(at, "expected an array or a channel after 'in'"),
            }
        } else {
            return self.fail(self.at(), format!("expected ':' or 'in', found '{}'", self.peek().text()));
        }
        let mut round = vec![self.make(StmtKind::Expr(guard), at)];
        round.append(&mut body);
        round.push(self.make(last, at));
        let leave = vec![self.make(StmtKind::Else, at), self.make(StmtKind::Break, at)];
        let looping = self.make(StmtKind::Do(vec![round, leave]), at);
        Ok(vec![first, looping])
    }

    /// `select (i : a .. b)`: one choice where the bounds are literal, otherwise a loop.
    fn select(&mut self) -> Parse<Seq> {
        let at = self.at();
        self.next();
        self.expect("(")?;
        let place = self.place()?;
        self.expect(":")?;
        let low = self.expression()?;
        self.expect("..")?;
        let high = self.expression()?;
        self.expect(")")?;
        if let (ExprKind::Const(a), ExprKind::Const(b)) = (&low.kind, &high.kind)
            && self.frames.len() == 1
            && a <= b
            && b.wrapping_sub(*a) < WIDEST_SELECT
        {
            let options = (*a..=*b).map(|value| {
                let value = Expr { kind: ExprKind::Const(value), at };
                vec![self.make(StmtKind::Assign(place.clone(), value), at)]
            });
            let kind = StmtKind::If(options.collect());
            return Ok(vec![self.make(kind, at)]);
        }
        let first = self.make(StmtKind::Assign(place.clone(), low), at);
        let variable = Expr { kind: ExprKind::Place(place.clone()), at };
        let guard = Expr { kind: ExprKind::Binary(Binary::Lt, Box::new(variable), Box::new(high)), at };
        let leave = vec![self.make(StmtKind::Break, at)];
        let more = StmtKind::Assign(place.clone(), step_by_one(place, Binary::Add, at));
        let round = vec![self.make(StmtKind::Expr(guard), at), self.make(more, at)];
        let looping = self.make(StmtKind::Do(vec![leave, round]), at);
        Ok(vec![first, looping])
    }
}

fn step_by_one(place: Place, op: Binary, at: Pos) -> Expr {
    let one = Expr { kind: ExprKind::Const(1), at };
    let value = Expr { kind: ExprKind::Place(place), at };
    Expr { kind: ExprKind::Binary(op, Box::new(value), Box::new(one)), at }
}

fn ends_in_brace(kind: &StmtKind) -> bool {
    use StmtKind::{Atomic, Block, DStep, Do, If, Unless};
    matches!(kind, If(_) | Do(_) | Atomic(_) | DStep(_) | Block(_) | Unless(..))
}
