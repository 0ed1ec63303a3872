//! Source places as short as they are clear.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::{Location, Step, Trace};

use crate::words::{self, width};

/// What stands above a column of places.
pub(crate) const HEADING: &str = "where";

/// Places of a trace in their shortest clear form: the least of the path that tells its files apart, and the
/// column only where a line has several.
pub(crate) struct Places {
    files: BTreeMap<String, String>,
    columns: BTreeMap<(String, u32), BTreeSet<Option<u32>>>,
    /// The columns that the longest takes, and the heading at least; 0 if there are none.
    pub(crate) widest: usize,
}

impl Places {
    pub(crate) fn of(trace: &Trace) -> Self {
        let locations = || trace.steps.iter().filter_map(|step| step.location.as_ref());
        let names: BTreeSet<&str> = locations().map(|location| &*location.file).collect();
        let files = names.iter().map(|&name| (name.to_string(), shortest(name, &names))).collect();
        let mut columns: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for location in locations() {
            columns.entry((location.file.clone(), location.line)).or_default().insert(location.column);
        }
        let mut places = Places { files, columns, widest: 0 };
        let widest = trace.steps.iter().map(|step| width(&places.of_step(step))).max();
        places.widest = match widest.unwrap_or(0) {
            0 => 0,
            widest => widest.max(width(HEADING)),
        };
        places
    }

    pub(crate) fn of_step(&self, step: &Step) -> String {
        let Some(Location { file, line, column }) = &step.location else { return String::new() };
        let short = self.files.get(file).unwrap_or(file);
        let several = self.columns.get(&(file.clone(), *line)).is_some_and(|columns| columns.len() > 1);
        words::visible(&match column {
            Some(column) if several => format!("{short}:{line}:{column}"),
            _ => format!("{short}:{line}"),
        })
    }
}

/// The shortest end of a path, in whole components, that none of the other paths has.
fn shortest(path: &str, all: &BTreeSet<&str>) -> String {
    let starts = path.rmatch_indices(['/', '\\']).map(|(at, _)| at + 1).chain([0]);
    for start in starts {
        let end = &path[start..];
        let same_end = |other: &&&str| {
            other.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
        };
        if !end.is_empty() && all.iter().filter(same_end).count() <= 1 {
            return end.to_string();
        }
    }
    path.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_what_tells_them_apart() {
        for (path, others, expected) in [
            ("src/queue.rs", vec![], "queue.rs"),
            ("a/src/lib.rs", vec!["b/src/lib.rs"], "a/src/lib.rs"),
            ("a/x/lib.rs", vec!["a/y/lib.rs"], "x/lib.rs"),
            ("lib.rs", vec!["a/lib.rs"], "lib.rs"),
            ("mylib.rs", vec!["lib.rs"], "mylib.rs"),
            ("c:\\a\\lib.rs", vec![], "lib.rs"),
            ("", vec![], ""),
        ] {
            let all = others.into_iter().chain([path]).collect();
            assert_eq!(shortest(path, &all), expected);
        }
    }
}
