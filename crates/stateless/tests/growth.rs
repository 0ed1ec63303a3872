//! The default ends on programs with many threads. It walked through every state of an execution before: 12 threads with a
//! lock each took seconds, and 40 never ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use selvedge_core::{Outcome, Verdict};
use selvedge_stateless::strategy::{CbPor, Named, Parameters};
use selvedge_stateless::{Settings, explore};
use selvedge_testgen::{Interpreter, Program};

/// Main creates so many threads with this body, in which `#` is the number of the thread, and `%` that of its pair.
fn program(threads: usize, body: &str) -> Program {
    let spawns: Vec<String> = (1..=threads).map(|thread| format!("spawn {thread}")).collect();
    let body = |thread: usize| body.replace('#', &thread.to_string()).replace('%', &(thread / 2).to_string());
    let bodies: Vec<String> = (1..=threads).map(body).collect();
    format!("{} | {}", spawns.join("; "), bodies.join(" | ")).parse().unwrap()
}

/// What the default finds in it.
fn check(threads: usize, body: &str, told: &Parameters) -> Outcome {
    let interpreter = Interpreter::new(program(threads, body));
    let strategy = Named::default();
    let settings = strategy.settings(told, Settings::default());
    explore(&interpreter, strategy.algorithm(told).as_mut(), &settings, &mut |_| ()).unwrap()
}

#[test]
fn threads_that_have_nothing_in_common() {
    for unbounded in [false, true] {
        let told = Parameters { unbounded, ..Parameters::default() };
        for threads in [8, 16, 32, 65] {
            for body in ["", "lock #; unlock #", "lock #; unlock #; add #; lock #; unlock #; add #"] {
                let outcome = check(threads, body, &told);
                assert!(outcome.holds(), "{threads} {body}: {outcome:?}");
                let distinct = outcome.rows.last().and_then(|row| row.distinct);
                assert_eq!(distinct, Some(1), "{threads} {body}: {outcome:?}");
                // The bound that was being looked at is begun again, once.
                assert!(outcome.statistics.executions <= Some(2), "{threads} {body}: {outcome:?}");
                assert_eq!(outcome.statistics.notes.is_empty(), outcome.statistics.executions == Some(1));
            }
        }
    }
}

/// Within a bound the same is found as by brute force, whichever strategy ends it.
#[test]
fn a_search_that_changes_its_strategy_keeps_its_answer() {
    for bound in 0..3 {
        let told = Parameters::bounded(bound);
        let outcome = check(12, "lock %; unlock %", &told);
        assert!(outcome.holds(), "{outcome:?}");
        // A preemption turns round the pair that it is within; without one, threads run in every order.
        let distinct = outcome.rows.last().and_then(|row| row.distinct);
        assert_eq!(distinct, Some(1 << 5), "{outcome:?}");
        let failing = check(12, "add 0; assert-not 3; lock #; unlock #; lock #; unlock #", &told);
        assert_eq!(failing.violation().map(|violation| violation.preemptions), Some(0));
    }
}

/// `Mark` walks through exponentially many states here, between two executions, and is not limited: only the deadline ends it.
#[test]
fn a_search_ends_in_the_middle_of_what_it_looks_at() {
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    let interpreter = Interpreter::new(program(40, "lock #; unlock #; lock #; unlock #"));
    let over = Settings { time_limit: Some(Duration::from_millis(200)), ..Settings::default() };
    let interrupted = Settings { interrupt: Some(&INTERRUPT), ..Settings::default() };
    for (settings, reason) in
        [(over, "the time limit of 200ms was reached"), (interrupted, "it was interrupted")]
    {
        for mut strategy in
            [CbPor::new(Some(2), Some(1)), CbPor::new(None, Some(1)), CbPor::new(Some(2), Some(1)).all()]
        {
            INTERRUPT.store(false, Ordering::Relaxed);
            let later = std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                INTERRUPT.store(true, Ordering::Relaxed);
            });
            let outcome = explore(&interpreter, &mut strategy, &settings, &mut |_| ()).unwrap();
            later.join().unwrap();
            assert!(outcome.statistics.executions > Some(0), "it was under way: {outcome:?}");
            let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{outcome:?}") };
            assert_eq!(gap.reason, reason);
        }
    }
}
