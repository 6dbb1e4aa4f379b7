//! Shared by the plans of all modules.

use serde::Deserialize;

/// A plan that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plan of table {table}: {reason}")]
pub struct PlanError {
    /// Table the plan is for; empty when the JSON itself is wrong.
    pub table: String,
    /// Its fault.
    pub reason: String,
}

/// Conversion of the bytes of a field to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Big-endian integer of 1 to 8 bytes.
    Int,
    /// Big-endian IEEE number of 4 or 8 bytes.
    Float,
    /// EBCDIC text (code page 037), trailing blanks and zeros taken off.
    Text,
    /// ASCII text, trailing blanks and zeros taken off; what is not ASCII becomes a question mark.
    Ascii,
    /// The bytes themselves in lower-case hexadecimal.
    Hex,
    /// TOD clock value of 8 bytes; zero is no time.
    Time,
    /// True when any bit is set.
    Bool,
}
