//! Records that were there before: dumps that hold a part of one another.

use std::collections::HashSet;

/// Capacity of the duplicate filter; records beyond it are never reported as duplicates.
const MAX_TRACKED: usize = 4_000_000;

/// The records found so far.
#[derive(Debug, Default)]
pub(crate) struct DuplicateFilter(HashSet<u64>);

impl DuplicateFilter {
    /// Whether the same record was there already. Of its system's name, which may be another in each file, the
    /// number of the system is told.
    pub(crate) fn is_duplicate(&mut self, system: u16, bytes: &[u8]) -> bool {
        let (head, rest) = bytes.split_at(bytes.len().min(14));
        let rest = rest.get(4..).unwrap_or_default();
        let number = hash64(head) ^ hash64(rest).rotate_left(1) ^ u64::from(system);
        if self.0.len() >= MAX_TRACKED {
            return self.0.contains(&number);
        }
        !self.0.insert(number)
    }
}

/// A number made of all bytes of a record; that two records have the same one is no more than chance. In four lanes of
/// eight bytes, for this is done with every record.
fn hash64(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: [u8; 8]| {
        let both = u128::from(sum ^ u64::from_le_bytes(word)) * 0x9E37_79B9_7F4A_7C15;
        (both >> 64) as u64 ^ both as u64
    };
    // A lane that came to zero would forget what was before.
    let mut lanes = [1, 2, 3, 4].map(|lane: u64| lane << 32 | bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    let (blocks, last) = words.as_chunks::<4>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block) {
            *lane = mix(*lane, *word).wrapping_add(0xD1B5_4A32_D192_ED03);
        }
    }
    let mut end = [0; 8];
    end[..rest.len()].copy_from_slice(rest);
    let sum = lanes
        .iter()
        .fold(0, |sum, lane| mix(sum, lane.to_le_bytes()).rotate_left(17));
    last.iter()
        .chain([&end])
        .fold(sum, |sum, word| mix(sum, *word).wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::hash64;

    proptest! {
        /// A change of any bit, or a truncation, results in another record.
        #[test]
        fn different_bytes_have_different_fingerprints(
            bytes in prop::collection::vec(any::<u8>(), 1..200),
            at: prop::sample::Index,
            bit in 0_u32..8,
        ) {
            let mut other = bytes.clone();
            let at = at.index(bytes.len());
            other[at] ^= 1 << bit;
            prop_assert_ne!(hash64(&bytes), hash64(&other));
            prop_assert_ne!(hash64(&bytes), hash64(&bytes[..at]));
            prop_assert_eq!(hash64(&bytes), hash64(&bytes.clone()));
        }
    }
}
