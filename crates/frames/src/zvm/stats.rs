//! Counting the records of frames: types, lengths, times, ends of intervals.

use super::index::{Index, IntervalDigest, IntervalEnd};
use super::record::{Class, Fault, HEADER, Header, MAX_DOMAIN};
use super::types::{Counter, MAX_TYPES, NONE, RecordRun, TypeMap, TypeSet};
use crate::fingerprint::fingerprint;
use crate::problem::ProblemKind;
use crate::source::PAGE;
use crate::tod;

/// The times of no record, to which those of records are added.
const NO_TIMES: (u64, u64) = (u64::MAX, 0);

/// Reason why the walk over a frame stopped.
pub(crate) enum WalkEnd {
    /// The data of the frame end here.
    Done,
    /// An end-of-frame record.
    EndOfFrame,
    /// Fewer bytes than a header are left.
    NoHeader,
    /// The header here cannot be one.
    Header(Header, Fault),
    /// The record here is longer than what is left.
    Long(Header),
}

/// Counts of the first pass.
pub(crate) struct RecordStats {
    map: TypeMap,
    counters: Vec<Counter>,
    /// Sample records outside domain 1 since the last interval end.
    samples: u64,
    /// Earliest and latest plausible time of these, and of those of the last interval.
    sampled: (u64, u64),
    last_sampled: (u64, u64),
    ends: Vec<IntervalEnd>,
    /// Ends whose time is that of their last sample: their number and the offset of the first.
    moved_ends: Option<(u64, u64)>,
    /// Digests of the intervals, where they are asked for, and that of the interval walked now.
    pub(crate) digests: Option<(Vec<IntervalDigest>, IntervalDigest)>,
    /// Position of the last system configuration record.
    pub(crate) configuration: Option<u64>,
    /// Interval ends not kept: their number and the offset of the first.
    more_ends: Option<(u64, u64)>,
    /// Records of types beyond those distinguished: their number and the offset of the first.
    more_types: Option<(u64, u64)>,
}

impl RecordStats {
    pub(crate) fn new() -> Self {
        Self {
            map: TypeMap::new(),
            counters: Vec::new(),
            samples: 0,
            sampled: NO_TIMES,
            last_sampled: NO_TIMES,
            ends: Vec::new(),
            moved_ends: None,
            digests: None,
            configuration: None,
            more_ends: None,
            more_types: None,
        }
    }

    /// Counts the records of a frame from `start` to the end of `data`; gives where it stopped, the
    /// types it found, and why it stopped.
    #[inline]
    pub(crate) fn walk(
        &mut self,
        at: u64,
        data: &[u8],
        start: usize,
        class: Class,
    ) -> (usize, TypeSet, WalkEnd) {
        let mut types = TypeSet::NONE;
        let mut pos = start;
        while pos < data.len() {
            let Some(bytes) = data[pos..].first_chunk::<HEADER>() else {
                return (pos, types, WalkEnd::NoHeader);
            };
            let header = Header::from_bytes(bytes);
            if let Some(fault) = header.fault(bytes) {
                return (pos, types, WalkEnd::Header(header, fault));
            }
            let length = usize::from(header.length);
            if length > data.len() - pos {
                return (pos, types, WalkEnd::Long(header));
            }
            let begin = pos;
            pos += length;
            let mut run = RecordRun {
                count: 1,
                earliest: header.tod,
                latest: header.tod,
            };
            if header.domain != 1 {
                // Records of one type and length come in runs. Within one, where the next record
                // begins does not hang on the length that is still being fetched, which makes the
                // walk several times as fast.
                let word = Header::word(bytes);
                while let Some(bytes) = data
                    .get(pos..pos + length)
                    .and_then(<[u8]>::first_chunk::<HEADER>)
                    && Header::word(bytes) == word
                {
                    let tod = Header::from_bytes(bytes).tod;
                    run.earliest = run.earliest.min(tod);
                    run.latest = run.latest.max(tod);
                    run.count += 1;
                    pos += length;
                }
                if class == Class::Sample {
                    self.samples += run.count;
                    if tod::is_plausible(run.earliest) {
                        let (first, last) = self.sampled;
                        self.sampled = (first.min(run.earliest), last.max(run.latest));
                    }
                }
            }
            if self.digests.is_some() {
                self.digest(class, &header, &data[begin..pos]);
            }
            let id = self.count(class, &header, &data[begin..pos], run, at + begin as u64);
            if id != NONE {
                types.insert(id);
            }
            match (header.domain, header.record) {
                Header::END_OF_FRAME => return (pos, types, WalkEnd::EndOfFrame),
                Header::CONFIGURATION => {
                    self.configuration = Some(at + begin as u64);
                    // A recording begins here: what came before it belongs to another.
                    if let Some((_, digest)) = &mut self.digests {
                        *digest = IntervalDigest::default();
                    }
                }
                Header::INTERVAL_END if class == Class::Sample => {
                    self.interval_end(header.tod, at + begin as u64);
                }
                _ => {}
            }
        }
        (pos, types, WalkEnd::Done)
    }

    /// Counts a run of records, which are all there is in `records`; gives the number of their
    /// type.
    #[inline]
    fn count(
        &mut self,
        class: Class,
        header: &Header,
        records: &[u8],
        mut run: RecordRun,
        offset: u64,
    ) -> u16 {
        let mut id = self.map.get(class, header.domain, header.record);
        if id == NONE {
            id = self.new_type(class, header, run.count, offset);
        }
        if let Some(counter) = self.counters.get_mut(usize::from(id)) {
            if !tod::is_plausible(run.earliest) {
                run = plausible(counter, usize::from(header.length), records, offset);
            }
            counter.add(header.length, run);
        }
        id
    }

    /// Number of interval ends found and kept.
    pub(crate) const fn ends(&self) -> usize {
        self.ends.len()
    }

    #[cold]
    fn new_type(&mut self, class: Class, header: &Header, count: u64, offset: u64) -> u16 {
        if self.counters.len() >= MAX_TYPES {
            self.more_types.get_or_insert((0, offset)).0 += count;
            return NONE;
        }
        let id = self.counters.len() as u16;
        self.counters
            .push(Counter::new(header.domain, header.record, class, offset));
        self.map.set(class, header.domain, header.record, id);
        id
    }

    /// Adds a run of records to the digest of their interval.
    fn digest(&mut self, class: Class, header: &Header, records: &[u8]) {
        let Some((_, digest)) = &mut self.digests else {
            return;
        };
        for record in records.chunks(usize::from(header.length)) {
            match class {
                Class::Event => {
                    digest.events += 1;
                    digest.event_sum = digest.event_sum.wrapping_add(fingerprint(record));
                }
                Class::Sample if header.domain != 1 => {
                    digest.samples = digest.samples.wrapping_add(fingerprint(record));
                }
                Class::Sample => {}
            }
        }
    }

    #[cold]
    fn interval_end(&mut self, tod: u64, offset: u64) {
        let records = std::mem::take(&mut self.samples);
        let sampled = std::mem::replace(&mut self.sampled, NO_TIMES);
        let before = std::mem::replace(&mut self.last_sampled, sampled);
        let mut tod = tod;
        if sampled != NO_TIMES {
            if let Some(end) = self.ends.last_mut()
                && before != NO_TIMES
                && before.1 < sampled.0
                && sampled.0 <= end.tod
            {
                end.tod = before.1;
                self.moved_ends.get_or_insert((0, end.offset)).0 += 1;
            }
            if tod < sampled.0 {
                tod = sampled.1;
                self.moved_ends.get_or_insert((0, offset)).0 += 1;
            }
        }
        if self.ends.len() < Index::MAX_INTERVAL_ENDS {
            if let Some((digests, digest)) = &mut self.digests {
                digests.push(std::mem::take(digest));
            }
            self.ends.push(IntervalEnd {
                tod,
                records,
                offset,
            });
        } else {
            self.more_ends.get_or_insert((0, offset)).0 += 1;
        }
    }

    /// Puts what was counted into the index.
    pub(crate) fn finish(self, index: &mut Index) {
        if let Some((count, offset)) = self.more_types {
            index
                .problems
                .add(ProblemKind::Header, offset, 0, None, || {
                    format!("{count} records are of more than {MAX_TYPES} types and are not read")
                });
        }
        if let Some((count, offset)) = self.more_ends {
            index.problems.add(ProblemKind::Time, offset, 0, None, || {
                format!("{count} more interval ends from here on are not recorded")
            });
        }
        if let Some((count, offset)) = self.moved_ends {
            index.problems.add(ProblemKind::Time, offset, 0, None, || {
                format!(
                    "{count} interval end{} stamped before the samples of the interval, or not before those of \
                     the next; the time of the last sample counts",
                    if count == 1 { " is" } else { "s are" },
                )
            });
        }
        for counter in &self.counters {
            if let Some((offset, count)) = counter.odd_times {
                let record = Some((counter.domain, counter.record));
                index
                    .problems
                    .add(ProblemKind::Time, offset, 0, record, || {
                        format!(
                            "{count} records of this type have times before 1971, the first is here"
                        )
                    });
            }
        }
        index.types = self.counters.into_iter().map(Counter::finish).collect();
        index.interval_ends = self.ends;
        index.digests = self.digests.unwrap_or_default().0;
        index.map = self.map;
        let timed = || index.types.iter().filter(|kind| kind.last_tod != 0);
        index.first_tod = timed().map(|kind| kind.first_tod).min();
        index.last_tod = timed().map(|kind| kind.last_tod).max();
    }
}

/// A run of records of one length with some impossible times: those are counted apart.
#[cold]
fn plausible(counter: &mut Counter, length: usize, records: &[u8], offset: u64) -> RecordRun {
    let mut run = RecordRun {
        count: 0,
        earliest: u64::MAX,
        latest: 0,
    };
    for (offset, record) in (offset..).step_by(length).zip(records.chunks(length)) {
        let Some(header) = record.first_chunk().map(Header::from_bytes) else {
            continue;
        };
        run.count += 1;
        if tod::is_plausible(header.tod) {
            run.earliest = run.earliest.min(header.tod);
            run.latest = run.latest.max(header.tod);
        } else {
            counter.add_implausible(offset);
        }
    }
    run
}

impl WalkEnd {
    /// Kind and sentence, for a fault with `left` bytes of data left in the frame, which end at
    /// `limit`.
    pub(crate) fn describe(&self, left: usize, limit: usize) -> (ProblemKind, String) {
        let end = if limit < PAGE {
            "the end of the data in the control record"
        } else {
            "its 4 KB frame"
        };
        match *self {
            Self::Done | Self::EndOfFrame => (ProblemKind::Header, "nothing is wrong".to_owned()),
            Self::NoHeader => (
                ProblemKind::Header,
                format!("{left} bytes before {end} are too few for a record"),
            ),
            Self::Header(_, Fault::Length(0)) => {
                (ProblemKind::Length, "a record has the length 0".to_owned())
            }
            Self::Header(_, Fault::Length(length)) => (
                ProblemKind::Length,
                format!("a record has the length {length}, less than its header, {HEADER}"),
            ),
            Self::Header(_, Fault::Domain(domain)) => (
                ProblemKind::Header,
                format!("a record has the domain {domain}; the last one is {MAX_DOMAIN}"),
            ),
            Self::Header(_, Fault::Halfword(found)) => (
                ProblemKind::Header,
                format!("a record header has x'{found:04X}' in bytes 2 and 3, which must be zero"),
            ),
            Self::Long(header) => (
                ProblemKind::Length,
                format!(
                    "a record has the length {}, which runs past {end} ({left} bytes are left)",
                    header.length
                ),
            ),
        }
    }

    /// Domain and number of the record at fault, if they are likely right.
    pub(crate) fn record(&self) -> Option<(u8, u16)> {
        match self {
            Self::Long(header) | Self::Header(header, Fault::Length(_)) => {
                Some((header.domain, header.record))
            }
            _ => None,
        }
    }
}
