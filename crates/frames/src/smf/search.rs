//! Looking for the next plausible record where the chain of lengths is broken.

use super::header::{Header, LONG, SHORT};
use crate::source::{ReadAt, WINDOW, read_full};

/// Bits of the third byte of a segment's descriptor word (documented: 01 first, 11 middle, 10 last).
const FIRST: u16 = 0x0100;
const LAST: u16 = 0x0200;
const MIDDLE: u16 = 0x0300;
/// A record in more segments than this is none.
const MAX_SEGMENTS: u32 = 4096;
/// So many headers one after the other may be damaged while their lengths are good.
const MAX_HOPS: usize = 32;

/// Bytes of a source, some of them at hand.
pub(crate) struct View<'v> {
    pub source: &'v dyn ReadAt,
    /// Where the data end.
    pub end: u64,
    /// Bytes at hand, and where they begin.
    pub base: u64,
    pub bytes: &'v [u8],
}

impl View<'_> {
    /// The header at `at`, whatever it says; nothing if fewer bytes than the shortest are there.
    pub(crate) fn header(&self, at: u64) -> Option<Header> {
        let rest = self.end.checked_sub(at)?;
        let near = at
            .checked_sub(self.base)
            .and_then(|place| usize::try_from(place).ok())
            .and_then(|place| self.bytes.get(place..)?.first_chunk::<LONG>());
        if let Some(bytes) = near {
            return Some(Header::of(bytes));
        }
        let mut bytes = [0; LONG];
        let count = usize::try_from(rest).map_or(LONG, |rest| rest.min(LONG));
        let got = read_full(self.source, at, &mut bytes[..count]).ok()?;
        Header::parse(&bytes[..got])
    }

    /// Whether a record, whole or in segments, can begin at `at`, or the data end there.
    pub(crate) fn continues(&self, at: u64) -> bool {
        at == self.end
            || self
                .header(at)
                .is_some_and(|header| header.check().is_ok() || begins_spanned(header))
    }

    /// Whether lengths lead from `at` to a plausible record, past a few headers that are not.
    pub(crate) fn leads_on(&self, mut at: u64) -> bool {
        for _ in 0..MAX_HOPS {
            if self.continues(at) {
                return true;
            }
            match self.header(at) {
                Some(header) if header.segment == 0 && usize::from(header.length) >= SHORT => {
                    at += u64::from(header.length);
                }
                _ => return false,
            }
        }
        false
    }

    /// Where a record in segments that begins at `at` ends, and in how many it is.
    pub(crate) fn spanned(&self, at: u64) -> Option<(u64, u32)> {
        let first = self.header(at)?;
        if !begins_spanned(first) {
            return None;
        }
        let mut next = at + u64::from(first.length);
        for segments in 2..MAX_SEGMENTS {
            let word = self.descriptor(next)?;
            let (length, bits) = ((word >> 16) as u16, word as u16);
            if length <= 4 || (bits != MIDDLE && bits != LAST) {
                return None;
            }
            next += u64::from(length);
            if next > self.end {
                return None;
            }
            if bits == LAST {
                return self.continues(next).then_some((next, segments));
            }
        }
        None
    }

    fn descriptor(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let got = read_full(self.source, at, &mut bytes).ok()?;
        (got == bytes.len() && at + 4 <= self.end).then(|| u32::from_be_bytes(bytes))
    }

    /// The first place from `from` on and before `to` where a plausible record begins that leads to
    /// another one or to the end. `going` is asked every so often whether to go on.
    pub(crate) fn search(
        &self,
        from: u64,
        to: u64,
        going: &mut dyn FnMut(u64) -> bool,
    ) -> Option<u64> {
        let mut buffer = Vec::new();
        // The next record is mostly near: little is read at first.
        let mut most = 1024;
        let mut at = from;
        while at < to && at + SHORT as u64 <= self.end {
            if !going(at) {
                return None;
            }
            buffer.resize(most + LONG, 0);
            most = (2 * most).min(WINDOW);
            let count =
                usize::try_from(self.end - at).map_or(buffer.len(), |n| n.min(buffer.len()));
            let got = read_full(self.source, at, &mut buffer[..count]).unwrap_or(0);
            if got < SHORT {
                return None;
            }
            let view = View {
                base: at,
                bytes: &buffer[..got],
                ..*self
            };
            // Places at which all of a header is at hand, or all that there is of it.
            let places = if at + got as u64 == self.end {
                got - SHORT + 1
            } else {
                got.saturating_sub(LONG).max(1)
            };
            let places = usize::try_from(to - at).map_or(places, |n| n.min(places));
            if let Some(found) = view.candidate(places) {
                return Some(found);
            }
            at += places as u64;
        }
        None
    }

    /// The first plausible record that begins at one of the first places of the bytes at hand.
    fn candidate(&self, places: usize) -> Option<u64> {
        // Cheap looks first: descriptor word, sign and century of the date.
        let heads = self.bytes.windows(SHORT).enumerate().take(places);
        let likely = heads.filter(|(_, bytes)| {
            bytes[2] | bytes[3] == 0 && bytes[13] & 0xC == 0xC && bytes[10] <= 1
        });
        for (place, _) in likely {
            let at = self.base + place as u64;
            let Some(header) = self.header(at) else {
                continue;
            };
            let next = at + u64::from(header.length);
            if header.check().is_ok() && next <= self.end && self.continues(next) {
                return Some(at);
            }
        }
        None
    }
}

/// Whether this is the first segment of a record, with its header.
fn begins_spanned(header: Header) -> bool {
    let whole = Header {
        segment: 0,
        ..header
    };
    header.segment == FIRST && whole.check().is_ok()
}
