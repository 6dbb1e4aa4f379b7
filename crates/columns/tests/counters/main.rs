//! Tests of SMF counter records: decoded values, differences, and problems for damage.

mod bad;
mod both;
mod builders;
mod differences;
mod values;
