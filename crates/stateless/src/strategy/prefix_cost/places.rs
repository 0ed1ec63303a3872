//! Where a search for a cheapest linearization is, and has been. Its memory is used again by the next search.

/// A place is so many steps of each thread, and the thread of the last of them: its number and one, or 0 for none.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    width: usize,
    words: Vec<u32>,
}

impl Places {
    /// Forgets all places. From now on they are of so many threads.
    pub(super) fn clear(&mut self, threads: usize) {
        self.width = threads + 1;
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

    /// Adds a place with so many steps of each thread, of which there may be more or fewer here.
    pub(super) fn push_like(&mut self, taken: &[u32], last: Option<usize>) {
        let threads = self.width - 1;
        let known = taken.len().min(threads);
        debug_assert!(taken[known..].iter().all(|steps| *steps == 0), "threads that there are not");
        self.words.extend_from_slice(&taken[..known]);
        self.words.resize(self.words.len() + threads - known, 0);
        self.words.push(last.map_or(0, |last| last as u32 + 1));
    }

    /// Adds the place that one more step of a thread leads to.
    pub(super) fn push_after(&mut self, place: &[u32], thread: usize) {
        self.push(place);
        let begin = self.words.len() - self.width;
        self.words[begin + thread] += 1;
        self.words[begin + self.width - 1] = thread as u32 + 1;
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
    place.last().and_then(|last| last.checked_sub(1)).map(|last| last as usize)
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

    /// Adds a place; says whether it is new.
    pub(super) fn insert(&mut self, place: &[u32]) -> bool {
        if self.table.is_empty() {
            let mut places = self.places.words.chunks_exact(place.len());
            if places.any(|other| other.iter().rev().eq(place.iter().rev())) {
                return false;
            }
            self.places.push(place);
            if self.len() > Seen::FEW {
                self.rehash();
            }
            return true;
        }
        let slot = self.slot(place);
        if self.table[slot] != 0 {
            return false;
        }
        self.places.push(place);
        self.table[slot] = self.len() as u32;
        if self.len() * 2 > self.table.len() {
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
        let mut slot = (place.iter().fold(0, mix) >> 32) as usize & mask;
        while let Some(index) = self.table[slot].checked_sub(1)
            && self.places.get(index as usize) != place
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
                    assert_eq!(seen.insert(&[place % 40, place / 40, place % 3]), round == 0);
                }
            }
            assert_eq!(seen.len(), 1000);
        }
    }

    #[test]
    fn a_place_after_one_more_step_ends_with_its_thread() {
        let mut places = Places::default();
        places.clear(3);
        places.push_after(&[4, 5, 6, 0], 1);
        let mut place = [0; 4];
        assert!(places.pop(&mut place) && !places.pop(&mut [0; 4]));
        assert_eq!((place, last_of(&place), last_of(&[4, 5, 6, 0])), ([4, 6, 6, 2], Some(1), None));
    }
}
