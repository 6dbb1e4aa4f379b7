//! A record compared with its predecessor of the same processor.

use zlens_frames::smf::IntervalStamp;

use crate::core::flag::{IntervalFlag, TOD_PER_SECOND};
use crate::core::interval::NO_INTERVAL;

/// Columns that can be watched.
pub(crate) const WATCHED: usize = 8;
/// A watched column that the record has not.
pub(crate) const NOT_RECORDED: u64 = u64::MAX;
/// Limit on interval ranges per processor; only corrupt data exceeds it, and further ranges are dropped.
const MAX_RANGES: usize = 10_000;

/// Numbers that were found, as ranges.
#[derive(Debug, Default)]
pub(crate) struct IntervalRanges(Vec<(u32, u32)>);

impl IntervalRanges {
    pub(crate) fn has(&self, number: u32) -> bool {
        let at = self.0.partition_point(|&(_, last)| last < number);
        self.0.get(at).is_some_and(|&(first, _)| first <= number)
    }

    pub(crate) fn add(&mut self, number: u32) {
        if number == NO_INTERVAL {
            return;
        }
        let more = self.0.len() < MAX_RANGES;
        match self.0.last_mut() {
            Some((_, last)) if *last == number => {}
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            Some((_, last)) if *last > number => {
                let at = self.0.partition_point(|&(_, last)| last < number);
                if more && self.0.get(at).is_none_or(|&(first, _)| first > number) {
                    self.0.insert(at, (number, number));
                }
            }
            _ if more => self.0.push((number, number)),
            _ => {}
        }
    }
}

/// Last record of a processor, of one subtype.
#[derive(Debug)]
pub(crate) struct PreviousRecord {
    pub file: usize,
    pub written: u64,
    pub run: u64,
    pub watched: [u64; WATCHED],
    pub first_counter: u64,
}

#[derive(Debug, Default)]
pub(crate) struct ProcessorState {
    pub last: Option<PreviousRecord>,
    pub met: IntervalRanges,
}

/// Times and identity of a record.
pub(crate) struct CurrentRecord {
    pub stamp: IntervalStamp,
    pub written: u64,
    pub run: u64,
    pub first: bool,
    pub watched: [u64; WATCHED],
    pub first_counter: u64,
    pub absolute: bool,
}

/// Result of comparing a record with its predecessor.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub usable: bool,
    pub seconds: f64,
    pub flag: IntervalFlag,
    pub evidence: Option<&'static str>,
}

impl Comparison {
    pub(crate) const NONE: Self = Self {
        usable: false,
        seconds: f64::NAN,
        flag: IntervalFlag::None,
        evidence: None,
    };
}

impl CurrentRecord {
    pub(crate) fn last(&self, file: usize) -> PreviousRecord {
        PreviousRecord {
            file,
            written: self.written,
            run: self.run,
            watched: self.watched,
            first_counter: self.first_counter,
        }
    }

    /// Comparison without a predecessor.
    pub(crate) fn standalone(&self) -> Comparison {
        let seconds = if self.absolute {
            f64::NAN
        } else {
            self.standalone_seconds()
        };
        Comparison {
            seconds,
            ..Comparison::NONE
        }
    }

    /// Interval covered by a delta record whose predecessor is missing.
    pub(crate) fn standalone_seconds(&self) -> f64 {
        let Some(start) = self.stamp.start else {
            return f64::NAN;
        };
        // A run that began within the interval is all that there was of it, up to when the record was written; else
        // the record before was written as late after its interval as this one.
        let (from, to) = if self.run > start {
            (self.run, self.written)
        } else {
            (start, self.stamp.interval_end().unwrap_or(0))
        };
        if from < to {
            (to - from) as f64 / TOD_PER_SECOND
        } else {
            f64::NAN
        }
    }

    pub(crate) fn reading(&self, before: Option<&PreviousRecord>, versions: &[bool]) -> Comparison {
        let Some(before) = before else {
            return self.standalone();
        };
        let mut evidence = None;
        let changed = |nth: usize| {
            let (was, is) = (before.watched[nth], self.watched[nth]);
            versions.get(nth) == Some(&true)
                && was != is
                && was != NOT_RECORDED
                && is != NOT_RECORDED
        };
        if self.run != before.run && self.run != 0 && before.run != 0 {
            evidence = Some("another run was started");
        } else if self.first {
            evidence = Some("first record of a run");
        } else if (0..WATCHED).any(changed) {
            evidence = Some("counter version changed");
        } else if self.absolute && self.first_counter < before.first_counter {
            evidence = Some("value stepped back");
        }
        let span = (self.written - before.written) as f64 / TOD_PER_SECOND;
        let (usable, seconds) = match (self.absolute, evidence) {
            (_, None) => (true, span),
            (true, Some(_)) => (false, f64::NAN),
            // What was counted since the run began is in the record itself.
            (false, Some(_)) => (false, self.standalone_seconds().min(span)),
        };
        Comparison {
            usable,
            seconds,
            flag: IntervalFlag::None,
            evidence,
        }
    }
}

/// Position of a record among those of its processor.
pub(crate) enum Order {
    First,
    Next,
    /// The same as one before.
    Duplicate,
    /// Before one that was read already; in the same file or not.
    Earlier {
        same_file: bool,
    },
    /// It says no time.
    Unknown,
}

pub(crate) fn classify_order(
    kept: &ProcessorState,
    now: &CurrentRecord,
    interval: u32,
    file: usize,
) -> Order {
    let Some(last) = &kept.last else {
        return if now.written == 0 {
            Order::Unknown
        } else {
            Order::First
        };
    };
    if now.written == 0 {
        Order::Unknown
    } else if now.written > last.written {
        Order::Next
    } else if now.written == last.written || (interval != NO_INTERVAL && kept.met.has(interval)) {
        Order::Duplicate
    } else {
        Order::Earlier {
            same_file: last.file == file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_are_stored_as_ranges() {
        let mut met = IntervalRanges::default();
        let numbers = [3, 4, 5, 9, 10, 1, 1, 7, 12, 4];
        for (nth, &number) in numbers.iter().enumerate() {
            assert_eq!(met.has(number), numbers[..nth].contains(&number));
            met.add(number);
        }
        for number in 0..15 {
            assert_eq!(met.has(number), numbers.contains(&number), "{number}");
        }
        assert!(met.0.is_sorted());
    }
}
