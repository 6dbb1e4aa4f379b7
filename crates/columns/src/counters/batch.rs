//! A batch of the table of counters while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use zlens_frames::{Window, tod};

use super::counter::{self, CounterColumn, Scratch, Target};
use super::cross_check::CrossCheck;
use super::fields::{FieldColumn, FieldInput};
use super::plan::{Plan, Subtype};
use super::records::RecordColumns;
use super::rows::RowState;
use super::select::{Column, OutputColumn, Selection};
use super::shape::SETS;
use super::tracker::{System, Tracker};
use crate::core::batch::{self, LeadingColumns, missing_column_error};
use crate::core::diagnostics::Reporter;
use crate::core::dumps::DumpSet;
use crate::core::flag::IntervalFlag;
use crate::core::int64_block::Int64Block;
use crate::core::validity::Validity;

/// Context of a window.
pub(crate) struct Context<'c> {
    pub tracks: &'c Tracker,
    pub systems: &'c [System],
    pub place: Reporter<'c>,
    pub leap_s: i32,
}

/// Column with the number of counters that a record has of a set.
#[derive(Debug)]
struct SetSizeColumn {
    part: usize,
    column: usize,
    validity: Validity,
}

pub(crate) struct Batch {
    selection: Selection,
    fields: Vec<FieldColumn>,
    sizes: Vec<SetSizeColumn>,
    counters: Vec<CounterColumn>,
    heads: LeadingColumns,
    wide: Int64Block,
    len: usize,
    target: usize,
    shown: Vec<bool>,
    scratch: Scratch,
    /// Holds subtypes against each other, if that is asked for.
    check: Option<CrossCheck>,
}

impl Batch {
    pub(crate) fn new(plan: &Plan, selection: &Selection, check: Option<usize>) -> Self {
        let mut places = 0;
        let heads = LeadingColumns::new(&selection.outputs, &mut places);
        let mut next = || {
            places += 1;
            places - 1
        };
        let (mut sizes, mut counters) = (Vec::new(), Vec::new());
        for output in &selection.outputs {
            match *output {
                OutputColumn::Table(Column::Size(set)) => sizes.push(SetSizeColumn {
                    part: SETS + set,
                    column: next(),
                    validity: Validity::default(),
                }),
                OutputColumn::Table(Column::Counter(set, index)) => {
                    counters.push(CounterColumn::new(plan, set, index, next()));
                }
                OutputColumn::Leading(_) | OutputColumn::Table(Column::Field(_)) => {}
            }
        }
        let mut fields = Vec::new();
        for output in &selection.outputs {
            if let OutputColumn::Table(Column::Field(column)) = *output {
                fields.push(FieldColumn::new(plan, column, &mut places));
            }
        }
        Self {
            check: check.map(|systems| CrossCheck::new(counters.len(), systems)),
            selection: selection.clone(),
            fields,
            sizes,
            counters,
            heads,
            wide: Int64Block::new(places),
            len: 0,
            target: batch::target_rows(selection.outputs.len()),
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
        lines: &mut RecordColumns,
        rows: &mut RowState,
        context: &Context<'_>,
    ) {
        if self.len == 0 {
            self.wide.start(self.target);
        }
        self.wide.grow(self.len + lines.len());
        let slots = context.tracks.len();
        let all = counter::emitted_rows(rows, &mut self.shown);
        if let Some(check) = &mut self.check {
            check.begin(nth, rows, slots);
        }
        for (number, counter) in self.counters.iter_mut().enumerate() {
            let mut target = Target {
                wide: &mut self.wide,
                row: self.len,
                emitted: &self.shown,
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
        let from = FieldInput {
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
        let shown = Shown {
            window,
            lines,
            rows,
            context,
        };
        self.heads.append(&shown, self.len, &mut self.wide);
        self.len += lines.len();
    }

    fn sizes(&mut self, lines: &RecordColumns) {
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

    /// Whether there is enough to be returned.
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.target
    }

    /// The rows so far, if there are any.
    pub(crate) fn take(
        &mut self,
        dumps: &DumpSet<System>,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        if self.len == 0 {
            return Ok(None);
        }
        let len = std::mem::take(&mut self.len);
        for field in &self.fields {
            field.hide_large(&mut self.wide);
        }
        let wide = self.wide.finish(len);
        let heads = self.heads.finish(len, &wide, &dumps.source, &dumps.files)?;
        let mut heads = heads.into_iter();
        let mut fields = self.fields.iter_mut();
        let mut sizes = self.sizes.iter_mut();
        let mut counters = self.counters.iter_mut();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.selection.outputs.len());
        for output in &self.selection.outputs {
            arrays.push(match output {
                OutputColumn::Leading(_) => heads.next().ok_or_else(missing_column_error)?,
                OutputColumn::Table(Column::Field(_)) => fields
                    .next()
                    .ok_or_else(missing_column_error)?
                    .finish(len, &wide)?,
                OutputColumn::Table(Column::Size(_)) => {
                    let size = sizes.next().ok_or_else(missing_column_error)?;
                    Arc::new(wide.ints(size.column, size.validity.finish(len, &[]))?)
                }
                OutputColumn::Table(Column::Counter(..)) => {
                    let counter = counters.next().ok_or_else(missing_column_error)?;
                    let nulls = counter.validity.finish(len, &counter.large);
                    counter.large.clear();
                    Arc::new(wide.ints(counter.column, nulls)?)
                }
            });
        }
        batch::batch(self.selection.schema(), arrays, len).map(Some)
    }

    /// A file ends: says what there is to say of it.
    pub(crate) fn end_file(&mut self, plan: &Plan, place: &Reporter<'_>) {
        if let (Some(check), [one, two, ..]) = (&mut self.check, &plan.subtypes[..]) {
            check.end_file([one.subtype, two.subtype], place);
        }
    }
}

/// Rows of one subtype in a window.
struct Shown<'r> {
    window: &'r Window<'r>,
    lines: &'r RecordColumns,
    rows: &'r RowState,
    context: &'r Context<'r>,
}

impl batch::RowMeta for Shown<'_> {
    fn len(&self) -> usize {
        self.lines.len()
    }

    fn system(&self, row: usize) -> &str {
        let system = self
            .context
            .systems
            .get(usize::from(self.rows.systems[row]));
        system.map_or("", |system| &system.name)
    }

    fn file(&self, _: usize) -> u32 {
        self.context.place.file as u32
    }

    fn offset(&self, row: usize) -> i64 {
        self.window.offset(self.lines.records[row]).cast_signed()
    }

    fn tod(&self, row: usize) -> Option<i64> {
        let tod = self.rows.tods[row];
        (tod != 0).then(|| tod::to_unix_us(tod, self.context.leap_s))
    }

    fn interval_end(&self, row: usize) -> Option<i64> {
        let (system, interval) = (self.rows.systems[row], self.rows.intervals[row]);
        let tod = self.context.tracks.interval_end(system, interval)?;
        Some(tod::to_unix_us(tod, self.context.leap_s))
    }

    fn seconds(&self, row: usize) -> f64 {
        self.rows.seconds[row]
    }

    fn flag(&self, row: usize) -> IntervalFlag {
        self.rows.flags[row]
    }
}
