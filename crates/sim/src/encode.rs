//! Records from values by field name, with the layouts of a compiled plan.
//!
//! The plan comes from the catalog; this crate does not know where a field is. It says which records, sections and
//! fields a release does not have (`absent`): these are left out. A field that a plan lacks is remembered and
//! reported, not guessed.

use std::collections::HashMap;

use serde::Deserialize;
use zlens_frames::zvm::{HEADER, Header, MAX_RECORD};

use crate::time::Ticks;

/// Error of encoding records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The plan is not one.
    #[error("the plan of layouts cannot be read: {0}")]
    Plan(String),
    /// Fields or records that the plan lacks.
    #[error("the plan has no {}", .0.join(", "))]
    Missing(Vec<String>),
    /// A record became too long.
    #[error("record {record} has {length} bytes; at most {MAX_RECORD} fit")]
    Long {
        /// Its name.
        record: String,
        /// Its length.
        length: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Number,
    Ebcdic,
    Ascii,
    Bytes,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    at: usize,
    length: usize,
    count: usize,
    form: Form,
    #[serde(default)]
    absent: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum NumberSource {
    Fixed(#[allow(dead_code, reason = "a fixed offset needs no field")] usize),
    Field(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    length: usize,
    stride: Option<NumberSource>,
    offset: Option<NumberSource>,
    count: Option<NumberSource>,
    fields: HashMap<String, Field>,
    /// The field of the fixed part that identifies the data, and the bytes it begins with, in hexadecimal.
    #[serde(default, rename = "match")]
    identity: Option<(String, String)>,
    /// The field of the fixed part with the number of bytes from the first entry on.
    #[serde(default)]
    bound: Option<String>,
    /// The section whose entry has the fields of `offset`, `stride` and `count`.
    #[serde(default)]
    within: Option<String>,
    #[serde(default)]
    join: Option<Join>,
    #[serde(default)]
    absent: bool,
    #[serde(skip)]
    memo: Memo,
}

/// Which fields say how consecutive records continue the counters of a section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Join {
    more: String,
    more_bit: u64,
    active: String,
    cfvn: String,
    csvn: String,
    length: String,
    sets: Vec<CounterSet>,
}

/// A counter set, and its bit among the active ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterSet {
    pub name: String,
    pub bit: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layout {
    record: String,
    domain: u8,
    number: u16,
    length: usize,
    fields: HashMap<String, Field>,
    sections: HashMap<String, Section>,
    #[serde(default)]
    absent: bool,
    #[serde(skip)]
    memo: Memo,
}

/// Records are written with the same fields in the same order each time: the field of each turn, with the name
/// that asked for it, saves looking it up again.
#[derive(Clone, Debug, Default)]
struct Memo {
    turns: Vec<(usize, usize, Field)>,
    turn: usize,
}

// Addresses of names are compared, never followed.
impl Memo {
    fn field(&mut self, fields: &HashMap<String, Field>, name: &'static str) -> Option<Field> {
        if let Some((pointer, length, field)) = self.turns.get(self.turn)
            && (*pointer, *length) == (name.as_ptr().addr(), name.len())
        {
            self.turn += 1;
            return Some(*field);
        }
        let field = *fields.get(name)?;
        self.turns.truncate(self.turn);
        self.turns.push((name.as_ptr().addr(), name.len(), field));
        self.turn += 1;
        Some(field)
    }
}

/// Encodes consecutive records.
#[derive(Clone, Debug)]
pub struct Encoder {
    layouts: Vec<Layout>,
    index: HashMap<String, usize>,
    missing: Vec<String>,
    long: Option<EncodeError>,
}

/// A record that is being written.
#[derive(Debug)]
pub struct Record<'e> {
    layout: &'e mut Layout,
    missing: &'e mut Vec<String>,
    long: &'e mut Option<EncodeError>,
    bytes: Vec<u8>,
}

/// An entry of a section that is being written.
#[derive(Debug)]
pub struct EntryOf<'r> {
    section: &'r mut Section,
    record: &'r str,
    missing: &'r mut Vec<String>,
    bytes: &'r mut [u8],
}

impl Encoder {
    /// An encoder with the layouts of a plan in JSON.
    ///
    /// # Errors
    /// If the plan cannot be read, or a field lies outside of its record.
    pub fn new(plan: &str) -> Result<Self, EncodeError> {
        let layouts: Vec<Layout> =
            serde_json::from_str(plan).map_err(|error| EncodeError::Plan(error.to_string()))?;
        let mut index = HashMap::new();
        for (at, layout) in layouts.iter().enumerate() {
            let inside = |field: &Field, length: usize| {
                field
                    .length
                    .checked_mul(field.count)
                    .and_then(|span| span.checked_add(field.at))
                    .is_some_and(|end| end <= length)
            };
            let sections = layout.sections.values();
            let fits = (HEADER..=MAX_RECORD).contains(&layout.length)
                && layout
                    .fields
                    .values()
                    .all(|field| inside(field, layout.length))
                && sections.into_iter().all(|section| {
                    section.length <= MAX_RECORD
                        && section
                            .fields
                            .values()
                            .all(|field| inside(field, section.length))
                });
            if !fits {
                let what = format!("a field of {} is outside of it", layout.record);
                return Err(EncodeError::Plan(what));
            }
            index.insert(layout.record.clone(), at);
        }
        Ok(Self {
            layouts,
            index,
            missing: Vec::new(),
            long: None,
        })
    }

    /// Begins a record, all zeros; `None` if the plan lacks it, or its release does.
    pub fn record(&mut self, name: &str, tod: Ticks) -> Option<Record<'_>> {
        let Some(at) = self.index.get(name) else {
            remember(&mut self.missing, name.to_owned());
            return None;
        };
        let layout = &mut self.layouts[*at];
        if layout.absent {
            return None;
        }
        layout.memo.turn = 0;
        let header = Header {
            length: 0,
            domain: layout.domain,
            record: layout.number,
            tod,
        };
        let mut bytes = vec![0; layout.length];
        bytes[..HEADER].copy_from_slice(&header.encode());
        Some(Record {
            layout,
            missing: &mut self.missing,
            long: &mut self.long,
            bytes,
        })
    }

    /// The counter sets that records with such a section contain.
    pub fn counter_sets(&self, record: &str, section: &str) -> &[CounterSet] {
        let layout = self.index.get(record).map(|at| &self.layouts[*at]);
        layout
            .and_then(|layout| layout.sections.get(section)?.join.as_ref())
            .map_or(&[], |join| &join.sets)
    }

    /// Reports the first error.
    ///
    /// # Errors
    /// Fields and records that the plan lacks, or a record that is too long.
    pub fn check(&self) -> Result<(), EncodeError> {
        if !self.missing.is_empty() {
            return Err(EncodeError::Missing(self.missing.clone()));
        }
        self.long.clone().map_or(Ok(()), Err)
    }
}

fn remember(missing: &mut Vec<String>, name: String) {
    if missing.len() < 100 && !missing.contains(&name) {
        missing.push(name);
    }
}

/// Stores a number in the last bytes that fit; counters of a machine lose their upper bytes like this.
fn store(bytes: &mut [u8], field: Field, element: usize, value: u64) {
    let begin = field.at + element * field.length;
    let place = &mut bytes[begin..begin + field.length];
    let value = value.to_be_bytes();
    for (at, byte) in place.iter_mut().rev().enumerate() {
        *byte = if at < 8 { value[7 - at] } else { 0 };
    }
}

fn store_text(bytes: &mut [u8], field: Field, text: &str) {
    let span = field.length * field.count;
    let place = &mut bytes[field.at..field.at + span];
    match field.form {
        Form::Ebcdic | Form::Number => {
            place.fill(0x40);
            for (byte, letter) in place.iter_mut().zip(text.chars()) {
                *byte =
                    zlens_frames::ebcdic::from_char(letter).unwrap_or(zlens_frames::ebcdic::BLANK);
            }
        }
        Form::Ascii => {
            place.fill(b' ');
            for (byte, letter) in place.iter_mut().zip(text.bytes()) {
                *byte = letter;
            }
        }
        Form::Bytes => {
            for (byte, letter) in place.iter_mut().zip(text.bytes()) {
                *byte = letter;
            }
        }
    }
}

/// Stores a number in a field that the layout itself names.
fn write_field(
    layout: &Layout,
    missing: &mut Vec<String>,
    bytes: &mut [u8],
    name: &str,
    value: u64,
) {
    match layout.fields.get(name) {
        Some(field) => store(bytes, *field, 0, value),
        None => remember(missing, format!("{}.{name}", layout.record)),
    }
}

/// A number from a field.
fn number_in(bytes: &[u8], field: Field) -> usize {
    let place = &bytes[field.at..field.at + field.length];
    place
        .iter()
        .fold(0, |value, byte| value << 8 | usize::from(*byte))
}

impl Record<'_> {
    fn field(&mut self, name: &'static str) -> Option<Field> {
        let found = self.layout.memo.field(&self.layout.fields, name);
        if found.is_none() {
            remember(self.missing, format!("{}.{name}", self.layout.record));
        }
        found.filter(|field| !field.absent)
    }

    /// A number.
    pub fn number(&mut self, name: &'static str, value: u64) -> &mut Self {
        if let Some(field) = self.field(name) {
            store(&mut self.bytes, field, 0, value);
        }
        self
    }

    /// An element of an array.
    pub fn element(&mut self, name: &'static str, element: usize, value: u64) -> &mut Self {
        if let Some(field) = self.field(name)
            && element < field.count
        {
            store(&mut self.bytes, field, element, value);
        }
        self
    }

    /// A text, padded with blanks.
    pub fn text(&mut self, name: &'static str, value: &str) -> &mut Self {
        if let Some(field) = self.field(name) {
            store_text(&mut self.bytes, field, value);
        }
        self
    }

    /// Bytes, padded with zeros.
    pub fn bytes(&mut self, name: &'static str, value: &[u8]) -> &mut Self {
        if let Some(field) = self.field(name) {
            let span = (field.length * field.count).min(value.len());
            self.bytes[field.at..field.at + span].copy_from_slice(&value[..span]);
        }
        self
    }

    /// A part of the counters of the active sets, appended to the record, and whether another record continues it.
    pub fn counters(
        &mut self,
        section: &'static str,
        active: u64,
        versions: [u64; 2],
        piece: &[u8],
        more: bool,
    ) -> &mut Self {
        let Some(Section {
            offset: Some(NumberSource::Field(offset)),
            join: Some(join),
            ..
        }) = self.layout.sections.get(section)
        else {
            let what = format!("{} section {section}", self.layout.record);
            remember(self.missing, what);
            return self;
        };
        for (field, value) in [
            (&join.active, active),
            (&join.cfvn, versions[0]),
            (&join.csvn, versions[1]),
            (&join.more, if more { join.more_bit } else { 0 }),
            (offset, self.bytes.len() as u64),
            (&join.length, piece.len() as u64),
        ] {
            write_field(self.layout, self.missing, &mut self.bytes, field, value);
        }
        self.bytes.extend_from_slice(piece);
        self
    }

    /// The entries of a section, appended to the record; each is filled by `fill`.
    pub fn entries(
        &mut self,
        name: &'static str,
        count: usize,
        mut fill: impl FnMut(usize, &mut EntryOf<'_>),
    ) -> &mut Self {
        let Some(section) = self.layout.sections.get(name) else {
            remember(
                self.missing,
                format!("{} section {name}", self.layout.record),
            );
            return self;
        };
        if section.absent {
            return self;
        }
        let begin = self.bytes.len();
        let places = [
            (&section.offset, begin),
            (&section.stride, section.length),
            (&section.count, count),
        ];
        if let Some(outer) = section.within.clone() {
            let places = places.map(|(place, value)| (place.clone(), value));
            self.put_within(&outer, &places);
        } else {
            for (place, value) in places {
                if let Some(NumberSource::Field(field)) = place {
                    let value = value as u64;
                    write_field(self.layout, self.missing, &mut self.bytes, field, value);
                }
            }
        }
        let Some(section) = self.layout.sections.get_mut(name) else {
            return self;
        };
        if let Some((field, hex)) = &section.identity
            && let Some(field) = self.layout.fields.get(field)
        {
            for (at, pair) in hex.as_bytes().chunks_exact(2).enumerate() {
                let digits = std::str::from_utf8(pair).unwrap_or_default();
                let byte = u8::from_str_radix(digits, 16).unwrap_or_default();
                if let Some(place) = self.bytes.get_mut(field.at + at) {
                    *place = byte;
                }
            }
        }
        for number in 0..count {
            let from = self.bytes.len();
            self.bytes.resize(from + section.length, 0);
            section.memo.turn = 0;
            let mut entry = EntryOf {
                record: &self.layout.record,
                missing: self.missing,
                bytes: &mut self.bytes[from..],
                section,
            };
            fill(number, &mut entry);
        }
        self.set_bound(name, begin);
        self
    }

    /// Returns the offset of the section entry that a field of the fixed part points to.
    fn begin_of(&self, section: &Section) -> Option<usize> {
        let Some(NumberSource::Field(field)) = &section.offset else {
            return None;
        };
        let field = self.layout.fields.get(field)?;
        Some(number_in(&self.bytes, *field))
    }

    /// Sets offset, stride and number of entries in the entry that they belong to; the offset counts from there.
    fn put_within(&mut self, outer: &str, places: &[(Option<NumberSource>, usize); 3]) {
        let place = self.layout.sections.get(outer).and_then(|section| {
            let begin = self.begin_of(section)?;
            let field = |place: &Option<NumberSource>| match place {
                Some(NumberSource::Field(name)) => section.fields.get(name).copied(),
                _ => None,
            };
            Some((
                begin,
                [
                    field(&places[0].0),
                    field(&places[1].0),
                    field(&places[2].0),
                ],
            ))
        });
        let Some((begin, fields)) = place else {
            remember(
                self.missing,
                format!("{} section {outer}", self.layout.record),
            );
            return;
        };
        for (at, field) in fields.into_iter().enumerate() {
            if let Some(field) = field {
                let value = places[at].1 - if at == 0 { begin } else { 0 };
                store(&mut self.bytes[begin..], field, 0, value as u64);
            }
        }
    }

    /// Sets the length of a section so far, or of the one that contains it.
    fn set_bound(&mut self, name: &str, begin: usize) {
        let Some(section) = self.layout.sections.get(name) else {
            return;
        };
        let (bound, begin) = match &section.within {
            None => (&section.bound, Some(begin)),
            Some(outer) => match self.layout.sections.get(outer) {
                None => return,
                Some(outer) => (&outer.bound, self.begin_of(outer)),
            },
        };
        if let (Some(field), Some(begin)) = (bound, begin)
            && let Some(field) = self.layout.fields.get(field)
        {
            let length = self.bytes.len() - begin;
            store(&mut self.bytes, *field, 0, length as u64);
        }
    }

    /// The record.
    pub fn end(mut self) -> Vec<u8> {
        let length = self.bytes.len();
        if length > MAX_RECORD {
            *self.long = Some(EncodeError::Long {
                record: self.layout.record.clone(),
                length,
            });
            self.bytes.truncate(self.layout.length);
        }
        let length = self.bytes.len() as u16;
        self.bytes[..2].copy_from_slice(&length.to_be_bytes());
        self.bytes
    }
}

impl EntryOf<'_> {
    fn field(&mut self, name: &'static str) -> Option<Field> {
        let found = self.section.memo.field(&self.section.fields, name);
        if found.is_none() {
            remember(self.missing, format!("{}.{name}", self.record));
        }
        found.filter(|field| !field.absent)
    }

    /// A number.
    pub fn number(&mut self, name: &'static str, value: u64) -> &mut Self {
        if let Some(field) = self.field(name) {
            store(self.bytes, field, 0, value);
        }
        self
    }

    /// A text, padded with blanks.
    pub fn text(&mut self, name: &'static str, value: &str) -> &mut Self {
        if let Some(field) = self.field(name) {
            store_text(self.bytes, field, value);
        }
        self
    }
}
