//! The 8-byte columns of a batch in one allocation.

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Int64Array, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

/// Target size of the 8-byte columns of a batch: little enough that those of some twenty tables stay in the processor's
/// last cache.
pub(crate) const BATCH_BYTES: usize = 512 * 1024;

/// The type of every time that leaves the program.
pub(crate) static TIMESTAMP: LazyLock<DataType> =
    LazyLock::new(|| DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));

/// Buffers of batches that were returned, to be used again once no one holds them.
///
/// A fresh page costs more than decoding into it, so batches that are dropped as they come cost no new memory.
#[derive(Debug)]
pub(crate) struct Pool {
    given: Vec<Buffer>,
    keep: usize,
}

/// Number of buffers that are checked for a free one; further back they are more likely free, but no longer in a cache.
const SCAN_DEPTH: usize = 8;

impl Pool {
    /// A pool that remembers at most `keep` buffers.
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            given: Vec::new(),
            keep,
        }
    }

    /// A vector with space for `capacity` values, of the last buffer that came free if there is one; what is in it is
    /// of no meaning.
    pub(crate) fn acquire<T: ArrowNativeType>(&mut self, capacity: usize) -> Option<Vec<T>> {
        let free = |buffer: &Buffer| {
            buffer.strong_count() == 1 && buffer.capacity() >= capacity * size_of::<T>()
        };
        let last = self.given.len().saturating_sub(SCAN_DEPTH);
        let found = last + self.given[last..].iter().rposition(free)?;
        self.given.remove(found).into_vec::<T>().ok()
    }

    /// Remembers a buffer that is returned.
    pub(crate) fn track(&mut self, buffer: &Buffer) {
        if self.given.len() >= self.keep {
            self.given.remove(0);
        }
        self.given.push(buffer.clone());
    }
}

/// A pool that the tables of a scan share: what one has returned, another builds its next batch in.
pub(crate) type SharedPool = Arc<Mutex<Pool>>;

/// Columns of integers and times: column `c` has the slots from `c * rows` on.
#[derive(Debug)]
pub(crate) struct Int64Block {
    values: Vec<i64>,
    rows: usize,
    columns: usize,
    pool: SharedPool,
}

impl Int64Block {
    /// No rows of this many columns, in buffers of their own: that of the batch just returned and that of the one being
    /// built.
    pub(crate) fn new(columns: usize) -> Self {
        Self::sharing(columns, Arc::new(Mutex::new(Pool::new(2))))
    }

    /// No rows of this many columns, in buffers of a pool.
    pub(crate) fn sharing(columns: usize, pool: SharedPool) -> Self {
        Self {
            values: Vec::new(),
            rows: 0,
            columns,
            pool,
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        // A pool is whole after every call, whatever made another thread panic.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves space for a batch of `rows`; what is in it is of no meaning.
    pub(crate) fn start(&mut self, rows: usize) {
        let size = rows * self.columns;
        let free = self.pool().acquire(size);
        let mut values =
            free.unwrap_or_else(|| Vec::with_capacity(size.max(BATCH_BYTES / size_of::<i64>())));
        values.resize(size, 0);
        (self.values, self.rows) = (values, rows);
    }

    /// Reserves space for `rows` rows, which may be more than the batch was begun with.
    pub(crate) fn grow(&mut self, rows: usize) {
        if rows <= self.rows {
            return;
        }
        let rows = rows.max(2 * self.rows);
        let mut values = vec![0; rows * self.columns];
        for column in 0..self.columns {
            let old = &self.values[column * self.rows..(column + 1) * self.rows];
            values[column * rows..][..self.rows].copy_from_slice(old);
        }
        (self.values, self.rows) = (values, rows);
    }

    /// Some rows of a column.
    #[inline]
    pub(crate) fn rows(&self, column: usize, rows: Range<usize>) -> &[i64] {
        &self.values[column * self.rows..(column + 1) * self.rows][rows]
    }

    /// Some rows of a column, to be written.
    #[inline]
    pub(crate) fn rows_mut(&mut self, column: usize, rows: Range<usize>) -> &mut [i64] {
        &mut self.values[column * self.rows..(column + 1) * self.rows][rows]
    }

    /// The same rows of four columns that follow each other, to be written.
    #[inline]
    pub(crate) fn rows_mut_x4(&mut self, column: usize, rows: Range<usize>) -> [&mut [i64]; 4] {
        let (first, rest) =
            self.values[column * self.rows..(column + 4) * self.rows].split_at_mut(self.rows);
        let (second, rest) = rest.split_at_mut(self.rows);
        let (third, fourth) = rest.split_at_mut(self.rows);
        [first, second, third, fourth].map(|column| &mut column[rows.clone()])
    }

    /// The value of one row.
    pub(crate) fn value(&self, column: usize, row: usize) -> i64 {
        self.values[column * self.rows + row]
    }

    /// The columns as they are, each with this many rows that have a meaning.
    pub(crate) fn finish(&mut self, len: usize) -> Int64Arrays {
        let buffer = Buffer::from_vec(std::mem::take(&mut self.values));
        self.pool().track(&buffer);
        Int64Arrays {
            buffer,
            rows: std::mem::take(&mut self.rows),
            len,
        }
    }
}

/// The columns of a batch, complete.
pub(crate) struct Int64Arrays {
    buffer: Buffer,
    rows: usize,
    len: usize,
}

impl Int64Arrays {
    /// A column of integers.
    pub(crate) fn ints(
        &self,
        column: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<Int64Array, ArrowError> {
        Int64Array::try_new(
            ScalarBuffer::new(self.buffer.clone(), column * self.rows, self.len),
            nulls,
        )
    }

    /// A column of times.
    pub(crate) fn times(
        &self,
        column: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<PrimitiveArray<TimestampMicrosecondType>, ArrowError> {
        let array = self
            .ints(column, nulls)?
            .reinterpret_cast::<TimestampMicrosecondType>();
        Ok(array.with_data_type(TIMESTAMP.clone()))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    #[test]
    fn growing_columns_keep_values_and_reuse_buffers() {
        let mut wide = Int64Block::new(3);
        wide.start(4);
        for column in 0..3 {
            for row in 0..4 {
                wide.rows_mut(column, row..row + 1)[0] = (10 * column + row) as i64;
            }
        }
        wide.grow(5);
        wide.rows_mut(2, 4..5)[0] = 24;
        assert_eq!(wide.rows(2, 0..5), [20, 21, 22, 23, 24]);
        assert_eq!(wide.value(1, 3), 13);
        let done = wide.finish(4);
        let array = done.ints(1, None).unwrap();
        assert_eq!(array.values(), &[10, 11, 12, 13]);
        assert_eq!(done.times(2, None).unwrap().data_type(), &*TIMESTAMP);
        let held = array.values().inner().as_ptr();
        wide.start(4);
        assert_ne!(wide.values.as_ptr().cast(), held, "still held");
        let _second = wide.finish(4);
        drop((array, done));
        wide.start(4);
        assert!(
            wide.values.capacity() >= 24,
            "the buffer of the first batch is free"
        );
    }
}
