//! Writing SMF dumps: the counterpart of the reader, for made files and for tests.

use std::io::{self, Write};

use super::header::{Fault, Header, RDW};

/// The longest record that can be written, with its descriptor word: what the word can say. Records of
/// a data set are at most half as long; those reassembled from segments may be longer.
pub const MAX_RECORD: usize = u16::MAX as usize;

/// Error from writing a record.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is longer than a record can be.
    #[error("a record of {0} bytes is longer than the longest, {MAX_RECORD} bytes")]
    Long(usize),
    /// It does not begin with a header.
    #[error("the record does not begin with a header: {0}")]
    Header(String),
}

/// Writes a stream of records, each after its descriptor word.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// A writer to `out`, which should be buffered.
    pub const fn new(out: W) -> Self {
        Self { out }
    }

    /// Writes one record. It comes with space for its descriptor word, so that offsets count as they
    /// will in the file; the word itself is made here.
    ///
    /// # Errors
    /// If the record cannot be written as it is (nothing is written then), or writing fails.
    pub fn write(&mut self, record: &[u8]) -> Result<(), WriteError> {
        let length = record.len();
        if length > MAX_RECORD {
            return Err(WriteError::Long(length));
        }
        let header = Header::parse(record)
            .map(|header| Header {
                length: length as u16,
                segment: 0,
                ..header
            })
            .ok_or(Fault::Length(length as u16));
        header
            .and_then(|header| header.check())
            .map_err(|fault| WriteError::Header(fault.describe()))?;
        self.out.write_all(&(length as u16).to_be_bytes())?;
        self.out.write_all(&[0, 0])?;
        self.out.write_all(&record[RDW..])?;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If what is buffered cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
