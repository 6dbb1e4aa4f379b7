//! A batch of a table of sections while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::ArrowError;

use super::clock::{Facts, NO_TIME};
use super::plan::Plan;
use super::rows::Rows;
use super::scan::{File, System};
use super::select::{Output, Selection};
use super::values::{From, Values};
use crate::journal::Place;
use crate::smf::words::Words;
use crate::validity::Validity;
use crate::wide::Wide;

/// What the columns of a batch should take: little enough to stay in the processor's cache.
const BATCH_BYTES: usize = 1 << 20;

/// What all rows of a window have in common.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub systems: &'c [System],
    pub leap_s: i32,
    pub place: Place<'c>,
}

/// A column that tells of the record and not of the section.
#[derive(Debug)]
enum Leading {
    Source,
    System(Words),
    File(Vec<u32>),
    Flag(Words),
    Seconds(Vec<f64>, Validity),
    /// In a place among the 8-byte columns; whether it is a time.
    Wide(usize, Validity, bool),
}

#[derive(Debug)]
enum Building {
    Leading(Output, Leading),
    Values(Box<Values>),
}

pub(crate) struct Batch {
    selection: Selection,
    columns: Vec<Building>,
    wide: Wide,
    len: usize,
    target: usize,
}

impl Batch {
    pub(crate) fn new(plan: &Plan, selection: &Selection) -> Self {
        let mut places = 0;
        let mut next = |time| {
            places += 1;
            Leading::Wide(places - 1, Validity::default(), time)
        };
        let mut columns = Vec::with_capacity(selection.outputs.len());
        for &output in &selection.outputs {
            let leading = match output {
                Output::System => Leading::System(Words::default()),
                Output::Source => Leading::Source,
                Output::File => Leading::File(Vec::new()),
                Output::Flag => Leading::Flag(Words::default()),
                Output::Seconds => Leading::Seconds(Vec::new(), Validity::default()),
                Output::Offset | Output::SectionNo => next(false),
                Output::Tod | Output::IntervalEnd => next(true),
                Output::Column(_) => continue,
            };
            columns.push(Building::Leading(output, leading));
        }
        let mut leading = columns.into_iter();
        let mut columns = Vec::with_capacity(selection.outputs.len());
        for &output in &selection.outputs {
            if let Output::Column(column) = output {
                let column = &plan.tables[selection.table].columns[column];
                let values = Values::new(column, &mut places);
                columns.push(Building::Values(Box::new(values)));
            } else {
                columns.extend(leading.next());
            }
        }
        let rows = BATCH_BYTES / (8 * selection.outputs.len().max(1));
        Self {
            selection: selection.clone(),
            columns,
            wide: Wide::new(places),
            len: 0,
            target: rows.clamp(1024, 8192),
        }
    }

    /// Number of the table.
    pub(crate) const fn table(&self) -> usize {
        self.selection.table
    }

    /// Adds rows whose sections lie in `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8], rows: &Rows, facts: &[Facts], at: &Context<'_>) {
        if rows.len() == 0 {
            return;
        }
        if self.len == 0 {
            self.wide.start(self.target);
        }
        self.wide.grow(self.len + rows.len());
        let from = From {
            bytes,
            rows,
            facts,
            leap_s: at.leap_s,
            place: &at.place,
        };
        for building in &mut self.columns {
            match building {
                Building::Values(values) => values.append(&from, self.len, &mut self.wide),
                Building::Leading(output, leading) => {
                    lead(*output, leading, &from, self.len, &mut self.wide, at);
                }
            }
        }
        self.len += rows.len();
    }

    /// Whether there is enough to be handed out.
    pub(crate) const fn is_full(&self) -> bool {
        self.len >= self.target
    }

    /// The rows so far, if there are any.
    pub(crate) fn take(
        &mut self,
        source: &str,
        files: &[File],
    ) -> Result<Option<RecordBatch>, ArrowError> {
        if self.len == 0 {
            return Ok(None);
        }
        let len = std::mem::take(&mut self.len);
        for building in &self.columns {
            if let Building::Values(values) = building {
                values.hide_large(&mut self.wide);
            }
        }
        let wide = self.wide.finish(len);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for building in &mut self.columns {
            arrays.push(match building {
                Building::Values(values) => values.finish(len, &wide)?,
                Building::Leading(_, leading) => match leading {
                    Leading::Source => Words::repeated(source, len),
                    Leading::System(words) | Leading::Flag(words) => words.finish()?,
                    Leading::File(numbers) => names(&std::mem::take(numbers), files)?,
                    Leading::Seconds(values, validity) => Arc::new(Float64Array::try_new(
                        std::mem::take(values).into(),
                        validity.finish(len, &[]),
                    )?),
                    Leading::Wide(place, validity, time) => {
                        let nulls = validity.finish(len, &[]);
                        if *time {
                            Arc::new(wide.times(*place, nulls)?)
                        } else {
                            Arc::new(wide.ints(*place, nulls)?)
                        }
                    }
                },
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(self.selection.schema(), arrays, &options).map(Some)
    }
}

/// Names of files by their numbers.
fn names(numbers: &[u32], files: &[File]) -> Result<ArrayRef, ArrowError> {
    let name = |number: u32| files.get(number as usize).map_or("", |f| f.name.as_str());
    let first = numbers.first().copied().unwrap_or_default();
    if numbers.iter().all(|&number| number == first) {
        return Ok(Words::repeated(name(first), numbers.len()));
    }
    let mut words = Words::default();
    numbers.iter().for_each(|&number| words.push(name(number)));
    words.finish()
}

/// Adds what is known of the records of some rows.
fn lead(
    output: Output,
    leading: &mut Leading,
    from: &From<'_>,
    row: usize,
    wide: &mut Wide,
    at: &Context<'_>,
) {
    let facts = || {
        let records = from.rows.records.iter();
        records.map(|&record| &from.facts[record as usize])
    };
    match leading {
        Leading::Source => {}
        Leading::System(words) => {
            for one in facts() {
                let system = at.systems.get(usize::from(one.system));
                words.push(system.map_or("", |system| &system.name));
            }
        }
        Leading::File(numbers) => numbers.extend(facts().map(|one| one.file)),
        Leading::Flag(words) => {
            for one in facts() {
                if one.short {
                    words.push("short");
                } else {
                    words.null();
                }
            }
        }
        Leading::Seconds(values, validity) => {
            for (nth, one) in facts().enumerate() {
                values.push(if one.seconds.is_nan() {
                    0.0
                } else {
                    one.seconds
                });
                if one.seconds.is_nan() {
                    validity.clear(row + nth, row + nth + 1);
                }
            }
        }
        Leading::Wide(place, validity, _) => {
            let rows = from.rows;
            let out = wide.rows_mut(*place, row..row + rows.len());
            for ((nth, out), one) in (row..).zip(out).zip(facts()) {
                *out = match output {
                    Output::Offset => one.offset.cast_signed(),
                    Output::Tod => one.tod,
                    Output::IntervalEnd => one.end,
                    _ => i64::from(rows.numbers[nth - row]),
                };
                if *out == NO_TIME {
                    *out = 0;
                    validity.clear(nth, nth + 1);
                }
            }
        }
    }
}
