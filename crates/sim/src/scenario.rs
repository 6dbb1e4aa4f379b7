//! The scenario as `zlens.simulation.lowering` passes it: checked and complete.
//!
//! A field without a comment is a key of a scenario, described by `system.toml` or
//! `simulation.toml` in `zlens/facts/keys`. It is named after the key and its unit, with references between tables as indices.
//! `tests/simulation/test_keys.py` compares these structures with the keys.

mod cluster;
mod commands;
mod cp;
mod devices;
mod guests;
mod hardware;

use serde::Deserialize;

pub use cluster::*;
pub use commands::*;
pub use cp::*;
pub use devices::*;
pub use guests::*;
pub use hardware::*;

/// A whole simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub seed: u64,
    /// Begin of the simulation in TOD clock units, and of what is recorded.
    pub start_tod: u64,
    pub warmup_s: f64,
    pub seconds: f64,
    pub interval_s: f64,
    pub high_frequency_s: f64,
    /// Local time is this many seconds ahead of UTC.
    pub zone_s: i64,
    pub machine: Machine,
    pub partitions: Vec<Partition>,
    pub partition_groups: Vec<PartitionGroup>,
    pub systems: Vec<System>,
    pub checked: bool,
}

/// A z/VM system, or a partition that only uses CPU time (then it records nothing).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: String,
    /// Its partition.
    pub partition: u32,
    /// Its release, as its records say.
    pub release: String,
    pub transaction_ends: bool,
    /// Time of its IPL in TOD clock units.
    pub ipl_tod: u64,
    /// Code of the mode of its partition, as in its records.
    pub mode: u8,
    /// Whether multithreading is enabled: core n has the processors 2n and, with two threads, 2n+1.
    pub multithreading: bool,
    /// Threads per core by type.
    pub threads: Vec<u32>,
    pub storage_mib: f64,
    /// Whether page faults follow from references to memory.
    pub faults: bool,
    pub cp: Cp,
    pub users: Vec<User>,
    pub pools: Vec<Pool>,
    /// Serialized parts of work, by name; one virtual CPU at a time.
    pub locks: Vec<String>,
    pub transactions: Vec<Transaction>,
    pub control_units: Vec<ControlUnit>,
    pub volumes: Vec<Volume>,
    pub spaces: Vec<Space>,
    pub switches: Vec<Switch>,
    pub functions: Vec<Function>,
    pub relocations: Vec<Relocation>,
    /// The logical link to it.
    pub link: Option<Link>,
    pub commands: Vec<Command>,
}
