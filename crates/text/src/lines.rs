//! Rows of a part as text, in chunks.

use crate::batch::Batch;
use crate::csv::Csv;
use crate::error::Error;
use crate::html::Html;
use crate::json::Json;
use crate::merge::SectionMerge;
use crate::table::Table;

/// A chunk is at least this long, unless it is the last.
pub const CHUNK: usize = 256 << 10;

/// Format of rows.
pub enum Printer {
    Table(Table),
    Csv(Csv),
    Json(Json),
    Html(Html),
}

impl Printer {
    fn push(&mut self, out: &mut String, rank: usize, batch: &Batch, row: usize) {
        match self {
            Self::Table(table) => table.push(out, rank, batch, row),
            Self::Csv(csv) => csv.push(out, rank, batch, row),
            Self::Json(json) => json.push(out, rank, batch, row),
            Self::Html(html) => html.push(out, rank, batch, row),
        }
    }
}

pub struct TextChunks {
    part: SectionMerge,
    printer: Printer,
}

impl TextChunks {
    pub fn new(part: SectionMerge, printer: Printer) -> Self {
        Self { part, printer }
    }

    /// The next rows; None after the last.
    pub fn chunk(&mut self) -> Result<Option<String>, Error> {
        let mut out = String::with_capacity(CHUNK + CHUNK / 8);
        while out.len() < CHUNK {
            let Some(rank) = self.part.next() else {
                break;
            };
            if let Some((batch, row)) = self.part.row(rank) {
                self.printer.push(&mut out, rank, batch, row);
            }
            self.part.advance(rank)?;
        }
        Ok((!out.is_empty()).then_some(out))
    }
}
