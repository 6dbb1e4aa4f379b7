//! Rows of a classic text report: a label or time, aligned columns, the flag of the interval.

use crate::batch::Batch;
use crate::cell::{Cell, Style, length};
use crate::section::{flag, row_values, time};
use crate::time::{day_of, push_clock, push_day};

/// A column that is printed.
#[derive(Clone, Debug)]
pub struct PrintedColumn {
    /// Its index among the columns shown.
    pub index: usize,
    pub width: usize,
    pub right: bool,
}

/// Label shared by the rows of one section.
#[derive(Clone, Debug)]
pub struct SectionLabel {
    pub label: String,
    /// For each chosen column the text that is in every row, padded.
    pub fixed: Vec<Option<String>>,
    /// For each chosen column what means no value, padded.
    pub empty: Vec<String>,
}

/// Layout of the rows of a part.
pub struct Table {
    pub styles: Vec<Style>,
    pub columns: Vec<PrintedColumn>,
    pub sections: Vec<SectionLabel>,
    /// The width of labels, where rows begin with one or with their time.
    pub label_width: Option<usize>,
    /// Whether a blank line is between intervals.
    pub blank: bool,
    /// Whether days are shown.
    pub dated: bool,
    pub offset_us: i64,
    /// The time of the row before, and how it is shown.
    clock: Option<(i64, String)>,
    day: Option<i64>,
    begun: bool,
    cell: String,
}

impl Table {
    pub fn new(
        styles: Vec<Style>,
        columns: Vec<PrintedColumn>,
        sections: Vec<SectionLabel>,
        label_width: Option<usize>,
        blank: bool,
        dated: bool,
        offset_us: i64,
    ) -> Self {
        Self {
            styles,
            columns,
            sections,
            label_width,
            blank,
            dated,
            offset_us,
            clock: None,
            day: None,
            begun: false,
            cell: String::new(),
        }
    }

    pub fn push(&mut self, out: &mut String, rank: usize, batch: &Batch, row: usize) {
        let at = time(batch, row);
        if let Some(at) = at
            && self.clock.as_ref().is_none_or(|(last, _)| *last != at)
        {
            self.begin(out, at);
        }
        self.begun = true;
        let start = out.len();
        let section = &self.sections[rank];
        if let Some(width) = self.label_width {
            match &self.clock {
                Some((_, clock)) if at.is_some() && section.label.is_empty() => {
                    push_left(out, clock, width);
                }
                _ => push_left(out, &section.label, width),
            }
            out.push(' ');
        }
        let values = row_values(batch);
        for (place, column) in self.columns.iter().enumerate() {
            if place > 0 {
                out.push(' ');
            }
            if let Some(fixed) = &section.fixed[place] {
                out.push_str(fixed);
                continue;
            }
            self.cell.clear();
            let cell = Cell {
                values: &values[column.index],
                style: &self.styles[column.index],
                offset_us: self.offset_us,
            };
            if !cell.push(&mut self.cell, row) {
                out.push_str(&section.empty[place]);
            } else if column.right {
                push_spaces(out, column.width.saturating_sub(length(&self.cell)));
                out.push_str(&self.cell);
            } else {
                push_left(out, cut(&self.cell, column.width), column.width);
            }
        }
        if self.label_width.is_some() {
            if let Some(flag) = flag(batch, row).filter(|flag| !flag.is_empty()) {
                out.push(' ');
                out.push_str(flag);
            }
        } else if !section.label.is_empty() {
            let end = cut(&out[start..], length(&section.label)).len();
            out.replace_range(start..start + end, &section.label);
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }

    /// Text before the first row of a time.
    fn begin(&mut self, out: &mut String, at: i64) {
        if self.begun && self.blank {
            out.push('\n');
        }
        let local = at.saturating_add(self.offset_us);
        let mut clock = String::with_capacity(8);
        push_clock(&mut clock, local);
        self.clock = Some((at, clock));
        if self.dated && self.day != Some(day_of(local)) {
            self.day = Some(day_of(local));
            push_day(out, local, '/');
            out.push('\n');
        }
    }
}

/// At most this many characters of a text.
fn cut(text: &str, most: usize) -> &str {
    text.char_indices()
        .nth(most)
        .map_or(text, |(end, _)| &text[..end])
}

fn push_left(out: &mut String, text: &str, width: usize) {
    out.push_str(text);
    push_spaces(out, width.saturating_sub(length(text)));
}

fn push_spaces(out: &mut String, count: usize) {
    const SPACES: &str = "                                ";
    match SPACES.get(..count) {
        Some(spaces) => out.push_str(spaces),
        None => out.extend(std::iter::repeat_n(' ', count)),
    }
}
