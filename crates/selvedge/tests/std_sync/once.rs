use selvedge::sync::atomic::{AtomicU32, Ordering};
use selvedge::sync::{Arc, Once};
use selvedge::{Checker, ViolationKind, thread};

use crate::{both, panics};

#[test]
fn one_closure_runs_and_the_others_wait_for_it() {
    both(|| {
        let (once, runs) = (Once::new(), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    once.call_once(|| {
                        thread::yield_now();
                        runs.fetch_add(1, Ordering::Relaxed);
                    });
                    assert_eq!(runs.load(Ordering::Relaxed), 1);
                    assert!(once.is_completed());
                });
            }
        });
    });
}

#[test]
fn it_is_completed_when_the_closure_has_returned() {
    both(|| {
        let once = Once::new();
        assert!(!once.is_completed());
        once.call_once(|| assert!(!once.is_completed()));
        assert!(once.is_completed());
        once.call_once(|| unreachable!("it has run"));
        once.call_once_force(|_| unreachable!("it has run"));
        once.wait();
        once.wait_force();
    });
}

#[test]
fn a_closure_that_panics_poisons_until_one_is_forced() {
    both(|| {
        let once = Once::new();
        assert_eq!(panics(|| once.call_once(|| panic!("first"))), "first");
        assert!(!once.is_completed());
        let again = panics(|| once.call_once(|| unreachable!("it is poisoned")));
        assert!(again.contains("poisoned"), "{again}");
        assert!(panics(|| once.wait()).contains("poisoned"));
        assert_eq!(panics(|| once.call_once_force(|_| panic!("second"))), "second");
        once.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(once.is_completed());
        once.call_once(|| unreachable!("it has run"));
        let fresh = Once::new();
        fresh.call_once_force(|state| {
            assert!(!state.is_poisoned());
            assert_eq!(format!("{state:?}"), "OnceState { poisoned: false }");
        });
    });
}

#[test]
fn a_thread_can_wait_for_another_to_run_it() {
    both(|| {
        let (once, ready) = (Arc::new(Once::new()), Arc::new(AtomicU32::new(0)));
        let (their_once, their_ready) = (once.clone(), ready.clone());
        let thread = thread::spawn(move || {
            their_once.call_once(|| their_ready.store(1, Ordering::Relaxed));
        });
        once.wait();
        assert_eq!(ready.load(Ordering::Relaxed), 1);
        thread.join().unwrap();
    });
}

#[test]
fn waiting_by_force_waits_through_a_panic() {
    both(|| {
        let once = Arc::new(Once::new());
        let other = once.clone();
        let thread = thread::spawn(move || {
            panics(|| other.call_once(|| panic!("first")));
            other.call_once_force(|_| ());
        });
        once.wait_force();
        assert!(once.is_completed());
        thread.join().unwrap();
    });
}

#[test]
fn one_that_calls_itself_waits_for_itself() {
    let outcome = Checker::new().explore(|| {
        let once = Once::default();
        assert_eq!(format!("{once:?}"), "Once { .. }");
        once.call_once(|| once.call_once(|| ()));
    });
    let violation = outcome.violation().expect("a deadlock");
    assert_eq!(violation.kind, ViolationKind::Deadlock);
    assert!(violation.message.contains("once once, which it holds itself"), "{}", violation.message);
}
