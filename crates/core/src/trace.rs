//! An execution written down for people.

use std::fmt;

/// A place in a source file.
///
/// ```
/// use selvedge_core::Location;
/// let place = Location { file: "src/lib.rs".into(), line: 41, column: Some(9) };
/// assert_eq!(place.to_string(), "src/lib.rs:41:9");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file, as the compiler or the reader of the model named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, where it is known.
    pub column: Option<u32>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}

/// One step of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Which of the trace's threads took it: an index into [`Trace::threads`].
    pub thread: usize,
    /// What it did, in words: `lock mutex #1`.
    pub op: String,
    /// The values that it read, wrote or returned, where they are known: `0 -> 1`.
    pub value: Option<String>,
    /// Where in the program.
    pub location: Option<Location>,
    /// Whether this step preempted a thread that could have gone on.
    pub preemption: bool,
}

/// A counterexample, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The names of the threads, by index.
    pub threads: Vec<String>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// For an infinite execution: the step to which the last one goes back.
    pub loop_start: Option<usize>,
}

impl Trace {
    /// How many times the running thread changes.
    pub fn switches(&self) -> u32 {
        self.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count() as u32
    }

    /// How many of the switches preempt.
    pub fn preemptions(&self) -> u32 {
        self.steps.iter().filter(|step| step.preemption).count() as u32
    }
}
