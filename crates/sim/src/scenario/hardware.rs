//! The machine and its partitions.

use serde::Deserialize;

/// The machine and its hypervisor (PR/SM).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub machine_type: String,
    pub model: String,
    /// Serial number, 16 characters.
    pub serial: String,
    pub name: String,
    /// Clock rate in cycles per microsecond.
    pub megahertz: u32,
    /// Names of processor types; their indices are the types.
    pub types: Vec<String>,
    /// Their codes in monitor records.
    pub type_codes: Vec<u8>,
    /// Physical cores by type, in the order of their numbers.
    pub cores: Vec<Cores>,
    pub cores_per_chip: u32,
    pub chips_per_drawer: u32,
    /// Cost of running on another core than before, by distance: the same chip, the same drawer, another one.
    pub move_us: [f64; 3],
    /// Longest and shortest run time of a logical core on a physical one, and that of vertical-high ones.
    pub run_time_ms: RunTime,
    pub dispatch_overhead_us: f64,
    pub dispatch_management_us: f64,
    pub dispatch_search_us: f64,
    pub high_preempts: bool,
    pub caps: bool,
    pub cap_burst_ms: f64,
    pub lag_ms: f64,
    pub cpi_time: bool,
    /// Hardware counters, if they are simulated.
    pub counters: Option<HardwareCounters>,
    pub capability: u32,
    pub channels: Channels,
    /// Power, if it is recorded.
    pub power: Option<Power>,
}

/// Power of the machine: idle and dynamic parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    pub core_idle_w: f64,
    pub core_busy_w: f64,
    pub storage_w: f64,
    pub channel_w: f64,
    pub unassigned_w: f64,
    pub infrastructure_w: f64,
    pub reading_s: f64,
}

/// Capacity of a channel path, and the costs of its work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    pub bus_cycles: u32,
    pub work_units: u32,
    pub data_units: u32,
    pub unit_bytes: u32,
    pub cycles_per_unit: u32,
}

/// The hardware counters of the machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareCounters {
    /// The counters of its generation.
    pub table: crate::hardware::Table,
    /// Its caches.
    pub caches: crate::hardware::Caches,
    pub costs: crate::hardware::Costs,
}

/// Physical cores of one type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    pub kind: u8,
    /// Their number.
    pub count: u32,
}

/// Run times of logical cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTime {
    /// The longest, when physical cores abound.
    pub longest: f64,
    /// The shortest.
    pub shortest: f64,
    /// That of vertical-high cores.
    pub high: f64,
}

/// A partition.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    pub name: String,
    pub number: u8,
    pub shares: Vec<PartitionShare>,
    /// Whether its cores are vertically polarized.
    pub vertical: bool,
}

/// Cores of a partition of one type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionShare {
    /// The type.
    pub kind: u8,
    /// Logical cores online, in the order vertical-high, medium, low.
    pub cores: u32,
    /// Vertical-high cores.
    pub highs: u32,
    /// Vertical-medium cores.
    pub mediums: u32,
    /// Processing weight; 0 if dedicated.
    pub weight: u32,
    /// Entitlement in cores.
    pub entitlement: f64,
    pub dedicated: bool,
    pub capped: bool,
    /// Absolute cap in cores.
    pub cap: Option<f64>,
    /// Its group.
    pub group: Option<u32>,
}

impl PartitionShare {
    /// The cores that it gets at most, whatever others leave.
    pub fn most(&self) -> Option<f64> {
        match (self.capped, self.cap) {
            (true, Some(cap)) => Some(cap.min(self.entitlement)),
            (true, None) => Some(self.entitlement),
            (false, cap) => cap,
        }
    }
}

/// Partitions with a common cap.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionGroup {
    pub name: String,
    pub kind: u8,
    /// Absolute cap in cores.
    pub cap: f64,
}
