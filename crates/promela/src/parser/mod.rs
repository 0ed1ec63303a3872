//! Tokens to a model, by recursive descent, with names resolved as they are met.
//!
//! An error is noted and the parser goes on at the next statement or unit, so that one run reports all of
//! them. Never claims, traces and `ltl` blocks are parsed last: they may name what comes after them.

mod decl;
mod expr;
mod labels;
mod ltl;
mod stmt;

pub(crate) use expr::{apply_binary, apply_unary, fold};

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use crate::ast::{Model, MtypeSet, Place, Proctype, StmtId, VarRef};
use crate::error::{Diagnostic, Error, Files, Pos};
use crate::lexer::{Tok, Token};
use crate::preprocess::{FORMULA, preprocess};
use crate::reading::Reading;

/// Reads a model. `directory` is where `#include` looks; `definitions` are `NAME` or `NAME=VALUE`.
///
/// # Errors
/// Every error in the text, with its line and column.
///
/// ```
/// let model = selvedge_promela::parse("active proctype P() { skip }", "p.pml", None, &[]).unwrap();
/// assert_eq!(model.procs[0].name, "P");
/// ```
pub fn parse(
    text: &str,
    name: &str,
    directory: Option<&Path>,
    definitions: &[String],
) -> Result<Model, Error> {
    parse_with(text, name, directory, &Reading { definitions, ..Reading::default() })
}

/// Reads a model as [`parse`] does, with all that can be chosen.
///
/// # Errors
/// Every error in the text, with its line and column.
pub fn parse_with(
    text: &str,
    name: &str,
    directory: Option<&Path>,
    reading: &Reading<'_>,
) -> Result<Model, Error> {
    let source = preprocess(text, name, directory, reading)?;
    let mut parser = Parser::new(source.tokens, source.files, source.errors, reading.go_on);
    parser.model();
    if parser.stopped {
        return Err(Error::Stopped);
    }
    if parser.errors.is_empty() {
        parser.model.statements = parser.next_stmt;
        if let Some(text) = reading.formula {
            let files = &parser.model.files.0;
            let given = |ltl: &&mut crate::ast::Ltl| files[usize::from(ltl.at.file)] == FORMULA;
            let mut given: Vec<_> = parser.model.ltl.iter_mut().filter(given).collect();
            let [ltl] = given.as_mut_slice() else {
                return Err(Error::Request(
                    "--formula takes one formula; give the others in ltl blocks".to_string(),
                ));
            };
            ltl.name = text.trim().to_string();
        }
        return Ok(parser.model);
    }
    parser.errors.truncate(MOST_ERRORS);
    if source.private {
        for error in &mut parser.errors {
            error.message = "this is not Promela".to_string();
            error.remedy =
                Some("rename included files to .pml or .h to have their text in errors".to_string());
        }
    }
    Err(Error::Model(parser.errors))
}

/// More errors than this are not worth reading.
const MOST_ERRORS: usize = 50;
/// Deeper nesting than this is not a model, and would exhaust the stack.
const DEEPEST: u32 = 120;

/// Words that name nothing else.
const RESERVED: [&str; 57] = [
    "active",
    "assert",
    "atomic",
    "bit",
    "bool",
    "break",
    "byte",
    "chan",
    "d_step",
    "D_proctype",
    "do",
    "else",
    "empty",
    "enabled",
    "eval",
    "false",
    "fi",
    "for",
    "full",
    "get_priority",
    "goto",
    "hidden",
    "if",
    "init",
    "inline",
    "int",
    "len",
    "local",
    "ltl",
    "mtype",
    "nempty",
    "never",
    "nfull",
    "notrace",
    "np_",
    "od",
    "of",
    "pc_value",
    "pid",
    "printf",
    "printm",
    "priority",
    "proctype",
    "provided",
    "return",
    "run",
    "select",
    "set_priority",
    "short",
    "show",
    "skip",
    "timeout",
    "trace",
    "true",
    "typedef",
    "unless",
    "unsigned",
];

/// A parse that failed; the error has been noted.
pub(crate) struct Failed;
pub(crate) type Parse<T> = Result<T, Failed>;

struct Inline {
    params: Vec<Rc<str>>,
    body: Rc<Vec<Token>>,
}

pub(crate) struct Parser<'a> {
    /// Asked now and then whether to go on.
    go_on: &'a dyn Fn() -> bool,
    /// Tokens read; and whether the user did not want to go on.
    read: usize,
    stopped: bool,
    /// Texts being read: the model, and the bodies of inlines being expanded within it.
    frames: Vec<(Rc<Vec<Token>>, usize)>,
    errors: Vec<Diagnostic>,
    model: Model,
    /// Process types by name; known before any body is read.
    proc_names: HashMap<Rc<str>, usize>,
    globals: HashMap<Rc<str>, usize>,
    typedefs: HashMap<Rc<str>, usize>,
    constants: HashMap<Rc<str>, i32>,
    inlines: HashMap<Rc<str>, Inline>,
    /// The process being read.
    current: Option<Proctype>,
    scopes: Vec<HashMap<Rc<str>, usize>>,
    /// A statement has been read at the top level of the process.
    started: bool,
    next_stmt: u32,
    /// Hidden variables made for `for` loops over channels.
    temporaries: u32,
    depth: u32,
    /// Inside `ltl`.
    in_ltl: bool,
    /// Inside `trace` or `notrace`.
    in_trace: bool,
    /// Where the inlines being expanded return their values to, the innermost last.
    returns: Vec<Option<Place>>,
    /// The calls of inlines being expanded, the innermost last, by number; and how many there were.
    callers: Vec<u32>,
    calls: u32,
    /// Where the last call of an inline ended: the number of texts being read, and the place in the last.
    call_end: (usize, usize),
    /// Tokens that inlines were expanded to.
    inlined: usize,
    /// Of each user-defined type: how many numbers it holds, and how deep it is nested.
    extents: Vec<(usize, usize)>,
}

/// Tokens between two looks at whether to go on.
const EVERY: usize = 1 << 12;

impl<'a> Parser<'a> {
    fn new(tokens: Vec<Token>, files: Files, errors: Vec<Diagnostic>, go_on: &'a dyn Fn() -> bool) -> Self {
        let mut proc_names = HashMap::new();
        let mut count = 0;
        for pair in tokens.windows(2) {
            if (pair[0].is_word("proctype") || pair[0].is_word("D_proctype"))
                && let Some(name) = pair[1].word()
            {
                proc_names.entry(name.clone()).or_insert(count);
                count += 1;
            } else if pair[0].is_word("init") && (pair[1].is("{") || pair[1].is_word("priority")) {
                count += 1;
            }
        }
        let model = Model { files, mtypes: vec![MtypeSet::default()], ..Model::default() };
        Parser {
            go_on,
            read: 0,
            stopped: false,
            frames: vec![(Rc::new(tokens), 0)],
            errors,
            model,
            proc_names,
            globals: HashMap::new(),
            typedefs: HashMap::new(),
            constants: HashMap::new(),
            inlines: HashMap::new(),
            current: None,
            scopes: Vec::new(),
            started: false,
            next_stmt: 0,
            temporaries: 0,
            depth: 0,
            in_ltl: false,
            in_trace: false,
            returns: Vec::new(),
            callers: Vec::new(),
            calls: 0,
            call_end: (0, 0),
            inlined: 0,
            extents: Vec::new(),
        }
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        let (tokens, index) = self.frames.last().expect("the model's frame stays");
        tokens.get(index + ahead).unwrap_or_else(|| tokens.last().expect("the last token is the end"))
    }

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.read += 1;
        if self.read.is_multiple_of(EVERY) && !(self.go_on)() {
            // Everything ends at the end of the text.
            self.stopped = true;
            self.frames.iter_mut().for_each(|(tokens, index)| *index = tokens.len() - 1);
        }
        let (tokens, index) = self.frames.last_mut().expect("the model's frame stays");
        if *index + 1 < tokens.len() {
            *index += 1;
        }
        token
    }

    fn at(&self) -> Pos {
        self.peek().at
    }

    fn accept(&mut self, op: &str) -> bool {
        let found = self.peek().is(op);
        if found {
            self.next();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, op: &str) -> Parse<()> {
        if self.accept(op) {
            return Ok(());
        }
        let found = self.peek().text();
        self.fail(self.at(), format!("expected '{op}', found '{found}'"))
    }

    fn name(&mut self, what: &str) -> Parse<Rc<str>> {
        match self.peek().word().cloned() {
            Some(word) => {
                self.next();
                Ok(word)
            }
            None => {
                let found = self.peek().text();
                self.fail(self.at(), format!("expected {what}, found '{found}'"))
            }
        }
    }

    /// A name that is being declared: not a word of the language.
    fn new_name(&mut self, what: &str) -> Parse<Rc<str>> {
        let at = self.at();
        let name = self.name(what)?;
        if RESERVED.contains(&&*name) {
            return self.fail(at, format!("expected {what}, found '{name}', a word of the language"));
        }
        Ok(name)
    }

    fn note(&mut self, at: Pos, message: impl Into<String>, remedy: Option<&str>) {
        let location = self.model.files.location(at);
        self.errors.push(Diagnostic {
            location,
            message: message.into(),
            remedy: remedy.map(str::to_string),
        });
    }

    fn fail<T>(&mut self, at: Pos, message: impl Into<String>) -> Parse<T> {
        self.note(at, message, None);
        Err(Failed)
    }

    fn fail_with<T>(&mut self, at: Pos, message: impl Into<String>, remedy: &str) -> Parse<T> {
        self.note(at, message, Some(remedy));
        Err(Failed)
    }

    /// Runs a parser one level deeper, and refuses to go too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEEPEST {
            return self.fail_with(self.at(), "nested too deep", "split it into smaller parts");
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn fresh(&mut self) -> StmtId {
        let id = StmtId(self.next_stmt);
        self.next_stmt += 1;
        id
    }

    fn lookup(&self, name: &str) -> Option<VarRef> {
        let local = self.scopes.iter().rev().find_map(|scope| scope.get(name)).map(|&i| VarRef::Local(i));
        local.or_else(|| self.globals.get(name).map(|&i| VarRef::Global(i)))
    }

    fn model(&mut self) {
        let mut later = Vec::new();
        while self.peek().tok != Tok::Eof && self.errors.len() < MOST_ERRORS {
            let before = self.frames[0].1;
            let postponed = ["never", "ltl", "trace", "notrace"].iter().any(|word| self.peek().is_word(word));
            if postponed {
                later.push(before);
                self.skip_unit();
            } else if self.unit().is_err() {
                self.recover_unit(before);
            }
            self.depth = 0;
            if self.frames[0].1 == before && self.peek().tok != Tok::Eof {
                self.next();
            }
        }
        for start in later {
            if self.stopped {
                return;
            }
            self.frames[0].1 = start;
            self.depth = 0;
            let _ = self.late_unit();
            self.reset();
        }
        if self.model.procs.iter().all(|p| p.active == 0) && self.errors.is_empty() {
            let at = Pos { file: 0, line: 1, column: 1 };
            self.note(at, "no process starts", Some("declare an 'init' or an 'active proctype'"));
        }
    }

    /// Puts the parser back to the top level after an error.
    fn reset(&mut self) {
        self.frames.truncate(1);
        self.current = None;
        self.scopes.clear();
        self.in_ltl = false;
        self.in_trace = false;
        self.returns.clear();
        self.callers.clear();
    }

    fn skip_unit(&mut self) {
        while self.peek().tok != Tok::Eof && !self.peek().is("{") {
            self.next();
        }
        let mut depth = 0;
        while self.peek().tok != Tok::Eof {
            let token = self.next();
            depth += i32::from(token.is("{")) - i32::from(token.is("}"));
            if depth == 0 {
                break;
            }
        }
    }

    fn recover_unit(&mut self, start: usize) {
        self.reset();
        let words =
            ["proctype", "active", "init", "typedef", "never", "ltl", "inline", "mtype", "chan", "trace"];
        while self.peek().tok != Tok::Eof {
            let begins = self.peek().line_start && words.iter().any(|word| self.peek().is_word(word));
            if begins && self.frames[0].1 > start {
                return;
            }
            self.next();
        }
    }

    fn late_unit(&mut self) -> Parse<()> {
        let token = self.next();
        match token.word().map(|w| w.to_string()).unwrap_or_default().as_str() {
            "never" => {
                let name = self.peek().word().cloned();
                if name.is_some() {
                    self.next();
                }
                let name = name.map_or(":never:".to_string(), |n| n.to_string());
                let claim = self.process_body(name, token.at)?;
                self.model.claims.push(claim);
            }
            "ltl" => self.ltl_block(token.at)?,
            word => {
                let denied = word == "notrace";
                if self.model.trace.is_some() {
                    return self.fail(token.at, "a model has one trace or notrace, and this is a second");
                }
                self.in_trace = true;
                let trace = self.process_body(format!(":{word}:"), token.at)?;
                self.model.trace = Some((trace, denied));
            }
        }
        Ok(())
    }

    /// The body of something that has no parameters.
    fn process_body(&mut self, name: String, at: Pos) -> Parse<Proctype> {
        self.begin_process(name, at);
        self.expect("{")?;
        let body = self.sequence()?;
        self.expect("}")?;
        Ok(self.end_process(body))
    }

    fn begin_process(&mut self, name: String, at: Pos) {
        self.current = Some(Proctype {
            name,
            params: 0,
            locals: Vec::new(),
            active: 0,
            priority: 1,
            provided: None,
            deterministic: false,
            body: Vec::new(),
            exclusive: Vec::new(),
            at,
            rank: self.frames[0].1,
        });
        self.scopes = vec![HashMap::new()];
        self.started = false;
    }

    fn end_process(&mut self, body: Vec<crate::ast::Stmt>) -> Proctype {
        self.scopes.clear();
        let mut process = self.current.take().expect("a process is being read");
        process.body = body;
        self.resolve_labels(&mut process);
        process
    }
}
