//! Packed files: gzip, ZIP and Zstandard, unpacked into a file without a name.
//!
//! Unpacking takes little memory whatever the bytes say, ends at a limit that is told to it, and
//! keeps what came before damage.

mod input;
mod sink;
mod zip;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::problem::{Problem, ProblemKind, ProblemLog};
use crate::source::ReadAt;
use input::Input;
use sink::Sink;

/// How much of what is packed is looked at to tell what it is.
pub const LOOK: usize = 64 * 1024;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip: one stream, or several one behind the other.
    Gzip,
    /// A ZIP archive; all its members are unpacked, one behind the other.
    Zip,
    /// Zstandard: one frame, or several one behind the other.
    Zstd,
}

impl Packing {
    /// How a file that begins so is packed, if it is.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Self::Gzip),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Self::Zstd),
            [skip, 0x2A, 0x4D, 0x18, ..] if skip >> 4 == 5 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zip => "ZIP",
            Self::Zstd => "Zstandard",
        }
    }
}

/// The first bytes of what is packed, as far as the first bytes of the file tell: of a ZIP archive the
/// first member that `wanted` says yes to, or else the first.
#[must_use]
pub fn peek(head: &[u8], wanted: &dyn Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let packing = Packing::of(head)?;
    let mut begun = Vec::with_capacity(LOOK);
    match packing {
        Packing::Gzip => begin(GzDecoder::new(head), &mut begun),
        Packing::Zip => return zip::peek(head, wanted),
        Packing::Zstd => {
            let mut rest = head;
            while let Some(length) = skippable(rest) {
                rest = rest.get(8 + length as usize..)?;
            }
            begin(StreamingDecoder::new(rest).ok()?, &mut begun);
        }
    }
    (!begun.is_empty()).then_some(begun)
}

/// Reads what can be read up to [`LOOK`] bytes.
fn begin(mut packed: impl Read, begun: &mut Vec<u8>) {
    let mut part = [0; 4096];
    while begun.len() < LOOK {
        match packed.read(&mut part) {
            Ok(count) if count > 0 => begun.extend_from_slice(&part[..count]),
            _ => break,
        }
    }
    begun.truncate(LOOK);
}

/// The length of a frame of Zstandard that holds no data, if one begins here.
fn skippable(bytes: &[u8]) -> Option<u32> {
    match *bytes {
        [magic, 0x2A, 0x4D, 0x18, a, b, c, d, ..] if magic >> 4 == 5 => {
            Some(u32::from_le_bytes([a, b, c, d]))
        }
        _ => None,
    }
}

/// Why a file could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("reading failed at byte {offset}: {source}")]
    Read {
        /// Where.
        offset: u64,
        /// What the operating system says.
        source: io::Error,
    },
    /// What is unpacked cannot be written.
    #[error("unpacked data cannot be written to {folder}: {source}")]
    Write {
        /// Where to.
        folder: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The caller said stop.
    #[error("stopped")]
    Stopped,
}

/// A file without a name that takes what is unpacked, of one file behind another: thousands of packed
/// files need not be thousands of open ones.
#[derive(Debug)]
struct Spool {
    file: File,
    folder: PathBuf,
}

/// The spool in use, and where what comes next begins in it.
static SPOOL: Mutex<(Weak<Spool>, u64)> = Mutex::new((Weak::new(), 0));

/// What was unpacked: a source of bytes, whose file is gone when all that share it are.
#[derive(Debug)]
pub struct Unpacked {
    spool: Arc<Spool>,
    base: u64,
    size: u64,
    /// How it was packed.
    pub packing: Packing,
    /// Members of an archive that were unpacked.
    pub members: u64,
    /// What could not be unpacked; offsets are those of the unpacked bytes.
    pub problems: Vec<Problem>,
}

impl ReadAt for Unpacked {
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

/// Unpacks a file into one without a name in `folder`, at most `limit` bytes of it. Of an archive only
/// members that `wanted` says yes to, from their first bytes and size. `progress` is told how many
/// bytes of how many packed ones are done, and stops it by saying false.
///
/// Damage is no error: what came before it is kept, and it is among the problems.
///
/// # Errors
/// If nothing at all can be read, what is unpacked cannot be written, or `progress` says stop.
pub fn unpack(
    source: &dyn ReadAt,
    packing: Packing,
    folder: &Path,
    limit: u64,
    wanted: &dyn Fn(&[u8], u64) -> bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Unpacked, Error> {
    let cannot = |source| Error::Write {
        folder: folder.to_owned(),
        source,
    };
    let mut current = SPOOL.lock().unwrap_or_else(PoisonError::into_inner);
    let spool = match current.0.upgrade().filter(|spool| spool.folder == folder) {
        Some(spool) => spool,
        None => {
            let file = nameless(folder).map_err(cannot)?;
            let folder = folder.to_owned();
            let spool = Arc::new(Spool { file, folder });
            *current = (Arc::downgrade(&spool), 0);
            spool
        }
    };
    let base = current.1;
    let mut sink = Sink::new(&spool.file, base, limit, source.size(), progress);
    let mut input = Input::new(source, 0, source.size(), sink.done.clone());
    let mut problems = ProblemLog::default();
    match packing {
        Packing::Gzip => gzip(&mut input, &mut sink, &mut problems),
        Packing::Zip => zip::all(source, &mut sink, &mut problems, wanted),
        Packing::Zstd => zstd(&mut input, &mut sink, &mut problems),
    }
    let (size, members) = (sink.written(), sink.members());
    sink.finish().map_err(|ended| match ended {
        sink::Ended::Stopped => Error::Stopped,
        sink::Ended::Write(source) => cannot(source),
    })?;
    if let Some(source) = input.failed.take().filter(|_| size == 0) {
        let offset = input.position();
        return Err(Error::Read { offset, source });
    }
    current.1 = base + size;
    drop(current);
    Ok(Unpacked {
        spool,
        base,
        size,
        packing,
        members,
        problems: problems.rows(),
    })
}

/// A file for reading and writing that has no name any more.
fn nameless(folder: &Path) -> io::Result<File> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("zlens-unpacked-{}-{next}", std::process::id()));
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
}

fn gzip(input: &mut Input<'_>, sink: &mut Sink<'_>, problems: &mut ProblemLog) {
    sink.member();
    loop {
        let copied = sink.copy(&mut GzDecoder::new(&mut *input));
        if !ended_well(copied, input.position(), sink, "gzip", problems) {
            return;
        }
        match input.fill_buf() {
            Ok([]) | Err(_) => return,
            Ok([0x1F, 0x8B, ..]) => {}
            Ok(_) => return behind(input, sink, "gzip", problems),
        }
    }
}

fn zstd(input: &mut Input<'_>, sink: &mut Sink<'_>, problems: &mut ProblemLog) {
    sink.member();
    loop {
        let mut head = [0; 8];
        let count = input.peek(&mut head);
        if let Some(length) = skippable(&head[..count]) {
            input.skip(8 + u64::from(length));
            continue;
        }
        match &head[..count] {
            [] => return,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => {}
            _ => return behind(input, sink, "Zstandard", problems),
        }
        let copied = match StreamingDecoder::new(&mut *input) {
            Ok(mut decoder) => sink.copy(&mut decoder).and_then(|whole| {
                let stated = decoder.decoder.get_checksum_from_data();
                if !whole || stated.is_none() || stated == decoder.decoder.get_calculated_checksum()
                {
                    Ok(whole)
                } else {
                    Err(io::Error::other("their checksum is another"))
                }
            }),
            Err(error) => Err(io::Error::other(error)),
        };
        if !ended_well(copied, input.position(), sink, "Zstandard", problems) {
            return;
        }
    }
}

/// Whether a stream was copied to its end; what stopped it otherwise is a problem.
fn ended_well(
    copied: io::Result<bool>,
    position: u64,
    sink: &Sink<'_>,
    form: &str,
    problems: &mut ProblemLog,
) -> bool {
    let at = sink.written();
    match copied {
        Ok(true) => return true,
        Ok(false) => {
            if let Some(limit) = sink.at_limit() {
                problems.add(ProblemKind::Length, at, 0, None, || {
                    format!(
                        "unpacking was stopped at {limit} bytes, at byte {position} of the file: so \
                         much more than is packed is mostly no data; ZLENS_UNPACK_LIMIT=BYTES allows \
                         more"
                    )
                });
            }
        }
        Err(error) => {
            let short = error.kind() == io::ErrorKind::UnexpectedEof;
            let kind = if short {
                ProblemKind::Truncated
            } else {
                ProblemKind::Transfer
            };
            problems.add(kind, at, 0, None, || {
                format!(
                    "the {form} data are damaged or cut off near byte {position} of the file \
                     ({error}); what was unpacked before is read"
                )
            });
        }
    }
    false
}

/// Bytes behind the packed data.
fn behind(input: &mut Input<'_>, sink: &Sink<'_>, form: &str, problems: &mut ProblemLog) {
    let (from, rest) = (input.position(), input.rest());
    problems.add(ProblemKind::Length, sink.written(), 0, None, || {
        format!(
            "{rest} bytes behind the {form} data, from byte {from} of the file on, are not read"
        )
    });
}
