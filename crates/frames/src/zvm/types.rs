//! The types of record in a file: a small table from domain and number to a running number, and
//! what was counted.

use std::collections::{BTreeMap, HashMap};

use super::record::{Class, MAX_DOMAIN};

/// Maximum number of record types that are distinguished. There are about 250; junk that looks like more is bounded by
/// this.
pub const MAX_TYPES: usize = 512;

/// No such type.
pub(crate) const NONE: u16 = u16::MAX;

/// Record numbers below this index the table directly (the highest known is 37).
const DIRECT: usize = 256;

const SPAN: usize = (MAX_DOMAIN as usize + 1) * DIRECT;

/// One type of record in a file, by domain, number and class, and what the index counted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeStats {
    /// Domain.
    pub domain: u8,
    /// Number within the domain.
    pub record: u16,
    /// Written as sample or as event data.
    pub class: Class,
    /// Number of records.
    pub count: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Earliest plausible time of day in their headers; 0 if there is none.
    pub first_tod: u64,
    /// Latest plausible time of day in their headers; 0 if there is none.
    pub last_tod: u64,
    /// Number of records of each length.
    pub lengths: BTreeMap<u16, u64>,
    /// Start of the first one.
    pub first_offset: u64,
}

/// A set of types in one word: exact for the first 64 types of a file, and at worst too large for
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeSet(u64);

impl TypeSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u64::MAX);

    #[inline]
    pub(crate) fn insert(&mut self, id: u16) {
        self.0 |= 1 << (id % 64);
    }

    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[inline]
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// From class, domain and number to the number of the type.
#[derive(Clone, Debug)]
pub(crate) struct TypeMap {
    direct: Vec<u16>,
    rest: HashMap<(Class, u8, u16), u16>,
}

impl TypeMap {
    pub(crate) fn new() -> Self {
        Self {
            direct: vec![NONE; 2 * SPAN],
            rest: HashMap::new(),
        }
    }

    fn place(class: Class, domain: u8, record: u16) -> Option<usize> {
        let (domain, record) = (usize::from(domain), usize::from(record));
        let base = if class == Class::Event { SPAN } else { 0 };
        (record < DIRECT && domain <= usize::from(MAX_DOMAIN))
            .then_some(base + domain * DIRECT + record)
    }

    #[inline]
    pub(crate) fn get(&self, class: Class, domain: u8, record: u16) -> u16 {
        match Self::place(class, domain, record) {
            Some(place) => self.direct[place],
            None => self
                .rest
                .get(&(class, domain, record))
                .copied()
                .unwrap_or(NONE),
        }
    }

    pub(crate) fn set(&mut self, class: Class, domain: u8, record: u16, id: u16) {
        match Self::place(class, domain, record) {
            Some(place) => self.direct[place] = id,
            None => {
                self.rest.insert((class, domain, record), id);
            }
        }
    }
}

/// Consecutive records of one type and length: their number and plausible times.
#[derive(Clone, Copy)]
pub(crate) struct RecordRun {
    pub count: u64,
    pub earliest: u64,
    pub latest: u64,
}

/// Counts of one type while the file is scanned.
pub(crate) struct Counter {
    pub domain: u8,
    pub record: u16,
    pub class: Class,
    pub first_offset: u64,
    earliest: u64,
    latest: u64,
    /// Offset of the first record with an impossible time, and their number.
    pub odd_times: Option<(u64, u64)>,
    // Records of one type mostly have one length: runs are counted here and put into the table when
    // they end.
    length: u16,
    run: u64,
    lengths: Vec<u64>,
}

/// One more than the greatest length of a record.
const LENGTHS: usize = crate::source::PAGE + 1;

impl Counter {
    pub(crate) fn new(domain: u8, record: u16, class: Class, first_offset: u64) -> Self {
        Self {
            domain,
            record,
            class,
            first_offset,
            earliest: u64::MAX,
            latest: 0,
            odd_times: None,
            length: 0,
            run: 0,
            lengths: Vec::new(),
        }
    }

    /// Counts records of one length; the caller has checked that it is at most that of a frame.
    #[inline]
    pub(crate) fn add(&mut self, length: u16, run: RecordRun) {
        if length == self.length {
            self.run += run.count;
        } else {
            self.end_run();
            self.length = length;
            self.run = run.count;
        }
        self.earliest = self.earliest.min(run.earliest);
        self.latest = self.latest.max(run.latest);
    }

    /// Counts a record whose time is impossible.
    pub(crate) fn add_implausible(&mut self, offset: u64) {
        self.odd_times.get_or_insert((offset, 0)).1 += 1;
    }

    fn end_run(&mut self) {
        if self.run == 0 {
            return;
        }
        if self.lengths.is_empty() {
            self.lengths = vec![0; LENGTHS];
        }
        if let Some(count) = self.lengths.get_mut(usize::from(self.length)) {
            *count += self.run;
        }
        self.run = 0;
    }

    pub(crate) fn finish(mut self) -> TypeStats {
        self.end_run();
        let lengths: BTreeMap<u16, u64> = (0..)
            .zip(self.lengths)
            .filter(|&(_, count)| count > 0)
            .collect();
        TypeStats {
            domain: self.domain,
            record: self.record,
            class: self.class,
            count: lengths.values().sum(),
            bytes: lengths
                .iter()
                .map(|(&length, &count)| u64::from(length) * count)
                .sum(),
            first_tod: if self.latest == 0 { 0 } else { self.earliest },
            last_tod: self.latest,
            lengths,
            first_offset: self.first_offset,
        }
    }
}
