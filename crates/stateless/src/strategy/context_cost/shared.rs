//! What is noted of states for others, and learnt from them.

use super::ContextCost;
use super::states::{At, Marking, News, THREADS};

/// A state that was looked at: what was known of it before that but for costs, and what is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookedAt {
    hash: u128,
    before: Marking,
    after: Marking,
}

impl ContextCost {
    /// How many names of threads have a number.
    pub(crate) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// From now on notes what it finds out, for others, or no longer.
    pub(crate) fn keep_news(&mut self, keep: bool) {
        if !keep {
            self.news = None;
        } else if self.news.is_none() {
            self.news = Some(Vec::new());
        }
    }

    /// Adds to a list what was found out since this was last asked.
    pub(crate) fn take_news(&mut self, list: &mut Vec<News>) {
        if let Some(news) = &mut self.news {
            news.dedup();
            list.extend(news.drain(..).filter_map(|hash| self.states.news(hash)));
        }
    }

    /// What was found out since then is of interest to nobody.
    pub(crate) fn drop_news(&mut self) {
        self.news.iter_mut().for_each(Vec::clear);
    }

    /// Learns what another one has found out, which has the same numbers for threads; also which states are marked.
    pub(crate) fn hear(&mut self, news: &[News], marks: bool) {
        news.iter().for_each(|state| self.states.hear(state, marks));
    }

    /// From now on notes which states are looked at, in a list.
    pub(crate) fn note_looks(&mut self, mut list: Vec<LookedAt>) {
        list.clear();
        self.looked_at = Some(list);
    }

    /// No longer does. Those that were are in the list, each once, unless all that is known may not be found there.
    pub(crate) fn take_looks(&mut self) -> Option<Vec<LookedAt>> {
        let mut list = self.looked_at.take()?;
        if self.numbers.len() > THREADS as usize {
            return None;
        }
        // The first time that it was looked at counts, and what is known now.
        list.sort_by_key(|looked| looked.hash);
        list.dedup_by_key(|looked| looked.hash);
        for looked in &mut list {
            looked.after = self.marking(looked.hash);
        }
        Some(list)
    }

    /// If as much is known of states as was when another one looked at them, learns what it has found out there.
    pub(crate) fn look_like(&mut self, list: &[LookedAt]) -> bool {
        let as_before = list.iter().all(|looked| self.marking(looked.hash) == looked.before);
        if as_before {
            for looked in list {
                if looked.after != looked.before {
                    self.is_news(looked.hash);
                }
                self.states.set_marking(looked.hash, looked.after);
            }
        }
        as_before
    }

    /// Whether as much is known of states as was after another one looked at them.
    pub(crate) fn is_as_after(&mut self, list: &[LookedAt]) -> bool {
        list.iter().all(|looked| self.marking(looked.hash) == looked.after)
    }

    /// What is known of a state but for costs.
    fn marking(&mut self, hash: u128) -> Marking {
        let at = self.states.get(hash);
        at.map(|at| self.states.marking(at)).unwrap_or_default()
    }

    #[inline]
    pub(super) fn is_news(&mut self, hash: u128) {
        if let Some(news) = &mut self.news {
            news.push(hash);
        }
    }

    #[inline]
    pub(super) fn note_look(&mut self, hash: u128, at: Option<At>) {
        if let Some(list) = &mut self.looked_at {
            let before = at.map(|at| self.states.marking(at)).unwrap_or_default();
            list.push(LookedAt { hash, before, after: before });
        }
    }
}
