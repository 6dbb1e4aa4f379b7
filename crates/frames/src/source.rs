//! Source of bytes: a file read by position, never mapped.
//!
//! A mapped file that shrinks kills the process, and mapped junk counts as memory; a positioned
//! read merely comes back short.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much is read at once: small enough for the processor's second cache, which is what makes the
/// walk fast.
pub const WINDOW: usize = 256 * 1024;

/// The size of a control record and of a frame (documented: MONWRITE writes 4 KB records, records
/// never span frames).
pub const PAGE: usize = 4096;

/// Bytes that can be read from any position.
pub trait ReadAt: Send + Sync {
    /// Reads up to `buf.len()` bytes from `offset` on; fewer only at the end, 0 at or past it.
    ///
    /// # Errors
    /// Errors of the operating system.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// Number of bytes when the source was opened.
    fn size(&self) -> u64;
}

/// The bytes of a source before an end; offsets stay those of the source.
pub struct BoundedSource {
    /// Source of the bytes.
    pub source: Arc<dyn ReadAt>,
    /// Their end.
    pub end: u64,
}

impl ReadAt for BoundedSource {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let room = self.size().saturating_sub(offset);
        let most = usize::try_from(room).unwrap_or(usize::MAX).min(buf.len());
        self.source.read_at(offset, &mut buf[..most])
    }

    fn size(&self) -> u64 {
        self.source.size().min(self.end)
    }
}

/// Error from building an index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing at all could be read.
    #[error("cannot be read at offset {offset}: {source}")]
    Io {
        /// Its location.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The progress callback said stop.
    #[error("stopped")]
    Stopped,
}

/// Change of a file since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// Nothing has this name any more.
    Vanished,
    /// Another file has this name.
    Replaced,
    /// It grew by this number of bytes.
    Grew(u64),
    /// It shrank by this number of bytes.
    Shrank(u64),
    /// It was written to and kept its size.
    Rewritten,
}

impl fmt::Display for FileChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vanished => write!(out, "the file has vanished since it was opened"),
            Self::Replaced => write!(out, "another file replaced it since it was opened"),
            Self::Grew(bytes) => write!(
                out,
                "the file has grown by {bytes} bytes since it was opened"
            ),
            Self::Shrank(bytes) => {
                write!(out, "the file has lost {bytes} bytes since it was opened")
            }
            Self::Rewritten => write!(out, "the file was written to since it was opened"),
        }
    }
}

/// Maximum number of files kept open; a process may have some hundred, and a folder may hold thousands.
const MAX_OPEN_FILES: usize = 100;
static OPEN_FILES: AtomicUsize = AtomicUsize::new(0);

/// A regular file. The first hundred stay open, so that nothing that happens to their names matters; others are opened
/// again for every read.
#[derive(Debug)]
pub struct FileSource {
    file: Option<File>,
    path: PathBuf,
    opened: Metadata,
}

impl FileSource {
    /// Opens a regular file; anything else (a folder, a pipe, a device) is an error.
    ///
    /// # Errors
    /// Errors of the operating system, or `InvalidInput` if it is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        // Asked before opening, for opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let file = File::open(path)?;
        let opened = file.metadata()?;
        let count = |kept: usize| (kept < MAX_OPEN_FILES).then_some(kept + 1);
        let keep = OPEN_FILES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        Ok(Self {
            file: keep.is_ok().then_some(file),
            path: path.to_owned(),
            opened,
        })
    }

    /// The name it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Change of the file since it was opened; `None` if it is unchanged.
    #[must_use]
    pub fn changed(&self) -> Option<FileChange> {
        let Ok(now) = fs::metadata(&self.path) else {
            return Some(FileChange::Vanished);
        };
        let was = &self.opened;
        if (now.dev(), now.ino()) != (was.dev(), was.ino()) {
            Some(FileChange::Replaced)
        } else if now.len() > was.len() {
            Some(FileChange::Grew(now.len() - was.len()))
        } else if now.len() < was.len() {
            Some(FileChange::Shrank(was.len() - now.len()))
        } else if (now.mtime(), now.mtime_nsec()) != (was.mtime(), was.mtime_nsec()) {
            Some(FileChange::Rewritten)
        } else {
            None
        }
    }
}

impl Drop for FileSource {
    fn drop(&mut self) {
        if self.file.is_some() {
            OPEN_FILES.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl ReadAt for FileSource {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            return file.read_at(buf, offset);
        }
        match self.changed() {
            // As if truncated: a file that took its name is not read instead.
            Some(FileChange::Vanished | FileChange::Replaced) => Ok(0),
            _ => File::open(&self.path)?.read_at(buf, offset),
        }
    }

    fn size(&self) -> u64 {
        self.opened.len()
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let count = buf.len().min(self.len() - start);
        buf[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }

    fn size(&self) -> u64 {
        self.len() as u64
    }
}

/// Reads until `buf` is full or there is no more; how much was read.
pub(crate) fn read_full(source: &dyn ReadAt, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match source.read_at(offset + done as u64, &mut buf[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What was read is worth having; the next read will say the same again.
            Err(_) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
