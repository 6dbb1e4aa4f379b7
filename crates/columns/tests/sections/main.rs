//! Tests of records that consist of sections, at all levels and in any number of segments.

mod bad;
mod builders;
mod numbers;
mod pieces;
mod values;
