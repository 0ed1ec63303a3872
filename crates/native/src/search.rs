//! How to search: a strategy, what it is told, and limits.

use std::time::Duration;

use selvedge_core::{Outcome, Schedule};
use selvedge_stateless::strategy::{Named, Parameters};
use selvedge_stateless::{Error, Explorer, Progress, Settings};

use crate::NativeProgram;

/// What to search, and for how long.
///
/// ```
/// use selvedge_native::{Named, Search};
/// let search = Search { strategy: Named::Icb, max_executions: Some(100), ..Search::default() };
/// assert_eq!(search.parameters.preemptions, None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The strategy.
    pub strategy: Named,
    /// What it is told.
    pub parameters: Parameters,
    /// Stop after so many executions.
    pub max_executions: Option<u64>,
    /// Stop after so long.
    pub time: Option<Duration>,
    /// An execution that has not ended after so many steps is a violation (20,000 by default).
    pub max_steps: Option<usize>,
}

impl Search {
    fn settings(&self) -> Settings<'static> {
        let (max_executions, time_limit) = (self.max_executions, self.time);
        let defaults = Settings::default();
        let max_steps = self.max_steps.unwrap_or(defaults.max_steps);
        let limits = Settings { max_executions, time_limit, max_steps, ..defaults };
        self.strategy.settings(&self.parameters, limits)
    }

    /// Checks a program.
    ///
    /// # Errors
    /// When it cannot be checked: it cannot be started, is not deterministic, or does something that cannot be
    /// controlled.
    ///
    /// ```no_run
    /// use selvedge_native::{NativeProgram, Search};
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap();
    /// assert!(Search::default().check(&program, None, &mut |_| ()).unwrap().holds());
    /// ```
    pub fn check(
        &self,
        program: &NativeProgram,
        interrupt: Option<&std::sync::atomic::AtomicBool>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, Error> {
        let settings = Settings { interrupt, ..self.settings() };
        let mut strategy = self.strategy.algorithm(&self.parameters);
        Explorer::new(program, settings)?.search(strategy.as_mut(), progress)
    }

    /// Runs one schedule of a program.
    ///
    /// # Errors
    /// When the schedule does not fit the program, or the program cannot be checked.
    ///
    /// ```no_run
    /// use selvedge_native::{NativeProgram, Search};
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap();
    /// let outcome = Search::default().replay(&program, &Default::default()).unwrap();
    /// ```
    pub fn replay(&self, program: &NativeProgram, schedule: &Schedule) -> Result<Outcome, Error> {
        Explorer::new(program, self.settings())?.replay(schedule)
    }
}
