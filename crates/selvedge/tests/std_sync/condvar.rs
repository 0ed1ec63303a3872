use std::time::{Duration, Instant as RealInstant};

use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread;
use selvedge::time::Instant;

use crate::{both, both_with_panics};

/// Long enough outside of a check never to run out.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(10);

#[test]
fn a_waiter_goes_on_when_the_other_has_started() {
    both(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut started = pair.0.lock().unwrap();
        while !*started {
            started = pair.1.wait(started).unwrap();
        }
        drop(started);
        thread.join().unwrap();
    });
}

#[test]
fn wait_while_returns_when_the_condition_is_false() {
    both(|| {
        let pair = Arc::new((Mutex::new(2), Condvar::new()));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let pair = pair.clone();
                thread::spawn(move || {
                    *pair.0.lock().unwrap() -= 1;
                    pair.1.notify_one();
                })
            })
            .collect();
        let left = pair.1.wait_while(pair.0.lock().unwrap(), |left| *left > 0).unwrap();
        assert_eq!(*left, 0);
        drop(left);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn notify_all_wakes_everybody() {
    both(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let pair = pair.clone();
                thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |open| !*open).unwrap()))
            })
            .collect();
        *pair.0.lock().unwrap() = true;
        pair.1.notify_all();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_wait_that_nobody_ends_times_out() {
    both(|| {
        let (mutex, condvar) = (Mutex::new(5), Condvar::new());
        let start = Instant::now();
        let mut guard = mutex.lock().unwrap();
        loop {
            let (again, result) = condvar.wait_timeout(guard, SHORT).unwrap();
            guard = again;
            if result.timed_out() {
                break;
            }
        }
        assert_eq!(*guard, 5);
        assert!(start.elapsed() >= SHORT);
        drop(guard);
        let (_, result) = condvar.wait_timeout_while(mutex.lock().unwrap(), SHORT, |_| true).unwrap();
        assert!(result.timed_out());
        let (_, result) = condvar.wait_timeout_while(mutex.lock().unwrap(), SHORT, |_| false).unwrap();
        assert!(!result.timed_out());
        let limit = Duration::ZERO;
        let (_, result) = condvar.wait_timeout_while(mutex.lock().unwrap(), limit, |_| true).unwrap();
        assert!(result.timed_out());
    });
}

#[test]
fn a_timeout_with_a_condition_tells_whether_it_was_met() {
    let start = RealInstant::now();
    both(|| {
        let pair = Arc::new((Mutex::new(true), Condvar::new()));
        let other = pair.clone();
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = false;
            other.1.notify_one();
        });
        let guard = pair.0.lock().unwrap();
        let (pending, result) = pair.1.wait_timeout_while(guard, LONG, |pending| *pending).unwrap();
        assert_eq!(*pending, result.timed_out());
        drop(pending);
        thread.join().unwrap();
    });
    assert!(start.elapsed() < LONG, "time in a check is virtual");
}

#[test]
fn a_wait_tells_of_poison() {
    both_with_panics(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let guard = pair.0.lock().unwrap();
        let thread = thread::spawn(move || {
            let mut done = other.0.lock().unwrap();
            *done = true;
            other.1.notify_one();
            panic!("with the lock held");
        });
        let mut guard = match pair.1.wait(guard) {
            Ok(guard) => guard,
            Err(error) => error.into_inner(),
        };
        while !*guard {
            guard = pair.1.wait(guard).unwrap_or_else(|error| error.into_inner());
        }
        assert!(pair.0.is_poisoned());
        drop(guard);
        thread.join().unwrap_err();
    });
}

#[test]
fn notifying_nobody_does_nothing() {
    both(|| {
        let condvar = Condvar::default();
        condvar.notify_one();
        condvar.notify_all();
        assert_eq!(format!("{condvar:?}"), format!("{:?}", std::sync::Condvar::new()));
    });
}
