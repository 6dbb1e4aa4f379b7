//! Tests of users' CPU time against published and derived cases of CP's shares.

mod builders;

use builders::{alone, load, run, used, user};
use zlens_sim::scenario::{Scheduler, Share, User};

fn endless(name: &str, share: u32, virtual_cpus: u32) -> User {
    user(name, share, virtual_cpus, vec![load(None)])
}

fn close(observed: &[f64], expected: &[f64], within: f64) {
    for (observed, expected) in observed.iter().zip(expected) {
        assert!(
            (observed - expected).abs() <= within,
            "{observed} for {expected} ({within})"
        );
    }
}

/// IBM, "z/VM 6.4 Performance": two processors, REL 100, 200, 100, 400 with infinite demand.
#[test]
fn unequal_shares_get_25_50_25_100() {
    let users = [100, 200, 100, 400].map(|share| endless("U", share, 1));
    let world = run(alone(2, users.to_vec(), 60.0));
    close(&used(&world), &[25.0, 50.0, 25.0, 100.0], 1.0);
}

/// The scenario of VM65288: four equal guests on two to five processors.
#[test]
fn four_equal_guests_on_two_to_five_processors() {
    for (cores, each) in [(2, 50.0), (3, 75.0), (4, 100.0), (5, 100.0)] {
        let users = vec![endless("U", 100, 1); 4];
        let world = run(alone(cores, users, 60.0));
        close(&used(&world), &[each; 4], 1.0);
    }
}

/// The negative control: a scheduler without debt results in 100, 100, 50, 50.
#[test]
fn without_debt_shares_are_not_enforced() {
    let mut scenario = alone(3, vec![endless("U", 100, 1); 4], 60.0);
    scenario.systems[0].cp.scheduler = Scheduler::Memoryless;
    let mut observed = used(&run(scenario));
    observed.sort_by(f64::total_cmp);
    assert!(observed[3] - observed[0] > 20.0, "{observed:?}");
}

/// cp.excess_2lp: the other users get the excess by share.
#[test]
fn excess_is_distributed_by_share() {
    let mut users = vec![user("I", 10_000, 1, vec![]); 2];
    users.extend([100, 200, 300].map(|share| endless("U", share, 1)));
    let world = run(alone(2, users, 60.0));
    close(&used(&world), &[0.0, 0.0, 33.33, 66.67, 100.0], 1.0);
}

/// cp.abs_plus_rel: four processors, ABS 50%, REL 100, REL 300, each with four virtual CPUs.
#[test]
fn absolute_and_relative_shares() {
    let mut users = vec![
        endless("A", 100, 4),
        endless("B", 100, 4),
        endless("C", 300, 4),
    ];
    users[0].share = Share::Absolute(50.0);
    let world = run(alone(4, users, 60.0));
    close(&used(&world), &[200.0, 50.0, 150.0], 4.0);
}

/// cp.per_vcpu_share_split: a share is split over virtual CPUs.
#[test]
fn busy_virtual_cpu_has_its_part_of_share() {
    let mut users = vec![endless("H", 400, 4)];
    users[0].loads = vec![
        load(None),
        load(Some(0.0)),
        load(Some(0.0)),
        load(Some(0.0)),
    ];
    users.extend(vec![endless("U", 100, 1); 3]);
    let world = run(alone(2, users, 60.0));
    close(&used(&world), &[50.0; 4], 1.0);
}

/// cp.limithard, cp.limitsoft_excess and cp.limitsoft_contended: four processors, a limit of 25%.
#[test]
fn limits_hard_and_soft() {
    let limited = |hard: bool, other: Vec<zlens_sim::scenario::Load>| {
        let mut users = vec![endless("L", 100, 4), user("O", 100, 4, other)];
        users[0].maximum = Some(Share::Absolute(25.0));
        users[0].hard = hard;
        used(&run(alone(4, users, 60.0)))
    };
    let half = vec![load(Some(12.5)); 4];
    close(&limited(true, half.clone()), &[100.0, 50.0], 2.0);
    close(&limited(false, half), &[350.0, 50.0], 6.0);
    close(&limited(false, vec![load(None)]), &[100.0, 300.0], 4.0);
}

/// A demand below the share is met.
#[test]
fn fixed_demands_are_met() {
    let users = vec![
        user("A", 100, 1, vec![load(Some(30.0))]),
        user("B", 100, 2, vec![load(Some(45.0))]),
        endless("C", 100, 4),
    ];
    let world = run(alone(4, users, 120.0));
    close(&used(&world), &[30.0, 90.0, 280.0], 3.0);
}
