//! A batch of a table of sections while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;

use super::plan::Plan;
use super::rows::Rows;
use super::select::{Column, OutputColumn, Selection};
use super::times::{NO_TIME, RecordMeta, System};
use super::values::{ValueInput, Values};
use crate::core::batch::{self, LeadingColumns, missing_column_error};
use crate::core::diagnostics::Reporter;
use crate::core::dumps::DumpSet;
use crate::core::flag::IntervalFlag;
use crate::core::int64_block::Int64Block;

/// Context shared by all rows of a window.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub systems: &'c [System],
    pub leap_s: i32,
    pub place: Reporter<'c>,
}

#[derive(Debug)]
enum TableColumn {
    /// Numbers of sections, at an index among the 8-byte columns.
    Numbers(usize),
    Values(Box<Values>),
}

pub(crate) struct Batch {
    selection: Selection,
    heads: LeadingColumns,
    own: Vec<TableColumn>,
    wide: Int64Block,
    len: usize,
    target: usize,
}

impl Batch {
    pub(crate) fn new(plan: &Plan, selection: &Selection) -> Self {
        let mut places = 0;
        let heads = LeadingColumns::new(&selection.outputs, &mut places);
        let table = &plan.tables[selection.table.1];
        let own = selection.outputs.iter().filter_map(|output| match output {
            OutputColumn::Leading(_) => None,
            OutputColumn::Table(Column::SectionNo) => {
                places += 1;
                Some(TableColumn::Numbers(places - 1))
            }
            OutputColumn::Table(Column::Value(column)) => {
                let values = Values::new(&table.columns[*column], &mut places);
                Some(TableColumn::Values(Box::new(values)))
            }
        });
        Self {
            own: own.collect(),
            heads,
            selection: selection.clone(),
            wide: Int64Block::new(places),
            len: 0,
            target: batch::target_rows(selection.outputs.len()),
        }
    }

    /// Number of the table in its plan.
    pub(crate) const fn table(&self) -> usize {
        self.selection.table.1
    }

    /// Adds rows whose sections lie in `bytes`.
    pub(crate) fn append(
        &mut self,
        bytes: &[u8],
        rows: &Rows,
        facts: &[RecordMeta],
        at: &Context<'_>,
    ) {
        if rows.len() == 0 {
            return;
        }
        if self.len == 0 {
            self.wide.start(self.target);
        }
        self.wide.grow(self.len + rows.len());
        let from = ValueInput {
            bytes,
            rows,
            facts,
            leap_s: at.leap_s,
            place: &at.place,
        };
        let shown = Shown {
            rows,
            facts,
            systems: at.systems,
        };
        self.heads.append(&shown, self.len, &mut self.wide);
        for own in &mut self.own {
            match own {
                TableColumn::Values(values) => values.append(&from, self.len, &mut self.wide),
                TableColumn::Numbers(place) => {
                    let out = self.wide.rows_mut(*place, self.len..self.len + rows.len());
                    for (out, &number) in out.iter_mut().zip(&rows.numbers) {
                        *out = i64::from(number);
                    }
                }
            }
        }
        self.len += rows.len();
    }

    /// Whether there is enough to be returned.
    pub(crate) const fn is_full(&self) -> bool {
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
        for own in &self.own {
            if let TableColumn::Values(values) = own {
                values.hide_large(&mut self.wide);
            }
        }
        let wide = self.wide.finish(len);
        let heads = self.heads.finish(len, &wide, &dumps.source, &dumps.files)?;
        let (mut heads, mut own) = (heads.into_iter(), self.own.iter_mut());
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.selection.outputs.len());
        for output in &self.selection.outputs {
            arrays.push(match output {
                OutputColumn::Leading(_) => heads.next().ok_or_else(missing_column_error)?,
                OutputColumn::Table(_) => match own.next().ok_or_else(missing_column_error)? {
                    TableColumn::Values(values) => values.finish(len, &wide)?,
                    TableColumn::Numbers(place) => Arc::new(wide.ints(*place, None)?),
                },
            });
        }
        batch::batch(self.selection.schema(), arrays, len).map(Some)
    }
}

/// Rows by what is known of their records.
struct Shown<'r> {
    rows: &'r Rows,
    facts: &'r [RecordMeta],
    systems: &'r [System],
}

impl Shown<'_> {
    fn record(&self, row: usize) -> &RecordMeta {
        &self.facts[self.rows.records[row] as usize]
    }
}

fn known(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}

impl batch::RowMeta for Shown<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn system(&self, row: usize) -> &str {
        let system = self.systems.get(usize::from(self.record(row).system));
        system.map_or("", |system| &system.name)
    }

    fn file(&self, row: usize) -> u32 {
        self.record(row).file
    }

    fn offset(&self, row: usize) -> i64 {
        self.record(row).offset.cast_signed()
    }

    fn tod(&self, row: usize) -> Option<i64> {
        known(self.record(row).tod)
    }

    fn interval_end(&self, row: usize) -> Option<i64> {
        known(self.record(row).end)
    }

    fn seconds(&self, row: usize) -> f64 {
        self.record(row).seconds
    }

    fn flag(&self, row: usize) -> IntervalFlag {
        if self.record(row).short {
            IntervalFlag::Short
        } else {
            IntervalFlag::None
        }
    }
}
