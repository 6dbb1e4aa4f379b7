//! Physical cores, partition shares, and the logical cores and processors of systems.

use std::ops::Range;

use super::allocator::Allocator;
use crate::heap::Heap;
use crate::index_set::IndexSet;
use crate::scenario::{Action, Dispatch, Scenario, System};
use crate::state::{Core, Cpu, CpuState, NO_INDEX, Physical, Polarity, Pool, Share};
use crate::time::{Ratio, micros};
use crate::tournament::Tournament;
use crate::validate::{ScenarioError, require};

/// What [`World`](crate::world::World) has of it, and the number of dispatch vectors.
pub(super) struct Machine {
    pub(super) physical: Vec<Physical>,
    pub(super) physical_first: Vec<u32>,
    pub(super) free: Vec<IndexSet>,
    pub(super) shares: Vec<Share>,
    pub(super) cores: Vec<Core>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) pools: Vec<Pool>,
    pub(super) pool_of: Vec<Vec<u32>>,
    pub(super) cores_of: Vec<Range<usize>>,
    pub(super) vectors: u32,
}

impl Machine {
    pub(super) fn new(
        scenario: &Scenario,
        allocator: &mut Allocator,
    ) -> Result<Self, ScenarioError> {
        let kinds = scenario.machine.types.len();
        let now = allocator.now;
        let (mut physical, physical_first, mut free) = physical_cores(scenario);
        let (mut shares, shares_of) = partition_shares(scenario, allocator);
        let mut cores: Vec<Core> = Vec::new();
        let mut cpus: Vec<Cpu> = Vec::new();
        let mut pools: Vec<Pool> = Vec::new();
        let mut pool_of = Vec::new();
        let mut cores_of = Vec::new();
        let mut vectors = 0;
        let mut homes: Vec<u32> = physical_first.clone();
        for (index, system) in scenario.systems.iter().enumerate() {
            let mut of_kind = vec![NO_INDEX; kinds];
            let first_core = cores.len();
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
                    let polarity = if partition.vertical {
                        Polarity::at_position(spec, number)
                    } else {
                        Polarity::Horizontal
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
                        let kind_name = &scenario.machine.types[kind];
                        let what =
                            format_args!("dedicated and vertical-high cores of type {kind_name}");
                        let count = homes[kind] - physical_first[kind];
                        let expected = "at most the machine's cores of that type";
                        require(home < last, what, count, expected)?;
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
                        pool: pools.len() as u32,
                        number: at - first_core as u32,
                        polarity,
                        online: true,
                        physical: if spec.dedicated { home } else { NO_INDEX },
                        home,
                        dedicated: own,
                        first: cpus.len() as u32,
                        threads,
                        most: most_threads,
                        vector,
                        since: now,
                        ..Core::default()
                    });
                    of_pool.push(at);
                    shares[*share as usize].cores.push(at);
                    for thread in 0..most_threads {
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
                            stretch: Ratio::ONE,
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
                    ready: Tournament::new((vectors - first_vector) as usize),
                });
            }
            cores_of.push(first_core..cores.len());
            pool_of.push(of_kind);
        }
        Ok(Self {
            physical,
            physical_first,
            free,
            shares,
            cores,
            cpus,
            pools,
            pool_of,
            cores_of,
            vectors,
        })
    }
}

/// The physical cores, the first one of each type, and those that no core is dedicated to.
fn physical_cores(scenario: &Scenario) -> (Vec<Physical>, Vec<u32>, Vec<IndexSet>) {
    let mut physical = Vec::new();
    let mut physical_first = Vec::new();
    let mut free = Vec::new();
    for kind in 0..scenario.machine.types.len() {
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
            });
        }
        free.push(set);
    }
    (physical, physical_first, free)
}

/// The shares of all partitions with their caps and those of groups, and which are whose.
fn partition_shares(scenario: &Scenario, allocator: &mut Allocator) -> (Vec<Share>, Vec<Vec<u32>>) {
    let cap_burst = |cap: f64| micros(1_000.0 * scenario.machine.cap_burst_ms * cap.max(1.0));
    let groups: Vec<u32> = scenario
        .partition_groups
        .iter()
        .map(|group| allocator.limit(Ratio::from_f64(group.cap), cap_burst(group.cap)))
        .collect();
    let mut shares = Vec::new();
    let mut shares_of = Vec::new();
    for (number, partition) in scenario.partitions.iter().enumerate() {
        let mut own = Vec::new();
        for spec in &partition.shares {
            own.push(shares.len() as u32);
            let cap = spec.most().map_or(NO_INDEX, |cap| {
                allocator.limit(Ratio::from_f64(cap), cap_burst(cap))
            });
            let group = spec.group.map_or(NO_INDEX, |group| groups[group as usize]);
            for limit in [cap, group] {
                if limit != NO_INDEX {
                    allocator.limits[limit as usize]
                        .shares
                        .push(shares.len() as u32);
                }
            }
            shares.push(Share {
                partition: number as u32,
                kind: spec.kind,
                claim: allocator.now,
                pace: Ratio::from_f64(1.0 / spec.entitlement.max(1e-6)),
                turn: 0,
                cores: Vec::new(),
                waiting: Heap::default(),
                dispatched: 0,
                limits: [cap, group],
                capped: false,
            });
        }
        shares_of.push(own);
    }
    (shares, shares_of)
}

/// The most threads that cores of a type ever have.
fn most_threads(system: &System, kind: u8) -> u32 {
    let later = system
        .commands
        .iter()
        .filter_map(|command| match command.action {
            Action::SetMultithread { kind: of, threads } if of == kind => Some(threads),
            _ => None,
        });
    later
        .chain([system.threads[usize::from(kind)], 1])
        .max()
        .unwrap_or(1)
}
