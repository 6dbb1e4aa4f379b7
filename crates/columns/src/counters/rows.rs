//! Per-row metadata of a window.

use super::sequence::Comparison;
use crate::core::flag::IntervalFlag;

/// A row that is about no processor that is kept track of.
pub(crate) const UNTRACKED: u32 = u32::MAX;

/// Status of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// It is a row.
    Emitted,
    /// Superseded by the other subtype; kept only as predecessor of the next record.
    Suppressed,
    /// It came before.
    Duplicate,
}

/// Per-row metadata of a window.
#[derive(Debug, Default)]
pub(crate) struct RowState {
    pub systems: Vec<u16>,
    pub processors: Vec<u64>,
    pub slots: Vec<u32>,
    /// Whether the counters can be compared with those of the record before.
    pub usable: Vec<bool>,
    /// Time that they describe; NaN where it is not known.
    pub seconds: Vec<f64>,
    pub flags: Vec<IntervalFlag>,
    pub intervals: Vec<u32>,
    /// Times of writing; 0 if unknown.
    pub tods: Vec<u64>,
    pub fates: Vec<Disposition>,
}

impl RowState {
    pub(crate) fn clear(&mut self) {
        self.systems.clear();
        self.processors.clear();
        self.slots.clear();
        self.usable.clear();
        self.seconds.clear();
        self.flags.clear();
        self.intervals.clear();
        self.tods.clear();
        self.fates.clear();
    }

    /// Leaves only the rows of which `keep` is true.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        fn only<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            values.retain(|_| keep.next().is_none_or(|&keep| keep));
        }
        only(&mut self.systems, keep);
        only(&mut self.processors, keep);
        only(&mut self.slots, keep);
        only(&mut self.usable, keep);
        only(&mut self.seconds, keep);
        only(&mut self.flags, keep);
        only(&mut self.intervals, keep);
        only(&mut self.tods, keep);
        only(&mut self.fates, keep);
    }

    /// Adds a row.
    #[inline]
    pub(crate) fn push(
        &mut self,
        who: RowKey,
        reading: &Comparison,
        interval: u32,
        tod: u64,
        fate: Disposition,
    ) {
        self.systems.push(who.system);
        self.processors.push(who.processor);
        self.slots.push(who.slot);
        self.usable.push(reading.usable);
        self.seconds.push(reading.seconds);
        self.flags.push(reading.flag);
        self.intervals.push(interval);
        self.tods.push(tod);
        self.fates.push(fate);
    }
}

/// Subject of a row.
#[derive(Clone, Copy)]
pub(crate) struct RowKey {
    pub system: u16,
    pub processor: u64,
    pub slot: u32,
}

impl RowKey {
    pub(crate) const fn untracked(system: u16) -> Self {
        Self {
            system,
            processor: 0,
            slot: UNTRACKED,
        }
    }
}
