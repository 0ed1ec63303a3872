//! Boolean programs as tokens.

use selvedge_core::Location;

use crate::Error;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or keyword.
    Word(String),
    Number(u64),
    /// An operator or a mark.
    Sign(&'static str),
    End,
}

impl Token {
    /// How an error message names it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the file".into(),
        }
    }
}

/// A place in the text: line and column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl At {
    pub(crate) fn in_file(self, file: &str) -> Location {
        Location { file: file.to_string(), line: self.line, column: Some(self.column) }
    }
}

/// The longest first, so that the first that fits is the right one.
const SIGNS: [&str; 37] = [
    ":=", "==", "!=", "<>", "<=", ">=", "&&", "||", "=>", "<<", ">>", "(", ")", "[", "]", "{", "}", ",", ";",
    ":", "?", "=", "<", ">", "!", "~", "&", "|", "^", "+", "-", "*", "'", ".", "@", "$", "%",
];

/// Whether a character can stand in a name, after its first.
pub(crate) fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$')
}

/// The length of a name in braces, with them: `{x==1}`, as SLAM calls predicates.
fn quoted(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('{')?;
    let length = inside.find(['{', '}', '\n'])?;
    (length > 0 && inside[length..].starts_with('}')).then_some(length + 2)
}

/// Splits a text into tokens; the last is [`Token::End`].
pub(crate) fn tokens(file: &str, text: &str) -> Result<Vec<(Token, At)>, Error> {
    let mut tokens = Vec::new();
    let (mut rest, mut at) = (text, At { line: 1, column: 1 });
    let advance = |rest: &mut &str, at: &mut At, bytes: usize| {
        for character in rest[..bytes].chars() {
            if character == '\n' {
                *at = At { line: at.line + 1, column: 1 };
            } else {
                at.column += 1;
            }
        }
        *rest = &rest[bytes..];
    };
    loop {
        let blank = rest.len() - rest.trim_start().len();
        advance(&mut rest, &mut at, blank);
        if rest.is_empty() {
            tokens.push((Token::End, at));
            return Ok(tokens);
        }
        if rest.starts_with("//") {
            let line = rest.find('\n').unwrap_or(rest.len());
            advance(&mut rest, &mut at, line);
            continue;
        }
        if rest.starts_with("/*") {
            let Some(end) = rest.find("*/") else {
                let found = "the end of the file".to_string();
                let expected = "`*/` after this `/*`".to_string();
                return Err(Error::Syntax { location: at.in_file(file), expected, found });
            };
            advance(&mut rest, &mut at, end + 2);
            continue;
        }
        let begin = at;
        let first = rest.chars().next().expect("the rest is not empty");
        if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            tokens.push((Token::Word(rest[..end].to_string()), begin));
            advance(&mut rest, &mut at, end);
        } else if let Some(length) = quoted(rest) {
            tokens.push((Token::Word(rest[..length].to_string()), begin));
            advance(&mut rest, &mut at, length);
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let digits = &rest[..end];
            let value = match digits.strip_prefix("0x") {
                Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
                None => digits.parse(),
            };
            let Ok(value) = value else {
                let found = format!("`{digits}`");
                let expected = "a number, decimal or 0x and hexadecimal, of at most 64 bits".to_string();
                return Err(Error::Syntax { location: at.in_file(file), expected, found });
            };
            tokens.push((Token::Number(value), begin));
            advance(&mut rest, &mut at, end);
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push((Token::Sign(sign), begin));
            advance(&mut rest, &mut at, sign.len());
        } else {
            let expected = "a name, a number or an operator".to_string();
            return Err(Error::Syntax { location: at.in_file(file), expected, found: format!("`{first}`") });
        }
    }
}
