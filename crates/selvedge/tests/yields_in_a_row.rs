//! A thread that yields several times in a row, and in no loop, was held back by the fair bound: what it does after that was
//! not checked before other threads had ended, and "every execution has been checked" was said all the same.

use std::time::Duration;

use selvedge::sync::atomic::{AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Mutex, mpsc};
use selvedge::{Checker, hint, thread};
use selvedge_core::Outcome;

/// Main waits in this way, several times in a row, and goes on before the other thread has begun: the assertion fails.
fn goes_first(wait: impl Fn() + Send + Sync + 'static) -> Outcome {
    Checker::new().explore(move || {
        let ready = Arc::new(Mutex::new(false));
        let setter = ready.clone();
        let thread = thread::spawn(move || *setter.lock().unwrap() = true);
        wait();
        assert!(*ready.lock().unwrap(), "the other thread was faster");
        thread.join().unwrap();
    })
}

#[track_caller]
fn fails(outcome: &Outcome) {
    let violation = outcome.violation().unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(violation.message.contains("the other thread was faster"), "{}", violation.message);
}

#[test]
fn sleeps() {
    fails(&goes_first(|| {
        thread::sleep(Duration::from_millis(1));
        thread::sleep(Duration::from_millis(1));
        thread::sleep(Duration::from_millis(1));
    }));
}

#[test]
fn yields_and_spin_hints() {
    fails(&goes_first(|| {
        thread::yield_now();
        thread::yield_now();
        hint::spin_loop();
        hint::spin_loop();
    }));
}

#[test]
fn receives_with_a_time_limit() {
    for capacity in 0..3 {
        fails(&goes_first(move || {
            let (sender, receiver) = mpsc::sync_channel::<u32>(capacity);
            let _ = receiver.recv_timeout(Duration::from_millis(1));
            let _ = receiver.recv_timeout(Duration::from_millis(1));
            drop(sender);
        }));
    }
}

#[test]
fn both_orders_of_what_follows_are_run() {
    let outcome = Checker::new().explore(|| {
        let count = Arc::new(AtomicU32::new(0));
        let other = count.clone();
        let thread = thread::spawn(move || {
            thread::yield_now();
            thread::yield_now();
            other.fetch_add(1, SeqCst)
        });
        count.fetch_add(1, SeqCst);
        thread.join().unwrap();
    });
    assert!(outcome.holds(), "{outcome:?}");
    assert_eq!(outcome.rows.last().and_then(|row| row.distinct), Some(2));
    assert_eq!(outcome.guarantee().unwrap().to_string(), "every execution has been checked");
}

/// A loop is cut off, and the answer says so, although the one execution that is run of its kind is within the bound.
#[test]
fn a_loop_that_ends_by_itself_is_named() {
    let outcome = goes_first(|| (0..2).for_each(|_| thread::sleep(Duration::from_millis(1))));
    let guarantee = outcome.guarantee().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(
        guarantee.to_string(),
        "assuming no thread yields at one place at least 2 times more than another runnable thread at any, \
         every execution has been checked"
    );
    let loops = |yields| {
        Checker::new().yields(yields).explore(|| {
            let ready = Arc::new(Mutex::new(false));
            let setter = ready.clone();
            thread::spawn(move || *setter.lock().unwrap() = true);
            (0..2).for_each(|_| thread::yield_now());
            assert!(*ready.lock().unwrap(), "the other thread was faster");
        })
    };
    assert!(loops(1).holds());
    fails(&loops(2));
}
