//! The counterexample, one column a thread where there is room, else one thread after the other.
//!
//! What is drawn is planned first ([`plan`]): steps, the marks between them, and what is left out. The two
//! forms differ only in how they draw a plan.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::{Location, Step, Trace};

use crate::convert::unnamed;
use crate::text::Style;
use crate::words::{self, width, wrap};

/// Lines of steps beyond which a trace is shortened.
const LONG_TRACE: usize = 100;
/// Lines that are kept at each end of a run of one thread within a trace that is shortened.
const RUN_ENDS: usize = 4;
/// A column that would be narrower than its text needs and than this is not worth having.
const NARROWEST: usize = 18;
const RED: &str = "1;31";
const THREAD_COLORS: [&str; 6] = ["36", "33", "35", "32", "34", "37"];

/// A line of the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// A step, and how many times it comes in a row.
    Step { index: usize, times: usize },
    /// The thread that ran could have gone on, and another goes on instead.
    Preempted { from: usize, to: usize },
    /// The thread that ran waits, yielded or ended, and another goes on.
    GivesWay { from: usize, to: usize },
    /// The part that repeats for ever begins.
    LoopStart,
    /// The part that repeats for ever ends.
    LoopEnd { back_to: usize },
    /// Steps that are not shown, and how many of them preempt.
    LeftOut { steps: usize, preemptions: usize },
}

/// The counterexample, indented, ending with a line's end.
pub(crate) fn counterexample(trace: &Trace, style: &Style) -> String {
    let items = plan(trace);
    let places = Places::of(trace);
    let drawing = Drawing { trace, style, places };
    let mut text = drawing.columns(&items).unwrap_or_else(|| drawing.one_by_one(&items));
    let preempts = items.iter().any(|item| matches!(item, Item::Preempted { .. }));
    let gives_way = items.iter().any(|item| matches!(item, Item::GivesWay { .. }));
    if preempts || gives_way {
        text.push('\n');
    }
    if preempts {
        text.push_str(&style.dim("  preempted: the thread could have gone on, but another ran instead"));
        text.push('\n');
    }
    if gives_way {
        text.push_str(&style.dim("  gives way: the thread waits, yields or has ended"));
        text.push('\n');
    }
    text
}

fn plan(trace: &Trace) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut before: Option<&Step> = None;
    for (index, step) in trace.steps.iter().enumerate() {
        match before {
            Some(last) if step.preemption => {
                items.push(Item::Preempted { from: last.thread, to: step.thread })
            }
            Some(last) if last.thread != step.thread => {
                items.push(Item::GivesWay { from: last.thread, to: step.thread });
            }
            _ => {}
        }
        if trace.loop_start == Some(index) {
            items.push(Item::LoopStart);
        }
        match items.last_mut() {
            Some(Item::Step { times, .. }) if before == Some(step) => *times += 1,
            _ => items.push(Item::Step { index, times: 1 }),
        }
        before = Some(step);
    }
    items.extend(trace.loop_start.map(|back_to| Item::LoopEnd { back_to }));
    if items.len() > LONG_TRACE { shorten(&items) } else { items }
}

/// Leaves out the middle of long runs; then, if that is not enough, the middle of the trace.
fn shorten(items: &[Item]) -> Vec<Item> {
    let is_step = |item: &Item| matches!(item, Item::Step { .. });
    let mut short: Vec<Item> = Vec::new();
    for run in items.chunk_by(|a, b| is_step(a) && is_step(b)) {
        if run.len() > 2 * RUN_ENDS + 1 {
            short.extend(&run[..RUN_ENDS]);
            short.push(left_out(&run[RUN_ENDS..run.len() - RUN_ENDS]));
            short.extend(&run[run.len() - RUN_ENDS..]);
        } else {
            short.extend(run);
        }
    }
    if short.len() > LONG_TRACE {
        // The end is where it goes wrong: it gets two thirds of the room.
        let (head, tail) = (LONG_TRACE / 3, short.len() - LONG_TRACE * 2 / 3);
        let middle = left_out(&short[head..tail]);
        short.splice(head..tail, [middle]);
    }
    short
}

fn left_out(items: &[Item]) -> Item {
    let (mut steps, mut preemptions) = (0, 0);
    for item in items {
        match item {
            Item::Step { times, .. } => steps += times,
            Item::Preempted { .. } => preemptions += 1,
            Item::LeftOut { steps: more, preemptions: among } => {
                steps += more;
                preemptions += among;
            }
            _ => {}
        }
    }
    Item::LeftOut { steps, preemptions }
}

struct Drawing<'a> {
    trace: &'a Trace,
    style: &'a Style,
    places: Places,
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
    fn columns(&self, items: &[Item]) -> Option<String> {
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
            let (step, place) = if row == 0 { ("step", "where") } else { ("", "") };
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
    fn one_by_one(&self, items: &[Item]) -> String {
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

/// Places of a trace in their shortest clear form: the least of the path that tells its files apart, and the
/// column only where a line has several.
struct Places {
    files: BTreeMap<String, String>,
    columns: BTreeMap<(String, u32), BTreeSet<Option<u32>>>,
    widest: usize,
}

impl Places {
    fn of(trace: &Trace) -> Self {
        let locations = || trace.steps.iter().filter_map(|step| step.location.as_ref());
        let names: BTreeSet<&str> = locations().map(|location| &*location.file).collect();
        let files = names.iter().map(|&name| (name.to_string(), shortest(name, &names))).collect();
        let mut columns: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for location in locations() {
            columns.entry((location.file.clone(), location.line)).or_default().insert(location.column);
        }
        let mut places = Places { files, columns, widest: width("where") };
        let widest = trace.steps.iter().map(|step| width(&places.of_step(step))).max();
        places.widest = places.widest.max(widest.unwrap_or(0));
        places
    }

    fn of_step(&self, step: &Step) -> String {
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
