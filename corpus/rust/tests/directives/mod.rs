//! The directives of a program of the corpus, which stand in comments at its head:
//!
//! ```text
//! //@ early-check: violated, panic, 1 preemption, 2 switches
//! //@ early-check at 0: 3 executions, 2 orders, 38 states
//! //@ fixed: holds, 2 preemptions
//! ```
//!
//! For each variant the verdict, with the kind of the violation and the fewest preemptions that show it (and
//! the switches of the counterexample where they matter), or the bound up to which it holds, with the spurious events that
//! are explored, if any; then the coverage for each bound that was finished. Without spurious events, one that is violated
//! only with these holds.

use std::fmt;
use std::path::Path;

use selvedge::{Checker, Coverage, CoverageRow, Outcome, Strategy};
use selvedge_corpus::Variant;

/// What a directive expects of a variant.
#[derive(Debug)]
struct Expected {
    name: String,
    verdict: Answer,
    /// How many spurious wakeups and failures an execution may have.
    spurious: u32,
    coverage: Vec<Row>,
}

/// A verdict as a directive writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Violated { kind: String, preemptions: u32, switches: Option<u32> },
    Holds { preemptions: u32 },
    Other(String),
}

/// A row of the coverage as a directive writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    bound: u32,
    executions: u64,
    orders: u64,
    states: u64,
}

impl From<&CoverageRow> for Row {
    fn from(row: &CoverageRow) -> Self {
        let [executions, orders, states] =
            [row.executions, row.distinct, row.states].map(|number| number.expect("states are counted"));
        Row { bound: row.bound, executions, orders, states }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |number: u64, what: &str| match number {
            1 => format!("1 {what}"),
            _ => format!("{number} {what}s"),
        };
        let [executions, orders, states] =
            [(self.executions, "execution"), (self.orders, "order"), (self.states, "state")]
                .map(|(number, what)| counted(number, what));
        write!(f, "at {}: {executions}, {orders}, {states}", self.bound)
    }
}

/// Checks every variant of a program, and compares with its directives. With `SELVEDGE_BLESS=1` the coverage
/// in the file becomes what was found; verdicts are never blessed.
pub(crate) fn compare(file: &Path, variants: &[Variant]) {
    let source = std::fs::read_to_string(file).expect("the program can be read");
    let expected = parse(&source);
    let mut problems = Vec::new();
    for (name, _) in variants {
        if !expected.iter().any(|expected| expected.name == *name) {
            problems.push(format!("the variant {name} has no directive"));
        }
    }
    let mut found = Vec::new();
    for expected in &expected {
        match variants.iter().find(|(name, _)| *name == expected.name) {
            None => problems.push(format!("the directive {} has no variant", expected.name)),
            Some(&(_, test)) => {
                let rows = check(expected, test, &mut problems);
                found.push((expected.name.clone(), rows));
            }
        }
    }
    let blesses = std::env::var_os("SELVEDGE_BLESS").is_some_and(|value| value == "1");
    if blesses {
        std::fs::write(file, bless(&source, &found)).expect("the program can be written");
    } else {
        for (expected, (name, rows)) in expected.iter().zip(&found) {
            if expected.coverage != *rows {
                let lines: Vec<_> = rows.iter().map(|row| format!("\n    //@ {name} {row}")).collect();
                problems.push(format!(
                    "the coverage of {name} has changed; if that is right, SELVEDGE_BLESS=1 writes it down:{}",
                    lines.concat()
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{}:\n  {}", file.display(), problems.join("\n  "));
}

/// Checks one variant: the verdict, that nothing is found below it, and that the counterexample replays.
fn check(expected: &Expected, test: fn(), problems: &mut Vec<String>) -> Vec<Row> {
    let name = &expected.name;
    let bound = match expected.verdict {
        Answer::Violated { preemptions, .. } | Answer::Holds { preemptions } => preemptions,
        Answer::Other(_) => 2,
    };
    let checker = || Checker::new().spurious(expected.spurious);
    if expected.spurious > 0 && !Checker::new().preemptions(bound).explore(test).holds() {
        problems.push(format!("{name}: violated without spurious events"));
    }
    let outcome = checker().name(name).preemptions(bound).explore(test);
    let found = answer(&outcome, &expected.verdict);
    if found != expected.verdict {
        problems.push(format!("{name}: expected {:?}, found {found:?}", expected.verdict));
    }
    // The search without reduction must say the same.
    let plain = checker().strategy(Strategy::Icb).coverage(Coverage::Executions).preemptions(bound);
    let plain = answer(&plain.explore(test), &expected.verdict);
    if plain != expected.verdict {
        problems.push(format!("{name} without reduction: expected {:?}, found {plain:?}", expected.verdict));
    }
    if let Some(violation) = outcome.violation() {
        let below = violation.below.as_ref().and_then(|below| below.bounds.preemptions);
        if below != bound.checked_sub(1) {
            problems.push(format!("{name}: below the counterexample {below:?} was exhausted"));
        }
        let again = checker().replay(violation.schedule.clone()).explore(test);
        if again.violation().map(|again| &again.message) != Some(&violation.message) {
            problems.push(format!("{name}: the replay ends otherwise: {:?}", again.verdict));
        }
    }
    outcome.rows.iter().map(Row::from).collect()
}

/// The verdict in the words of a directive; the switches only where the directive has them.
fn answer(outcome: &Outcome, expected: &Answer) -> Answer {
    match outcome.violation() {
        Some(violation) => Answer::Violated {
            kind: violation.kind.name().into(),
            preemptions: violation.preemptions,
            switches: match expected {
                Answer::Violated { switches: None, .. } => None,
                _ => Some(violation.switches),
            },
        },
        None if outcome.holds() => {
            let bound = outcome.guarantee().and_then(|guarantee| guarantee.bounds.preemptions);
            match expected {
                // A search that was complete earlier holds for all that the directive names.
                Answer::Holds { preemptions } if outcome.guarantee().is_some_and(|all| all.complete) => {
                    Answer::Holds { preemptions: *preemptions }
                }
                _ => Answer::Holds { preemptions: bound.expect("ICB bounds preemptions") },
            }
        }
        None => Answer::Other(format!("{:?}", outcome.verdict)),
    }
}

fn parse(source: &str) -> Vec<Expected> {
    let mut all: Vec<Expected> = Vec::new();
    for line in source.lines().filter_map(|line| line.strip_prefix("//@ ")) {
        let (subject, rest) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?} has no colon"));
        let words: Vec<_> = rest.split(", ").collect();
        let number = |unit: &str| {
            words.iter().find_map(|words| {
                let (number, of) = words.split_once(' ')?;
                (of.trim_end_matches('s') == unit.trim_end_matches('s'))
                    .then(|| number.parse::<u64>().ok())?
            })
        };
        let need =
            |unit: &str| number(unit).unwrap_or_else(|| panic!("{line:?} does not say how many {unit}"));
        if let Some((name, bound)) = subject.split_once(" at ") {
            let expected = all.iter_mut().find(|expected| expected.name == name);
            expected.unwrap_or_else(|| panic!("{line:?} comes before its variant's verdict")).coverage.push(
                Row {
                    bound: bound.parse().unwrap_or_else(|_| panic!("{line:?} has no bound")),
                    executions: need("executions"),
                    orders: need("orders"),
                    states: need("states"),
                },
            );
            continue;
        }
        let preemptions = need("preemptions") as u32;
        let verdict = match words[0] {
            "holds" => Answer::Holds { preemptions },
            "violated" => Answer::Violated {
                kind: words[1].into(),
                preemptions,
                switches: number("switches").map(|switches| switches as u32),
            },
            _ => panic!("{line:?} has no verdict"),
        };
        let spurious = number("spurious").unwrap_or(0) as u32;
        all.push(Expected { name: subject.into(), verdict, spurious, coverage: Vec::new() });
    }
    all
}

/// The source with these rows below the verdicts, in place of those that were there.
fn bless(source: &str, found: &[(String, Vec<Row>)]) -> String {
    let mut text = String::new();
    for line in source.lines() {
        let subject = line.strip_prefix("//@ ").and_then(|line| line.split_once(": ")).map(|(name, _)| name);
        if subject.is_some_and(|subject| subject.contains(" at ")) {
            continue;
        }
        text.push_str(line);
        text.push('\n');
        for (name, rows) in found.iter().filter(|(name, _)| Some(name.as_str()) == subject) {
            for row in rows {
                text.push_str(&format!("//@ {name} {row}\n"));
            }
        }
    }
    text
}
