//! The state of everything that is simulated, in arrays.

use std::collections::VecDeque;

use crate::counters::{Counters, Profile, Sharers};
use crate::heap::{ABSENT, Entry, Heap};
use crate::index_set::IndexSet;
use crate::limiter::Limiter;
use crate::random::{DurationDistribution, Stream};
use crate::time::{NEVER, Ratio, Ticks};
use crate::unpark_policy::{PeerPartition, Unparker};

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
}

/// Polarity of a logical core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Polarity {
    /// Horizontal, or dedicated.
    Horizontal,
    /// Vertical low.
    Low,
    /// Vertical medium.
    Medium,
    /// Vertical high.
    High,
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
    /// Time that a logical core was on it.
    pub busy: Ticks,
}

/// A logical core of a partition.
#[derive(Clone, Debug)]
pub struct Core {
    /// Partition share (partition and type).
    pub share: u32,
    /// System.
    pub system: u32,
    /// Number among the system's cores.
    pub number: u32,
    /// Polarity.
    pub polarity: Polarity,
    /// Whether it is online.
    pub online: bool,
    /// Whether it is parked.
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

/// State of a logical processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// Varied offline, or a thread that is not used.
    Offline,
    /// Parked.
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
    /// State.
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
}

/// Use of the time of a logical processor.
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
    /// Parked.
    pub parked: Ticks,
    /// Offline.
    pub offline: Ticks,
    /// Spinning on locks, part of `system`.
    pub spin: Ticks,
}

impl CpuTimes {
    /// All of it: the time since the beginning.
    #[must_use]
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
        let [near, drawer, far] = self.steals;
        Self {
            dispatches: self.dispatches - earlier.dispatches,
            steals: [
                near - earlier.steals[0],
                drawer - earlier.steals[1],
                far - earlier.steals[2],
            ],
            slices: self.slices - earlier.slices,
            starts: self.starts - earlier.starts,
            interrupts: self.interrupts - earlier.interrupts,
            pages: [
                self.pages[0] - earlier.pages[0],
                self.pages[1] - earlier.pages[1],
            ],
            simulated: self.simulated - earlier.simulated,
            spins: self.spins - earlier.spins,
            samples: [
                self.samples[0] - earlier.samples[0],
                self.samples[1] - earlier.samples[1],
            ],
            queued: self.queued - earlier.queued,
        }
    }
}

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
    /// Its user.
    pub user: u32,
    /// Its number.
    pub number: u32,
    /// State.
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
    /// Time until its cache is filled again.
    pub reload: Ticks,
    /// Work to the next boundary, and the length of this segment.
    pub work: Ticks,
    /// Length of the segment.
    pub segment: Ticks,
    /// Its task.
    pub task: Task,
    /// Work left of the task, to the next I/O and to the next page fault.
    pub left: [Ticks; 3],
    /// Work of its load that has arrived.
    pub backlog: Ticks,
    /// Demand that was given up.
    pub refused: Ticks,
    /// Index of the next volume of its I/O.
    pub turn: u32,
    /// Whether a stop is due at the next boundary (relocation, logoff).
    pub stopping: bool,
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
    /// Waiting for credit.
    pub limited: Ticks,
    /// Work done.
    pub work: Ticks,
}

/// Counts of a virtual CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VcpuCounts {
    /// Dispatches.
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
    pub fn next_volume(&mut self) -> u32 {
        let volume = self.load.volumes[self.turn as usize % self.load.volumes.len()];
        self.turn = self.turn.wrapping_add(1);
        volume
    }

    /// Charges CP time for the instructions that it has come to owe; their number.
    pub fn simulate(&mut self) -> u64 {
        let instructions = self.owed / self.instruction;
        let time = instructions * self.instruction;
        self.owed -= time;
        self.overhead += time;
        instructions
    }
}

/// A virtual machine.
#[derive(Clone, Debug)]
pub struct User {
    /// System.
    pub system: u32,
    /// Number among its users.
    pub number: u32,
    /// Type of its virtual CPUs.
    pub kind: u8,
    /// First virtual CPU, and their number.
    pub first: u32,
    /// Number of virtual CPUs.
    pub count: u32,
    /// Those that are idle.
    pub idle: u128,
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
    /// Virtual CPU time of earlier logons.
    pub earlier: Ticks,
    /// Whether it is logged on.
    pub logged_on: bool,
    /// Whether it is in a transaction, as CP sees it: it had work, and its end is not recorded yet.
    pub active: bool,
    /// Time of its logon.
    pub logon: Ticks,
    /// Whether it is in the dispatch list with its storage.
    pub admitted: bool,
    /// Share as it is set.
    pub share: crate::scenario::Share,
}

/// A limit with its subjects and waiters.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Credit.
    pub limiter: Limiter,
    /// Virtual CPUs that wait; partition shares have none.
    pub waiting: Vec<u32>,
    /// Partition shares that it caps.
    pub shares: Vec<u32>,
    /// Slot.
    pub slot: u32,
    /// Time for which it was in force.
    pub limited: Ticks,
    /// Since when, or `NEVER`.
    pub since: Ticks,
    /// Number of times that it took effect.
    pub times: u64,
    /// Use charged.
    pub used: Ticks,
    /// Its own time: the start of the last slice of credit.
    pub present: Ticks,
    /// Virtual CPUs that have credit of it.
    pub holders: Vec<u32>,
    /// User whose limit it is, or `NO_INDEX`.
    pub user: u32,
}

/// Cores of a partition of one type.
#[derive(Clone, Debug)]
pub struct Share {
    /// Partition.
    pub partition: u32,
    /// Type.
    pub kind: u8,
    /// Its claim: time used over entitlement.
    pub claim: Ticks,
    /// One over its entitlement in cores.
    pub pace: Ratio,
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

/// Processors of one type in one system.
#[derive(Clone, Debug)]
pub struct Pool {
    /// System.
    pub system: u32,
    /// Type.
    pub kind: u8,
    /// Logical processors without work, by number from `first`.
    pub idle: IndexSet,
    /// Cores all of whose threads are without work.
    pub idle_cores: IndexSet,
    /// Its cores.
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
    /// Vectors that are not empty, by their first deadline.
    pub ready: Heap,
}

/// Dispatch vectors: heaps of ready virtual CPUs.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// By vector.
    pub heaps: Vec<Heap>,
    /// Position of each virtual CPU in its heap.
    pub positions: Vec<u32>,
    /// Position of each vector in its pool's heap.
    pub tops: Vec<u32>,
}

impl Vectors {
    /// Empty vectors.
    #[must_use]
    pub fn new(vectors: usize, vcpus: usize) -> Self {
        Self {
            heaps: vec![Heap::default(); vectors],
            positions: vec![ABSENT; vcpus],
            tops: vec![ABSENT; vectors],
        }
    }

    /// Adds a virtual CPU.
    pub fn push(&mut self, ready: &mut Heap, vector: u32, key: u64, vcpu: u32) {
        let entry = Entry { key, number: vcpu };
        self.heaps[vector as usize].set(entry, &mut self.positions);
        self.top(ready, vector);
    }

    /// Removes a virtual CPU.
    pub fn remove(&mut self, ready: &mut Heap, vector: u32, vcpu: u32) {
        self.heaps[vector as usize].remove(vcpu, &mut self.positions);
        self.top(ready, vector);
    }

    fn top(&mut self, ready: &mut Heap, vector: u32) {
        match self.heaps[vector as usize].first() {
            Some(first) => {
                let entry = Entry {
                    key: first.key,
                    number: vector,
                };
                // Often another one than the first came or went.
                if ready.at(self.tops[vector as usize]) != Some(entry) {
                    ready.set(entry, &mut self.tops);
                }
            }
            None => ready.remove(vector, &mut self.tops),
        }
    }
}

/// A lock of the scheduler, or of guests.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinLock {
    /// End of the exclusive hold.
    pub until: Ticks,
    /// End of the last shared hold.
    pub shared_until: Ticks,
    /// Exclusive and shared collisions.
    pub collisions: [u64; 2],
    /// Exclusive and shared spin time.
    pub spin: [Ticks; 2],
}

/// A serialized part of work.
#[derive(Clone, Debug, Default)]
pub struct WorkLock {
    /// Customer that has it.
    pub owner: Option<u32>,
    /// Customers that wait.
    pub waiting: VecDeque<u32>,
}

/// A transaction in the system, or a customer between two.
#[derive(Clone, Debug)]
pub struct Customer {
    /// Class.
    pub class: u32,
    /// Number in the class.
    pub number: u32,
    /// Step, and what is left of its count.
    pub step: u32,
    /// Operations left of an I/O step.
    pub count: u32,
    /// Start of the transaction.
    pub began: Ticks,
    /// Work left of a CPU step.
    pub work: Ticks,
    /// Random numbers.
    pub stream: Stream,
    /// Index of the next volume.
    pub turn: u32,
}

/// A class of transactions.
#[derive(Clone, Debug)]
pub struct Class {
    /// System.
    pub system: u32,
    /// Number in the scenario.
    pub number: u32,
    /// First customer and their number.
    pub first: u32,
    /// Number of customers.
    pub count: u32,
    /// Customers of an open class that are not in the system.
    pub free: Vec<u32>,
    /// Times between arrivals, or of thinking.
    pub between: DurationDistribution,
    /// Random numbers of arrivals.
    pub stream: Stream,
    /// Height over time.
    pub profile: Vec<(Ticks, f64)>,
    /// Whether customers arrive from outside.
    pub open: bool,
    /// Slot of arrivals.
    pub slot: u32,
    /// Transactions that ended, and the sum of their response times.
    pub completed: u64,
    /// Sum of response times.
    pub response: u128,
    /// Transactions that were refused.
    pub refused: u64,
    /// Transactions in the system, and the integral of their number.
    pub inside: u32,
    /// Integral of their number over time.
    pub integral: u128,
    /// Up to when.
    pub since: Ticks,
}

impl Class {
    /// Brings the integral up to date.
    pub fn settle(&mut self, now: Ticks) {
        self.integral += u128::from(now - self.since) * u128::from(self.inside);
        self.since = now;
    }
}

/// The height of a profile at a moment since the first sample; 1 without a profile.
#[must_use]
pub fn height(profile: &[(Ticks, f64)], at: Ticks) -> f64 {
    let after = profile.partition_point(|(begin, _)| *begin <= at);
    match (
        after.checked_sub(1).map(|before| profile[before]),
        profile.get(after),
    ) {
        (None, None) => 1.0,
        (None, Some(first)) => first.1,
        (Some(last), None) => last.1,
        (Some((begin, low)), Some((end, high))) => {
            let part = (at - begin) as f64 / (end - begin).max(1) as f64;
            low + (high - low) * part
        }
    }
}

/// The longest a profile goes without being looked at.
#[must_use]
pub const fn at_most(span: Ticks, most: Ticks) -> Ticks {
    if span == NEVER || span > most {
        most
    } else {
        span
    }
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
    /// The counters.
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
}

/// The eligible list of a system.
#[derive(Clone, Debug)]
pub struct Eligible {
    /// Working sets that the dispatch list holds at most, in KiB.
    pub room: u64,
    /// Those that it holds.
    pub used: u64,
    /// Users that wait, longest first.
    pub waiting: VecDeque<u32>,
    /// Elapsed time slice.
    pub slice: Ticks,
    /// Time that an idle user stays in the dispatch list.
    pub test_idle: Ticks,
    /// Slot.
    pub slot: u32,
}
