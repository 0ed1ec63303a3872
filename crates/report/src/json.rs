//! Results as JSON text, and back.
//!
//! One result is one line, so that a file to which several checks append is read line by line. The shape is
//! in [`crate::schema`], and what it means in [`crate::convert`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Report;
use crate::convert::{read_result, write_result};
use crate::schema::{Result1, SCHEMA};

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

/// How a result came about, in the words of `selvedge check`. A file that has it may be from anybody, so it is to be
/// shown, and nothing is to be done that it says.
///
/// ```
/// use selvedge_report::Origin;
/// let origin = Origin {
///     file: "tests/queue.rs".into(),
///     filter: Some("close".into()),
///     arguments: vec!["--preemptions".into(), "3".into()],
///     words: Vec::new(),
/// };
/// assert_eq!(origin.file, "tests/queue.rs");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The file that was checked, as it was given.
    pub file: String,
    /// Which of its checks, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The options.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The arguments of the program itself, where it has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

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
    to_json_with_origin(report, None)
}

/// The result as one line of JSON that also says how it came about.
///
/// ```
/// # use selvedge_core::{Guarantee, Outcome, Statistics, Verdict};
/// # use selvedge_report::{Origin, Report, from_json_all_with_origin, to_json_with_origin};
/// # let verdict = Verdict::Holds(Guarantee { complete: true, ..Guarantee::default() });
/// # let outcome = Outcome { verdict, rows: vec![], statistics: Statistics::default() };
/// # let report = Report { subject: "queue".into(), engine: "stateless".into(), outcome };
/// let origin = Origin { file: "tests/queue.rs".into(), ..Origin::default() };
/// let text = to_json_with_origin(&report, Some(&origin));
/// assert_eq!(from_json_all_with_origin(&text).unwrap(), [(report, Some(origin))]);
/// ```
pub fn to_json_with_origin(report: &Report, origin: Option<&Origin>) -> String {
    let result = Result1 { origin: origin.cloned(), ..write_result(report) };
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
    Ok(from_json_all_with_origin(text)?.into_iter().map(|(report, _)| report).collect())
}

/// Reads the results of a text, each with how it came about, where it says so.
///
/// ```
/// assert!(selvedge_report::from_json_all_with_origin("").is_err());
/// ```
///
/// # Errors
/// When the text is empty, or is anything but results one after the other.
pub fn from_json_all_with_origin(text: &str) -> Result<Vec<(Report, Option<Origin>)>, Error> {
    /// Looked at first: a result of another version is not to be blamed for what this one does not know.
    #[derive(Deserialize)]
    struct Header {
        schema: Option<String>,
    }

    let mut reports = Vec::new();
    let mut headers = serde_json::Deserializer::from_str(text).into_iter::<Header>();
    let mut start = 0;
    while let Some(header) = headers.next() {
        start += text[start..].len() - text[start..].trim_start().len();
        let place = |message: String, remedy| {
            let (line, column) = position(text, start);
            Error { line, column, message, remedy }
        };
        if !text[start..].starts_with('{') {
            return Err(place("a result is an object, and this is not one".into(), NOT_OURS));
        }
        let header = header.map_err(|error| syntax(text, 0, &error))?;
        let end = headers.byte_offset();
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
        let mut result: Result1 =
            serde_json::from_str(&text[start..end]).map_err(|error| syntax(text, start, &error))?;
        let origin = result.origin.take();
        let report = read_result(result).map_err(|message| place(message, NOT_OURS))?;
        reports.push((report, origin));
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
