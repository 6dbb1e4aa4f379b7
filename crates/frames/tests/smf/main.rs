//! SMF dumps: what is written is read back, damaged input loses as little as it must, and every
//! byte is accounted for.

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
