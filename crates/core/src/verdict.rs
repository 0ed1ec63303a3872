//! What a check concludes, and what it promises.

use std::fmt;

use crate::{Assumptions, Bounds, CoverageRow, Location, Measure, Schedule, Statistics, Trace, bound};

/// The answer of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything within the guarantee was examined and no violation exists there.
    Holds(Guarantee),
    /// A violation, which was replayed before it was reported.
    Violated(Box<Violation>),
    /// No violation can be shown, and the search did not finish.
    Inconclusive(Gap),
}

/// What was exhausted, and what that takes for granted. Display gives a sentence that a user can quote.
///
/// ```
/// use selvedge_core::{AssumptionKind, Guarantee};
/// let mut all = Guarantee { complete: true, ..Guarantee::default() };
/// assert_eq!(all.to_string(), "every execution has been checked");
/// all.assumptions.add(AssumptionKind::SequentialConsistency);
/// assert_eq!(all.to_string(), "assuming sequential consistency, every execution has been checked");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarantee {
    /// The largest bounds within which the search finished. Where `complete` is set, the bounds that are
    /// given here cut nothing off, except `yields`, which is given only if it did: then the assumptions name it.
    pub bounds: Bounds,
    /// No bound cut anything off: the answer holds for all executions that satisfy the assumptions.
    pub complete: bool,
    /// What the answer takes for granted.
    pub assumptions: Assumptions,
}

impl Guarantee {
    /// Whether the answer holds for every execution of the program as it is.
    pub fn is_final(&self) -> bool {
        self.complete && self.assumptions.is_empty()
    }

    /// The sentence without the assumptions, for reports that give these beside it.
    pub fn claim(&self) -> String {
        if self.complete {
            return "every execution has been checked".into();
        }
        let limits = Bounds { yields: None, ..self.bounds };
        let claim = format!("every execution with {limits} has been checked");
        let next = [
            (Measure::Preemptions, limits.preemptions),
            (Measure::Contexts, limits.contexts),
            (Measure::Delays, limits.delays),
            (Measure::Depth, limits.depth),
        ];
        let mut given = next.into_iter().filter_map(|(measure, limit)| limit.map(|n| (measure, n)));
        let more = match (given.next(), given.next(), limits.threads) {
            (Some((_, n)), None, None) => (n + 1).to_string(),
            (Some((measure, n)), None, Some(threads)) => {
                format!("{} or {}", measure.count(n + 1), bound::created(threads + 1))
            }
            (None, None, Some(threads)) => bound::created(threads + 1),
            _ => return claim,
        };
        format!("{claim}; a remaining bug needs at least {more}")
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.assumptions.is_empty() {
            write!(f, "assuming {}, ", self.assumptions)?;
        }
        f.write_str(&self.claim())
    }
}

/// Why a search did not finish, and what it did cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// The reason, as a clause: "the time limit of 30 s was reached".
    pub reason: String,
    /// What was exhausted before.
    pub covered: Option<Guarantee>,
}

/// The kinds of things that can go wrong in a program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is the thing it names.
pub enum ViolationKind {
    Assertion,
    Panic,
    Deadlock,
    InvalidEndState,
    DataRace,
    Livelock,
    NonProgressCycle,
    AcceptanceCycle,
    Ltl,
    UseAfterFree,
    DoubleFree,
    Leak,
    Crash,
    LostSignal,
    StepLimit,
    /// Something that the interface used leaves undefined, such as unlocking what is not held.
    Misuse,
}

impl ViolationKind {
    /// Every kind.
    pub const ALL: [ViolationKind; 16] = [
        ViolationKind::Assertion,
        ViolationKind::Panic,
        ViolationKind::Deadlock,
        ViolationKind::InvalidEndState,
        ViolationKind::DataRace,
        ViolationKind::Livelock,
        ViolationKind::NonProgressCycle,
        ViolationKind::AcceptanceCycle,
        ViolationKind::Ltl,
        ViolationKind::UseAfterFree,
        ViolationKind::DoubleFree,
        ViolationKind::Leak,
        ViolationKind::Crash,
        ViolationKind::LostSignal,
        ViolationKind::StepLimit,
        ViolationKind::Misuse,
    ];

    /// The name that the JSON uses.
    ///
    /// ```
    /// assert_eq!(selvedge_core::ViolationKind::DataRace.name(), "data-race");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Assertion => "assertion",
            ViolationKind::Panic => "panic",
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::InvalidEndState => "invalid-end-state",
            ViolationKind::DataRace => "data-race",
            ViolationKind::Livelock => "livelock",
            ViolationKind::NonProgressCycle => "non-progress-cycle",
            ViolationKind::AcceptanceCycle => "acceptance-cycle",
            ViolationKind::Ltl => "ltl",
            ViolationKind::UseAfterFree => "use-after-free",
            ViolationKind::DoubleFree => "double-free",
            ViolationKind::Leak => "leak",
            ViolationKind::Crash => "crash",
            ViolationKind::LostSignal => "lost-signal",
            ViolationKind::StepLimit => "step-limit",
            ViolationKind::Misuse => "misuse",
        }
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that went wrong, and the execution that shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// What went wrong.
    pub kind: ViolationKind,
    /// What went wrong, in words. May have several lines.
    pub message: String,
    /// Where in the program.
    pub location: Option<Location>,
    /// Preemptions in the counterexample.
    pub preemptions: u32,
    /// Switches of any kind in the counterexample.
    pub switches: u32,
    /// Contexts in the counterexample, where contexts are what is bounded.
    pub contexts: Option<u32>,
    /// Enough to replay the counterexample.
    pub schedule: Schedule,
    /// The counterexample.
    pub trace: Trace,
    /// What was exhausted below it without finding a violation, if anything was.
    pub below: Option<Guarantee>,
}

/// The result of a check: the verdict, and what the search covered.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// What was covered, a row for each bound that was finished, the smallest bound first.
    pub rows: Vec<CoverageRow>,
    /// Numbers about the whole run.
    pub statistics: Statistics,
}

impl Outcome {
    /// What was exhausted, whatever the verdict.
    pub fn guarantee(&self) -> Option<&Guarantee> {
        match &self.verdict {
            Verdict::Holds(guarantee) => Some(guarantee),
            Verdict::Violated(violation) => violation.below.as_ref(),
            Verdict::Inconclusive(gap) => gap.covered.as_ref(),
        }
    }

    /// The violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        match &self.verdict {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }

    /// Whether everything within the guarantee was examined without finding a violation.
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Holds(_))
    }
}
