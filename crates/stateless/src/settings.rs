//! What the user may set about an exploration, apart from the strategy.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::coverage::Coverage;

/// Limits and switches of an exploration.
///
/// ```
/// use selvedge_stateless::Settings;
/// assert_eq!(Settings::default().yields, Some(1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The fair bound; see [`selvedge_core::Bounds::yields`]. Sampling strategies are run
    /// without it.
    pub yields: Option<u32>,
    /// Stop after so many executions.
    pub max_executions: Option<u64>,
    /// Stop after so long.
    pub time_limit: Option<Duration>,
    /// Stop when the process has this much memory in use, in bytes. Only where the system says how much that is (Linux).
    pub memory_limit: Option<u64>,
    /// An execution that takes more steps than this is ended: it is a livelock if it goes in a circle, and otherwise nothing is
    /// known of how it goes on.
    pub max_steps: usize,
    /// What to count.
    pub coverage: Coverage,
    /// Go on after a violation, and report the first at the end.
    pub keep_going: bool,
    /// How many executions may be spent on making a counterexample simpler.
    pub shorten: u32,
    /// A data race is no violation. What it leads to is found if accesses are steps: otherwise their orders are not explored,
    /// and that nothing was found says nothing.
    pub allow_races: bool,
    /// Set when the user wants the search to stop and say what it has covered.
    pub interrupt: Option<&'static AtomicBool>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            yields: Some(1),
            max_executions: None,
            time_limit: None,
            memory_limit: None,
            max_steps: 20_000,
            coverage: Coverage::default(),
            keep_going: false,
            shorten: 2_000,
            allow_races: false,
            interrupt: None,
        }
    }
}
