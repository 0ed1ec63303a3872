//! The checkers that are compared. Each has a module with the same names in it (`sync`, `thread`), over
//! which the very same source files of the programs are compiled.

pub(crate) mod loom;
pub(crate) mod selvedge;
pub(crate) mod shuttle;

pub(crate) use self::loom::Loom;
pub(crate) use self::selvedge::Selvedge;
pub(crate) use self::shuttle::Shuttle;

/// What a run of many executions came to.
pub(crate) struct Ran {
    pub(crate) executions: u64,
    /// Scheduling steps in all of them, where the contender counts them.
    pub(crate) steps: Option<u64>,
}

/// What a search came to.
#[derive(Clone, Copy)]
pub(crate) struct Explored {
    pub(crate) executions: u64,
    /// Distinct partial orders among them.
    pub(crate) orders: Option<u64>,
    /// Whether nothing was left within the bound.
    pub(crate) finished: bool,
}

/// A checker.
pub(crate) trait Contender {
    const NAME: &'static str;
    /// The programs, in the order of the catalogue.
    const PROGRAMS: &'static [fn()];
    /// The program of so many steps in one thread.
    const ALONE: fn(usize);
    /// The program of so many steps in each of two threads.
    const TOGETHER: fn(usize);

    /// Runs a program so many times, at random where the contender can.
    fn sample<F: Fn() + Send + Sync + 'static>(program: F, executions: u64, seed: u64) -> Ran;

    /// How many steps that takes, for a contender whose `sample` does not say.
    fn count_steps<F: Fn() + Send + Sync + 'static>(program: F, executions: u64, seed: u64) -> Option<u64> {
        let _ = (program, executions, seed);
        None
    }

    /// Explores a program within a bound on preemptions, but not beyond so many executions.
    fn explore<F: Fn() + Send + Sync + 'static>(program: F, bound: Option<u32>, most: u64) -> Explored;
}
