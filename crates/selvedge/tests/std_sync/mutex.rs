use std::sync::Mutex as Std;
use std::thread::Result;

use selvedge::sync::{Arc, Mutex, TryLockError};
use selvedge::thread;

use crate::{both, both_with_panics, panics};

/// A mutex that a thread has poisoned after it set the value to this.
fn poisoned(value: i32) -> Arc<Mutex<i32>> {
    let mutex = Arc::new(Mutex::new(0));
    let other = mutex.clone();
    let result: Result<()> = thread::spawn(move || {
        let mut guard = other.lock().unwrap();
        *guard = value;
        panic!("with the lock held");
    })
    .join();
    assert!(result.is_err());
    mutex
}

#[test]
fn no_increment_is_lost() {
    both(|| {
        let total = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let total = total.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        *total.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*total.lock().unwrap(), 4);
    });
}

#[test]
fn a_lock_that_is_held_cannot_be_tried() {
    both(|| {
        let mutex = Mutex::new(1);
        let guard = mutex.lock().unwrap();
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        drop(guard);
        *mutex.try_lock().unwrap() = 2;
        assert_eq!(mutex.into_inner().unwrap(), 2);
    });
}

#[test]
fn a_try_that_fails_elsewhere_leaves_the_value_alone() {
    both(|| {
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let thread = thread::spawn(move || other.try_lock().map(|mut value| *value = 10).is_ok());
        let mine = mutex.try_lock().map(|mut value| *value += 1).is_ok();
        let theirs = thread.join().unwrap();
        let expected: &[i32] = match (mine, theirs) {
            (true, true) => &[10, 11],
            (true, false) => &[1],
            (false, true) => &[10],
            (false, false) => &[],
        };
        assert!(expected.contains(&*mutex.lock().unwrap()));
    });
}

#[test]
fn a_panic_poisons_and_the_data_can_be_had_all_the_same() {
    both_with_panics(|| {
        let mutex = poisoned(7);
        assert!(mutex.is_poisoned());
        assert_eq!(*mutex.lock().unwrap_err().into_inner(), 7);
        match mutex.try_lock() {
            Err(TryLockError::Poisoned(error)) => assert_eq!(**error.get_ref(), 7),
            other => panic!("{other:?} is not poisoned"),
        }
        mutex.clear_poison();
        assert!(!mutex.is_poisoned());
        assert_eq!(*mutex.lock().unwrap(), 7);
    });
}

#[test]
fn poison_is_told_by_get_mut_and_into_inner() {
    both_with_panics(|| {
        let mut mutex = Arc::into_inner(poisoned(3)).expect("the thread has ended");
        **mutex.get_mut().unwrap_err().get_mut() += 1;
        assert_eq!(mutex.into_inner().unwrap_err().into_inner(), 4);
    });
}

#[test]
fn a_panic_that_is_caught_poisons_too() {
    both(|| {
        let mutex = Mutex::new(0);
        panics(|| {
            let _guard = mutex.lock().unwrap();
            panic!("caught");
        });
        assert!(mutex.is_poisoned());
    });
}

#[test]
fn a_lock_taken_while_panicking_does_not_poison() {
    struct CountsItsDrop<'a>(&'a Mutex<u32>);

    impl Drop for CountsItsDrop<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }

    both(|| {
        let mutex = Mutex::new(0);
        panics(|| {
            let _counted = CountsItsDrop(&mutex);
            panic!("caught");
        });
        assert!(!mutex.is_poisoned());
        assert_eq!(*mutex.lock().unwrap(), 1);
    });
}

#[test]
fn it_prints_as_std_does() {
    both_with_panics(|| {
        let (ours, std) = (Mutex::new("x"), Std::new("x"));
        assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
        let (our_guard, std_guard) = (ours.lock().unwrap(), std.lock().unwrap());
        // Some versions of std quote the word.
        assert_eq!(format!("{ours:?}"), format!("{std:?}").replace("\"<locked>\"", "<locked>"));
        assert_eq!(format!("{our_guard:?} {our_guard}"), format!("{std_guard:?} {std_guard}"));
        assert!(format!("{:?}", poisoned(1)).contains("poisoned: true"));
    });
}

#[test]
fn it_is_made_from_a_value_and_from_nothing() {
    both(|| {
        assert_eq!(Mutex::from(5).into_inner().unwrap(), 5);
        assert_eq!(Mutex::<u8>::default().into_inner().unwrap(), 0);
        let unsized_: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
        assert_eq!(unsized_.lock().unwrap().len(), 3);
    });
}
