//! What depends on who drops the last reference, under every exhaustive strategy: whichever thread it can be,
//! it is.

use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use selvedge::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Mutex, Weak, mpsc};
use selvedge::{Checker, Strategy, ViolationKind, hint, thread};

const STRATEGIES: [Strategy; 6] = [
    Strategy::Icb,
    Strategy::CbPor,
    Strategy::Bpor,
    Strategy::Dfs,
    // These do not keep to the fair bound, so they come last, and programs that spin do without them.
    Strategy::Optimal,
    Strategy::Dpor,
];

/// Everything that `f` returns in some execution within 2 preemptions, which must be the same under every
/// strategy.
fn outcomes<T: Ord + Clone + Send + std::fmt::Debug + 'static>(spins: bool, f: fn() -> T) -> BTreeSet<T> {
    let mut all: Option<BTreeSet<T>> = None;
    for &strategy in &STRATEGIES[..if spins { 4 } else { 6 }] {
        let seen = StdArc::new(StdMutex::new(BTreeSet::new()));
        let into = seen.clone();
        let outcome = Checker::new().strategy(strategy).preemptions(2).explore(move || {
            let value = f();
            into.lock().unwrap().insert(value);
        });
        assert!(outcome.holds(), "{strategy}: {outcome:?}");
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let expected = all.get_or_insert_with(|| seen.clone());
        assert_eq!(&seen, expected, "{strategy}");
    }
    all.unwrap_or_default()
}

#[test]
fn either_of_two_threads_drops_the_value_even_when_one_waits_for_the_other() {
    /// Its destructor says in which thread it runs.
    struct Last(Arc<Mutex<Option<String>>>);

    impl Drop for Last {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = thread::current().name().map(String::from);
        }
    }

    let seen = outcomes(true, || {
        let by = Arc::new(Mutex::new(None));
        let ready = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Last(by.clone()));
        let first = thread::Builder::new().name("first".into());
        let first = first.spawn({
            let (shared, ready) = (shared.clone(), ready.clone());
            move || {
                ready.store(true, SeqCst);
                drop(shared);
            }
        });
        let second = thread::Builder::new().name("second".into());
        let second = second.spawn(move || {
            while !ready.load(SeqCst) {
                hint::spin_loop();
            }
            drop(shared);
        });
        first.unwrap().join().unwrap();
        second.unwrap().join().unwrap();
        by.lock().unwrap().clone().expect("it is dropped")
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["first", "second"]);
}

#[test]
fn a_destructor_that_needs_a_lock_which_its_dropper_may_hold_deadlocks() {
    struct Entry(Arc<Mutex<u32>>);

    impl Drop for Entry {
        fn drop(&mut self) {
            *self.0.lock().unwrap() -= 1;
        }
    }

    for strategy in STRATEGIES {
        let outcome = Checker::new().strategy(strategy).explore(|| {
            let table = Arc::new(Mutex::new(1));
            let entry = Arc::new(Entry(table.clone()));
            let user = thread::spawn({
                let entry = entry.clone();
                move || drop(entry)
            });
            {
                let _table = table.lock().unwrap();
                drop(entry);
            }
            user.join().unwrap();
        });
        let violation = outcome.violation().expect("the table may be locked by whoever drops the entry");
        assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Deadlock, 0), "{strategy}");
    }
}

#[test]
fn whoever_unwraps_may_or_may_not_be_the_only_one() {
    let seen = outcomes(false, || {
        let shared = Arc::new(5);
        let other = shared.clone();
        let user = thread::spawn(move || drop(other));
        let alone = Arc::try_unwrap(shared).is_ok();
        user.join().unwrap();
        alone
    });
    assert_eq!(seen.len(), 2);
    let seen = outcomes(false, || {
        let shared = Arc::new(5);
        let users: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || Arc::into_inner(shared).is_some())
            })
            .collect();
        drop(shared);
        users.into_iter().map(|user| user.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [[false, false], [false, true], [true, false]]);
}

#[test]
fn a_count_is_seen_before_and_after_each_drop() {
    let seen = outcomes(false, || {
        let shared = Arc::new(());
        let users: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || drop(shared))
            })
            .collect();
        let count = Arc::strong_count(&shared);
        users.into_iter().for_each(|user| user.join().unwrap());
        count
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_weak_reference_upgrades_or_not() {
    let seen = outcomes(false, || {
        let shared = Arc::new(5);
        let weak: Weak<i32> = Arc::downgrade(&shared);
        let user = thread::spawn(move || weak.upgrade().map(|value| *value));
        drop(shared);
        user.join().unwrap()
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [None, Some(5)]);
}

/// A channel is disconnected by whichever sender goes last; what the others do after theirs went can be
/// seen before that.
#[test]
fn either_sender_is_the_last() {
    let seen = outcomes(true, || {
        let (ready, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (sender, receiver) = mpsc::channel::<()>();
        let first = thread::spawn({
            let (sender, ready) = (sender.clone(), ready.clone());
            move || {
                ready.store(true, SeqCst);
                drop(sender);
            }
        });
        let second = thread::spawn({
            let done = done.clone();
            move || {
                while !ready.load(SeqCst) {
                    hint::spin_loop();
                }
                drop(sender);
                done.store(true, SeqCst);
            }
        });
        let done_before = done.load(SeqCst);
        let result = receiver.try_recv();
        first.join().unwrap();
        second.join().unwrap();
        (done_before, matches!(result, Err(mpsc::TryRecvError::Empty)))
    });
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// As long as nobody looks, references cost nothing.
#[test]
fn clones_and_drops_are_no_steps_while_nothing_depends_on_them() {
    let count = |clones: usize| {
        let outcome = Checker::new().explore(move || {
            let shared = Arc::new(AtomicUsize::new(0));
            let users: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        (0..clones).for_each(|_| drop(shared.clone()));
                        shared.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            users.into_iter().for_each(|user| user.join().unwrap());
        });
        assert!(outcome.holds());
        (outcome.statistics.executions, outcome.statistics.depth)
    };
    assert_eq!(count(0), count(5));
}

/// A counterexample that was found with references as steps is replayed with them.
#[test]
fn a_schedule_that_counts_references_can_be_replayed() {
    let program = || {
        let shared = Arc::new(5);
        let other = shared.clone();
        let user = thread::spawn(move || drop(other));
        let alone = Arc::try_unwrap(shared).is_ok();
        user.join().unwrap();
        assert!(!alone, "it was the only one");
    };
    let outcome = Checker::new().explore(program);
    let violation = outcome.violation().expect("it may be the only one");
    let again = Checker::new().replay(violation.schedule.clone()).explore(program);
    let again = again.violation().expect("it is the only one again");
    assert_eq!(again.message, violation.message);
}
