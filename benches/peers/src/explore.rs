//! How many executions a search takes.

use selvedge::Strategy;

use crate::catalogue::CATALOGUE;
use crate::clock::time;
use crate::contenders::{Contender, Explored, Loom, Selvedge, Shuttle};
use crate::table::{Table, grouped};

const BOUNDS: [Option<u32>; 4] = [Some(0), Some(1), Some(2), None];

fn cell(explored: Explored) -> String {
    let more = if explored.finished { "" } else { "> " };
    format!("{more}{}", grouped(explored.executions))
}

/// The table.
pub(crate) fn run(most: u64, most_of_small: u64) -> String {
    let mut table = Table::new(&[
        "program",
        "selvedge 0",
        "1",
        "2",
        "no bound",
        "partial orders, bound 2",
        "no bound",
        "loom 0",
        "1",
        "2",
        "no bound",
        "shuttle DFS",
    ]);
    for (index, entry) in CATALOGUE.iter().enumerate() {
        let most = if entry.small { most_of_small } else { most };
        let ours = BOUNDS.map(|bound| Selvedge::explore(Selvedge::PROGRAMS[index], bound, most));
        let mut cells = vec![entry.name.to_string()];
        cells.extend(ours.map(cell));
        cells.extend(ours[2..].iter().map(|explored| explored.orders.map_or("?".into(), grouped)));
        cells.extend(BOUNDS.map(|bound| match entry.not_on_loom {
            None => cell(Loom::explore(Loom::PROGRAMS[index], bound, most)),
            Some(_) => "cannot".into(),
        }));
        cells.push(cell(Shuttle::explore(Shuttle::PROGRAMS[index], None, most)));
        table.row(cells);
    }
    table.text()
}

/// The table of selvedge's own searches.
pub(crate) fn searches(most: u64) -> String {
    const SEARCHES: [(Strategy, Option<usize>); 4] = [
        (Strategy::CbPor, None),
        (Strategy::CbPor, Some(10_000)),
        (Strategy::Optimal, None),
        (Strategy::Bpor, None),
    ];
    let mut header = vec!["program".to_string()];
    for bound in 0..=2 {
        header.push(format!("orders, bound {bound}"));
        header.extend(SEARCHES.map(|(strategy, room)| match room {
            Some(room) => format!("{strategy}, {}", grouped(room as u64)),
            None => strategy.to_string(),
        }));
    }
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (index, entry) in CATALOGUE.iter().enumerate() {
        let mut cells = vec![entry.name.to_string()];
        for bound in 0..=2 {
            let explored =
                SEARCHES.map(|search| Selvedge::explore_by(search, Selvedge::PROGRAMS[index], bound, most));
            cells.push(explored.iter().find_map(|explored| explored.orders).map_or("?".into(), grouped));
            cells.extend(explored.map(cell));
        }
        table.row(cells);
    }
    table.text()
}

/// The table of what they take.
pub(crate) fn times(most: u64) -> String {
    const SEARCHES: [Strategy; 3] = [Strategy::Icb, Strategy::Bpor, Strategy::CbPor];
    let mut header = vec!["program".to_string()];
    header.extend(SEARCHES.iter().flat_map(|name| [format!("{name}: executions"), "ms".into()]));
    header.extend(SEARCHES.iter().map(|name| format!("{name}: µs")));
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (index, entry) in CATALOGUE.iter().enumerate() {
        let once = |strategy: Strategy| {
            let program = Selvedge::PROGRAMS[index];
            let (explored, nanoseconds) = time(|| Selvedge::explore_by((strategy, None), program, 2, most));
            (nanoseconds, explored)
        };
        let mut best = SEARCHES.map(once);
        for _ in 1..3 {
            for (best, strategy) in best.iter_mut().zip(SEARCHES) {
                best.0 = best.0.min(once(strategy).0);
            }
        }
        let mut cells = vec![entry.name.to_string()];
        for (nanoseconds, explored) in best {
            cells.extend([cell(explored), format!("{:.1}", nanoseconds / 1e6)]);
        }
        let each = best.map(|(nanoseconds, explored)| nanoseconds / 1e3 / explored.executions as f64);
        cells.extend(each.map(|each| format!("{each:.1}")));
        table.row(cells);
    }
    table.text()
}
