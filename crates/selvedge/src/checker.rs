//! [`Checker`]: how to check, and the check itself.

use std::io::Write;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Outcome, Schedule, Statistics, Verdict};
use selvedge_report::{Report, Style, to_json, to_text};
use selvedge_stateless::strategy::{Parameters, Random};
use selvedge_stateless::{Coverage, Error, Explorer, Settings};

use crate::Strategy;
use crate::environment::Environment;
use crate::progress::{self, INTERRUPTED, ProgressLine};
use crate::pulse::{PATIENCE, Pulse};
use crate::rt::{ClosureProgram, Mark, Options};

/// Checks a closure with the default settings: every execution with at most 2 preemptions.
///
/// # Panics
/// With the counterexample, if there is a violation.
///
/// ```
/// use selvedge::sync::{Arc, Mutex};
///
/// selvedge::check(|| {
///     let shared = Arc::new(Mutex::new(1));
///     let other = shared.clone();
///     let thread = selvedge::thread::spawn(move || *other.lock().unwrap() *= 3);
///     *shared.lock().unwrap() *= 2;
///     thread.join().unwrap();
///     assert_eq!(*shared.lock().unwrap(), 6);
/// });
/// ```
#[track_caller]
pub fn check<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Checker::new().check(f);
}

/// How to check. Each setting can also come from the environment, which wins: `SELVEDGE_PREEMPTIONS`,
/// `SELVEDGE_STRATEGY`, `SELVEDGE_YIELDS`, `SELVEDGE_DELAYS`, `SELVEDGE_DEPTH`, `SELVEDGE_RACE_MODE`,
/// `SELVEDGE_ALLOW_RACES`, `SELVEDGE_SPURIOUS`, `SELVEDGE_TIME`, `SELVEDGE_MEMORY`, `SELVEDGE_MAX_EXECUTIONS`, `SELVEDGE_MAX_STEPS`, `SELVEDGE_SEED`, `SELVEDGE_REPLAY`,
/// `SELVEDGE_AT_BOUND`, `SELVEDGE_JSON`, `SELVEDGE_QUIET`, `SELVEDGE_PROGRESS`.
///
/// ```
/// use selvedge::{Checker, Strategy};
///
/// let outcome = Checker::new().preemptions(1).explore(|| {
///     selvedge::thread::spawn(|| ()).join().unwrap();
/// });
/// assert!(outcome.holds());
/// assert_eq!(outcome.guarantee().unwrap().to_string(), "every execution has been checked");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a checker does nothing until `check` or `explore` is called"]
pub struct Checker {
    name: Option<String>,
    strategy: Strategy,
    parameters: Parameters,
    race_mode: bool,
    allow_races: bool,
    check_leaks: bool,
    allow_thread_panics: bool,
    allow_inconclusive: bool,
    spurious: u32,
    time_limit: Option<Duration>,
    memory_limit: Option<u64>,
    max_executions: Option<u64>,
    max_steps: usize,
    stack_size: usize,
    coverage: Option<Coverage>,
    keep_going: bool,
    shorten: u32,
    replay: Option<Schedule>,
}

impl Default for Checker {
    fn default() -> Self {
        let settings = Settings::default();
        Checker {
            name: None,
            strategy: Strategy::default(),
            parameters: Parameters::default(),
            race_mode: false,
            allow_races: false,
            check_leaks: false,
            allow_thread_panics: false,
            allow_inconclusive: false,
            spurious: 0,
            time_limit: None,
            memory_limit: None,
            max_executions: None,
            max_steps: settings.max_steps,
            stack_size: 2 * 1024 * 1024,
            coverage: None,
            keep_going: settings.keep_going,
            shorten: settings.shorten,
            replay: None,
        }
    }
}

impl Checker {
    /// The default settings: every partial order that an execution with at most 2 preemptions has, fewest
    /// preemptions first ([`Strategy::CbPor`]).
    pub fn new() -> Self {
        Checker::default()
    }

    /// What reports call the check; by default the name of the test.
    pub fn name(self, name: impl Into<String>) -> Self {
        Checker { name: Some(name.into()), ..self }
    }

    /// Which executions to run.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Checker { strategy, ..self }
    }

    /// Checks executions with at most so many preemptions (2 by default).
    pub fn preemptions(mut self, preemptions: u32) -> Self {
        self.parameters.preemptions = Some(preemptions);
        self.parameters.unbounded = false;
        self
    }

    /// Checks all executions, however many preemptions they have. May take very long.
    pub fn unbounded(mut self) -> Self {
        self.parameters.unbounded = true;
        self
    }

    /// How many more times a thread may yield than another that could run instead (1 by default). Loops that
    /// wait for another thread, and yield, are so unrolled a bounded number of times.
    pub fn yields(mut self, yields: u32) -> Self {
        self.parameters.yields = Some(yields);
        self
    }

    /// For [`Strategy::Delay`]: checks executions with at most so many delays (2 by default).
    pub fn delays(mut self, delays: u32) -> Self {
        self.parameters.delays = delays;
        self
    }

    /// For [`Strategy::Depth`]: ends executions after so many steps (100 by default). 0 is refused.
    pub fn depth(mut self, depth: u32) -> Self {
        self.parameters.depth = depth;
        self
    }

    /// Goes to the bound at once rather than by way of the smaller ones. A violation that is then found need
    /// not be the simplest.
    pub fn at_bound(mut self) -> Self {
        self.parameters.at_bound = true;
        self
    }

    /// For [`Strategy::Icb`]: lets each phase of the search spend so many preemptions (0 by default, which is
    /// strict: executions with fewer preemptions always come first). The paper's `csb`.
    pub fn phase_preemptions(mut self, preemptions: u32) -> Self {
        self.parameters.phase_preemptions = preemptions;
        self
    }

    /// For [`Strategy::Pct`]: the depth of the bugs to look for (3 by default).
    pub fn pct_depth(mut self, depth: u32) -> Self {
        self.parameters.pct_depth = depth;
        self
    }

    /// Lets waits on a [`Condvar`](crate::sync::Condvar) and parked threads wake up for no reason, at most so many times in
    /// an execution, and `compare_exchange_weak` fail for none, at most as many times (0 by default). Their contracts allow
    /// both at any time. The answer names what it takes for granted: that there are no more of them, where there could be.
    ///
    /// ```
    /// use selvedge::{Checker, sync::{Arc, Condvar, Mutex}};
    /// let waits = || {
    ///     let pair = Arc::new((Mutex::new(false), Condvar::new()));
    ///     let other = pair.clone();
    ///     let setter = selvedge::thread::spawn(move || {
    ///         *other.0.lock().unwrap() = true;
    ///         other.1.notify_one();
    ///     });
    ///     let mut ready = pair.0.lock().unwrap();
    ///     if !*ready {
    ///         ready = pair.1.wait(ready).unwrap();
    ///     }
    ///     assert!(*ready, "it should be a `while`");
    ///     drop(ready);
    ///     setter.join().unwrap();
    /// };
    /// let outcome = Checker::new().explore(waits);
    /// assert_eq!(outcome.guarantee().unwrap().assumptions.to_string(), "no spurious wakeups");
    /// assert!(Checker::new().spurious(1).explore(waits).violation().is_some());
    /// ```
    pub fn spurious(self, most: u32) -> Self {
        Checker { spurious: most, ..self }
    }

    /// Makes every access to a tracked cell a scheduling point. Without it a data race is a violation, and
    /// for programs without races nothing is lost.
    pub fn race_mode(self) -> Self {
        Checker { race_mode: true, ..self }
    }

    /// Lets accesses to tracked cells race, and looks for what that leads to. Needs [`race_mode`](Checker::race_mode), in
    /// which the orders of accesses are explored; without it nothing is checked. A strategy with partial-order reduction,
    /// which relies on there being no races, gives way to [`Strategy::Icb`]. An access takes place where it begins.
    ///
    /// ```
    /// use selvedge::{Checker, cell::Cell, sync::Arc};
    /// struct Count(Cell<u32>);
    /// // SAFETY: threads take turns in a check, and each access is one step.
    /// unsafe impl Sync for Count {}
    ///
    /// let counts = |most| Checker::new().race_mode().allow_races().explore(move || {
    ///     let count = Arc::new(Count(Cell::new(0)));
    ///     let other = count.clone();
    ///     let thread = selvedge::thread::spawn(move || other.0.set(other.0.get() + 1));
    ///     count.0.set(count.0.get() + 1);
    ///     thread.join().unwrap();
    ///     assert!(count.0.get() <= 2 && count.0.get() >= most);
    /// });
    /// assert!(counts(1).holds());
    /// assert_eq!(counts(2).violation().unwrap().kind.name(), "assertion");
    /// ```
    pub fn allow_races(self) -> Self {
        Checker { allow_races: true, ..self }
    }

    /// Makes it a violation when an [`Arc`](crate::sync::Arc), or memory of [`alloc`](crate::alloc), is never freed.
    pub fn check_leaks(self) -> Self {
        Checker { check_leaks: true, ..self }
    }

    /// Lets a panic that leaves a spawned thread's closure end just that thread, to be found by whoever joins
    /// it, as in std. By default it is a violation.
    pub fn allow_thread_panics(self) -> Self {
        Checker { allow_thread_panics: true, ..self }
    }

    /// Lets [`check`](Checker::check) pass when a limit ended the search before it was done.
    pub fn allow_inconclusive(self) -> Self {
        Checker { allow_inconclusive: true, ..self }
    }

    /// Ends the search after so long.
    pub fn time_limit(self, limit: Duration) -> Self {
        Checker { time_limit: Some(limit), ..self }
    }

    /// Ends the search when the process has more memory than this in use, in bytes. (On Linux.)
    pub fn memory_limit(self, bytes: u64) -> Self {
        Checker { memory_limit: Some(bytes), ..self }
    }

    /// Ends the search after so many executions.
    pub fn max_executions(self, executions: u64) -> Self {
        Checker { max_executions: Some(executions), ..self }
    }

    /// How many states the default search remembers, about (8 million by default, of some 25 bytes each), and at most
    /// [`Strategy::Optimal`] within a bound. Those that were not looked at for longest are forgotten then, and what lies
    /// behind them may be run again. Nothing is missed.
    pub fn remember(mut self, states: usize) -> Self {
        self.parameters.states = states;
        self
    }

    /// Ends an execution that has more steps (20,000 by default). It is a livelock if it goes in a circle; otherwise it may
    /// be that it would end later, and without a violation elsewhere the outcome is inconclusive.
    pub fn max_steps(self, steps: usize) -> Self {
        Checker { max_steps: steps, ..self }
    }

    /// The size of the threads' stacks in bytes (2 MiB by default, as std's). Memory is used only where a stack grows.
    pub fn stack_size(self, bytes: usize) -> Self {
        Checker { stack_size: bytes, ..self }
    }

    /// The seed of a sampling strategy.
    pub fn seed(mut self, seed: u64) -> Self {
        self.parameters.seed = seed;
        self
    }

    /// What to count. By default states, and for sampling strategies only executions.
    pub fn coverage(self, coverage: Coverage) -> Self {
        Checker { coverage: Some(coverage), ..self }
    }

    /// Goes on after a violation, so that the coverage is that of the whole search.
    pub fn keep_going(self) -> Self {
        Checker { keep_going: true, ..self }
    }

    /// How many executions may be spent on making a counterexample simpler (2,000 by default).
    pub fn shorten(self, executions: u32) -> Self {
        Checker { shorten: executions, ..self }
    }

    /// Runs this schedule, once, instead of searching.
    pub fn replay(self, schedule: Schedule) -> Self {
        Checker { replay: Some(schedule), ..self }
    }

    /// Checks a closure.
    ///
    /// # Panics
    /// With the counterexample if there is a violation; when the search could not be finished; and when the
    /// closure cannot be checked (it is not deterministic, say).
    #[track_caller]
    pub fn check<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let _ = self.verify(f);
    }

    /// As [`check`](Checker::check), and returns the outcome of one that passes: what it has ruled out.
    ///
    /// # Panics
    /// As `check`.
    #[track_caller]
    pub fn verify<F>(self, f: F) -> Outcome
    where
        F: Fn() + Send + Sync + 'static,
    {
        let read = Environment::read().and_then(|environment| Ok((self.with(&environment)?, environment)));
        let (checker, environment) = match read {
            Ok(read) => read,
            Err(message) => panic!("{message}"),
        };
        let quiet = environment.quiet;
        let allow = checker.allow_inconclusive || checker.strategy.samples();
        let subject = checker.subject();
        let outcome = match checker.run(&f, &environment) {
            Ok(outcome) => outcome,
            Err(error) => panic!("{subject} cannot be checked: {error}"),
        };
        let token = outcome.violation().map(|violation| violation.schedule.to_string());
        let fails = match outcome.verdict {
            Verdict::Holds(_) => false,
            Verdict::Violated(_) => true,
            Verdict::Inconclusive(_) => !allow || progress::interrupted(),
        };
        if !fails {
            return outcome;
        }
        if quiet {
            panic!("{subject} is violated, or was not checked to the end");
        }
        let command = token.map(|token| format!("SELVEDGE_REPLAY={token} {}", this_program()));
        let report = Report { subject, engine: "stateless".into(), outcome };
        let style = Style { color: false, width: 120 };
        panic!("\n{}", to_text(&report, &style, command.as_deref()));
    }

    /// Checks a closure and returns what came of it. Never panics: when the closure cannot be checked, the
    /// outcome is inconclusive and says why; [`try_explore`](Checker::try_explore) tells the two apart.
    pub fn explore<F>(self, f: F) -> Outcome
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.try_explore(f).unwrap_or_else(|error| Outcome {
            verdict: Verdict::Inconclusive(selvedge_core::Gap { reason: error.to_string(), covered: None }),
            rows: Vec::new(),
            statistics: selvedge_core::Statistics::default(),
        })
    }

    /// Checks a closure and returns what came of it.
    ///
    /// # Errors
    /// When the closure cannot be checked: it is not deterministic, or a schedule to replay does not fit it;
    /// or when a variable in the environment is wrong, or a bound that the strategy does not heed.
    pub fn try_explore<F>(self, f: F) -> Result<Outcome, Error>
    where
        F: Fn() + Send + Sync + 'static,
    {
        let read = Environment::read().and_then(|environment| Ok((self.with(&environment)?, environment)));
        let (checker, environment) =
            read.map_err(|message| Error::Launch(selvedge_stateless::LaunchError(message)))?;
        checker.run(&f, &environment)
    }

    /// These settings with those of the environment, which win; or why they do not go together.
    fn with(self, environment: &Environment) -> Result<Self, String> {
        let strategy = environment.strategy(self.strategy, self.allow_races)?;
        let environment = environment.clone();
        let told = self.parameters;
        let parameters = Parameters {
            preemptions: environment.preemptions.or(told.preemptions),
            unbounded: told.unbounded && environment.preemptions.is_none(),
            yields: environment.yields.or(told.yields),
            delays: environment.delays.unwrap_or(told.delays),
            depth: environment.depth.unwrap_or(told.depth),
            at_bound: environment.at_bound || told.at_bound,
            seed: environment.seed.unwrap_or(told.seed),
            ..told
        };
        let checker = Checker {
            parameters,
            strategy,
            race_mode: environment.race_mode || self.race_mode,
            allow_races: environment.allow_races || self.allow_races,
            spurious: environment.spurious.unwrap_or(self.spurious),
            time_limit: environment.time.or(self.time_limit),
            memory_limit: environment.memory.or(self.memory_limit),
            max_executions: environment.max_executions.or(self.max_executions),
            max_steps: environment.max_steps.unwrap_or(self.max_steps),
            replay: environment.replay.or(self.replay),
            ..self
        };
        if checker.allow_races && !checker.race_mode {
            return Err("to allow races says nothing without race mode, in which the orders of accesses are explored; \
                        add `race_mode()`, or SELVEDGE_RACE_MODE=1"
                .into());
        }
        if checker.parameters.depth == 0 && checker.replay.is_none() {
            return Err(
                "no execution has a depth of 0; give Checker::depth the number of steps, 1 or more".into()
            );
        }
        Ok(checker)
    }

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            std::thread::current().name().filter(|name| *name != "main").unwrap_or("check").to_string()
        })
    }

    fn settings(&self) -> Settings {
        let limits = Settings {
            max_executions: self.max_executions,
            time_limit: self.time_limit,
            memory_limit: self.memory_limit,
            max_steps: self.max_steps,
            keep_going: self.keep_going,
            shorten: self.shorten,
            allow_races: self.allow_races,
            interrupt: Some(&INTERRUPTED),
            ..Settings::default()
        };
        let settings = self.strategy.settings(&self.parameters, limits);
        Settings { coverage: self.coverage.unwrap_or(settings.coverage), ..settings }
    }

    /// Explores on an OS thread of its own: whatever a failing execution does to its thread ends with it.
    fn run(self, f: &(dyn Fn() + Send + Sync), environment: &Environment) -> Result<Outcome, Error> {
        let subject = self.subject();
        let options = Options {
            race_mode: self.race_mode,
            allow_thread_panics: self.allow_thread_panics,
            allow_races: self.allow_races,
            check_leaks: self.check_leaks,
            counts_references: false,
            spurious: self.spurious,
        };
        if environment.json.is_some() {
            progress::catch_interrupts();
        }
        let settings = self.settings();
        let pulse = Arc::new(Pulse::default());
        // The outcome, and whether it counts.
        let attempt = |options: Options, mark: &Mark| {
            let program =
                ClosureProgram { body: f, options, stack_size: self.stack_size, pulse: pulse.clone(), mark };
            let mut explorer = match program.start() {
                Ok(execution) => Explorer::with_execution(execution, settings),
                Err(error) => return (Err(error.into()), true),
            };
            let mut line = ProgressLine::new(&subject, environment.progress);
            let progress = &mut |progress: &_| line.draw(progress);
            let outcome = match (&self.replay, self.strategy) {
                (Some(schedule), _) => {
                    let outcome = explorer.replay(schedule);
                    let violated = outcome.as_ref().is_ok_and(|outcome| outcome.violation().is_some());
                    let counts = violated || outcome.is_ok() && !explorer.is_outdated();
                    return (outcome, counts);
                }
                // The one strategy whose choices are a good part of the cost: the loop is compiled for it.
                (None, Strategy::Random) => explorer.search(&mut Random::new(self.parameters.seed), progress),
                (None, _) => explorer.search(self.strategy.algorithm(&self.parameters).as_mut(), progress),
            };
            (outcome, !explorer.is_outdated())
        };
        let search = || {
            let mark = Mark::new();
            let outcome = match attempt(options, &mark) {
                (outcome, true) => outcome,
                // Reference counts matter: clones and drops are steps.
                (first, false) => {
                    match (attempt(Options { counts_references: true, ..options }, &mark).0, first) {
                        (Err(_), first @ Ok(_)) => first,
                        (Ok(outcome), Ok(first)) => Ok(with_runs_of(outcome, &first)),
                        (outcome, _) => outcome,
                    }
                }
            };
            mark.refused_at_last().map_or(outcome, |stop| Err(Error::Unsupported(stop)))
        };
        let outcome = std::thread::scope(|scope| {
            let name = std::thread::current().name().unwrap_or("selvedge").to_string();
            let (searching, ended) = std::sync::mpsc::channel::<()>();
            let search = move || {
                let _searching = searching;
                search()
            };
            let thread = std::thread::Builder::new().name(name).spawn_scoped(scope, search);
            let patience = environment.patience.unwrap_or(PATIENCE);
            if thread.is_ok() && !patience.is_zero() && pulse.is_missed(&ended, patience) {
                pulse.complain(&subject, patience);
                if environment.json.is_some() {
                    // Who waits for the result would wait for ever.
                    std::process::exit(2);
                }
            }
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(result)) => result,
                Ok(Err(payload)) => resume_unwind(payload),
                Err(error) => Err(Error::Launch(selvedge_stateless::LaunchError(error.to_string()))),
            }
        });
        let outcome = outcome.map(|mut outcome| {
            outcome.statistics.peak_memory_bytes = peak_memory();
            outcome
        });
        if let (Some(path), Ok(outcome)) = (&environment.json, &outcome) {
            let report = Report { subject, engine: "stateless".into(), outcome: outcome.clone() };
            let line = to_json(&report) + "\n";
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| {
                let path = path.display();
                Error::Launch(selvedge_stateless::LaunchError(format!(
                    "SELVEDGE_JSON={path}: the result cannot be written there: {error}"
                )))
            })?;
        }
        outcome
    }
}

/// The outcome of a second attempt, with the runs of the first, which have shown only that there must be another.
fn with_runs_of(mut outcome: Outcome, first: &Outcome) -> Outcome {
    let runs = |of: &Outcome| of.statistics.further(Statistics::REPEATED);
    let repeated = runs(&outcome) + runs(first) + first.statistics.executions.unwrap_or(0);
    let extra = &mut outcome.statistics.extra;
    extra.retain(|(name, _)| name != Statistics::REPEATED);
    extra.push((Statistics::REPEATED.into(), repeated));
    outcome
}

/// The most memory that this process has held.
#[cfg(target_os = "linux")]
fn peak_memory() -> Option<u64> {
    // SAFETY: `getrusage` fills in the structure, which is valid when it is zero.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) == 0).then_some(usage)
    };
    usage.map(|usage| usage.ru_maxrss as u64 * 1024)
}

#[cfg(not(target_os = "linux"))]
fn peak_memory() -> Option<u64> {
    None
}

/// The command that runs the caller again: a test, which has its thread to itself, or an example or a binary
/// with its arguments.
fn this_program() -> String {
    if let Some(test) = std::thread::current().name().filter(|name| *name != "main") {
        return format!("cargo test {test}");
    }
    let program = std::env::current_exe().unwrap_or_default();
    let is_example = program.parent().is_some_and(|folder| folder.ends_with("examples"));
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut words = vec!["cargo run".into(), if is_example { "--example" } else { "--bin" }.into(), name];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.is_empty() {
        words.push("--".into());
        words.extend(arguments);
    }
    words.join(" ")
}
