//! Every state in full, one after the other, found through a table of hashes.
//!
//! A slot of the table is eight bytes: where the state begins, and a piece of its hash, so that a state which
//! is not there is almost never looked at. States are self-delimiting, so nothing else is stored; a search may
//! ask for a few bytes in front of each for its own use.
//!
//! Slots are probed in order from the one that the hash's highest bits name, its *home*. The piece holds the
//! bits after the first [`BASE_BITS`]; those first ones follow from where the slot is, unless it has come far
//! from its home. So a large table grows by one pass over its slots, and no state has to be read.

use crate::hash::hash;

/// Where a state begins.
pub(crate) type Handle = u64;

/// Bits of a slot that say where the state is; the rest is a piece of its hash. An empty slot is 0.
pub(crate) const PLACE_BITS: u32 = 38;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
/// Bits of a hash in a slot.
const PIECE_BITS: u32 = 64 - PLACE_BITS;
/// The highest bits of a hash, which are not in a slot.
const BASE_BITS: u32 = 10;
/// The size of the first table, as a logarithm.
const FIRST_BITS: u32 = 12;

/// The piece of a hash that a slot holds, in its place there.
#[inline(always)]
fn piece_of(hash: u64) -> u64 {
    hash << BASE_BITS >> PLACE_BITS << PLACE_BITS
}

pub(crate) struct Exact {
    /// All the states, each after its header. Byte 0 is not used, so that no slot is 0.
    arena: Vec<Vec<u8>>,
    slots: Vec<u64>,
    /// The logarithm of the number of slots.
    bits: u32,
    /// The farthest that a slot in use is from its home.
    farthest: usize,
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
            slots: vec![0; 1 << FIRST_BITS],
            bits: FIRST_BITS,
            farthest: 0,
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

    /// Where the search for a hash begins.
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        (hash >> (64 - self.bits)) as usize
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

    /// Looks at where states with these hashes would be, all at once: the lookups that follow find their
    /// lines in the cache, having waited for memory together instead of one after the other.
    pub(crate) fn touch(&self, hashes: &[u64]) {
        let mut seen = 0;
        for batch in hashes.chunks(16) {
            let mut slots = [0; 16];
            for (slot, &hash) in slots.iter_mut().zip(batch) {
                *slot = self.slots[self.home(hash)];
            }
            for (&slot, &hash) in slots.iter().zip(batch) {
                if slot & !PLACE_MASK == piece_of(hash) && slot != 0 {
                    let place = (slot & PLACE_MASK) as usize;
                    seen ^= self.arena[place >> BLOCK_BITS][place & (BLOCK - 1)];
                }
            }
        }
        std::hint::black_box(seen);
    }

    /// The state that begins here, or else first after: states lie in the order in which they were added, the
    /// first at 1, each [`Exact::span`] after the one before it or at the beginning of a block.
    pub(crate) fn from(&self, place: Handle) -> Option<Handle> {
        let (block, at) = (place as usize >> BLOCK_BITS, place as usize & (BLOCK - 1));
        // A block that is full to its last byte ends where the next begins.
        if self.arena.get(block).is_some_and(|block| at < block.len()) {
            return Some(place);
        }
        (block + 1 < self.arena.len()).then_some(((block + 1) << BLOCK_BITS) as Handle)
    }

    /// Bytes from the beginning of a state of this length, with its header, to its end.
    pub(crate) fn span(&self, length: usize) -> Handle {
        (self.header + length) as Handle
    }

    /// Finds a state or adds it, with its header zero. Whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, state: &[u8], hash: u64) -> (Handle, bool) {
        let (piece, mask) = (piece_of(hash), self.slots.len() - 1);
        let mut index = self.home(hash);
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
            index = (index + 1) & mask;
        }
        let handle = self.append(state);
        self.slots[index] = piece | handle;
        self.farthest = self.farthest.max(index.wrapping_sub(self.home(hash)) & mask);
        self.count += 1;
        (handle, true)
    }

    /// Finds a state.
    pub(crate) fn find(&self, state: &[u8], hash: u64) -> Option<Handle> {
        let (piece, mask) = (piece_of(hash), self.slots.len() - 1);
        let mut index = self.home(hash);
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
            index = (index + 1) & mask;
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

    /// Doubles the table. `length` measures a state.
    pub(crate) fn grow(&mut self, length: impl Fn(&[u8]) -> usize) {
        let known = self.bits - BASE_BITS;
        let old = std::mem::replace(&mut self.slots, vec![0; 1 << (self.bits + 1)]);
        let farthest = std::mem::take(&mut self.farthest);
        self.bits += 1;
        if known < PIECE_BITS && farthest < 1 << known {
            for (index, &slot) in old.iter().enumerate().filter(|&(_, &slot)| slot != 0) {
                // The lowest `known` bits of the old home, and the bit after them.
                let piece = (slot >> PLACE_BITS) as usize;
                let low = piece >> (PIECE_BITS - known);
                let away = index.wrapping_sub(low) & ((1 << known) - 1);
                let home = index.wrapping_sub(away) & (old.len() - 1);
                self.place(home << 1 | piece >> (PIECE_BITS - known - 1) & 1, slot);
            }
            return;
        }
        drop(old);
        // The states in the order in which they lie.
        let arena = std::mem::take(&mut self.arena);
        for (number, block) in arena.iter().enumerate() {
            let mut at = usize::from(number == 0);
            while at < block.len() {
                let tail = &block[at + self.header..];
                let size = length(tail);
                let hash = hash(&tail[self.key..size]);
                self.place(self.home(hash), piece_of(hash) | (number << BLOCK_BITS | at) as u64);
                at += self.header + size;
            }
        }
        self.arena = arena;
    }

    /// Puts a slot into the first that is empty from its home on.
    #[inline]
    fn place(&mut self, home: usize, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut index = home;
        while self.slots[index] != 0 {
            index = (index + 1) & mask;
        }
        self.slots[index] = slot;
        self.farthest = self.farthest.max(index.wrapping_sub(home) & mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_state_again_after_growing() {
        // Enough for both ways to grow: by the states, and by the slots.
        const STATES: u32 = 2_000_000;
        let mut store = Exact::new(3, 1);
        let state = |n: u32| [vec![7, 6], n.to_le_bytes().to_vec()].concat();
        let mut handles = Vec::new();
        let mut by_slots = false;
        let mut next = 1;
        for n in 0..STATES {
            let (handle, new) = store.insert(&state(n), store.hash(&state(n)));
            assert!(new);
            store.header_mut(handle)[0] = n as u8;
            handles.push(handle);
            // Walking over the states as they are added, always at the end of what there is.
            assert_eq!(store.from(next), Some(handle));
            next = handle + store.span(6);
            assert_eq!(store.from(next), None);
            if store.is_crowded() {
                by_slots |= store.farthest < 1 << (store.bits - BASE_BITS);
                store.grow(|_| 6);
            }
        }
        assert!(by_slots);
        assert!(store.arena.len() > 1, "the walk has come to another block");
        for n in 0..STATES {
            // The first byte is not compared.
            let mut other = state(n);
            other[0] = 99;
            let (handle, new) = store.insert(&other, store.hash(&other));
            assert!(!new);
            assert_eq!(handle, handles[n as usize]);
            assert_eq!(store.header(handle)[0], n as u8);
            assert_eq!(store.tail(handle)[..6], state(n)[..]);
        }
        assert_eq!(store.len(), u64::from(STATES));
    }
}
