//! The first pass over a file.

use super::control::{Control, ENTRIES_AT, ENTRY, Entry, EntryFault};
use super::index::{Index, IntervalDigest, PackedPage, PageData, WindowMap};
use super::record::{Class, HEADER, Header};
use super::resync::{NEAR, SearchResult};
use super::scan_state::{Expect, Scan};
use super::skips::{SkipReason, SkippedRange};
use super::sniff;
use super::stats::WalkEnd;
use super::types::TypeSet;
use crate::problem::ProblemKind;
use crate::source::Error;
use crate::source::{PAGE, ReadAt, WINDOW, read_full};

const NONE_HERE: &str = "no control record here";

/// Indexes a file in one pass. `progress` gets the bytes done and the total, about every 4
/// MiB, and stops the pass by saying false.
///
/// Bad input is no error: it is in the problems of the index.
///
/// # Errors
/// If nothing at all can be read, or `progress` says stop.
pub fn index(
    source: &dyn ReadAt,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Index, Error> {
    walk(source, 0, false, progress)
}

/// As [`index()`], of what begins at `begin`, a control record; offsets are those of the source.
///
/// # Errors
/// As [`index()`].
pub fn index_from(
    source: &dyn ReadAt,
    begin: u64,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Index, Error> {
    walk(source, begin, false, progress)
}

/// Goes over a file once more, for a digest of every interval: in the order of
/// [`Index::interval_ends`], one for each. `sure` as for captures.
///
/// # Errors
/// As [`index()`].
pub fn digests(
    source: &dyn ReadAt,
    begin: u64,
    sure: bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Vec<IntervalDigest>, Error> {
    let mut scan = Scan::new(source, source.size());
    scan.census.digests = Some((Vec::new(), IntervalDigest::default()));
    Ok(over(scan, begin, sure, progress)?.digests)
}

/// As [`index()`]; where control records are known to be `sure`, none is looked for among data.
pub(crate) fn walk(
    source: &dyn ReadAt,
    begin: u64,
    sure: bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Index, Error> {
    over(Scan::new(source, source.size()), begin, sure, progress)
}

fn over(
    mut scan: Scan<'_>,
    begin: u64,
    sure: bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Index, Error> {
    let (source, size) = (scan.source, scan.index.size);
    scan.trusted = sure;
    scan.min_search_offset = begin;
    scan.index.spans.begin(0, begin);
    let mut buffer = vec![0; WINDOW];
    let (mut at, mut most) = (begin, WINDOW);
    let mut cut = None;
    while at < size {
        scan.report(at, progress)?;
        if matches!(scan.expect, Expect::Lost { .. }) {
            match scan.search_forward(progress)? {
                SearchResult::Found(next) => at = next,
                SearchResult::Ended(end) => {
                    at = end;
                    cut = (end < size).then(|| why_short(source, end, size));
                    break;
                }
            }
            continue;
        }
        // No more than fills a window, for a pass reads one at a time.
        let room = (WINDOW - (scan.logical_offset % WINDOW as u64) as usize).min(most);
        let expected = usize::try_from(size - at).map_or(room, |rest| rest.min(room));
        let got = match read_full(source, at, &mut buffer[..expected]) {
            Ok(got) => got,
            Err(source) if at == begin => return Err(Error::Io { offset: at, source }),
            Err(error) => {
                cut = Some(format!("cannot read here: {error}"));
                break;
            }
        };
        let end = at + got as u64;
        at = scan.window(at, &buffer[..got]);
        most = if at == end {
            WINDOW.min(2 * most)
        } else {
            NEAR
        };
        if got < expected && at >= end {
            cut = Some(why_short(source, at, size));
            break;
        }
    }
    if cut.is_none() && matches!(source.read_at(size, &mut [0]), Ok(1)) {
        scan.grown = true;
    }
    let index = scan.finish(at, cut);
    if !progress(size, size) {
        return Err(Error::Stopped);
    }
    Ok(index)
}

/// Why reading came back short: because there is no more, or because reading on fails.
fn why_short(source: &dyn ReadAt, at: u64, size: u64) -> String {
    match source.read_at(at, &mut [0]) {
        Err(error) => format!("cannot read here: {error}"),
        Ok(_) => format!(
            "the file has lost its last {} bytes since it was opened",
            size - at
        ),
    }
}

impl Scan<'_> {
    /// Walks pages from `base` on that are in one window; where the next one is.
    fn window(&mut self, base: u64, bytes: &[u8]) -> u64 {
        if base == 0 {
            self.line_ends = sniff::line_ends(bytes, self.index.size);
        }
        for start in (0..bytes.len()).step_by(PAGE) {
            let at = base + start as u64;
            let rest = &bytes[start..];
            let page = &rest[..rest.len().min(PAGE)];
            match self.expect {
                Expect::Data { entry, frame } => {
                    if let Some((data, types)) = self.data(at, page, rest, entry, frame) {
                        let number = (self.logical_offset % WINDOW as u64) as usize / PAGE;
                        self.current_window.pages[number] = PackedPage::new(data);
                        self.current_window.types[number] = types;
                        self.current_window.all.add(types);
                    }
                }
                _ => self.control(at, page, rest),
            }
            if let Some(to) = self.jump_to.take() {
                return to;
            }
            // What is lost from this page on is not part of what is walked.
            if !matches!(self.expect, Expect::Lost { since, .. } if since == at) {
                self.next_page();
            }
            if let Expect::Lost { since, .. } = self.expect {
                return since;
            }
        }
        base + bytes.len() as u64
    }

    /// To the next page.
    fn next_page(&mut self) {
        self.logical_offset += PAGE as u64;
        if self.logical_offset.is_multiple_of(WINDOW as u64) {
            self.store_window();
        }
    }

    /// Puts the window that was walked into the index.
    fn store_window(&mut self) {
        let map = self
            .current_window
            .all
            .meets(TypeSet::ALL)
            .then(|| self.current_window.clone());
        if map.is_some() {
            *self.current_window = WindowMap::new();
        }
        self.index.windows.push(map);
    }

    /// A header at an offset from the page at `at`, of which `rest` is in memory.
    fn peek_page(&self, at: u64, rest: &[u8], offset: u64) -> Option<[u8; HEADER]> {
        let near = usize::try_from(offset)
            .ok()
            .and_then(|offset| rest.get(offset..)?.first_chunk().copied());
        near.or_else(|| {
            let mut bytes = [0; HEADER];
            let got = read_full(self.source, at + offset, &mut bytes).ok()?;
            (got == HEADER).then_some(bytes)
        })
    }

    /// The page as a control record where none was expected.
    fn found(&self, at: u64, page: &[u8], rest: &[u8]) -> Option<Control> {
        Control::found(page.first_chunk()?, |offset| {
            self.peek_page(at, rest, offset)
        })
    }

    fn control(&mut self, at: u64, page: &[u8], rest: &[u8]) {
        // Where pages do not end with the file, bytes may have been added or lost; all the more if frames
        // up to here could not be read.
        let odd = !(self.index.size - at).is_multiple_of(PAGE as u64);
        let adrift = odd && self.skips.ends_at(at);
        let Some(page) = page.first_chunk::<PAGE>() else {
            if adrift {
                self.lose(at, ProblemKind::Resync, NONE_HERE.to_owned());
            } else {
                self.truncated = Some((at, page.len() as u64, "a control record"));
            }
            return;
        };
        let control = Control::parse(page);
        let Some(fault) = control.fault.filter(|_| control.entries.is_empty()) else {
            // Data that happen to be here may look like one whose entries are not counted.
            if odd && !control.counted && self.found(at, page, rest).is_none() {
                self.lose(at, ProblemKind::Resync, NONE_HERE.to_owned());
            } else {
                self.begin(at, control);
            }
            return;
        };
        if at == 0 {
            let (kind, why) = sniff::other(rest);
            self.lose(at, kind, why);
        } else if matches!(self.expect, Expect::ControlOrEnd) {
            self.lose(
                at,
                ProblemKind::Resync,
                "the data after the end-of-data record is not a control record".to_owned(),
            );
        } else if matches!(fault, EntryFault::Flag(_))
            && !adrift
            && let Some(sure) = self.ends_data(at, page, rest)
        {
            let why = || SkipReason {
                kind: ProblemKind::Resync,
                record: None,
                text: fault.describe(1),
            };
            if !sure && self.search_page(at, rest, why) {
                return;
            }
            self.index.end_of_data += 1;
            self.index.control_bytes += PAGE as u64;
            self.min_search_offset = at + PAGE as u64;
            (self.trailing_bytes, self.trailing_padding) = (0, 0);
            self.expect = Expect::ControlOrEnd;
        } else {
            self.lose(at, ProblemKind::Resync, fault.describe(1));
        }
    }

    /// Whether a page without a valid entry is an end-of-data record, and whether what is after it says
    /// so. Its content is nowhere documented; it is taken for one if the file ends or another control
    /// record follows after it, or if its control area is empty, which may be the rest of a control
    /// record as well.
    fn ends_data(&self, at: u64, page: &[u8; PAGE], rest: &[u8]) -> Option<bool> {
        let next = at + PAGE as u64;
        let mut far = [0; PAGE];
        let followed = if next + PAGE as u64 > self.index.size {
            true
        } else if let Some(behind) = rest.get(PAGE..2 * PAGE) {
            self.found(next, behind, &rest[PAGE..]).is_some()
        } else {
            match read_full(self.source, next, &mut far) {
                Ok(PAGE) => self.found(next, &far, &far).is_some(),
                _ => true,
            }
        };
        let empty = page[ENTRIES_AT..].iter().all(|&byte| byte == 0);
        (followed || empty).then_some(followed)
    }

    fn begin(&mut self, at: u64, control: Control) {
        self.skips.report(&mut self.index);
        self.index.control_records += 1;
        self.index.control_bytes += PAGE as u64;
        self.min_search_offset = at + PAGE as u64;
        self.trailing_bytes = (PAGE - ENTRIES_AT - control.entries.len() * ENTRY) as u64;
        self.trailing_padding = 0;
        self.has_entry_counts |= control.counted;
        self.control_at = at;
        self.control = control;
        self.expect = Expect::Data { entry: 0, frame: 0 };
    }

    fn lose(&mut self, since: u64, kind: ProblemKind, why: String) {
        self.expect = Expect::Lost { since, kind, why };
    }

    /// One frame of data; where its records are, if there are any, and of which types.
    fn data(
        &mut self,
        at: u64,
        page: &[u8],
        rest: &[u8],
        nth: usize,
        frame: u32,
    ) -> Option<(PageData, TypeSet)> {
        let &entry = self.control.entries.get(nth)?;
        let last = frame + 1 >= entry.pages();
        let start = if frame == 0 { entry.first() } else { 0 }.min(page.len());
        let limit = if last { entry.limit() } else { PAGE };
        // Where the data end in what there is of the page.
        let end = limit.min(page.len());
        let (pos, types, stop) = self.census.walk(at, &page[..end], start, entry.class);
        while self.index.wholes.len() < self.census.ends() {
            let whole = if self.trusted {
                at + u64::from(entry.pages().saturating_sub(frame)) * PAGE as u64
            } else {
                self.control_at + (1 + self.control.frames()) * PAGE as u64
            };
            self.index.wholes.push(whole);
        }
        if let Some(offset) = self.census.configuration.take()
            && self.index.configurations.len() < Index::MAX_CONFIGURATIONS
        {
            self.index.configurations.push((self.control_at, offset));
        }
        let skipped = (end - pos) as u64;
        let mut why = None;
        match stop {
            WalkEnd::Done | WalkEnd::EndOfFrame => {}
            WalkEnd::NoHeader if end < limit => {
                self.truncated = Some((at + pos as u64, skipped, "a record header"));
            }
            WalkEnd::Long(header) if end < limit && usize::from(header.length) <= limit - pos => {
                self.truncated = Some((at + pos as u64, skipped, "a record"));
            }
            _ if pos == start => {
                let because = || {
                    let (kind, text) = stop.describe(end - pos, limit);
                    let record = None;
                    SkipReason { kind, record, text }
                };
                if !self.trusted {
                    if let Some(control) = self.found(at, page, rest) {
                        self.early_control(at, entry, frame);
                        self.begin(at, control);
                        return None;
                    }
                    if self.search_page(at, rest, because) {
                        return None;
                    }
                }
                let number = self.control.frame(nth, frame);
                let skip = SkippedRange {
                    from: at,
                    end: at + page.len() as u64,
                    offset: at + pos as u64,
                    bytes: skipped,
                    frames: 1,
                    next: (at, number),
                };
                self.skips.add(skip, because, &mut self.index);
                if page.len() == PAGE {
                    self.advance(at + PAGE as u64, nth, frame, last);
                }
                return None;
            }
            _ if page[pos..end].iter().all(|&byte| byte == 0) => {
                let data = &page[start..pos];
                why = too_early(data, end - pos, last, entry.class);
            }
            _ => {
                let (kind, text) = stop.describe(end - pos, limit);
                let record = stop.record();
                why = Some(SkipReason { kind, record, text });
            }
        }
        self.index.data_bytes += (pos - start) as u64;
        let rest = (page.len() - pos) as u64;
        self.index.padding_bytes += start as u64;
        if let Some(why) = why {
            let end = at + page.len() as u64;
            let number = self.control.frame(nth, frame);
            let skip = SkippedRange {
                from: at + pos as u64,
                end,
                offset: at + pos as u64,
                bytes: skipped,
                frames: 0,
                next: (end, number + 1),
            };
            self.skips.add(skip, || why, &mut self.index);
            (self.trailing_bytes, self.trailing_padding) = (0, 0);
        } else if self.truncated.is_none() {
            self.index.padding_bytes += rest;
            (self.trailing_bytes, self.trailing_padding) = (rest, rest);
        }
        if page.len() == PAGE {
            self.advance(at + PAGE as u64, nth, frame, last);
        }
        (pos > start).then_some((
            PageData {
                start,
                end: pos,
                class: entry.class,
            },
            types,
        ))
    }

    /// To the next frame, entry or control record.
    fn advance(&mut self, next: u64, nth: usize, frame: u32, last: bool) {
        self.expect = if !last {
            Expect::Data {
                entry: nth,
                frame: frame + 1,
            }
        } else if nth + 1 < self.control.entries.len() {
            Expect::Data {
                entry: nth + 1,
                frame: 0,
            }
        } else if let Some(fault) = self.control.fault {
            let why = format!(
                "{} (control record at offset {})",
                fault.describe(nth + 2),
                self.control_at
            );
            self.lose(next, ProblemKind::Resync, why);
            return;
        } else {
            Expect::Control
        };
    }

    fn early_control(&mut self, at: u64, entry: Entry, frame: u32) {
        let missing = entry.pages() - frame;
        let control_at = self.control_at;
        self.problem(ProblemKind::Resync, at, 0, None, || {
            format!(
                "a control record is here, {missing} frames before the data end that the \
                 control record at offset {control_at} describes (x'{:08X}' to x'{:08X}'); \
                 it is read instead, 0 bytes skipped",
                entry.start, entry.end
            )
        });
    }

    /// The index, after `read` bytes; `cut` says why there were not more.
    fn finish(mut self, read: u64, cut: Option<String>) -> Index {
        self.skips.report(&mut self.index);
        self.end(read, cut);
        if !self.logical_offset.is_multiple_of(WINDOW as u64) {
            self.store_window();
        }
        self.census.finish(&mut self.index);
        self.index
    }

    /// Says how the file ends.
    fn end(&mut self, read: u64, cut: Option<String>) {
        let size = self.index.size;
        let damaged = !self.index.problems.is_empty() || matches!(self.expect, Expect::Lost { .. });
        let expect = std::mem::replace(&mut self.expect, Expect::Control);
        let truncated = self.truncated.take();
        match expect {
            Expect::Lost { since, kind, why } => {
                let bytes = read - since;
                self.problem(kind, since, bytes, None, || {
                    format!("{why}; {bytes} bytes skipped to the end of the file")
                });
            }
            _ if size == 0 => {
                self.problem(ProblemKind::Truncated, 0, 0, None, || {
                    "the file is empty".to_owned()
                });
            }
            Expect::ControlOrEnd if read == size && truncated.is_none() => {
                self.index.complete = true
            }
            // Not the end of the file, only of what is left of it.
            _ if cut.is_some() => {}
            Expect::Data { entry, frame } => {
                let missing = self.missing(entry, frame, read);
                let control_at = self.control_at;
                let (offset, bytes, what) = truncated.unwrap_or((read, 0, "the data"));
                self.problem(ProblemKind::Truncated, offset, bytes, None, || {
                    format!(
                        "the file ends inside {what}: {missing} bytes are missing of the frames \
                         that the control record at offset {control_at} describes"
                    )
                });
            }
            _ => {
                let (offset, bytes, detail) = match truncated {
                    Some((offset, bytes, what)) => {
                        let detail = format!("the file ends inside {what}, {bytes} bytes into it");
                        (offset, bytes, detail)
                    }
                    None => {
                        let detail = "the file ends without an end-of-data record: it was not \
                                      closed, or it is truncated here";
                        (read, 0, detail.to_owned())
                    }
                };
                self.problem(ProblemKind::Truncated, offset, bytes, None, || detail);
            }
        }
        if let Some(detail) = self.line_ends.take().filter(|_| damaged) {
            self.problem(ProblemKind::Transfer, 0, 0, None, || detail);
        }
        if let Some(detail) = cut {
            let from = read - truncated.map_or(0, |(_, bytes, _)| bytes);
            self.problem(ProblemKind::Changed, from, size - from, None, || detail);
        } else if self.grown {
            self.problem(ProblemKind::Changed, size, 0, None, || {
                "the file has grown since it was opened; data added since then is not read"
                    .to_owned()
            });
        }
    }

    /// Number of bytes of the frames of the current control record that are not in the file.
    fn missing(&self, entry: usize, frame: u32, read: u64) -> u64 {
        let rest = self.control.entries.get(entry..).unwrap_or(&[]);
        let frames = rest
            .iter()
            .map(|entry| u64::from(entry.pages()))
            .sum::<u64>()
            - u64::from(frame);
        let begun = read.saturating_sub(self.index.spans.last().file_offset);
        frames * PAGE as u64 - begun % PAGE as u64
    }
}

/// Why the data of a frame cannot end with these records, if they cannot: `left` bytes follow that are
/// all zero. Documented: an end-of-frame record is after the records of every frame but the `last`
/// one, whose data end where the control record says; for sample data with an interval end.
fn too_early(records: &[u8], left: usize, last: bool, class: Class) -> Option<SkipReason> {
    // Fewer bytes than a header has can be no record that was lost.
    if left < HEADER || (last && class == Class::Sample && ends_interval(records)) {
        return None;
    }
    let text = match last {
        true => "the data ends before the end in the control record: only zeros follow",
        false => "the data of a frame end without an end-of-frame record: only zeros follow",
    };
    Some(SkipReason {
        kind: ProblemKind::Truncated,
        record: None,
        text: text.to_owned(),
    })
}

/// Whether the last of these records is an interval end.
fn ends_interval(mut records: &[u8]) -> bool {
    let mut last = None;
    while let Some(header) = Header::parse(records) {
        last = Some((header.domain, header.record));
        records = records
            .get(usize::from(header.length)..)
            .unwrap_or_default();
    }
    last == Some(Header::INTERVAL_END)
}
