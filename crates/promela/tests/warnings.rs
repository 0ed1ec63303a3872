//! Values that do not fit: what is said where, beside Spin's simulator.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use common::oracles;
use selvedge_promela::{Guide, Options, Search, check, load, parse, simulate};

fn model() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/promela/truncated.pml")
}

/// The lines of the warnings of a random run.
fn simulated(model: &selvedge_promela::Model) -> Vec<u32> {
    let mut lines = Vec::new();
    let mut print = |line: &str| {
        if let Some(rest) = line.strip_prefix("warning: ") {
            lines.push(rest.split(':').nth(1).expect("a place").parse().expect("a line"));
        }
    };
    simulate(model, Guide::Random(3), 1000, &mut print).expect("it runs");
    lines
}

#[test]
fn warnings_stand_where_spin_has_them() {
    if !oracles("warnings_stand_where_spin_has_them") {
        return;
    }
    let output = Command::new("spin").arg("-n3").arg(model()).output().expect("Spin runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let spin: Vec<u32> = text
        .lines()
        .filter(|line| line.contains("truncated in assignment"))
        .map(|line| line.split(':').nth(2).expect("a place").split(',').next().unwrap().parse().unwrap())
        .collect();
    assert!(spin.len() > 6, "{text}");
    let model = load(&model(), &[]).expect("it is a model");
    assert_eq!(simulated(&model), spin);
    // A search meets every one of them, however it goes, and holds all the same.
    for search in [Search::Layered, Search::Dfs, Search::Bfs, Search::Bcs] {
        let options = Options { search, ..Options::default() };
        let checked = check(&model, &options, &mut |_| true).expect("it is checked");
        assert!(checked.outcome.holds());
        let ours: BTreeSet<u32> = checked.truncated.iter().map(|(place, _)| place.line).collect();
        assert_eq!(ours, spin.iter().copied().collect(), "{search:?}");
    }
}

/// What only an unlucky schedule cuts, only the search finds; a run that does not go there says nothing.
#[test]
fn a_search_warns_of_what_one_run_may_not_meet() {
    let text = "byte x = 255; bool go;\nactive proctype P() { go -> x++ }\n\
                active proctype Q() { if :: go = true :: x = 3; go = true fi }";
    let model = parse(text, "t", None, &[]).expect("it is a model");
    let checked = check(&model, &Options::default(), &mut |_| true).expect("it is checked");
    let places: Vec<(u32, &str)> =
        checked.truncated.iter().map(|(place, text)| (place.line, text.as_str())).collect();
    assert_eq!(places, [(2, "x = (x+1)")]);
    let runs: Vec<usize> = (0..20)
        .map(|seed| {
            let mut warnings = 0;
            let mut print = |line: &str| warnings += usize::from(line.starts_with("warning"));
            simulate(&model, Guide::Random(seed), 100, &mut print).expect("it runs");
            warnings
        })
        .collect();
    assert!(runs.contains(&0) && runs.contains(&1), "{runs:?}");
}

#[test]
fn values_that_fit_are_not_warned_of() {
    let text = "byte x = 255; bit b; short s = -32768; unsigned u : 3 = 7; int i = -1; chan c = [1] of { byte };\n\
                active proctype P() { x = x; b = (x > 3); s = s; u = u % 8; i = i * 65535; c!x; c?i; x = i;\n\
                x = len(c); x = x / 2; u = x & 7; x = _pid }";
    let model = parse(text, "t", None, &[]).expect("it is a model");
    let checked = check(&model, &Options::default(), &mut |_| true).expect("it is checked");
    assert_eq!(checked.truncated, []);
    assert_eq!(simulated(&model), [0_u32; 0]);
}

/// A counterexample's own warnings, and no others, come with its replay.
#[test]
fn a_replay_warns_of_its_own_steps() {
    let text = "byte x; byte y;\nactive proctype P() { if :: x = 256 :: y = 257 fi;\nassert(y != 1) }";
    let model = parse(text, "t", None, &[]).expect("it is a model");
    let checked = check(&model, &Options::default(), &mut |_| true).expect("it is checked");
    let schedule = &checked.outcome.violation().expect("y is 1").schedule;
    let again = selvedge_promela::replay(&model, &Options::default(), schedule).expect("it replays");
    let texts: Vec<&str> = again.truncated.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["257 becomes 1"]);
}
