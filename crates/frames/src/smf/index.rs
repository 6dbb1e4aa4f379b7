//! What the first pass over a dump finds.

use std::io;
use std::sync::Arc;

use super::kinds::{KindInfo, KindSet};
use super::pass::Pass;
use crate::problem::ProblemLog;
use crate::source::{ReadAt, WINDOW};

/// Records of one system and subtype that tell of one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalSeen {
    /// Name of the system, EBCDIC.
    pub system: [u8; 4],
    /// Type of the records.
    pub record: u8,
    /// Subtype of the records.
    pub subtype: u16,
    /// When the interval began, by the first of them; a TOD value.
    pub start: Option<u64>,
    /// When it ended; a TOD value.
    pub end: u64,
    /// How many of them there are.
    pub records: u64,
}

/// An unbroken chain of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub start: u64,
    pub end: u64,
}

/// What begins in one window of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Where in the window the first record begins; [`Region::NONE`] if none does.
    pub first: u32,
    /// Kinds of the records that begin in it.
    pub kinds: KindSet,
}

impl Region {
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) const EMPTY: Self = Self {
        first: Self::NONE,
        kinds: KindSet::NONE,
    };
}

/// What the first pass over a dump found. Its memory is bounded: 16 bytes for each window of 256 KiB,
/// 16 for each break in the chain, and small tables.
///
/// Every byte of the file is accounted for: `record_bytes + skipped_bytes == size`.
#[derive(Debug)]
pub struct Index {
    /// The kinds of record, in the order in which they were met.
    pub kinds: Vec<KindInfo>,
    /// The intervals that records with a clock tell of, in the order in which they were met, at most
    /// [`Index::MAX_INTERVALS`].
    pub intervals: Vec<IntervalSeen>,
    /// What could not be read as it stands.
    pub problems: ProblemLog,
    /// The size of the file.
    pub size: u64,
    /// Bytes of records.
    pub record_bytes: u64,
    /// Bytes that were not read; the sum of the bytes of all problems.
    pub skipped_bytes: u64,
    /// How many whole records there are.
    pub records: u64,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) regions: Vec<Region>,
}

impl Index {
    /// How many intervals are kept: at one a minute and twenty systems, more than a month.
    pub const MAX_INTERVALS: usize = 1_000_000;

    pub(crate) fn empty(size: u64) -> Self {
        Self {
            kinds: Vec::new(),
            intervals: Vec::new(),
            problems: ProblemLog::default(),
            size,
            record_bytes: 0,
            skipped_bytes: 0,
            records: 0,
            stretches: Vec::new(),
            regions: Vec::new(),
        }
    }

    /// The kinds of these types and subtypes, of all systems.
    pub(crate) fn set(&self, wanted: &[(u8, u16)]) -> KindSet {
        let mut set = KindSet::NONE;
        for (id, info) in (0..).zip(&self.kinds) {
            let subtype = info.kind.subtype;
            if subtype.is_some_and(|subtype| wanted.contains(&(info.kind.record, subtype))) {
                set.insert(id);
            }
        }
        if self.kinds.len() >= super::kinds::MAX_KINDS {
            // Records of kinds that have no number may be among them.
            set.add(KindSet::ALL);
        }
        set
    }

    /// The first `limit` records of a type and subtype, of one system or of all: where each begins,
    /// and its bytes.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn first_records(
        self: &Arc<Self>,
        source: &Arc<dyn ReadAt>,
        wanted: (u8, u16),
        system: Option<[u8; 4]>,
        limit: usize,
    ) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let first = self.kinds.iter().filter(|info| {
            (info.kind.record, info.kind.subtype) == (wanted.0, Some(wanted.1))
                && system.is_none_or(|system| info.kind.system == system)
        });
        let Some(from) = first.map(|info| info.first_offset).min() else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut pass = Pass::new(Arc::clone(source), Arc::clone(self), &[wanted]);
        pass.begin_at(from / WINDOW as u64);
        while found.len() < limit {
            let Some(window) = pass.next_window()? else {
                break;
            };
            for &record in window.records(0) {
                let bytes = window.bytes_of(record);
                let own = system.is_none_or(|system| bytes.get(14..18) == Some(&system));
                if own && found.len() < limit {
                    found.push((window.offset_of(record), bytes.to_vec()));
                }
            }
        }
        Ok(found)
    }
}
