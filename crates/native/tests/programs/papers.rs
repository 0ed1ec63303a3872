//! The papers' programs in C. Those that the corpus has in Rust too must be explored alike: the same executions, partial
//! orders and states at each bound.

use std::path::Path;

use selvedge_core::{Outcome, ViolationKind};
use selvedge_native::{NativeProgram, Parameters, Search};

use crate::common::{compile, corpus, has, instrument};

fn check(program: &Path, strategy: &str, preemptions: u32, words: &[&str]) -> Outcome {
    let program = NativeProgram::open(program).unwrap().arguments(words.iter().map(|word| word.to_string()));
    let search = Search {
        strategy: strategy.parse().unwrap(),
        parameters: Parameters::bounded(preemptions),
        ..Search::default()
    };
    search.check(&program, None, &mut |_| ()).unwrap()
}

/// What the program in Rust says of a variant: how many preemptions its bug needs, or up to how many it holds; and
/// the executions, orders and states at each bound.
fn expected(name: &str, variant: &str) -> (bool, u32, Vec<[u64; 3]>) {
    let source = corpus().join(format!("../rust/examples/{name}.rs"));
    let text = std::fs::read_to_string(source).unwrap();
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
    };
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//@ ")).collect();
    let verdict = lines.iter().find_map(|line| line.strip_prefix(&format!("{variant}: "))).unwrap();
    let rows = (0..).map_while(|bound| {
        let row = lines.iter().find_map(|line| line.strip_prefix(&format!("{variant} at {bound}: ")))?;
        Some(numbers(row).try_into().unwrap())
    });
    (verdict.starts_with("violated"), numbers(verdict)[0] as u32, rows.collect())
}

#[track_caller]
fn as_in_rust(name: &str, variants: &[&str]) {
    if !has("gcc", name) {
        return;
    }
    let program = instrument(&format!("papers/{name}.c"), &[]);
    for variant in variants {
        let (violated, preemptions, rows) = expected(name, variant);
        let outcome = check(&program, "cb-por", if violated { 3 } else { preemptions }, &[variant]);
        assert_eq!(violated, outcome.violation().is_some(), "{name} {variant}: {outcome:?}");
        if let Some(violation) = outcome.violation() {
            assert_eq!(
                (violation.kind, violation.preemptions),
                (ViolationKind::Assertion, preemptions),
                "{variant}"
            );
        }
        let seen: Vec<[u64; 3]> = (outcome.rows.iter())
            .map(|row| [row.executions.unwrap(), row.distinct.unwrap(), row.states.unwrap()])
            .collect();
        assert_eq!(seen, rows, "{name} {variant}");
    }
}

#[test]
fn the_work_stealing_queue_is_explored_as_in_rust() {
    as_in_rust("work_stealing_queue", &["look-before-claim", "no-spare-slot", "no-second-look", "fixed"]);
}

#[test]
fn the_bluetooth_driver_is_explored_as_in_rust() {
    as_in_rust("bluetooth", &["check-then-count", "fixed"]);
}

#[test]
fn the_file_system_is_explored_as_in_rust() {
    as_in_rust("file_system", &["fixed"]);
}

/// One preemption is enough, however many they are: the first is stopped with one fork, and then each, from the last to
/// the second, takes its left fork and waits for its right.
#[test]
fn philosophers_starve_after_one_preemption() {
    if !has("gcc", "philosophers") {
        return;
    }
    let program = compile("papers/philosophers.c", &[]);
    for count in 2..=4_u32 {
        let outcome = check(&program, "cb-por", 3, &[&count.to_string()]);
        let violation = outcome.violation().unwrap_or_else(|| panic!("{count}: {outcome:?}"));
        assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Deadlock, 1));
        let outcome = check(&program, "cb-por", 2, &[&count.to_string(), "left-handed"]);
        assert!(outcome.holds(), "{count}: {outcome:?}");
    }
}

/// One preemption is enough however many threads there are. With many, the orders without a preemption alone are too
/// many to see them all first; then executions are drawn at random, and what is found is made simpler.
#[test]
fn reordering_and_two_stages_with_many_threads() {
    if !has("gcc", "reordering_and_two_stages_with_many_threads") {
        return;
    }
    let reorder = instrument("papers/reorder.c", &[]);
    let two_stage = compile("papers/two_stage.c", &[]);
    for threads in [3, 4, 5, 10, 20] {
        for program in [&reorder, &two_stage] {
            let strategy = if threads < 5 { "cb-por" } else { "random" };
            let outcome = check(program, strategy, 1, &[&(threads - 1).to_string(), "1"]);
            let violation = outcome.violation().unwrap_or_else(|| panic!("{threads}: {outcome:?}"));
            assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Assertion, 1), "{threads}");
        }
    }
}
