use std::time::Duration;

use selvedge::sync::Arc;
use selvedge::sync::atomic::{AtomicBool, Ordering};
use selvedge::thread;
use selvedge::time::Instant;
use selvedge::{Checker, ViolationKind};

use crate::both;

#[test]
fn a_parked_thread_goes_on_when_it_is_unparked() {
    both(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let parked = thread::spawn(move || {
            while !other.load(Ordering::Relaxed) {
                thread::park();
            }
        });
        flag.store(true, Ordering::Relaxed);
        parked.thread().unpark();
        parked.join().unwrap();
    });
}

#[test]
fn an_unpark_that_comes_first_is_kept() {
    both(|| {
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        let main = thread::current();
        thread::spawn(move || main.unpark()).join().unwrap();
        thread::park();
    });
}

#[test]
fn two_unparks_are_one_token() {
    let outcome = Checker::new().explore(|| {
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        thread::park();
    });
    assert_eq!(outcome.violation().expect("a deadlock").kind, ViolationKind::Deadlock);
}

#[test]
fn parking_for_some_time_ends() {
    both(|| {
        let (start, limit) = (Instant::now(), Duration::from_millis(10));
        while start.elapsed() < limit {
            thread::park_timeout(limit);
        }
        thread::current().unpark();
        thread::park_timeout(Duration::from_secs(3600));
        assert!(start.elapsed() < Duration::from_secs(3600));
    });
}

#[test]
fn a_token_that_is_there_is_taken_before_time_runs_out() {
    both(|| {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        other.join().unwrap();
        let start = Instant::now();
        thread::park_timeout(Duration::from_secs(3600));
        assert!(start.elapsed() < Duration::from_secs(3600));
    });
}
