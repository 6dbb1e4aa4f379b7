//! Tests of CPI as time: what lengthens the CPU time of the same instructions, and that the counters agree with it.

mod builders;

use builders::{CACHES, COSTS, alone, load, partition, run, scenario, system, user};
use zlens_sim::hardware::Costs;
use zlens_sim::misses::MissModel;
use zlens_sim::run_segment::{Sharers, Surroundings};
use zlens_sim::scenario::{HardwareCounters, Memory, Scenario, Step, Transaction, User};
use zlens_sim::world::World;

const MEGAHERTZ: f64 = 5_200.0;

/// The scenario with CPI as time on a z15.
fn timed(mut scenario: Scenario) -> Scenario {
    let table = include_str!("expected/counters_z15.json");
    scenario.machine.cpi_time = true;
    scenario.warmup_s = 1.0;
    scenario.machine.counters = Some(HardwareCounters {
        table: serde_json::from_str(table).expect("a table"),
        caches: CACHES,
        costs: Costs {
            pipeline_pct: 50.0,
            ..COSTS
        },
    });
    scenario
}

/// Users that always have work, or that want this part of a processor in bursts of half a millisecond.
fn guests(count: usize, demand: Option<f64>) -> Vec<User> {
    let guest = |_| {
        let mut load = load(demand);
        load.burst_ms = 0.5;
        load.variation = 0.0;
        let mut guest = user("U", 100, 1, vec![load]);
        guest.memory.shared_pct = 0.0;
        guest
    };
    (0..count).map(guest).collect()
}

/// Work and the time that it took, of all virtual CPUs.
fn work_and_time(world: &World) -> (f64, f64) {
    let sum = |of: fn(&zlens_sim::state::VcpuTimes) -> u64| {
        world.vcpus.iter().map(|vcpu| of(&vcpu.times)).sum::<u64>() as f64
    };
    (sum(|times| times.work), sum(|times| times.emulation))
}

/// Time of the same instructions relative to that alone on the machine.
fn longer(scenario: Scenario) -> f64 {
    let (work, time) = work_and_time(&run(timed(scenario)));
    time / work
}

/// One user that never leaves its core, alone on the machine, takes the time that the scenario states.
#[test]
fn time_alone_is_that_of_the_scenario() {
    let took = longer(alone(1, guests(1, None), 20.0));
    assert!((took - 1.0).abs() < 0.001, "{took}");
}

/// Without misses, half of a thread's cycles keep the other from the pipeline: one that comes finds it in use for half
/// of its own cycles, so both take 1.5 times as long.
#[test]
fn threads_wait_for_the_pipeline() {
    let mut scenario = alone(1, guests(2, None), 20.0);
    for user in &mut scenario.systems[0].users {
        user.memory.l1_misses = 0.0;
    }
    scenario.systems[0].threads = vec![2];
    let took = longer(scenario);
    assert!((took - 1.5).abs() < 0.001, "{took}");
}

/// While one thread waits for misses, the other has the pipeline, but both have half of the caches.
#[test]
fn threads_that_miss_wait_less_for_the_pipeline() {
    let with = |l1_misses: f64| {
        let mut scenario = alone(1, guests(2, None), 20.0);
        scenario.systems[0].threads = vec![2];
        for user in &mut scenario.systems[0].users {
            user.memory.l1_misses = l1_misses;
            user.memory.footprint_mib = 64.0;
            user.memory.instructions_per_cycle = 1.0;
        }
        longer(scenario)
    };
    assert!(with(4.0) < 1.45, "{}", with(4.0));
}

/// The users with a footprint of so many MiB.
fn of_footprint(mut users: Vec<User>, mib: f64) -> Vec<User> {
    for user in &mut users {
        user.memory.footprint_mib = mib;
    }
    users
}

/// Users that take turns on a core displace each other's lines, unless the core's cache has those of all.
#[test]
fn guests_that_take_turns_take_longer() {
    let took = |count, demand, mib| {
        longer(alone(
            1,
            of_footprint(guests(count, Some(demand)), mib),
            20.0,
        ))
    };
    let (few, many) = (took(2, 10.0, 1.0), took(16, 5.0, 1.0));
    assert!(few < 1.001 && many > 1.01, "{few} {many}");
    // The core's cache has 8 MiB: the more is missing, the longer.
    let larger = took(16, 5.0, 4.0);
    assert!(larger > 1.0 + 2.0 * (many - 1.0), "{many} {larger}");
}

/// Instructions whose lines are in no cache fetch, by the power law of misses, 1.5 times slope times their number to the power
/// of 2/3 from memory.
#[test]
fn lines_of_a_cold_cache_follow_the_power_law() {
    let model = MissModel::new(&CACHES, &COSTS, 5_200, 4);
    let memory = Memory {
        footprint_mib: 1e6,
        l1_misses: 4.0,
        shared_pct: 0.0,
        ..user("U", 100, 1, vec![load(None)]).memory
    };
    let profile = model.profile(&memory);
    let pace = |instructions: f64, held: f64| {
        let ticks = |cycles: f64| (cycles * 4_096.0 / 5_200.0) as u64;
        let work = ticks(instructions * profile.cycles_alone());
        model
            .pace(&Surroundings {
                memory: &profile,
                held: [held, held, held, 0.0],
                sibling: None,
                sharers: Sharers::default(),
                work,
                slice: u64::MAX,
            })
            .stretch()
            .value()
    };
    let slope = 0.04 / (1.0 / CACHES.l1_mib.sqrt() - 1e-3);
    let begin = CACHES.l1_mib.powf(1.5);
    let mib = (begin + 1.5 * slope * 1e6 / 4_096.0).powf(2.0 / 3.0) - CACHES.l1_mib;
    // All that is not in the L1 cache comes from memory, and so many lines of a million instructions.
    let misses = mib * 4_096.0 / 1e6;
    let [core, .., memory_cycles] = COSTS.miss_cycles;
    let lines = (0.04 - misses) * core + misses * memory_cycles;
    let tlb = slope * (1.0 / COSTS.tlb_reach_mib.sqrt() - 1e-3) * COSTS.tlb_misses_pct / 100.0;
    let cycles = 1.0 / memory.instructions_per_cycle + lines + tlb * COSTS.tlb_cycles;
    let cold = pace(1e6, 0.0) * profile.cycles_alone();
    assert!((cold / cycles - 1.0).abs() < 1e-3, "{cold} {cycles}");
    assert!(cold > 1.1 * pace(1e6, 64.0) * profile.cycles_alone());
}

/// What CP does for users takes as much longer as their own instructions.
#[test]
fn misses_lengthen_cp_time() {
    let took = |shared: f64| {
        let mut scenario = alone(16, guests(16, Some(40.0)), 5.0);
        scenario.machine.cores_per_chip = 1;
        scenario.systems[0].cp.dispatch_user_us = 20.0;
        for user in &mut scenario.systems[0].users {
            user.memory.shared_pct = shared;
        }
        let world = run(timed(scenario));
        let (work, time) = work_and_time(&world);
        let dispatches: u64 = world.cpus.iter().map(|cpu| cpu.counts.dispatches).sum();
        let charged: u64 = world
            .vcpus
            .iter()
            .map(|vcpu| vcpu.times.total - vcpu.times.emulation)
            .sum();
        (
            charged as f64 / dispatches as f64 / (20.0 * 4_096.0),
            time / work,
        )
    };
    let (alone, _) = took(0.0);
    let (cp, guest) = took(20.0);
    assert!((alone - 1.0).abs() < 0.02, "{alone}");
    assert!(
        guest > 1.2 && (cp / guest - 1.0).abs() < 0.02,
        "{cp} {guest}"
    );
}

/// Requests go to the idle virtual CPUs of a user in turn, not to its first ones.
#[test]
fn virtual_cpus_get_requests_in_turn() {
    let used = |cpi_time: bool| {
        let mut scenario = timed(alone(4, of_footprint(guests(1, Some(0.0)), 1.0), 10.0));
        scenario.machine.cpi_time = cpi_time;
        let system = &mut scenario.systems[0];
        system.users[0].virtual_cpus = 4;
        system.transactions.push(Transaction {
            name: "web".to_owned(),
            customers: None,
            rate: Some(100.0),
            rate_variation: 1.0,
            most: 100,
            profile: Vec::new(),
            think_s: 0.0,
            think_variation: 0.0,
            steps: vec![Step::Cpu {
                users: vec![0],
                cpu_ms: 1.0,
                variation: 0.0,
                lock: None,
            }],
        });
        let world = run(scenario);
        let times = world.vcpus.iter().map(|vcpu| vcpu.times.total as f64);
        let all: f64 = times.clone().sum();
        times.fold(0.0, f64::max) / all
    };
    assert!(used(true) < 0.3, "{}", used(true));
    assert!(used(false) > 0.8, "{}", used(false));
}

/// Processors spin longer if some of the data are fetched while the lock is held: the farther, the longer.
#[test]
fn locks_are_held_while_lines_are_fetched() {
    let spinning = |locked_pct: f64, line_us: f64| {
        let mut users = guests(60, Some(15.0));
        for user in &mut users {
            user.loads[0].variation = 1.0;
        }
        let mut scenario = alone(20, users, 5.0);
        scenario.systems[0].cp.costs.lines = 20.0;
        scenario.systems[0].cp.costs.locked_pct = locked_pct;
        scenario.systems[0].cp.costs.line_us = [line_us; 3];
        let world = run(scenario);
        world.cpus.iter().map(|cpu| cpu.times.spin).sum::<u64>() as f64
    };
    assert_eq!(spinning(0.0, 0.2), 0.0);
    let (near, far) = (spinning(50.0, 0.2), spinning(50.0, 0.4));
    assert!(near > 0.0 && far > 2.0 * near, "{near} {far}");
}

/// Cores of other chips and drawers are farther than those of the same chip.
#[test]
fn distance_of_moves_costs_time() {
    let took = |cores_per_chip: u32, chips_per_drawer: u32| {
        let mut scenario = alone(8, guests(16, Some(40.0)), 3.0);
        scenario.machine.cores_per_chip = cores_per_chip;
        scenario.machine.chips_per_drawer = chips_per_drawer;
        longer(scenario)
    };
    let (chip, drawer, beyond) = (took(8, 1), took(1, 8), took(1, 1));
    assert!(chip < drawer && drawer < beyond, "{chip} {drawer} {beyond}");
}

/// Lines that other virtual CPUs changed come from their cores: the more of these and the farther away, the longer.
#[test]
fn sharing_raises_time_with_processors() {
    let took = |cores: u32| {
        let mut scenario = alone(cores, guests(cores as usize, None), 5.0);
        scenario.machine.cores_per_chip = 4;
        for user in &mut scenario.systems[0].users {
            user.memory.shared_pct = 10.0;
        }
        longer(scenario)
    };
    let [two, eight, forty] = [2, 8, 40].map(took);
    assert!(
        1.0 < two && two < eight && eight < forty,
        "{two} {eight} {forty}"
    );
}

/// Lines are in physical caches: what another partition runs there displaces them, and a logical core that PR/SM moves
/// leaves them behind. Where each logical core finds its own physical one, nothing is lost.
#[test]
fn other_partitions_displace_lines() {
    let took = |cores: u32, demand: f64| {
        let own = partition("LP1", 4, 100, 4.0);
        let other = partition("LP2", cores, 100, 4.0);
        let systems = vec![
            system(
                "SYS1",
                0,
                builders::distinct(of_footprint(guests(8, Some(40.0)), 2.0)),
            ),
            system("SYS2", 1, builders::distinct(guests(8, Some(demand)))),
        ];
        let mut scenario = scenario(8, vec![own, other], systems, 3.0);
        scenario.machine.cores_per_chip = 2;
        let world = run(timed(scenario));
        let vcpus = &world.vcpus[..8];
        let work: u64 = vcpus.iter().map(|vcpu| vcpu.times.work).sum();
        let time: u64 = vcpus.iter().map(|vcpu| vcpu.times.emulation).sum();
        time as f64 / work as f64
    };
    let (apart, together) = (took(4, 40.0), took(8, 70.0));
    assert!(apart < 1.001 && together > 1.01, "{apart} {together}");
}

/// Cycles are instructions without misses, and the cycles of misses, which the counters attribute.
#[test]
fn counters_agree_with_time() {
    let mut scenario = alone(4, guests(12, Some(30.0)), 20.0);
    scenario.systems[0].cp.dispatch_user_us = 2.0;
    scenario.systems[0].cp.dispatch_system_us = 1.0;
    scenario.systems[0].cp.costs.lines = 20.0;
    scenario.systems[0].cp.costs.line_us = [0.03, 0.13, 0.33];
    let world = run(timed(scenario));
    let perfect = 1.0
        / world.scenario.systems[0].users[0]
            .memory
            .instructions_per_cycle;
    for cpu in 0..4 {
        let times = world.cpus[cpu].times;
        let ticks = (times.user + times.system) as f64 / 4_096.0;
        let basic = world.counting.set(cpu, 0);
        let [cycles, instructions, ..] = basic[..] else {
            panic!("a basic set")
        };
        assert!((cycles as f64 / (ticks * MEGAHERTZ) - 1.0).abs() < 1e-6);
        // Penalties add up over the two misses that are outstanding at once.
        let lost = (basic[3] + basic[5]) as f64 / 2.0;
        let sum = instructions as f64 * perfect + lost;
        assert!((sum / cycles as f64 - 1.0).abs() < 1e-3, "{sum} {cycles}");
    }
}
