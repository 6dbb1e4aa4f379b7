//! Finding the records in z/VM MONWRITE files and in captures of the live stream.
//!
//! [`index()`] goes over a file once; a [`Pass`] returns the records of the types it found. A [`Capture`] shows the
//! live stream as MONWRITE would have written it.

mod capture;
mod control;
mod element;
mod index;
mod page_map;
mod pass;
mod record;
mod resync;
mod scan;
mod scan_state;
mod skips;
mod sniff;
mod stats;
mod types;
mod writer;

pub use capture::Capture;
pub use control::{Entry, MAX_ENTRIES};
pub use index::{Index, IntervalDigest, IntervalEnd};
pub use pass::Pass;
pub use record::{Class, HEADER, Header, MAX_DOMAIN};
pub use scan::{digests, index, index_from};
pub use sniff::{Sniff, sniff};
pub use types::{MAX_TYPES, TypeStats};
pub use writer::{Group, MAX_RECORD, WriteError, Writer};
