//! Rows of printed tables as columns: words below heads, numbers with their precision, and times of a local day.
//!
//! The reader of a listing finds its headings; from there on, rows are read line by line until a line is not a row.
//! Knows nothing of Python, of reports or of what columns mean.

#![forbid(unsafe_code)]

mod cells;
mod line;
mod number;
mod report_header;
mod rows;
mod value;
mod values;

pub use cells::{CellOrder, ColumnSpan, split};
pub use line::{Label, RowStart, start};
pub use number::{Number, ParseNumberError, number};
pub use report_header::{Interval, ReportHeader};
pub use rows::{LineKind, Repeat, Rows, Target, UnparsedCell};
pub use value::Kind;
