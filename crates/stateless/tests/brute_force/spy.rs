//! A strategy that notes which executions another strategy asked for.

use selvedge_core::{Decision, Outcome};
use selvedge_stateless::{Choice, Explorer, Finished, Point, Prefix, Settings, Strategy};
use selvedge_testgen::Interpreter;

/// What a strategy says of itself is what the one says that it is made of.
macro_rules! as_the_inner_one_says {
    () => {
        fn bound(&self) -> Option<(selvedge_core::Measure, u32)> {
            self.inner.bound()
        }

        fn exhausted(&self) -> Option<selvedge_core::Bounds> {
            self.inner.exhausted()
        }

        fn cut(&self) -> bool {
            self.inner.cut()
        }

        fn in_order(&self) -> bool {
            self.inner.in_order()
        }
    };
}
pub(crate) use as_the_inner_one_says;

/// An execution that was run.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) schedule: Vec<Decision>,
    pub(crate) preemptions: u32,
    pub(crate) pruned: bool,
    /// The bound that the strategy said it was exploring.
    pub(crate) bound: Option<u32>,
}

struct Spy<'s> {
    inner: &'s mut dyn Strategy,
    seen: Vec<Seen>,
}

impl Strategy for Spy<'_> {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.inner.next_prefix(prefix)
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.inner.choose(point)
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.seen.push(Seen {
            schedule: execution.record.decisions().to_vec(),
            preemptions: execution.preemptions,
            pruned: execution.pruned,
            bound: self.inner.bound().map(|(_, bound)| bound),
        });
        self.inner.finished(execution);
    }

    as_the_inner_one_says!();
}

/// What came of a search.
pub(crate) struct Search {
    pub(crate) seen: Vec<Seen>,
    pub(crate) outcome: Outcome,
    /// The fewest preemptions of each terminal partial order, sorted.
    pub(crate) orders: Vec<u32>,
    /// The hashes of the terminal partial orders.
    pub(crate) hashes: Vec<u128>,
}

/// Explores a program, and notes the executions.
pub(crate) fn search(
    program: &Interpreter,
    strategy: &mut dyn Strategy,
    settings: &Settings,
) -> Result<Search, String> {
    let mut explorer = Explorer::new(program, *settings).map_err(|error| error.to_string())?;
    let mut spy = Spy { inner: strategy, seen: Vec::new() };
    let outcome = explorer.search(&mut spy, &mut |_| {}).map_err(|error| error.to_string())?;
    let (hashes, mut orders): (Vec<_>, Vec<_>) =
        explorer.terminal_orders().map(|(hash, least)| (hash.0, least)).unzip();
    orders.sort_unstable();
    Ok(Search { seen: spy.seen, outcome, orders, hashes })
}
