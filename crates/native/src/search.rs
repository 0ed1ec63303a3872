//! How to search: a strategy by its name, and its bounds.

use std::time::Duration;

use selvedge_core::{Outcome, Schedule};
use selvedge_stateless::strategy::{Bpor, CbPor, Cost, Depth, Dfs, Dpor, Iterative, Optimal, Pct, Random};
use selvedge_stateless::{Coverage, Error, Explorer, Progress, Settings, Strategy};

use crate::NativeProgram;

/// What to search, and for how long. What is not given has the library's defaults: `cb-por`, 2 preemptions.
///
/// ```
/// use selvedge_native::Search;
/// assert!(Search { strategy: Some("icb".into()), ..Search::default() }.algorithm().is_ok());
/// let error = Search { strategy: Some("ibc".into()), ..Search::default() }.algorithm().err().unwrap();
/// assert!(error.contains("cb-por"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The strategy's name.
    pub strategy: Option<String>,
    /// The bound on preemptions.
    pub preemptions: Option<u32>,
    /// The fair bound.
    pub yields: Option<u32>,
    /// For `delay`: the bound on delays.
    pub delays: Option<u32>,
    /// For `depth`: the bound on steps.
    pub depth: Option<u32>,
    /// Go to the bound at once.
    pub at_bound: bool,
    /// Where random choices begin.
    pub seed: Option<u64>,
    /// Stop after so many executions.
    pub max_executions: Option<u64>,
    /// Stop after so long.
    pub time: Option<Duration>,
}

/// The names of the strategies.
pub const STRATEGIES: [&str; 12] = [
    "icb",
    "dfs",
    "cb-por",
    "cb-por-all",
    "bpor",
    "bpor-plain",
    "dpor",
    "optimal",
    "delay",
    "depth",
    "random",
    "pct",
];

/// How many executions a sampling strategy runs unless it is told otherwise.
const SAMPLES: u64 = 10_000;
const SEED: u64 = 0x5E1_7ED6E;
const PCT_DEPTH: u32 = 3;

impl Search {
    fn name(&self) -> &str {
        self.strategy.as_deref().unwrap_or("cb-por")
    }

    fn samples(&self) -> bool {
        matches!(self.name(), "random" | "pct")
    }

    /// The strategy.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn algorithm(&self) -> Result<Box<dyn Strategy>, String> {
        let yields = self.yields.or(Settings::default().yields);
        // The default bound is for strategies that need one.
        let needed = Some(self.preemptions.unwrap_or(2));
        let seed = self.seed.unwrap_or(SEED);
        Ok(match self.name() {
            "icb" if self.at_bound => Box::new(Dfs::new(needed)),
            "icb" => Box::new(Iterative::new(Cost::Preemptions, needed)),
            "dfs" => Box::new(Dfs::new(self.preemptions)),
            "cb-por" if self.at_bound => Box::new(CbPor::new(needed, yields).at_bound()),
            "cb-por" => Box::new(CbPor::new(needed, yields)),
            "cb-por-all" => Box::new(CbPor::new(needed, yields).all()),
            "bpor" | "bpor-plain" => {
                let bpor = Bpor::new(needed, yields.is_some()).optimised(self.name() == "bpor");
                Box::new(if self.at_bound { bpor.at_bound() } else { bpor })
            }
            "dpor" => Box::new(Dpor::new()),
            "optimal" => Box::new(match self.preemptions {
                None => Optimal::new(),
                Some(most) if self.at_bound => Optimal::bounded(most).at_bound(),
                Some(most) => Optimal::bounded(most),
            }),
            "delay" => Box::new(Iterative::new(Cost::Delays, Some(self.delays.unwrap_or(2)))),
            "depth" => {
                let depth = self.depth.unwrap_or(100);
                Box::new(Depth::new(depth, if self.at_bound { depth } else { 10 }))
            }
            "random" => Box::new(Random::new(seed)),
            "pct" => Box::new(Pct::new(seed, PCT_DEPTH)),
            other => {
                return Err(format!("there is no strategy {other:?}; there are {}", STRATEGIES.join(", ")));
            }
        })
    }

    /// Its limits, as the engine takes them.
    pub fn settings(&self) -> Settings<'static> {
        let fair = !self.samples() && !matches!(self.name(), "dpor" | "optimal");
        Settings {
            yields: self.yields.or(Settings::default().yields).filter(|_| fair),
            max_executions: self
                .max_executions
                .or((self.samples() && self.time.is_none()).then_some(SAMPLES)),
            time_limit: self.time,
            coverage: if self.samples() { Coverage::Executions } else { Coverage::States },
            ..Settings::default()
        }
    }

    /// Checks a program.
    ///
    /// # Errors
    /// When it cannot be checked: it cannot be started, is not deterministic, or does something that cannot be
    /// controlled.
    ///
    /// # Panics
    /// When there is no strategy of that name; see [`algorithm`](Search::algorithm).
    pub fn check(
        &self,
        program: &NativeProgram,
        interrupt: Option<&std::sync::atomic::AtomicBool>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, Error> {
        let mut strategy = self.algorithm().expect("a strategy that there is");
        let settings = Settings { interrupt, ..self.settings() };
        Explorer::new(program, settings)?.search(strategy.as_mut(), progress)
    }

    /// Runs one schedule of a program.
    ///
    /// # Errors
    /// When the schedule does not fit the program, or the program cannot be checked.
    pub fn replay(&self, program: &NativeProgram, schedule: &Schedule) -> Result<Outcome, Error> {
        Explorer::new(program, self.settings())?.replay(schedule)
    }
}
