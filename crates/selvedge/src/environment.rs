//! Settings from the environment. They win over those in the code, so that a test can be run differently
//! without being changed.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use selvedge_core::Schedule;
use selvedge_stateless::strategy::Bound;

use crate::Strategy;

/// The settings that the environment gives. `SELVEDGE_` comes before each name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) preemptions: Option<u32>,
    pub(crate) yields: Option<u32>,
    pub(crate) delays: Option<u32>,
    pub(crate) depth: Option<u32>,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) race_mode: bool,
    pub(crate) allow_races: bool,
    pub(crate) spurious: Option<u32>,
    pub(crate) at_bound: bool,
    pub(crate) time: Option<Duration>,
    pub(crate) memory: Option<u64>,
    pub(crate) max_executions: Option<u64>,
    pub(crate) max_steps: Option<usize>,
    pub(crate) seed: Option<u64>,
    pub(crate) replay: Option<Schedule>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) quiet: bool,
    pub(crate) progress: Option<bool>,
    /// How long a step may take; `None` where that is not given.
    pub(crate) patience: Option<Duration>,
}

impl Environment {
    /// Reads the environment; an error names the variable and what it may be.
    pub(crate) fn read() -> Result<Self, String> {
        Self::from(|name| env::var(format!("SELVEDGE_{name}")).ok().filter(|text| !text.is_empty()))
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| -> Result<Option<u64>, String> {
            variable(name)
                .map(|text| {
                    text.parse().map_err(|_| format!("SELVEDGE_{name}={text}: expected a number, such as 2"))
                })
                .transpose()
        };
        let small = |name: &str| -> Result<Option<u32>, String> {
            let too_large = |_| format!("SELVEDGE_{name} is too large: expected a number below 2^32");
            number(name)?.map(u32::try_from).transpose().map_err(too_large)
        };
        let depth = small("DEPTH")?;
        if depth == Some(0) {
            return Err(
                "SELVEDGE_DEPTH=0: expected a number of steps, 1 or more; no execution has fewer".into()
            );
        }
        let flag = |name: &str| -> Result<Option<bool>, String> {
            match variable(name).as_deref() {
                None => Ok(None),
                Some("1" | "true" | "yes") => Ok(Some(true)),
                Some("0" | "false" | "no") => Ok(Some(false)),
                Some(text) => Err(format!("SELVEDGE_{name}={text}: expected 1 or 0")),
            }
        };
        let time = |name: &str| variable(name).map(|text| duration(name, &text)).transpose();
        let strategy = variable("STRATEGY").map(|text| text.parse::<Strategy>()).transpose();
        let replay = variable("REPLAY").map(|text| text.parse::<Schedule>()).transpose();
        Ok(Environment {
            preemptions: small("PREEMPTIONS")?,
            yields: small("YIELDS")?,
            delays: small("DELAYS")?,
            depth,
            strategy: strategy.map_err(|error| format!("SELVEDGE_STRATEGY: {error}"))?,
            race_mode: flag("RACE_MODE")?.unwrap_or(false),
            allow_races: flag("ALLOW_RACES")?.unwrap_or(false),
            spurious: small("SPURIOUS")?,
            at_bound: flag("AT_BOUND")?.unwrap_or(false),
            time: time("TIME")?,
            memory: variable("MEMORY").map(|text| memory(&text)).transpose()?,
            max_executions: number("MAX_EXECUTIONS")?,
            max_steps: number("MAX_STEPS")?.map(|steps| usize::try_from(steps).unwrap_or(usize::MAX)),
            seed: number("SEED")?,
            replay: replay.map_err(|error| format!("SELVEDGE_REPLAY: {error}"))?,
            json: variable("JSON").map(PathBuf::from),
            quiet: flag("QUIET")?.unwrap_or(false),
            progress: flag("PROGRESS")?,
            patience: time("PATIENCE")?,
        })
    }

    /// The strategy to search with where the code has this one, and allows races or not; or why there is none: a bound from
    /// here must be heeded.
    pub(crate) fn strategy(&self, own: Strategy, allow_races: bool) -> Result<Strategy, String> {
        let bounds = [
            (Bound::Preemptions, self.preemptions),
            (Bound::Yields, self.yields),
            (Bound::Delays, self.delays),
            (Bound::Depth, self.depth),
        ];
        let bounds: Vec<_> = bounds.iter().filter_map(|(bound, given)| given.map(|_| *bound)).collect();
        if self.replay.is_some() {
            return Ok(self.strategy.unwrap_or(own));
        }
        let allow_races = allow_races || self.allow_races;
        if let Some(named) = self.strategy.filter(|named| allow_races && named.reduces()) {
            return Err(format!(
                "SELVEDGE_STRATEGY: {named} leaves orders of steps out, and which it may is not known where races are \
                 allowed; choose icb, dfs, delay, depth, random or pct"
            ));
        }
        let own = if allow_races { own.unreduced() } else { own };
        Strategy::within(self.strategy, own, &bounds)
            .map_err(|error| format!("SELVEDGE_{}: {error}", error.bound.name().to_uppercase()))
    }
}

/// An amount of memory such as `512M` or `4G`, powers of 1024; a bare number is bytes.
fn memory(text: &str) -> Result<u64, String> {
    let split = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (amount, unit) = text.split_at(split);
    let shift = match unit {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let amount = amount.parse::<u64>().ok().filter(|amount| *amount > 0);
    amount
        .zip(shift)
        .and_then(|(amount, shift)| amount.checked_mul(1 << shift))
        .ok_or_else(|| format!("SELVEDGE_MEMORY={text}: expected an amount of memory such as 512M or 4G"))
}

/// A time such as `30s`, `500ms`, `5m` or `1h`; a bare number is seconds.
fn duration(name: &str, text: &str) -> Result<Duration, String> {
    let split =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(split);
    let seconds = match unit {
        "" | "s" => Some(1.0),
        "ms" => Some(0.001),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let amount = amount.parse::<f64>().ok();
    amount
        .zip(seconds)
        .and_then(|(amount, seconds)| Duration::try_from_secs_f64(amount * seconds).ok())
        .ok_or_else(|| format!("SELVEDGE_{name}={text}: expected a time such as 30s, 500ms, 5m or 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, text: &'static str) -> Result<Environment, String> {
        Environment::from(|asked| (asked == name).then(|| text.to_string()))
    }

    #[test]
    fn good_values_are_taken() {
        assert_eq!(read("PREEMPTIONS", "3").unwrap().preemptions, Some(3));
        assert_eq!(read("TIME", "1.5s").unwrap().time, Some(Duration::from_millis(1500)));
        assert_eq!(read("TIME", "5m").unwrap().time, Some(Duration::from_secs(300)));
        assert_eq!(read("PATIENCE", "0").unwrap().patience, Some(Duration::ZERO));
        assert_eq!(read("STRATEGY", "pct").unwrap().strategy, Some(Strategy::Pct));
        assert_eq!(read("MEMORY", "512M").unwrap().memory, Some(512 << 20));
        assert!(read("RACE_MODE", "1").unwrap().race_mode);
    }

    #[test]
    fn a_bound_that_the_strategy_does_not_heed_is_refused() {
        let strategy = |name, text, own| read(name, text).unwrap().strategy(own, false);
        assert_eq!(strategy("PREEMPTIONS", "3", Strategy::Dfs), Ok(Strategy::Dfs));
        assert_eq!(strategy("DELAYS", "0", Strategy::CbPor), Ok(Strategy::Delay));
        assert_eq!(strategy("DEPTH", "3", Strategy::CbPor), Ok(Strategy::Depth));
        assert_eq!(strategy("STRATEGY", "pct", Strategy::CbPor), Ok(Strategy::Pct));
        let error = strategy("PREEMPTIONS", "0", Strategy::Dpor).unwrap_err();
        assert!(error.contains("SELVEDGE_PREEMPTIONS: the strategy dpor has no bound"), "{error}");
        // One schedule has its bounds in itself.
        let both = Environment { delays: Some(1), preemptions: Some(1), ..Environment::default() };
        assert!(both.strategy(Strategy::Icb, false).is_err());
        let replays = Environment { replay: Some(Schedule::default()), ..both };
        assert_eq!(replays.strategy(Strategy::Icb, false), Ok(Strategy::Icb));
        // Where races are allowed nothing is left out.
        assert_eq!(Environment::default().strategy(Strategy::CbPor, true), Ok(Strategy::Icb));
        assert!(read("STRATEGY", "bpor").unwrap().strategy(Strategy::Icb, true).is_err());
    }

    #[test]
    fn bad_values_name_the_variable_and_what_is_expected() {
        for (name, text, expected) in [
            ("PREEMPTIONS", "two", "expected a number"),
            ("PREEMPTIONS", "5000000000", "too large"),
            ("SPURIOUS", "-1", "expected a number"),
            ("TIME", "soon", "such as 30s"),
            ("TIME", "-1s", "such as 30s"),
            ("PATIENCE", "long", "such as 30s"),
            ("MEMORY", "0", "such as 512M"),
            ("MEMORY", "much", "such as 512M"),
            ("MEMORY", "99999999999T", "such as 512M"),
            ("STRATEGY", "best", "there are icb"),
            ("REPLAY", "xyz", "copy the whole token"),
            ("RACE_MODE", "perhaps", "expected 1 or 0"),
            ("DEPTH", "0", "1 or more"),
        ] {
            let error = read(name, text).unwrap_err();
            assert!(error.contains(name) && error.contains(expected), "{error}");
        }
    }
}
