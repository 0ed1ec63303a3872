use std::cell::RefCell;
use std::collections::BTreeSet;

use selvedge::sync::atomic::{AtomicU32, Ordering};
use selvedge::sync::{Arc, Mutex};
use selvedge::thread::{self, Builder};

use crate::{both, both_with_panics, message, panics};

#[test]
fn threads_of_a_scope_borrow() {
    both(|| {
        let mut numbers = vec![1, 2, 3];
        let mut sum = 0;
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(numbers.len(), 3));
            scope.spawn(|| sum += numbers[0] + numbers[2]);
        });
        numbers.push(sum);
        assert_eq!(numbers, [1, 2, 3, 4]);
    });
}

#[test]
fn a_scope_waits_for_its_threads() {
    both(|| {
        let done = AtomicU32::new(0);
        let value = thread::scope(|scope| {
            scope.spawn(|| {
                thread::yield_now();
                done.fetch_add(1, Ordering::Relaxed);
            });
            5
        });
        assert_eq!((value, done.load(Ordering::Relaxed)), (5, 1));
    });
}

#[test]
fn threads_of_a_scope_create_threads_in_it() {
    both(|| {
        let count = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                scope.spawn(|| count.fetch_add(1, Ordering::Relaxed));
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(count.into_inner(), 2);
    });
}

#[test]
fn results_and_names_are_as_without_a_scope() {
    both(|| {
        let text = String::from("text");
        thread::scope(|scope| {
            let thread = Builder::new().name("scoped".into()).spawn_scoped(scope, || text.len()).unwrap();
            assert_eq!(thread.thread().name(), Some("scoped"));
            while !thread.is_finished() {
                thread::yield_now();
            }
            assert_eq!(thread.join().unwrap(), 4);
        });
    });
}

#[test]
fn a_panic_that_nobody_joins_leaves_the_scope() {
    both_with_panics(|| {
        let others = Mutex::new(0);
        let text = panics(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("unseen"));
                scope.spawn(|| *others.lock().unwrap() += 1);
            });
        });
        assert_eq!(text, "a scoped thread panicked");
        assert_eq!(*others.lock().unwrap(), 1);
    });
}

#[test]
fn a_panic_that_is_joined_does_not() {
    both_with_panics(|| {
        thread::scope(|scope| {
            let thread = scope.spawn(|| -> u8 { panic!("seen") });
            assert_eq!(message(thread.join().unwrap_err()), "seen");
        });
    });
}

#[test]
fn a_panic_of_the_scope_itself_comes_first() {
    both(|| {
        let done = AtomicU32::new(0);
        let text = panics(|| {
            thread::scope(|scope| {
                scope.spawn(|| done.fetch_add(1, Ordering::Relaxed));
                panic!("of the scope");
            });
        });
        assert_eq!((text.as_str(), done.load(Ordering::Relaxed)), ("of the scope", 1));
    });
}

selvedge::thread_local! {
    static AT_END: RefCell<Option<Sets>> = const { RefCell::new(None) };
}

struct Sets(Arc<AtomicU32>);

impl Drop for Sets {
    fn drop(&mut self) {
        self.0.store(1, Ordering::SeqCst);
    }
}

/// In std a scope has returned when the closures have; thread-local variables are destroyed after that.
#[test]
fn a_scope_does_not_wait_for_the_destructors_of_thread_local_variables() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let log = seen.clone();
    selvedge::check(move || {
        let set = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| AT_END.set(Some(Sets(set.clone()))));
        });
        log.lock().unwrap().insert(set.load(Ordering::SeqCst));
    });
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
}

#[test]
fn a_join_waits_for_the_destructors_of_thread_local_variables() {
    let finished = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let log = finished.clone();
    selvedge::check(move || {
        let set = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| {
            let thread = scope.spawn(|| AT_END.set(Some(Sets(set.clone()))));
            if thread.is_finished() {
                log.lock().unwrap().insert(set.load(Ordering::SeqCst));
            }
            thread.join().unwrap();
            assert_eq!(set.load(Ordering::SeqCst), 1);
        });
    });
    assert_eq!(*finished.lock().unwrap(), BTreeSet::from([0, 1]), "it may be finished before they run");
}
