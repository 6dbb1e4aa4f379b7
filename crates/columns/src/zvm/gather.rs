//! Position of the rows of a table in a window.

use std::ops::Range;

use zlens_frames::{ProblemKind, RecordRef, Window};

use super::join::{ContinuationJoiner, FaultAt, Forms, JoinedRecord};
use super::plan::{Part, Plan};
use super::section::Locator;
use super::shape::Shapes;
use crate::core::diagnostics::Reporter;

/// Rows that follow each other and are read alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowRun {
    pub shape: u32,
    /// Whether the records are samples.
    pub sample: bool,
    /// Bytes of the entry of each row.
    pub span: u32,
    /// The row after the last.
    pub end: usize,
}

/// Rows of one table: columns of offsets into some bytes, cut into runs.
#[derive(Debug, Default)]
pub(crate) struct RowOffsets {
    pub records: Vec<u32>,
    /// Start of the records in the file; where this is empty, as far after `base` as in the bytes.
    offsets: Vec<u64>,
    base: u64,
    /// Lengths of the records; only where a field runs to the end of its record.
    pub lens: Vec<u16>,
    /// Entries of a section table; else empty.
    pub entries: Vec<u32>,
    /// Their numbers in their records; only where a column has them.
    pub ordinals: Vec<u32>,
    /// Texts of the entries, and what follows them: where they begin and how long they are.
    pub texts: Vec<(Vec<u32>, Vec<u16>)>,
    pub runs: Vec<RowRun>,
}

impl RowOffsets {
    /// Start of the record of a row in the file.
    #[inline]
    pub(crate) fn offset(&self, row: usize) -> u64 {
        match self.offsets.get(row) {
            Some(&offset) => offset,
            None => self.base + u64::from(self.records[row]),
        }
    }

    /// Start of the records of some rows in the file.
    pub(crate) fn offsets(&self, rows: Range<usize>, out: &mut [i64]) {
        if let Some(offsets) = self.offsets.get(rows.clone()) {
            out.iter_mut()
                .zip(offsets)
                .for_each(|(out, offset)| *out = offset.cast_signed());
        } else {
            let base = self.base.cast_signed();
            out.iter_mut()
                .zip(&self.records[rows])
                .for_each(|(out, &at)| *out = base + i64::from(at));
        }
    }

    fn begin(&mut self, base: u64) {
        self.base = base;
        self.records.clear();
        self.offsets.clear();
        self.lens.clear();
        self.entries.clear();
        self.ordinals.clear();
        for (places, lens) in &mut self.texts {
            places.clear();
            lens.clear();
        }
        self.runs.clear();
    }

    fn extend_run(&mut self, shape: u32, sample: bool, span: u32) {
        let end = self.records.len();
        match self.runs.last_mut() {
            Some(run) if (run.shape, run.sample, run.span) == (shape, sample, span) => {
                run.end = end
            }
            _ => self.runs.push(RowRun {
                shape,
                sample,
                span,
                end,
            }),
        }
    }
}

/// The lists of one table's records in a window: number of the list, and whether its records are samples.
pub(crate) type RecordLists = Vec<(usize, bool)>;

/// Records of one class in some bytes.
#[derive(Debug, Clone, Copy)]
struct RecordSlice<'w> {
    bytes: &'w [u8],
    records: &'w [RecordRef],
    sample: bool,
    /// Offset of each in the file; if `None`, their offsets count from `base`.
    offsets: Option<&'w [u64]>,
    base: u64,
}

impl RecordSlice<'_> {
    fn offset(&self, number: usize) -> u64 {
        match self.offsets {
            Some(offsets) => offsets[number],
            None => self.base + u64::from(self.records[number].pos),
        }
    }

    fn bytes_of(&self, number: usize) -> &[u8] {
        let record = self.records[number];
        let at = record.pos as usize;
        self.bytes
            .get(at..at + usize::from(record.len))
            .unwrap_or(&[])
    }
}

/// Records set aside until there are enough of them.
#[derive(Debug, Default)]
struct StagingBuffer {
    bytes: Vec<u8>,
    records: Vec<RecordRef>,
    offsets: Vec<u64>,
    /// Index at which the class of the records changes: the record after the last of a class.
    classes: Vec<(bool, usize)>,
    /// Forms of joined records; else empty.
    forms: Vec<u32>,
}

/// Fewer records than these in a window are set aside: a loop over a few rows costs more to begin than to run.
const MIN_DIRECT_RECORDS: usize = 48;
/// As many bytes are set aside as stay in the processor's first cache.
const STAGE_BYTES: usize = 24 * 1024;

impl StagingBuffer {
    fn add(&mut self, window: &Window<'_>, records: &[RecordRef], sample: bool) {
        for &record in records {
            let pos = self.bytes.len() as u32;
            self.bytes.extend_from_slice(window.bytes_of(record));
            self.records.push(RecordRef { pos, ..record });
            self.offsets.push(window.offset_of(record));
        }
        self.class(sample);
    }

    fn class(&mut self, sample: bool) {
        match self.classes.last_mut() {
            Some((class, end)) if *class == sample => *end = self.records.len(),
            _ => self.classes.push((sample, self.records.len())),
        }
    }

    fn joined(&mut self, joined: &JoinedRecord) {
        self.records.push(RecordRef {
            pos: self.bytes.len() as u32,
            len: joined.len,
        });
        self.bytes.extend_from_slice(&joined.bytes);
        self.offsets.push(joined.offset);
        self.forms.push(joined.form);
        self.class(joined.sample);
    }
}

/// Turns the records of windows into offsets of rows.
#[derive(Debug)]
pub(crate) struct RowGatherer {
    pub shapes: Shapes,
    pub places: RowOffsets,
    locator: Option<Locator>,
    joiner: Option<ContinuationJoiner>,
    forms: Forms,
    needs_lens: bool,
    needs_ordinals: bool,
    stage: StagingBuffer,
    merged: Vec<(RecordRef, bool)>,
}

/// Next step for the records of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatherOutcome {
    /// Nothing yet: there were none, or they are set aside.
    Deferred,
    /// Records set aside are to be decoded; after that the window is to be checked again.
    FlushStaged,
    /// The records of the window are to be decoded.
    DecodeWindow,
}

impl RowGatherer {
    pub(crate) fn new(plan: &Plan, wanted: Vec<usize>) -> Self {
        let open = |column: &usize| {
            let mut fields = plan.layouts.iter().flat_map(|layout| &layout.fields);
            fields.any(|field| field.column == *column && field.length == 0)
        };
        let needs_lens = wanted.iter().any(open);
        let mut fields = plan.layouts.iter().flat_map(|layout| &layout.fields);
        let needs_ordinals = fields.any(|field| field.part == Part::Ordinal);
        let strings = plan.section.as_ref().and_then(|section| section.strings);
        let texts = strings.map_or(0, |strings| strings.count as usize + 1);
        Self {
            shapes: Shapes::new(wanted),
            places: RowOffsets {
                texts: vec![(Vec::new(), Vec::new()); texts],
                ..RowOffsets::default()
            },
            locator: plan.section.as_ref().and_then(Locator::new),
            joiner: plan.join.as_ref().map(ContinuationJoiner::new),
            forms: Forms::new(plan.join.as_ref()),
            needs_lens,
            needs_ordinals,
            stage: StagingBuffer::default(),
            merged: Vec::new(),
        }
    }

    /// Finds the rows of a window.
    pub(crate) fn window(
        &mut self,
        plan: &Plan,
        window: &Window<'_>,
        lists: &RecordLists,
        place: &Reporter<'_>,
    ) -> GatherOutcome {
        let count: usize = lists
            .iter()
            .map(|(list, _)| window.records(*list).len())
            .sum();
        if count == 0 {
            return GatherOutcome::Deferred;
        }
        if self.stage.bytes.len() >= STAGE_BYTES
            || (count >= MIN_DIRECT_RECORDS && !self.stage.records.is_empty())
        {
            return GatherOutcome::FlushStaged;
        }
        // Records are joined aside, however many there are.
        let now = count >= MIN_DIRECT_RECORDS && self.joiner.is_none();
        if now {
            self.places.begin(window.base);
            self.shapes.trim();
        }
        let mut filled = lists
            .iter()
            .filter(|(list, _)| !window.records(*list).is_empty());
        if let (Some(&(list, sample)), None) = (filled.next(), filled.next()) {
            self.take(plan, window, window.records(list), sample, now, place);
        } else {
            // Samples and events of one type in one window: rows stay in the order of the file.
            let mut merged = std::mem::take(&mut self.merged);
            merged.clear();
            for &(list, sample) in lists {
                merged.extend(window.records(list).iter().map(|&record| (record, sample)));
            }
            merged.sort_unstable_by_key(|(record, _)| record.pos);
            for &(record, sample) in &merged {
                self.take(plan, window, &[record], sample, now, place);
            }
            self.merged = merged;
        }
        if now {
            GatherOutcome::DecodeWindow
        } else {
            GatherOutcome::Deferred
        }
    }

    /// Takes records up, to be decoded now or to be set aside.
    fn take(
        &mut self,
        plan: &Plan,
        window: &Window<'_>,
        records: &[RecordRef],
        sample: bool,
        now: bool,
        place: &Reporter<'_>,
    ) {
        if let Some(joiner) = &mut self.joiner {
            let mut told = Vec::new();
            for &record in records {
                joiner.add(
                    window.bytes_of(record),
                    window.offset_of(record),
                    sample,
                    &mut self.forms,
                    &mut told,
                    &mut |joined| self.stage.joined(&joined),
                );
            }
            return report_all(told, place);
        }
        if !now {
            return self.stage.add(window, records, sample);
        }
        let records = RecordSlice {
            bytes: window.bytes,
            records,
            sample,
            offsets: None,
            base: window.base,
        };
        self.add(plan, &records, place);
    }

    /// No record continues the last one of a file.
    pub(crate) fn end_file(&mut self, place: &Reporter<'_>) {
        if let Some(joiner) = &mut self.joiner {
            let mut told = Vec::new();
            joiner.finish(&mut self.forms, &mut told, &mut |joined| {
                self.stage.joined(&joined);
            });
            report_all(told, place);
        }
    }

    /// Finds the rows of the records that were set aside; gives their bytes, which are to be given back.
    pub(crate) fn take_staged(&mut self, plan: &Plan, place: &Reporter<'_>) -> Vec<u8> {
        self.places.begin(0);
        self.shapes.trim();
        let mut stage = std::mem::take(&mut self.stage);
        let mut from = 0;
        for &(sample, end) in &stage.classes {
            let records = RecordSlice {
                bytes: &stage.bytes,
                records: &stage.records[from..end],
                sample,
                offsets: Some(&stage.offsets[from..end]),
                base: 0,
            };
            match stage.forms.get(from..end) {
                Some(forms) => self.add_joined(plan, &records, forms),
                None => self.add(plan, &records, place),
            }
            from = end;
        }
        stage.records.clear();
        stage.offsets.clear();
        stage.classes.clear();
        stage.forms.clear();
        let bytes = std::mem::take(&mut stage.bytes);
        self.stage = stage;
        bytes
    }

    /// Gives back the memory of what was set aside.
    pub(crate) fn recycle(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        self.stage.bytes = bytes;
    }

    fn add(&mut self, plan: &Plan, all: &RecordSlice<'_>, place: &Reporter<'_>) {
        let places = &mut self.places;
        if let Some(locator) = &self.locator {
            for number in 0..all.records.len() {
                let record = all.records[number];
                let (found, fault) = locator.entries(all.bytes_of(number));
                let offset = all.offset(number);
                if let Some(fault) = fault {
                    place.problem(ProblemKind::Section, offset, offset, fault.bytes, || {
                        fault.detail
                    });
                }
                if found.count == 0 {
                    continue;
                }
                let count = found.count as usize;
                places
                    .records
                    .extend(std::iter::repeat_n(record.pos, count));
                if all.offsets.is_some() {
                    places.offsets.extend(std::iter::repeat_n(offset, count));
                }
                if self.needs_lens {
                    places.lens.extend(std::iter::repeat_n(record.len, count));
                }
                let first = record.pos + found.first;
                places
                    .entries
                    .extend((0..found.count).map(|entry| first + entry * found.stride));
                if self.needs_ordinals {
                    places.ordinals.extend(0..found.count);
                }
                for ((places, lens), (at, len)) in places.texts.iter_mut().zip(found.texts) {
                    places.push(record.pos + at);
                    lens.push(len);
                }
                let shape = self
                    .shapes
                    .index_of(plan, record.len, found.span, &self.forms);
                places.extend_run(shape, all.sample, found.span);
            }
            return;
        }
        if self.needs_lens {
            places
                .lens
                .extend(all.records.iter().map(|record| record.len));
        }
        if let Some(offsets) = all.offsets {
            places.offsets.extend_from_slice(offsets);
        }
        // Records of one length come in runs.
        for run in all.records.chunk_by(|a, b| a.len == b.len) {
            places.records.extend(run.iter().map(|record| record.pos));
            let shape = self.shapes.index_of(plan, run[0].len, 0, &self.forms);
            places.extend_run(shape, all.sample, 0);
        }
    }

    fn add_joined(&mut self, plan: &Plan, all: &RecordSlice<'_>, forms: &[u32]) {
        let places = &mut self.places;
        for ((number, record), &form) in all.records.iter().enumerate().zip(forms) {
            places.records.push(record.pos);
            places.offsets.push(all.offset(number));
            if self.needs_lens {
                places.lens.push(record.len);
            }
            let shape = self.shapes.index_of(plan, record.len, form, &self.forms);
            places.extend_run(shape, all.sample, form);
        }
    }
}

/// Reports what was found while records were joined.
fn report_all(told: Vec<FaultAt>, place: &Reporter<'_>) {
    for (offset, fault) in told {
        place.problem(
            ProblemKind::Section,
            (offset, &fault.detail),
            offset,
            fault.bytes,
            || fault.detail.clone(),
        );
    }
}
