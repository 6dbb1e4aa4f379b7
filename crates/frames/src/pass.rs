//! A later pass over a file: only the windows that hold wanted records are read.

use std::io;
use std::sync::Arc;

use crate::index::{Index, PageData};
use crate::problem::{ProblemKind, ProblemLog};
use crate::record::{HEADER, Header};
use crate::source::{PAGE, ReadAt, WINDOW, read_full};
use crate::types::{MAX_TYPES, NONE, TypeSet};

/// Where a record lies in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef {
    /// Where it begins in the bytes of the window.
    pub pos: u32,
    /// Its length; the window has at least so many bytes from `pos` on, and it is never below that of a header.
    pub len: u16,
    /// The number of its type, an index into [`Index::types`].
    pub type_id: u16,
}

/// What a pass hands out at a time: bytes, and where the wanted records are in them.
#[derive(Clone, Copy, Debug)]
pub struct Window<'p> {
    /// Offset of the first byte in the file.
    pub base: u64,
    /// The bytes, at most [`WINDOW`] of them.
    pub bytes: &'p [u8],
    lists: &'p [Vec<RecordRef>],
}

impl<'p> Window<'p> {
    /// The records of the wanted type that was named at place `slot`, in the order of the file.
    #[must_use]
    pub fn records(&self, slot: usize) -> &'p [RecordRef] {
        self.lists.get(slot).map_or(&[], Vec::as_slice)
    }

    /// The bytes of a record of this window.
    #[must_use]
    pub fn bytes_of(&self, record: RecordRef) -> &'p [u8] {
        let pos = record.pos as usize;
        self.bytes
            .get(pos..pos + usize::from(record.len))
            .unwrap_or(&[])
    }

    /// Where a record of this window begins in the file.
    #[must_use]
    pub fn offset_of(&self, record: RecordRef) -> u64 {
        self.base + u64::from(record.pos)
    }
}

/// The state of a pass, without what it reads from.
pub(crate) struct Cursor {
    /// Slot in `lists` by number of type.
    slots: Vec<u16>,
    wanted: TypeSet,
    lists: Vec<Vec<RecordRef>>,
    buffer: Vec<u8>,
    next: usize,
    problems: ProblemLog,
}

impl Cursor {
    pub(crate) fn new(wanted: &[u16], from: u64) -> Self {
        let mut slots = vec![NONE; MAX_TYPES];
        let mut set = TypeSet::default();
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
            problems: ProblemLog::default(),
        }
    }

    pub(crate) fn next_window(
        &mut self,
        source: &dyn ReadAt,
        index: &Index,
    ) -> io::Result<Option<Window<'_>>> {
        loop {
            let Some(found) = index.next_window_with(&self.wanted, self.next) else {
                return Ok(None);
            };
            let base = found as u64 * WINDOW as u64;
            self.next = found + 1;
            let expected =
                usize::try_from(index.size - base).map_or(WINDOW, |rest| rest.min(WINDOW));
            let got = read_full(source, base, &mut self.buffer[..expected])?;
            if got < expected {
                self.next = usize::MAX;
                let missing = index.size - base - got as u64;
                self.problems.add(
                    ProblemKind::Changed,
                    base + got as u64,
                    missing,
                    None,
                    || format!("the file has lost its last {missing} bytes since it was opened"),
                );
            }
            self.lists.iter_mut().for_each(Vec::clear);
            let first_page = base / PAGE as u64;
            for (number, page) in self.buffer[..got].chunks(PAGE).enumerate() {
                let data = index.page(first_page + number as u64);
                if let Some(data) = data {
                    walk(
                        page,
                        number * PAGE,
                        base,
                        data,
                        index,
                        &self.slots,
                        &mut self.lists,
                        &mut self.problems,
                    );
                }
            }
            if self.lists.iter().any(|list| !list.is_empty()) {
                return Ok(Some(Window {
                    base,
                    bytes: &self.buffer[..got],
                    lists: &self.lists,
                }));
            }
        }
    }
}

/// Notes the wanted records of one page.
#[allow(
    clippy::too_many_arguments,
    reason = "the parts of a cursor, borrowed apart"
)]
#[inline]
fn walk(
    page: &[u8],
    at: usize,
    base: u64,
    data: PageData,
    index: &Index,
    slots: &[u16],
    lists: &mut [Vec<RecordRef>],
    problems: &mut ProblemLog,
) {
    let end = data.end.min(page.len());
    let records = &page[..end];
    let mut pos = data.start.min(end);
    while pos < end {
        let header = records[pos..].first_chunk::<HEADER>().map(Header::of);
        let id = match header {
            Some(Header {
                length,
                domain,
                record,
                ..
            }) if usize::from(length) >= HEADER && usize::from(length) <= end - pos => {
                let id = index.map.get(data.class, domain, record);
                if let Some(&slot) = slots.get(usize::from(id))
                    && let Some(list) = lists.get_mut(usize::from(slot))
                {
                    list.push(RecordRef {
                        pos: (at + pos) as u32,
                        len: length,
                        type_id: id,
                    });
                }
                pos += usize::from(length);
                continue;
            }
            _ => base + (at + pos) as u64,
        };
        // The index found whole records here: the file was written to since, or got shorter.
        problems.add(ProblemKind::Changed, id, (end - pos) as u64, None, || {
            "there is no record where there was one when the file was opened".to_owned()
        });
        return;
    }
}

/// A pass over the records of some types of a file. It owns what it needs, so that a stream can keep it between calls.
pub struct Pass {
    source: Arc<dyn ReadAt>,
    index: Arc<Index>,
    cursor: Cursor,
}

impl Pass {
    /// A pass over the records of the types numbered `wanted` (places in [`Index::types`]); a type named twice is
    /// handed out at its last place.
    #[must_use]
    pub fn new(source: Arc<dyn ReadAt>, index: Arc<Index>, wanted: &[u16]) -> Self {
        Self {
            source,
            index,
            cursor: Cursor::new(wanted, 0),
        }
    }

    /// The next window that holds wanted records, or nothing at the end.
    ///
    /// # Errors
    /// What the operating system reports. A file that has become shorter is no error but a problem.
    pub fn next_window(&mut self) -> io::Result<Option<Window<'_>>> {
        self.cursor.next_window(&*self.source, &self.index)
    }

    /// Where in the file the next window begins, at the earliest.
    #[must_use]
    pub fn position(&self) -> u64 {
        (self.cursor.next as u64)
            .saturating_mul(WINDOW as u64)
            .min(self.index.size)
    }

    /// What the pass found different from the index.
    #[must_use]
    pub const fn problems(&self) -> &ProblemLog {
        &self.cursor.problems
    }
}
