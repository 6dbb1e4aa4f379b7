//! Presents a dump in blocks and segments as a contiguous record stream.
//!
//! Block descriptor words and those of all segments but the first are left out, and the first gets
//! the length of its whole record. All that reads streams of records reads these dumps so;
//! [`StreamMap::to_file_offset`] leads back to the file.

use std::io;
use std::sync::Arc;

use crate::source::ReadAt;

/// Bytes that follow each other in the stream and in the file.
#[derive(Clone, Copy, Debug)]
struct Extent {
    logical_offset: u64,
    file_offset: u64,
}

/// Position of the bytes of the stream in the file.
#[derive(Debug, Default)]
pub(crate) struct StreamMap {
    pieces: Vec<Extent>,
    /// Records reassembled: where each begins in the stream, and its length.
    joined: Vec<(u64, u16)>,
    /// Length of the stream, and of the file.
    pub logical_len: u64,
    pub file: u64,
}

impl StreamMap {
    /// Maximum number of extents, 16 bytes each: 230 GB in the usual blocks of 28 KB.
    pub(crate) const MAX_PIECES: usize = 8 << 20;

    /// Of a file of this many bytes.
    pub(crate) fn new(file: u64) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.pieces.len() >= Self::MAX_PIECES
    }

    /// Puts bytes of the file at the end of the stream.
    pub(crate) fn append(&mut self, at: u64, bytes: u64) {
        let follows = self
            .pieces
            .last()
            .is_some_and(|last| last.file_offset + (self.logical_len - last.logical_offset) == at);
        if !follows && bytes > 0 {
            let shown = self.logical_len;
            self.pieces.push(Extent {
                logical_offset: shown,
                file_offset: at,
            });
        }
        self.logical_len += bytes;
    }

    /// Takes back what was put after `shown`.
    pub(crate) fn truncate(&mut self, shown: u64) {
        let kept = self
            .pieces
            .partition_point(|piece| piece.logical_offset < shown);
        self.pieces.truncate(kept);
        self.logical_len = shown;
    }

    /// Says that the record at `shown` was reassembled and how long it is.
    pub(crate) fn record_joined(&mut self, shown: u64, length: u16) {
        self.joined.push((shown, length));
    }

    /// Offset in the file of a byte of the stream.
    pub(crate) fn to_file_offset(&self, shown: u64) -> u64 {
        if shown >= self.logical_len {
            return self.file + (shown - self.logical_len);
        }
        let after = self
            .pieces
            .partition_point(|piece| piece.logical_offset <= shown);
        let piece = self.pieces[after - 1];
        piece.file_offset + (shown - piece.logical_offset)
    }

    fn read(&self, source: &dyn ReadAt, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        let mut next = self
            .pieces
            .partition_point(|piece| piece.logical_offset <= offset);
        while done < buf.len() {
            let shown = offset + done as u64;
            let Some(piece) = next.checked_sub(1).map(|nth| self.pieces[nth]) else {
                break;
            };
            let end = self
                .pieces
                .get(next)
                .map_or(self.logical_len, |piece| piece.logical_offset);
            let left = usize::try_from(end - shown).unwrap_or(usize::MAX);
            let count = left.min(buf.len() - done);
            match source.read_at(
                piece.file_offset + (shown - piece.logical_offset),
                &mut buf[done..done + count],
            ) {
                Ok(got) => {
                    done += got;
                    if got < count || next >= self.pieces.len() {
                        break;
                    }
                }
                Err(error) if done == 0 => return Err(error),
                // The next read will say the same again.
                Err(_) => break,
            }
            next += 1;
        }
        self.lengths(offset, &mut buf[..done]);
        Ok(done)
    }

    /// Writes the lengths of records reassembled over those of their first segments.
    fn lengths(&self, offset: u64, bytes: &mut [u8]) {
        let end = offset + bytes.len() as u64;
        let first = self
            .joined
            .partition_point(|&(shown, _)| shown + 4 <= offset);
        for &(shown, length) in &self.joined[first..] {
            if shown >= end {
                break;
            }
            let [high, low] = length.to_be_bytes();
            for (byte, at) in [high, low, 0, 0].into_iter().zip(shown..) {
                let place = at
                    .checked_sub(offset)
                    .and_then(|place| usize::try_from(place).ok());
                if let Some(target) = place.and_then(|place| bytes.get_mut(place)) {
                    *target = byte;
                }
            }
        }
    }
}

/// The stream of records in a file with blocks or segments.
pub(crate) struct RecordStream {
    pub source: Arc<dyn ReadAt>,
    pub places: Arc<StreamMap>,
}

impl ReadAt for RecordStream {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if offset >= self.places.logical_len {
            // What the file has gained since.
            return self.source.read_at(self.places.to_file_offset(offset), buf);
        }
        self.places.read(&*self.source, offset, buf)
    }

    fn size(&self) -> u64 {
        self.places.logical_len
    }
}
