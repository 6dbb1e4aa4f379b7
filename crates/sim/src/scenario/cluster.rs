//! Relocations, and the link of a cluster.

use serde::Deserialize;

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
