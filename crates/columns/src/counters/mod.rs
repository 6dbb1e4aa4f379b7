//! Counter records of SMF to one table: a row for each record, counters by their numbers, the differences of
//! cumulative ones made on the way.
//!
//! Offsets come as a [`Plan`]; this module knows how such records are built: sections found by triplets, a list of
//! counter sets with the counters of each, one subtype with what was counted in the interval and another with what was
//! counted since the run began.

mod batch;
mod changes;
mod counter;
mod cross_check;
mod fields;
mod plan;
mod records;
mod rows;
mod scan;
mod select;
mod sequence;
mod shape;
mod tracker;

pub use changes::Change;
pub use plan::Plan;
pub use scan::{Decoder, Scan};
pub use select::Selection;
pub use tracker::System;
