//! The plan: what a raw table holds and where its columns are in a record.
//!
//! Plans are compiled from the catalog elsewhere and come as JSON, so that this crate knows no field by name.

use std::collections::HashSet;

use serde::Deserialize;

pub use super::join::{ContinuationPlan, CounterArea, CounterSet, SetSize};
pub use super::section::{DataBounds, FieldRef, Match, Section, TornCheck, TrailingStrings};
pub use crate::core::plan::{Kind, PlanError};

/// Longest integer, in bytes.
const INT_MAX: u32 = 8;

/// One raw table: which records feed it and how.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Plan {
    /// Name of the table.
    pub table: String,
    /// Domain of the record.
    pub domain: u8,
    /// Number of the record in its domain.
    pub record: u16,
    /// Columns in the order of the table.
    pub columns: Vec<Column>,
    /// Columns whose values identify the subject; none: one subject for each system.
    #[serde(default)]
    pub subject: Vec<String>,
    /// Columns whose change is evidence of a reset.
    #[serde(default)]
    pub reset_on: Vec<String>,
    /// Position of the entries, if a row is an entry and not a record.
    #[serde(default)]
    pub section: Option<Section>,
    /// How records are joined, if a row is several of them.
    #[serde(default)]
    pub join: Option<ContinuationPlan>,
    /// Offsets of the columns, by length of the record.
    pub layouts: Vec<Layout>,
}

/// One column of a raw table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Type of its bytes.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// How its differences are computed; `None` if it has no `_d` column.
    #[serde(default)]
    pub difference: Option<Difference>,
}

/// How a counter's differences are computed.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Difference {
    /// Bytes at which the counter wraps.
    pub width: u8,
    /// Whether its values are ordered as signed numbers.
    #[serde(default)]
    pub signed: bool,
    /// Its direction.
    #[serde(default)]
    pub direction: Direction,
    /// A step back is a wrap only when the modular difference is at most this part of the range.
    #[serde(default = "half")]
    pub half_range: f64,
    /// A step back is a wrap only when the modular difference is at most this many units a second.
    #[serde(default = "unlimited")]
    pub max_rate: f64,
}

fn half() -> f64 {
    0.5
}

fn unlimited() -> f64 {
    f64::INFINITY
}

/// Direction of a counter or timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Values grow.
    #[default]
    Up,
    /// Values shrink; the difference is previous minus current.
    Down,
    /// Not stated: the first interval in which values move decides.
    Learn,
}

/// Places of the columns in records of some lengths.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Layout {
    /// Record lengths this layout is for; none: every length no other layout names.
    #[serde(default)]
    pub lengths: Vec<u32>,
    /// Offsets of the columns; a column without one is NULL.
    pub fields: Vec<Field>,
}

/// Offset of one column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Field {
    /// Number of the column in the table.
    pub column: usize,
    /// Offset from the start of its part.
    pub offset: u32,
    /// Length in bytes; 0: text or bytes up to the end of the part.
    pub length: u32,
    /// Whether an integer is signed.
    #[serde(default)]
    pub signed: bool,
    /// The part of a section table's row that contains it.
    #[serde(default)]
    pub part: Part,
    /// Index in an array, from 0; the offset is then that of the array.
    #[serde(default)]
    pub element: Option<u32>,
}

/// A part of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The record.
    #[default]
    Record,
    /// The entry of the section.
    Entry,
    /// No bytes: the number of the entry in its record, the first one having the field's offset.
    Ordinal,
    /// The text of the entry that `element` counts, from 0.
    String,
    /// Bytes after the texts of the entry.
    Tail,
    /// The counter of the joined records whose number is the field's offset.
    Counter,
    /// Number of counters of the set of the joined records that the field's offset counts, from 0.
    Count,
}

impl Field {
    /// Offset of the value itself; None when it lies beyond every record.
    pub fn start(&self) -> Option<u32> {
        match self.element {
            None => Some(self.offset),
            Some(_) if self.part == Part::String => Some(self.offset),
            Some(element) => element.checked_mul(self.length)?.checked_add(self.offset),
        }
    }
}

impl Plan {
    /// Reads and checks a JSON array of plans.
    ///
    /// # Errors
    /// When the JSON is no such array or a plan contradicts itself.
    pub fn parse(json: &str) -> Result<Vec<Plan>, PlanError> {
        let plans: Vec<Plan> = serde_json::from_str(json).map_err(|error| PlanError {
            table: String::new(),
            reason: error.to_string(),
        })?;
        let mut tables = HashSet::new();
        for plan in &plans {
            plan.check().map_err(|reason| PlanError {
                table: plan.table.clone(),
                reason,
            })?;
            if !tables.insert(plan.table.as_str()) {
                return Err(PlanError {
                    table: plan.table.clone(),
                    reason: "specified twice".into(),
                });
            }
        }
        Ok(plans)
    }

    /// Number of the column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    fn check(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        for column in &self.columns {
            if !names.insert(column.name.as_str()) {
                return Err(format!("column {} is specified twice", column.name));
            }
            if let Some(difference) = &column.difference {
                if column.kind != Kind::Int {
                    return Err(format!(
                        "column {} is not an integer and has no differences",
                        column.name
                    ));
                }
                if difference.width == 0 || difference.width > 8 {
                    return Err(format!(
                        "column {}: a counter has 1 to 8 bytes",
                        column.name
                    ));
                }
                // Also refuses NaN, which no comparison lets through.
                if !(difference.half_range >= 0.0 && difference.max_rate >= 0.0) {
                    return Err(format!("column {}: a bound is negative", column.name));
                }
            }
        }
        for name in self.subject.iter().chain(&self.reset_on) {
            if self.column(name).is_none() {
                return Err(format!("unknown column {name}"));
            }
        }
        if let Some(section) = &self.section {
            section.check()?;
        }
        if let Some(join) = &self.join {
            if self.section.is_some() {
                return Err("a row is either an entry or joined of records".into());
            }
            join.check()?;
        }
        for layout in &self.layouts {
            self.check_layout(layout)?;
        }
        Ok(())
    }

    fn check_layout(&self, layout: &Layout) -> Result<(), String> {
        let mut placed = vec![false; self.columns.len()];
        for field in &layout.fields {
            let Some(column) = self.columns.get(field.column) else {
                return Err(format!("field refers to unknown column {}", field.column));
            };
            if std::mem::replace(&mut placed[field.column], true) {
                return Err(format!(
                    "column {} has two offsets in one layout",
                    column.name
                ));
            }
            self.check_part(column, field)?;
            let fits = match column.kind {
                Kind::Int => (1..=INT_MAX).contains(&field.length),
                Kind::Float => field.length == 4 || field.length == 8,
                Kind::Time => field.length == 8,
                Kind::Bool => field.length >= 1,
                Kind::Text | Kind::Ascii | Kind::Hex => true,
            };
            if !fits {
                return Err(format!(
                    "column {} cannot be {} bytes of {:?}",
                    column.name, field.length, column.kind
                ));
            }
            if field
                .start()
                .and_then(|start| start.checked_add(field.length))
                .is_none()
            {
                return Err(format!(
                    "column {}: offset is past the end of every record",
                    column.name
                ));
            }
        }
        Ok(())
    }

    fn check_part(&self, column: &Column, field: &Field) -> Result<(), String> {
        let name = &column.name;
        let texts = self.section.as_ref().and_then(|section| section.strings);
        let wrong = match field.part {
            Part::Record => None,
            Part::Entry | Part::Ordinal if self.section.is_none() => {
                Some("is in an entry, but the record has no section")
            }
            Part::Entry => None,
            Part::Ordinal => {
                (column.kind != Kind::Int).then_some("counts entries and is not an integer")
            }
            Part::String | Part::Tail if texts.is_none() => {
                Some("is after texts of an entry without texts")
            }
            Part::String => {
                let text = matches!(column.kind, Kind::Text | Kind::Ascii | Kind::Hex);
                let there = texts.is_some_and(|texts| field.element.unwrap_or(0) < texts.count);
                (!text || field.length > 0 || !there).then_some("is not a text of the entry")
            }
            Part::Tail => texts
                .is_some_and(|texts| {
                    field
                        .offset
                        .checked_add(field.length)
                        .is_none_or(|end| end > texts.tail)
                })
                .then_some("is past the end of the data after the texts"),
            Part::Counter | Part::Count if self.join.is_none() => {
                Some("is counted, but no records are joined")
            }
            Part::Counter => {
                (column.kind != Kind::Int || field.length != 8).then_some("is not a counter")
            }
            Part::Count => (column.kind != Kind::Int || field.length != 2)
                .then_some("is not a number of counters"),
        };
        match wrong {
            Some(wrong) => Err(format!("column {name} {wrong}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"[{"table":"d0r2","domain":0,"record":2,
        "columns":[{"name":"a","type":"int","difference":{"width":4,"direction":"down"}},
                   {"name":"b","type":"text","difference":null}],
        "subject":["b"],"reset_on":[],"section":null,
        "layouts":[{"lengths":[108],"fields":[
            {"column":0,"offset":24,"length":4,"signed":false,"part":"record","element":null},
            {"column":1,"offset":28,"length":8}]}]}]"#;

    #[test]
    fn reads_catalog_plan() {
        let plans = Plan::parse(GOOD).unwrap();
        assert_eq!(plans[0].column("b"), Some(1));
        let difference = plans[0].columns[0].difference.unwrap();
        assert_eq!(difference.direction, Direction::Down);
        assert!((difference.half_range - 0.5).abs() < 1e-12);
    }

    #[test]
    fn rejects_inconsistent_plan() {
        for (from, to, word) in [
            (r#""type":"int""#, r#""type":"text""#, "not an integer"),
            (r#""width":4"#, r#""width":9"#, "1 to 8 bytes"),
            (
                r#""subject":["b"]"#,
                r#""subject":["c"]"#,
                "unknown column c",
            ),
            (r#""name":"b""#, r#""name":"a""#, "twice"),
            (r#""column":1"#, r#""column":7"#, "unknown column 7"),
            (r#""column":1"#, r#""column":0"#, "has two offsets"),
            (
                r#""offset":24,"length":4"#,
                r#""offset":24,"length":12"#,
                "12 bytes",
            ),
            (r#""part":"record""#, r#""part":"entry""#, "no section"),
            (
                r#""section":null"#,
                r#""section":{"stride":4}"#,
                "no offset",
            ),
            (
                r#""offset":28"#,
                r#""offset":4294967295"#,
                "past the end of every record",
            ),
            (r#""table":"d0r2""#, r#""tabel":"d0r2""#, "missing field"),
        ] {
            let json = GOOD.replacen(from, to, 1);
            assert_ne!(json, GOOD);
            let error = Plan::parse(&json).unwrap_err().to_string();
            assert!(error.contains(word), "{error} should speak of {word}");
        }
    }
}
