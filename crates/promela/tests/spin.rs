//! Spin is asked about the corpus and about the examples of its own package: the same verdict, the same
//! number of stored states and of transitions.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Directives, ask_spin, examples, models, oracles};
use selvedge_promela::{Claims, Options, Search, check, load};

/// Runs a function over a list on two threads; the messages of those that failed.
fn over(list: &[PathBuf], check: impl Fn(&Path) -> Result<(), String> + Sync) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(message) = check(path) {
                        failures.lock().expect("no thread panics").push(message);
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no thread panics")
}

fn compare(path: &Path, claims: Claims, counts: bool) -> Result<(), String> {
    let name = path.display();
    let model = load(path, &[]).map_err(|error| format!("{name}: {error}"))?;
    let flags: &[&str] = if claims == Claims::Ignore { &["-DNOCLAIM"] } else { &[] };
    let spin = ask_spin(path, flags).ok_or_else(|| format!("{name}: Spin gave no answer"))?;
    let options = Options { search: Search::Dfs, all_errors: true, claims, ..Options::default() };
    let checked = check(&model, &options, &mut |_| true).map_err(|error| format!("{name}: {error}"))?;
    let ours = &checked.outcome.statistics;
    if (spin.errors > 0) != checked.outcome.violation().is_some() {
        return Err(format!("{name}: Spin finds {} errors, ours {}", spin.errors, checked.errors));
    }
    if counts && (ours.states, ours.transitions) != (Some(spin.states), Some(spin.transitions)) {
        return Err(format!("{name}: Spin {spin:?}, ours {:?} {:?}", ours.states, ours.transitions));
    }
    Ok(())
}

#[test]
fn the_corpus_counts_as_in_spin() {
    if !oracles("the_corpus_counts_as_in_spin") {
        return;
    }
    let failures = over(&models(), |path| match Directives::of(path).oracle.as_str() {
        "none" => Ok(()),
        kind => compare(path, Claims::Safety, kind == "counts"),
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Millions of states: compared with `SELVEDGE_LONG` only. Both leaders have 5,422,354.
const LONG: [&str; 2] = ["leader.pml", "leader_pre.pml"];
/// Not compared, and why. Ours was run once without reduction for 90 seconds with 5 GiB, on a loaded machine: the
/// states are those stored when the time or the memory was used up. None of the seven was finished.
const LEFT_OUT: [(&str, &str); 8] = [
    ("life.pml", "more than 3,084,809 states of 427 bytes and 20,480,168 transitions in 90 s"),
    (
        "priorities.pml",
        "more than 100,663,298 states and none matched in 5 GiB; Spin stops at its depth limit",
    ),
    ("App.F.pftp.pml", "more than 25,684,171 states of 170 bytes in 90 s"),
    ("p108.pml", "more than 14,661,988 states of up to 765 bytes in 5 GiB"),
    ("ex_6.pml", "more than 49,848,461 states in 90 s"),
    ("ltl_gen.pml", "more than 33,751,108 states and none matched in 5 GiB"),
    (
        "patterns.pml",
        "Spin writes no verifier, as it refuses the operator X; without its formulas it is compared below",
    ),
    ("petersonN.pml", "more than 100,670,304 states in 5 GiB"),
];

#[test]
fn the_examples_of_spin_count_as_in_spin() {
    let test = "the_examples_of_spin_count_as_in_spin";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    let long = std::env::var_os("SELVEDGE_LONG").is_some();
    let mut list = Vec::new();
    for folder in [root.clone(), root.join("Book_1991"), root.join("Exercises"), root.join("LTL")] {
        for entry in std::fs::read_dir(folder).expect("the examples can be read") {
            let path = entry.expect("the examples can be read").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let left_out = LEFT_OUT.iter().any(|(left_out, _)| *left_out == name);
            if name.ends_with(".pml") && !left_out && (long || !LONG.contains(&name.as_str())) {
                list.push(path);
            }
        }
    }
    list.sort();
    assert!(list.len() > 50, "{} examples", list.len());
    let failures = over(&list, |path| {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("it can be read")).into_owned();
        let begins = |line: &str| ["never", "trace", "notrace"].iter().any(|word| line.starts_with(word));
        let claimed = text.lines().any(|line| begins(line.trim_start())) || text.contains("claim.h");
        let claims = if claimed { Claims::Safety } else { Claims::Ignore };
        compare(path, claims, true)
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Spin refuses a formula of this example; the model itself is compared.
#[test]
fn an_example_counts_as_in_spin_without_its_formulas() {
    let test = "an_example_counts_as_in_spin_without_its_formulas";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    let text = std::fs::read_to_string(root.join("LTL/patterns.pml")).expect("it can be read");
    let kept: String =
        text.lines().filter(|line| !line.contains("ltl ")).map(|line| line.to_string() + "\n").collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("patterns.pml");
    std::fs::write(&path, kept).expect("it can be written");
    compare(&path, Claims::Ignore, true).unwrap_or_else(|error| panic!("{error}"));
}
