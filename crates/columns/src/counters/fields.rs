//! Columns that are no counters.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::ArrowError;
use zlens_frames::{ProblemKind, Window};

use super::plan::{ColumnKind, FieldSpec, Plan};
use super::records::RecordColumns;
use super::shape::PartSize;
use crate::core::column::{ColumnBuilder, FieldSlices};
use crate::core::diagnostics::Reporter;
use crate::core::int64_block::{Int64Arrays, Int64Block};
use crate::core::kernel::Kernel;
use crate::core::utf8::Utf8Builder;
use crate::core::validity::Validity;

/// Position of a field in the records of one subtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResolvedField {
    part: usize,
    offset: u32,
    length: u32,
    /// The bit, if it is one.
    mask: Option<u8>,
}

impl ResolvedField {
    /// Candidate offsets of a column in records of a subtype, in order of preference.
    pub(crate) fn resolve(plan: &Plan, name: &str, subtype: u16) -> Vec<Self> {
        let Some(column) = plan.column(name) else {
            return Vec::new();
        };
        let own = |place: &&FieldSpec| place.subtype.is_none_or(|own| own == subtype);
        let spot = |place: &FieldSpec| Self {
            part: place.part.number(),
            offset: place.offset,
            length: place.length,
            mask: (column.kind == ColumnKind::Bit).then_some(0x80 >> place.bit),
        };
        column.places.iter().filter(own).map(spot).collect()
    }

    /// Whether a part of this form holds the field.
    fn fits(self, form: PartSize) -> bool {
        self.offset + self.length <= form.length()
    }

    /// The number in one record, if it has it.
    #[inline]
    pub(crate) fn number(self, lines: &RecordColumns, row: usize, bytes: &[u8]) -> Option<u64> {
        let part = lines.part(row, self.part, bytes);
        let from = self.offset as usize;
        let field = part.get(from..from + self.length as usize)?;
        let value = match *field {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_be_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
            _ => u64::from_be_bytes(*field.first_chunk()?),
        };
        Some(match self.mask {
            Some(mask) => u64::from(value & u64::from(mask) != 0),
            None => value,
        })
    }
}

/// The words of a column of codes.
#[derive(Debug)]
struct Codes {
    words: HashMap<u64, String>,
    marked: HashMap<u64, String>,
    /// Position of the bit, by subtype.
    by: Vec<Vec<ResolvedField>>,
}

/// Source of values.
#[derive(Clone, Copy)]
pub(crate) struct FieldInput<'f> {
    /// The subtype.
    pub nth: usize,
    pub lines: &'f RecordColumns,
    pub window: &'f Window<'f>,
    pub leap_s: i32,
    pub place: &'f Reporter<'f>,
}

#[derive(Debug)]
enum Data {
    Field(ColumnBuilder),
    Bit(Vec<bool>, Validity),
    Code(Utf8Builder, Codes),
}

/// A column while it is built.
#[derive(Debug)]
pub(crate) struct FieldColumn {
    name: String,
    kind: ColumnKind,
    data: Data,
    /// By subtype: where it can be.
    spots: Vec<Vec<ResolvedField>>,
}

impl FieldColumn {
    /// The column of that number in the plan; integers and times take the next index among the 8-byte columns.
    pub(crate) fn new(plan: &Plan, number: usize, places: &mut usize) -> Self {
        let column = &plan.columns[number];
        let spots = |name: &str| -> Vec<Vec<ResolvedField>> {
            let subtypes = plan.subtypes.iter();
            subtypes
                .map(|subtype| ResolvedField::resolve(plan, name, subtype.subtype))
                .collect()
        };
        let data = match column.kind {
            ColumnKind::Bit => Data::Bit(Vec::new(), Validity::default()),
            ColumnKind::Code => {
                let numbered = |words: &HashMap<String, String>| -> HashMap<u64, String> {
                    let number =
                        |(code, word): (&String, &String)| Some((code.parse().ok()?, word.clone()));
                    words.iter().filter_map(number).collect()
                };
                let marked = column.marked.as_ref();
                Data::Code(
                    Utf8Builder::default(),
                    Codes {
                        words: numbered(&column.codes),
                        marked: marked.map(|m| numbered(&m.codes)).unwrap_or_default(),
                        by: marked.map(|m| spots(&m.by)).unwrap_or_default(),
                    },
                )
            }
            other => Data::Field(ColumnBuilder::new(other.kind(), places)),
        };
        Self {
            name: column.name.clone(),
            kind: column.kind,
            data,
            spots: spots(&column.name),
        }
    }

    /// Adds the values of some records after those of the `row` before.
    pub(crate) fn append(&mut self, from: &FieldInput<'_>, row: usize, wide: &mut Int64Block) {
        let &FieldInput {
            nth,
            lines,
            window,
            leap_s,
            place,
        } = from;
        let spots = &self.spots[nth];
        match &mut self.data {
            Data::Field(builder) => {
                let mut from = 0;
                while from < lines.len() {
                    let (spot, count) = same(spots, lines, from);
                    match spot {
                        Some(spot) => {
                            let source = FieldSlices {
                                bytes: window.bytes,
                                places: &lines.starts[spot.part][from..from + count],
                                lens: &[],
                                len: 0,
                                leap_s,
                            };
                            let kernel = Kernel::for_kind(self.kind.kind(), spot.length, false);
                            builder.append(kernel, spot.offset, row + from, &source, wide);
                        }
                        None => builder.append_nulls(row + from, count, wide),
                    }
                    from += count;
                }
                if let Some(large) = builder.first_overflow(row) {
                    let at = window.offset(lines.records[large - row]);
                    place.problem(ProblemKind::Long, ("large", &self.name), at, 0, || {
                        format!(
                            "{} is above 2^63 - 1 (first occurrence); such values are NULL",
                            self.name
                        )
                    });
                }
            }
            Data::Bit(values, validity) => {
                for nth in 0..lines.len() {
                    let value = find(spots, lines, nth, window.bytes);
                    values.push(value.unwrap_or(0) != 0);
                    if value.is_none() {
                        validity.clear(row + nth, row + nth + 1);
                    }
                }
            }
            Data::Code(words, codes) => {
                let by = codes.by.get(nth).map_or(&[][..], Vec::as_slice);
                for nth in 0..lines.len() {
                    let Some(code) = find(spots, lines, nth, window.bytes) else {
                        words.null();
                        continue;
                    };
                    let marked = find(by, lines, nth, window.bytes).unwrap_or(0) != 0;
                    let word = codes.marked.get(&code).filter(|_| marked);
                    match word.or_else(|| codes.words.get(&code)) {
                        Some(word) => words.push(word),
                        None => {
                            words.push(&code.to_string());
                            let at = window.offset(lines.records[nth]);
                            place.problem(
                                ProblemKind::Section,
                                ("code", &self.name, code),
                                at,
                                0,
                                || {
                                    format!(
                                        "{code}: unknown {} (first occurrence); shown unchanged",
                                        self.name
                                    )
                                },
                            );
                        }
                    }
                }
            }
        }
    }

    /// The array of `len` rows; the column is cleared.
    pub(crate) fn finish(
        &mut self,
        len: usize,
        wide: &Int64Arrays,
    ) -> Result<ArrayRef, ArrowError> {
        match &mut self.data {
            Data::Field(builder) => builder.finish(len, wide),
            Data::Bit(values, validity) => {
                let values = BooleanBuffer::from(std::mem::take(values));
                Ok(Arc::new(BooleanArray::new(
                    values,
                    validity.finish(len, &[]),
                )))
            }
            Data::Code(words, _) => Ok(words.finish()?),
        }
    }

    /// Zeros where values are too large, so that nothing shows under a NULL.
    pub(crate) fn hide_large(&self, wide: &mut Int64Block) {
        if let Data::Field(builder) = &self.data {
            builder.zero_overflows(wide);
        }
    }
}

fn find(spots: &[ResolvedField], lines: &RecordColumns, row: usize, bytes: &[u8]) -> Option<u64> {
    spots.iter().find_map(|spot| spot.number(lines, row, bytes))
}

/// Position of the field in the record at `from`, and the number of consecutive records that have it there.
fn same(
    spots: &[ResolvedField],
    lines: &RecordColumns,
    from: usize,
) -> (Option<ResolvedField>, usize) {
    let at = |row: usize| {
        let fits = |spot: &&ResolvedField| spot.fits(lines.forms[spot.part][row]);
        spots.iter().find(fits).copied()
    };
    let first = at(from);
    let rest = from + 1..lines.len();
    let count = rest.clone().take_while(|&row| at(row) == first).count();
    (first, 1 + count)
}
