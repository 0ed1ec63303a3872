//! What is wrong with a source file, where, and what to do about it.

use std::fmt;

use selvedge_core::Location;

/// A source file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The text does not follow the grammar.
    Syntax {
        /// Where.
        location: Location,
        /// What was expected there.
        expected: String,
        /// What was found.
        found: String,
    },
    /// The text follows the grammar and means nothing.
    Meaning {
        /// Where.
        location: Location,
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
}

impl Error {
    /// Where it is.
    pub fn location(&self) -> &Location {
        match self {
            Error::Syntax { location, .. } | Error::Meaning { location, .. } => location,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Syntax { location, expected, found } => {
                write!(f, "{location}: expected {expected}, found {found}")
            }
            Error::Meaning { location, message, remedy } => write!(f, "{location}: {message}; {remedy}"),
        }
    }
}

impl std::error::Error for Error {}
