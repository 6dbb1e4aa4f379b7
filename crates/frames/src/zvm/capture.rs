//! Captures of the live stream (`/dev/monreader` of Linux), shown as if MONWRITE had written them.
//!
//! Documented: the stream repeats a control element of 12 bytes, which is an entry as in a control
//! record, and exactly the bytes from its first to its last address. Nothing is padded, so that a
//! frame of 4 KB ends where the address is a multiple of that. A read that gives no bytes ends a
//! set of data; it leaves no trace in a file, or an element of zeros where a program wrote one.
//!
//! [`Capture`] walks over the elements once and then is a source of its own: control records with
//! the elements as their entries, and frames in which the data is where their addresses say. All
//! that reads MONWRITE files reads captures so; [`Capture::original`] leads back to the file.

use std::sync::Arc;

use super::control::{self, ENTRY, Entry, MAX_ENTRIES};
use super::element::{BEGIN, element};
use super::index::Index;
use super::scan;
use crate::problem::{ProblemKind, ProblemLog};
use crate::source::Error;
use crate::source::{PAGE, ReadAt, WINDOW, read_full};

/// Elements between checks whether to continue.
const REPORT_EVERY: usize = 4096;

/// One element and where its data is.
#[derive(Clone, Copy, Debug)]
struct ElementData {
    /// Start of its frames as MONWRITE would have written them.
    shown: u64,
    /// Position of its first byte in the file.
    at: u64,
    entry: Entry,
}

impl ElementData {
    fn len(&self) -> u64 {
        u64::from(self.entry.end - self.entry.start) + 1
    }

    fn shown_end(&self) -> u64 {
        self.shown + u64::from(self.entry.pages()) * PAGE as u64
    }
}

/// A control record: elements that follow each other.
#[derive(Clone, Copy, Debug)]
struct ControlSet {
    shown: u64,
    first: usize,
    count: usize,
}

/// A capture of the live stream.
pub struct Capture {
    source: Arc<dyn ReadAt>,
    pieces: Vec<ElementData>,
    sets: Vec<ControlSet>,
    size: u64,
    /// Bytes of elements and of their data.
    read: u64,
    problems: ProblemLog,
}

/// Result of reading an element.
enum ElementRead {
    Element(Entry, bool),
    /// Twelve bytes of zeros, where a program wrote down that a set of data ended.
    Nothing,
    Other,
}

impl Capture {
    /// Maximum number of elements.
    pub const MAX_ELEMENTS: usize = 2_000_000;

    /// Walks over the elements of a file. `progress` gets the bytes done and the total, and
    /// stops the walk by saying false.
    ///
    /// Bad input is no error: it is in the problems.
    ///
    /// # Errors
    /// If the first bytes cannot be read, or `progress` says stop.
    pub fn walk(
        source: Arc<dyn ReadAt>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, Error> {
        let mut capture = Self {
            source,
            pieces: Vec::new(),
            sets: Vec::new(),
            size: 0,
            read: 0,
            problems: ProblemLog::default(),
        };
        let size = capture.source.size();
        let mut begin = [0; BEGIN];
        if let Err(source) = read_full(&*capture.source, 0, &mut begin) {
            return Err(Error::Io { offset: 0, source });
        }
        let (mut at, mut whole, mut zeros) = (0, true, false);
        while at < size {
            if capture.pieces.len().is_multiple_of(REPORT_EVERY) && !progress(at, size) {
                return Err(Error::Stopped);
            }
            if capture.pieces.len() >= Self::MAX_ELEMENTS {
                let rest = size - at;
                capture.problems.add(ProblemKind::Resync, at, rest, None, || {
                    format!(
                        "{} control elements were read, which is the limit; {rest} bytes are not read",
                        Self::MAX_ELEMENTS
                    )
                });
                whole = false;
                break;
            }
            let found = capture.found(at);
            let ended = std::mem::replace(&mut zeros, matches!(found, ElementRead::Nothing));
            match found {
                ElementRead::Nothing if !ended => {
                    capture.read += ENTRY as u64;
                    at += ENTRY as u64;
                }
                ElementRead::Element(entry, begins) => {
                    (at, whole) = capture.take(at, entry, begins, progress)?;
                }
                ElementRead::Other | ElementRead::Nothing => {
                    let next = capture.search(at + 1, size, progress)?;
                    capture.skipped(at, next, size);
                    whole = next.is_some();
                    at = next.unwrap_or(size);
                }
            }
        }
        capture.end(whole);
        Ok(capture)
    }

    /// Finds its records, as [`index()`](super::index()) does those of a file.
    ///
    /// # Errors
    /// If nothing at all can be read, or `progress` says stop.
    pub fn index(&self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Index, Error> {
        scan::walk(self, 0, true, progress)
    }

    /// Problems in the input; offsets are those of the file.
    #[must_use]
    pub const fn problems(&self) -> &ProblemLog {
        &self.problems
    }

    /// Number of bytes of the file that are elements and their data; the others are those of the problems.
    #[must_use]
    pub const fn read_bytes(&self) -> u64 {
        self.read
    }

    /// Offset in the file of a byte; for what was added, where it was added.
    #[must_use]
    pub fn original(&self, shown: u64) -> u64 {
        let after = self.pieces.partition_point(|piece| piece.shown <= shown);
        let next = || {
            self.pieces
                .get(after)
                .map_or(self.source.size(), |piece| piece.at - ENTRY as u64)
        };
        let Some(piece) = after
            .checked_sub(1)
            .and_then(|number| self.pieces.get(number))
        else {
            return next();
        };
        if shown >= piece.shown_end() {
            return next();
        }
        let within = (shown - piece.shown).saturating_sub(piece.entry.first() as u64);
        piece.at + within.min(piece.len())
    }

    /// Offset in the file of the end of the data of an element, whose frames reach up to `shown`.
    #[must_use]
    pub fn original_end(&self, shown: u64) -> u64 {
        let before = self.pieces.partition_point(|piece| piece.shown < shown);
        before
            .checked_sub(1)
            .and_then(|number| self.pieces.get(number))
            .map_or(0, |piece| piece.at + piece.len())
    }

    /// Position in the stream of a byte of the file.
    #[must_use]
    pub fn shown(&self, original: u64) -> u64 {
        let after = self.pieces.partition_point(|piece| piece.at <= original);
        let Some(piece) = after
            .checked_sub(1)
            .and_then(|number| self.pieces.get(number))
        else {
            return 0;
        };
        let within = original - piece.at;
        if within > piece.len() {
            return piece.shown_end();
        }
        piece.shown + piece.entry.first() as u64 + within
    }

    fn found(&self, at: u64) -> ElementRead {
        let mut bytes = [0; BEGIN];
        let got = read_full(&*self.source, at, &mut bytes).unwrap_or(0);
        if got >= ENTRY && bytes[..ENTRY].iter().all(|&byte| byte == 0) {
            return ElementRead::Nothing;
        }
        match element(&bytes[..got]) {
            Some((entry, begins)) => ElementRead::Element(entry, begins),
            None => ElementRead::Other,
        }
    }

    /// Whether the capture can continue at an offset.
    fn goes_on(&self, at: u64) -> bool {
        at == self.source.size() || !matches!(self.found(at), ElementRead::Other)
    }

    /// Takes the element at `at`; where the next one may be, and whether this one was whole.
    fn take(
        &mut self,
        at: u64,
        entry: Entry,
        begins: bool,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<(u64, bool), Error> {
        let size = self.source.size();
        let data = at + ENTRY as u64;
        let length = u64::from(entry.end - entry.start) + 1;
        let end = data + length;
        if end <= size && self.goes_on(end) {
            self.keep(data, entry);
            return Ok((end, true));
        }
        // Its length is wrong, or what follows it is damaged, or the file ends inside its data.
        let next = self.search(data, size, progress)?;
        if !begins && next.is_none_or(|next| next > end) {
            self.skipped(at, next, size);
            return Ok((next.unwrap_or(size), false));
        }
        let there = next.unwrap_or(size).min(end);
        let last = (there - data).checked_sub(1).filter(|&last| last > 0);
        if let Some(last) = last {
            let cut = Entry {
                end: entry.start + last as u32,
                ..entry
            };
            self.keep(data, cut);
        }
        let lost = if last.is_some() { 0 } else { there - at };
        match next {
            Some(next) if next < end => {
                let bytes = next - data;
                self.problems.add(ProblemKind::Length, at, lost, None, || {
                    format!(
                        "the control element says that {length} bytes follow, but another one is \
                         after {bytes}; those are read"
                    )
                });
                Ok((next, true))
            }
            Some(next) => {
                self.skipped(end, Some(next), size);
                Ok((next, true))
            }
            None if end > size => {
                let missing = end - size;
                let from = size - lost;
                self.problems
                    .add(ProblemKind::Truncated, from, lost, None, || {
                        format!(
                            "the file ends inside the data of the control element at offset {at}: \
                         {missing} bytes of {length} are missing"
                        )
                    });
                Ok((size, false))
            }
            None => {
                self.skipped(end, None, size);
                Ok((size, false))
            }
        }
    }

    fn keep(&mut self, at: u64, entry: Entry) {
        let shown = match self.sets.last_mut() {
            Some(set) if set.count < MAX_ENTRIES => {
                set.count += 1;
                self.size
            }
            _ => {
                self.sets.push(ControlSet {
                    shown: self.size,
                    first: self.pieces.len(),
                    count: 1,
                });
                self.size + PAGE as u64
            }
        };
        let piece = ElementData { shown, at, entry };
        self.size = piece.shown_end();
        self.read += ENTRY as u64 + piece.len();
        self.pieces.push(piece);
    }

    fn skipped(&mut self, at: u64, next: Option<u64>, size: u64) {
        let bytes = next.unwrap_or(size) - at;
        let kind = if next.is_none() && self.pieces.is_empty() {
            ProblemKind::Header
        } else if next.is_none() && bytes < BEGIN as u64 {
            ProblemKind::Truncated
        } else {
            ProblemKind::Resync
        };
        let to = match next {
            Some(_) => "the next control element",
            None => "the end of the file",
        };
        self.problems.add(kind, at, bytes, None, || {
            let what = if kind == ProblemKind::Truncated {
                "the file ends inside a control element"
            } else {
                "no control element here"
            };
            format!("{what}; {bytes} bytes skipped to {to}")
        });
    }

    /// Returns the next offset from `from` on at which an element surely begins.
    fn search(
        &self,
        from: u64,
        size: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Option<u64>, Error> {
        let mut buffer = vec![0; WINDOW];
        let mut at = from;
        while at + BEGIN as u64 <= size {
            if !progress(at, size) {
                return Err(Error::Stopped);
            }
            let Ok(got) = read_full(&*self.source, at, &mut buffer) else {
                return Ok(None);
            };
            if got < BEGIN {
                return Ok(None);
            }
            let bytes = &buffer[..got];
            let mut place = 0;
            // Almost all offsets are rejected here.
            while let Some(next) = bytes[place..=got - BEGIN]
                .iter()
                .position(|byte| matches!(byte, 0xE2 | 0xC5))
            {
                place += next;
                if let Some((entry, true)) = element(&bytes[place..]) {
                    let found = at + place as u64;
                    let end = found + ENTRY as u64 + u64::from(entry.end - entry.start) + 1;
                    if end > size || self.goes_on(end) {
                        return Ok(Some(found));
                    }
                }
                place += 1;
                if place > got - BEGIN {
                    break;
                }
            }
            at += (got - BEGIN + 1) as u64;
        }
        Ok(None)
    }

    /// A stream has no end of its own: an end-of-data record is where its last element is whole.
    fn end(&mut self, whole: bool) {
        if whole && !self.pieces.is_empty() {
            self.sets.push(ControlSet {
                shown: self.size,
                first: self.pieces.len(),
                count: 0,
            });
            self.size += PAGE as u64;
        }
    }

    /// The control record of a set.
    fn control(&self, number: usize) -> [u8; PAGE] {
        let ControlSet { first, count, .. } = self.sets[number];
        let pieces = self.pieces.get(first..first + count).unwrap_or(&[]);
        let entries: Vec<Entry> = pieces.iter().map(|piece| piece.entry).collect();
        control::encode(&entries, number as u32)
    }
}

impl ReadAt for Capture {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            if at >= self.size {
                break;
            }
            let set = self.sets.partition_point(|set| set.shown <= at) - 1;
            let out = &mut buf[done..];
            let in_control = (at - self.sets[set].shown) as usize;
            if in_control < PAGE {
                let count = out.len().min(PAGE - in_control);
                out[..count].copy_from_slice(&self.control(set)[in_control..in_control + count]);
                done += count;
                continue;
            }
            let piece = &self.pieces[self.pieces.partition_point(|piece| piece.shown <= at) - 1];
            let data = piece.shown + piece.entry.first() as u64;
            let end = data + piece.len();
            let (stop, filled) = if at < data {
                (data, None)
            } else if at < end {
                (end, Some(piece.at + (at - data)))
            } else {
                (piece.shown_end(), None)
            };
            let count = usize::try_from(stop - at).map_or(out.len(), |room| room.min(out.len()));
            match filled {
                None => {
                    out[..count].fill(0);
                    done += count;
                }
                Some(from) => match read_full(&*self.source, from, &mut out[..count]) {
                    Ok(got) => {
                        done += got;
                        if got < count {
                            break;
                        }
                    }
                    Err(error) if done == 0 => return Err(error),
                    Err(_) => break,
                },
            }
        }
        Ok(done)
    }

    fn size(&self) -> u64 {
        self.size
    }
}
