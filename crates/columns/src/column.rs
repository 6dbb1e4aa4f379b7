//! One column of a batch while it is built, and the memory it is built in.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::kernel::{self, Kernel, Texts};
use crate::plan::Kind;
use crate::validity::Validity;

/// The type of every time that leaves the program.
pub(crate) static TIMESTAMP: LazyLock<DataType> =
    LazyLock::new(|| DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));

/// The Arrow type of a kind of column.
pub(crate) fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Int => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Text | Kind::Hex => DataType::Utf8,
        Kind::Time => TIMESTAMP.clone(),
        Kind::Bool => DataType::Boolean,
    }
}

/// Buffers of batches that were handed out, to be used again once nobody holds them.
///
/// A fresh page costs more than decoding into it, so batches that are dropped as they come cost no new memory.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    given: VecDeque<Buffer>,
    keep: usize,
}

impl Pool {
    /// A pool that remembers at most `keep` buffers.
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            given: VecDeque::new(),
            keep,
        }
    }

    /// An empty vector with room for `capacity` values, of a free buffer if there is one.
    fn take<T: ArrowNativeType>(&mut self, capacity: usize) -> Vec<T> {
        // Buffers come back in the order they went; looking further than a few would cost more than it saves.
        for _ in 0..self.given.len().min(4) {
            let Some(buffer) = self.given.pop_front() else {
                break;
            };
            match buffer.into_vec::<T>() {
                Ok(mut vec) if vec.capacity() >= capacity => {
                    vec.clear();
                    return vec;
                }
                Ok(_) => {}
                Err(held) => self.given.push_back(held),
            }
        }
        Vec::with_capacity(capacity)
    }

    fn give(&mut self, buffer: &Buffer) {
        if self.given.len() >= self.keep {
            self.given.pop_front();
        }
        self.given.push_back(buffer.clone());
    }
}

/// The pools of one table, by width of value: a buffer goes back into a vector of its own type only.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    wide: Pool,
    offsets: Pool,
    bytes: Pool,
}

impl Pools {
    pub(crate) fn new(columns: usize) -> Self {
        // Two batches: the one just handed out and the one being built.
        let keep = 2 * columns + 2;
        Self {
            wide: Pool::new(keep),
            offsets: Pool::new(keep),
            bytes: Pool::new(keep),
        }
    }

    /// Room for `rows` integers.
    pub(crate) fn ints(&mut self, rows: usize) -> Vec<i64> {
        self.wide.take(rows)
    }

    /// The array of integers or times in `values`.
    pub(crate) fn finish_ints(
        &mut self,
        values: Vec<i64>,
        validity: &mut Validity,
    ) -> Result<Int64Array, ArrowError> {
        let len = values.len();
        let buffer = Buffer::from_vec(values);
        self.wide.give(&buffer);
        Int64Array::try_new(ScalarBuffer::new(buffer, 0, len), validity.finish())
    }

    /// The array of times in `values`.
    pub(crate) fn finish_times(
        &mut self,
        values: Vec<i64>,
        validity: &mut Validity,
    ) -> Result<ArrayRef, ArrowError> {
        let array = self.finish_ints(values, validity)?;
        let array: PrimitiveArray<TimestampMicrosecondType> = array.reinterpret_cast();
        Ok(Arc::new(array.with_data_type(TIMESTAMP.clone())))
    }

    fn finish_texts(
        &mut self,
        texts: Texts,
        validity: &mut Validity,
    ) -> Result<StringArray, ArrowError> {
        let offsets = Buffer::from_vec(texts.offsets);
        let values = Buffer::from_vec(texts.values);
        self.offsets.give(&offsets);
        self.bytes.give(&values);
        let len = offsets.len() / size_of::<i32>();
        let offsets = OffsetBuffer::new(ScalarBuffer::new(offsets, 0, len));
        StringArray::try_new(offsets, values, validity.finish())
    }

    fn texts(&mut self, rows: usize, bytes: usize) -> Texts {
        let mut offsets = self.offsets.take(rows + 1);
        offsets.push(0);
        Texts {
            offsets,
            values: self.bytes.take(bytes),
        }
    }
}

/// The values of a column.
#[derive(Debug)]
enum Data {
    Int(Vec<i64>),
    Time(Vec<i64>),
    Float(Vec<f64>),
    Bool(Vec<bool>),
    Text(Texts),
}

/// One value, as subjects and evidence see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'b> {
    Null,
    Int(i64),
    Time(i64),
    Float(f64),
    Bool(bool),
    Text(&'b [u8]),
}

/// Where the values of some rows come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'w> {
    /// Bytes of the window.
    pub window: &'w [u8],
    /// Where the part begins that holds the field, for every row.
    pub places: &'w [u32],
    /// Where the part ends, for every row of a part of varying length; else empty.
    pub lens: &'w [u16],
    /// Length of the part where `lens` is empty.
    pub len: u32,
    /// Leap seconds to take off times.
    pub leap_s: i32,
}

/// A column while it is built.
#[derive(Debug)]
pub(crate) struct Builder {
    kind: Kind,
    data: Data,
    validity: Validity,
    /// Rows whose unsigned value does not fit a signed column; NULL on the way out, whole for differences.
    large: Vec<usize>,
    /// Bytes of text in the batch before, to presize the next.
    bytes: usize,
}

impl Builder {
    pub(crate) fn new(kind: Kind) -> Self {
        let data = Data::new(kind, 0, 0, &mut Pools::default());
        Self {
            kind,
            data,
            validity: Validity::default(),
            large: Vec::new(),
            bytes: 0,
        }
    }

    /// Makes room for a batch.
    pub(crate) fn start(&mut self, rows: usize, pools: &mut Pools) {
        self.data = Data::new(self.kind, rows, self.bytes, pools);
    }

    /// `count` rows without a value.
    pub(crate) fn nulls(&mut self, count: usize) {
        match &mut self.data {
            Data::Int(values) | Data::Time(values) => values.resize(values.len() + count, 0),
            Data::Float(values) => values.resize(values.len() + count, 0.0),
            Data::Bool(values) => values.resize(values.len() + count, false),
            Data::Text(texts) => texts.empty(count),
        }
        self.validity.extend(count, false);
    }

    /// The field at `offset` of every place; the number of the first row whose value is too large for its column.
    pub(crate) fn append(
        &mut self,
        kernel: Kernel,
        offset: u32,
        from: &Source<'_>,
    ) -> Option<usize> {
        let places = from.places;
        if places.is_empty() {
            return None;
        }
        let window = from.window.get(offset as usize..).unwrap_or(&[]);
        let mut first_large = None;
        self.validity.extend(places.len(), true);
        match (kernel, &mut self.data) {
            (Kernel::Int { width, signed }, Data::Int(values)) => {
                let start = values.len();
                kernel::ints(values, window, places, width, signed);
                // One cheap look at the signs tells the batches that need care.
                if width == 8 && !signed && values[start..].iter().fold(0, |all, v| all | v) < 0 {
                    let rows = start..values.len();
                    self.large.extend(rows.filter(|&row| values[row] < 0));
                    first_large = self.large.iter().copied().find(|&row| row >= start);
                }
            }
            (Kernel::Float { width }, Data::Float(values)) => {
                kernel::floats(values, window, places, width)
            }
            (Kernel::Time, Data::Time(values)) => {
                let start = values.len();
                if kernel::times(values, window, places, from.leap_s) {
                    let none = zlens_frames::tod::to_unix_us(0, from.leap_s);
                    for row in (start..values.len()).filter(|&row| values[row] == none) {
                        self.validity.clear(row);
                    }
                }
            }
            (Kernel::Bool { len }, Data::Bool(values)) => {
                kernel::bools(values, window, places, len)
            }
            (Kernel::Text { len }, Data::Text(texts)) => texts.text(window, places, len),
            (Kernel::Hex { len }, Data::Text(texts)) => texts.hex(window, places, len),
            (Kernel::TextRest | Kernel::HexRest, Data::Text(texts)) => {
                for (number, &place) in places.iter().enumerate() {
                    let part = from
                        .lens
                        .get(number)
                        .map_or(from.len, |&len| u32::from(len));
                    let rest = part.saturating_sub(offset) as usize;
                    let field = &window[place as usize..place as usize + rest];
                    if kernel == Kernel::TextRest {
                        texts.push_text(field)
                    } else {
                        texts.push_hex(field)
                    }
                }
            }
            // Kernels are made from the column's own kind.
            _ => unreachable!("a kernel that is not of its column's kind"),
        }
        first_large
    }

    /// The value of one row.
    pub(crate) fn value(&self, row: usize) -> Value<'_> {
        if !self.validity.get(row) {
            return Value::Null;
        }
        match &self.data {
            Data::Int(values) => Value::Int(values[row]),
            Data::Time(values) => Value::Time(values[row]),
            Data::Float(values) => Value::Float(values[row]),
            Data::Bool(values) => Value::Bool(values[row]),
            Data::Text(texts) => Value::Text(texts.get(row)),
        }
    }

    /// The integers so far, all bits, and which rows have one; nothing for other kinds.
    pub(crate) fn ints(&self) -> (&[i64], &Validity) {
        match &self.data {
            Data::Int(values) => (values, &self.validity),
            _ => (&[], &self.validity),
        }
    }

    /// The array, if it is wanted; the column begins anew.
    pub(crate) fn finish(
        &mut self,
        wanted: bool,
        pools: &mut Pools,
    ) -> Result<Option<ArrayRef>, ArrowError> {
        let data = std::mem::replace(
            &mut self.data,
            Data::new(self.kind, 0, 0, &mut Pools::default()),
        );
        let large = std::mem::take(&mut self.large);
        if !wanted {
            self.validity.finish();
            return Ok(None);
        }
        Ok(Some(match data {
            Data::Int(mut values) => {
                for row in large {
                    values[row] = 0;
                    self.validity.clear(row);
                }
                Arc::new(pools.finish_ints(values, &mut self.validity)?)
            }
            Data::Time(values) => pools.finish_times(values, &mut self.validity)?,
            Data::Float(values) => Arc::new(Float64Array::try_new(
                values.into(),
                self.validity.finish(),
            )?),
            Data::Bool(values) => Arc::new(BooleanArray::new(
                BooleanBuffer::from(values),
                self.validity.finish(),
            )),
            Data::Text(texts) => {
                self.bytes = texts.values.len();
                Arc::new(pools.finish_texts(texts, &mut self.validity)?)
            }
        }))
    }
}

impl Data {
    fn new(kind: Kind, rows: usize, bytes: usize, pools: &mut Pools) -> Self {
        match kind {
            Kind::Int => Self::Int(pools.ints(rows)),
            Kind::Time => Self::Time(pools.ints(rows)),
            Kind::Float => Self::Float(Vec::with_capacity(rows)),
            Kind::Bool => Self::Bool(Vec::with_capacity(rows)),
            Kind::Text | Kind::Hex => Self::Text(pools.texts(rows, bytes)),
        }
    }
}
