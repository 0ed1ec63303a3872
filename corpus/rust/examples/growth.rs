//! How fast searches cover the work-stealing queue, as comma-separated values to plot.
//!
//! After Figures 1 and 2 of Musuvathi and Qadeer's *Iterative Context Bounding* (PLDI 2007). `cargo run
//! --release --example growth` prints distinct states after so many executions for each search; with the
//! argument `bounds`, for each number of preemptions the fraction of all states that is reached with it, for
//! those programs that can be searched to the end.

use selvedge::{Checker, Coverage, Strategy};

#[allow(dead_code, reason = "its main function is not called")]
#[path = "bluetooth.rs"]
mod bluetooth;
#[allow(dead_code, reason = "its main function is not called")]
#[path = "file_system.rs"]
pub(crate) mod file_system;
#[allow(dead_code, reason = "its main function is not called")]
#[path = "work_stealing_queue.rs"]
pub(crate) mod work_stealing_queue;

/// The searches that Figure 2 compares, and iterative depth bounding of Figure 5.
pub(crate) fn searches() -> [(&'static str, Checker); 6] {
    let checker = || Checker::new().unbounded().coverage(Coverage::States);
    let depth = |depth| checker().strategy(Strategy::Depth).depth(depth);
    [
        ("icb", checker()),
        ("dfs", checker().strategy(Strategy::Dfs)),
        ("random", checker().strategy(Strategy::Random)),
        ("db:20", depth(20).at_bound()),
        ("db:40", depth(40).at_bound()),
        ("idfs", depth(100)),
    ]
}

/// The variant of a program that holds.
pub(crate) fn fixed(variants: &[selvedge_corpus::Variant]) -> fn() {
    variants.iter().find(|(name, _)| *name == "fixed").expect("each program has a variant that holds").1
}

fn print_growth(executions: u64) {
    println!("search,executions,states");
    for (name, checker) in searches() {
        let outcome = checker.max_executions(executions).explore(fixed(work_stealing_queue::VARIANTS));
        for (executions, states) in outcome.statistics.growth {
            println!("{name},{executions},{states}");
        }
    }
}

fn print_bounds() {
    println!("program,preemptions,states,fraction");
    let programs = [
        ("bluetooth", fixed(bluetooth::VARIANTS)),
        ("file_system", fixed(file_system::VARIANTS)),
        ("work_stealing_queue", fixed(work_stealing_queue::VARIANTS)),
    ];
    for (name, test) in programs {
        let outcome = Checker::new().unbounded().max_executions(1_000_000).explore(test);
        if !outcome.holds() {
            eprintln!("{name} was not searched to the end; the fractions are of what was found");
        }
        let all = outcome.statistics.states.expect("states are counted");
        for row in outcome.rows {
            let states = row.states.expect("states are counted");
            println!("{name},{},{states},{:.4}", row.bound, states as f64 / all as f64);
        }
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("bounds") => print_bounds(),
        _ => print_growth(25_000),
    }
}
