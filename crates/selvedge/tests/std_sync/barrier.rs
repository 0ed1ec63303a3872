use selvedge::sync::Barrier;
use selvedge::sync::atomic::{AtomicUsize, Ordering};
use selvedge::{Checker, ViolationKind, thread};

use crate::both;

#[test]
fn nobody_goes_on_before_all_have_come_and_one_leads() {
    both(|| {
        let (barrier, come, leaders) = (Barrier::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    come.fetch_add(1, Ordering::SeqCst);
                    let leads = barrier.wait().is_leader();
                    assert_eq!(come.load(Ordering::SeqCst), 3);
                    leaders.fetch_add(usize::from(leads), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(leaders.into_inner(), 1);
    });
}

#[test]
fn it_can_be_used_again() {
    both(|| {
        let (barrier, come, leaders) = (Barrier::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for round in 1..=2 {
                        come.fetch_add(1, Ordering::SeqCst);
                        let leads = barrier.wait().is_leader();
                        assert!(come.load(Ordering::SeqCst) >= 2 * round);
                        leaders.fetch_add(usize::from(leads), Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!((come.into_inner(), leaders.into_inner()), (4, 2));
    });
}

#[test]
fn one_for_nobody_or_one_lets_everybody_pass() {
    both(|| {
        for n in [0, 1] {
            let barrier = Barrier::new(n);
            assert!(barrier.wait().is_leader());
            assert!(barrier.wait().is_leader());
        }
        let (ours, std) = (Barrier::new(1), std::sync::Barrier::new(1));
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!(format!("{:?}", ours.wait()), format!("{:?}", std.wait()));
    });
}

#[test]
fn one_that_too_few_come_to_is_a_deadlock() {
    let outcome = Checker::new().explore(|| {
        Barrier::new(2).wait();
    });
    assert_eq!(outcome.violation().expect("a deadlock").kind, ViolationKind::Deadlock);
}
