//! Every state in full, one after the other, found through a table of hashes.
//!
//! A slot of the table is eight bytes: where the state begins, and enough of its hash that a state which is
//! not there is almost never looked at. States are self-delimiting, so nothing else is stored; a search may
//! ask for a few bytes in front of each for its own use.

use crate::hash::hash;

/// Where a state begins.
pub(crate) type Handle = u64;

/// Bits of a slot that say where the state is; the rest is a piece of its hash. An empty slot is 0.
const PLACE_BITS: u32 = 40;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

pub(crate) struct Exact {
    /// All the states, each after its header. Byte 0 is not used, so that no slot is 0.
    arena: Vec<Vec<u8>>,
    slots: Vec<u64>,
    mask: usize,
    count: u64,
    header: usize,
    /// Bytes at the front of a state that are not compared.
    key: usize,
    used: u64,
}

/// States lie in blocks, so that growing never copies them.
const BLOCK_BITS: u32 = 24;
const BLOCK: usize = 1 << BLOCK_BITS;

impl Exact {
    pub(crate) fn new(header: usize, key: usize) -> Self {
        let mut first = Vec::with_capacity(1 << 16);
        first.push(0);
        Exact {
            arena: vec![first],
            slots: vec![0; 1 << 12],
            mask: (1 << 12) - 1,
            count: 0,
            header,
            key,
            used: 1,
        }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Bytes in use.
    pub(crate) fn memory(&self) -> u64 {
        self.used + self.slots.len() as u64 * 8
    }

    /// Bytes of the states with their headers, without the table.
    pub(crate) fn state_bytes(&self) -> u64 {
        self.used
    }

    #[inline]
    pub(crate) fn hash(&self, state: &[u8]) -> u64 {
        hash(&state[self.key..])
    }

    /// The bytes from a state's beginning to the end of its block.
    #[inline]
    pub(crate) fn tail(&self, handle: Handle) -> &[u8] {
        let at = (handle as usize & (BLOCK - 1)) + self.header;
        &self.arena[handle as usize >> BLOCK_BITS][at..]
    }

    #[inline]
    pub(crate) fn header(&self, handle: Handle) -> &[u8] {
        let at = handle as usize & (BLOCK - 1);
        &self.arena[handle as usize >> BLOCK_BITS][at..at + self.header]
    }

    #[inline]
    pub(crate) fn header_mut(&mut self, handle: Handle) -> &mut [u8] {
        let at = handle as usize & (BLOCK - 1);
        &mut self.arena[handle as usize >> BLOCK_BITS][at..at + self.header]
    }

    /// Finds a state or adds it, with its header zero. Whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, state: &[u8], hash: u64) -> (Handle, bool) {
        let piece = hash >> PLACE_BITS << PLACE_BITS;
        let mut index = hash as usize & self.mask;
        loop {
            let slot = self.slots[index];
            if slot == 0 {
                break;
            }
            if slot & !PLACE_MASK == piece {
                let handle = slot & PLACE_MASK;
                let found = self.tail(handle);
                if found.len() >= state.len() && found[self.key..state.len()] == state[self.key..] {
                    return (handle, false);
                }
            }
            index = (index + 1) & self.mask;
        }
        let handle = self.append(state);
        self.slots[index] = piece | handle;
        self.count += 1;
        (handle, true)
    }

    /// Finds a state.
    pub(crate) fn find(&self, state: &[u8], hash: u64) -> Option<Handle> {
        let piece = hash >> PLACE_BITS << PLACE_BITS;
        let mut index = hash as usize & self.mask;
        loop {
            let slot = self.slots[index];
            if slot == 0 {
                return None;
            }
            if slot & !PLACE_MASK == piece {
                let found = self.tail(slot & PLACE_MASK);
                if found.len() >= state.len() && found[self.key..state.len()] == state[self.key..] {
                    return Some(slot & PLACE_MASK);
                }
            }
            index = (index + 1) & self.mask;
        }
    }

    fn append(&mut self, state: &[u8]) -> Handle {
        let need = self.header + state.len();
        let full = self.arena.last().is_none_or(|block| block.len() + need > BLOCK);
        if full {
            self.arena.push(Vec::with_capacity(BLOCK));
        }
        let number = self.arena.len() - 1;
        let block = &mut self.arena[number];
        let at = block.len();
        block.resize(at + self.header, 0);
        block.extend_from_slice(state);
        self.used += need as u64;
        (number << BLOCK_BITS | at) as u64
    }

    /// Whether the table is due to grow; the caller then calls [`Exact::grow`].
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.count * 4 > self.slots.len() as u64 * 3
    }

    /// Doubles the table, by walking the states in the order in which they lie. `length` measures a state.
    pub(crate) fn grow(&mut self, length: impl Fn(&[u8]) -> usize) {
        let size = self.slots.len() * 2;
        let mut slots = vec![0_u64; size];
        for (number, block) in self.arena.iter().enumerate() {
            let mut at = usize::from(number == 0);
            while at < block.len() {
                let tail = &block[at + self.header..];
                let size_here = length(tail);
                let hash = hash(&tail[self.key..size_here]);
                let mut index = hash as usize & (size - 1);
                while slots[index] != 0 {
                    index = (index + 1) & (size - 1);
                }
                slots[index] = hash >> PLACE_BITS << PLACE_BITS | (number << BLOCK_BITS | at) as u64;
                at += self.header + size_here;
            }
        }
        self.slots = slots;
        self.mask = size - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_state_again_after_growing() {
        let mut store = Exact::new(3, 1);
        let state = |n: u32| [vec![7, 6], n.to_le_bytes().to_vec()].concat();
        let mut handles = Vec::new();
        for n in 0..50_000 {
            let (handle, new) = store.insert(&state(n), store.hash(&state(n)));
            assert!(new);
            store.header_mut(handle)[0] = n as u8;
            handles.push(handle);
            if store.is_crowded() {
                store.grow(|_| 6);
            }
        }
        for n in 0..50_000 {
            // The first byte is not compared.
            let mut other = state(n);
            other[0] = 99;
            let (handle, new) = store.insert(&other, store.hash(&other));
            assert!(!new);
            assert_eq!(handle, handles[n as usize]);
            assert_eq!(store.header(handle)[0], n as u8);
            assert_eq!(store.tail(handle)[..6], state(n)[..]);
        }
        assert_eq!(store.len(), 50_000);
    }
}
