//! The plan: what the table of counters holds and where it is in the records.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use zlens_frames::smf::{IntervalLayout, Triplet};

use crate::core::plan::{Kind, PlanError};

/// No record has more kinds of counter set than this.
pub(crate) const MAX_SETS: usize = 16;
/// No table has more counters than this.
const MAX_COUNTERS: u32 = 4096;

/// The table of counters and the records that feed it.
#[derive(Debug, Clone, Deserialize)]
pub struct Plan {
    /// Name of the table.
    pub table: String,
    /// Type of the records.
    pub record: u8,
    /// The subtypes that are read. Where several cover the same system and interval, the first of them is shown.
    pub subtypes: Vec<Subtype>,
    /// Columns in the order of the table; the counters come after them.
    pub columns: Vec<Column>,
    /// The kinds of counter set.
    pub sets: Vec<Set>,
    /// Column with the processor that a record is about.
    pub processor: String,
    /// Column that says when the run began whose counters a record holds.
    pub run: String,
    /// Column that is true in the first record of a run, whose values are no differences.
    pub first: String,
    /// Columns whose change says that the same numbers mean other counters.
    pub versions: Vec<String>,
    /// Columns whose change is reported.
    pub watched: Vec<String>,
}

/// How the records of one subtype are built.
#[derive(Debug, Clone, Deserialize)]
pub struct Subtype {
    /// The subtype.
    pub subtype: u16,
    /// Meaning of its counters.
    pub values: Values,
    /// Triplet of the section that says of which interval the record is.
    pub identification: TripletRef,
    /// Position of the start of the interval in it.
    pub start: u16,
    /// Position of the end of the interval in it.
    pub end: u16,
    /// Triplet of the section with the processor, the run and the list of counter sets.
    pub data: TripletRef,
    /// Position of the time in it when the record was written.
    pub written: u16,
    /// The list of counter sets.
    pub list: CounterSetList,
}

/// Meaning of the counters of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// Differences since the previous record.
    Delta,
    /// Totals since the run began.
    Absolute,
}

/// Position of a triplet: an offset of four bytes, a length and a number of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TripletRef {
    /// Position of the offset.
    pub offset_at: u16,
    /// Position of the length.
    pub length_at: u16,
    /// Position of the number.
    pub count_at: u16,
}

/// The list of a record's counter sets.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct CounterSetList {
    /// Triplet of the entries, in the data section.
    pub entries: TripletRef,
    /// The kind of set, in an entry.
    pub kind: FieldRef,
    /// Position of the counters of an entry.
    pub counters: Counters,
}

/// A number of one or two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FieldRef {
    /// Its position.
    pub offset: u16,
    /// Its length.
    pub length: u16,
}

/// How the counters of a set are found.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counters {
    /// Each entry has a triplet of its own.
    Own(TripletRef),
    /// The counters of all sets follow each other in the order of the entries.
    Shared {
        /// Number of counters of an entry, in the entry.
        count: FieldRef,
        /// Triplet of all counters, in the data section.
        area: TripletRef,
    },
}

/// A kind of counter set.
#[derive(Debug, Clone, Deserialize)]
pub struct Set {
    /// Its number in the records.
    pub kind: u16,
    /// Name of the column with the number of its counters in a record.
    pub size: String,
    /// Number of its first counter.
    pub first: u32,
    /// Number of its counters that have a column, `c<number>_d` each.
    pub counters: u32,
}

/// A column that is no counter.
#[derive(Debug, Clone, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its bytes.
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    /// Its position: the first of these that the record's subtype and the length of its section allow.
    pub places: Vec<FieldSpec>,
    /// Words for codes.
    #[serde(default)]
    pub codes: HashMap<String, String>,
    /// Words for codes of records in which a bit is set.
    #[serde(default)]
    pub marked: Option<FlaggedCodes>,
}

/// Other words for codes, where a bit says so.
#[derive(Debug, Clone, Deserialize)]
pub struct FlaggedCodes {
    /// Column of the bit.
    pub by: String,
    /// The words.
    pub codes: HashMap<String, String>,
}

/// Conversion of the bytes of a field to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Big-endian unsigned integer.
    Int,
    /// EBCDIC text.
    Text,
    /// The bytes in hexadecimal.
    Hex,
    /// TOD clock value; zero is no time.
    Time,
    /// One bit.
    Bit,
    /// A word for an integer; an integer without a word is its own.
    Code,
}

/// Position of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FieldSpec {
    /// Subtype of the records that have it here; none: all.
    #[serde(default)]
    pub subtype: Option<u16>,
    /// The part of the record.
    pub part: Part,
    /// Offset in the part.
    pub offset: u32,
    /// Length.
    pub length: u32,
    /// Index of the bit, from 0 at the left of the field.
    #[serde(default)]
    pub bit: u32,
}

/// A part of a record in which fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The record itself.
    Record,
    /// The identification section.
    Identification,
    /// The data section.
    Data,
}

impl TripletRef {
    /// As the reader of frames knows it.
    #[must_use]
    pub const fn triplet(&self) -> Triplet {
        Triplet {
            offset_at: self.offset_at,
            length_at: self.length_at,
            count_at: self.count_at,
        }
    }

    /// Offset, length and number, if the part has them.
    pub(crate) fn read(&self, part: &[u8]) -> Option<(u32, u32, u32)> {
        let offset = part.get(usize::from(self.offset_at)..)?.first_chunk()?;
        let half = |at: u16| {
            FieldRef {
                offset: at,
                length: 2,
            }
            .read(part)
        };
        Some((
            u32::from_be_bytes(*offset),
            half(self.length_at)?,
            half(self.count_at)?,
        ))
    }
}

impl FieldRef {
    /// The number, if the part has it.
    pub(crate) fn read(&self, part: &[u8]) -> Option<u32> {
        let at = usize::from(self.offset);
        let bytes = part.get(at..at + usize::from(self.length))?;
        Some(
            bytes
                .iter()
                .fold(0, |all, &byte| all << 8 | u32::from(byte)),
        )
    }
}

impl Plan {
    /// Reads and checks a plan in JSON.
    ///
    /// # Errors
    /// When the JSON is no plan or the plan contradicts itself.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(json).map_err(|error| PlanError {
            table: String::new(),
            reason: error.to_string(),
        })?;
        plan.check().map_err(|reason| PlanError {
            table: plan.table.clone(),
            reason,
        })?;
        Ok(plan)
    }

    /// Offsets of the interval of a record, for the first pass over a file.
    #[must_use]
    pub fn clocks(&self) -> Vec<IntervalLayout> {
        let clock = |subtype: &Subtype| IntervalLayout {
            record: self.record,
            subtype: subtype.subtype,
            identification: subtype.identification.triplet(),
            start: subtype.start,
            end: subtype.end,
            data: subtype.data.triplet(),
            written: subtype.written,
        };
        self.subtypes.iter().map(clock).collect()
    }

    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    fn check(&self) -> Result<(), String> {
        if self.subtypes.is_empty() || self.subtypes.len() > 2 {
            return Err("one or two subtypes can be read together".into());
        }
        if self.sets.len() > MAX_SETS || self.sets.iter().any(|set| set.counters > MAX_COUNTERS) {
            return Err("there are too many counters".into());
        }
        let sizes = self.sets.iter().map(|set| &set.size);
        let mut names = HashSet::new();
        for name in self.columns.iter().map(|column| &column.name).chain(sizes) {
            if !names.insert(name.as_str()) {
                return Err(format!("column {name} is specified twice"));
            }
        }
        for column in &self.columns {
            self.check_column(column)?;
        }
        let of = |name: &String, kind: ColumnKind| match self.column(name) {
            Some(column) if column.kind == kind => Ok(()),
            _ => Err(format!("unknown column {name} of {kind:?}")),
        };
        of(&self.processor, ColumnKind::Int)?;
        of(&self.run, ColumnKind::Time)?;
        of(&self.first, ColumnKind::Bit)?;
        for name in self.versions.iter().chain(&self.watched) {
            of(name, ColumnKind::Int)?;
        }
        for subtype in &self.subtypes {
            let list = &subtype.list;
            let mut numbers = vec![list.kind];
            if let Counters::Shared { count, .. } = list.counters {
                numbers.push(count);
            }
            if numbers.iter().any(|bytes| !(1..=2).contains(&bytes.length)) {
                return Err("a number in the list of sets has one or two bytes".into());
            }
        }
        Ok(())
    }

    fn check_column(&self, column: &Column) -> Result<(), String> {
        for place in &column.places {
            let fits = match column.kind {
                ColumnKind::Int | ColumnKind::Code => matches!(place.length, 1 | 2 | 4 | 8),
                ColumnKind::Time => place.length == 8,
                ColumnKind::Bit => place.length == 1 && place.bit < 8,
                ColumnKind::Text | ColumnKind::Hex => place.length > 0,
            };
            if !fits || place.offset.checked_add(place.length).is_none() {
                return Err(format!(
                    "column {} cannot be {} bytes of {:?}",
                    column.name, place.length, column.kind
                ));
            }
        }
        if let Some(marked) = &column.marked
            && self
                .column(&marked.by)
                .is_none_or(|by| by.kind != ColumnKind::Bit)
        {
            return Err(format!(
                "column {}: {} is not a bit",
                column.name, marked.by
            ));
        }
        Ok(())
    }
}

impl ColumnKind {
    /// The kind of the column on its way out.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Int => Kind::Int,
            Self::Text | Self::Code => Kind::Text,
            Self::Hex => Kind::Hex,
            Self::Time => Kind::Time,
            Self::Bit => Kind::Bool,
        }
    }
}
