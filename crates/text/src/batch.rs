//! Columns of a batch as the few types that answers have.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

use crate::error::Error;

/// Type of a column, where its Arrow type does not define it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, also where it comes as its digits.
    Whole,
    Other,
}

/// One column.
#[derive(Clone, Debug)]
pub enum Values {
    Int(Int64Array),
    /// Whole numbers that 64 bits do not hold, as their digits.
    BigInt(StringArray),
    Float(Float64Array),
    Bool(BooleanArray),
    Text(StringArray),
    /// Microseconds since 1970 UTC.
    Time(TimestampMicrosecondArray),
}

impl Values {
    fn new(column: usize, array: &ArrayRef, kind: Kind) -> Result<Self, Error> {
        Ok(match array.data_type() {
            DataType::Int64 => Self::Int(array.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Self::Float(array.as_primitive::<Float64Type>().clone()),
            DataType::Boolean => Self::Bool(array.as_boolean().clone()),
            DataType::Utf8 if kind == Kind::Whole => Self::BigInt(array.as_string().clone()),
            DataType::Utf8 => Self::Text(array.as_string().clone()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Self::Time(array.as_primitive::<TimestampMicrosecondType>().clone())
            }
            other => {
                return Err(Error::Type {
                    column,
                    kind: other.clone(),
                });
            }
        })
    }

    pub fn array(&self) -> &dyn Array {
        match self {
            Self::Int(array) => array,
            Self::BigInt(array) | Self::Text(array) => array,
            Self::Float(array) => array,
            Self::Bool(array) => array,
            Self::Time(array) => array,
        }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array().is_null(row)
    }

    /// Whether a row has no value: NULL, or a float that is not finite.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Float(array) => array.is_null(row) || !array.value(row).is_finite(),
            other => other.is_null(row),
        }
    }

    /// The text of a row of a text column.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text(array) | Self::BigInt(array) if !array.is_null(row) => {
                Some(array.value(row))
            }
            _ => None,
        }
    }

    /// The time of a row of a time column.
    pub fn time(&self, row: usize) -> Option<i64> {
        match self {
            Self::Time(array) if !array.is_null(row) => Some(array.value(row)),
            _ => None,
        }
    }
}

/// Some rows.
#[derive(Clone, Debug)]
pub struct Batch {
    pub rows: usize,
    pub columns: Vec<Values>,
}

impl Batch {
    /// `kinds` are those of the columns; what it lacks is `Kind::Other`.
    pub fn new(batch: &RecordBatch, kinds: &[Kind]) -> Result<Self, Error> {
        let columns = batch.columns().iter().enumerate().map(|(column, array)| {
            let kind = kinds.get(column).copied().unwrap_or(Kind::Other);
            Values::new(column, array, kind)
        });
        Ok(Self {
            rows: batch.num_rows(),
            columns: columns.collect::<Result<_, _>>()?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.columns
            .iter()
            .map(|values| values.array().get_buffer_memory_size())
            .sum()
    }
}
