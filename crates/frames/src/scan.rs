//! The first pass over a file.

use crate::census::{Census, Stop};
use crate::control::{Control, ENTRIES_AT, Entry, EntryFault};
use crate::index::{Error, Index, PackedPage, PageData, WindowMap};
use crate::problem::ProblemKind;
use crate::record::HEADER;
use crate::sniff;
use crate::source::{PAGE, ReadAt, WINDOW, read_full};
use crate::types::TypeSet;

/// After how many windows the caller is told how far it is.
const REPORT_EVERY: u64 = 16;

/// Goes over a file once. `progress` is told how many bytes of how many are done, about every 4
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
    walk(source, false, progress)
}

/// As [`index()`]; where control records are known to be `sure`, none is looked for among data.
pub(crate) fn walk(
    source: &dyn ReadAt,
    sure: bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Index, Error> {
    let size = source.size();
    let mut scan = Scan::new(source, size);
    scan.sure = sure;
    let mut buffer = vec![0; WINDOW];
    let mut at = 0;
    let mut cut = None;
    while at < size {
        if (at / WINDOW as u64).is_multiple_of(REPORT_EVERY) && !progress(at, size) {
            return Err(Error::Stopped);
        }
        let expected = usize::try_from(size - at).map_or(WINDOW, |rest| rest.min(WINDOW));
        let got = match read_full(source, at, &mut buffer[..expected]) {
            Ok(got) => got,
            Err(source) if at == 0 => return Err(Error::Io { offset: 0, source }),
            Err(error) => {
                cut = Some(format!("reading failed here: {error}"));
                break;
            }
        };
        scan.window(at, &buffer[..got]);
        at += got as u64;
        if got < expected {
            // It came back short because there is no more, or because reading on fails.
            cut = Some(match source.read_at(at, &mut [0]) {
                Err(error) => format!("reading failed here: {error}"),
                Ok(_) => {
                    format!(
                        "the file has lost its last {} bytes since it was opened",
                        size - at
                    )
                }
            });
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

/// What the next page is.
enum Expect {
    /// A control record.
    Control,
    /// A control record, for the last page was an end-of-data record.
    Nothing,
    /// Data: which entry of the control record, which frame of it.
    Data { entry: usize, frame: u32 },
    /// Not known since an offset, for a reason; a control record is searched for.
    Lost {
        since: u64,
        kind: ProblemKind,
        why: String,
    },
}

/// Whole frames without a plausible record, one after the other.
struct BadFrames {
    offset: u64,
    bytes: u64,
    frames: u64,
    kind: ProblemKind,
    why: String,
}

struct Scan<'s> {
    source: &'s dyn ReadAt,
    expect: Expect,
    control: Control,
    control_at: u64,
    census: Census,
    /// The window that is walked.
    here: Box<WindowMap>,
    bad_frames: Option<BadFrames>,
    /// Where the file ends inside something: what, and how many bytes of it there are.
    truncated: Option<(u64, u64, &'static str)>,
    line_ends: Option<String>,
    grown: bool,
    /// Control records are where they should be, and nowhere else.
    sure: bool,
    index: Index,
}

impl<'s> Scan<'s> {
    fn new(source: &'s dyn ReadAt, size: u64) -> Self {
        Self {
            source,
            expect: Expect::Control,
            control: Control {
                entries: Vec::new(),
                fault: None,
                counted: false,
            },
            control_at: 0,
            census: Census::new(),
            here: Box::new(WindowMap::new()),
            bad_frames: None,
            truncated: None,
            line_ends: None,
            grown: false,
            sure: false,
            index: Index::empty(size),
        }
    }

    fn window(&mut self, base: u64, bytes: &[u8]) {
        if base == 0 {
            self.line_ends = sniff::line_ends(bytes, self.index.size);
        }
        for (number, start) in (0..bytes.len()).step_by(PAGE).enumerate() {
            let at = base + start as u64;
            let rest = &bytes[start..];
            let page = &rest[..rest.len().min(PAGE)];
            match self.expect {
                Expect::Data { entry, frame } => {
                    if let Some((data, types)) = self.data(at, page, rest, entry, frame) {
                        self.here.pages[number] = PackedPage::new(data);
                        self.here.types[number] = types;
                        self.here.all.add(types);
                    }
                }
                Expect::Control | Expect::Nothing => self.control(at, page, rest),
                Expect::Lost { .. } => self.search(at, page, rest),
            }
        }
        let map = self.here.all.meets(TypeSet::ALL).then(|| self.here.clone());
        if map.is_some() {
            *self.here = WindowMap::new();
        }
        self.index.windows.push(map);
    }

    /// A header at an offset from the page at `at`, of which `rest` is in memory.
    fn peek(&self, at: u64, rest: &[u8], offset: u64) -> Option<[u8; HEADER]> {
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
        Control::found(page.first_chunk()?, |offset| self.peek(at, rest, offset))
    }

    fn control(&mut self, at: u64, page: &[u8], rest: &[u8]) {
        let Some(page) = page.first_chunk::<PAGE>() else {
            self.truncated = Some((at, page.len() as u64, "a control record"));
            return;
        };
        let control = Control::parse(page);
        let Some(fault) = control.fault.filter(|_| control.entries.is_empty()) else {
            self.begin(at, control);
            return;
        };
        if at == 0 {
            let (kind, why) = sniff::other(rest);
            self.lose(at, kind, why);
        } else if matches!(self.expect, Expect::Nothing) {
            self.lose(
                at,
                ProblemKind::Resync,
                "what follows the end-of-data record is no control record".to_owned(),
            );
        } else if matches!(fault, EntryFault::Flag(_)) && self.ends_data(at, page, rest) {
            self.index.end_of_data += 1;
            self.index.control_bytes += PAGE as u64;
            self.expect = Expect::Nothing;
        } else {
            self.lose(at, ProblemKind::Resync, fault.describe(1));
        }
    }

    /// Whether a page without a valid entry is an end-of-data record. Its content is nowhere
    /// documented; it is taken for one if its control area is empty, or if the file ends or another
    /// control record follows behind it.
    fn ends_data(&self, at: u64, page: &[u8; PAGE], rest: &[u8]) -> bool {
        let next = at + PAGE as u64;
        if next + PAGE as u64 > self.index.size || page[ENTRIES_AT..].iter().all(|&byte| byte == 0)
        {
            return true;
        }
        if let Some(behind) = rest.get(PAGE..2 * PAGE) {
            return self.found(next, behind, &rest[PAGE..]).is_some();
        }
        let mut behind = [0; PAGE];
        match read_full(self.source, next, &mut behind) {
            Ok(PAGE) => self.found(next, &behind, &behind).is_some(),
            _ => true,
        }
    }

    fn begin(&mut self, at: u64, control: Control) {
        self.flush_bad_frames();
        self.index.control_records += 1;
        self.index.control_bytes += PAGE as u64;
        self.control_at = at;
        self.control = control;
        self.expect = Expect::Data { entry: 0, frame: 0 };
    }

    fn lose(&mut self, since: u64, kind: ProblemKind, why: String) {
        self.flush_bad_frames();
        self.expect = Expect::Lost { since, kind, why };
    }

    fn search(&mut self, at: u64, page: &[u8], rest: &[u8]) {
        if let Some(control) = self.found(at, page, rest) {
            self.end_search(at, true);
            self.begin(at, control);
        }
    }

    fn end_search(&mut self, at: u64, found: bool) {
        if let Expect::Lost { since, kind, why } =
            std::mem::replace(&mut self.expect, Expect::Control)
        {
            let bytes = at - since;
            // If something readable came after it, bytes were skipped rather than the file not
            // recognised.
            let kind = if found && kind == ProblemKind::Header {
                ProblemKind::Resync
            } else {
                kind
            };
            let to = if found {
                "the next control record"
            } else {
                "the end of the file"
            };
            self.problem(kind, since, bytes, None, || {
                format!("{why}; {bytes} bytes skipped to {to}")
            });
        }
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
        let mut skipped = end - pos;
        match stop {
            Stop::Done | Stop::EndOfFrame => skipped = 0,
            Stop::NoHeader if end < limit => {
                self.truncated = Some((at + pos as u64, skipped as u64, "a record header"));
            }
            Stop::Long(header) if end < limit && usize::from(header.length) <= limit - pos => {
                self.truncated = Some((at + pos as u64, skipped as u64, "a record"));
            }
            _ if pos == start => {
                if !self.sure
                    && let Some(control) = self.found(at, page, rest)
                {
                    self.early_control(at, entry, frame);
                    self.begin(at, control);
                    return None;
                }
                self.bad_frame(at + pos as u64, skipped as u64, || {
                    stop.describe(end - pos, limit)
                });
            }
            _ if page[pos..end].iter().all(|&byte| byte == 0) => skipped = 0,
            _ => {
                let (kind, why) = stop.describe(end - pos, limit);
                let record = stop.record();
                self.problem(kind, at + pos as u64, skipped as u64, record, || {
                    format!("{why}; the rest of its frame, {skipped} bytes, is skipped")
                });
            }
        }
        self.index.data_bytes += (pos - start) as u64;
        self.index.padding_bytes += (page.len() - (pos - start) - skipped) as u64;
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
        self.flush_bad_frames();
        let missing = entry.pages() - frame;
        let control_at = self.control_at;
        self.problem(ProblemKind::Resync, at, 0, None, || {
            format!(
                "a control record stands here, {missing} frames before the data end that the \
                 control record at offset {control_at} describes (x'{:08X}' to x'{:08X}'); \
                 it is read instead, 0 bytes skipped",
                entry.start, entry.end
            )
        });
    }

    fn bad_frame(&mut self, offset: u64, bytes: u64, why: impl FnOnce() -> (ProblemKind, String)) {
        if let Some(bad) = &mut self.bad_frames
            && bad.offset + bad.bytes == offset
        {
            bad.bytes += bytes;
            bad.frames += 1;
            return;
        }
        self.flush_bad_frames();
        let (kind, why) = why();
        self.bad_frames = Some(BadFrames {
            offset,
            bytes,
            frames: 1,
            kind,
            why,
        });
    }

    fn flush_bad_frames(&mut self) {
        if let Some(BadFrames {
            offset,
            bytes,
            frames,
            kind,
            why,
        }) = self.bad_frames.take()
        {
            self.index.skipped_bytes += bytes;
            self.index
                .problems
                .add(kind, offset, bytes, None, || match frames {
                    1 => format!("{why}; this frame, {bytes} bytes, is skipped"),
                    _ => format!("{why}; {frames} frames, {bytes} bytes, are skipped"),
                });
        }
    }

    fn problem(
        &mut self,
        kind: ProblemKind,
        offset: u64,
        bytes: u64,
        record: Option<(u8, u16)>,
        detail: impl FnOnce() -> String,
    ) {
        self.flush_bad_frames();
        self.index.skipped_bytes += bytes;
        self.index.problems.add(kind, offset, bytes, record, detail);
    }

    /// The index, after `read` bytes; `cut` says why there were not more.
    fn finish(mut self, read: u64, cut: Option<String>) -> Index {
        self.flush_bad_frames();
        self.end(read, cut);
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
            Expect::Lost { .. } => {
                self.expect = expect;
                self.end_search(read, false);
            }
            _ if size == 0 => {
                self.problem(ProblemKind::Truncated, 0, 0, None, || {
                    "the file is empty".to_owned()
                });
            }
            Expect::Nothing if read == size && truncated.is_none() => self.index.complete = true,
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
                                      closed, or it is cut off here";
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
                "the file has grown since it was opened; what was added is not read".to_owned()
            });
        }
    }

    /// How many bytes of the frames of the current control record are not in the file.
    fn missing(&self, entry: usize, frame: u32, read: u64) -> u64 {
        let rest = self.control.entries.get(entry..).unwrap_or(&[]);
        let frames = rest
            .iter()
            .map(|entry| u64::from(entry.pages()))
            .sum::<u64>()
            - u64::from(frame);
        frames * PAGE as u64 - read % PAGE as u64
    }
}
