//! Tracked cells: races are found, and only races.

use selvedge::cell::{Cell, UnsafeCell};
use selvedge::sync::atomic::{AtomicBool, Ordering, fence};
use selvedge::sync::{Arc, Barrier, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use selvedge::{Checker, Outcome, ViolationKind, thread};

/// A cell that threads share, at their own risk.
struct Shared<C>(C);

// SAFETY: in a check one thread runs at a time; that they take turns is what is being checked.
unsafe impl<C> Sync for Shared<C> {}
// SAFETY: as above.
unsafe impl<C> Send for Shared<C> {}

type Number = Shared<UnsafeCell<u32>>;

impl Number {
    #[track_caller]
    fn read(&self) -> u32 {
        // SAFETY: a race is reported, and threads do not run at the same time.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn write(&self, value: u32) {
        // SAFETY: as above.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}

fn number() -> Arc<Number> {
    Arc::new(Shared(UnsafeCell::new(0)))
}

fn races(outcome: &Outcome) -> bool {
    match outcome.violation() {
        Some(violation) => {
            assert_eq!(violation.kind, ViolationKind::DataRace, "{}", violation.message);
            true
        }
        None => {
            assert!(outcome.holds());
            false
        }
    }
}

/// Whether it races that one thread does the first and another does the second.
fn concurrently(first: fn(&Number), second: fn(&Number)) -> bool {
    races(&Checker::new().explore(move || {
        let shared = number();
        let other = shared.clone();
        let thread = thread::spawn(move || first(&other));
        second(&shared);
        thread.join().unwrap();
    }))
}

#[test]
fn two_accesses_race_if_one_of_them_writes() {
    assert!(concurrently(|cell| cell.write(1), |cell| cell.write(2)));
    assert!(concurrently(|cell| _ = cell.read(), |cell| cell.write(2)));
    assert!(concurrently(|cell| cell.write(1), |cell| _ = cell.read()));
    assert!(!concurrently(|cell| _ = cell.read(), |cell| _ = cell.read()));
    assert!(concurrently(|cell| cell.write(1), |cell| _ = cell.0.get()));
    assert!(!concurrently(|cell| _ = cell.0.get(), |cell| _ = cell.0.get()));
}

#[test]
fn a_race_is_reported_with_both_places() {
    let outcome = Checker::new().explore(|| {
        let shared = number();
        let other = shared.clone();
        thread::spawn(move || other.write(1));
        shared.write(2);
    });
    let violation = outcome.violation().expect("a race");
    assert_eq!(violation.kind, ViolationKind::DataRace);
    assert_eq!(violation.preemptions, 0);
    assert_eq!(violation.message.matches("cells.rs:").count(), 2, "{}", violation.message);
}

/// Whether it races that one thread writes, sets a flag, and another that sees the flag reads.
fn published(store: Ordering, load: Ordering, fences: bool) -> bool {
    races(&Checker::new().explore(move || {
        let (shared, flag) = (number(), Arc::new(AtomicBool::new(false)));
        let (their_shared, their_flag) = (shared.clone(), flag.clone());
        let thread = thread::spawn(move || {
            their_shared.write(7);
            if fences {
                fence(Ordering::Release);
            }
            their_flag.store(true, store);
        });
        if flag.load(load) {
            if fences {
                fence(Ordering::Acquire);
            }
            assert_eq!(shared.read(), 7);
        }
        thread.join().unwrap();
        assert_eq!(shared.read(), 7);
    }))
}

#[test]
fn release_and_acquire_order_accesses_and_nothing_less_does() {
    assert!(!published(Ordering::Release, Ordering::Acquire, false));
    assert!(!published(Ordering::SeqCst, Ordering::SeqCst, false));
    assert!(published(Ordering::Relaxed, Ordering::Acquire, false));
    assert!(published(Ordering::Release, Ordering::Relaxed, false));
    assert!(!published(Ordering::Relaxed, Ordering::Relaxed, true));
}

/// Runs two threads that have a cell and something to synchronise by.
fn with<S: Send + Sync + 'static>(make: fn() -> S, first: fn(&Number, &S), second: fn(&Number, &S)) -> bool {
    races(&Checker::new().explore(move || {
        let shared = Arc::new((Shared(UnsafeCell::new(0)), make()));
        let other = shared.clone();
        let thread = thread::spawn(move || first(&other.0, &other.1));
        second(&shared.0, &shared.1);
        thread.join().unwrap();
    }))
}

#[test]
fn locks_order_accesses() {
    fn locked(cell: &Number, lock: &Mutex<()>) {
        let _guard = lock.lock().unwrap();
        cell.write(cell.read() + 1);
    }
    fn tried(cell: &Number, lock: &Mutex<()>) {
        if let Ok(_guard) = lock.try_lock() {
            cell.write(cell.read() + 1);
        }
    }
    fn careless(cell: &Number, lock: &Mutex<()>) {
        let _ = lock.try_lock();
        cell.write(1);
    }

    assert!(!with(|| Mutex::new(()), locked, locked));
    assert!(!with(|| Mutex::new(()), locked, tried));
    assert!(!with(|| Mutex::new(()), tried, tried));
    assert!(with(|| Mutex::new(()), locked, careless));
}

#[test]
fn readers_and_writers_of_a_lock_are_ordered_and_readers_are_not() {
    fn reads(cell: &Number, lock: &RwLock<()>) {
        let _guard = lock.read().unwrap();
        cell.read();
    }
    fn writes(cell: &Number, lock: &RwLock<()>) {
        let _guard = lock.write().unwrap();
        cell.write(1);
    }
    fn writes_as_reader(cell: &Number, lock: &RwLock<()>) {
        let _guard = lock.read().unwrap();
        cell.write(1);
    }
    fn tries(cell: &Number, lock: &RwLock<()>) {
        if let Ok(_guard) = lock.try_write() {
            cell.write(2);
        } else if let Ok(_guard) = lock.try_read() {
            cell.read();
        }
    }
    fn downgrades(cell: &Number, lock: &RwLock<()>) {
        let guard = lock.write().unwrap();
        cell.write(3);
        let _guard = RwLockWriteGuard::downgrade(guard);
        cell.read();
    }
    fn writes_after_downgrading(cell: &Number, lock: &RwLock<()>) {
        let _guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
        cell.write(3);
    }

    let new = || RwLock::new(());
    assert!(!with(new, reads, writes));
    assert!(!with(new, writes, writes));
    assert!(!with(new, tries, writes));
    assert!(!with(new, tries, reads));
    assert!(!with(new, downgrades, reads));
    assert!(!with(new, downgrades, writes));
    assert!(with(new, writes_as_reader, reads));
    assert!(with(new, writes_as_reader, writes_as_reader));
    assert!(with(new, writes_after_downgrading, reads));
}

#[test]
fn a_barrier_orders_what_is_before_it_and_what_is_after() {
    fn before(cell: &Number, barrier: &Barrier) {
        cell.write(1);
        barrier.wait();
    }
    fn after(cell: &Number, barrier: &Barrier) {
        barrier.wait();
        cell.write(2);
    }
    fn both(cell: &Number, barrier: &Barrier) {
        before(cell, barrier);
        cell.write(2);
    }

    assert!(!with(|| Barrier::new(2), before, after));
    assert!(!with(|| Barrier::new(2), after, before));
    assert!(with(|| Barrier::new(2), before, before));
    assert!(with(|| Barrier::new(2), both, after));
}

#[test]
fn what_is_done_once_is_seen_by_all() {
    fn calls(cell: &Number, once: &Once) {
        once.call_once(|| cell.write(5));
        assert_eq!(cell.read(), 5);
    }
    fn asks(cell: &Number, once: &Once) {
        if once.is_completed() {
            cell.read();
        }
    }
    fn waits(cell: &Number, once: &Once) {
        once.wait();
        cell.read();
    }
    fn sets(cell: &Number, lock: &OnceLock<()>) {
        cell.write(1);
        lock.set(()).unwrap();
    }
    fn gets(cell: &Number, lock: &OnceLock<()>) {
        if lock.get().is_some() {
            cell.write(2);
        }
    }
    fn makes(cell: &Number, lock: &OnceLock<()>) {
        lock.get_or_init(|| cell.write(1));
        cell.read();
    }
    fn forces(cell: &Number, lazy: &LazyLock<u32>) {
        let _ = **lazy;
        cell.write(1);
    }

    assert!(!with(Once::new, calls, calls));
    assert!(!with(Once::new, calls, asks));
    assert!(!with(Once::new, calls, waits));
    assert!(!with(OnceLock::new, sets, gets));
    assert!(!with(OnceLock::new, makes, makes));
    assert!(with(OnceLock::new, makes, gets));
    assert!(with(|| LazyLock::new(|| 1), forces, forces));
}

#[test]
fn threads_order_what_is_before_their_creation_and_after_their_end() {
    let outcome = Checker::new().explore(|| {
        let shared = number();
        shared.write(1);
        let other = shared.clone();
        let thread = thread::spawn(move || other.write(other.read() + 1));
        thread.join().unwrap();
        shared.write(3);
        thread::current().unpark();
        thread::park();
    });
    assert!(!races(&outcome));
    assert!(races(&Checker::new().explore(|| {
        let shared = number();
        let other = shared.clone();
        thread::spawn(move || other.write(1));
        shared.read();
    })));
}

#[test]
fn plain_cells_are_tracked_too() {
    fn shared(first: fn(&Cell<u32>), second: fn(&Cell<u32>)) -> bool {
        races(&Checker::new().explore(move || {
            let cell = Arc::new(Shared(Cell::new(0)));
            let other = cell.clone();
            let thread = thread::spawn(move || first(&{ other }.0));
            second(&cell.0);
            thread.join().unwrap();
        }))
    }

    assert!(!shared(|cell| _ = cell.get(), |cell| _ = cell.get()));
    assert!(shared(|cell| cell.set(1), |cell| _ = cell.get()));
    assert!(shared(|cell| _ = cell.replace(1), |cell| _ = cell.get()));
    assert!(shared(|cell| _ = cell.take(), |cell| _ = cell.get()));
    assert!(shared(|cell| cell.update(|value| value + 1), |cell| _ = cell.get()));
    assert!(shared(|cell| cell.swap(&Cell::new(1)), |cell| _ = cell.get()));
}

#[test]
fn an_exclusive_borrow_is_no_access() {
    selvedge::check(|| {
        let mut cell = UnsafeCell::new(1);
        cell.with_mut(|_| ());
        *cell.get_mut() += 1;
        assert_eq!(cell.into_inner(), 2);
        let mut cell = Cell::new(1);
        cell.set(2);
        *cell.get_mut() += 1;
        assert_eq!((cell.get(), cell.clone().into_inner()), (3, 3));
    });
    let (ours, std) = (Cell::new(5), std::cell::Cell::new(5));
    assert_eq!(format!("{ours:?}"), format!("{std:?}"));
    assert!(ours == Cell::from(5) && ours > Cell::default());
    assert_eq!(format!("{:?}", UnsafeCell::new(1)), format!("{:?}", std::cell::UnsafeCell::new(1)));
    let cell = UnsafeCell::new(9);
    // SAFETY: the cell is alive and nobody else has it.
    assert_eq!(unsafe { *UnsafeCell::raw_get(&raw const cell) }, 9);
}

/// Two threads that each add one to a cell without any synchronisation. Returns the totals that came out.
fn totals(checker: Checker) -> (Outcome, Vec<u32>) {
    let totals = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let seen = totals.clone();
    let outcome = checker.keep_going().explore(move || {
        let shared = number();
        let other = shared.clone();
        let thread = thread::spawn(move || other.write(other.read() + 1));
        shared.write(shared.read() + 1);
        thread.join().unwrap();
        seen.lock().unwrap().insert(shared.read());
    });
    let totals = totals.lock().unwrap().iter().copied().collect();
    (outcome, totals)
}

#[test]
fn race_mode_explores_the_accesses_themselves() {
    let (outcome, _) = totals(Checker::new().race_mode());
    let violation = outcome.violation().expect("it is still a race");
    assert_eq!(violation.kind, ViolationKind::DataRace);

    // A counter that is not synchronised, as far as the detector knows, and goes wrong with one preemption.
    let outcome = Checker::new().race_mode().explore(|| {
        let shared = Arc::new((number(), Mutex::new(0)));
        let other = shared.clone();
        let add = |(cell, lock): &(Arc<Number>, Mutex<u32>)| {
            let seen = {
                let _guard = lock.lock().unwrap();
                cell.read()
            };
            let _guard = lock.lock().unwrap();
            cell.write(seen + 1);
        };
        let thread = thread::spawn(move || add(&other));
        add(&shared);
        thread.join().unwrap();
        assert_eq!(shared.0.read(), 2);
    });
    let violation = outcome.violation().expect("an increment is lost");
    assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Assertion, 1));
    let steps = &violation.trace.steps;
    assert!(steps.iter().any(|step| step.op.contains("read cell")), "{steps:?}");
}

/// Whether it races when the first thread publishes in the middle of a write, and the other reads or not `until` it is done.
fn published_early(answered: bool) -> Outcome {
    Checker::new().explore(move || {
        let shared = Arc::new((number(), AtomicBool::new(false), AtomicBool::new(false)));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.0.0.with_mut(|place| {
                // SAFETY: threads take turns; that they do so in time is what is checked.
                unsafe { *place = 1 };
                other.1.store(true, Ordering::Release);
                while answered && !other.2.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            });
        });
        while !shared.1.load(Ordering::Acquire) {
            thread::yield_now();
        }
        shared.0.read();
        shared.2.store(true, Ordering::Release);
        writer.join().unwrap();
    })
}

#[test]
fn a_write_lasts_until_its_closure_ends() {
    for answered in [false, true] {
        assert!(races(&published_early(answered)), "answered: {answered}");
    }
}

#[test]
fn accesses_that_overlap_name_both_places() {
    // The read comes after the beginning of the write and before its end, whatever the order of the rest.
    let outcome = published_early(true);
    let message = &outcome.violation().expect("they overlap").message;
    assert_eq!(message.matches("cells.rs").count(), 2, "{message}");
}

#[test]
fn a_write_inside_a_read_of_the_same_thread_is_found() {
    let both = |inner: fn(&Number)| {
        races(&Checker::new().explore(move || {
            let number = number();
            number.0.with(|_| inner(&number));
        }))
    };
    assert!(both(|number| number.write(1)));
    assert!(!both(|number| _ = number.read()));
}

#[test]
fn pointers_are_accesses_for_as_long_as_they_exist() {
    let outcome = |dropped: bool| {
        Checker::new().explore(move || {
            let shared = Arc::new((number(), AtomicBool::new(false)));
            let other = shared.clone();
            let writer = thread::spawn(move || {
                let pointer = other.0.0.mut_ptr();
                // SAFETY: as in `published_early`.
                unsafe { *pointer.deref() = 1 };
                let mut kept = Some(pointer);
                if dropped {
                    kept = None;
                }
                other.1.store(true, Ordering::Release);
                drop(kept);
            });
            if shared.1.load(Ordering::Acquire) {
                // SAFETY: as above.
                assert_eq!(unsafe { *shared.0.0.const_ptr().deref() }, 1);
            }
            writer.join().unwrap();
        })
    };
    assert!(!races(&outcome(true)));
    assert!(races(&outcome(false)));
}
