//! What a search is bounded by.

use std::fmt;

/// Limits on the executions that a search looks at. `None` is no limit.
///
/// ```
/// use selvedge_core::Bounds;
/// let bounds = Bounds { preemptions: Some(2), yields: Some(1), ..Bounds::default() };
/// assert_eq!(bounds.to_string(), "at most 2 preemptions and a yield lead of at most 1");
/// let bounds = Bounds { contexts: Some(4), threads: Some(1), ..Bounds::default() };
/// assert_eq!(bounds.to_string(), "at most 4 contexts and at most 1 created thread");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Switches away from a thread that could have gone on.
    pub preemptions: Option<u32>,
    /// Contexts: maximal runs of one thread.
    pub contexts: Option<u32>,
    /// Departures from a deterministic round-robin scheduler.
    pub delays: Option<u32>,
    /// How many more times a thread may yield than another thread that could run instead.
    pub yields: Option<u32>,
    /// Steps of an execution.
    pub depth: Option<u32>,
    /// Threads that are created besides those that exist at first.
    pub threads: Option<u32>,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (measure, limit) in [
            (Measure::Preemptions, self.preemptions),
            (Measure::Contexts, self.contexts),
            (Measure::Delays, self.delays),
            (Measure::Depth, self.depth),
        ] {
            if let Some(limit) = limit {
                parts.push(format!("at most {}", measure.count(limit)));
            }
        }
        if let Some(threads) = self.threads {
            parts.push(format!("at most {}", created(threads)));
        }
        if let Some(yields) = self.yields {
            parts.push(format!("a yield lead of at most {yields}"));
        }
        match parts.split_last() {
            None => f.write_str("no bound"),
            Some((only, [])) => f.write_str(only),
            Some((last, rest)) => write!(f, "{} and {last}", rest.join(", ")),
        }
    }
}

/// "2 created threads"
pub(crate) fn created(threads: u32) -> String {
    format!("{threads} created {}", if threads == 1 { "thread" } else { "threads" })
}

/// The quantity that a search iterates over, and that the rows of a coverage table are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Switches away from a thread that could have gone on.
    #[default]
    Preemptions,
    /// Maximal runs of one thread.
    Contexts,
    /// Departures from a deterministic scheduler.
    Delays,
    /// Steps of an execution.
    Depth,
}

impl Measure {
    /// The plural, for headings and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Preemptions => "preemptions",
            Measure::Contexts => "contexts",
            Measure::Delays => "delays",
            Measure::Depth => "depth",
        }
    }

    /// A count of it in words: "1 preemption", "3 contexts".
    pub fn count(self, n: u32) -> String {
        let (one, many) = match self {
            Measure::Preemptions => ("preemption", "preemptions"),
            Measure::Contexts => ("context", "contexts"),
            Measure::Delays => ("delay", "delays"),
            Measure::Depth => ("step", "steps"),
        };
        format!("{n} {}", if n == 1 { one } else { many })
    }
}
