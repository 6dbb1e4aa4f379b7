//! SMF records that are lists of sections to tables: a row for each section.
//!
//! A [`Plan`] says which kinds of section a record type has, where their triplets are, and what is in them. Each
//! field is read where the length in the triplet covers it, so that records of older and newer levels read alike.
//! Records that were split because they were too long are reassembled first.

mod batch;
mod duplicates;
mod locate;
mod numbers;
mod plan;
mod reassembly;
mod rows;
mod scan;
mod select;
mod times;
mod values;

pub use numbers::{
    calendar, duration, hfp, hundredths, midnight, offset, packed, packed_duration, packed_time,
};
pub use plan::Plan;
pub use scan::{Decoder, Interval, Scan};
pub use select::Selection;
pub use times::System;
