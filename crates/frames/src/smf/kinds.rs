//! The kinds of record in a dump: by system, type and subtype, with what was counted of each.

use std::collections::HashMap;

use super::cadence::{Cadence, MAX_MOMENTS};
use super::duplicates::FingerprintSet;
use super::header::Header;

/// Maximum number of record kinds. A sysplex has some hundreds; junk that looks like more is bounded by this.
pub const MAX_KINDS: usize = 4096;

/// Key of a record kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKind {
    /// Name of the system, EBCDIC.
    pub system: [u8; 4],
    /// Type of the record.
    pub record: u16,
    /// Subtype, where the record has one.
    pub subtype: Option<u16>,
}

/// One kind of record in a file, and what the index counted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordKindStats {
    /// System, type and subtype.
    pub kind: RecordKind,
    /// Number of records.
    pub count: u64,
    /// Their bytes, descriptor words included.
    pub bytes: u64,
    /// Length of the shortest.
    pub min_length: u16,
    /// Length of the longest.
    pub max_length: u16,
    /// Earliest local time in their headers, in hundredths of a second since 1970-01-01 00:00.
    pub first_local: i64,
    /// Latest local time in their headers.
    pub last_local: i64,
    /// Start of the first one.
    pub first_offset: u64,
    /// The same in the stream of records.
    pub(crate) first_shown: u64,
    /// Number of duplicates: records with the bytes of an earlier one.
    pub duplicates: u64,
    /// Number of runs of records that are earlier than one before them.
    pub out_of_order: u64,
    /// The time that usually passes until the next ones come, in hundredths of a second; none where
    /// they come at no regular pace.
    pub step: Option<i64>,
    /// Number of times that more than 1.5 times that passed.
    pub gaps: Option<u64>,
}

/// A set of kinds in one word: exact for the first 64 kinds of a file, and at worst too large for
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindSet(u64);

impl KindSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u64::MAX);

    #[inline]
    pub(crate) fn insert(&mut self, id: u16) {
        self.0 |= 1 << (id % 64);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[inline]
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl RecordKind {
    /// The kind in one word.
    #[inline]
    fn key(self) -> u64 {
        let subtype = self
            .subtype
            .map_or(0, |subtype| 1 << 16 | u64::from(subtype));
        u64::from(u32::from_be_bytes(self.system)) << 32 | u64::from(self.record) << 17 | subtype
    }
}

struct Counter {
    kind: RecordKind,
    count: u64,
    bytes: u64,
    min_length: u16,
    max_length: u16,
    // Packed dates rise as dates do, so a time is compared unchanged.
    first: u64,
    last: u64,
    first_offset: u64,
    duplicates: u64,
    pace: Cadence,
}

/// Kinds while a file is walked.
pub(crate) struct KindTable {
    counters: Vec<Counter>,
    ids: HashMap<u64, u16>,
    /// Indexes of the most recent kinds, by some bits of their key.
    near: [(u64, u16); 64],
    copies: FingerprintSet,
    /// Number of times that may still be kept.
    room: usize,
    /// The most recent date, and its day.
    day: (u32, i64),
    /// Records of kinds that have no counter any more.
    pub uncounted: u64,
}

impl KindTable {
    pub(crate) fn new() -> Self {
        Self {
            counters: Vec::new(),
            ids: HashMap::new(),
            near: [(u64::MAX, 0); 64],
            copies: FingerprintSet::new(),
            room: MAX_MOMENTS,
            day: (0, 0),
            uncounted: 0,
        }
    }

    /// Records that were not compared with those before them, of which there are too many.
    pub(crate) const fn unseen(&self) -> u64 {
        self.copies.untracked
    }

    /// Counts a record, `print` its fingerprint; the number of its kind, if it has a counter, and whether the record
    /// came before.
    #[inline]
    pub(crate) fn add(&mut self, header: &Header, offset: u64, print: u64) -> Option<(u16, bool)> {
        let kind = RecordKind {
            system: header.system,
            record: header.record,
            subtype: header.subtype,
        };
        let key = kind.key();
        let place = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
        let id = match self.near[place] {
            (near, id) if near == key => id,
            _ => {
                let id = self.find(kind, key, offset)?;
                self.near[place] = (key, id);
                id
            }
        };
        if self.day.0 != header.date.0 {
            self.day = (header.date.0, header.date.days().unwrap_or(0));
        }
        let local = self.day.1 * i64::from(super::header::DAY) + i64::from(header.time);
        let counter = &mut self.counters[usize::from(id)];
        let again = self.copies.seen(print);
        counter.duplicates += u64::from(again);
        counter.pace.add(local, &mut self.room);
        let time = u64::from(header.date.0) << 32 | u64::from(header.time);
        counter.count += 1;
        counter.bytes += u64::from(header.length);
        counter.min_length = counter.min_length.min(header.length);
        counter.max_length = counter.max_length.max(header.length);
        counter.first = counter.first.min(time);
        counter.last = counter.last.max(time);
        Some((id, again))
    }

    fn find(&mut self, kind: RecordKind, key: u64, offset: u64) -> Option<u16> {
        if let Some(&id) = self.ids.get(&key) {
            return Some(id);
        }
        if self.counters.len() >= MAX_KINDS {
            self.uncounted += 1;
            return None;
        }
        let id = self.counters.len() as u16;
        self.ids.insert(key, id);
        self.counters.push(Counter {
            kind,
            count: 0,
            bytes: 0,
            min_length: u16::MAX,
            max_length: 0,
            first: u64::MAX,
            last: 0,
            first_offset: offset,
            duplicates: 0,
            pace: Cadence::default(),
        });
        Some(id)
    }

    pub(crate) fn finish(self) -> Vec<RecordKindStats> {
        let local = |time: u64| {
            let header = Header {
                date: super::Date((time >> 32) as u32),
                time: time as u32,
                ..NO_HEADER
            };
            header.local().unwrap_or(0)
        };
        self.counters
            .into_iter()
            .map(|mut counter| {
                let rhythm = counter.pace.summarize();
                RecordKindStats {
                    kind: counter.kind,
                    count: counter.count,
                    bytes: counter.bytes,
                    min_length: counter.min_length,
                    max_length: counter.max_length,
                    first_local: local(counter.first),
                    last_local: local(counter.last),
                    first_offset: counter.first_offset,
                    first_shown: counter.first_offset,
                    duplicates: counter.duplicates,
                    out_of_order: counter.pace.out_of_order,
                    step: rhythm.period,
                    gaps: rhythm.gaps,
                }
            })
            .collect()
    }
}

const NO_HEADER: Header = Header {
    length: 0,
    segment: 0,
    flags: 0,
    record: 0,
    time: 0,
    date: super::Date(0),
    system: [0; 4],
    subsystem: [0; 4],
    subtype: None,
};
