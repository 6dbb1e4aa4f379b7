//! Entries after the fixed part of a record: what a plan says of them, and finding them.

use serde::Deserialize;

/// Bytes of the header that begins every record; no section can be inside it.
const HEADER: u32 = zlens_frames::zvm::HEADER as u32;

/// Position of the entries of a record. Each of the three numbers is read from the record (`_at`, `_len`) or is fixed;
/// inside another section's entry, offsets count from the start of that entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Section {
    /// Offset of the field that holds the offset of the first entry.
    #[serde(default)]
    pub offset_at: Option<u32>,
    /// Length of that field.
    #[serde(default)]
    pub offset_len: u32,
    /// Offset of the first entry, where no field says it.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Offset of the field that holds the bytes from one entry to the next.
    #[serde(default)]
    pub stride_at: Option<u32>,
    /// Length of that field.
    #[serde(default)]
    pub stride_len: u32,
    /// Bytes from one entry to the next, where no field says it.
    #[serde(default)]
    pub stride: Option<u32>,
    /// Offset of the field that holds the number of entries.
    #[serde(default)]
    pub count_at: Option<u32>,
    /// Length of that field.
    #[serde(default)]
    pub count_len: u32,
    /// Number of entries, where no field says it; with neither, entries run to the end of the record.
    #[serde(default)]
    pub count: Option<u32>,
    /// Records without these bytes at this offset have no such entries.
    #[serde(default, rename = "match")]
    pub matching: Option<Match>,
    /// Bytes of an entry where they are more than those to the next one: a row of tables that are back to back.
    #[serde(default)]
    pub span: Option<u32>,
    /// Field with the number of bytes from the first entry on. A single entry of fixed length is truncated to it.
    #[serde(default)]
    pub bound: Option<FieldRef>,
    /// Fields of the entry with offset and length of its data.
    #[serde(default)]
    pub inner: Option<DataBounds>,
    /// Fields of the entry that differ where its data is of two times.
    #[serde(default)]
    pub equal: Option<TornCheck>,
    /// Texts after the fixed part of the entry, each after a length of two bytes.
    #[serde(default)]
    pub strings: Option<TrailingStrings>,
    /// The section inside whose first entry these are.
    #[serde(default)]
    pub within: Option<Box<Section>>,
}

/// Bytes that distinguish the payloads of a record type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Match {
    /// Offset in the record.
    pub at: u32,
    /// The bytes, hexadecimal.
    pub hex: String,
}

/// A number of one to four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FieldRef {
    /// Its offset.
    pub at: u32,
    /// Its length.
    pub len: u32,
}

/// Data inside an entry: offset from the entry, and length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct DataBounds {
    /// The field that says where they begin.
    pub offset: FieldRef,
    /// Field with the length.
    pub length: FieldRef,
}

/// Two fields of an entry that are equal unless it was changed while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TornCheck {
    /// Offset of the one.
    pub at: u32,
    /// Offset of the other.
    pub other: u32,
    /// Length of both.
    pub len: u32,
}

/// Texts of an entry, back to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TrailingStrings {
    /// Position of the length of the first one.
    pub at: u32,
    /// Number of them.
    pub count: u32,
    /// Bytes that must follow after the last one.
    #[serde(default)]
    pub tail: u32,
}

/// Most texts of an entry.
const MAX_STRINGS: u32 = 16;

impl Match {
    /// The bytes; None when the text is not pairs of hexadecimal digits.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let digits = self.hex.as_bytes();
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        digits
            .chunks_exact(2)
            .map(|pair| {
                let high = char::from(pair[0]).to_digit(16)?;
                let low = char::from(pair[1]).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()
            })
            .collect()
    }
}

impl FieldRef {
    pub(crate) fn check(self, what: &str) -> Result<(), String> {
        if (1..=4).contains(&self.len) {
            return Ok(());
        }
        Err(format!(
            "the section's {what} cannot be a field of {} bytes",
            self.len
        ))
    }

    /// The number; None where the bytes end before it.
    pub(crate) fn read(self, bytes: &[u8]) -> Option<u32> {
        let at = self.at as usize;
        let field = bytes.get(at..at.checked_add(self.len.min(4) as usize)?)?;
        Some(
            field
                .iter()
                .fold(0, |value, &byte| value << 8 | u32::from(byte)),
        )
    }
}

impl Section {
    pub(crate) fn check(&self) -> Result<(), String> {
        for (what, at, len, fixed, needed) in [
            ("offset", self.offset_at, self.offset_len, self.offset, true),
            ("stride", self.stride_at, self.stride_len, self.stride, true),
            ("count", self.count_at, self.count_len, self.count, false),
        ] {
            if let Some(at) = at {
                FieldRef { at, len }.check(what)?;
            } else if needed && fixed.is_none() {
                return Err(format!("the section has no {what}"));
            }
        }
        if self.matching.as_ref().is_some_and(|m| m.bytes().is_none()) {
            return Err("the section's match is not hexadecimal".into());
        }
        if let Some(bound) = self.bound {
            bound.check("bound")?;
        }
        if let Some(inner) = self.inner {
            inner.offset.check("inner offset")?;
            inner.length.check("inner length")?;
        }
        if let Some(strings) = self.strings {
            if !(1..=MAX_STRINGS).contains(&strings.count) {
                return Err(format!("the section cannot have {} texts", strings.count));
            }
            if self.count != Some(1) {
                return Err("a section with texts has one entry".into());
            }
        }
        match &self.within {
            Some(outer) if outer.within.is_some() => {
                Err("a section is nested in a nested section".into())
            }
            Some(outer) => outer.check(),
            None => Ok(()),
        }
    }
}

/// Reason why some or all entries of a record cannot be located.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SectionFault {
    /// Bytes that cannot be read because of it.
    pub bytes: u64,
    pub detail: String,
}

/// Entries of a record: offset of the first, stride, count and length of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct EntryRange {
    pub first: u32,
    pub stride: u32,
    pub count: u32,
    pub span: u32,
    /// Position of the texts of the one entry, and after them what follows.
    pub texts: Vec<(u32, u16)>,
}

/// Finds entries by the fields that locate them.
#[derive(Debug)]
pub(crate) struct Locator {
    offset: FieldOrConst,
    stride: FieldOrConst,
    count: Option<FieldOrConst>,
    matching: Option<(usize, Vec<u8>)>,
    span: Option<u32>,
    bound: Option<FieldRef>,
    inner: Option<DataBounds>,
    equal: Option<TornCheck>,
    strings: Option<TrailingStrings>,
    outer: Option<Box<Locator>>,
}

/// A number that is in the record, or is always the same.
#[derive(Debug, Clone, Copy)]
enum FieldOrConst {
    At(FieldRef),
    Fixed(u32),
}

impl FieldOrConst {
    fn new(at: Option<u32>, len: u32, fixed: Option<u32>) -> Option<Self> {
        match (at, fixed) {
            (Some(at), _) => Some(Self::At(FieldRef { at, len })),
            (None, Some(fixed)) => Some(Self::Fixed(fixed)),
            (None, None) => None,
        }
    }

    fn read(self, bytes: &[u8]) -> Option<u32> {
        match self {
            Self::Fixed(value) => Some(value),
            Self::At(place) => place.read(bytes),
        }
    }
}

type Located = (EntryRange, Option<SectionFault>);

fn fault(bytes: u64, detail: String) -> Located {
    (EntryRange::default(), Some(SectionFault { bytes, detail }))
}

impl Locator {
    /// The locator of a section.
    pub(crate) fn new(section: &Section) -> Option<Self> {
        Some(Self {
            offset: FieldOrConst::new(section.offset_at, section.offset_len, section.offset)?,
            stride: FieldOrConst::new(section.stride_at, section.stride_len, section.stride)?,
            count: FieldOrConst::new(section.count_at, section.count_len, section.count),
            matching: match &section.matching {
                Some(matching) => Some((matching.at as usize, matching.bytes()?)),
                None => None,
            },
            span: section.span,
            bound: section.bound,
            inner: section.inner,
            equal: section.equal,
            strings: section.strings,
            outer: match &section.within {
                Some(outer) => Some(Box::new(Self::new(outer)?)),
                None => None,
            },
        })
    }

    /// The entries that lie wholly in the record, and what is wrong with the others.
    pub(crate) fn entries(&self, record: &[u8]) -> Located {
        if let Some((at, bytes)) = &self.matching
            && record
                .get(*at..)
                .is_none_or(|rest| !rest.starts_with(bytes))
        {
            return (EntryRange::default(), None);
        }
        let Some(outer) = &self.outer else {
            return self.entries_of(record, record, 0);
        };
        let (found, _) = outer.entries(record);
        if found.count == 0 {
            // Faults of the outer entry are reported where that one is read.
            return (EntryRange::default(), None);
        }
        let end = match outer.bound.and_then(|bound| bound.read(record)) {
            Some(bytes) => found.first.saturating_add(bytes).min(record.len() as u32),
            None => record.len() as u32,
        };
        let data = &record[..end as usize];
        let (mut inner, own) = self.entries_of(record, data, found.first);
        inner.texts.clear();
        (inner, own)
    }

    /// Entries in `data`, the start of the record, that are found from `base` on.
    fn entries_of(&self, record: &[u8], data: &[u8], base: u32) -> Located {
        let from = data.get(base as usize..).unwrap_or(&[]);
        let len = data.len() as u32;
        let counted = match self.count {
            Some(count) => match count.read(from) {
                Some(0) => return (EntryRange::default(), None),
                Some(count) => Some(count),
                None => {
                    return fault(
                        0,
                        format!("the record of {len} bytes ends before its number of entries"),
                    );
                }
            },
            None => None,
        };
        let (Some(first), Some(stride)) = (self.offset.read(from), self.stride.read(from)) else {
            return fault(
                0,
                format!("the record of {len} bytes ends before the fields that locate its entries"),
            );
        };
        if counted.is_none() && first == 0 {
            return (EntryRange::default(), None);
        }
        let least = if self.outer.is_some() { 1 } else { HEADER };
        if first < least || stride == 0 {
            // Where they are instead cannot be known; all that is not header counts as lost.
            let lost = u64::from(len.saturating_sub(HEADER.max(base)));
            return fault(
                lost,
                format!("entries of {stride} bytes cannot begin at offset {first}"),
            );
        }
        let first = base.saturating_add(first);
        let (end, mut told) = self.end(record, len, first);
        let mut span = self.span.unwrap_or(stride);
        if self.bound.is_some() && counted == Some(1) && first < end && end - first < span {
            let there = end - first;
            told.get_or_insert_with(|| SectionFault {
                bytes: 0,
                detail: format!(
                    "the data has {there} bytes, but the layout has {span}; missing fields are NULL"
                ),
            });
            span = there;
        }
        let room = end.saturating_sub(first);
        let fitting = match room.checked_sub(span) {
            Some(more) => more / stride + 1,
            None => 0,
        };
        let count = counted.unwrap_or(fitting);
        let found = EntryRange {
            first,
            stride,
            count: count.min(fitting),
            span,
            texts: Vec::new(),
        };
        if count > fitting {
            let lost = u64::from(if span > stride { room } else { room % stride });
            let detail = format!(
                "{count} entries of {span} bytes at offset {first} exceed the record ({end} bytes); {} fit",
                found.count
            );
            return (
                found,
                Some(SectionFault {
                    bytes: lost,
                    detail,
                }),
            );
        }
        if found.count == 0 {
            return (found, told);
        }
        self.validate_first_entry(data, end, found, told)
    }

    /// Returns the end of the data that begins at `first`: the end of the record, or that of a field.
    fn end(&self, record: &[u8], len: u32, first: u32) -> (u32, Option<SectionFault>) {
        let Some(bytes) = self.bound.and_then(|bound| bound.read(record)) else {
            return (len, None);
        };
        let end = first.saturating_add(bytes);
        if end <= len {
            return (end, None);
        }
        let detail =
            format!("{bytes} bytes of data at offset {first} exceed the record ({len} bytes)");
        let lost = 0;
        (
            len,
            Some(SectionFault {
                bytes: lost,
                detail,
            }),
        )
    }

    /// Looks into the first entry for what speaks against it, and for its texts.
    fn validate_first_entry(
        &self,
        data: &[u8],
        end: u32,
        mut found: EntryRange,
        mut told: Option<SectionFault>,
    ) -> Located {
        let entry = &data[found.first as usize..end as usize];
        let lost = u64::from(found.span);
        if let Some(TornCheck { at, other, len }) = self.equal {
            let bytes = |at: u32| entry.get(at as usize..(at as usize).checked_add(len as usize)?);
            if let (Some(one), Some(two)) = (bytes(at), bytes(other))
                && one != two
            {
                let detail = "torn data (changed while being copied); discarded";
                return fault(lost, detail.into());
            }
        }
        let mut room = entry.len() as u32;
        if let Some(inner) = self.inner
            && let (Some(offset), Some(bytes)) =
                (inner.offset.read(entry), inner.length.read(entry))
        {
            let wanted = offset.saturating_add(bytes);
            if wanted > room {
                told.get_or_insert_with(|| SectionFault {
                    bytes: 0,
                    detail: format!(
                        "{bytes} bytes of data from byte {offset} of their entry on exceed its {room} bytes"
                    ),
                });
            } else if wanted > inner.length.at.max(inner.offset.at) {
                room = wanted;
            }
            found.span = found.span.min(room);
        }
        let Some(strings) = self.strings else {
            return (found, told);
        };
        let mut at = strings.at;
        for number in 1..=strings.count {
            let length = FieldRef { at, len: 2 }.read(&entry[..room as usize]);
            let begin = at.saturating_add(2);
            match length.filter(|length| begin.saturating_add(*length) <= room) {
                Some(length) => {
                    found.texts.push((found.first + begin, length as u16));
                    at = begin + length;
                }
                None => {
                    return fault(
                        lost,
                        format!(
                            "text {number} at byte {at} of its entry exceeds the {room} bytes of data"
                        ),
                    );
                }
            }
        }
        if at.saturating_add(strings.tail) > room {
            return fault(
                lost,
                format!(
                    "the data after the texts at byte {at} of its entry exceeds the {room} bytes of data"
                ),
            );
        }
        found.texts.push((
            found.first + at,
            (room - at).min(u32::from(u16::MAX)) as u16,
        ));
        (found, told)
    }
}
