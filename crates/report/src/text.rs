//! The report for people: what came of the check, the counterexample, how to replay it, and what is known
//! about everything else. It assumes no knowledge of the papers.

use std::time::Duration;

use std::fmt::Write as _;

use selvedge_core::{Guarantee, Remark, RemarkKind, Statistics, Verdict, Violation};

use crate::{Report, table, trace, words};

/// How the text is to look.
///
/// ```
/// use selvedge_report::Style;
/// assert_eq!(Style::default(), Style { color: false, width: 100 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use a terminal's colours.
    pub color: bool,
    /// The columns that there are. A counterexample that does not fit beside itself, one column a thread, is
    /// given one thread after the other.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100 }
    }
}

impl Style {
    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        if self.color && !text.trim().is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }
}

/// The report as text that ends with a line's end. `replay` is the command that replays the counterexample, as the
/// caller's users would type it. Where the token is not part of it, it has a line of its own.
///
/// ```
/// use selvedge_core::{Gap, Outcome, Statistics, Verdict};
/// use selvedge_report::{Report, Style, to_text};
///
/// let gap = Gap { reason: "the time limit of 30 s was reached".into(), covered: None };
/// let outcome =
///     Outcome { verdict: Verdict::Inconclusive(gap), rows: vec![], statistics: Statistics::default() };
/// let report = Report { subject: "queue.rs".into(), engine: "stateless".into(), outcome };
/// let text = to_text(&report, &Style::default(), None);
/// assert!(text.contains("did not finish: the time limit of 30 s was reached."), "{text}");
/// ```
pub fn to_text(report: &Report, style: &Style, replay: Option<&str>) -> String {
    let subject = words::visible(&report.subject);
    let outcome = &report.outcome;
    let mut text = match &outcome.verdict {
        Verdict::Holds(guarantee) => {
            let mut text = headline(style, "1;32", "HOLDS", &subject);
            ruled_out(&mut text, style, "No violation", guarantee);
            text
        }
        Verdict::Violated(violation) => {
            let mut text = headline(style, "1;31", "VIOLATED", &subject);
            violated(&mut text, style, violation, replay);
            below(&mut text, style, violation, &outcome.statistics);
            text
        }
        Verdict::Inconclusive(gap) => {
            let mut text = headline(style, "1;33", "INCONCLUSIVE", &subject);
            let reason = words::visible(gap.reason.trim().trim_end_matches('.'));
            let why = format!("No violation is shown, as the search did not finish: {reason}.");
            paragraph(&mut text, style, &why);
            match &gap.covered {
                Some(guarantee) => ruled_out(&mut text, style, "Covered", guarantee),
                None => paragraph(
                    &mut text,
                    style,
                    "Covered: no bound was finished, so nothing is ruled out yet.",
                ),
            }
            paragraph(&mut text, style, &format!("What to do next: {}", advice(&reason)));
            text
        }
    };
    let rows = table::coverage(&outcome.rows, style);
    if !rows.is_empty() {
        text.push_str(&style.bold("Coverage (each row includes the rows above it):"));
        text.push_str("\n\n");
        text.push_str(&rows);
        text.push('\n');
    }
    paragraph(&mut text, style, &totals(&outcome.statistics));
    for note in &outcome.statistics.notes {
        paragraph(&mut text, style, &words::visible(note));
    }
    remarks(&mut text, &outcome.statistics.remarks);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn headline(style: &Style, code: &str, verdict: &str, subject: &str) -> String {
    format!("{}: {}\n\n", style.paint(code, verdict), style.bold(subject))
}

/// Adds lines of at most the style's width, and an empty one.
fn paragraph(text: &mut String, style: &Style, words: &str) {
    for line in words::wrap(words, style.width.max(20)) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push('\n');
}

/// Adds what was ruled out, after the words that introduce it, and the assumptions on a line of their own.
fn ruled_out(text: &mut String, style: &Style, introduction: &str, guarantee: &Guarantee) {
    let last = if guarantee.is_final() { " No bound cut anything off, so the answer is final." } else { "" };
    paragraph(text, style, &format!("{introduction}: {}.{last}", guarantee.claim()));
    if !guarantee.assumptions.is_empty() {
        let phrases: Vec<_> = guarantee.assumptions.iter().map(|one| words::visible(&one.phrase)).collect();
        // The assumptions belong to the sentence above them: no empty line between the two.
        text.pop();
        paragraph(text, style, &format!("Assuming: {}.", phrases.join("; ")));
    }
}

fn violated(text: &mut String, style: &Style, violation: &Violation, replay: Option<&str>) {
    let place = match &violation.location {
        Some(location) => format!(" at {}", words::visible(&location.to_string())),
        None => String::new(),
    };
    text.push_str(&style.paint("1;31", violation.kind.name()));
    text.push_str(&style.bold(&place));
    text.push('\n');
    for line in violation.message.lines() {
        let _ = writeln!(text, "  {}", words::visible(line));
    }
    text.push('\n');

    if !violation.trace.steps.is_empty() {
        let mut counts = vec![words::count(violation.preemptions.into(), "preemption")];
        counts.push(words::count(violation.switches.into(), "switch"));
        counts.extend(violation.contexts.map(|contexts| words::count(contexts.into(), "context")));
        counts.push(words::count(violation.trace.steps.len() as u64, "step"));
        let heading = format!("Counterexample ({}):", counts.join(", "));
        let _ = writeln!(text, "{}\n", style.bold(&heading));
        text.push_str(&trace::counterexample(&violation.trace, style));
        text.push('\n');
    }

    // Never wrapped: each is a line to be copied.
    let token = violation.schedule.to_string();
    if let Some(command) = replay {
        let _ = writeln!(text, "{} {command}", style.bold("Replay:"));
    }
    if replay.is_none_or(|command| !command.contains(&token)) {
        let _ = writeln!(text, "{} {token}", style.bold("Schedule:"));
    }
    text.push('\n');
}

/// Adds what is known of executions that are simpler than the counterexample.
fn below(text: &mut String, style: &Style, violation: &Violation, statistics: &Statistics) {
    match &violation.below {
        Some(guarantee) => ruled_out(text, style, "Below it", guarantee),
        None if violation.preemptions == 0 && violation.contexts.is_none() => {
            paragraph(text, style, "Below it: nothing; it needs no preemption at all.")
        }
        None if statistics.further(Statistics::REPLAYED) > 0 => {
            paragraph(text, style, "It was replayed: other executions were not looked at.")
        }
        None => paragraph(
            text,
            style,
            "Below it: no smaller bound was finished, so there may be a simpler counterexample.",
        ),
    }
}

/// What to do about a search that did not finish, by a word in its reason.
fn advice(reason: &str) -> &'static str {
    const SAMPLED: &str =
        "a search that samples can find bugs and never rules them out; for a guarantee use --strategy icb.";
    const BY_WORD: [(&str, &str); 8] = [
        (
            "left our control",
            "what the program waits for is not controlled: check a part of it that does without.",
        ),
        ("random", SAMPLED),
        ("sampl", SAMPLED),
        ("pct", SAMPLED),
        ("interrupt", "run it again and let it finish, or ask for a smaller bound (--preemptions N)."),
        ("time", "allow more time (--time 10m), or ask for a smaller bound (--preemptions N)."),
        ("memory", "allow more memory (--memory 8G), or ask for a smaller bound (--preemptions N)."),
        (
            "execution",
            "allow more executions (--max-executions N), or ask for a smaller bound (--preemptions N).",
        ),
    ];
    let reason = reason.to_lowercase();
    BY_WORD
        .into_iter()
        .find(|(word, _)| reason.contains(word))
        .map_or("ask for a smaller bound (--preemptions N), or make the program smaller.", |(_, advice)| {
            advice
        })
}

/// What there is to say of statements, a kind after the other: the first of each, and how many more there are.
fn remarks(text: &mut String, remarks: &[Remark]) {
    for kind in RemarkKind::ALL {
        let places: Vec<&Remark> = remarks.iter().filter(|remark| remark.kind == kind).collect();
        if places.is_empty() {
            continue;
        }
        let (heading, shown) = match kind {
            RemarkKind::Truncated => {
                let count = words::count(places.len() as u64, "place");
                (format!("Warning: values that do not fit are cut at {count}:"), 5)
            }
            RemarkKind::Unreached => ("Unreached:".to_string(), 20),
        };
        let _ = writeln!(text, "{heading}");
        for Remark { location, text: statement, .. } in places.iter().take(shown) {
            let _ = writeln!(text, "  {}", words::visible(&format!("{location}: {statement}")));
        }
        if places.len() > shown {
            let _ = writeln!(text, "  and {} more", words::number((places.len() - shown) as u64));
        }
        text.push('\n');
    }
}

/// The numbers of the whole run, as a sentence.
fn totals(statistics: &Statistics) -> String {
    let mut parts = Vec::new();
    for (value, noun) in [
        (statistics.executions, "execution"),
        (statistics.steps, "step"),
        (statistics.states, "state"),
        (statistics.transitions, "transition"),
    ] {
        parts.extend(value.map(|n| words::count(n, noun)));
        if let ("state", Some(states), Some(bytes)) = (noun, parts.last_mut(), statistics.state_bytes) {
            *states += &format!(" of {}", words::count(bytes, "byte"));
        }
    }
    parts.extend(statistics.matched.map(|n| format!("{} matched", words::number(n))));
    parts.extend(statistics.depth.map(|n| format!("a depth of {}", words::number(n))));
    let repeated = statistics.further(Statistics::REPEATED);
    if repeated > 0 {
        parts.push(format!("{} run again", words::count(repeated, "execution")));
    }
    parts.extend(statistics.peak_memory_bytes.map(words::bytes));
    let mut took = words::time(statistics.elapsed);
    // A rate of next to no time says nothing.
    if let (Some(states), Some(_), true) =
        (statistics.states, statistics.matched, statistics.elapsed >= Duration::from_millis(100))
    {
        let rate = states as f64 / statistics.elapsed.as_secs_f64();
        took += &format!(", {} states a second", words::number(rate as u64));
    }
    if parts.is_empty() { format!("It took {took}.") } else { format!("{} in {took}.", parts.join(", ")) }
}
