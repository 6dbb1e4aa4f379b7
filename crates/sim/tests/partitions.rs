//! Tests of partitions against published and derived cases of PR/SM.

mod builders;

use builders::{load, partition, run, scenario, system, user};
use zlens_sim::scenario::{Action, Command, Partition, Scenario};
use zlens_sim::world::World;

/// Returns a machine with unlimited demand of its partitions, or demands in cores.
fn machine(cores: u32, partitions: Vec<Partition>, demands: &[Option<f64>]) -> Scenario {
    let systems = partitions
        .iter()
        .enumerate()
        .map(|(at, of)| {
            let logical = of.shares[0].cores;
            let demand = demands[at].map(|demand| 100.0 * demand / f64::from(logical));
            let guest = user("G", 100, logical, vec![load(demand)]);
            system(&of.name, at as u32, vec![guest])
        })
        .collect();
    scenario(cores, partitions, systems, 60.0)
}

/// Returns the average number of cores that each partition uses.
fn cores_used(world: &World) -> Vec<f64> {
    let elapsed = world.now - (world.begin - zlens_sim::time::seconds(world.scenario.warmup_s));
    let of = |share: &zlens_sim::state::Share| {
        let cores = share.cores.iter().map(|core| &world.cores[*core as usize]);
        cores.map(|core| core.dispatched).sum::<u64>() as f64 / elapsed as f64
    };
    world.shares.iter().map(of).collect()
}

fn close(observed: &[f64], expected: &[f64], within: f64) {
    for (observed, wanted) in observed.iter().zip(expected) {
        assert!(
            (observed - wanted).abs() <= within * wanted.max(0.01),
            "{observed} for {wanted} ({within})"
        );
    }
}

/// Returns partitions with entitlements on `cores` cores by their weights.
fn weighted(cores: u32, of: &[(u32, u32)]) -> Vec<Partition> {
    let all: u32 = of.iter().map(|(_, weight)| weight).sum();
    of.iter()
        .map(|(logical, weight)| {
            let part = f64::from(cores * weight) / f64::from(all);
            partition("LP", *logical, *weight, part)
        })
        .collect()
}

/// IBM, PR/SM Planning Guide: weights 500, 300 and 200 within 3.6%, here within 1%.
#[test]
fn weights_are_enforced() {
    let world = run(machine(
        6,
        weighted(6, &[(6, 500), (6, 300), (6, 200)]),
        &[None; 3],
    ));
    close(&cores_used(&world), &[3.0, 1.8, 1.2], 0.01);
}

/// prsm.weights_1300: 300, 100 and 900 with 1, 6 and 2 logical cores of 6: the first and the last cannot use
/// their weight.
#[test]
fn partition_uses_no_more_than_its_logical_cores() {
    let world = run(machine(
        6,
        weighted(6, &[(1, 300), (6, 100), (2, 900)]),
        &[None; 3],
    ));
    close(&cores_used(&world), &[1.0, 3.0, 2.0], 0.01);
}

/// prsm.excess_uncapped, excess_one_capped, abs_cap, abs_group_cap: ten cores.
#[test]
fn excess_and_caps() {
    let lps = || weighted(10, &[(10, 200), (10, 400), (10, 400)]);
    let demand = [Some(2.0), None, None];
    let world = run(machine(10, lps(), &demand));
    close(&cores_used(&world), &[2.0, 4.0, 4.0], 0.02);
    let mut capped = lps();
    capped[1].shares[0].cap = Some(3.0);
    let world = run(machine(10, capped, &demand));
    close(&cores_used(&world), &[2.0, 3.0, 5.0], 0.02);
    let mut two = weighted(10, &[(10, 500), (10, 500)]);
    two[0].shares[0].cap = Some(2.5);
    let world = run(machine(10, two, &[None; 2]));
    close(&cores_used(&world), &[2.5, 7.5], 0.02);
    let mut grouped = weighted(10, &[(10, 250), (10, 250), (10, 500)]);
    for partition in &mut grouped[..2] {
        partition.shares[0].group = Some(0);
    }
    let mut scenario = machine(10, grouped, &[None; 3]);
    scenario.partition_groups = vec![zlens_sim::scenario::PartitionGroup {
        name: "G".into(),
        kind: 0,
        cap: 2.5,
    }];
    close(&cores_used(&run(scenario)), &[1.25, 1.25, 7.5], 0.02);
}

/// IBM, z/VM 6.3 HiperDispatch: with weights of 400 and 600, each of seven logical cores on ten is entitled to
/// 57.1% of one, and each of ten to 60%.
#[test]
fn horizontal_cores_have_equal_amounts() {
    let lps = weighted(10, &[(7, 400), (10, 600)]);
    let world = run(machine(10, lps, &[None, None]));
    let elapsed = world.now - (world.begin - zlens_sim::time::seconds(world.scenario.warmup_s));
    for (system, entitled) in [(0, 0.571), (1, 0.6)] {
        for core in &world.cores[world.cores_of[system].clone()] {
            close(
                &[core.dispatched as f64 / elapsed as f64],
                &[entitled],
                0.002,
            );
        }
    }
}

/// A core that wanted nothing for a while does not get more than the others when it wants to run again.
#[test]
fn idle_core_makes_up_for_nothing() {
    let lps = weighted(2, &[(3, 500), (2, 500)]);
    let mut scenario = machine(2, lps, &[None, None]);
    scenario.systems[0].users[0].virtual_cpus = 2;
    let mut late = user("LATE", 100, 1, vec![load(None)]);
    late.logged_on = false;
    scenario.systems[0].users.push(late);
    scenario.systems[0].commands = vec![Command {
        at_s: 30.0,
        action: Action::Logon { user: 1 },
    }];
    let mut at_half = World::new(scenario.clone()).unwrap();
    at_half.run(at_half.begin + zlens_sim::time::seconds(31.0));
    at_half.settle_all();
    let world = run(scenario);
    let cores = world.cores_of[0].clone();
    let after: Vec<f64> = cores
        .map(|core| (world.cores[core].dispatched - at_half.cores[core].dispatched) as f64)
        .collect();
    let all: f64 = after.iter().sum();
    close(
        &after.iter().map(|one| one / all).collect::<Vec<_>>(),
        &[1.0 / 3.0; 3],
        0.02,
    );
}

/// Without enforced caps, a capped partition uses the excess.
#[test]
fn effect_needs_caps() {
    let mut lps = weighted(4, &[(4, 500), (4, 500)]);
    lps[0].shares[0].cap = Some(1.0);
    let mut scenario = machine(4, lps, &[None; 2]);
    scenario.machine.caps = false;
    close(&cores_used(&run(scenario)), &[2.0, 2.0], 0.02);
}

/// Vertical, with entitlements such as 6.88 of 12 logical cores: vertical-high cores retain their physical cores.
#[test]
fn vertical_high_cores_have_their_own() {
    let mut lps = weighted(10, &[(7, 400), (10, 600)]);
    for (of, highs, mediums) in [(0, 4, 0), (1, 6, 0)] {
        lps[of].vertical = true;
        lps[of].shares[0].highs = highs;
        lps[of].shares[0].mediums = mediums;
    }
    let world = run(machine(10, lps, &[None, None]));
    close(&cores_used(&world), &[4.0, 6.0], 0.02);
    let elapsed = world.now - (world.begin - zlens_sim::time::seconds(world.scenario.warmup_s));
    for core in &world.cores {
        let part = core.dispatched as f64 / elapsed as f64;
        if core.polarity == zlens_sim::state::Polarity::High {
            assert!(part > 0.95, "a vertical-high core ran {part} of the time");
        }
    }
}
