//! JSON objects, one a line: exact values, null where there is none, times ISO 8601 with Z.

use arrow_array::RecordBatch;

use crate::batch::{Batch, Kind, Values};
use crate::error::Error;
use crate::number::push_float;
use crate::section::{flag, row_values, time};
use crate::time::push_iso;

/// A text between quotes; only what JSON wants escaped is.
fn push_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[rest..at]);
        if escaped.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escaped);
        }
        rest = at + 1;
    }
    out.push_str(&text[rest..]);
    out.push('"');
}

fn push_optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => push_text(out, text),
        None => out.push_str("null"),
    }
}

fn push_time(out: &mut String, at: Option<i64>) {
    match at {
        Some(at) => {
            out.push('"');
            push_iso(out, at);
            out.push('"');
        }
        None => out.push_str("null"),
    }
}

fn push_value(out: &mut String, values: &Values, row: usize) {
    if values.is_missing(row) {
        out.push_str("null");
        return;
    }
    match values {
        Values::Int(array) => out.push_str(itoa::Buffer::new().format(array.value(row))),
        Values::BigInt(array) => out.push_str(array.value(row)),
        Values::Float(array) => push_float(out, array.value(row)),
        Values::Bool(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
        Values::Text(array) => push_text(out, array.value(row)),
        Values::Time(array) => push_time(out, Some(array.value(row))),
    }
}

/// `, "name": `, and `"name": ` for the first.
fn heads<'a>(names: impl Iterator<Item = &'a String>, first: bool) -> Vec<String> {
    names
        .enumerate()
        .map(|(place, name)| {
            let mut out = String::from(if first && place == 0 { "" } else { ", " });
            push_text(&mut out, name);
            out.push_str(": ");
            out
        })
        .collect()
}

/// Rows of an answer: all columns, one object a row.
pub struct Objects {
    heads: Vec<String>,
    between: &'static str,
}

impl Objects {
    pub fn new(names: &[String]) -> Self {
        Self {
            heads: heads(names.iter(), true),
            between: "[\n {",
        }
    }

    pub fn push(
        &mut self,
        out: &mut String,
        batch: &RecordBatch,
        kinds: &[Kind],
    ) -> Result<(), Error> {
        let batch = Batch::new(batch, kinds)?;
        for row in 0..batch.rows {
            out.push_str(self.between);
            self.between = ",\n {";
            for (head, values) in self.heads.iter().zip(&batch.columns) {
                out.push_str(head);
                push_value(out, values, row);
            }
            out.push('}');
        }
        Ok(())
    }

    /// Text after the last row.
    pub fn end(&self) -> &'static str {
        if self.between.starts_with('[') {
            "[]\n"
        } else {
            "\n]\n"
        }
    }
}

/// The largest whole number up to which JavaScript has them all.
const EXACT: u64 = 1 << 53;

/// A value for a program that reads numbers as doubles: a whole number that it would round is a text.
fn push_exact(out: &mut String, values: &Values, row: usize) {
    let rounded = match values {
        _ if values.is_missing(row) => false,
        Values::Int(array) => array.value(row).unsigned_abs() > EXACT,
        Values::BigInt(array) => array
            .value(row)
            .parse::<i64>()
            .map_or(true, |number| number.unsigned_abs() > EXACT),
        _ => false,
    };
    if rounded {
        out.push('"');
    }
    push_value(out, values, row);
    if rounded {
        out.push('"');
    }
}

/// Rows of an answer as one array of arrays, no more than `limit` of them.
pub struct Arrays {
    limit: usize,
    rows: usize,
}

impl Arrays {
    pub fn new(limit: usize) -> Self {
        Self { limit, rows: 0 }
    }

    pub fn push(
        &mut self,
        out: &mut String,
        batch: &RecordBatch,
        kinds: &[Kind],
    ) -> Result<(), Error> {
        let batch = Batch::new(batch, kinds)?;
        let shown = batch.rows.min(self.limit.saturating_sub(self.rows));
        for row in 0..shown {
            out.push_str(if self.rows + row == 0 { "[[" } else { ",[" });
            for (place, values) in batch.columns.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                push_exact(out, values, row);
            }
            out.push(']');
        }
        self.rows += batch.rows;
        Ok(())
    }

    /// Text after the last row.
    pub fn end(&self) -> &'static str {
        if self.rows.min(self.limit) == 0 {
            "[]"
        } else {
            "]"
        }
    }

    /// Whether there were rows beyond the limit.
    pub fn more(&self) -> bool {
        self.rows > self.limit
    }
}

/// Rows of a report, one object a line, with nothing before the first and nothing after the last.
pub struct Json {
    /// Text that the rows of each section begin with.
    before: Vec<String>,
    timed: Option<(String, String)>,
    heads: Vec<String>,
    /// Texts that are in every row of a section.
    fixed: Vec<Vec<Option<String>>>,
    between: &'static str,
}

impl Json {
    /// `before`: names and texts that rows of each section begin with; `timed`: whether time and flag follow.
    pub fn new(
        before: &[Vec<(String, String)>],
        timed: bool,
        names: &[String],
        fixed: Vec<Vec<Option<String>>>,
    ) -> Self {
        let begin = |pairs: &Vec<(String, String)>| {
            let heads = heads(pairs.iter().map(|(name, _)| name), true);
            let mut out = String::from("{");
            for (head, (_, text)) in heads.iter().zip(pairs) {
                out.push_str(head);
                push_text(&mut out, text);
            }
            out
        };
        Self {
            before: before.iter().map(begin).collect(),
            timed: timed.then(|| {
                (
                    String::from(", \"interval_end\": "),
                    String::from(", \"flag\": "),
                )
            }),
            heads: heads(names.iter(), false),
            fixed,
            between: "",
        }
    }

    pub fn push(&mut self, out: &mut String, rank: usize, batch: &Batch, row: usize) {
        out.push_str(self.between);
        self.between = ",\n";
        out.push_str(&self.before[rank]);
        if let Some((end, flagged)) = &self.timed {
            out.push_str(end);
            push_time(out, time(batch, row));
            out.push_str(flagged);
            push_optional(out, flag(batch, row));
        }
        let fixed = &self.fixed[rank];
        for ((head, values), fixed) in self.heads.iter().zip(row_values(batch)).zip(fixed) {
            out.push_str(head);
            match fixed {
                Some(text) => push_text(out, text),
                None => push_value(out, values, row),
            }
        }
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn large_integers_are_texts_in_arrays() {
        let columns: [(&str, arrow_array::ArrayRef); 3] = [
            (
                "a",
                Arc::new(Int64Array::from(vec![
                    Some((1 << 53) + 1),
                    Some(-(1 << 53)),
                    None,
                ])),
            ),
            (
                "b",
                Arc::new(StringArray::from(vec!["18446744073709551616", "7", "8"])),
            ),
            ("c", Arc::new(Float64Array::from(vec![f64::NAN, 0.5, 1.0]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let kinds = [Kind::Whole, Kind::Whole, Kind::Other];
        for (limit, wanted, more) in [
            (0, "[]", true),
            (
                2,
                "[[\"9007199254740993\",\"18446744073709551616\",null],[-9007199254740992,7,0.5]]",
                true,
            ),
            (
                3,
                "[[\"9007199254740993\",\"18446744073709551616\",null],[-9007199254740992,7,0.5],[null,8,1.0]]",
                false,
            ),
        ] {
            let (mut arrays, mut out) = (Arrays::new(limit), String::new());
            arrays.push(&mut out, &batch, &kinds).unwrap();
            out.push_str(arrays.end());
            assert_eq!((out.as_str(), arrays.more()), (wanted, more));
        }
    }

    #[test]
    fn texts_are_escaped_for_json() {
        let mut out = String::new();
        push_text(&mut out, "a\"\\\n\u{1}\u{7f}é");
        assert_eq!(out, "\"a\\\"\\\\\\n\\u0001\u{7f}é\"");
    }
}
