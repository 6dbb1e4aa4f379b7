//! Index of a file, built by the first pass: where its records are, of which types, and what could not be read.

use std::ops::Range;

use super::page_map::PageMap;
use super::record::Class;
use super::types::{NONE, TypeMap, TypeSet, TypeStats};
use crate::problem::ProblemLog;
use crate::source::{PAGE, WINDOW};

/// The end of an interval: a D1R11 among sample data (documented: it closes each interval and the
/// initial set of configuration records).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalEnd {
    /// The time of day in its header; that of its last sample if its header contradicts the samples before
    /// and after it.
    pub tod: u64,
    /// Number of sample records since the one before it, those of domain 1 (configuration) not counted.
    pub records: u64,
    /// Start of the record.
    pub offset: u64,
}

/// Digest of the records of an interval, independent of their order, so that intervals of two files can be compared.
/// Configuration records differ from file to file and are in neither sum, and where a recording begins, so does its
/// first interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalDigest {
    /// The sum of the fingerprints of its sample records.
    pub samples: u64,
    /// Number of its event records.
    pub events: u64,
    /// The sum of the fingerprints of its event records.
    pub event_sum: u64,
}

/// The records of a 4 KB page: where they begin and end in it, and their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageData {
    pub start: usize,
    pub end: usize,
    pub class: Class,
}

/// [`PageData`] in four bytes; 0 is a page without records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedPage(u32);

impl PackedPage {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn new(data: PageData) -> Self {
        let class = match data.class {
            Class::Sample => 0,
            Class::Event => 1 << 31,
        };
        Self(class | (data.start as u32) << 16 | data.end as u32)
    }

    pub(crate) const fn unpack(self) -> Option<PageData> {
        if self.0 == 0 {
            return None;
        }
        let class = if self.0 >> 31 == 0 {
            Class::Sample
        } else {
            Class::Event
        };
        Some(PageData {
            start: (self.0 >> 16 & 0x7FFF) as usize,
            end: (self.0 & 0xFFFF) as usize,
            class,
        })
    }
}

/// Number of pages of a window.
pub(crate) const WINDOW_PAGES: usize = WINDOW / PAGE;

/// Position of the records of a window, page by page, and of which types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowMap {
    pub pages: [PackedPage; WINDOW_PAGES],
    pub types: [TypeSet; WINDOW_PAGES],
    /// The types of all its pages.
    pub all: TypeSet,
}

impl WindowMap {
    pub(crate) const fn new() -> Self {
        Self {
            pages: [PackedPage::NONE; WINDOW_PAGES],
            types: [TypeSet::NONE; WINDOW_PAGES],
            all: TypeSet::NONE,
        }
    }

    /// The runs of some of its pages that must be read for these types, as first page and the
    /// page after the last. Short gaps are read along, for that costs less than asking twice.
    pub(crate) fn stretches(
        &self,
        pages: Range<usize>,
        wanted: TypeSet,
    ) -> impl Iterator<Item = (usize, usize)> {
        /// The longest gap that is read along.
        const GAP: usize = 4;
        let mut pages = pages
            .filter(move |&page| self.types[page].meets(wanted))
            .peekable();
        std::iter::from_fn(move || {
            let first = pages.next()?;
            let mut end = first + 1;
            while let Some(page) = pages.next_if(|&page| page <= end + GAP) {
                end = page + 1;
            }
            Some((first, end))
        })
    }
}

/// Result of the first pass over a file. Its memory is bounded: twelve bytes for each 4 KB page where records are, two
/// dozen for each resynchronization, and small tables.
///
/// Every byte of the file is accounted for:
/// `control_bytes + data_bytes + padding_bytes + skipped_bytes == size`.
#[derive(Debug)]
pub struct Index {
    /// The types of record, in the order in which they were found; the place here is the number of
    /// the type.
    pub types: Vec<TypeStats>,
    /// The ends of intervals, in the order of the file, at most [`Index::MAX_INTERVAL_ENDS`].
    pub interval_ends: Vec<IntervalEnd>,
    /// Where what was written together with each of them ends: the frames of its control record, or in a
    /// capture the data of its control element. A file may be cut there.
    pub wholes: Vec<u64>,
    /// Their digests, one for each of them; empty unless asked for.
    pub digests: Vec<IntervalDigest>,
    /// Position of system configuration records, at most [`Index::MAX_CONFIGURATIONS`]: the control record
    /// of the frames, and the record.
    pub configurations: Vec<(u64, u64)>,
    /// Problems in the input.
    pub problems: ProblemLog,
    /// The size of the file.
    pub size: u64,
    /// Earliest plausible time of day of any record.
    pub first_tod: Option<u64>,
    /// Latest plausible time of day of any record.
    pub last_tod: Option<u64>,
    /// Number of control records that describe data.
    pub control_records: u64,
    /// Number of end-of-data records.
    pub end_of_data: u64,
    /// Whether the last thing in the file is an end-of-data record, so that nothing is cut off.
    pub complete: bool,
    /// Bytes of control records and end-of-data records.
    pub control_bytes: u64,
    /// Bytes of records.
    pub data_bytes: u64,
    /// Bytes of frames before the first and after the last record.
    pub padding_bytes: u64,
    /// Bytes that were not read; the sum of the bytes of all problems.
    pub skipped_bytes: u64,
    pub(crate) map: TypeMap,
    /// Position of the records of the pages, in the order in which those were walked.
    pub(crate) windows: Vec<Option<Box<WindowMap>>>,
    /// Position of the pages in the file.
    pub(crate) spans: PageMap,
}

impl Index {
    /// Maximum number of interval ends: at one every ten seconds, more than seven months.
    pub const MAX_INTERVAL_ENDS: usize = 2_000_000;

    /// Maximum number of configuration records: one a day for more than a century.
    pub const MAX_CONFIGURATIONS: usize = 50_000;

    /// The index of nothing yet.
    pub(crate) fn empty(size: u64) -> Self {
        Self {
            types: Vec::new(),
            interval_ends: Vec::new(),
            wholes: Vec::new(),
            digests: Vec::new(),
            configurations: Vec::new(),
            problems: ProblemLog::default(),
            size,
            first_tod: None,
            last_tod: None,
            control_records: 0,
            end_of_data: 0,
            complete: false,
            control_bytes: 0,
            data_bytes: 0,
            padding_bytes: 0,
            skipped_bytes: 0,
            map: TypeMap::new(),
            windows: Vec::new(),
            spans: PageMap::new(),
        }
    }

    /// The number of a type.
    #[must_use]
    pub fn type_id(&self, domain: u8, record: u16, class: Class) -> Option<u16> {
        Some(self.map.get(class, domain, record)).filter(|&id| id != NONE)
    }

    /// Number of records of known types.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.types.iter().map(|kind| kind.count).sum()
    }

    /// The first window from `from` on that has a type of the set, and where its records are.
    pub(crate) fn next_window_with(
        &self,
        wanted: TypeSet,
        from: usize,
    ) -> Option<(usize, &WindowMap)> {
        let mut rest = (from..).zip(self.windows.get(from..)?);
        rest.find_map(|(number, map)| {
            map.as_deref()
                .filter(|map| map.all.meets(wanted))
                .map(|map| (number, map))
        })
    }

    /// Number of bytes that a pass over these types reads.
    #[must_use]
    pub fn bytes_with(&self, wanted: &[u16]) -> u64 {
        let mut set = TypeSet::NONE;
        for &id in wanted
            .iter()
            .filter(|&&id| usize::from(id) < self.types.len())
        {
            set.insert(id);
        }
        let maps = self.windows.iter().filter_map(Option::as_deref);
        let pages = maps
            .flat_map(|map| map.stretches(0..WINDOW_PAGES, set))
            .map(|(first, end)| (end - first) as u64);
        (pages.sum::<u64>() * PAGE as u64).min(self.size)
    }
}

const _: () = assert!(
    PAGE < 1 << 15,
    "an offset in a page must fit in a packed page"
);
