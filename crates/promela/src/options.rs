//! What to check, and how.

use std::time::{Duration, Instant};

pub use selvedge_explicit::{Progress, Search, StoreKind};

/// What to do with never claims and `ltl` blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claims {
    /// Check a property of the model, or the one asked for, on finite and infinite executions.
    #[default]
    Check,
    /// Let the first never claim move along, and look only at its end and its assertions.
    Safety,
    /// Check the model without them.
    Ignore,
}

/// Which property is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Property {
    /// The model's own: its `ltl` block or never claim; without one, that no cycle passes an `accept` label.
    #[default]
    Own,
    /// One of several, by its name ([`properties`](crate::properties)).
    Named(String),
    /// Every infinite execution passes `progress` labels for ever.
    Progress,
}

/// What to check, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The order in which states are visited.
    pub search: Search,
    /// How they are remembered.
    pub store: StoreKind,
    /// The largest number of preemptions; none is no bound.
    pub preemptions: Option<u32>,
    /// Examine only that bound, not those below ([`Search::Bcs`]; the layered search does all at once).
    pub at_bound: bool,
    /// Use partial-order reduction; depth first and in layers, statements on a process's own variables are also one
    /// step with the statement before them. Verdicts are the same, and in the layered search the fewest preemptions of a
    /// violation; the numbers of states are not.
    pub reduce: bool,
    /// Section 3.1 of the paper ([`Search::Bcs`]).
    pub free_cycles: bool,
    /// Go on after a violation and visit everything.
    pub all_errors: bool,
    /// The counterexample with the fewest steps.
    pub shortest: bool,
    /// Never claims and `ltl` blocks.
    pub claims: Claims,
    /// Which of them.
    pub property: Property,
    /// Bytes that the search may use.
    pub memory: Option<u64>,
    /// Time that it may take, from `started`, or else from when [`check`](crate::check()) is called.
    pub time: Option<Duration>,
    /// When the time began to run: where the model was read in it too.
    pub started: Option<Instant>,
    /// The longest path that a depth-first search may follow.
    pub depth: Option<u64>,
}

impl Options {
    /// Whether statements are merged. The other searches are asked for the model's steps as they are.
    pub(crate) fn merges(&self) -> bool {
        self.reduce && !self.shortest && matches!(self.search, Search::Dfs | Search::Layered)
    }

    /// The options of the search itself.
    pub(crate) fn explicit(&self) -> selvedge_explicit::Options {
        let plain = self.shortest && self.search == Search::Dfs && self.preemptions.is_none();
        let search = if plain { Search::Bfs } else { self.search };
        selvedge_explicit::Options {
            search,
            store: self.store,
            bound: self.preemptions,
            at_bound: self.at_bound,
            reduce: self.reduce && !self.shortest,
            free_cycles: self.free_cycles,
            all_errors: self.all_errors,
            cycles: false,
            // The time is that of the whole check, which looks at it itself.
            limits: selvedge_explicit::Limits { memory: self.memory, time: None, depth: self.depth },
        }
    }
}
