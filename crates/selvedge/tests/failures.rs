//! Executions that go wrong: each is reported, and none takes the process down.

use std::cell::RefCell;
use std::sync::atomic::AtomicUsize as Counter;
use std::time::Duration;

use selvedge::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Checker, Error, Outcome, Statistics, Strategy, Verdict, ViolationKind, hint, thread};
use selvedge_report::{Report, Style};

fn violation(outcome: &Outcome) -> &selvedge::Violation {
    outcome.violation().unwrap_or_else(|| panic!("no violation: {:?}", outcome.verdict))
}

#[test]
fn a_panic_in_any_thread_is_reported_with_its_place() {
    let outcome = Checker::new().explore(|| {
        let thread = thread::Builder::new().name("worker".into()).spawn(|| panic!("out of cheese"));
        let _ = thread.unwrap().join();
    });
    let found = violation(&outcome);
    assert_eq!(found.kind, ViolationKind::Panic);
    assert_eq!(found.message, "worker panicked: out of cheese");
    assert!(found.location.as_ref().unwrap().file.ends_with("failures.rs"));
}

#[test]
fn a_panic_that_is_caught_is_none() {
    let outcome = Checker::new().explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let caught = std::panic::catch_unwind({
            let lock = lock.clone();
            move || {
                let _guard = lock.lock().unwrap();
                panic!("caught")
            }
        });
        assert!(caught.is_err());
        assert!(lock.lock().is_err(), "the lock is poisoned");
        assert!(!thread::panicking());
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

#[test]
fn a_panic_in_a_destructor_during_a_panic_ends_neither_the_process_nor_later_checks() {
    for _ in 0..3 {
        let outcome = Checker::new().explore(|| {
            let lock = Arc::new(Mutex::new(1));
            let other = lock.clone();
            thread::spawn(move || drop(other.lock()));
            let _guard = lock.lock().unwrap();
            let _second = PanicsInDrop;
            panic!("first");
        });
        let message = &violation(&outcome).message;
        assert!(message.contains("first") && message.contains("in a destructor"), "{message}");
    }
    assert!(!std::thread::panicking());
    assert!(std::panic::catch_unwind(|| panic!("as usual")).is_err());
}

#[test]
fn a_destructor_that_locks_what_another_thread_holds_does_not_hang_the_teardown() {
    struct LocksInDrop(Arc<Mutex<u32>>);
    impl Drop for LocksInDrop {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    // Thread 1 holds the lock for ever, waiting; main then panics, and so does its destructor's lock block.
    let outcome = Checker::new().explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let condvar = Arc::new(Condvar::new());
        let other = (lock.clone(), condvar.clone());
        let second = Arc::new(Mutex::new(()));
        let thread = thread::spawn(move || {
            let _held = other.0.lock().unwrap();
            let guard = second.lock().unwrap();
            drop(other.1.wait(guard));
        });
        let _late = LocksInDrop(lock.clone());
        thread::yield_now();
        if lock.try_lock().is_err() {
            panic!("the lock is held");
        }
        condvar.notify_all();
        drop(thread);
    });
    let message = &violation(&outcome).message;
    assert!(message.contains("the lock is held") || message.contains("deadlock"), "{message}");
}

#[test]
fn a_deadlock_names_who_holds_and_who_waits() {
    let outcome = Checker::new().explore(|| {
        let locks = Arc::new((Mutex::new(Vec::<String>::new()), Mutex::new(())));
        let other = locks.clone();
        let worker = thread::Builder::new().name("worker".into()).spawn(move || {
            let mut first = other.0.lock().unwrap();
            first.push("something on the heap".into());
            let _second = other.1.lock().unwrap();
        });
        let second = locks.1.lock().unwrap();
        let first = locks.0.lock().unwrap();
        drop((first, second));
        worker.unwrap().join().unwrap();
    });
    let found = violation(&outcome);
    assert_eq!((found.kind, found.preemptions), (ViolationKind::Deadlock, 1));
    assert!(found.message.contains("main waits to lock mutex other.0, held by worker"), "{}", found.message);
    assert!(found.message.contains("worker waits to lock mutex locks.1, held by main"), "{}", found.message);
}

#[test]
fn locking_a_mutex_twice_is_a_deadlock() {
    let outcome = Checker::new().explore(|| {
        let lock = Mutex::new(());
        let _first = lock.lock().unwrap();
        let _second = lock.lock().unwrap();
    });
    assert!(violation(&outcome).message.contains("which it holds itself"));
}

#[test]
fn a_lost_wakeup_is_a_deadlock_that_names_the_condvar() {
    let outcome = Checker::new().explore(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = pair.clone();
        thread::spawn(move || other.1.notify_one());
        let guard = pair.0.lock().unwrap();
        drop(pair.1.wait(guard));
    });
    let found = violation(&outcome);
    assert_eq!(found.kind, ViolationKind::Deadlock);
    assert!(found.message.contains("condvar other.1") && found.message.contains("lost"), "{}", found.message);
}

/// Why an answer is inconclusive.
#[track_caller]
fn gap(outcome: &Outcome) -> &str {
    match &outcome.verdict {
        Verdict::Inconclusive(gap) => &gap.reason,
        verdict => panic!("{verdict:?}"),
    }
}

/// It ends where the other thread gets its turn: that is no livelock.
#[test]
fn a_spin_loop_that_never_yields_is_told_to() {
    let outcome = Checker::new().max_steps(500).explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {}
    });
    let reason = gap(&outcome);
    assert!(reason.contains("spin_loop") && reason.contains("failures.rs"), "{reason}");
}

#[test]
fn a_spin_loop_that_yields_for_nothing_is_a_livelock() {
    let outcome = Checker::new().max_steps(500).explore(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
    });
    assert_eq!(violation(&outcome).kind, ViolationKind::Livelock);
}

/// It was called a livelock where it yielded, and a violation of the limit where it did not.
#[test]
fn a_program_that_is_just_long_is_neither_violated_nor_a_livelock() {
    let yields = || (0..1_000).for_each(|_| thread::yield_now());
    let outcome = Checker::new().max_steps(500).explore(yields);
    let reason = gap(&outcome);
    assert!(
        reason.contains("not ended after 500 steps") && reason.contains("Checker::max_steps"),
        "{reason}"
    );
    assert!(Checker::new().max_steps(2_000).explore(yields).holds());
    let counts = || {
        let counter = AtomicUsize::new(0);
        while counter.fetch_add(1, SeqCst) < 1_000 {
            thread::yield_now();
        }
    };
    gap(&Checker::new().max_steps(500).explore(counts));
    let waits = || {
        let counter = selvedge::sync::Mutex::new(0);
        while *counter.lock().unwrap() < 1_000 {
            *counter.lock().unwrap() += 1;
            thread::yield_now();
        }
    };
    gap(&Checker::new().max_steps(500).explore(waits));
    let stores = || {
        let counter = AtomicUsize::new(0);
        loop {
            counter.store(1, SeqCst);
        }
    };
    gap(&Checker::new().max_steps(500).explore(stores));
}

/// What goes wrong elsewhere is found, and what was finished before is covered.
#[test]
fn a_search_goes_on_after_an_execution_that_is_long() {
    let check = |wrong: bool| {
        Checker::new().max_steps(100).preemptions(2).explore(move || {
            let flag = Arc::new(AtomicUsize::new(0));
            let other = flag.clone();
            let thread = thread::spawn(move || {
                other.store(1, SeqCst);
                other.store(2, SeqCst);
            });
            match flag.load(SeqCst) {
                0 => (0..200).for_each(|_| assert!(flag.load(SeqCst) < 3)),
                1 => assert!(!wrong),
                _ => {}
            }
            thread.join().unwrap();
        })
    };
    let outcome = check(true);
    let found = violation(&outcome);
    assert_eq!((found.kind, found.below.as_ref()), (ViolationKind::Assertion, None));
    let outcome = check(false);
    assert!(gap(&outcome).contains("not ended after 100 steps"));
    assert_eq!(outcome.guarantee(), None);
}

#[test]
fn a_program_that_is_not_deterministic_is_an_error_with_the_first_difference() {
    let runs = Counter::new(0);
    let error = Checker::new()
        .try_explore(move || {
            let x = Arc::new(AtomicUsize::new(0));
            let other = x.clone();
            let thread = thread::spawn(move || other.store(1, SeqCst));
            if runs.fetch_add(1, SeqCst).is_multiple_of(2) {
                x.load(SeqCst);
            } else {
                x.store(7, SeqCst);
            }
            thread.join().unwrap();
        })
        .unwrap_err();
    let Error::Nondeterministic { difference, location, .. } = &error else { panic!("{error}") };
    assert!(difference.contains("load") && difference.contains("store"), "{difference}");
    assert!(location.as_ref().unwrap().file.ends_with("failures.rs"));
    assert!(error.to_string().contains("not deterministic"));
}

#[test]
fn one_execution_is_run_again_before_a_program_is_said_to_be_right() {
    for (fails, alike) in [(false, 1), (true, 1), (false, 4)] {
        let runs = Counter::new(0);
        let error = Checker::new()
            .try_explore(move || {
                let x = AtomicUsize::new(0);
                let again = runs.fetch_add(1, SeqCst) >= alike;
                assert!(!(again && fails), "another time");
                if again {
                    x.store(7, SeqCst);
                }
                x.load(SeqCst);
            })
            .unwrap_err();
        assert!(matches!(error, Error::Nondeterministic { .. }), "{error}");
    }
}

#[test]
fn a_thread_that_is_never_joined_runs_to_its_end() {
    let outcome = Checker::new().explore(|| {
        thread::spawn(|| {
            let x = AtomicUsize::new(0);
            x.fetch_add(1, SeqCst);
            assert_eq!(x.load(SeqCst), 2, "this is run");
        });
    });
    assert_eq!(violation(&outcome).kind, ViolationKind::Assertion);
}

#[test]
fn a_thread_that_blocks_for_ever_after_main_has_ended_is_a_deadlock() {
    let outcome = Checker::new().explore(|| {
        thread::spawn(thread::park);
    });
    assert!(violation(&outcome).message.contains("parked"));
}

#[test]
fn allowed_panics_reach_whoever_joins() {
    let outcome = Checker::new().allow_thread_panics().explore(|| {
        let lock = Arc::new(Mutex::new(()));
        let other = lock.clone();
        let thread = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("on purpose");
        });
        let panic = thread.join().unwrap_err();
        assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "on purpose");
        assert!(lock.is_poisoned());
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

#[test]
fn hundreds_of_threads_work() {
    let outcome = Checker::new().strategy(Strategy::Random).max_executions(20).explore(|| {
        let sum = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..300)
            .map(|n| {
                let sum = sum.clone();
                thread::spawn(move || sum.fetch_add(n, SeqCst))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(sum.load(SeqCst), 300 * 299 / 2);
    });
    let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert!(gap.reason.contains("20 executions"), "{}", gap.reason);
}

#[test]
fn more_threads_than_reduction_keeps_apart_work() {
    for strategy in [Strategy::CbPor, Strategy::CbPorAll] {
        let outcome = Checker::new().strategy(strategy).preemptions(1).explore(|| {
            let sum = Arc::new(AtomicUsize::new(0));
            for n in 0..70 {
                let sum = sum.clone();
                thread::spawn(move || sum.fetch_add(n, SeqCst)).join().unwrap();
            }
            assert_eq!(sum.load(SeqCst), 70 * 69 / 2);
        });
        assert!(outcome.holds(), "{strategy:?}: {:?}", outcome.verdict);
        assert_eq!(outcome.statistics.executions, Some(1), "{strategy:?}");
    }
}

#[test]
fn executions_that_are_cut_short_drop_what_they_hold() {
    thread_local! { static ALIVE: RefCell<isize> = const { RefCell::new(0) }; }
    struct Token;
    impl Token {
        fn new() -> Self {
            ALIVE.with_borrow_mut(|alive| *alive += 1);
            Token
        }
    }
    impl Drop for Token {
        fn drop(&mut self) {
            ALIVE.with_borrow_mut(|alive| *alive -= 1);
        }
    }
    // Every execution is ended after 5 steps, in the middle of what its threads do. The check at the start of
    // the next one is on the same OS thread.
    let outcome = Checker::new().strategy(Strategy::Depth).depth(5).at_bound().explore(|| {
        assert_eq!(ALIVE.with_borrow(|alive| *alive), 0, "the last execution has dropped everything");
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(())));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let _on_the_stack = Token::new();
                    let _guard = shared.1.lock().unwrap();
                    for _ in 0..3 {
                        shared.0.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        let _here_too = Token::new();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
    assert!(!outcome.guarantee().unwrap().complete);
}

#[test]
fn a_check_in_a_check_is_refused() {
    let outcome = Checker::new().explore(|| {
        let inner = std::panic::catch_unwind(|| selvedge::check(|| ()));
        drop(inner);
    });
    // The inner check has an OS thread of its own, on which no check runs: it is an ordinary check.
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

#[test]
fn a_time_limit_does_not_pass_in_silence() {
    let slow = || {
        let x = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let x = x.clone();
                thread::spawn(move || (0..20).for_each(|_| x.store(1, SeqCst)))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let checker = Checker::new().time_limit(Duration::from_millis(500));
    let outcome = checker.clone().explore(slow);
    let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert!(gap.reason.contains("time limit"));
    assert!(!gap.covered.as_ref().expect("at least the executions without preemptions").complete);
    assert!(std::panic::catch_unwind(|| checker.clone().check(slow)).is_err());
    checker.allow_inconclusive().check(slow);
}

#[selvedge::test]
fn the_attribute_checks_its_body() {
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    let thread = thread::spawn(move || *other.lock().unwrap() += 1);
    *lock.lock().unwrap() += 1;
    thread.join().unwrap();
    assert_eq!(*lock.lock().unwrap(), 2);
}

#[selvedge::test(preemptions = 1, race_mode)]
#[should_panic(expected = "VIOLATED: the_attribute_takes_settings")]
fn the_attribute_takes_settings() {
    let x = Arc::new(AtomicUsize::new(0));
    let other = x.clone();
    let thread = thread::spawn(move || other.store(1, SeqCst));
    assert_eq!(x.load(SeqCst), 0);
    thread.join().unwrap();
}

#[test]
fn a_panic_that_was_caught_is_not_what_a_later_failure_is_called() {
    let caught = || {
        let _ = std::panic::catch_unwind(|| panic!("caught"));
    };
    let outcome = Checker::new().explore(move || {
        caught();
        thread::park();
    });
    assert_eq!(violation(&outcome).kind, ViolationKind::Deadlock);
    let outcome = Checker::new().explore(move || {
        caught();
        panic!("not caught");
    });
    assert_eq!(violation(&outcome).message, "main panicked: not caught");
    // While another thread is in the middle of a panic, and waits there.
    struct Yields;
    impl Drop for Yields {
        fn drop(&mut self) {
            thread::yield_now();
        }
    }
    let outcome = Checker::new().allow_thread_panics().explore(move || {
        caught();
        let thread = thread::spawn(|| {
            let _yields = Yields;
            panic!("another");
        });
        assert!(!thread::panicking());
        thread::yield_now();
        assert!(!thread::panicking());
        assert!(thread.join().is_err());
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

/// That a wait's time ran out does not tell that nothing came: another thread may have had the mutex when it did.
#[test]
fn a_wait_may_time_out_while_another_thread_has_the_mutex() {
    let outcome = Checker::new().explore(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let guard = pair.0.lock().unwrap();
        if !*guard {
            let (is_there, result) = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
            assert!(!(result.timed_out() && *is_there), "nothing is there");
        }
        thread.join().unwrap();
    });
    assert!(violation(&outcome).message.contains("nothing is there"));
}

#[expect(unconditional_recursion, reason = "it is to overflow")]
fn deeper(n: u64) -> u64 {
    std::hint::black_box(deeper(std::hint::black_box(n + 1))) + n
}

#[test]
fn a_stack_that_overflows_is_reported_with_the_name_of_its_thread() {
    for _ in 0..2 {
        let outcome = Checker::new().explore(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let worker = thread::Builder::new().name("worker".into()).spawn(move || {
                if other.load(SeqCst) {
                    deeper(0);
                }
            });
            flag.store(true, SeqCst);
            worker.unwrap().join().unwrap();
        });
        let found = violation(&outcome);
        assert_eq!(found.kind, ViolationKind::Crash);
        assert!(found.message.starts_with("worker has overflowed its stack of 2 MiB"), "{}", found.message);
        assert!(found.location.as_ref().unwrap().file.ends_with("failures.rs"));
    }
}

/// Before its first operation a thread runs within the step of its creator.
#[test]
fn a_new_thread_that_overflows_is_not_its_creator() {
    let outcome = Checker::new().stack_size(64 << 10).explore(|| {
        let worker = thread::Builder::new().name("worker".into());
        drop(worker.spawn(|| deeper(0)).unwrap().join());
    });
    let message = &violation(&outcome).message;
    assert!(message.starts_with("worker has overflowed its stack of 64 KiB"), "{message}");
}

#[test]
fn a_stack_is_as_large_as_stds() {
    fn fill(bytes: usize) -> u8 {
        let page = std::hint::black_box([1_u8; 4096]);
        if bytes < page.len() { page[0] } else { fill(bytes - page.len()) ^ page[bytes % page.len()] }
    }
    selvedge::check(|| {
        std::hint::black_box(fill(1 << 20));
        thread::spawn(|| std::hint::black_box(fill(1 << 20))).join().unwrap();
    });
}

/// When main returns the process ends, and with it threads that would sleep for ever.
#[test]
fn a_daemon_that_sleeps_for_ever_is_no_livelock() {
    let daemons: [fn(&AtomicUsize); 3] = [
        |_| thread::sleep(Duration::from_secs(1)),
        |count| {
            thread::sleep(Duration::from_secs(1));
            count.fetch_add(1, SeqCst);
            thread::sleep(Duration::from_secs(2));
        },
        |_| thread::park_timeout(Duration::from_secs(1)),
    ];
    for daemon in daemons {
        for strategy in [Strategy::default(), Strategy::Icb, Strategy::Optimal, Strategy::Bpor] {
            let outcome = Checker::new().strategy(strategy).max_steps(200).explore(move || {
                let count = Arc::new(AtomicUsize::new(0));
                let theirs = count.clone();
                thread::spawn(move || {
                    loop {
                        daemon(&theirs);
                    }
                });
                count.fetch_add(1, SeqCst);
            });
            let kind = outcome.violation().map(|violation| violation.kind);
            assert!(outcome.holds(), "{strategy}: {kind:?}");
        }
    }
}

/// A loop that counts on the heap may be taken for one that never ends: the report says what was not looked at.
#[test]
fn a_livelock_says_that_the_heap_was_not_looked_at() {
    let outcome = Checker::new().max_steps(200).explore(|| {
        loop {
            thread::yield_now();
        }
    });
    let violation = violation(&outcome);
    assert_eq!(violation.kind, ViolationKind::Livelock);
    assert!(violation.message.contains("Memory on the heap was not looked at"), "{}", violation.message);
}

/// What such a thread does before main has ended is checked. Main that waits for one does not end, and a thread that yields for
/// ever is a livelock.
#[test]
fn a_daemon_is_checked_while_main_runs() {
    let found = |main_waits: bool, rests: fn(), most: usize| {
        let outcome = Checker::new().max_steps(200).explore(move || {
            let count = Arc::new(AtomicUsize::new(0));
            let theirs = count.clone();
            let daemon = thread::spawn(move || {
                loop {
                    rests();
                    assert!(theirs.load(SeqCst) <= most);
                }
            });
            count.fetch_add(1, SeqCst);
            if main_waits {
                daemon.join().unwrap();
            }
        });
        outcome.violation().map(|violation| violation.kind)
    };
    let sleeps = || thread::sleep(Duration::from_secs(1));
    assert_eq!(found(false, sleeps, 0), Some(ViolationKind::Assertion));
    // Time passes: it is not the same state that comes back.
    assert_eq!(found(true, sleeps, 1), None);
    assert_eq!(found(false, thread::yield_now, 1), Some(ViolationKind::Livelock));
}

#[test]
fn a_replay_says_how_many_steps_it_had_and_that_it_was_no_search() {
    let body = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        thread::spawn(move || other.store(true, SeqCst));
        assert!(!flag.load(SeqCst));
    };
    let found = Checker::new().explore(body);
    let found = violation(&found);
    let again = Checker::new().replay(found.schedule.clone()).explore(body);
    let steps = violation(&again).trace.steps.len() as u64;
    assert_eq!((again.statistics.executions, again.statistics.steps), (Some(1), Some(steps)));
    assert_eq!(again.statistics.depth, Some(steps));
    assert_eq!(again.statistics.further(Statistics::REPLAYED), 1);
    assert_eq!(again.statistics.further(Statistics::REPEATED), 0);
    let report = Report { subject: "body".into(), engine: "stateless".into(), outcome: again };
    let text = selvedge_report::to_text(&report, &Style::default(), None);
    assert!(text.contains("It was replayed: other executions were not looked at."), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_search_ends_at_its_memory_limit_and_says_what_it_covered() {
    let body = || {
        let count = Arc::new(AtomicUsize::new(0));
        let threads = [(); 3].map(|()| {
            let count = count.clone();
            thread::spawn(move || (0..3).for_each(|_| _ = count.fetch_add(1, SeqCst)))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let outcome = Checker::new().memory_limit(1 << 20).explore(body);
    let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!(gap.reason, "the memory limit of 1 MiB was reached");
    assert_eq!(gap.covered.as_ref().unwrap().bounds.preemptions, Some(0));
    assert!(Checker::new().memory_limit(1 << 50).preemptions(1).explore(body).holds());
}

/// What is reported is what was run: executions, and those that were run again.
#[test]
fn a_check_runs_the_body_as_often_as_it_says() {
    fn two_additions(count: &Arc<AtomicUsize>) {
        let other = count.clone();
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        count.fetch_add(1, SeqCst);
        thread.join().unwrap();
    }
    let bodies: [fn(); 5] = [
        || (),
        || two_additions(&Arc::new(AtomicUsize::new(0))),
        // The first access to a tracked cell has the execution run again, with clocks.
        || selvedge::cell::Cell::new(1).set(2),
        // The order of clones and drops matters: the search begins again.
        || {
            let count = Arc::new(AtomicUsize::new(0));
            two_additions(&count);
            assert_eq!(Arc::strong_count(&count), 1);
        },
        // A failure is confirmed, explained and made simpler.
        || {
            let count = Arc::new(AtomicUsize::new(0));
            let other = count.clone();
            thread::spawn(move || other.store(1, SeqCst));
            assert_eq!(count.load(SeqCst), 0);
        },
    ];
    for (index, body) in bodies.into_iter().enumerate() {
        let runs = std::sync::Arc::new(Counter::new(0));
        let counted = runs.clone();
        let outcome = Checker::new().explore(move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            body();
        });
        let said = outcome.statistics.executions.unwrap() + outcome.statistics.further(Statistics::REPEATED);
        let runs = runs.load(std::sync::atomic::Ordering::Relaxed) as u64;
        assert_eq!(runs, said, "body {index}");
    }
}

/// All threads of a check run on one OS thread; what leaves the check does not.
#[test]
fn a_result_that_is_not_send_is_not_dropped_outside_of_its_execution() {
    struct NotSend(std::sync::Arc<std::sync::atomic::AtomicUsize>, std::marker::PhantomData<*const ()>);
    impl Drop for NotSend {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let drops = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
    let kept = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (counts, keep) = (drops.clone(), kept.clone());
    let outcome = Checker::new().explore(move || {
        let value = NotSend(counts.clone(), std::marker::PhantomData);
        let thread = thread::Builder::new().spawn_in_check(move || value);
        while !thread.is_finished() {
            thread::yield_now();
        }
        keep.lock().unwrap().push(thread);
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
    assert!(!kept.lock().unwrap().is_empty());
    kept.lock().unwrap().clear();
    assert_eq!(drops.load(SeqCst), 0);
}
