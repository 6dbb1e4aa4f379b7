//! Assignment of times to intervals.

use std::sync::Arc;

/// No interval ends at or after the time.
pub(crate) const NO_INTERVAL: u32 = u32::MAX;

/// The interval ends of a system.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntervalEnds {
    /// All of them, those that are lost included, rising.
    pub all: Arc<[u64]>,
    /// Boundaries of intervals whose end record is missing, ascending. They separate samples and are never reported.
    pub missing: Arc<[u64]>,
}

impl IntervalEnds {
    /// Of ends in any order.
    pub(crate) fn new(known: &[u64], lost: &[u64]) -> Self {
        let mut all = [known, lost].concat();
        all.sort_unstable();
        let mut lost = lost.to_vec();
        lost.sort_unstable();
        Self {
            all: all.into(),
            missing: lost.into(),
        }
    }
}

/// Finds the first interval end at or after a time. Records come almost in order of time, so the last answer is
/// tried first.
#[derive(Debug, Clone)]
pub(crate) struct Intervals {
    ends: Arc<[u64]>,
    missing: Arc<[u64]>,
    last: usize,
}

impl Intervals {
    /// The intervals that end at `ends`, which rise.
    pub(crate) fn new(ends: Arc<[u64]>) -> Self {
        let lost = Arc::default();
        Self {
            ends,
            missing: lost,
            last: 0,
        }
    }

    /// The intervals of a system of which some ends may be lost.
    pub(crate) fn of_ends(ends: &IntervalEnds) -> Self {
        Self {
            missing: Arc::clone(&ends.missing),
            ..Self::new(Arc::clone(&ends.all))
        }
    }

    /// The number of the interval that `tod` is in, or [`NO_INTERVAL`].
    #[inline]
    pub(crate) fn index_of(&mut self, tod: u64) -> u32 {
        let begins = self
            .last
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        let after = self.last == 0 || tod > begins;
        match self.ends.get(self.last) {
            Some(&end) if after && tod <= end => self.last as u32,
            None if after => NO_INTERVAL,
            _ => self.search(tod),
        }
    }

    fn search(&mut self, tod: u64) -> u32 {
        self.last = self.ends.partition_point(|&end| end < tod);
        if self.last < self.ends.len() {
            self.last as u32
        } else {
            NO_INTERVAL
        }
    }

    /// Length of the leading run of `tods` inside this interval.
    pub(crate) fn run_length(&self, interval: u32, tods: &[u64]) -> usize {
        let (begin, end) = match interval as usize {
            at if interval != NO_INTERVAL => (
                at.checked_sub(1).map(|before| self.ends[before]),
                self.ends[at],
            ),
            _ => (self.ends.last().copied(), u64::MAX),
        };
        // One comparison decides whether a time is after the previous end and not after this end.
        let first = begin.map_or(0, |begin| begin.wrapping_add(1));
        let span = end.wrapping_sub(first);
        let outside = |tod: &u64| tod.wrapping_sub(first) > span;
        tods.iter().position(outside).unwrap_or(tods.len())
    }

    /// Returns the end of the interval, if known.
    pub(crate) fn end(&self, interval: u32) -> Option<u64> {
        let end = self.ends.get(interval as usize).copied();
        end.filter(|end| self.missing.binary_search(end).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_lost(known: &[u64], lost: &[u64]) -> Intervals {
        Intervals::of_ends(&IntervalEnds::new(known, lost))
    }

    fn intervals_of(ends: &[u64]) -> Intervals {
        with_lost(ends, &[])
    }

    #[test]
    fn interval_is_first_end_at_or_after_time() {
        let ends = [10, 20, 20, 35];
        let times = [0, 10, 11, 20, 21, 9, 36, 35, 36, 37, 1, 20];
        let mut intervals = intervals_of(&ends);
        for time in times {
            let expected = ends
                .iter()
                .position(|&end| end >= time)
                .map_or(NO_INTERVAL, |at| at as u32);
            assert_eq!(intervals.index_of(time), expected, "time {time}");
            let alike = [time, 15, 40, time];
            let same = |other: &u64| intervals_of(&ends).index_of(*other) == expected;
            let count = alike.iter().position(|other| !same(other)).unwrap_or(4);
            assert_eq!(intervals.run_length(expected, &alike), count, "time {time}");
        }
        assert_eq!(intervals_of(&[]).index_of(5), NO_INTERVAL);
    }

    #[test]
    fn lost_end_is_recognized_and_not_reported() {
        let mut intervals = with_lost(&[30, 10], &[25]);
        let found: Vec<Option<u64>> = [10, 11, 25, 26, 31]
            .map(|time| intervals.index_of(time))
            .map(|interval| intervals.end(interval))
            .to_vec();
        assert_eq!(found, [Some(10), None, None, Some(30), None]);
    }
}
