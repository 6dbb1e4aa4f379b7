//! Texts that are not translated: names, words for codes.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use super::validity::Validity;

/// A column of text while it is built.
#[derive(Debug, Default)]
pub(crate) struct Utf8Builder {
    ends: Vec<i32>,
    bytes: Vec<u8>,
    validity: Validity,
}

impl Utf8Builder {
    #[inline]
    pub(crate) fn push(&mut self, word: &str) {
        self.bytes.extend_from_slice(word.as_bytes());
        self.ends.push(self.bytes.len() as i32);
    }

    pub(crate) fn null(&mut self) {
        let row = self.ends.len();
        self.validity.clear(row, row + 1);
        self.ends.push(self.bytes.len() as i32);
    }

    /// The array; the column is cleared.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let ends = std::mem::take(&mut self.ends);
        let nulls = self.validity.finish(ends.len(), &[]);
        let mut offsets = Vec::with_capacity(ends.len() + 1);
        offsets.push(0);
        offsets.extend(ends);
        let values = Buffer::from_vec(std::mem::take(&mut self.bytes));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(StringArray::try_new(offsets, values, nulls)?))
    }

    /// The same word this many times.
    pub(crate) fn repeated(word: &str, rows: usize) -> StringArray {
        let offsets = OffsetBuffer::from_repeated_length(word.len(), rows);
        let values = Buffer::from(word.repeat(rows).into_bytes());
        StringArray::new(offsets, values, None)
    }
}
