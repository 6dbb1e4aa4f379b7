//! CP of a system: its dispatcher, scheduler, costs and settings.

use serde::Deserialize;

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
