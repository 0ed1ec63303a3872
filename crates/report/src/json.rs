//! Results as JSON text, and back.
//!
//! One result is one line, so that a file to which several checks append is read line by line. The shape is
//! in [`crate::schema`]; here is what it means.

use std::fmt;
use std::time::Duration;

use selvedge_core::{
    Bounds, CoverageRow, Gap, Guarantee, Location, Measure, Outcome, Statistics, Step, Trace, Verdict,
    Violation, ViolationKind,
};
use serde::Deserialize;

use crate::Report;
use crate::schema::{
    Coverage1, Extra, Guarantee1, Result1, SCHEMA, Statistics1, Step1, Verdict1, Violation1,
};

/// Threads beyond this are taken for a mistake in a trace that does not name its threads.
const MOST_THREADS: usize = 1 << 16;

/// Why a text is not a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}; {}", self.line, self.column, self.message, self.remedy)
    }
}

impl std::error::Error for Error {}

/// The result as one line of JSON, without the end of the line.
///
/// ```
/// # use selvedge_core::{Guarantee, Outcome, Statistics, Verdict};
/// # use selvedge_report::{Report, to_json};
/// let verdict = Verdict::Holds(Guarantee { complete: true, ..Guarantee::default() });
/// let outcome = Outcome { verdict, rows: vec![], statistics: Statistics::default() };
/// let report = Report { subject: "queue".into(), engine: "stateless".into(), outcome };
/// assert!(to_json(&report).starts_with(r#"{"schema":"selvedge/result/1","subject":"queue""#));
/// ```
pub fn to_json(report: &Report) -> String {
    let outcome = &report.outcome;
    let (verdict, gap) = match &outcome.verdict {
        Verdict::Holds(_) => (Verdict1::Holds, None),
        Verdict::Violated(_) => (Verdict1::Violated, None),
        Verdict::Inconclusive(gap) => (Verdict1::Inconclusive, Some(gap.reason.clone())),
    };
    let result = Result1 {
        schema: SCHEMA.to_string(),
        subject: report.subject.clone(),
        engine: report.engine.clone(),
        verdict,
        gap,
        guarantee: outcome.guarantee().map(write_guarantee),
        violation: outcome.violation().map(write_violation),
        coverage: outcome.rows.iter().map(write_row).collect(),
        statistics: write_statistics(&outcome.statistics),
    };
    serde_json::to_string(&result).expect("strings and finite numbers under string keys are always JSON")
}

/// Reads one result.
///
/// ```
/// let error = selvedge_report::from_json("{\"schema\": \"selvedge/result/9\"}").unwrap_err();
/// assert_eq!((error.line, error.column), (1, 1));
/// assert!(error.to_string().contains("selvedge/result/9"), "{error}");
/// ```
///
/// # Errors
/// When the text is not JSON, is not a result, or is more than one.
pub fn from_json(text: &str) -> Result<Report, Error> {
    let mut reports = from_json_all(text)?;
    match (reports.pop(), reports.is_empty()) {
        (Some(report), true) => Ok(report),
        _ => Err(Error {
            line: 1,
            column: 1,
            message: "this has several results, one a line".into(),
            remedy: "give one of its lines",
        }),
    }
}

/// Reads the results of a text that has one or more, as a file does to which several checks wrote.
///
/// ```
/// # use selvedge_core::{Guarantee, Outcome, Statistics, Verdict};
/// # use selvedge_report::{Report, from_json_all, to_json};
/// # let verdict = Verdict::Holds(Guarantee { complete: true, ..Guarantee::default() });
/// # let outcome = Outcome { verdict, rows: vec![], statistics: Statistics::default() };
/// # let report = Report { subject: "queue".into(), engine: "stateless".into(), outcome };
/// let text = format!("{}\n{}\n", to_json(&report), to_json(&report));
/// assert_eq!(from_json_all(&text).unwrap(), [report.clone(), report]);
/// ```
///
/// # Errors
/// When the text is empty, or is anything but results one after the other.
pub fn from_json_all(text: &str) -> Result<Vec<Report>, Error> {
    /// Looked at first: a result of another version is not to be blamed for what this one does not know.
    #[derive(Deserialize)]
    struct Header {
        schema: Option<String>,
    }

    let mut reports = Vec::new();
    let mut headers = serde_json::Deserializer::from_str(text).into_iter::<Header>();
    let mut start = 0;
    while let Some(header) = headers.next() {
        let header = header.map_err(|error| syntax(text, 0, &error))?;
        let end = headers.byte_offset();
        start += text[start..end].len() - text[start..end].trim_start().len();
        let place = |message: String, remedy| {
            let (line, column) = position(text, start);
            Error { line, column, message, remedy }
        };
        match header.schema {
            Some(schema) if schema == SCHEMA => {}
            Some(schema) => {
                return Err(place(
                    format!("the schema is {schema:?}, and this version reads {SCHEMA:?}"),
                    "use the version of Selvedge that wrote it, or run the check again",
                ));
            }
            None => return Err(place("an object without \"schema\"".into(), NOT_OURS)),
        }
        let result: Result1 =
            serde_json::from_str(&text[start..end]).map_err(|error| syntax(text, start, &error))?;
        reports.push(read_result(result).map_err(|message| place(message, NOT_OURS))?);
        start = end;
    }
    if reports.is_empty() {
        let message = "there is no result here".into();
        let remedy = "give the file that `selvedge check --json FILE` wrote";
        return Err(Error { line: 1, column: 1, message, remedy });
    }
    Ok(reports)
}

const NOT_OURS: &str = "give a file as `selvedge check --json FILE` writes it";

/// The line and column of an offset in a text, from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// What the JSON reader found wrong, at its place in the whole text of which it read the part from `start`.
fn syntax(text: &str, start: usize, error: &serde_json::Error) -> Error {
    let (first_line, first_column) = position(text, start);
    let column = if error.line() <= 1 { error.column() + first_column - 1 } else { error.column() };
    let message = error.to_string();
    let message = match message.rfind(" at line ") {
        Some(end) => message[..end].to_string(),
        None => message,
    };
    let remedy = match error.classify() {
        serde_json::error::Category::Eof => "the file was cut short: run the check again",
        _ => NOT_OURS,
    };
    Error { line: error.line().max(1) + first_line - 1, column: column.max(1), message, remedy }
}

fn write_guarantee(guarantee: &Guarantee) -> Guarantee1 {
    let Bounds { preemptions, contexts, delays, yields, depth } = guarantee.bounds;
    Guarantee1 { preemptions, contexts, delays, yields, depth, complete: guarantee.complete }
}

fn read_guarantee(guarantee: Guarantee1) -> Guarantee {
    let Guarantee1 { preemptions, contexts, delays, yields, depth, complete } = guarantee;
    Guarantee { bounds: Bounds { preemptions, contexts, delays, yields, depth }, complete }
}

fn write_violation(violation: &Violation) -> Violation1 {
    let trace = &violation.trace;
    let steps = trace.steps.iter().enumerate().map(|(index, step)| Step1 {
        step: index,
        thread: step.thread,
        name: trace.threads.get(step.thread).cloned().unwrap_or_else(|| unnamed(step.thread)),
        op: step.op.clone(),
        value: step.value.clone(),
        location: step.location.as_ref().map(Location::to_string),
        preemption: step.preemption,
    });
    Violation1 {
        kind: violation.kind.name().to_string(),
        message: violation.message.clone(),
        location: violation.location.as_ref().map(Location::to_string),
        preemptions: violation.preemptions,
        switches: violation.switches,
        contexts: violation.contexts,
        schedule: violation.schedule.to_string(),
        threads: Some(trace.threads.clone()),
        trace: steps.collect(),
        loop_start: trace.loop_start,
    }
}

/// What a thread is called that has no name.
pub(crate) fn unnamed(thread: usize) -> String {
    format!("thread {thread}")
}

fn write_row(row: &CoverageRow) -> Coverage1 {
    Coverage1 {
        bound: row.bound,
        measure: Some(row.measure.name().to_string()),
        executions: row.executions,
        distinct: row.distinct,
        states: row.states,
        transitions: row.transitions,
        seconds: row.elapsed.as_secs_f64(),
        extra: Extra(row.extra.clone()),
    }
}

fn write_statistics(statistics: &Statistics) -> Statistics1 {
    Statistics1 {
        seconds: statistics.elapsed.as_secs_f64(),
        peak_memory_bytes: statistics.peak_memory_bytes,
        executions: statistics.executions,
        steps: statistics.steps,
        states: statistics.states,
        transitions: statistics.transitions,
        matched: statistics.matched,
        depth: statistics.depth,
        state_bytes: statistics.state_bytes,
        growth: statistics.growth.clone(),
        extra: Extra(statistics.extra.clone()),
    }
}

fn read_result(result: Result1) -> Result<Report, String> {
    let guarantee = result.guarantee.map(read_guarantee);
    let verdict = match result.verdict {
        Verdict1::Holds => {
            Verdict::Holds(guarantee.ok_or("the verdict is \"holds\", and there is no \"guarantee\"")?)
        }
        Verdict1::Violated => {
            let violation =
                result.violation.ok_or("the verdict is \"violated\", and there is no \"violation\"")?;
            Verdict::Violated(Box::new(read_violation(violation, guarantee)?))
        }
        Verdict1::Inconclusive => {
            let reason = result.gap.ok_or("the verdict is \"inconclusive\", and there is no \"gap\"")?;
            Verdict::Inconclusive(Gap { reason, covered: guarantee })
        }
    };
    let rows = result.coverage.into_iter().map(read_row).collect::<Result<_, _>>()?;
    let outcome = Outcome { verdict, rows, statistics: read_statistics(result.statistics)? };
    Ok(Report { subject: result.subject, engine: result.engine, outcome })
}

fn read_violation(violation: Violation1, below: Option<Guarantee>) -> Result<Violation, String> {
    let kind = ViolationKind::ALL
        .into_iter()
        .find(|kind| kind.name() == violation.kind)
        .ok_or_else(|| format!("there is no kind of violation called {:?}", violation.kind))?;
    let threads = match violation.threads {
        Some(threads) => threads,
        None => threads_of(&violation.trace)?,
    };
    let mut steps = Vec::with_capacity(violation.trace.len());
    for (index, step) in violation.trace.into_iter().enumerate() {
        if step.thread >= threads.len() {
            return Err(format!("step {index} is by thread {}, which is not in \"threads\"", step.thread));
        }
        let location = step.location.as_deref().map(read_location).transpose()?;
        let Step1 { thread, op, value, preemption, .. } = step;
        steps.push(Step { thread, op, value, location, preemption });
    }
    if violation.loop_start.is_some_and(|start| start >= steps.len()) {
        return Err("\"loop_start\" is not a step of the trace".into());
    }
    Ok(Violation {
        kind,
        message: violation.message,
        location: violation.location.as_deref().map(read_location).transpose()?,
        preemptions: violation.preemptions,
        switches: violation.switches,
        contexts: violation.contexts,
        schedule: violation.schedule.parse().map_err(|error| format!("\"schedule\" is {error}"))?,
        trace: Trace { threads, steps, loop_start: violation.loop_start },
        below,
    })
}

/// The names of the threads as the steps tell them.
fn threads_of(steps: &[Step1]) -> Result<Vec<String>, String> {
    let count = steps.iter().map(|step| step.thread.saturating_add(1)).max().unwrap_or(0);
    if count > MOST_THREADS {
        return Err(format!("a step is by thread {}, and there is no \"threads\"", count - 1));
    }
    let mut threads: Vec<String> = (0..count).map(unnamed).collect();
    for step in steps.iter().filter(|step| !step.name.is_empty()) {
        threads[step.thread].clone_from(&step.name);
    }
    Ok(threads)
}

/// `FILE:LINE` or `FILE:LINE:COLUMN`; the file may have colons of its own.
fn read_location(text: &str) -> Result<Location, String> {
    let numbered = |text: &str| {
        let (rest, number) = text.rsplit_once(':')?;
        Some((rest.to_string(), number.parse::<u32>().ok()?))
    };
    let (rest, last) = numbered(text).ok_or_else(|| format!("the location {text:?} is not FILE:LINE"))?;
    Ok(match numbered(&rest) {
        Some((file, line)) => Location { file, line, column: Some(last) },
        None => Location { file: rest, line: last, column: None },
    })
}

fn read_row(row: Coverage1) -> Result<CoverageRow, String> {
    const MEASURES: [Measure; 4] = [Measure::Preemptions, Measure::Contexts, Measure::Delays, Measure::Depth];
    let measure = match row.measure {
        None => Measure::default(),
        Some(name) => MEASURES
            .into_iter()
            .find(|measure| measure.name() == name)
            .ok_or_else(|| format!("there is no bound called {name:?}"))?,
    };
    Ok(CoverageRow {
        bound: row.bound,
        measure,
        executions: row.executions,
        distinct: row.distinct,
        states: row.states,
        transitions: row.transitions,
        elapsed: read_seconds(row.seconds)?,
        extra: row.extra.0,
    })
}

fn read_statistics(statistics: Statistics1) -> Result<Statistics, String> {
    Ok(Statistics {
        elapsed: read_seconds(statistics.seconds)?,
        peak_memory_bytes: statistics.peak_memory_bytes,
        executions: statistics.executions,
        steps: statistics.steps,
        states: statistics.states,
        transitions: statistics.transitions,
        matched: statistics.matched,
        depth: statistics.depth,
        state_bytes: statistics.state_bytes,
        growth: statistics.growth,
        extra: statistics.extra.0,
    })
}

fn read_seconds(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{seconds} is not a time in seconds"))
}
