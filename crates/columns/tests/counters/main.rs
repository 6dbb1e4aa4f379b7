//! Counter records of SMF: what is in them comes out, differences are what was counted, damage is a problem.

mod bad;
mod both;
mod builders;
mod differences;
mod values;
