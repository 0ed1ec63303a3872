//! The coverage table: a row for each bound, a column for each number that the engine has.

use std::borrow::Cow;

use selvedge_core::{CoverageRow, Measure};

use crate::text::Style;
use crate::words;

/// The table, indented, one line a row, with its heading; empty without rows.
pub(crate) fn coverage(rows: &[CoverageRow], style: &Style) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut columns: Vec<Vec<String>> = Vec::new();
    columns.push(bounds(rows, first.measure));
    type Number = fn(&CoverageRow) -> Option<u64>;
    let numbers: [(&str, Number); 4] = [
        ("executions", |row| row.executions),
        ("distinct partial orders", |row| row.distinct),
        ("states", |row| row.states),
        ("transitions", |row| row.transitions),
    ];
    for (heading, get) in numbers {
        columns.extend(column(heading, rows.iter().map(get)));
    }
    let mut names: Vec<&Cow<'static, str>> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.extra) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let get = |row: &CoverageRow| row.extra.iter().find(|(n, _)| n == name).map(|&(_, value)| value);
        columns.extend(column(&words::visible(name).replace('_', " "), rows.iter().map(get)));
    }
    let times = rows.iter().map(|row| words::time(row.elapsed));
    columns.push(std::iter::once("time".to_string()).chain(times).collect());
    align(&columns, style)
}

/// The bounds: plain numbers under the name of what they count, or each with its own.
fn bounds(rows: &[CoverageRow], measure: Measure) -> Vec<String> {
    let mut cells = Vec::with_capacity(rows.len() + 1);
    if rows.iter().all(|row| row.measure == measure) {
        cells.push(measure.name().to_string());
        cells.extend(rows.iter().map(|row| row.bound.to_string()));
    } else {
        cells.push("at most".to_string());
        cells.extend(rows.iter().map(|row| row.measure.count(row.bound)));
    }
    cells
}

/// A column of numbers, unless no row has one.
fn column(heading: &str, values: impl Iterator<Item = Option<u64>> + Clone) -> Option<Vec<String>> {
    values.clone().any(|value| value.is_some()).then(|| {
        let cells = values.map(|value| value.map_or_else(|| "-".to_string(), words::number));
        std::iter::once(heading.to_string()).chain(cells).collect()
    })
}

/// Columns of equally many cells as lines of text, every cell at the right of its column.
fn align(columns: &[Vec<String>], style: &Style) -> String {
    let widths: Vec<usize> =
        columns.iter().map(|cells| cells.iter().map(|cell| words::width(cell)).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in 0..columns.first().map_or(0, Vec::len) {
        let mut line = String::new();
        for (cells, width) in columns.iter().zip(&widths) {
            line.push_str("  ");
            line.push_str(&" ".repeat(width - words::width(&cells[row])));
            line.push_str(&cells[row]);
        }
        text.push_str(&if row == 0 { style.dim(&line) } else { line });
        text.push('\n');
    }
    text
}
