//! Scenarios of tests, with plain values wherever a test sets none.

#![allow(dead_code, reason = "every test uses some of it")]

use zlens_sim::hardware::{self, Caches};
use zlens_sim::scenario::*;
use zlens_sim::world::World;

/// Caches of a machine for hardware counters.
pub const CACHES: Caches = Caches {
    l1_mib: 0.25,
    core_mib: 8.0,
    chip_mib: 256.0,
    drawer_mib: 960.0,
};
/// Costs of misses for hardware counters.
pub const COSTS: hardware::Costs = hardware::Costs {
    miss_cycles: [10.0, 45.0, 150.0, 320.0, 650.0],
    kept_pct: 10.0,
    misses_at_once: 2.0,
    instruction_misses_pct: 35.0,
    tlb_reach_mib: 8.0,
    tlb_misses_pct: 2.0,
    tlb_cycles: 440.0,
    crypto_cycles: 500.0,
    pipeline_pct: 80.0,
};

pub fn load(demand_pct: Option<f64>) -> Load {
    Load {
        demand_pct,
        burst_ms: 10.0,
        variation: 1.0,
        backlog_s: 10.0,
        profile: Vec::new(),
        io_rate: 0.0,
        volumes: Vec::new(),
        page_rate: 0.0,
        simulation_rate: 0.0,
        simulation_cost_us: 0.0,
        message_rate: 0.0,
        cached_pct: 0.0,
    }
}

pub fn user(name: &str, share: u32, virtual_cpus: u32, loads: Vec<Load>) -> User {
    User {
        name: name.into(),
        account: String::new(),
        kind: 0,
        virtual_cpus,
        dedicated: 0,
        share: Share::Relative(share),
        maximum: None,
        hard: true,
        quick_dispatch: false,
        pool: None,
        storage_mib: 1024.0,
        working_set_mib: 512.0,
        logged_on: true,
        loads,
        quantum_ms: None,
        smt_speedup_pct: 140.0,
        application_data: false,
        references: references(0.0),
        reserve_mib: 0.0,
        memory: Memory {
            instructions_per_cycle: 0.5,
            footprint_mib: 8.0,
            shared_pct: 5.0,
            l1_misses: 2.0,
            crypto_rate: 0.0,
            problem_state_pct: 60.0,
        },
    }
}

/// References to all pages alike, at a rate per second of virtual CPU time.
pub fn references(rate: f64) -> References {
    References {
        rate,
        pattern: Pattern::Uniform,
        hot_pct: 20.0,
        hot_references_pct: 80.0,
        skew: 1.0,
        phase_s: None,
        run_pages: 1.0,
        changed_pct: 0.0,
    }
}

pub fn cp() -> Cp {
    Cp {
        scheduler: Scheduler::Deadline,
        dispatch: Dispatch::Vectors,
        slice_ms: 5.0,
        slice_smt_ms: 10.0,
        lag_ms: 100.0,
        steal_lag_ms: 10.0,
        reshuffle_s: 0.0,
        rebalance: false,
        dispatch_user_us: 0.0,
        dispatch_system_us: 0.0,
        preempts: true,
        lock_hold_us: 0.0,
        lock_shared_pct: 0.0,
        limit_burst_ms: 100.0,
        limits: true,
        smt_speedup_pct: 140.0,
        idle_cores_first: true,
        unparking: Unparking {
            active: false,
            model: UnparkingModel::Large,
            excess_pct: Some(100.0),
            global_performance_data: true,
            pad_pct: 100.0,
            projection_factor: 1.18,
            projection_base_pct: 95.0,
            low_powered_pct: 50.0,
            pad_beyond_entitlement: false,
            lows_evenly: false,
        },
        block_pages: 8,
        storbuf_pct: 300.0,
        storbuf_2_pct: 250,
        storbuf_1_pct: 300,
        eligible_slice_s: 5.0,
        test_idle_ms: 300.0,
        settings: Settings {
            ldubuf: [100, 75, 60],
            dspbuf: [32_767; 3],
            iabias: [90, 2],
        },
        instructions: Instructions {
            diagnose_pct: 25.0,
            diagnose_44_pct: 10.0,
            diagnose_9c_pct: 40.0,
            diagnose_io_pct: 10.0,
            dispatched_pct: 90.0,
            sigp_pct: 10.0,
            lpswe_pct: 30.0,
            fast_pct: 60.0,
        },
        nonpageable_pct: 2.0,
        available_pct: [0.01, 0.1],
        steal_s: 1.0,
        selection: Selection::Aging,
        reorder_s: 10.0,
        early_writes_pct: 5.0,
        reserve_limit_mib: None,
        page_table_kib: 0.0,
        zone_mib: None,
        frame_lock_us: 0.0,
        frame_return_us: 0.0,
        queued_returns: true,
        paging_alias: true,
        paging_hpf: true,
        fault_us: 0.0,
        below_2g_pct: 0.0,
        needle_us: 0.0,
        transport_cached: false,
        costs: Costs::default(),
        absolute_shares_at_most: 99.0,
    }
}

pub fn unit(aliases: u32, shares: Option<[u32; 2]>) -> ControlUnit {
    ControlUnit {
        ssid: 0x0600,
        aliases,
        shares,
        chpids: vec![0x40, 0x41],
        others_pct: 30.0,
        cache_mib: None,
        ranks: None,
        server: 0,
    }
}

/// Returns a volume whose operations take a mean time.
pub fn volume(name: &str, paging: bool, service_us: f64, variation: f64) -> Volume {
    Volume {
        name: name.into(),
        device: 0xD000,
        control_unit: 0,
        paging,
        slots: 1_000_000,
        pending_ms: 0.0,
        connect_ms: service_us / 1_000.0,
        connect_page_ms: None,
        miss_ms: 0.0,
        read_hit_pct: 100.0,
        read_pct: 80.0,
        variation,
        transport_pct: None,
        records: 1.0,
        operation_kib: 16.0,
        spool_slots: 0,
        spool_used_pct: 0.0,
        seek_cylinders: None,
        links: 0,
        shared: None,
        conflicts_pct: 0.0,
        offline: Vec::new(),
    }
}

pub fn system(name: &str, partition: u32, users: Vec<User>) -> System {
    System {
        name: name.into(),
        partition,
        release: "ZLENSSIM".into(),
        transaction_ends: false,
        ipl_tod: 0,
        mode: 0,
        multithreading: false,
        threads: vec![1],
        storage_mib: 65_536.0,
        faults: false,
        cp: cp(),
        users,
        pools: Vec::new(),
        locks: Vec::new(),
        transactions: Vec::new(),
        control_units: Vec::new(),
        volumes: Vec::new(),
        spaces: Vec::new(),
        switches: Vec::new(),
        functions: Vec::new(),
        relocations: Vec::new(),
        link: None,
        commands: Vec::new(),
    }
}

pub fn partition(name: &str, cores: u32, weight: u32, entitlement: f64) -> Partition {
    Partition {
        name: name.into(),
        number: 1,
        vertical: false,
        shares: vec![PartitionShare {
            kind: 0,
            cores,
            highs: 0,
            mediums: 0,
            weight,
            entitlement,
            dedicated: false,
            capped: false,
            cap: None,
            group: None,
        }],
    }
}

/// Returns a machine of `cores` cores with these partitions and systems, for `seconds` seconds.
pub fn scenario(
    cores: u32,
    partitions: Vec<Partition>,
    systems: Vec<System>,
    seconds: f64,
) -> Scenario {
    Scenario {
        seed: 1,
        start_tod: 0xDA00_0000_0000_0000,
        warmup_s: 10.0,
        seconds,
        interval_s: 60.0,
        high_frequency_s: 2.0,
        zone_s: 0,
        machine: Machine {
            machine_type: "8561".into(),
            model: "T01".into(),
            serial: "0000000000000001".into(),
            name: "CPC1".into(),
            megahertz: 5_200,
            types: vec!["IFL".into()],
            type_codes: vec![3],
            cores: vec![Cores {
                kind: 0,
                count: cores,
            }],
            cores_per_chip: 10,
            chips_per_drawer: 4,
            move_us: [0.0; 3],
            run_time_ms: RunTime {
                longest: 25.0,
                shortest: 12.5,
                high: 100.0,
            },
            dispatch_overhead_us: 0.0,
            dispatch_management_us: 0.0,
            dispatch_search_us: 0.0,
            high_preempts: true,
            caps: true,
            cap_burst_ms: 200.0,
            lag_ms: 100.0,
            cpi_time: false,
            counters: None,
            capability: 0,
            channels: Channels {
                bus_cycles: 2_000_000,
                work_units: 8_000,
                data_units: 200_000,
                unit_bytes: 4_096,
                cycles_per_unit: 9,
            },
            power: None,
        },
        partitions,
        partition_groups: Vec::new(),
        systems,
        checked: true,
    }
}

/// Returns the users, with a number appended to repeated names: names are unique in a scenario.
pub fn distinct(mut users: Vec<User>) -> Vec<User> {
    for at in 1..users.len() {
        let (before, rest) = users.split_at_mut(at);
        if before.iter().any(|user| user.name == rest[0].name) {
            rest[0].name = format!("{}{at}", rest[0].name);
        }
    }
    users
}

/// Returns a system on a dedicated machine of `cores` cores, with users whose names become unique.
pub fn alone(cores: u32, users: Vec<User>, seconds: f64) -> Scenario {
    let users = distinct(users);
    let mut own = partition("LP1", cores, 0, f64::from(cores));
    own.shares[0].dedicated = true;
    scenario(cores, vec![own], vec![system("SYS1", 0, users)], seconds)
}

/// Runs the warm-up and the scenario, checks the laws once a second, and returns the world.
pub fn run(scenario: Scenario) -> World {
    let seconds = scenario.seconds as u64;
    let mut world = World::new(scenario).expect("a scenario that can be simulated");
    let begin = world.now;
    for second in 1..=seconds {
        world.run(world.begin + second * zlens_sim::time::SECOND);
        world.settle_all();
        let elapsed = world.now - begin;
        world.check(elapsed).expect("laws hold");
    }
    world
}

/// Returns the CPU time charged to each user since the start of the world, in percent of one processor.
pub fn used(world: &World) -> Vec<f64> {
    let elapsed = world.now - (world.begin - zlens_sim::time::seconds(world.scenario.warmup_s));
    let of = |user: &zlens_sim::state::User| {
        let vcpus = &world.vcpus[user.first as usize..(user.first + user.count) as usize];
        let total: u64 = vcpus.iter().map(|vcpu| vcpu.times.total).sum();
        100.0 * total as f64 / elapsed as f64
    };
    world.users.iter().map(of).collect()
}
