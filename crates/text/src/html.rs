//! Rows of a report as rows of an HTML table; every text is escaped.

use crate::batch::{Batch, Values};
use crate::cell::{Cell, Style};
use crate::number::push_float;
use crate::section::{flag, row_values, time};
use crate::time::{push_iso, push_stamp};

fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            other => out.push(other),
        }
    }
}

pub struct Html {
    pub styles: Vec<Style>,
    /// Of each column: whether it is at the right, and whether it is sorted by its exact value.
    pub columns: Vec<(bool, bool)>,
    /// Of each section: its label, escaped.
    pub labels: Vec<String>,
    /// Of each section and column: the whole cell of every row.
    pub fixed: Vec<Vec<Option<String>>>,
    /// Of each section and column: the whole cell where there is no value.
    pub empty: Vec<Vec<String>>,
    pub timed: bool,
    pub offset_us: i64,
}

impl Html {
    pub fn push(&self, out: &mut String, rank: usize, batch: &Batch, row: usize) {
        out.push_str("<tr><td>");
        out.push_str(&self.labels[rank]);
        if let Some(flag) = flag(batch, row).filter(|flag| !flag.is_empty()) {
            out.push_str(" (");
            push_escaped(out, flag);
            out.push(')');
        }
        out.push_str("</td>");
        if self.timed {
            match time(batch, row) {
                None => out.push_str("<td class=\"m\"></td>"),
                Some(at) => {
                    out.push_str("<td data-v=\"");
                    push_iso(out, at);
                    out.push_str("\">");
                    push_stamp(out, at.saturating_add(self.offset_us));
                    out.push_str("</td>");
                }
            }
        }
        let mut text = String::new();
        let mut exact = String::new();
        for (place, values) in row_values(batch).iter().enumerate() {
            if let Some(fixed) = &self.fixed[rank][place] {
                out.push_str(fixed);
                continue;
            }
            let cell = Cell {
                values,
                style: &self.styles[place],
                offset_us: self.offset_us,
            };
            text.clear();
            if !cell.push(&mut text, row) {
                out.push_str(&self.empty[rank][place]);
                continue;
            }
            let (right, sorted) = self.columns[place];
            out.push_str(if right { "<td class=\"r\"" } else { "<td" });
            exact.clear();
            if push_exact(&mut exact, values, row, sorted) && exact != text {
                out.push_str(" data-v=\"");
                out.push_str(&exact);
                out.push('"');
            }
            out.push('>');
            push_escaped(out, &text);
            out.push_str("</td>");
        }
        out.push_str("</tr>\n");
    }
}

/// The value that a cell is sorted by, where that is not its text.
fn push_exact(out: &mut String, values: &Values, row: usize, sorted: bool) -> bool {
    match values {
        Values::Time(array) => push_iso(out, array.value(row)),
        Values::Int(array) if sorted => out.push_str(itoa::Buffer::new().format(array.value(row))),
        Values::BigInt(array) if sorted => out.push_str(array.value(row)),
        Values::Float(array) if sorted => push_float(out, array.value(row)),
        Values::Bool(array) if sorted => {
            out.push_str(if array.value(row) { "True" } else { "False" })
        }
        _ => return false,
    }
    true
}
