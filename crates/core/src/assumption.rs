//! What an answer takes for granted.
//!
//! A guarantee is about the executions that were checked. Where the tool leaves some out for a reason other than a
//! bound, or cannot see all that a program does, it names the reason here: an answer without assumptions is about
//! the program as it is.

use std::borrow::Cow;

/// The kinds of assumptions, in the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AssumptionKind {
    /// Atomic operations take effect in one order that all threads agree on.
    SequentialConsistency,
    /// A wait does not return before it is notified.
    SpuriousWakeups,
    /// A weak compare-exchange fails only where the values differ.
    SpuriousFailures,
    /// No thread yields without end while another one could run.
    Fairness,
    /// Inputs that the program asks for lie in a range.
    Inputs,
    /// Code that the tool did not compile does nothing that other threads can observe.
    UnseenCode,
    /// Threads share what they change only under locks.
    UnseenMemory,
    /// The store took no two states for one.
    LossyStore,
    /// A question about infinite executions was not checked, although the program asks it.
    SafetyOnly,
}

impl AssumptionKind {
    /// Every kind.
    pub const ALL: [AssumptionKind; 9] = [
        AssumptionKind::SequentialConsistency,
        AssumptionKind::SpuriousWakeups,
        AssumptionKind::SpuriousFailures,
        AssumptionKind::Fairness,
        AssumptionKind::Inputs,
        AssumptionKind::UnseenCode,
        AssumptionKind::UnseenMemory,
        AssumptionKind::LossyStore,
        AssumptionKind::SafetyOnly,
    ];

    /// The key that the JSON uses. It stays the same from version to version.
    ///
    /// ```
    /// assert_eq!(selvedge_core::AssumptionKind::LossyStore.key(), "lossy-store");
    /// ```
    pub fn key(self) -> &'static str {
        match self {
            AssumptionKind::SequentialConsistency => "sequential-consistency",
            AssumptionKind::SpuriousWakeups => "spurious-wakeups",
            AssumptionKind::SpuriousFailures => "spurious-failures",
            AssumptionKind::Fairness => "fairness",
            AssumptionKind::Inputs => "inputs",
            AssumptionKind::UnseenCode => "unseen-code",
            AssumptionKind::UnseenMemory => "unseen-memory",
            AssumptionKind::LossyStore => "lossy-store",
            AssumptionKind::SafetyOnly => "safety-only",
        }
    }

    /// What is assumed, as a few words that follow "assuming", where an engine has none that say more.
    pub fn phrase(self) -> &'static str {
        match self {
            AssumptionKind::SequentialConsistency => "sequential consistency",
            AssumptionKind::SpuriousWakeups => "no spurious wakeups",
            AssumptionKind::SpuriousFailures => "no spurious compare-exchange failures",
            AssumptionKind::Fairness => "fair scheduling",
            AssumptionKind::Inputs => "inputs in a range",
            AssumptionKind::UnseenCode => "no synchronisation in code that was not seen",
            AssumptionKind::UnseenMemory => "no shared memory without locks",
            AssumptionKind::LossyStore => "no two states with one hash",
            AssumptionKind::SafetyOnly => "safety properties only",
        }
    }

    /// What is assumed, as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            AssumptionKind::SequentialConsistency => {
                "Every atomic operation takes effect in one order that all threads agree on, as if it were SeqCst; \
                 the program has weaker ones."
            }
            AssumptionKind::SpuriousWakeups => {
                "Waits do not return before they are notified more often than the bound on spurious wakeups allows."
            }
            AssumptionKind::SpuriousFailures => {
                "Weak compare-exchanges do not fail on equal values more often than the bound on spurious failures \
                 allows."
            }
            AssumptionKind::Fairness => {
                "No thread yields more often than the fair bound allows while another thread could run instead."
            }
            AssumptionKind::Inputs => "The inputs that the program asks for lie in the range that was tried.",
            AssumptionKind::UnseenCode => {
                "Code that was not compiled by the tool does nothing that other threads can observe."
            }
            AssumptionKind::UnseenMemory => {
                "Threads share memory that they change only under locks; accesses to memory were not seen."
            }
            AssumptionKind::LossyStore => {
                "No two different states were taken for one by the store, which keeps hashes instead of states."
            }
            AssumptionKind::SafetyOnly => {
                "Infinite executions that the program marks as wanted or unwanted were not all looked for."
            }
        }
    }

    /// How a user lifts the assumption.
    pub fn remedy(self) -> &'static str {
        match self {
            AssumptionKind::SequentialConsistency => {
                "use SeqCst where the order matters; weaker memory is not explored yet"
            }
            AssumptionKind::SpuriousWakeups | AssumptionKind::SpuriousFailures => {
                "allow some: --spurious N, or Checker::spurious in Rust"
            }
            AssumptionKind::Fairness => "raise the fair bound: --yields N, or Checker::yields in Rust",
            AssumptionKind::Inputs => "widen the range: --nondet",
            AssumptionKind::UnseenCode => "compile all of the program with `selvedge cc`",
            AssumptionKind::UnseenMemory => "compile the program with `selvedge cc`",
            AssumptionKind::LossyStore => "store states exactly: --store exact",
            AssumptionKind::SafetyOnly => {
                "ask about infinite executions too: leave --no-claim out, or give --ltl, --formula or --progress"
            }
        }
    }
}

/// One assumption that an answer leans on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Assumption {
    /// Which one.
    pub kind: AssumptionKind,
    /// What is assumed, in words that follow "assuming"; at least as precise as [`AssumptionKind::phrase`].
    pub phrase: Cow<'static, str>,
}

impl From<AssumptionKind> for Assumption {
    fn from(kind: AssumptionKind) -> Self {
        Assumption { kind, phrase: kind.phrase().into() }
    }
}

impl Assumption {
    /// An assumption in words of an engine's own.
    pub fn new(kind: AssumptionKind, phrase: impl Into<Cow<'static, str>>) -> Self {
        Assumption { kind, phrase: phrase.into() }
    }

    /// The bound on spurious wakeups, or on spurious failures, where it left one out.
    ///
    /// ```
    /// use selvedge_core::{Assumption, AssumptionKind};
    /// let phrase = |bound| Assumption::spurious(AssumptionKind::SpuriousWakeups, bound).phrase;
    /// assert_eq!(phrase(0), "no spurious wakeups");
    /// assert_eq!(phrase(2), "at most 2 spurious wakeups");
    /// ```
    pub fn spurious(kind: AssumptionKind, bound: u32) -> Self {
        let phrase = kind.phrase();
        match (bound, phrase.strip_prefix("no ").unwrap_or(phrase)) {
            (0, _) => kind.into(),
            (1, events) => Assumption::new(kind, format!("at most 1 {}", events.trim_end_matches('s'))),
            (n, events) => Assumption::new(kind, format!("at most {n} {events}")),
        }
    }

    /// The fair bound, where it cut something off.
    ///
    /// ```
    /// use selvedge_core::Assumption;
    /// let fair = Assumption::fairness(1);
    /// assert_eq!(
    ///     fair.phrase,
    ///     "no thread yields at one place at least 2 times more than another runnable thread at any"
    /// );
    /// ```
    pub fn fairness(yields: u32) -> Self {
        let phrase = match yields {
            0 => "no thread yields at one place more often than another runnable thread at any".into(),
            n => format!(
                "no thread yields at one place at least {} times more than another runnable thread at any",
                n + 1
            ),
        };
        Assumption::new(AssumptionKind::Fairness, phrase)
    }
}

/// The assumptions that an answer leans on: none twice, in the order of [`AssumptionKind`].
///
/// ```
/// use selvedge_core::{AssumptionKind, Assumptions};
/// let mut assumptions = Assumptions::default();
/// assumptions.add(AssumptionKind::SpuriousWakeups);
/// assumptions.add(AssumptionKind::SequentialConsistency);
/// assumptions.add(AssumptionKind::SpuriousWakeups);
/// assert_eq!(assumptions.to_string(), "sequential consistency and no spurious wakeups");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assumptions(Vec<Assumption>);

impl Assumptions {
    /// Adds one, unless it is there.
    pub fn add(&mut self, assumption: impl Into<Assumption>) {
        let assumption = assumption.into();
        if let Err(at) = self.0.binary_search(&assumption) {
            self.0.insert(at, assumption);
        }
    }

    /// Adds those of another answer.
    pub fn merge(&mut self, others: &Assumptions) {
        for assumption in &others.0 {
            if let Err(at) = self.0.binary_search(assumption) {
                self.0.insert(at, assumption.clone());
            }
        }
    }

    /// Takes all of them away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is none: the answer is about the program as it is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of this kind is there.
    pub fn contains(&self, kind: AssumptionKind) -> bool {
        self.0.iter().any(|assumption| assumption.kind == kind)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Assumption> {
        self.0.iter()
    }
}

impl<A: Into<Assumption>> FromIterator<A> for Assumptions {
    fn from_iter<I: IntoIterator<Item = A>>(iter: I) -> Self {
        let mut assumptions = Assumptions::default();
        iter.into_iter().for_each(|assumption| assumptions.add(assumption));
        assumptions
    }
}

impl std::fmt::Display for Assumptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, assumption) in self.0.iter().enumerate() {
            f.write_str(match index {
                0 => "",
                _ if index + 1 < self.0.len() => ", ",
                _ => " and ",
            })?;
            f.write_str(&assumption.phrase)?;
        }
        Ok(())
    }
}
