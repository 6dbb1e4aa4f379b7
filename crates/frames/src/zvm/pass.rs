//! A later pass over a file: only the pages that may hold wanted records are read.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::index::{Index, PageData, WINDOW_PAGES};
use super::record::{HEADER, Header};
use super::types::{MAX_TYPES, NONE, TypeMap, TypeSet};
use crate::problem::{ProblemKind, ProblemLog};
use crate::source::{PAGE, ReadAt, WINDOW, read_full};
use crate::window::{RecordRef, Window, Windows};

/// The state of a pass, without what it reads from.
pub(crate) struct Cursor {
    /// Slot in `lists` by number of type.
    slots: Vec<u16>,
    wanted: TypeSet,
    lists: Vec<Vec<RecordRef>>,
    buffer: Vec<u8>,
    /// The next window, and the page of it to begin with.
    next: usize,
    page: usize,
    /// Bytes whose records are not returned, in order and apart from each other.
    without: Arc<[Range<u64>]>,
    problems: ProblemLog,
}

impl Cursor {
    /// From the window on that holds the page at `from`.
    pub(crate) fn new(wanted: &[u16], from: u64) -> Self {
        let mut slots = vec![NONE; MAX_TYPES];
        let mut set = TypeSet::NONE;
        for (slot, &id) in (0..).zip(wanted) {
            if let Some(place) = slots.get_mut(usize::from(id)) {
                *place = slot;
                set.insert(id);
            }
        }
        Self {
            slots,
            wanted: set,
            lists: vec![Vec::new(); wanted.len()],
            buffer: vec![0; WINDOW],
            next: usize::try_from(from / WINDOW as u64).unwrap_or(usize::MAX),
            page: 0,
            without: Arc::new([]),
            problems: ProblemLog::default(),
        }
    }

    pub(crate) fn next_window(
        &mut self,
        source: &dyn ReadAt,
        index: &Index,
    ) -> io::Result<Option<Window<'_>>> {
        loop {
            let Some((number, map)) = index.next_window_with(self.wanted, self.next) else {
                self.next = usize::MAX;
                return Ok(None);
            };
            if number > self.next {
                self.page = 0;
            }
            self.lists.iter_mut().for_each(Vec::clear);
            let place = number as u64 * WINDOW as u64;
            // Where pages of a window do not follow each other in the file, each part is one of its own.
            let begin = self.page;
            let span = index.spans.run_containing(place + (begin * PAGE) as u64);
            let behind = usize::try_from((span.end - place) / PAGE as u64).unwrap_or(usize::MAX);
            let behind = behind.min(WINDOW_PAGES);
            (self.next, self.page) = match behind {
                WINDOW_PAGES => (number + 1, 0),
                _ => (number, behind),
            };
            let base = span.file_offset + (place + (begin * PAGE) as u64 - span.logical_offset);
            let size = index.size.saturating_sub(base);
            let mut read = 0;
            for (first, end) in map.stretches(begin..behind, self.wanted) {
                let (from, to) = ((first - begin) * PAGE, (end - begin) * PAGE);
                let to = usize::try_from(size).map_or(to, |size| to.min(size));
                let from = from.min(to);
                let got = read_full(source, base + from as u64, &mut self.buffer[from..to])?;
                read = from + got;
                for page in first..end {
                    if let Some(data) = map.pages[page].unpack()
                        && map.types[page].meets(self.wanted)
                    {
                        self.page(&index.map, base, (page - begin) * PAGE, read, data);
                    }
                }
                if read < to {
                    let at = base + read as u64;
                    let missing = index.size - at;
                    self.problems
                        .add(ProblemKind::Changed, at, missing, None, || {
                            "the file has become shorter since it was opened".to_owned()
                        });
                    self.next = usize::MAX;
                    break;
                }
            }
            self.leave_out(base, read);
            if self.lists.iter().any(|list| !list.is_empty()) {
                return Ok(Some(Window {
                    base,
                    bytes: &self.buffer[..read],
                    lists: &self.lists,
                    places: None,
                }));
            }
        }
    }

    /// Takes the records that begin in bytes not to be read off the lists of a window.
    fn leave_out(&mut self, base: u64, read: usize) {
        let first = self.without.partition_point(|range| range.end <= base);
        let ranges = &self.without[first..];
        if ranges
            .first()
            .is_none_or(|range| range.start >= base + read as u64)
        {
            return;
        }
        for list in &mut self.lists {
            list.retain(|record| {
                let at = base + u64::from(record.pos);
                let place = ranges.partition_point(|range| range.end <= at);
                ranges.get(place).is_none_or(|range| at < range.start)
            });
        }
    }

    /// Notes the wanted records of the page at `at` in the window, of which there are bytes up to
    /// `read`.
    #[inline]
    fn page(&mut self, map: &TypeMap, base: u64, at: usize, read: usize, data: PageData) {
        let end = (at + data.end).min(read);
        let bytes = &self.buffer[..end];
        let mut pos = at + data.start;
        while pos < end {
            let Some(header) = bytes[pos..].first_chunk::<HEADER>() else {
                break;
            };
            let word = Header::word(header);
            let Header {
                length: len,
                domain,
                record,
                ..
            } = Header::from_bytes(header);
            let length = usize::from(len);
            if length < HEADER || length > end - pos {
                break;
            }
            let type_id = map.get(data.class, domain, record);
            let slot = self
                .slots
                .get(usize::from(type_id))
                .copied()
                .unwrap_or(NONE);
            let mut list = self.lists.get_mut(usize::from(slot));
            // As in the first pass: within a run of like records the next offset is known before its
            // length is fetched.
            loop {
                if let Some(list) = &mut list {
                    list.push(RecordRef {
                        pos: pos as u32,
                        len,
                    });
                }
                pos += length;
                let next = bytes
                    .get(pos..pos + HEADER.max(length))
                    .and_then(<[u8]>::first_chunk);
                if next.is_none_or(|next| Header::word(next) != word) {
                    break;
                }
            }
        }
        if pos < at + data.end && read >= at + data.end {
            // The index found whole records here.
            self.problems.add(
                ProblemKind::Changed,
                base + pos as u64,
                (end - pos) as u64,
                None,
                || {
                    "an indexed record no longer exists: the file changed after it was opened"
                        .to_owned()
                },
            );
        }
    }
}

impl Index {
    /// The first `limit` records of a type: where each begins, and its bytes.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn first_records(
        &self,
        source: &dyn ReadAt,
        type_id: u16,
        limit: usize,
    ) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let mut found = Vec::new();
        let Some(kind) = self.types.get(usize::from(type_id)) else {
            return Ok(found);
        };
        let mut cursor = Cursor::new(&[type_id], self.spans.to_logical(kind.first_offset));
        while found.len() < limit {
            let Some(window) = cursor.next_window(source, self)? else {
                break;
            };
            let records = window.records(0).iter().take(limit - found.len());
            found.extend(
                records.map(|&record| (window.offset_of(record), window.bytes_of(record).to_vec())),
            );
        }
        Ok(found)
    }
}

/// A pass over the records of some types of a file. It owns what it needs, so that a stream can
/// keep it between calls.
pub struct Pass {
    source: Arc<dyn ReadAt>,
    index: Arc<Index>,
    cursor: Cursor,
}

impl Pass {
    /// A pass over the records of the types numbered `wanted` (indexes in [`Index::types`]); a type
    /// named twice is returned at its last index.
    #[must_use]
    pub fn new(source: Arc<dyn ReadAt>, index: Arc<Index>, wanted: &[u16]) -> Self {
        Self {
            source,
            index,
            cursor: Cursor::new(wanted, 0),
        }
    }

    /// The same pass without the records that begin in these bytes of the file; ranges in order, none in another.
    #[must_use]
    pub fn without(mut self, ranges: Arc<[Range<u64>]>) -> Self {
        self.cursor.without = ranges;
        self
    }
}

impl Windows for Pass {
    fn next_window(&mut self) -> io::Result<Option<Window<'_>>> {
        self.cursor.next_window(&*self.source, &self.index)
    }

    fn position(&self) -> u64 {
        let place = (self.cursor.next as u64)
            .saturating_mul(WINDOW as u64)
            .saturating_add((self.cursor.page * PAGE) as u64);
        self.index.spans.to_file_offset(place).min(self.index.size)
    }

    fn problems(&self) -> &ProblemLog {
        &self.cursor.problems
    }
}
