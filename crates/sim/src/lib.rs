//! The simulator: a machine, its partitions, CP, guests and devices as discrete events.
//!
//! Deterministic: a scenario with its seed gives the same history on every machine. Time is integer
//! ([`time`]), random numbers come in named streams ([`random`]), and floating-point numbers are used only
//! where IEEE 754 defines the result exactly.

mod channels;
pub mod counter_feed;
pub mod counters;
mod cp;
mod eligible;
pub mod encode;
pub mod event_queue;
mod guests;
pub mod hardware;
pub mod heap;
pub mod index_set;
pub mod instructions;
pub mod io;
pub mod limiter;
mod limits;
mod network;
pub mod parking;
mod prsm;
pub mod random;
pub mod recorder;
pub mod relocation;
pub mod run;
pub mod scenario;
pub mod state;
pub mod storage;
pub mod time;
pub mod unpark_policy;
pub mod validate;
pub mod world;
pub mod world_builder;
