//! The parser of Boolean programs. The grammar is in the book, docs/src/boolean-programs.md.

use selvedge_symbolic::expression::{MAX_WIDTH, Operator};

use crate::Error;
use crate::ast::{
    Declaration, Expression, Kind, Logical, Procedure, Process, Program, Statement, Target, Value,
};
use crate::lexer::{At, Token, is_of_name, tokens};

/// Words that cannot be names. `lock`, `unlock`, `await`, `dead` and `process` can: programs of other dialects
/// use them, and what follows tells which is meant.
const KEYWORDS: [&str; 30] = [
    "decl",
    "void",
    "bool",
    "int",
    "begin",
    "end",
    "if",
    "then",
    "elsif",
    "else",
    "fi",
    "while",
    "do",
    "od",
    "goto",
    "return",
    "assume",
    "assert",
    "skip",
    "start_thread",
    "end_thread",
    "atomic_begin",
    "atomic_end",
    "constrain",
    "schoose",
    "choose",
    "true",
    "false",
    "T",
    "F",
];

/// Parses a program.
pub(crate) fn parse(file: &str, text: &str) -> Result<Program, Error> {
    let tokens = tokens(file, text)?;
    let mut parser = Parser { file, tokens, place: 0, depth: 0 };
    parser.program()
}

struct Parser<'a> {
    file: &'a str,
    tokens: Vec<(Token, At)>,
    place: usize,
    /// How deep the nesting is: bad input must not exhaust the stack.
    depth: u32,
}

/// Deeper nesting than this is refused.
const DEEPEST: u32 = 60;

/// So is an expression with more levels: operators in a row are one below the other.
const DEEPEST_EXPRESSION: u32 = 200;

type Parsed<T> = Result<T, Error>;

impl Parser<'_> {
    fn token(&self) -> &Token {
        &self.tokens[self.place].0
    }

    fn at(&self) -> At {
        self.tokens[self.place].1
    }

    fn next(&mut self) -> Token {
        let token = self.token().clone();
        if self.place + 1 < self.tokens.len() {
            self.place += 1;
        }
        token
    }

    fn fail<T>(&self, expected: &str) -> Parsed<T> {
        Err(Error::Syntax {
            location: self.at().in_file(self.file),
            expected: expected.into(),
            found: self.token().describe(),
        })
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Word(other) if other == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(other) if *other == sign)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        if is {
            self.next();
        }
        is
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is = self.is_sign(sign);
        if is {
            self.next();
        }
        is
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { self.fail(&format!("`{word}`")) }
    }

    fn sign(&mut self, sign: &str) -> Parsed<()> {
        if self.take_sign(sign) { Ok(()) } else { self.fail(&format!("`{sign}`")) }
    }

    fn name(&mut self, what: &str) -> Parsed<String> {
        match self.token() {
            Token::Word(word) if !KEYWORDS.contains(&word.as_str()) => {
                let word = word.clone();
                self.next();
                Ok(word)
            }
            _ => self.fail(what),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        match *self.token() {
            Token::Number(number) => {
                self.next();
                Ok(number)
            }
            _ => self.fail(what),
        }
    }

    fn nested<T>(&mut self, of: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return self.fail(&format!("nesting of at most {DEEPEST} levels"));
        }
        self.depth += 1;
        let result = of(self);
        self.depth -= 1;
        result
    }

    fn list<T>(&mut self, mut of: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = vec![of(self)?];
        while self.take_sign(",") {
            all.push(of(self)?);
        }
        Ok(all)
    }

    fn program(&mut self) -> Parsed<Program> {
        let mut program = Program::default();
        while self.is_word("decl") {
            self.declaration(&mut program.globals)?;
        }
        loop {
            if self.is_word("process") {
                let process = self.process()?;
                program.processes.push(process);
            } else if *self.token() == Token::End {
                return Ok(program);
            } else {
                let procedure = self.procedure()?;
                program.procedures.push(procedure);
            }
        }
    }

    /// `int<n>` or `bool`; `None` if neither is there.
    fn width(&mut self) -> Parsed<Option<u32>> {
        if self.take_word("bool") {
            return Ok(Some(1));
        }
        if !self.take_word("int") {
            return Ok(None);
        }
        self.sign("<")?;
        let width = self.bits()?;
        self.sign(">")?;
        Ok(Some(width))
    }

    fn bits(&mut self) -> Parsed<u32> {
        match *self.token() {
            Token::Number(bits) if (1..=u64::from(MAX_WIDTH)).contains(&bits) => {
                self.next();
                Ok(bits as u32)
            }
            _ => self.fail(&format!("a number of bits from 1 to {MAX_WIDTH}")),
        }
    }

    fn declaration(&mut self, into: &mut Vec<Declaration>) -> Parsed<()> {
        self.word("decl")?;
        let width = self.width()?.unwrap_or(1);
        let all = self.list(|parser| {
            let at = parser.at();
            let name = parser.name("the name of a variable")?;
            let mut length = None;
            if parser.take_sign("[") {
                let number = parser.number("the number of elements")?;
                if !(1..=4096).contains(&number) {
                    parser.place -= 1;
                    return parser.fail("a number of elements from 1 to 4096");
                }
                length = Some(number as u32);
                parser.sign("]")?;
            }
            let mut initial = None;
            if parser.take_sign(":=") {
                initial = match parser.next() {
                    Token::Number(number) => Some(number),
                    Token::Word(word) if word == "true" || word == "T" => Some(1),
                    Token::Word(word) if word == "false" || word == "F" => Some(0),
                    Token::Sign("*") => None,
                    _ => {
                        parser.place -= 1;
                        return parser.fail("a number, `true`, `false` or `*`");
                    }
                };
                if let Some(value) = initial
                    && value >> width != 0
                {
                    parser.place -= 1;
                    return parser.fail(&format!("a value of {width} bits"));
                }
            }
            Ok(Declaration { name, at, width, length, initial })
        })?;
        into.extend(all);
        self.sign(";")
    }

    fn process(&mut self) -> Parsed<Process> {
        self.word("process")?;
        let at = self.at();
        let name = self.name("the name of a process")?;
        self.sign("=")?;
        let procedure = self.name("the name of a procedure")?;
        let arguments = self.arguments()?;
        self.sign(";")?;
        Ok(Process { name, at, procedure, arguments })
    }

    fn arguments(&mut self) -> Parsed<Vec<Expression>> {
        self.sign("(")?;
        let all = if self.is_sign(")") { Vec::new() } else { self.list(Self::expression)? };
        self.sign(")")?;
        Ok(all)
    }

    fn results(&mut self) -> Parsed<Vec<u32>> {
        if self.take_word("void") {
            return Ok(Vec::new());
        }
        if self.take_sign("(") {
            let all = self.list(|parser| match parser.width()? {
                Some(width) => Ok(width),
                None => parser.fail("`bool` or `int<n>`"),
            })?;
            self.sign(")")?;
            return Ok(all);
        }
        if self.take_word("bool") {
            if !self.take_sign("<") {
                return Ok(vec![1]);
            }
            let at = self.place;
            let count = self.number("the number of results")?;
            if count > 64 {
                self.place = at;
                return self.fail("at most 64 results");
            }
            self.sign(">")?;
            return Ok(vec![1; count as usize]);
        }
        match self.width()? {
            Some(width) => Ok(vec![width]),
            None => self.fail("`decl`, `process`, or a procedure: `void`, `bool`, `int<n>` or `(`"),
        }
    }

    fn procedure(&mut self) -> Parsed<Procedure> {
        self.take_word("dfs");
        let results = self.results()?;
        let at = self.at();
        let name = self.name("the name of a procedure")?;
        self.sign("(")?;
        let mut parameters = Vec::new();
        if !self.is_sign(")") {
            parameters = self.list(|parser| {
                let width = parser.width()?.unwrap_or(1);
                let at = parser.at();
                let name = parser.name("the name of a parameter")?;
                Ok(Declaration { name, at, width, length: None, initial: None })
            })?;
        }
        self.sign(")")?;
        self.word("begin")?;
        let mut locals = Vec::new();
        while self.is_word("decl") {
            self.declaration(&mut locals)?;
        }
        for word in ["enforce", "abortif"] {
            let condition = !matches!(self.follows(), Token::Sign(":=" | "," | ":" | "[" | "("));
            if self.is_word(word) && condition {
                return self
                    .fail(&format!("a statement (`{word}` is not part of the language; use `assume`)"));
            }
        }
        let body = self.statements(&["end"])?;
        let end = self.at();
        self.word("end")?;
        self.take_sign(";");
        Ok(Procedure { name, at, parameters, results, locals, body, end })
    }

    fn statements(&mut self, ends: &[&str]) -> Parsed<Vec<Statement>> {
        self.nested(|parser| {
            let mut all = Vec::new();
            loop {
                while parser.take_sign(";") {}
                if ends.iter().any(|end| parser.is_word(end)) {
                    return Ok(all);
                }
                all.push(parser.statement()?);
            }
        })
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let mut labels = Vec::new();
        while matches!(self.token(), Token::Word(_) | Token::Number(_)) && *self.follows() == Token::Sign(":")
        {
            labels.push(self.label()?);
            self.sign(":")?;
        }
        let (at, begin) = (self.at(), self.place);
        let kind = self.kind()?;
        let text = self.source(begin, &kind);
        Ok(Statement { at, labels, kind, text })
    }

    /// A name or a number.
    fn label(&mut self) -> Parsed<String> {
        match *self.token() {
            Token::Number(number) => {
                self.next();
                Ok(number.to_string())
            }
            _ => self.name("a label"),
        }
    }

    /// The token after this one.
    fn follows(&self) -> &Token {
        &self.tokens[(self.place + 1).min(self.tokens.len() - 1)].0
    }

    /// The text of a statement, up to its condition if it has parts of its own.
    fn source(&self, begin: usize, kind: &Kind) -> String {
        let end = match kind {
            Kind::If(..) | Kind::While(..) => {
                let ends =
                    |(token, _): &(Token, At)| matches!(token, Token::Word(w) if w == "then" || w == "do");
                let found = self.tokens[begin..self.place].iter().position(ends);
                found.map_or(self.place, |found| begin + found)
            }
            _ => self.place,
        };
        let words: Vec<String> = self.tokens[begin..end]
            .iter()
            .map(|(token, _)| match token {
                Token::Word(word) => word.clone(),
                Token::Number(number) => number.to_string(),
                Token::Sign(sign) => (*sign).to_string(),
                Token::End => String::new(),
            })
            .collect();
        let mut text = String::new();
        for (index, word) in words.iter().enumerate() {
            let tight_before = matches!(word.as_str(), ";" | "," | ")" | "]" | "[");
            let after = index.checked_sub(1).map(|before| words[before].as_str());
            let name = |word: &str| word.chars().all(is_of_name) || word.starts_with('{');
            let call = word == "(" && after.is_some_and(|after| name(after) && !KEYWORDS.contains(&after));
            let tight_after = matches!(after, None | Some("(" | "[" | "!" | "~" | "'"));
            if !tight_before && !tight_after && !call {
                text.push(' ');
            }
            text.push_str(word);
        }
        text.trim_end_matches(';').to_string()
    }

    fn kind(&mut self) -> Parsed<Kind> {
        let Token::Word(word) = self.token().clone() else { return self.fail("a statement") };
        let follows = self.follows();
        let name_follows = matches!(follows, Token::Word(_));
        let value_follows = !matches!(follows, Token::Sign(":=" | "," | "[" | ";"));
        let kind = match word.as_str() {
            "skip" => self.simple(Kind::Skip),
            "atomic_begin" => self.simple(Kind::AtomicBegin),
            "atomic_end" => self.simple(Kind::AtomicEnd),
            "end_thread" => self.simple(Kind::EndThread),
            "if" => return self.if_statement(),
            "while" => return self.while_statement(),
            "goto" => {
                self.next();
                Kind::Goto(self.list(|parser| {
                    let at = parser.at();
                    Ok((parser.label()?, at))
                })?)
            }
            "return" => {
                self.next();
                Kind::Return(if self.is_sign(";") { Vec::new() } else { self.list(Self::expression)? })
            }
            "assume" | "assert" | "constrain" => {
                self.next();
                let condition = self.expression()?;
                if word == "assert" { Kind::Assert(condition) } else { Kind::Assume(condition) }
            }
            "await" if value_follows => {
                self.next();
                Kind::Await(self.expression()?)
            }
            "lock" | "unlock" if name_follows => {
                self.next();
                let target = self.target()?;
                if word == "lock" { Kind::Lock(target) } else { Kind::Unlock(target) }
            }
            "dead" if name_follows => {
                self.next();
                Kind::Dead(self.list(Self::target)?)
            }
            "start_thread" => {
                self.next();
                if self.take_word("goto") {
                    Kind::StartAt(self.label()?)
                } else {
                    let procedure = self.name("`goto` and a label, or the name of a procedure")?;
                    Kind::Start { procedure, arguments: self.arguments()? }
                }
            }
            _ => self.assignment_or_call()?,
        };
        self.sign(";")?;
        Ok(kind)
    }

    fn simple(&mut self, kind: Kind) -> Kind {
        self.next();
        kind
    }

    fn if_statement(&mut self) -> Parsed<Kind> {
        self.word("if")?;
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.expression()?;
            self.word("then")?;
            arms.push((condition, self.statements(&["elsif", "else", "fi"])?));
            if self.take_word("elsif") {
                continue;
            }
            if self.take_word("else") {
                otherwise = self.statements(&["fi"])?;
            }
            self.word("fi")?;
            self.take_sign(";");
            return Ok(Kind::If(arms, otherwise));
        }
    }

    fn while_statement(&mut self) -> Parsed<Kind> {
        self.word("while")?;
        let condition = self.expression()?;
        self.word("do")?;
        let body = self.statements(&["od"])?;
        self.word("od")?;
        self.take_sign(";");
        Ok(Kind::While(condition, body))
    }

    fn target(&mut self) -> Parsed<Target> {
        let at = self.at();
        let name = self.name("the name of a variable")?;
        let mut index = None;
        if self.take_sign("[") {
            index = Some(self.expression()?);
            self.sign("]")?;
        }
        Ok(Target { name, at, index })
    }

    fn assignment_or_call(&mut self) -> Parsed<Kind> {
        let is_call = |parser: &Self, place: usize| {
            matches!(&parser.tokens[place].0, Token::Word(word) if !KEYWORDS.contains(&word.as_str()))
                && matches!(parser.tokens.get(place + 1), Some((Token::Sign("("), _)))
        };
        if is_call(self, self.place) {
            let procedure = self.name("a procedure")?;
            return Ok(Kind::Call { targets: Vec::new(), procedure, arguments: self.arguments()? });
        }
        if !matches!(self.token(), Token::Word(word) if !KEYWORDS.contains(&word.as_str())) {
            return self.fail("a statement");
        }
        let targets = self.list(Self::target)?;
        if !self.take_sign(":=") {
            return self.fail("`:=`");
        }
        if is_call(self, self.place) {
            let procedure = self.name("a procedure")?;
            return Ok(Kind::Call { targets, procedure, arguments: self.arguments()? });
        }
        let values = self.list(Self::expression)?;
        let constrain = if self.take_word("constrain") { Some(self.expression()?) } else { None };
        Ok(Kind::Assign { targets, values, constrain })
    }

    fn expression(&mut self) -> Parsed<Expression> {
        self.nested(|parser| {
            let at = parser.at();
            let condition = parser.binary(0)?;
            if !parser.take_sign("?") {
                return Ok(condition);
            }
            let yes = parser.expression()?;
            parser.sign(":")?;
            let no = parser.expression()?;
            let below = condition.depth.max(yes.depth).max(no.depth);
            parser.above(below, at, Value::Conditional(Box::new(condition), Box::new(yes), Box::new(no)))
        })
    }

    /// Operands joined by binary operators that bind at least as strongly as a level.
    fn binary(&mut self, least: u32) -> Parsed<Expression> {
        let mut left = self.unary()?;
        loop {
            let at = self.at();
            let Token::Sign(sign) = *self.token() else { return Ok(left) };
            let Some(level) = level(sign).filter(|&level| level >= least) else { return Ok(left) };
            self.next();
            // Implication groups to the right, everything else to the left.
            let next = if level == 0 { 0 } else { level + 1 };
            let right = self.nested(|parser| parser.binary(next))?;
            let below = left.depth.max(right.depth);
            let (left_box, right_box) = (Box::new(left), Box::new(right));
            let kind = match sign {
                "=>" => Value::Logical(Logical::Implies, left_box, right_box),
                "||" => Value::Logical(Logical::Or, left_box, right_box),
                "&&" => Value::Logical(Logical::And, left_box, right_box),
                ">" => Value::Swapped(Operator::Less, left_box, right_box),
                ">=" => Value::Swapped(Operator::LessEqual, left_box, right_box),
                _ => Value::Binary(operator(sign), left_box, right_box),
            };
            left = self.above(below, at, kind)?;
        }
    }

    /// An expression whose parts have so many levels.
    fn above(&self, below: u32, at: At, kind: Value) -> Parsed<Expression> {
        if below >= DEEPEST_EXPRESSION {
            return self.fail(&format!("an expression of at most {DEEPEST_EXPRESSION} levels"));
        }
        Ok(Expression { at, kind, depth: below + 1 })
    }

    fn unary(&mut self) -> Parsed<Expression> {
        let at = self.at();
        let wrap: fn(Box<Expression>) -> Value = match self.token() {
            Token::Sign("!") => Value::Not,
            Token::Sign("~") => Value::Invert,
            Token::Sign("-") => Value::Negate,
            _ => return self.primary(),
        };
        self.next();
        let of = self.nested(Self::unary)?;
        self.above(of.depth, at, wrap(Box::new(of)))
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let at = self.at();
        let mut below = 0;
        let kind = match self.token().clone() {
            Token::Number(number) => {
                self.next();
                Value::Number(number)
            }
            Token::Sign("*" | "?") => {
                self.next();
                Value::Any
            }
            Token::Sign("'") => {
                self.next();
                Value::After(self.name("the name of a variable")?)
            }
            Token::Sign("(") => {
                self.next();
                let inner = self.expression()?;
                self.sign(")")?;
                return Ok(inner);
            }
            Token::Word(word) => match word.as_str() {
                "true" | "T" => {
                    self.next();
                    Value::Truth(true)
                }
                "false" | "F" => {
                    self.next();
                    Value::Truth(false)
                }
                "schoose" | "choose" => {
                    self.next();
                    self.sign("[")?;
                    let yes = self.expression()?;
                    self.sign(",")?;
                    let no = self.expression()?;
                    self.sign("]")?;
                    below = yes.depth.max(no.depth);
                    Value::Choose(Box::new(yes), Box::new(no))
                }
                "int" | "bool" => {
                    let width = self.width()?.unwrap_or(1);
                    self.sign("(")?;
                    let of = self.expression()?;
                    self.sign(")")?;
                    below = of.depth;
                    Value::Convert(width, Box::new(of))
                }
                _ => {
                    let name = self.name("an expression")?;
                    if self.take_sign("[") {
                        let index = self.expression()?;
                        self.sign("]")?;
                        below = index.depth;
                        Value::Element(name, Box::new(index))
                    } else {
                        Value::Name(name)
                    }
                }
            },
            Token::Sign(_) | Token::End => return self.fail("an expression"),
        };
        self.above(below, at, kind)
    }
}

/// How strongly a binary operator binds.
fn level(sign: &str) -> Option<u32> {
    Some(match sign {
        "=>" => 0,
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "=" | "!=" | "<>" | "<=" | ">=" | "<" | ">" => 6,
        "<<" | ">>" => 7,
        "+" | "-" => 8,
        "*" => 9,
        _ => return None,
    })
}

fn operator(sign: &str) -> Operator {
    match sign {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "&" => Operator::And,
        "|" => Operator::Or,
        "^" => Operator::Xor,
        "<<" => Operator::ShiftLeft,
        ">>" => Operator::ShiftRight,
        "=" | "==" => Operator::Equal,
        "!=" | "<>" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessEqual,
        _ => unreachable!("the table of levels has no other sign"),
    }
}
