//! What can be wrong with a model or a request about it, and where.

use std::fmt;

use selvedge_core::Location;

/// A place in a source text, small enough to copy everywhere. Files are numbered by [`Files`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pos {
    /// The number of the file.
    pub file: u16,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u16,
}

/// The names of the files of a model, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub Vec<String>);

impl Files {
    /// The place as the reports write it.
    pub fn location(&self, at: Pos) -> Location {
        Location {
            file: self.0.get(usize::from(at.file)).cloned().unwrap_or_default(),
            line: at.line,
            column: (at.column > 0).then_some(u32::from(at.column)),
        }
    }
}

/// One thing that is wrong in a model's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub location: Location,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it, where that is known.
    pub remedy: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// Why a model could not be checked. Never a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The text is not a Promela model; every error that was found.
    Model(Vec<Diagnostic>),
    /// A file could not be read.
    Read {
        /// Its name.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The model asks for something that is not supported.
    Unsupported(Diagnostic),
    /// The request does not fit the model or contradicts itself.
    Request(String),
    /// The user did not want to go on.
    Stopped,
    /// A counterexample did not replay: a defect of Selvedge, reported rather than hidden.
    Replay(String),
    /// A trail or a schedule does not belong to the model.
    Trail {
        /// The step, from 1.
        step: usize,
        /// Why it does not fit.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Model(list) => {
                for (index, diagnostic) in list.iter().enumerate() {
                    let end = if index + 1 < list.len() { "\n" } else { "" };
                    write!(f, "{diagnostic}{end}")?;
                }
                Ok(())
            }
            Error::Read { file, reason } => write!(f, "{file}: cannot be read: {reason}; check the path"),
            Error::Unsupported(diagnostic) => diagnostic.fmt(f),
            Error::Request(reason) => f.write_str(reason),
            Error::Stopped => {
                f.write_str("the model was not read to its end: the time ran out, or it was interrupted")
            }
            Error::Replay(reason) => write!(
                f,
                "the counterexample does not replay ({reason}); this is a defect of Selvedge, please report the model"
            ),
            Error::Trail { step, reason } => {
                write!(
                    f,
                    "step {step} does not fit the model: {reason}; use the model and the options that the trace came from"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
