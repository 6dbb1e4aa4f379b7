//! Resynchronization after a missing or misplaced control record.
//!
//! Where a frame is no frame, or no control record is where one is expected, bytes are wrong, or
//! bytes were added to the file or lost from it. The next control record may then begin at any offset;
//! it tells besides where the frames before it begin that could not be read.

use super::control::{Control, ENTRIES_AT, EVIDENCE, SearchHint};
use super::record::{HEADER, Header};
use super::scan_state::{Expect, Scan};
use super::skips::SkipReason;
use crate::problem::ProblemKind;
use crate::source::Error;
use crate::source::{PAGE, WINDOW, read_full};
use crate::tod;

/// Bytes to read first if probably not all of a window is needed.
pub(crate) const NEAR: usize = 4 * PAGE;

/// Result of a search.
pub(crate) enum SearchResult {
    /// Reading continues here.
    Found(u64),
    /// There is nothing more to be read, up to here.
    Ended(u64),
}

impl Scan<'_> {
    /// Where a search may begin that was found necessary at the page at `at`. The control record may
    /// are in the page before it if bytes were lost; what was searched already is not again.
    fn search_from(&self, at: u64) -> u64 {
        at.saturating_sub(PAGE as u64)
            .max(self.min_search_offset)
            .max(self.searched_to)
    }

    /// Constraints on a control record that is searched for from an offset on.
    fn like(&self, from: u64, grid: Option<usize>) -> SearchHint {
        SearchHint {
            room: self.index.size.saturating_sub(from),
            grid,
            uncounted: self.index.control_records > 0 && !self.has_entry_counts,
        }
    }

    /// Looks for a control record at any offset of a page at `at` that is not a frame, and of the page before it;
    /// continues there if there is one. `rest` is what is in memory from `at` on.
    pub(crate) fn search_page(
        &mut self,
        at: u64,
        rest: &[u8],
        why: impl FnOnce() -> SkipReason,
    ) -> bool {
        let from = self.search_from(at);
        let end = at + PAGE as u64;
        if from >= end {
            return false;
        }
        self.searched_to = end;
        let count = (end - from) as usize;
        let size = self.index.size;
        let wanted = usize::try_from(size.saturating_sub(from))
            .map_or(count + EVIDENCE, |there| there.min(count + EVIDENCE));
        let mut scratch = std::mem::take(&mut self.scratch);
        let bytes = match rest.get(..wanted).filter(|_| from == at) {
            Some(near) => near,
            None => {
                scratch.resize(wanted, 0);
                let got = read_full(self.source, from, &mut scratch).unwrap_or(0);
                &scratch[..got]
            }
        };
        let found = Control::anywhere(bytes, count, self.like(from, None));
        self.scratch = scratch;
        let Some((place, _)) = found else {
            return false;
        };
        self.resume(at, from + place as u64, why());
        true
    }

    /// Searches the rest of the file for the next control record.
    pub(crate) fn search_forward(
        &mut self,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<SearchResult, Error> {
        let Expect::Lost { since, .. } = self.expect else {
            return Ok(SearchResult::Ended(0));
        };
        let size = self.index.size;
        let mut from = self.search_from(since);
        // The next one is mostly near: little is read at first.
        let mut most = NEAR as u64;
        while from < size {
            self.report(from, progress)?;
            let count = (most - from % most) as usize;
            let wanted = usize::try_from(size - from)
                .map_or(count + EVIDENCE, |rest| rest.min(count + EVIDENCE));
            self.scratch.resize(wanted, 0);
            let got = read_full(self.source, from, &mut self.scratch).unwrap_or(0);
            let count = count.min(got);
            // Places that are whole pages away from where a control record was expected.
            let page = PAGE as u64;
            let grid = (since % page + page - from % page) as usize % PAGE;
            let like = self.like(from, Some(grid));
            let found = Control::anywhere(&self.scratch[..got], count, like);
            if let Some((place, _)) = found {
                let to = self.resync_at(from + place as u64);
                return Ok(SearchResult::Found(to));
            }
            from += count as u64;
            if got < wanted {
                return Ok(SearchResult::Ended(from.max(since)));
            }
            most = (2 * most).min(WINDOW as u64);
        }
        if let Some(to) = self.recover_tail(since) {
            return Ok(SearchResult::Found(to));
        }
        Ok(SearchResult::Ended(size))
    }

    /// Continues at the control record that was searched for and found at `at`; where to read on.
    fn resync_at(&mut self, at: u64) -> u64 {
        if let Expect::Lost { since, kind, why } =
            std::mem::replace(&mut self.expect, Expect::Control)
        {
            let why = SkipReason {
                kind,
                record: None,
                text: why,
            };
            self.resume(since, at, why);
        }
        self.jump_to.take().unwrap_or(at)
    }

    /// Where reading continues if frames before the end of the file can be read although no control
    /// record comes after them, but an end-of-data record, which is the last page then.
    fn recover_tail(&mut self, since: u64) -> Option<u64> {
        let at = self.index.size.checked_sub(PAGE as u64)?;
        if !self.skips.ends_at(since) || at.abs_diff(since).is_multiple_of(PAGE as u64) {
            return None;
        }
        let mut page = [0; PAGE];
        let got = read_full(self.source, at, &mut page).ok()?;
        if got < PAGE || !Control::parse(&page).entries.is_empty() {
            return None;
        }
        let begin = self.skips.first().map_or(since, |skip| skip.from);
        match self.recoverable_frames(since, at, begin)? {
            // No frame speaks for it.
            0 if page[ENTRIES_AT..].iter().any(|&byte| byte != 0) => None,
            _ => Some(self.resync_at(at)),
        }
    }

    /// Continues at the control record at `to`, or with the frames before it that can be read now. The
    /// page at `at` was found last and is not accounted for; `why` it could not be read.
    pub(crate) fn resume(&mut self, at: u64, to: u64, why: SkipReason) {
        if !self.skips.ends_at(at) {
            self.skips.report(&mut self.index);
        }
        let begin = self.skips.first().map_or(at, |skip| skip.from);
        let on_grid = to.abs_diff(at).is_multiple_of(PAGE as u64);
        let rescued = match on_grid {
            true => 0,
            false => self.recoverable_frames(at, to, begin).unwrap_or(0),
        };
        let goes_on = to - rescued * PAGE as u64;
        let (from, why) = if on_grid && to >= at {
            // Nothing says that bytes were added or lost; frames before it have problems of their own.
            self.skips.report(&mut self.index);
            (at, why)
        } else {
            (begin, self.skips.take().unwrap_or(why))
        };
        // The end of a frame that seemed to be whole is the control record's. Bytes of its last record
        // are counted as that.
        let over = from.saturating_sub(goes_on);
        let padding = over.min(self.trailing_padding);
        self.index.padding_bytes -= padding;
        self.index.control_bytes = self.index.control_bytes.saturating_sub(over - padding);
        let kind = match why.kind {
            ProblemKind::Transfer => ProblemKind::Transfer,
            _ => ProblemKind::Resync,
        };
        let bytes = goes_on.saturating_sub(from);
        self.problem(kind, from.min(goes_on), bytes, None, || {
            let text = &why.text;
            let next = match rescued {
                0 => "the next control record",
                _ => "the next frame",
            };
            let moved = match on_grid {
                true => "",
                false => {
                    "; it is not a multiple of 4096 bytes after those before: bytes were added to \
                     the file or lost from it"
                }
            };
            format!("{text}; {bytes} bytes skipped to {next}{moved}")
        });
        self.index.spans.begin(self.logical_offset, goes_on);
        self.expect = match rescued {
            0 => Expect::Control,
            frames => self.expect_frame(self.control.frames() - frames),
        };
        self.searched_to = to + 1;
        (self.trailing_bytes, self.trailing_padding) = (0, 0);
        self.jump_to = Some(goes_on);
    }

    /// Number of frames before the control record at `to` that belong to the last one and were skipped, if a record
    /// begins the first of them; nothing if it is not about where it was expected. Bytes before `begin` were read.
    fn recoverable_frames(&self, at: u64, to: u64, begin: u64) -> Option<u64> {
        let total = self.control.frames();
        let (base, frame) = match (self.skips.first(), &self.expect) {
            (Some(skip), _) => skip.next,
            (None, &Expect::Data { entry, frame }) => (at, self.control.frame(entry, frame)),
            (None, _) => (at, total),
        };
        let left = total.saturating_sub(frame);
        let expected = base + left * PAGE as u64;
        if to.abs_diff(expected) >= 2 * PAGE as u64 {
            return None;
        }
        // Where bytes were lost, the first may begin in what followed the last record that was read.
        let most = left.min((to + self.trailing_bytes).saturating_sub(begin) / PAGE as u64);
        // It may as well be the one in which the damage is.
        [most, most.saturating_sub(1)]
            .into_iter()
            .find(|&count| count == 0 || self.begins_frame(to - count * PAGE as u64, total - count))
            .or(Some(0))
    }

    /// Whether a record begins the frame of the last control record with this number if it is at `at`.
    fn begins_frame(&self, at: u64, number: u64) -> bool {
        let Expect::Data { entry, frame } = self.expect_frame(number) else {
            return false;
        };
        let first = match (self.control.entries.get(entry), frame) {
            (Some(entry), 0) => entry.first(),
            _ => 0,
        };
        let mut bytes = [0; HEADER];
        let got = read_full(self.source, at + first as u64, &mut bytes).unwrap_or(0);
        got == HEADER
            && Header::parse(&bytes).is_some_and(|header| {
                usize::from(header.length) <= PAGE - first && tod::is_plausible(header.tod)
            })
    }

    /// The frame of the last control record with this number as what is expected next.
    fn expect_frame(&self, mut number: u64) -> Expect {
        for (entry, pages) in self
            .control
            .entries
            .iter()
            .map(|one| one.pages())
            .enumerate()
        {
            match u32::try_from(number) {
                Ok(frame) if frame < pages => return Expect::Data { entry, frame },
                _ => number -= u64::from(pages),
            }
        }
        Expect::Control
    }
}
