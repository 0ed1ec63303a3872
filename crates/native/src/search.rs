//! How to search: a strategy, what it is told, and limits.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use selvedge_core::{Gap, Outcome, Schedule, Statistics, Verdict};
use selvedge_stateless::strategy::{Named, Parameters};
use selvedge_stateless::{Deadline, Error, Execution, Explorer, LaunchError, Program, Progress, Settings};

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
    /// Stop when the search has this much memory in use, in bytes; that of the program does not count.
    pub memory: Option<u64>,
    /// An execution that has not ended after so many steps is ended (20,000 by default).
    pub max_steps: Option<usize>,
    /// A data race is no violation. The program must be in [race mode](NativeProgram::race_mode), where the orders of accesses
    /// are explored; and the strategy must be one that [leaves no order out](Named::reduces), because not all that a step
    /// touches is known: of an access to many bytes the first eight, and what is within an atomic section is not.
    pub allow_races: bool,
}

/// A program that is run within limits.
struct Limited<'a> {
    program: &'a NativeProgram,
    deadline: Deadline,
}

impl Program for Limited<'_> {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        self.program.launch_within(self.deadline)
    }
}

impl Search {
    fn settings(&self) -> Settings {
        let (max_executions, time_limit, memory_limit) = (self.max_executions, self.time, self.memory);
        let defaults = Settings::default();
        let max_steps = self.max_steps.unwrap_or(defaults.max_steps);
        let allow_races = self.allow_races;
        let limits =
            Settings { max_executions, time_limit, memory_limit, max_steps, allow_races, ..defaults };
        self.strategy.settings(&self.parameters, limits)
    }

    /// Why races cannot be allowed as they are.
    fn refuses_races(&self, program: &NativeProgram) -> Option<Error> {
        let refused = |message: String| Some(Error::Launch(LaunchError(message)));
        match self.strategy {
            _ if !self.allow_races => None,
            _ if !program.is_in_race_mode() => refused("races can be allowed in race mode only".into()),
            strategy if strategy.reduces() => refused(format!(
                "the strategy {strategy} leaves orders of steps out, which cannot be told where races are allowed"
            )),
            _ => None,
        }
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
        interrupt: Option<&'static AtomicBool>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, Error> {
        if let Some(error) = self.refuses_races(program) {
            return Err(error);
        }
        let deadline = Deadline::new(interrupt, self.time);
        anew(program, || {
            // If it begins anew, it has what is left.
            let settings = Settings { interrupt, time_limit: deadline.left(), ..self.settings() };
            self.check_within(program, deadline, settings, progress)
        })
    }

    fn check_within(
        &self,
        program: &NativeProgram,
        deadline: Deadline,
        settings: Settings,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, Error> {
        let mut strategy = self.strategy.algorithm(&self.parameters);
        let limited = Limited { program, deadline };
        match Explorer::new(&limited, settings) {
            Ok(mut explorer) => explorer.search(strategy.as_mut(), progress),
            // It was not yet in its main when the search was to stop.
            Err(Error::Launch(LaunchError(reason))) if deadline.reached().as_ref() == Some(&reason) => {
                let verdict = Verdict::Inconclusive(Gap { reason, covered: None });
                Ok(Outcome { verdict, rows: Vec::new(), statistics: Statistics::default() })
            }
            Err(error) => Err(error),
        }
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
        anew(program, || Explorer::new(program, self.settings())?.replay(schedule))
    }
}

/// Does something with a program; and again, if it turned out on the way that what had been taken for several atomics is one.
fn anew<T>(program: &NativeProgram, mut run: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        let before = program.atomics_together();
        let result = run();
        if !matches!(result, Err(Error::Unsupported(_))) || program.atomics_together() == before {
            return result;
        }
    }
}
