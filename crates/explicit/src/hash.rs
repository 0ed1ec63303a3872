//! A fast hash of byte strings: sixteen bytes a round, folded multiplication, 128 bits of result.

const K0: u64 = 0x9E37_79B9_7F4A_7C15;
const K1: u64 = 0xD6E8_FEB8_6659_FD93;
const K2: u64 = 0xA076_1D64_78BD_642F;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// The hash of a byte string.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut state = K0 ^ (bytes.len() as u64).wrapping_mul(K1);
    let mut chunks = bytes.chunks_exact(16);
    for chunk in &mut chunks {
        state = fold(word(&chunk[..8]) ^ state, word(&chunk[8..]) ^ K2);
    }
    let rest = chunks.remainder();
    let (low, high) = match rest.len() {
        0 => (0, 0),
        length @ 1..=3 => {
            let packed =
                u64::from(rest[0]) << 16 | u64::from(rest[length / 2]) << 8 | u64::from(rest[length - 1]);
            (packed, 0)
        }
        length @ 4..=8 => {
            let first = u32::from_le_bytes(rest[..4].try_into().expect("four bytes"));
            let last = u32::from_le_bytes(rest[length - 4..].try_into().expect("four bytes"));
            (u64::from(first) | u64::from(last) << 32, 0)
        }
        length => (word(&rest[..8]), word(&rest[length - 8..])),
    };
    state = fold(low ^ state ^ K1, high ^ K2 ^ state.rotate_left(32));
    fold(state ^ K0, K1)
}

/// A second hash, independent of the first for all practical purposes.
pub(crate) fn rehash(first: u64, bytes: &[u8]) -> u64 {
    let mut state = K2 ^ first.rotate_left(17);
    for chunk in bytes.chunks(8) {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        state = fold(state ^ u64::from_le_bytes(padded), K1 ^ state.rotate_left(29));
    }
    fold(state, K0) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn short_strings_do_not_collide() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            for at in 0..length.max(1) {
                for value in 0..64_u8 {
                    let mut bytes = vec![0; length];
                    if length > 0 {
                        bytes[at] = value;
                    }
                    if value == 0 && at > 0 {
                        continue;
                    }
                    let fresh = seen.insert(hash(&bytes));
                    assert!(fresh || length == 0, "{length} {at} {value}");
                }
            }
        }
    }
}
