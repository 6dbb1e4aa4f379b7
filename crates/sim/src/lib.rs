//! The simulator: a machine, its partitions, CP, guests and devices as discrete events.
//!
//! Deterministic: a scenario with its seed gives the same history on every machine. Time is integer
//! ([`time`]), random numbers come in named streams ([`random`]), and floating-point numbers are used only
//! where IEEE 754 defines the result exactly.

mod costs;
mod counter_feed;
pub mod counters;
mod cp;
mod cpi;
pub mod custom_policy;
mod eligible;
mod encode;
pub mod event_queue;
mod guests;
pub mod hardware;
mod heap;
mod index_set;
mod instructions;
pub mod io;
mod limiter;
mod limits;
mod memory;
pub mod misses;
mod parking;
pub mod profile;
mod prsm;
pub mod random;
mod reconfiguration;
pub mod recorder;
pub mod relocation;
pub mod run;
pub mod run_segment;
pub mod scenario;
pub mod state;
mod storage;
pub mod storage_servers;
pub mod time;
mod tournament;
pub mod unpark_policy;
mod validate;
pub mod world;
mod world_builder;
