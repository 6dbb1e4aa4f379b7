//! Counters: what was counted between a record and the one before it.

use zlens_frames::{ProblemKind, Window};

use super::plan::{Plan, Values};
use super::records::RecordColumns;
use super::rows::{Disposition, RowState, UNTRACKED};
use super::shape::{PartSize, SETS};
use crate::core::diagnostics::Reporter;
use crate::core::int64_block::Int64Block;
use crate::core::kernel::map_fields;
use crate::core::validity::Validity;

/// A counter's column while it is built.
#[derive(Debug)]
pub(crate) struct CounterColumn {
    /// Its number.
    pub number: u32,
    /// The part of the record with its set, and its index in the set.
    part: usize,
    index: u32,
    /// Its index among the 8-byte columns.
    pub column: usize,
    pub validity: Validity,
    /// Rows whose value does not fit a signed column.
    pub large: Vec<usize>,
    /// By processor: the last reading of a cumulative counter, and whether there is one.
    previous: Vec<u64>,
    has: Vec<bool>,
}

/// Space for the readings of one counter in one window.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    readings: Vec<i64>,
    there: Vec<bool>,
    /// Differences, and whether they are known.
    pub counted: Vec<i64>,
    pub known: Vec<bool>,
}

/// Output of counters.
pub(crate) struct Target<'b> {
    pub wide: &'b mut Int64Block,
    /// The first row that is not yet there.
    pub row: usize,
    /// Rows that become rows of the batch.
    pub emitted: &'b [bool],
    /// Whether all do.
    pub all: bool,
}

impl CounterColumn {
    pub(crate) fn new(plan: &Plan, set: usize, index: u32, column: usize) -> Self {
        Self {
            number: plan.sets[set].first + index,
            part: SETS + set,
            index,
            column,
            validity: Validity::default(),
            large: Vec::new(),
            previous: Vec::new(),
            has: Vec::new(),
        }
    }

    /// Adds what some records say; `scratch` keeps it for all of them, shown or not, if `keep` says so.
    #[allow(
        clippy::too_many_arguments,
        reason = "the loop's own state, borrowed apart"
    )]
    pub(crate) fn append(
        &mut self,
        values: Values,
        lines: &RecordColumns,
        window: &Window<'_>,
        rows: &RowState,
        target: &mut Target<'_>,
        slots: usize,
        scratch: &mut Scratch,
        keep: bool,
        place: &Reporter<'_>,
    ) {
        if values == Values::Delta
            && target.all
            && !keep
            && self.copy_uniform(lines, window, target)
        {
            self.report_large(lines, window, target.row, place);
            return;
        }
        self.read(lines, window.bytes, scratch);
        match values {
            Values::Delta => self.deltas(scratch),
            Values::Absolute => self.differences(rows, slots, lines, window, scratch, place),
        }
        let mut row = target.row;
        for (nth, &shown) in target.emitted.iter().enumerate() {
            if !shown {
                continue;
            }
            target.wide.rows_mut(self.column, row..row + 1)[0] = scratch.counted[nth];
            if !scratch.known[nth] {
                self.validity.clear(row, row + 1);
            }
            row += 1;
        }
    }

    /// Copies values that need no difference from records of the same shape.
    fn copy_uniform(
        &mut self,
        lines: &RecordColumns,
        window: &Window<'_>,
        target: &mut Target<'_>,
    ) -> bool {
        let Some(form) = lines.uniform(self.part) else {
            return lines.len() == 0;
        };
        let end = target.row + lines.len();
        let out = target.wide.rows_mut(self.column, target.row..end);
        if self.index >= form.count() {
            out.fill(0);
            self.validity.clear(target.row, end);
            return true;
        }
        self.column_of(form, &lines.starts[self.part], window.bytes, out);
        if out.iter().fold(0, |all, value| all | value) < 0 {
            for (row, value) in (target.row..).zip(out).filter(|(_, value)| **value < 0) {
                *value = 0;
                self.large.push(row);
            }
        }
        true
    }

    /// The counter of records in which its set has one form.
    #[inline]
    fn column_of(&self, form: PartSize, starts: &[u32], bytes: &[u8], out: &mut [i64]) {
        let offset = (self.index * form.width()) as usize;
        let bytes = bytes.get(offset..).unwrap_or(&[]);
        if form.width() == 4 {
            map_fields(out, bytes, starts, |b| i64::from(u32::from_be_bytes(b)));
        } else {
            map_fields(out, bytes, starts, i64::from_be_bytes);
        }
    }

    /// All readings, and which records have one.
    fn read(&self, lines: &RecordColumns, bytes: &[u8], scratch: &mut Scratch) {
        let count = lines.len();
        scratch.readings.clear();
        scratch.readings.resize(count, 0);
        scratch.there.clear();
        scratch.there.resize(count, true);
        let mut from = 0;
        while from < count {
            let forms = &lines.forms[self.part][from..];
            let form = forms[0];
            let same = forms.iter().take_while(|&&other| other == form).count();
            let rows = from..from + same;
            if self.index < form.count() {
                let out = &mut scratch.readings[rows.clone()];
                self.column_of(form, &lines.starts[self.part][rows], bytes, out);
            } else {
                scratch.there[rows].fill(false);
            }
            from += same;
        }
    }

    fn deltas(&self, scratch: &mut Scratch) {
        scratch.counted.clear();
        scratch.counted.extend_from_slice(&scratch.readings);
        scratch.known.clear();
        scratch.known.extend_from_slice(&scratch.there);
        for (counted, known) in scratch.counted.iter_mut().zip(&mut scratch.known) {
            if *counted < 0 {
                (*counted, *known) = (0, false);
            }
        }
    }

    fn differences(
        &mut self,
        rows: &RowState,
        slots: usize,
        lines: &RecordColumns,
        window: &Window<'_>,
        scratch: &mut Scratch,
        place: &Reporter<'_>,
    ) {
        self.previous.resize(slots, 0);
        self.has.resize(slots, false);
        scratch.counted.clear();
        scratch.counted.resize(lines.len(), 0);
        scratch.known.clear();
        scratch.known.resize(lines.len(), false);
        for row in 0..lines.len() {
            let slot = rows.slots[row];
            if slot == UNTRACKED {
                continue;
            }
            let slot = slot as usize;
            if !scratch.there[row] {
                self.has[slot] = false;
                continue;
            }
            let now = scratch.readings[row].cast_unsigned();
            let before = std::mem::replace(&mut self.previous[slot], now);
            let had = std::mem::replace(&mut self.has[slot], true);
            if !had || !rows.usable[row] {
                continue;
            }
            match now.checked_sub(before).map(i64::try_from) {
                Some(Ok(counted)) => {
                    scratch.counted[row] = counted;
                    scratch.known[row] = true;
                }
                Some(Err(_)) => self.report_overflow(lines, window, row, place),
                None => {
                    let place = Reporter {
                        system: usize::from(rows.systems[row]),
                        ..*place
                    };
                    let number = self.number;
                    let processor = rows.processors[row].to_string();
                    place.reset(rows.tods[row], &processor, || {
                        format!("counter {number} stepped back")
                    });
                }
            }
        }
    }

    /// Says that values are too large for their column.
    fn report_large(
        &self,
        lines: &RecordColumns,
        window: &Window<'_>,
        from: usize,
        place: &Reporter<'_>,
    ) {
        let first = self.large.iter().find(|&&row| row >= from);
        if let Some(&row) = first {
            self.report_overflow(lines, window, row - from, place);
        }
    }

    #[cold]
    fn report_overflow(
        &self,
        lines: &RecordColumns,
        window: &Window<'_>,
        row: usize,
        place: &Reporter<'_>,
    ) {
        let at = window.offset(lines.records[row]);
        let number = self.number;
        place.problem(ProblemKind::Long, ("counter", number), at, 0, || {
            format!("counter {number} is above 2^63 - 1 (first occurrence); such values are NULL")
        });
    }
}

/// Marks the rows that become rows of the batch; returns whether all do.
pub(crate) fn emitted_rows(rows: &RowState, out: &mut Vec<bool>) -> bool {
    out.clear();
    out.extend(rows.fates.iter().map(|&fate| fate == Disposition::Emitted));
    out.iter().all(|&shown| shown)
}
