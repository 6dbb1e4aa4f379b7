//! The world: everything that is simulated, the loop over its events, and what the mechanisms share.

use std::ops::Range;

use crate::custom_policy::SystemPolicy;
use crate::event_queue::{EventQueue, Schedule};
use crate::heap::{ABSENT, Heap};
use crate::index_set::IndexSet;
use crate::scenario::Scenario;
use crate::state::{
    Class, Core, Cpu, CpuState, Customer, EventSource, Limit, NO_INDEX, Physical, Pool, Share,
    SpinLock, User, Vcpu, Vectors, WorkLock,
};
use crate::time::{NEVER, Ratio, Ticks, micros, seconds};

/// First slots of the subjects that have fixed numbers of them.
#[derive(Clone, Debug, Default)]
pub struct SlotBases {
    /// Physical cores.
    pub physical: u32,
    /// Bursts of virtual CPUs.
    pub bursts: u32,
    pub customers: u32,
    /// High-frequency samples, by system.
    pub samples: u32,
    /// Decisions on parking, by system.
    pub unparks: u32,
    /// Eligible lists, by system.
    pub eligible: u32,
    /// Reshuffles, by system.
    pub reshuffles: u32,
    /// Commands, by system.
    pub commands: u32,
    /// Searches for frames, by system.
    pub searches: u32,
}

/// Timings of a machine, in ticks.
#[derive(Clone, Debug)]
pub struct MachineTimings {
    /// Monitor interval.
    pub interval: Ticks,
    /// High-frequency samples.
    pub high_frequency: Ticks,
    /// Cost of moves by distance.
    pub moves: [Ticks; 3],
    /// Run time of logical cores by type.
    pub run_time: Vec<Ticks>,
    /// That of vertical-high ones.
    pub high_run_time: Ticks,
    /// PR/SM's overhead per dispatch.
    pub overhead: Ticks,
    /// PR/SM's own time per dispatch.
    pub management: Ticks,
    /// The same for each core that has no physical core of its own, to dispatch one of them.
    pub search: Ticks,
    /// Lag of partitions.
    pub lag: Ticks,
}

/// Timings of a system's CP, in ticks.
#[derive(Clone, Debug)]
pub struct CpTimings {
    /// Slice with one thread per core, and with two.
    pub slice: [Ticks; 2],
    /// Lag of deadlines.
    pub lag: Ticks,
    /// Lag at which another vector is preferred.
    pub steal_lag: Ticks,
    /// Per dispatch, charged to the user.
    pub dispatch_user: Ticks,
    /// Per dispatch, not charged to users.
    pub dispatch_system: Ticks,
    /// Hold of the scheduler lock.
    pub lock_hold: Ticks,
    /// Of 2^32 holds, the shared ones.
    pub lock_shared: u64,
    /// Between reshuffles.
    pub reshuffle: Ticks,
}

/// The complete simulation state.
#[derive(Clone, Debug)]
pub struct World {
    pub scenario: Scenario,
    /// The present.
    pub now: Ticks,
    /// The first sample.
    pub begin: Ticks,
    /// Events handled.
    pub handled: u64,
    /// Pending events.
    pub events: EventQueue,
    /// Whose slot a slot is.
    pub subjects: Vec<EventSource>,
    /// Places of subjects among the slots.
    pub slots: SlotBases,
    /// Timings of the machine.
    pub machine_timings: MachineTimings,
    /// Timings of each system's CP.
    pub cp: Vec<CpTimings>,
    /// CPU capability now, and the speed of processors that it means: less capability is a larger number.
    pub capability: u32,
    pub speed: Ratio,
    /// What each system's CP does for users costs.
    pub costs: Vec<crate::costs::CpCosts>,
    /// Physical cores, and the first one of each type.
    pub physical: Vec<Physical>,
    /// First physical core of each type.
    pub physical_first: Vec<u32>,
    /// Chip and drawer of each number of a core.
    pub places: Vec<[u32; 2]>,
    /// Free ones by type.
    pub free: Vec<IndexSet>,
    /// PR/SM's own time to dispatch a core without a physical core of its own, by type.
    pub search: Vec<Ticks>,
    /// Partition shares.
    pub shares: Vec<Share>,
    /// Shares with ready cores by type, by claim.
    pub contending: Vec<Heap>,
    /// Their positions.
    pub share_positions: Vec<u32>,
    /// Logical cores.
    pub cores: Vec<Core>,
    /// Their positions among those that wait.
    pub core_positions: Vec<u32>,
    /// Times and counts of each processor when it was varied on last: its counters begin there.
    pub since_vary: Vec<(crate::state::CpuTimes, crate::state::CpuCounts)>,
    /// Until when PR/SM delays each core.
    pub held_until: Vec<Ticks>,
    /// Logical processors.
    pub cpus: Vec<Cpu>,
    /// Deadline of what runs on each, as a sort key; 0 if nothing does. One beyond its LIMITSOFT is latest.
    pub running_until: Vec<Ticks>,
    /// Virtual CPU to which each is dedicated.
    pub reserved: Vec<u32>,
    /// Processors by system and type.
    pub pools: Vec<Pool>,
    /// Index of them by system and type.
    pub pool_of: Vec<Vec<u32>>,
    /// Dispatch vectors.
    pub vectors: Vectors,
    /// Virtual CPUs.
    pub vcpus: Vec<Vcpu>,
    pub users: Vec<User>,
    /// Users of each system.
    pub users_of: Vec<Range<usize>>,
    /// Cores of each system.
    pub cores_of: Vec<Range<usize>>,
    pub limits: Vec<Limit>,
    /// Limits of CPU pools by system and pool.
    pub pool_limits: Vec<Vec<u32>>,
    /// Scheduler locks by system.
    pub scheduler_locks: Vec<SpinLock>,
    /// Random numbers of locks by system.
    pub lock_streams: Vec<crate::random::Stream>,
    /// Serialized parts by system and number.
    pub work_locks: Vec<Vec<WorkLock>>,
    /// Classes of transactions, of all systems.
    pub classes: Vec<Class>,
    /// Customers of all classes.
    pub customers: Vec<Customer>,
    /// Next command by system.
    pub next_command: Vec<usize>,
    /// Volumes and aliases by system.
    pub io: Vec<crate::io::Io>,
    /// What they share.
    pub storage_servers: crate::storage_servers::StorageServers,
    /// Frames of systems whose page faults follow from references.
    pub memory: Vec<Option<crate::memory::Memory>>,
    /// Progress of each user at the last search for frames.
    pub virtual_before: Vec<Ticks>,
    /// First slot of each.
    pub io_slots: Vec<u32>,
    /// The logical processor whose event is being handled.
    pub handling: u32,
    /// Relocations by system.
    pub relocations: Vec<crate::relocation::Relocations>,
    /// First slot of each.
    pub relocation_slots: Vec<u32>,
    /// Blocks that each relocation of a system waits for.
    pub relocation_reads: Vec<Vec<u32>>,
    /// Parking by system.
    pub parking: Vec<Option<crate::state::Parking>>,
    /// Eligible lists of systems whose users do not all fit at the same time.
    pub eligible: Vec<Option<crate::state::Eligible>>,
    /// Policies of the user by system.
    pub policies: Vec<SystemPolicy>,
    /// Hardware counters.
    pub counting: crate::state::Counting,
    /// Events to record; drained by the recorder.
    pub happened: Vec<RecordedEvent>,
}

/// An event that event records report.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// Time of the event.
    pub at: Ticks,
    pub system: u32,
    /// Kind of the event.
    pub what: EventKind,
}

/// CPU time and counts of a virtual CPU since its user's logon.
pub type VcpuUsage = (crate::state::VcpuTimes, crate::state::VcpuCounts);

/// Kinds of recorded events.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A user logged on.
    Logon(u32),
    /// A user logged off; what its virtual CPUs used until then.
    Logoff(u32, Vec<VcpuUsage>),
    /// A user had nothing to do for as long as CP waits for more; what its virtual CPUs used until then.
    TransactionEnd(u32, Vec<VcpuUsage>),
    /// A core came online.
    VaryOn(u32),
    /// A core went offline.
    VaryOff(u32),
    /// A share was changed.
    Share(u32),
    /// Multithreading was changed: threads per core, by type of the machine.
    Threads(Vec<u32>),
    /// A user joined a CPU pool.
    Joined(u32, u32),
    /// The limit of a CPU pool was changed.
    Limited(u32),
    /// The arm of a volume whose seeks are recorded moved.
    Seek {
        /// For whom.
        user: u32,
        /// The volume.
        volume: u32,
        /// The cylinder it was at.
        from: u32,
        /// The cylinder sought.
        to: u32,
    },
    /// The scheduler was set: SET SRM.
    Settings,
    /// The CPU capability of the machine has changed.
    Capability,
    /// A relocation began: its number in the scenario.
    RelocationBegan(u32),
    /// A relocation ended.
    RelocationEnded(u32, Box<crate::relocation::State>),
    /// A system decided on parking: by type.
    Parking(Vec<(u8, crate::unpark_policy::Decision)>),
}

impl World {
    /// Sets the event of a slot.
    pub fn schedule(&mut self, slot: u32, at: Ticks) {
        self.events.set(slot, at);
    }

    /// Runs to a moment; events at that moment are not handled yet.
    pub fn run(&mut self, until: Ticks) {
        while let Some((at, slot)) = self.events.first() {
            if at >= until {
                break;
            }
            self.now = at;
            self.handled += 1;
            match self.subjects[slot as usize] {
                EventSource::Cpu(cpu) => {
                    self.handling = cpu;
                    self.cpu_due(cpu as usize);
                    self.handling = NO_INDEX;
                }
                subject => {
                    self.due(subject, slot);
                    // What comes again has set its event again, and never at the same moment.
                    if self.events.at(slot) == at {
                        self.events.set(slot, NEVER);
                    }
                }
            }
        }
        self.now = until;
    }

    fn due(&mut self, subject: EventSource, slot: u32) {
        match subject {
            EventSource::Cpu(_) => {}
            EventSource::Io(system) => self.io_due(system as usize, slot),
            EventSource::Relocation(system) => self.relocation_due(system as usize, slot),
            EventSource::Physical(physical) => self.run_time_over(physical as usize),
            EventSource::Limit(limit) => self.on_credit(limit as usize),
            EventSource::Burst(vcpu) => self.burst(vcpu as usize),
            EventSource::Customer(customer) => self.customer_due(customer as usize),
            EventSource::Arrival(class) => self.arrival(class as usize),
            EventSource::Sample(system) => self.sample(system as usize),
            EventSource::Unpark(system) => self.unpark(system as usize),
            EventSource::Eligible(system) => self.review_lists(system as usize),
            EventSource::Reshuffle(system) => self.reshuffle(system as usize),
            EventSource::Command(system) => self.command(system as usize),
            EventSource::Search(system) => self.search_frames(system as usize),
        }
    }

    /// An exposure of a system's volumes has ended its operation.
    fn io_due(&mut self, system: usize, slot: u32) {
        let base = self.io_slots[system];
        let mut schedule = Schedule::new(&mut self.events, base);
        let servers = &mut self.storage_servers;
        let exposure = (slot - base) as usize;
        let token = self.io[system].fire(self.now, exposure, servers, &mut schedule);
        self.io_done(system, token);
    }

    /// Brings all times up to date.
    pub fn settle_all(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.update_accounting(cpu);
        }
        for cpu in 0..self.cpus.len() {
            self.count_piece(cpu);
            self.resides(cpu);
        }
        for core in 0..self.cores.len() {
            self.settle_core(core);
        }
        self.count_cores();
        for vcpu in 0..self.vcpus.len() {
            self.settle_state(vcpu);
        }
        for user in 0..self.users.len() {
            self.tell_transaction_end(user);
        }
        for class in 0..self.classes.len() {
            self.classes[class].settle(self.now);
        }
        for io in &mut self.io {
            io.settle(self.now);
        }
    }

    /// Distance of two cores: 0 the same chip, 1 the same drawer, 2 another one.
    // Inlined, it would slow down dispatches without a move, which are most.
    #[inline(never)]
    pub fn distance(&self, one: usize, other: usize) -> usize {
        let place = |core: usize| {
            let home = self.cores[core].home;
            if home == NO_INDEX {
                self.cores[core].number
            } else {
                self.physical[home as usize].number
            }
        };
        let [one, other] = [one, other].map(|core| self.places[place(core) as usize]);
        if one[0] == other[0] {
            0
        } else {
            1 + usize::from(one[1] != other[1])
        }
    }

    /// The address of a logical processor and its thread.
    pub fn address(&self, cpu: usize) -> (u64, u64) {
        let core = &self.cores[self.cpus[cpu].core as usize];
        let thread = cpu as u64 - u64::from(core.first);
        // With multithreading, the addresses of a core with one thread are those of two, too.
        let smt = self.scenario.systems[core.system as usize].multithreading;
        let width = 1 + u64::from(smt);
        (u64::from(core.number) * width + thread, thread)
    }

    /// High-frequency samples of a system.
    fn sample(&mut self, system: usize) {
        for user in &self.users[self.users_of[system].clone()] {
            if user.logged_on {
                for vcpu in &mut self.vcpus[user.vcpus()] {
                    vcpu.samples[vcpu.state as usize] += 1;
                }
            }
        }
        for core in &self.cores[self.cores_of[system].clone()] {
            let queued = self.vectors.heaps[core.vector as usize].len() as u64;
            for cpu in core.first..core.first + core.threads {
                let cpu = &mut self.cpus[cpu as usize];
                if cpu.state != CpuState::Offline {
                    cpu.counts.samples[0] += 1;
                    cpu.counts.samples[1] += u64::from(queued == 0);
                    cpu.counts.queued += queued;
                }
            }
        }
        self.io[system].sample();
        self.charge_cluster(system);
        let at = self.now + self.machine_timings.high_frequency;
        self.schedule(self.slots.samples + system as u32, at);
    }

    /// Laws that hold at any moment when all times are up to date.
    ///
    /// # Errors
    /// Checks the invariants; the error names the violated one.
    pub fn check(&self, elapsed: Ticks) -> Result<(), String> {
        for (number, cpu) in self.cpus.iter().enumerate() {
            if cpu.times.total() != elapsed {
                return Err(format!(
                    "processor {number}: {} ticks are accounted for, {elapsed} passed",
                    cpu.times.total()
                ));
            }
            if cpu.times.emulation > cpu.times.user || cpu.times.spin > cpu.times.system {
                return Err(format!("processor {number}: a part exceeds its total"));
            }
        }
        let mut on = vec![NO_INDEX; self.vcpus.len()];
        for (number, cpu) in self.cpus.iter().enumerate() {
            if cpu.vcpu == NO_INDEX {
                continue;
            }
            if on[cpu.vcpu as usize] != NO_INDEX {
                return Err(format!(
                    "virtual CPU {} is on two processors, {} and {number}",
                    cpu.vcpu, on[cpu.vcpu as usize]
                ));
            }
            on[cpu.vcpu as usize] = number as u32;
        }
        for (number, vcpu) in self.vcpus.iter().enumerate() {
            let running = vcpu.state == crate::state::VcpuState::Running;
            if running != (on[number] != NO_INDEX) {
                return Err(format!(
                    "virtual CPU {number} is {:?}, but on processor {}",
                    vcpu.state, on[number]
                ));
            }
            let ready = vcpu.state == crate::state::VcpuState::Ready;
            if ready != (self.vectors.positions[number] != ABSENT) {
                return Err(format!(
                    "virtual CPU {number} is {:?}, but its place in a vector says otherwise",
                    vcpu.state
                ));
            }
        }
        for pool in &self.pools {
            let charged: Ticks = self
                .vcpus
                .iter()
                .filter(|vcpu| {
                    let user = &self.users[vcpu.user as usize];
                    (user.system, user.kind) == (pool.system, pool.kind)
                })
                .map(|vcpu| vcpu.times.total)
                .sum();
            let users: Ticks = pool
                .cores
                .iter()
                .flat_map(|core| {
                    let core = &self.cores[*core as usize];
                    &self.cpus[core.first as usize..(core.first + core.most) as usize]
                })
                .map(|cpu| cpu.times.user)
                .sum();
            if charged > users {
                return Err(format!(
                    "system {} type {}: users were charged {charged} of {users} ticks",
                    pool.system, pool.kind
                ));
            }
        }
        for io in &self.io {
            io.check()?;
        }
        for memory in self.memory.iter().flatten() {
            memory.check()?;
        }
        for physical in &self.physical {
            if physical.logical != NO_INDEX {
                let core = &self.cores[physical.logical as usize];
                if core.physical == NO_INDEX {
                    return Err(format!("physical core {} lost its core", physical.number));
                }
            }
        }
        Ok(())
    }
}

/// Chip and drawer of each of this many cores.
pub(crate) fn places(scenario: &Scenario, cores: usize) -> Vec<[u32; 2]> {
    let machine = &scenario.machine;
    (0..cores as u32)
        .map(|core| core / machine.cores_per_chip.max(1))
        .map(|chip| [chip, chip / machine.chips_per_drawer.max(1)])
        .collect()
}

/// Converts the times of a scenario's machine to ticks.
pub(crate) fn machine_timings(scenario: &Scenario) -> MachineTimings {
    let machine = &scenario.machine;
    let run = &machine.run_time_ms;
    let run_time = (0..machine.types.len())
        .map(|kind| {
            let physical: u32 = machine
                .cores
                .iter()
                .filter(|cores| usize::from(cores.kind) == kind)
                .map(|cores| cores.count)
                .sum();
            let logical: u32 = scenario
                .partitions
                .iter()
                .flat_map(|partition| &partition.shares)
                .filter(|share| usize::from(share.kind) == kind && !share.dedicated)
                .map(|share| share.cores)
                .sum();
            let ms = run.longest * f64::from(physical) / f64::from(logical.max(1));
            micros(1_000.0 * ms.clamp(run.shortest, run.longest.max(run.shortest)))
        })
        .collect();
    MachineTimings {
        interval: seconds(scenario.interval_s).max(1),
        high_frequency: seconds(scenario.high_frequency_s).max(1),
        moves: machine.move_us.map(micros),
        run_time,
        high_run_time: micros(1_000.0 * run.high).max(1),
        overhead: micros(machine.dispatch_overhead_us),
        management: micros(machine.dispatch_management_us),
        search: micros(machine.dispatch_search_us),
        lag: micros(1_000.0 * machine.lag_ms),
    }
}

/// Converts the times of a system's CP to ticks.
pub(crate) fn cp_timings(cp: &crate::scenario::Cp) -> CpTimings {
    CpTimings {
        slice: [cp.slice_ms, cp.slice_smt_ms].map(|ms| micros(1_000.0 * ms).max(1)),
        lag: micros(1_000.0 * cp.lag_ms),
        steal_lag: micros(1_000.0 * cp.steal_lag_ms),
        dispatch_user: micros(cp.dispatch_user_us),
        dispatch_system: micros(cp.dispatch_system_us),
        lock_hold: micros(cp.lock_hold_us),
        lock_shared: (cp.lock_shared_pct / 100.0 * 4_294_967_296.0) as u64,
        reshuffle: seconds(cp.reshuffle_s),
    }
}

/// The speed of one of two threads of a core whose work together is `speedup_pct` percent of that of one.
pub(crate) fn paired_speed(speedup_pct: f64) -> Ratio {
    Ratio::from_f64((speedup_pct / 100.0).clamp(0.02, 2.0) / 2.0)
}
