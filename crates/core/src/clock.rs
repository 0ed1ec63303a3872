//! Vector clocks.

use crate::ThreadId;

/// A vector clock: for each thread, how many of its steps happened before.
///
/// ```
/// use selvedge_core::{ThreadId, VectorClock};
/// let mut a = VectorClock::default();
/// a.tick(ThreadId(0));
/// let mut b = VectorClock::default();
/// b.tick(ThreadId(1));
/// assert!(!a.le(&b) && !b.le(&a));
/// b.join(&a);
/// assert!(a.le(&b));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock {
    /// Entry `t` belongs to thread `t`; missing entries are 0.
    entries: Vec<u32>,
}

impl VectorClock {
    /// The entry of a thread.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> u32 {
        self.entries.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets the entry of a thread.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, value: u32) {
        if thread.index() >= self.entries.len() {
            self.entries.resize(thread.index() + 1, 0);
        }
        self.entries[thread.index()] = value;
    }

    /// Adds one to the entry of a thread and returns the new value.
    #[inline]
    pub fn tick(&mut self, thread: ThreadId) -> u32 {
        let value = self.get(thread) + 1;
        self.set(thread, value);
        value
    }

    /// Makes this clock the least that is at least both.
    #[inline]
    pub fn join(&mut self, other: &VectorClock) {
        if other.entries.len() > self.entries.len() {
            self.entries.resize(other.entries.len(), 0);
        }
        for (mine, &theirs) in self.entries.iter_mut().zip(&other.entries) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Whether everything in this clock is in the other.
    #[inline]
    pub fn le(&self, other: &VectorClock) -> bool {
        self.entries.iter().enumerate().all(|(t, &value)| value <= other.get(ThreadId(t as u32)))
    }

    /// Makes this clock a copy of another, in the memory it has.
    #[inline]
    pub fn copy_from(&mut self, other: &VectorClock) {
        self.entries.clear();
        self.entries.extend_from_slice(&other.entries);
    }

    /// Sets every entry to 0 and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Whether every entry is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|&entry| entry == 0)
    }
}
