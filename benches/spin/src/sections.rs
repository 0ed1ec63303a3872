//! What is compared: one function a table.

use crate::catalogue::{self, Model};
use crate::child::ours;
use crate::spin::{Mode, spin};
use crate::table::{Table, grouped};

fn chosen(list: Vec<Model>, name: Option<&str>) -> Vec<Model> {
    list.into_iter().filter(|model| name.is_none_or(|name| model.name().starts_with(name))).collect()
}

/// The smallest table of Spin's that has a slot for each state, as a logarithm.
fn slots(states: u64) -> u32 {
    states.max(1 << 16).next_power_of_two().ilog2()
}

fn megas(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds / 1e6
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

fn smallest(ratios: &[f64]) -> f64 {
    ratios.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Exhaustive safety search of large models.
pub(crate) fn exhaustive(name: Option<&str>) -> String {
    let mut table = Table::new(&[
        "model",
        "states",
        "transitions",
        "Spin M states/s",
        "dfs M states/s",
        "layered M states/s",
        "Spin M trans./s",
        "dfs M trans./s",
        "dfs / Spin",
        "layered / Spin",
        "Spin bytes a state",
        "dfs bytes a state",
        "layered bytes a state",
        "Spin resident",
        "dfs resident",
        "layered resident",
    ]);
    let (mut deep, mut layered) = (Vec::new(), Vec::new());
    let (mut memory, mut layered_memory) = (Vec::new(), Vec::new());
    for model in chosen(catalogue::large(), name) {
        let dfs = ours(&model, "dfs", None, true);
        let layers = ours(&model, "layered", None, true);
        let spin = spin(&model, Mode::Raw, slots(dfs.states), true);
        let same = (spin.states, spin.transitions);
        assert_eq!(same, (dfs.states, dfs.transitions), "{}", model.name());
        assert_eq!(same, (layers.states, layers.transitions), "{}", model.name());
        let bytes = |all: u64| all as f64 / spin.states as f64;
        deep.push(spin.ran.seconds / dfs.ran.seconds);
        layered.push(spin.ran.seconds / layers.ran.seconds);
        memory.push(spin.store_bytes as f64 / dfs.store_bytes as f64);
        layered_memory.push(spin.store_bytes as f64 / layers.store_bytes as f64);
        table.row(vec![
            model.name(),
            grouped(spin.states),
            grouped(spin.transitions),
            format!("{:.2}", megas(spin.states, spin.ran.seconds)),
            format!("{:.2}", megas(dfs.states, dfs.ran.seconds)),
            format!("{:.2}", megas(layers.states, layers.ran.seconds)),
            format!("{:.2}", megas(spin.transitions, spin.ran.seconds)),
            format!("{:.2}", megas(dfs.transitions, dfs.ran.seconds)),
            format!("{:.2}", spin.ran.seconds / dfs.ran.seconds),
            format!("{:.2}", spin.ran.seconds / layers.ran.seconds),
            format!("{:.1}", bytes(spin.store_bytes)),
            format!("{:.1}", bytes(dfs.store_bytes)),
            format!("{:.1}", bytes(layers.store_bytes)),
            format!("{:.1}", bytes(spin.ran.peak_bytes)),
            format!("{:.1}", bytes(dfs.ran.peak_bytes)),
            format!("{:.1}", bytes(layers.ran.peak_bytes)),
        ]);
    }
    format!(
        "## Exhaustive search\n\nEvery state, without reduction: `spin -a -o1 -o2 -o3`, `gcc -O2 -DSAFETY -DNOREDUCE`, \
         `pan -c0` with the smallest table that has a slot for each state, against `--search dfs --no-por \
         --all-errors` and the layered search of all bounds. States and transitions are equal for all three, which the \
         benchmark asserts. Spin's time is that of `pan` alone; Selvedge's that of the whole process. Bytes a \
         state are those of the stored states and the table that finds them, for Selvedge also the stack or the \
         queue (Spin's stack is not counted). Resident is the most memory that the process held, for each state.\n\n{}\n\
         - dfs: {:.2} times Spin's states a second (geometric mean; the least {:.2}). Goal: at least 0.5.\n\
         - layered: {:.2} times (the least {:.2}).\n\
         - Spin's bytes a state are {:.2} times those of dfs (geometric mean; the least {:.2}) and {:.2} times those of \
         layered (the least {:.2}). Goal: at least 1.\n",
        table.text(),
        geometric_mean(&deep),
        smallest(&deep),
        geometric_mean(&layered),
        smallest(&layered),
        geometric_mean(&memory),
        smallest(&memory),
        geometric_mean(&layered_memory),
        smallest(&layered_memory),
    )
}

/// From the text to the verdict, on small models.
pub(crate) fn verdict(name: Option<&str>) -> String {
    let mut table =
        Table::new(&["model", "states", "Spin s", "of which pan s", "dfs s", "layered s", "Spin / layered"]);
    let mut rows = Vec::new();
    for model in chosen(catalogue::small(), name) {
        let dfs = ours(&model, "dfs", None, true);
        let layers = ours(&model, "layered", None, true);
        let spin = spin(&model, Mode::Raw, slots(dfs.states), true);
        assert_eq!(spin.errors > 0, layers.violated, "{}", model.name());
        rows.push((model, spin, dfs, layers));
    }
    rows.sort_by(|a, b| b.3.ran.seconds.total_cmp(&a.3.ran.seconds));
    let ratios: Vec<f64> = rows
        .iter()
        .map(|(_, spin, dfs, layers)| {
            (spin.preparation + spin.ran.seconds) / layers.ran.seconds.max(dfs.ran.seconds)
        })
        .collect();
    for (model, spin, dfs, layers) in rows.iter().take(14) {
        let all = spin.preparation + spin.ran.seconds;
        table.row(vec![
            model.name(),
            grouped(spin.states),
            format!("{all:.2}"),
            format!("{:.2}", spin.ran.seconds),
            format!("{:.3}", dfs.ran.seconds),
            format!("{:.3}", layers.ran.seconds),
            format!("{:.1}", all / layers.ran.seconds),
        ]);
    }
    format!(
        "## From the text to the verdict\n\nModels of about a million states and fewer, every state visited: `spin -a`, gcc \
         and `pan` together, against the process of a check. The {} that take Selvedge longest, of {}.\n\n{}\n\
         - Over all {} models Spin takes {:.1} times as long as the slower of dfs and layered (geometric mean; the \
         least {:.2}). Goal: more than 1 on every model.\n",
        rows.len().min(14),
        rows.len(),
        table.text(),
        rows.len(),
        geometric_mean(&ratios),
        smallest(&ratios),
    )
}

/// All bounds in one pass, against one of Spin's.
pub(crate) fn bounds(name: Option<&str>) -> String {
    const BOUND: u32 = 16;
    let mut table = Table::new(&[
        "model",
        "states",
        "Spin -L16 s",
        "Spin transitions",
        "layered 0–16 s",
        "layered transitions",
        "bcs 0–16 s",
        "Spin / layered",
        "layered / unbounded transitions",
        "Spin, merged s",
        "layered, merged s",
        "layered states, merged",
        "Spin / layered, merged",
    ]);
    let (mut ratios, mut fired, mut merged_ratios) = (Vec::new(), Vec::new(), Vec::new());
    for model in chosen(catalogue::bounded(), name) {
        let dfs = ours(&model, "dfs", None, true);
        let layers = ours(&model, "layered", Some(BOUND), true);
        let bcs = ours(&model, "bcs", Some(BOUND), true);
        assert_eq!(bcs.states, layers.states, "{}", model.name());
        let optimised = spin(&model, Mode::Optimised(BOUND), slots(dfs.states), true);
        let spin = spin(&model, Mode::Bounded(BOUND), slots(dfs.states), true);
        let merged = ours(&model, "merged", Some(BOUND), true);
        assert!(merged.states <= layers.states && merged.violated == layers.violated, "{}", model.name());
        ratios.push(spin.ran.seconds / layers.ran.seconds);
        merged_ratios.push(optimised.ran.seconds / merged.ran.seconds);
        fired.push(layers.transitions as f64 / dfs.transitions as f64);
        table.row(vec![
            model.name(),
            grouped(layers.states),
            format!("{:.2}", spin.ran.seconds),
            grouped(spin.transitions),
            format!("{:.2}", layers.ran.seconds),
            grouped(layers.transitions),
            format!("{:.2}", bcs.ran.seconds),
            format!("{:.1}", spin.ran.seconds / layers.ran.seconds),
            format!("{:.3}", layers.transitions as f64 / dfs.transitions as f64),
            format!("{:.2}", optimised.ran.seconds),
            format!("{:.2}", merged.ran.seconds),
            grouped(merged.states),
            format!("{:.1}", optimised.ran.seconds / merged.ran.seconds),
        ]);
    }
    format!(
        "## Bounded context switching\n\nAll bounds from 0 to {BOUND} in one layered search, and one after the other with \
         the published algorithm (`--search bcs`), against `pan` compiled with `-DBCS` at `-L{BOUND}` alone (generating \
         and compiling it is not counted): once statement by statement (`--no-por`; `spin -a -o1 -o2 -o3`), and once as \
         both do it unless told otherwise, with statements merged (`spin -a`). States are those within the \
         bound. Spin's counts differ: it misses states within its bound.\n\n{}\n\
         - Spin takes {:.1} times as long as the layered search (geometric mean; the least {:.1}), and {:.1} times (the \
         least {:.1}) with statements merged. Goal: more than 1.\n\
         - The layered search fires at most {:.3} times the transitions of the unbounded one. Goal: at most 1.1.\n",
        table.text(),
        geometric_mean(&ratios),
        smallest(&ratios),
        geometric_mean(&merged_ratios),
        smallest(&merged_ratios),
        fired.iter().copied().fold(0.0, f64::max),
    )
}
