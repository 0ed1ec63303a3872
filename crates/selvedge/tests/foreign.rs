//! Threads that a check's program creates with std are refused by name.

use selvedge::sync::atomic::{AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Mutex};
use selvedge::{Checker, Error, Outcome};

#[track_caller]
fn is_refused(outcome: Result<Outcome, Error>, thread: &str) {
    let message = outcome.expect_err("a thread of std's is refused").to_string();
    assert!(message.starts_with(thread), "{message}");
    assert!(message.contains("created with std::thread in this check"), "{message}");
    assert!(message.contains("Use selvedge::thread"), "{message}");
    assert!(message.contains("foreign.rs:"), "{message}");
}

#[test]
fn a_thread_of_stds_that_is_joined() {
    let outcome = Checker::new().try_explore(|| {
        let count = Arc::new(AtomicU32::new(0));
        let other = count.clone();
        let thread = std::thread::spawn(move || other.fetch_add(1, SeqCst));
        count.fetch_add(1, SeqCst);
        thread.join().unwrap();
        assert_eq!(count.load(SeqCst), 2);
    });
    is_refused(outcome, "a thread was created");
}

#[test]
fn a_thread_of_a_scope_of_stds() {
    let outcome = Checker::new().try_explore(|| {
        let total = Mutex::new(0);
        std::thread::scope(|scope| {
            let add = || *total.lock().unwrap() += 1;
            std::thread::Builder::new().name("adder".into()).spawn_scoped(scope, add).unwrap();
        });
    });
    is_refused(outcome, "the thread adder was created");
}

/// Nobody waits for it, and it has done nothing when the search is over.
#[test]
fn a_thread_of_stds_that_comes_late() {
    let outcome = Checker::new().try_explore(|| {
        let count = Arc::new(AtomicU32::new(0));
        let other = count.clone();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            other.fetch_add(1, SeqCst)
        });
        assert_eq!(count.load(SeqCst), 0);
    });
    is_refused(outcome, "a thread was created");
}

/// One that uses none of Selvedge's types is no one's business; nor is one that was created outside of the check.
#[test]
fn other_threads_of_stds_are_left_alone() {
    let stop = Arc::new(AtomicU32::new(0));
    let outside = stop.clone();
    let thread = std::thread::spawn(move || {
        while outside.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
    });
    for _ in 0..50 {
        selvedge::check(|| {
            let sum = std::thread::spawn(|| (0..10).sum::<u32>()).join().unwrap();
            assert_eq!(sum, 45);
        });
    }
    stop.store(1, SeqCst);
    thread.join().unwrap();
}
