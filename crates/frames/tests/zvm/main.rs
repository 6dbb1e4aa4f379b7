//! Framing: what is written is read back, damaged input loses as little as it must, and every byte
//! is accounted for.

mod bad_input;
mod builders;
mod captures;
mod changes;
mod mutations;
mod passes;
#[path = "../random/mod.rs"]
mod random;
mod resync;
mod round_trip;
mod transfer;
mod writing;
mod zeros;
