//! The interval that a record reports.

use super::section::{Section, Triplet};
use crate::tod;

/// Position of the interval in the records of one type and subtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalLayout {
    /// Type of the record.
    pub record: u8,
    /// Subtype of the record.
    pub subtype: u16,
    /// Triplet of the section with beginning and end of the interval.
    pub identification: Triplet,
    /// Position of the start in that section.
    pub start: u16,
    /// Position of the end in that section.
    pub end: u16,
    /// Triplet of the section that says when the record was written.
    pub data: Triplet,
    /// Position of that in that section.
    pub written: u16,
}

/// Times that a record has of its interval; TOD values, `None` where they are implausible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalStamp {
    /// Start of the interval.
    pub start: Option<u64>,
    /// Actual or planned end.
    pub end: Option<u64>,
    /// Time of writing.
    pub written: Option<u64>,
}

/// A record is written when its interval has ended, give or take this much: the sections of one
/// record are not filled at one time.
const SLACK: u64 = tod::UNITS_PER_US * 1_000_000;

impl IntervalLayout {
    /// Times of a record.
    #[inline]
    #[must_use]
    pub fn read(&self, record: &[u8]) -> IntervalStamp {
        let tod = |section: Section, at: u16| -> Option<u64> {
            let Section::At { offset, length, .. } = section else {
                return None;
            };
            if u32::from(at) + 8 > length {
                return None;
            }
            let at = offset as usize + usize::from(at);
            let bytes = record.get(at..)?.first_chunk()?;
            Some(u64::from_be_bytes(*bytes)).filter(|&tod| tod::is_plausible(tod))
        };
        let identification = self.identification.section(record);
        IntervalStamp {
            start: tod(identification, self.start),
            end: tod(identification, self.end),
            written: tod(self.data.section(record), self.written),
        }
    }
}

impl IntervalStamp {
    /// End of the interval that the record reports.
    ///
    /// A record that was written before its interval was over was written early, as when the state
    /// of the machine changed, and covers the time up to then.
    #[inline]
    #[must_use]
    pub fn interval_end(&self) -> Option<u64> {
        match (self.end, self.written) {
            (Some(end), Some(written)) if written < end - SLACK => Some(written),
            (Some(end), _) => Some(end),
            (None, written) => written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = tod::UNITS_PER_US * 1_000_000;

    #[test]
    fn early_record_ends_its_interval() {
        let base = tod::from_unix_us(1_767_225_600_000_000);
        let stamp = |end: Option<u64>, written: Option<u64>| IntervalStamp {
            start: None,
            end: end.map(|second| base + second * SECOND),
            written: written.map(|second| base + second * SECOND),
        };
        let ends = |end, written| {
            stamp(end, written)
                .interval_end()
                .map(|tod| (tod - base) / SECOND)
        };
        assert_eq!(ends(Some(300), Some(300)), Some(300));
        assert_eq!(ends(Some(300), Some(302)), Some(300));
        assert_eq!(ends(Some(300), Some(299)), Some(300));
        assert_eq!(ends(Some(300), Some(19)), Some(19));
        assert_eq!(ends(None, Some(19)), Some(19));
        assert_eq!(ends(Some(300), None), Some(300));
        assert_eq!(ends(None, None), None);
    }
}
