//! What partial-order reduction saves, and what it costs.
//!
//! `cargo run --release` here measures and writes RESULTS.md; with `-- --quick` it takes a tenth of the time
//! and writes nothing.

#[path = "../../peers/src/clock.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod clock;
mod corpus;
mod programs;
#[path = "../../peers/src/results.rs"]
mod results;
#[path = "../../peers/src/table.rs"]
mod table;

use std::time::Duration;

use selvedge::{Checker, Coverage, Outcome, Strategy};

use crate::clock::time;
use crate::table::{Table, grouped};

const QUEUE: &str = "## The work-stealing queue

An owner that pushes and pops so many items, and a thief that steals twice: executions, and CPU time in seconds, of a \
depth-first search within the bound and of `cb-por`, each at that bound alone. Table 1 of Musuvathi and Qadeer, \
*Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12), has this shape.";

const COVERAGE: &str = "## Coverage against time

Different local states that were reached after so many milliseconds within 2 preemptions (`dpor` has no bound); with a \
point after the number, the search had ended by then. Figure 7 of Coons, Musuvathi, McKinley, *Bounded Partial-Order \
Reduction* (OOPSLA 2013), has this shape.";

const BUGS: &str = "## Time to the bug

Executions, and CPU time in milliseconds, until the bug is found, bounds iterated from 0; `dfs` and `dpor` have none. \
Table 1 of the BPOR paper has this shape.";

/// So often costs are measured.
const TIMES: u32 = 15;

const COST: &str = "## What an execution costs

CPU time of one execution in microseconds, the least of 15 measurements, by turns, over the first executions of a search within 2 preemptions, on two threads \
with so many steps each on one atomic and one lock; and how many times that of `icb`. `cb-por` looks through all \
prefixes of each new partial order, which is what it is: its executions are few. `optimal` within the bound does the same in \
less memory.";

const BOUNDS: &str = "## From bound to bound

All partial orders of threads that each take one lock so many times: CPU time of one execution of `cb-por` in microseconds, \
the least of 5 measurements, when it goes from bound to bound until nothing is left, and without a bound.";

fn main() {
    let quick = results::is_quick();
    let scale = if quick { 10 } else { 1 };
    let tables = [
        (QUEUE, queue(300_000 / scale)),
        (COVERAGE, coverage(if quick { 2 } else { 4 })),
        (BUGS, bugs(Duration::from_millis(5_000 / scale))),
        (COST, cost(20_000 / scale)),
        (BOUNDS, bounds()),
    ];
    let introduction = "# Partial-order reduction\n\nWritten by `cargo run --release --manifest-path \
                        benches/reduction/Cargo.toml`; CPU time on one core.\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
    results::write(introduction, tables, (!quick).then_some(path));
}

fn executions(outcome: &Outcome) -> u64 {
    outcome.statistics.executions.expect("the stateless engine counts")
}

/// A count, or that there are more.
fn count(outcome: &Outcome) -> String {
    let text = grouped(executions(outcome));
    if outcome.holds() { text } else { format!("> {text}") }
}

fn queue(most: u64) -> String {
    let mut table = Table::new(&[
        "items",
        "bound",
        "dfs: executions",
        "seconds",
        "cb-por: executions",
        "orders",
        "seconds",
    ]);
    for items in 3..=5 {
        for bound in 0..=4 {
            let checker = Checker::new().preemptions(bound).at_bound().max_executions(most);
            let plain = checker.clone().strategy(Strategy::Dfs).coverage(Coverage::Executions);
            let reduced = checker.strategy(Strategy::CbPor).coverage(Coverage::Orders);
            let (plain, plain_time) = time(|| plain.explore(move || programs::queue(items)));
            let (reduced, reduced_time) = time(|| reduced.explore(move || programs::queue(items)));
            let orders = reduced.rows.last().and_then(|row| row.distinct);
            table.row(vec![
                items.to_string(),
                bound.to_string(),
                count(&plain),
                format!("{:.2}", plain_time / 1e9),
                count(&reduced),
                orders.map_or("?".into(), grouped),
                format!("{:.2}", reduced_time / 1e9),
            ]);
        }
    }
    table.text()
}

const COVERED: [(&str, Strategy); 5] = [
    ("dfs", Strategy::Dfs),
    ("bpor-plain", Strategy::BporPlain),
    ("bpor", Strategy::Bpor),
    ("dpor", Strategy::Dpor),
    ("cb-por", Strategy::CbPor),
];

fn coverage(times: u32) -> String {
    let times: Vec<u64> = (0..times).map(|power| 10 * 5_u64.pow(power)).collect();
    let mut header = vec!["program".to_string(), "search".to_string()];
    header.extend(times.iter().map(|time| format!("{time} ms")));
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (program, test) in programs::COVERED {
        for (name, strategy) in COVERED {
            if *program == "spin loop" && strategy == Strategy::Dpor {
                continue; // without the fair bound it does not end
            }
            let mut cells = vec![program.to_string(), name.to_string()];
            for &milliseconds in &times {
                let checker = Checker::new().strategy(strategy).coverage(Coverage::LocalStates);
                let checker = checker.time_limit(Duration::from_millis(milliseconds));
                let checker =
                    if strategy == Strategy::Dpor { checker } else { checker.preemptions(2).at_bound() };
                let outcome = checker.keep_going().explore(*test);
                let states = outcome.statistics.extra.iter().find(|(name, _)| name == "local_states");
                let states = states.map_or("?".into(), |(_, count)| grouped(*count));
                cells.push(if outcome.holds() { format!("{states}.") } else { states });
            }
            table.row(cells);
        }
    }
    table.text()
}

fn bugs(most: Duration) -> String {
    const SEARCHES: [(&str, Strategy); 5] = [
        ("icb", Strategy::Icb),
        ("cb-por", Strategy::CbPor),
        ("bpor", Strategy::Bpor),
        ("dfs", Strategy::Dfs),
        ("dpor", Strategy::Dpor),
    ];
    let mut header = vec!["program", "preemptions"];
    for (name, _) in SEARCHES {
        header.extend([name, "ms"]);
    }
    let mut table = Table::new(&header);
    for (program, test) in corpus::bugs() {
        let mut cells = vec![program, String::new()];
        for (_, strategy) in SEARCHES {
            let checker = Checker::new().strategy(strategy).coverage(Coverage::Executions).shorten(0);
            let checker = match strategy {
                Strategy::Dfs | Strategy::Dpor => checker,
                _ => checker.preemptions(4),
            };
            let (outcome, nanoseconds) = time(|| checker.time_limit(most).explore(test));
            match outcome.violation() {
                Some(violation) => {
                    if strategy == Strategy::Icb {
                        cells[1] = violation.preemptions.to_string();
                    }
                    cells.push(grouped(executions(&outcome)));
                    cells.push(format!("{:.1}", nanoseconds / 1e6));
                }
                None => cells.extend(["not found".into(), format!("> {:.0}", nanoseconds / 1e6)]),
            }
        }
        table.row(cells);
    }
    table.text()
}

fn bounds() -> String {
    let mut table =
        Table::new(&["threads", "locks", "executions", "preemptions", "µs, bound to bound", "µs, no bound"]);
    for (threads, rounds) in [(2, 6), (2, 8), (3, 3), (4, 2)] {
        let once = |at_once: bool| {
            let checker = Checker::new().strategy(Strategy::CbPor).coverage(Coverage::Orders);
            let checker = if at_once { checker.unbounded().at_bound() } else { checker.unbounded() };
            let (outcome, nanoseconds) = time(|| checker.explore(move || programs::locks(threads, rounds)));
            (nanoseconds / executions(&outcome) as f64 / 1e3, outcome)
        };
        let least = |at_once| {
            let cheaper = |a: &(f64, Outcome), b: &(f64, Outcome)| a.0.total_cmp(&b.0);
            (0..5).map(|_| once(at_once)).min_by(cheaper).expect("it is measured")
        };
        let ((bounded, outcome), (unbounded, all)) = (least(false), least(true));
        assert_eq!(executions(&outcome), executions(&all), "each order once");
        let last = outcome.rows.iter().find(|row| row.executions == outcome.statistics.executions);
        table.row(vec![
            threads.to_string(),
            rounds.to_string(),
            grouped(executions(&outcome)),
            last.map_or("?".into(), |row| row.bound.to_string()),
            format!("{bounded:.1}"),
            format!("{unbounded:.1}"),
        ]);
    }
    table.text()
}

fn cost(most: u64) -> String {
    const SEARCHES: [(&str, Strategy, bool); 6] = [
        ("icb", Strategy::Icb, true),
        ("bpor", Strategy::Bpor, true),
        ("dpor", Strategy::Dpor, false),
        ("optimal, no bound", Strategy::Optimal, false),
        ("optimal", Strategy::Optimal, true),
        ("cb-por", Strategy::CbPor, true),
    ];
    let mut table = Table::new(&["steps of a thread", "search", "executions", "depth", "µs", "times icb's"]);
    for steps in [10, 25, 50, 100] {
        let once = |(_, strategy, bounded): (&str, Strategy, bool)| {
            let checker = Checker::new().strategy(strategy).coverage(Coverage::Orders).max_executions(most);
            let checker = if bounded { checker.preemptions(2).at_bound() } else { checker };
            let (outcome, nanoseconds) = time(|| checker.explore(move || programs::two_threads(steps)));
            (nanoseconds / executions(&outcome) as f64 / 1e3, outcome)
        };
        // By turns: a machine that is shared is not always as fast.
        let mut best = SEARCHES.map(once);
        for _ in 1..TIMES {
            for (best, search) in best.iter_mut().zip(SEARCHES) {
                let again = once(search);
                if again.0 < best.0 {
                    *best = again;
                }
            }
        }
        let plain = best[0].0;
        for ((each, outcome), (name, ..)) in best.iter().zip(SEARCHES) {
            table.row(vec![
                steps.to_string(),
                name.into(),
                grouped(executions(outcome)),
                outcome.statistics.depth.map_or("?".into(), grouped),
                format!("{each:.1}"),
                format!("{:.1}", each / plain),
            ]);
        }
    }
    table.text()
}
