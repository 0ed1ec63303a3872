//! Line markers, as jMoped shows them: which lines were reached, and which were violated.

use std::collections::BTreeMap;

use selvedge_core::{Location, Mark, Marker};

use crate::network::Network;

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
