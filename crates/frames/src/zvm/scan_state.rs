//! State of the first pass over a file.

use super::control::Control;
use super::index::{Index, WindowMap};
use super::skips::PendingSkips;
use super::stats::RecordStats;
use crate::problem::ProblemKind;
use crate::source::{Error, ReadAt, WINDOW};

/// Bytes between reports of progress.
const REPORT_EVERY: u64 = 16 * WINDOW as u64;

/// Expected content of the next page.
pub(crate) enum Expect {
    /// A control record.
    Control,
    /// A control record, for the last page was an end-of-data record.
    ControlOrEnd,
    /// Data: which entry of the control record, which frame of it.
    Data { entry: usize, frame: u32 },
    /// Not known since an offset, for a reason; a control record is searched for.
    Lost {
        since: u64,
        kind: ProblemKind,
        why: String,
    },
}

pub(crate) struct Scan<'s> {
    pub(crate) source: &'s dyn ReadAt,
    pub(crate) expect: Expect,
    pub(crate) control: Control,
    pub(crate) control_at: u64,
    /// Whether the entries of a control record were counted.
    pub(crate) has_entry_counts: bool,
    pub(crate) census: RecordStats,
    /// The window that is walked, and where the next page is among all those walked.
    pub(crate) current_window: Box<WindowMap>,
    pub(crate) logical_offset: u64,
    /// Offset at which the walk continues, if not at the next page.
    pub(crate) jump_to: Option<u64>,
    pub(crate) skips: PendingSkips,
    /// Unused bytes at the end of the last valid page, and how many of them count as padding.
    pub(crate) trailing_bytes: u64,
    pub(crate) trailing_padding: u64,
    /// No control record begins before this, for what is there is known; none was found before that.
    pub(crate) min_search_offset: u64,
    pub(crate) searched_to: u64,
    pub(crate) scratch: Vec<u8>,
    /// Where the file ends inside a structure: offset, bytes present, and its name.
    pub(crate) truncated: Option<(u64, u64, &'static str)>,
    pub(crate) line_ends: Option<String>,
    pub(crate) grown: bool,
    pub(crate) reported: Option<u64>,
    /// Control records are where they should be, and nowhere else.
    pub(crate) trusted: bool,
    pub(crate) index: Index,
}

impl<'s> Scan<'s> {
    pub(crate) fn new(source: &'s dyn ReadAt, size: u64) -> Self {
        Self {
            source,
            expect: Expect::Control,
            control: Control {
                entries: Vec::new(),
                fault: None,
                counted: false,
            },
            control_at: 0,
            has_entry_counts: false,
            census: RecordStats::new(),
            current_window: Box::new(WindowMap::new()),
            logical_offset: 0,
            jump_to: None,
            skips: PendingSkips::default(),
            trailing_bytes: 0,
            trailing_padding: 0,
            min_search_offset: 0,
            searched_to: 0,
            scratch: Vec::new(),
            truncated: None,
            line_ends: None,
            grown: false,
            reported: None,
            trusted: false,
            index: Index::empty(size),
        }
    }

    /// Tells the caller how far it is, every so often.
    pub(crate) fn report(
        &mut self,
        at: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<(), Error> {
        if self
            .reported
            .is_some_and(|reported| at < reported + REPORT_EVERY)
        {
            return Ok(());
        }
        self.reported = Some(at);
        if progress(at, self.index.size) {
            Ok(())
        } else {
            Err(Error::Stopped)
        }
    }

    pub(crate) fn problem(
        &mut self,
        kind: ProblemKind,
        offset: u64,
        bytes: u64,
        record: Option<(u8, u16)>,
        detail: impl FnOnce() -> String,
    ) {
        self.skips.report(&mut self.index);
        self.index.skipped_bytes += bytes;
        self.index.problems.add(kind, offset, bytes, record, detail);
    }
}
