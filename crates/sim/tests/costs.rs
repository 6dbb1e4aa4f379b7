//! Tests of the CP time of what CP does for users, and of PR/SM's to place logical cores.

mod builders;

use builders::{alone, load, partition, run, scenario, system, unit, user, volume};
use zlens_sim::scenario::{Action, Command, Costs, Port, Scenario, Switch};
use zlens_sim::time::{MICROSECOND, micros};
use zlens_sim::world::World;

/// Returns a user whose virtual CPU does I/O, and pages at a rate, on volumes without delay.
fn busy_user(io_rate: f64, page_rate: f64) -> Scenario {
    let mut own = load(None);
    own.io_rate = io_rate;
    own.page_rate = page_rate;
    own.volumes = vec![0];
    let mut scenario = alone(1, vec![user("U", 100, 1, vec![own])], 10.0);
    scenario.systems[0].control_units = vec![unit(0, None)];
    scenario.systems[0].volumes = vec![
        volume("DATA", false, 1.0, 0.0),
        volume("PAGE", true, 1.0, 0.0),
    ];
    scenario
}

/// CP time of all processors: charged to users, and not.
fn cp_time(world: &World) -> (u64, u64) {
    let times = world.cpus.iter().map(|cpu| cpu.times);
    times.fold((0, 0), |sum, cpu| {
        (sum.0 + cpu.user - cpu.emulation, sum.1 + cpu.system)
    })
}

/// Checks that a time is that of so many events, but for the last one, which may still be unpaid.
#[track_caller]
fn of_events(time: u64, events: u64, us: f64) {
    let each = micros(us);
    let owed = (events * each).abs_diff(time);
    assert!(owed <= 2 * each, "{time} for {events} of {each}");
}

#[test]
fn io_costs_by_mode_and_records() {
    let mut scenario = busy_user(1_000.0, 0.0);
    scenario.systems[0].cp.costs = Costs {
        io_us: 14.0,
        io_record_us: 1.5,
        transport_us: 9.0,
        transport_record_us: 0.25,
        ..Costs::default()
    };
    scenario.systems[0].volumes[0].records = 4.0;
    for (transport, us) in [(None, 20.0), (Some(100.0), 10.0)] {
        scenario.systems[0].volumes[0].transport_pct = transport;
        let world = run(scenario.clone());
        let starts = world.vcpus[0].counts.starts;
        assert!(starts > 5_000);
        of_events(cp_time(&world).0, starts, us);
        assert_eq!(cp_time(&world).1, 0);
    }
    scenario.systems[0].cp.costs = Costs::default();
    assert_eq!(cp_time(&run(scenario)), (0, 0));
}

/// A machine of half the capability takes twice as long for CP's work, too.
#[test]
fn io_costs_follow_the_capability() {
    let mut scenario = busy_user(1_000.0, 0.0);
    scenario.warmup_s = 0.0;
    scenario.machine.capability = 1_000;
    scenario.systems[0].cp.costs = Costs {
        io_us: 14.0,
        ..Costs::default()
    };
    scenario.systems[0].commands = vec![Command {
        at_s: 0.0,
        action: Action::SetCapability { capability: 2_000 },
    }];
    let world = run(scenario);
    of_events(cp_time(&world).0, world.vcpus[0].counts.starts, 28.0);
}

/// Who faults pays for reading and deciphering pages; writing and enciphering those that leave is charged to nobody.
#[test]
fn pages_cost_with_their_cipher() {
    let mut scenario = busy_user(0.0, 500.0);
    scenario.systems[0].cp.costs = Costs {
        page_us: 2.0,
        encrypt_us: 1.5,
        decrypt_us: 1.0,
        ..Costs::default()
    };
    let world = run(scenario);
    let [read, written] = world.vcpus[0].counts.pages;
    assert!(read > 20_000 && read == written);
    let (charged, system) = cp_time(&world);
    of_events(charged, read / 8, 24.0);
    of_events(system, written / 8, 28.0);
}

#[test]
fn messages_cost_in_proportion_to_their_rate() {
    let mut scenario = busy_user(0.0, 0.0);
    scenario.systems[0].users[0].loads[0].message_rate = 1_000.0;
    scenario.systems[0].cp.costs.message_us = 50.0;
    let world = run(scenario);
    let (charged, _) = cp_time(&world);
    let part = charged as f64 / world.vcpus[0].times.emulation as f64;
    assert!((part - 0.05).abs() < 1e-4, "{part}");
}

/// A signal for each processor that was idle.
#[test]
fn signals_cost_where_processors_were_idle() {
    let mut own = load(Some(20.0));
    own.burst_ms = 1.0;
    let mut scenario = alone(1, vec![user("U", 100, 1, vec![own])], 10.0);
    scenario.systems[0].cp.costs.signal_us = 3.0;
    let world = run(scenario);
    let counts = world.cpus[0].counts;
    assert!(counts.dispatches > 1_000 && counts.slices > 0);
    of_events(cp_time(&world).1, counts.dispatches - counts.slices, 3.0);
}

/// On one core CP's data stay; on four chips they move, and farther cores make it dearer.
#[test]
fn shared_lines_cost_by_distance() {
    let charged = |cores: u32, line_us| {
        let users = (0..cores).map(|number| {
            let mut own = load(Some(40.0));
            own.burst_ms = 1.0;
            user(&format!("U{number}"), 100, 1, vec![own])
        });
        let mut scenario = alone(cores, users.collect(), 10.0);
        let costs = &mut scenario.systems[0].cp.costs;
        costs.lines = 10.0;
        costs.line_us = line_us;
        let world = run(scenario);
        let dispatches: u64 = world.cpus.iter().map(|cpu| cpu.counts.dispatches).sum();
        cp_time(&world).0 as f64 / dispatches as f64 / MICROSECOND as f64
    };
    assert_eq!(charged(1, [0.1, 0.2, 0.4]), 0.0);
    // Of 20 cores, 9 others are on the same chip and 10 on the other: 10 lines of 0.1 or 0.2 µs.
    let expected = (9.0 * 1.0 + 10.0 * 2.0) / 20.0;
    let near = charged(20, [0.1, 0.2, 0.4]);
    assert!(
        (near - expected).abs() < 0.05,
        "{near} µs for {expected} µs"
    );
    assert!(charged(60, [0.1, 0.2, 0.4]) > 1.2 * near);
}

/// Returns the CP time of a second of virtual time of 16 users on a switch, all with 1,000 packets of a kilobyte.
fn switching(layer: u8, nics: u32, list_lines: f64) -> f64 {
    let users: Vec<_> = (0..16)
        .map(|number| user(&format!("U{number}"), 100, 1, vec![load(None)]))
        .collect();
    let port = |user| Port {
        user,
        device: 0x600,
        nics,
        out_mib: 0.0,
        in_mib: 0.0,
        next_mib: 1_000_000.0 / 1_048_576.0,
    };
    let mut scenario = alone(16, users, 5.0);
    scenario.systems[0].switches = vec![Switch {
        name: "VSW1".into(),
        owner: "SYSTEM".into(),
        global: false,
        layer,
        controller: "DTCVSW1".into(),
        device: 0x0F00,
        packet_bytes: 1_000.0,
        discarded: 0.0,
        ports: (0..16).map(port).collect(),
    }];
    scenario.systems[0].cp.costs = Costs {
        packet_us: [3.0, 5.0],
        nic_us: 0.02,
        list_lines,
        line_us: [0.1, 0.2, 0.4],
        ..Costs::default()
    };
    let world = run(scenario);
    let emulation: u64 = world.vcpus.iter().map(|vcpu| vcpu.times.emulation).sum();
    cp_time(&world).0 as f64 / emulation as f64
}

#[test]
fn packets_cost_by_layer_and_length_of_list() {
    let close = |found: f64, us: f64| {
        let expected = us * 1_000.0 / 1e6;
        assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
    };
    close(switching(2, 10, 1.0), 3.0);
    // Half of the list of 160 and 320 NICs.
    close(switching(3, 10, 0.0), 5.0 + 80.0 * 0.02);
    close(switching(3, 20, 0.0), 5.0 + 160.0 * 0.02);
}

/// Sixteen users ask for more time of the first lines than there is: each gets a sixteenth of it.
#[test]
fn searches_take_turns() {
    let alone = switching(3, 1, 0.0);
    let few = switching(3, 1, 1.0) - alone;
    let many = switching(3, 1, 2_000.0) - alone;
    // A line comes from the same chip or another one, 0.1 to 0.2 µs for 1,000 packets in a second; slices end
    // together, so up to 16 processors ask at once.
    assert!((0.000_1..16.0 * 0.000_2).contains(&few), "{few}");
    // 0.2 to 0.4 s of fetching for a second of virtual time, all 16 in turn.
    assert!(many > 2.0, "{many}");
}

#[test]
fn transport_mode_turns_minidisk_cache_off() {
    let avoided = |transport, cached| {
        let mut scenario = busy_user(1_000.0, 0.0);
        scenario.systems[0].users[0].loads[0].cached_pct = 50.0;
        scenario.systems[0].volumes[0].transport_pct = transport;
        scenario.systems[0].cp.transport_cached = cached;
        run(scenario).vcpus[0].counts.avoided
    };
    assert!(avoided(None, false) > 1_000);
    assert_eq!(avoided(Some(100.0), false), 0);
    assert!(avoided(Some(100.0), true) > 1_000);
}

/// PR/SM looks at all cores that share physical ones to place one of them, and at none for one with its own.
#[test]
fn placing_shared_cores_costs_by_their_number() {
    let each = |cores: u32, vertical: bool| {
        let mut own = load(Some(20.0));
        own.burst_ms = 1.0;
        let users = (0..cores).map(|at| user(&format!("U{at}"), 100, 1, vec![own.clone()]));
        let mut lpar = partition("LP1", cores, 100, f64::from(cores));
        lpar.vertical = vertical;
        lpar.shares[0].highs = if vertical { cores } else { 0 };
        let systems = vec![system("SYS1", 0, users.collect())];
        let mut scenario = scenario(8, vec![lpar], systems, 10.0);
        scenario.machine.dispatch_search_us = 2.0;
        let world = run(scenario);
        let management: u64 = world.physical.iter().map(|core| core.management).sum();
        let dispatches: u64 = world.cores.iter().map(|core| core.dispatches).sum();
        assert!(dispatches > 1_000);
        management as f64 / dispatches as f64 / MICROSECOND as f64
    };
    assert_eq!(each(3, false), 6.0);
    assert_eq!(each(6, false), 12.0);
    assert_eq!(each(6, true), 0.0);
}
