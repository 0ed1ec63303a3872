//! Tables of the shape of Tables 1 to 3 of Suwimonteerabuth, Esparza, Schwoon (SPIN 2008).
//!
//! `cargo bench -p selvedge-boolean --bench tables [-- 1|2|3]` prints all of them, or one. The peak memory is that of
//! the process so far: ask for one table to have its own.

use std::path::PathBuf;

use selvedge_core::Verdict;
use selvedge_symbolic::network::Network;
use selvedge_symbolic::{Options, Report, Splitting, check};

fn source(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/symbolic").join(name);
    std::fs::read_to_string(path).expect("the corpus is there")
}

fn network(name: &str, text: &str) -> Network {
    selvedge_boolean::read(name, text).expect("the corpus can be read")
}

fn run(network: &Network, contexts: u32, splitting: Splitting) -> Report {
    let options =
        Options { contexts, splitting, threads: 1, converge: false, count: 0, ..Options::default() };
    check(network, &options, &mut |_| true).expect("the check can be made")
}

fn number(report: &Report, name: &str) -> u64 {
    let extra = &report.outcome.statistics.extra;
    extra.iter().find(|(other, _)| other == name).map_or(0, |&(_, number)| number)
}

fn verdict(report: &Report) -> &'static str {
    match report.outcome.verdict {
        Verdict::Violated(_) => "violated",
        Verdict::Holds(_) => "holds",
        Verdict::Inconclusive(_) => "inconclusive",
    }
}

/// Prints a line; answers the most memory that the process has held so far.
fn line(what: &str, report: &Report) -> u64 {
    println!(
        "| {what} | {} | {:.3} | {} | {} |",
        verdict(report),
        report.outcome.statistics.elapsed.as_secs_f64(),
        number(report, "bdd_nodes"),
        number(report, "view_tuples"),
    );
    report.outcome.statistics.peak_memory_bytes.unwrap_or(0)
}

fn heading(what: &str) {
    println!("\n{what}\n\n| | verdict | seconds | nodes | view tuples |\n| --- | --- | --- | --- | --- |");
}

fn table_1() -> u64 {
    let mut peak = 0;
    heading("Table 1: Vector, x of 1 to 8 bits, 3 contexts");
    for (name, java) in [("vector_java5.bp", "Java 5"), ("vector_java6.bp", "Java 6")] {
        for splitting in [Splitting::Eager, Splitting::Lazy] {
            for bits in 1..=8 {
                let text = source(name).replace("int<8>", &format!("int<{bits}>"));
                let report = run(&network(name, &text), 3, splitting);
                peak = line(&format!("{java}, {}, {bits} bits", splitting.name()), &report);
            }
        }
    }
    peak
}

fn table_2() -> u64 {
    let mut peak = 0;
    heading("Table 2: Bluetooth (the paper's view tuples: 21 and 4, 1460 and 154, 234 and 16)");
    for version in 1..=3 {
        let name = format!("bluetooth_v{version}.bp");
        let network = network(&name, &source(&name));
        for splitting in [Splitting::Eager, Splitting::Lazy] {
            let report = run(&network, 5, splitting);
            peak = line(&format!("version {version}, {}", splitting.name()), &report);
        }
    }
    peak
}

fn table_3() -> u64 {
    let mut peak = 0;
    heading("Table 3: binary search tree (the paper's seconds: 3.8, 8.3, 127.1, 712.3 from 1 + 1 at 3)");
    for (threads, name) in [("1 + 1", "binary_search_tree_1_1.bp"), ("2 + 1", "binary_search_tree_2_1.bp")] {
        let network = network(name, &source(name));
        for contexts in 3..=5 {
            let report = run(&network, contexts, Splitting::Lazy);
            peak = line(&format!("{threads}, {contexts} contexts, lazy"), &report);
        }
    }
    peak
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, table) in [("1", table_1 as fn() -> u64), ("2", table_2), ("3", table_3)] {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            let peak = table();
            println!("\nPeak memory: {:.0} MiB", peak as f64 / f64::from(1 << 20));
        }
    }
}
