//! One raw table while its files are scanned: windows in, batches out.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::ArrowError;
use zlens_frames::{Index, ProblemKind, Window, tod};

use crate::column::{Builder, Pools, Source};
use crate::evidence::Evidence;
use crate::interval::{Intervals, OPEN};
use crate::journal::Place;
use crate::places::{Gather, Lists, Places};
use crate::plan::{Part, Plan};
use crate::select::{Output, Selection};
use crate::track::{Batch, Counter, Flag, Fresh, Rows, Track, Watch};
use crate::validity::Validity;

/// No batch has more rows, so that the offsets of its texts stay below 2 GiB.
pub(crate) const MAX_ROWS: usize = 16_384;
/// What the fixed-width columns of a batch should take: little enough to stay in the processor's cache.
const BATCH_BYTES: usize = 1 << 20;

/// Rows of a batch of so many columns.
fn batch_rows(columns: usize) -> usize {
    let rows = BATCH_BYTES / (8 * columns.max(1));
    rows.clamp(1024, MAX_ROWS / 2)
}

/// The file that is being scanned, as rows show it.
pub(crate) struct Names<'n> {
    pub system: &'n str,
    pub source: &'n str,
    pub file: &'n str,
}

/// Batches that are ready, with the number of their table in the scan.
pub(crate) type Ready = VecDeque<(usize, RecordBatch)>;

/// What compares a row with the one before it.
struct Compare {
    track: Track,
    rows: Rows,
    counters: Vec<Counter>,
}

/// A table and the batch that is being built of it.
pub(crate) struct TableScan {
    /// Number of the table in its scan.
    number: usize,
    plan: Arc<Plan>,
    selection: Selection,
    leap_s: i32,
    gather: Gather,
    places: Places,
    /// Lists of the table's records in the windows of this file.
    lists: Lists,
    builders: Vec<Builder>,
    /// Which builders are columns on the way out; others only serve comparison.
    shown: Vec<bool>,
    /// Which builder holds a column of the plan.
    builder_of: Vec<Option<usize>>,
    compare: Option<Compare>,
    intervals: Option<Intervals>,
    needs_tod: bool,
    needs_offset: bool,
    tods: Vec<u64>,
    offsets: Vec<i64>,
    interval_of: Vec<u32>,
    len: usize,
    target: usize,
    pools: Pools,
    /// Names of system, source and file, repeated for a batch.
    constants: [Option<StringArray>; 3],
}

impl TableScan {
    pub(crate) fn new(number: usize, plan: &Arc<Plan>, selection: Selection, leap_s: i32) -> Self {
        let mut wanted: Vec<usize> = Vec::new();
        let mut builder_of = vec![None; plan.columns.len()];
        let mut builder = |column: usize| {
            *builder_of[column].get_or_insert_with(|| {
                wanted.push(column);
                wanted.len() - 1
            })
        };
        let compares = selection.outputs.iter().any(|output| output.compares());
        let mut counters = Vec::new();
        for output in &selection.outputs {
            if let Output::Value(column) | Output::Difference(column) = *output {
                let builder = builder(column);
                let column = &plan.columns[column];
                if let (Output::Difference(_), Some(difference)) = (output, &column.difference) {
                    counters.push(Counter::new(builder, column.name.clone(), difference));
                }
            }
        }
        let compare = compares.then(|| {
            let mut named = |name: &String| plan.column(name).map(&mut builder);
            let subject = plan.subject.iter().filter_map(&mut named).collect();
            let watch = |name: &String| {
                named(name).map(|builder| Watch {
                    builder,
                    name: name.clone(),
                })
            };
            let watches = plan.reset_on.iter().filter_map(watch).collect();
            Compare {
                track: Track::new(subject, watches),
                rows: Rows::default(),
                counters,
            }
        });
        let has = |output| selection.outputs.contains(&output);
        let learns = compare
            .as_ref()
            .is_some_and(|c| c.counters.iter().any(Counter::learns));
        let needs_intervals = has(Output::IntervalEnd) || learns;
        let builders: Vec<Builder> = wanted
            .iter()
            .map(|&column| Builder::new(plan.columns[column].kind))
            .collect();
        let columns = selection.outputs.len().max(builders.len());
        Self {
            number,
            leap_s,
            shown: wanted
                .iter()
                .map(|&column| has(Output::Value(column)))
                .collect(),
            needs_tod: has(Output::Tod) || needs_intervals || compares,
            needs_offset: has(Output::Offset) || compares,
            intervals: needs_intervals.then(|| Intervals::new(Arc::from([]))),
            gather: Gather::new(plan, wanted),
            places: Places::default(),
            lists: Lists::new(),
            builders,
            builder_of,
            compare,
            tods: Vec::new(),
            offsets: Vec::new(),
            interval_of: Vec::new(),
            len: 0,
            target: batch_rows(columns),
            pools: Pools::new(columns),
            constants: [None, None, None],
            plan: Arc::clone(plan),
            selection,
        }
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Another system begins.
    pub(crate) fn begin_system(
        &mut self,
        ends: &Arc<[u64]>,
        evidence: &[Evidence],
        nominal_s: Option<f64>,
    ) {
        if let Some(intervals) = &mut self.intervals {
            *intervals = Intervals::new(Arc::clone(ends));
        }
        if let Some(compare) = &mut self.compare {
            compare.track.begin(&self.plan.table, evidence, nominal_s);
            compare.counters.iter_mut().for_each(Counter::begin);
        }
        self.constants = [None, None, None];
    }

    /// Another file begins, whose windows hold this table's records in `lists`.
    pub(crate) fn begin_file(&mut self, lists: Lists, index: &Index) {
        let known = index
            .types
            .iter()
            .filter(|kind| (kind.domain, kind.record) == (self.plan.domain, self.plan.record));
        let records: u64 = known.map(|kind| kind.count).sum();
        self.lists = lists;
        self.constants[2] = None;
        // Small files get small batches; of a section's entries there may be more than records.
        let columns = self.selection.outputs.len().max(self.builders.len());
        let target = batch_rows(columns);
        let rows = usize::try_from(records).unwrap_or(usize::MAX);
        self.target = if self.plan.section.is_some() {
            target
        } else {
            target.min(rows.max(1))
        };
    }

    /// Decodes what a window holds of this table.
    pub(crate) fn window(
        &mut self,
        window: &Window<'_>,
        names: &Names<'_>,
        place: &Place<'_>,
        ready: &mut Ready,
    ) -> Result<(), ArrowError> {
        let mut places = std::mem::take(&mut self.places);
        self.gather
            .gather(&self.plan, window, &self.lists, &mut places, place);
        let total = places.records.len();
        let mut at = 0;
        while at < total {
            // A batch that waits for the rest of an interval grows beyond its target.
            let goal = if self.len < self.target {
                self.target
            } else {
                MAX_ROWS
            };
            let to = total.min(at + goal - self.len);
            self.decode(window, &places, at..to, place);
            at = to;
            if self.len >= self.target {
                self.flush(self.len >= MAX_ROWS, names, place, ready)?;
            }
        }
        self.places = places;
        Ok(())
    }

    /// Adds the rows numbered `rows` of a window to the batch.
    fn decode(
        &mut self,
        window: &Window<'_>,
        places: &Places,
        rows: Range<usize>,
        place: &Place<'_>,
    ) {
        if self.len == 0 {
            self.builders
                .iter_mut()
                .for_each(|builder| builder.start(self.target, &mut self.pools));
        }
        let from = self.len;
        self.headers(window, &places.records[rows.clone()]);
        let mut start = rows.start;
        let first = places.runs.partition_point(|run| run.end <= rows.start);
        for run in &places.runs[first..] {
            if start >= rows.end {
                break;
            }
            let end = run.end.min(rows.end);
            let row = self.len;
            self.run(window, places, start..end, run.shape, run.stride, place);
            if let Some(compare) = &mut self.compare {
                let fresh = Fresh {
                    from: row,
                    to: self.len,
                    tods: &self.tods,
                    offsets: &self.offsets,
                    builders: &self.builders,
                    known: self.gather.shapes.get(run.shape).known,
                    sample: run.sample,
                };
                compare.track.rows(&fresh, &mut compare.rows, place);
            }
            start = end;
        }
        debug_assert_eq!(self.len - from, rows.len());
        self.advance(false, place);
    }

    /// What the header of every record gives.
    fn headers(&mut self, window: &Window<'_>, records: &[u32]) {
        if self.needs_offset {
            self.offsets.extend(
                records
                    .iter()
                    .map(|&at| (window.base + u64::from(at)).cast_signed()),
            );
        }
        if !self.needs_tod {
            return;
        }
        let from = self.tods.len();
        self.tods.extend(records.iter().map(|&at| {
            let at = at as usize + 8;
            window.bytes[at..at + 8]
                .try_into()
                .map_or(0, u64::from_be_bytes)
        }));
        if let Some(intervals) = &mut self.intervals {
            self.interval_of
                .extend(self.tods[from..].iter().map(|&tod| intervals.of(tod)));
        }
    }

    /// Decodes rows that are read alike, column by column.
    fn run(
        &mut self,
        window: &Window<'_>,
        places: &Places,
        rows: Range<usize>,
        shape: u32,
        stride: u32,
        place: &Place<'_>,
    ) {
        let shape = self.gather.shapes.get(shape);
        let lens = places.lens.get(rows.clone()).unwrap_or(&[]);
        let record = Source {
            window: window.bytes,
            places: &places.records[rows.clone()],
            lens,
            len: 0,
            leap_s: self.leap_s,
        };
        let entries = places.entries.get(rows.clone()).unwrap_or(&[]);
        let entry = Source {
            places: entries,
            lens: &[],
            len: stride,
            ..record
        };
        for (number, (builder, reader)) in self.builders.iter_mut().zip(&shape.readers).enumerate()
        {
            let Some(reader) = reader else {
                builder.nulls(rows.len());
                continue;
            };
            let from = if reader.part == Part::Record {
                &record
            } else {
                &entry
            };
            if let Some(large) = builder.append(reader.kernel, reader.offset, from) {
                let at = places.records[rows.start + (large - self.len)];
                place.problem(
                    ProblemKind::Long,
                    ("large", number),
                    window.base + u64::from(at),
                    0,
                    || {
                        let name = self.builder_of.iter().position(|b| *b == Some(number));
                        let name =
                            name.map_or("", |column| self.plan.columns[column].name.as_str());
                        format!(
                            "{name} is above 2^63 - 1 here and maybe later; such values are NULL"
                        )
                    },
                );
            }
        }
        if !shape.known {
            let at = window.base + u64::from(record.places.first().copied().unwrap_or(0));
            place.problem(ProblemKind::NoLayout, "no layout", at, 0, || {
                "no layout fits records of this length; their fields are NULL".to_owned()
            });
        }
        self.len += rows.len();
    }

    /// Makes the differences that can be made by now.
    fn advance(&mut self, complete: bool, place: &Place<'_>) {
        let Some(Compare {
            track,
            rows,
            counters,
        }) = &mut self.compare
        else {
            return;
        };
        let batch = Batch {
            rows,
            builders: &self.builders,
            tods: &self.tods,
            offsets: &self.offsets,
            intervals: &self.interval_of,
            complete,
        };
        for counter in counters {
            if counter.differences.capacity() == 0 {
                counter.differences = self.pools.ints(self.target);
            }
            counter.advance(&batch, track, place);
        }
    }

    /// Hands out the batch, unless it waits for rows still to come and need not be complete.
    pub(crate) fn flush(
        &mut self,
        complete: bool,
        names: &Names<'_>,
        place: &Place<'_>,
        ready: &mut Ready,
    ) -> Result<(), ArrowError> {
        if self.len == 0 {
            return Ok(());
        }
        let waits = |compare: &Compare| {
            compare
                .counters
                .iter()
                .any(|c| c.differences.len() < self.len)
        };
        if self.compare.as_ref().is_some_and(waits) {
            if !complete {
                return Ok(());
            }
            self.advance(true, place);
        }
        let batch = self.batch(names)?;
        ready.push_back((self.number, batch));
        self.tods.clear();
        self.offsets.clear();
        self.interval_of.clear();
        if let Some(compare) = &mut self.compare {
            compare.rows.clear();
        }
        self.len = 0;
        Ok(())
    }

    fn batch(&mut self, names: &Names<'_>) -> Result<RecordBatch, ArrowError> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.selection.outputs.len());
        let mut finished = Vec::with_capacity(self.builders.len());
        for (builder, &shown) in self.builders.iter_mut().zip(&self.shown) {
            finished.push(builder.finish(shown, &mut self.pools)?);
        }
        let (rows, mut counters) = match &mut self.compare {
            Some(compare) => (Some(&compare.rows), compare.counters.iter_mut()),
            None => (None, [].iter_mut()),
        };
        for output in &self.selection.outputs {
            arrays.push(match *output {
                Output::System => self.constants[0].repeated(names.system, self.len),
                Output::Source => self.constants[1].repeated(names.source, self.len),
                Output::File => self.constants[2].repeated(names.file, self.len),
                Output::Offset => {
                    let next = self.pools.ints(self.target);
                    let offsets = std::mem::replace(&mut self.offsets, next);
                    Arc::new(self.pools.finish_ints(offsets, &mut Validity::default())?)
                }
                Output::Tod => {
                    let times = self
                        .tods
                        .iter()
                        .map(|&tod| Some(tod).filter(|tod| *tod != 0));
                    times_of(times, self.leap_s, &mut self.pools)?
                }
                Output::IntervalEnd => {
                    let intervals = self.intervals.as_ref();
                    let end =
                        |&at: &u32| intervals.filter(|_| at != OPEN).and_then(|all| all.end(at));
                    times_of(
                        self.interval_of.iter().map(end),
                        self.leap_s,
                        &mut self.pools,
                    )?
                }
                Output::Seconds => seconds(rows),
                Output::Flag => flags(rows),
                Output::Value(column) => {
                    let builder = self.builder_of[column];
                    let array = builder.and_then(|builder| finished[builder].take());
                    array.ok_or_else(|| {
                        ArrowError::ComputeError("a column was not decoded".into())
                    })?
                }
                Output::Difference(_) => {
                    let counter = counters.next();
                    let counter = counter.ok_or_else(|| {
                        ArrowError::ComputeError("a difference was not made".into())
                    })?;
                    let values = std::mem::take(&mut counter.differences);
                    Arc::new(self.pools.finish_ints(values, &mut counter.validity)?)
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.len));
        RecordBatch::try_new_with_options(self.selection.schema(), arrays, &options)
    }
}

/// A text that is the same in all rows of a file.
trait Repeated {
    fn repeated(&mut self, text: &str, rows: usize) -> ArrayRef;
}

impl Repeated for Option<StringArray> {
    fn repeated(&mut self, text: &str, rows: usize) -> ArrayRef {
        use arrow_array::Array;
        let made = match self.take() {
            Some(made) if made.len() >= rows => made,
            _ => {
                let offsets = OffsetBuffer::from_repeated_length(text.len(), rows);
                StringArray::new(offsets, Buffer::from(text.repeat(rows).into_bytes()), None)
            }
        };
        Arc::new(self.insert(made).slice(0, rows))
    }
}

fn times_of(
    times: impl Iterator<Item = Option<u64>>,
    leap_s: i32,
    pools: &mut Pools,
) -> Result<ArrayRef, ArrowError> {
    let (rows, _) = times.size_hint();
    let mut values = pools.ints(rows);
    let mut validity = Validity::default();
    for time in times {
        values.push(time.map_or(0, |time| tod::to_unix_us(time, leap_s)));
        validity.extend(1, time.is_some());
    }
    pools.finish_times(values, &mut validity)
}

fn seconds(rows: Option<&Rows>) -> ArrayRef {
    let Some(rows) = rows else {
        return Arc::new(Float64Array::new_null(0));
    };
    let all = rows.usable.iter().all(|&usable| usable);
    let nulls = (!all).then(|| NullBuffer::new(BooleanBuffer::from(rows.usable.as_slice())));
    Arc::new(Float64Array::new(rows.seconds.clone().into(), nulls))
}

fn flags(rows: Option<&Rows>) -> ArrayRef {
    let Some(rows) = rows else {
        return Arc::new(StringArray::new_null(0));
    };
    if rows.flags.iter().all(|&flag| flag == Flag::None) {
        return Arc::new(StringArray::new_null(rows.flags.len()));
    }
    let name = |flag: &Flag| match flag {
        Flag::None => None,
        Flag::Gap => Some("gap"),
        Flag::Short => Some("short"),
    };
    Arc::new(rows.flags.iter().map(name).collect::<StringArray>())
}
