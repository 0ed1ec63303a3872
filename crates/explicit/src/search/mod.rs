//! The searches. Only the files of this folder loop over states.

mod budget;
mod cycles;
mod deep;
mod layered;
mod worklist;

use std::time::Duration;

use crate::system::{Fault, TransitionSystem};
use budget::Budget;

/// The order in which states are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// By preemptions, then by steps.
    #[default]
    Layered,
    /// Depth first.
    Dfs,
    /// Breadth first.
    Bfs,
    /// Depth first under a bound, as the paper gives it.
    Bcs,
}

/// How visited states are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// In full.
    #[default]
    Exact,
    /// As 64-bit hashes.
    HashCompact,
    /// As bits of an array of so many bytes, with so many hash functions.
    Bitstate {
        /// The size of the array.
        bytes: u64,
        /// Bits per state.
        functions: u32,
    },
}

impl StoreKind {
    /// Bytes that it takes at once.
    pub fn bytes(self) -> u64 {
        match self {
            StoreKind::Exact | StoreKind::HashCompact => 0,
            StoreKind::Bitstate { bytes, .. } => bytes,
        }
    }

    /// Whether there is memory for it to begin with.
    ///
    /// ```
    /// use selvedge_explicit::StoreKind;
    /// assert!(StoreKind::Bitstate { bytes: 1 << 20, functions: 3 }.has_room());
    /// assert!(!StoreKind::Bitstate { bytes: 1 << 60, functions: 3 }.has_room());
    /// ```
    pub fn has_room(self) -> bool {
        crate::store::Lossy::has_room(self.bytes())
    }
}

/// When to give up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that the search may use.
    pub memory: Option<u64>,
    /// Time that it may take.
    pub time: Option<Duration>,
    /// Steps of the longest path (depth- and breadth-first searches only).
    pub depth: Option<u64>,
}

/// What to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The order.
    pub search: Search,
    /// The store.
    pub store: StoreKind,
    /// The largest number of preemptions; none is no bound.
    pub bound: Option<u32>,
    /// Examine only the bound itself, not those below it ([`Search::Bcs`]).
    pub at_bound: bool,
    /// Use partial-order reduction (not [`Search::Layered`]).
    pub reduce: bool,
    /// Do not charge a switch away from a process whose steps all lead back to the stack (section 3.1).
    pub free_cycles: bool,
    /// Go on after a violation and visit everything.
    pub all_errors: bool,
    /// Look for cycles through accepting states too: depth first, with an exact store, without a bound, without
    /// reduction, to the first violation. The order and those options are not asked for then.
    pub cycles: bool,
    /// When to give up.
    pub limits: Limits,
}

/// Why a search stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time ran out.
    Time,
    /// The memory ran out.
    Memory,
    /// A path was longer than allowed.
    Depth,
}

/// What was found to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The first state could not be made.
    Initial(Fault),
    /// The last step of the path went wrong.
    Step {
        /// What happened.
        fault: Fault,
        /// Whose step it was.
        owner: u32,
    },
    /// The last state of the path is stuck.
    Stuck(Fault),
    /// The last state of the path is that at `start`, and there is an accepting one on the way back to it.
    Cycle {
        /// Where the cycle begins, among the states of the path.
        start: usize,
    },
}

/// A violation and the states that lead to it. With [`Problem::Step`], the step goes on from the last.
#[derive(Clone, Debug)]
pub struct Found {
    /// What is wrong.
    pub problem: Problem,
    /// The states from the first.
    pub states: Vec<Vec<u8>>,
    /// The bound at which it was found.
    pub bound: Option<u32>,
}

/// What is reachable within a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The bound.
    pub bound: u32,
    /// States within it.
    pub states: u64,
    /// Steps taken to find them.
    pub transitions: u64,
    /// Since the search began.
    pub elapsed: Duration,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// States stored.
    pub states: u64,
    /// Steps taken.
    pub transitions: u64,
    /// The bound being examined.
    pub bound: Option<u32>,
    /// Since the search began.
    pub elapsed: Duration,
}

/// What a search did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first violation, or with a bound the one with the fewest preemptions.
    pub found: Option<Found>,
    /// There is a violation within this bound, and a limit was reached before a way to it could be shown.
    pub unshown: Option<u32>,
    /// There is a cycle through an accepting state, and a limit was reached before it could be shown.
    pub unshown_cycle: bool,
    /// Violations met; more than one only with [`Options::all_errors`].
    pub errors: u64,
    /// Bounds that were finished.
    pub rows: Vec<Row>,
    /// Nothing was cut off by the bound.
    pub complete: bool,
    /// The largest bound that was examined to the end.
    pub finished: Option<u32>,
    /// Why the search ended early.
    pub stopped: Option<Stop>,
    /// States stored.
    pub states: u64,
    /// Times a state was reached again.
    pub matched: u64,
    /// Steps taken.
    pub transitions: u64,
    /// The longest path.
    pub depth: u64,
    /// Bytes of the largest state.
    pub state_bytes: u64,
    /// Bytes of the store and the search's own lists.
    pub memory: u64,
    /// Bytes of the states as stored.
    pub stored_bytes: u64,
    /// For a store of hashes: the share of the states that were expected to be told apart.
    pub coverage: Option<f64>,
    /// Time taken.
    pub elapsed: Duration,
}

impl Report {
    /// Takes the way to the violation from a second search. Where that was stopped on the way (by time, memory or
    /// the user), there is nothing to show, and what was exhausted are the bounds below the violation's.
    fn show(&mut self, again: Report) {
        self.memory = self.memory.max(again.memory);
        if again.found.is_none() {
            let bound = self.found.as_ref().and_then(|found| found.bound).unwrap_or(0);
            self.stopped = again.stopped;
            self.unshown = Some(bound);
            self.rows.retain(|row| row.bound < bound);
            self.finished = bound.checked_sub(1);
            self.complete = false;
        }
        self.found = again.found;
    }
}

/// Searches a system. `progress` is called now and then; the search ends when it returns `false`.
pub fn search<S: TransitionSystem>(
    system: &mut S,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Report {
    let mut budget = Budget::new(options.limits, progress);
    let exact = options.store == StoreKind::Exact;
    let mut report = match options.search {
        _ if options.cycles => cycles::cycles(system, options, &mut budget),
        Search::Layered if exact => layered::layered(system, options, &mut budget),
        Search::Dfs | Search::Bfs if exact => worklist::worklist(system, options, &mut budget),
        _ => deep::deep(system, options, &mut budget),
    };
    report.elapsed = budget.elapsed();
    report
}
