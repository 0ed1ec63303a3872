//! Where other checkers of concurrent Rust are wrong or give up: each case is a test of ours.

use std::collections::BTreeSet;
use std::sync::Mutex as Plain;
use std::time::Duration;

use selvedge::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Barrier, Mutex};
use selvedge::{Checker, Coverage, Outcome, Strategy, Verdict, ViolationKind, hint, thread};
use selvedge_testgen::{Limits, Program, enumerate};

/// Runs `count` threads with the same body, which is given the number of its thread, and waits for them.
fn crew(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = std::sync::Arc::new(body);
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let body = body.clone();
            thread::spawn(move || body(number))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Runs a search, and collects what the closure returns in each execution.
fn results<T: Ord + Send + 'static>(
    checker: Checker,
    f: impl Fn() -> T + Send + Sync + 'static,
) -> (Outcome, BTreeSet<T>) {
    let seen = std::sync::Arc::new(Plain::new(BTreeSet::new()));
    let log = seen.clone();
    let outcome = checker.explore(move || {
        let result = f();
        log.lock().unwrap().insert(result);
    });
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

fn distinct(outcome: &Outcome) -> u64 {
    outcome.rows.last().and_then(|row| row.distinct).expect("orders are counted")
}

/// Each of the threads loads a counter and stores one more: what each has read, and what is there at the end.
fn load_then_store(count: usize) -> (Vec<usize>, usize) {
    let read: std::sync::Arc<Plain<Vec<usize>>> = std::sync::Arc::new(Plain::new(vec![0; count]));
    let counter = Arc::new(AtomicUsize::new(0));
    let (log, shared) = (read.clone(), counter.clone());
    crew(count, move |number| {
        let value = shared.load(SeqCst);
        log.lock().unwrap()[number] = value;
        shared.store(value + 1, SeqCst);
    });
    let read = read.lock().unwrap().clone();
    (read, counter.load(SeqCst))
}

#[test]
fn two_threads_that_load_then_store_show_every_outcome() {
    for strategy in [Strategy::Icb, Strategy::Dfs] {
        let (outcome, seen) = results(Checker::new().unbounded().strategy(strategy), || load_then_store(2));
        assert!(outcome.holds());
        assert!(outcome.guarantee().unwrap().complete);
        // The serial executions are among them.
        let expected = [(vec![0, 0], 1), (vec![0, 1], 2), (vec![1, 0], 2)];
        assert_eq!(seen, expected.into_iter().collect());
        assert_eq!(distinct(&outcome), 4);
    }
}

#[test]
fn three_threads_that_load_then_store_show_every_outcome_and_every_order() {
    let body = "load 0; store-next 0";
    let main = "spawn 1; spawn 2; spawn 3; join 1; join 2; join 3; load 0";
    let program: Program = format!("{main} | {body} | {body} | {body}").parse().unwrap();
    let all = enumerate(&program, Limits { executions: 1_000_000, ..Limits::default() }).unwrap();
    let expected: BTreeSet<(Vec<usize>, usize)> = all
        .runs
        .iter()
        .map(|run| {
            let mut seen = run.outcome.registers.iter().map(|registers| registers[0] as usize);
            let at_end = seen.next().expect("the first thread reads last");
            (seen.collect(), at_end)
        })
        .collect();
    assert_eq!(expected.len(), 16);
    for strategy in [Strategy::Icb, Strategy::default()] {
        let checker = Checker::new().strategy(strategy).unbounded();
        let (outcome, seen) = results(checker, || load_then_store(3));
        assert!(outcome.guarantee().unwrap().complete);
        assert_eq!(seen, expected);
        assert_eq!(distinct(&outcome), 36);
        assert_eq!(distinct(&outcome), all.orders_within(u32::MAX) as u64);
        if strategy == Strategy::Icb {
            assert_eq!(outcome.statistics.executions, Some(all.runs.len() as u64));
        }
    }
}

/// The bug shows when the second thread is done before the first begins: whoever runs after the joining
/// thread blocked is chosen freely.
#[test]
fn a_bug_that_needs_no_preemption_is_found_at_bound_0() {
    let outcome = Checker::new().preemptions(0).explore(|| {
        let (first, second) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        crew(2, move |number| match number {
            0 => {
                first.store(true, SeqCst);
                assert!(!second.load(SeqCst), "the second was first");
            }
            _ => second.store(true, SeqCst),
        });
    });
    let violation = outcome.violation().expect("free switches are not cut");
    assert_eq!(violation.preemptions, 0);
}

/// The same with one preemption more: the second thread must run, alone, between two steps of the third,
/// before the first.
#[test]
fn a_bug_that_needs_one_preemption_is_found_at_bound_1() {
    let body = || {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let log = steps.clone();
        let turn = Arc::new(AtomicUsize::new(0));
        crew(3, move |number| {
            turn.fetch_add(1, SeqCst);
            log.lock().unwrap().push(number);
            turn.fetch_add(1, SeqCst);
            log.lock().unwrap().push(number);
        });
        assert_ne!(*steps.lock().unwrap(), [2, 1, 1, 2, 0, 0]);
    };
    assert!(Checker::new().preemptions(0).explore(body).holds());
    let outcome = Checker::new().preemptions(1).explore(body);
    let violation = outcome.violation().expect("free switches are not cut");
    assert_eq!(violation.preemptions, 1);
    assert_eq!(violation.below.as_ref().unwrap().bounds.preemptions, Some(0));
}

#[test]
fn dekker_has_no_false_alarm() {
    let (outcome, reads) = results(Checker::new().unbounded(), || {
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let read = std::sync::Arc::new(Plain::new([0; 2]));
        let log = read.clone();
        crew(2, move |number| {
            flags[number].store(1, SeqCst);
            log.lock().unwrap()[number] = flags[1 - number].load(SeqCst);
        });
        let read = *read.lock().unwrap();
        assert_ne!(read, [0, 0], "both would enter");
        read
    });
    assert!(outcome.holds());
    assert_eq!(reads.into_iter().collect::<Vec<_>>(), [[0, 1], [1, 0], [1, 1]]);
}

/// Peterson's lock; with `broken`, the flag is raised after the turn is given away.
fn peterson(broken: bool) {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let turn = Arc::new(AtomicUsize::new(0));
    let inside = Arc::new(AtomicUsize::new(0));
    crew(2, move |number| {
        if broken {
            turn.store(1 - number, SeqCst);
            flags[number].store(true, SeqCst);
        } else {
            flags[number].store(true, SeqCst);
            turn.store(1 - number, SeqCst);
        }
        while flags[1 - number].load(SeqCst) && turn.load(SeqCst) == 1 - number {
            hint::spin_loop();
        }
        assert_eq!(inside.fetch_add(1, SeqCst), 0, "two in the critical section");
        inside.fetch_sub(1, SeqCst);
        flags[number].store(false, SeqCst);
    });
}

#[test]
fn peterson_has_no_false_alarm_and_its_broken_form_an_alarm() {
    assert!(Checker::new().preemptions(3).explore(|| peterson(false)).holds());
    let outcome = Checker::new().preemptions(3).explore(|| peterson(true));
    assert_eq!(outcome.violation().unwrap().kind, ViolationKind::Assertion);
}

#[test]
fn a_barrier_lets_all_threads_on_and_one_lead() {
    let outcome = Checker::new().explore(|| {
        let barrier = Arc::new(Barrier::new(3));
        let (before, leaders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let led = leaders.clone();
        crew(3, move |_| {
            before.fetch_add(1, SeqCst);
            if barrier.wait().is_leader() {
                leaders.fetch_add(1, SeqCst);
            }
            assert_eq!(before.load(SeqCst), 3);
        });
        assert_eq!(led.load(SeqCst), 1);
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

#[test]
fn eight_threads_are_explored_and_hundreds_sampled() {
    let sum = |count: usize| {
        move || {
            let counter = Arc::new(AtomicUsize::new(0));
            let shared = counter.clone();
            crew(count, move |_| _ = shared.fetch_add(1, SeqCst));
            assert_eq!(counter.load(SeqCst), count);
        }
    };
    let outcome = Checker::new().preemptions(0).coverage(Coverage::Orders).explore(sum(8));
    assert!(outcome.holds());
    // Without preemptions, 8 threads can come in every order.
    assert_eq!(distinct(&outcome), 40_320);
    let outcome = Checker::new().strategy(Strategy::Random).max_executions(20).explore(sum(400));
    assert!(outcome.violation().is_none());
    assert_eq!(outcome.statistics.executions, Some(20));
}

#[test]
fn spinning_without_a_hint_is_said_to_be_that() {
    let outcome = Checker::new().max_steps(500).explore(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let setter = ready.clone();
        let thread = thread::spawn(move || setter.store(true, SeqCst));
        while !ready.load(SeqCst) {}
        thread.join().unwrap();
    });
    let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{outcome:?}") };
    assert!(gap.reason.contains("spins without yielding"), "{}", gap.reason);
    assert!(gap.reason.contains("hint::spin_loop()"), "{}", gap.reason);
}

#[test]
fn a_time_limit_does_not_pass_silently() {
    let many = || crew(4, |_| (0..4).for_each(|_| thread::yield_now()));
    let checker = || Checker::new().strategy(Strategy::Icb).unbounded().time_limit(Duration::from_millis(20));
    let outcome = checker().explore(many);
    let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert!(gap.reason.contains("time limit"), "{}", gap.reason);
    let panicked = std::panic::catch_unwind(|| checker().check(many)).unwrap_err();
    let message = panicked.downcast_ref::<String>().expect("a report");
    assert!(message.contains("time limit"), "{message}");
    checker().allow_inconclusive().check(many);
}

/// One thread goes from 1 up to `top`; the other sees each of the numbers below it, `times` in a row, which
/// it does only if the first is stalled after each of its steps.
fn stalled(top: usize, last_seen: usize, times: usize) {
    let stage = Arc::new(AtomicUsize::new(0));
    let watched = stage.clone();
    crew(2, move |number| {
        if number == 0 {
            for value in 1..=top {
                stage.store(value, SeqCst);
            }
            return;
        }
        let all = (1..=last_seen).all(|value| (0..times).all(|_| watched.load(SeqCst) == value));
        assert!(!all, "every stage was seen {times} times");
    });
}

#[test]
fn bugs_behind_stalls_that_sampling_misses_are_found() {
    // Stalled after 1, then by the other after it saw enough; at 2 it ends, and that switch is free.
    let two = || stalled(2, 2, 24);
    let three = || stalled(3, 2, 14);
    for (body, preemptions) in [(two as fn(), 2), (three as fn(), 3)] {
        let outcome = Checker::new().strategy(Strategy::Random).max_executions(20_000).explore(body);
        assert!(outcome.violation().is_none(), "sampling was expected to miss this");
        assert_eq!(outcome.statistics.executions, Some(20_000));
        let outcome = Checker::new().preemptions(3).coverage(Coverage::Executions).explore(body);
        assert_eq!(outcome.violation().expect("ICB finds it").preemptions, preemptions);
    }
}

#[test]
fn dfs_and_pct_get_through_spin_loops_that_yield() {
    let spins = || {
        let ready = Arc::new(AtomicBool::new(false));
        let setter = ready.clone();
        let thread = thread::spawn(move || setter.store(true, SeqCst));
        while !ready.load(SeqCst) {
            thread::yield_now();
        }
        thread.join().unwrap();
    };
    let outcome = Checker::new().strategy(Strategy::Dfs).explore(spins);
    assert!(outcome.holds(), "{:?}", outcome.verdict);
    for depth in 1..=4 {
        let checker = Checker::new().strategy(Strategy::Pct).pct_depth(depth).max_executions(500);
        let outcome = checker.explore(spins);
        assert!(outcome.violation().is_none(), "{:?}", outcome.verdict);
        assert_eq!(outcome.statistics.executions, Some(500));
    }
}

fn orders(body: impl Fn() + Send + Sync + 'static) -> u64 {
    let checker = Checker::new().strategy(Strategy::Dfs).coverage(Coverage::Orders);
    let outcome = checker.explore(body);
    assert!(outcome.guarantee().is_some_and(|guarantee| guarantee.complete), "{:?}", outcome.verdict);
    distinct(&outcome)
}

#[test]
fn four_threads_with_one_update_each_have_24_orders() {
    let counted = orders(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        crew(4, move |_| _ = counter.fetch_add(1, SeqCst));
    });
    assert_eq!(counted, 24);
}

#[test]
fn three_threads_with_two_sections_of_one_mutex_each_have_90_orders() {
    let counted = orders(|| {
        let mutex = Arc::new(Mutex::new(()));
        crew(3, move |_| {
            drop(mutex.lock().unwrap());
            drop(mutex.lock().unwrap());
        });
    });
    assert_eq!(counted, 90);
}

/// Of the eight ways in which three forks can pass between two philosophers each, two are circular.
#[test]
fn three_dining_philosophers_have_6_orders() {
    let counted = orders(|| {
        let forks = Arc::new([Mutex::new(()), Mutex::new(()), Mutex::new(())]);
        crew(3, move |number| {
            let (left, right) = (number, (number + 1) % 3);
            let _first = forks[left.min(right)].lock().unwrap();
            let _second = forks[left.max(right)].lock().unwrap();
        });
    });
    assert_eq!(counted, 6);
}
