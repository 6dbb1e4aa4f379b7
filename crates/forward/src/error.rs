//! Errors that end the program, each with an exit status.

use std::io;
use std::path::PathBuf;

/// Error that ends the program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options are wrong.
    #[error("{0}; see zlens-forward --help")]
    Usage(String),
    /// A file that options name cannot be used.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason, and what is expected.
        reason: String,
    },
    /// The source cannot be opened.
    #[error("{path}: cannot be opened: {source}{cure}")]
    Source {
        /// The device or file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
        /// The fix.
        cure: &'static str,
    },
    /// The spool cannot be used.
    #[error("the spool {path} cannot be used: {reason}")]
    Spool {
        /// Its folder.
        path: PathBuf,
        /// The reason, and the fix.
        reason: String,
    },
    /// The check of the connection failed.
    #[error("the receiver cannot be reached: {0}")]
    Check(String),
}

impl Error {
    /// The exit status: 1 for the source or the receiver, 2 for options, 3 for the spool.
    #[must_use]
    pub const fn status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::File { .. } => 2,
            Self::Source { .. } | Self::Check(_) => 1,
            Self::Spool { .. } => 3,
        }
    }
}
