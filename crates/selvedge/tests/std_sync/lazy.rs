use selvedge::sync::atomic::{AtomicU32, Ordering};
use selvedge::sync::{Arc, LazyLock, Mutex};
use selvedge::{Checker, Strategy, ViolationKind, thread};

use crate::{both, panics};

#[test]
fn it_is_made_when_it_is_first_used() {
    both(|| {
        let runs = AtomicU32::new(0);
        let lazy = LazyLock::new(|| {
            runs.fetch_add(1, Ordering::Relaxed);
            String::from("made")
        });
        assert_eq!(runs.load(Ordering::Relaxed), 0);
        assert_eq!(LazyLock::get(&lazy), None);
        assert_eq!(lazy.len(), 4);
        assert_eq!(LazyLock::force(&lazy), "made");
        assert_eq!(LazyLock::get(&lazy).map(String::as_str), Some("made"));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn it_is_made_by_one_thread() {
    both(|| {
        let runs = Arc::new(AtomicU32::new(0));
        let their_runs = runs.clone();
        let lazy = LazyLock::new(move || {
            thread::yield_now();
            their_runs.fetch_add(1, Ordering::Relaxed) + 10
        });
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!(*lazy, 10));
            }
        });
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_closure_that_panics_poisons_it_for_good() {
    both(|| {
        let lazy = LazyLock::new(|| -> u32 { panic!("no") });
        assert_eq!(panics(|| *lazy), "no");
        assert!(panics(|| *lazy).contains("poisoned"));
        assert!(panics(|| *LazyLock::force(&lazy)).contains("poisoned"));
        assert_eq!(LazyLock::get(&lazy), None);
    });
}

#[test]
fn a_value_that_is_not_shared_can_be_changed() {
    both(|| {
        let mut lazy = LazyLock::new(|| vec![1]);
        assert_eq!(LazyLock::get_mut(&mut lazy), None);
        LazyLock::force_mut(&mut lazy).push(2);
        lazy.push(3);
        LazyLock::get_mut(&mut lazy).unwrap().push(4);
        assert_eq!(*lazy, [1, 2, 3, 4]);
    });
}

#[test]
fn its_closure_and_its_value_are_dropped_with_it() {
    both(|| {
        let counted = Arc::new(());
        let (captured, made) = (counted.clone(), counted.clone());
        let lazy = LazyLock::new(move || {
            let _captured = &captured;
            made
        });
        assert_eq!(Arc::strong_count(&counted), 3);
        LazyLock::force(&lazy);
        assert_eq!(Arc::strong_count(&counted), 2);
        drop(lazy);
        assert_eq!(Arc::strong_count(&counted), 1);
        let captured = counted.clone();
        drop(LazyLock::new(move || drop(captured)));
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

#[test]
fn it_prints_as_std_does() {
    both(|| {
        let (ours, std) = (LazyLock::new(|| 5), std::sync::LazyLock::new(|| 5));
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!((*ours, *std), (5, 5));
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!(*LazyLock::<u8>::default(), 0);
    });
}

#[test]
fn statics_made_by_the_macro_are_as_those_of_the_crate() {
    selvedge::lazy_static! {
        /// A list.
        static ref LIST: Mutex<Vec<u32>> = Mutex::new(vec![*FIRST]);
        pub(crate) static ref FIRST: u32 = 1;
    }

    both(|| {
        let other = thread::spawn(|| LIST.lock().unwrap().push(2));
        other.join().unwrap();
        assert_eq!(*LIST.lock().unwrap(), [1, 2]);
    });
}

#[test]
fn a_closure_that_is_used_up_says_so() {
    let text = String::from("captured");
    let lazy = LazyLock::new(move || text);
    let outcome = Checker::new().strategy(Strategy::Icb).explore(move || {
        thread::spawn(thread::yield_now);
        assert_eq!(*lazy, "captured");
    });
    let violation = outcome.violation().expect("the second execution cannot make it");
    assert_eq!(violation.kind, ViolationKind::Panic);
    assert!(violation.message.contains("make it inside of the check"), "{}", violation.message);
}
