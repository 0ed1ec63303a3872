//! Executions that were run ahead of time, until the search asks for them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use selvedge_stateless::{Onward, Plan, Ran};

use crate::execution::answer;

/// All that decides what an execution does by itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// The decisions that it begins with, as the shared area has them.
    pub(crate) decisions: Vec<u32>,
    pub(crate) onward: Onward,
    /// The fair bound.
    pub(crate) yields: Option<u32>,
}

impl Course {
    /// Makes it that of a plan.
    pub(crate) fn follow(&mut self, plan: &Plan<'_>) {
        self.decisions.clear();
        self.decisions.extend(packed(plan));
        self.onward = plan.onward;
        self.yields = plan.yields;
    }

    pub(crate) fn copy_from(&mut self, other: &Course) {
        self.decisions.clone_from(&other.decisions);
        self.onward = other.onward;
        self.yields = other.yields;
    }

    pub(crate) fn key(&self) -> Key {
        key(self.decisions.iter().copied(), self.onward, self.yields)
    }
}

/// What an execution is looked up by. That two have the same is so rare that it may cost time.
pub(crate) type Key = u64;

pub(crate) fn key(decisions: impl Iterator<Item = u32>, onward: Onward, yields: Option<u32>) -> Key {
    // None is 0, which would stay so whatever is added.
    let (way, seed) = match onward {
        Onward::Calmly => (4, 0),
        Onward::Unknown => (1, 0),
        Onward::AtRandom { seed } => (2, seed),
        Onward::ByPriority { seed, longest, drops } => (3 | u64::from(drops) << 3 | longest << 35, seed),
    };
    let yields = yields.map_or(0, |yields| u64::from(yields) + 1);
    let stir = |key: u64, word: u64| (key.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let key = decisions.fold(stir(stir(way, seed), yields), |key, decision| stir(key, u64::from(decision)));
    key ^ key >> 32
}

/// The decisions of a plan, as the program is given them.
pub(crate) fn packed<'a>(plan: &'a Plan<'_>) -> impl Iterator<Item = u32> + 'a {
    plan.decisions.iter().chain(plan.likely).map(|decision| answer(*decision).pack())
}

/// An execution that was run.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) course: Course,
    pub(crate) run: Arc<Ran>,
    /// How many bytes it takes, about, once it was [weighed](Kept::weigh): to look at all of it anew is to have it fetched from
    /// another core.
    pub(crate) bytes: usize,
}

impl Kept {
    /// Finds out how many bytes it takes.
    pub(crate) fn weigh(&mut self) {
        self.bytes = self.run.size() + size_of_val(&self.course.decisions[..]);
    }
}

/// Executions by their keys.
#[derive(Default)]
pub(crate) struct Stash {
    kept: HashMap<Key, Kept>,
    /// The keys of `kept`, and some that are no longer, oldest first.
    order: VecDeque<Key>,
    /// The size of what is kept.
    bytes: usize,
}

impl Stash {
    /// So many bytes of executions are kept; then the oldest are forgotten.
    const MOST: usize = 256 << 20;
    /// One that takes more is not kept.
    pub(crate) const LARGEST: usize = 16 << 20;

    /// Keeps an execution. Adds the keys of those that are forgotten to a list.
    pub(crate) fn keep(&mut self, key: Key, run: Kept, forgotten: &mut Vec<Key>) {
        self.bytes += run.bytes;
        self.order.push_back(key);
        if let Some(before) = self.kept.insert(key, run) {
            self.bytes -= before.bytes;
        }
        while self.bytes > Stash::MOST
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some(run) = self.kept.remove(&oldest) {
                self.bytes -= run.bytes;
                forgotten.push(oldest);
            }
        }
        // What was taken is forgotten in time.
        if self.order.len() > 2 * self.kept.len() + 64 {
            self.order.retain(|key| self.kept.contains_key(key));
        }
    }

    pub(crate) fn get(&self, key: Key, course: &Course) -> Option<Arc<Ran>> {
        self.kept.get(&key).filter(|run| run.course == *course).map(|run| run.run.clone())
    }

    pub(crate) fn take(&mut self, key: Key, course: &Course) -> Option<Kept> {
        self.kept.get(&key).filter(|run| run.course == *course)?;
        let run = self.kept.remove(&key)?;
        self.bytes -= run.bytes;
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(decisions: &[u32], onward: Onward, yields: Option<u32>) -> Course {
        Course { decisions: decisions.to_vec(), onward, yields }
    }

    #[test]
    fn courses_that_differ_have_other_keys() {
        let at_random = |seed| Onward::AtRandom { seed };
        let by_priority = |longest, drops| Onward::ByPriority { seed: 1, longest, drops };
        let courses = [
            course(&[], Onward::Calmly, None),
            course(&[0], Onward::Calmly, None),
            course(&[0, 0], Onward::Calmly, None),
            course(&[0, 1], Onward::Calmly, None),
            course(&[1, 0], Onward::Calmly, None),
            course(&[], Onward::Calmly, Some(0)),
            course(&[], Onward::Calmly, Some(1)),
            course(&[], Onward::Unknown, None),
            course(&[], at_random(0), None),
            course(&[], at_random(1), None),
            course(&[], by_priority(1, 1), None),
            course(&[], by_priority(1, 2), None),
            course(&[], by_priority(2, 1), None),
        ];
        for (number, course) in courses.iter().enumerate() {
            assert!(courses[..number].iter().all(|other| other.key() != course.key()), "{course:?}");
        }
    }

    #[test]
    fn one_execution_is_not_taken_for_another_with_the_same_key() {
        let (one, other) = (course(&[1], Onward::Calmly, None), course(&[2], Onward::Calmly, None));
        let mut stash = Stash::default();
        let mut kept = Kept::default();
        kept.course.copy_from(&one);
        kept.weigh();
        assert!(kept.bytes > 0);
        stash.keep(7, kept, &mut Vec::new());
        assert!(stash.get(7, &one).is_some() && stash.get(7, &other).is_none());
        assert!(stash.take(7, &other).is_none() && stash.take(7, &one).is_some());
        assert!(stash.get(7, &one).is_none() && stash.bytes == 0);
    }
}
