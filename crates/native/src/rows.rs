//! Diagnostics of scans as rows of plain values.

use zlens_columns::{DecodeProblem, Reset};

/// System, file, offset, bytes lost, record, kind, sentence.
pub type ProblemRow = (
    Option<String>,
    String,
    u64,
    u64,
    String,
    &'static str,
    String,
);
/// System, TOD value, table, subject, evidence.
pub type ResetRow = (String, u64, String, String, String);

/// A problem in a file, of a system if it concerns one; `record_name` writes record types.
pub fn problem(
    found: DecodeProblem,
    system: Option<&str>,
    file: &str,
    record_name: fn((u8, u16)) -> String,
) -> ProblemRow {
    let problem = found.problem;
    (
        system.map(str::to_owned),
        file.to_owned(),
        problem.offset,
        problem.bytes,
        problem.record.map(record_name).unwrap_or_default(),
        problem.kind.as_str(),
        problem.detail,
    )
}

/// A subject whose counters restarted.
pub fn reset(reset: Reset, system: &str) -> ResetRow {
    (
        system.to_owned(),
        reset.tod,
        reset.table,
        reset.subject,
        reset.evidence,
    )
}
