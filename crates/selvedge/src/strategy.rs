//! Strategies by name.

use std::fmt;
use std::str::FromStr;

/// Which executions to run.
///
/// ```
/// use selvedge::Strategy;
/// assert_eq!("icb".parse(), Ok(Strategy::Icb));
/// assert!("ibc".parse::<Strategy>().unwrap_err().contains("icb"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Iterative context bounding: every execution with 0 preemptions, then every one with 1, and so on. The
    /// first violation that it finds needs the fewest preemptions.
    Icb,
    /// Depth-first search over all executions, or over those within the bound on preemptions.
    Dfs,
    /// Iterative context bounding with partial-order reduction: every terminal partial order that an execution
    /// within the bound has, once, fewest preemptions first. Remembers the states that it has been through. The
    /// default.
    #[default]
    CbPor,
    /// The same with every prefix of such a partial order, at the bound at once.
    CbPorAll,
    /// Bounded partial-order reduction: every local state within the bounds, fewest preemptions first, in
    /// memory that does not grow with the search.
    Bpor,
    /// The same without the paper's optimisations (section 5.4), for comparison.
    BporPlain,
    /// Dynamic partial-order reduction: every terminal partial order, without a bound. Loops that wait by
    /// yielding do not end under it.
    Dpor,
    /// Optimal dynamic partial-order reduction: every terminal partial order exactly once. With a bound on
    /// preemptions, every one within it, fewest preemptions first. Keeps only the current execution and what
    /// is still to be tried beside it. Where the fair bound holds a thread back, every thread is tried.
    Optimal,
    /// In the order of delays: departures from a round-robin scheduler.
    Delay,
    /// Depth-first search over executions that are ended after a number of steps, which grows.
    Depth,
    /// Executions drawn at random.
    Random,
    /// Probabilistic concurrency testing: random priorities, changed at a few random points.
    Pct,
}

impl Strategy {
    /// Every strategy, by name.
    pub const ALL: [(&'static str, Strategy); 12] = [
        ("icb", Strategy::Icb),
        ("dfs", Strategy::Dfs),
        ("cb-por", Strategy::CbPor),
        ("cb-por-all", Strategy::CbPorAll),
        ("bpor", Strategy::Bpor),
        ("bpor-plain", Strategy::BporPlain),
        ("dpor", Strategy::Dpor),
        ("optimal", Strategy::Optimal),
        ("delay", Strategy::Delay),
        ("depth", Strategy::Depth),
        ("random", Strategy::Random),
        ("pct", Strategy::Pct),
    ];

    /// Whether it samples, and so rules nothing out.
    pub fn samples(self) -> bool {
        matches!(self, Strategy::Random | Strategy::Pct)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Strategy::ALL.iter().find(|(_, strategy)| strategy == self).map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Strategy::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, strategy)| *strategy).ok_or_else(|| {
            let names: Vec<_> = Strategy::ALL.iter().map(|(name, _)| *name).collect();
            format!("there is no strategy {text:?}; there are {}", names.join(", "))
        })
    }
}
