//! Columns of values that are added and taken back row by row.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray};

use crate::number::number;

/// Texts back to back; a text may be missing.
#[derive(Debug, Default)]
pub struct TextColumn {
    bytes: String,
    /// End of each text, and whether there is one.
    ends: Vec<(usize, bool)>,
}

impl TextColumn {
    pub fn push(&mut self, text: Option<&str>) {
        self.bytes.push_str(text.unwrap_or_default());
        self.ends.push((self.bytes.len(), text.is_some()));
    }

    pub fn pop(&mut self) {
        self.ends.pop();
        self.bytes.truncate(self.ends.last().map_or(0, |end| end.0));
    }

    /// The texts of the first rows as numbers, with their precision; none where a text is no number.
    pub fn numbers(&self, count: usize) -> Values {
        let parse = |row| self.get(row).and_then(|text| number(text).ok().flatten());
        let (values, halves) = (0..count)
            .map(parse)
            .map(|found| found.map_or((f64::NAN, f64::NAN), |found| (found.value, found.half)))
            .unzip();
        Values::Floats(values, halves)
    }

    pub fn get(&self, row: usize) -> Option<&str> {
        let (end, known) = self.ends[row];
        let start = if row == 0 { 0 } else { self.ends[row - 1].0 };
        known.then(|| &self.bytes[start..end])
    }
}

/// The values of a column.
#[derive(Debug)]
pub enum Values {
    /// Values and their halves; NaN where there is none.
    Floats(Vec<f64>, Vec<f64>),
    Ints(Vec<Option<i64>>),
    /// Local times in microseconds.
    Times(Vec<Option<i64>>),
    Texts(TextColumn),
}

impl Values {
    pub fn pop(&mut self) {
        match self {
            Self::Floats(values, halves) => {
                values.pop();
                halves.pop();
            }
            Self::Ints(values) | Self::Times(values) => {
                values.pop();
            }
            Self::Texts(texts) => texts.pop(),
        }
    }

    /// Adds what a row has that lacks this column.
    pub fn push_null(&mut self) {
        match self {
            Self::Floats(values, halves) => {
                values.push(f64::NAN);
                halves.push(f64::NAN);
            }
            Self::Ints(values) | Self::Times(values) => values.push(None),
            Self::Texts(texts) => texts.push(None),
        }
    }
}

pub fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(
        values
            .iter()
            .map(|value| (!value.is_nan()).then_some(*value))
            .collect::<Float64Array>(),
    )
}

pub fn ints(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

pub fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(
        values
            .collect::<TimestampMicrosecondArray>()
            .with_timezone("UTC"),
    )
}

pub fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}
