//! Where a search for a cheapest linearization is, and has been. Its memory is used again by the next search.

/// Places in linearizations. A place is so many steps of each thread; the thread of the last of them, as its number and
/// one, or 0 for none; and how many steps that thread had when it was last switched to.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    width: usize,
    words: Vec<u32>,
}

impl Places {
    /// Forgets all places. From now on they are of so many threads.
    pub(super) fn clear(&mut self, threads: usize) {
        self.width = threads + 2;
        self.words.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.words.len() / self.width
    }

    pub(super) fn get(&self, index: usize) -> &[u32] {
        &self.words[index * self.width..(index + 1) * self.width]
    }

    pub(super) fn push(&mut self, place: &[u32]) {
        debug_assert_eq!(place.len(), self.width, "a place of as many threads");
        self.words.extend_from_slice(place);
    }

    /// Adds a place, which may be of more or fewer threads.
    pub(super) fn push_like(&mut self, place: &[u32]) {
        let (taken, rest) = place.split_at(place.len() - 2);
        let threads = self.width - 2;
        let known = taken.len().min(threads);
        debug_assert!(taken[known..].iter().all(|steps| *steps == 0), "threads that there are not");
        self.words.extend_from_slice(&taken[..known]);
        self.words.resize(self.words.len() + threads - known, 0);
        self.words.extend_from_slice(rest);
    }

    /// Adds the place that one more step of a thread leads to, which was switched to after so many.
    pub(super) fn push_after(&mut self, place: &[u32], thread: usize, begin: u32) {
        self.push(place);
        let at = self.words.len() - self.width;
        self.words[at + thread] += 1;
        self.words[at + self.width - 2] = thread as u32 + 1;
        self.words[at + self.width - 1] = begin;
    }

    /// Takes the last place off, if there is one.
    pub(super) fn pop(&mut self, place: &mut [u32]) -> bool {
        let Some(begin) = self.words.len().checked_sub(self.width) else { return false };
        place.copy_from_slice(&self.words[begin..]);
        self.words.truncate(begin);
        true
    }
}

/// The thread of a place's last step.
pub(super) fn last_of(place: &[u32]) -> Option<usize> {
    place[place.len() - 2].checked_sub(1).map(|last| last as usize)
}

/// How many steps that thread had when it was switched to.
pub(super) fn begin_of(place: &[u32]) -> u32 {
    place[place.len() - 1]
}

/// Places that were looked at.
#[derive(Debug, Default)]
pub(super) struct Seen {
    places: Places,
    /// Where a place is, and one, at an index that follows from it; empty while there are few.
    table: Vec<u32>,
}

impl Seen {
    /// So many are looked through one by one.
    const FEW: usize = 24;

    pub(super) fn clear(&mut self, threads: usize) {
        self.places.clear(threads);
        self.table.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a place; says whether it is new, or its thread was switched to later than was known.
    pub(super) fn insert(&mut self, place: &[u32]) -> bool {
        let known = if self.table.is_empty() {
            let mut places = self.places.words.chunks_exact(place.len());
            places.position(|other| is_same(other, place))
        } else {
            let slot = self.slot(place);
            let known = self.table[slot].checked_sub(1).map(|index| index as usize);
            if known.is_none() {
                self.table[slot] = self.len() as u32 + 1;
            }
            known
        };
        if let Some(index) = known {
            let begin = &mut self.places.words[(index + 1) * place.len() - 1];
            let later = begin_of(place) > *begin;
            *begin = begin_of(place).max(*begin);
            return later;
        }
        self.places.push(place);
        if self.len() > Seen::FEW && self.len() * 2 > self.table.len() {
            self.rehash();
        }
        true
    }

    /// Where a place is in the table, or would be.
    fn slot(&self, place: &[u32]) -> usize {
        let mix = |hash: u64, word: &u32| {
            (hash.rotate_left(5) ^ u64::from(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        let mask = self.table.len() - 1;
        let mut slot = (place[..place.len() - 1].iter().fold(0, mix) >> 32) as usize & mask;
        while let Some(index) = self.table[slot].checked_sub(1)
            && !is_same(self.places.get(index as usize), place)
        {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn rehash(&mut self) {
        let size = (self.len() * 4).next_power_of_two();
        self.table.clear();
        self.table.resize(size, 0);
        for index in 0..self.len() {
            let slot = self.slot(self.places.get(index));
            self.table[slot] = index as u32 + 1;
        }
    }
}

/// Whether two places are the same but for when their thread was switched to.
#[inline]
fn is_same(one: &[u32], other: &[u32]) -> bool {
    one.iter().rev().skip(1).eq(other.iter().rev().skip(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once() {
        let mut seen = Seen::default();
        for _ in 0..2 {
            seen.clear(2);
            for round in 0..3 {
                for place in 0..1000_u32 {
                    assert_eq!(seen.insert(&[place % 40, place / 40, place % 3, 0]), round == 0);
                }
            }
            assert_eq!(seen.len(), 1000);
            assert!(seen.insert(&[7, 0, 1, 5]) && !seen.insert(&[7, 0, 1, 4]), "later than before, and not");
        }
    }

    #[test]
    fn a_place_after_one_more_step_ends_with_its_thread() {
        let mut places = Places::default();
        places.clear(3);
        places.push_after(&[4, 5, 6, 0, 0], 1, 5);
        let mut place = [0; 5];
        assert!(places.pop(&mut place) && !places.pop(&mut [0; 5]));
        assert_eq!((place, last_of(&place), begin_of(&place)), ([4, 6, 6, 2, 5], Some(1), 5));
        assert_eq!(last_of(&[4, 5, 6, 0, 0]), None);
        places.push_like(&[4, 6, 2, 5]);
        assert!(places.pop(&mut place));
        assert_eq!(place, [4, 6, 0, 2, 5]);
    }
}
