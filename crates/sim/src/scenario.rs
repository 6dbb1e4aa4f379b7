//! The scenario as `zlens.simulation.lowering` passes it: checked and complete.
//!
//! A field without a comment is a key of a scenario, described by `system.toml` or
//! `simulation.toml` in `zlens/facts/keys`. It is named after the key and its unit, with references between tables as indices.
//! `tests/simulation/test_keys.py` compares these structures with the keys.

use serde::Deserialize;

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

/// CP's dispatcher and scheduler; constants that are not public are assumptions of the catalog.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cp {
    pub scheduler: Scheduler,
    pub dispatch: Dispatch,
    pub slice_ms: f64,
    pub slice_smt_ms: f64,
    pub lag_ms: f64,
    pub steal_lag_ms: f64,
    pub reshuffle_s: f64,
    /// Whether `reshuffle_s` redistributes by deadline (REBALANCE) or returns each to its home (RESHUFFLE).
    pub rebalance: bool,
    pub dispatch_user_us: f64,
    pub dispatch_system_us: f64,
    pub preempts: bool,
    pub lock_hold_us: f64,
    pub lock_shared_pct: f64,
    pub limit_burst_ms: f64,
    pub limits: bool,
    pub smt_speedup_pct: f64,
    pub idle_cores_first: bool,
    pub unparking: Unparking,
    pub block_pages: u32,
    pub paging_alias: bool,
    pub paging_hpf: bool,
    pub storbuf_pct: f64,
    pub storbuf_2_pct: u32,
    pub storbuf_1_pct: u32,
    pub eligible_slice_s: f64,
    pub test_idle_ms: f64,
    pub settings: Settings,
    pub instructions: Instructions,
    pub nonpageable_pct: f64,
    pub available_pct: [f64; 2],
    pub steal_s: f64,
    pub selection: Selection,
    pub reorder_s: f64,
    pub early_writes_pct: f64,
    pub reserve_limit_mib: Option<f64>,
    pub page_table_kib: f64,
    /// Storage of a zone, which has a lock of its own; `None` is one lock for all.
    pub zone_mib: Option<f64>,
    pub frame_lock_us: f64,
    pub frame_return_us: f64,
    pub queued_returns: bool,
    pub fault_us: f64,
    pub below_2g_pct: f64,
    pub needle_us: f64,
    pub transport_cached: bool,
    pub costs: Costs,
    pub absolute_shares_at_most: f64,
}

/// CP time of what CP does for users, besides dispatches; none of it in a scenario without these costs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// An I/O operation in command mode, and each of its records.
    pub io_us: f64,
    pub io_record_us: f64,
    /// The same in transport mode.
    pub transport_us: f64,
    pub transport_record_us: f64,
    pub page_us: f64,
    /// Of the cipher in use.
    pub encrypt_us: f64,
    pub decrypt_us: f64,
    pub signal_us: f64,
    pub message_us: f64,
    /// A packet of a layer-2 and of a layer-3 virtual switch.
    pub packet_us: [f64; 2],
    pub nic_us: f64,
    pub list_lines: f64,
    pub lines: f64,
    pub locked_pct: f64,
    /// A cache line that another core changed, by distance: the same chip, the same drawer, another one.
    pub line_us: [f64; 3],
}

/// Settings of the scheduler that are recorded and not simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// LDUBUF, percent.
    pub ldubuf: [u32; 3],
    /// DSPBUF.
    pub dspbuf: [u32; 3],
    /// Intensity and duration of IABIAS.
    pub iabias: [u32; 2],
}

/// Parts of the instructions that CP simulates, in percent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    pub diagnose_pct: f64,
    pub diagnose_44_pct: f64,
    pub diagnose_9c_pct: f64,
    pub diagnose_io_pct: f64,
    pub dispatched_pct: f64,
    pub sigp_pct: f64,
    pub lpswe_pct: f64,
    pub fast_pct: f64,
}

/// Deadlines after a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduler {
    /// With carried debt.
    Deadline,
    /// Without.
    Memoryless,
}

/// Queues of ready virtual CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dispatch {
    /// In a vector per core.
    Vectors,
    /// In one list per type.
    Global,
}

/// Unparking of one system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unparking {
    /// Whether cores are parked at all.
    pub active: bool,
    pub model: UnparkingModel,
    /// SET SRM EXCESSUSE as the part of the excess it takes, in percent; `None` for NONE.
    pub excess_pct: Option<f64>,
    pub global_performance_data: bool,
    pub pad_pct: f64,
    /// Whether the pad can exceed the entitlement.
    pub pad_beyond_entitlement: bool,
    pub projection_factor: f64,
    pub projection_base_pct: f64,
    pub low_powered_pct: f64,
    /// Whether excess power is expected to spread evenly over vertical-low cores, or to fill one after another.
    pub lows_evenly: bool,
}

/// SET SRM UNPARKING.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum UnparkingModel {
    /// All that are powered.
    Large,
    /// High and medium ones, and low ones that are needed.
    Medium,
    /// Only what is needed.
    Small,
}

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

/// How CP chooses the frames that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Selection {
    /// What was not referenced longest.
    #[serde(rename = "aging list")]
    Aging,
    /// Any page that was not referenced since the last reorder.
    #[serde(rename = "demand scan")]
    Scan,
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

/// A control unit (LCU) with the aliases of its volumes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlUnit {
    pub ssid: u32,
    pub aliases: u32,
    /// Shares of minidisk and paging I/O (SET CU); `None`: first come, first served.
    pub shares: Option<[u32; 2]>,
    pub chpids: Vec<u8>,
    pub others_pct: f64,
    pub cache_mib: Option<f64>,
    pub ranks: Option<u32>,
    /// Its storage server; those of several systems can be the same.
    pub server: u32,
}

/// A volume.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    pub name: String,
    pub device: u32,
    pub control_unit: u32,
    pub paging: bool,
    pub slots: u64,
    pub pending_ms: f64,
    pub connect_ms: f64,
    pub connect_page_ms: Option<f64>,
    pub miss_ms: f64,
    pub read_hit_pct: f64,
    pub read_pct: f64,
    pub variation: f64,
    pub transport_pct: Option<f64>,
    pub records: f64,
    pub operation_kib: f64,
    pub spool_slots: u64,
    pub spool_used_pct: f64,
    pub seek_cylinders: Option<u32>,
    pub links: u32,
    /// Which of the volumes that several systems share it is.
    pub shared: Option<u32>,
    pub conflicts_pct: f64,
    pub offline: Vec<(f64, f64)>,
}

/// A virtual switch with an uplink.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    pub name: String,
    pub owner: String,
    pub global: bool,
    pub layer: u8,
    pub controller: String,
    pub device: u32,
    pub packet_bytes: f64,
    pub discarded: f64,
    pub ports: Vec<Port>,
}

/// A virtual machine on a switch. Rates are MiB per second of its virtual CPU time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    pub user: u32,
    pub device: u32,
    pub nics: u32,
    pub out_mib: f64,
    pub in_mib: f64,
    pub next_mib: f64,
}

/// A PCI function of a user. Rates are per second of its virtual CPU time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    pub id: u32,
    /// Its type.
    pub kind: u8,
    pub format: FunctionFormat,
    pub user: u32,
    pub attach_s: Option<f64>,
    pub loads: f64,
    pub stores: f64,
    pub refreshes: f64,
    pub in_mib: f64,
    pub out_mib: f64,
    pub packet_bytes: f64,
}

/// Format of a PCI function's measurement block, in the order of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum FunctionFormat {
    #[serde(rename = "DMA")]
    Dma,
    #[serde(rename = "packets")]
    Packets,
    #[serde(rename = "work units")]
    WorkUnits,
    #[serde(rename = "bytes sent")]
    BytesSent,
}

/// A relocation of a guest to another member.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    pub user: u32,
    pub to: String,
    /// The system and the user that it continues as, if that system is simulated.
    pub target: Option<[u32; 2]>,
    pub at_s: f64,
    pub immediate: bool,
    /// MAXQUIESCE in seconds; `None` is NOLIMIT.
    pub maxquiesce_s: Option<f64>,
    /// MAXTOTAL in seconds; `None` is NOLIMIT.
    pub maxtotal_s: Option<f64>,
    pub touched_mib: f64,
    /// Kinds of storage that the guest writes to: MiB, and MiB written per second of virtual CPU time.
    pub writes: Vec<[f64; 2]>,
    pub setup_s: f64,
    /// Time in which CP looks for the pages of a pass, and reads those of the first that are not in frames.
    pub walk_s: f64,
    pub page_in_s: f64,
    pub fixed_quiesce_s: f64,
    pub live_passes: u32,
    pub passes_most: u32,
    pub quiesce_passes: u32,
    pub stop_below_mib: f64,
    pub no_progress_pct: Option<f64>,
}

/// The ISFC logical link that relocations share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Throughput in MiB/s.
    pub rate_mib: f64,
    pub most_per_guest_mib: Option<f64>,
    pub several_pct: f64,
    pub at_once: u32,
    /// CP time to send and to receive a MiB, with its messages.
    pub cpu_ms: f64,
    pub receive_ms: f64,
    /// CP time of the cluster's own messages, per second.
    pub cluster_us: f64,
    pub throttle_at: f64,
    pub throttle_to_pct: f64,
    pub cluster: String,
    /// The other members, besides those of relocations.
    pub members: Vec<String>,
    /// Device numbers of its CTCs.
    pub devices: Vec<u32>,
}

/// A command of an operator, and its time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub at_s: f64,
    pub action: Action,
}

/// A command, named as in a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Logon { user: u32 },
    Logoff { user: u32 },
    VaryOn { core: u32 },
    VaryOff { core: u32 },
    SetShare { user: u32, share: Share },
    SetMultithread { kind: u8, threads: u32 },
    SetPool { user: u32, pool: u32 },
    SetPoolLimit { pool: u32, limit: f64 },
    SetReserved { user: u32, reserve_mib: f64 },
    SetSrmUnparking { model: UnparkingModel },
    SetSrmExcessuse { excess_pct: Option<f64> },
    SetPagingAlias { on: bool },
    SetPagingHpf { on: bool },
    SetCu { control_unit: u32, shares: [u32; 2] },
    SetWeight { kind: u8, weights: Vec<Weight> },
    SetCap { partition: u32, kind: u8, cap: f64 },
    SetCapability { capability: u32 },
}

/// What the cores of a partition are entitled to after a change of weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// The partition.
    pub partition: u32,
    pub weight: u32,
    /// Entitlement in cores.
    pub entitlement: f64,
    /// Vertical-high cores.
    pub highs: u32,
    /// Vertical-medium cores.
    pub mediums: u32,
}
