//! Units and declarations: processes, variables, channels, types, symbolic names, inlines.

use std::rc::Rc;

use super::{Inline, Parse, Parser};
use crate::ast::{
    Basic, ChanInit, Expr, ExprKind, MtypeSet, Place, Stmt, StmtKind, Type, Typedef, Var, VarRef,
};
use crate::error::Pos;
use crate::lexer::{Tok, Token};

/// Larger arrays are refused: a state would not fit.
const LONGEST_ARRAY: i32 = 1 << 16;
/// Processes that can run at a time, as in Spin.
const MOST_PROCESSES: u32 = 255;
/// Types that hold more numbers, or are nested deeper, are refused.
const LARGEST_TYPE: usize = 1 << 16;
const DEEPEST_TYPE: usize = 60;
/// Inlines that expand to more tokens than this are not a model.
const LONGEST_INLINED: usize = 500_000;

impl Parser<'_> {
    pub(super) fn unit(&mut self) -> Parse<()> {
        // As in Spin, an arrow separates as a semicolon does.
        if self.accept(";") || self.accept("->") {
            return Ok(());
        }
        let token = self.peek().clone();
        let Some(word) = token.word().cloned() else {
            return self
                .fail(token.at, format!("expected a declaration or a proctype, found '{}'", token.text()));
        };
        match &*word {
            "typedef" => self.typedef(),
            "inline" => self.inline(),
            "init" | "active" | "proctype" | "D_proctype" => self.process(),
            "mtype" if self.peek_at(1).is("=") || self.peek_at(1).is("{") => self.mtype(),
            "mtype" if self.peek_at(1).is(":") && (self.peek_at(3).is("=") || self.peek_at(3).is("{")) => {
                self.mtype()
            }
            "c_code" | "c_decl" | "c_state" | "c_track" | "c_expr" => self.refuse_c(&word, token.at),
            _ if self.begins_declaration() => self.declaration(None).map(|_| ()),
            _ => self.fail(token.at, format!("expected a declaration or a proctype, found '{word}'")),
        }
    }

    pub(super) fn refuse_c<T>(&mut self, word: &str, at: Pos) -> Parse<T> {
        self.fail_with(
            at,
            format!("{word} embeds C code, which Selvedge does not run"),
            "write the step in Promela, or check this model with Spin",
        )
    }

    /// Whether a declaration begins here.
    pub(super) fn begins_declaration(&self) -> bool {
        let token = self.peek();
        let Some(word) = token.word() else { return false };
        match &**word {
            "bit" | "bool" | "byte" | "short" | "int" | "unsigned" | "mtype" | "pid" | "chan" => true,
            "hidden" | "show" | "local" => true,
            _ => self.typedefs.contains_key(word) && self.peek_at(1).word().is_some(),
        }
    }

    fn mtype(&mut self) -> Parse<()> {
        self.next();
        let set = if self.accept(":") {
            self.name("the name of a set of symbols")?.to_string()
        } else {
            String::new()
        };
        self.accept("=");
        self.expect("{")?;
        let mut names = Vec::new();
        while !self.accept("}") {
            let at = self.at();
            let name = self.name("a symbolic name")?;
            if self.constants.contains_key(&name) {
                self.note(at, format!("'{name}' is declared twice"), None);
            }
            names.push(name);
            self.accept(",");
        }
        self.accept(";");
        let number = self.mtype_set(&set);
        let before = self.model.mtypes[number].names.len();
        let total = names.len();
        for (index, name) in names.into_iter().enumerate() {
            // As in Spin, the last name of a list has the lowest number.
            let value = (before + total - index) as i32;
            self.constants.insert(name.clone(), value);
            self.model.mtypes[number].names.push((name.to_string(), value));
        }
        Ok(())
    }

    fn mtype_set(&mut self, name: &str) -> usize {
        match self.model.mtypes.iter().position(|set| set.name == name) {
            Some(number) => number,
            None => {
                self.model.mtypes.push(MtypeSet { name: name.to_string(), names: Vec::new() });
                self.model.mtypes.len() - 1
            }
        }
    }

    fn typedef(&mut self) -> Parse<()> {
        let at = self.at();
        self.next();
        let name = self.name("the name of a type")?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.accept("}") {
            if self.accept(";") || self.accept(",") {
                continue;
            }
            let (ty, hidden) = self.type_name()?;
            loop {
                let mut var = self.declarator(ty, hidden)?;
                if var.init.is_some() && !matches!(var.init, Some(Expr { kind: ExprKind::Const(_), .. })) {
                    self.note(var.at, "a field's initial value must be a constant", None);
                    var.init = None;
                }
                fields.push(var);
                if !self.accept(",") {
                    break;
                }
            }
        }
        let (mut numbers, mut depth) = (0_usize, 0);
        for field in &fields {
            let (size, deep) = match field.ty {
                Type::Basic(_) => (1, 0),
                Type::Struct(index) => self.extents[index],
            };
            numbers = numbers.saturating_add(size.saturating_mul(field.array.unwrap_or(1) as usize));
            depth = depth.max(deep + 1);
        }
        if numbers > LARGEST_TYPE || depth > DEEPEST_TYPE {
            return self.fail_with(at, format!("the type '{name}' is too large"), "make arrays smaller");
        }
        self.extents.push((numbers, depth));
        self.typedefs.insert(name.clone(), self.model.typedefs.len());
        self.model.typedefs.push(Typedef { name: name.to_string(), fields });
        Ok(())
    }

    fn inline(&mut self) -> Parse<()> {
        self.next();
        let name = self.name("the name of an inline")?;
        self.expect("(")?;
        let mut params = Vec::new();
        if !self.accept(")") {
            loop {
                params.push(self.name("a parameter")?);
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !self.peek().is("{") {
            return self.expect("{");
        }
        let mut body: Vec<Token> = Vec::new();
        let mut depth = 0;
        loop {
            let token = self.next();
            if token.tok == Tok::Eof {
                return self.fail(token.at, format!("the inline '{name}' is not closed, expected '}}'"));
            }
            depth += i32::from(token.is("{")) - i32::from(token.is("}"));
            body.push(token);
            if depth == 0 {
                break;
            }
        }
        self.inlines.insert(name, Inline { params, body: Rc::new(body) });
        Ok(())
    }

    /// A call of an inline: its body with the arguments put in, as a block. What it returns is assigned to `target`.
    pub(super) fn inline_call(&mut self, name: &Rc<str>, at: Pos, target: Option<Place>) -> Parse<StmtKind> {
        self.expect("(")?;
        let mut args: Vec<Vec<Token>> = vec![Vec::new()];
        let mut depth = 0;
        loop {
            let token = self.next();
            if token.tok == Tok::Eof {
                return self.fail(at, format!("the call of '{name}' is not closed, expected ')'"));
            }
            if token.is(")") && depth == 0 {
                break;
            }
            depth += i32::from(token.is("(") || token.is("[")) - i32::from(token.is(")") || token.is("]"));
            if token.is(",") && depth == 0 {
                args.push(Vec::new());
            } else {
                args.last_mut().expect("never empty").push(token);
            }
        }
        if args.len() == 1 && args[0].is_empty() {
            args.clear();
        }
        let inline = &self.inlines[name];
        if inline.params.len() != args.len() {
            let count = inline.params.len();
            return self.fail(at, format!("'{name}' takes {count} arguments, found {}", args.len()));
        }
        let mut tokens = Vec::new();
        for token in inline.body.iter() {
            match token.word().and_then(|w| inline.params.iter().position(|p| p == w)) {
                Some(place) => {
                    // The first stands where the parameter stood: a new line separates statements.
                    let starts = |index: usize| index == 0 && token.line_start;
                    let of_argument = args[place].iter().cloned().enumerate();
                    tokens.extend(of_argument.map(|(n, t)| Token { line_start: starts(n), ..t }))
                }
                None => tokens.push(token.clone()),
            }
        }
        if self.frames.len() > 40 {
            return self.fail(at, format!("the inline '{name}' calls itself"));
        }
        self.inlined += tokens.len();
        if self.inlined > LONGEST_INLINED {
            return self.fail(at, "the inlines expand to too much text");
        }
        tokens.push(Token { tok: Tok::Eof, at, line_start: true, space: true });
        self.frames.push((Rc::new(tokens), 0));
        let frames = self.frames.len();
        self.returns.push(target);
        self.calls += 1;
        self.callers.push(self.calls);
        let body = self.nested(Self::block);
        self.callers.pop();
        self.returns.pop();
        self.frames.truncate(frames - 1);
        self.call_end = (frames - 1, self.frames.last().expect("the caller's frame").1);
        Ok(StmtKind::Block(body?))
    }

    fn process(&mut self) -> Parse<()> {
        let at = self.at();
        let mut active = 0;
        if self.accept_word("active") {
            active = 1;
            if self.accept("[") {
                active = self.constant("the number of processes")?.max(0) as u32;
                if active > MOST_PROCESSES {
                    let message =
                        format!("{active} processes at the start, and at most {MOST_PROCESSES} can run");
                    return self.fail_with(at, message, "start fewer");
                }
                self.expect("]")?;
            }
        }
        let keyword = self.name("'proctype'")?;
        let name = match &*keyword {
            "init" => ":init:".to_string(),
            "proctype" | "D_proctype" => self.new_name("the name of the process type")?.to_string(),
            other => return self.fail(at, format!("expected 'proctype', found '{other}'")),
        };
        let is_init = name == ":init:";
        if self.model.procs.len() >= MOST_PROCESSES as usize {
            return self.fail(at, format!("more than {MOST_PROCESSES} process types"));
        }
        if self.model.procs.iter().any(|p| p.name == name) || self.globals.contains_key(name.as_str()) {
            self.note(at, format!("'{name}' is declared twice"), None);
        }
        self.begin_process(name, at);
        if !is_init {
            self.parameters()?;
        }
        let process = self.current.as_mut().expect("just begun");
        process.active = if is_init { 1 } else { active };
        process.deterministic = &*keyword == "D_proctype";
        if active > 0 {
            process.params = process.locals.len();
        }
        if self.accept_word("priority") {
            self.model.uses_priority = true;
            let priority = self.constant("a priority")?.clamp(1, 255) as u32;
            self.current.as_mut().expect("just begun").priority = priority;
        }
        if self.accept_word("provided") {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            self.current.as_mut().expect("just begun").provided = Some(condition);
        }
        self.expect("{")?;
        let body = self.sequence()?;
        self.expect("}")?;
        let process = self.end_process(body);
        self.model.procs.push(process);
        Ok(())
    }

    /// Parameters: declarations with semicolons between them.
    fn parameters(&mut self) -> Parse<()> {
        self.expect("(")?;
        if !self.accept(")") {
            loop {
                let (ty, hidden) = self.type_name()?;
                loop {
                    let var = self.declarator(ty, hidden)?;
                    if var.array.is_some() {
                        self.note(var.at, "an array cannot be a parameter", Some("make it global"));
                    }
                    if var.init.is_some() || var.chan.is_some() || !var.elements.is_empty() {
                        self.note(var.at, "a parameter has no initial value", None);
                    }
                    self.add_local(var);
                    if !self.accept(",") {
                        break;
                    }
                }
                if !self.peek().is(";") {
                    break;
                }
                while self.accept(";") {}
            }
            self.expect(")")?;
        }
        let process = self.current.as_mut().expect("a process is being read");
        process.params = process.locals.len();
        Ok(())
    }

    fn add_local(&mut self, var: Var) -> usize {
        let process = self.current.as_mut().expect("a process is being read");
        let index = process.locals.len();
        let name: Rc<str> = Rc::from(var.name.as_str());
        let at = var.at;
        process.locals.push(var);
        // As in Spin, a name does not hide another.
        if self.lookup(&name).is_some() {
            self.note(at, format!("'{name}' is declared twice"), Some("give it another name"));
        }
        self.scopes.last_mut().expect("a scope is open").insert(name, index);
        index
    }

    /// A hidden counter of a loop over a channel.
    pub(super) fn temporary(&mut self, at: Pos) -> Place {
        self.temporaries += 1;
        let name = format!("loop counter {}", self.temporaries);
        let ty = Type::Basic(Basic::Int);
        let var =
            Var { name, ty, array: None, init: None, elements: Vec::new(), chan: None, hidden: false, at };
        Place { var: VarRef::Local(self.add_local(var)), path: Vec::new(), at }
    }

    fn type_name(&mut self) -> Parse<(Type, bool)> {
        let mut hidden = false;
        loop {
            let at = self.at();
            let word = self.name("a type")?;
            let ty = match &*word {
                "hidden" => {
                    hidden = true;
                    continue;
                }
                "show" | "local" => continue,
                "bit" => Basic::Bit,
                "bool" => Basic::Bool,
                "byte" => Basic::Byte,
                "short" => Basic::Short,
                "int" => Basic::Int,
                "unsigned" => Basic::Unsigned(32),
                "pid" => Basic::Pid,
                "chan" => Basic::Chan,
                "mtype" => {
                    let set = if self.accept(":") {
                        self.name("the name of a set of symbols")?.to_string()
                    } else {
                        String::new()
                    };
                    Basic::Mtype(self.mtype_set(&set) as u16)
                }
                _ => match self.typedefs.get(&word) {
                    Some(&index) => return Ok((Type::Struct(index), hidden)),
                    None => return self.fail(at, format!("expected a type, found '{word}'")),
                },
            };
            return Ok((Type::Basic(ty), hidden));
        }
    }

    fn declarator(&mut self, mut ty: Type, hidden: bool) -> Parse<Var> {
        let at = self.at();
        let name = self.new_name("the name of a variable")?;
        if self.constants.contains_key(&name) {
            return self.fail(at, format!("'{name}' is a symbolic name"));
        }
        if self.accept(":") {
            let bits = self.constant("a number of bits")?;
            if !(1..=32).contains(&bits) {
                return self.fail(at, "a number of bits is 1 to 32");
            }
            if ty == Type::Basic(Basic::Unsigned(32)) {
                ty = Type::Basic(Basic::Unsigned(bits as u8));
            }
        }
        let mut array = None;
        if self.accept("[") {
            let length = self.constant("the length of the array")?;
            if !(1..=LONGEST_ARRAY).contains(&length) {
                return self.fail(
                    at,
                    format!("the length of '{name}' must be 1 to {LONGEST_ARRAY}, found {length}"),
                );
            }
            array = Some(length as u32);
            // As in Spin's verifier, whose arrays have no elements smaller than a byte.
            if matches!(ty, Type::Basic(Basic::Bit | Basic::Bool)) {
                ty = Type::Basic(Basic::Byte);
            }
            self.expect("]")?;
        }
        let elements = Vec::new();
        let mut var = Var { name: name.to_string(), ty, array, init: None, elements, chan: None, hidden, at };
        if self.accept("=") {
            if self.peek().is("{") {
                var.elements = self.elements(&var)?;
            } else if self.peek().is("[") && self.peek_at(2).is("]")
                || self.peek().is("[") && ty == Type::Basic(Basic::Chan)
            {
                if ty != Type::Basic(Basic::Chan) {
                    return self.fail(at, format!("'{name}' is no channel"));
                }
                if hidden {
                    return self.fail(at, format!("the channel '{name}' cannot be hidden"));
                }
                var.chan = Some(self.channel()?);
            } else {
                var.init = Some(self.expression()?);
            }
        }
        Ok(var)
    }

    /// The values of an array's elements: `{1, 2, 3}`. As in Spin, those that are too many are not used.
    fn elements(&mut self, var: &Var) -> Parse<Vec<i32>> {
        let (Some(length), Type::Basic(basic), true) =
            (var.array, var.ty, var.ty != Type::Basic(Basic::Chan))
        else {
            let message = format!("'{}' is no array of numbers", var.name);
            return self.fail_with(self.at(), message, "write a single value");
        };
        self.expect("{")?;
        let mut list = Vec::new();
        loop {
            list.push(basic.truncate(self.constant("the value of an element")?));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        list.truncate(length as usize);
        Ok(list)
    }

    fn channel(&mut self) -> Parse<ChanInit> {
        self.expect("[")?;
        let at = self.at();
        let capacity = self.constant("the capacity of the channel")?;
        if !(0..=255).contains(&capacity) {
            return self.fail(at, format!("a channel holds 0 to 255 messages, found {capacity}"));
        }
        self.expect("]")?;
        if !self.accept_word("of") {
            return self.fail(self.at(), format!("expected 'of', found '{}'", self.peek().text()));
        }
        self.expect("{")?;
        let mut fields = Vec::new();
        loop {
            let (ty, _) = self.type_name()?;
            if ty == Type::Basic(Basic::Unsigned(32)) && self.accept(":") {
                fields.push(Basic::Unsigned(self.constant("a number of bits")?.clamp(1, 32) as u8));
            } else {
                self.flatten(ty, None, &mut fields);
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(ChanInit { capacity: capacity as u32, fields })
    }

    /// The basic types within a type, in order.
    pub(super) fn flatten(&self, ty: Type, array: Option<u32>, out: &mut Vec<Basic>) {
        for _ in 0..array.unwrap_or(1) {
            if out.len() > 4096 {
                return;
            }
            match ty {
                Type::Basic(basic) => out.push(basic),
                Type::Struct(index) => {
                    for field in &self.model.typedefs[index].fields {
                        self.flatten(field.ty, field.array, out);
                    }
                }
            }
        }
    }

    /// A declaration. Within a body that has begun it is also a step, as in Spin: the statements to add.
    pub(super) fn declaration(&mut self, body: Option<()>) -> Parse<Vec<Stmt>> {
        let (ty, hidden) = self.type_name()?;
        let mut steps = Vec::new();
        loop {
            let mut var = self.declarator(ty, hidden)?;
            let at = var.at;
            if body.is_none() {
                let name: Rc<str> = Rc::from(var.name.as_str());
                if let Some(Expr { kind, at }) = &var.init
                    && !matches!(kind, ExprKind::Const(_))
                    && crate::print::has_run(kind)
                {
                    self.note(*at, "a variable cannot be initialised by a run", None);
                }
                if self.globals.insert(name.clone(), self.model.globals.len()).is_some() {
                    self.note(at, format!("'{name}' is declared twice"), None);
                }
                self.model.globals.push(var);
            } else {
                let as_step = (self.started || self.scopes.len() > 1) && var.chan.is_none();
                if as_step && !var.elements.is_empty() {
                    let remedy = "declare the array at the beginning of the process";
                    return self.fail_with(at, "the elements of an array cannot be listed here", remedy);
                }
                let init = if as_step { var.init.take() } else { None };
                let index = self.add_local(var);
                if as_step {
                    let kind = match ty {
                        Type::Struct(_) => StmtKind::Declare,
                        Type::Basic(_) => {
                            let place = Place { var: VarRef::Local(index), path: Vec::new(), at };
                            StmtKind::Assign(place, init.unwrap_or(Expr { kind: ExprKind::Const(0), at }))
                        }
                    };
                    steps.push(Stmt { id: self.fresh(), labels: Vec::new(), kind, at });
                }
            }
            if !self.accept(",") {
                break;
            }
        }
        Ok(steps)
    }
}
