//! What can go wrong with a check that is not a verdict.

use std::fmt;

/// A failure of the check itself, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The network is not well formed.
    Network {
        /// Which part: `rule 7 from loop`.
        part: String,
        /// What is wrong with it.
        message: String,
    },
    /// No label has the name that was asked for.
    UnknownLabel {
        /// The name.
        name: String,
        /// Names that there are, the nearest first.
        known: Vec<String>,
    },
    /// More threads may be created than a check takes.
    TooManyThreads {
        /// How many were asked for.
        wanted: u32,
    },
    /// The variables have more bits than a check takes.
    TooManyBits {
        /// The BDD variables that they need.
        needed: u64,
        /// The most that there can be.
        most: u64,
    },
    /// The system gave the search no thread to run on.
    NoThread {
        /// What it said.
        message: String,
    },
    /// A configuration that was asked about does not fit the network.
    Configuration {
        /// What does not fit.
        message: String,
    },
    /// A counterexample did not replay on the interpreter: the engine is at fault.
    Replay {
        /// Where it stopped.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Network { part, message } => {
                write!(f, "the network is not well formed: {part}: {message}; mend what produced it")
            }
            Error::UnknownLabel { name, known } => {
                write!(f, "no label is called `{name}`; ")?;
                if known.is_empty() {
                    f.write_str("the program has none")
                } else {
                    write!(f, "there is {}", known.join(", "))
                }
            }
            Error::TooManyThreads { wanted } => write!(
                f,
                "{wanted} created threads are too many; at most {} can be asked for (give a smaller --threads)",
                crate::MOST_THREADS
            ),
            Error::TooManyBits { needed, most } => write!(
                f,
                "the variables have too many bits: they need {needed} BDD variables, and {most} is the most; use \
                 shorter arrays or narrower types"
            ),
            Error::NoThread { message } => {
                write!(f, "the search has no thread to run on: {message}; free some memory")
            }
            Error::Configuration { message } => write!(
                f,
                "the configuration does not fit the program: {message}; it is `x = 1 | top / below | top`: \
                 globals, and a stack for each thread that exists"
            ),
            Error::Replay { message } => write!(
                f,
                "a counterexample did not replay: {message}; this is a fault of Selvedge, please report it with \
                 the input"
            ),
        }
    }
}

impl std::error::Error for Error {}
