//! Sections of a record, found by triplets of offset, length and number.

/// Position of a triplet in its record: an offset of four bytes, a length and a number of two
/// bytes each (documented so for all self-defining sections). Offsets count from the descriptor
/// word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triplet {
    /// Position of the offset of the first section.
    pub offset_at: u16,
    /// Position of the length of a section.
    pub length_at: u16,
    /// Position of the number of sections.
    pub count_at: u16,
}

/// Result of following a triplet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// No section of this kind.
    Absent,
    /// The first section, wholly in the record.
    At {
        /// Its start.
        offset: u32,
        /// Its length.
        length: u32,
        /// Number of sections, by the triplet.
        count: u32,
    },
    /// The record ends before the triplet, or before the end of the first section.
    Outside {
        /// Its expected start.
        offset: u32,
        /// Its length.
        length: u32,
    },
}

/// The two bytes at an offset.
#[inline]
pub(crate) fn half(record: &[u8], at: u32) -> Option<u32> {
    let bytes = record.get(at as usize..)?.first_chunk()?;
    Some(u32::from(u16::from_be_bytes(*bytes)))
}

impl Triplet {
    /// The first section that the triplet of this record leads to.
    #[inline]
    #[must_use]
    pub fn section(&self, record: &[u8]) -> Section {
        let word = |at: u16| -> Option<u32> {
            let bytes = record.get(usize::from(at)..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let (Some(offset), Some(length), Some(count)) = (
            word(self.offset_at),
            half(record, u32::from(self.length_at)),
            half(record, u32::from(self.count_at)),
        ) else {
            return Section::Outside {
                offset: 0,
                length: 0,
            };
        };
        if count == 0 || length == 0 {
            return Section::Absent;
        }
        match offset.checked_add(length) {
            Some(end) if end as usize <= record.len() => Section::At {
                offset,
                length,
                count,
            },
            _ => Section::Outside { offset, length },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIPLET: Triplet = Triplet {
        offset_at: 4,
        length_at: 8,
        count_at: 10,
    };

    fn record(offset: u32, length: u16, count: u16, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(offset.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(count.to_be_bytes());
        bytes.resize(size, 0);
        bytes
    }

    #[test]
    fn section_is_within_record() {
        let at =
            |offset, length, count, size| TRIPLET.section(&record(offset, length, count, size));
        assert_eq!(
            at(12, 8, 2, 20),
            Section::At {
                offset: 12,
                length: 8,
                count: 2
            }
        );
        assert_eq!(at(12, 8, 0, 20), Section::Absent);
        assert_eq!(at(12, 0, 1, 20), Section::Absent);
        for (offset, length) in [(13, 8), (20, 8), (u32::MAX, 8), (12, 9)] {
            assert_eq!(
                at(offset, length, 1, 20),
                Section::Outside {
                    offset,
                    length: u32::from(length)
                }
            );
        }
        assert!(matches!(
            TRIPLET.section(&record(0, 0, 0, 12)[..11]),
            Section::Outside { .. }
        ));
    }
}
