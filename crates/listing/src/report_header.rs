//! The rows of one report: what its header says of them, and the intervals they have.

/// An interval of a chunk, with the first row that has it. Times in microseconds UTC.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    pub end_us: i64,
    pub seconds: Option<f64>,
    pub line: u64,
    pub offset: u64,
}

/// Data of a report header that applies to its rows. Times are local, in microseconds since 1970 as if they were UTC.
#[derive(Clone, Debug, Default)]
pub struct ReportHeader {
    pub system: String,
    /// The source of rows by time, and of reports that have none.
    pub sources: (String, String),
    pub file: String,
    pub start_us: Option<i64>,
    pub end_us: Option<i64>,
    pub seconds: Option<f64>,
    /// The day that times without a date begin at, if the header has none; also the end of rows without a time.
    pub day_us: i64,
    pub offset_us: i64,
}
