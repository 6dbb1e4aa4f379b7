//! Offsets of the parts of a record: sections and the counters of each set.

use zlens_frames::ProblemKind;

use super::plan::{Counters, MAX_SETS, Part, Plan, Subtype};

/// The parts of a record: the record itself, two sections, the counter sets.
pub(crate) const RECORD: usize = 0;
pub(crate) const IDENTIFICATION: usize = 1;
pub(crate) const DATA: usize = 2;
pub(crate) const SETS: usize = 3;
pub(crate) const PARTS: usize = SETS + MAX_SETS;

/// Cache size: record shapes tried before a full parse.
const CACHE_SIZE: usize = 16;

/// The form of a part: nothing where the record has no such part; else the length of a section, or the number of
/// counters of a set and the bytes of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PartSize(u32);

impl PartSize {
    pub(crate) const ABSENT: Self = Self(0);

    pub(crate) const fn section(length: u32) -> Self {
        Self(length)
    }

    const fn set(width: u32, count: u32) -> Self {
        Self(width << 16 | count)
    }

    /// Length of a section.
    pub(crate) const fn length(self) -> u32 {
        self.0
    }

    /// Bytes of a counter of a set.
    pub(crate) const fn width(self) -> u32 {
        self.0 >> 16
    }

    /// Number of counters of a set.
    pub(crate) const fn count(self) -> u32 {
        self.0 & 0xFFFF
    }
}

/// Something that is not as it should be in all records of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub kind: ProblemKind,
    /// Whether each record of the shape has lost something by it; else it is said once for a file.
    pub per_record: bool,
    /// Bytes of a record that are not read.
    pub bytes: u64,
    pub detail: String,
}

/// Offsets of the parts of records of the same shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordShape {
    pub offsets: [u32; PARTS],
    pub forms: [PartSize; PARTS],
    /// The first counter of the record, to see at once that all of them restarted.
    pub first_counter: Option<u32>,
    pub faults: Vec<Fault>,
}

/// A shape, and by which bytes records of it are recognized.
#[derive(Debug)]
struct CachedShape {
    length: usize,
    signature: Vec<(usize, Vec<u8>)>,
    shape: RecordShape,
}

impl CachedShape {
    fn fits(&self, record: &[u8]) -> bool {
        record.len() == self.length
            && self
                .signature
                .iter()
                .all(|(at, bytes)| record.get(*at..at + bytes.len()) == Some(bytes))
    }
}

/// Cached shapes of one subtype.
#[derive(Debug, Default)]
pub(crate) struct ShapeCache {
    known: Vec<CachedShape>,
    last: usize,
}

impl ShapeCache {
    /// Position of the parts of a record.
    #[inline]
    pub(crate) fn get(&mut self, record: &[u8], subtype: &Subtype, plan: &Plan) -> &RecordShape {
        if !self
            .known
            .get(self.last)
            .is_some_and(|known| known.fits(record))
        {
            self.find(record, subtype, plan);
        }
        &self.known[self.last].shape
    }

    #[inline(never)]
    fn find(&mut self, record: &[u8], subtype: &Subtype, plan: &Plan) {
        self.last = match self.known.iter().position(|known| known.fits(record)) {
            Some(place) => place,
            None => {
                let known = parse_shape(record, subtype, plan);
                if self.known.len() < CACHE_SIZE {
                    self.known.push(known);
                    self.known.len() - 1
                } else {
                    // In turn: a file has few shapes, junk has any number.
                    let place = (self.last + 1) % CACHE_SIZE;
                    self.known[place] = known;
                    place
                }
            }
        };
    }
}

/// Finds the parts of a record.
struct ShapeParser<'r> {
    record: &'r [u8],
    shape: RecordShape,
    signature: Vec<(usize, Vec<u8>)>,
}

fn parse_shape(record: &[u8], subtype: &Subtype, plan: &Plan) -> CachedShape {
    let mut finder = ShapeParser {
        record,
        shape: RecordShape {
            offsets: [0; PARTS],
            forms: [PartSize::ABSENT; PARTS],
            first_counter: None,
            faults: Vec::new(),
        },
        signature: Vec::new(),
    };
    finder.shape.forms[RECORD] = PartSize::section(record.len() as u32);
    finder.sections(subtype);
    if finder.shape.forms[DATA] != PartSize::ABSENT {
        finder.sets(subtype, plan);
    }
    CachedShape {
        length: record.len(),
        signature: finder.signature,
        shape: finder.shape,
    }
}

impl ShapeParser<'_> {
    fn fault(&mut self, kind: ProblemKind, each: bool, bytes: u64, detail: String) {
        self.shape.faults.push(Fault {
            kind,
            per_record: each,
            bytes,
            detail,
        });
    }

    /// Bytes by which the shape is recognized, as far as the record has them.
    fn mark(&mut self, at: usize, length: usize) {
        let end = (at + length).min(self.record.len());
        let bytes = self.record.get(at..end).unwrap_or(&[]).to_vec();
        self.signature.push((at, bytes));
    }

    /// Number of bytes from an offset on.
    fn bytes_after(&self, offset: u32) -> u64 {
        self.record.len().saturating_sub(offset as usize) as u64
    }

    fn sections(&mut self, subtype: &Subtype) {
        for (part, place, name) in [
            (IDENTIFICATION, subtype.identification, "identification"),
            (DATA, subtype.data, "data"),
        ] {
            for at in [place.offset_at, place.length_at, place.count_at] {
                self.mark(usize::from(at), if at == place.offset_at { 4 } else { 2 });
            }
            let length = self.record.len();
            let Some((offset, size, count)) = place.read(self.record) else {
                let detail = format!("the record of {length} bytes ends before its {name} triplet");
                self.fault(ProblemKind::Section, true, length as u64, detail);
                continue;
            };
            if count == 0 || size == 0 {
                if part == DATA {
                    let detail = format!("the record has no {name} section");
                    self.fault(ProblemKind::Section, true, length as u64, detail);
                }
                continue;
            }
            if u64::from(offset) + u64::from(size) > length as u64 {
                let lost = if part == DATA {
                    length as u64
                } else {
                    self.bytes_after(offset)
                };
                let detail = format!(
                    "the {name} section of {size} bytes at offset {offset} does not lie in the record of {length} bytes"
                );
                self.fault(ProblemKind::Section, true, lost, detail);
                continue;
            }
            if count > 1 {
                let lost = self
                    .bytes_after(offset + size)
                    .min(u64::from(size) * u64::from(count - 1));
                let detail =
                    format!("the record has {count} {name} sections; only the first is read");
                self.fault(ProblemKind::Section, true, lost, detail);
            }
            self.shape.offsets[part] = offset;
            self.shape.forms[part] = PartSize::section(size);
        }
    }

    fn sets(&mut self, subtype: &Subtype, plan: &Plan) {
        let data = self.shape.offsets[DATA] as usize;
        let section = &self.record[data..data + self.shape.forms[DATA].length() as usize];
        let list = &subtype.list;
        for place in [Some(list.entries), shared(list.counters)]
            .into_iter()
            .flatten()
        {
            for at in [place.offset_at, place.length_at, place.count_at] {
                let size = if at == place.offset_at { 4 } else { 2 };
                self.mark(data + usize::from(at), size);
            }
        }
        let Some((first, stride, count)) = list.entries.read(section) else {
            let detail = "the data section ends before the list of counter sets".to_owned();
            return self.fault(ProblemKind::Section, false, 0, detail);
        };
        let needed = min_entry_len(list.counters).max(list.kind.offset + list.kind.length);
        if count == 0 {
            return;
        }
        if stride < u32::from(needed) {
            let lost = self.bytes_after(first);
            let detail = format!("an entry of {stride} bytes cannot describe a counter set");
            return self.fault(ProblemKind::Section, true, lost, detail);
        }
        let length = self.record.len() as u64;
        let fitting = length.saturating_sub(u64::from(first)) / u64::from(stride);
        if u64::from(count) > fitting {
            let lost = self.bytes_after(first) % u64::from(stride);
            let detail = format!(
                "{count} counter sets described from offset {first} on do not lie in the record of {length} bytes; \
                 {fitting} do"
            );
            self.fault(ProblemKind::Section, true, lost, detail);
        }
        let count = u64::from(count).min(fitting) as usize;
        self.mark(first as usize, count * stride as usize);
        let mut area = match list.counters {
            Counters::Own(_) => None,
            Counters::Shared { area, .. } => match area.read(section) {
                Some((offset, width, counters)) => Some(Area {
                    offset: u64::from(offset),
                    width,
                    left: counters,
                }),
                None => return,
            },
        };
        for number in 0..count {
            let at = first as usize + number * stride as usize;
            let entry = &self.record[at..at + stride as usize];
            self.entry(entry, subtype, plan, area.as_mut());
        }
        if let Some(area) = area
            && area.left > 0
        {
            let detail = format!("{} counters belong to no counter set", area.left);
            let lost = u64::from(area.left) * u64::from(area.width);
            let lost = lost.min(length.saturating_sub(area.offset));
            self.fault(ProblemKind::Section, false, lost, detail);
        }
    }

    /// One counter set.
    fn entry(&mut self, entry: &[u8], subtype: &Subtype, plan: &Plan, area: Option<&mut Area>) {
        let list = &subtype.list;
        let kind = list.kind.read(entry).unwrap_or(0);
        let (offset, width, count) = match (list.counters, area) {
            (Counters::Own(place), _) => match place.read(entry) {
                Some((offset, width, count)) => (u64::from(offset), width, count),
                None => return,
            },
            (Counters::Shared { count, .. }, Some(area)) => {
                let wanted = count.read(entry).unwrap_or(0);
                let (offset, width) = (area.offset, area.width);
                let count = wanted.min(area.left);
                area.offset += u64::from(wanted) * u64::from(width);
                area.left -= count;
                if count < wanted {
                    let detail = format!(
                        "counter set {kind} has {wanted} counters, but the record has {count}"
                    );
                    self.fault(ProblemKind::Section, true, 0, detail);
                }
                (offset, width, count)
            }
            (Counters::Shared { .. }, None) => return,
        };
        if count == 0 {
            return;
        }
        let length = self.record.len() as u64;
        if width != 4 && width != 8 {
            let lost = length
                .saturating_sub(offset)
                .min(u64::from(width) * u64::from(count));
            let detail = format!("counters of {width} bytes in counter set {kind}");
            return self.fault(ProblemKind::Section, true, lost, detail);
        }
        let fitting = length.saturating_sub(offset) / u64::from(width);
        if u64::from(count) > fitting {
            let lost = length.saturating_sub(offset) % u64::from(width);
            let detail = format!(
                "{count} counters of counter set {kind} from offset {offset} on do not lie in the record of {length} \
                 bytes; {fitting} do"
            );
            self.fault(ProblemKind::Section, true, lost, detail);
        }
        let count = u64::from(count).min(fitting) as u32;
        let Some(place) = plan.sets.iter().position(|set| u32::from(set.kind) == kind) else {
            let detail =
                format!("counter set {kind} is not known; its {count} counters are not read");
            let lost = u64::from(count) * u64::from(width);
            return self.fault(ProblemKind::Section, false, lost, detail);
        };
        let part = SETS + place;
        if self.shape.forms[part] != PartSize::ABSENT {
            let detail = format!("counter set {kind} is a duplicate; the first is read");
            let lost = u64::from(count) * u64::from(width);
            return self.fault(ProblemKind::Section, true, lost, detail);
        }
        let set = &plan.sets[place];
        if count > set.counters && set.counters > 0 {
            let more = count - set.counters;
            let detail =
                format!("counter set {kind} has {count} counters; the last {more} have no column");
            self.fault(
                ProblemKind::Long,
                false,
                u64::from(more) * u64::from(width),
                detail,
            );
        }
        if count > 0 {
            self.shape.offsets[part] = offset as u32;
            self.shape.forms[part] = PartSize::set(width, count);
            self.shape.first_counter.get_or_insert(offset as u32);
        }
    }
}

/// Start of counters of the next set.
struct Area {
    offset: u64,
    width: u32,
    left: u32,
}

fn shared(counters: Counters) -> Option<super::plan::TripletRef> {
    match counters {
        Counters::Own(_) => None,
        Counters::Shared { area, .. } => Some(area),
    }
}

/// Required length of an entry.
fn min_entry_len(counters: Counters) -> u16 {
    match counters {
        Counters::Own(place) => (place.offset_at + 4)
            .max(place.length_at + 2)
            .max(place.count_at + 2),
        Counters::Shared { count, .. } => count.offset + count.length,
    }
}

impl Part {
    /// Number of the part.
    pub(crate) const fn number(self) -> usize {
        match self {
            Self::Record => RECORD,
            Self::Identification => IDENTIFICATION,
            Self::Data => DATA,
        }
    }
}
