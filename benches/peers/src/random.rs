//! What one execution costs, under random scheduling.

use crate::catalogue::CATALOGUE;
use crate::clock::{geometric_mean, median, time};
use crate::contenders::{Contender, Loom, Selvedge, Shuttle};
use crate::table::Table;

/// One batch: nanoseconds an execution.
fn batch<C: Contender>(index: usize, executions: u64, seed: u64) -> f64 {
    let program = C::PROGRAMS[index];
    let (ran, nanoseconds) = time(|| C::sample(program, executions, seed));
    nanoseconds / ran.executions as f64
}

/// Steps an execution.
fn steps<C: Contender>(index: usize) -> Option<f64> {
    const EXECUTIONS: u64 = 2_000;
    let program = C::PROGRAMS[index];
    let counted = C::count_steps(program, EXECUTIONS, 1).or_else(|| C::sample(program, EXECUTIONS, 1).steps);
    counted.map(|steps| steps as f64 / EXECUTIONS as f64)
}

fn ratios(text: &mut String, peer: &str, ratios: &[f64], goals: &str) {
    let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let best = ratios.iter().copied().fold(0.0, f64::max);
    *text += &format!(
        "- {peer} takes {:.1} times as long as selvedge (geometric mean of {}; from {worst:.1} to {best:.1}). {goals}\n",
        geometric_mean(ratios),
        ratios.len(),
    );
}

/// The table and what it comes to.
pub(crate) fn run(rounds: u64) -> String {
    let mut table = Table::new(&[
        "program",
        "selvedge µs",
        "shuttle µs",
        "loom µs",
        "shuttle / selvedge",
        "loom / selvedge",
        "selvedge steps",
        "shuttle steps",
    ]);
    let (mut to_shuttle, mut to_loom) = (Vec::new(), Vec::new());
    for (index, entry) in CATALOGUE.iter().enumerate().filter(|(_, entry)| !entry.small) {
        let (mut ours, mut shuttle, mut loom) = (Vec::new(), Vec::new(), Vec::new());
        // Taking turns, so that whatever else the machine does meets all of them.
        for round in 0..rounds {
            ours.push(batch::<Selvedge>(index, 10_000, round));
            shuttle.push(batch::<Shuttle>(index, 4_000, round));
            if entry.not_on_loom.is_none() {
                loom.push(batch::<Loom>(index, 400, round));
            }
        }
        // Ratios within a round, whose batches met the machine in about the same state.
        let ratio = |peer: &[f64]| {
            let ratios = peer.iter().zip(&ours).map(|(peer, ours)| peer / ours).collect();
            (!peer.is_empty()).then(|| median(ratios))
        };
        let (shuttle_ratio, loom_ratio) = (ratio(&shuttle), ratio(&loom));
        to_shuttle.extend(shuttle_ratio);
        to_loom.extend(loom_ratio);
        let (ours, shuttle) = (median(ours), median(shuttle));
        let loom = (!loom.is_empty()).then(|| median(loom));
        let decimal = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.1}"));
        table.row(vec![
            entry.name.into(),
            format!("{:.2}", ours / 1e3),
            format!("{:.2}", shuttle / 1e3),
            loom.map_or("cannot".into(), |loom| format!("{:.1}", loom / 1e3)),
            decimal(shuttle_ratio),
            decimal(loom_ratio),
            decimal(steps::<Selvedge>(index)),
            decimal(steps::<Shuttle>(index)),
        ]);
    }
    let mut text = table.text() + "\n";
    ratios(&mut text, "shuttle", &to_shuttle, "Goal: at least 4, none below 2.");
    ratios(&mut text, "loom", &to_loom, "Goal: at least 20.");
    for entry in CATALOGUE {
        if let Some(why) = entry.not_on_loom {
            text += &format!("- loom cannot run the {}: {why}.\n", entry.name);
        }
    }
    text
}
