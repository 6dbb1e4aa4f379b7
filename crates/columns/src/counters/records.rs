//! The records of one subtype in one window, column by column: where the parts of each are.

use zlens_frames::{RecordRef, Window};

use super::plan::{Plan, Subtype};
use super::shape::{DATA, PARTS, PartSize, RECORD, RecordShape, ShapeCache};
use crate::core::diagnostics::Reporter;

/// Nothing is there.
pub(crate) const NO_COUNTER: u32 = u32::MAX;

/// Records that are read alike, one row each.
#[derive(Debug)]
pub(crate) struct RecordColumns {
    /// Start of the record.
    pub records: Vec<u32>,
    /// Position of its first counter, or [`NO_COUNTER`].
    pub first_counters: Vec<u32>,
    /// By part: where it begins, and its form.
    pub starts: [Vec<u32>; PARTS],
    pub forms: [Vec<PartSize>; PARTS],
    /// Parts that records of this kind can have.
    parts: usize,
}

impl RecordColumns {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            records: Vec::new(),
            first_counters: Vec::new(),
            starts: [const { Vec::new() }; PARTS],
            forms: [const { Vec::new() }; PARTS],
            parts: super::shape::SETS + plan.sets.len(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.first_counters.clear();
        self.starts.iter_mut().for_each(Vec::clear);
        self.forms.iter_mut().for_each(Vec::clear);
    }

    /// Processes the records of a window; those that cannot be read are reported.
    pub(crate) fn gather(
        &mut self,
        window: &Window<'_>,
        records: &[RecordRef],
        subtype: &Subtype,
        plan: &Plan,
        shapes: &mut ShapeCache,
        place: &Reporter<'_>,
    ) {
        for &record in records {
            let shape = shapes.get(window.bytes_of(record), subtype, plan);
            if !shape.faults.is_empty() {
                report(shape, window.offset_of(record), place);
            }
            if shape.forms[DATA] == PartSize::ABSENT {
                continue;
            }
            self.push(record.pos, shape);
        }
    }

    #[inline]
    fn push(&mut self, pos: u32, shape: &RecordShape) {
        self.records.push(pos);
        self.first_counters.push(
            shape
                .first_counter
                .map_or(NO_COUNTER, |offset| pos + offset),
        );
        for part in 0..self.parts {
            self.starts[part].push(pos + shape.offsets[part]);
            self.forms[part].push(shape.forms[part]);
        }
    }

    /// The bytes of a part of one record; none where it has no such part.
    #[inline]
    pub(crate) fn part<'w>(&self, row: usize, part: usize, bytes: &'w [u8]) -> &'w [u8] {
        let start = self.starts[part][row] as usize;
        let length = self.forms[part][row].length() as usize;
        bytes.get(start..start + length).unwrap_or(&[])
    }

    /// The bytes of one record.
    pub(crate) fn record<'w>(&self, row: usize, bytes: &'w [u8]) -> &'w [u8] {
        self.part(row, RECORD, bytes)
    }

    /// The form of a part, where it is the same in all records.
    pub(crate) fn uniform(&self, part: usize) -> Option<PartSize> {
        let forms = &self.forms[part];
        let first = *forms.first()?;
        forms.iter().all(|&form| form == first).then_some(first)
    }

    /// Leaves only the rows of which `keep` is true.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        fn only<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            values.retain(|_| keep.next().is_none_or(|&keep| keep));
        }
        only(&mut self.records, keep);
        only(&mut self.first_counters, keep);
        for part in 0..self.parts {
            only(&mut self.starts[part], keep);
            only(&mut self.forms[part], keep);
        }
    }
}

#[cold]
fn report(shape: &RecordShape, offset: u64, place: &Reporter<'_>) {
    for fault in &shape.faults {
        let detail = || fault.detail.clone();
        if fault.per_record {
            place.problem(
                fault.kind,
                (offset, &fault.detail),
                offset,
                fault.bytes,
                detail,
            );
        } else {
            place.problem(fault.kind, &fault.detail, offset, fault.bytes, || {
                format!("{} (first occurrence)", fault.detail)
            });
        }
    }
}
