//! What is simulated: plain data, checked and completed before it gets here, with every default filled in.
//!
//! Times are in the unit that a name ends with; shares and percentages are numbers from 0 to 100 of what
//! their text says. References between tables are indices.

use serde::Deserialize;

/// A whole simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Begin of the simulation in TOD clock units, and of what is recorded.
    pub start_tod: u64,
    /// Seconds simulated before the first sample.
    pub warmup_s: f64,
    /// Seconds recorded.
    pub seconds: f64,
    /// Monitor sample interval.
    pub interval_s: f64,
    /// Interval of high-frequency samples.
    pub high_frequency_s: f64,
    /// Local time is this many seconds ahead of UTC.
    pub zone_s: i64,
    /// The machine.
    pub machine: Machine,
    /// Its partitions.
    pub partitions: Vec<Partition>,
    /// Groups of partitions with a common cap.
    pub partition_groups: Vec<PartitionGroup>,
    /// z/VM systems in partitions.
    pub systems: Vec<System>,
    /// Whether conservation laws are checked while it runs.
    pub checked: bool,
}

/// The machine and its hypervisor (PR/SM).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Machine type, as in 8561.
    pub machine_type: String,
    /// Model.
    pub model: String,
    /// Serial number, 16 characters.
    pub serial: String,
    /// Name of the machine (CPC).
    pub name: String,
    /// Clock rate in cycles per microsecond.
    pub megahertz: u32,
    /// Names of processor types, the index of which is a type: CP, IFL, ...
    pub types: Vec<String>,
    /// Their codes in monitor records.
    pub type_codes: Vec<u8>,
    /// Physical cores by type, in the order of their numbers.
    pub cores: Vec<Cores>,
    /// Cores on a chip, and chips in a drawer.
    pub cores_per_chip: u32,
    /// Chips in a drawer.
    pub chips_per_drawer: u32,
    /// Cost of running on another core than before, by distance: the same chip, the same drawer, another one.
    pub move_us: [f64; 3],
    /// Longest and shortest run time of a logical core on a physical one, and that of vertical-high ones.
    pub run_time_ms: RunTime,
    /// Time that PR/SM takes for the partition whenever it dispatches a logical core.
    pub dispatch_overhead_us: f64,
    /// Time that PR/SM takes for itself whenever it dispatches a logical core.
    pub dispatch_management_us: f64,
    /// Whether a ready vertical-high core takes its own physical core from one that is not entitled to it.
    pub high_preempts: bool,
    /// Whether caps are enforced.
    pub caps: bool,
    /// Largest credit of a capped partition or group, in milliseconds of one core.
    pub cap_burst_ms: f64,
    /// How far in the past the claim of a partition that was idle may lie.
    pub lag_ms: f64,
    /// Hardware counters, if they are simulated.
    pub counters: Option<HardwareCounters>,
    /// CPU capability (STSI); 0 is not reported.
    pub capability: u32,
    /// What its channel paths can do.
    pub channels: Channels,
}

/// What a channel path can do, and what its work costs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Bus cycles per second.
    pub bus_cycles: u32,
    /// Work units (operations) per second.
    pub work_units: u32,
    /// Units of data per second, each way.
    pub data_units: u32,
    /// Bytes of a unit of data.
    pub unit_bytes: u32,
    /// Bus cycles of a unit of data.
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
    /// What memory references cost.
    pub costs: crate::hardware::Costs,
}

/// Physical cores of one type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// Their type.
    pub kind: u8,
    /// How many.
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
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u8,
    /// Its cores by type.
    pub shares: Vec<PartitionShare>,
    /// Whether its cores are vertically polarized.
    pub vertical: bool,
}

/// What a partition has of one type.
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
    /// Whether its cores are dedicated.
    pub dedicated: bool,
    /// Initial capping.
    pub capped: bool,
    /// Absolute cap in cores.
    pub cap: Option<f64>,
    /// Its group.
    pub group: Option<u32>,
}

/// Partitions with a common cap.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionGroup {
    /// Its name.
    pub name: String,
    /// The type.
    pub kind: u8,
    /// Absolute cap in cores.
    pub cap: f64,
}

/// A z/VM system, or a partition that only uses CPU time (then it records nothing).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Name of the system.
    pub name: String,
    /// Its partition.
    pub partition: u32,
    /// Whether monitor records are written for it.
    pub recorded: bool,
    /// Its release, as its records say.
    pub release: String,
    /// Whether the ends of its users' transactions are recorded.
    pub transaction_ends: bool,
    /// When it was IPLed, in TOD clock units.
    pub ipl_tod: u64,
    /// Threads per core by type.
    pub threads: Vec<u32>,
    /// Storage in MiB.
    pub storage_mib: f64,
    /// CP.
    pub cp: Cp,
    /// Virtual machines.
    pub users: Vec<User>,
    /// CPU pools.
    pub pools: Vec<Pool>,
    /// Serialized parts of work, by name; one virtual CPU at a time.
    pub locks: Vec<String>,
    /// Classes of transactions.
    pub transactions: Vec<Transaction>,
    /// Control units with volumes and alias pools.
    pub control_units: Vec<ControlUnit>,
    /// Volumes.
    pub volumes: Vec<Volume>,
    /// Virtual switches.
    pub switches: Vec<Switch>,
    /// PCI functions.
    pub functions: Vec<Function>,
    /// Relocations of guests to another member, in order.
    pub relocations: Vec<Relocation>,
    /// The logical link to it.
    pub link: Option<Link>,
    /// What an operator does, in order of time.
    pub commands: Vec<Command>,
}

/// CP's dispatcher and scheduler; constants that are not public are assumptions of the catalog.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cp {
    /// `deadline` carries the debt of earlier slices, `memoryless` forgets it.
    pub scheduler: Scheduler,
    /// `vectors`: a dispatch vector per core; `global`: one for all of a type.
    pub dispatch: Dispatch,
    /// Minor time slice (DSPSLICE).
    pub slice_ms: f64,
    /// The slice under multithreading.
    pub slice_smt_ms: f64,
    /// How far in the past the deadline of a virtual CPU that waited may lie.
    pub lag_ms: f64,
    /// A virtual CPU is taken from another vector, though the own one is not empty, if its deadline is this
    /// much earlier.
    pub steal_lag_ms: f64,
    /// Seconds between redistributions of virtual CPUs over vectors; 0 is never.
    pub reshuffle_s: f64,
    /// Whether `reshuffle_s` redistributes by deadline (REBALANCE) or returns each to its home (RESHUFFLE).
    pub rebalance: bool,
    /// CP time per dispatch charged to the user.
    pub dispatch_user_us: f64,
    /// CP time per dispatch not charged to users.
    pub dispatch_system_us: f64,
    /// Whether a virtual CPU that becomes ready takes the processor of one whose deadline is later by a slice;
    /// never under multithreading.
    pub preempts: bool,
    /// Time the scheduler lock is held per dispatch.
    pub lock_hold_us: f64,
    /// Part of these holds that are shared, in percent.
    pub lock_shared_pct: f64,
    /// Largest run of credit of a limited user or pool.
    pub limit_burst_ms: f64,
    /// Whether limits are enforced.
    pub limits: bool,
    /// Work of two threads relative to one, where a user does not say.
    pub smt_speedup: f64,
    /// Whether virtual CPUs go to idle cores before idle threads of busy ones.
    pub idle_cores_first: bool,
    /// Unparking.
    pub unparking: Unparking,
    /// Pages of one block of paging I/O.
    pub block_pages: u32,
    /// STORBUF of class 3 in percent of storage.
    pub storbuf_pct: f64,
    /// Elapsed time slice: the longest stay in the dispatch list while others wait.
    pub eligible_slice_s: f64,
    /// How long an idle user stays in the dispatch list.
    pub test_idle_ms: f64,
    /// STORBUF of classes 1 and 2, LDUBUF and DSPBUF: settings that nothing here depends on.
    pub settings: Settings,
    /// What the instructions are that CP simulates.
    pub instructions: Instructions,
    /// Storage that CP keeps for itself, in percent.
    pub nonpageable_pct: f64,
    /// Available frames below which CP looks for more, and up to which, in percent of the pageable ones.
    pub available_pct: [f64; 2],
    /// Time between two searches for frames.
    pub steal_s: f64,
    /// Shares of absolute users in all are scaled to at most this, in percent.
    pub absolute_shares_at_most: f64,
}

/// Settings of the scheduler that are recorded and not simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// STORBUF of classes 1 and 2, percent.
    pub storbuf: [u32; 2],
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
    /// DIAGNOSE, of all.
    pub diagnose_pct: f64,
    /// X'44', of DIAGNOSE.
    pub diagnose_44_pct: f64,
    /// X'9C', of DIAGNOSE.
    pub diagnose_9c_pct: f64,
    /// Requests for I/O, of DIAGNOSE.
    pub diagnose_io_pct: f64,
    /// Those of X'9C' whose target is dispatched; that of the others waits.
    pub dispatched_pct: f64,
    /// SIGP, of all.
    pub sigp_pct: f64,
    /// LPSWE, of all.
    pub lpswe_pct: f64,
    /// Those of SIGP and X'44' that take the fast path.
    pub fast_pct: f64,
}

/// How deadlines go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduler {
    /// With carried debt.
    Deadline,
    /// Without.
    Memoryless,
}

/// Where virtual CPUs wait.
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
    /// SET SRM UNPARKING.
    pub model: UnparkingModel,
    /// SET SRM EXCESSUSE as the part of the excess it takes, in percent; `None` for NONE.
    pub excess_pct: Option<f64>,
    /// Whether it sees other partitions.
    pub global_performance_data: bool,
    /// CPUPAD in percent of a core.
    pub pad_pct: f64,
    /// Whether the pad can exceed the entitlement.
    pub pad_beyond_entitlement: bool,
    /// Factor of the projection of use.
    pub projection_factor: f64,
    /// Added to that, in percent of a core.
    pub projection_base_pct: f64,
    /// Least expected power of a vertical-low core that counts, in percent.
    pub low_powered_pct: f64,
    /// Whether excess power is expected to spread evenly over vertical-low cores, or to fill one after another.
    pub lows_evenly: bool,
}

/// SET SRM UNPARKING.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// User ID.
    pub name: String,
    /// Account number.
    pub account: String,
    /// Type of its virtual CPUs.
    pub kind: u8,
    /// Virtual CPUs.
    pub virtual_cpus: u32,
    /// Those that are dedicated to a logical processor.
    pub dedicated: u32,
    /// Its share.
    pub share: Share,
    /// Its maximum share.
    pub maximum: Option<Share>,
    /// Whether the maximum is LIMITHARD, or LIMITSOFT.
    pub hard: bool,
    /// QUICKDSP.
    pub quick_dispatch: bool,
    /// Its CPU pool.
    pub pool: Option<u32>,
    /// Storage in MiB.
    pub storage_mib: f64,
    /// Part of it in use, in MiB.
    pub working_set_mib: f64,
    /// Logged on from the beginning, or by a command.
    pub logged_on: bool,
    /// What each virtual CPU does besides transactions; one entry for all, or one for each.
    pub loads: Vec<Load>,
    /// Transactions run on its virtual CPUs in the order of arrival; with a quantum they take turns.
    pub quantum_ms: Option<f64>,
    /// Work of two threads relative to one.
    pub smt_speedup: f64,
    /// Character of its memory references.
    pub memory: Memory,
    /// Whether it is a Linux system that hands data about itself to CP.
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

/// What a virtual CPU does by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Demand in percent of a processor; `None` is all it can get, 0 is none.
    pub demand_pct: Option<f64>,
    /// Mean of a burst.
    pub burst_ms: f64,
    /// Squared coefficient of variation of bursts.
    pub variation: f64,
    /// Demand that may wait, in seconds of work; more is given up.
    pub backlog_s: f64,
    /// Height of the demand over time: pairs of second (from the first sample) and factor, linear between.
    pub profile: Vec<(f64, f64)>,
    /// I/O per second of virtual CPU time, to `volumes` in turn.
    pub io_rate: f64,
    /// Volumes of its I/O.
    pub volumes: Vec<u32>,
    /// Page faults per second of virtual CPU time.
    pub page_rate: f64,
    /// DIAGNOSE instructions and other instructions simulated by CP, per second of virtual CPU time.
    pub simulation_rate: f64,
    /// CP time of one of them.
    pub simulation_us: f64,
    /// Part of its I/O that the minidisk cache avoids, in percent.
    pub cached_pct: f64,
}

/// The character of memory references, for the counters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Instructions per cycle without misses.
    pub instructions_per_cycle: f64,
    /// Footprint of the workload in MiB.
    pub footprint_mib: f64,
    /// Part of the footprint that other virtual CPUs write, in percent.
    pub shared_pct: f64,
    /// L1 misses per 100 instructions.
    pub l1_misses: f64,
    /// Cryptographic functions per second of CPU time.
    pub crypto_rate: f64,
    /// Part of its virtual time in problem state, in percent.
    pub problem_pct: f64,
}

/// A CPU pool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Type it limits.
    pub kind: u8,
    /// LIMITHARD in percent of the system's processors.
    pub limithard_pct: Option<f64>,
    /// CAPACITY in processors.
    pub capacity: Option<f64>,
}

/// A class of transactions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// Customers of a closed class, each with one transaction at a time.
    pub customers: Option<u32>,
    /// Arrivals per second of an open class.
    pub rate: Option<f64>,
    /// Squared coefficient of variation of the times between arrivals.
    pub rate_variation: f64,
    /// Open: transactions in the system at most; more are refused and counted.
    pub most: u32,
    /// Closed: mean time between a transaction and the next one.
    pub think_s: f64,
    /// Its squared coefficient of variation.
    pub think_variation: f64,
    /// What a transaction does, in order.
    pub steps: Vec<Step>,
    /// Height of the load over time, as in `Load`: factor of the rate, or divisor of the think time.
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
        /// Mean CPU time on a processor by itself.
        cpu_us: f64,
        /// Squared coefficient of variation.
        variation: f64,
        /// A lock that is acquired before and released after.
        lock: Option<u32>,
    },
    /// I/O to a volume, in turn.
    Io {
        /// The user who starts it; as in `Cpu`.
        users: Vec<u32>,
        /// The volumes.
        volumes: Vec<u32>,
        /// Mean number of operations, one after another.
        count: u32,
    },
    /// Waiting for something outside.
    Delay {
        /// Mean.
        delay_us: f64,
        /// Squared coefficient of variation.
        variation: f64,
    },
}

/// A control unit (LCU) with the aliases of its volumes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlUnit {
    /// Subsystem ID.
    pub ssid: u32,
    /// HyperPAV aliases.
    pub aliases: u32,
    /// Shares of minidisk and paging I/O (SET CU); `None`: first come, first served.
    pub shares: Option<[u32; 2]>,
    /// Channel paths.
    pub chpids: Vec<u8>,
    /// Part of their work that is of other partitions, in percent.
    pub others_pct: f64,
}

/// A volume.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Volume serial.
    pub name: String,
    /// Device number.
    pub device: u32,
    /// Control unit.
    pub control_unit: u32,
    /// Whether it is a paging volume.
    pub paging: bool,
    /// Slots of a paging volume.
    pub slots: u64,
    /// Mean pending time of an operation.
    pub pending_us: f64,
    /// Mean connect time.
    pub connect_us: f64,
    /// Mean disconnect time of an operation that misses the cache.
    pub miss_us: f64,
    /// Read hits of the cache, in percent.
    pub read_hit_pct: f64,
    /// Reads, in percent.
    pub read_pct: f64,
    /// Squared coefficient of variation of times.
    pub variation: f64,
    /// Transport mode (zHPF), whose connect time is this part of command mode's, in percent.
    pub transport_pct: Option<f64>,
    /// Data of an operation that is not paging, in KiB.
    pub operation_kib: f64,
    /// Slots of its spool area, and the part in use, in percent.
    pub spool_slots: u64,
    /// Part of the spool area in use, in percent.
    pub spool_used_pct: f64,
    /// Cylinders, if its seeks are recorded.
    pub seek_cylinders: Option<u32>,
    /// Links of virtual machines to it.
    pub links: u32,
    /// When it is offline, in seconds from the first sample; nothing may use it then.
    pub offline_s: Vec<(f64, f64)>,
}

/// A virtual switch with an uplink.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its owner and name, 8 characters each.
    pub name: String,
    /// Whether the members of the cluster share it.
    pub global: bool,
    /// The virtual machine that controls the uplink.
    pub controller: String,
    /// Device number of the uplink.
    pub device: u32,
    /// Bytes of a packet.
    pub packet_bytes: f64,
    /// Packets of a million received that are discarded for want of buffers.
    pub discarded_ppm: f64,
    /// Virtual machines coupled to it.
    pub ports: Vec<Port>,
}

/// A virtual machine on a switch. Rates are MiB per second of its virtual CPU time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// The user.
    pub user: u32,
    /// Virtual device number.
    pub device: u32,
    /// What leaves by the uplink.
    pub out_mib: f64,
    /// What comes in by it.
    pub in_mib: f64,
    /// What goes to the next port.
    pub next_mib: f64,
}

/// A PCI function of a user. Rates are per second of its virtual CPU time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its ID.
    pub id: u32,
    /// Its type.
    pub kind: u8,
    /// Format of its measurement block: 0 DMA, 1 packets, 2 work units, 3 bytes sent.
    pub form: u8,
    /// The user.
    pub user: u32,
    /// When it is attached, if that is recorded, in seconds from the first sample.
    pub attached_s: Option<f64>,
    /// Load operations.
    pub loads: f64,
    /// Store operations.
    pub stores: f64,
    /// Refreshes of translations.
    pub refreshes: f64,
    /// MiB received, or read by DMA.
    pub in_mib: f64,
    /// MiB sent, or written by DMA.
    pub out_mib: f64,
    /// Bytes of a packet.
    pub packet_bytes: f64,
}

/// A relocation of a guest to another member.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    /// The guest.
    pub user: u32,
    /// Destination member.
    pub to: String,
    /// Second of the command, from the first sample.
    pub at_s: f64,
    /// IMMEDIATE.
    pub immediate: bool,
    /// MAXQUIESCE in seconds; `None` is NOLIMIT.
    pub maxquiesce_s: Option<f64>,
    /// MAXTOTAL in seconds; `None` is NOLIMIT.
    pub maxtotal_s: Option<f64>,
    /// Storage that was ever touched, in MiB.
    pub touched_mib: f64,
    /// Kinds of storage that the guest writes to: MiB, and MiB written per second of virtual CPU time.
    pub writes: Vec<[f64; 2]>,
    /// Seconds before the first pass.
    pub setup_s: f64,
    /// Seconds of the quiesce that are not for pages.
    pub fixed_quiesce_s: f64,
    /// Least passes while the guest runs.
    pub live_passes: u32,
    /// Most passes in all.
    pub passes_most: u32,
    /// Passes in the quiesce.
    pub quiesce_passes: u32,
    /// The guest is stopped when no more than this is left, in MiB.
    pub stop_below_mib: f64,
    /// The guest is stopped when a pass leaves this part of what it sent.
    pub no_progress: f64,
}

/// The ISFC logical link that relocations share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Throughput in MiB/s.
    pub rate_mib: f64,
    /// Most that one relocation sends, in MiB/s.
    pub most_per_guest_mib: Option<f64>,
    /// Relocations at the same time; the others wait (SYNC is 1).
    pub at_once: u32,
    /// CP time to send one MiB, in microseconds.
    pub cpu_us_per_mib: f64,
    /// Page faults per second of the system beyond which sending is throttled; `None` is never.
    pub throttle_at: Option<f64>,
    /// Part of the rate that is left then.
    pub throttle_to: f64,
    /// The SSI cluster of the members.
    pub cluster: String,
    /// Device numbers of its CTCs.
    pub devices: Vec<u32>,
}

/// What an operator does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Second, from the first sample.
    pub at_s: f64,
    /// What.
    pub action: Action,
}

/// A command.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// A user logs on.
    Logon {
        /// The user.
        user: u32,
    },
    /// A user logs off.
    Logoff {
        /// The user.
        user: u32,
    },
    /// A logical core is varied online.
    VaryOn {
        /// Its number among the system's cores.
        core: u32,
    },
    /// A logical core is varied offline.
    VaryOff {
        /// Its number among the system's cores.
        core: u32,
    },
    /// Puts a user without a CPU pool into one.
    Join {
        /// The user.
        user: u32,
        /// The pool.
        pool: u32,
    },
    /// The limit of a CPU pool, of its kind, is changed.
    Limit {
        /// The pool.
        pool: u32,
        /// In percent of the system's processors (LIMITHARD), or in processors (CAPACITY).
        limit: f64,
    },
    /// SET SHARE.
    Share {
        /// The user.
        user: u32,
        /// The new share.
        share: Share,
    },
    /// SET MULTITHREAD for a type.
    Threads {
        /// The type.
        kind: u8,
        /// Threads per core.
        threads: u32,
    },
}
