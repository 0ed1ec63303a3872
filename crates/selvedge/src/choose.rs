//! Explored data nondeterminism.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::Location;

use selvedge_core::{Op, OpKind};

use crate::rt::{self, Handle, Value};

/// One of `0..n`. In a check every one of them is explored, and counterexamples show it; anywhere else it is
/// pseudo-random.
///
/// # Panics
/// When `n` is 0, or in a check more than `u32::MAX`.
///
/// ```
/// let outcome = selvedge::Checker::new().explore(|| {
///     let dice = selvedge::choose(6) + selvedge::choose(6);
///     assert_ne!(dice, 10, "both show their last side");
/// });
/// assert!(outcome.violation().unwrap().message.contains("both show their last side"));
/// ```
#[track_caller]
pub fn choose(n: usize) -> usize {
    assert!(n > 0, "choose(0): there is nothing to choose from");
    match rt::current() {
        None => below(n as u64) as usize,
        Some(handle) => {
            let n = u32::try_from(n).expect("a choice of at most u32::MAX values");
            choose_in_check(handle, n, Location::caller(), |chosen| Value::Number(chosen.into())) as usize
        }
    }
}

/// Lets the engine choose, as a step of its own, which `show` puts in words. One value is no choice.
pub(crate) fn choose_in_check(
    handle: Handle,
    n: u32,
    site: &'static Location<'static>,
    show: impl FnOnce(u32) -> Value,
) -> u32 {
    if n <= 1 {
        return 0;
    }
    handle.visible(Op::local(OpKind::Choose), site);
    let chosen = handle.choose(n);
    handle.get().value = show(chosen);
    chosen
}

/// A pseudo-random number below `n`, which is not 0.
pub(crate) fn below(n: u64) -> u64 {
    // The upper part of a product is as good as unbiased for the ranges that tests use.
    ((u128::from(bits()) * u128::from(n)) >> 64) as u64
}

/// Pseudo-random bits: Steele, Lea and Flood's SplitMix64, seeded anew for each thread.
pub(crate) fn bits() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
    }
    STATE.with(|state| {
        let next = state.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        state.set(next);
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    })
}
