//! Logical processors, how their time was spent, and the pools that they form by type.

use crate::index_set::IndexSet;
use crate::time::{Ratio, Ticks};
use crate::tournament::{NO_KEY, Tournament};

/// State of a logical processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// Varied offline, or a thread that is not used.
    Offline,
    Parked,
    /// In enabled wait.
    Idle,
    /// Running a virtual CPU, or about to when PR/SM dispatches it.
    Running,
}

/// A logical processor: a thread of a logical core.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// Logical core.
    pub core: u32,
    pub state: CpuState,
    /// Virtual CPU on it.
    pub vcpu: u32,
    /// Since when times are up to date.
    pub since: Ticks,
    /// CP time still to be spent that is not charged to users.
    pub overhead: Ticks,
    /// The part of it that spins on a lock.
    pub spinning: Ticks,
    /// Rest of the time slice.
    pub slice: Ticks,
    /// Speed of its work.
    pub speed: Ratio,
    /// Time of what CP does on it, relative to that alone on the machine.
    pub stretch: Ratio,
    /// Whether both threads of its core run.
    pub paired: bool,
    /// Work since the virtual CPU was dispatched, not yet counted.
    pub pending: PendingSegment,
    /// Times since the beginning.
    pub times: CpuTimes,
    /// Counts since the beginning.
    pub counts: CpuCounts,
}

/// Work of one virtual CPU on a logical processor, not yet counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct PendingSegment {
    /// Time that it ran.
    pub ticks: Ticks,
    /// Work that was done.
    pub work: Ticks,
    /// Time in which guests' instructions ran.
    pub emulation: Ticks,
    /// Time in which both threads ran.
    pub both: Ticks,
    /// The distance of a move, plus one; 0 if it did not move.
    pub moved: u8,
    /// Time in CP, and the part of it in which lines were fetched that other cores had changed.
    pub cp: Ticks,
    pub fetching: Ticks,
    /// The part of the time in CP in which it spun on a lock.
    pub spinning: Ticks,
    /// These lines, by distance.
    pub changed: [f64; 3],
}

/// How the time of a logical processor was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// CP time not charged to users; includes `spin`.
    pub system: Ticks,
    /// Time charged to users; includes `emulation`.
    pub user: Ticks,
    /// Time in which guests' instructions ran.
    pub emulation: Ticks,
    /// In enabled wait.
    pub wait: Ticks,
    /// Ready, but not dispatched by PR/SM.
    pub suspend: Ticks,
    pub parked: Ticks,
    pub offline: Ticks,
    /// Spinning on locks, part of `system`.
    pub spin: Ticks,
}

impl CpuTimes {
    /// All of it: the time since the beginning.
    pub const fn total(&self) -> Ticks {
        self.system + self.user + self.wait + self.suspend + self.parked + self.offline
    }
}

impl std::ops::Sub for CpuTimes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            system: self.system - earlier.system,
            user: self.user - earlier.user,
            emulation: self.emulation - earlier.emulation,
            wait: self.wait - earlier.wait,
            suspend: self.suspend - earlier.suspend,
            parked: self.parked - earlier.parked,
            offline: self.offline - earlier.offline,
            spin: self.spin - earlier.spin,
        }
    }
}

/// Counters of a logical processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounts {
    /// Dispatches of virtual CPUs.
    pub dispatches: u64,
    /// Of those, taken from other vectors: of the same chip, the same drawer, others.
    pub steals: [u64; 3],
    /// Ends of time slices.
    pub slices: u64,
    /// I/O started.
    pub starts: u64,
    /// I/O interrupts.
    pub interrupts: u64,
    /// Pages read and written for users.
    pub pages: [u64; 2],
    /// Instructions simulated by CP.
    pub simulated: u64,
    /// Acquisitions of the scheduler lock that had to spin.
    pub spins: u64,
    /// High-frequency samples, and those with an empty vector.
    pub samples: [u64; 2],
    /// Sum of the lengths of its vector at these samples.
    pub queued: u64,
}

impl std::ops::Sub for CpuCounts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            dispatches: self.dispatches - earlier.dispatches,
            steals: difference(self.steals, earlier.steals),
            slices: self.slices - earlier.slices,
            starts: self.starts - earlier.starts,
            interrupts: self.interrupts - earlier.interrupts,
            pages: difference(self.pages, earlier.pages),
            simulated: self.simulated - earlier.simulated,
            spins: self.spins - earlier.spins,
            samples: difference(self.samples, earlier.samples),
            queued: self.queued - earlier.queued,
        }
    }
}

fn difference<const N: usize>(now: [u64; N], earlier: [u64; N]) -> [u64; N] {
    std::array::from_fn(|at| now[at] - earlier[at])
}

/// Processors of one type in one system.
#[derive(Clone, Debug)]
pub struct Pool {
    pub system: u32,
    /// Type.
    pub kind: u8,
    /// Logical processors without work, by number from `first`.
    pub idle: IndexSet,
    /// Cores all of whose threads are without work.
    pub idle_cores: IndexSet,
    pub cores: Vec<u32>,
    /// First logical processor.
    pub first: u32,
    /// End of the logical processors, exclusive.
    pub end: u32,
    /// Logical processors in use and unparked.
    pub online: u32,
    /// Time lost to overhead and to other partitions, all processors together.
    pub stolen: Ticks,
    /// The time of those that run beyond LIMITSOFT.
    pub excess: Ticks,
    /// Its vectors, first and number.
    pub vectors: (u32, u32),
    /// The first deadline in each of its vectors.
    pub ready: Tournament,
}

impl Pool {
    /// The vector with the first deadline of all, if any is not empty.
    pub fn first_vector(&self) -> Option<u32> {
        let any = self.ready.least() != NO_KEY;
        any.then(|| self.vectors.0 + self.ready.winner() as u32)
    }
}
