//! Decompression into a file without a name.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::format::Compression;
use super::input::Input;
use super::prefix::{LOOK, begin};
use super::sink::{Sink, SinkError};
use super::streams::{gzip, skippable, zstd};
use super::zip;
use crate::problem::{Problem, ProblemLog};
use crate::source::ReadAt;

/// Returns the first uncompressed bytes that the first bytes of the file contain: in a ZIP archive, those of the
/// first member that `wanted` accepts, else of the first member.
#[must_use]
pub fn peek_decompressed(head: &[u8], wanted: &dyn Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let packing = Compression::detect(head)?;
    let mut begun = Vec::with_capacity(LOOK);
    match packing {
        Compression::Gzip => begin(GzDecoder::new(head), &mut begun),
        Compression::Zip => return zip::peek_decompressed(head, wanted),
        Compression::Zstd => {
            let mut rest = head;
            while let Some(length) = skippable(rest) {
                rest = rest.get(8 + length as usize..)?;
            }
            begin(StreamingDecoder::new(rest).ok()?, &mut begun);
        }
    }
    (!begun.is_empty()).then_some(begun)
}

/// Error from decompressing a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read at byte {offset}: {source}")]
    Read {
        /// Its location.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Decompressed data cannot be written.
    #[error("decompressed data cannot be written to {folder}: {source}")]
    Write {
        /// Its destination.
        folder: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The caller said stop.
    #[error("stopped")]
    Stopped,
}

/// A file without a name that takes what is decompressed, of one file after another: thousands of compressed
/// files need not be thousands of open ones.
#[derive(Debug)]
struct ScratchFile {
    file: File,
    folder: PathBuf,
}

/// The spool in use, and where what comes next begins in it.
static SPOOL: Mutex<(Weak<ScratchFile>, u64)> = Mutex::new((Weak::new(), 0));

/// Decompressed data: a source of bytes, whose file is gone when all that share it are.
#[derive(Debug)]
pub struct Decompressed {
    spool: Arc<ScratchFile>,
    base: u64,
    size: u64,
    /// Its compression.
    pub packing: Compression,
    /// Members of an archive that were decompressed.
    pub members: u64,
    /// Problems of decompression; offsets are those of the decompressed bytes.
    pub problems: Vec<Problem>,
}

impl ReadAt for Decompressed {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buf.len().min(left);
        if count == 0 {
            return Ok(0);
        }
        self.spool
            .file
            .read_at(&mut buf[..count], self.base.saturating_add(offset))
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// Decompresses a file into one without a name in `folder`, at most `limit` bytes of it. Of an archive only
/// members that `wanted` says yes to, from their first bytes and size. `progress` is told how many
/// bytes of how many compressed ones are done, and stops it by saying false.
///
/// Damage is no error: what came before it is kept, and it is among the problems.
///
/// # Errors
/// If nothing at all can be read, what is decompressed cannot be written, or `progress` says stop.
pub fn decompress(
    source: &dyn ReadAt,
    packing: Compression,
    folder: &Path,
    limit: u64,
    wanted: &dyn Fn(&[u8], u64) -> bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Decompressed, Error> {
    let cannot = |source| Error::Write {
        folder: folder.to_owned(),
        source,
    };
    let mut current = SPOOL.lock().unwrap_or_else(PoisonError::into_inner);
    let spool = match current.0.upgrade().filter(|spool| spool.folder == folder) {
        Some(spool) => spool,
        None => {
            let file = tempfile::tempfile_in(folder).map_err(cannot)?;
            let folder = folder.to_owned();
            let spool = Arc::new(ScratchFile { file, folder });
            *current = (Arc::downgrade(&spool), 0);
            spool
        }
    };
    let base = current.1;
    let mut sink = Sink::new(&spool.file, base, limit, source.size(), progress);
    let mut input = Input::new(source, 0, source.size(), sink.done.clone());
    let mut problems = ProblemLog::default();
    match packing {
        Compression::Gzip => gzip(&mut input, &mut sink, &mut problems),
        Compression::Zip => zip::all(source, &mut sink, &mut problems, wanted),
        Compression::Zstd => zstd(&mut input, &mut sink, &mut problems),
    }
    let (size, members) = (sink.written(), sink.members());
    sink.finish().map_err(|ended| match ended {
        SinkError::Stopped => Error::Stopped,
        SinkError::Write(source) => cannot(source),
    })?;
    if let Some(source) = input.failed.take().filter(|_| size == 0) {
        let offset = input.position();
        return Err(Error::Read { offset, source });
    }
    current.1 = base + size;
    drop(current);
    Ok(Decompressed {
        spool,
        base,
        size,
        packing,
        members,
        problems: problems.rows(),
    })
}
