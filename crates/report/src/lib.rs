//! Results for programs and for people: JSON ([`to_json`], [`from_json`]) and text ([`to_text`]).
//!
//! Every engine ends with a [`selvedge_core::Outcome`]; this crate writes it down, and reads it back, without
//! knowing which engine it came from. It returns strings and never prints.
//!
//! ```
//! use selvedge_core::{Bounds, Guarantee, Outcome, Statistics, Verdict};
//! use selvedge_report::{Report, Style, from_json, to_json, to_text};
//!
//! let guarantee = Guarantee { bounds: Bounds { preemptions: Some(2), ..Bounds::default() }, ..Guarantee::default() };
//! let outcome =
//!     Outcome { verdict: Verdict::Holds(guarantee), rows: vec![], statistics: Statistics::default() };
//! let report = Report { subject: "queue".into(), engine: "stateless".into(), outcome };
//!
//! assert_eq!(from_json(&to_json(&report)).unwrap(), report);
//! assert!(to_text(&report, &Style::default(), None).starts_with("HOLDS: queue\n"));
//! ```

#![forbid(unsafe_code)]

mod convert;
mod draw;
mod json;
mod places;
mod schema;
mod table;
mod text;
mod trace;
mod words;

pub use json::{
    Error, Origin, from_json, from_json_all, from_json_all_with_origin, to_json, to_json_with_origin,
};
pub use text::{Style, to_text};

use selvedge_core::Outcome;

/// What was checked, by which engine, and what came of it.
///
/// ```
/// use selvedge_core::{Gap, Outcome, Statistics, Verdict};
/// use selvedge_report::Report;
///
/// let gap = Gap { reason: "the time limit of 30 s was reached".into(), covered: None };
/// let outcome =
///     Outcome { verdict: Verdict::Inconclusive(gap), rows: vec![], statistics: Statistics::default() };
/// let report = Report { subject: "queue.rs".into(), engine: "stateless".into(), outcome };
/// assert!(!report.outcome.holds());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The program or model: the name of a test, or a file.
    pub subject: String,
    /// The engine: `stateless`, `explicit` or `symbolic`.
    pub engine: String,
    /// What came of it.
    pub outcome: Outcome,
}
