use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use selvedge::{Checker, thread};

use crate::both;

#[test]
fn each_thread_has_its_own() {
    selvedge::thread_local! {
        static VALUE: Cell<u32> = const { Cell::new(1) };
    }

    both(|| {
        VALUE.set(2);
        let other = thread::spawn(|| {
            let before = VALUE.get();
            VALUE.set(before + 10);
            VALUE.get()
        });
        assert_eq!((other.join().unwrap(), VALUE.get()), (11, 2));
        assert_eq!((VALUE.replace(5), VALUE.take(), VALUE.get()), (2, 5, 0));
    });
}

#[test]
fn it_is_made_when_it_is_first_used() {
    selvedge::thread_local! {
        static MADE: Cell<u32> = const { Cell::new(0) };
        static NAMES: RefCell<Vec<u32>> = {
            MADE.set(MADE.get() + 1);
            RefCell::new(vec![1])
        };
    }

    both(|| {
        thread::spawn(|| {
            assert_eq!(MADE.get(), 0);
            NAMES.with_borrow_mut(|names| names.push(2));
            NAMES.with_borrow(|names| assert_eq!(*names, [1, 2]));
            assert_eq!(MADE.get(), 1);
            assert_eq!(NAMES.replace(vec![]), [1, 2]);
            NAMES.set(vec![3]);
            assert_eq!(NAMES.take(), [3]);
            assert_eq!(NAMES.try_with(|names| names.borrow().len()), Ok(0));
        })
        .join()
        .unwrap();
    });
}

#[test]
fn setting_it_first_does_not_make_it() {
    selvedge::thread_local! {
        static CELL: Cell<u32> = unneeded();
        static REF_CELL: RefCell<u32> = unneeded();
    }

    fn unneeded<T>() -> T {
        panic!("the initial value is not needed")
    }

    both(|| {
        thread::spawn(|| {
            CELL.set(3);
            REF_CELL.set(4);
            assert_eq!((CELL.get(), REF_CELL.take()), (3, 4));
        })
        .join()
        .unwrap();
    });
}

/// Writes down when it is dropped.
struct Logged(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Logged {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn they_are_dropped_when_the_thread_ends_in_the_order_of_std() {
    selvedge::thread_local! {
        static ONE: RefCell<Option<Logged>> = const { RefCell::new(None) };
        static TWO: RefCell<Option<Logged>> = const { RefCell::new(None) };
        static THREE: RefCell<Option<Logged>> = const { RefCell::new(None) };
    }

    fn body() -> Vec<&'static str> {
        let log = Arc::new(Mutex::new(Vec::new()));
        let theirs = log.clone();
        let thread = thread::spawn(move || {
            TWO.set(Some(Logged("two", theirs.clone())));
            ONE.set(Some(Logged("one", theirs.clone())));
            THREE.set(Some(Logged("three", theirs.clone())));
            theirs.lock().unwrap().push("end");
        });
        thread.join().unwrap();
        let log = log.lock().unwrap();
        log.clone()
    }

    // std leaves the order open; a check has the order that there is.
    let outside = body();
    assert_eq!(outside.len(), 4);
    assert_eq!(outside[0], "end");
    selvedge::check(move || assert_eq!(body(), outside));
}

#[test]
fn a_destructor_finds_itself_gone_and_others_there() {
    selvedge::thread_local! {
        static LATE: RefCell<u32> = const { RefCell::new(7) };
        static EARLY: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }

    struct AtEnd(Arc<Mutex<Vec<bool>>>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            let gone = EARLY.try_with(|_| ()).is_err();
            let there = LATE.try_with(|late| *late.borrow() == 7).unwrap_or(false);
            self.0.lock().unwrap().extend([gone, there]);
        }
    }

    both(|| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let theirs = seen.clone();
        thread::spawn(move || EARLY.set(Some(AtEnd(theirs)))).join().unwrap();
        assert_eq!(*seen.lock().unwrap(), [true, true]);
    });
}

#[test]
fn those_of_threads_that_were_cut_short_are_dropped_too() {
    selvedge::thread_local! {
        static OTHER: Cell<u32> = const { Cell::new(1) };
        static HELD: RefCell<Option<UsesAnother>> = const { RefCell::new(None) };
    }

    struct UsesAnother(Arc<Mutex<u32>>);

    impl Drop for UsesAnother {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += OTHER.get();
        }
    }

    let drops = Arc::new(Mutex::new(0));
    let theirs = drops.clone();
    let outcome = Checker::new().shorten(0).explore(move || {
        *theirs.lock().unwrap() = 0;
        let mine = theirs.clone();
        HELD.set(Some(UsesAnother(mine)));
        let theirs = theirs.clone();
        thread::spawn(move || {
            HELD.set(Some(UsesAnother(theirs)));
            thread::park();
        });
        thread::park();
    });
    assert!(outcome.violation().is_some());
    assert_eq!(*drops.lock().unwrap(), 2);
    assert_eq!(Arc::strong_count(&drops), 1);
}
