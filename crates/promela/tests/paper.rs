//! The paper's own examples (Holzmann and Florian, Bounded Context Switching), and where Spin departs from it.

mod common;

use std::process::Command;

use common::oracles;
use selvedge_promela::{Options, Search, check, parse};

const WORST_CASE: &str = include_str!("../../../corpus/promela/worst_case_ten.pml");
const MISSED: &str = include_str!("../../../corpus/promela/spin_bcs_misses.pml");

/// Appendix C: states at bounds 0, 1, 2, 4, 8 and 16, by both bounded searches.
#[test]
fn the_worst_case_model_has_its_six_numbers() {
    let model = parse(WORST_CASE, "worst_case.pml", None, &[]).expect("it is a model");
    let expected = [(0, 8_960), (1, 25_599), (2, 48_128), (4, 81_056), (8, 88_571), (16, 88_573)];
    for (bound, states) in expected {
        for search in [Search::Layered, Search::Bcs] {
            let options = Options {
                search,
                preemptions: Some(bound),
                at_bound: true,
                all_errors: true,
                ..Options::default()
            };
            let outcome = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
            assert_eq!(outcome.statistics.states, Some(states), "{search:?} at {bound}");
        }
    }
}

/// Rule iv.B: the processes that moved last are part of what is stored.
#[test]
fn an_error_without_preemptions_is_found_where_spin_misses_it() {
    let model = parse(MISSED, "missed.pml", None, &[]).expect("it is a model");
    for search in [Search::Layered, Search::Bcs] {
        let options = Options { search, preemptions: Some(0), at_bound: true, ..Options::default() };
        let outcome = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
        assert_eq!(outcome.violation().map(|violation| violation.preemptions), Some(0), "{search:?}");
    }
    if !oracles("an_error_without_preemptions_is_found_where_spin_misses_it") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("m.pml"), MISSED).expect("it can be written");
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(folder.path()).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run("spin", &["-a", "m.pml"]);
    run("gcc", &["-w", "-DSAFETY", "-DNOREDUCE", "-DBCS", "-o", "pan", "pan.c"]);
    let text = run(&folder.path().join("pan").display().to_string(), &["-L0", "-c0"]);
    assert!(text.contains("errors: 0"), "Spin has been mended: {text}");
}

/// Section 4 (Figure 6): storing states without how they were reached misses the error; Figure 3 does not.
#[test]
fn figure_6_is_found_without_switches() {
    let text = include_str!("../../../corpus/promela/figure_6.pml");
    let model = parse(text, "figure_6.pml", None, &[]).expect("it is a model");
    for search in [Search::Layered, Search::Bcs] {
        let options = Options { search, preemptions: Some(0), at_bound: true, ..Options::default() };
        let outcome = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
        assert_eq!(outcome.violation().map(|violation| violation.preemptions), Some(0));
    }
}

/// Figure 4: with reduction, the run of T2 before T1 must still be found at bound 0.
#[test]
fn figure_4_is_not_lost_by_reduction() {
    let text = "byte y;\nactive proctype T1() { byte x; x = 1; y = 1 }\n\
                active proctype T2() { y = 2 }\nactive proctype Last() { (y == 1 && _nr_pr == 3) -> skip }";
    let text =
        text.replace("(y == 1 && _nr_pr == 3) -> skip", "_nr_pr == 3; y != 0; y != 2 -> assert(y != 1)");
    let model = parse(&text, "figure_4.pml", None, &[]).expect("it is a model");
    for reduce in [false, true] {
        let options = Options {
            search: Search::Bcs,
            preemptions: Some(0),
            at_bound: true,
            reduce,
            ..Options::default()
        };
        let outcome = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
        assert!(outcome.violation().is_some(), "reduce: {reduce}");
    }
}
