//! Virtual machines, their memory, pools and transactions.

use serde::Deserialize;

/// A virtual machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    pub name: String,
    pub account: String,
    /// Type of its virtual CPUs.
    pub kind: u8,
    pub virtual_cpus: u32,
    pub dedicated: u32,
    pub share: Share,
    /// Its maximum share.
    pub maximum: Option<Share>,
    /// Whether the maximum is LIMITHARD, or LIMITSOFT.
    pub hard: bool,
    pub quick_dispatch: bool,
    pub pool: Option<u32>,
    pub storage_mib: f64,
    pub working_set_mib: f64,
    pub logged_on: bool,
    /// Work of each virtual CPU besides transactions; one entry for all, or one for each.
    pub loads: Vec<Load>,
    pub quantum_ms: Option<f64>,
    /// Work of two threads relative to one.
    pub smt_speedup_pct: f64,
    pub memory: Memory,
    pub references: References,
    pub reserve_mib: f64,
    pub application_data: bool,
}

/// SET SHARE.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// RELATIVE.
    Relative(u32),
    /// ABSOLUTE, in percent.
    Absolute(f64),
}

/// Work of a virtual CPU besides transactions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Demand in percent of a processor; `None` is unlimited.
    pub demand_pct: Option<f64>,
    pub burst_ms: f64,
    pub variation: f64,
    pub backlog_s: f64,
    pub profile: Vec<(f64, f64)>,
    pub io_rate: f64,
    pub volumes: Vec<u32>,
    pub page_rate: f64,
    pub simulation_rate: f64,
    pub simulation_cost_us: f64,
    pub message_rate: f64,
    pub cached_pct: f64,
}

/// The character of memory references, for the counters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    pub instructions_per_cycle: f64,
    pub footprint_mib: f64,
    pub shared_pct: f64,
    pub l1_misses: f64,
    pub crypto_rate: f64,
    pub problem_state_pct: f64,
}

/// References to the pages of an address space.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct References {
    pub rate: f64,
    pub pattern: Pattern,
    pub hot_pct: f64,
    pub hot_references_pct: f64,
    pub skew: f64,
    pub phase_s: Option<f64>,
    pub run_pages: f64,
    pub changed_pct: f64,
}

/// Which pages are referenced how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Pattern {
    /// All the same.
    #[serde(rename = "uniform")]
    Uniform,
    /// Some more than others.
    #[serde(rename = "hot set")]
    HotSet,
    /// In proportion to a power of their ranks.
    #[serde(rename = "Zipf")]
    Zipf,
    /// One after another.
    #[serde(rename = "sweep")]
    Sweep,
}

/// A VDISK, or a saved segment that several users share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Space {
    pub name: String,
    pub users: Vec<u32>,
    pub storage_mib: f64,
    pub reserve_mib: f64,
    pub references: References,
}

/// A CPU pool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub name: String,
    pub kind: u8,
    /// LIMITHARD in percent of the system's processors.
    pub limithard_pct: Option<f64>,
    pub capacity: Option<f64>,
}

/// A class of transactions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    pub name: String,
    pub customers: Option<u32>,
    pub rate: Option<f64>,
    pub rate_variation: f64,
    pub most: u32,
    pub think_s: f64,
    pub think_variation: f64,
    pub steps: Vec<Step>,
    pub profile: Vec<(f64, f64)>,
}

/// A step of a transaction.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// CPU time on a virtual CPU of a user.
    Cpu {
        /// The users, which customers take in turn (customer number modulo their number).
        users: Vec<u32>,
        cpu_ms: f64,
        variation: f64,
        /// A lock that is acquired before and released after.
        lock: Option<u32>,
    },
    /// I/O to a volume, in turn.
    Io {
        /// The users that start it; as in `Cpu`.
        users: Vec<u32>,
        volumes: Vec<u32>,
        count: u32,
    },
    /// Waiting for something outside.
    Delay { delay_ms: f64, variation: f64 },
}
