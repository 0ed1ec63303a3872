//! CPDS files: concurrent pushdown systems, written out rule by rule.
//!
//! ```text
//! file    = states { pda } initial
//! states  = NUMBER                                 the number of global states
//! pda     = "PDA" NUMBER NUMBER { rule }           a thread, and the first and last of its stack symbols
//! rule    = state symbol "->" state symbol         a step
//!         | state symbol "->" state symbol symbol  a push, the new top first
//!         | state symbol "->" state [ "-" ]        a pop
//! initial = state "|" symbol { "," symbol }        optional: global state 0 and each first symbol otherwise
//! ```
//!
//! One item a line; `#` begins a comment. The initial configuration may stand on any line after the threads it is
//! about are known, before them all, or in a text of its own. Rules may use symbols that the thread's `PDA` does not
//! count: published networks do.
//!
//! A goal is written as an initial configuration is: the global state, and what is on top of each stack, with anything
//! below; `-` for an empty one.

use std::collections::HashMap;

use selvedge_core::Location;
use selvedge_symbolic::expression::{Expression, Place};
use selvedge_symbolic::network::{
    Assignment, Effect, Initial, Label, LabelId, Network, Procedure, ProcedureId, Process, Rule, Target,
    Variable,
};
use selvedge_symbolic::{FramePattern, Pattern, ThreadPattern};

use crate::Error;
use crate::lexer::At;
use crate::scope::meaning;

/// More global states or stack symbols than this are refused.
const MOST: u64 = 1 << 20;

/// A word of a line, and the column where it begins.
type Word<'a> = (&'a str, u32);

/// A global state, and a stack symbol for each thread; `None` for an empty stack.
#[derive(Clone)]
struct Configuration {
    at: At,
    state: u64,
    tops: Vec<(Option<u64>, At)>,
}

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

    /// `STATE | SYMBOL, SYMBOL`; a symbol may be `-`.
    fn configuration(&mut self) -> Result<Configuration, Error> {
        let (state, at) = self.number("a global state")?;
        let mut tops = Vec::new();
        let mut mark = "|";
        loop {
            match self.words.next() {
                None if !tops.is_empty() => return Ok(Configuration { at, state, tops }),
                Some((word, _)) if word == mark => {}
                found => return self.expected(&format!("`{mark}`"), found),
            }
            tops.push(match self.words.as_slice().first() {
                Some(&("-", column)) => {
                    self.words.next();
                    (None, At { line: self.number, column })
                }
                _ => self.number("a stack symbol, or `-`").map(|(symbol, at)| (Some(symbol), at))?,
            });
            mark = ",";
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

/// The lines of a text that say something.
fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    text.lines().enumerate().filter_map(move |(index, line)| {
        let code = line.split('#').next().unwrap_or_default();
        let words = words(code);
        let end = code.trim_end().chars().count() as u32 + 1;
        (!words.is_empty()).then(|| Line { file, number: index as u32 + 1, words: words.into_iter(), end })
    })
}

/// Reads a CPDS file, and its first configuration from a text of its own, if there is one.
pub(crate) fn read(file: &str, text: &str, initial: Option<(&str, &str)>) -> Result<Network, Error> {
    let mut reader = Reader {
        file,
        states: None,
        width: 1,
        network: Network::default(),
        threads: Vec::new(),
        initial: None,
    };
    for line in lines(file, text) {
        let is_initial = line.words.as_slice().iter().any(|&(word, _)| word == "|");
        reader.line(line, is_initial)?;
    }
    if let Some((file, text)) = initial {
        reader.initial = Some((file, alone(file, text)?));
    }
    reader.finish()
}

/// The one configuration of a text.
fn alone(file: &str, text: &str) -> Result<Configuration, Error> {
    let mut lines = lines(file, text);
    let nothing = || Line { file, number: 1, words: Vec::new().into_iter(), end: 1 };
    let configuration = lines.next().unwrap_or_else(nothing).configuration()?;
    match lines.next() {
        None => Ok(configuration),
        Some(mut line) => {
            let found = line.words.next();
            line.expected("nothing more: a configuration is one line", found)
        }
    }
}

/// Reads a goal for a network that [`read`] made.
pub(crate) fn goal(network: &Network, file: &str, text: &str) -> Result<Pattern, Error> {
    let Configuration { at, state, tops } = alone(file, text)?;
    let [global] = &network.globals[..] else {
        return meaning(
            file,
            at,
            "this is a goal for a CPDS file",
            "write `variable = value | stack | stack`",
        );
    };
    if state >> global.width != 0 {
        return meaning(file, at, format!("there is no global state {state}"), "give one that rules lead to");
    }
    if tops.len() != network.processes.len() {
        return count(file, at, tops.len(), network.processes.len());
    }
    let mut threads = Vec::new();
    for (process, (symbol, at)) in network.processes.iter().zip(tops) {
        let own = network.label(process.entry).procedure;
        let mut stack = Vec::new();
        if let Some(symbol) = symbol {
            let name = symbol.to_string();
            let label = network.labels.iter().position(|label| label.procedure == own && label.name == name);
            let Some(label) = label else { return unknown(file, at, &process.name, symbol) };
            stack.push(FramePattern { label: LabelId(label as u32), locals: Vec::new() });
        }
        threads.push(ThreadPattern { registers: Vec::new(), open: !stack.is_empty(), stack });
    }
    Ok(Pattern { globals: vec![Some(state)], threads })
}

fn count<T>(file: &str, at: At, symbols: usize, threads: usize) -> Result<T, Error> {
    let message = format!("{symbols} stack symbols for {threads} threads");
    meaning(file, at, message, "give each thread one")
}

fn unknown<T>(file: &str, at: At, thread: &str, symbol: u64) -> Result<T, Error> {
    let message = format!("{thread} has no stack symbol {symbol}");
    meaning(file, at, message, "give one that its `PDA` or one of its rules names")
}

/// A thread's stack symbols.
struct Thread {
    first: u64,
    labels: HashMap<u64, LabelId>,
}

struct Reader<'a> {
    file: &'a str,
    states: Option<u64>,
    width: u32,
    network: Network,
    threads: Vec<Thread>,
    /// The first configuration, and the file in which it is.
    initial: Option<(&'a str, Configuration)>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, mut line: Line<'_>, is_initial: bool) -> Result<(), Error> {
        if is_initial {
            self.initial = Some((self.file, line.configuration()?));
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
        let name = format!("P{}", self.threads.len());
        self.network.procedures.push(Procedure { name, locals: Vec::new() });
        self.threads.push(Thread { first: low, labels: HashMap::new() });
        (low..=high).try_for_each(|symbol| self.symbol((symbol, at)).map(drop))
    }

    /// A stack symbol of the last thread.
    fn symbol(&mut self, (symbol, at): (u64, At)) -> Result<LabelId, Error> {
        let thread = self.threads.last_mut().expect("a thread has begun");
        if let Some(&label) = thread.labels.get(&symbol) {
            return Ok(label);
        }
        let labels = &mut self.network.labels;
        if labels.len() as u64 >= MOST {
            return meaning(self.file, at, "there are too many stack symbols", "use fewer");
        }
        let label = LabelId(labels.len() as u32);
        let procedure = ProcedureId(self.network.procedures.len() as u32 - 1);
        let name = symbol.to_string();
        labels.push(Label { name, procedure, location: None, violation: None, blocks: false });
        thread.labels.insert(symbol, label);
        Ok(label)
    }

    fn rule(&mut self, mut line: Line<'_>, states: u64) -> Result<(), Error> {
        if self.threads.is_empty() {
            let found = line.words.next();
            return line.expected("`PDA`, and the first and last stack symbol of a thread", found);
        }
        let file = self.file;
        let state = |(state, at): (u64, At)| {
            if state < states {
                return Ok(state);
            }
            let remedy = format!("they are numbered from 0 to {}", states - 1);
            meaning(file, at, format!("there is no global state {state}"), remedy)
        };
        let number = line.number("a global state, or `PDA`")?;
        let at = number.1;
        let from_state = state(number)?;
        if let Some(&("-" | "-1", column)) = line.words.as_slice().first() {
            let at = At { line: line.number, column };
            let message = "this is a rule for an empty stack, and a thread with an empty stack has ended";
            return meaning(
                file,
                at,
                message,
                "leave the rule out, or begin with a symbol that is never popped",
            );
        }
        let from = self.symbol(line.number("a stack symbol")?)?;
        match line.words.next() {
            Some(("->", _)) => {}
            found => return line.expected("`->`", found),
        }
        let to_state = state(line.number("a global state")?)?;
        let effect = match line.words.as_slice().first() {
            None => Effect::Pop,
            Some(("-", _)) => {
                line.words.next();
                Effect::Pop
            }
            Some(_) => {
                let top = self.symbol(line.number("a stack symbol, or `-`")?)?;
                match line.words.as_slice().is_empty() {
                    true => Effect::Step { to: top },
                    false => Effect::Push { callee: top, back: self.symbol(line.number("a stack symbol")?)? },
                }
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
        let (file, first) = self.initial.take().unwrap_or_else(|| {
            let tops = self.threads.iter().map(|thread| (Some(thread.first), nowhere)).collect();
            (self.file, Configuration { at: nowhere, state: 0, tops })
        });
        let Configuration { at, state, tops } = first;
        if state >= states {
            let remedy = format!("they are numbered from 0 to {}", states - 1);
            return meaning(file, at, format!("there is no global state {state}"), remedy);
        }
        if tops.len() != self.threads.len() {
            return count(file, at, tops.len(), self.threads.len());
        }
        for (index, ((symbol, at), thread)) in tops.into_iter().zip(&self.threads).enumerate() {
            let name = format!("P{index}");
            let Some(symbol) = symbol else {
                return meaning(
                    file,
                    at,
                    format!("{name} begins with an empty stack"),
                    "leave the thread out",
                );
            };
            let Some(&entry) = thread.labels.get(&symbol) else { return unknown(file, at, &name, symbol) };
            self.network.processes.push(Process { name, entry });
        }
        let global = Variable { initial: Initial::Value(state), ..Variable::new("state", self.width) };
        self.network.globals.push(global);
        Ok(self.network)
    }
}
