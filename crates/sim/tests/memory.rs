//! Tests of frames and references, against exact formulas and a brute-force list of least recent use.

mod builders;

use std::collections::BTreeMap;

use builders::{alone, load, references, run, user};
use zlens_sim::random::Stream;
use zlens_sim::scenario::*;
use zlens_sim::time::SECOND;
use zlens_sim::world::World;

/// References per second of virtual CPU time.
const RATE: f64 = 20_000.0;
/// Pages of a MiB.
const PAGES: f64 = 256.0;

fn pattern(pattern: Pattern) -> References {
    References {
        pattern,
        ..references(RATE)
    }
}

/// A user that always has work, with a working set in MiB.
fn guest(name: &str, mib: f64, references: References) -> User {
    let mut guest = user(name, 100, 1, vec![load(None)]);
    guest.storage_mib = mib;
    guest.working_set_mib = mib;
    guest.references = references;
    guest
}

/// A processor for each guest, in some MiB of frames, with fast paging volumes and without cost of CP.
fn constrained(storage_mib: f64, guests: Vec<User>, seconds: f64) -> Scenario {
    let mut scenario = alone(guests.len() as u32, guests, seconds);
    let system = &mut scenario.systems[0];
    system.storage_mib = storage_mib;
    system.faults = true;
    system.cp.nonpageable_pct = 0.0;
    system.cp.available_pct = [0.0, 0.0];
    system.cp.block_pages = 1;
    system.cp.steal_s = 0.01;
    system.cp.early_writes_pct = 0.0;
    system.control_units.push(ControlUnit {
        ssid: 1,
        aliases: 0,
        shares: None,
        chpids: Vec::new(),
        others_pct: 0.0,
        cache_mib: None,
        ranks: None,
        server: 0,
    });
    for name in ["PAGE01", "PAGE02"] {
        system.volumes.push(Volume {
            name: name.into(),
            device: 0x0100,
            control_unit: 0,
            paging: true,
            slots: 1_000_000,
            pending_ms: 0.0,
            connect_ms: 0.01,
            connect_page_ms: None,
            miss_ms: 0.0,
            read_hit_pct: 100.0,
            read_pct: 50.0,
            variation: 0.0,
            transport_pct: None,
            records: 1.0,
            operation_kib: 4.0,
            spool_slots: 0,
            spool_used_pct: 0.0,
            seek_cylinders: None,
            links: 0,
            shared: None,
            conflicts_pct: 0.0,
            offline: Vec::new(),
        });
    }
    scenario
}

/// Faults per reference of each guest in the second half of a scenario.
fn fault_ratios(mut scenario: Scenario) -> Vec<f64> {
    let half = scenario.seconds / 2.0;
    scenario.seconds = half;
    let users = scenario.systems[0].users.clone();
    let mut world = run(scenario);
    let totals = |world: &World| -> Vec<(u64, f64)> {
        let of = |vcpu: &zlens_sim::state::Vcpu| {
            (
                vcpu.counts.faults,
                vcpu.times.emulation as f64 / SECOND as f64,
            )
        };
        world.vcpus.iter().map(of).collect()
    };
    let before = totals(&world);
    world.run(world.now + (half * SECOND as f64) as u64);
    world.settle_all();
    totals(&world)
        .iter()
        .zip(before)
        .zip(users)
        .map(|((after, before), user)| {
            (after.0 - before.0) as f64 / (after.1 - before.1) / user.references.rate
        })
        .collect()
}

/// Misses per reference of a list of least recent use, by brute force: references are independent, with a weight for
/// each page.
fn least_recent(weights: &[f64], frames: usize) -> f64 {
    let mut stream = Stream::new(7, "references");
    let mut sums = Vec::with_capacity(weights.len());
    let mut sum = 0.0;
    for weight in weights {
        sum += weight;
        sums.push(sum);
    }
    let mut last = vec![0_u64; weights.len()];
    let mut list = BTreeMap::new();
    let (warm, all) = (100_000, 400_000);
    let mut misses = 0;
    for time in 1..=all {
        let at = stream.unit() * sum;
        let page = sums.partition_point(|sum| *sum < at).min(weights.len() - 1);
        if last[page] == 0 || list.remove(&last[page]).is_none() {
            misses += u64::from(time > warm);
            if list.len() == frames {
                list.pop_first();
            }
        }
        last[page] = time;
        list.insert(time, page);
    }
    misses as f64 / (all - warm) as f64
}

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    println!("{what}: {found:.5}, expected {expected:.5}");
    assert!(
        (found - expected).abs() <= tolerance * expected,
        "{what}: {found}, expected {expected}"
    );
}

/// Frames that pages can be in: without those of the list of available frames, of which half is used on average.
fn usable(mib: f64) -> f64 {
    mib * PAGES - 3.0
}

#[test]
fn uniform_references_miss_what_is_out() {
    for mib in [4.0, 8.0, 12.0] {
        let ratio = fault_ratios(constrained(
            mib,
            vec![guest("G", 16.0, pattern(Pattern::Uniform))],
            12.0,
        ))[0];
        close(ratio, 1.0 - usable(mib) / (16.0 * PAGES), 0.02, "uniform");
    }
}

#[test]
fn hot_set_faults_as_list_of_least_recent_use() {
    let pages = 16.0 * PAGES;
    let hot = (0.2 * pages) as usize;
    let weights: Vec<f64> = (0..pages as usize)
        .map(|page| {
            if page < hot {
                0.8 / hot as f64
            } else {
                0.2 / (pages as usize - hot) as f64
            }
        })
        .collect();
    for mib in [2.0, 4.0, 8.0, 12.0] {
        let ratio = fault_ratios(constrained(
            mib,
            vec![guest("G", 16.0, pattern(Pattern::HotSet))],
            12.0,
        ))[0];
        let exact = least_recent(&weights, usable(mib) as usize);
        close(ratio, exact, 0.05, "hot set");
    }
}

#[test]
fn zipf_faults_as_list_of_least_recent_use() {
    let weights: Vec<f64> = (1..=(16.0 * PAGES) as usize)
        .map(|rank| 1.0 / rank as f64)
        .collect();
    for mib in [1.0, 4.0, 8.0, 12.0] {
        let ratio = fault_ratios(constrained(
            mib,
            vec![guest("G", 16.0, pattern(Pattern::Zipf))],
            12.0,
        ))[0];
        let exact = least_recent(&weights, usable(mib) as usize);
        close(ratio, exact, 0.05, "Zipf");
    }
}

#[test]
fn sweep_faults_at_each_page_unless_all_fit() {
    for (mib, expected) in [(15.0, 1.0), (17.0, 0.0)] {
        let ratio = fault_ratios(constrained(
            mib,
            vec![guest("G", 16.0, pattern(Pattern::Sweep))],
            8.0,
        ))[0];
        close(ratio, expected, 0.01, "sweep");
    }
}

#[test]
fn demand_scan_takes_busier_pages_than_aging_list() {
    let scenario = constrained(8.0, vec![guest("G", 16.0, pattern(Pattern::HotSet))], 12.0);
    let aging = fault_ratios(scenario.clone())[0];
    let mut scan = scenario;
    scan.systems[0].cp.selection = Selection::Scan;
    scan.systems[0].cp.reorder_s = 0.03;
    let scan = fault_ratios(scan)[0];
    // Random replacement is the worst that it can be: each class is out in proportion to its faults.
    println!("aging list {aging}, demand scan {scan}");
    assert!(scan > 1.05 * aging);
}

#[test]
fn reserved_guest_keeps_its_pages() {
    let mut guests = vec![
        guest("KEPT", 8.0, references(RATE / 100.0)),
        guest("BUSY", 32.0, references(RATE)),
    ];
    let without = fault_ratios(constrained(16.0, guests.clone(), 12.0))[0];
    guests[0].reserve_mib = 8.0;
    let scenario = constrained(16.0, guests, 12.0);
    let with = fault_ratios(scenario.clone())[0];
    assert_eq!(with, 0.0);
    assert!(without > 0.5, "{without}");
    // Beyond the system's limit nothing is reserved.
    let mut limited = scenario;
    limited.systems[0].cp.reserve_limit_mib = Some(4.0);
    let limited = fault_ratios(limited)[0];
    close(limited, 0.5, 0.05, "half reserved");
}

#[test]
fn nothing_is_paged_while_frames_suffice() {
    let guests = vec![
        guest("A", 500.0, references(RATE)),
        guest("B", 500.0, references(RATE)),
    ];
    let world = run(constrained(16_384.0, guests, 60.0));
    assert!(world.vcpus.iter().all(|vcpu| vcpu.counts.faults == 0));
    assert!((0..2).all(|volume| world.io[0].volume(volume).operations == 0));
}
