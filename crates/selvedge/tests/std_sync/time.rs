use std::sync::Mutex as Untracked;
use std::time::Duration;

use selvedge::sync::{Arc, Mutex, RwLock};
use selvedge::thread;
use selvedge::time::Instant;
use selvedge::{Checker, ViolationKind};

use crate::both;

#[test]
fn a_writer_is_not_earlier_than_the_reader_before_it() {
    both(|| {
        let lock = Arc::new(RwLock::new(()));
        // Not seen by the check, so that nothing but the lock carries the time.
        let read_at = std::sync::Arc::new(Untracked::new(None));
        let (other, at) = (lock.clone(), read_at.clone());
        let reader = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1));
            let _reading = other.read().unwrap();
            *at.lock().unwrap() = Some(Instant::now());
        });
        let _writing = lock.write().unwrap();
        let read_at = *read_at.lock().unwrap();
        assert!(read_at.is_none_or(|read_at| Instant::now() >= read_at));
        drop(_writing);
        reader.join().unwrap();
    });
}

/// What only reads can be done in any order: then time must not tell in which.
#[test]
fn an_attempt_that_fails_carries_no_time_to_another() {
    Checker::new().strategy(selvedge::Strategy::Icb).check(|| {
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        let begin = Instant::now();
        let (late, early) = (lock.clone(), lock.clone());
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            assert!(late.try_lock().is_err());
        });
        let early = thread::spawn(move || {
            assert!(early.try_lock().is_err());
            assert_eq!(begin.elapsed(), Duration::ZERO);
        });
        late.join().unwrap();
        early.join().unwrap();
        drop(held);
    });
}

#[test]
fn whoever_joins_is_as_late_as_who_was_joined() {
    let outcome = Checker::new().explore(|| {
        let begin = Instant::now();
        thread::spawn(|| thread::sleep(Duration::from_secs(1))).join().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(1));
    });
    assert_eq!(outcome.violation().expect("time has passed").kind, ViolationKind::Assertion);
}
