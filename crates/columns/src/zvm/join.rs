//! Records that continue each other: their plan, and how they are joined.
//!
//! The counters of one processor can be more than a record holds. The records that follow repeat everything but the
//! counters, which are to be joined and then cut into sets; how many counters a set has depends on a version in the
//! record.

use serde::Deserialize;
use zlens_frames::zvm::HEADER;

use super::section::{FieldRef, SectionFault};

/// Plan for joining records and cutting them into sets of counters of eight bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ContinuationPlan {
    /// The field that says that another record continues this one.
    pub more: FieldRef,
    /// Its bit.
    pub more_bit: u32,
    /// Fields that are the same in all records that belong together.
    #[serde(default)]
    pub same: Vec<ByteRange>,
    /// Maximum time between a record and its continuation, in microseconds.
    pub within_us: u64,
    /// Position of the counters of all sets, one set after the other; none: every set says where its own are.
    #[serde(default)]
    pub counters: Option<CounterArea>,
    /// The field whose bits say which sets there are.
    pub active: FieldRef,
    /// The sets, in the order of their counters.
    pub sets: Vec<CounterSet>,
}

/// Some bytes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ByteRange {
    /// Their start.
    pub at: u32,
    /// Number of bytes.
    pub len: u32,
}

/// Fields that say where bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct CounterArea {
    /// The field with their offset, counted from the record.
    pub offset: FieldRef,
    /// The field with their number.
    pub length: FieldRef,
}

/// A set of counters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CounterSet {
    /// Its name.
    pub name: String,
    /// The number of its first counter.
    pub first: u32,
    /// Its bit among the sets there are.
    pub bit: u32,
    /// Field with the version that determines the number of its counters.
    pub version: FieldRef,
    /// Number of its counters.
    pub sizes: Vec<SetSize>,
    /// Position of its own counters, if each set has it.
    #[serde(default)]
    pub area: Option<CounterArea>,
}

/// Number of counters of a set for some versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct SetSize {
    /// The first of these versions.
    pub from: u32,
    /// The last one; none: all later ones.
    #[serde(default)]
    pub to: Option<u32>,
    /// The number of counters.
    pub counters: u16,
}

/// Bytes of a counter.
const COUNTER: usize = 8;
/// Bytes of the number of counters of a set, in a joined record.
const COUNT: usize = 2;
/// No processor counts more than this.
const MAX_COUNTER_BYTES: usize = 64 * 1024;

impl ContinuationPlan {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.more.check("mark of continuation")?;
        self.active.check("mask of sets")?;
        let area = |area: &CounterArea| {
            area.offset.check("offset of counters")?;
            area.length.check("length of counters")
        };
        self.counters.iter().try_for_each(area)?;
        if self.sets.is_empty() || self.sets.len() > 32 {
            return Err(format!("{} sets of counters", self.sets.len()));
        }
        for set in &self.sets {
            set.version.check("version of counters")?;
            set.area.iter().try_for_each(area)?;
            if self.counters.is_none() && set.area.is_none() {
                return Err(format!(
                    "the record does not locate the counters of set {}",
                    set.name
                ));
            }
            let most: usize = set
                .sizes
                .iter()
                .map(|size| usize::from(size.counters))
                .sum();
            if most > 4096 {
                return Err(format!("set {} has too many counters", set.name));
            }
        }
        Ok(())
    }
}

impl CounterSet {
    fn size(&self, version: u32) -> Option<u16> {
        self.sizes
            .iter()
            .find(|size| size.from <= version && size.to.is_none_or(|to| version <= to))
            .map(|size| size.counters)
    }
}

/// Number of counters of each set of a joined record; `None` if the set is missing.
type Counts = Vec<Option<u16>>;

/// The forms of joined records found so far.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    known: Vec<Counts>,
    firsts: Vec<u32>,
}

impl Forms {
    pub(crate) fn new(join: Option<&ContinuationPlan>) -> Self {
        Self {
            known: Vec::new(),
            firsts: join.map_or_else(Vec::new, |join| {
                join.sets.iter().map(|set| set.first).collect()
            }),
        }
    }

    fn number(&mut self, counts: &Counts) -> u32 {
        if let Some(at) = self.known.iter().position(|known| known == counts) {
            return at as u32;
        }
        self.known.push(counts.clone());
        (self.known.len() - 1) as u32
    }

    /// Where a counter is in records of a form, counted from the end of the record that was the first one.
    pub(crate) fn counter(&self, form: u32, number: u32) -> Option<u32> {
        let counts = self.known.get(form as usize)?;
        let mut at = COUNT * counts.len();
        for (count, first) in counts.iter().zip(&self.firsts) {
            let Some(count) = count else { continue };
            if (*first..first + u32::from(*count)).contains(&number) {
                return Some((at + COUNTER * (number - first) as usize) as u32);
            }
            at += COUNTER * usize::from(*count);
        }
        None
    }

    /// Position of the number of counters of a set.
    pub(crate) fn count(&self, form: u32, set: u32) -> Option<u32> {
        let counts = self.known.get(form as usize)?;
        counts.get(set as usize)?.map(|_| COUNT as u32 * set)
    }
}

/// A record that waits for its continuations.
#[derive(Debug)]
struct Waiting {
    head: Vec<u8>,
    offset: u64,
    tod: u64,
    sample: bool,
    /// The counters so far: of all sets together, or of each.
    areas: Vec<Vec<u8>>,
}

/// A joined record: bytes of the first one, then the number of counters of each set, then the counters.
#[derive(Debug)]
pub(crate) struct JoinedRecord {
    pub bytes: Vec<u8>,
    /// Length of the first record.
    pub len: u16,
    /// Its offset in the file.
    pub offset: u64,
    pub sample: bool,
    pub form: u32,
}

/// Joins records as they come.
#[derive(Debug)]
pub(crate) struct ContinuationJoiner {
    join: ContinuationPlan,
    waiting: Option<Waiting>,
}

/// A fault to report, at an offset in the file.
pub(crate) type FaultAt = (u64, SectionFault);

fn tod_of(record: &[u8]) -> u64 {
    record
        .get(8..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

impl ContinuationJoiner {
    pub(crate) fn new(join: &ContinuationPlan) -> Self {
        Self {
            join: join.clone(),
            waiting: None,
        }
    }

    /// Takes a record; `done` is given each joined record that is complete.
    pub(crate) fn add(
        &mut self,
        record: &[u8],
        offset: u64,
        sample: bool,
        forms: &mut Forms,
        told: &mut Vec<FaultAt>,
        done: &mut dyn FnMut(JoinedRecord),
    ) {
        if let Some(waiting) = &self.waiting
            && !self.continues(waiting, record)
        {
            told.push((
                waiting.offset,
                SectionFault {
                    bytes: 0,
                    detail: "the record that continues this one is missing".into(),
                },
            ));
            self.finish(forms, told, done);
        }
        let more = self
            .join
            .more
            .read(record)
            .is_some_and(|value| value & self.join.more_bit != 0);
        let parts = self.areas(record, offset, told);
        let tod = tod_of(record);
        let waiting = self.waiting.get_or_insert_with(|| Waiting {
            head: record.to_vec(),
            offset,
            tod,
            sample,
            areas: vec![Vec::new(); parts.len()],
        });
        waiting.tod = tod;
        let before: usize = waiting.areas.iter().map(Vec::len).sum();
        if before <= MAX_COUNTER_BYTES {
            for (area, part) in waiting.areas.iter_mut().zip(parts) {
                area.extend_from_slice(part);
            }
        }
        if !more {
            self.finish(forms, told, done);
        }
    }

    /// Whether a record continues the one that waits.
    fn continues(&self, waiting: &Waiting, record: &[u8]) -> bool {
        let same = self.join.same.iter().all(|field| {
            let range = field.at as usize..(field.at as usize).saturating_add(field.len as usize);
            record.get(range.clone()) == waiting.head.get(range)
        });
        // 4096 units of the clock are a microsecond.
        let later = tod_of(record).saturating_sub(waiting.tod) / 4096;
        same && later <= self.join.within_us
    }

    /// The bytes of counters of a record, of all sets or of each.
    fn areas<'r>(&self, record: &'r [u8], offset: u64, told: &mut Vec<FaultAt>) -> Vec<&'r [u8]> {
        let mut of = |area: &CounterArea| -> &'r [u8] {
            let (Some(at), Some(len)) = (area.offset.read(record), area.length.read(record)) else {
                return &[];
            };
            if len == 0 {
                return &[];
            }
            let all = record.len() as u32;
            if at < HEADER as u32 || at.saturating_add(len) > all {
                let detail = format!(
                    "{len} bytes of counters at offset {at} exceed the record ({all} bytes)"
                );
                told.push((
                    offset,
                    SectionFault {
                        bytes: u64::from(all.saturating_sub(at.max(HEADER as u32))),
                        detail,
                    },
                ));
                return &[];
            }
            &record[at as usize..(at + len) as usize]
        };
        match &self.join.counters {
            Some(area) => vec![of(area)],
            None => self
                .join
                .sets
                .iter()
                .map(|set| set.area.as_ref().map_or(&[][..], &mut of))
                .collect(),
        }
    }

    /// Returns what waits, with all sets that are whole.
    pub(crate) fn finish(
        &mut self,
        forms: &mut Forms,
        told: &mut Vec<FaultAt>,
        done: &mut dyn FnMut(JoinedRecord),
    ) {
        let Some(waiting) = self.waiting.take() else {
            return;
        };
        let mut counts: Counts = Vec::with_capacity(self.join.sets.len());
        let mut counters = Vec::new();
        let together = self.join.counters.is_some();
        let active = self.join.active.read(&waiting.head).unwrap_or(0);
        let mut at = 0;
        let mut wrong = None;
        for (number, set) in self.join.sets.iter().enumerate() {
            counts.push(None);
            if active & set.bit == 0 || (together && wrong.is_some()) {
                continue;
            }
            let area = &waiting.areas[if together { 0 } else { number }];
            let from = if together { at } else { 0 };
            let version = set.version.read(&waiting.head).unwrap_or(0);
            let Some(count) = set.size(version) else {
                let name = &set.name;
                wrong.get_or_insert_with(|| {
                    (
                        area.len().saturating_sub(from),
                        format!("how many counters the {name} set has with version {version} is not known"),
                    )
                });
                continue;
            };
            let bytes = COUNTER * usize::from(count);
            let Some(found) = area.get(from..from + bytes) else {
                let there = area.len().saturating_sub(from);
                let name = &set.name;
                wrong.get_or_insert_with(|| {
                    (
                        there,
                        format!(
                            "{name} counter set is incomplete ({there} of {bytes} bytes); discarded"
                        ),
                    )
                });
                continue;
            };
            counters.extend_from_slice(found);
            *counts.last_mut().expect("pushed above") = Some(count);
            at += bytes;
        }
        let rest = waiting.areas.first().map_or(0, Vec::len).saturating_sub(at);
        if together && wrong.is_none() && rest > 0 {
            wrong = Some((
                rest,
                format!("{rest} bytes of counters follow the sets that are said to be there"),
            ));
        }
        if let Some((bytes, detail)) = wrong {
            told.push((
                waiting.offset,
                SectionFault {
                    bytes: bytes as u64,
                    detail,
                },
            ));
        }
        let form = forms.number(&counts);
        let len = waiting.head.len() as u16;
        let mut bytes = waiting.head;
        for count in &counts {
            bytes.extend_from_slice(&count.unwrap_or(0).to_be_bytes());
        }
        bytes.extend_from_slice(&counters);
        done(JoinedRecord {
            bytes,
            len,
            offset: waiting.offset,
            sample: waiting.sample,
            form,
        });
    }
}
