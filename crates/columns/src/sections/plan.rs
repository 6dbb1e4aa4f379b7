//! The plan: the tables of one record type, and where their columns are in its sections.

use std::collections::HashSet;

use serde::Deserialize;

use crate::core::plan::PlanError;

/// No record has more kinds of section than this.
pub(crate) const MAX_PARTS: usize = 32;
/// Fields are within this many bytes of their section's beginning.
const MAX_OFFSET: u32 = 1 << 16;

/// The tables of a record type.
#[derive(Debug, Clone, Deserialize)]
pub struct Plan {
    /// Its name, such as 74-1.
    pub name: String,
    /// Type of the records.
    pub record: u8,
    /// The subtypes that are read.
    pub subtypes: Vec<u16>,
    /// The kinds of section.
    pub parts: Vec<Part>,
    /// Position of the interval in the record.
    pub time: Time,
    /// How split records are reassembled.
    #[serde(default)]
    pub broken: Option<Reassembly>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Parts with a triplet in the header, in the order in which triplets are.
    #[serde(skip)]
    pub(crate) order: Vec<usize>,
    /// Parts with a triplet in a section, after the parts of these.
    #[serde(skip)]
    pub(crate) nested: Vec<(usize, usize)>,
}

/// A kind of section.
#[derive(Debug, Clone, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Position of its triplet: an offset of four bytes, a length and a number of two; none: the record itself.
    pub triplet: Option<u16>,
    /// The kind of section that has the triplet, each of its own sections; none: the header.
    #[serde(default)]
    pub within: Option<usize>,
    /// Whether each section has a length of its own: its first byte is the number of bytes that follow.
    #[serde(default)]
    pub length_byte: bool,
}

/// A number in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FieldRef {
    /// Its position.
    pub offset: u32,
    /// Its length.
    pub length: u32,
}

/// Position of the interval in a record.
#[derive(Debug, Clone, Deserialize)]
pub struct Time {
    /// The section.
    pub part: usize,
    /// Start of the interval: a packed time, with `date`, or a TOD value, without.
    #[serde(default)]
    pub start: Option<FieldRef>,
    /// The packed date of its start.
    #[serde(default)]
    pub date: Option<FieldRef>,
    /// Its length, packed decimal.
    #[serde(default)]
    pub length: Option<FieldRef>,
    /// Its length in microseconds.
    #[serde(default)]
    pub length_us: Option<FieldRef>,
    /// Actual or planned end; a TOD value. None: when the record was written.
    #[serde(default)]
    pub end: Option<FieldRef>,
    /// Offset of local time from UTC, in TOD units.
    #[serde(default)]
    pub zone: Option<FieldRef>,
    /// Expected length in seconds.
    #[serde(default)]
    pub nominal: Option<FieldRef>,
}

/// Position of the reassembly data of a split record.
#[derive(Debug, Clone, Deserialize)]
pub struct Reassembly {
    /// The section that leads to this.
    pub part: usize,
    /// Its position, in that section.
    pub at: ReassemblyArea,
    /// Its fields.
    pub fields: ReassemblyFields,
    /// Fields of a block, one block for each kind of section.
    pub block: ReassemblyBlock,
}

/// Reassembly area; offsets count from the section.
#[derive(Debug, Clone, Deserialize)]
pub struct ReassemblyArea {
    /// Its offset.
    pub offset: FieldRef,
    /// Its length.
    pub length: FieldRef,
    /// 1 if the record is a split part.
    pub number: FieldRef,
}

/// Fields of the reassembly area.
#[derive(Debug, Clone, Deserialize)]
pub struct ReassemblyFields {
    /// Number of parts.
    pub total: FieldRef,
    /// Sequence number of this part.
    pub sequence: FieldRef,
    /// Offset of the first block.
    pub blocks: FieldRef,
    /// Length of a block.
    pub block_length: FieldRef,
    /// Number of blocks.
    pub block_number: FieldRef,
}

/// Description of a kind of section.
#[derive(Debug, Clone, Deserialize)]
pub struct ReassemblyBlock {
    /// Number of sections of the complete record.
    pub total: FieldRef,
    /// Index of the first one in this part.
    pub first: FieldRef,
}

/// A table: a row for each section of a kind.
#[derive(Debug, Clone, Deserialize)]
pub struct Table {
    /// Its name.
    #[serde(rename = "table")]
    pub name: String,
    /// The kind of section.
    pub part: usize,
    /// Its columns, after those that all tables begin with.
    pub columns: Vec<Column>,
    /// Sections of another kind that each own some of these.
    #[serde(default)]
    pub owner: Option<Owner>,
}

/// Assignment of sections to one of another kind.
#[derive(Debug, Clone, Deserialize)]
pub struct Owner {
    /// The other kind.
    pub part: usize,
    /// The first that belongs to it; `None`: it has their triplet.
    #[serde(default)]
    pub first: Option<FieldRef>,
    /// Number of them; `None`: one.
    #[serde(default)]
    pub number: Option<FieldRef>,
    /// The number of the first section of all: 0 or 1.
    #[serde(default)]
    pub base: i64,
    /// Value that represents no system.
    #[serde(default)]
    pub none: Option<i64>,
}

/// A column.
#[derive(Debug, Clone, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its bytes.
    pub kind: ColumnKind,
    /// Its position in the section.
    #[serde(default)]
    pub offset: u32,
    /// Its length.
    #[serde(default)]
    pub length: u32,
    /// Index of the bit in the byte, from the left.
    #[serde(default)]
    pub bit: u32,
    /// Position of the packed date of a time of day.
    #[serde(default)]
    pub date: Option<u32>,
    /// Offset of an earlier time of day; if this one is before it, it is of the next day.
    #[serde(default)]
    pub after: Option<u32>,
    /// What the section must be like; otherwise its bytes are those of another field.
    #[serde(default)]
    pub when: Option<Condition>,
}

/// A number of a section, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// Its position.
    pub offset: u32,
    /// Its length.
    pub length: u32,
    /// The value.
    pub value: u64,
}

/// Conversion of the bytes of a field to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Big-endian unsigned integer.
    Unsigned,
    /// Big-endian signed integer.
    Signed,
    /// EBCDIC text.
    Text,
    /// The bytes in hexadecimal.
    Hex,
    /// One bit.
    Bit,
    /// TOD clock value; zero is no time.
    Tod,
    /// TOD clock value of local time; zero is no time.
    TodLocal,
    /// Duration in TOD units; seconds.
    Duration,
    /// Difference in TOD units; seconds.
    Offset,
    /// Hexadecimal floating point.
    Hfp,
    /// Packed date, shown as a local date.
    Date,
    /// Packed digits.
    Packed,
    /// Packed `mmsstttF`; seconds.
    PackedDuration,
    /// Packed local time `0hhmmssF`.
    PackedTime,
    /// Hundredths of a second since local midnight.
    Hundredths,
    /// Subtype of the record.
    Subtype,
    /// Number of the section that owns this one.
    Owner,
}

impl Plan {
    /// Reads and checks a plan in JSON.
    ///
    /// # Errors
    /// When the JSON is no plan or the plan contradicts itself.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let error = |table: &str, reason: String| PlanError {
            table: table.to_owned(),
            reason,
        };
        let mut plan: Self =
            serde_json::from_str(json).map_err(|wrong| error("", wrong.to_string()))?;
        plan.check()
            .map_err(|reason| error(&format!("smf{}", plan.record), reason))?;
        for table in &plan.tables {
            plan.check_table(table)
                .map_err(|reason| error(&table.name, reason))?;
        }
        let mut order: Vec<usize> = (0..plan.parts.len())
            .filter(|&part| plan.parts[part].triplet.is_some() && plan.parts[part].within.is_none())
            .collect();
        order.sort_by_key(|&part| plan.parts[part].triplet);
        plan.order = order;
        let mut nested: Vec<(usize, usize)> = (plan.parts.iter().enumerate())
            .filter_map(|(part, facts)| Some((part, facts.within?)))
            .collect();
        nested.sort_by_key(|&(part, _)| plan.depth(part));
        plan.nested = nested;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        if self.parts.len() > MAX_PARTS {
            return Err(format!("there are more than {MAX_PARTS} kinds of section"));
        }
        if self.subtypes.is_empty() {
            return Err("no subtype is specified".into());
        }
        let sections = [Some(self.time.part), self.broken.as_ref().map(|b| b.part)];
        if sections
            .iter()
            .flatten()
            .any(|&part| part >= self.parts.len())
        {
            return Err("no such section".into());
        }
        if (0..self.parts.len()).any(|part| self.depth(part) > self.parts.len()) {
            return Err("a section has its triplet in no section".into());
        }
        let nested_or_split = |part: &Part| part.within.is_some() || self.broken.is_some();
        if (self.parts.iter()).any(|part| part.length_byte && nested_or_split(part)) {
            return Err("sections with lengths of their own are nested or split".into());
        }
        let tod = |bytes: FieldRef| bytes.length == 8;
        let time = &self.time;
        let start = if time.date.is_some() { 4 } else { 8 };
        let starts = time.start.is_none_or(|place| place.length == start);
        if !time.end.is_none_or(tod) || !starts || !time.zone.is_none_or(tod) {
            return Err("a time has the wrong length".into());
        }
        let mut names = HashSet::new();
        if !self.tables.iter().all(|table| names.insert(&table.name)) {
            return Err("a table is specified twice".into());
        }
        Ok(())
    }

    /// How many sections lead to a part; more than there are parts if none does.
    fn depth(&self, part: usize) -> usize {
        let mut at = part;
        for depth in 0..=self.parts.len() {
            match self.parts.get(at).map(|part| part.within) {
                Some(Some(within)) => at = within,
                Some(None) => return depth,
                None => break,
            }
        }
        usize::MAX
    }

    fn check_table(&self, table: &Table) -> Result<(), String> {
        let known = |part: usize| part < self.parts.len();
        if !known(table.part) || table.owner.as_ref().is_some_and(|own| !known(own.part)) {
            return Err("no such section".into());
        }
        let mut names = HashSet::new();
        for column in &table.columns {
            if !names.insert(column.name.as_str()) {
                return Err(format!("column {} is specified twice", column.name));
            }
            if !column.fits() {
                return Err(format!(
                    "column {} cannot be {} bytes of {:?}",
                    column.name, column.length, column.kind
                ));
            }
        }
        Ok(())
    }

    /// The table of that name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }
}

impl Column {
    fn fits(&self) -> bool {
        use ColumnKind as Kind;
        let ends = self.offset < MAX_OFFSET && self.length < MAX_OFFSET;
        let others = [self.date, self.after];
        let dated = others.iter().flatten().all(|&at| at < MAX_OFFSET);
        let length = match self.kind {
            Kind::Unsigned | Kind::Signed => (1..=8).contains(&self.length),
            // Without a length, the rest of the section.
            Kind::Text => true,
            Kind::Hex | Kind::Packed => self.length > 0,
            Kind::Bit => self.length == 1 && self.bit < 8,
            Kind::Tod | Kind::TodLocal | Kind::Duration | Kind::Offset => self.length == 8,
            Kind::Hfp => self.length == 4 || self.length == 8,
            Kind::Date | Kind::PackedDuration => self.length == 4,
            Kind::PackedTime | Kind::Hundredths => self.length == 4 && self.date.is_some(),
            Kind::Subtype | Kind::Owner => true,
        };
        let condition = self
            .when
            .is_none_or(|when| when.offset < MAX_OFFSET && (1..=8).contains(&when.length));
        ends && dated && length && condition
    }
}

impl Condition {
    /// Whether a section is like this.
    pub(crate) fn holds(self, section: &[u8]) -> bool {
        let place = FieldRef {
            offset: self.offset,
            length: self.length,
        };
        place.number(section) == Some(self.value)
    }
}

impl FieldRef {
    /// The unsigned number, if the section has it.
    pub(crate) fn number(self, section: &[u8]) -> Option<u64> {
        let bytes = self.get(section)?;
        (bytes.len() <= 8).then(|| {
            bytes
                .iter()
                .fold(0, |all, &byte| all << 8 | u64::from(byte))
        })
    }

    /// The signed number, if the section has it.
    pub(crate) fn signed(self, section: &[u8]) -> Option<i64> {
        let unused = 64_u32
            .checked_sub(8 * self.length)
            .filter(|&bits| bits < 64)?;
        Some((self.number(section)? << unused).cast_signed() >> unused)
    }

    /// The bytes, if the section has them.
    pub(crate) fn get(self, section: &[u8]) -> Option<&[u8]> {
        section
            .get(self.offset as usize..)?
            .get(..self.length as usize)
    }
}
