//! Where the rows of a table stand in a window.

use zlens_frames::{ProblemKind, RecordRef, Window};

use crate::journal::Place;
use crate::plan::Plan;
use crate::shape::{Locator, Shapes};

/// Rows that follow each other and are read alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub shape: u32,
    /// Whether the records are samples.
    pub sample: bool,
    /// Bytes of the entry of each row.
    pub stride: u32,
    /// The row after the last.
    pub end: usize,
}

/// The rows of one table in one window: columns of places, cut into runs.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub records: Vec<u32>,
    /// Lengths of the records; only where a field runs to the end of its record.
    pub lens: Vec<u16>,
    /// Entries of a section table; else empty.
    pub entries: Vec<u32>,
    pub runs: Vec<Run>,
}

impl Places {
    fn extend_run(&mut self, shape: u32, sample: bool, stride: u32) {
        let end = self.records.len();
        match self.runs.last_mut() {
            Some(run) if (run.shape, run.sample, run.stride) == (shape, sample, stride) => {
                run.end = end
            }
            _ => self.runs.push(Run {
                shape,
                sample,
                stride,
                end,
            }),
        }
    }
}

/// The lists of one table's records in a window: number of the list, and whether its records are samples.
pub(crate) type Lists = Vec<(usize, bool)>;

/// Turns the records of windows into places of rows.
#[derive(Debug)]
pub(crate) struct Gather {
    pub shapes: Shapes,
    pub locator: Option<Locator>,
    pub needs_lens: bool,
    merged: Vec<(RecordRef, bool)>,
}

impl Gather {
    pub(crate) fn new(plan: &Plan, wanted: Vec<usize>) -> Self {
        let open = |column: &usize| {
            let mut fields = plan.layouts.iter().flat_map(|layout| &layout.fields);
            fields.any(|field| field.column == *column && field.length == 0)
        };
        let needs_lens = wanted.iter().any(open);
        Self {
            shapes: Shapes::new(wanted),
            locator: Locator::of(plan),
            needs_lens,
            merged: Vec::new(),
        }
    }

    /// Finds the rows of a window.
    pub(crate) fn gather(
        &mut self,
        plan: &Plan,
        window: &Window<'_>,
        lists: &Lists,
        places: &mut Places,
        place: &Place<'_>,
    ) {
        places.records.clear();
        places.lens.clear();
        places.entries.clear();
        places.runs.clear();
        self.shapes.trim();
        let mut filled = lists
            .iter()
            .filter(|(list, _)| !window.records(*list).is_empty());
        let Some(&(first, sample)) = filled.next() else {
            return;
        };
        if filled.next().is_none() {
            self.add_all(plan, window, window.records(first), sample, places, place);
            return;
        }
        // Samples and events of one type in one window: rows stay in the order of the file.
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        for &(list, sample) in lists {
            merged.extend(window.records(list).iter().map(|&record| (record, sample)));
        }
        merged.sort_unstable_by_key(|(record, _)| record.pos);
        for &(record, sample) in &merged {
            self.add_all(plan, window, &[record], sample, places, place);
        }
        self.merged = merged;
    }

    fn add_all(
        &mut self,
        plan: &Plan,
        window: &Window<'_>,
        records: &[RecordRef],
        sample: bool,
        places: &mut Places,
        place: &Place<'_>,
    ) {
        if self.locator.is_some() {
            for &record in records {
                self.add_entries(plan, window, record, sample, places, place);
            }
            return;
        }
        if self.needs_lens {
            places.lens.extend(records.iter().map(|record| record.len));
        }
        // Records of one length come in runs.
        for run in records.chunk_by(|a, b| a.len == b.len) {
            places.records.extend(run.iter().map(|record| record.pos));
            let shape = self.shapes.of(plan, run[0].len, 0);
            places.extend_run(shape, sample, 0);
        }
    }

    fn add_entries(
        &mut self,
        plan: &Plan,
        window: &Window<'_>,
        record: RecordRef,
        sample: bool,
        places: &mut Places,
        place: &Place<'_>,
    ) {
        let Some(locator) = &self.locator else { return };
        let (found, fault) = locator.entries(window.bytes_of(record));
        if let Some(fault) = fault {
            let offset = window.offset_of(record);
            place.problem(ProblemKind::Section, offset, offset, fault.bytes, || {
                fault.detail
            });
        }
        if found.count == 0 {
            return;
        }
        let count = found.count as usize;
        places
            .records
            .extend(std::iter::repeat_n(record.pos, count));
        if self.needs_lens {
            places.lens.extend(std::iter::repeat_n(record.len, count));
        }
        places
            .entries
            .extend((0..found.count).map(|entry| record.pos + found.first + entry * found.stride));
        let shape = self.shapes.of(plan, record.len, found.stride);
        places.extend_run(shape, sample, found.stride);
    }
}
