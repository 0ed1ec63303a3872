//! The counterexample, one column a thread where there is room, else one thread after the other.
//!
//! What is drawn is planned first ([`plan`]): steps, the marks between them, and what is left out. The two
//! forms in [`crate::draw`] differ only in how they draw a plan.

use selvedge_core::{Step, Trace};

use crate::draw::Drawing;
use crate::places::Places;
use crate::text::Style;

/// Lines of steps beyond which a trace is shortened.
const LONG_TRACE: usize = 100;
/// Lines that are kept at each end of a run of one thread within a trace that is shortened.
const RUN_ENDS: usize = 4;

/// A line of the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
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
        if run.len() > 3 * RUN_ENDS {
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
