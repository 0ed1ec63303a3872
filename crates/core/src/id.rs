//! Names of threads and objects, and sets of threads.

use std::fmt;
use std::num::NonZeroU32;

/// A thread of the program under test. Thread 0 is the one that the program starts with; the others are
/// numbered in the order in which they are created within an execution.
///
/// ```
/// use selvedge_core::ThreadId;
/// assert_eq!(ThreadId(3).to_string(), "3");
/// assert_eq!(ThreadId(3).index(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The identifier as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A synchronisation object or a tracked cell, numbered from 0 in the order in which an execution first
/// touches them. Two executions with the same schedule number alike; two that differ need not.
///
/// ```
/// use selvedge_core::ObjectId;
/// let object = ObjectId::new(0);
/// assert_eq!(object.index(), 0);
/// assert_eq!(std::mem::size_of::<Option<ObjectId>>(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(NonZeroU32);

impl ObjectId {
    /// The object with this index.
    ///
    /// # Panics
    /// When `index` is `u32::MAX`.
    #[inline]
    pub fn new(index: u32) -> Self {
        ObjectId(NonZeroU32::new(index.wrapping_add(1)).expect("fewer than 2^32 - 1 objects"))
    }

    /// The identifier as an index.
    #[inline]
    pub fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

/// A set of threads, as a bit set that never shrinks: clearing and refilling one allocates nothing, and the
/// first 64 threads, which few programs exceed, are in the set itself.
///
/// ```
/// use selvedge_core::{ThreadId, ThreadSet};
/// let mut set = ThreadSet::default();
/// set.insert(ThreadId(70));
/// set.insert(ThreadId(2));
/// assert_eq!(set.iter().collect::<Vec<_>>(), [ThreadId(2), ThreadId(70)]);
/// set.remove(ThreadId(2));
/// assert!(!set.contains(ThreadId(2)));
/// assert_eq!(set.len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ThreadSet {
    /// Threads 0 to 63.
    low: u64,
    /// The others, 64 a word.
    high: Vec<u64>,
}

impl ThreadSet {
    /// Adds a thread.
    #[inline]
    pub fn insert(&mut self, thread: ThreadId) {
        if thread.0 < 64 {
            self.low |= 1 << thread.0;
        } else {
            self.insert_high(thread);
        }
    }

    #[cold]
    fn insert_high(&mut self, thread: ThreadId) {
        let word = thread.index() / 64 - 1;
        if word >= self.high.len() {
            self.high.resize(word + 1, 0);
        }
        self.high[word] |= 1 << (thread.0 % 64);
    }

    /// Removes a thread, if it is there.
    #[inline]
    pub fn remove(&mut self, thread: ThreadId) {
        if thread.0 < 64 {
            self.low &= !(1 << thread.0);
        } else if let Some(word) = self.high.get_mut(thread.index() / 64 - 1) {
            *word &= !(1 << (thread.0 % 64));
        }
    }

    /// Adds or removes a thread.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, present: bool) {
        if present { self.insert(thread) } else { self.remove(thread) }
    }

    /// Whether the thread is in the set.
    #[inline]
    pub fn contains(&self, thread: ThreadId) -> bool {
        if thread.0 < 64 {
            self.low >> thread.0 & 1 == 1
        } else {
            self.high.get(thread.index() / 64 - 1).is_some_and(|word| word >> (thread.0 % 64) & 1 == 1)
        }
    }

    /// Whether no thread is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.high.iter().all(|&word| word == 0)
    }

    /// How many threads are in the set.
    #[inline]
    pub fn len(&self) -> usize {
        if let Some(small) = self.small() {
            return usize::from(SMALL_SETS[small].length);
        }
        let high: u32 = self.high.iter().map(|word| word.count_ones()).sum();
        (self.low.count_ones() + high) as usize
    }

    /// Removes every thread and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.low = 0;
        if !self.high.is_empty() {
            self.high.fill(0);
        }
    }

    /// The thread with the lowest number.
    #[inline]
    pub fn first(&self) -> Option<ThreadId> {
        if self.low != 0 { Some(ThreadId(self.low.trailing_zeros())) } else { self.iter().next() }
    }

    /// The thread with the lowest number that is not in another set.
    ///
    /// ```
    /// use selvedge_core::{ThreadId, ThreadSet};
    /// let done: ThreadSet = [ThreadId(1)].into_iter().collect();
    /// let wanted: ThreadSet = [ThreadId(1), ThreadId(4)].into_iter().collect();
    /// assert_eq!(wanted.first_outside(&done), Some(ThreadId(4)));
    /// ```
    #[inline]
    pub fn first_outside(&self, other: &ThreadSet) -> Option<ThreadId> {
        match self.low & !other.low {
            0 if self.high.is_empty() => None,
            0 => self.iter().find(|thread| !other.contains(*thread)),
            low => Some(ThreadId(low.trailing_zeros())),
        }
    }

    /// The only thread of the set; `None` when there is none or more than one.
    #[inline]
    pub fn only(&self) -> Option<ThreadId> {
        if self.high.is_empty() {
            self.low.is_power_of_two().then(|| ThreadId(self.low.trailing_zeros()))
        } else {
            self.first().filter(|_| self.len() == 1)
        }
    }

    /// The `n`-th thread of the set, from 0, in the order of their numbers.
    #[inline]
    pub fn nth(&self, n: usize) -> Option<ThreadId> {
        match self.small() {
            Some(small) if n < 8 => {
                // Which one it is cannot be foreseen, so it is looked up, without a branch.
                let set = &SMALL_SETS[small];
                (n < usize::from(set.length)).then(|| ThreadId(u32::from(set.members[n])))
            }
            _ => self.iter().nth(n),
        }
    }

    /// The set as an index into [`SMALL_SETS`], if only the first eight threads are in it.
    #[inline]
    fn small(&self) -> Option<usize> {
        (self.low < 256 && self.high.is_empty()).then_some(self.low as usize)
    }

    /// The threads in the order of their numbers.
    #[inline]
    pub fn iter(&self) -> ThreadIter<'_> {
        ThreadIter { word: self.low, base: 0, rest: &self.high }
    }

    /// The set with these words, the lowest threads first.
    #[inline]
    pub fn from_words(words: &[u64]) -> Self {
        let (low, high) = words.split_first().map_or((0, &[][..]), |(low, high)| (*low, high));
        ThreadSet { low, high: high.to_vec() }
    }

    /// The words of the bit set, the lowest threads first.
    #[inline]
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.low).chain(self.high.iter().copied())
    }

    /// The one word of a set in which no thread above 63 ever was.
    #[inline]
    pub fn word(&self) -> Option<u64> {
        self.high.is_empty().then_some(self.low)
    }

    /// Makes this set equal to another, in the memory it has.
    #[inline]
    pub fn copy_from(&mut self, other: &ThreadSet) {
        self.low = other.low;
        self.copy_high(&other.high);
    }

    /// Makes this the set with these words, the lowest threads first, in the memory it has.
    #[inline]
    pub fn copy_from_words(&mut self, words: &[u64]) {
        let (low, high) = words.split_first().map_or((0, &[][..]), |(low, high)| (*low, high));
        self.low = low;
        self.copy_high(high);
    }

    #[inline]
    fn copy_high(&mut self, high: &[u64]) {
        if !(self.high.is_empty() && high.is_empty()) {
            self.high.clear();
            self.high.extend_from_slice(high);
        }
    }
}

/// The threads of a [`ThreadSet`], in the order of their numbers.
///
/// ```
/// use selvedge_core::{ThreadId, ThreadSet};
/// let set: ThreadSet = [ThreadId(4), ThreadId(1)].into_iter().collect();
/// assert_eq!(set.iter().next(), Some(ThreadId(1)));
/// ```
#[derive(Clone, Debug)]
pub struct ThreadIter<'a> {
    word: u64,
    base: u32,
    rest: &'a [u64],
}

impl Iterator for ThreadIter<'_> {
    type Item = ThreadId;

    #[inline]
    fn next(&mut self) -> Option<ThreadId> {
        while self.word == 0 {
            let (word, rest) = self.rest.split_first()?;
            (self.word, self.rest) = (*word, rest);
            self.base += 64;
        }
        let thread = ThreadId(self.base + self.word.trailing_zeros());
        self.word &= self.word - 1;
        Some(thread)
    }
}

/// A set of some of the first eight threads.
#[derive(Clone, Copy)]
struct SmallSet {
    length: u8,
    members: [u8; 8],
}

/// All of them: counting and picking members is what a random scheduler does at every step.
static SMALL_SETS: [SmallSet; 256] = {
    let mut sets = [SmallSet { length: 0, members: [0; 8] }; 256];
    let mut word = 0;
    while word < 256 {
        let mut thread = 0;
        while thread < 8 {
            if word >> thread & 1 == 1 {
                sets[word].members[sets[word].length as usize] = thread;
                sets[word].length += 1;
            }
            thread += 1;
        }
        word += 1;
    }
    sets
};

impl PartialEq for ThreadSet {
    fn eq(&self, other: &Self) -> bool {
        let longest = self.high.len().max(other.high.len());
        let word = |set: &ThreadSet, index: usize| set.high.get(index).copied().unwrap_or(0);
        self.low == other.low && (0..longest).all(|index| word(self, index) == word(other, index))
    }
}

impl Eq for ThreadSet {}

impl FromIterator<ThreadId> for ThreadSet {
    fn from_iter<I: IntoIterator<Item = ThreadId>>(threads: I) -> Self {
        let mut set = ThreadSet::default();
        threads.into_iter().for_each(|thread| set.insert(thread));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_agrees_with_iter_across_words() {
        let set: ThreadSet = [0, 3, 63, 64, 65, 130].map(ThreadId).into_iter().collect();
        let listed: Vec<_> = set.iter().collect();
        assert_eq!(listed, [0, 3, 63, 64, 65, 130].map(ThreadId));
        for (n, &thread) in listed.iter().enumerate() {
            assert_eq!(set.nth(n), Some(thread));
        }
        assert_eq!(set.nth(6), None);
        let words: Vec<_> = set.words().collect();
        assert_eq!(ThreadSet::from_words(&words), set);
        let mut other = ThreadSet::default();
        other.copy_from_words(&words);
        assert_eq!(other, set);
        other.copy_from_words(&words[..1]);
        assert_eq!(other.iter().last(), Some(ThreadId(63)));
    }

    #[test]
    fn small_sets_are_what_their_bits_say() {
        for word in 0..256_u32 {
            let set: ThreadSet = (0..8).filter(|thread| word >> thread & 1 == 1).map(ThreadId).collect();
            assert_eq!(set.len(), word.count_ones() as usize);
            for n in 0..9 {
                assert_eq!(set.nth(n), set.iter().nth(n));
            }
        }
    }

    #[test]
    fn equality_ignores_trailing_empty_words() {
        let mut long: ThreadSet = [ThreadId(1), ThreadId(200)].into_iter().collect();
        long.remove(ThreadId(200));
        assert_eq!(long, [ThreadId(1)].into_iter().collect());
    }
}
