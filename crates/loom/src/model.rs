//! Checking a model: [`model`] and [`Builder`].

use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use selvedge::{Checker, Gap, Outcome, Verdict};

const DEFAULT_MAX_BRANCHES: usize = 1_000;

/// The library's own limit on the steps of an execution. What loom calls branches are some of these.
const LEAST_MAX_STEPS: usize = 20_000;

/// How to check a model. `SELVEDGE_*` variables are heeded too, and win.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// In loom, how many threads there may be. Here there is no such limit.
    pub max_threads: usize,

    /// Ends an execution that has more steps than this, or than 20,000, whichever is more: as a livelock, or as a model
    /// that cannot be checked. `LOOM_MAX_BRANCHES`, 1,000 by default.
    pub max_branches: usize,

    /// Ends the search after so many executions. `LOOM_MAX_PERMUTATIONS`, none by default.
    pub max_permutations: Option<usize>,

    /// Ends the search after so long. `LOOM_MAX_DURATION` in seconds, none by default.
    pub max_duration: Option<Duration>,

    /// Checks executions with at most so many preemptions. `LOOM_MAX_PREEMPTIONS`; by default one bound after the other,
    /// until there are no more executions.
    pub preemption_bound: Option<usize>,

    /// In loom, where a search is stored and goes on. Here each search begins anew, and a violation has a token to
    /// replay. `LOOM_CHECKPOINT_FILE`.
    pub checkpoint_file: Option<PathBuf>,

    /// In loom, how often it is stored. `LOOM_CHECKPOINT_INTERVAL`.
    pub checkpoint_interval: usize,

    /// In loom, explores nothing before [`explore`](crate::explore). Here everything is explored.
    pub expect_explicit_explore: bool,

    /// In loom, whether places in the source are noted. Here they always are. `LOOM_LOCATION`.
    pub location: bool,

    /// Says what was ruled out when the model has passed. `LOOM_LOG`.
    pub log: bool,
}

impl Builder {
    /// The default settings, and those of the environment.
    ///
    /// # Panics
    /// When a variable in the environment is not what it should be.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Builder::from(|name| env::var_os(name).map(|text| text.to_string_lossy().into_owned()))
            .unwrap_or_else(|message| panic!("{message}"))
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        fn number<T: FromStr>(name: &str, text: Option<String>) -> Result<Option<T>, String> {
            text.map(|text| text.parse().map_err(|_| format!("{name}={text}: expected a number, such as 2")))
                .transpose()
        }
        let number_of = |name| number::<usize>(name, variable(name));
        let seconds = number::<u64>("LOOM_MAX_DURATION", variable("LOOM_MAX_DURATION"))?;
        let preemptions = number::<u32>("LOOM_MAX_PREEMPTIONS", variable("LOOM_MAX_PREEMPTIONS"))?;
        Ok(Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: number_of("LOOM_MAX_BRANCHES")?.unwrap_or(DEFAULT_MAX_BRANCHES),
            max_permutations: number_of("LOOM_MAX_PERMUTATIONS")?,
            max_duration: seconds.map(Duration::from_secs),
            preemption_bound: preemptions.map(|most| most as usize),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE").map(PathBuf::from),
            checkpoint_interval: number_of("LOOM_CHECKPOINT_INTERVAL")?.unwrap_or(20_000),
            expect_explicit_explore: false,
            location: variable("LOOM_LOCATION").is_some(),
            log: variable("LOOM_LOG").is_some(),
        })
    }

    /// In loom, where to store a search.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Checks a model.
    ///
    /// It passes when the search was ended by [`max_duration`](Self::max_duration) or
    /// [`max_permutations`](Self::max_permutations), as in loom, and then says on standard error what was ruled out.
    ///
    /// # Panics
    /// With the counterexample if there is a violation, and when the model cannot be checked.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        if let Some(file) = &self.checkpoint_file {
            eprintln!(
                "loom: {} is not used: each search begins anew; replay a violation with the token in its report",
                file.display()
            );
        }
        let outcome = self.checker().verify(f);
        match &outcome.verdict {
            Verdict::Inconclusive(gap) if !self.was_ended(&outcome) => {
                panic!("the model was not checked to the end: {}", gap.reason)
            }
            Verdict::Inconclusive(gap) => eprintln!("loom: {}", not_finished(gap)),
            Verdict::Holds(guarantee) if self.log => {
                let executions = outcome.statistics.executions.unwrap_or(0);
                eprintln!("loom: completed in {executions} executions: {guarantee}");
            }
            _ => {}
        }
    }

    fn checker(&self) -> Checker {
        let checker = Checker::new().check_leaks().max_steps(self.max_branches.max(LEAST_MAX_STEPS));
        let checker = match self.preemption_bound {
            Some(bound) => checker.preemptions(u32::try_from(bound).unwrap_or(u32::MAX)),
            None => checker.unbounded(),
        };
        let checker = match self.max_duration {
            Some(limit) => checker.time_limit(limit).allow_inconclusive(),
            None => checker,
        };
        match self.max_permutations {
            Some(most) => checker.max_executions(most as u64).allow_inconclusive(),
            None => checker,
        }
    }

    /// Whether a search that was not finished had come to a limit that ends it, rather than to an execution that does not
    /// end.
    fn was_ended(&self, outcome: &Outcome) -> bool {
        let statistics = &outcome.statistics;
        self.max_duration.is_some_and(|limit| statistics.elapsed >= limit)
            || self.max_permutations.is_some_and(|most| statistics.executions >= Some(most as u64))
    }
}

fn not_finished(gap: &Gap) -> String {
    match &gap.covered {
        Some(covered) => format!("{}; before that, {covered}", gap.reason),
        None => format!("{}; not even the executions without a preemption had all been checked", gap.reason),
    }
}

impl Default for Builder {
    #[track_caller]
    fn default() -> Self {
        Builder::new()
    }
}

/// Checks a model with the settings of the environment.
///
/// # Panics
/// With the counterexample if there is a violation.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}

/// Whether something happens without a reason: both are explored, in a model.
#[track_caller]
pub(crate) fn spurious() -> bool {
    selvedge::in_check() && selvedge::choose(2) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, text: &'static str) -> Result<Builder, String> {
        Builder::from(|asked| (asked == name).then(|| text.to_string()))
    }

    #[test]
    fn the_environment_is_read() {
        assert_eq!(read("LOOM_MAX_PREEMPTIONS", "3").unwrap().preemption_bound, Some(3));
        assert_eq!(read("LOOM_MAX_DURATION", "5").unwrap().max_duration, Some(Duration::from_secs(5)));
        assert_eq!(read("LOOM_MAX_BRANCHES", "7").unwrap().max_branches, 7);
        assert_eq!(read("LOOM_MAX_PERMUTATIONS", "9").unwrap().max_permutations, Some(9));
        assert_eq!(read("LOOM_CHECKPOINT_FILE", "a.json").unwrap().checkpoint_file, Some("a.json".into()));
        assert!(read("LOOM_LOG", "").unwrap().log);
        let plain = read("", "").unwrap();
        assert_eq!((plain.preemption_bound, plain.max_branches, plain.log), (None, 1_000, false));
    }

    #[test]
    fn a_search_that_was_ended_says_what_it_completed() {
        let ended_after = |executions| {
            let outcome = Checker::new().unbounded().max_executions(executions).explore(|| {
                let count = crate::sync::Arc::new(crate::sync::atomic::AtomicUsize::new(0));
                // Whichever of them goes first, when the main thread waits, no preemption is spent.
                let threads = [(); 3].map(|()| {
                    let count = count.clone();
                    crate::thread::spawn(move || {
                        (0..3).for_each(|_| _ = count.fetch_add(1, crate::sync::atomic::Ordering::SeqCst));
                    })
                });
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
            match outcome.verdict {
                Verdict::Inconclusive(gap) => not_finished(&gap),
                verdict => panic!("{verdict:?}"),
            }
        };
        let early = ended_after(1);
        assert!(early.contains("the limit of 1 executions was reached; not even"), "{early}");
        let later = ended_after(20);
        assert!(
            later.contains("before that, every execution with at most 0 preemptions has been checked"),
            "{later}"
        );
    }

    #[test]
    fn what_is_no_number_is_named() {
        for name in
            ["LOOM_MAX_PREEMPTIONS", "LOOM_MAX_DURATION", "LOOM_MAX_BRANCHES", "LOOM_MAX_PERMUTATIONS"]
        {
            let error = read(name, "two").unwrap_err();
            assert!(error.contains(&format!("{name}=two: expected a number")), "{error}");
        }
    }
}
