//! The C preprocessor's directives, on our own, so that no compiler is needed to read a model.
//!
//! `#define` (objects and functions, `#` and `##`), `#undef`, `#include`, `#if` and its kin, `#error`;
//! `#line` and `#pragma` are skipped. Macro expansion follows C: arguments are expanded first, the result
//! is scanned again, and a macro is not expanded within its own expansion.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::error::{Diagnostic, Error, Files, Pos};
use crate::lexer::{Tok, Token, tokenize};
use crate::reading::{self, MOST_BYTES, Reading};

#[derive(Clone, Debug)]
struct Macro {
    parameters: Option<Vec<Rc<str>>>,
    body: Vec<Token>,
}

/// A model's tokens after preprocessing.
pub(crate) struct Source {
    pub(crate) tokens: Vec<Token>,
    pub(crate) files: Files,
    pub(crate) errors: Vec<Diagnostic>,
    /// A file is among them that is not named as a model is: nothing of the text may be quoted.
    pub(crate) private: bool,
}

/// The file that a formula of the command line is from.
pub(crate) const FORMULA: &str = "--formula";
/// Files may include files; deeper than this is a loop.
const DEEPEST_INCLUDE: usize = 40;
/// Expansions that go through more tokens than this, or nest deeper, are not a model.
const LONGEST: usize = 1_000_000;
const DEEPEST: usize = 150;
/// Tokens that are looked at in the search for the ends of macro calls.
const MOST_LOOKED_AT: usize = 50_000_000;
/// Tokens between two looks at whether to go on.
const EVERY: usize = 1 << 14;

/// Reads a text. What it includes lies in its directory, or below the folders given.
pub(crate) fn preprocess(
    text: &str,
    name: &str,
    directory: Option<&Path>,
    reading: &Reading<'_>,
) -> Result<Source, Error> {
    let mut state = Preprocessor {
        macros: HashMap::new(),
        files: Files(vec![name.to_string()]),
        errors: Vec::new(),
        out: Vec::new(),
        reading,
        root: directory.map(Path::to_path_buf),
        bytes: Cell::new(text.len()),
        private: false,
        spent: Cell::new(0),
        looked: Cell::new(0),
        depth: Cell::new(0),
        stopped: Cell::new(false),
    };
    if text.len() > MOST_BYTES {
        return Err(Error::Read { file: name.to_string(), reason: too_long() });
    }
    for definition in reading.definitions {
        let (name, value) = definition.split_once('=').unwrap_or((definition, "1"));
        let head = tokenize(name, 0);
        let (Some(word), 2) = (head[0].word(), head.len()) else {
            return Err(Error::Request(format!(
                "the definition '{definition}' is not NAME or NAME=VALUE; give it as -D NAME=VALUE"
            )));
        };
        let mut body = tokenize(value, 0);
        body.pop();
        state.macros.insert(word.clone(), Macro { parameters: None, body });
    }
    state.file(text, 0, directory.map(Path::to_path_buf), 0)?;
    if let Some(formula) = reading.formula {
        let number = state.files.0.len();
        state.files.0.push(FORMULA.to_string());
        for part in ["ltl formula {", formula, "}"] {
            state.file(part, number as u16, None, 0)?;
        }
    }
    if state.stopped.get() {
        return Err(Error::Stopped);
    }
    let end = state.out.last().map_or(Pos { file: 0, line: 1, column: 1 }, |token| token.at);
    state.out.push(Token { tok: Tok::Eof, at: end, line_start: true, space: true });
    Ok(Source { tokens: state.out, files: state.files, errors: state.errors, private: state.private })
}

fn too_long() -> String {
    format!("a model and what it includes are at most {} MiB", MOST_BYTES >> 20)
}

struct Preprocessor<'a> {
    macros: HashMap<Rc<str>, Macro>,
    files: Files,
    errors: Vec<Diagnostic>,
    out: Vec<Token>,
    reading: &'a Reading<'a>,
    /// The model's folder.
    root: Option<PathBuf>,
    /// Bytes of the files, and of the texts that `#` and `##` have made; at most [`MOST_BYTES`].
    bytes: Cell<usize>,
    /// See [`Source::private`].
    private: bool,
    /// Tokens that all expansions have gone through; more than [`LONGEST`] ends them.
    spent: Cell<usize>,
    /// Tokens that were looked at; at most [`MOST_LOOKED_AT`].
    looked: Cell<usize>,
    /// The user does not want to go on.
    stopped: Cell<bool>,
    /// Expansions within each other.
    depth: Cell<usize>,
}

/// One `#if`: whether its current branch is taken, and whether any was.
struct Branch {
    active: bool,
    taken: bool,
    parent: bool,
}

impl Preprocessor<'_> {
    /// Counts tokens that are gone through, and looks now and then whether to go on.
    fn spend(&self, tokens: usize) {
        let spent = self.spent.get().saturating_add(tokens);
        self.spent.set(spent);
        self.look(tokens);
    }

    fn look(&self, tokens: usize) {
        let before = self.looked.get();
        let looked = before.saturating_add(tokens);
        self.looked.set(looked);
        let stop = looked / EVERY != before / EVERY && !(self.reading.go_on)();
        if stop || looked > MOST_LOOKED_AT {
            self.stopped.set(self.stopped.get() || stop);
            self.spent.set(LONGEST + 1);
        }
    }

    /// Counts bytes of a text that is made.
    fn make(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        if self.bytes.get() > MOST_BYTES {
            self.spent.set(LONGEST + 1);
        }
    }

    fn error(&mut self, at: Pos, message: impl Into<String>, remedy: &str) {
        let remedy = (!remedy.is_empty()).then(|| remedy.to_string());
        let location = self.files.location(at);
        self.errors.push(Diagnostic { location, message: message.into(), remedy });
    }

    fn file(&mut self, text: &str, file: u16, directory: Option<PathBuf>, depth: usize) -> Result<(), Error> {
        let tokens = tokenize(text, file);
        let mut branches: Vec<Branch> = Vec::new();
        let mut index = 0;
        while tokens[index].tok != Tok::Eof && !self.stopped.get() {
            let active = branches.last().is_none_or(|branch| branch.active);
            if tokens[index].line_start && tokens[index].is("#") {
                let end = (index + 1..tokens.len())
                    .find(|&i| tokens[i].line_start || tokens[i].tok == Tok::Eof)
                    .expect("the last token is the end");
                let line = &tokens[index + 1..end];
                self.directive(line, tokens[index].at, &mut branches, active, directory.as_deref(), depth)?;
                self.look(end - index);
                index = end;
                continue;
            }
            // Take everything up to the next directive, so that macro calls may span lines.
            let end = (index + 1..tokens.len())
                .find(|&i| tokens[i].tok == Tok::Eof || (tokens[i].line_start && tokens[i].is("#")))
                .expect("the last token is the end");
            if active {
                let mut expanded = self.expand(&tokens[index..end], &mut Vec::new());
                if self.out.len() + expanded.len() > LONGEST || self.spent.get() > LONGEST {
                    self.error(tokens[index].at, "the macros expand to too much text", "");
                    return Ok(());
                }
                self.out.append(&mut expanded);
            }
            index = end;
        }
        if !branches.is_empty() {
            let at = tokens.last().expect("the last token is the end").at;
            self.error(at, "an #if is still open at the end of the file", "close it with #endif");
        }
        Ok(())
    }

    fn directive(
        &mut self,
        line: &[Token],
        at: Pos,
        branches: &mut Vec<Branch>,
        active: bool,
        directory: Option<&Path>,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(first) = line.first() else { return Ok(()) };
        let Some(word) = first.word().cloned() else { return Ok(()) }; // # 12 "file"
        let rest = &line[1..];
        match &*word {
            "ifdef" | "ifndef" => {
                let defined = rest.first().and_then(Token::word).is_some_and(|w| self.macros.contains_key(w));
                let condition = defined == (&*word == "ifdef");
                branches.push(Branch { active: active && condition, taken: condition, parent: active });
            }
            "if" => {
                let condition = active && self.condition(rest, at);
                branches.push(Branch { active: condition, taken: condition, parent: active });
            }
            "elif" | "else" | "endif" if branches.is_empty() => {
                self.error(at, format!("#{word} without an #if"), "");
            }
            "elif" => {
                let evaluate = branches.last().is_some_and(|b| b.parent && !b.taken);
                let condition = evaluate && self.condition(rest, at);
                let branch = branches.last_mut().expect("checked above");
                branch.active = condition;
                branch.taken |= condition;
            }
            "else" => {
                let branch = branches.last_mut().expect("checked above");
                branch.active = branch.parent && !branch.taken;
                branch.taken = true;
            }
            "endif" => {
                branches.pop();
            }
            _ if !active => {}
            "define" => self.define(rest, at),
            "undef" => {
                if let Some(name) = rest.first().and_then(Token::word) {
                    self.macros.remove(name);
                }
            }
            "include" => self.include(rest, at, directory, depth)?,
            "error" => {
                let text: Vec<String> = rest.iter().map(Token::text).collect();
                self.error(at, format!("#error {}", text.join(" ")), "");
            }
            "line" | "pragma" | "warning" | "ident" => {}
            _ => self.error(
                at,
                format!("unknown directive #{word}"),
                "expected define, undef, include, if, ifdef, ifndef, elif, else or endif",
            ),
        }
        Ok(())
    }

    fn define(&mut self, rest: &[Token], at: Pos) {
        let Some(name) = rest.first().and_then(Token::word).cloned() else {
            return self.error(at, "expected a name after #define", "");
        };
        let (mut parameters, mut body) = (None, &rest[1..]);
        if body.first().is_some_and(|token| token.is("(") && !token.space) {
            let Some(close) = body.iter().position(|token| token.is(")")) else {
                return self.error(at, "the parameters of this macro are not closed", "expected ')'");
            };
            let names: Option<Vec<_>> = body[1..close]
                .iter()
                .filter(|token| !token.is(","))
                .map(|token| token.word().cloned())
                .collect();
            let Some(names) = names else {
                return self.error(at, "a macro's parameters are names", "expected NAME or NAME, NAME");
            };
            parameters = Some(names);
            body = &body[close + 1..];
        }
        self.macros.insert(name, Macro { parameters, body: body.to_vec() });
    }

    fn include(
        &mut self,
        rest: &[Token],
        at: Pos,
        directory: Option<&Path>,
        depth: usize,
    ) -> Result<(), Error> {
        let name = match rest.first().map(|token| &token.tok) {
            Some(Tok::Str(name)) => name.to_string(),
            Some(Tok::Op("<")) => {
                rest[1..].iter().take_while(|token| !token.is(">")).map(Token::text).collect()
            }
            _ => {
                self.error(at, "expected a file name after #include", "write #include \"file\"");
                return Ok(());
            }
        };
        if depth >= DEEPEST_INCLUDE || self.files.0.len() >= usize::from(u16::MAX) {
            self.error(at, "the files include each other without end", "");
            return Ok(());
        }
        let (Some(directory), Some(root)) = (directory, &self.root) else {
            self.error(at, format!("'{name}' cannot be included: the model has no directory"), "");
            return Ok(());
        };
        let Some(path) = reading::included(&name, directory, root, self.reading.folders) else {
            let message = format!("'{name}' is no file below the model's folder");
            self.error(at, message, "move it there, or name its folder with -I FOLDER");
            return Ok(());
        };
        let left = MOST_BYTES.saturating_sub(self.bytes.get());
        let text = match reading::text(&path, left) {
            Ok(text) => text,
            Err(reason) => {
                self.error(at, format!("'{name}' cannot be included: {reason}"), "");
                return Ok(());
            }
        };
        self.bytes.set(self.bytes.get() + text.len());
        self.private |= !reading::is_named_as_a_model(&path);
        let file = self.files.0.len() as u16;
        self.files.0.push(name);
        self.file(&text, file, path.parent().map(Path::to_path_buf), depth + 1)
    }

    /// Expands every macro in a run of tokens. `hidden` are the macros being expanded around it.
    fn expand(&self, tokens: &[Token], hidden: &mut Vec<Rc<str>>) -> Vec<Token> {
        if self.depth.get() >= DEEPEST {
            self.spent.set(LONGEST + 1);
            return Vec::new();
        }
        self.depth.set(self.depth.get() + 1);
        let out = self.expand_within(tokens, hidden);
        self.depth.set(self.depth.get() - 1);
        out
    }

    fn expand_within(&self, tokens: &[Token], hidden: &mut Vec<Rc<str>>) -> Vec<Token> {
        self.spend(tokens.len());
        let mut out = Vec::new();
        let mut index = 0;
        while index < tokens.len() && self.spent.get() <= LONGEST {
            let token = &tokens[index];
            index += 1;
            let found =
                token.word().filter(|w| !hidden.contains(w)).and_then(|w| self.macros.get(w).map(|m| (w, m)));
            let Some((word, definition)) = found else {
                out.push(token.clone());
                continue;
            };
            let mut body = match &definition.parameters {
                None => definition.body.clone(),
                Some(parameters) => {
                    let found = arguments(tokens, index);
                    let called = tokens.get(index).is_some_and(|token| token.is("("));
                    let end = found.as_ref().map_or(tokens.len(), |(_, next)| *next);
                    self.look(if called { end - index } else { 0 });
                    let Some((arguments, next)) = found else {
                        out.push(token.clone());
                        continue;
                    };
                    index = next;
                    self.substitute(&definition.body, parameters, &arguments, hidden)
                }
            };
            for (position, part) in body.iter_mut().enumerate() {
                part.at = token.at;
                part.line_start = token.line_start && position == 0;
            }
            hidden.push(word.clone());
            // A function-like macro may find its arguments after the expansion: scan them together.
            out.append(&mut self.expand(&body, hidden));
            hidden.pop();
        }
        out
    }

    fn substitute(
        &self,
        body: &[Token],
        parameters: &[Rc<str>],
        arguments: &[Vec<Token>],
        hidden: &mut Vec<Rc<str>>,
    ) -> Vec<Token> {
        let argument = |token: &Token| {
            let place = token.word().and_then(|w| parameters.iter().position(|p| p == w))?;
            Some(arguments.get(place).map_or(&[][..], Vec::as_slice))
        };
        let mut out: Vec<Token> = Vec::new();
        let mut index = 0;
        while index < body.len() && self.spent.get() <= LONGEST {
            let token = &body[index];
            if token.is("#")
                && let Some(text) = body.get(index + 1).and_then(&argument)
            {
                let text = text.iter().map(Token::text).collect::<Vec<String>>().join(" ");
                self.make(text.len());
                out.push(Token { tok: Tok::Str(Rc::from(text)), ..token.clone() });
                index += 2;
                continue;
            }
            if token.is("##")
                && let (Some(left), Some(next)) = (out.pop(), body.get(index + 1))
            {
                let right = argument(next).unwrap_or(std::slice::from_ref(next));
                let head = right.first().map(Token::text).unwrap_or_default();
                let text = format!("{}{head}", left.text());
                self.make(text.len());
                self.spend(right.len());
                let mut glued = tokenize(&text, left.at.file);
                glued.pop();
                out.extend(glued);
                out.extend(right.iter().skip(1).cloned());
                index += 2;
                continue;
            }
            match argument(token) {
                Some(text) if body.get(index + 1).is_some_and(|t| t.is("##")) => {
                    self.spend(text.len());
                    out.extend(text.iter().cloned());
                }
                Some(text) => out.extend(self.expand(text, hidden)),
                None => out.push(token.clone()),
            }
            index += 1;
        }
        out
    }

    /// The value of an `#if` line.
    fn condition(&mut self, line: &[Token], at: Pos) -> bool {
        // `defined X` is answered before macros are expanded.
        let mut tokens = Vec::new();
        let mut index = 0;
        while index < line.len() {
            if line[index].is_word("defined") {
                let open = line.get(index + 1).is_some_and(|token| token.is("("));
                let name = line.get(index + 1 + usize::from(open)).and_then(Token::word);
                let value = i64::from(name.is_some_and(|name| self.macros.contains_key(name)));
                tokens.push(Token { tok: Tok::Num(value), ..line[index].clone() });
                index += if open { 4 } else { 2 };
            } else {
                tokens.push(line[index].clone());
                index += 1;
            }
        }
        let tokens = self.expand(&tokens, &mut Vec::new());
        let mut cursor = 0;
        match value(&tokens, &mut cursor, 0, 0) {
            Some(value) if cursor == tokens.len() => value != 0,
            _ => {
                self.error(
                    at,
                    "this #if is not a constant expression",
                    "use numbers, defined(), and C's operators",
                );
                false
            }
        }
    }
}

/// The arguments of a macro call that begins at `index`, and the index after it.
fn arguments(tokens: &[Token], index: usize) -> Option<(Vec<Vec<Token>>, usize)> {
    if !tokens.get(index)?.is("(") {
        return None;
    }
    let (mut list, mut depth) = (vec![Vec::new()], 0);
    for (offset, token) in tokens[index + 1..].iter().enumerate() {
        if token.is(")") && depth == 0 {
            return Some((list, index + offset + 2));
        }
        if token.is("(") || token.is("[") || token.is("{") {
            depth += 1;
        } else if token.is(")") || token.is("]") || token.is("}") {
            depth -= 1;
        }
        if token.is(",") && depth == 0 {
            list.push(Vec::new());
        } else {
            list.last_mut().expect("never empty").push(token.clone());
        }
    }
    None
}

/// A constant expression by precedence climbing.
fn value(tokens: &[Token], cursor: &mut usize, level: u8, depth: u32) -> Option<i64> {
    if depth > 200 {
        return None;
    }
    let token = tokens.get(*cursor)?;
    *cursor += 1;
    let mut left = match &token.tok {
        Tok::Num(n) => *n,
        Tok::Ident(_) => 0,
        Tok::Op("!") => i64::from(value(tokens, cursor, 20, depth + 1)? == 0),
        Tok::Op("-") => value(tokens, cursor, 20, depth + 1)?.wrapping_neg(),
        Tok::Op("+") => value(tokens, cursor, 20, depth + 1)?,
        Tok::Op("~") => !value(tokens, cursor, 20, depth + 1)?,
        Tok::Op("(") => {
            let inner = value(tokens, cursor, 0, depth + 1)?;
            if !tokens.get(*cursor)?.is(")") {
                return None;
            }
            *cursor += 1;
            inner
        }
        _ => return None,
    };
    while let Some(Tok::Op(op)) = tokens.get(*cursor).map(|token| &token.tok) {
        let precedence = match *op {
            "||" => 1,
            "&&" => 2,
            "|" => 3,
            "^" => 4,
            "&" => 5,
            "==" | "!=" => 6,
            "<" | ">" | "<=" | ">=" => 7,
            "<<" | ">>" => 8,
            "+" | "-" => 9,
            "*" | "/" | "%" => 10,
            _ => break,
        };
        if precedence <= level {
            break;
        }
        *cursor += 1;
        let right = value(tokens, cursor, precedence, depth + 1)?;
        left = match *op {
            "||" => i64::from(left != 0 || right != 0),
            "&&" => i64::from(left != 0 && right != 0),
            "|" => left | right,
            "^" => left ^ right,
            "&" => left & right,
            "==" => i64::from(left == right),
            "!=" => i64::from(left != right),
            "<" => i64::from(left < right),
            ">" => i64::from(left > right),
            "<=" => i64::from(left <= right),
            ">=" => i64::from(left >= right),
            "<<" => left.checked_shl(u32::try_from(right).ok()?).unwrap_or(0),
            ">>" => left.checked_shr(u32::try_from(right).ok()?).unwrap_or(0),
            "+" => left.wrapping_add(right),
            "-" => left.wrapping_sub(right),
            "*" => left.wrapping_mul(right),
            "/" => left.checked_div(right)?,
            _ => left.checked_rem(right)?,
        };
    }
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let definitions = ["N=3".to_string()];
        let reading = Reading { definitions: &definitions, ..Reading::default() };
        let source = preprocess(text, "t", None, &reading).unwrap();
        let words: Vec<String> =
            source.tokens.iter().filter(|t| t.tok != Tok::Eof).map(Token::text).collect();
        assert_eq!(words.join(" "), expected, "{:?}", source.errors);
    }

    #[test]
    fn macros_expand_as_in_c() {
        check("N x", "3 x");
        check("#define A B\n#define B A\nA", "A");
        check("#define F(x, y) ((x) + y)\nF(N, (1, 2)) F", "( ( 3 ) + ( 1 , 2 ) ) F");
        check("#define G(a) a ## _t #a\nG(x)", "x_t \"x\"");
        check("#define L 1 \\\n + 2\nL", "1 + 2");
    }

    #[test]
    fn conditions_choose_a_branch() {
        check("#if N > 2 && defined(N)\nyes\n#else\nno\n#endif", "yes");
        check("#ifdef M\na\n#elif N == 3\nb\n#else\nc\n#endif", "b");
        check("#if 0\n#if 1\nx\n#endif\n#else\ny\n#endif", "y");
    }
}
