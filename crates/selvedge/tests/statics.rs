//! Statics begin every execution anew.

use std::sync::atomic::{AtomicUsize as Plain, Ordering as PlainOrder};

use selvedge::sync::atomic::{AtomicU32, Ordering};
use selvedge::sync::{Arc, LazyLock, Mutex, Once, OnceLock, RwLock};
use selvedge::{Checker, thread};

/// Adds up how many there are of it, in a counter that no check resets.
struct Counted(&'static Plain);

impl Counted {
    fn new(made: &'static Plain, dropped: &'static Plain) -> Self {
        made.fetch_add(1, PlainOrder::Relaxed);
        Counted(dropped)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, PlainOrder::Relaxed);
    }
}

#[test]
fn checks_that_run_at_the_same_time_do_not_disturb_each_other() {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    static SHARED: Mutex<u64> = Mutex::new(0);

    fn body() {
        *SHARED.lock().unwrap() = 0;
        let other = thread::spawn(|| {
            COUNTER.fetch_add(1, Ordering::SeqCst);
            *SHARED.lock().unwrap() += 1;
        });
        COUNTER.fetch_add(1, Ordering::SeqCst);
        *SHARED.lock().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(COUNTER.load(Ordering::SeqCst), 2);
        assert_eq!(*SHARED.lock().unwrap(), 2);
    }

    let checks: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..100 {
                    Checker::new().check(body);
                }
            })
        })
        .collect();
    for check in checks {
        check.join().unwrap();
    }
}

#[test]
fn atomics_begin_with_the_value_that_they_have_outside() {
    static COUNTER: AtomicU32 = AtomicU32::new(5);

    fn body() {
        let other = thread::spawn(|| COUNTER.fetch_add(1, Ordering::Relaxed));
        COUNTER.fetch_add(1, Ordering::Relaxed);
        other.join().unwrap();
        assert_eq!(COUNTER.load(Ordering::Relaxed) % 10, 7);
    }

    selvedge::check(body);
    assert_eq!(COUNTER.load(Ordering::Relaxed), 5, "a check leaves nothing behind");
    COUNTER.store(15, Ordering::Relaxed);
    selvedge::check(body);
    assert_eq!(COUNTER.load(Ordering::Relaxed), 15);
}

#[test]
fn a_once_lock_is_set_anew_in_every_execution_and_its_value_dropped() {
    static MADE: Plain = Plain::new(0);
    static DROPPED: Plain = Plain::new(0);
    static EXECUTIONS: Plain = Plain::new(0);
    static LOCK: OnceLock<Counted> = OnceLock::new();

    selvedge::check(|| {
        EXECUTIONS.fetch_add(1, PlainOrder::Relaxed);
        assert!(LOCK.get().is_none());
        let other = thread::spawn(|| _ = LOCK.get_or_init(|| Counted::new(&MADE, &DROPPED)));
        LOCK.get_or_init(|| Counted::new(&MADE, &DROPPED));
        other.join().unwrap();
    });
    let executions = EXECUTIONS.load(PlainOrder::Relaxed);
    assert!(executions > 1);
    assert_eq!(MADE.load(PlainOrder::Relaxed), executions);
    assert_eq!(DROPPED.load(PlainOrder::Relaxed), executions);
    assert!(LOCK.get().is_none());
}

#[test]
fn a_lazy_lock_is_made_anew_in_every_execution_and_its_value_dropped() {
    static MADE: Plain = Plain::new(0);
    static DROPPED: Plain = Plain::new(0);
    static EXECUTIONS: Plain = Plain::new(0);
    static LAZY: LazyLock<(Counted, Mutex<u32>)> =
        LazyLock::new(|| (Counted::new(&MADE, &DROPPED), Mutex::new(0)));

    fn body() {
        EXECUTIONS.fetch_add(1, PlainOrder::Relaxed);
        let other = thread::spawn(|| *LAZY.1.lock().unwrap() += 1);
        *LAZY.1.lock().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(*LAZY.1.lock().unwrap(), 2);
    }

    body();
    assert_eq!((MADE.load(PlainOrder::Relaxed), DROPPED.load(PlainOrder::Relaxed)), (1, 0));
    selvedge::check(body);
    let executions = EXECUTIONS.load(PlainOrder::Relaxed);
    assert!(executions > 2);
    assert_eq!(MADE.load(PlainOrder::Relaxed), executions);
    assert_eq!(DROPPED.load(PlainOrder::Relaxed), executions - 1);
    assert_eq!(*LAZY.1.lock().unwrap(), 2, "the value from outside is still there");
}

#[test]
fn what_was_set_outside_is_seen_inside() {
    static LOCK: OnceLock<String> = OnceLock::new();
    static ONCE: Once = Once::new();

    LOCK.set("outside".into()).unwrap();
    ONCE.call_once(|| ());
    selvedge::check(|| {
        assert_eq!(LOCK.set("inside".into()), Err("inside".into()));
        assert_eq!(LOCK.get_or_init(|| unreachable!("it is set")), "outside");
        ONCE.call_once(|| unreachable!("it has run"));
    });
}

#[test]
fn a_once_runs_in_every_execution() {
    static ONCE: Once = Once::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);

    selvedge::check(|| {
        let other = thread::spawn(|| ONCE.call_once(|| _ = RUNS.fetch_add(1, Ordering::Relaxed)));
        ONCE.call_once(|| _ = RUNS.fetch_add(1, Ordering::Relaxed));
        other.join().unwrap();
        assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    });
    assert!(!ONCE.is_completed());
}

#[test]
fn poison_does_not_outlive_its_execution() {
    static MUTEX: Mutex<()> = Mutex::new(());
    static LOCK: RwLock<()> = RwLock::new(());
    static ONCE: Once = Once::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| panic!("on purpose"));

    Checker::new().allow_thread_panics().check(|| {
        assert!(!MUTEX.is_poisoned() && !LOCK.is_poisoned());
        let threads: [fn(); 4] = [
            || {
                let _guard = MUTEX.lock();
                panic!("on purpose");
            },
            || {
                let _guard = LOCK.write();
                panic!("on purpose");
            },
            || ONCE.call_once(|| panic!("on purpose")),
            || _ = *LAZY + 1,
        ];
        for body in threads {
            thread::spawn(body).join().unwrap_err();
        }
        assert!(MUTEX.is_poisoned() && LOCK.is_poisoned() && !ONCE.is_completed());
        thread::spawn(thread::yield_now).join().unwrap();
    });
    assert!(!MUTEX.is_poisoned() && !LOCK.is_poisoned());
    ONCE.call_once(|| ());
}

#[test]
fn a_failing_execution_drops_what_it_put_into_statics_and_poisons_nothing() {
    static MADE: Plain = Plain::new(0);
    static DROPPED: Plain = Plain::new(0);
    static LOCK: OnceLock<Counted> = OnceLock::new();
    static MUTEX: Mutex<()> = Mutex::new(());

    for _ in 0..2 {
        let outcome = Checker::new().explore(|| {
            LOCK.get_or_init(|| Counted::new(&MADE, &DROPPED));
            let _guard = MUTEX.lock().expect("nothing is left of the last execution");
            thread::spawn(|| drop(MUTEX.lock()));
            thread::park();
        });
        let violation = outcome.violation().expect("a deadlock");
        assert_eq!(violation.kind, selvedge::ViolationKind::Deadlock);
    }
    assert_eq!(MADE.load(PlainOrder::Relaxed), DROPPED.load(PlainOrder::Relaxed));
    drop(MUTEX.lock().unwrap());
}

#[test]
fn what_a_static_holds_may_use_statics_when_it_is_dropped() {
    static LATE: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(0));
    static FIRST: OnceLock<UsesLate> = OnceLock::new();
    static DROPS: Plain = Plain::new(0);

    struct UsesLate;

    impl Drop for UsesLate {
        fn drop(&mut self) {
            *LATE.lock().unwrap() += 1;
            DROPS.fetch_add(1, PlainOrder::Relaxed);
            panic!("nobody is there to see this");
        }
    }

    selvedge::check(|| {
        *LATE.lock().unwrap() += 1;
        assert!(FIRST.set(UsesLate).is_ok());
        thread::spawn(thread::yield_now);
    });
    assert!(DROPS.load(PlainOrder::Relaxed) >= 1);
}

#[test]
fn what_comes_from_outside_of_the_check_begins_anew_too() {
    let shared = Arc::new((AtomicU32::new(0), OnceLock::new()));
    selvedge::check(move || {
        assert_eq!(shared.0.fetch_add(1, Ordering::Relaxed), 0);
        let other = shared.clone();
        let other = thread::spawn(move || other.1.set(1).is_ok());
        let mine = shared.1.set(2).is_ok();
        assert!(mine ^ other.join().unwrap());
    });
}

#[test]
fn the_data_of_a_static_lock_begins_every_execution_as_it_was_before_the_check() {
    static MUTEX: Mutex<u32> = Mutex::new(7);
    static LOCK: RwLock<[u8; 3]> = RwLock::new([1, 2, 3]);

    fn body() {
        let other = thread::spawn(|| *MUTEX.lock().unwrap() += 1);
        *MUTEX.lock().unwrap() += 1;
        LOCK.write().unwrap()[1] += 1;
        other.join().unwrap();
        assert_eq!(*MUTEX.lock().unwrap() % 10, 9);
        assert_eq!(*LOCK.read().unwrap(), [1, 3, 3]);
    }

    selvedge::check(body);
    assert_eq!((*MUTEX.lock().unwrap(), *LOCK.read().unwrap()), (7, [1, 2, 3]));
    *MUTEX.lock().unwrap() = 17;
    selvedge::check(body);
    assert_eq!(*MUTEX.lock().unwrap(), 17, "a check leaves nothing behind");
}

#[test]
fn what_an_execution_puts_into_a_static_lock_is_dropped_at_its_end() {
    static MADE: Plain = Plain::new(0);
    static DROPPED: Plain = Plain::new(0);
    static ALL: Mutex<Vec<Counted>> = Mutex::new(Vec::new());

    fn add() {
        ALL.lock().unwrap().push(Counted::new(&MADE, &DROPPED));
    }

    selvedge::check(|| {
        assert!(ALL.lock().unwrap().is_empty());
        let other = thread::spawn(add);
        add();
        other.join().unwrap();
        assert_eq!(ALL.lock().unwrap().len(), 2);
    });
    assert!(MADE.load(PlainOrder::Relaxed) >= 4);
    assert_eq!(MADE.load(PlainOrder::Relaxed), DROPPED.load(PlainOrder::Relaxed));
    assert!(ALL.lock().unwrap().is_empty());
}

#[test]
fn a_destructor_may_lock_the_static_that_it_comes_from() {
    static LATE: Mutex<Option<LocksIt>> = Mutex::new(None);
    static DROPS: Plain = Plain::new(0);

    struct LocksIt;

    impl Drop for LocksIt {
        fn drop(&mut self) {
            assert!(LATE.lock().unwrap().is_none());
            DROPS.fetch_add(1, PlainOrder::Relaxed);
        }
    }

    selvedge::check(|| *LATE.lock().unwrap() = Some(LocksIt));
    assert!(DROPS.load(PlainOrder::Relaxed) >= 1);
}

#[test]
fn a_static_lock_that_owns_what_was_put_there_outside_is_refused() {
    static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    NAMES.lock().unwrap().push("outside".into());
    let error = Checker::new().try_explore(|| NAMES.lock().unwrap().clear()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("static lock") && message.contains("LazyLock"), "{message}");
    assert!(message.contains("statics.rs:"), "{message}");
    assert_eq!(*NAMES.lock().unwrap(), ["outside"]);
}
