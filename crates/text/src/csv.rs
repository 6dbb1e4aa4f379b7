//! CSV by RFC 4180 with \n: every value with all its digits, empty fields for none, times ISO 8601 with Z.

use arrow_array::RecordBatch;

use crate::batch::{Batch, Kind, Values};
use crate::error::Error;
use crate::number::push_float;
use crate::section::{flag, row_values, time};
use crate::time::push_iso;

/// A text as a field; one that a reader would split is quoted. A bare carriage return would be, too.
pub fn csv_field(out: &mut String, text: &str) {
    if !text
        .bytes()
        .any(|byte| matches!(byte, b'"' | b',' | b'\r' | b'\n'))
    {
        out.push_str(text);
        return;
    }
    out.push('"');
    for (number, piece) in text.split('"').enumerate() {
        if number > 0 {
            out.push_str("\"\"");
        }
        out.push_str(piece);
    }
    out.push('"');
}

/// Writes a value; `empty` replaces an empty text, to distinguish it from NULL.
fn push_value(out: &mut String, values: &Values, row: usize, empty: &str) {
    if values.is_missing(row) {
        return;
    }
    match values {
        Values::Int(array) => out.push_str(itoa::Buffer::new().format(array.value(row))),
        Values::BigInt(array) => out.push_str(array.value(row)),
        Values::Float(array) => push_float(out, array.value(row)),
        Values::Bool(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
        Values::Text(array) if array.value(row).is_empty() => out.push_str(empty),
        Values::Text(array) => csv_field(out, array.value(row)),
        Values::Time(array) => push_iso(out, array.value(row)),
    }
}

/// The rows of a batch, all columns; an empty text is `""`.
pub fn csv_rows(out: &mut String, batch: &RecordBatch, kinds: &[Kind]) -> Result<(), Error> {
    let batch = Batch::new(batch, kinds)?;
    for row in 0..batch.rows {
        for (place, values) in batch.columns.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            push_value(out, values, row, "\"\"");
        }
        out.push('\n');
    }
    Ok(())
}

/// Rows of a report.
pub struct Csv {
    /// Text that the rows of each section begin with.
    before: Vec<String>,
    /// Whether time and flag of a row follow.
    timed: bool,
    last: Option<i64>,
    iso: String,
}

impl Csv {
    pub fn new(before: &[Vec<String>], timed: bool) -> Self {
        let fields = |texts: &Vec<String>| {
            let mut out = String::new();
            for text in texts {
                csv_field(&mut out, text);
                out.push(',');
            }
            out
        };
        Self {
            before: before.iter().map(fields).collect(),
            timed,
            last: None,
            iso: String::new(),
        }
    }

    pub fn push(&mut self, out: &mut String, rank: usize, batch: &Batch, row: usize) {
        out.push_str(&self.before[rank]);
        if self.timed {
            if let Some(at) = time(batch, row) {
                if self.last != Some(at) {
                    self.last = Some(at);
                    self.iso.clear();
                    push_iso(&mut self.iso, at);
                }
                out.push_str(&self.iso);
            }
            out.push(',');
            csv_field(out, flag(batch, row).unwrap_or_default());
            out.push(',');
        }
        for (place, values) in row_values(batch).iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            push_value(out, values, row, "");
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_separators_are_quoted() {
        for (text, field) in [
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("\"", "\"\"\"\""),
            ("a\rb", "\"a\rb\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut out = String::new();
            csv_field(&mut out, text);
            assert_eq!(out, field);
        }
    }
}
