//! Tests of volumes and aliases against queueing theory and published cases.

mod builders;

use builders::{alone, cp, load, run, unit, user, volume};
use zlens_sim::event_queue::{EventQueue, Schedule};
use zlens_sim::io::{Io, Request};
use zlens_sim::random::{DurationDistribution, Stream};
use zlens_sim::scenario::{Scenario, Step, Transaction};
use zlens_sim::storage_servers::StorageServers;
use zlens_sim::time::{MICROSECOND, SECOND};
use zlens_sim::world::World;

/// Simulates requests to a volume at a given rate; returns the mean wait in microseconds.
fn wait_at(aliases: u32, service_us: f64, rate: f64, seed: u64) -> (f64, Io) {
    let mut io = Io::new(
        &cp(),
        &[unit(aliases, None)],
        &[volume("V", false, service_us, 1.0)],
        seed,
        "S",
    );
    let mut servers = StorageServers::default();
    let slots = io.slots();
    let mut events = EventQueue::new(0, slots + 1);
    let between = DurationDistribution::new(1e6 / rate * MICROSECOND as f64, 1.0);
    let mut stream = Stream::new(seed, "arrivals");
    events.set(slots as u32, 1);
    let mut last = 0;
    while let Some((now, slot)) = events.first() {
        if now > 500 * SECOND {
            break;
        }
        last = now;
        let arrives = slot as usize == slots;
        if arrives {
            events.set(slot, now + between.sample(&mut stream));
        }
        let mut schedule = Schedule::new(&mut events, 0);
        if arrives {
            let request = Request {
                token: 0,
                pages: 0,
                write: None,
            };
            io.start(now, 0, request, &mut servers, &mut schedule);
        } else {
            io.fire(now, slot as usize, &mut servers, &mut schedule);
        }
        io.check().expect("laws hold");
    }
    io.settle(last);
    let counts = io.volume(0);
    let mean = counts.queued as f64 / counts.operations as f64 / MICROSECOND as f64;
    (mean, io)
}

#[test]
fn m_m_1_and_m_m_c_of_base_and_aliases() {
    // A volume with c - 1 aliases of its own is M/M/c; Erlang's C by its recurrence.
    for (aliases, busy) in [(0, 0.5), (0, 0.8), (1, 0.7), (3, 0.8)] {
        let servers = f64::from(aliases + 1);
        let service = 1_000.0;
        let rate = busy * servers / service * 1e6;
        let offered = busy * servers;
        let mut blocking = 1.0;
        for k in 1..=aliases + 1 {
            blocking = offered * blocking / (f64::from(k) + offered * blocking);
        }
        let wait = blocking / (1.0 - busy * (1.0 - blocking)) * service / (servers * (1.0 - busy));
        let waits: Vec<_> = (1..=8)
            .map(|seed| wait_at(aliases, service, rate, seed).0)
            .collect();
        let mean = waits.iter().sum::<f64>() / 8.0;
        let variance = waits.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / 7.0;
        let half = 5.408 * (variance / 8.0).sqrt();
        assert!(
            (mean - wait).abs() < half && half < 0.35 * wait,
            "{mean} ± {half} for {wait} with {aliases} aliases at {busy}"
        );
    }
}

/// Runs a closed load of many customers on paging volumes and minidisks of one control unit.
fn saturated(shares: Option<[u32; 2]>, customers: [u32; 2]) -> World {
    let mut scenario: Scenario = alone(1, vec![user("U", 100, 1, vec![load(Some(0.0))])], 20.0);
    let system = &mut scenario.systems[0];
    system.control_units = vec![unit(16, shares)];
    system.volumes = vec![
        volume("DATA", false, 2_000.0, 1.0),
        volume("PAGE", true, 2_000.0, 1.0),
    ];
    for (number, count) in customers.into_iter().enumerate() {
        system.transactions.push(Transaction {
            name: format!("T{number}"),
            customers: Some(count),
            rate: None,
            rate_variation: 1.0,
            most: 0,
            think_s: 0.0,
            think_variation: 0.0,
            steps: vec![Step::Io {
                users: vec![0],
                volumes: vec![number as u32],
                count: 1,
            }],
            profile: Vec::new(),
        });
    }
    let mut world = run(scenario);
    world.io[0].settle(world.now);
    world
}

fn in_use(world: &World) -> [f64; 2] {
    let elapsed = (world.now - (world.begin - 10 * SECOND)) as f64;
    world.io[0].pool(0).in_use.map(|sum| sum as f64 / elapsed)
}

/// 16 aliases with shares 20 and 140: 2 and 14 if both uses need more.
#[test]
fn aliases_follow_their_shares() {
    let world = saturated(Some([20, 140]), [60, 60]);
    let [minidisk, paging] = in_use(&world);
    assert!(
        (minidisk - 2.0).abs() < 0.1 && (paging - 14.0).abs() < 0.1,
        "{minidisk} {paging}"
    );
}

#[test]
fn unused_aliases_are_given_to_other_use() {
    // Four paging customers keep their base device and three aliases busy.
    let world = saturated(Some([20, 140]), [60, 4]);
    let [minidisk, paging] = in_use(&world);
    assert!(paging < 3.05 && minidisk > 12.9, "{minidisk} {paging}");
}

#[test]
fn without_shares_aliases_are_first_come_first_served() {
    let [minidisk, paging] = in_use(&saturated(None, [60, 60]));
    assert!((minidisk - paging).abs() < 1.5, "{minidisk} {paging}");
}

/// Serv = Pend + Disc + Conn, Busy = Rate x Serv, and Queued = Rate x (Resp - Serv), exactly.
#[test]
fn published_identities_hold() {
    let world = saturated(Some([20, 140]), [10, 10]);
    for number in 0..2 {
        let counts = world.io[0].volume(number);
        assert_eq!(counts.disconnect, 0);
        assert!(counts.pending + counts.connect > 0);
        assert!(counts.alias_uses < counts.operations);
        assert!(counts.hits == counts.reads && counts.reads < counts.operations);
    }
    world.io[0].check().expect("laws hold");
}
