//! Physical cores, and partitions' shares of them with their logical cores.

use crate::heap::Heap;
use crate::scenario::PartitionShare;
use crate::time::{Ratio, Ticks};

/// Polarity of a logical core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Polarity {
    /// Horizontal, or dedicated.
    #[default]
    Horizontal,
    /// Vertical low.
    Low,
    /// Vertical medium.
    Medium,
    /// Vertical high.
    High,
}

impl Polarity {
    /// The polarity of a core at a position in a share of a vertical partition.
    pub const fn at_position(share: &PartitionShare, at: u32) -> Self {
        if share.dedicated {
            Self::Horizontal
        } else if at < share.highs {
            Self::High
        } else if at < share.highs + share.mediums {
            Self::Medium
        } else {
            Self::Low
        }
    }
}

/// A physical core.
#[derive(Clone, Debug)]
pub struct Physical {
    /// Type.
    pub kind: u8,
    /// Number among the cores of its type.
    pub number: u32,
    /// Logical core on it.
    pub logical: u32,
    /// Logical core for which it is home.
    pub home_of: u32,
    /// Time that PR/SM used for itself.
    pub management: Ticks,
}

/// A logical core of a partition.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// Partition share (partition and type).
    pub share: u32,
    pub system: u32,
    /// Its logical processors are of this pool.
    pub pool: u32,
    /// Number among the system's cores.
    pub number: u32,
    pub polarity: Polarity,
    pub online: bool,
    pub parked: bool,
    /// Physical core it is on.
    pub physical: u32,
    /// Physical core it was on, or its home.
    pub home: u32,
    /// Whether `home` is its alone.
    pub dedicated: bool,
    /// Its first logical processor.
    pub first: u32,
    /// Its logical processors in use.
    pub threads: u32,
    /// The most that are ever in use.
    pub most: u32,
    /// Those with a virtual CPU.
    pub running: u32,
    /// Dispatch vector.
    pub vector: u32,
    /// Its claim among the cores of its share: time used, and what it did not want.
    pub claim: Ticks,
    /// Credit of its share's caps that it has taken and not used.
    pub reserved: Ticks,
    /// Since when the times below are up to date.
    pub since: Ticks,
    /// Time on a physical core, with overhead.
    pub dispatched: Ticks,
    /// Part of that which PR/SM took for the partition.
    pub overhead: Ticks,
    /// Part of that which PR/SM took for itself.
    pub management: Ticks,
    /// Time of one running thread, and of two, on a physical core.
    pub one: Ticks,
    /// Time of two running threads.
    pub two: Ticks,
    /// Work done, at the speed of a thread alone.
    pub work: Ticks,
    /// Part of it done while two threads ran.
    pub paired_work: Ticks,
    /// Dispatches by PR/SM.
    pub dispatches: u64,
}

/// Cores of a partition of one type.
#[derive(Clone, Debug)]
pub struct Share {
    pub partition: u32,
    /// Type.
    pub kind: u8,
    /// Its claim: time used over entitlement.
    pub claim: Ticks,
    /// One over its entitlement in cores.
    pub pace: Ratio,
    /// The largest claim of a core that was dispatched.
    pub turn: Ticks,
    /// Its logical cores.
    pub cores: Vec<u32>,
    /// Those that are ready and not dispatched.
    pub waiting: Heap,
    /// Those that are on physical cores.
    pub dispatched: u32,
    /// Its cap and that of its group.
    pub limits: [u32; 2],
    /// Whether its cap is in force.
    pub capped: bool,
}
