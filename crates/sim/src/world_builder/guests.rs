//! Users with their virtual CPUs, loads and limits.

use std::collections::VecDeque;
use std::ops::Range;

use super::allocator::Allocator;
use super::machine::Machine;
use crate::costs::Services;
use crate::random::{DurationDistribution, Stream};
use crate::scenario::{Load, Scenario};
use crate::state::{
    Core, CpuState, FaultState, LoadState, NO_INDEX, Pool, Task, User, Vcpu, VcpuState,
};
use crate::time::{NEVER, Ratio, SECOND, Ticks, micros, seconds};
use crate::validate::{ScenarioError, invalid, require};
use crate::world::paired_speed;

/// What [`World`](crate::world::World) has of them.
pub(super) struct Guests {
    pub(super) users: Vec<User>,
    pub(super) users_of: Vec<Range<usize>>,
    pub(super) vcpus: Vec<Vcpu>,
    pub(super) reserved: Vec<u32>,
    pub(super) pool_limits: Vec<Vec<u32>>,
}

impl Guests {
    pub(super) fn new(
        scenario: &Scenario,
        machine: &mut Machine,
        allocator: &mut Allocator,
    ) -> Result<Self, ScenarioError> {
        let Machine {
            cores,
            cpus,
            pools,
            pool_of,
            ..
        } = machine;
        let mut users: Vec<User> = Vec::new();
        let mut users_of = Vec::new();
        let mut vcpus: Vec<Vcpu> = Vec::new();
        let mut reserved = vec![NO_INDEX; cpus.len()];
        let mut pool_limits = Vec::new();
        for (index, system) in scenario.systems.iter().enumerate() {
            let first_user = users.len();
            let burst = micros(1_000.0 * system.cp.limit_burst_ms);
            let limits: Vec<u32> = system
                .pools
                .iter()
                .map(|pool| {
                    let unlimited = pool.limithard_pct.is_none() && pool.capacity.is_none();
                    if unlimited {
                        NO_INDEX
                    } else {
                        allocator.limit(Ratio::ZERO, burst)
                    }
                })
                .collect();
            for (number, spec) in system.users.iter().enumerate() {
                let pool_index = pool_of[index][usize::from(spec.kind)];
                let what = format_args!("processors of user {}", spec.name);
                let kind = &scenario.machine.types[usize::from(spec.kind)];
                let expected = "a type of which its partition has cores";
                require(pool_index != NO_INDEX, what, kind, expected)?;
                let pool = &mut pools[pool_index as usize];
                let limit = if spec.maximum.is_some() {
                    let limit = allocator.limit(Ratio::ZERO, burst);
                    allocator.limits[limit as usize].user = users.len() as u32;
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
                    let mut stream = Stream::new(scenario.seed, &name);
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
                        let free = (pool.first..cpus_end(cores, pool)).rev().find(|cpu| {
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
                        services: Services::new(
                            system,
                            number as u32,
                            load.map_or(0.0, |load| load.message_rate),
                        ),
                        reload: 0,
                        work: 0,
                        segment: 0,
                        task: Task::None,
                        left,
                        fault: FaultState::default(),
                        backlog: 0,
                        refused: 0,
                        turn: v,
                        load: load_of,
                        stream,
                        since: allocator.now,
                        times: Default::default(),
                        counts: Default::default(),
                        samples: Default::default(),
                    });
                }
                users.push(User {
                    system: index as u32,
                    number: number as u32,
                    kind: spec.kind,
                    processors: pool_index,
                    first,
                    count: spec.virtual_cpus,
                    idle: 0,
                    turn: 0,
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
                    moved_to: NO_INDEX,
                    logged_on: false,
                    active: false,
                    logon: 0,
                    share: spec.share,
                });
            }
            users_of.push(first_user..users.len());
            pool_limits.push(limits);
        }
        Ok(Self {
            users,
            users_of,
            vcpus,
            reserved,
            pool_limits,
        })
    }
}

/// A load that is ready for use.
fn load_state(load: &Load) -> LoadState {
    let mean = |rate: f64| {
        if rate > 0.0 {
            SECOND as f64 / rate
        } else {
            0.0
        }
    };
    let profile = load.profile.iter();
    LoadState {
        demand: load.demand_pct.map(|part| part / 100.0),
        bursts: DurationDistribution::new(micros(1_000.0 * load.burst_ms) as f64, load.variation),
        most: seconds(load.backlog_s).max(micros(4_000.0 * load.burst_ms)),
        io_mean: if load.volumes.is_empty() {
            0.0
        } else {
            mean(load.io_rate)
        },
        page_mean: mean(load.page_rate),
        volumes: load.volumes.clone(),
        cached: (load.cached_pct.clamp(0.0, 100.0) / 100.0 * 4_294_967_296.0) as u64,
        profile: profile.map(|(at, high)| (seconds(*at), *high)).collect(),
    }
}

/// CP time per virtual time that simulation of instructions takes.
fn simulation(load: &Load) -> Ratio {
    Ratio::from_f64(load.simulation_rate * load.simulation_cost_us / 1e6)
}

/// A load of nothing.
fn nothing() -> LoadState {
    LoadState {
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
