//! The bytes of stacks that others may write to: atomics, the objects of pthreads, and what another thread has written to. They
//! are no part of what their thread is by itself, until the function that has them returns.

use std::ops::Range;

use crate::runtime::MAX_THREADS;

/// So many words may have such bytes.
const MOST: usize = 4096;
const BUCKETS: usize = 512;

/// A word of which others may write to some bytes.
#[derive(Clone, Copy)]
struct Shared {
    word: usize,
    bytes: u64,
    /// The next of the bucket, and of the thread, plus 1.
    in_bucket: u32,
    of_thread: u32,
}

/// Those of all stacks.
pub(super) struct Stacks {
    /// The first of each bucket and of each thread, plus 1.
    buckets: [u32; BUCKETS],
    threads: [u32; MAX_THREADS],
    shared: [Shared; MOST],
    /// How many have been used, and the first that is free again, plus 1.
    count: usize,
    free: u32,
}

impl Stacks {
    /// All zero, so that it takes no room in the file and no memory until it is used.
    pub(super) const NONE: Stacks = Stacks {
        buckets: [0; BUCKETS],
        threads: [0; MAX_THREADS],
        shared: [Shared { word: 0, bytes: 0, in_bucket: 0, of_thread: 0 }; MOST],
        count: 0,
        free: 0,
    };

    /// Whether a thread's stack has any.
    #[inline]
    pub(super) fn has_any(&self, thread: usize) -> bool {
        self.threads[thread] != 0
    }

    /// Whether some of these bytes are in a word that has any.
    pub(super) fn has(&self, bytes: Range<usize>) -> bool {
        words_of(bytes).any(|word| self.find(word).is_some())
    }

    fn find(&self, word: usize) -> Option<usize> {
        self.follow(self.buckets[bucket(word)], |shared| shared.in_bucket)
            .find(|index| self.shared[*index].word == word)
    }

    /// The places in a list, from its first on.
    fn follow(&self, first: u32, next: impl Fn(&Shared) -> u32) -> impl Iterator<Item = usize> {
        let place = |at: u32| (at as usize).checked_sub(1);
        std::iter::successors(place(first), move |index| place(next(&self.shared[*index])))
    }

    /// Others may write to these bytes of a word on a thread's stack. Says by how much that changes the sum of the stack without
    /// them; nothing if there are too many.
    pub(super) fn share(&mut self, thread: usize, word: usize, bytes: u64) -> Option<u64> {
        let index = match self.find(word) {
            Some(index) => index,
            None => self.add(thread, word)?,
        };
        let before = self.shared[index];
        self.shared[index].bytes |= bytes;
        Some(before.rest() ^ self.shared[index].rest())
    }

    fn add(&mut self, thread: usize, word: usize) -> Option<usize> {
        let index = match (self.free as usize).checked_sub(1) {
            Some(free) => {
                self.free = self.shared[free].of_thread;
                free
            }
            None if self.count == MOST => return None,
            None => {
                self.count += 1;
                self.count - 1
            }
        };
        let (bucket, first) = (&mut self.buckets[bucket(word)], &mut self.threads[thread]);
        self.shared[index] = Shared { word, bytes: 0, in_bucket: *bucket, of_thread: *first };
        (*bucket, *first) = (index as u32 + 1, index as u32 + 1);
        Some(index)
    }

    /// What was on a thread's stack below an address is gone: nobody else writes there any more. Tells of each word.
    #[cold]
    pub(super) fn leave_below(&mut self, thread: usize, limit: usize, mut gone: impl FnMut(usize)) {
        let (mut before, mut at) = (0, self.threads[thread]);
        while at != 0 {
            let Shared { word, of_thread, .. } = self.shared[at as usize - 1];
            if word >= limit {
                before = at;
            } else {
                match before {
                    0 => self.threads[thread] = of_thread,
                    _ => self.shared[before as usize - 1].of_thread = of_thread,
                }
                self.remove(at as usize - 1);
                gone(word);
            }
            at = of_thread;
        }
    }

    /// Takes one out of its bucket, and frees it.
    fn remove(&mut self, index: usize) {
        let Shared { word, in_bucket, .. } = self.shared[index];
        let mut link = &mut self.buckets[bucket(word)];
        while *link as usize != index + 1 {
            link = &mut self.shared[*link as usize - 1].in_bucket;
        }
        *link = in_bucket;
        self.shared[index].of_thread = self.free;
        self.free = index as u32 + 1;
    }

    /// The sum of the words of a thread's stack, without these bytes.
    pub(super) fn sum(&self, thread: usize, stack: Range<usize>) -> u64 {
        // SAFETY: on the thread's stack, between the caller's frame and its beginning.
        let all =
            stack.clone().step_by(8).fold(0, |all, word| all ^ mix(word, unsafe { *(word as *const u64) }));
        let shared = self.follow(self.threads[thread], |shared| shared.of_thread);
        let shared = shared.map(|index| self.shared[index]).filter(|shared| stack.contains(&shared.word));
        shared.fold(all, |all, shared| all ^ Shared { bytes: 0, ..shared }.rest() ^ shared.rest())
    }
}

impl Shared {
    /// What the word is without these bytes.
    fn rest(self) -> u64 {
        // SAFETY: on the stack of a thread.
        mix(self.word, unsafe { *(self.word as *const u64) } & !self.bytes)
    }
}

/// The words that have these bytes.
pub(super) fn words_of(bytes: Range<usize>) -> impl Iterator<Item = usize> {
    (bytes.start & !7..bytes.end).step_by(8)
}

fn bucket(word: usize) -> usize {
    (word >> 3) % BUCKETS
}

/// A word and where it is, mixed.
pub(crate) fn mix(at: usize, word: u64) -> u64 {
    let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ word.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}
