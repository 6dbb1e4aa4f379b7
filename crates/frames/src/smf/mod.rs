//! Finding the records in SMF dumps.
//!
//! A dump is a stream of records, each after a descriptor word of four bytes (RDW: length with
//! the word itself, and two bytes that are zero); or of blocks of records, each after a descriptor
//! word of its own (BDW, short or extended); and records may be in segments (SDW). [`open`] shows
//! all of these as a stream, goes over it once and counts its records by system, type and subtype; a
//! [`Pass`] then returns the records of chosen types. A chain of lengths that breaks is processed
//! again at the next plausible record, and every byte is accounted for.

mod cadence;
mod deblock;
mod duplicates;
mod header;
mod identity;
mod index;
mod index_builder;
mod kinds;
mod pass;
mod scan;
mod search;
mod section;
mod sniff;
mod stamp;
mod writer;

pub use deblock::open;
pub use header::{Date, EXTENDED, Header, LONG, RDW, SHORT};
pub use identity::{Alias, Identity, Part};
pub use index::{BlockStats, Index, IntervalCount};
pub use kinds::{MAX_KINDS, RecordKind, RecordKindStats};
pub use pass::Pass;
pub use scan::{MAX_BREAKS, index};
pub use section::{Section, Triplet};
pub use sniff::{CURE, Sniff, sniff, swallowed};
pub use stamp::{IntervalLayout, IntervalStamp};
pub use writer::{MAX_RECORD, WriteError, Writer};
