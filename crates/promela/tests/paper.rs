//! The paper's own examples (Holzmann and Florian, Bounded Context Switching), and where Spin departs from it.

mod common;

use std::process::Command;

use common::{ask_spin, ask_spin_with, examples, oracles};
use selvedge_promela::{Claims, Options, Search, check, load, parse};

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

/// Table 1, the unbounded column. The paper counted what Spin stores after its own optimisations of the model (dead
/// variables, write-only variables, merged statements), of pftp without the first. Ours is the raw model's count.
#[test]
fn the_unbounded_column_of_table_1_is_spins_and_ours_is_the_raw_model() {
    let test = "the_unbounded_column_of_table_1_is_spins_and_ours_is_the_raw_model";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    let read = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(root.join(name)).expect("it can be read")).into_owned()
    };
    let exclusive =
        |line: &&str| !(line.trim_start().starts_with("xr ") || line.trim_start().starts_with("xs "));
    let pftp: String =
        read("LTL/pftp.pml").lines().filter(exclusive).map(|line| line.to_string() + "\n").collect();
    // Name, text, Spin's options, states with them (the paper's column), states of the raw model.
    let (all, no_dead): (&[&str], &[&str]) = (&[], &["-o1"]);
    let models = [
        ("snoopy", read("snoopy.pml"), all, 61_619, 91_920),
        ("dtp", read("dtp.pml").replace("[2] of", "[4] of"), all, 394_182, 427_567),
        ("pftp", pftp, no_dead, 439_894, 439_895),
        ("cambridge", read("cambridge.pml"), all, 532_532, 1_252_655),
        ("worst", WORST_CASE.to_string(), all, 88_573, 88_573),
    ];
    for (name, text, options, optimised, raw) in models {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(format!("{name}.pml"));
        std::fs::write(&path, text).expect("it can be written");
        let spin = ask_spin_with(&path, options, &["-DNOCLAIM"]).expect("Spin answers");
        assert_eq!(spin.states, optimised, "{name}: Spin's optimised model");
        let spin = ask_spin(&path, &["-DNOCLAIM"]).expect("Spin answers");
        assert_eq!(spin.states, raw, "{name}: Spin's raw model");
        let model = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let options =
            Options { search: Search::Dfs, all_errors: true, claims: Claims::Ignore, ..Options::default() };
        let ours = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
        let counts = (ours.statistics.states, ours.statistics.transitions);
        assert_eq!(counts, (Some(raw), Some(spin.transitions)), "{name}");
        assert_eq!(ours.violation().is_some(), spin.errors > 0, "{name}");
    }
}
