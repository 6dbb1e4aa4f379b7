//! The compressed bytes, read in sequence.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use crate::source::{ReadAt, WINDOW, read_full};

/// A source as a stream of bytes.
pub(super) struct Input<'s> {
    source: &'s dyn ReadAt,
    buffer: Vec<u8>,
    /// Start of the buffer in the source, and the position in it at which reading continues.
    base: u64,
    place: usize,
    /// End of reading.
    end: u64,
    /// Told where reading is.
    done: Rc<Cell<u64>>,
    /// Error that ended reading early.
    pub failed: Option<io::Error>,
}

impl<'s> Input<'s> {
    /// The bytes from `from` on up to `end`; `done` gets where reading is.
    pub(super) fn new(source: &'s dyn ReadAt, from: u64, end: u64, done: Rc<Cell<u64>>) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            base: from,
            place: 0,
            end: end.min(source.size()),
            done,
            failed: None,
        }
    }

    /// Position of the next byte in the source.
    pub(super) fn position(&self) -> u64 {
        self.base + self.place as u64
    }

    /// Number of bytes left.
    pub(super) fn rest(&self) -> u64 {
        self.end.saturating_sub(self.position())
    }

    /// Copies the next bytes without advancing; returns their number.
    pub(super) fn peek(&mut self, bytes: &mut [u8]) -> usize {
        let count = usize::try_from(self.rest()).map_or(bytes.len(), |n| n.min(bytes.len()));
        read_full(self.source, self.position(), &mut bytes[..count]).unwrap_or(0)
    }

    /// Leaves bytes out.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.base = self.position().saturating_add(bytes).min(self.end);
        self.place = 0;
        self.buffer.clear();
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.place >= self.buffer.len() && self.rest() > 0 {
            self.skip(0);
            self.done.set(self.base);
            let count = usize::try_from(self.rest()).map_or(WINDOW, |rest| rest.min(WINDOW));
            self.buffer.resize(count, 0);
            match read_full(self.source, self.base, &mut self.buffer) {
                Ok(got) => {
                    self.buffer.truncate(got);
                    if got == 0 {
                        self.end = self.base;
                    }
                }
                Err(error) => {
                    self.buffer.clear();
                    let said = io::Error::new(error.kind(), error.to_string());
                    self.failed = Some(error);
                    return Err(said);
                }
            }
        }
        Ok(&self.buffer[self.place..])
    }

    fn consume(&mut self, count: usize) {
        self.place = (self.place + count).min(self.buffer.len());
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let near = self.fill_buf()?;
        let count = near.len().min(buf.len());
        buf[..count].copy_from_slice(&near[..count]);
        self.consume(count);
        Ok(count)
    }
}
