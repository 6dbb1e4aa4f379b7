//! Commands of an operator.

use serde::Deserialize;

use super::cp::UnparkingModel;
use super::guests::Share;

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
