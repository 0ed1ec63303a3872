//! Every method of every atomic type does what std's does.

use std::sync::atomic as std_atomic;

use selvedge::sync::Arc;
use selvedge::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};
use selvedge::thread;

use crate::{both, panics};

const ORDERS: [Ordering; 5] =
    [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];
const LOADS: [Ordering; 3] = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
const STORES: [Ordering; 3] = [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst];

/// Whatever all types have, on a pair of values.
macro_rules! common {
    ($name:ident $(<$generic:ty>)?, $one:expr, $two:expr) => {{
        let (one, two) = ($one, $two);
        let (mut ours, mut std) =
            ($name $(::<$generic>)?::new(one), std_atomic::$name $(::<$generic>)?::new(one));
        for order in LOADS {
            assert_eq!(ours.load(order), std.load(order));
        }
        for order in STORES {
            (ours.store(two, order), std.store(two, order));
            assert_eq!(ours.load(Ordering::SeqCst), std.load(Ordering::SeqCst));
        }
        for order in ORDERS {
            assert_eq!(ours.swap(one, order), std.swap(one, order));
            for failure in LOADS {
                for (current, new) in [(two, one), (one, two), (two, two)] {
                    assert_eq!(
                        ours.compare_exchange(current, new, order, failure),
                        std.compare_exchange(current, new, order, failure)
                    );
                }
                if let Ok(before) = ours.compare_exchange_weak(two, one, order, failure) {
                    assert_eq!(std.compare_exchange(two, one, order, failure), Ok(before));
                }
                assert_eq!(
                    ours.fetch_update(order, failure, |value| (value == one).then_some(two)),
                    std.fetch_update(order, failure, |value| (value == one).then_some(two))
                );
                assert_eq!(
                    ours.fetch_update(order, failure, |value| (value == one).then_some(two)),
                    std.fetch_update(order, failure, |value| (value == one).then_some(two))
                );
                assert_eq!(ours.update(order, failure, |_| one), std.swap(one, order));
                assert_eq!(ours.try_update(order, failure, |_| None), Err(std.load(failure)));
                assert_eq!(ours.swap(one, order), std.swap(one, order));
            }
        }
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!(*ours.get_mut(), *std.get_mut());
        *ours.get_mut() = two;
        assert_eq!(ours.load(Ordering::SeqCst), two);
        ours.store(one, Ordering::SeqCst);
        assert_eq!(ours.into_inner(), one);
        assert_eq!($name $(::<$generic>)?::from(two).into_inner(), two);
        assert_eq!(
            $name $(::<$generic>)?::default().into_inner(),
            std_atomic::$name $(::<$generic>)?::default().into_inner()
        );
    }};
}

/// The methods that take a value and return the one before.
macro_rules! fetch {
    ($ours:ident, $std:ident, $values:expr, $($method:ident)*) => {
        for value in $values {
            for order in ORDERS {
                $(
                    assert_eq!($ours.$method(value, order), $std.$method(value, order));
                    let order = Ordering::SeqCst;
                    assert_eq!($ours.load(order), $std.load(order), concat!("after ", stringify!($method)));
                )*
            }
        }
    };
}

macro_rules! integers {
    ($($test:ident: $name:ident, $type:ident;)*) => {
        $(
            #[test]
            fn $test() {
                both(|| {
                    common!($name, 3, $type::MAX);
                    common!($name, $type::MIN, $type::MAX);
                    let (ours, std) = ($name::new(5), std_atomic::$name::new(5));
                    fetch!(
                        ours, std, [0, 1, 7, $type::MAX, $type::MIN],
                        fetch_add fetch_sub fetch_and fetch_add fetch_nand fetch_or fetch_sub fetch_xor
                        fetch_max fetch_min
                    );
                });
            }
        )*
    };
}

integers! {
    i8_is_as_stds: AtomicI8, i8;
    i16_is_as_stds: AtomicI16, i16;
    i32_is_as_stds: AtomicI32, i32;
    i64_is_as_stds: AtomicI64, i64;
    isize_is_as_stds: AtomicIsize, isize;
    u8_is_as_stds: AtomicU8, u8;
    u16_is_as_stds: AtomicU16, u16;
    u32_is_as_stds: AtomicU32, u32;
    u64_is_as_stds: AtomicU64, u64;
    usize_is_as_stds: AtomicUsize, usize;
}

#[test]
fn bool_is_as_stds() {
    both(|| {
        common!(AtomicBool, false, true);
        let (ours, std) = (AtomicBool::new(true), std_atomic::AtomicBool::new(true));
        fetch!(ours, std, [true, false], fetch_and fetch_or fetch_nand fetch_xor);
        for order in ORDERS {
            assert_eq!(ours.fetch_not(order), std.fetch_not(order));
        }
    });
}

#[test]
fn pointer_is_as_stds() {
    both(|| {
        let (mut one, mut two) = (1, 2);
        common!(AtomicPtr<i32>, &raw mut one, &raw mut two);
        let (ours, std) = (AtomicPtr::new(&raw mut one), std_atomic::AtomicPtr::new(&raw mut one));
        assert_eq!(format!("{ours:p}"), format!("{std:p}"));
        // SAFETY: the pointer is to a variable that is alive.
        assert_eq!(unsafe { *ours.load(Ordering::Relaxed) }, 1);
    });
}

#[test]
fn orderings_that_make_no_sense_are_refused() {
    both(|| {
        let (ours, std) = (AtomicU8::new(0), std_atomic::AtomicU8::new(0));
        for order in [Ordering::Release, Ordering::AcqRel] {
            assert_eq!(panics(|| ours.load(order)), panics(|| std.load(order)));
            let exchange = |order| ours.compare_exchange(0, 1, Ordering::SeqCst, order);
            let std_exchange = |order| std.compare_exchange(0, 1, Ordering::SeqCst, order);
            assert_eq!(panics(|| exchange(order)), panics(|| std_exchange(order)));
        }
        for order in [Ordering::Acquire, Ordering::AcqRel] {
            assert_eq!(panics(|| ours.store(1, order)), panics(|| std.store(1, order)));
        }
        panics(|| fence(Ordering::Relaxed));
        fence(Ordering::SeqCst);
        compiler_fence(Ordering::AcqRel);
    });
}

#[test]
fn an_update_is_made_whole_whoever_comes_between() {
    both(|| {
        let value = Arc::new(AtomicU32::new(1));
        let other = value.clone();
        let add = move |value: &AtomicU32, amount| {
            value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| old.checked_add(amount)).unwrap()
        };
        let thread = thread::spawn(move || add(&other, 10));
        let (mine, theirs) = (add(&value, 100), thread.join().unwrap());
        assert!((mine, theirs) == (1, 101) || (mine, theirs) == (11, 1));
        assert_eq!(value.load(Ordering::SeqCst), 111);
    });
}
