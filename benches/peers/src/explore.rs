//! How many executions a search takes.

use crate::catalogue::CATALOGUE;
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
