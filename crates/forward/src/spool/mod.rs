//! Records on disk between the thread that reads and the one that sends.
//!
//! Records are in segments, files that begin and end between sets of data. A record is flushed to disk before it can be
//! sent: what a receiver has was never lost here. Segments go when all their records are acknowledged. If there is no
//! room, the oldest whole segments are dropped where the source does not wait; the numbers of their records are then a
//! hole in the sequence, which the sender reports as a gap. The segment that is being sent is not dropped, so that no
//! set arrives in part, and neither is the one that is being written.

mod segment;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use segment::Mark;
use segment::{Count, START, Segment, frame_at, head_at};

use crate::error::Error;
use crate::wire::{self, HEADER, Kind};

/// The smallest spool.
pub const SMALLEST: u64 = 1 << 20;
const LARGEST_SEGMENT: u64 = 8 << 20;
const LOCK: &str = "lock";

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Begin, Data or Gap.
    pub kind: Kind,
    /// Whether it ends a set.
    pub flags: u8,
    /// At most [`wire::MOST`] bytes.
    pub payload: &'a [u8],
}

/// What became of records to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// They are on disk; so many bytes of older ones were dropped for it.
    Done {
        /// Bytes of the source.
        dropped: u64,
    },
    /// There is no room for them.
    Full,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A frame, ready to be sent.
    Frame(Vec<u8>),
    /// Records that are gone.
    Hole(Hole),
    /// Nothing yet.
    Nothing,
}

/// Records that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The first one.
    pub from: u64,
    /// The next one that is there, or will be.
    pub next: u64,
    /// Their sets and bytes, where that is known.
    pub lost: Option<(u64, u64)>,
    /// Whether they were damaged on disk, not dropped.
    pub damaged: bool,
}

/// Where the sender is.
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
    /// The segment that is being sent, or may have been sent in part.
    pinned: u64,
    /// Where the last acknowledged segment ended.
    gone: Option<Count>,
    ended: bool,
}

impl Inner {
    fn end(&self) -> Count {
        self.segments
            .back()
            .map_or(Count::default(), |segment| segment.to)
    }

    fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// Drops the oldest segment that may be dropped; its bytes of the source.
    fn drop_oldest(&mut self) -> io::Result<Option<u64>> {
        let closed = self.segments.len().saturating_sub(1);
        let oldest = self
            .segments
            .iter()
            .take(closed)
            .position(|segment| segment.id != self.pinned);
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
        let lock = fs::create_dir_all(folder)
            .and_then(|()| File::create(folder.join(LOCK)))
            .map_err(|error| fail(error.to_string()))?;
        if lock.try_lock().is_err() {
            return Err(fail(
                "another forwarder uses it; give each one its own --spool".to_owned(),
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
            pinned: segments.front().map_or(0, |segment| segment.id),
            ids: segments.back().map_or(0, |segment| segment.id),
            segments,
            writer: None,
            gone: None,
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
            inner.pinned = inner.ids;
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

    /// How far the source was read.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.inner().end().mark
    }

    /// Appends records that belong together: all of them or none. If there is no room, `drop_oldest` drops what is
    /// oldest.
    ///
    /// # Errors
    /// If the disk cannot be written; then they are not in the spool.
    pub fn append(&self, records: &[Record<'_>], drop_oldest: bool) -> io::Result<Append> {
        let mut inner = self.inner();
        let need: u64 = records
            .iter()
            .map(|record| (HEADER + record.payload.len()) as u64)
            .sum();
        let mut dropped = 0;
        while inner.size() + START + need > self.limit {
            if !drop_oldest {
                return Ok(Append::Full);
            }
            match inner.drop_oldest()? {
                Some(bytes) => dropped += bytes,
                None => return Ok(Append::Full),
            }
        }
        let segment_bytes = (self.limit / 16).min(LARGEST_SEGMENT);
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
        Ok(Append::Done { dropped })
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

    /// What is at a cursor, which moves behind it.
    ///
    /// # Errors
    /// If the disk cannot be read.
    pub fn read(&self, cursor: &mut Cursor) -> io::Result<Next> {
        let (end, place) = {
            let mut inner = self.inner();
            let here = cursor.place.as_ref().and_then(|(id, ..)| {
                let same = |segment: &&Segment| segment.id == *id;
                inner.segments.iter().find(same)
            });
            if let Some(segment) = here.filter(|segment| segment.to.sequence > cursor.next) {
                (segment.to.sequence, cursor.place.as_mut())
            } else {
                let later = |segment: &&Segment| segment.to.sequence > cursor.next;
                let Some(segment) = inner.segments.iter().find(later) else {
                    return Ok(Next::Nothing);
                };
                let first = segment.from;
                if first.sequence > cursor.next {
                    let from = cursor.next;
                    let before = |to: &Count| to.sequence == from;
                    let ends = inner.segments.iter().map(|segment| segment.to);
                    let lost = ends.chain(inner.gone).find(before);
                    (cursor.next, cursor.place) = (first.sequence, None);
                    return Ok(Next::Hole(Hole {
                        from,
                        next: first.sequence,
                        lost: lost.map(|to| (first.sets - to.sets, first.bytes - to.bytes)),
                        damaged: false,
                    }));
                }
                let file = File::open(&segment.path)?;
                let end = segment.to.sequence;
                let Some(at) = segment.find(&file, cursor.next)? else {
                    return Ok(damaged(cursor, end));
                };
                let id = segment.id;
                inner.pinned = id;
                (end, Some(cursor.place.insert((id, file, at))))
            }
        };
        let Some((_, file, at)) = place else {
            return Ok(Next::Nothing);
        };
        if let Some(head) = head_at(file, *at, cursor.next)? {
            let bytes = frame_at(file, *at, head)?;
            if matches!(wire::decode(&bytes), Ok(Some(_))) {
                *at += bytes.len() as u64;
                cursor.next += 1;
                return Ok(Next::Frame(bytes));
            }
        }
        Ok(damaged(cursor, end))
    }

    /// All records before a number are with the receiver: their segments go.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn acknowledge(&self, next: u64) -> io::Result<()> {
        let mut inner = self.inner();
        while inner.segments.len() > 1 && inner.segments[0].to.sequence <= next {
            if let Some(segment) = inner.segments.pop_front() {
                inner.gone = Some(segment.to);
                fs::remove_file(&segment.path)?;
                if inner.pinned == segment.id {
                    inner.pinned = inner.segments[0].id;
                }
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

/// The rest of a segment is lost.
fn damaged(cursor: &mut Cursor, end: u64) -> Next {
    let from = cursor.next;
    (cursor.next, cursor.place) = (end, None);
    Next::Hole(Hole {
        from,
        next: end,
        lost: None,
        damaged: true,
    })
}

fn write(writer: Option<&mut File>, records: &[Record<'_>], count: &mut Count) -> io::Result<()> {
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
