//! Writing MONWRITE files: the counterpart of the reader, for made files and for tests.

use std::io::{self, Write};

use super::control::{self, Entry, MAX_ENTRIES};
use super::record::{Class, HEADER, Header};
use crate::source::PAGE;

/// The longest record that can be written: an end-of-frame record must fit after it.
pub const MAX_RECORD: usize = PAGE - HEADER;

/// Error from writing a file.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A group has no records, or there are none or too many groups for one control record.
    #[error("a control record describes 1 to 338 groups of at least one record each")]
    Groups,
    /// A record is not one.
    #[error("record {number} of a group: {reason}")]
    Record {
        /// Index of the record, from 0.
        number: usize,
        /// Its fault.
        reason: &'static str,
    },
    /// The address of a group leaves no space: not for a record in its first frame, or not below 4
    /// GB.
    #[error("data cannot start at address x'{0:08X}'")]
    Start(u32),
}

/// Records of one class that are written back to back and described by one entry of a
/// control record.
#[derive(Clone, Copy, Debug)]
pub struct Group<'r, R> {
    /// The class of the records.
    pub class: Class,
    /// First domain mask of the entry.
    pub mask1: u8,
    /// Second domain mask of the entry.
    pub mask2: u8,
    /// Address of the first byte; its last 12 bits are the offset in the first frame.
    pub start: u32,
    /// The records, each with its header.
    pub records: &'r [R],
}

/// Writes a MONWRITE file.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    messages: u32,
}

impl<W: Write> Writer<W> {
    /// A writer to `out`, which should be buffered.
    pub const fn new(out: W) -> Self {
        Self { out, messages: 0 }
    }

    /// Writes one control record with an entry for each group, and the frames of all groups.
    ///
    /// # Errors
    /// If a group or a record cannot be written as it is (nothing is written then), or writing
    /// fails.
    pub fn write<R: AsRef<[u8]>>(&mut self, groups: &[Group<'_, R>]) -> Result<(), WriteError> {
        if groups.is_empty() || groups.len() > MAX_ENTRIES {
            return Err(WriteError::Groups);
        }
        let mut entries = Vec::with_capacity(groups.len());
        let mut frames = Vec::new();
        for group in groups {
            entries.push(lay(group, &mut frames)?);
        }
        self.messages = self.messages.wrapping_add(1);
        self.out
            .write_all(&control::encode(&entries, self.messages))?;
        self.out.write_all(&frames)?;
        Ok(())
    }

    /// Writes the end-of-data record and gives back what was written to.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.write_all(&control::encode(&[], 0))?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Lays the records of a group into frames, appended to `frames`, and gives the entry that
/// describes them.
fn lay<R: AsRef<[u8]>>(group: &Group<'_, R>, frames: &mut Vec<u8>) -> Result<Entry, WriteError> {
    let mut left = 0;
    for (number, record) in group.records.iter().enumerate() {
        let record = record.as_ref();
        check(record).map_err(|reason| WriteError::Record { number, reason })?;
        left += record.len();
    }
    let Some(first) = group
        .records
        .first()
        .and_then(|record| Header::parse(record.as_ref()))
    else {
        return Err(WriteError::Groups);
    };
    let begin = frames.len();
    let mut tod = first.tod;
    let mut room = PAGE - (group.start & 0xFFF) as usize;
    if room < HEADER {
        return Err(WriteError::Start(group.start));
    }
    frames.resize(begin + PAGE - room, 0);
    for record in group.records {
        let record = record.as_ref();
        // After the last record of the group no end-of-frame record is needed.
        if left > room && record.len() + HEADER > room {
            let (domain, number) = Header::END_OF_FRAME;
            let end = Header {
                length: HEADER as u16,
                domain,
                record: number,
                tod,
            };
            frames.extend_from_slice(&end.encode());
            frames.resize(frames.len() + room - HEADER, 0);
            room = PAGE;
        }
        frames.extend_from_slice(record);
        room -= record.len();
        left -= record.len();
        tod = Header::parse(record).map_or(tod, |header| header.tod);
    }
    let bytes = frames.len() - begin - (group.start & 0xFFF) as usize;
    frames.resize(frames.len() + room, 0);
    let end = u32::try_from(bytes - 1)
        .ok()
        .and_then(|last| group.start.checked_add(last));
    let end = end.ok_or(WriteError::Start(group.start))?;
    Ok(Entry {
        class: group.class,
        mask1: group.mask1,
        mask2: group.mask2,
        start: group.start,
        end,
    })
}

/// Reason why bytes cannot be written as a record.
fn check(record: &[u8]) -> Result<(), &'static str> {
    let header = Header::parse(record).ok_or("its header is not one")?;
    if usize::from(header.length) != record.len() {
        return Err("the length in its header is not its length");
    }
    if record.len() > MAX_RECORD {
        return Err("it is longer than a frame with its end-of-frame record");
    }
    if (header.domain, header.record) == Header::END_OF_FRAME {
        return Err("end-of-frame records are written where frames end");
    }
    Ok(())
}
