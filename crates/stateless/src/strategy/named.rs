//! Strategies by name, with what they can be told.

use std::fmt;
use std::str::FromStr;

use super::effort::Looks;
use super::within_reason::WithinReason;
use super::{Bpor, CbPor, Cost, Depth, Dfs, Dpor, Iterative, Optimal, Pct, Random};
use crate::coverage::Coverage;
use crate::settings::Settings;

/// Which executions to run.
///
/// ```
/// use selvedge_stateless::strategy::Named;
/// assert_eq!("icb".parse(), Ok(Named::Icb));
/// assert!("ibc".parse::<Named>().unwrap_err().contains("icb"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Named {
    /// Iterative context bounding: every execution with 0 preemptions, then every one with 1, and so on. The
    /// first violation that it finds needs the fewest preemptions.
    Icb,
    /// Depth-first search over all executions, or over those within the bound on preemptions.
    Dfs,
    /// Iterative context bounding with partial-order reduction: every terminal partial order that an execution
    /// within the bound has, once, fewest preemptions first. Remembers the states that it has been through. The
    /// default.
    #[default]
    CbPor,
    /// The same with every prefix of such a partial order, at the bound at once.
    CbPorAll,
    /// Bounded partial-order reduction: every local state within the bounds, fewest preemptions first, in
    /// memory that does not grow with the search.
    Bpor,
    /// The same without the paper's optimisations (section 5.4), for comparison.
    BporPlain,
    /// Dynamic partial-order reduction: every terminal partial order, without a bound. Loops that wait by
    /// yielding do not end under it.
    Dpor,
    /// Optimal dynamic partial-order reduction: every terminal partial order exactly once. Keeps only the current
    /// execution and what is still to be tried beside it. Where the fair bound holds a thread back, every thread is
    /// tried. With a bound on preemptions it is [`CbPor`](Named::CbPor) that remembers no more states than 32 times the
    /// square of the length of an execution: some orders may be run again then, and none is missed.
    Optimal,
    /// In the order of delays: departures from a round-robin scheduler.
    Delay,
    /// Depth-first search over executions that are ended after a number of steps, which grows.
    Depth,
    /// Executions drawn at random.
    Random,
    /// Probabilistic concurrency testing: random priorities, changed at a few random points.
    Pct,
}

impl Named {
    /// Every strategy, by name.
    pub const ALL: [(&'static str, Named); 12] = [
        ("icb", Named::Icb),
        ("dfs", Named::Dfs),
        ("cb-por", Named::CbPor),
        ("cb-por-all", Named::CbPorAll),
        ("bpor", Named::Bpor),
        ("bpor-plain", Named::BporPlain),
        ("dpor", Named::Dpor),
        ("optimal", Named::Optimal),
        ("delay", Named::Delay),
        ("depth", Named::Depth),
        ("random", Named::Random),
        ("pct", Named::Pct),
    ];

    /// Whether it samples, and so rules nothing out.
    pub fn samples(self) -> bool {
        matches!(self, Named::Random | Named::Pct)
    }

    /// Whether it leaves orders out of steps that touch nothing in common, as far as that is known.
    ///
    /// ```
    /// use selvedge_stateless::strategy::Named;
    /// assert!(Named::CbPor.reduces() && !Named::Icb.reduces());
    /// ```
    pub fn reduces(self) -> bool {
        use Named::{Bpor, BporPlain, CbPor, CbPorAll, Dpor, Optimal};
        matches!(self, CbPor | CbPorAll | Bpor | BporPlain | Dpor | Optimal)
    }

    /// The strategy in its place that runs every execution: itself, or iterative context bounding.
    ///
    /// ```
    /// use selvedge_stateless::strategy::Named;
    /// assert_eq!((Named::Optimal.unreduced(), Named::Pct.unreduced()), (Named::Icb, Named::Pct));
    /// ```
    #[must_use]
    pub fn unreduced(self) -> Named {
        if self.reduces() { Named::Icb } else { self }
    }

    /// Whether it keeps to a bound of this kind.
    ///
    /// ```
    /// use selvedge_stateless::strategy::{Bound, Named};
    /// assert!(Named::Dfs.heeds(Bound::Preemptions) && !Named::Dpor.heeds(Bound::Preemptions));
    /// ```
    pub fn heeds(self, bound: Bound) -> bool {
        match bound {
            Bound::Preemptions => {
                !matches!(self, Named::Dpor | Named::Delay | Named::Depth) && !self.samples()
            }
            Bound::Yields => self != Named::Dpor && !self.samples(),
            Bound::Delays => self == Named::Delay,
            Bound::Depth => self == Named::Depth,
        }
    }

    /// The strategy to search with where these bounds are given: the one that was chosen; or else the usual one, unless
    /// there is a bound that only another heeds.
    ///
    /// # Errors
    /// When it does not heed one of them: what it would find need not be within that bound.
    ///
    /// ```
    /// use selvedge_stateless::strategy::{Bound, Named};
    /// assert_eq!(Named::within(None, Named::CbPor, &[Bound::Delays]), Ok(Named::Delay));
    /// let error = Named::within(Some(Named::Dpor), Named::CbPor, &[Bound::Preemptions]).unwrap_err();
    /// assert!(error.to_string().contains("the strategy dpor has no bound on preemptions"));
    /// ```
    pub fn within(chosen: Option<Named>, usual: Named, bounds: &[Bound]) -> Result<Named, Unheeded> {
        let strategy = chosen.unwrap_or_else(|| {
            let wanted = bounds.iter().find(|bound| !usual.heeds(**bound));
            match wanted {
                Some(Bound::Delays) => Named::Delay,
                Some(Bound::Depth) => Named::Depth,
                _ => usual,
            }
        });
        match bounds.iter().find(|bound| !strategy.heeds(**bound)) {
            Some(bound) => Err(Unheeded { strategy, bound: *bound }),
            None => Ok(strategy),
        }
    }

    /// The algorithm.
    ///
    /// ```
    /// use selvedge_core::Measure;
    /// use selvedge_stateless::strategy::{Named, Parameters};
    /// let algorithm = Named::Icb.algorithm(&Parameters::default());
    /// assert_eq!(algorithm.bound(), Some((Measure::Preemptions, 0)));
    /// ```
    pub fn algorithm(self, told: &Parameters) -> Box<dyn super::Strategy> {
        let given = told.preemptions.filter(|_| !told.unbounded);
        // The default bound is for strategies that need one.
        let needed = if told.unbounded { None } else { Some(told.preemptions.unwrap_or(2)) };
        match self {
            Named::Icb if told.at_bound => Box::new(Dfs::new(needed)),
            Named::Icb => Box::new(Iterative::new(Cost::Preemptions, needed).csb(told.phase_preemptions)),
            Named::Dfs => Box::new(Dfs::new(given)),
            Named::Optimal if given.is_none() => Box::new(Optimal::new().fair(told.yields)),
            Named::CbPor | Named::Optimal => {
                let cb_por = CbPor::new(needed, told.yields).remembering(told.states);
                let cb_por = if self == Named::Optimal { cb_por.in_square_memory() } else { cb_por };
                let cb_por = if told.at_bound { cb_por.at_bound() } else { cb_por };
                Box::new(WithinReason::new(cb_por, needed, told.yields, told.looks))
            }
            Named::CbPorAll => Box::new(CbPor::new(needed, told.yields).all()),
            Named::Bpor | Named::BporPlain => {
                let bpor = Bpor::new(needed, told.yields.is_some()).optimised(self == Named::Bpor);
                Box::new(if told.at_bound { bpor.at_bound() } else { bpor })
            }
            Named::Dpor => Box::new(Dpor::new()),
            Named::Delay => Box::new(Iterative::new(Cost::Delays, Some(told.delays))),
            Named::Depth => {
                let increment = if told.at_bound { told.depth } else { 10 };
                Box::new(Depth::new(told.depth, increment))
            }
            Named::Random => Box::new(Random::new(told.seed)),
            Named::Pct => Box::new(Pct::new(told.seed, told.pct_depth)),
        }
    }

    /// These settings as they suit it: a fair bound where it keeps to one, what is counted, and how many executions a
    /// sampler runs unless that or the time is limited.
    ///
    /// ```
    /// use selvedge_stateless::{Settings, strategy::{Named, Parameters}};
    /// let settings = Named::Random.settings(&Parameters::default(), Settings::default());
    /// assert_eq!((settings.yields, settings.max_executions), (None, Some(10_000)));
    /// ```
    pub fn settings(self, told: &Parameters, settings: Settings) -> Settings {
        let samples = self.samples();
        let most = Some(SAMPLES).filter(|_| samples && settings.time_limit.is_none());
        Settings {
            yields: told.yields.filter(|_| !samples && self != Named::Dpor),
            max_executions: settings.max_executions.or(most),
            coverage: if samples { Coverage::Executions } else { Coverage::States },
            ..settings
        }
    }
}

/// What a user may bound. Not every strategy heeds each of them.
///
/// ```
/// assert_eq!(selvedge_stateless::strategy::Bound::Delays.name(), "delays");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`Parameters::preemptions`].
    Preemptions,
    /// [`Parameters::yields`].
    Yields,
    /// [`Parameters::delays`].
    Delays,
    /// [`Parameters::depth`].
    Depth,
}

impl Bound {
    /// What it is called in options and settings.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Preemptions => "preemptions",
            Bound::Yields => "yields",
            Bound::Delays => "delays",
            Bound::Depth => "depth",
        }
    }
}

/// A bound was given that the strategy does not heed.
///
/// ```
/// use selvedge_stateless::strategy::{Bound, Named, Unheeded};
/// let error = Unheeded { strategy: Named::Pct, bound: Bound::Delays };
/// assert!(error.to_string().ends_with("or choose one that has it: delay"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unheeded {
    /// The strategy.
    pub strategy: Named,
    /// The bound.
    pub bound: Bound,
}

impl fmt::Display for Unheeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unheeded { strategy, bound } = self;
        let heeding = Named::ALL.iter().filter(|(_, strategy)| strategy.heeds(*bound));
        let names: Vec<_> = heeding.map(|(name, _)| *name).collect();
        let bound = bound.name();
        write!(
            f,
            "the strategy {strategy} has no bound on {bound}; leave that bound out, or choose one that has it: {}",
            names.join(", ")
        )
    }
}

impl std::error::Error for Unheeded {}

/// How many executions a sampling strategy runs unless it is told otherwise.
const SAMPLES: u64 = 10_000;

/// What strategies can be told. Each uses what it knows of.
///
/// ```
/// use selvedge_stateless::strategy::Parameters;
/// assert_eq!(Parameters::default().delays, 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The bound on preemptions; for strategies that need one it is 2 otherwise.
    pub preemptions: Option<u32>,
    /// There is no bound on preemptions, whatever is given.
    pub unbounded: bool,
    /// The fair bound.
    pub yields: Option<u32>,
    /// The bound on delays.
    pub delays: u32,
    /// The bound on steps.
    pub depth: u32,
    /// Go to the bound at once.
    pub at_bound: bool,
    /// What a phase of iterative context bounding may spend.
    pub phase_preemptions: u32,
    /// How many states `cb-por` remembers, about, and `optimal` within a bound at most.
    pub states: usize,
    /// How much `cb-por` may look at before another strategy takes its place.
    pub looks: Looks,
    /// The depth of the bugs that probabilistic concurrency testing looks for.
    pub pct_depth: u32,
    /// Where random choices begin.
    pub seed: u64,
}

impl Parameters {
    /// With this bound on preemptions.
    ///
    /// ```
    /// use selvedge_stateless::strategy::Parameters;
    /// assert_eq!(Parameters::bounded(3).preemptions, Some(3));
    /// ```
    pub fn bounded(preemptions: u32) -> Self {
        Parameters { preemptions: Some(preemptions), ..Parameters::default() }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            preemptions: None,
            unbounded: false,
            yields: Settings::default().yields,
            delays: 2,
            depth: 100,
            at_bound: false,
            phase_preemptions: 0,
            states: 1 << 23,
            looks: Looks::default(),
            pct_depth: 3,
            seed: 0x5E1_7ED6E,
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Named::ALL.iter().find(|(_, strategy)| strategy == self).map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Named::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, strategy)| *strategy).ok_or_else(|| {
            let names: Vec<_> = Named::ALL.iter().map(|(name, _)| *name).collect();
            format!("there is no strategy {text:?}; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: [Bound; 4] = [Bound::Preemptions, Bound::Yields, Bound::Delays, Bound::Depth];

    #[test]
    fn a_bound_chooses_its_strategy_where_none_is_chosen() {
        let within = |bounds: &[Bound]| Named::within(None, Named::Bpor, bounds).map_err(|error| error.bound);
        assert_eq!(within(&[]), Ok(Named::Bpor));
        assert_eq!(within(&[Bound::Preemptions, Bound::Yields]), Ok(Named::Bpor));
        assert_eq!(within(&[Bound::Yields, Bound::Delays]), Ok(Named::Delay));
        assert_eq!(within(&[Bound::Depth]), Ok(Named::Depth));
        // None heeds both.
        assert_eq!(within(&[Bound::Preemptions, Bound::Delays]), Err(Bound::Preemptions));
        assert_eq!(within(&[Bound::Delays, Bound::Depth]), Err(Bound::Depth));
        // What was chosen, there or here, is not replaced.
        assert_eq!(
            Named::within(None, Named::Pct, &[Bound::Preemptions]).map_err(|error| error.bound),
            Err(Bound::Preemptions)
        );
        for (_, strategy) in Named::ALL {
            for bound in BOUNDS {
                assert_eq!(
                    Named::within(Some(strategy), Named::CbPor, &[bound]).is_ok(),
                    strategy.heeds(bound)
                );
            }
        }
    }
}
