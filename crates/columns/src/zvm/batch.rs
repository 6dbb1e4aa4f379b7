//! The batch of a table that is being built.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::ArrowError;
use zlens_frames::zvm::Capture;
use zlens_frames::{ProblemKind, tod};

use super::evidence::ResetEvidence;
use super::gather::RowOffsets;
use super::plan::{Part, Plan};
use super::select::{Column, OutputColumn, Selection};
use super::shape::{Shape, Shapes};
use super::track::{BatchView, Counter, DifferenceRows, NewRows, SubjectTracker, WatchedColumn};
use crate::core::batch::{batch, missing_column_error};
use crate::core::column::{ColumnBuilder, FieldSlices};
use crate::core::diagnostics::Reporter;
use crate::core::flag::IntervalFlag;
use crate::core::int64_block::{Int64Arrays, Int64Block, SharedPool};
use crate::core::interval::{IntervalEnds, Intervals};
use crate::core::kernel::{map_fields, read_u32x4};
use crate::core::select::LeadingColumn;
use crate::core::utf8::Utf8Builder;
use crate::core::validity::Validity;

/// Number of bytes of records decoded at a time: few enough to stay in the processor's first cache from column to
/// column.
const TILE_BYTES: usize = 32 * 1024;

/// The file that is being scanned, as rows show it.
pub(crate) struct Names<'n> {
    pub system: &'n str,
    pub source: &'n str,
    pub file: &'n str,
}

/// State that compares rows with their predecessors.
struct DifferenceState {
    track: SubjectTracker,
    rows: DifferenceRows,
    counters: Vec<Counter>,
    /// The differences, in the order of the counters.
    differences: Int64Block,
    /// Whether a counter has to learn its direction, from intervals.
    learns: bool,
}

/// Position of a text of some rows.
fn text_of<'w>(
    (places, lens): &'w (Vec<u32>, Vec<u16>),
    rows: Range<usize>,
    entry: FieldSlices<'w>,
) -> FieldSlices<'w> {
    FieldSlices {
        places: places.get(rows.clone()).unwrap_or(&[]),
        lens: lens.get(rows).unwrap_or(&[]),
        ..entry
    }
}

/// A column that comes from the header of the record: its index among the 8-byte columns, and where it is NULL.
struct HeaderColumn {
    column: usize,
    validity: Validity,
}

/// Columns of a batch while it is built.
pub(crate) struct BatchBuilder {
    plan: Arc<Plan>,
    selection: Selection,
    leap_s: i32,
    builders: Vec<ColumnBuilder>,
    /// Index of the builder of each column of the plan.
    builder_of: Vec<Option<usize>>,
    wide: Int64Block,
    offset: Option<HeaderColumn>,
    tod: Option<HeaderColumn>,
    interval_end: Option<HeaderColumn>,
    compare: Option<DifferenceState>,
    intervals: Option<Intervals>,
    tods: Vec<u64>,
    interval_of: Vec<u32>,
    len: usize,
    /// Names of system, source and file, repeated for a batch.
    constants: [Option<StringArray>; 3],
}

impl BatchBuilder {
    /// A batch of the selected columns, and which columns of the plan it needs.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        selection: Selection,
        leap_s: i32,
        pool: &SharedPool,
    ) -> (Self, Vec<usize>) {
        let mut wanted: Vec<usize> = Vec::new();
        let mut builder_of = vec![None; plan.columns.len()];
        let mut builder = |column: usize| {
            *builder_of[column].get_or_insert_with(|| {
                wanted.push(column);
                wanted.len() - 1
            })
        };
        let mut counters = Vec::new();
        for output in &selection.outputs {
            if let OutputColumn::Table(own @ (Column::Value(column) | Column::Difference(column))) =
                *output
            {
                let builder = builder(column);
                let column = &plan.columns[column];
                if let (Column::Difference(_), Some(difference)) = (own, &column.difference) {
                    counters.push(Counter::new(builder, column.name.clone(), difference));
                }
            }
        }
        let compares = selection.outputs.iter().any(|output| output.compares());
        let compare = compares.then(|| {
            let mut named = |name: &String| plan.column(name).map(&mut builder);
            let subject = plan.subject.iter().filter_map(&mut named).collect();
            let watch = |name: &String| {
                named(name).map(|builder| WatchedColumn {
                    builder,
                    name: name.clone(),
                })
            };
            let watches = plan.reset_on.iter().filter_map(watch).collect();
            DifferenceState {
                track: SubjectTracker::new(subject, watches),
                rows: DifferenceRows::default(),
                differences: Int64Block::sharing(counters.len(), Arc::clone(pool)),
                learns: counters.iter().any(Counter::infers_direction),
                counters,
            }
        });
        let mut places = 0;
        let has = |head| selection.outputs.contains(&OutputColumn::Leading(head));
        let mut head = |needed: bool| {
            needed.then(|| {
                places += 1;
                HeaderColumn {
                    column: places - 1,
                    validity: Validity::default(),
                }
            })
        };
        let offset = head(has(LeadingColumn::Offset));
        let tod = head(has(LeadingColumn::Tod));
        let interval_end = head(has(LeadingColumn::IntervalEnd));
        let learns = compare.as_ref().is_some_and(|compare| compare.learns);
        let needs_intervals = interval_end.is_some() || learns;
        let builders = wanted
            .iter()
            .map(|&column| ColumnBuilder::new(plan.columns[column].kind, &mut places))
            .collect();
        let build = Self {
            plan: Arc::clone(plan),
            selection,
            leap_s,
            builders,
            builder_of,
            wide: Int64Block::sharing(places, Arc::clone(pool)),
            offset,
            tod,
            interval_end,
            compare,
            intervals: needs_intervals.then(|| Intervals::new(Arc::from([]))),
            tods: Vec::new(),
            interval_of: Vec::new(),
            len: 0,
            constants: [None, None, None],
        };
        (build, wanted)
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Number of 8-byte columns and of others.
    pub(crate) fn columns(&self) -> usize {
        self.selection.outputs.len().max(self.builders.len())
    }

    /// Another system begins.
    pub(crate) fn begin_system(
        &mut self,
        ends: &IntervalEnds,
        evidence: &[ResetEvidence],
        nominal_s: Option<f64>,
    ) {
        if let Some(intervals) = &mut self.intervals {
            *intervals = Intervals::of_ends(ends);
        }
        if let Some(compare) = &mut self.compare {
            compare.track.begin(&self.plan.table, evidence, nominal_s);
            compare.counters.iter_mut().for_each(Counter::begin);
        }
        self.constants = [None, None, None];
    }

    /// Another file begins.
    pub(crate) fn begin_file(&mut self) {
        self.constants[2] = None;
    }

    /// Adds some of the rows of `bytes` at the offsets `places`; starts a batch with space for `target` rows.
    pub(crate) fn add(
        &mut self,
        bytes: &[u8],
        places: &RowOffsets,
        rows: Range<usize>,
        shapes: &Shapes,
        target: usize,
        place: &Reporter<'_>,
    ) {
        self.room(target.max(self.len + rows.len()));
        self.heads(bytes, places, rows.clone(), place.capture);
        let mut start = rows.start;
        let first = places.runs.partition_point(|run| run.end <= rows.start);
        for run in &places.runs[first..] {
            if start >= rows.end {
                break;
            }
            let part = start..run.end.min(rows.end);
            let shape = shapes.get(run.shape);
            let from = self.len;
            let large = self.run(bytes, places, part.clone(), shape, run.span);
            if large || !shape.known {
                self.report(shape, from, places, part.start, place);
            }
            if let Some(compare) = &mut self.compare {
                let fresh = NewRows {
                    from,
                    tods: &self.tods[from..from + part.len()],
                    places,
                    first: part.start,
                    builders: &self.builders,
                    wide: &self.wide,
                    known: shape.known,
                    sample: run.sample,
                };
                compare.track.rows(&fresh, &mut compare.rows, place);
            }
            start = part.end;
        }
        self.compare(false, place);
    }

    fn room(&mut self, rows: usize) {
        self.builders
            .iter_mut()
            .for_each(|builder| builder.reserve(rows));
        if self.len == 0 {
            self.wide.start(rows);
        } else {
            self.wide.grow(rows);
        }
        if let Some(compare) = &mut self.compare {
            if self.len == 0 {
                compare.differences.start(rows);
            } else {
                compare.differences.grow(rows);
            }
        }
    }

    /// Columns from the record header.
    fn heads(
        &mut self,
        bytes: &[u8],
        places: &RowOffsets,
        from: Range<usize>,
        capture: Option<&Capture>,
    ) {
        let rows = self.len..self.len + from.len();
        if let Some(head) = &self.offset {
            let offsets = self.wide.rows_mut(head.column, rows.clone());
            places.offsets(from.clone(), offsets);
            if let Some(capture) = capture {
                for offset in offsets {
                    *offset = capture.original(offset.cast_unsigned()).cast_signed();
                }
            }
        }
        if self.tod.is_none() && self.intervals.is_none() && self.compare.is_none() {
            return;
        }
        self.tods.resize(rows.end, 0);
        let tods = &mut self.tods[rows.clone()];
        map_fields(
            tods,
            bytes.get(8..).unwrap_or(&[]),
            &places.records[from],
            u64::from_be_bytes,
        );
        if let Some(head) = &mut self.tod {
            let out = self.wide.rows_mut(head.column, rows.clone());
            for (out, &mut tod) in out.iter_mut().zip(&mut *tods) {
                *out = tod::to_unix_us(tod, self.leap_s);
            }
            // Every time since 1971 has the first bit; if all have it, none is zero.
            if !tod::is_plausible(tods.iter().fold(u64::MAX, |all, tod| all & tod)) {
                let none = rows.clone().zip(&*tods).filter(|(_, tod)| **tod == 0);
                none.for_each(|(row, _)| head.validity.clear(row, row + 1));
            }
        }
        let Some(intervals) = &mut self.intervals else {
            return;
        };
        let learns = self.compare.as_ref().is_some_and(|compare| compare.learns);
        let mut at = 0;
        // Neighbors are mostly of one interval, which is looked up once.
        while at < tods.len() {
            let interval = intervals.index_of(tods[at]);
            let count = intervals.run_length(interval, &tods[at..]);
            if learns {
                self.interval_of
                    .extend(std::iter::repeat_n(interval, count));
            }
            if let Some(head) = &mut self.interval_end {
                let row = rows.start + at;
                let end = intervals
                    .end(interval)
                    .map(|end| tod::to_unix_us(end, self.leap_s));
                self.wide
                    .rows_mut(head.column, row..row + count)
                    .fill(end.unwrap_or(0));
                if end.is_none() {
                    head.validity.clear(row, row + count);
                }
            }
            at += count;
        }
    }

    /// Decodes rows that are read alike, a few records at a time and of these column by column; whether a value was too
    /// large for its column.
    fn run(
        &mut self,
        bytes: &[u8],
        places: &RowOffsets,
        rows: Range<usize>,
        shape: &Shape,
        span: u32,
    ) -> bool {
        let wide = &mut self.wide;
        let mut large = false;
        for &builder in &shape.absent {
            self.builders[builder].append_nulls(self.len, rows.len(), wide);
        }
        let apart = match places.records[rows.clone()] {
            [first, .., last] => (last.saturating_sub(first)) as usize / (rows.len() - 1),
            _ => 1,
        };
        // Rows are whole blocks of eight as long as there are enough.
        let tile = (TILE_BYTES / apart.max(1)).clamp(32, 1024) & !7;
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(start + tile);
            let record = FieldSlices {
                bytes,
                places: &places.records[start..end],
                lens: places.lens.get(start..end).unwrap_or(&[]),
                len: 0,
                leap_s: self.leap_s,
            };
            let entries = places.entries.get(start..end).unwrap_or(&[]);
            let entry = FieldSlices {
                places: entries,
                lens: &[],
                len: span,
                ..record
            };
            let part = |part: Part, nth: u32| match part {
                Part::Record | Part::Counter | Part::Count => record,
                Part::Entry => entry,
                Part::Ordinal => FieldSlices {
                    places: places.ordinals.get(start..end).unwrap_or(&[]),
                    ..entry
                },
                Part::String => places
                    .texts
                    .get(nth as usize)
                    .map_or(entry, |text| text_of(text, start..end, entry)),
                Part::Tail => places
                    .texts
                    .last()
                    .map_or(entry, |text| text_of(text, start..end, entry)),
            };
            for reader in &shape.readers {
                let builder = &mut self.builders[reader.builder];
                large |= builder.append(
                    reader.kernel,
                    reader.offset,
                    self.len,
                    &part(reader.part, reader.nth),
                    wide,
                );
            }
            for first in &shape.fours {
                // Builders of integers follow each other among the 8-byte columns as they do here.
                let Some(column) = self.builders[first.builder].place() else {
                    continue;
                };
                let places = part(first.part, 0).places;
                let out = wide.rows_mut_x4(column, self.len..self.len + places.len());
                read_u32x4(
                    out,
                    bytes.get(first.offset as usize..).unwrap_or(&[]),
                    places,
                );
            }
            self.len += end - start;
            start = end;
        }
        large
    }

    /// Reports the problems of rows from `first` on, which are those from `from` on in `places`.
    fn report(
        &self,
        shape: &Shape,
        first: usize,
        places: &RowOffsets,
        from: usize,
        place: &Reporter<'_>,
    ) {
        for (number, builder) in self.builders.iter().enumerate() {
            if let Some(large) = builder.first_overflow(first) {
                let offset = places.offset(from + large - first);
                place.problem(ProblemKind::Long, ("large", number), offset, 0, || {
                    let name = self.builder_of.iter().position(|b| *b == Some(number));
                    let name = name.map_or("", |column| self.plan.columns[column].name.as_str());
                    format!("{name} is above 2^63 - 1 (first occurrence); such values are NULL")
                });
            }
        }
        if !shape.known {
            place.problem(
                ProblemKind::NoLayout,
                "no layout",
                places.offset(from),
                0,
                || "no layout matches this record length; fields are NULL".to_owned(),
            );
        }
    }

    /// Makes the differences that can be made already.
    fn compare(&mut self, complete: bool, place: &Reporter<'_>) {
        let Some(DifferenceState {
            track,
            rows,
            counters,
            differences,
            ..
        }) = &mut self.compare
        else {
            return;
        };
        let comparing = BatchView {
            rows,
            len: self.len,
            builders: &self.builders,
            wide: &self.wide,
            intervals: &self.interval_of,
            track,
            complete,
        };
        for (column, counter) in counters.iter_mut().enumerate() {
            let out = differences.rows_mut(column, counter.done..self.len);
            counter.advance(out, &comparing, place);
        }
    }

    /// The batch, which is cleared; none while it waits for rows still to come and need not be complete.
    pub(crate) fn finish(
        &mut self,
        complete: bool,
        names: &Names<'_>,
        place: &Reporter<'_>,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        let waits = |compare: &DifferenceState| {
            compare
                .counters
                .iter()
                .any(|counter| counter.done < self.len)
        };
        if self.compare.as_ref().is_some_and(waits) {
            if !complete {
                return Ok(None);
            }
            self.compare(true, place);
        }
        self.builders
            .iter()
            .for_each(|builder| builder.zero_overflows(&mut self.wide));
        let wide = self.wide.finish(self.len);
        let arrays = self.arrays(&wide, names)?;
        let batch = batch(self.selection.schema(), arrays, self.len)?;
        self.tods.clear();
        self.interval_of.clear();
        if let Some(compare) = &mut self.compare {
            compare.rows.clear();
        }
        self.len = 0;
        Ok(Some(batch))
    }

    fn arrays(
        &mut self,
        wide: &Int64Arrays,
        names: &Names<'_>,
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        let len = self.len;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.selection.outputs.len());
        let mut shown = vec![false; self.builders.len()];
        let differences = self
            .compare
            .as_mut()
            .map(|compare| compare.differences.finish(len));
        let mut counter = 0;
        for output in &self.selection.outputs {
            let rows = self.compare.as_ref().map(|compare| &compare.rows);
            arrays.push(match *output {
                OutputColumn::Leading(LeadingColumn::System) => {
                    repeated(&mut self.constants[0], names.system, len)
                }
                OutputColumn::Leading(LeadingColumn::Source) => {
                    repeated(&mut self.constants[1], names.source, len)
                }
                OutputColumn::Leading(LeadingColumn::File) => {
                    repeated(&mut self.constants[2], names.file, len)
                }
                OutputColumn::Leading(LeadingColumn::Offset) => {
                    Arc::new(wide.ints(column_of(&self.offset)?, None)?)
                }
                OutputColumn::Leading(LeadingColumn::Tod) => {
                    let column = column_of(&self.tod)?;
                    Arc::new(wide.times(column, nulls_of(&mut self.tod, len))?)
                }
                OutputColumn::Leading(LeadingColumn::IntervalEnd) => {
                    let column = column_of(&self.interval_end)?;
                    Arc::new(wide.times(column, nulls_of(&mut self.interval_end, len))?)
                }
                OutputColumn::Leading(LeadingColumn::Seconds) => {
                    rows.map(seconds).ok_or_else(missing_column_error)?
                }
                OutputColumn::Leading(LeadingColumn::Flag) => {
                    rows.map(flags).ok_or_else(missing_column_error)?
                }
                OutputColumn::Table(Column::Value(column)) => {
                    let builder = self.builder_of[column].ok_or_else(missing_column_error)?;
                    shown[builder] = true;
                    self.builders[builder].finish(len, wide)?
                }
                OutputColumn::Table(Column::Difference(_)) => {
                    let all = self
                        .compare
                        .as_mut()
                        .and_then(|compare| compare.counters.get_mut(counter));
                    let nulls = all.ok_or_else(missing_column_error)?.finish(len);
                    counter += 1;
                    let differences = differences.as_ref().ok_or_else(missing_column_error)?;
                    Arc::new(differences.ints(counter - 1, nulls)?)
                }
            });
        }
        let hidden = self
            .builders
            .iter_mut()
            .zip(shown)
            .filter(|(_, shown)| !shown);
        hidden.for_each(|(builder, _)| builder.clear());
        Ok(arrays)
    }
}

fn column_of(head: &Option<HeaderColumn>) -> Result<usize, ArrowError> {
    head.as_ref()
        .map(|head| head.column)
        .ok_or_else(missing_column_error)
}

fn nulls_of(head: &mut Option<HeaderColumn>, len: usize) -> Option<NullBuffer> {
    head.as_mut()?.validity.finish(len, &[])
}

/// A text that is the same in all rows of a file.
fn repeated(made: &mut Option<StringArray>, text: &str, rows: usize) -> ArrayRef {
    let ready = made.take().filter(|made| made.len() >= rows);
    let ready = ready.unwrap_or_else(|| Utf8Builder::repeated(text, rows));
    Arc::new(made.insert(ready).slice(0, rows))
}

fn seconds(rows: &DifferenceRows) -> ArrayRef {
    let all = rows.usable.iter().all(|&usable| usable);
    let nulls = (!all).then(|| NullBuffer::new(BooleanBuffer::from(rows.usable.as_slice())));
    Arc::new(Float64Array::new(rows.seconds.clone().into(), nulls))
}

fn flags(rows: &DifferenceRows) -> ArrayRef {
    if rows.flags.iter().all(|&flag| flag == IntervalFlag::None) {
        return Arc::new(StringArray::new_null(rows.flags.len()));
    }
    let words = rows.flags.iter().map(|flag| flag.as_str());
    Arc::new(words.collect::<StringArray>())
}
