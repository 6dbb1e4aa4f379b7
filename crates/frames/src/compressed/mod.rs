//! Compressed files: gzip, ZIP and Zstandard, decompressed into a file without a name.
//!
//! Decompression takes little memory whatever the bytes say, ends at a limit that is given to it, and
//! keeps what came before damage.

mod decompress;
mod format;
mod input;
mod prefix;
mod sink;
mod streams;
mod zip;

pub use decompress::{Decompressed, Error, decompress, peek_decompressed};
pub use format::Compression;
pub use prefix::LOOK;
