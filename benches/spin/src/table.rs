//! Tables that read well both on a terminal and as Markdown.

use std::fmt::Write;

/// A table; the first column is left-aligned, the others right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        Table { rows: vec![header.iter().map(ToString::to_string).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "every row has a cell for each column");
        self.rows.push(cells);
    }

    pub(crate) fn text(&self) -> String {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..self.rows[0].len()).filter_map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let padding = " ".repeat(width - cell.chars().count());
                let _ = if column == 0 {
                    write!(text, "| {cell}{padding} ")
                } else {
                    write!(text, "| {padding}{cell} ")
                };
            }
            text.push_str("|\n");
            if index == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let (dashes, end) = ("-".repeat(width - 1), if column == 0 { "-" } else { ":" });
                    let _ = write!(text, "| {dashes}{end} ");
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

/// A count, with separators.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
