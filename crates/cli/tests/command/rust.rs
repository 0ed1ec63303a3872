//! `selvedge check FILE.rs` with programs that write results as the library does.

use crate::common::{Seen, fresh, replay, run, selvedge, stub};
use selvedge_report::from_json_all;

#[test]
fn the_exit_status_is_the_verdict() {
    for (file, status, headline) in [
        ("examples/holds.rs", 0, "HOLDS: holds\n"),
        ("examples/violated.rs", 1, "VIOLATED: violated\n"),
        ("examples/inconclusive.rs", 3, "INCONCLUSIVE: inconclusive\n"),
        ("examples/gated.rs", 0, "HOLDS: gated\n"),
        ("tests/queue.rs", 1, "VIOLATED: closes\n"),
        ("src/lib.rs", 0, "HOLDS: tests::in_the_library\n"),
    ] {
        let seen = run(&["check", file], status);
        assert!(seen.out.contains(headline), "{file}: {seen:?}");
        assert!(!seen.out.contains("the program prints") && seen.err.is_empty(), "{file}: {seen:?}");
    }
}

#[test]
fn the_worst_of_several_verdicts_counts() {
    let seen = run(&["check", "examples/several.rs"], 1);
    let order: Vec<usize> = ["HOLDS: first", "VIOLATED: second", "INCONCLUSIVE: third"]
        .map(|headline| seen.out.find(headline).unwrap())
        .to_vec();
    assert!(order.is_sorted());
}

#[test]
fn tests_are_chosen_by_name() {
    assert!(run(&["check", "tests/queue.rs", "opens"], 0).out.contains("HOLDS: opens"));
    let seen = run(&["check", "tests/queue.rs", "nowhere"], 2);
    assert!(seen.err.contains("no check ran in the test queue whose test has \"nowhere\""), "{seen:?}");
    let seen = run(&["check", "examples/holds.rs", "opens"], 2);
    assert!(seen.err.contains("is not a test"), "{seen:?}");
}

#[test]
fn options_reach_the_library() {
    for (words, expected) in [
        (
            "--preemptions 3 --yields 1 --at-bound --strategy icb --race-mode --allow-races --max-executions 1000 \
             --time 1.5m --seed 7 --patience 5m --spurious 2",
            "ALLOW_RACES=1 AT_BOUND=1 MAX_EXECUTIONS=1000 PATIENCE=300s PREEMPTIONS=3 QUIET=1 RACE_MODE=1 SEED=7 \
             SPURIOUS=2 STRATEGY=icb TIME=90s YIELDS=1",
        ),
        ("--delays 2", "DELAYS=2 QUIET=1"),
        ("--depth 90 --strategy depth", "DEPTH=90 QUIET=1 STRATEGY=depth"),
    ] {
        let words: Vec<_> =
            ["check", "examples/environment.rs"].into_iter().chain(words.split_whitespace()).collect();
        let seen = run(&words, 0);
        assert!(seen.out.starts_with(&format!("HOLDS: {expected}\n")), "{seen:?}");
    }
    assert!(run(&["check", "examples/environment.rs"], 0).out.starts_with("HOLDS: QUIET=1\n"));
}

#[test]
fn json_goes_to_a_file_or_alone_to_standard_output() {
    let file = fresh("json").join("out.json");
    let path = file.to_str().unwrap();
    run(&["check", "examples/several.rs", "--json", path, "--quiet"], 1);
    let reports = from_json_all(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        reports.iter().map(|report| &*report.subject).collect::<Vec<_>>(),
        ["first", "second", "third"]
    );

    let seen = run(&["check", "examples/several.rs", "--json", "-"], 1);
    assert_eq!(from_json_all(&seen.out).unwrap(), reports);
    assert!(seen.err.contains("HOLDS: first"));

    let seen = run(&["report", path], 0);
    assert!(seen.out.contains("HOLDS: first") && seen.out.contains("INCONCLUSIVE: third"), "{seen:?}");
}

#[test]
fn quiet_prints_nothing() {
    let seen = run(&["check", "examples/violated.rs", "--quiet"], 1);
    assert!(seen.out.is_empty() && seen.err.is_empty(), "{seen:?}");
}

#[test]
fn a_violation_says_how_to_replay_it() {
    let seen = run(&["check", "examples/violated.rs"], 1);
    let line = "Replay: SELVEDGE_REPLAY=1A cargo run --release --example violated\n";
    assert!(seen.out.contains(line), "{seen:?}");
    let seen = run(&["check", "tests/queue.rs"], 1);
    let line = "Replay: SELVEDGE_REPLAY=1A cargo test --release --test queue closes\n";
    assert!(seen.out.contains(line), "{seen:?}");
    // From elsewhere the package is named.
    let file = stub().join("examples/violated.rs");
    let seen = Seen::from(selvedge(&["check", file.to_str().unwrap()]).current_dir("/").output().unwrap());
    assert!(seen.out.contains("cargo run --release --manifest-path "), "{seen:?}");
}

#[test]
fn a_trace_is_replayed_with_the_options_of_its_check() {
    let file = fresh("trace").join("bug one.json");
    let path = file.to_str().unwrap();
    let seen = run(&["check", "examples/violated_environment.rs", "--race-mode", "--trace", path], 1);
    let seen = replay(&seen, 1);
    assert!(seen.out.contains("VIOLATED: race=1 replay=1A\n"), "{seen:?}");
    assert!(seen.err.contains("seen in a replay"), "{seen:?}");
    // The program may have moved.
    let moved = stub().join("examples/violated_environment.rs");
    let words = ["replay", path, "--", moved.to_str().unwrap()];
    assert_eq!(selvedge(&words).current_dir("/").output().unwrap().status.code(), Some(1));
}

#[test]
fn the_trace_of_a_test_replays_that_test_only() {
    let file = fresh("test-trace").join("bug.json");
    let path = file.to_str().unwrap();
    let seen = run(&["check", "tests/queue.rs", "--trace", path], 1);
    let again = replay(&seen, 1);
    assert!(again.out.starts_with("VIOLATED: closes\n") && !again.out.contains("HOLDS"), "{again:?}");
    let seen = run(&["replay", path, "--json", "-", "--", "tests/queue.rs", "closes"], 1);
    let reports = from_json_all(&seen.out).unwrap();
    assert_eq!(reports.iter().map(|report| &*report.subject).collect::<Vec<_>>(), ["closes"]);
    // Which test it is of is for the user to say.
    let seen = run(&["replay", path, "--", "tests/queue.rs"], 2);
    assert!(seen.err.contains("name it after the file: closes, closes_again, opens"), "{seen:?}");
}

#[test]
fn no_violation_writes_no_trace() {
    let file = fresh("no-trace").join("bug.json");
    run(&["check", "examples/holds.rs", "--trace", file.to_str().unwrap()], 0);
    assert!(!file.exists());
}

#[test]
fn programs_without_a_result_are_mistakes_with_a_remedy() {
    for (file, message, shown) in [
        ("examples/nothing.rs", "made no check; call selvedge::check", ""),
        ("examples/fails.rs", "failed before a check ended", "before any check"),
        ("examples/garbage.rs", "cannot read the results of the example garbage", "line 1, column"),
        ("examples/broken.rs", "the example broken does not build", "this_does_not_compile"),
        ("benches/speed.rs", "is a bench target; give an example", ""),
        ("tests/common/mod.rs", "give the file that it is part of", "tests/queue.rs"),
    ] {
        let seen = run(&["check", file], 2);
        assert!(seen.err.contains(message) && seen.err.contains(shown), "{file}: {seen:?}");
        assert!(seen.out.is_empty(), "{file}: {seen:?}");
    }
}

#[test]
fn a_failure_beside_checks_that_hold_is_no_success() {
    let seen = run(&["check", "examples/holds_and_fails.rs"], 2);
    assert!(seen.out.starts_with("HOLDS: held\n"), "{seen:?}");
    assert!(seen.err.contains("after the check") && seen.err.contains("though its checks hold"), "{seen:?}");
}

#[test]
fn a_line_that_was_cut_short_does_not_cost_the_others() {
    let seen = run(&["check", "examples/cut_short.rs"], 2);
    assert!(
        seen.out.starts_with("HOLDS: whole\n") && seen.err.contains("though its checks hold"),
        "{seen:?}"
    );
}

#[test]
fn a_mistake_does_not_cost_an_old_result() {
    let file = fresh("old").join("out.json");
    let path = file.to_str().unwrap();
    run(&["check", "examples/several.rs", "--json", path, "--quiet"], 1);
    run(&["check", "examples/nothing.rs", "--json", path], 2);
    assert_eq!(from_json_all(&std::fs::read_to_string(&file).unwrap()).unwrap().len(), 3);
    run(&["check", "examples/holds.rs", "--json", path], 0);
    assert_eq!(from_json_all(&std::fs::read_to_string(&file).unwrap()).unwrap().len(), 1);
}

#[test]
fn a_file_outside_any_package_is_a_mistake_with_a_remedy() {
    // Not below the target directory, which is in a package of its own.
    let file = std::env::temp_dir().join(format!("selvedge-alone-{}.rs", std::process::id()));
    std::fs::write(&file, "fn main() {}").unwrap();
    let seen = run(&["check", file.to_str().unwrap()], 2);
    std::fs::remove_file(&file).unwrap();
    assert!(seen.err.contains("is in no cargo package"), "{seen:?}");
}
