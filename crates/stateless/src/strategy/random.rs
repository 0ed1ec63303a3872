//! Random scheduling: at each point every enabled thread is equally likely.

use selvedge_core::{Bounds, Decision};

use super::{Choice, Finished, Point, Prefix, Strategy};

/// Executions drawn at random. The same seed draws the same executions.
///
/// ```
/// use selvedge_stateless::{Strategy, strategy::Random};
/// assert_eq!(Random::new(7).exhausted(), None); // a sample exhausts nothing
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    executions: u64,
    /// The seed of the current execution.
    current: u64,
}

impl Random {
    /// A sampler with this seed.
    pub fn new(seed: u64) -> Self {
        Random { seed, executions: 0, current: 0 }
    }
}

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

impl Strategy for Random {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        prefix.clear();
        self.executions += 1;
        self.current = draw(self.seed, self.executions);
        true
    }

    #[inline(always)]
    fn choose(&self, point: &Point<'_>) -> Choice {
        if point.arity == 0
            && let Some(thread) = point.enabled.only()
        {
            return Choice::Take(Decision::Thread(thread));
        }
        let word = draw(self.current, point.step as u64);
        Choice::Take(if point.arity > 0 {
            Decision::Value(below(word, u64::from(point.arity)) as u32)
        } else {
            let index = below(word, point.enabled.len() as u64) as usize;
            Decision::Thread(point.enabled.nth(index).expect("the index is less than the length"))
        })
    }

    fn finished(&mut self, _: &Finished<'_>) {}

    fn learns(&self) -> bool {
        false
    }

    fn exhausted(&self) -> Option<Bounds> {
        None
    }

    fn cut(&self) -> bool {
        true
    }
}
