//! The state of everything that is simulated, in arrays.

mod cores;
mod guests;
mod processors;
mod transactions;
mod vectors;
mod waits;

use crate::counters::Counters;
use crate::misses::Pace;
use crate::profile::Profile;
use crate::run_segment::Sharers;
use crate::time::Ticks;
use crate::unpark_policy::{PeerPartition, Unparker};

pub use cores::{Core, Physical, Polarity, Share};
pub use guests::{
    FaultState, LoadState, STATES, Task, User, Vcpu, VcpuCounts, VcpuState, VcpuTimes,
};
pub use processors::{Cpu, CpuCounts, CpuState, CpuTimes, PendingSegment, Pool};
pub(crate) use transactions::height;
pub use transactions::{Class, Customer};
pub use vectors::Vectors;
pub use waits::{Eligible, Limit, SpinLock, WorkLock};

/// No index.
pub const NO_INDEX: u32 = u32::MAX;

/// Owner of a slot of the event queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// The segment or the work of a logical processor ends.
    Cpu(u32),
    /// The run time of the logical core on a physical core ends.
    Physical(u32),
    /// The credit of a limited user, pool or partition is back.
    Limit(u32),
    /// A burst of demand of a virtual CPU arrives.
    Burst(u32),
    /// A customer has thought, or waited outside.
    Customer(u32),
    /// A transaction of an open class arrives.
    Arrival(u32),
    /// Something of a system's I/O.
    Io(u32),
    /// Something of a system's relocations.
    Relocation(u32),
    /// High-frequency sample of a system.
    Sample(u32),
    /// A system decides on parking.
    Unpark(u32),
    /// Users of a system leave the dispatch list.
    Eligible(u32),
    /// A system redistributes virtual CPUs over vectors.
    Reshuffle(u32),
    /// The next command of a system.
    Command(u32),
    /// A system's search for frames.
    Search(u32),
}

/// Parking of one system.
#[derive(Clone, Debug)]
pub struct Parking {
    /// The policy.
    pub unparker: Unparker,
    /// Time that each partition share had used at the decision before.
    pub before: Vec<Ticks>,
    /// The other partitions.
    pub others: Vec<PeerPartition>,
}

/// The hardware counters of a machine, and the segment that each thread runs.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// Whether counters are simulated.
    pub active: bool,
    pub counters: Option<Counters>,
    /// By user.
    pub profiles: Vec<Profile>,
    /// Footprint of each user, in KiB, and its part of time in problem state of 2^16.
    pub footprints: Vec<(u64, u64)>,
    /// By core: other cores of the system.
    pub sharers: Vec<Sharers>,
    /// By core: its chip.
    pub chips: Vec<u32>,
    /// By chip: footprint of what runs there, in KiB.
    pub resident: Vec<u64>,
    /// By logical processor: what it adds to that.
    pub adds: Vec<u64>,
    /// By core: times of one thread and of two that are counted.
    pub counted: Vec<(Ticks, Ticks)>,
    /// The pace of work, where CPI is time.
    pub paces: Option<Paces>,
}

/// The pace of work, and what it depends on.
#[derive(Clone, Debug, Default)]
pub struct Paces {
    /// By logical processor.
    pub of: Vec<Pace>,
    /// Lines that came to the cache of each physical core, chip and drawer.
    pub came: [Vec<f64>; 3],
    /// By virtual CPU, what it has in each of these.
    pub remains: [Vec<Remains>; 3],
}

/// What a virtual CPU had in a cache when it last ran there, in MiB, and the lines that had come to the cache by then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remains {
    pub held: f64,
    pub came: f64,
}
