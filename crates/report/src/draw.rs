//! A planned counterexample drawn: one column a thread, or one thread after the other.

use std::collections::BTreeSet;

use selvedge_core::Trace;

use crate::convert::unnamed;
use crate::places::{HEADING, Places};
use crate::text::Style;
use crate::trace::Item;
use crate::words::{self, width, wrap};

/// A column that would be narrower than its text needs and than this is not worth having.
const NARROWEST: usize = 18;
const RED: &str = "1;31";
const THREAD_COLORS: [&str; 6] = ["36", "33", "35", "32", "34", "37"];

/// What is drawn, and how.
pub(crate) struct Drawing<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) style: &'a Style,
    pub(crate) places: Places,
}

impl Drawing<'_> {
    fn name(&self, thread: usize) -> String {
        match self.trace.threads.get(thread) {
            Some(name) if !name.is_empty() => words::visible(name),
            _ => unnamed(thread),
        }
    }

    fn paint(&self, thread: usize, text: &str) -> String {
        self.style.paint(THREAD_COLORS[thread % THREAD_COLORS.len()], text)
    }

    /// What a step did, with its values.
    fn cell(&self, index: usize, times: usize) -> String {
        let step = &self.trace.steps[index];
        let mut cell = step.op.clone();
        if let Some(value) = &step.value {
            cell.push_str(": ");
            cell.push_str(value);
        }
        if times > 1 {
            cell.push_str(&format!("  ({times} times)"));
        }
        words::visible(&cell)
    }

    /// A line across all columns, for what belongs to no thread.
    fn across(&self, item: Item) -> Option<String> {
        Some(match item {
            Item::LoopStart => "── from here it repeats ──".to_string(),
            Item::LoopEnd { back_to } => format!("── and so on for ever, from step {back_to} ──"),
            Item::LeftOut { steps, preemptions } => {
                let steps = words::count(steps as u64, "step");
                match preemptions {
                    0 => format!("⋮ {steps} left out"),
                    n => format!("⋮ {steps} with {} left out", words::count(n as u64, "preemption")),
                }
            }
            _ => return None,
        })
    }

    /// The width of the steps' numbers.
    fn number_width(&self) -> usize {
        width("step").max(self.trace.steps.len().saturating_sub(1).to_string().len())
    }

    /// One column a thread; `None` if there is not the room.
    pub(crate) fn columns(&self, items: &[Item]) -> Option<String> {
        let threads: Vec<usize> =
            self.trace.steps.iter().map(|step| step.thread).collect::<BTreeSet<_>>().into_iter().collect();
        let column_of = |thread: usize| threads.iter().position(|&t| t == thread);
        let mut cells: Vec<(usize, Item, String)> = Vec::new();
        for &item in items {
            let (thread, text) = match item {
                Item::Step { index, times } => (self.trace.steps[index].thread, self.cell(index, times)),
                Item::Preempted { from, .. } => (from, "── preempted ──".to_string()),
                Item::GivesWay { from, .. } => (from, "── gives way ──".to_string()),
                _ => (0, String::new()),
            };
            cells.push((column_of(thread).unwrap_or(0), item, text));
        }
        let mut widths: Vec<usize> = threads.iter().map(|&thread| width(&self.name(thread))).collect();
        for (column, _, text) in &cells {
            widths[*column] = widths[*column].max(width(text));
        }
        let numbers = self.number_width();
        let taken = 2 + numbers + 2 * threads.len() + 2 + self.places.widest;
        fit(&mut widths, self.style.width.checked_sub(taken)?)?;

        let mut lines = Lines::default();
        let headings: Vec<String> = threads.iter().map(|&thread| self.name(thread)).collect();
        let heights = headings.iter().zip(&widths).map(|(name, &room)| wrap(name, room).len());
        for row in 0..heights.max().unwrap_or(0) {
            let mut line = String::new();
            for ((name, &room), &thread) in headings.iter().zip(&widths).zip(&threads) {
                let part = wrap(name, room).get(row).cloned().unwrap_or_default();
                line.push_str("  ");
                line.push_str(&self.paint(thread, &pad(&part, room)));
            }
            let place = if self.places.widest > 0 { HEADING } else { "" };
            let (step, place) = if row == 0 { ("step", place) } else { ("", "") };
            lines.push(&self.style.dim(&pad_left(step, numbers)), &line, &self.style.dim(place));
        }
        let rule: String = widths.iter().map(|&room| format!("  {}", "─".repeat(room))).collect();
        let place_rule = "─".repeat(self.places.widest);
        lines.push(
            &self.style.dim(&"─".repeat(numbers)),
            &self.style.dim(&rule),
            &self.style.dim(&place_rule),
        );

        for (column, item, text) in cells {
            if let Some(text) = self.across(item) {
                lines.push(&pad_left("", numbers), &format!("  {}", self.style.dim(&text)), "");
                continue;
            }
            let (number, place) = match item {
                Item::Step { index, .. } => {
                    (index.to_string(), self.places.of_step(&self.trace.steps[index]))
                }
                _ => (String::new(), String::new()),
            };
            for (row, part) in wrap(&text, widths[column]).into_iter().enumerate() {
                let mut line = "  ".to_string();
                line.push_str(&" ".repeat(widths[..column].iter().map(|room| room + 2).sum()));
                let part = pad(&part, widths[column]);
                line.push_str(&match item {
                    Item::Preempted { .. } => self.style.paint(RED, &part),
                    Item::GivesWay { .. } => self.style.dim(&part),
                    _ => self.paint(threads[column], &part),
                });
                line.push_str(&" ".repeat(widths[column + 1..].iter().map(|room| room + 2).sum()));
                let (number, place) = if row == 0 { (&*number, &*place) } else { ("", "") };
                lines.push(&pad_left(number, numbers), &line, &self.style.dim(place));
            }
        }
        Some(lines.text)
    }

    /// One thread after the other, each run under the name of its thread.
    pub(crate) fn one_by_one(&self, items: &[Item]) -> String {
        let numbers = self.number_width();
        let natural = items.iter().map(|item| match item {
            Item::Step { index, times } => width(&self.cell(*index, *times)),
            _ => 0,
        });
        let taken = 2 + numbers + 2 + 2 + self.places.widest;
        let room = natural.max().unwrap_or(0).min(self.style.width.saturating_sub(taken).max(NARROWEST));
        let mut lines = Lines::default();
        if let Some(first) = self.trace.steps.first() {
            lines.push_mark(&self.paint(first.thread, &self.name(first.thread)));
        }
        for &item in items {
            match item {
                Item::Step { index, times } => {
                    let step = &self.trace.steps[index];
                    for (row, part) in wrap(&self.cell(index, times), room).into_iter().enumerate() {
                        let (number, place) = match row {
                            0 => (index.to_string(), self.places.of_step(step)),
                            _ => Default::default(),
                        };
                        let part = format!("  {}", self.paint(step.thread, &pad(&part, room)));
                        lines.push(&pad_left(&number, numbers), &part, &self.style.dim(&place));
                    }
                }
                Item::Preempted { from, to } => {
                    let mark = format!("── {} preempted ──", self.name(from));
                    lines.push_mark(&self.style.paint(RED, &mark));
                    lines.push_mark(&self.paint(to, &self.name(to)));
                }
                Item::GivesWay { from, to } => {
                    let mark = format!("── {} gives way ──", self.name(from));
                    lines.push_mark(&self.style.dim(&mark));
                    lines.push_mark(&self.paint(to, &self.name(to)));
                }
                _ => lines.push_mark(&self.style.dim(&self.across(item).unwrap_or_default())),
            }
        }
        lines.text
    }
}

/// The lines of a drawing: a number, the middle, a place.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn push(&mut self, number: &str, middle: &str, place: &str) {
        let line = format!("  {number}{middle}  {place}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn push_mark(&mut self, mark: &str) {
        self.text.push_str("  ");
        self.text.push_str(mark);
        self.text.push('\n');
    }
}

/// Narrows the widest columns until all fit into the room; `None` if they would become too narrow.
fn fit(widths: &mut [usize], room: usize) -> Option<()> {
    if widths.iter().sum::<usize>() <= room {
        return Some(());
    }
    let widest = widths.iter().copied().max().unwrap_or(0);
    let limit = (NARROWEST..widest)
        .rev()
        .find(|&limit| widths.iter().map(|&width| width.min(limit)).sum::<usize>() <= room)?;
    widths.iter_mut().for_each(|width| *width = (*width).min(limit));
    Some(())
}

fn pad(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(width(text))))
}

fn pad_left(text: &str, room: usize) -> String {
    format!("{}{text}", " ".repeat(room.saturating_sub(width(text))))
}
