//! Where a check claims that a label is unreachable with any number of contexts, more contexts do not reach it.

use selvedge_core::Verdict;
use selvedge_symbolic::generate::{Shape, network};
use selvedge_symbolic::interpreter::Interpreter;
use selvedge_symbolic::network::LabelId;
use selvedge_symbolic::{Goal, Options, Splitting, check};

fn compare(first: u64, shape: Shape, threads: u32) -> (u32, u32) {
    let count = std::env::var("SELVEDGE_NETWORKS").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let (mut claimed, mut early) = (0, 0);
    for seed in first..first + count {
        let mut network = network(seed, shape);
        // A label that nothing goes to: the whole search has to be made.
        let procedure = network.label(LabelId(0)).procedure;
        network.add_label("nowhere", procedure);
        let splitting = if seed.is_multiple_of(2) { Splitting::Lazy } else { Splitting::Eager };
        let goal = Goal::Label("nowhere".into());
        let memory = 16 << 20;
        let options =
            Options { contexts: 5, splitting, goal, threads, memory, count: 0, ..Options::default() };
        let report = check(&network, &options, &mut |_| true).unwrap();
        let Verdict::Holds(guarantee) = &report.outcome.verdict else { panic!("seed {seed}: {report:?}") };
        if !guarantee.complete {
            continue;
        }
        claimed += 1;
        let bound = guarantee.bounds.contexts.unwrap_or(0);
        early += u32::from(bound < 5);
        // Heads at the bound of the claim, and at a much larger one.
        let interpreter = Interpreter::new(&network, threads + 1).unwrap();
        let Some((layers, _)) = interpreter.reachable(bound + 4, 7, 15_000) else { continue };
        let tops = |layer: usize| {
            let mut tops = Vec::new();
            for configuration in &layers[layer] {
                let frames: Vec<_> = configuration
                    .threads
                    .iter()
                    .map(|thread| (&thread.registers, thread.stack.last()))
                    .collect();
                tops.push((&configuration.globals, frames));
            }
            tops.sort_unstable();
            tops.dedup();
            tops
        };
        assert_eq!(tops(bound as usize), tops(layers.len() - 1), "seed {seed}: not all at {bound} contexts");
    }
    (claimed, early)
}

#[test]
fn with_recursion() {
    let (claimed, early) =
        compare(20_000_000, Shape { processes: 2, recursion: true, forks: false, rich: false }, 0);
    assert!(claimed > 40 && early > 40, "{claimed} claims, {early} before the last bound");
}

#[test]
fn without_recursion() {
    let (claimed, early) =
        compare(21_000_000, Shape { processes: 2, recursion: false, forks: false, rich: true }, 0);
    assert!(claimed > 40 && early > 40, "{claimed} claims, {early} before the last bound");
}

/// With room for one thread more than the check had, nothing more is visible either: the limit cut nothing off.
#[test]
fn with_created_threads() {
    let (claimed, early) =
        compare(22_000_000, Shape { processes: 1, recursion: false, forks: true, rich: true }, 2);
    assert!(claimed > 40 && early > 40, "{claimed} claims, {early} before the last bound");
}
