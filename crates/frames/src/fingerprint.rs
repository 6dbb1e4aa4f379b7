//! Fingerprints of the bytes of records.

/// A number that distinguishes bytes; never 0.
#[inline]
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(ODD);
    // Four sums side by side, for one multiplication has to wait for the one before.
    let mut sums = [bytes.len() as u64, 1, 2, 3];
    let fours = bytes.chunks_exact(32);
    let rest = fours.remainder();
    for four in fours {
        for (sum, part) in sums.iter_mut().zip(four.chunks_exact(8)) {
            *sum = mix(
                *sum,
                u64::from_le_bytes(part.try_into().unwrap_or_default()),
            );
        }
    }
    let mut sum = sums.into_iter().fold(0, mix);
    let words = rest.chunks_exact(8);
    for &byte in words.remainder() {
        sum = mix(sum, u64::from(byte));
    }
    for word in words {
        sum = mix(sum, u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    sum = (sum ^ (sum >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    sum = (sum ^ (sum >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (sum ^ (sum >> 31)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_affects_fingerprint() {
        let bytes: Vec<u8> = (0..70).collect();
        let mut all = vec![
            fingerprint(&bytes),
            fingerprint(&bytes[..69]),
            fingerprint(&[]),
        ];
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            all.push(fingerprint(&other));
            other.swap(at, (at + 32) % 70);
            all.push(fingerprint(&other));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
