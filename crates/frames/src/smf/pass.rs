//! A later pass over a dump: only windows in which wanted records begin are read.

use std::io;
use std::sync::Arc;

use super::header::{HEAD, Header, SHORT};
use super::index::{Index, WindowSummary};
use super::kinds::KindSet;
use crate::problem::{ProblemKind, ProblemLog};
use crate::source::{ReadAt, WINDOW, read_full};
use crate::window::{RecordRef, Window, Windows};

/// The longest record there can be; it may begin in a window and end after it.
const LONGEST: usize = u16::MAX as usize;

/// A pass over the records of some types and subtypes of a file, of all systems in it.
pub struct Pass {
    source: Arc<dyn ReadAt>,
    index: Arc<Index>,
    wanted: Vec<(u8, u16)>,
    set: KindSet,
    lists: Vec<Vec<RecordRef>>,
    buffer: Vec<u8>,
    next: usize,
    /// The run in which the next window begins, at the earliest.
    stretch: usize,
    problems: ProblemLog,
}

impl Pass {
    /// A pass over records of the types and subtypes in `wanted`; those with
    /// an extended header are not among them.
    #[must_use]
    pub fn new(source: Arc<dyn ReadAt>, index: Arc<Index>, wanted: &[(u8, u16)]) -> Self {
        Self {
            source,
            set: index.set(wanted),
            index,
            wanted: wanted.to_vec(),
            lists: vec![Vec::new(); wanted.len()],
            buffer: vec![0; WINDOW + LONGEST],
            next: 0,
            stretch: 0,
            problems: ProblemLog::default(),
        }
    }

    /// Leaves out all windows before that numbered `window`.
    pub(crate) fn begin_at(&mut self, window: u64) {
        self.next = usize::try_from(window).unwrap_or(usize::MAX);
    }

    /// Notes the wanted records that begin at `base` or after it and before `stop`; how many bytes
    /// are at hand at the end, for the last record may run beyond what was.
    fn walk(&mut self, base: u64, stop: u64, mut got: usize) -> usize {
        let mut at = base;
        while at < stop {
            let stretches = &self.index.stretches;
            self.stretch += stretches[self.stretch..].partition_point(|stretch| stretch.end <= at);
            let Some(&stretch) = stretches.get(self.stretch) else {
                break;
            };
            at = at.max(stretch.start);
            while at < stretch.end.min(stop) {
                let place = (at - base) as usize;
                let rest = (stretch.end - at) as usize;
                if got < place + HEAD.min(rest) {
                    got = self.more(base, got, place + HEAD.min(rest));
                }
                let Some(header) = header(self.buffer.get(place..got).unwrap_or(&[])) else {
                    return self.differs(at, stop, got);
                };
                let length = usize::from(header.length);
                if length > rest {
                    return self.differs(at, stop, got);
                }
                at += length as u64;
                // After an extended header, sections are elsewhere than after the usual one.
                let usual = header.record == u16::from(self.buffer[place + 5]);
                let Some(slot) = self.slot(&header).filter(|_| usual) else {
                    continue;
                };
                if got < place + length {
                    got = self.more(base, got, place + length);
                    if got < place + length {
                        return self.differs(at - length as u64, stop, got);
                    }
                }
                self.lists[slot].push(RecordRef {
                    pos: place as u32,
                    len: header.length,
                });
            }
        }
        got
    }

    #[inline]
    fn slot(&self, header: &Header) -> Option<usize> {
        let subtype = header.subtype?;
        let record = (u8::try_from(header.record).ok()?, subtype);
        self.wanted.iter().position(|&wanted| wanted == record)
    }

    /// Continues reading up to `to` bytes from `base`; returns the number available.
    fn more(&mut self, base: u64, got: usize, to: usize) -> usize {
        let to = to.min(self.buffer.len());
        if got >= to {
            return got;
        }
        let read = read_full(&*self.source, base + got as u64, &mut self.buffer[got..to]);
        got + read.unwrap_or(0)
    }

    /// The file is not as the index found it: the rest of the window is left out.
    fn differs(&mut self, at: u64, stop: u64, got: usize) -> usize {
        let bytes = self.index.shown.min(stop) - at;
        let at = self.index.original(at);
        self.problems
            .add(ProblemKind::Changed, at, bytes, None, || {
                "an indexed record no longer exists: the file changed after it was opened"
                    .to_owned()
            });
        got
    }
}

impl Windows for Pass {
    fn next_window(&mut self) -> io::Result<Option<Window<'_>>> {
        loop {
            let rest = self.index.regions.get(self.next..).unwrap_or(&[]);
            let wanted = |region: &WindowSummary| region.kinds.meets(self.set);
            let Some(ahead) = rest.iter().position(wanted) else {
                self.next = usize::MAX;
                return Ok(None);
            };
            let number = self.next + ahead;
            self.next = number + 1;
            let window = number as u64 * WINDOW as u64;
            let base = window + u64::from(self.index.regions[number].first);
            let stop = window + WINDOW as u64;
            let count = (self.index.shown.min(stop) - base) as usize;
            let got = read_full(&*self.source, base, &mut self.buffer[..count])?;
            self.lists.iter_mut().for_each(Vec::clear);
            let got = self.walk(base, stop, got);
            if self.lists.iter().any(|list| !list.is_empty()) {
                return Ok(Some(Window {
                    base,
                    bytes: &self.buffer[..got],
                    lists: &self.lists,
                    places: self.index.places.as_deref(),
                }));
            }
        }
    }

    fn position(&self) -> u64 {
        (self.next as u64)
            .saturating_mul(WINDOW as u64)
            .min(self.index.shown)
    }

    fn problems(&self) -> &ProblemLog {
        &self.problems
    }
}

impl Index {
    /// Returns the records of some types and subtypes, of one system or of all, in the order of the
    /// file: where each begins, and its bytes. `take` stops it by an error.
    ///
    /// # Errors
    /// Errors of the operating system and of `take`.
    pub fn each(
        self: &Arc<Self>,
        source: &Arc<dyn ReadAt>,
        wanted: &[(u8, u16)],
        system: Option<[u8; 4]>,
        take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut pass = Pass::new(Arc::clone(source), Arc::clone(self), wanted);
        let mut here = Vec::new();
        while let Some(window) = pass.next_window()? {
            here.clear();
            for slot in 0..wanted.len() {
                here.extend_from_slice(window.records(slot));
            }
            here.sort_unstable_by_key(|record| record.pos);
            for &record in &here {
                let bytes = window.bytes_of(record);
                if system.is_none_or(|system| bytes.get(14..18) == Some(&system)) {
                    take(window.offset_of(record), bytes)?;
                }
            }
        }
        Ok(())
    }

    /// The first `limit` records of a type and subtype, of one system or of all: where each begins,
    /// and its bytes.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn first_records(
        self: &Arc<Self>,
        source: &Arc<dyn ReadAt>,
        wanted: (u8, u16),
        system: Option<[u8; 4]>,
        limit: usize,
    ) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let first = self.kinds.iter().filter(|info| {
            (info.kind.record, info.kind.subtype) == (u16::from(wanted.0), Some(wanted.1))
                && system.is_none_or(|system| info.kind.system == system)
        });
        let Some(from) = first.map(|info| info.first_shown).min() else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut pass = Pass::new(Arc::clone(source), Arc::clone(self), &[wanted]);
        pass.begin_at(from / WINDOW as u64);
        while found.len() < limit {
            let Some(window) = pass.next_window()? else {
                break;
            };
            for &record in window.records(0) {
                let bytes = window.bytes_of(record);
                let own = system.is_none_or(|system| bytes.get(14..18) == Some(&system));
                if own && found.len() < limit {
                    found.push((window.offset_of(record), bytes.to_vec()));
                }
            }
        }
        Ok(found)
    }
}

/// The header at the start of `bytes`, if it can be one.
#[inline]
fn header(bytes: &[u8]) -> Option<Header> {
    let header = match bytes.first_chunk() {
        Some(bytes) => Header::from_bytes(bytes),
        None => Header::parse(bytes)?,
    };
    (usize::from(header.length) >= SHORT).then_some(header)
}
