//! Packed files: gzip, ZIP and Zstandard, unpacked into a file without a name.
//!
//! Unpacking takes little memory whatever the bytes say, ends at a limit that is given to it, and
//! keeps what came before damage.

mod input;
mod packing;
mod part;
mod sink;
mod streams;
mod unpack;
mod zip;

pub use packing::Packing;
pub use part::LOOK;
pub use unpack::{Error, Unpacked, peek, unpack};
