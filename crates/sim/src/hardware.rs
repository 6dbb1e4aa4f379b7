//! Hardware counters of a machine, sizes and costs of its caches: plain data from the catalog.

use serde::Deserialize;

/// The counters of a machine generation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Counter first version number.
    pub cfvn: u16,
    /// Counter second version number.
    pub csvn: u16,
    /// Its counter sets, in the order of their numbers.
    pub sets: Vec<CounterSet>,
    /// The counters that are simulated; all others of the sets stay 0.
    pub counters: Vec<Counter>,
}

/// Counters with consecutive numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterSet {
    pub name: String,
    /// Number of its first counter.
    pub first: u32,
    /// Number of counters, including reserved ones.
    pub count: u32,
}

/// A counter.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    pub number: u32,
    pub role: Role,
}

/// Role of a counter. Counters with the same role share equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Cycles in which the thread ran.
    Cycles,
    /// Instructions completed.
    Instructions,
    /// Cycles in problem state.
    ProblemCycles,
    /// Instructions in problem state.
    ProblemInstructions,
    /// Lines written to an L1 cache.
    Misses(Side),
    /// Cycles lost to its misses, added up over those that are outstanding at once.
    Penalty(Side),
    /// Lines by side and source.
    Sourced(Side, Source),
    /// Cycles with a miss outstanding.
    Outstanding,
    /// Entries written to the TLB.
    Translations(Side),
    /// Cycles of these translations.
    TranslationCycles(Side),
    /// Page-table entries written to the TLB.
    PageEntries,
    /// Cryptographic functions.
    CryptoFunctions,
    /// Cycles of them.
    CryptoCycles,
    /// Functions that waited for the coprocessor, which the threads of a core share.
    CryptoBlockedFunctions,
    /// Cycles that they waited.
    CryptoBlockedCycles,
    /// Cycles of the core with one thread.
    OneThread,
    /// Cycles of the core with two.
    TwoThreads,
}

/// An L1 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// For data.
    Data,
    /// For instructions.
    Instruction,
    Both,
}

/// Source of a cache line. Lines changed by a core come by intervention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The next cache of the core.
    Core,
    /// The chip's cache.
    Chip,
    /// A core of the chip, by intervention.
    ChipChanged,
    /// Other caches of the drawer.
    Drawer,
    /// Another chip of the drawer, by intervention.
    DrawerChanged,
    /// Caches of another drawer.
    Machine,
    /// Another drawer, by intervention.
    MachineChanged,
    /// Memory of the chip.
    ChipMemory,
    /// Other memory of the drawer.
    DrawerMemory,
    /// Memory of another drawer.
    MachineMemory,
}

/// Number of sources.
pub const SOURCES: usize = 10;

/// Sizes of caches in MiB, instructions and data together.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caches {
    /// L1 of a core.
    pub l1_mib: f64,
    /// L2 of a core.
    pub core_mib: f64,
    /// L3 of a chip, virtual or not.
    pub chip_mib: f64,
    /// L4 of a drawer, virtual or not.
    pub drawer_mib: f64,
}

/// Costs of memory references.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Cycles per L1 miss, as far as they cannot be used otherwise, by where the line comes from: the core,
    /// its chip, its drawer, another drawer, memory.
    pub miss_cycles: [f64; 5],
    pub kept_pct: f64,
    pub misses_at_once: f64,
    pub instruction_misses_pct: f64,
    pub tlb_reach_mib: f64,
    pub tlb_misses_pct: f64,
    pub tlb_cycles: f64,
    pub crypto_cycles: f64,
    pub pipeline_pct: f64,
}
