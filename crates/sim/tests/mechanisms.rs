//! Tests of mechanisms: each has an effect, which disappears without it.

mod builders;

use builders::{alone, load, partition, run, scenario, system, used, user};
use zlens_sim::scenario::{Dispatch, Load, Scenario, Share, User};
use zlens_sim::state::{CpuTimes, Vcpu, VcpuState, VcpuTimes};
use zlens_sim::world::World;

fn cpus(world: &World, of: fn(&CpuTimes) -> u64) -> u64 {
    world.cpus.iter().map(|cpu| of(&cpu.times)).sum()
}

fn vcpus(world: &World, of: fn(&VcpuTimes) -> u64) -> u64 {
    world.vcpus.iter().map(|vcpu| of(&vcpu.times)).sum()
}

fn endless(count: usize) -> Vec<User> {
    users(count, &load(None))
}

/// Returns users with different names; users with one name would draw the same random numbers.
fn users(count: usize, load: &Load) -> Vec<User> {
    (0..count)
        .map(|number| user(&format!("U{number}"), 100, 1, vec![load.clone()]))
        .collect()
}

#[test]
fn duplicate_user_names_are_rejected() {
    let mut scenario = alone(1, endless(2), 5.0);
    scenario.systems[0].users[1].name = "U0".into();
    let refused = World::new(scenario)
        .err()
        .map(|refused| refused.to_string());
    assert_eq!(
        refused.as_deref(),
        Some("users of system SYS1: U0; expected each name once")
    );
}

/// Returns users with many short bursts: virtual CPUs are dispatched, wait, and move.
fn restless(count: usize, demand_pct: f64) -> Vec<User> {
    let load = Load {
        burst_ms: 1.0,
        ..load(Some(demand_pct))
    };
    users(count, &load)
}

/// Measures a value with a mechanism and without it.
fn both<T>(
    scenario: &Scenario,
    without: impl Fn(&mut Scenario),
    measure: impl Fn(&World) -> T,
) -> (T, T) {
    let mut other = scenario.clone();
    without(&mut other);
    (measure(&run(scenario.clone())), measure(&run(other)))
}

#[test]
fn limits() {
    let mut users = endless(1);
    users[0].maximum = Some(Share::Absolute(10.0));
    let off = |scenario: &mut Scenario| scenario.systems[0].cp.limits = false;
    let (with, without) = both(&alone(1, users, 30.0), off, |world| used(world)[0]);
    assert!(with < 10.5 && without > 99.0, "{with} {without}");
}

/// Spinning grows faster than the number of processors.
#[test]
fn scheduler_lock() {
    let spinning = |cores: u32, hold: f64| {
        let mut scenario = alone(cores, restless(2 * cores as usize, 45.0), 20.0);
        scenario.systems[0].cp.lock_hold_us = hold;
        let world = run(scenario);
        cpus(&world, |times| times.spin) as f64 / f64::from(cores)
    };
    assert!(spinning(32, 5.0) > 3.0 * spinning(8, 5.0));
    assert!(spinning(8, 5.0) > 0.0);
    assert_eq!(spinning(32, 0.0), 0.0);
}

#[test]
fn cp_time_per_dispatch() {
    let mut scenario = alone(2, restless(4, 40.0), 20.0);
    scenario.systems[0].cp.dispatch_system_us = 3.0;
    scenario.systems[0].cp.dispatch_user_us = 2.0;
    let off = |scenario: &mut Scenario| {
        scenario.systems[0].cp.dispatch_system_us = 0.0;
        scenario.systems[0].cp.dispatch_user_us = 0.0;
    };
    let cp = |world: &World| {
        let charged = vcpus(world, |times| times.total - times.emulation);
        (cpus(world, |times| times.system), charged)
    };
    let (with, without) = both(&scenario, off, cp);
    assert!(with.0 > 0 && with.1 > 0, "{with:?}");
    assert_eq!(without, (0, 0));
}

#[test]
fn moves_cost() {
    let mut scenario = alone(20, restless(30, 40.0), 20.0);
    scenario.machine.move_us = [20.0, 40.0, 80.0];
    let off = |scenario: &mut Scenario| scenario.machine.move_us = [0.0; 3];
    let lost = |world: &World| vcpus(world, |times| times.emulation - times.work);
    let (with, without) = both(&scenario, off, lost);
    assert!(with > 0);
    assert_eq!(without, 0);
}

/// Two endless users share the speedup of a core with two threads.
#[test]
fn multithreading() {
    let mut scenario = alone(1, endless(2), 20.0);
    scenario.systems[0].threads = vec![2];
    let off = |scenario: &mut Scenario| scenario.systems[0].threads = vec![1];
    let work = |world: &World| {
        let elapsed = world.cpus[0].times.total();
        vcpus(world, |times| times.work) as f64 / elapsed as f64
    };
    let (with, without) = both(&scenario, off, work);
    assert!((with - 1.4).abs() < 0.01, "{with}");
    assert!((without - 1.0).abs() < 0.01, "{without}");
}

#[test]
fn parking() {
    let mut own = partition("LP1", 4, 100, 4.0);
    own.vertical = true;
    own.shares[0].highs = 3;
    own.shares[0].mediums = 1;
    let mut scenario = scenario(
        4,
        vec![own],
        vec![system("SYS1", 0, restless(2, 10.0))],
        20.0,
    );
    scenario.systems[0].cp.unparking.active = true;
    scenario.systems[0].cp.unparking.model = zlens_sim::scenario::UnparkingModel::Small;
    let off = |scenario: &mut Scenario| scenario.systems[0].cp.unparking.active = false;
    let (with, without) = both(&scenario, off, |world| cpus(world, |times| times.parked));
    assert!(with > 0);
    assert_eq!(without, 0);
}

#[test]
fn stealing_from_other_vectors() {
    let off = |scenario: &mut Scenario| scenario.systems[0].cp.dispatch = Dispatch::Global;
    let steals = |world: &World| -> u64 {
        let counts = world.cpus.iter().map(|cpu| cpu.counts.steals);
        counts
            .map(|by_distance| by_distance.iter().sum::<u64>())
            .sum()
    };
    let (with, without) = both(&alone(4, restless(12, 30.0), 20.0), off, steals);
    assert!(with > 0);
    assert_eq!(without, 0);
}

/// A user with short bursts waits for the slices of endless users, unless it preempts them.
#[test]
fn preemption() {
    let mut users = restless(1, 5.0);
    users[0].share = Share::Relative(1_000);
    users.extend(endless(3));
    let off = |scenario: &mut Scenario| scenario.systems[0].cp.preempts = false;
    let wait =
        |world: &World| world.vcpus[0].times.ready as f64 / world.vcpus[0].times.total as f64;
    let (with, without) = both(&alone(1, users, 20.0), off, wait);
    assert!(with < 0.2 * without, "{with} {without}");
}

#[test]
fn pr_sm_time() {
    let two = || vec![partition("LP1", 2, 50, 1.0), partition("LP2", 2, 50, 1.0)];
    let systems = || {
        vec![
            system("SYS1", 0, restless(3, 50.0)),
            system("SYS2", 1, restless(3, 50.0)),
        ]
    };
    let mut scenario = scenario(2, two(), systems(), 20.0);
    scenario.machine.dispatch_management_us = 2.0;
    let off = |scenario: &mut Scenario| scenario.machine.dispatch_management_us = 0.0;
    let time = |world: &World| {
        world
            .physical
            .iter()
            .map(|core| core.management)
            .sum::<u64>()
    };
    let (with, without) = both(&scenario, off, time);
    assert!(with > 0);
    assert_eq!(without, 0);
}

/// A ready vertical-high core waits for the core on its physical core, unless it reclaims it.
#[test]
fn vertical_high_cores_reclaim_physical_cores() {
    let mut high = partition("LP1", 1, 50, 1.0);
    high.vertical = true;
    high.shares[0].highs = 1;
    let other = partition("LP2", 2, 50, 1.0);
    let systems = vec![
        system("SYS1", 0, restless(1, 30.0)),
        system("SYS2", 1, endless(2)),
    ];
    let off = |scenario: &mut Scenario| scenario.machine.high_preempts = false;
    let scenario = scenario(2, vec![high, other], systems, 20.0);
    let (with, without) = both(&scenario, off, |world| world.cpus[0].times.suspend);
    assert!(with < without / 10, "{with} {without}");
}

/// Three users with 60% of the storage each alternate in the dispatch list; QUICKDSP bypasses the eligible list.
#[test]
fn eligible_list() {
    let mut users = endless(3);
    for user in &mut users {
        user.storage_mib = 600.0;
        user.working_set_mib = 600.0;
    }
    let mut scenario = alone(3, users, 60.0);
    scenario.systems[0].storage_mib = 1_000.0;
    scenario.systems[0].cp.storbuf_pct = 100.0;
    scenario.systems[0].cp.eligible_slice_s = 1.0;
    let off = |scenario: &mut Scenario| scenario.systems[0].cp.storbuf_pct = 300.0;
    let (with, without) = both(&scenario, off, used);
    for part in &with {
        assert!((part - 33.3).abs() < 4.0, "{with:?}");
    }
    assert!(without.iter().all(|part| *part > 99.0), "{without:?}");
    scenario.systems[0].users[2].quick_dispatch = true;
    let quick = used(&run(scenario));
    assert!(quick[2] > 99.0 && quick[0] > 1.0, "{quick:?}");
}

/// Idle users leave the dispatch list, so that the demand of all users is met.
#[test]
fn idle_users_free_storage() {
    let mut users = restless(4, 4.0);
    for user in &mut users {
        user.loads[0].burst_ms = 50.0;
        user.storage_mib = 600.0;
        user.working_set_mib = 600.0;
    }
    let mut scenario = alone(4, users, 120.0);
    scenario.systems[0].storage_mib = 1_000.0;
    scenario.systems[0].cp.storbuf_pct = 100.0;
    let world = run(scenario);
    let waited = |vcpu: &Vcpu| vcpu.samples[VcpuState::Eligible as usize];
    assert!(world.vcpus.iter().map(waited).sum::<u64>() > 0);
    let used = used(&world);
    assert!(
        used.iter().all(|part| (3.0..5.0).contains(part)),
        "{used:?}"
    );
}

#[test]
fn caps() {
    let mut capped = partition("LP1", 2, 50, 1.0);
    capped.shares[0].cap = Some(0.5);
    let off = |scenario: &mut Scenario| scenario.machine.caps = false;
    let scenario = scenario(2, vec![capped], vec![system("SYS1", 0, endless(2))], 30.0);
    let (with, without) = both(&scenario, off, |world| used(world).iter().sum::<f64>());
    assert!(
        (with - 50.0).abs() < 1.0 && without > 199.0,
        "{with} {without}"
    );
}
