//! Choices are explored: every value, exactly once each where there is nothing else to explore, together with
//! schedules where there is, and the same again on replay.

mod common;

use std::collections::BTreeSet;

use common::outcomes;
use selvedge::rand::{self, Rng};
use selvedge::{Checker, Strategy, choose, thread};

fn executions(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let outcome = Checker::new().strategy(Strategy::Dfs).explore(f);
    assert!(outcome.holds(), "{:?}", outcome.verdict);
    outcome.statistics.executions.unwrap()
}

#[test]
fn every_value_is_explored_exactly_once() {
    for n in [1, 2, 3, 7, 300] {
        assert_eq!(outcomes(move || choose(n)), (0..n).collect());
        assert_eq!(executions(move || _ = choose(n)), n as u64);
    }
}

#[test]
fn choices_multiply() {
    let pairs = outcomes(|| (choose(3), choose(4)));
    assert_eq!(pairs.len(), 12);
    assert_eq!(executions(|| _ = (choose(3), choose(4))), 12);
    // A later choice may depend on an earlier one.
    let triangle = outcomes(|| {
        let first = choose(4);
        (first, choose(first + 1))
    });
    assert_eq!(triangle.len(), 1 + 2 + 3 + 4);
    assert!(triangle.iter().all(|(first, second)| second <= first));
}

#[test]
fn choices_are_explored_at_no_preemptions_and_by_every_strategy() {
    for strategy in
        [Strategy::Icb, Strategy::Dfs, Strategy::Delay, Strategy::Depth, Strategy::Random, Strategy::Pct]
    {
        let outcome = Checker::new().preemptions(0).strategy(strategy).explore(|| {
            assert!(choose(5) + 5 * choose(5) != 23);
        });
        assert!(outcome.violation().is_some(), "{strategy:?}: {:?}", outcome.verdict);
    }
    let outcome = Checker::new().preemptions(0).explore(|| _ = choose(5));
    assert!(outcome.guarantee().unwrap().complete);
    assert_eq!(outcome.statistics.executions, Some(5));
}

#[test]
fn choices_and_schedules_are_explored_together() {
    use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    let found = outcomes(|| {
        let place = std::sync::Arc::new(AtomicUsize::new(9));
        let other = place.clone();
        let thread = thread::spawn(move || {
            let value = choose(2);
            other.store(value, SeqCst);
            value
        });
        let own = 2 + choose(2);
        let seen = place.swap(own, SeqCst);
        (thread.join().unwrap(), own, seen, place.load(SeqCst))
    });
    let mut all = BTreeSet::new();
    for theirs in 0..2 {
        for own in 2..4 {
            all.insert((theirs, own, theirs, own));
            all.insert((theirs, own, 9, theirs));
        }
    }
    assert_eq!(found, all);
}

#[test]
fn a_choice_is_in_the_counterexample_and_replays() {
    let program = || {
        let thread = thread::spawn(|| choose(8));
        let own = choose(8);
        let theirs = thread.join().unwrap();
        assert!(own != 5 || theirs != 6, "found {own} and {theirs}");
    };
    let outcome = Checker::new().explore(program);
    let violation = outcome.violation().unwrap().clone();
    assert!(violation.message.contains("found 5 and 6"), "{}", violation.message);
    let chosen: BTreeSet<_> = violation
        .trace
        .steps
        .iter()
        .filter(|step| step.op.starts_with("choose"))
        .map(|step| step.value.clone().unwrap())
        .collect();
    assert_eq!(chosen, ["5".to_string(), "6".to_string()].into());
    let token = violation.schedule.to_string();
    let again = Checker::new().replay(token.parse().unwrap()).explore(program);
    assert_eq!(again.violation().unwrap().message, violation.message);
    assert_eq!(again.violation().unwrap().trace.steps.len(), violation.trace.steps.len());
}

#[test]
fn a_choice_in_a_thread_that_has_just_begun_is_explored() {
    let found = outcomes(|| {
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| choose(2))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(found.len(), 8);
}

#[test]
fn a_choice_while_a_panic_unwinds_is_explored() {
    struct Chooses;
    impl Drop for Chooses {
        fn drop(&mut self) {
            choose(3);
        }
    }
    let outcome = Checker::new().keep_going().strategy(Strategy::Dfs).explore(|| {
        let _chooses = Chooses;
        panic!("on purpose");
    });
    assert!(outcome.violation().unwrap().message.contains("on purpose"));
}

#[test]
fn outside_of_a_check_values_are_spread() {
    let found: BTreeSet<_> = (0..1000).map(|_| choose(5)).collect();
    assert_eq!(found, (0..5).collect());
    assert_eq!(choose(1), 0);
    let mut rng = rand::rng();
    let rolls: BTreeSet<i32> = (0..1000).map(|_| rng.random_range(-2..=2)).collect();
    assert_eq!(rolls, (-2..=2).collect());
    assert!((0..100).map(|_| rand::random::<bool>()).collect::<BTreeSet<_>>().len() == 2);
    assert!((0..100).all(|_| !rng.random_bool(0.0) && rng.random_bool(1.0)));
    let hits = (0..10_000).filter(|_| rng.random_bool(0.2)).count();
    assert!((1_500..2_500).contains(&hits), "{hits}");
    let _: u64 = rng.random();
    let _ = rng.random_range(0..u64::MAX);
    let _ = rng.random_range(i64::MIN..=i64::MAX);
}

#[test]
#[should_panic = "choose(0): there is nothing to choose from"]
fn there_is_nothing_in_zero_values() {
    choose(0);
}

#[test]
fn there_is_nothing_in_zero_values_in_a_check() {
    let outcome = Checker::new().explore(|| _ = choose(0));
    assert!(outcome.violation().unwrap().message.contains("nothing to choose from"));
}

#[test]
fn random_values_are_explored() {
    assert_eq!(outcomes(rand::random::<bool>), [false, true].into());
    assert_eq!(outcomes(|| rand::rng().random_range(3..6)), (3..6).collect());
    assert_eq!(outcomes(|| rand::thread_rng().gen_range(-1_i8..=1)), (-1..=1).collect());
    assert_eq!(outcomes(rand::random::<u8>).len(), 256);
    assert_eq!(outcomes(|| rand::rng().random::<i8>()), (i8::MIN..=i8::MAX).collect());
    assert_eq!(outcomes(|| rand::rng().random_range(u64::MAX - 1..=u64::MAX)).len(), 2);
    assert_eq!(outcomes(|| rand::rng().random_range(i64::MIN..i64::MIN + 2)).len(), 2);
    assert_eq!(outcomes(|| rand::rng().random_bool(0.01)), [false, true].into());
    assert_eq!(outcomes(|| rand::rng().gen_bool(1.0)), [true].into());
    assert_eq!(outcomes(|| rand::rng().random_ratio(0, 3)), [false].into());
    assert_eq!(outcomes(|| rand::rng().gen_ratio(1, 3)), [false, true].into());
}

#[test]
fn random_values_are_in_the_counterexample() {
    let outcome = Checker::new().explore(|| {
        let mut rng = rand::rng();
        assert!(rng.random_range(-3..=3) != -2 || !rng.random::<bool>());
    });
    let steps = &outcome.violation().unwrap().trace.steps;
    let values: Vec<_> = steps.iter().filter_map(|step| step.value.as_deref()).collect();
    assert_eq!(values, ["-2", "true, then panics"]);
}

#[test]
fn a_range_that_is_too_large_is_an_error_that_says_what_to_do() {
    let programs: [fn(); 4] = [
        || _ = rand::rng().random_range(0..257),
        || _ = rand::random::<u64>(),
        || _ = thread::spawn(|| rand::random::<i32>()).join(),
        || {
            struct Draws;
            impl Drop for Draws {
                fn drop(&mut self) {
                    let _: u16 = rand::random();
                }
            }
            let _draws = Draws;
            panic!("on purpose");
        },
    ];
    for program in programs {
        let error = Checker::new().try_explore(program).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("draw from a smaller range") && text.contains("choose.rs"), "{text}");
    }
    // The runtime is as good as new.
    assert_eq!(outcomes(|| choose(2)).len(), 2);
}

#[test]
fn an_empty_range_panics() {
    let outcome = Checker::new().explore(|| _ = rand::rng().random_range(5..5));
    assert!(outcome.violation().unwrap().message.contains("is empty"));
    let outcome = Checker::new().explore(|| _ = rand::rng().random_bool(1.5));
    assert!(outcome.violation().unwrap().message.contains("no probability"));
}
