//! What an answer assumes is what the checked program leaned on, and nothing else.

use selvedge::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence, fence};
use selvedge::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use selvedge::{Checker, Outcome, Verdict, thread};
use std::time::Duration;

fn explore(spurious: u32, body: fn()) -> Outcome {
    Checker::new().unbounded().spurious(spurious).explore(body)
}

/// What the answer assumes, as one line.
#[track_caller]
fn assumed(spurious: u32, body: fn()) -> String {
    let outcome = explore(spurious, body);
    let Verdict::Holds(guarantee) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!(guarantee.is_final(), guarantee.assumptions.is_empty());
    guarantee.assumptions.to_string()
}

fn ignore<T>(_: T) {}

/// Runs something in a second thread, while the first does it too.
fn twice(body: impl Fn(&AtomicU32) + Send + Sync + 'static) {
    let shared = Arc::new((AtomicU32::new(0), body));
    let other = shared.clone();
    let thread = thread::spawn(move || other.1(&other.0));
    shared.1(&shared.0);
    thread.join().unwrap();
}

#[test]
fn an_atomic_operation_that_is_weaker_than_seqcst_assumes_sequential_consistency() {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let weak: [fn(); 9] = [
        || twice(|x| ignore(x.load(Relaxed))),
        || twice(|x| ignore(x.load(Acquire))),
        || twice(|x| x.store(1, Release)),
        || twice(|x| ignore(x.fetch_add(1, AcqRel))),
        || twice(|x| ignore(x.swap(1, Relaxed))),
        // One that succeeds could fail in weaker memory.
        || ignore(AtomicU32::new(0).compare_exchange(0, 1, SeqCst, Relaxed)),
        || ignore(AtomicU32::new(0).compare_exchange(1, 2, AcqRel, SeqCst)),
        || ignore(AtomicBool::new(false).fetch_not(Relaxed)),
        || fence(Release),
    ];
    for (number, body) in weak.into_iter().enumerate() {
        assert_eq!(assumed(0, body), "sequential consistency", "{number}");
    }
}

#[test]
fn a_program_that_leans_on_nothing_has_a_final_answer() {
    use Ordering::{Release, SeqCst};
    let strong: [fn(); 6] = [
        || twice(|x| ignore(x.fetch_add(x.load(SeqCst), SeqCst))),
        || ignore(AtomicU32::new(0).compare_exchange(0, 1, SeqCst, SeqCst)),
        // Who has an atomic to himself needs no order, and the compiler's fences are no operations.
        || {
            let mut x = AtomicU32::new(0);
            *x.get_mut() += 1;
            compiler_fence(Release);
            fence(SeqCst);
            assert_eq!(x.into_inner(), 1);
        },
        // What these types do inside is theirs.
        || {
            let (sender, receiver) = mpsc::sync_channel(1);
            let lock = Arc::new((Mutex::new(0), RwLock::new(0), Barrier::new(2), Once::new()));
            let other = lock.clone();
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() += 1;
                other.2.wait();
                sender.send(1).unwrap();
            });
            lock.3.call_once(|| ());
            *lock.1.write().unwrap() += 1;
            lock.2.wait();
            assert_eq!(receiver.recv(), Ok(1));
            thread.join().unwrap();
        },
        // A weak exchange of what is not there fails for a reason.
        || ignore(AtomicU32::new(0).compare_exchange_weak(1, 2, SeqCst, SeqCst)),
        || thread::yield_now(),
    ];
    for (number, body) in strong.into_iter().enumerate() {
        assert_eq!(assumed(0, body), "", "{number}");
    }
}

/// Waits until another thread has set a flag.
fn waits_for_flag(wait: fn(&Condvar, selvedge::sync::MutexGuard<'_, bool>)) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let thread = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_all();
    });
    wait(&pair.1, pair.0.lock().unwrap());
    thread.join().unwrap();
}

fn in_a_loop() {
    waits_for_flag(|condvar, mut flag| {
        while !*flag {
            flag = condvar.wait(flag).unwrap();
        }
    });
}

#[test]
fn a_wait_that_may_end_for_no_reason_assumes_no_spurious_wakeups() {
    let waits: [fn(); 4] = [
        in_a_loop,
        || waits_for_flag(|condvar, flag| ignore(condvar.wait_while(flag, |flag| !*flag).unwrap())),
        || {
            waits_for_flag(|condvar, flag| {
                ignore(condvar.wait_timeout(flag, Duration::from_secs(1)).unwrap())
            })
        },
        || {
            let parked = thread::spawn(thread::park);
            parked.thread().unpark();
            parked.join().unwrap();
        },
    ];
    for (number, body) in waits.into_iter().enumerate() {
        assert_eq!(assumed(0, body), "no spurious wakeups", "{number}");
    }
}

#[test]
fn a_bound_that_leaves_nothing_out_is_not_named() {
    // One wait, in no loop: a second spurious wakeup cannot be.
    fn once() {
        waits_for_flag(|condvar, flag| {
            if !*flag {
                ignore(condvar.wait(flag).unwrap());
            }
        });
    }
    assert_eq!(assumed(1, once), "");
    assert_eq!(assumed(1, in_a_loop), "at most 1 spurious wakeup");
    assert_eq!(assumed(3, in_a_loop), "at most 3 spurious wakeups");
}

fn weakly(attempts: u32) {
    twice(move |x| {
        for _ in 0..attempts {
            let now = x.load(Ordering::SeqCst);
            if x.compare_exchange_weak(now, now + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return;
            }
        }
    });
}

#[test]
fn a_weak_exchange_assumes_no_spurious_failures() {
    assert_eq!(assumed(0, || weakly(1)), "no spurious compare-exchange failures");
    assert_eq!(assumed(1, || weakly(1)), "at most 1 spurious compare-exchange failure");
    assert_eq!(assumed(2, || weakly(1)), "");
    assert_eq!(
        assumed(0, || ignore(
            AtomicU32::new(0).fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(x + 1))
        )),
        "no spurious compare-exchange failures"
    );
}

#[test]
fn both_kinds_have_the_bound_each() {
    fn both() {
        in_a_loop();
        weakly(1);
    }
    assert_eq!(assumed(1, both), "at most 1 spurious wakeup and at most 1 spurious compare-exchange failure");
}

#[test]
fn a_weak_exchange_fails_for_no_reason_where_that_is_asked_for() {
    fn once() {
        let x = AtomicU32::new(0);
        let exchanged = x.compare_exchange_weak(0, 1, Ordering::SeqCst, Ordering::SeqCst);
        assert_eq!(exchanged, Ok(0));
    }
    assert!(explore(0, once).holds());
    let outcome = explore(1, once);
    let violation = outcome.violation().expect("it may fail");
    assert!(violation.message.contains("left: Err(0)"), "{}", violation.message);
}

#[test]
fn a_parked_thread_goes_on_for_no_reason_and_leaves_the_token() {
    fn parks() {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let parked = thread::spawn(move || {
            thread::park();
            assert!(seen.load(Ordering::SeqCst), "it should look again");
        });
        flag.store(true, Ordering::SeqCst);
        parked.thread().unpark();
        parked.join().unwrap();
    }
    assert!(explore(0, parks).holds());
    assert!(explore(1, parks).violation().is_some());
    fn parks_twice() {
        let parked = thread::spawn(|| {
            thread::park();
            thread::park();
        });
        parked.thread().unpark();
        parked.join().unwrap();
    }
    let outcome = explore(1, parks_twice);
    let violation = outcome.violation().expect("a token for two parks, and no spurious wakeup");
    assert_eq!(violation.kind.name(), "deadlock");
}

/// Spurious wakeups are allowed, never promised: a lost wakeup stays a deadlock.
#[test]
fn a_lost_wakeup_is_found_whatever_the_bound() {
    fn lost() {
        waits_for_flag(|condvar, flag| ignore(condvar.wait(flag).unwrap()));
    }
    for spurious in 0..3 {
        let outcome = explore(spurious, lost);
        assert_eq!(outcome.violation().expect("it is lost").kind.name(), "deadlock");
    }
}

#[test]
fn a_step_that_wakes_for_no_reason_is_told() {
    let outcome = explore(1, || {
        waits_for_flag(|condvar, mut flag| {
            if !*flag {
                flag = condvar.wait(flag).unwrap();
            }
            assert!(*flag);
        });
    });
    let violation = outcome.violation().expect("the wait is in no loop");
    let steps: Vec<_> = violation.trace.steps.iter().map(|step| step.op.as_str()).collect();
    assert!(steps.contains(&"decide whether there is a spurious wakeup"), "{steps:?}");
    assert!(steps.contains(&"wake spuriously from condvar"), "{steps:?}");
    assert_eq!(violation.preemptions, 0, "a thread that waits is not preempted");
}
