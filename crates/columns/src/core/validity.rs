//! Validity of the rows of a column; costs nothing if no row is NULL.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// The rows of a batch that are NULL, as ranges in rising order.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    nulls: Vec<(usize, usize)>,
}

impl Validity {
    /// Makes the rows from `from` up to `to` NULL, which come after those that are.
    pub(crate) fn clear(&mut self, from: usize, to: usize) {
        match self.nulls.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.nulls.push((from, to)),
        }
    }

    /// Whether a row is valid.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> bool {
        self.nulls.is_empty() || !self.is_null(row)
    }

    fn is_null(&self, row: usize) -> bool {
        let at = self.nulls.partition_point(|&(_, end)| end <= row);
        self.nulls.get(at).is_some_and(|&(from, _)| from <= row)
    }

    /// The mask of `len` rows, if any is NULL here or among `more`; the mask is cleared.
    pub(crate) fn finish(&mut self, len: usize, more: &[usize]) -> Option<NullBuffer> {
        if self.nulls.is_empty() && more.is_empty() {
            return None;
        }
        let mut bits = BooleanBufferBuilder::new(len);
        for (from, to) in self.nulls.drain(..) {
            bits.append_n(from - bits.len(), true);
            bits.append_n(to - from, false);
        }
        bits.append_n(len - bits.len(), true);
        more.iter().for_each(|&row| bits.set_bit(row, false));
        Some(NullBuffer::new(bits.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_has_cleared_rows() {
        let mut validity = Validity::default();
        assert_eq!(validity.finish(9, &[]), None);
        validity.clear(1, 2);
        validity.clear(2, 4);
        validity.clear(6, 7);
        let valid = [true, false, false, false, true, true, false, true, true];
        assert!((0..9).all(|row| validity.get(row) == valid[row]));
        let mask = validity.finish(9, &[8]).unwrap();
        assert!((0..8).all(|row| mask.is_valid(row) == valid[row]));
        assert!(mask.is_null(8));
        assert!(validity.get(1), "cleared");
    }
}
