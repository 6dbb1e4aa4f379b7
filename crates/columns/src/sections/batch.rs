//! A batch of a table of sections while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;

use super::plan::Plan;
use super::rows::Rows;
use super::select::{Column, Output, Selection};
use super::times::{Facts, NO_TIME, System};
use super::values::{From, Values};
use crate::core::batch::{self, Heads, missing};
use crate::core::diagnostics::Place;
use crate::core::dumps::Dumps;
use crate::core::flag::Flag;
use crate::core::int64_block::Wide;

/// What all rows of a window have in common.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub systems: &'c [System],
    pub leap_s: i32,
    pub place: Place<'c>,
}

#[derive(Debug)]
enum Own {
    /// Numbers of sections, in a place among the 8-byte columns.
    Numbers(usize),
    Values(Box<Values>),
}

pub(crate) struct Batch {
    selection: Selection,
    heads: Heads,
    own: Vec<Own>,
    wide: Wide,
    len: usize,
    target: usize,
}

impl Batch {
    pub(crate) fn new(plan: &Plan, selection: &Selection) -> Self {
        let mut places = 0;
        let heads = Heads::new(&selection.outputs, &mut places);
        let table = &plan.tables[selection.table.1];
        let own = selection.outputs.iter().filter_map(|output| match output {
            Output::Head(_) => None,
            Output::Own(Column::SectionNo) => {
                places += 1;
                Some(Own::Numbers(places - 1))
            }
            Output::Own(Column::Value(column)) => {
                let values = Values::new(&table.columns[*column], &mut places);
                Some(Own::Values(Box::new(values)))
            }
        });
        Self {
            own: own.collect(),
            heads,
            selection: selection.clone(),
            wide: Wide::new(places),
            len: 0,
            target: batch::target(selection.outputs.len()),
        }
    }

    /// Number of the table in its plan.
    pub(crate) const fn table(&self) -> usize {
        self.selection.table.1
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
        let shown = Shown {
            rows,
            facts,
            systems: at.systems,
        };
        self.heads.append(&shown, self.len, &mut self.wide);
        for own in &mut self.own {
            match own {
                Own::Values(values) => values.append(&from, self.len, &mut self.wide),
                Own::Numbers(place) => {
                    let out = self.wide.rows_mut(*place, self.len..self.len + rows.len());
                    for (out, &number) in out.iter_mut().zip(&rows.numbers) {
                        *out = i64::from(number);
                    }
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
        dumps: &Dumps<System>,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        if self.len == 0 {
            return Ok(None);
        }
        let len = std::mem::take(&mut self.len);
        for own in &self.own {
            if let Own::Values(values) = own {
                values.hide_large(&mut self.wide);
            }
        }
        let wide = self.wide.finish(len);
        let heads = self.heads.finish(len, &wide, &dumps.source, &dumps.files)?;
        let (mut heads, mut own) = (heads.into_iter(), self.own.iter_mut());
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.selection.outputs.len());
        for output in &self.selection.outputs {
            arrays.push(match output {
                Output::Head(_) => heads.next().ok_or_else(missing)?,
                Output::Own(_) => match own.next().ok_or_else(missing)? {
                    Own::Values(values) => values.finish(len, &wide)?,
                    Own::Numbers(place) => Arc::new(wide.ints(*place, None)?),
                },
            });
        }
        batch::batch(self.selection.schema(), arrays, len).map(Some)
    }
}

/// Rows by what is known of their records.
struct Shown<'r> {
    rows: &'r Rows,
    facts: &'r [Facts],
    systems: &'r [System],
}

impl Shown<'_> {
    fn record(&self, row: usize) -> &Facts {
        &self.facts[self.rows.records[row] as usize]
    }
}

fn known(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}

impl batch::Rows for Shown<'_> {
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

    fn flag(&self, row: usize) -> Flag {
        if self.record(row).short {
            Flag::Short
        } else {
            Flag::None
        }
    }
}
