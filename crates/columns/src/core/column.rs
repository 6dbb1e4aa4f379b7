//! One column of a batch while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

use super::int64_block::{Int64Arrays, Int64Block, Pool, TIMESTAMP};
use super::kernel::{self, Kernel, map_fields};
use super::plan::Kind;
use super::text::TextBuilder;
use super::validity::Validity;

/// The Arrow type of a kind of column.
pub(crate) fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Int => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Text | Kind::Ascii | Kind::Hex => DataType::Utf8,
        Kind::Time => TIMESTAMP.clone(),
        Kind::Bool => DataType::Boolean,
    }
}

/// The values of a column. All but texts have space for more rows than there are; what is beyond has no meaning.
#[derive(Debug)]
enum Data {
    /// Integers or times, at this index among the 8-byte columns.
    Int64(usize),
    Float(Vec<f64>),
    Bool(Vec<bool>),
    Text {
        texts: TextBuilder,
        offsets: Pool,
        bytes: Pool,
    },
}

/// One value, as subjects and evidence see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'b> {
    Null,
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(&'b [u8]),
}

/// Source of the values of some rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldSlices<'w> {
    /// The bytes in which the records are.
    pub bytes: &'w [u8],
    /// Start of the part that holds the field, for every row.
    pub places: &'w [u32],
    /// End of the part, for every row of a part of varying length; else empty.
    pub lens: &'w [u16],
    /// Length of the part where `lens` is empty.
    pub len: u32,
    /// Leap seconds to take off times.
    pub leap_s: i32,
}

/// A column while it is built.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    kind: Kind,
    data: Data,
    pub validity: Validity,
    /// Rows whose unsigned value overflows `i64`: NULL in the output, exact for differences.
    overflows: Vec<usize>,
}

impl ColumnBuilder {
    /// A column; integers and times take the next index among the 8-byte columns.
    pub(crate) fn new(kind: Kind, places: &mut usize) -> Self {
        let data = match kind {
            Kind::Int | Kind::Time => {
                *places += 1;
                Data::Int64(*places - 1)
            }
            Kind::Float => Data::Float(Vec::new()),
            Kind::Bool => Data::Bool(Vec::new()),
            Kind::Text | Kind::Ascii | Kind::Hex => Data::Text {
                texts: TextBuilder::default(),
                offsets: Pool::new(2),
                bytes: Pool::new(2),
            },
        };
        Self {
            kind,
            data,
            validity: Validity::default(),
            overflows: Vec::new(),
        }
    }

    /// Reserves space for `rows` rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match &mut self.data {
            Data::Float(values) => values.resize(rows.max(values.len()), 0.0),
            Data::Bool(values) => values.resize(rows.max(values.len()), false),
            Data::Int64(_) | Data::Text { .. } => {}
        }
    }

    /// `count` rows from `row` on without a value.
    pub(crate) fn append_nulls(&mut self, row: usize, count: usize, wide: &mut Int64Block) {
        let rows = row..row + count;
        match &mut self.data {
            Data::Int64(place) => wide.rows_mut(*place, rows).fill(0),
            Data::Float(values) => values[rows].fill(0.0),
            Data::Bool(values) => values[rows].fill(false),
            Data::Text { texts, .. } => texts.empty(count),
        }
        self.validity.clear(row, row + count);
    }

    /// Reads the field at `offset` of every record into the rows from `row` on; returns whether a value overflowed.
    #[inline]
    pub(crate) fn append(
        &mut self,
        kernel: Kernel,
        offset: u32,
        row: usize,
        from: &FieldSlices<'_>,
        wide: &mut Int64Block,
    ) -> bool {
        let places = from.places;
        let bytes = from.bytes.get(offset as usize..).unwrap_or(&[]);
        let rows = row..row + places.len();
        match &mut self.data {
            Data::Int64(place) => {
                let out = wide.rows_mut(*place, rows);
                match kernel {
                    Kernel::U32 => {
                        map_fields(out, bytes, places, |b| i64::from(u32::from_be_bytes(b)))
                    }
                    Kernel::U8 => {
                        map_fields(out, bytes, places, |b| i64::from(u8::from_be_bytes(b)))
                    }
                    Kernel::U16 => {
                        map_fields(out, bytes, places, |b| i64::from(u16::from_be_bytes(b)))
                    }
                    Kernel::U64 => {
                        map_fields(out, bytes, places, i64::from_be_bytes);
                        // One pass over the signs finds the rows that overflow.
                        if out.iter().fold(0, |all, value| all | value) < 0 {
                            let large = (row..).zip(&*out).filter(|(_, value)| **value < 0);
                            self.overflows.extend(large.map(|(row, _)| row));
                            return true;
                        }
                    }
                    Kernel::I8 => {
                        map_fields(out, bytes, places, |b| i64::from(i8::from_be_bytes(b)))
                    }
                    Kernel::I16 => {
                        map_fields(out, bytes, places, |b| i64::from(i16::from_be_bytes(b)))
                    }
                    Kernel::I32 => {
                        map_fields(out, bytes, places, |b| i64::from(i32::from_be_bytes(b)))
                    }
                    Kernel::I64 => map_fields(out, bytes, places, i64::from_be_bytes),
                    Kernel::Odd { width, signed } => {
                        kernel::read_odd_width(out, bytes, places, width, signed)
                    }
                    Kernel::Time => {
                        if kernel::read_tod(out, bytes, places, from.leap_s) {
                            self.null_zero_times(row, from, wide);
                        }
                    }
                    Kernel::Ordinal => {
                        for (out, &place) in out.iter_mut().zip(places) {
                            *out = i64::from(place) + i64::from(offset);
                        }
                    }
                    _ => kernel_mismatch(),
                }
            }
            Data::Text { texts, .. } => match kernel {
                Kernel::Text { len } => texts.text(bytes, places, len),
                Kernel::Hex { len } => texts.hex(bytes, places, len),
                Kernel::Ascii { len } => places.iter().for_each(|&at| {
                    texts.push_ascii(&bytes[at as usize..at as usize + len as usize]);
                }),
                Kernel::TextRest | Kernel::AsciiRest | Kernel::HexRest => {
                    for (number, &place) in places.iter().enumerate() {
                        let part = from
                            .lens
                            .get(number)
                            .map_or(from.len, |&len| u32::from(len));
                        let rest = part.saturating_sub(offset) as usize;
                        let field = &bytes[place as usize..place as usize + rest];
                        match kernel {
                            Kernel::TextRest => texts.push_text(field),
                            Kernel::AsciiRest => texts.push_ascii(field),
                            _ => texts.push_hex(field),
                        }
                    }
                }
                _ => kernel_mismatch(),
            },
            Data::Float(values) => match kernel {
                Kernel::Float { width } => {
                    kernel::read_floats(&mut values[rows], bytes, places, width)
                }
                _ => kernel_mismatch(),
            },
            Data::Bool(values) => match kernel {
                Kernel::Bool { len } => kernel::read_bools(&mut values[rows], bytes, places, len),
                _ => kernel_mismatch(),
            },
        }
        false
    }

    /// The index among the 8-byte columns.
    pub(crate) fn place(&self) -> Option<usize> {
        match self.data {
            Data::Int64(place) => Some(place),
            _ => None,
        }
    }

    /// Makes NULL of the times from `row` on that were zero.
    #[cold]
    fn null_zero_times(&mut self, row: usize, from: &FieldSlices<'_>, wide: &Int64Block) {
        let Data::Int64(place) = self.data else {
            return;
        };
        let none = zlens_frames::tod::to_unix_us(0, from.leap_s);
        for row in row..row + from.places.len() {
            if wide.value(place, row) == none {
                self.validity.clear(row, row + 1);
            }
        }
    }

    /// The first row from `row` on whose value is too large for its column.
    pub(crate) fn first_overflow(&self, row: usize) -> Option<usize> {
        let at = self.overflows.partition_point(|&large| large < row);
        self.overflows.get(at).copied()
    }

    /// The value of one row.
    pub(crate) fn value<'b>(&'b self, row: usize, wide: &Int64Block) -> Value<'b> {
        if !self.validity.get(row) {
            return Value::Null;
        }
        match &self.data {
            Data::Int64(place) => Value::Int(wide.value(*place, row)),
            Data::Float(values) => Value::Float(values[row]),
            Data::Bool(values) => Value::Bool(values[row]),
            Data::Text { texts, .. } => Value::Text(texts.get(row)),
        }
    }

    /// The first `len` integers, all bits; nothing for other kinds.
    pub(crate) fn ints<'w>(&self, len: usize, wide: &'w Int64Block) -> &'w [i64] {
        match self.data {
            Data::Int64(place) => wide.rows(place, 0..len),
            _ => &[],
        }
    }

    /// Zeroes overflowed values, so that no garbage sits under a NULL.
    pub(crate) fn zero_overflows(&self, wide: &mut Int64Block) {
        if let Data::Int64(place) = self.data {
            for &row in &self.overflows {
                wide.rows_mut(place, row..row + 1)[0] = 0;
            }
        }
    }

    /// The array of `len` rows; the column is cleared.
    pub(crate) fn finish(
        &mut self,
        len: usize,
        wide: &Int64Arrays,
    ) -> Result<ArrayRef, ArrowError> {
        let nulls = self.validity.finish(len, &self.overflows);
        self.overflows.clear();
        Ok(match &mut self.data {
            Data::Int64(place) if self.kind == Kind::Time => Arc::new(wide.times(*place, nulls)?),
            Data::Int64(place) => Arc::new(wide.ints(*place, nulls)?),
            Data::Float(values) => {
                let mut values = std::mem::take(values);
                values.truncate(len);
                Arc::new(Float64Array::try_new(values.into(), nulls)?)
            }
            Data::Bool(values) => {
                let mut values = std::mem::take(values);
                values.truncate(len);
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
            }
            Data::Text {
                texts,
                offsets,
                bytes,
            } => {
                // The next batch is likely to need as much.
                let (ends, values, size) = texts.take(|rows, size| {
                    (
                        offsets
                            .acquire(rows)
                            .unwrap_or_else(|| Vec::with_capacity(rows)),
                        bytes.acquire(size).unwrap_or_else(|| vec![0; size]),
                    )
                });
                let rows = ends.len();
                let (ends, values) = (Buffer::from_vec(ends), Buffer::from_vec(values));
                offsets.track(&ends);
                bytes.track(&values);
                let values = values.slice_with_length(0, size);
                let ends = OffsetBuffer::new(ScalarBuffer::new(ends, 0, rows));
                Arc::new(StringArray::try_new(ends, values, nulls)?)
            }
        })
    }

    /// Forgets the rows: the column is cleared.
    pub(crate) fn clear(&mut self) {
        self.validity = Validity::default();
        self.overflows.clear();
        if let Data::Text { texts, .. } = &mut self.data {
            texts.clear();
        }
    }
}

/// Kernels are made from the column's own kind (see [`Kernel::for_kind`]).
#[cold]
fn kernel_mismatch() {
    debug_assert!(false, "a kernel that is not of its column's kind");
}
