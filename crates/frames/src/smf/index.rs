//! Index of a dump, built by the first pass.

use std::sync::Arc;

use super::identity::Alias;
use super::kinds::{KindSet, RecordKindStats};
use crate::problem::ProblemLog;
use crate::stream_map::StreamMap;

/// Records of one system and subtype that cover one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalCount {
    /// Name of the system, EBCDIC.
    pub system: [u8; 4],
    /// Type of the records.
    pub record: u16,
    /// Subtype of the records.
    pub subtype: u16,
    /// Start of the interval, by the first of them; a TOD value.
    pub start: Option<u64>,
    /// Its end; a TOD value.
    pub end: u64,
    /// Number of them.
    pub records: u64,
}

/// Counts of blocks and segments of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStats {
    /// Blocks with a descriptor word.
    pub blocks: u64,
    /// Those of them whose word is an extended one.
    pub extended: u64,
    /// Records in segments that were reassembled.
    pub spanned: u64,
    /// The segments they were in.
    pub segments: u64,
}

/// An unbroken chain of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRun {
    pub start: u64,
    pub end: u64,
}

/// Summary of the records that begin in one window of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSummary {
    /// Start of the first record in the window; [`WindowSummary::NONE`] if none does.
    pub first: u32,
    /// Kinds of the records that begin in it.
    pub kinds: KindSet,
}

impl WindowSummary {
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) const EMPTY: Self = Self {
        first: Self::NONE,
        kinds: KindSet::NONE,
    };
}

/// Result of the first pass over a dump. Its memory is bounded: 16 bytes for each window of 256 KiB, 16 for each break
/// in the chain and for each block, and small tables.
///
/// Every byte of the file is accounted for: `record_bytes + skipped_bytes + word_bytes == size`.
#[derive(Debug)]
pub struct Index {
    /// The kinds of record, in the order in which they were found.
    pub kinds: Vec<RecordKindStats>,
    /// The intervals that records with a clock describe, in the order in which they were found, at most
    /// [`Index::MAX_INTERVALS`].
    pub intervals: Vec<IntervalCount>,
    /// Problems in the input.
    pub problems: ProblemLog,
    /// The size of the file.
    pub size: u64,
    /// Bytes of records, each with one descriptor word.
    pub record_bytes: u64,
    /// Bytes of other descriptor words: of blocks, and of all segments but the first.
    pub word_bytes: u64,
    /// Blocks and segments of the file.
    pub forms: BlockStats,
    /// Bytes that were not read; the sum of the bytes of all problems.
    pub skipped_bytes: u64,
    /// Number of complete records.
    pub records: u64,
    /// The streams that do not have the name of their system.
    pub aliases: Vec<Alias>,
    /// Position of the names of their records in the stream of records, and which they are.
    pub(crate) renamed: Vec<(u64, [u8; 4])>,
    pub(crate) stretches: Vec<RecordRun>,
    pub(crate) regions: Vec<WindowSummary>,
    /// Length of the record stream, and its map for a file that is not one.
    pub(crate) shown: u64,
    pub(crate) places: Option<Arc<StreamMap>>,
}

impl Index {
    /// Maximum number of intervals: at one a minute and twenty systems, more than a month.
    pub const MAX_INTERVALS: usize = 1_000_000;

    pub(crate) fn empty(size: u64) -> Self {
        Self {
            kinds: Vec::new(),
            intervals: Vec::new(),
            problems: ProblemLog::default(),
            size,
            record_bytes: 0,
            word_bytes: 0,
            forms: BlockStats::default(),
            skipped_bytes: 0,
            records: 0,
            aliases: Vec::new(),
            renamed: Vec::new(),
            stretches: Vec::new(),
            regions: Vec::new(),
            shown: size,
            places: None,
        }
    }

    /// Makes the index of a stream that of the file it is in.
    pub(crate) fn set_stream_map(
        &mut self,
        places: &Arc<StreamMap>,
        forms: BlockStats,
        words: u64,
        problems: ProblemLog,
        lost: u64,
    ) {
        self.size = places.file;
        self.forms = forms;
        self.word_bytes = words;
        self.skipped_bytes += lost;
        self.problems
            .map_offsets(|offset| places.to_file_offset(offset));
        self.problems.absorb(problems);
        for info in &mut self.kinds {
            info.first_offset = places.to_file_offset(info.first_shown);
        }
        self.places = Some(Arc::clone(places));
    }

    /// Offset in the file of a byte of the stream of records.
    #[inline]
    pub(crate) fn original(&self, shown: u64) -> u64 {
        self.places
            .as_ref()
            .map_or(shown, |places| places.to_file_offset(shown))
    }

    /// The name of a stream's system in the records.
    #[must_use]
    pub fn system(&self, stream: [u8; 4]) -> [u8; 4] {
        let mut aliases = self.aliases.iter();
        aliases
            .find(|(alias, _)| *alias == stream)
            .map_or(stream, |&(_, system)| system)
    }

    /// The kinds of these types and subtypes, of all systems.
    pub(crate) fn set(&self, wanted: &[(u8, u16)]) -> KindSet {
        let mut set = KindSet::NONE;
        for (id, info) in (0..).zip(&self.kinds) {
            let subtype = info.kind.subtype;
            let named = |&(record, of): &(u8, u16)| {
                u16::from(record) == info.kind.record && Some(of) == subtype
            };
            if wanted.iter().any(named) {
                set.insert(id);
            }
        }
        if self.kinds.len() >= super::kinds::MAX_KINDS {
            // Records of kinds that have no number may be among them.
            set.add(KindSet::ALL);
        }
        set
    }
}
