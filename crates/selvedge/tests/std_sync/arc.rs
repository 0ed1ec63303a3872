use std::collections::HashSet;
use std::sync::Arc as Std;

use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::{AtomicUsize, Ordering};
use selvedge::sync::{Arc, Mutex, Weak, unsize};
use selvedge::{Checker, ViolationKind, thread};

use crate::both;

/// Counts its drops.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn references_are_counted() {
    both(|| {
        let one = Arc::new(5);
        let two = Arc::clone(&one);
        let weak = Arc::downgrade(&one);
        assert_eq!((Arc::strong_count(&one), Arc::weak_count(&one)), (2, 1));
        assert_eq!((weak.strong_count(), weak.weak_count()), (2, 1));
        drop(two);
        assert_eq!((Arc::strong_count(&one), *one), (1, 5));
        drop(one);
        assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn the_value_is_dropped_once_with_the_last_reference() {
    both(|| {
        let drops = AtomicUsize::new(0);
        let one = Arc::new(Counted(&drops));
        thread::scope(|scope| {
            for _ in 0..2 {
                let other = one.clone();
                scope.spawn(move || drop(other));
            }
            drop(one);
        });
        assert_eq!(drops.into_inner(), 1);
    });
}

#[test]
fn an_upgrade_finds_the_value_or_nothing() {
    both(|| {
        let drops = AtomicUsize::new(0);
        let strong = Arc::new(Counted(&drops));
        let weak = Arc::downgrade(&strong);
        thread::scope(|scope| {
            scope.spawn(move || drop(strong));
            if let Some(again) = weak.upgrade() {
                assert_eq!(again.0.load(Ordering::Relaxed), 0);
            }
        });
        assert!(weak.upgrade().is_none());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn only_the_only_reference_can_be_unwrapped() {
    both(|| {
        let one = Arc::new(String::from("x"));
        let two = one.clone();
        let one = Arc::try_unwrap(one).unwrap_err();
        assert_eq!(Arc::into_inner(two), None);
        let weak = Arc::downgrade(&one);
        assert_eq!(Arc::try_unwrap(one).unwrap(), "x");
        assert!(weak.upgrade().is_none());
        let (one, two) = (Arc::new(3), Arc::new(4));
        let other = one.clone();
        assert_eq!((Arc::unwrap_or_clone(one), *other), (3, 3));
        assert_eq!(Arc::unwrap_or_clone(two), 4);
    });
}

#[test]
fn exactly_one_thread_gets_the_value_out() {
    both(|| {
        let one = Arc::new(Mutex::new(7));
        let two = one.clone();
        let thread = thread::spawn(move || Arc::into_inner(two).is_some());
        let mine = Arc::into_inner(one).is_some();
        assert!(mine ^ thread.join().unwrap());
    });
}

#[test]
fn only_the_only_reference_gives_exclusive_access() {
    both(|| {
        let mut one = Arc::new(3);
        *Arc::get_mut(&mut one).unwrap() = 4;
        let two = one.clone();
        assert!(Arc::get_mut(&mut one).is_none());
        drop(two);
        let weak = Arc::downgrade(&one);
        assert!(Arc::get_mut(&mut one).is_none());
        drop(weak);
        assert_eq!(Arc::get_mut(&mut one), Some(&mut 4));
    });
}

#[test]
fn a_shared_value_is_cloned_before_it_is_changed() {
    both(|| {
        let mut one = Arc::new(75);
        *Arc::make_mut(&mut one) += 1;
        let mut two = one.clone();
        *Arc::make_mut(&mut two) += 1;
        assert_eq!((*one, *two), (76, 77));
        assert!(!Arc::ptr_eq(&one, &two));
        let weak = Arc::downgrade(&one);
        *Arc::make_mut(&mut one) += 10;
        assert_eq!(*one, 86);
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn a_value_may_refer_to_itself() {
    struct Gadget {
        me: Weak<Gadget>,
    }

    both(|| {
        let gadget = Arc::new_cyclic(|me| {
            assert!(me.upgrade().is_none());
            Gadget { me: me.clone() }
        });
        assert!(Arc::ptr_eq(&gadget.me.upgrade().unwrap(), &gadget));
        assert_eq!((Arc::strong_count(&gadget), Arc::weak_count(&gadget)), (1, 1));
    });
}

#[test]
fn a_reference_goes_by_way_of_a_pointer() {
    both(|| {
        let one = Arc::new(String::from("x"));
        let pointer = Arc::into_raw(one.clone());
        assert!(std::ptr::eq(pointer, Arc::as_ptr(&one)));
        // SAFETY: the pointer comes from `into_raw`, and as many references are given back as taken.
        unsafe {
            assert_eq!(*pointer, "x");
            Arc::increment_strong_count(pointer);
            assert_eq!(Arc::strong_count(&one), 3);
            Arc::decrement_strong_count(pointer);
            drop(Arc::from_raw(pointer));
        }
        assert_eq!(Arc::strong_count(&one), 1);
        let pointer = Arc::downgrade(&one).into_raw();
        assert!(std::ptr::eq(pointer, Arc::as_ptr(&one)));
        // SAFETY: the pointer comes from `into_raw`.
        let weak = unsafe { Weak::from_raw(pointer) };
        assert_eq!(weak.upgrade().as_deref().map(String::as_str), Some("x"));
        // SAFETY: as above.
        let nothing = unsafe { Weak::from_raw(Weak::<String>::new().into_raw()) };
        assert!(nothing.upgrade().is_none());
        assert!(nothing.ptr_eq(&Weak::new()) && !nothing.ptr_eq(&weak));
    });
}

#[test]
fn large_alignments_are_kept() {
    #[derive(Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(u8);

    both(|| {
        let arc = Arc::new(Aligned(1));
        assert_eq!(Arc::as_ptr(&arc).addr() % 128, 0);
        let pointer = Arc::into_raw(arc);
        // SAFETY: the pointer comes from `into_raw`.
        assert_eq!(*unsafe { Arc::from_raw(pointer) }, Aligned(1));
        let boxed: Box<[Aligned]> = Box::new([Aligned(2), Aligned(3)]);
        let arc: Arc<[Aligned]> = Arc::from(boxed);
        assert_eq!(arc[1], Aligned(3));
        let any: Arc<dyn std::any::Any + Send + Sync> = unsize!(Arc::new(Aligned(4)));
        assert_eq!(*any.downcast::<Aligned>().unwrap(), Aligned(4));
    });
}

#[test]
fn it_does_as_its_value_does() {
    both(|| {
        let (ours, std) = (Arc::new(5), Std::new(5));
        assert_eq!(format!("{ours:?} {ours}"), format!("{std:?} {std}"));
        assert_eq!(format!("{ours:p}"), format!("{:p}", Arc::as_ptr(&ours)));
        assert!(ours == Arc::new(5) && ours < Arc::new(6) && ours != Arc::new(4));
        assert_eq!(ours.cmp(&Arc::new(5)), std::cmp::Ordering::Equal);
        assert_eq!((*ours.as_ref(), *Arc::<i32>::default()), (5, 0));
        #[expect(clippy::mutable_key_type, reason = "what changes in an Arc has no part in its hash")]
        let set: HashSet<_> = [Arc::new("a"), Arc::new("b")].into();
        assert!(set.contains(&"a"));
        let weak = Arc::downgrade(&ours);
        assert_eq!(format!("{weak:?}"), format!("{:?}", Std::downgrade(&std)));
        let error: Arc<std::fmt::Error> = Arc::default();
        assert_eq!((&error as &dyn std::error::Error).to_string(), std::fmt::Error.to_string());
        assert_eq!(*Arc::pin(3), 3);
    });
}

#[test]
fn what_was_done_to_the_value_does_not_race_with_its_end() {
    struct Shared(UnsafeCell<u32>, AtomicUsize);

    // SAFETY: one thread uses the cell at a time, as the check below finds out.
    unsafe impl Sync for Shared {}

    impl Drop for Shared {
        fn drop(&mut self) {
            self.0.with_mut(|_| ());
        }
    }

    selvedge::check(|| {
        let one = Arc::new(Shared(UnsafeCell::new(0), AtomicUsize::new(0)));
        let two = one.clone();
        thread::spawn(move || {
            if two.1.fetch_add(1, Ordering::Relaxed) == 0 {
                two.0.with_mut(|_| ());
            }
        });
        if one.1.fetch_add(1, Ordering::Relaxed) == 0 {
            one.0.with_mut(|_| ());
        }
    });
}

#[test]
fn an_upgrade_may_come_before_the_last_drop_or_after() {
    let seen = Std::new(std::sync::Mutex::new(HashSet::new()));
    let found = seen.clone();
    selvedge::check(move || {
        let (strong, flag) = (Arc::new(1), Arc::new(AtomicUsize::new(0)));
        let (weak, theirs) = (Arc::downgrade(&strong), flag.clone());
        let thread = thread::spawn(move || {
            theirs.store(1, Ordering::SeqCst);
            drop(strong);
        });
        let pair = (flag.load(Ordering::SeqCst), weak.upgrade().is_some());
        found.lock().unwrap().insert(pair);
        thread.join().unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), [(0, true), (1, true), (0, false), (1, false)].into());
}

#[test]
fn clones_and_drops_cost_no_executions() {
    let outcome = Checker::new().unbounded().explore(|| {
        let shared = Arc::new(0);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || drop((shared.clone(), shared)))
            })
            .collect();
        drop(shared);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(outcome.holds());
    let partial_orders = outcome.rows.last().expect("a row").distinct;
    assert_eq!(partial_orders, Some(1));
}

#[test]
fn a_leak_is_reported_on_request() {
    struct Node(Mutex<Option<Arc<Node>>>);

    fn body() {
        let leaked = Arc::new(Node(Mutex::new(None)));
        *leaked.0.lock().unwrap() = Some(leaked.clone());
        let _freed = Arc::new(1);
        let _unwrapped = Arc::into_inner(Arc::new(2));
        let mut changed = Arc::new(3);
        let _kept = changed.clone();
        *Arc::make_mut(&mut changed) += 1;
    }

    assert!(Checker::new().explore(body).holds());
    let outcome = Checker::new().check_leaks().explore(body);
    let violation = outcome.violation().expect("a leak");
    assert_eq!(violation.kind, ViolationKind::Leak);
    assert_eq!(violation.message.matches("an Arc made at").count(), 1, "{}", violation.message);
    assert!(violation.location.as_ref().is_some_and(|location| location.file.ends_with("arc.rs")));
}

#[test]
fn what_is_freed_with_a_static_or_a_thread_is_no_leak() {
    selvedge::lazy_static! {
        static ref HELD: Arc<u32> = Arc::new(1);
    }
    selvedge::thread_local! {
        static LOCAL: Arc<u32> = Arc::new(2);
    }

    Checker::new().check_leaks().check(|| {
        let outside = HELD.clone();
        let thread = thread::spawn(move || LOCAL.with(|local| **local + *outside));
        assert_eq!(thread.join().unwrap(), 3);
    });
}

#[test]
fn what_std_has_can_be_taken_over_whatever_its_layout() {
    struct Drops(std::sync::Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Drops {
        fn drop(&mut self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    #[repr(align(128))]
    struct Aligned(u8);

    let drops = std::sync::Arc::<std::sync::atomic::AtomicU32>::default();
    drop(Arc::from_std(std::sync::Arc::new(Drops(drops.clone()))));
    let slice: std::sync::Arc<[Drops]> = [Drops(drops.clone()), Drops(drops.clone())].into();
    assert_eq!(Arc::from_std(slice).len(), 2);
    assert_eq!(drops.load(std::sync::atomic::Ordering::SeqCst), 3);

    let aligned = Arc::from_std(std::sync::Arc::new(Aligned(3)));
    assert_eq!((aligned.0, Arc::as_ptr(&aligned) as usize % 128), (3, 0));
    drop(Arc::from_std(std::sync::Arc::new(())));
    let shown: std::sync::Arc<dyn std::fmt::Display> = std::sync::Arc::new(5_u64);
    assert_eq!(Arc::from_std(shown).to_string(), "5");
    assert_eq!(&*Arc::from_std(std::sync::Arc::<str>::from("text")), "text");
}

#[test]
#[should_panic(expected = "the only reference")]
fn what_is_shared_cannot_be_taken_over() {
    let shared = std::sync::Arc::new(1);
    let _other = shared.clone();
    drop(Arc::from_std(shared));
}
