//! Source text to tokens. Comments and line splices go here; directives are the preprocessor's.

use std::rc::Rc;

use crate::error::Pos;

/// A token's kind and value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok {
    /// An identifier or keyword.
    Ident(Rc<str>),
    /// An integer or character literal.
    Num(i64),
    /// A string literal, without its quotes, escapes kept.
    Str(Rc<str>),
    /// An operator or punctuation mark.
    Op(&'static str),
    /// A character that no token begins with.
    Bad(char),
    /// The end of the text.
    Eof,
}

/// A token in its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    pub(crate) at: Pos,
    /// First on its line.
    pub(crate) line_start: bool,
    /// White space stands before it.
    pub(crate) space: bool,
}

impl Token {
    pub(crate) fn is(&self, op: &str) -> bool {
        matches!(&self.tok, Tok::Op(o) if *o == op)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.tok, Tok::Ident(w) if &**w == word)
    }

    pub(crate) fn word(&self) -> Option<&Rc<str>> {
        match &self.tok {
            Tok::Ident(word) => Some(word),
            _ => None,
        }
    }

    /// The token as it would be written.
    pub(crate) fn text(&self) -> String {
        match &self.tok {
            Tok::Ident(word) => word.to_string(),
            Tok::Num(n) => n.to_string(),
            Tok::Str(s) => format!("\"{s}\""),
            Tok::Op(op) => (*op).to_string(),
            Tok::Bad(c) => c.to_string(),
            Tok::Eof => "the end of the file".to_string(),
        }
    }
}

/// Longest first, so that the first that fits is the right one.
const OPS: [&str; 53] = [
    "<->", "...", "!!", "??", "::", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "..",
    "<>", "[]", "\\/", "/\\", "##", "{", "}", "(", ")", "[", "]", ";", ":", ",", ".", "=", "<", ">", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "!", "?", "@", "#", "$", "\\", "'", "`", "\"",
];

/// Turns a text into tokens; the last is [`Tok::Eof`].
pub(crate) fn tokenize(text: &str, file: u16) -> Vec<Token> {
    let mut scanner = Scanner { bytes: text.as_bytes(), text, index: 0, line: 1, line_begin: 0, file };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let before = (scanner.line, scanner.index);
        let newline = scanner.skip_blank();
        let line_start = newline || tokens.is_empty();
        let space = scanner.index != before.1;
        let at = scanner.pos();
        let tok = scanner.next();
        let end = tok == Tok::Eof;
        tokens.push(Token { tok, at, line_start, space });
        if end {
            return tokens;
        }
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    text: &'a str,
    index: usize,
    line: u32,
    line_begin: usize,
    file: u16,
}

impl Scanner<'_> {
    fn pos(&self) -> Pos {
        let column = (self.index - self.line_begin + 1).min(usize::from(u16::MAX)) as u16;
        Pos { file: self.file, line: self.line, column }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.index + ahead).copied().unwrap_or(0)
    }

    fn newline(&mut self) {
        self.line += 1;
        self.line_begin = self.index;
    }

    /// Skips white space, comments and spliced line ends; whether a real line end was among them.
    fn skip_blank(&mut self) -> bool {
        let mut newline = false;
        while self.index < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    newline = true;
                    self.index += 1;
                    self.newline();
                }
                (b'\\', b'\n') => {
                    self.index += 2;
                    self.newline();
                }
                (b'\\', b'\r') if self.peek(2) == b'\n' => {
                    self.index += 3;
                    self.newline();
                }
                (b'/', b'/') => {
                    while self.index < self.bytes.len() && self.peek(0) != b'\n' {
                        self.index += 1;
                    }
                }
                (b'/', b'*') => {
                    self.index += 2;
                    while self.index < self.bytes.len() && (self.peek(0), self.peek(1)) != (b'*', b'/') {
                        self.index += 1;
                        if self.bytes[self.index - 1] == b'\n' {
                            self.newline();
                        }
                    }
                    self.index = (self.index + 2).min(self.bytes.len());
                }
                (c, _) if c.is_ascii_whitespace() || c == 0x0b => self.index += 1,
                _ => break,
            }
        }
        newline
    }

    fn next(&mut self) -> Tok {
        let start = self.index;
        let first = self.peek(0);
        if start >= self.bytes.len() {
            return Tok::Eof;
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
                self.index += 1;
            }
            return Tok::Ident(Rc::from(&self.text[start..self.index]));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == b'"' {
            return self.string();
        }
        if first == b'\''
            && let Some(value) = self.character()
        {
            return Tok::Num(value);
        }
        // As in Spin, an arrow may be longer: x --> y is x -> y.
        if self.text[start..].starts_with("-->") {
            self.index += 3;
            return Tok::Op("->");
        }
        for op in OPS {
            if self.text[start..].starts_with(op) {
                self.index += op.len();
                return Tok::Op(op);
            }
        }
        let bad = self.text[start..].chars().next().unwrap_or('?');
        self.index += bad.len_utf8();
        Tok::Bad(bad)
    }

    fn number(&mut self) -> Tok {
        let mut value: i64 = 0;
        let hex =
            self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') && self.peek(2).is_ascii_hexdigit();
        let radix = if hex { 16 } else { 10 };
        self.index += if hex { 2 } else { 0 };
        while let Some(digit) = char::from(self.peek(0)).to_digit(radix) {
            value = (value.saturating_mul(i64::from(radix))).saturating_add(i64::from(digit)).min(1 << 40);
            self.index += 1;
        }
        Tok::Num(value)
    }

    fn string(&mut self) -> Tok {
        self.index += 1;
        let start = self.index;
        while self.index < self.bytes.len() && self.peek(0) != b'"' && self.peek(0) != b'\n' {
            self.index += if self.peek(0) == b'\\' && self.index + 1 < self.bytes.len() { 2 } else { 1 };
        }
        // An escape may have skipped into the middle of a character; step back to a boundary.
        while !self.text.is_char_boundary(self.index) {
            self.index -= 1;
        }
        let text = Rc::from(&self.text[start..self.index]);
        if self.peek(0) == b'"' {
            self.index += 1;
        }
        Tok::Str(text)
    }

    fn character(&mut self) -> Option<i64> {
        let (value, length) = match (self.peek(1), self.peek(2), self.peek(3)) {
            (b'\\', b'n', b'\'') => (b'\n', 4),
            (b'\\', b't', b'\'') => (b'\t', 4),
            (b'\\', b'r', b'\'') => (b'\r', 4),
            (b'\\', b'0', b'\'') => (0, 4),
            (b'\\', c, b'\'') if c.is_ascii() => (c, 4),
            (c, b'\'', _) if c.is_ascii() && c != b'\\' && c != b'\n' => (c, 3),
            _ => return None,
        };
        self.index += length;
        Some(i64::from(value))
    }
}
