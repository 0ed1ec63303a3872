//! How much a search has covered.

use std::borrow::Cow;
use std::time::Duration;

use crate::Measure;

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
    /// Further numbers of one engine, by their JSON name.
    pub extra: Vec<(Cow<'static, str>, u64)>,
}
