//! Physical format of a dump: blocks, segments, or a stream of records.

use std::sync::Arc;

use super::identity::{Identity, Renamed};
use super::index::{BlockStats, Index};
use super::scan::{self, FirstPass};
use super::search::{FIRST, LAST, MIDDLE, SEGMENT, View};
use super::stamp::IntervalLayout;
use crate::problem::{ProblemKind, ProblemLog};
use crate::source::Error;
use crate::source::{ReadAt, WINDOW, read_full};
use crate::stream_map::{RecordStream, StreamMap};

/// How much is read beyond a window, so that the descriptor words and headers that are checked are
/// mostly at hand.
const AHEAD: usize = 64;

/// Finds the records of a dump in any of its physical forms: a stream of records, blocks of them
/// with short or extended descriptor words, records in segments, one form after another.
/// `progress` gets the bytes done and the total, and returns false to stop.
///
/// The returned source reads as a stream of records and is used with the index. Where `identities` tell several streams
/// of one system apart, all but the first have other names in it ([`Index::aliases`]).
///
/// # Errors
/// If nothing at all can be read, or `progress` says stop.
pub fn open(
    source: Arc<dyn ReadAt>,
    clocks: &[IntervalLayout],
    identities: &[Identity],
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<(Arc<dyn ReadAt>, Index), Error> {
    if let FirstPass::Stream(mut index) =
        scan::first_pass(&*source, clocks, identities, true, progress)?
    {
        return Ok((renamed(source, &mut index), *index));
    }
    let size = source.size();
    let mut half = |done: u64, _: u64| progress(done / 2, size);
    let walk = Deblocker::over(&*source, &mut half)?;
    let Deblocker {
        places,
        problems,
        forms,
        words,
        lost,
        ..
    } = walk;
    let places = Arc::new(places);
    let stream: Arc<dyn ReadAt> = Arc::new(RecordStream {
        source,
        places: Arc::clone(&places),
    });
    let mut second = |done: u64, total: u64| {
        let done = done.saturating_mul(size) / total.max(1);
        progress(
            if done >= size {
                size
            } else {
                size / 2 + done / 2
            },
            size,
        )
    };
    let FirstPass::Stream(mut index) =
        scan::first_pass(&*stream, clocks, identities, false, &mut second)?
    else {
        unreachable!("a scan of a stream does not request its format")
    };
    index.set_stream_map(&places, forms, words, problems, lost);
    Ok((renamed(stream, &mut index), *index))
}

/// The stream of records with the names of its streams.
fn renamed(source: Arc<dyn ReadAt>, index: &mut Index) -> Arc<dyn ReadAt> {
    let names = std::mem::take(&mut index.renamed);
    if names.is_empty() {
        source
    } else {
        Arc::new(Renamed { source, names })
    }
}

/// A record in segments of which the last has not come yet.
struct PartialRecord {
    /// Its start in the file and in the stream.
    at: u64,
    shown: u64,
    /// Its length in the stream, and in the file.
    length: u64,
    bytes: u64,
    segments: u64,
}

struct Deblocker<'s> {
    source: &'s dyn ReadAt,
    end: u64,
    places: StreamMap,
    problems: ProblemLog,
    forms: BlockStats,
    /// Bytes of descriptor words that the stream does not show.
    words: u64,
    /// Bytes of segments that no record could be made of.
    lost: u64,
    /// End and start of the block that is walked.
    block: Option<(u64, u64)>,
    open: Option<PartialRecord>,
}

impl<'s> Deblocker<'s> {
    fn over(
        source: &'s dyn ReadAt,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, Error> {
        let size = source.size();
        let mut walk = Self {
            source,
            end: size,
            places: StreamMap::new(size),
            problems: ProblemLog::default(),
            forms: BlockStats::default(),
            words: 0,
            lost: 0,
            block: None,
            open: None,
        };
        let mut buffer = vec![0; WINDOW + AHEAD];
        let mut at = 0;
        while at < walk.end {
            if !progress(at, size) {
                return Err(Error::Stopped);
            }
            let count = usize::try_from(size - at).map_or(buffer.len(), |n| n.min(buffer.len()));
            let got = read_full(source, at, &mut buffer[..count]).unwrap_or(0);
            if got < count {
                walk.end = at + got as u64;
            }
            at = walk.window(at, &buffer[..got], progress)?;
        }
        walk.abandon("the file ends before its last segment");
        // The pass over the stream meets what could not be read, and says so.
        walk.places.append(walk.end, size - walk.end);
        Ok(walk)
    }

    /// Walks what begins in a window; where to continue.
    fn window(
        &mut self,
        base: u64,
        bytes: &[u8],
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<u64, Error> {
        let view = View {
            source: self.source,
            end: self.end,
            base,
            bytes,
        };
        let mut at = base;
        while at < self.end && at < base + WINDOW as u64 {
            if self.places.is_full() {
                self.abandon("its last segment is not read");
                let rest = self.end - at;
                self.report_lost(ProblemKind::Length, at, rest, || {
                    format!(
                        "more than {} blocks and segments; the rest, {rest} bytes, is not read",
                        StreamMap::MAX_PIECES
                    )
                });
                return Ok(self.end);
            }
            at = self.next_segment(&view, at, progress)?;
        }
        Ok(at)
    }

    /// Processes what begins at `at`; where the next thing begins.
    fn next_segment(
        &mut self,
        view: &View<'_>,
        at: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<u64, Error> {
        if self.block.is_some_and(|(_, end)| at >= end) {
            self.block = None;
        }
        let plausible = view.header(at).is_some_and(|header| header.check().is_ok());
        if !plausible
            && let Some(block) = view.block(at)
            && (self.block.is_none() || view.block_is_consistent(at, block.length))
        {
            self.enter(at, block);
            return Ok(at + 4);
        }
        let limit = self.block.map_or(self.end, |(_, end)| end);
        let inside = self.block.is_some();
        let (length, bits) = view.segment(at).unwrap_or((0, 0));
        let next = at + length;
        let fits = length >= SEGMENT && next <= limit;
        let begun = self.open.is_some();
        match bits {
            0 if fits && (plausible || inside) => self.add_record(at, length),
            FIRST if fits && (inside || view.begins_spanned(at)) => self.begin_spanned(at, length),
            MIDDLE | LAST if fits && (inside || begun) => {
                self.add_segment(at, length, bits == LAST)
            }
            _ => return self.pass_through(view, at, limit, progress),
        }
        Ok(next)
    }

    fn enter(&mut self, at: u64, block: super::search::Block) {
        if let Some((begin, _)) = self.block {
            self.problems.add(ProblemKind::Length, begin, 0, None, || {
                format!("the length of the block here is wrong: another begins inside, at {at}")
            });
        }
        self.forms.blocks += 1;
        self.forms.extended += u64::from(block.extended);
        self.words += 4;
        self.block = Some((at, (at + block.length).min(self.end)));
    }

    fn add_record(&mut self, at: u64, length: u64) {
        self.abandon("a complete record comes before its last segment");
        self.places.append(at, length);
    }

    fn begin_spanned(&mut self, at: u64, length: u64) {
        self.abandon("another record begins before its last segment");
        let shown = self.places.logical_len;
        self.places.append(at, length);
        self.open = Some(PartialRecord {
            at,
            shown,
            length,
            bytes: length,
            segments: 1,
        });
    }

    fn add_segment(&mut self, at: u64, length: u64, last: bool) {
        let Some(mut open) = self.open.take() else {
            self.report_lost(ProblemKind::Truncated, at, length, || {
                format!(
                    "a segment of {length} bytes of a record whose first segment is not in the file \
                     before it; it is skipped"
                )
            });
            return;
        };
        self.places.append(at + 4, length - 4);
        open.length += length - 4;
        open.bytes += length;
        open.segments += 1;
        if !last {
            self.open = Some(open);
            return;
        }
        let Ok(whole) = u16::try_from(open.length) else {
            self.places.truncate(open.shown);
            let PartialRecord { at, bytes, .. } = open;
            self.report_lost(ProblemKind::Length, at, bytes, || {
                format!(
                    "a record of {} bytes in {} segments is longer than the longest that is read, \
                     65,535 bytes; it is skipped",
                    open.length, open.segments
                )
            });
            return;
        };
        self.places.record_joined(open.shown, whole);
        self.words += 4 * (open.segments - 1);
        self.forms.spanned += 1;
        self.forms.segments += open.segments;
    }

    /// Gives up the record whose last segment has not come.
    fn abandon(&mut self, why: &str) {
        let Some(open) = self.open.take() else {
            return;
        };
        self.places.truncate(open.shown);
        let PartialRecord {
            at,
            bytes,
            segments,
            ..
        } = open;
        self.report_lost(ProblemKind::Truncated, at, bytes, || {
            format!(
                "a record in segments is incomplete: {why}; {segments} segments of it, {bytes} bytes, \
                 are skipped"
            )
        });
    }

    fn report_lost(
        &mut self,
        kind: ProblemKind,
        at: u64,
        bytes: u64,
        detail: impl FnOnce() -> String,
    ) {
        self.lost += bytes;
        self.problems.add(kind, at, bytes, None, detail);
    }

    /// Bytes that are neither record nor block are passed through, for the pass over the stream to report.
    fn pass_through(
        &mut self,
        view: &View<'_>,
        at: u64,
        limit: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<u64, Error> {
        if let Some((begin, end)) = self.block {
            let ends_well = end == self.end || view.block(end).is_some();
            if ends_well || !view.continues(at) {
                self.abandon("the block is damaged before its last segment");
                self.places.append(at, limit - at);
                return Ok(limit);
            }
            self.problems.add(ProblemKind::Length, begin, 0, None, || {
                format!("the length of the block here is wrong: it ends inside the record at {at}")
            });
            self.block = None;
            return Ok(at);
        }
        self.abandon("other data comes before its last segment");
        let size = self.end;
        let mut going = true;
        let found = view.search(at + 1, size, &mut |at| {
            going = progress(at, size);
            going
        });
        if !going {
            return Err(Error::Stopped);
        }
        let mut next = found.unwrap_or(size);
        if next < size && next >= at + 5 && view.block(next - 4).is_some() {
            next -= 4;
        }
        self.places.append(at, next - at);
        Ok(next)
    }
}
