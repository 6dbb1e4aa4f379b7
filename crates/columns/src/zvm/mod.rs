//! Records of z/VM to raw tables: a row for each record, or for each entry of a section; the differences between one
//! sample of a subject and the next made on the way.
//!
//! Decoding goes window by window, and in each window column by column.

mod batch;
mod difference;
mod evidence;
mod gather;
mod join;
pub mod plan;
mod scan;
mod section;
mod select;
mod shape;
mod subject;
mod table;
mod track;

pub use evidence::ResetEvidence;
pub use plan::Plan;
pub use scan::{Decoder, File, Scan, System};
pub use select::Selection;
