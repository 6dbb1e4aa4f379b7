//! Counter records of SMF to one table: a row for each record, counters by their numbers, the differences of
//! cumulative ones made on the way.
//!
//! What stands where comes as a [`Plan`]; here is only how such records are built: sections found by triplets, a
//! list of counter sets with the counters of each, one subtype with what was counted in the interval and another
//! with what was counted since the run began.

mod batch;
mod check;
mod counters;
mod fields;
mod journal;
mod lines;
mod plan;
mod reading;
mod rows;
mod scan;
pub mod sections;
mod select;
mod shape;
mod state;
mod words;

pub use journal::Change;
pub use plan::Plan;
pub use scan::{Decoder, File, NO_SYSTEM, Scan, System};
pub use select::Selection;
