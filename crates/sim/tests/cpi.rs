//! Tests of CPI as time: what lengthens the CPU time of the same instructions, and that the counters agree with it.

mod builders;

use builders::{CACHES, COSTS, alone, load, partition, run, scenario, system, user};
use zlens_sim::hardware::Costs;
use zlens_sim::scenario::{HardwareCounters, Scenario, User};
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

/// Users that take turns on a core displace each other's lines.
#[test]
fn guests_that_take_turns_take_longer() {
    let few = longer(alone(1, guests(2, Some(10.0)), 20.0));
    let many = longer(alone(1, guests(16, Some(5.0)), 20.0));
    assert!(few < 1.001 && many > 1.01, "{few} {many}");
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
            system("SYS1", 0, builders::distinct(guests(8, Some(40.0)))),
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
