//! One column of a table of sections while it is built.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::ArrowError;
use zlens_frames::{ProblemKind, tod};

use super::numbers::{
    DAY_US, calendar, duration, hfp, hfp_short, hundredths, midnight, offset, packed,
    packed_duration, packed_time,
};
use super::plan::{Column, ColumnKind};
use super::rows::{NO_OWNER, Rows};
use super::times::{NO_TIME, RecordMeta, utc};
use crate::core::column::{ColumnBuilder, FieldSlices};
use crate::core::diagnostics::Reporter;
use crate::core::int64_block::{Int64Arrays, Int64Block};
use crate::core::kernel::{Kernel, map_fields};
use crate::core::plan::Kind;
use crate::core::utf8::Utf8Builder;
use crate::core::validity::Validity;

/// Source of values.
#[derive(Clone, Copy)]
pub(crate) struct ValueInput<'f> {
    pub bytes: &'f [u8],
    pub rows: &'f Rows,
    pub facts: &'f [RecordMeta],
    pub leap_s: i32,
    pub place: &'f Reporter<'f>,
}

impl<'f> ValueInput<'f> {
    /// Location of a row, for problems.
    fn reporter(&self, row: usize) -> Reporter<'f> {
        let record = self.record(row);
        Reporter {
            system: usize::from(record.system),
            file: record.file as usize,
            ..*self.place
        }
    }

    fn record(&self, row: usize) -> &RecordMeta {
        &self.facts[self.rows.records[row] as usize]
    }

    /// The bytes at an offset of the section of a row.
    fn four(&self, row: usize, at: u32) -> Option<[u8; 4]> {
        let start = self.rows.places[row] as usize + at as usize;
        self.bytes.get(start..)?.first_chunk().copied()
    }
}

#[derive(Debug)]
enum Data {
    /// As columns of other tables are.
    Plain(ColumnBuilder, Kernel),
    Float(Vec<f64>, Validity),
    Bit(Vec<bool>, Validity, u8),
    /// Integers and times that are computed, at an index among the 8-byte columns.
    Computed(usize, Validity),
    Text(Utf8Builder),
}

/// A column while it is built.
#[derive(Debug)]
pub(crate) struct Values {
    column: Column,
    data: Data,
}

/// A value that could not be made, and why.
enum NoValue {
    /// The field is absent or zero.
    Absent,
    /// The field does not hold a valid value.
    Malformed,
}

fn absent_if_zero<T>(bytes: &[u8], value: Option<T>) -> Result<T, NoValue> {
    value.ok_or(if bytes.iter().all(|&byte| byte == 0) {
        NoValue::Absent
    } else {
        NoValue::Malformed
    })
}

impl Values {
    /// A column of the plan; integers and times take the next index among the 8-byte columns.
    pub(crate) fn new(column: &Column, places: &mut usize) -> Self {
        use ColumnKind as ValueInput;
        let plain = |kind: Kind, signed: bool, places: &mut usize| {
            let kernel = Kernel::for_kind(kind, column.length, signed);
            Data::Plain(ColumnBuilder::new(kind, places), kernel)
        };
        let data = match column.kind {
            ValueInput::Unsigned => plain(Kind::Int, false, places),
            ValueInput::Signed => plain(Kind::Int, true, places),
            ValueInput::Text => plain(Kind::Text, false, places),
            ValueInput::Hex => plain(Kind::Hex, false, places),
            ValueInput::Tod => plain(Kind::Time, false, places),
            ValueInput::Bit => Data::Bit(Vec::new(), Validity::default(), 0x80 >> column.bit),
            ValueInput::Duration
            | ValueInput::Offset
            | ValueInput::Hfp
            | ValueInput::PackedDuration => Data::Float(Vec::new(), Validity::default()),
            ValueInput::Date => Data::Text(Utf8Builder::default()),
            ValueInput::TodLocal
            | ValueInput::Packed
            | ValueInput::PackedTime
            | ValueInput::Hundredths
            | ValueInput::Subtype
            | ValueInput::Owner => {
                *places += 1;
                Data::Computed(*places - 1, Validity::default())
            }
        };
        Self {
            column: column.clone(),
            data,
        }
    }

    /// Minimum length of a section that has the field.
    fn end(&self) -> u32 {
        let column = &self.column;
        let dated = column.date.map_or(0, |at| at + 4);
        let after = column.after.map_or(0, |at| at + 4);
        (column.offset + column.length).max(dated).max(after)
    }

    /// Adds the values of some rows after those of the `row` before.
    pub(crate) fn append(&mut self, from: &ValueInput<'_>, row: usize, wide: &mut Int64Block) {
        match self.column.kind {
            ColumnKind::Subtype | ColumnKind::Owner => return self.append_keys(from, row, wide),
            _ => {}
        }
        let end = self.end();
        let mut at = 0;
        for &(length, count) in &from.rows.lengths {
            let count = count as usize;
            if end <= length {
                self.fields_if(from, at..at + count, row, length, wide);
            } else {
                self.nulls(row + at, count, wide);
            }
            at += count;
        }
        self.report_overflow(from, row);
    }

    /// The field of some rows whose sections all hold it, where its condition holds.
    fn fields_if(
        &mut self,
        from: &ValueInput<'_>,
        range: std::ops::Range<usize>,
        row: usize,
        length: u32,
        wide: &mut Int64Block,
    ) {
        let Some(when) = self.column.when else {
            return self.fields(from, range, row, length, wide);
        };
        let holds = |nth: usize| {
            let start = from.rows.places[nth] as usize;
            let section = from.bytes.get(start..start + length as usize);
            when.holds(section.unwrap_or_default())
        };
        let mut at = range.start;
        while at < range.end {
            let is_field = holds(at);
            let next = (at + 1..range.end).find(|&nth| holds(nth) != is_field);
            let next = next.unwrap_or(range.end);
            if is_field {
                self.fields(from, at..next, row, length, wide);
            } else {
                self.nulls(row + at, next - at, wide);
            }
            at = next;
        }
    }

    fn report_overflow(&self, from: &ValueInput<'_>, row: usize) {
        let Data::Plain(builder, _) = &self.data else {
            return;
        };
        if let Some(large) = builder.first_overflow(row) {
            let name = &self.column.name;
            let at = from.record(large - row).offset;
            from.reporter(large - row)
                .problem(ProblemKind::Long, ("large", name), at, 0, || {
                    format!("{name} is above 2^63 - 1 (first occurrence); such values are NULL")
                });
        }
    }

    fn nulls(&mut self, row: usize, count: usize, wide: &mut Int64Block) {
        match &mut self.data {
            Data::Plain(builder, _) => builder.append_nulls(row, count, wide),
            Data::Float(values, validity) => {
                values.resize(values.len() + count, 0.0);
                validity.clear(row, row + count);
            }
            Data::Bit(values, validity, _) => {
                values.resize(values.len() + count, false);
                validity.clear(row, row + count);
            }
            Data::Computed(place, validity) => {
                wide.rows_mut(*place, row..row + count).fill(0);
                validity.clear(row, row + count);
            }
            Data::Text(words) => (0..count).for_each(|_| words.null()),
        }
    }

    fn append_keys(&mut self, from: &ValueInput<'_>, row: usize, wide: &mut Int64Block) {
        let Data::Computed(place, validity) = &mut self.data else {
            return;
        };
        let out = wide.rows_mut(*place, row..row + from.rows.len());
        for (nth, out) in out.iter_mut().enumerate() {
            *out = 0;
            if self.column.kind == ColumnKind::Subtype {
                *out = i64::from(from.record(nth).subtype);
            } else {
                match from.rows.owners.get(nth) {
                    Some(&owner) if owner != NO_OWNER => *out = i64::from(owner),
                    _ => validity.clear(row + nth, row + nth + 1),
                }
            }
        }
    }

    /// The field of some rows whose sections all hold it.
    fn fields(
        &mut self,
        from: &ValueInput<'_>,
        range: std::ops::Range<usize>,
        row: usize,
        length: u32,
        wide: &mut Int64Block,
    ) {
        let column = &self.column;
        let places = &from.rows.places[range.clone()];
        let bytes = from.bytes.get(column.offset as usize..).unwrap_or(&[]);
        let mut wrong = None;
        match &mut self.data {
            Data::Plain(builder, kernel) => {
                let source = FieldSlices {
                    bytes: from.bytes,
                    places,
                    lens: &[],
                    len: length,
                    leap_s: from.leap_s,
                };
                builder.append(*kernel, column.offset, row + range.start, &source, wide);
            }
            Data::Float(values, validity) => {
                let first = values.len();
                values.resize(first + places.len(), 0.0);
                let out = &mut values[first..];
                match column.kind {
                    ColumnKind::Hfp if column.length == 4 => {
                        map_fields(out, bytes, places, hfp_short);
                    }
                    ColumnKind::Hfp => map_fields(out, bytes, places, hfp),
                    ColumnKind::Duration => map_fields(out, bytes, places, duration),
                    ColumnKind::Offset => map_fields(out, bytes, places, offset),
                    _ => {
                        for ((nth, out), &at) in range.clone().zip(out).zip(places) {
                            let field = bytes[at as usize..].first_chunk().copied();
                            let field: [u8; 4] = field.unwrap_or_default();
                            match absent_if_zero(&field, packed_duration(field)) {
                                Ok(value) => *out = value,
                                Err(miss) => {
                                    note_malformed(&miss, nth, &mut wrong);
                                    validity.clear(row + nth, row + nth + 1);
                                }
                            }
                        }
                    }
                }
            }
            Data::Bit(values, _, mask) => {
                values.extend(places.iter().map(|&at| bytes[at as usize] & *mask != 0));
            }
            Data::Computed(place, validity) => {
                let out = wide.rows_mut(*place, row + range.start..row + range.end);
                for (nth, out) in range.clone().zip(out) {
                    match computed_value(column, from, nth) {
                        Ok(value) => *out = value,
                        Err(miss) => {
                            *out = 0;
                            note_malformed(&miss, nth, &mut wrong);
                            validity.clear(row + nth, row + nth + 1);
                        }
                    }
                }
            }
            Data::Text(words) => {
                for (nth, &at) in range.clone().zip(places) {
                    let field: [u8; 4] = bytes[at as usize..]
                        .first_chunk()
                        .copied()
                        .unwrap_or_default();
                    match absent_if_zero(&field, calendar(field)) {
                        Ok((year, month, day)) => {
                            words.push(&format!("{year:04}-{month:02}-{day:02}"));
                        }
                        Err(miss) => {
                            note_malformed(&miss, nth, &mut wrong);
                            words.null();
                        }
                    }
                }
            }
        }
        if let Some(nth) = wrong {
            let name = &column.name;
            let at = from.record(nth).offset;
            from.reporter(nth)
                .problem(ProblemKind::Section, ("wrong", name), at, 0, || {
                    format!(
                        "{name}: not a valid {} (first occurrence); invalid values are NULL",
                        expected_type(column.kind)
                    )
                });
        }
    }

    /// The array of `len` rows; the column is cleared.
    pub(crate) fn finish(
        &mut self,
        len: usize,
        wide: &Int64Arrays,
    ) -> Result<ArrayRef, ArrowError> {
        let time = matches!(
            self.column.kind,
            ColumnKind::TodLocal | ColumnKind::PackedTime | ColumnKind::Hundredths
        );
        Ok(match &mut self.data {
            Data::Plain(builder, _) => builder.finish(len, wide)?,
            Data::Float(values, validity) => Arc::new(Float64Array::try_new(
                std::mem::take(values).into(),
                validity.finish(len, &[]),
            )?),
            Data::Bit(values, validity, _) => Arc::new(BooleanArray::new(
                BooleanBuffer::from(std::mem::take(values)),
                validity.finish(len, &[]),
            )),
            Data::Computed(place, validity) => {
                let nulls = validity.finish(len, &[]);
                if time {
                    Arc::new(wide.times(*place, nulls)?)
                } else {
                    Arc::new(wide.ints(*place, nulls)?)
                }
            }
            Data::Text(words) => words.finish()?,
        })
    }

    /// Zeros where values are too large, so that nothing shows under a NULL.
    pub(crate) fn hide_large(&self, wide: &mut Int64Block) {
        if let Data::Plain(builder, _) = &self.data {
            builder.zero_overflows(wide);
        }
    }
}

/// Expected content of a field.
const fn expected_type(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Date => "packed date",
        ColumnKind::PackedTime => "packed time of day",
        ColumnKind::PackedDuration => "packed duration",
        ColumnKind::Hundredths => "time of day",
        _ => "packed number",
    }
}

/// Remembers the first row whose value is wrong.
fn note_malformed(miss: &NoValue, row: usize, wrong: &mut Option<usize>) {
    if matches!(miss, NoValue::Malformed) {
        wrong.get_or_insert(row);
    }
}

/// An integer or a time of one row whose section holds it.
fn computed_value(column: &Column, from: &ValueInput<'_>, row: usize) -> Result<i64, NoValue> {
    let start = from.rows.places[row] as usize + column.offset as usize;
    let field = from
        .bytes
        .get(start..start + column.length as usize)
        .ok_or(NoValue::Absent)?;
    let zone = from.record(row).zone;
    match column.kind {
        ColumnKind::Packed => absent_if_zero(field, packed(field)),
        ColumnKind::TodLocal => {
            let value = u64::from_be_bytes(*field.first_chunk().ok_or(NoValue::Absent)?);
            if value == 0 || zone == NO_TIME {
                return Err(NoValue::Absent);
            }
            // Local time is without leap seconds.
            Ok(utc(tod::to_unix_us(value, 0), zone))
        }
        ColumnKind::PackedTime | ColumnKind::Hundredths => {
            let date = column.date.and_then(|at| from.four(row, at));
            let date = date.ok_or(NoValue::Absent)?;
            let day = absent_if_zero(&date, midnight(date))?;
            let clock = |bytes: [u8; 4]| {
                if column.kind == ColumnKind::PackedTime {
                    packed_time(bytes)
                } else {
                    hundredths(bytes)
                }
            };
            let time =
                clock(*field.first_chunk().ok_or(NoValue::Absent)?).ok_or(NoValue::Malformed)?;
            let before = column.after.and_then(|at| clock(from.four(row, at)?));
            let next = if before.is_some_and(|before| time < before) {
                DAY_US
            } else {
                0
            };
            match utc(day + time + next, zone) {
                NO_TIME => Err(NoValue::Absent),
                time => Ok(time),
            }
        }
        _ => Err(NoValue::Absent),
    }
}
