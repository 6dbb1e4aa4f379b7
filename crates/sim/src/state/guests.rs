//! Users, their virtual CPUs, and what these work on.

use std::collections::VecDeque;
use std::ops::Range;

use crate::costs::Services;
use crate::memory::Visit;
use crate::random::{DurationDistribution, Stream};
use crate::time::{Ratio, Ticks};

/// State of a virtual CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcpuState {
    /// Not logged on.
    Off,
    /// Nothing to do.
    Idle,
    /// In a dispatch vector.
    Ready,
    /// On a logical processor.
    Running,
    /// Its user or pool has no credit.
    Limited,
    /// Waiting for a page.
    Page,
    /// Waiting for I/O.
    Io,
    /// In the eligible list.
    Eligible,
    /// Stopped for relocation.
    Quiesced,
}

impl VcpuState {
    /// Whether a virtual CPU in this state has something to do.
    pub fn wants(self) -> bool {
        !matches!(self, Self::Off | Self::Idle | Self::Io | Self::Quiesced)
    }
}

/// Number of states of virtual CPUs.
pub const STATES: usize = 9;

/// Task of a virtual CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Nothing.
    None,
    /// Its own load.
    Load,
    /// A step of a customer's transaction.
    Customer(u32),
}

/// A virtual CPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    pub user: u32,
    pub number: u32,
    pub state: VcpuState,
    /// Logical processor that it is on, or was on last.
    pub cpu: u32,
    /// Whether it keeps that one.
    pub dedicated: bool,
    /// Deadline in the scheduler's time.
    pub deadline: Ticks,
    /// One over its part of all processors.
    pub pace: Ratio,
    /// Vector in which it is ready.
    pub vector: u32,
    /// Vector where it belongs.
    pub home: u32,
    /// Credit of its hard limits that it has taken and not used.
    pub reserved: Ticks,
    /// Ends of its last slices of credit, in the time of its user's limit and of its pool's.
    pub claims: [Ticks; 2],
    /// Whether it runs beyond its LIMITSOFT, on what all others leave.
    pub beyond: bool,
    /// CP time still to be charged to it.
    pub overhead: Ticks,
    /// CP time per virtual time, and what accrued of it.
    pub simulation: Ratio,
    /// The part of it that accrued.
    pub owed: Ticks,
    /// CP time of one simulated instruction.
    pub instruction: Ticks,
    /// What CP does for it in proportion to its virtual time.
    pub services: Services,
    /// Time until its cache is filled again.
    pub reload: Ticks,
    /// Work to the next boundary, and the length of this segment.
    pub work: Ticks,
    /// Length of the segment.
    pub segment: Ticks,
    pub task: Task,
    /// Work left of the task, to the next I/O and to the next page fault.
    pub left: [Ticks; 3],
    /// What the next page fault is, where page faults follow from references.
    pub fault: FaultState,
    /// Work of its load that has arrived.
    pub backlog: Ticks,
    /// Demand that was given up.
    pub refused: Ticks,
    /// Index of the next volume of its I/O.
    pub turn: u32,
    /// Its work besides transactions.
    pub load: LoadState,
    /// Its random numbers.
    pub stream: Stream,
    /// Since when it is in its state.
    pub since: Ticks,
    /// Times since logon.
    pub times: VcpuTimes,
    /// Counts since logon.
    pub counts: VcpuCounts,
    /// High-frequency samples by state.
    pub samples: [u64; STATES],
}

/// A load, ready for use.
#[derive(Clone, Debug)]
pub struct LoadState {
    /// Part of a processor it wants; `None` is all.
    pub demand: Option<f64>,
    /// Lengths of bursts.
    pub bursts: DurationDistribution,
    /// Most work that may wait.
    pub most: Ticks,
    /// Mean virtual time between two I/O operations; 0 without I/O.
    pub io_mean: f64,
    /// Mean virtual time between two page faults; 0 without page faults.
    pub page_mean: f64,
    /// Volumes of its I/O.
    pub volumes: Vec<u32>,
    /// Of 2^32 operations, those that the minidisk cache avoids.
    pub cached: u64,
    /// Height over time.
    pub profile: Vec<(Ticks, f64)>,
}

/// The next page fault of a virtual CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultState {
    /// Whether one comes; else it is drawn again.
    pub due: bool,
    /// The search for frames at which it was drawn.
    pub drawn: u64,
    /// The visit that the last one belongs to.
    pub visit: Visit,
    /// Locks of frames that it has had.
    pub locks: u8,
}

/// Times of a virtual CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VcpuTimes {
    /// Charged to it.
    pub total: Ticks,
    /// Its own instructions.
    pub emulation: Ticks,
    /// MT-1 equivalents of both.
    pub mt1: [Ticks; 2],
    /// Prorated core time of both.
    pub prorated: [Ticks; 2],
    /// In a dispatch vector.
    pub ready: Ticks,
    /// With something to do, on a logical processor or not.
    pub wanting: Ticks,
    /// Work done.
    pub work: Ticks,
}

/// Counts of a virtual CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VcpuCounts {
    pub dispatches: u64,
    /// I/O started.
    pub starts: u64,
    /// Pages read and written.
    pub pages: [u64; 2],
    /// Moves to another core: of the same chip, the same drawer, others.
    pub moves: [u64; 3],
    /// Times it had to wait for credit.
    pub limits: u64,
    /// Page faults.
    pub faults: u64,
    /// I/O that the minidisk cache avoided.
    pub avoided: u64,
}

impl Vcpu {
    /// The volume of its next I/O.
    pub fn volume(&self) -> u32 {
        self.load.volumes[self.turn as usize % self.load.volumes.len()]
    }

    /// The same; the one after it is then the next.
    pub fn next_volume(&mut self) -> u32 {
        let volume = self.volume();
        self.turn = self.turn.wrapping_add(1);
        volume
    }

    /// Charges CP time for the instructions that it has come to owe, stretched; their number.
    pub fn simulate(&mut self, stretch: Ratio) -> u64 {
        if self.owed < self.instruction {
            return 0;
        }
        let instructions = self.owed / self.instruction;
        let time = instructions * self.instruction;
        self.owed -= time;
        self.overhead += stretch.times(time);
        instructions
    }
}

/// A virtual machine.
#[derive(Clone, Debug)]
pub struct User {
    pub system: u32,
    /// Number among its users.
    pub number: u32,
    /// Type of its virtual CPUs.
    pub kind: u8,
    /// The pool of processors that it runs on.
    pub processors: u32,
    /// First virtual CPU, and their number.
    pub first: u32,
    /// Number of virtual CPUs.
    pub count: u32,
    /// Those that are idle.
    pub idle: u128,
    /// The virtual CPU that comes after the last one that got work, where these take turns.
    pub turn: u32,
    /// Customers whose step waits for a virtual CPU.
    pub queue: VecDeque<u32>,
    /// Longest turn of a customer.
    pub quantum: Ticks,
    /// Speed of one of two threads.
    pub paired_speed: Ratio,
    /// Its limit, and whether it is hard.
    pub limit: u32,
    /// Whether the limit is LIMITHARD.
    pub hard: bool,
    /// Since when it is in the dispatch list, or `NEVER`; kept where users may have to wait.
    pub listed: Ticks,
    /// Since when it is in the eligible list, or `NEVER`.
    pub eligible: Ticks,
    /// Its use beyond LIMITSOFT over its part, in the time of all that run beyond theirs.
    pub excess: Ticks,
    /// Its pool in the scenario, and the limit of that.
    pub member: Option<u32>,
    /// Limit of its pool.
    pub pool: u32,
    /// Progress of earlier logons.
    pub earlier: Ticks,
    pub logged_on: bool,
    /// The user of another system that it was relocated to, or `NO_INDEX`.
    pub moved_to: u32,
    /// Whether it is in a transaction, as CP sees it: it had work, and its end is not recorded yet.
    pub active: bool,
    /// Time of its logon.
    pub logon: Ticks,
    /// Share as it is set.
    pub share: crate::scenario::Share,
}

impl User {
    /// Its virtual CPUs.
    pub fn vcpus(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}
