//! Rows as Arrow columns.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};

use super::{Column, ReportRows, Rows};
use crate::number::number;
use crate::value::Kind;
use crate::values::{Values, floats, ints, texts, times};

impl Rows {
    /// The named columns of all rows that were placed.
    pub fn batch(&self, names: &[String]) -> Result<RecordBatch, ArrowError> {
        let arrays = names
            .iter()
            .map(|name| self.array(name))
            .collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<_> = names
            .iter()
            .zip(&arrays)
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.ends.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }

    fn array(&self, name: &str) -> Result<ArrayRef, ArrowError> {
        let count = self.ends.len();
        let whole = |value: u64| i64::try_from(value).ok();
        Ok(match name {
            "system" => texts(self.each(|placed| Some(placed.chunk.system.as_str()))),
            "source" => texts(self.each(|placed| Some(placed.source.as_str()))),
            "file" => texts(self.each(|placed| Some(placed.chunk.file.as_str()))),
            "only" => Arc::new(
                self.each(|placed| Some(placed.only))
                    .collect::<BooleanArray>(),
            ),
            "offset" => ints(self.offsets[..count].iter().map(|&value| whole(value))),
            "line_number" => ints(self.lines[..count].iter().map(|&value| whole(value))),
            "tod" | "interval_end" => times(self.ends.iter().map(|&end| Some(end))),
            "seconds" => floats(&self.lengths),
            "flag" => texts(self.flags.iter().copied()),
            "other" => texts((0..count).map(|row| self.others.get(row))),
            "row_kind" => texts(
                self.kinds[..count]
                    .iter()
                    .map(|&at| Some(self.kind_names[usize::from(at)].as_str())),
            ),
            _ => self.values(name, count)?,
        })
    }

    fn values(&self, name: &str, count: usize) -> Result<ArrayRef, ArrowError> {
        let half = |column: &&Column| name.strip_suffix("_half") == Some(column.name.as_str());
        if let Some(column) = self.columns.iter().find(|column| column.name == name) {
            return Ok(match &column.values {
                Values::Floats(values, _) => floats(&values[..count]),
                Values::Ints(values) => ints(values[..count].iter().copied()),
                Values::Times(values) => times(values[..count].iter().copied()),
                Values::Texts(found) => texts((0..count).map(|row| found.get(row))),
            });
        }
        match self.columns.iter().find(half).map(|column| &column.values) {
            Some(Values::Floats(_, halves)) => Ok(floats(&halves[..count])),
            _ => Err(ArrowError::SchemaError(format!("no column {name}"))),
        }
    }

    /// A value of each row's chunk.
    fn each<'a, T: Copy + 'a>(
        &'a self,
        value: impl Fn(&'a ReportRows) -> T + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        let ends = self
            .chunks
            .iter()
            .skip(1)
            .map(|placed| placed.first)
            .chain([self.ends.len()]);
        self.chunks
            .iter()
            .zip(ends)
            .flat_map(move |(placed, end)| std::iter::repeat_n(value(placed), end - placed.first))
    }

    /// Whether all texts of a column are numbers or nothing, and at least one is a number.
    pub fn numeric(&self, at: usize) -> bool {
        let Some(Values::Texts(found)) = self.columns.get(at).map(|column| &column.values) else {
            return false;
        };
        let mut any = false;
        (0..self.len()).all(|row| match found.get(row).map(number) {
            None | Some(Ok(None)) => true,
            Some(Ok(Some(_))) => {
                any = true;
                true
            }
            Some(Err(_)) => false,
        }) && any
    }

    /// Makes numbers of the texts of a column.
    pub fn make_numeric(&mut self, at: usize) {
        let count = self.len();
        let column = &mut self.columns[at];
        if let Values::Texts(texts) = &column.values {
            column.values = texts.numbers(count);
            column.kind = Kind::Float;
        }
    }
}
