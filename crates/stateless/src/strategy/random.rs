//! Random scheduling: at each point every enabled thread is equally likely.

use selvedge_core::{Bounds, Decision};

use super::draw::{at_random, draw};
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted};
use crate::program::Onward;

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

impl Strategy for Random {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        prefix.clear();
        self.executions += 1;
        self.current = draw(self.seed, self.executions);
        prefix.onward = Onward::AtRandom { seed: self.current };
        true
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let is_wanted = |number: &u64| wanted(&[], Onward::AtRandom { seed: draw(self.seed, number + 1) });
        let executions = (self.executions..).find(is_wanted)?;
        Some(Box::new(Random { executions, ..self.clone() }))
    }

    #[inline(always)]
    fn choose(&self, point: &Point<'_>) -> Choice {
        if point.arity == 0
            && let Some(thread) = point.enabled.only()
        {
            return Choice::Take(Decision::Thread(thread));
        }
        let one_of = |n| at_random(self.current, point.step as u64, n);
        Choice::Take(if point.arity > 0 {
            Decision::Value(one_of(u64::from(point.arity)) as u32)
        } else {
            let index = one_of(point.enabled.len() as u64) as usize;
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
