//! CPDS files: concurrent pushdown systems, written out rule by rule.
//!
//! ```text
//! file    = states { pda } initial
//! states  = NUMBER                                 the number of global states
//! pda     = "PDA" NUMBER NUMBER { rule }           a thread, and the first and last of its stack symbols
//! rule    = state symbol "->" state symbol         a step
//!         | state symbol "->" state symbol symbol  a push, the new top first
//!         | state symbol "->" state "-"            a pop
//! initial = state "|" symbol { "," symbol }        optional: global state 0 and each first symbol otherwise
//! ```
//!
//! One item a line; `#` begins a comment. The initial configuration may stand on any line after the threads it is
//! about are known, or before them all.

use selvedge_core::Location;
use selvedge_symbolic::expression::{Expression, Place};
use selvedge_symbolic::network::{
    Assignment, Effect, Initial, Label, LabelId, Network, Procedure, ProcedureId, Process, Rule, Target,
    Variable,
};

use crate::Error;
use crate::lexer::At;
use crate::scope::meaning;

/// More global states or stack symbols than this are refused.
const MOST: u64 = 1 << 20;

/// A word of a line, and the column where it begins.
type Word<'a> = (&'a str, u32);

/// The first configuration: where it stands, the global state, and the stack symbols.
type First = (At, u64, Vec<(u64, At)>);

/// A line being read.
struct Line<'a> {
    file: &'a str,
    number: u32,
    words: std::vec::IntoIter<Word<'a>>,
    end: u32,
}

impl<'a> Line<'a> {
    fn expected<T>(&self, expected: &str, found: Option<Word<'a>>) -> Result<T, Error> {
        let (found, column) = found
            .map_or(("the end of the line".to_string(), self.end), |(word, column)| {
                (format!("`{word}`"), column)
            });
        let at = At { line: self.number, column };
        Err(Error::Syntax { location: at.in_file(self.file), expected: expected.into(), found })
    }

    fn number(&mut self, what: &str) -> Result<(u64, At), Error> {
        let word = self.words.next();
        match word.and_then(|(word, _)| word.parse().ok()) {
            Some(number) => Ok((number, At { line: self.number, column: word.expect("it was parsed").1 })),
            None => self.expected(what, word),
        }
    }

    fn finished(&mut self) -> Result<(), Error> {
        match self.words.next() {
            None => Ok(()),
            found => self.expected("the end of the line", found),
        }
    }
}

/// Splits a line into words; `|`, `,` and `->` are words of their own.
fn words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(begin) = line[rest..].find(|c: char| !c.is_whitespace()).map(|at| at + rest) {
        let tail = &line[begin..];
        let length = match tail.chars().next().expect("it is not empty") {
            '|' | ',' => 1,
            '-' if tail.starts_with("->") => 2,
            first => {
                let ends = |(at, c): &(usize, char)| {
                    *at > 0 && (c.is_whitespace() || matches!(c, '|' | ',') || tail[*at..].starts_with("->"))
                };
                tail.char_indices().find(ends).map_or(tail.len(), |(at, _)| at).max(first.len_utf8())
            }
        };
        let column = line[..begin].chars().count() as u32 + 1;
        words.push((&tail[..length], column));
        rest = begin + length;
    }
    words
}

/// Reads a CPDS file.
pub(crate) fn read(file: &str, text: &str) -> Result<Network, Error> {
    let mut reader = Reader {
        file,
        states: None,
        width: 1,
        network: Network::default(),
        threads: Vec::new(),
        initial: None,
    };
    for (index, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        let words = words(code);
        if words.is_empty() {
            continue;
        }
        let number = index as u32 + 1;
        let end = code.trim_end().chars().count() as u32 + 1;
        let is_initial = words.iter().any(|&(word, _)| word == "|");
        let line = Line { file, number, words: words.into_iter(), end };
        reader.line(line, is_initial)?;
    }
    reader.finish()
}

struct Reader<'a> {
    file: &'a str,
    states: Option<u64>,
    width: u32,
    network: Network,
    /// The first and last symbol of each thread, and the label of the first.
    threads: Vec<(u64, u64, u32)>,
    initial: Option<First>,
}

impl Reader<'_> {
    fn line(&mut self, mut line: Line<'_>, is_initial: bool) -> Result<(), Error> {
        if is_initial {
            let (state, at) = line.number("a global state")?;
            let mut tops = Vec::new();
            let mut mark = "|";
            loop {
                match line.words.next() {
                    None if !tops.is_empty() => break,
                    Some((word, _)) if word == mark => {}
                    found => return line.expected(&format!("`{mark}`"), found),
                }
                let (symbol, at) = line.number("a stack symbol")?;
                tops.push((symbol, at));
                mark = ",";
            }
            self.initial = Some((at, state, tops));
            return Ok(());
        }
        let Some(states) = self.states else {
            let (states, at) = line.number("the number of global states")?;
            if !(1..=MOST).contains(&states) {
                let message = format!("{states} global states");
                return meaning(self.file, at, message, format!("give a number from 1 to {MOST}"));
            }
            self.states = Some(states);
            self.width = (u64::BITS - (states - 1).leading_zeros()).max(1);
            return line.finished();
        };
        if line.words.as_slice().first().is_some_and(|&(word, _)| word == "PDA") {
            line.words.next();
            return self.thread(line);
        }
        self.rule(line, states)
    }

    fn thread(&mut self, mut line: Line<'_>) -> Result<(), Error> {
        let (low, at) = line.number("the first stack symbol")?;
        let (high, _) = line.number("the last stack symbol")?;
        line.finished()?;
        let room = MOST - self.network.labels.len() as u64;
        if low > high || high - low >= room {
            let message = format!("the symbols from {low} to {high} are none, or too many");
            return meaning(self.file, at, message, "give the first and the last, in this order");
        }
        let id = ProcedureId(self.threads.len() as u32);
        let name = format!("P{}", self.threads.len());
        self.network.procedures.push(Procedure { name, locals: Vec::new() });
        self.threads.push((low, high, self.network.labels.len() as u32));
        for symbol in low..=high {
            let location = None;
            let name = symbol.to_string();
            self.network.labels.push(Label { name, procedure: id, location, violation: None, blocks: false });
        }
        Ok(())
    }

    fn rule(&mut self, mut line: Line<'_>, states: u64) -> Result<(), Error> {
        let Some(&(low, high, first)) = self.threads.last() else {
            let found = line.words.next();
            return line.expected("`PDA`, and the first and last stack symbol of a thread", found);
        };
        let file = self.file;
        let state = |(state, at): (u64, At)| {
            if state < states {
                return Ok(state);
            }
            let remedy = format!("they are numbered from 0 to {}", states - 1);
            meaning(file, at, format!("there is no global state {state}"), remedy)
        };
        let symbol = |(symbol, at): (u64, At)| {
            if (low..=high).contains(&symbol) {
                return Ok(LabelId(first + (symbol - low) as u32));
            }
            let remedy = format!("those of this thread are {low} to {high}");
            meaning(file, at, format!("there is no stack symbol {symbol}"), remedy)
        };
        let number = line.number("a global state, or `PDA`")?;
        let at = number.1;
        let from_state = state(number)?;
        let from = symbol(line.number("a stack symbol")?)?;
        match line.words.next() {
            Some(("->", _)) => {}
            found => return line.expected("`->`", found),
        }
        let to_state = state(line.number("a global state")?)?;
        let effect = if line.words.as_slice().first().is_some_and(|&(word, _)| word == "-") {
            line.words.next();
            Effect::Pop
        } else {
            let top = symbol(line.number("a stack symbol, or `-`")?)?;
            if line.words.as_slice().is_empty() {
                Effect::Step { to: top }
            } else {
                Effect::Push { callee: top, back: symbol(line.number("a stack symbol")?)? }
            }
        };
        line.finished()?;
        let location: Location = at.in_file(file);
        let label = &mut self.network.labels[from.index()];
        label.location.get_or_insert(location);
        let name = |label: LabelId| &self.network.label(label).name;
        let text = match effect {
            Effect::Pop => format!("{from_state} {} -> {to_state} -", name(from)),
            Effect::Step { to } => format!("{from_state} {} -> {to_state} {}", name(from), name(to)),
            Effect::Push { callee, back } => {
                format!("{from_state} {} -> {to_state} {} {}", name(from), name(callee), name(back))
            }
            Effect::Jump { .. } | Effect::Fork { .. } => unreachable!("the format has neither"),
        };
        self.network.rules.push(Rule {
            from,
            effect,
            inputs: Vec::new(),
            guard: Expression::global(0).equals(from_state, self.width),
            assignments: vec![Assignment {
                target: Target::Place(Place::Global(0)),
                value: Expression::constant(to_state, self.width),
            }],
            text,
        });
        Ok(())
    }

    fn finish(mut self) -> Result<Network, Error> {
        let nowhere = At { line: 1, column: 1 };
        let Some(states) = self.states else {
            let location = nowhere.in_file(self.file);
            let found = "an empty file".to_string();
            return Err(Error::Syntax { location, expected: "the number of global states".into(), found });
        };
        if self.threads.is_empty() {
            let remedy = "add `PDA` with its first and last stack symbol, and its rules";
            return meaning(self.file, nowhere, "there is no thread", remedy);
        }
        let defaults = || self.threads.iter().map(|&(low, ..)| (low, nowhere)).collect();
        let (at, state, tops) = self.initial.clone().unwrap_or_else(|| (nowhere, 0, defaults()));
        if state >= states {
            let remedy = format!("they are numbered from 0 to {}", states - 1);
            return meaning(self.file, at, format!("there is no global state {state}"), remedy);
        }
        if tops.len() != self.threads.len() {
            let message = format!("{} stack symbols for {} threads", tops.len(), self.threads.len());
            return meaning(self.file, at, message, "give each thread one");
        }
        for (index, ((symbol, at), &(low, high, first))) in tops.into_iter().zip(&self.threads).enumerate() {
            if !(low..=high).contains(&symbol) {
                let message = format!("thread {index} has no stack symbol {symbol}");
                return meaning(self.file, at, message, format!("it has {low} to {high}"));
            }
            let entry = LabelId(first + (symbol - low) as u32);
            self.network.processes.push(Process { name: format!("P{index}"), entry });
        }
        let global = Variable { initial: Initial::Value(state), ..Variable::new("state", self.width) };
        self.network.globals.push(global);
        Ok(self.network)
    }
}
