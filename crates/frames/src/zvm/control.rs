//! The control record: 4096 bytes that say where the data after it begin and end.
//!
//! Documented (MWTBK, the same in every release): the first 40 bytes are the external interrupt
//! buffer of the message that announced the data, the rest an array of 12-byte entries. Documented
//! for the reader of the live stream and inferred here: the buffer's halfwords at 12 and 16 are the
//! first and last address of the array, and an entry is valid if its end is past its start and its
//! masks are not all zero. Inferred: each entry is followed in the file by the 4 KB frames from the
//! page of its first address to the page of its last.

use super::record::{Class, HEADER, Header};
use crate::source::PAGE;
use crate::tod;

/// Start of the entries.
pub(crate) const ENTRIES_AT: usize = 40;

/// Position of the byte of zero in an entry.
const RESERVED: usize = 3;

/// The length of an entry.
pub(crate) const ENTRY: usize = 12;

/// Maximum number of entries of a control record.
pub const MAX_ENTRIES: usize = (PAGE - ENTRIES_AT) / ENTRY;

/// One entry of a control record: a run of records of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The class of all its records.
    pub class: Class,
    /// Domains of which there are records, first mask.
    pub mask1: u8,
    /// Domains of which there are records, second mask.
    pub mask2: u8,
    /// Address of the first byte.
    pub start: u32,
    /// Address of the last byte.
    pub end: u32,
}

/// Reason why bytes are not an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryFault {
    /// The flag is neither sample nor event.
    Flag(u8),
    /// Both masks are zero.
    Masks,
    /// The last address is not past the first.
    Backwards(u32, u32),
}

impl EntryFault {
    pub(crate) fn describe(self, number: usize) -> String {
        match self {
            Self::Flag(flag) => {
                format!("entry {number} of the control record has the unknown flag x'{flag:02X}'")
            }
            Self::Masks => format!("entry {number} of the control record names no domain"),
            Self::Backwards(start, end) => format!(
                "entry {number} of the control record goes backwards, \
                 from x'{start:08X}' to x'{end:08X}'"
            ),
        }
    }
}

impl Entry {
    pub(crate) fn parse(bytes: &[u8; ENTRY]) -> Result<Self, EntryFault> {
        let [flag, mask1, mask2, _, s0, s1, s2, s3, e0, e1, e2, e3] = *bytes;
        let class = Class::from_flag(flag).ok_or(EntryFault::Flag(flag))?;
        let start = u32::from_be_bytes([s0, s1, s2, s3]);
        let end = u32::from_be_bytes([e0, e1, e2, e3]);
        if mask1 == 0 && mask2 == 0 {
            return Err(EntryFault::Masks);
        }
        if end <= start {
            return Err(EntryFault::Backwards(start, end));
        }
        Ok(Self {
            class,
            mask1,
            mask2,
            start,
            end,
        })
    }

    /// Number of 4 KB frames of the file that it describes.
    #[must_use]
    pub const fn pages(&self) -> u32 {
        // An end before the start does not get past `parse`; made by hand it describes nothing more
        // than one page.
        (self.end >> 12).saturating_sub(self.start >> 12) + 1
    }

    /// Start of the first record in its first frame.
    #[must_use]
    pub const fn first(&self) -> usize {
        (self.start & 0xFFF) as usize
    }

    /// End of the data in its last frame (the first byte that is not data).
    #[must_use]
    pub const fn limit(&self) -> usize {
        (self.end & 0xFFF) as usize + 1
    }

    /// The header of its first record, if these bytes can be it.
    fn begins(&self, bytes: &[u8; HEADER]) -> Option<Header> {
        let length = self.end.saturating_sub(self.start).saturating_add(1);
        Header::parse(bytes).filter(|header| {
            usize::from(header.length) <= PAGE - self.first() && u32::from(header.length) <= length
        })
    }

    /// The entry as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[0] = self.class.flag();
        bytes[1] = self.mask1;
        bytes[2] = self.mask2;
        bytes[4..8].copy_from_slice(&self.start.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.end.to_be_bytes());
        bytes
    }
}

/// A 4 KB page parsed as a control record.
#[derive(Debug)]
pub(crate) struct Control {
    /// The valid entries from the first on.
    pub entries: Vec<Entry>,
    /// Fault of the entry after them, if the record says that there is one.
    pub fault: Option<EntryFault>,
    /// Whether the interrupt buffer gives a number of entries that is possible.
    pub counted: bool,
}

impl Control {
    pub(crate) fn parse(page: &[u8; PAGE]) -> Self {
        let declared = declared(page);
        let mut entries = Vec::new();
        let mut fault = None;
        let (slots, _) = page[ENTRIES_AT..].as_chunks::<ENTRY>();
        for slot in &slots[..declared.unwrap_or(MAX_ENTRIES)] {
            match Entry::parse(slot) {
                Ok(entry) => entries.push(entry),
                Err(found) => {
                    // Without a count the entries end where they stop being valid.
                    if declared.is_some() || entries.is_empty() {
                        fault = Some(found);
                    }
                    break;
                }
            }
        }
        Self {
            entries,
            fault,
            counted: declared.is_some(),
        }
    }

    /// Number of data frames that it describes.
    pub(crate) fn frames(&self) -> u64 {
        self.entries.iter().map(|one| u64::from(one.pages())).sum()
    }

    /// Returns the index of a frame of an entry among all frames.
    pub(crate) fn frame(&self, entry: usize, frame: u32) -> u64 {
        let before = self.entries.iter().take(entry);
        before.map(|one| u64::from(one.pages())).sum::<u64>() + u64::from(frame)
    }

    /// Whether the page can be a control record found by searching, where chance must be ruled out:
    /// its first entry is valid, and so are all others if they are counted; if they are not, a
    /// record is where it says the data begin. `peek` gives the bytes at an offset from the
    /// beginning of the page.
    pub(crate) fn found(
        page: &[u8; PAGE],
        peek: impl FnOnce(u64) -> Option<[u8; HEADER]>,
    ) -> Option<Self> {
        // Most pages end here.
        let first = page[ENTRIES_AT..].first_chunk::<ENTRY>()?;
        let entry = Entry::parse(first).ok()?;
        if first[RESERVED] != 0 {
            return None;
        }
        let control = Self::parse(page);
        let sure = if control.counted {
            control.fault.is_none()
        } else {
            peek((PAGE + entry.first()) as u64).is_some_and(|bytes| entry.begins(&bytes).is_some())
        };
        sure.then_some(control)
    }

    /// Returns the first control record that begins at one of the first `count` offsets of `bytes`.
    pub(crate) fn anywhere(bytes: &[u8], count: usize, like: SearchHint) -> Option<(usize, Self)> {
        /// Number of offsets checked together, which compiles to few instructions.
        const MANY: usize = 64;
        let last = (ENTRIES_AT + count).min(bytes.len().saturating_sub(RESERVED));
        let flags = bytes.get(ENTRIES_AT..last)?.chunks(MANY);
        let reserved = bytes[ENTRIES_AT + RESERVED..].chunks(MANY);
        let likely = |(&flag, &reserved): (&u8, &u8)| {
            ((flag == Class::Sample.flag()) | (flag == Class::Event.flag())) & (reserved == 0)
        };
        // Almost all offsets are rejected here.
        let chunks = (0..).step_by(MANY).zip(flags.zip(reserved));
        let places = chunks
            .filter(|(_, (flags, reserved))| {
                let pairs = flags.iter().zip(*reserved);
                pairs.fold(false, |any, pair| any | likely(pair))
            })
            .flat_map(|(first, (flags, reserved))| {
                let pairs = (first..).zip(flags.iter().zip(reserved));
                pairs.filter(|(_, pair)| likely(*pair))
            });
        for (place, _) in places {
            let rest = &bytes[place..];
            let found = if like.grid.is_some_and(|grid| place % PAGE == grid % PAGE) {
                let peek = |offset| {
                    let at = usize::try_from(offset).ok()?;
                    rest.get(at..)?.first_chunk().copied()
                };
                rest.first_chunk().and_then(|page| Self::found(page, peek))
            } else {
                Self::surely(rest, place as u64, like)
            };
            if let Some(control) = found {
                return Some((place, control));
            }
        }
        None
    }

    /// Returns the control record at the start of `bytes`, which are at offset `place` of the searched ones.
    /// As it may be at any offset, a record must follow it.
    fn surely(bytes: &[u8], place: u64, like: SearchHint) -> Option<Self> {
        let first = bytes[ENTRIES_AT..].first_chunk::<ENTRY>()?;
        let entry = Entry::parse(first).ok().filter(|_| first[RESERVED] == 0)?;
        let record = bytes.get(PAGE + entry.first()..)?.first_chunk()?;
        let record = entry.begins(record)?;
        if !tod::is_plausible(record.tod) {
            return None;
        }
        let control = Self::parse(bytes.first_chunk()?);
        let sure = if control.counted {
            control.fault.is_none()
        } else {
            // Addresses made of anything would mostly lie further apart than the file is long.
            let pages = 1 + u64::from(entry.pages());
            like.uncounted && place + pages * PAGE as u64 <= like.room
        };
        sure.then_some(control)
    }
}

/// Constraints on a control record that is searched for at any offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchHint {
    /// Number of bytes of the file from the first offset on.
    pub room: u64,
    /// At this offset and multiples of 4096 after it, [`Control::found`] decides.
    pub grid: Option<usize>,
    /// Whether its entries need not be counted. Names and numbers of devices look like an entry often
    /// enough.
    pub uncounted: bool,
}

/// Number of bytes from the offset of a control record on that show whether it is one.
pub(crate) const EVIDENCE: usize = 2 * PAGE + HEADER;

/// The number of entries that the interrupt buffer gives, if it is possible.
fn declared(page: &[u8; PAGE]) -> Option<usize> {
    let word = |at: usize| Some(u32::from_be_bytes(*page[at..].first_chunk::<4>()?));
    let bytes = word(16)?.checked_sub(word(12)?)?.checked_add(1)?;
    let count = (bytes / ENTRY as u32) as usize;
    (bytes % ENTRY as u32 == 0 && (1..=MAX_ENTRIES).contains(&count)).then_some(count)
}

/// A control record with these entries, which must fit; without any it is the end-of-data record
/// (whose content is nowhere documented; ours is all zeros).
pub(crate) fn encode(entries: &[Entry], message: u32) -> [u8; PAGE] {
    /// Where the array of entries seems to lie in the memory of the machine that wrote the file.
    const AREA: u32 = 0x1000;
    /// IPTYPE of a pending message.
    const MESSAGE_PENDING: u8 = 9;
    let mut page = [0; PAGE];
    if entries.is_empty() {
        return page;
    }
    let bytes = (entries.len() * ENTRY) as u32;
    page[1] = 1;
    page[3] = MESSAGE_PENDING;
    page[4..8].copy_from_slice(&message.to_be_bytes());
    page[12..16].copy_from_slice(&AREA.to_be_bytes());
    page[16..20].copy_from_slice(&(AREA + bytes - 1).to_be_bytes());
    let (slots, _) = page[ENTRIES_AT..].as_chunks_mut::<ENTRY>();
    for (slot, entry) in slots.iter_mut().zip(entries) {
        *slot = entry.encode();
    }
    page
}
