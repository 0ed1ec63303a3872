//! C and C++ executables: options and limits, and what surrounds a program.

use crate::common::{fresh, run};
use crate::native::{COUNTER, compile, has_gcc};

/// The bug of this program needs one preemption.
#[test]
fn every_bound_is_heeded_or_refused() {
    if !has_gcc("every_bound_is_heeded_or_refused") {
        return;
    }
    let program = compile(&fresh("native-bounds"), COUNTER, &[]);
    let check = |words: &str, status: i32| {
        let words: Vec<_> =
            ["check", program.to_str().unwrap()].into_iter().chain(words.split(' ')).collect();
        run(&words, status)
    };
    assert!(check("--delays 0", 0).out.contains("at most 0 delays"));
    assert!(check("--delays 1", 1).out.contains("counter == 2"));
    assert!(check("--depth 3", 0).out.contains("at most 3 steps"));
    assert!(check("--depth 50", 1).out.contains("counter == 2"));
    for strategy in ["icb", "dfs", "cb-por", "cb-por-all", "bpor", "bpor-plain", "optimal"] {
        check(&format!("--strategy {strategy} --preemptions 0"), 0);
        check(&format!("--strategy {strategy} --preemptions 1"), 1);
    }
    for (words, message) in [
        ("--strategy delay --preemptions 0", "--preemptions: the strategy delay has no bound on preemptions"),
        ("--strategy depth --preemptions 0", "--preemptions: the strategy depth has no bound on preemptions"),
        ("--strategy dpor --preemptions 0", "or choose one that has it: icb, dfs, cb-por"),
        ("--strategy random --preemptions 0", "leave that bound out"),
        ("--strategy pct --delays 1", "--delays: the strategy pct has no bound on delays"),
        ("--strategy icb --depth 9", "or choose one that has it: depth"),
        ("--strategy dpor --yields 2", "--yields: the strategy dpor has no bound on yields"),
        ("--preemptions 1 --delays 1", "--preemptions: the strategy delay has no bound on preemptions"),
    ] {
        let seen = check(words, 2);
        assert!(seen.err.contains(message) && seen.out.is_empty(), "{words}: {seen:?}");
    }
}
