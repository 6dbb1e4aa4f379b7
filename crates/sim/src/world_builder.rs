//! Building the world of a scenario.

mod allocator;
mod guests;
mod machine;
mod transactions;

use crate::costs::costs;
use crate::custom_policy::SystemPolicy;
use crate::event_queue::EventQueue;
use crate::heap::{ABSENT, Heap};
use crate::io::Io;
use crate::memory::Memory;
use crate::random::Stream;
use crate::relocation::Relocations;
use crate::scenario::Scenario;
use crate::state::{Counting, EventSource, NO_INDEX, SpinLock, Vectors, WorkLock};
use crate::storage_servers::StorageServers;
use crate::time::{Ratio, seconds};
use crate::validate::{ScenarioError, require, validate};
use crate::world::{SlotBases, World, cp_timings, machine_timings, places};
use allocator::{Allocator, MAX_OBJECTS};
use guests::Guests;
use machine::Machine;
use transactions::transactions;

impl World {
    /// The world of a scenario at the beginning of its warm-up.
    ///
    /// # Errors
    /// If the scenario contradicts itself.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        validate(&scenario)?;
        let begin = scenario.start_tod;
        let now = begin.saturating_sub(seconds(scenario.warmup_s));
        let mut allocator = Allocator {
            now,
            subjects: Vec::new(),
            limits: Vec::new(),
        };
        let mut slots = SlotBases::default();

        let mut machine = Machine::new(&scenario, &mut allocator)?;
        // The slot of a logical processor has its number.
        allocator.slots(machine.cpus.len(), EventSource::Cpu);
        slots.physical = allocator.slots(machine.physical.len(), EventSource::Physical);

        let guests = Guests::new(&scenario, &mut machine, &mut allocator)?;
        let count = guests.vcpus.len();
        let holds = count <= MAX_OBJECTS;
        require(holds, "virtual CPUs", count, "at most a million")?;
        slots.bursts = allocator.slots(guests.vcpus.len(), EventSource::Burst);

        let (mut classes, customers) = transactions(&scenario, now)?;
        slots.customers = allocator.slots(customers.len(), EventSource::Customer);
        let first = allocator.slots(classes.len(), EventSource::Arrival);
        for (class, slot) in classes.iter_mut().zip(first..) {
            class.slot = slot;
        }
        let first = allocator.slots(allocator.limits.len(), EventSource::Limit);
        for (limit, slot) in allocator.limits.iter_mut().zip(first..) {
            limit.slot = slot;
        }

        let systems = scenario.systems.len();
        slots.samples = allocator.slots(systems, EventSource::Sample);
        slots.unparks = allocator.slots(systems, EventSource::Unpark);
        slots.eligible = allocator.slots(systems, EventSource::Eligible);
        slots.reshuffles = allocator.slots(systems, EventSource::Reshuffle);
        slots.commands = allocator.slots(systems, EventSource::Command);
        let mut io = Vec::new();
        let mut io_slots = Vec::new();
        for (system, index) in scenario.systems.iter().zip(0..) {
            let devices = Io::new(
                &system.cp,
                &system.control_units,
                &system.volumes,
                scenario.seed,
                &system.name,
            );
            io_slots.push(allocator.slots(devices.slots(), |_| EventSource::Io(index)));
            io.push(devices);
        }
        let mut relocations = Vec::new();
        let mut relocation_slots = Vec::new();
        for (system, index) in scenario.systems.iter().zip(0..) {
            let count = system.relocations.len();
            relocation_slots.push(allocator.slots(count, |_| EventSource::Relocation(index)));
            let link = system.link.as_ref();
            relocations.push(Relocations::new(&system.relocations, link));
        }

        // Last, so that the order of other events does not depend on it.
        slots.searches = allocator.slots(systems, EventSource::Search);
        let memory = scenario
            .systems
            .iter()
            .map(|system| system.faults.then(|| Memory::new(system, scenario.seed)))
            .collect();

        let mut world = Self {
            memory,
            virtual_before: vec![0; guests.users.len()],
            handling: NO_INDEX,
            relocations,
            relocation_slots,
            relocation_reads: scenario
                .systems
                .iter()
                .map(|system| vec![0; system.relocations.len()])
                .collect(),
            now,
            begin,
            handled: 0,
            events: EventQueue::new(machine.cpus.len(), allocator.subjects.len()),
            slots,
            machine_timings: machine_timings(&scenario),
            capability: scenario.machine.capability,
            speed: Ratio::ONE,
            cp: scenario.systems.iter().map(|s| cp_timings(&s.cp)).collect(),
            costs: costs(&scenario),
            contending: vec![Heap::default(); scenario.machine.types.len()],
            share_positions: vec![ABSENT; machine.shares.len()],
            core_positions: vec![ABSENT; machine.cores.len()],
            held_until: vec![0; machine.cores.len()],
            running_until: vec![0; machine.cpus.len()],
            since_vary: vec![Default::default(); machine.cpus.len()],
            vectors: Vectors::new(machine.vectors as usize, guests.vcpus.len()),
            scheduler_locks: vec![SpinLock::default(); scenario.systems.len()],
            lock_streams: scenario
                .systems
                .iter()
                .map(|system| Stream::new(scenario.seed, &format!("{}/locks", system.name)))
                .collect(),
            work_locks: scenario
                .systems
                .iter()
                .map(|system| vec![WorkLock::default(); system.locks.len()])
                .collect(),
            next_command: vec![0; scenario.systems.len()],
            happened: Vec::new(),
            parking: Vec::new(),
            eligible: Vec::new(),
            policies: vec![SystemPolicy::default(); scenario.systems.len()],
            counting: Counting::default(),
            subjects: allocator.subjects,
            limits: allocator.limits,
            places: places(&scenario, machine.physical.len().max(machine.cores.len())),
            physical: machine.physical,
            physical_first: machine.physical_first,
            search: vec![0; scenario.machine.types.len()],
            free: machine.free,
            shares: machine.shares,
            cores: machine.cores,
            cpus: machine.cpus,
            pools: machine.pools,
            pool_of: machine.pool_of,
            cores_of: machine.cores_of,
            vcpus: guests.vcpus,
            users: guests.users,
            users_of: guests.users_of,
            reserved: guests.reserved,
            pool_limits: guests.pool_limits,
            classes,
            customers,
            io,
            storage_servers: StorageServers::new(&scenario),
            io_slots,
            scenario,
        };
        world.counting = Counting::new(&world);
        world.set_search();
        world.start();
        Ok(world)
    }

    /// Schedules the first events.
    fn start(&mut self) {
        self.start_eligible();
        for system in 0..self.scenario.systems.len() {
            self.set_shares(system);
            let slot = system as u32;
            // High-frequency samples come between those of the intervals.
            let first = self.now + self.machine_timings.high_frequency
                - self.machine_timings.high_frequency / 8;
            self.schedule(self.slots.samples + slot, first);
            if self.cp[system].reshuffle > 0 {
                let first = self.now + self.cp[system].reshuffle;
                self.schedule(self.slots.reshuffles + slot, first);
            }
            self.schedule_command(system);
            if let Some(memory) = &self.memory[system] {
                let first = self.now + memory.interval;
                self.schedule(self.slots.searches + slot, first);
            }
            for (at, relocation) in self.scenario.systems[system].relocations.iter().enumerate() {
                let first = self.begin + seconds(relocation.at_s);
                self.events
                    .set(self.relocation_slots[system] + at as u32, first);
            }
            for user in self.users_of[system].clone() {
                let number = self.users[user].number as usize;
                if self.scenario.systems[system].users[number].logged_on {
                    self.logon(user);
                }
            }
        }
        self.start_parking();
        for number in 0..self.classes.len() {
            let class = &mut self.classes[number];
            if class.open {
                let first = class.between.sample(&mut class.stream);
                let slot = class.slot;
                self.schedule(slot, self.now + first);
                continue;
            }
            let (first, count, between) = (class.first, class.count, class.between);
            for customer in first..first + count {
                let think = between.sample(&mut self.customers[customer as usize].stream);
                self.schedule(self.slots.customers + customer, self.now + think);
            }
        }
        self.happened.clear();
    }
}
