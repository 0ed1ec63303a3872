use std::sync::RwLock as Std;

use selvedge::sync::{Arc, RwLock, RwLockWriteGuard, TryLockError};
use selvedge::{Checker, ViolationKind, thread};

use crate::{both, both_with_panics, panics};

fn poisoned(value: i32) -> Arc<RwLock<i32>> {
    let lock = Arc::new(RwLock::new(0));
    let other = lock.clone();
    let thread = thread::spawn(move || {
        let mut guard = other.write().unwrap();
        *guard = value;
        panic!("with the lock held");
    });
    let result: thread::Result<()> = thread.join();
    assert!(result.is_err());
    lock
}

#[test]
fn there_may_be_many_readers_and_then_no_writer() {
    both(|| {
        let lock = RwLock::new(5);
        {
            let (one, two) = (lock.read().unwrap(), lock.read().unwrap());
            assert_eq!(*one + *two, 10);
            assert_eq!(*lock.try_read().unwrap(), 5);
            assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        }
        let mut writer = lock.write().unwrap();
        *writer += 1;
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        drop(writer);
        *lock.try_write().unwrap() += 1;
        assert_eq!(lock.into_inner().unwrap(), 7);
    });
}

#[test]
fn readers_see_what_a_writer_did_whole_or_not_at_all() {
    both(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let other = lock.clone();
        let writer = thread::spawn(move || {
            for _ in 0..2 {
                let mut pair = other.write().unwrap();
                pair.0 += 1;
                thread::yield_now();
                pair.1 += 1;
            }
        });
        let other = lock.clone();
        let reader = thread::spawn(move || {
            let pair = other.read().unwrap();
            assert_eq!(pair.0, pair.1);
        });
        let before = lock.read().unwrap().0;
        let after = lock.read().unwrap().0;
        assert!(before <= after);
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(*lock.read().unwrap(), (2, 2));
    });
}

#[test]
fn a_writer_that_panics_poisons() {
    both_with_panics(|| {
        let lock = poisoned(7);
        assert!(lock.is_poisoned());
        assert_eq!(*lock.read().unwrap_err().into_inner(), 7);
        assert_eq!(*lock.write().unwrap_err().into_inner(), 7);
        assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(guard)) if **guard.get_ref() == 7));
        assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(guard)) if **guard.get_ref() == 7));
        lock.clear_poison();
        assert!(!lock.is_poisoned());
        assert_eq!(*lock.read().unwrap(), 7);
        let mut lock = Arc::into_inner(poisoned(3)).expect("the thread has ended");
        **lock.get_mut().unwrap_err().get_mut() += 1;
        assert_eq!(lock.into_inner().unwrap_err().into_inner(), 4);
    });
}

#[test]
fn a_reader_that_panics_does_not_poison() {
    both(|| {
        let lock = RwLock::new(0);
        panics(|| {
            let _guard = lock.read().unwrap();
            panic!("caught");
        });
        assert!(!lock.is_poisoned());
        *lock.write().unwrap() = 1;
    });
}

#[test]
fn no_writer_comes_between_when_a_writer_becomes_a_reader() {
    both(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let writer = thread::spawn(move || *other.write().unwrap() = 2);
        let mut guard = lock.write().unwrap();
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        drop(guard);
        writer.join().unwrap();
        assert!([1, 2].contains(&*lock.read().unwrap()));
    });
}

#[test]
fn it_prints_as_std_does() {
    both(|| {
        let (ours, std) = (RwLock::new("x"), Std::new("x"));
        assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
        let (our_guard, std_guard) = (ours.write().unwrap(), std.write().unwrap());
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!(format!("{our_guard:?} {our_guard}"), format!("{std_guard:?} {std_guard}"));
        drop((our_guard, std_guard));
        let (our_guard, std_guard) = (ours.read().unwrap(), std.read().unwrap());
        assert_eq!(format!("{our_guard:?} {our_guard}"), format!("{std_guard:?} {std_guard}"));
        assert_eq!(RwLock::from(5).into_inner().unwrap(), 5);
        assert_eq!(RwLock::<u8>::default().into_inner().unwrap(), 0);
    });
}

#[test]
fn a_reader_that_wants_to_write_waits_for_itself() {
    let outcome = Checker::new().explore(|| {
        let lock = RwLock::new(0);
        let _reader = lock.read().unwrap();
        let _writer = lock.write();
    });
    let violation = outcome.violation().expect("a deadlock");
    assert_eq!(violation.kind, ViolationKind::Deadlock);
    assert!(violation.message.contains("rwlock lock, which it holds itself"), "{}", violation.message);
}

#[test]
fn two_readers_that_want_to_write_wait_for_each_other() {
    let outcome = Checker::new().explore(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let thread = thread::spawn(move || {
            let value = other.read().unwrap();
            *other.write().unwrap() = *value;
        });
        let value = lock.read().unwrap();
        *lock.write().unwrap() = *value;
        drop(value);
        thread.join().unwrap();
    });
    assert_eq!(outcome.violation().expect("a deadlock").kind, ViolationKind::Deadlock);
}

fn reads_twice_beside(writes: fn(&RwLock<()>)) -> selvedge::Outcome {
    Checker::new().explore(move || {
        let lock = Arc::new(RwLock::new(()));
        let other = lock.clone();
        let writer = thread::spawn(move || writes(&other));
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        drop((first, second));
        writer.join().unwrap();
    })
}

#[test]
fn a_recursive_read_waits_for_ever_behind_a_writer_that_waits() {
    let outcome = reads_twice_beside(|lock| drop(lock.write().unwrap()));
    let violation = outcome.violation().expect("std deadlocks");
    assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Deadlock, 1));
    let behind = "main waits to read-lock rwlock lock behind a writer, which waits for its readers to leave";
    assert!(violation.message.contains(behind), "{}", violation.message);
    assert!(violation.message.contains("thread 1 waits to lock rwlock lock"), "{}", violation.message);
}

#[test]
fn a_writer_that_only_tries_keeps_nobody_out() {
    let outcome = reads_twice_beside(|lock| drop(lock.try_write()));
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

/// Both kinds of locks are explored: those in which a writer that waits keeps readers out, and the others.
#[test]
fn a_reader_that_tries_may_and_may_not_get_in_while_a_writer_wants_to() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static TAKEN: AtomicBool = AtomicBool::new(false);
    static REFUSED: AtomicBool = AtomicBool::new(false);
    Checker::new().check(|| {
        let lock = Arc::new(RwLock::new(()));
        let other = lock.clone();
        let first = lock.read().unwrap();
        let writer = thread::spawn(move || drop(other.write().unwrap()));
        let second = lock.try_read();
        if second.is_ok() { &TAKEN } else { &REFUSED }.store(true, Relaxed);
        drop((first, second));
        writer.join().unwrap();
    });
    assert!(TAKEN.load(Relaxed) && REFUSED.load(Relaxed));
}
