//! Building the world of a scenario.

use std::collections::VecDeque;

use crate::event_queue::EventQueue;
use crate::guests::{load_state, simulation};
use crate::heap::{ABSENT, Heap};
use crate::index_set::IndexSet;
use crate::io::Io;
use crate::limiter::Limiter;
use crate::random::{DurationDistribution, Stream};
use crate::relocation::Relocations;
use crate::scenario::{Dispatch, Scenario};
use crate::state::{
    Class, Core, Counting, Cpu, CpuState, Customer, EventSource, Limit, NO_INDEX, Physical,
    Polarity, Pool, Share, SpinLock, Task, User, Vcpu, VcpuState, Vectors, WorkLock,
};
use crate::time::{NEVER, Ratio, SECOND, Ticks, micros, seconds};
use crate::validate::{ScenarioError, invalid, validate};
use crate::world::{SlotBases, World, cp_timings, machine_timings, paired_speed};

/// Most subjects of one kind: memory stays bounded.
const MAX_OBJECTS: usize = 1_000_000;

impl World {
    /// The world of a scenario at the beginning of its warm-up.
    ///
    /// # Errors
    /// If the scenario contradicts itself.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        validate(&scenario)?;
        let start = scenario.start_tod;
        let warmup = seconds(scenario.warmup_s);
        let begin = start;
        let now = start.saturating_sub(warmup);
        let mut builder = Builder {
            now,
            subjects: Vec::new(),
            limits: Vec::new(),
        };
        let kinds = scenario.machine.types.len();
        let machine_timings = machine_timings(&scenario);
        let seed = scenario.seed;
        let cap_burst = |cap: f64| micros(1_000.0 * scenario.machine.cap_burst_ms * cap.max(1.0));

        let mut physical = Vec::new();
        let mut physical_first = Vec::new();
        let mut free = Vec::new();
        for kind in 0..kinds {
            let count: u32 = scenario
                .machine
                .cores
                .iter()
                .filter(|cores| usize::from(cores.kind) == kind)
                .map(|cores| cores.count)
                .sum();
            physical_first.push(physical.len() as u32);
            let mut set = IndexSet::new(count as usize);
            for number in 0..count {
                set.insert(number as usize);
                physical.push(Physical {
                    kind: kind as u8,
                    number: physical.len() as u32,
                    logical: NO_INDEX,
                    home_of: NO_INDEX,
                    management: 0,
                    busy: 0,
                });
            }
            free.push(set);
        }

        // Partition shares, and the caps of groups.
        let groups: Vec<u32> = scenario
            .partition_groups
            .iter()
            .map(|group| builder.limit(Ratio::from_f64(group.cap), cap_burst(group.cap)))
            .collect();
        let mut shares = Vec::new();
        let mut shares_of = Vec::new();
        for (number, partition) in scenario.partitions.iter().enumerate() {
            let mut own = Vec::new();
            for spec in &partition.shares {
                own.push(shares.len() as u32);
                let most = match (spec.capped, spec.cap) {
                    (true, Some(cap)) => Some(cap.min(spec.entitlement)),
                    (true, None) => Some(spec.entitlement),
                    (false, cap) => cap,
                };
                let cap = most.map_or(NO_INDEX, |cap| {
                    builder.limit(Ratio::from_f64(cap), cap_burst(cap))
                });
                let group = spec.group.map_or(NO_INDEX, |group| groups[group as usize]);
                for limit in [cap, group] {
                    if limit != NO_INDEX {
                        builder.limits[limit as usize]
                            .shares
                            .push(shares.len() as u32);
                    }
                }
                shares.push(Share {
                    partition: number as u32,
                    kind: spec.kind,
                    claim: now,
                    pace: Ratio::from_f64(1.0 / spec.entitlement.max(1e-6)),
                    cores: Vec::new(),
                    waiting: Heap::default(),
                    dispatched: 0,
                    limits: [cap, group],
                    capped: false,
                });
            }
            shares_of.push(own);
        }

        // Logical cores, processors and vectors.
        let mut cores: Vec<Core> = Vec::new();
        let mut cpus: Vec<Cpu> = Vec::new();
        let mut pools: Vec<Pool> = Vec::new();
        let mut pool_of = Vec::new();
        let mut cores_of = vec![0];
        let mut vectors = 0;
        let mut homes: Vec<u32> = physical_first.clone();
        for (index, system) in scenario.systems.iter().enumerate() {
            let mut of_kind = vec![NO_INDEX; kinds];
            let partition = &scenario.partitions[system.partition as usize];
            for (spec, share) in partition
                .shares
                .iter()
                .zip(&shares_of[system.partition as usize])
            {
                let kind = usize::from(spec.kind);
                let most_threads = most_threads(system, spec.kind);
                let first_cpu = cpus.len() as u32;
                let first_vector = vectors;
                let mut of_pool = Vec::new();
                for number in 0..spec.cores {
                    let polarity = if !partition.vertical || spec.dedicated {
                        Polarity::Horizontal
                    } else if number < spec.highs {
                        Polarity::High
                    } else if number < spec.highs + spec.mediums {
                        Polarity::Medium
                    } else {
                        Polarity::Low
                    };
                    let at = cores.len() as u32;
                    let mut home = NO_INDEX;
                    let own = spec.dedicated || polarity == Polarity::High;
                    if own {
                        home = homes[kind];
                        homes[kind] += 1;
                        let last = physical_first
                            .get(kind + 1)
                            .copied()
                            .unwrap_or(physical.len() as u32);
                        if home >= last {
                            return Err(invalid(
                                format!(
                                    "dedicated and vertical-high cores of type {}",
                                    scenario.machine.types[kind]
                                ),
                                homes[kind] - physical_first[kind],
                                "at most the machine's cores of that type",
                            ));
                        }
                        let state = &mut physical[home as usize];
                        if spec.dedicated {
                            free[kind].remove((home - physical_first[kind]) as usize);
                            state.logical = at;
                        } else {
                            state.home_of = at;
                        }
                    }
                    let vector = if system.cp.dispatch == Dispatch::Global {
                        first_vector
                    } else {
                        first_vector + number
                    };
                    let threads = system.threads[kind].max(1);
                    cores.push(Core {
                        share: *share,
                        system: index as u32,
                        number: at - cores_of[index],
                        polarity,
                        online: true,
                        parked: false,
                        physical: if spec.dedicated { home } else { NO_INDEX },
                        home,
                        dedicated: own,
                        first: cpus.len() as u32,
                        threads,
                        most: most_threads,
                        running: 0,
                        vector,
                        reserved: 0,
                        since: now,
                        dispatched: 0,
                        overhead: 0,
                        management: 0,
                        one: 0,
                        two: 0,
                        work: 0,
                        paired_work: 0,
                        dispatches: 0,
                    });
                    of_pool.push(at);
                    shares[*share as usize].cores.push(at);
                    for thread in 0..most_threads {
                        builder.subjects.push(EventSource::Cpu(cpus.len() as u32));
                        cpus.push(Cpu {
                            core: at,
                            state: if thread < threads {
                                CpuState::Idle
                            } else {
                                CpuState::Offline
                            },
                            vcpu: NO_INDEX,
                            since: now,
                            overhead: 0,
                            spinning: 0,
                            slice: 0,
                            speed: Ratio::ONE,
                            paired: false,
                            pending: Default::default(),
                            times: Default::default(),
                            counts: Default::default(),
                        });
                    }
                }
                vectors += if system.cp.dispatch == Dispatch::Global {
                    1
                } else {
                    spec.cores
                };
                let mut idle = IndexSet::new(cpus.len() - first_cpu as usize);
                let mut idle_cores = IndexSet::new(of_pool.len());
                let mut online = 0;
                for (at, core) in of_pool.iter().enumerate() {
                    idle_cores.insert(at);
                    let core = &cores[*core as usize];
                    for cpu in core.first..core.first + core.threads {
                        idle.insert((cpu - first_cpu) as usize);
                        online += 1;
                    }
                }
                of_kind[kind] = pools.len() as u32;
                pools.push(Pool {
                    system: index as u32,
                    kind: spec.kind,
                    idle,
                    idle_cores,
                    cores: of_pool,
                    first: first_cpu,
                    end: cpus.len() as u32,
                    online,
                    stolen: 0,
                    excess: 0,
                    vectors: (first_vector, vectors - first_vector),
                    ready: Heap::default(),
                });
            }
            cores_of.push(cores.len() as u32);
            pool_of.push(of_kind);
        }
        let mut slots = SlotBases {
            physical: builder.subjects.len() as u32,
            ..SlotBases::default()
        };
        for at in 0..physical.len() {
            builder.subjects.push(EventSource::Physical(at as u32));
        }

        // Users.
        let mut users: Vec<User> = Vec::new();
        let mut users_of = vec![0];
        let mut vcpus: Vec<Vcpu> = Vec::new();
        let mut reserved = vec![NO_INDEX; cpus.len()];
        let mut pool_limits = Vec::new();
        for (index, system) in scenario.systems.iter().enumerate() {
            let burst = micros(1_000.0 * system.cp.limit_burst_ms);
            let limits: Vec<u32> = system
                .pools
                .iter()
                .map(|pool| {
                    let unlimited = pool.limithard_pct.is_none() && pool.capacity.is_none();
                    if unlimited {
                        NO_INDEX
                    } else {
                        builder.limit(Ratio::ZERO, burst)
                    }
                })
                .collect();
            for (number, spec) in system.users.iter().enumerate() {
                let pool_index = pool_of[index][usize::from(spec.kind)];
                if pool_index == NO_INDEX {
                    return Err(invalid(
                        format!("processors of user {}", spec.name),
                        &scenario.machine.types[usize::from(spec.kind)],
                        "a type of which its partition has cores",
                    ));
                }
                let pool = &mut pools[pool_index as usize];
                let limit = if spec.maximum.is_some() {
                    let limit = builder.limit(Ratio::ZERO, burst);
                    builder.limits[limit as usize].user = users.len() as u32;
                    limit
                } else {
                    NO_INDEX
                };
                let first = vcpus.len() as u32;
                for v in 0..spec.virtual_cpus {
                    let load = match spec.loads.len() {
                        0 => None,
                        1 => spec.loads.first(),
                        _ => spec.loads.get(v as usize),
                    };
                    let name = format!("{}/{}/{v}", system.name, spec.name);
                    let mut stream = Stream::new(seed, &name);
                    let load_of = load.map_or_else(nothing, load_state);
                    let mut first_of = |mean: f64| {
                        if mean > 0.0 {
                            ((stream.exponential() * mean) as Ticks).max(1)
                        } else {
                            NEVER
                        }
                    };
                    let left = [0, first_of(load_of.io_mean), first_of(load_of.page_mean)];
                    let dedicated = v < spec.dedicated;
                    let mut cpu = pool.first + (first + v) % pool.online.max(1);
                    let mut home = pool.vectors.0 + (first + v) % pool.vectors.1.max(1);
                    if dedicated {
                        // Dedicated processors are taken from the end.
                        let free = (pool.first..cpus_end(&cores, pool)).rev().find(|cpu| {
                            reserved[*cpu as usize] == NO_INDEX
                                && cpus[*cpu as usize].state == CpuState::Idle
                        });
                        let Some(free) = free else {
                            return Err(invalid(
                                format!("dedicated virtual CPUs of user {}", spec.name),
                                spec.dedicated,
                                "no more than its partition has processors",
                            ));
                        };
                        reserved[free as usize] = first + v;
                        pool.idle.remove((free - pool.first) as usize);
                        let core = cpus[free as usize].core;
                        pool.idle_cores.remove((core - pool.cores[0]) as usize);
                        pool.online -= 1;
                        cpu = free;
                        home = cores[core as usize].vector;
                    }
                    vcpus.push(Vcpu {
                        user: users.len() as u32,
                        number: v,
                        state: VcpuState::Off,
                        cpu,
                        dedicated,
                        deadline: 0,
                        pace: Ratio::ONE,
                        vector: home,
                        home,
                        reserved: 0,
                        claims: [0; 2],
                        beyond: false,
                        overhead: 0,
                        simulation: load.map_or(Ratio::ZERO, simulation),
                        owed: 0,
                        instruction: load
                            .map_or(1, |load| micros(load.simulation_cost_us))
                            .max(1),
                        reload: 0,
                        work: 0,
                        segment: 0,
                        task: Task::None,
                        left,
                        backlog: 0,
                        refused: 0,
                        turn: v,
                        stopping: false,
                        load: load_of,
                        stream,
                        since: now,
                        times: Default::default(),
                        counts: Default::default(),
                        samples: Default::default(),
                    });
                }
                users.push(User {
                    system: index as u32,
                    number: number as u32,
                    kind: spec.kind,
                    first,
                    count: spec.virtual_cpus,
                    idle: 0,
                    queue: VecDeque::new(),
                    quantum: spec
                        .quantum_ms
                        .map_or(NEVER, |ms| micros(1_000.0 * ms).max(1)),
                    paired_speed: paired_speed(spec.smt_speedup_pct),
                    limit,
                    hard: spec.hard,
                    listed: NEVER,
                    eligible: NEVER,
                    excess: 0,
                    member: spec.pool,
                    pool: spec.pool.map_or(NO_INDEX, |pool| limits[pool as usize]),
                    earlier: 0,
                    logged_on: false,
                    active: false,
                    logon: 0,
                    admitted: false,
                    share: spec.share,
                });
            }
            users_of.push(users.len() as u32);
            pool_limits.push(limits);
        }
        if vcpus.len() > MAX_OBJECTS {
            return Err(invalid(
                "virtual CPUs".into(),
                vcpus.len(),
                "at most a million",
            ));
        }
        slots.bursts = builder.subjects.len() as u32;
        for at in 0..vcpus.len() {
            builder.subjects.push(EventSource::Burst(at as u32));
        }

        // Transactions.
        let mut classes = Vec::new();
        let mut customers: Vec<Customer> = Vec::new();
        for (index, system) in scenario.systems.iter().enumerate() {
            for (number, spec) in system.transactions.iter().enumerate() {
                let open = spec.rate.is_some();
                let count = if open {
                    spec.most
                } else {
                    spec.customers.unwrap_or(0)
                };
                if customers.len() + count as usize > MAX_OBJECTS {
                    return Err(invalid(
                        "customers".into(),
                        count,
                        "at most a million in all",
                    ));
                }
                let first = customers.len() as u32;
                for customer in 0..count {
                    let name = format!("{}/transaction/{}/{customer}", system.name, spec.name);
                    customers.push(Customer {
                        class: classes.len() as u32,
                        number: customer,
                        step: NO_INDEX,
                        count: 0,
                        began: now,
                        work: 0,
                        stream: Stream::new(seed, &name),
                        turn: customer,
                    });
                }
                let mean = match spec.rate {
                    Some(rate) => SECOND as f64 / rate.max(1e-9),
                    None => seconds(spec.think_s) as f64,
                };
                let variation = if open {
                    spec.rate_variation
                } else {
                    spec.think_variation
                };
                let profile = spec.profile.iter();
                classes.push(Class {
                    system: index as u32,
                    number: number as u32,
                    first,
                    count,
                    free: if open {
                        (first..first + count).rev().collect()
                    } else {
                        Vec::new()
                    },
                    between: DurationDistribution::new(mean, variation),
                    stream: Stream::new(
                        seed,
                        &format!("{}/transaction/{}", system.name, spec.name),
                    ),
                    profile: profile.map(|(at, high)| (seconds(*at), *high)).collect(),
                    open,
                    slot: 0,
                    completed: 0,
                    response: 0,
                    refused: 0,
                    inside: 0,
                    integral: 0,
                    since: now,
                });
            }
        }
        slots.customers = builder.subjects.len() as u32;
        for at in 0..customers.len() {
            builder.subjects.push(EventSource::Customer(at as u32));
        }
        for (at, class) in classes.iter_mut().enumerate() {
            class.slot = builder.slot(EventSource::Arrival(at as u32));
        }
        for at in 0..builder.limits.len() {
            builder.limits[at].slot = builder.slot(EventSource::Limit(at as u32));
        }

        // Timers, and I/O.
        let systems = scenario.systems.len() as u32;
        slots.samples = builder.slots(systems, EventSource::Sample);
        slots.unparks = builder.slots(systems, EventSource::Unpark);
        slots.eligible = builder.slots(systems, EventSource::Eligible);
        slots.reshuffles = builder.slots(systems, EventSource::Reshuffle);
        slots.commands = builder.slots(systems, EventSource::Command);
        let mut io = Vec::new();
        let mut io_slots = Vec::new();
        for (index, system) in scenario.systems.iter().enumerate() {
            let devices = Io::new(&system.control_units, &system.volumes, seed, &system.name);
            let count = devices.slots();
            io_slots.push(builder.subjects.len() as u32);
            for _ in 0..count {
                builder.subjects.push(EventSource::Io(index as u32));
            }
            io.push(devices);
        }

        let mut relocations = Vec::new();
        let mut relocation_slots = Vec::new();
        for (index, system) in scenario.systems.iter().enumerate() {
            relocation_slots.push(builder.subjects.len() as u32);
            for _ in &system.relocations {
                builder.subjects.push(EventSource::Relocation(index as u32));
            }
            let link = system.link.as_ref();
            relocations.push(Relocations::new(&system.relocations, link));
        }

        let mut world = Self {
            handling: NO_INDEX,
            relocations,
            relocation_slots,
            now,
            begin,
            handled: 0,
            events: EventQueue::new(cpus.len(), builder.subjects.len()),
            slots,
            machine_timings,
            cp: scenario.systems.iter().map(|s| cp_timings(&s.cp)).collect(),
            physical_first,
            free,
            contending: vec![Heap::default(); kinds],
            share_positions: vec![ABSENT; shares.len()],
            core_positions: vec![ABSENT; cores.len()],
            held_until: vec![0; cores.len()],
            running_until: vec![0; cpus.len()],
            since_vary: vec![Default::default(); cpus.len()],
            reserved,
            pool_of,
            vectors: Vectors::new(vectors as usize, vcpus.len()),
            users_of,
            cores_of,
            pool_limits,
            scheduler_locks: vec![SpinLock::default(); scenario.systems.len()],
            lock_streams: scenario
                .systems
                .iter()
                .map(|system| Stream::new(seed, &format!("{}/locks", system.name)))
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
            counting: Counting::default(),
            subjects: builder.subjects,
            limits: builder.limits,
            physical,
            shares,
            cores,
            cpus,
            pools,
            vcpus,
            users,
            classes,
            customers,
            io,
            io_slots,
            scenario,
        };
        world.counting = Counting::new(&world);
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
            for (at, relocation) in self.scenario.systems[system].relocations.iter().enumerate() {
                let first = self.begin + seconds(relocation.at_s);
                self.events
                    .set(self.relocation_slots[system] + at as u32, first);
            }
            for user in self.users_of[system]..self.users_of[system + 1] {
                let number = self.users[user as usize].number as usize;
                if self.scenario.systems[system].users[number].logged_on {
                    self.logon(user as usize);
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

/// A load of nothing.
fn nothing() -> crate::state::LoadState {
    crate::state::LoadState {
        demand: Some(0.0),
        bursts: DurationDistribution::Constant(1),
        most: 0,
        io_mean: 0.0,
        page_mean: 0.0,
        volumes: Vec::new(),
        cached: 0,
        profile: Vec::new(),
    }
}

/// The end of a pool's logical processors.
fn cpus_end(cores: &[Core], pool: &Pool) -> u32 {
    pool.cores.last().map_or(pool.first, |last| {
        let core = &cores[*last as usize];
        core.first + core.threads
    })
}

/// The most threads that cores of a type ever have.
fn most_threads(system: &crate::scenario::System, kind: u8) -> u32 {
    let later = system
        .commands
        .iter()
        .filter_map(|command| match command.action {
            crate::scenario::Action::SetMultithread { kind: of, threads } if of == kind => {
                Some(threads)
            }
            _ => None,
        });
    later
        .chain([system.threads[usize::from(kind)], 1])
        .max()
        .unwrap_or(1)
}

struct Builder {
    now: Ticks,
    subjects: Vec<EventSource>,
    limits: Vec<Limit>,
}

impl Builder {
    fn limit(&mut self, rate: Ratio, burst: Ticks) -> u32 {
        self.limits.push(Limit {
            limiter: Limiter::new(rate, burst.max(4), self.now),
            waiting: Vec::new(),
            shares: Vec::new(),
            slot: 0,
            limited: 0,
            since: NEVER,
            times: 0,
            used: 0,
            present: 0,
            holders: Vec::new(),
            user: NO_INDEX,
        });
        (self.limits.len() - 1) as u32
    }

    fn slot(&mut self, subject: EventSource) -> u32 {
        self.subjects.push(subject);
        (self.subjects.len() - 1) as u32
    }

    fn slots(&mut self, count: u32, subject: fn(u32) -> EventSource) -> u32 {
        let first = self.subjects.len() as u32;
        self.subjects.extend((0..count).map(subject));
        first
    }
}
