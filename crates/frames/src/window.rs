//! Windows of records, returned by a later pass over a file.

use std::io;

use crate::problem::ProblemLog;
use crate::stream_map::StreamMap;

/// Position of a record in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef {
    /// Its start in the bytes of the window.
    pub pos: u32,
    /// Its length; the window has at least this many bytes from `pos` on.
    pub len: u16,
}

/// A window: bytes, and where the wanted records are in them.
#[derive(Clone, Copy, Debug)]
pub struct Window<'p> {
    /// Offset of the first byte in what was read, which is the file unless that is shown in another form.
    pub base: u64,
    /// The bytes.
    pub bytes: &'p [u8],
    pub(crate) lists: &'p [Vec<RecordRef>],
    /// Offset of the bytes in the file, if the file is read as another format.
    pub(crate) places: Option<&'p StreamMap>,
}

impl<'p> Window<'p> {
    /// Returns the records of the type selected at index `slot`, in the order of the file.
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

    /// Start of a record of this window in the file.
    #[must_use]
    pub fn offset_of(&self, record: RecordRef) -> u64 {
        self.offset(record.pos)
    }

    /// Offset in the file of the byte at `pos`.
    #[inline]
    #[must_use]
    pub fn offset(&self, pos: u32) -> u64 {
        let shown = self.base + u64::from(pos);
        self.places
            .map_or(shown, |places| places.to_file_offset(shown))
    }
}

/// A pass over the records of some types of a file, window by window.
pub trait Windows {
    /// The next window that holds wanted records, or nothing at the end.
    ///
    /// # Errors
    /// Errors of the operating system. A file that has become shorter is a problem, not an error.
    fn next_window(&mut self) -> io::Result<Option<Window<'_>>>;

    /// Start of the next window, at the earliest.
    fn position(&self) -> u64;

    /// Differences from the index.
    fn problems(&self) -> &ProblemLog;
}
