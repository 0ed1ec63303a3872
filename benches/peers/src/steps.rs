//! What one step more costs in a long run: the slope between two lengths.

use crate::allocation;
use crate::clock::{median, time};
use crate::contenders::{Contender, Loom, Selvedge, Shuttle};
use crate::table::Table;

/// The two lengths.
const SHORT: usize = 1_000;
const LONG: usize = 3_000;

/// A program of any length, and how many steps one more of its length is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    program: fn(usize),
    steps: f64,
}

pub(crate) fn shapes<C: Contender>() -> [Shape; 2] {
    [Shape { program: C::ALONE, steps: 1.0 }, Shape { program: C::TOGETHER, steps: 2.0 }]
}

/// Runs a program of one length so many times.
pub(crate) fn execute<C: Contender>(shape: Shape, length: usize, executions: u64) {
    C::sample(move || (shape.program)(length), executions, 1);
}

fn slope(shape: Shape, executions: u64, of: impl Fn(usize) -> f64) -> f64 {
    (of(LONG) - of(SHORT)) / (executions as f64 * (LONG - SHORT) as f64 * shape.steps)
}

/// Nanoseconds a step.
fn nanoseconds<C: Contender>(shape: Shape, executions: u64) -> f64 {
    slope(shape, executions, |length| time(|| execute::<C>(shape, length, executions)).1)
}

/// Allocations a step.
fn allocations<C: Contender>(shape: Shape, executions: u64) -> f64 {
    slope(shape, executions, |length| allocation::during(|| execute::<C>(shape, length, executions)) as f64)
}

/// The table and what it comes to.
pub(crate) fn run(rounds: u64) -> String {
    let mut table = Table::new(&["", "selvedge", "shuttle", "loom", "goal"]);
    for (index, name) in ["one thread", "two threads, random switches"].into_iter().enumerate() {
        let (ours, shuttle, loom) =
            (shapes::<Selvedge>()[index], shapes::<Shuttle>()[index], shapes::<Loom>()[index]);
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..rounds {
            times[0].push(nanoseconds::<Selvedge>(ours, 200));
            times[1].push(nanoseconds::<Shuttle>(shuttle, 100));
            times[2].push(nanoseconds::<Loom>(loom, 20));
        }
        let mut cells = vec![format!("{name}: ns a step")];
        cells.extend(times.map(|times| format!("{:.1}", median(times))));
        cells.push("≤ 50".into());
        table.row(cells);
        // Buffers that grow to the length of the run are allocated once, so many executions tell the steps'
        // own allocations from them.
        table.row(vec![
            format!("{name}: allocations a step"),
            format!("{:.4}", allocations::<Selvedge>(ours, 500)),
            format!("{:.4}", allocations::<Shuttle>(shuttle, 100)),
            format!("{:.4}", allocations::<Loom>(loom, 20)),
            "0".into(),
        ]);
    }
    table.text()
}
