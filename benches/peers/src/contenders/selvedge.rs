//! Selvedge.

use selvedge::{Checker, Coverage, Outcome, Strategy};

use super::{Contender, Explored, Ran};

pub(crate) mod sync {
    pub(crate) use selvedge::sync::{Arc, Barrier, Condvar, Mutex, RwLock, atomic, mpsc};
}
pub(crate) use selvedge::thread;

#[path = "../programs/mod.rs"]
pub(crate) mod programs;

pub(crate) struct Selvedge;

impl Contender for Selvedge {
    const NAME: &'static str = "selvedge";
    const PROGRAMS: &'static [fn()] = programs::ALL;
    const ALONE: fn(usize) = programs::long::alone;
    const TOGETHER: fn(usize) = programs::long::together;

    fn sample<F: Fn() + Send + Sync + 'static>(program: F, executions: u64, seed: u64) -> Ran {
        let checker = Checker::new().strategy(Strategy::Random).seed(seed).max_executions(executions);
        let outcome = expect_sound(checker.max_steps(usize::MAX).explore(program));
        let count = |count: Option<u64>| count.expect("the stateless engine counts");
        Ran { executions: count(outcome.statistics.executions), steps: outcome.statistics.steps }
    }

    fn explore<F: Fn() + Send + Sync + 'static>(program: F, bound: Option<u32>, most: u64) -> Explored {
        let checker = Checker::new().max_executions(most);
        explored(
            program,
            bound.map_or_else(|| checker.clone().unbounded(), |bound| checker.clone().preemptions(bound)),
        )
    }
}

impl Selvedge {
    /// Explores a program at a bound at once, with one of its searches, which has room for so many states.
    pub(crate) fn explore_by(
        (strategy, room): (Strategy, Option<usize>),
        program: fn(),
        bound: u32,
        most: u64,
    ) -> Explored {
        let checker = Checker::new().strategy(strategy).preemptions(bound).at_bound().max_executions(most);
        explored(program, room.iter().fold(checker, |checker, room| checker.remember(*room)))
    }
}

fn explored<F: Fn() + Send + Sync + 'static>(program: F, checker: Checker) -> Explored {
    let outcome = expect_sound(checker.coverage(Coverage::Orders).explore(program));
    let finished = outcome.holds();
    Explored {
        executions: outcome.statistics.executions.expect("the stateless engine counts"),
        orders: outcome.rows.last().filter(|_| finished).and_then(|row| row.distinct),
        finished,
    }
}

fn expect_sound(outcome: Outcome) -> Outcome {
    if let Some(violation) = outcome.violation() {
        panic!("selvedge finds a violation: {violation:?}");
    }
    assert!(outcome.statistics.executions.is_some(), "{outcome:?}");
    outcome
}
