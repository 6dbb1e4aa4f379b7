//! Rows as samples of Prometheus: one for each row and column that has a value, the columns back to back.
//!
//! Both forms, OpenMetrics 1.0 and text 0.0.4, have the same samples; what differs is in the head of a family.

use crate::batch::{Batch, Values};
use crate::number::push_float;

/// The columns that become the labels of a sample, each with the name of its label.
pub type Labels = Vec<(String, usize)>;

/// One metric family.
pub struct Family {
    /// Text before its samples; left out with them.
    pub head: String,
    /// The name of its samples.
    pub name: String,
    /// Index of its labels.
    pub labels: usize,
    /// The column with the values; None: every row has the value 1.
    pub value: Option<usize>,
}

/// Text of one label set for each row, back to back.
struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    fn new(labels: &Labels, batches: &[Batch]) -> Self {
        let rows = batches.iter().map(|batch| batch.rows).sum();
        let mut texts = Self {
            text: String::with_capacity(rows * 48),
            ends: Vec::with_capacity(rows),
        };
        for batch in batches {
            for row in 0..batch.rows {
                push_labels(&mut texts.text, labels, batch, row);
                texts.ends.push(texts.text.len());
            }
        }
        texts
    }

    fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }
}

/// The samples of all families.
pub fn exposition(batches: &[Batch], sets: &[Labels], families: &[Family]) -> String {
    let texts: Vec<Texts> = sets
        .iter()
        .map(|labels| Texts::new(labels, batches))
        .collect();
    let mut out = String::with_capacity(families.len() * 256);
    for family in families {
        let (start, texts) = (out.len(), &texts[family.labels]);
        out.push_str(&family.head);
        let (head, mut first) = (out.len(), 0);
        for batch in batches {
            for row in 0..batch.rows {
                let before = out.len();
                out.push_str(&family.name);
                out.push_str(texts.get(first + row));
                out.push(' ');
                match family.value.map(|column| &batch.columns[column]) {
                    None => out.push_str("1\n"),
                    Some(values) if push_value(&mut out, values, row) => out.push('\n'),
                    Some(_) => out.truncate(before),
                }
            }
            first += batch.rows;
        }
        if out.len() == head {
            out.truncate(start);
        }
    }
    out
}

/// Appends the number of a row; false where it has none.
fn push_value(out: &mut String, values: &Values, row: usize) -> bool {
    if values.is_missing(row) {
        return false;
    }
    match values {
        Values::Int(array) => out.push_str(itoa::Buffer::new().format(array.value(row))),
        Values::BigInt(array) => out.push_str(array.value(row)),
        Values::Float(array) => push_float(out, array.value(row)),
        Values::Bool(array) => out.push(if array.value(row) { '1' } else { '0' }),
        // Seconds, as time stamps are.
        Values::Time(array) => push_float(out, array.value(row) as f64 / 1e6),
        Values::Text(_) => return false,
    }
    true
}

/// Appends the labels of a row in braces; a label without a value or with an empty one is left out, as it says the
/// same.
fn push_labels(out: &mut String, labels: &Labels, batch: &Batch, row: usize) {
    let mut separator = '{';
    for (name, column) in labels {
        let values = &batch.columns[*column];
        if values.is_missing(row) || values.text(row) == Some("") {
            continue;
        }
        out.push(separator);
        separator = ',';
        out.push_str(name);
        out.push_str("=\"");
        match values {
            Values::Text(array) => push_escaped(out, array.value(row)),
            Values::Bool(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
            numbers => {
                push_value(out, numbers, row);
            }
        }
        out.push('"');
    }
    if separator == ',' {
        out.push('}');
    }
}

fn push_escaped(out: &mut String, text: &str) {
    if !text
        .bytes()
        .any(|byte| matches!(byte, b'\\' | b'"' | b'\n'))
    {
        out.push_str(text);
        return;
    }
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

    use super::*;

    fn batch(names: Vec<Option<&str>>, whole: Vec<Option<i64>>, float: Vec<Option<f64>>) -> Batch {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("name", Arc::new(StringArray::from(names))),
            ("whole", Arc::new(Int64Array::from(whole))),
            ("float", Arc::new(Float64Array::from(float))),
        ];
        Batch::new(&RecordBatch::try_from_iter(columns).unwrap(), &[]).unwrap()
    }

    fn family(head: &str, name: &str, labels: usize, value: Option<usize>) -> Family {
        Family {
            head: head.to_owned(),
            name: name.to_owned(),
            labels,
            value,
        }
    }

    #[test]
    fn one_sample_for_each_value() {
        let batches = [
            batch(
                vec![Some("A"), None],
                vec![Some(3), Some(4)],
                vec![Some(0.5), None],
            ),
            batch(vec![Some("B")], vec![None], vec![Some(1e-7)]),
        ];
        let sets = [vec![("name".to_owned(), 0), ("cpu".to_owned(), 1)], vec![]];
        let families = [
            family("# a\n", "a", 0, Some(2)),
            family("", "b_info", 0, None),
            family("", "c", 1, Some(1)),
        ];
        assert_eq!(
            exposition(&batches, &sets, &families),
            concat!(
                "# a\na{name=\"A\",cpu=\"3\"} 0.5\na{name=\"B\"} 1e-07\n",
                "b_info{name=\"A\",cpu=\"3\"} 1\nb_info{cpu=\"4\"} 1\nb_info{name=\"B\"} 1\n",
                "c 3\nc 4\n",
            )
        );
    }

    #[test]
    fn family_without_values_is_absent() {
        let batches = [batch(vec![Some("A")], vec![None], vec![Some(f64::NAN)])];
        let families = [
            family("# a\n", "a", 0, Some(1)),
            family("# b\n", "b", 0, Some(2)),
        ];
        assert_eq!(exposition(&batches, &[vec![]], &families), "");
    }

    #[test]
    fn label_delimiters_are_escaped() {
        let batches = [batch(vec![Some("a\\\"\nb")], vec![Some(1)], vec![None])];
        let sets = [vec![("name".to_owned(), 0)]];
        assert_eq!(
            exposition(&batches, &sets, &[family("", "a", 0, Some(1))]),
            "a{name=\"a\\\\\\\"\\nb\"} 1\n"
        );
    }
}
