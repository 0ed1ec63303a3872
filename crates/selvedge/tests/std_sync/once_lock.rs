use std::cell::Cell;
use std::rc::Rc;

use selvedge::sync::atomic::{AtomicU32, Ordering};
use selvedge::sync::{Arc, OnceLock};
use selvedge::thread;

use crate::{both, panics};

#[test]
fn it_is_set_once() {
    both(|| {
        let mut lock = OnceLock::new();
        assert_eq!(lock.get(), None);
        assert_eq!(lock.get_mut(), None);
        assert_eq!(lock.set(1), Ok(()));
        assert_eq!(lock.set(2), Err(2));
        assert_eq!(lock.get(), Some(&1));
        assert_eq!(lock.get_or_init(|| unreachable!("it is set")), &1);
        assert_eq!(lock.wait(), &1);
        *lock.get_mut().unwrap() = 3;
        assert_eq!(lock.get(), Some(&3));
        assert_eq!(lock.take(), Some(3));
        assert_eq!(lock.take(), None);
        assert_eq!(lock.set(4), Ok(()));
        assert_eq!(lock.into_inner(), Some(4));
        assert_eq!(OnceLock::<u8>::new().into_inner(), None);
    });
}

#[test]
fn all_threads_agree_on_who_set_it() {
    both(|| {
        let (lock, runs) = (OnceLock::new(), AtomicU32::new(0));
        let make = |value: u32| {
            *lock.get_or_init(|| {
                runs.fetch_add(1, Ordering::Relaxed);
                value
            })
        };
        let (one, two) = thread::scope(|scope| {
            let one = scope.spawn(|| make(1));
            let two = scope.spawn(|| make(2));
            (one.join().unwrap(), two.join().unwrap())
        });
        assert_eq!(one, two);
        assert_eq!(lock.get(), Some(&one));
        assert_eq!(runs.into_inner(), 1);
    });
}

#[test]
fn setting_it_waits_for_whoever_is_making_it() {
    both(|| {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let thread = thread::spawn(move || {
            *other.get_or_init(|| {
                thread::yield_now();
                String::from("made")
            }) == "made"
        });
        let set = lock.set("set".to_string()).is_ok();
        assert_eq!(lock.get().map(String::as_str), Some(if set { "set" } else { "made" }));
        assert_eq!(thread.join().unwrap(), !set);
    });
}

#[test]
fn a_thread_can_wait_for_another_to_set_it() {
    both(|| {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let thread = thread::spawn(move || other.set(vec![1, 2]).unwrap());
        assert_eq!(lock.wait().len(), 2);
        thread.join().unwrap();
    });
}

#[test]
fn a_panic_leaves_it_without_a_value() {
    both(|| {
        let lock = OnceLock::new();
        panics(|| *lock.get_or_init(|| -> i32 { panic!("no") }));
        assert_eq!(lock.get(), None);
        assert_eq!(lock.get_or_init(|| 5), &5);
        let lock = OnceLock::new();
        panics(|| *lock.get_or_init(|| -> i32 { panic!("no") }));
        assert_eq!(lock.set(6), Ok(()));
    });
}

#[test]
fn the_value_is_dropped_with_it() {
    struct Counted(Rc<Cell<u32>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    both(|| {
        let drops = Rc::new(Cell::new(0));
        let lock = OnceLock::new();
        assert!(lock.set(Counted(drops.clone())).is_ok());
        assert!(lock.set(Counted(drops.clone())).is_err());
        assert_eq!(drops.get(), 1);
        drop(lock);
        assert_eq!(drops.get(), 2);
        drop(OnceLock::from(Counted(drops.clone())));
        assert_eq!(drops.get(), 3);
        drop(OnceLock::from(Counted(drops.clone())).into_inner());
        assert_eq!(drops.get(), 4);
        drop(OnceLock::<Counted>::new());
        let moved = OnceLock::new();
        moved.get_or_init(|| Counted(drops.clone()));
        let moved = Box::new(moved);
        assert_eq!((drops.get(), Rc::strong_count(&drops)), (4, 2));
        drop(moved);
        assert_eq!((drops.get(), Rc::strong_count(&drops)), (5, 1));
    });
}

#[test]
fn it_may_hold_what_borrows() {
    both(|| {
        let text = String::from("borrowed");
        let lock: OnceLock<&str> = OnceLock::new();
        assert_eq!(*lock.get_or_init(|| text.as_str()), "borrowed");
    });
}

#[test]
fn it_clones_compares_and_prints_as_std_does() {
    both(|| {
        let (ours, std) = (OnceLock::new(), std::sync::OnceLock::new());
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!(ours, OnceLock::default());
        ours.set("x").unwrap();
        std.set("x").unwrap();
        assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
        assert_eq!(ours.clone(), OnceLock::from("x"));
        assert_ne!(ours, OnceLock::new());
        assert_ne!(ours, OnceLock::from("y"));
    });
}
