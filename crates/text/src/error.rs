//! Errors between an Arrow stream and text.

use arrow_schema::{ArrowError, DataType};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Stream(#[from] ArrowError),
    #[error("column {column} has the Arrow type {kind}, which is not printed")]
    Type { column: usize, kind: DataType },
    /// Rows beyond what memory is to hold are in a temporary file.
    #[error("temporary file for rows: {0}")]
    Spool(#[from] std::io::Error),
}
