//! The first pass over a dump.

use super::header::{Fault, HEAD, Header, RDW, SHORT};
use super::identity::Identity;
use super::index::Index;
use super::index_builder::{IndexBuilder, PendingRecord};
use super::search::View;
use super::sniff;
use super::stamp::IntervalLayout;
use crate::fingerprint::fingerprint;
use crate::problem::ProblemKind;
use crate::source::Error;
use crate::source::{ReadAt, WINDOW, read_full};

/// A chain of records is given up at the first break after this many.
pub const MAX_BREAKS: usize = 1_000_000;

/// How much is read beyond a window, so that the parts of a record that are checked are mostly at
/// hand.
const AHEAD: usize = 4096;
/// Bytes between reports of progress.
const REPORT_EVERY: u64 = 16 * WINDOW as u64;

/// Outcome of the first pass.
pub(crate) enum FirstPass {
    /// A stream of records.
    Stream(Box<Index>),
    /// Blocks or segments.
    Blocked,
}

/// Goes once over a file that is a stream of records; [`open`](super::open) reads other forms too. Records of the kinds
/// that `clocks` name are asked for their interval. `progress` gets the bytes done and the total, about every 4
/// MiB, and stops the pass by saying false.
///
/// Bad input is no error: it is in the problems of the index.
///
/// # Errors
/// If nothing at all can be read, or `progress` says stop.
pub fn index(
    source: &dyn ReadAt,
    clocks: &[IntervalLayout],
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Index, Error> {
    match first_pass(source, clocks, &[], false, progress)? {
        FirstPass::Stream(index) => Ok(*index),
        FirstPass::Blocked => unreachable!("a scan of a stream does not request its format"),
    }
}

/// Goes over a file once; up to the first block or segment if `stop_at_blocks` for those.
pub(crate) fn first_pass(
    source: &dyn ReadAt,
    clocks: &[IntervalLayout],
    identities: &[Identity],
    stop_at_blocks: bool,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<FirstPass, Error> {
    let size = source.size();
    let mut scan = Scan {
        chain: IndexBuilder::new(size, clocks, identities),
        source,
        stop_at_blocks,
        formed: false,
        end: size,
        read_error: None,
        reported: None,
        progress,
    };
    let mut buffer = vec![0; WINDOW + AHEAD];
    let mut at = 0;
    while at < scan.end {
        scan.report(at)?;
        let base = at / WINDOW as u64 * WINDOW as u64;
        let wanted = usize::try_from(scan.end - base).map_or(buffer.len(), |n| n.min(buffer.len()));
        let got = match read_full(source, base, &mut buffer[..wanted]) {
            Ok(got) => got,
            Err(source) if base == 0 => return Err(Error::Io { offset: 0, source }),
            Err(error) => {
                scan.read_error = Some(format!("cannot read here: {error}"));
                0
            }
        };
        if got < wanted {
            // It came back short because there is no more, or because reading on fails.
            scan.end = base + got as u64;
            scan.read_error = scan
                .read_error
                .or_else(|| Some(why_short(source, scan.end, size)));
            if scan.end <= at {
                break;
            }
        }
        at = scan.window(base, &buffer[..got], at)?;
        if scan.formed {
            return Ok(FirstPass::Blocked);
        }
    }
    let index = scan.finish(at);
    if !progress(size, size) {
        return Err(Error::Stopped);
    }
    Ok(FirstPass::Stream(Box::new(index)))
}

fn why_short(source: &dyn ReadAt, at: u64, size: u64) -> String {
    match source.read_at(at, &mut [0]) {
        Err(error) => format!("cannot read here: {error}"),
        Ok(_) => format!(
            "the file has lost its last {} bytes since it was opened",
            size - at
        ),
    }
}

struct Scan<'s> {
    chain: IndexBuilder,
    source: &'s dyn ReadAt,
    /// Whether to stop at a block or segment, and whether one was found.
    stop_at_blocks: bool,
    formed: bool,
    /// End of the data.
    end: u64,
    /// Reason why they end before the file does.
    read_error: Option<String>,
    reported: Option<u64>,
    progress: &'s mut dyn FnMut(u64, u64) -> bool,
}

impl Scan<'_> {
    fn report(&mut self, at: u64) -> Result<(), Error> {
        if self
            .reported
            .is_some_and(|reported| at < reported + REPORT_EVERY)
        {
            return Ok(());
        }
        self.reported = Some(at);
        if (self.progress)(at, self.chain.index.size) {
            Ok(())
        } else {
            Err(Error::Stopped)
        }
    }

    /// Walks the records that begin in a window, from `at` on; where the next one begins.
    fn window(&mut self, base: u64, bytes: &[u8], mut at: u64) -> Result<u64, Error> {
        // Going back after the window is a matter of reading that one again.
        while at >= base && at < self.end.min(base + WINDOW as u64) {
            let place = (at - base) as usize;
            let view = View {
                source: self.source,
                end: self.end,
                base,
                bytes,
            };
            let header = match bytes[place..].first_chunk::<HEAD>() {
                Some(bytes) => Header::from_bytes(bytes),
                // Fewer bytes than a long header has are at hand only at the end.
                None => match Header::parse(&bytes[place..]) {
                    Some(header) => header,
                    None => {
                        at = self.rest(&view, at)?;
                        continue;
                    }
                },
            };
            let next = at + u64::from(header.length);
            let check = header.check();
            let continues = check.is_ok() && next <= self.end;
            match check {
                Ok(()) if continues => {
                    self.chain.commit();
                    let clock = self.chain.clock(&header);
                    let mut far = Vec::new();
                    let record = record(&view, at, header.length, &mut far);
                    let stamp = clock.map(|clock| clock.read(record));
                    let system = self.chain.streams.name(&header, record);
                    self.chain.pending = Some(PendingRecord {
                        at,
                        header: Header { system, ..header },
                        stamp,
                        print: fingerprint(record),
                        renamed: system != header.system,
                    });
                    at = next;
                }
                Ok(()) => at = self.beyond(&view, at, header)?,
                Err(fault) => at = self.fault(&view, at, header, fault)?,
            }
            // Records after the last break are read up to the next one.
            if !continues && at < self.end && self.chain.index.stretches.len() > MAX_BREAKS {
                let rest = self.end - at;
                self.chain.skip(ProblemKind::Resync, at, rest, || {
                    format!(
                        "the chain of records broke more than {MAX_BREAKS} times; the rest, {rest} \
                         bytes, is not read"
                    )
                });
                return Ok(self.end);
            }
        }
        Ok(at)
    }

    /// Decides how to continue where no record can begin.
    fn fault(
        &mut self,
        view: &View<'_>,
        at: u64,
        header: Header,
        fault: Fault,
    ) -> Result<u64, Error> {
        if self.stop_at_blocks && view.is_blocked(at) {
            self.formed = true;
            return Ok(self.end);
        }
        let next = at + u64::from(header.length);
        if at > 0
            && usize::from(header.length) >= RDW
            && next <= self.end
            && view.chain_continues(next)
        {
            // Its length still leads to a record, so that only this one is lost.
            let kind = match fault {
                Fault::Length(_) => ProblemKind::Length,
                _ => ProblemKind::Header,
            };
            self.chain
                .skip_record(kind, at, next - at, header, || fault.describe());
            return Ok(next);
        }
        self.lost(view, at, fault)
    }

    /// Where records are inside the record before, whose length is wrong then: that one goes.
    fn inside(&mut self, view: &View<'_>, at: u64) -> Result<Option<u64>, Error> {
        let Some(before) = self.chain.pending.map(|pending| pending.at) else {
            return Ok(None);
        };
        let Some(next) = self.search(view, before + 1, at)? else {
            return Ok(None);
        };
        self.chain.pending = None;
        let bytes = next - before;
        self.chain.skip(ProblemKind::Resync, before, bytes, || {
            format!(
                "the length of the record here does not lead to another; {bytes} bytes skipped \
                 to the next plausible record"
            )
        });
        Ok(Some(next))
    }

    /// Continues at the next plausible record.
    fn lost(&mut self, view: &View<'_>, at: u64, fault: Fault) -> Result<u64, Error> {
        if let Some(next) = self.inside(view, at)? {
            return Ok(next);
        }
        let found = self.search(view, at + 1, self.end)?;
        let next = found.unwrap_or(self.end);
        if self.withheld(view, at, next) {
            return Ok(next);
        }
        self.chain.commit();
        let bytes = next - at;
        let (kind, why) = match fault {
            _ if at == 0 => sniff::other(view.bytes),
            Fault::Length(_) => (ProblemKind::Length, fault.describe()),
            _ => (ProblemKind::Header, fault.describe()),
        };
        let (kind, to) = match found {
            Some(_) if kind != ProblemKind::Transfer => {
                (ProblemKind::Resync, "the next plausible record")
            }
            Some(_) => (kind, "the next plausible record"),
            None => (kind, "the end of the file"),
        };
        self.chain.skip(kind, at, bytes, || {
            format!("{why}; {bytes} bytes skipped to {to}")
        });
        Ok(next)
    }

    /// Withholds the record before `at` if nothing shows that it ends there: what follows, up to
    /// `next`, may be its own bytes, moved by others that were put into it.
    fn withheld(&mut self, view: &View<'_>, at: u64, next: u64) -> bool {
        let Some(before) = self.chain.pending.map(|pending| pending.at) else {
            return false;
        };
        let mut bytes = vec![0; (next - before).min(2 * WINDOW as u64) as usize];
        let got = read_full(view.source, before, &mut bytes).unwrap_or(0);
        bytes.truncate(got);
        let gap = bytes.get((at - before) as usize..).unwrap_or(&[]);
        let feeds = line_feeds(&bytes);
        // Unused space is padded with zeros; a header is recognized even if its length is damaged.
        let last = next == self.end;
        let whole = gap.len() >= SHORT || last;
        let ends = gap.iter().all(|&byte| byte == 0) || (whole && begins(gap, &bytes));
        // Other data after the last record are more than what could have been put into it.
        let ends = ends || (last && next - at > at - before);
        if ends && (feeds == 0 || feeds as u64 != next - at) {
            return false;
        }
        self.chain.pending = None;
        let skipped = next - before;
        if feeds > 0 {
            self.chain.skip(ProblemKind::Transfer, before, skipped, || {
                format!(
                    "the record here is longer than its length says, and each of the {feeds} line \
                     feeds up to the next one follows a carriage return, as a transfer in text \
                     mode puts there; {skipped} bytes skipped; {}",
                    sniff::CURE
                )
            });
        } else {
            self.chain.skip(ProblemKind::Resync, before, skipped, || {
                format!(
                    "no record follows the end of this one by its length, so that its contents \
                     are in doubt; {skipped} bytes skipped with it"
                )
            });
        }
        true
    }

    /// Fewer bytes than a header has, at the end.
    fn rest(&mut self, view: &View<'_>, at: u64) -> Result<u64, Error> {
        match self.inside(view, at)? {
            Some(next) => Ok(next),
            None if self.withheld(view, at, self.end) => Ok(self.end),
            None => Ok(self.truncated(at, "a record header")),
        }
    }

    /// A plausible record that is longer than the rest of the file.
    fn beyond(&mut self, view: &View<'_>, at: u64, header: Header) -> Result<u64, Error> {
        self.chain.commit();
        let Some(next) = self.search(view, at + 1, self.end)? else {
            return Ok(self.truncated(at, "a record"));
        };
        let bytes = next - at;
        self.chain.skip(ProblemKind::Resync, at, bytes, || {
            format!(
                "a record of {} bytes would run past the end of the file; {bytes} bytes skipped \
                 to the next plausible record",
                header.length
            )
        });
        Ok(next)
    }

    /// The first plausible record that begins at `from` or after it and before `to`.
    fn search(&mut self, view: &View<'_>, from: u64, to: u64) -> Result<Option<u64>, Error> {
        let mut stopped = Ok(());
        let found = view.search(from, to, &mut |at| {
            stopped = self.report(at);
            stopped.is_ok()
        });
        stopped?;
        Ok(found)
    }

    /// The data end inside something that began at `at`; where to continue, which is the end.
    fn truncated(&mut self, at: u64, inside: &str) -> u64 {
        self.chain.commit();
        if self.read_error.is_some() {
            // What is missing is reported once, from here on.
            self.end = at;
            return at;
        }
        let bytes = self.end - at;
        self.chain.skip(ProblemKind::Truncated, at, bytes, || {
            format!("the file ends {bytes} bytes into {inside}")
        });
        self.end
    }

    /// The index, after everything up to `at`.
    fn finish(mut self, at: u64) -> Index {
        self.chain.commit();
        let size = self.chain.index.size;
        if let Some(why) = self.read_error {
            // What a search ran past is reported already.
            let at = at.max(self.end).min(size);
            self.chain.skip(ProblemKind::Changed, at, size - at, || why);
        } else if matches!(self.source.read_at(size, &mut [0]), Ok(1)) {
            self.chain.skip(ProblemKind::Changed, size, 0, || {
                "the file has grown since it was opened; data added since then is not read"
                    .to_owned()
            });
        }
        self.chain.finish()
    }
}

/// Number of line feeds, if each follows a carriage return.
fn line_feeds(bytes: &[u8]) -> usize {
    let mut feeds = 0;
    for (at, _) in bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n') {
        if at == 0 || bytes[at - 1] != b'\r' {
            return 0;
        }
        feeds += 1;
    }
    feeds
}

/// Whether bytes can be the start of a record whatever its length, as far as there are any; or at
/// least half of the fields that rarely change are equal to the header of the preceding record.
fn begins(bytes: &[u8], before: &[u8]) -> bool {
    if bytes.len() < SHORT {
        return bytes.get(2..RDW).is_none_or(|zeros| zeros == [0, 0]);
    }
    let same = (2..RDW).chain(10..SHORT);
    if same.filter(|&at| bytes.get(at) == before.get(at)).count() >= 5 {
        return true;
    }
    Header::parse(bytes).is_some_and(|header| {
        let whole = Header {
            length: u16::MAX,
            segment: 0,
            ..header
        };
        whole.check().is_ok()
    })
}

/// The bytes of the record at `at`; `far` takes them where it runs beyond those at hand.
#[inline]
fn record<'v>(view: &View<'v>, at: u64, length: u16, far: &'v mut Vec<u8>) -> &'v [u8] {
    let place = (at - view.base) as usize;
    let near = &view.bytes[place..];
    if let Some(record) = near.get(..usize::from(length)) {
        return record;
    }
    far.resize(usize::from(length), 0);
    let got = read_full(view.source, at, far).unwrap_or(0);
    &far[..got]
}

const _: () = assert!(AHEAD >= HEAD && SHORT <= HEAD);
