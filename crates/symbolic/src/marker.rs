//! Line markers, as jMoped shows them: which lines were reached, and which were violated.

use std::collections::BTreeMap;
use std::fmt;

use selvedge_core::Location;

use crate::network::Network;

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// No execution within the bound gets here.
    NotReached,
    /// Some execution gets here.
    Reached,
    /// An execution fails here.
    Violated,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mark::NotReached => "not reached",
            Mark::Reached => "reached",
            Mark::Violated => "violated",
        })
    }
}

/// The mark of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What became of it.
    pub mark: Mark,
}

/// The marker of each line that has a label. A label that is a violation stands for the statement that fails, not
/// for a place of its own.
pub(crate) fn markers(network: &Network, reached: &[bool], violated: Option<&Location>) -> Vec<Marker> {
    let mut lines: BTreeMap<(String, u32), Mark> = BTreeMap::new();
    for (label, &reached) in network.labels.iter().zip(reached) {
        let (Some(location), None) = (&label.location, &label.violation) else { continue };
        let mark = if reached { Mark::Reached } else { Mark::NotReached };
        let known = lines.entry((location.file.clone(), location.line)).or_insert(mark);
        *known = mark.max(*known);
    }
    if let Some(location) = violated {
        lines.insert((location.file.clone(), location.line), Mark::Violated);
    }
    lines.into_iter().map(|((file, line), mark)| Marker { file, line, mark }).collect()
}
