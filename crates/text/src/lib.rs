//! Rows of Arrow batches as text: the tables of reports, CSV, JSON, HTML, and samples of Prometheus.
//!
//! Rows are formatted batch by batch and returned in chunks, so memory does not grow with them. Numbers look
//! exactly as Python prints them. Knows nothing of Python, of reports or of where rows come from.

#![forbid(unsafe_code)]

mod batch;
mod cell;
mod csv;
mod error;
mod exposition;
mod html;
mod json;
mod lines;
mod merge;
mod number;
mod section;
mod spill;
mod table;
mod time;

pub use batch::{Batch, Kind, Values};
pub use cell::{Cell, Style};
pub use csv::{Csv, csv_field, csv_rows};
pub use error::Error;
pub use exposition::{Family, Labels, exposition};
pub use html::Html;
pub use json::{Arrays, Json, Objects};
pub use lines::{Printer, TextChunks};
pub use merge::SectionMerge;
pub use number::{push_float, push_int, push_number};
pub use section::{BlockStats, Section, SectionBuilder};
pub use table::{PrintedColumn, SectionLabel, Table};
