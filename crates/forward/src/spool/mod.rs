//! Records on disk between the thread that reads and the one that sends.
//!
//! Records are in segments, files that begin and end between sets of data. A record is flushed to disk before it can be
//! sent: what a receiver has was never lost here. Segments are removed when all their records are acknowledged. If there
//! is no space, the oldest complete segments are dropped if the source does not wait; the sender reports the missing
//! record numbers as a gap. So that no set arrives in part, three segments are never dropped: the first one, of which a
//! part may have arrived, the one that is being sent, and the one that is being written.

mod segment;

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use segment::SourcePosition;
use segment::{HEADER_LEN, Segment, StreamPosition, create_private, read_frame, read_header};

use crate::error::Error;
use crate::wire::{self, FrameKind, HEADER};

/// The smallest spool.
pub const MIN_SIZE: u64 = 1 << 20;
const MAX_SEGMENT_SIZE: u64 = 8 << 20;
const LOCK: &str = "lock";

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Begin, Data or Gap.
    pub kind: FrameKind,
    /// Whether it ends a set.
    pub flags: u8,
    /// At most [`wire::MAX_PAYLOAD`] bytes.
    pub payload: &'a [u8],
}

/// Result of appending records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendResult {
    /// They are on disk; this many bytes of older ones were dropped for it.
    Done {
        /// Bytes of the source.
        dropped: u64,
    },
    /// There is no space for them.
    Full,
}

/// Result of reading at a cursor.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadResult {
    /// A frame, ready to be sent.
    Frame(Vec<u8>),
    /// Records that are gone.
    Missing(MissingRange),
    /// Nothing yet.
    Empty,
}

/// Records that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRange {
    /// The first one.
    pub from: u64,
    /// The next one that is there, or will be.
    pub next: u64,
    /// Their sets and bytes, where that is known.
    pub lost: Option<(u64, u64)>,
    /// Whether they were damaged on disk, not dropped.
    pub damaged: bool,
}

/// Position of the sender.
#[derive(Debug)]
pub struct Cursor {
    next: u64,
    place: Option<(u64, File, u64)>,
}

impl Cursor {
    /// The number of the record that comes next.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }
}

enum PinnedSegment {
    Segment(Segment),
    Missing(MissingRange),
    Nothing,
}

/// The spool. All its methods may be called from any thread.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    limit: u64,
    stream: [u8; 16],
    inner: Mutex<Inner>,
    changed: Condvar,
    _lock: File,
}

#[derive(Debug)]
struct Inner {
    /// At least one after the first record; the last one is written to.
    segments: VecDeque<Segment>,
    writer: Option<File>,
    ids: u64,
    /// The segment that is being sent.
    pinned: u64,
    /// End of the last acknowledged segment.
    acked_end: Option<StreamPosition>,
    ended: bool,
}

impl Inner {
    fn end(&self) -> StreamPosition {
        self.segments
            .back()
            .map_or(StreamPosition::default(), |segment| segment.to)
    }

    fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// Drops the oldest segment that may be dropped; its bytes of the source.
    fn drop_oldest(&mut self) -> io::Result<Option<u64>> {
        let closed = self.segments.len().saturating_sub(1);
        // Of the first one, a part may have arrived.
        let oldest = (1..closed).find(|&index| self.segments[index].id != self.pinned);
        let Some(segment) = oldest.and_then(|index| self.segments.remove(index)) else {
            return Ok(None);
        };
        fs::remove_file(&segment.path)?;
        Ok(Some(segment.to.bytes - segment.from.bytes))
    }
}

impl Spool {
    /// Opens a spool, or makes it. What was not whole when the program was killed is cut off.
    ///
    /// # Errors
    /// If another forwarder uses it, or it cannot be read or written.
    pub fn open(folder: &Path, limit: u64) -> Result<Self, Error> {
        let fail = |reason: String| Error::Spool {
            path: folder.to_owned(),
            reason,
        };
        let lock = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .and_then(|()| create_private(&folder.join(LOCK)))
            .map_err(|error| fail(error.to_string()))?;
        if lock.try_lock().is_err() {
            return Err(fail(
                "in use by another forwarder; use a separate --spool for each".to_owned(),
            ));
        }
        Self::load(folder, limit, lock).map_err(|error| fail(error.to_string()))
    }

    fn load(folder: &Path, limit: u64, lock: File) -> io::Result<Self> {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "seg"))
            .collect();
        paths.sort();
        let mut found: Vec<(Segment, [u8; 16])> = Vec::new();
        for (path, id) in paths.into_iter().zip(1..) {
            match Segment::open(path.clone(), id)? {
                Some(one) => found.push(one),
                None => fs::remove_file(path)?,
            }
        }
        let stream = match found.last() {
            Some((_, stream)) => *stream,
            None => random()?,
        };
        found.retain(|(_, other)| *other == stream);
        let mut segments: VecDeque<Segment> =
            found.into_iter().map(|(segment, _)| segment).collect();
        for index in 0..segments.len() {
            let before = segments.get(index + 1).map(|next| next.from.sequence);
            segments[index].walk(before, before.is_none())?;
        }
        let mut inner = Inner {
            pinned: 0,
            ids: segments.back().map_or(0, |segment| segment.id),
            segments,
            writer: None,
            acked_end: None,
            ended: false,
        };
        inner.writer = inner.segments.back().map(Segment::append).transpose()?;
        let spool = Self {
            folder: folder.to_owned(),
            limit,
            stream,
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            _lock: lock,
        };
        spool.begin()?;
        Ok(spool)
    }

    /// The first segment is made at once: it keeps the name of the stream.
    fn begin(&self) -> io::Result<()> {
        let mut inner = self.inner();
        if inner.segments.is_empty() {
            self.rotate(&mut inner)?;
        }
        Ok(())
    }

    /// The name of the stream: another spool has another one.
    #[must_use]
    pub fn stream(&self) -> String {
        self.stream
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The number of the next record that is appended.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.inner().end().sequence
    }

    /// Position up to which the source was read.
    #[must_use]
    pub fn mark(&self) -> SourcePosition {
        self.inner().end().mark
    }

    /// Appends records that belong together: all of them or none. If there is no space, `drop_oldest` drops what is
    /// oldest.
    ///
    /// # Errors
    /// If the disk cannot be written; then they are not in the spool.
    pub fn append(&self, records: &[Record<'_>], drop_oldest: bool) -> io::Result<AppendResult> {
        let mut inner = self.inner();
        let need: u64 = records
            .iter()
            .map(|record| (HEADER + record.payload.len()) as u64)
            .sum();
        let mut dropped = 0;
        while inner.size() + HEADER_LEN + need > self.limit {
            if !drop_oldest {
                return Ok(AppendResult::Full);
            }
            match inner.drop_oldest()? {
                Some(bytes) => dropped += bytes,
                None => return Ok(AppendResult::Full),
            }
        }
        let segment_bytes = (self.limit / 16).min(MAX_SEGMENT_SIZE);
        let full = inner
            .segments
            .back()
            .is_none_or(|segment| segment.size >= segment_bytes);
        if full || inner.writer.is_none() {
            self.rotate(&mut inner)?;
        }
        let mut count = inner.end();
        let written = write(inner.writer.as_mut(), records, &mut count);
        let Inner {
            segments, writer, ..
        } = &mut *inner;
        if let Some(segment) = segments.back_mut() {
            if let Err(error) = written {
                // What a failed flush left is unknown: the next records begin another segment.
                if let Some(file) = writer.take() {
                    let _ = file.set_len(segment.size);
                }
                return Err(error);
            }
            segment.to = count;
            segment.size += need;
        }
        self.changed.notify_all();
        Ok(AppendResult::Done { dropped })
    }

    fn rotate(&self, inner: &mut Inner) -> io::Result<()> {
        let from = inner.end();
        inner.ids += 1;
        let segment = Segment::create(&self.folder, inner.ids, self.stream, from)?;
        if inner
            .segments
            .back()
            .is_some_and(|last| last.path == segment.path)
        {
            inner.segments.pop_back();
        }
        inner.writer = Some(segment.append()?);
        inner.segments.push_back(segment);
        Ok(())
    }

    /// A cursor at a record.
    #[must_use]
    pub const fn cursor(&self, next: u64) -> Cursor {
        Cursor { next, place: None }
    }

    /// Reads at a cursor, which moves past it.
    ///
    /// # Errors
    /// If the disk cannot be read.
    pub fn read(&self, cursor: &mut Cursor) -> io::Result<ReadResult> {
        let segment = match self.pin(cursor.next) {
            PinnedSegment::Segment(segment) => segment,
            PinnedSegment::Missing(hole) => {
                cursor.next = hole.next;
                return Ok(ReadResult::Missing(hole));
            }
            PinnedSegment::Nothing => return Ok(ReadResult::Empty),
        };
        let place = match cursor.place.take().filter(|(id, ..)| *id == segment.id) {
            Some((_, file, at)) => Some((file, at)),
            None => {
                let file = File::open(&segment.path)?;
                segment.find(&file, cursor.next)?.map(|at| (file, at))
            }
        };
        if let Some((file, at)) = place
            && let Some(head) = read_header(&file, at, cursor.next)?
        {
            let bytes = read_frame(&file, at, head)?;
            if matches!(wire::decode(&bytes), Ok(Some(_))) {
                cursor.place = Some((segment.id, file, at + bytes.len() as u64));
                cursor.next += 1;
                return Ok(ReadResult::Frame(bytes));
            }
        }
        // The rest of the segment cannot be found.
        let from = cursor.next;
        cursor.next = segment.to.sequence;
        Ok(ReadResult::Missing(MissingRange {
            from,
            next: cursor.next,
            lost: None,
            damaged: true,
        }))
    }

    /// The segment that has a record, which is not dropped until another one is asked for.
    fn pin(&self, next: u64) -> PinnedSegment {
        let mut inner = self.inner();
        let mut later = inner.segments.iter();
        let Some(segment) = later.find(|segment| segment.to.sequence > next).cloned() else {
            return PinnedSegment::Nothing;
        };
        let first = segment.from;
        if first.sequence <= next {
            inner.pinned = segment.id;
            return PinnedSegment::Segment(segment);
        }
        let ends = inner.segments.iter().map(|segment| segment.to);
        let before = ends.chain(inner.acked_end).find(|to| to.sequence == next);
        PinnedSegment::Missing(MissingRange {
            from: next,
            next: first.sequence,
            lost: before.map(|to| (first.sets - to.sets, first.bytes - to.bytes)),
            damaged: false,
        })
    }

    /// All records before a number are with the receiver: their segments go.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn acknowledge(&self, next: u64) -> io::Result<()> {
        let mut inner = self.inner();
        while inner.segments.len() > 1 && inner.segments[0].to.sequence <= next {
            if let Some(segment) = inner.segments.pop_front() {
                inner.acked_end = Some(segment.to);
                fs::remove_file(&segment.path)?;
            }
        }
        self.changed.notify_all();
        Ok(())
    }

    /// The source ended: nothing is appended any more.
    pub fn end(&self) {
        self.inner().ended = true;
        self.changed.notify_all();
    }

    /// Whether the source ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.inner().ended
    }

    /// Waits for records from a number on, for the end, or for the time.
    pub fn wait(&self, next: u64, time: Duration) {
        let inner = self.inner();
        let nothing = |inner: &mut Inner| inner.end().sequence <= next && !inner.ended;
        drop(self.changed.wait_timeout_while(inner, time, nothing));
    }

    /// Waits for any change, or for the time.
    pub fn wait_for_room(&self, time: Duration) {
        drop(self.changed.wait_timeout(self.inner(), time));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(
    writer: Option<&mut File>,
    records: &[Record<'_>],
    count: &mut StreamPosition,
) -> io::Result<()> {
    let Some(file) = writer else {
        return Err(io::Error::other("no segment is open"));
    };
    let mut bytes = Vec::new();
    for record in records {
        bytes.clear();
        wire::encode(
            &mut bytes,
            record.kind,
            record.flags,
            count.sequence,
            record.payload,
        );
        file.write_all(&bytes)?;
        count.add(
            record.kind,
            record.flags,
            record.payload,
            record.payload.len(),
        );
    }
    file.sync_data()
}

fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
