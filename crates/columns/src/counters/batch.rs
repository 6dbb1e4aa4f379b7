//! A batch of the table of counters while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;
use zlens_frames::smf::Window;
use zlens_frames::tod;

use super::check::Check;
use super::counters::{self, Counter, Scratch, Target};
use super::fields::{Field, From};
use super::lines::Lines;
use super::plan::{Plan, Subtype};
use super::rows::{Flag, Rows};
use super::select::{Output, Selection};
use super::shape::SETS;
use super::state::Tracks;
use super::words::Words;
use crate::journal::Place;
use crate::validity::Validity;
use crate::wide::Wide;

/// What the columns of a batch should take: little enough to stay in the processor's cache.
const BATCH_BYTES: usize = 1 << 20;

/// What the whole table knows of a window.
pub(crate) struct Context<'c> {
    pub tracks: &'c Tracks,
    pub systems: &'c [super::scan::System],
    pub place: Place<'c>,
    pub leap_s: i32,
}

/// How many counters a record has of a set.
#[derive(Debug)]
struct Size {
    part: usize,
    column: usize,
    validity: Validity,
}

/// Columns that come from no field: in the places of the 8-byte columns, or built apart.
#[derive(Debug, Default)]
struct Fixed {
    offset: Option<usize>,
    tod: Option<usize>,
    interval_end: Option<usize>,
    no_tod: Validity,
    no_interval: Validity,
    systems: Option<Words>,
    flags: Option<Words>,
    seconds: Option<Vec<f64>>,
}

pub(crate) struct Batch {
    selection: Selection,
    fields: Vec<Field>,
    sizes: Vec<Size>,
    counters: Vec<Counter>,
    fixed: Fixed,
    wide: Wide,
    len: usize,
    target: usize,
    shown: Vec<bool>,
    scratch: Scratch,
    /// Holds subtypes against each other, if that is asked for.
    check: Option<Check>,
}

impl Batch {
    pub(crate) fn new(plan: &Plan, selection: &Selection, check: Option<usize>) -> Self {
        let mut places = 0;
        let mut next = || {
            places += 1;
            places - 1
        };
        let mut fixed = Fixed::default();
        let (mut sizes, mut counters) = (Vec::new(), Vec::new());
        for output in &selection.outputs {
            match *output {
                Output::System => fixed.systems = Some(Words::default()),
                Output::Flag => fixed.flags = Some(Words::default()),
                Output::Seconds => fixed.seconds = Some(Vec::new()),
                Output::Offset => fixed.offset = Some(next()),
                Output::Tod => fixed.tod = Some(next()),
                Output::IntervalEnd => fixed.interval_end = Some(next()),
                Output::Size(set) => sizes.push(Size {
                    part: SETS + set,
                    column: next(),
                    validity: Validity::default(),
                }),
                Output::Counter(set, index) => {
                    counters.push(Counter::new(plan, set, index, next()));
                }
                Output::Source | Output::File | Output::Field(_) => {}
            }
        }
        let mut fields = Vec::new();
        for output in &selection.outputs {
            if let Output::Field(column) = *output {
                fields.push(Field::new(plan, column, &mut places));
            }
        }
        let rows = BATCH_BYTES / (8 * selection.outputs.len().max(1));
        Self {
            check: check.map(|systems| Check::new(counters.len(), systems)),
            selection: selection.clone(),
            fields,
            sizes,
            counters,
            fixed,
            wide: Wide::new(places),
            len: 0,
            target: rows.clamp(1024, 8192),
            shown: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Adds the records of one subtype in a window. What is left of `lines` and `rows` afterwards is what was added.
    pub(crate) fn append(
        &mut self,
        nth: usize,
        subtype: &Subtype,
        window: &Window<'_>,
        lines: &mut Lines,
        rows: &mut Rows,
        context: &Context<'_>,
    ) {
        if self.len == 0 {
            self.wide.start(self.target);
        }
        self.wide.grow(self.len + lines.len());
        let slots = context.tracks.len();
        let all = counters::shown(rows, &mut self.shown);
        if let Some(check) = &mut self.check {
            check.begin(nth, rows, slots);
        }
        for (number, counter) in self.counters.iter_mut().enumerate() {
            let mut target = Target {
                wide: &mut self.wide,
                row: self.len,
                shown: &self.shown,
                all,
            };
            let keep = self.check.is_some();
            counter.append(
                subtype.values,
                lines,
                window,
                rows,
                &mut target,
                slots,
                &mut self.scratch,
                keep,
                &context.place,
            );
            if let Some(check) = &mut self.check {
                check.counter(nth, number, counter.number, rows, &self.scratch);
            }
        }
        if let Some(check) = &mut self.check {
            check.end(rows, lines, window);
        }
        if !all {
            lines.retain(&self.shown);
            rows.retain(&self.shown);
        }
        let from = From {
            nth,
            lines,
            window,
            leap_s: context.leap_s,
            place: &context.place,
        };
        for field in &mut self.fields {
            field.append(&from, self.len, &mut self.wide);
        }
        self.sizes(lines);
        self.fixed(window, lines, rows, context);
        self.len += lines.len();
    }

    fn sizes(&mut self, lines: &Lines) {
        let rows = self.len..self.len + lines.len();
        for size in &mut self.sizes {
            let out = self.wide.rows_mut(size.column, rows.clone());
            for ((row, out), form) in (self.len..).zip(out).zip(&lines.forms[size.part]) {
                *out = i64::from(form.count());
                if form.count() == 0 {
                    size.validity.clear(row, row + 1);
                }
            }
        }
    }

    fn fixed(&mut self, window: &Window<'_>, lines: &Lines, rows: &Rows, context: &Context<'_>) {
        let places = self.len..self.len + lines.len();
        let fixed = &mut self.fixed;
        if let Some(column) = fixed.offset {
            let out = self.wide.rows_mut(column, places.clone());
            for (out, &at) in out.iter_mut().zip(&lines.records) {
                *out = window.offset(at).cast_signed();
            }
        }
        if let Some(column) = fixed.tod {
            let out = self.wide.rows_mut(column, places.clone());
            for ((row, out), &tod) in (self.len..).zip(out).zip(&rows.tods) {
                *out = 0;
                if tod == 0 {
                    fixed.no_tod.clear(row, row + 1);
                } else {
                    *out = tod::to_unix_us(tod, context.leap_s);
                }
            }
        }
        if let Some(column) = fixed.interval_end {
            let out = self.wide.rows_mut(column, places);
            let of = rows.systems.iter().zip(&rows.intervals);
            for ((row, out), (&system, &interval)) in (self.len..).zip(out).zip(of) {
                *out = 0;
                match context.tracks.interval_end(system, interval) {
                    Some(tod) => *out = tod::to_unix_us(tod, context.leap_s),
                    None => fixed.no_interval.clear(row, row + 1),
                }
            }
        }
        if let Some(words) = &mut fixed.systems {
            for &system in &rows.systems {
                words.push(
                    context
                        .systems
                        .get(usize::from(system))
                        .map_or("", |s| &s.name),
                );
            }
        }
        if let Some(words) = &mut fixed.flags {
            for &flag in &rows.flags {
                match flag {
                    Flag::None => words.null(),
                    Flag::Gap => words.push("gap"),
                    Flag::Short => words.push("short"),
                }
            }
        }
        if let Some(seconds) = &mut fixed.seconds {
            seconds.extend_from_slice(&rows.seconds);
        }
    }

    /// Whether there is enough to be handed out.
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.target
    }

    /// The rows so far, if there are any.
    pub(crate) fn take(
        &mut self,
        source: &str,
        file: &str,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        if self.len == 0 {
            return Ok(None);
        }
        let len = std::mem::take(&mut self.len);
        for field in &self.fields {
            field.hide_large(&mut self.wide);
        }
        let wide = self.wide.finish(len);
        let mut fields = self.fields.iter_mut();
        let mut sizes = self.sizes.iter_mut();
        let mut counters = self.counters.iter_mut();
        let fixed = &mut self.fixed;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.selection.outputs.len());
        let missing = || ArrowError::ComputeError("a column was not decoded".into());
        for output in &self.selection.outputs {
            arrays.push(match output {
                Output::Source => Words::repeated(source, len),
                Output::File => Words::repeated(file, len),
                Output::System => fixed.systems.as_mut().ok_or_else(missing)?.finish()?,
                Output::Flag => fixed.flags.as_mut().ok_or_else(missing)?.finish()?,
                Output::Seconds => seconds(fixed.seconds.as_mut().ok_or_else(missing)?)?,
                Output::Offset => Arc::new(wide.ints(fixed.offset.ok_or_else(missing)?, None)?),
                Output::Tod => {
                    let column = fixed.tod.ok_or_else(missing)?;
                    Arc::new(wide.times(column, fixed.no_tod.finish(len, &[]))?)
                }
                Output::IntervalEnd => {
                    let column = fixed.interval_end.ok_or_else(missing)?;
                    Arc::new(wide.times(column, fixed.no_interval.finish(len, &[]))?)
                }
                Output::Field(_) => fields.next().ok_or_else(missing)?.finish(len, &wide)?,
                Output::Size(_) => {
                    let size = sizes.next().ok_or_else(missing)?;
                    Arc::new(wide.ints(size.column, size.validity.finish(len, &[]))?)
                }
                Output::Counter(..) => {
                    let counter = counters.next().ok_or_else(missing)?;
                    let nulls = counter.validity.finish(len, &counter.large);
                    counter.large.clear();
                    Arc::new(wide.ints(counter.column, nulls)?)
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(self.selection.schema(), arrays, &options).map(Some)
    }

    /// A file ends: says what there is to say of it.
    pub(crate) fn end_file(&mut self, plan: &Plan, place: &Place<'_>) {
        if let (Some(check), [one, two, ..]) = (&mut self.check, &plan.subtypes[..]) {
            check.end_file([one.subtype, two.subtype], place);
        }
    }
}

fn seconds(values: &mut Vec<f64>) -> Result<ArrayRef, ArrowError> {
    let mut values = std::mem::take(values);
    let valid: Vec<bool> = values.iter().map(|value| !value.is_nan()).collect();
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    // What stands behind a NULL should be nothing odd.
    values
        .iter_mut()
        .filter(|v| v.is_nan())
        .for_each(|v| *v = 0.0);
    Ok(Arc::new(Float64Array::try_new(values.into(), nulls)?))
}
