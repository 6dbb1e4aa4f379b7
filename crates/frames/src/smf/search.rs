//! Search for the next plausible record after the chain of lengths breaks.

use super::header::{HEAD, Header, SHORT};
use crate::source::{ReadAt, WINDOW, read_full};

/// Bits of the third byte of a segment's descriptor word (documented: 01 first, 11 middle, 10 last).
pub(crate) const FIRST: u16 = 0x0100;
pub(crate) const LAST: u16 = 0x0200;
pub(crate) const MIDDLE: u16 = 0x0300;
/// The shortest segment (documented).
pub(crate) const SEGMENT: u64 = 5;
/// A block of more segments than this is not looked through.
const MAX_SEGMENTS: u32 = 8192;
/// This many headers back to back may be damaged while their lengths are good.
const MAX_HOPS: usize = 32;

/// A block, by its descriptor word.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// Its length with the word.
    pub length: u64,
    /// Whether the word is an extended one.
    pub extended: bool,
}

/// Bytes of a source, some of them at hand.
pub(crate) struct View<'v> {
    pub source: &'v dyn ReadAt,
    /// End of the data.
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
            .and_then(|place| self.bytes.get(place..)?.first_chunk::<HEAD>());
        if let Some(bytes) = near {
            return Some(Header::from_bytes(bytes));
        }
        let mut bytes = [0; HEAD];
        let count = usize::try_from(rest).map_or(HEAD, |rest| rest.min(HEAD));
        let got = read_full(self.source, at, &mut bytes[..count]).ok()?;
        Header::parse(&bytes[..got])
    }

    /// Whether a record, whole or in segments, or a block can begin at `at`, or the data end there.
    pub(crate) fn continues(&self, at: u64) -> bool {
        at == self.end
            || self
                .header(at)
                .is_some_and(|header| header.check().is_ok() || begins_spanned(header))
            || self.block(at).is_some()
    }

    /// Whether the first segment of a record begins at `at`, which must be followed by another where
    /// it does not hold the whole header.
    pub(crate) fn begins_spanned(&self, at: u64) -> bool {
        let Some((length, FIRST)) = self.segment(at) else {
            return false;
        };
        if length >= SHORT as u64 {
            return self.header(at).is_some_and(begins_spanned);
        }
        matches!(self.segment(at + length), Some((_, MIDDLE | LAST)))
    }

    /// Whether one of the forms of a dump that is no stream of records begins at `at`.
    pub(crate) fn is_blocked(&self, at: u64) -> bool {
        self.begins_spanned(at) || self.block(at).is_some()
    }

    /// The block that begins at `at`: a descriptor word, and what can be a record or a segment after.
    pub(crate) fn block(&self, at: u64) -> Option<Block> {
        let word = self.descriptor(at)?;
        let extended = word >> 31 == 1;
        let length = match word {
            _ if extended => u64::from(word & 0x7FFF_FFFF),
            _ if word & 0xFFFF == 0 => u64::from(word >> 16),
            _ => return None,
        };
        let (first, bits) = self.segment(at + 4)?;
        // The last block of a file that is cut off is longer than what is there.
        if first < SEGMENT || first + 4 > length {
            return None;
        }
        let begins = match bits {
            0 => self.header(at + 4)?.check().is_ok(),
            FIRST if first >= SHORT as u64 => begins_spanned(self.header(at + 4)?),
            FIRST | MIDDLE => self.block_is_consistent(at, length),
            LAST => {
                let next = at + 4 + first;
                let follows = |header: Header| header.check().is_ok() || begins_spanned(header);
                (next < at + length && self.header(next).is_some_and(follows))
                    || self.block_is_consistent(at, length)
            }
            _ => false,
        };
        begins.then_some(Block { length, extended })
    }

    /// Whether the records and segments in the block at `at` fill it exactly.
    pub(crate) fn block_is_consistent(&self, at: u64, length: u64) -> bool {
        let end = at + length;
        let mut at = at + 4;
        for _ in 0..MAX_SEGMENTS {
            if at >= end {
                break;
            }
            match self.segment(at) {
                Some((length, 0 | FIRST | MIDDLE | LAST)) if length >= SEGMENT => at += length,
                _ => return false,
            }
        }
        at == end && end <= self.end
    }

    /// Length and bits of the descriptor word of a record or segment.
    pub(crate) fn segment(&self, at: u64) -> Option<(u64, u16)> {
        let word = self.descriptor(at)?;
        Some((u64::from(word >> 16), word as u16))
    }

    /// Whether lengths lead from `at` to a plausible record, past a few headers that are not.
    pub(crate) fn chain_continues(&self, mut at: u64) -> bool {
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

    fn descriptor(&self, at: u64) -> Option<u32> {
        let near = at
            .checked_sub(self.base)
            .and_then(|place| usize::try_from(place).ok())
            .and_then(|place| self.bytes.get(place..)?.first_chunk::<4>());
        let mut bytes = [0; 4];
        let got = match near {
            Some(near) => {
                bytes = *near;
                bytes.len()
            }
            None => read_full(self.source, at, &mut bytes).ok()?,
        };
        (got == bytes.len() && at + 4 <= self.end).then(|| u32::from_be_bytes(bytes))
    }

    /// Returns the first offset from `from` on and before `to` at which a plausible record begins that leads to
    /// another one or to the end. `going` is asked every so often whether to continue.
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
            buffer.resize(most + HEAD, 0);
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
                got.saturating_sub(HEAD).max(1)
            };
            let places = usize::try_from(to - at).map_or(places, |n| n.min(places));
            if let Some(found) = view.candidate(places) {
                return Some(found);
            }
            at += places as u64;
        }
        None
    }

    /// Returns the first plausible record that begins at one of the first offsets of the buffered bytes.
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
