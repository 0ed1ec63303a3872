//! The examples of the corpus: each says what is to be found in it.
//!
//! `// expect: KIND preemptions=N says=WORDS` is a violation, found under iterative context bounding with as many
//! preemptions and with these words in its message; `// expect: holds` is none. `// options:` is what the command
//! would be given.

use std::path::Path;

use selvedge_core::{Outcome, Verdict};
use selvedge_native::{Named, NativeProgram, Search};

use crate::common::{compile, corpus, has};

struct Expected {
    kind: String,
    preemptions: Option<u32>,
    says: String,
    options: String,
}

fn expected(source: &str) -> Expected {
    let text = std::fs::read_to_string(corpus().join(source)).unwrap();
    let directive = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("// {name}: ")));
        line.unwrap_or_default().to_string()
    };
    let expect = directive("expect");
    let (head, says) = expect.split_once(" says=").unwrap_or((&expect, ""));
    let mut words = head.split_whitespace();
    Expected {
        kind: words.next().expect("what is expected").to_string(),
        preemptions: words.next().map(|word| word.strip_prefix("preemptions=").unwrap().parse().unwrap()),
        says: says.to_string(),
        options: directive("options"),
    }
}

#[track_caller]
fn compare(source: &str, expected: &Expected, outcome: &Outcome, strategy: &str) {
    match &outcome.verdict {
        Verdict::Violated(violation) => {
            assert_eq!(violation.kind.name(), expected.kind, "{source} {strategy}: {violation:#?}");
            assert!(violation.message.contains(&expected.says), "{source} {strategy}: {}", violation.message);
            if strategy != "random" {
                assert_eq!(Some(violation.preemptions), expected.preemptions, "{source} {strategy}");
            }
        }
        Verdict::Holds(_) => assert_eq!("holds", expected.kind, "{source} {strategy}"),
        Verdict::Inconclusive(gap) => {
            assert!(strategy == "random" && expected.kind == "holds", "{source} {strategy}: {gap:?}");
        }
    }
}

/// Checks a program of the corpus with some of the strategies, and replays what they find.
#[track_caller]
pub(crate) fn check(source: &str, strategies: &[&str]) {
    if !has(if source.ends_with(".cpp") { "g++" } else { "gcc" }, source) {
        return;
    }
    check_program(source, &compile(source, &[]), strategies);
}

/// Checks a compiled program.
#[track_caller]
pub(crate) fn check_program(source: &str, program: &Path, strategies: &[&str]) {
    let expected = expected(source);
    let program = NativeProgram::open(program).unwrap();
    let program = program.fails_by_status(expected.options.contains("--exit-status"));
    let program = program.race_mode(expected.options.contains("--race-mode")).unwrap();
    let spurious = expected.options.split_once("--spurious ").map(|(_, number)| number.parse().unwrap());
    let program = program.spurious(spurious.unwrap_or(0));
    for strategy in strategies {
        let random = *strategy == "random";
        let search = Search {
            strategy: strategy.parse().unwrap(),
            max_executions: random.then_some(2_000),
            ..Search::default()
        };
        let outcome = search.check(&program, None, &mut |_| ()).unwrap();
        compare(source, &expected, &outcome, strategy);
        if let Some(violation) = outcome.violation() {
            let token = violation.schedule.to_string();
            let again = search.replay(&program, &token.parse().unwrap()).unwrap();
            let again = again.violation().unwrap_or_else(|| panic!("{source}: {token} does not fail again"));
            assert_eq!((again.kind, &again.location), (violation.kind, &violation.location), "{source}");
            assert_eq!(again.trace, violation.trace, "{source}");
        }
    }
}

#[test]
fn every_example_is_as_it_says() {
    for entry in std::fs::read_dir(corpus().join("examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        check(&format!("examples/{name}"), &["icb", "cb-por", "random"]);
    }
}

/// What a thread does before the process exits is not what it does after that.
#[test]
fn every_strategy_tells_orders_with_the_exit_apart() {
    for name in [
        "two_exits.c",
        "asleep_at_exit.c",
        "waits_at_exit.c",
        "exit_in_thread.c",
        "closed_at_exit.c",
        "sleeps_at_exit.c",
        "stops_at_exit.cpp",
        "stuck_at_exit.c",
        "late_handler.c",
    ] {
        check(&format!("examples/{name}"), &["bpor", "dpor", "optimal"]);
    }
}

/// Whichever way the process ends, what other threads had still to do is seen.
#[test]
fn every_way_to_exit_waits_for_threads() {
    if !has("gcc", "every_way_to_exit_waits_for_threads") {
        return;
    }
    let ways = [
        "return 0",
        "exit(0)",
        "err(0, \"the end\")",
        "error(1, 0, \"the end\")",
        "quick_exit(0)",
        "_exit(0)",
        "syscall(SYS_exit_group, 0)",
    ];
    for way in ways {
        let program = compile("examples/complains.c", &[&format!("-DEND={way}")]);
        check_program("examples/complains.c", &program, &["icb"]);
    }
}

/// What a cancellation wakes a thread from is part of what it does.
#[test]
fn every_strategy_tells_orders_with_a_cancellation_apart() {
    for name in ["cancelled_after_signal", "cancelled_waiters", "signalled_then_cancelled"] {
        check(&format!("examples/{name}.c"), &["bpor", "optimal"]);
    }
}

/// That a writer waits keeps readers out: to begin to wait is a step that depends on theirs.
#[test]
fn every_strategy_tells_orders_with_a_waiting_writer_apart() {
    check("examples/read_lock_twice.c", &["bpor", "dpor", "optimal"]);
}

/// Of the strategies, only those that go by preemptions say how few are needed.
#[test]
fn every_strategy_finds_a_bug() {
    if !has("gcc", "every_strategy_finds_a_bug") {
        return;
    }
    let program = NativeProgram::open(&compile("examples/counter.c", &["-O1"])).unwrap();
    for (_, strategy) in Named::ALL {
        let search = Search { strategy, ..Search::default() };
        let outcome = search.check(&program, None, &mut |_| ()).unwrap();
        let violation = outcome.violation().unwrap_or_else(|| panic!("{strategy}: {:?}", outcome.verdict));
        assert_eq!((violation.kind.name(), violation.preemptions), ("assertion", 1), "{strategy}");
        assert_eq!(program.output(), "counted to 1\n", "{strategy}");
    }
}

/// A counterexample has names as the source has them.
#[test]
fn names_of_cpp_are_demangled() {
    if !has("g++", "names_of_cpp_are_demangled") {
        return;
    }
    let program = NativeProgram::open(&compile("examples/names.cpp", &[])).unwrap();
    let outcome = Search::default().check(&program, None, &mut |_| ()).unwrap();
    let violation = outcome.violation().unwrap();
    let text = format!("{:?} {}", violation.trace, violation.message);
    assert!(text.contains("bank::account::deposit"), "{text}");
    assert!(!text.contains("_ZN"), "{text}");
}
