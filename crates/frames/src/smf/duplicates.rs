//! Records that are in a file more than once, found by a fingerprint of their bytes.

/// Fingerprints of the records of one file. Its memory is bounded: at most 128 MiB, and as much again
/// for half the time in which it grows.
pub(crate) struct FingerprintSet {
    /// Open addressing; 0 is an empty slot.
    places: Vec<u64>,
    /// Maximum number of slots.
    max_slots: usize,
    count: usize,
    /// Records that came when there was no more space.
    pub untracked: u64,
}

/// Number of slots at the start, and at the most.
const MIN_SLOTS: usize = 1 << 12;
const MAX_SLOTS: usize = 1 << 24;

/// Maximum number of different records.
pub(crate) const MAX_RECORDS: usize = MAX_SLOTS / 8 * 7;

impl FingerprintSet {
    pub(crate) fn new() -> Self {
        Self::with_max_slots(MAX_SLOTS)
    }

    fn with_max_slots(most: usize) -> Self {
        Self {
            places: vec![0; MIN_SLOTS],
            max_slots: most,
            count: 0,
            untracked: 0,
        }
    }

    /// Whether a record with this fingerprint came before; it is known from now on.
    #[inline]
    pub(crate) fn seen(&mut self, print: u64) -> bool {
        let place = self.find(print);
        if self.places[place] == print {
            return true;
        }
        if self.count >= self.places.len() / 8 * 7 {
            if self.places.len() >= self.max_slots {
                self.untracked += 1;
                return false;
            }
            self.grow();
            return self.seen(print);
        }
        self.places[place] = print;
        self.count += 1;
        false
    }

    /// Position of the fingerprint, or an empty slot for it.
    #[inline]
    fn find(&self, print: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = print as usize & mask;
        while self.places[place] != 0 && self.places[place] != print {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let more = vec![0; self.places.len() * 2];
        for print in std::mem::replace(&mut self.places, more) {
            if print != 0 {
                let place = self.find(print);
                self.places[place] = print;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::fingerprint;

    #[test]
    fn repeated_number_is_duplicate() {
        let mut copies = FingerprintSet::new();
        let numbers = || (1..100_000_u64).map(|n| fingerprint(&n.to_be_bytes()));
        assert_eq!(numbers().filter(|&n| copies.seen(n)).count(), 0);
        assert_eq!(numbers().filter(|&n| copies.seen(n)).count(), 99_999);
        assert_eq!(copies.untracked, 0);
    }

    #[test]
    fn numbers_are_only_counted_without_space() {
        let mut copies = FingerprintSet::with_max_slots(2 * MIN_SLOTS);
        let numbers = || (1..10_001_u64).map(|n| fingerprint(&n.to_be_bytes()));
        assert_eq!(numbers().filter(|&n| copies.seen(n)).count(), 0);
        let known = 2 * MIN_SLOTS / 8 * 7;
        assert_eq!(copies.untracked as usize, 10_000 - known);
        assert_eq!(numbers().filter(|&n| copies.seen(n)).count(), known);
    }
}
