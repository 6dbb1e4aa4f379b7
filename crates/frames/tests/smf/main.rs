//! Tests of SMF dumps: written records read back, damage loses as little as possible, and every byte is
//! accounted for.

mod bad_input;
mod builders;
mod forms;
mod intervals;
mod mutations;
mod passes;
mod physical;
#[path = "../random/mod.rs"]
mod random;
mod round_trip;
mod zeros;
