//! A file of the spool: a header, and frames as they are sent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::wire::{self, ENDS_SET, FrameHeader, FrameKind, HEADER};

const MAGIC: [u8; 4] = *b"ZFS1";
/// The length of a segment's header.
pub(super) const HEADER_LEN: u64 = 80;
const CHECKSUM_AT: usize = HEADER_LEN as usize - 4;
const TEMP_NAME: &str = "new";

/// Makes a file that only this user can access.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// Position in a source that can be read again: the file, by device and inode, and the next byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// The file's device.
    pub device: u64,
    /// The file's inode.
    pub inode: u64,
    /// The next byte.
    pub offset: u64,
}

/// Amount of a stream before a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamPosition {
    /// The record's number.
    pub sequence: u64,
    pub sets: u64,
    pub bytes: u64,
    pub mark: SourcePosition,
}

impl StreamPosition {
    /// Counts a record.
    pub fn add(&mut self, kind: FrameKind, flags: u8, payload: &[u8], length: usize) {
        self.sequence += 1;
        match kind {
            FrameKind::Data => {
                self.bytes += length as u64;
                self.sets += u64::from(flags & ENDS_SET);
                self.mark.offset += length as u64;
            }
            FrameKind::Begin => {
                let number = |key| {
                    wire::field(payload, key)
                        .and_then(|value| value.parse().ok())
                        .unwrap_or(0)
                };
                self.mark = SourcePosition {
                    device: number("device"),
                    inode: number("inode"),
                    offset: number("offset"),
                };
            }
            _ => {}
        }
    }
}

/// A segment on disk.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// Its number while the program runs.
    pub id: u64,
    pub path: PathBuf,
    pub from: StreamPosition,
    pub to: StreamPosition,
    /// Its bytes that count.
    pub size: u64,
}

impl Segment {
    /// Makes an empty one, whole or not at all.
    pub fn create(
        folder: &Path,
        id: u64,
        stream: [u8; 16],
        from: StreamPosition,
    ) -> io::Result<Self> {
        let path = folder.join(format!("{:020}.seg", from.sequence));
        let new = folder.join(TEMP_NAME);
        let mut file = create_private(&new)?;
        file.write_all(&encode(stream, from))?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(folder)?.sync_all()?;
        Ok(Self {
            id,
            path,
            from,
            to: from,
            size: HEADER_LEN,
        })
    }

    /// Opens one that is there; none if it is no segment.
    pub fn open(path: PathBuf, id: u64) -> io::Result<Option<(Self, [u8; 16])>> {
        let mut start = [0; HEADER_LEN as usize];
        let file = File::open(&path)?;
        match file.read_exact_at(&mut start, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(decode(&start).map(|(stream, from)| {
            let segment = Self {
                id,
                path,
                from,
                to: from,
                size: HEADER_LEN,
            };
            (segment, stream)
        }))
    }

    /// Walks over its frames up to a number, and to the last one that ends a set; `checked` reads their payloads.
    pub fn walk(&mut self, before: Option<u64>, checked: bool) -> io::Result<()> {
        let file = File::open(&self.path)?;
        let (mut count, mut at) = (self.from, self.size);
        while before.is_none_or(|before| count.sequence < before) {
            let Some(head) = read_header(&file, at, count.sequence)? else {
                break;
            };
            let read = checked || head.kind == FrameKind::Begin;
            let bytes = if read {
                read_frame(&file, at, head)?
            } else {
                Vec::new()
            };
            let payload = match wire::decode(&bytes) {
                Ok(Some((_, payload))) => payload,
                Ok(None) if !read => &[],
                _ => break,
            };
            count.add(head.kind, head.flags, payload, head.length);
            at += (HEADER + head.length) as u64;
            if head.kind != FrameKind::Data || head.flags & ENDS_SET != 0 {
                (self.to, self.size) = (count, at);
            }
        }
        Ok(())
    }

    /// Opens it for more, without what does not count.
    pub fn append(&self) -> io::Result<File> {
        let file = OpenOptions::new().append(true).open(&self.path)?;
        file.set_len(self.size)?;
        Ok(file)
    }

    /// Position of the frame of a number.
    pub fn find(&self, file: &File, sequence: u64) -> io::Result<Option<u64>> {
        let mut at = HEADER_LEN;
        for number in self.from.sequence..sequence {
            let Some(head) = read_header(file, at, number)? else {
                return Ok(None);
            };
            at += (HEADER + head.length) as u64;
        }
        Ok(Some(at))
    }
}

/// The beginning of the frame of a number; none if something else is there, or nothing.
pub(super) fn read_header(file: &File, at: u64, sequence: u64) -> io::Result<Option<FrameHeader>> {
    let mut bytes = [0; HEADER];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    Ok(FrameHeader::parse(&bytes).ok().filter(|head| {
        head.sequence == sequence
            && matches!(
                head.kind,
                FrameKind::Begin | FrameKind::Data | FrameKind::Gap
            )
    }))
}

/// The bytes of a frame; fewer if the file ends before.
pub(super) fn read_frame(file: &File, at: u64, head: FrameHeader) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER + head.length];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn encode(stream: [u8; 16], from: StreamPosition) -> [u8; HEADER_LEN as usize] {
    let mut bytes = [0; HEADER_LEN as usize];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..20].copy_from_slice(&stream);
    let numbers = [
        from.sequence,
        from.sets,
        from.bytes,
        from.mark.device,
        from.mark.inode,
        from.mark.offset,
    ];
    for (place, number) in bytes[20..68].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    let checksum = crc32fast::hash(&bytes[..CHECKSUM_AT]);
    bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; HEADER_LEN as usize]) -> Option<([u8; 16], StreamPosition)> {
    let checksum = crc32fast::hash(&bytes[..CHECKSUM_AT]).to_be_bytes();
    if bytes[..4] != MAGIC || bytes[CHECKSUM_AT..] != checksum {
        return None;
    }
    let mut stream = [0; 16];
    stream.copy_from_slice(&bytes[4..20]);
    let number = |nth: usize| {
        bytes[20 + nth * 8..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_be_bytes(*bytes))
    };
    let count = StreamPosition {
        sequence: number(0),
        sets: number(1),
        bytes: number(2),
        mark: SourcePosition {
            device: number(3),
            inode: number(4),
            offset: number(5),
        },
    };
    Some((stream, count))
}
