//! Which rows of a column are NULL; costs nothing until one is.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// A validity mask that is made when the first row is NULL.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    bits: Option<BooleanBufferBuilder>,
    len: usize,
}

impl Validity {
    /// Adds `count` rows that are all valid or all NULL.
    pub(crate) fn extend(&mut self, count: usize, valid: bool) {
        if !valid && count > 0 {
            self.bits();
        }
        if let Some(bits) = &mut self.bits {
            bits.append_n(count, valid);
        }
        self.len += count;
    }

    /// Makes one row that is already there NULL.
    pub(crate) fn clear(&mut self, row: usize) {
        self.bits().set_bit(row, false);
    }

    /// Whether a row is valid.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> bool {
        self.bits.as_ref().is_none_or(|bits| bits.get_bit(row))
    }

    /// The mask, if any row is NULL; begins anew.
    pub(crate) fn finish(&mut self) -> Option<NullBuffer> {
        self.len = 0;
        self.bits
            .take()
            .map(|mut bits| NullBuffer::new(bits.finish()))
    }

    fn bits(&mut self) -> &mut BooleanBufferBuilder {
        self.bits.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(self.len.max(64));
            bits.append_n(self.len, true);
            bits
        })
    }
}
