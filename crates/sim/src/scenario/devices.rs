//! Volumes, virtual switches and PCI functions.

use serde::Deserialize;

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
