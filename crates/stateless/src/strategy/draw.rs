//! Random numbers that are a function of a seed and a counter.
//!
//! This file is also a module of the runtime in C programs (`crates/pthread`), which draws the same ones.

/// A well mixed word from a seed and a counter, so that a choice depends on nothing but the two.
#[inline]
pub(crate) fn draw(seed: u64, counter: u64) -> u64 {
    let z = seed.wrapping_add(counter.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let product = u128::from(z) * u128::from(z ^ 0xE703_7ED1_A0B4_28DB);
    (product >> 64) as u64 ^ product as u64
}

/// One of `n` numbers from 0, evenly.
#[inline]
pub(crate) fn below(word: u64, n: u64) -> u64 {
    ((u128::from(word) * u128::from(n)) >> 64) as u64
}

/// Random scheduling: which of so many threads or values is chosen at a step.
#[inline]
pub(crate) fn at_random(seed: u64, step: u64, n: u64) -> u64 {
    below(draw(seed, step), n)
}

/// Probabilistic concurrency testing: the `index`-th step at which the running thread's priority drops.
#[inline]
pub(crate) fn change_point(seed: u64, index: u64, longest: u64) -> u64 {
    1 + below(draw(seed, index), longest)
}

/// The priority of a thread: the higher half of the numbers to begin with, lower the later it dropped.
#[inline]
pub(crate) fn priority(seed: u64, thread: u32, dropped: Option<u64>) -> u64 {
    match dropped {
        Some(step) => u64::MAX / 2 - step,
        None => u64::MAX / 2 + 1 + draw(!seed, u64::from(thread)) / 2,
    }
}

/// The value that is chosen there.
#[inline]
pub(crate) fn value(seed: u64, step: u64, n: u64) -> u64 {
    below(draw(seed ^ 0x5555, step), n)
}
