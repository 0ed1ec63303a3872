//! Hashes instead of states: less memory, and a small chance that a state is taken for another.
//!
//! *Hash-compact* keeps 64 bits of every state in a table. *Bitstate* (Holzmann 1987) sets k bits of a large
//! array. Both can only miss states, never invent them: a violation is real, its absence is not proved.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::hash::{hash, rehash};

/// A hasher for numbers that are hashes already.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only u64 keys are used");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A store that keeps hashes.
pub(crate) enum Lossy {
    HashCompact(HashSet<u64, BuildHasherDefault<Identity>>),
    Bitstate { bits: Vec<u64>, functions: u32, set: u64 },
}

impl Lossy {
    pub(crate) fn hash_compact() -> Self {
        Lossy::HashCompact(HashSet::default())
    }

    /// An array of so many bytes (rounded down to a power of two) and so many hash functions.
    pub(crate) fn bitstate(bytes: u64, functions: u32) -> Self {
        let words = (bytes.max(8) / 8).checked_ilog2().unwrap_or(0);
        Lossy::Bitstate { bits: vec![0; 1 << words], functions: functions.clamp(1, 32), set: 0 }
    }

    /// Whether there is room for an array of so many bytes: in the machine as far as it tells, and for this process.
    pub(crate) fn has_room(bytes: u64) -> bool {
        let total = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        let Ok(words) = usize::try_from(bytes / 8) else { return false };
        total.is_none_or(|kilobytes| bytes / 1024 <= kilobytes)
            && Vec::<u64>::new().try_reserve_exact(words).is_ok()
    }

    /// Adds a state together with a number. Whether it seems new.
    pub(crate) fn insert(&mut self, state: &[u8], extra: u64) -> bool {
        let first = name(state, extra);
        match self {
            Lossy::HashCompact(set) => set.insert(first),
            Lossy::Bitstate { bits, functions, set } => {
                let mut new = false;
                for (word, flag) in places(bits.len(), *functions, first, state) {
                    new |= bits[word] & flag == 0;
                    *set += u64::from(bits[word] & flag == 0);
                    bits[word] |= flag;
                }
                new
            }
        }
    }

    /// Whether a state seems to be there with this number.
    pub(crate) fn contains(&self, state: &[u8], extra: u64) -> bool {
        let first = name(state, extra);
        match self {
            Lossy::HashCompact(set) => set.contains(&first),
            Lossy::Bitstate { bits, functions, .. } => {
                places(bits.len(), *functions, first, state).all(|(word, flag)| bits[word] & flag != 0)
            }
        }
    }

    pub(crate) fn memory(&self) -> u64 {
        match self {
            Lossy::HashCompact(set) => set.capacity() as u64 * 9,
            Lossy::Bitstate { bits, .. } => bits.len() as u64 * 8,
        }
    }

    /// The share of the states that are expected to have been told apart, from 0 to 1.
    pub(crate) fn expected_coverage(&self, stored: u64) -> f64 {
        match self {
            // The chance that none of n states shares 64 bits with an earlier one.
            Lossy::HashCompact(_) => {
                let n = stored as f64;
                (-(n * n) / 2.0 / 2f64.powi(64)).exp()
            }
            // A state is missed if its k bits were set by others: the fill grew from 0 to what it is now.
            Lossy::Bitstate { bits, functions, set } => {
                let fill = *set as f64 / (bits.len() as f64 * 64.0);
                let k = f64::from(*functions);
                1.0 - fill.powf(k) / (k + 1.0)
            }
        }
    }
}

/// A hash of a state together with a number.
fn name(state: &[u8], extra: u64) -> u64 {
    hash(state) ^ extra.wrapping_mul(0xA24B_AED4_963E_E407).rotate_left(20)
}

/// The bits for what has this name: words of an array of this length, and flags in them.
fn places(words: usize, functions: u32, name: u64, state: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    let (step, mask) = (rehash(name, state), words as u64 * 64 - 1);
    let place = move |n: u32| name.wrapping_add(step.wrapping_mul(n.into())) & mask;
    (0..functions).map(place).map(|bit| ((bit / 64) as usize, 1_u64 << (bit % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_bitstate_misses_almost_nothing_and_a_small_one_says_so() {
        let mut large = Lossy::bitstate(1 << 20, 3);
        let mut small = Lossy::bitstate(1 << 10, 3);
        let (mut in_large, mut in_small) = (0, 0);
        for n in 0..20_000_u32 {
            in_large += u64::from(large.insert(&n.to_le_bytes(), 0));
            in_small += u64::from(small.insert(&n.to_le_bytes(), 0));
        }
        assert!(in_large > 19_990, "{in_large}");
        assert!(large.expected_coverage(in_large) > 0.999);
        assert!(in_small < 10_000, "{in_small}");
        assert!(small.expected_coverage(in_small) < 0.8);
    }
}
