//! A set of small numbers that finds the member nearest to a number.

/// Numbers below a bound.
#[derive(Clone, Debug)]
pub struct IndexSet {
    words: Vec<u64>,
}

impl IndexSet {
    /// An empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        Self {
            words: vec![0; bound.div_ceil(64).max(1)],
        }
    }

    /// Adds a number.
    pub fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Removes a number.
    pub fn remove(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
    }

    /// Whether a number is in it.
    pub fn contains(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 == 1
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The first member from `start` on, then from 0: neighbors by number are neighbors in the machine.
    pub fn next(&self, start: usize) -> Option<usize> {
        let begin = start / 64;
        let count = self.words.len();
        let begin = if begin < count { begin } else { 0 };
        let ahead = self.words[begin] & (u64::MAX << (start % 64));
        if ahead != 0 {
            return Some(begin * 64 + ahead.trailing_zeros() as usize);
        }
        (1..=count)
            .map(|step| (begin + step) % count)
            .find(|at| self.words[*at] != 0)
            .map(|at| at * 64 + self.words[at].trailing_zeros() as usize)
    }
}
