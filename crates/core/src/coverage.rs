//! How much a search has covered.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::{Location, Measure};

/// What is reachable within one bound. Rows are cumulative: the row of bound 2 contains that of bound 1.
/// A number that an engine does not have is `None`, never 0.
///
/// ```
/// use selvedge_core::CoverageRow;
/// let row = CoverageRow { bound: 1, executions: Some(12), ..CoverageRow::default() };
/// assert_eq!(row.states, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoverageRow {
    /// The bound.
    pub bound: u32,
    /// What the bound counts.
    pub measure: Measure,
    /// Executions run.
    pub executions: Option<u64>,
    /// Distinct terminal partial orders among them.
    pub distinct: Option<u64>,
    /// Distinct states visited: happens-before graphs, state vectors or configurations.
    pub states: Option<u64>,
    /// Transitions fired.
    pub transitions: Option<u64>,
    /// Time since the search began.
    pub elapsed: Duration,
    /// Further numbers of one engine, by their JSON name (`view_tuples`, `bdd_nodes`, ...).
    pub extra: Vec<(Cow<'static, str>, u64)>,
}

/// Numbers about a whole run. A number that an engine does not have is `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Time taken.
    pub elapsed: Duration,
    /// The most memory that the process has held.
    pub peak_memory_bytes: Option<u64>,
    /// Executions run.
    pub executions: Option<u64>,
    /// Steps taken in all of them.
    pub steps: Option<u64>,
    /// Distinct states stored.
    pub states: Option<u64>,
    /// Transitions fired.
    pub transitions: Option<u64>,
    /// States reached again.
    pub matched: Option<u64>,
    /// The length of the longest execution or path.
    pub depth: Option<u64>,
    /// Bytes of one state.
    pub state_bytes: Option<u64>,
    /// Distinct states after so many executions, at growing distances: a curve to plot.
    pub growth: Vec<(u64, u64)>,
    /// What became of the lines of the program, where an engine says: those that stand for a place in it.
    pub lines: Vec<Marker>,
    /// Statements that deserve a word, whatever the verdict.
    pub remarks: Vec<Remark>,
    /// Sentences about how the search went, such as that it changed its strategy.
    pub notes: Vec<String>,
    /// Further numbers of one engine, by their JSON name.
    pub extra: Vec<(Cow<'static, str>, u64)>,
}

impl Statistics {
    /// The name in `extra` of how often executions were run again: to see that the program does the same, and to confirm,
    /// explain and simplify a failure.
    pub const REPEATED: &'static str = "repeated_executions";

    /// The name in `extra` of how many executions were run because their schedule was given: there was no search.
    pub const REPLAYED: &'static str = "replayed_executions";

    /// A number in `extra`; 0 if it is not there.
    ///
    /// ```
    /// use selvedge_core::Statistics;
    /// assert_eq!(Statistics::default().further(Statistics::REPEATED), 0);
    /// ```
    pub fn further(&self, name: &str) -> u64 {
        self.extra.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count)
    }
}

/// What became of a line.
///
/// ```
/// use selvedge_core::Mark;
/// assert_eq!(Mark::NotReached.to_string(), "not reached");
/// assert!(Mark::Violated > Mark::Reached);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// No execution within the bound gets here.
    NotReached,
    /// Some execution gets here.
    Reached,
    /// An execution fails here.
    Violated,
}

impl Mark {
    /// Every mark.
    pub const ALL: [Mark; 3] = [Mark::NotReached, Mark::Reached, Mark::Violated];

    /// The name in reports and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Mark::NotReached => "not reached",
            Mark::Reached => "reached",
            Mark::Violated => "violated",
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word about a statement.
///
/// ```
/// use selvedge_core::{Location, Remark, RemarkKind};
/// let location = Location { file: "a.pml".into(), line: 3, column: None };
/// let remark = Remark { kind: RemarkKind::Truncated, location, text: "x = 300".into() };
/// assert_eq!(remark.kind.name(), "truncated");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What there is to say.
    pub kind: RemarkKind,
    /// Where.
    pub location: Location,
    /// The statement.
    pub text: String,
}

/// What there is to say about a statement.
///
/// ```
/// use selvedge_core::RemarkKind;
/// assert_eq!(RemarkKind::Unreached.name(), "unreached");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemarkKind {
    /// A value did not fit and was cut.
    Truncated,
    /// No execution gets here.
    Unreached,
}

impl RemarkKind {
    /// Every kind.
    pub const ALL: [RemarkKind; 2] = [RemarkKind::Truncated, RemarkKind::Unreached];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RemarkKind::Truncated => "truncated",
            RemarkKind::Unreached => "unreached",
        }
    }
}

/// The mark of a line.
///
/// ```
/// use selvedge_core::{Mark, Marker};
/// let marker = Marker { file: "a.bp".into(), line: 3, mark: Mark::Reached };
/// assert_eq!(marker.mark.name(), "reached");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What became of it.
    pub mark: Mark,
}
