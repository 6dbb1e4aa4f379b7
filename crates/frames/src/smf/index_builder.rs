//! Builds the index: a record is counted once what follows confirms it.

use super::header::{Fault, Header};
use super::identity::{Identity, Streams};
use super::index::{Index, IntervalCount, RecordRun, WindowSummary};
use super::kinds::{KindSet, KindTable};
use super::stamp::{IntervalLayout, IntervalStamp};
use crate::problem::ProblemKind;
use crate::source::WINDOW;

use std::collections::HashMap;

/// A record whose header is plausible, and which counts when its length has led to another.
#[derive(Clone, Copy)]
pub(crate) struct PendingRecord {
    pub at: u64,
    pub header: Header,
    pub stamp: Option<IntervalStamp>,
    /// The fingerprint of its bytes.
    pub print: u64,
    /// Whether the name of its stream is not that of its system.
    pub renamed: bool,
}

/// Records that were skipped back to back for one reason.
struct SkippedRun {
    kind: ProblemKind,
    from: u64,
    bytes: u64,
    records: u64,
    record: Option<(u8, u16)>,
    why: String,
}

/// State of the index while it is built.
pub(crate) struct IndexBuilder {
    pub index: Index,
    pub pending: Option<PendingRecord>,
    clocks: Vec<IntervalLayout>,
    pub streams: Streams,
    kinds: KindTable,
    skipped: Option<SkippedRun>,
    intervals: HashMap<([u8; 4], u16, u16, u64), usize>,
    last_interval: usize,
    dropped_intervals: u64,
}

impl IndexBuilder {
    pub(crate) fn new(size: u64, clocks: &[IntervalLayout], identities: &[Identity]) -> Self {
        Self {
            index: Index::empty(size),
            pending: None,
            clocks: clocks.to_vec(),
            streams: Streams::new(identities),
            kinds: KindTable::new(),
            skipped: None,
            intervals: HashMap::new(),
            last_interval: 0,
            dropped_intervals: 0,
        }
    }

    /// The clock of records with this header.
    #[inline]
    pub(crate) fn clock(&self, header: &Header) -> Option<&IntervalLayout> {
        self.clocks.iter().find(|clock| {
            u16::from(clock.record) == header.record && header.subtype == Some(clock.subtype)
        })
    }

    /// Counts the record before: its length led to this one.
    #[inline]
    pub(crate) fn commit(&mut self) {
        let Some(PendingRecord {
            at,
            header,
            stamp,
            print,
            renamed,
        }) = self.pending.take()
        else {
            return;
        };
        if self.skipped.is_some() {
            self.flush();
        }
        if renamed {
            self.streams.rename(at, header.system);
        }
        let counted = self.kinds.add(&header, at, print);
        let length = u64::from(header.length);
        self.index.records += 1;
        self.index.record_bytes += length;
        match self.index.stretches.last_mut() {
            Some(stretch) if stretch.end == at => stretch.end += length,
            _ => self.index.stretches.push(RecordRun {
                start: at,
                end: at + length,
            }),
        }
        let number = (at / WINDOW as u64) as usize;
        if number >= self.index.regions.len() {
            self.index.regions.resize(number + 1, WindowSummary::EMPTY);
        }
        let region = &mut self.index.regions[number];
        if region.first == WindowSummary::NONE {
            region.first = (at % WINDOW as u64) as u32;
        }
        match counted {
            Some((id, _)) => region.kinds.insert(id),
            None => region.kinds.add(KindSet::ALL),
        }
        if let Some(stamp) = stamp {
            let again = counted.is_some_and(|(_, again)| again);
            self.interval(&header, stamp, u64::from(!again));
        }
    }

    /// Notes the interval of a record, which counts unless it came before.
    fn interval(&mut self, header: &Header, stamp: IntervalStamp, counts: u64) {
        let (Some(end), Some(subtype)) = (stamp.interval_end(), header.subtype) else {
            return;
        };
        let (system, record) = (header.system, header.record);
        if let Some(seen) = self.index.intervals.get_mut(self.last_interval)
            && (seen.end, seen.system, seen.record, seen.subtype) == (end, system, record, subtype)
        {
            seen.records += counts;
            return;
        }
        let next = self.index.intervals.len();
        let key = (system, record, subtype, end);
        if let Some(&place) = self.intervals.get(&key) {
            self.index.intervals[place].records += counts;
            self.last_interval = place;
        } else if next < Index::MAX_INTERVALS {
            self.intervals.insert(key, next);
            self.last_interval = next;
            self.index.intervals.push(IntervalCount {
                system,
                record,
                subtype,
                start: stamp.start.filter(|&start| start < end),
                end,
                records: counts,
            });
        } else {
            self.dropped_intervals += 1;
        }
    }

    /// A record that is not read although it is known where it ends. Several back to back
    /// become one problem.
    pub(crate) fn skip_record(
        &mut self,
        kind: ProblemKind,
        at: u64,
        bytes: u64,
        header: Header,
        why: impl FnOnce() -> String,
    ) {
        self.commit();
        if let Some(skipped) = &mut self.skipped
            && skipped.kind == kind
            && skipped.from + skipped.bytes == at
        {
            skipped.bytes += bytes;
            skipped.records += 1;
            return;
        }
        self.flush();
        self.skipped = Some(SkippedRun {
            kind,
            from: at,
            bytes,
            records: 1,
            record: named(header),
            why: why(),
        });
    }

    /// Bytes that are not read.
    pub(crate) fn skip(
        &mut self,
        kind: ProblemKind,
        at: u64,
        bytes: u64,
        detail: impl FnOnce() -> String,
    ) {
        self.flush();
        self.index.skipped_bytes += bytes;
        self.index.problems.add(kind, at, bytes, None, detail);
    }

    fn flush(&mut self) {
        let Some(skipped) = self.skipped.take() else {
            return;
        };
        let SkippedRun {
            kind,
            from,
            bytes,
            records,
            record,
            why,
        } = skipped;
        self.index.skipped_bytes += bytes;
        self.index.problems.add(kind, from, bytes, record, || {
            if records == 1 {
                format!("{why}; the record, {bytes} bytes, is skipped")
            } else {
                format!("{why}; {records} records, {bytes} bytes, are skipped")
            }
        });
    }

    pub(crate) fn finish(mut self) -> Index {
        self.commit();
        self.flush();
        let (uncounted, unseen) = (self.kinds.uncounted, self.kinds.unseen());
        let mut index = self.index;
        if uncounted > 0 {
            let most = super::kinds::MAX_KINDS;
            index.problems.add(ProblemKind::Header, 0, 0, None, || {
                format!(
                    "more than {most} kinds of record; {uncounted} records of further kinds are not listed"
                )
            });
        }
        if unseen > 0 {
            let most = super::duplicates::MAX_RECORDS;
            index.problems.add(ProblemKind::Duplicate, 0, 0, None, || {
                format!(
                    "more than {most} different records; {unseen} records were not compared with \
                     those before them, and duplicates among them are not counted"
                )
            });
        }
        if self.dropped_intervals > 0 {
            let (most, dropped) = (Index::MAX_INTERVALS, self.dropped_intervals);
            index.problems.add(ProblemKind::Time, 0, 0, None, || {
                format!("more than {most} intervals; {dropped} records are of others")
            });
        }
        index.kinds = self.kinds.finish();
        (index.aliases, index.renamed) = self.streams.finish();
        index
    }
}

/// Type and subtype as a problem names them, where the header says them.
fn named(header: Header) -> Option<(u8, u16)> {
    let subtype = header.subtype?;
    let record = u8::try_from(header.record).ok()?;
    (!matches!(header.check(), Err(Fault::Length(_)))).then_some((record, subtype))
}
