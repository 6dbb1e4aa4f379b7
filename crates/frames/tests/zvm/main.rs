//! Tests of framing: written records read back, damage loses as little as possible, and every byte is accounted for.

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
