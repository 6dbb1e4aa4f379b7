//! Tests of counters: effects of footprint, sharing and distance, and relations between counters.

mod builders;

use builders::{CACHES, COSTS};
use proptest::prelude::*;
use zlens_sim::counters::Counters;
use zlens_sim::hardware::{Role, Side, Table};
use zlens_sim::profile::Profile;
use zlens_sim::run_segment::{Distance, RunSegment, Sharers};
use zlens_sim::scenario::Memory;
use zlens_sim::time::{MICROSECOND, Ticks};

const TABLES: [&str; 4] = [
    include_str!("expected/counters_z14.json"),
    include_str!("expected/counters_z15.json"),
    include_str!("expected/counters_z16.json"),
    include_str!("expected/counters_z17.json"),
];
const MEMORY: Memory = Memory {
    instructions_per_cycle: 1.0,
    footprint_mib: 64.0,
    shared_pct: 0.0,
    l1_misses: 3.0,
    crypto_rate: 0.0,
    problem_state_pct: 60.0,
};
const MEGAHERTZ: u32 = 5_200;
const MILLISECOND: Ticks = 1_000 * MICROSECOND;

fn table(text: &str) -> Table {
    serde_json::from_str(text).expect("a table")
}

fn counters(table: &Table, core_of: &[u32]) -> Counters {
    Counters::new(table, &CACHES, &COSTS, MEGAHERTZ, 4, core_of)
}

fn segment(memory: &Profile, ticks: Ticks) -> RunSegment<'_> {
    RunSegment {
        memory,
        ticks,
        work: ticks,
        problem: ticks / 2,
        both: 0,
        moved: None,
        other_work_on_chip: 0.0,
        sharers: Sharers::default(),
    }
}

/// Returns the counters of a thread by number.
fn values(counters: &Counters, table: &Table, cpu: usize) -> Vec<u64> {
    let mut values = vec![0; 512];
    for (at, set) in table.sets.iter().enumerate() {
        let found: Vec<u64> = counters.set(cpu, at).collect();
        assert_eq!(found.len(), set.count as usize);
        values[set.first as usize..][..found.len()].copy_from_slice(&found);
    }
    values
}

fn cpi(values: &[u64]) -> f64 {
    values[0] as f64 / values[1] as f64
}

fn sourced(values: &[u64], table: &Table) -> u64 {
    let lines = |role| matches!(role, Role::Sourced(..));
    let numbers = table.counters.iter().filter(|one| lines(one.role));
    numbers.map(|one| values[one.number as usize]).sum()
}

/// Returns the profile of references to memory on a z15.
fn on_z15(memory: &Memory) -> Profile {
    counters(&table(TABLES[1]), &[]).model.profile(memory)
}

/// Returns the counters of a z15 after one second of this work, in segments of a millisecond.
fn second(segment: RunSegment) -> Vec<u64> {
    let table = table(TABLES[1]);
    let mut counters = counters(&table, &[0]);
    for _ in 0..1_000 {
        counters.run(0, segment);
    }
    values(&counters, &table, 0)
}

/// Returns the shares of L1 misses on a z15 that came from L2, L3, local and remote L4, and memory, in percent.
fn shares(values: &[u64]) -> [f64; 5] {
    let numbers: [&[usize]; 5] = [
        &[133, 136],
        &[144, 146, 162, 164],
        &[147, 149, 156, 165, 167, 174, 150, 152, 158, 168, 170],
        &[153, 155, 157, 171, 173, 175],
        &[145, 148, 151, 154, 163, 166, 169, 172],
    ];
    let misses = (values[2] + values[4]) as f64;
    numbers.map(|level| 100.0 * level.iter().map(|at| values[*at]).sum::<u64>() as f64 / misses)
}

#[test]
fn instructions_follow_from_work_and_cost_of_misses() {
    // A footprint that fits into the L1 cache has only misses from the core's next cache.
    let small = Memory {
        footprint_mib: 0.2,
        ..MEMORY
    };
    let values = second(segment(&on_z15(&small), MILLISECOND));
    assert_eq!(values[0], 5_200_000_000);
    assert_eq!(values[32], 2_600_000_000);
    assert!((cpi(&values) - 1.3).abs() < 1e-6);
    assert!((values[33] as f64 / values[1] as f64 - 0.5).abs() < 1e-6);
    assert!(((values[2] + values[4]) as f64 / values[1] as f64 - 0.03).abs() < 1e-6);
    assert!((values[2] as f64 / (values[2] + values[4]) as f64 - 0.35).abs() < 1e-6);
    assert_eq!(shares(&values), [100.0, 0.0, 0.0, 0.0, 0.0]);
    // Finite CPI is the cost of the misses, two of which are outstanding at once.
    assert!((values[143] as f64 / values[1] as f64 - 0.3).abs() < 1e-6);
    assert_eq!(values[3] + values[5], 2 * values[143]);
    // Counters without a rule.
    assert_eq!(
        (values[64], values[76], values[224], values[243]),
        (0, 0, 0, 0)
    );
}

#[test]
fn footprint_beyond_cache_costs_time() {
    let mut before = 0.0;
    for (footprint_mib, levels) in [(4.0, 1), (100.0, 2), (800.0, 3), (10_000.0, 4)] {
        let memory = Memory {
            footprint_mib,
            ..MEMORY
        };
        let values = second(segment(&on_z15(&memory), MILLISECOND));
        assert!(cpi(&values) > before, "{footprint_mib}");
        before = cpi(&values);
        let [core, chip, drawer, machine, memory] = shares(&values);
        let from = [core, chip, drawer, memory];
        assert_eq!(from.iter().filter(|share| **share > 0.0).count(), levels);
        assert_eq!(machine, 0.0);
    }
    // By the law, an eighth of the cache has nearly 2.8 times the misses of a far larger footprint.
    let huge = Memory {
        footprint_mib: 1e9,
        ..MEMORY
    };
    let [_, chip, drawer, _, memory] = shares(&second(segment(&on_z15(&huge), MILLISECOND)));
    let beyond_core = chip + drawer + memory;
    assert!((beyond_core / 100.0 - (0.25_f64 / 8.0).sqrt()).abs() < 1e-3);
    assert!((memory / 100.0 - (0.25_f64 / (256.0 + 960.0)).sqrt()).abs() < 1e-3);
}

#[test]
fn other_work_on_chip_uses_its_cache() {
    let memory = Memory {
        footprint_mib: 200.0,
        ..MEMORY
    };
    let found = [0.0, 500.0, 5_000.0].map(|other_work_on_chip| {
        let values = second(RunSegment {
            other_work_on_chip,
            ..segment(&on_z15(&memory), MILLISECOND)
        });
        let [_, _, drawer, _, memory] = shares(&values);
        assert_eq!(other_work_on_chip > 0.0, drawer > 0.0);
        [cpi(&values), memory]
    });
    assert!(
        found.is_sorted_by(|one, other| one[0] < other[0] && one[1] < other[1]),
        "{found:?}"
    );
}

#[test]
fn shared_lines_come_from_location_of_sharers() {
    let memory = Memory {
        shared_pct: 20.0,
        ..MEMORY
    };
    let alone = second(segment(&on_z15(&memory), MILLISECOND));
    let near = second(RunSegment {
        sharers: Sharers::new([3, 0, 0]),
        ..segment(&on_z15(&memory), MILLISECOND)
    });
    let drawer = second(RunSegment {
        sharers: Sharers::new([3, 4, 0]),
        ..segment(&on_z15(&memory), MILLISECOND)
    });
    let machine = second(RunSegment {
        sharers: Sharers::new([3, 4, 8]),
        ..segment(&on_z15(&memory), MILLISECOND)
    });
    let cpis = [&alone, &near, &drawer, &machine].map(|values| cpi(values));
    assert!(cpis.is_sorted_by(|one, other| one < other), "{cpis:?}");
    assert_eq!([146, 149, 155].map(|at| alone[at]), [0; 3]);
    // Another core last changed three of four shared lines.
    let misses = (near[2] + near[4]) as f64;
    assert!(((near[146] + near[164]) as f64 / misses - 0.15).abs() < 1e-6);
    assert!(drawer[149] > 0 && drawer[155] == 0);
    let misses = (machine[2] + machine[4]) as f64;
    assert!(((machine[155] + machine[173]) as f64 / misses - 0.2 * 8.0 / 16.0).abs() < 1e-6);
}

#[test]
fn moves_cost_by_distance_until_cache_is_filled() {
    let mut before = cpi(&second(segment(&on_z15(&MEMORY), MILLISECOND)));
    for distance in Distance::ALL {
        let moved = second(RunSegment {
            moved: Some(distance),
            ..segment(&on_z15(&MEMORY), MILLISECOND)
        });
        assert!(cpi(&moved) > before, "{distance:?}");
        before = cpi(&moved);
    }
    // A move reloads the reused tenth of the core's cache, in any number of segments.
    let table = table(TABLES[1]);
    for segments in [1_u64, 1_000] {
        let mut counters = counters(&table, &[0]);
        for nth in 0..segments {
            let moved = (nth == 0).then_some(Distance::Machine);
            counters.run(
                0,
                RunSegment {
                    moved,
                    ..segment(&on_z15(&MEMORY), 1_000 * MILLISECOND / segments)
                },
            );
        }
        let values = values(&counters, &table, 0);
        let brought: u64 = [153, 157, 171, 175].map(|at| values[at]).iter().sum();
        assert!(brought.abs_diff(8 * 4_096 / 10) <= 1, "{brought}");
        assert_eq!(sourced(&values, &table), values[2] + values[4]);
    }
}

#[test]
fn threads_of_core_share_it() {
    let alone = second(segment(&on_z15(&MEMORY), MILLISECOND));
    // Two threads do 1.4 times the work of one.
    let both = second(RunSegment {
        work: MILLISECOND * 7 / 10,
        both: MILLISECOND,
        ..segment(&on_z15(&MEMORY), MILLISECOND)
    });
    let instructions = both[1] as f64 / alone[1] as f64;
    assert!((instructions - 0.7).abs() < 1e-6, "{instructions}");
    assert!(shares(&both)[0] < shares(&alone)[0]);
    assert!(both[129] as f64 / both[1] as f64 > alone[129] as f64 / alone[1] as f64);
    let l1_misses = |values: &[u64]| (values[2] + values[4]) as f64 / values[1] as f64;
    assert!((l1_misses(&both) / l1_misses(&alone) - 2_f64.sqrt()).abs() < 1e-6);
    // Even without lost work, the caches have less space.
    let lucky = second(RunSegment {
        both: MILLISECOND,
        ..segment(&on_z15(&MEMORY), MILLISECOND)
    });
    assert!(cpi(&lucky) > cpi(&alone) && cpi(&lucky) < cpi(&both));

    let table = table(TABLES[1]);
    let mut counters = counters(&table, &[0, 0, 1]);
    let profile = on_z15(&MEMORY);
    let shared = |ticks, both| RunSegment {
        both,
        ..segment(&profile, ticks)
    };
    counters.run(0, shared(700, 300));
    counters.run(1, shared(300, 300));
    counters.run_core(0, 400, 300);
    let [first, second, other] = [0, 1, 2].map(|cpu| values(&counters, &table, cpu));
    assert_eq!(first[448..450], second[448..450]);
    assert_eq!(other[448..450], [0, 0]);
    // A tick has 1.27 cycles.
    assert_eq!((first[448], first[449]), (507, 380));
    assert!((first[0] + second[0]).abs_diff(first[448] + 2 * first[449]) <= 2);
}

#[test]
fn cryptographic_functions_wait_for_other_thread() {
    let memory = Memory {
        crypto_rate: 100_000.0,
        ..MEMORY
    };
    let alone = second(segment(&on_z15(&memory), MILLISECOND));
    assert!(alone[76].abs_diff(100_000) <= 1);
    assert_eq!((alone[77], alone[78], alone[79]), (500 * alone[76], 0, 0));
    let both = second(RunSegment {
        both: MILLISECOND,
        ..segment(&on_z15(&memory), MILLISECOND)
    });
    // The coprocessor is busy for a hundredth of the time, and half of a function remains.
    assert!((both[78] as f64 / both[76] as f64 - 0.009_615).abs() < 1e-5);
    assert_eq!(both[79], 250 * both[78]);
    // Its work is limited by the elapsed time.
    let endless = Memory {
        crypto_rate: 1e12,
        ..MEMORY
    };
    let values = second(segment(&on_z15(&endless), MILLISECOND));
    assert!(values[77] <= values[0] && values[77] > values[0] / 100 * 99);
}

#[test]
fn counts_are_platform_independent() {
    let memory = Memory {
        shared_pct: 10.0,
        footprint_mib: 3_000.0,
        crypto_rate: 777.0,
        ..MEMORY
    };
    let values = second(RunSegment {
        work: 3_000_000,
        both: 1_234_567,
        moved: Some(Distance::Drawer),
        other_work_on_chip: 345.6,
        sharers: Sharers::new([5, 7, 11]),
        ..segment(&on_z15(&memory), MILLISECOND)
    });
    let numbers = [0, 1, 2, 4, 33, 76, 129, 133, 143, 144, 147, 155, 166];
    let expected = [
        5_200_000_000,
        1_693_150_399,
        20_281_096,
        37_664_907,
        846_575_199,
        569,
        128_309,
        26_124_800,
        2_833_341_137,
        5_081_424,
        872_762,
        1_726_308,
        25_248,
    ];
    assert_eq!(numbers.map(|at| values[at]), expected);
}

type Anything = (Ticks, f64, f64, f64, Option<u8>, f64, [u32; 3], u8);

fn anything() -> impl Strategy<Value = Anything> {
    (
        prop_oneof![0_u64..10, 0_u64..100 * MILLISECOND],
        0.0..1.0,
        0.0..1.0,
        0.0..1.0,
        proptest::option::of(0_u8..3),
        prop_oneof![Just(0.0), 0.0..5_000.0],
        [0_u32..20, 0_u32..20, 0_u32..100],
        0_u8..3,
    )
}

fn memory() -> impl Strategy<Value = Memory> {
    let footprint = prop_oneof![0.0..1.0, 0.0..50_000.0];
    let rates = (0.1..4.0, footprint, 0.0..100.0, 0.0..20.0, 0.0..1e6);
    rates.prop_map(
        |(instructions_per_cycle, footprint_mib, shared_pct, l1_misses, crypto_rate)| Memory {
            instructions_per_cycle,
            footprint_mib,
            shared_pct,
            l1_misses,
            crypto_rate,
            problem_state_pct: 60.0,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn counter_identities_hold(
        generation in 0_usize..4,
        kinds in prop::array::uniform3(memory()),
        segments in prop::collection::vec(anything(), 1..40),
    ) {
        let table = table(TABLES[generation]);
        let most = kinds.iter().map(|one| one.instructions_per_cycle).fold(0.0, f64::max);
        let mut counters = counters(&table, &[0]);
        let kinds = kinds.map(|memory| counters.model.profile(&memory));
        let (mut before, mut total) = (values(&counters, &table, 0), 0);
        for (ticks, work, problem, both, moved, other_work_on_chip, sharers, kind) in segments {
            let part = |part: f64| (ticks as f64 * part) as Ticks;
            counters.run(0, RunSegment {
                memory: &kinds[usize::from(kind)],
                ticks,
                work: part(work),
                problem: part(problem),
                both: part(both),
                moved: moved.map(|at| Distance::ALL[usize::from(at)]),
                other_work_on_chip,
                sharers: Sharers::new(sharers),
            });
            total += ticks;
            let now = values(&counters, &table, 0);
            prop_assert!(now.iter().zip(&before).all(|(now, before)| now >= before));
            prop_assert_eq!(now[0], total * u64::from(MEGAHERTZ) / MICROSECOND);
            prop_assert!(now[32] <= now[0]);
            prop_assert!(now[33] <= now[1]);
            prop_assert!(now[1] as f64 <= now[0] as f64 * most + 1.0);
            prop_assert_eq!(sourced(&now, &table), now[2] + now[4]);
            prop_assert!(now[143] <= now[0] + 1);
            prop_assert!(now[77] <= now[0] + 500);
            prop_assert!(now[78] <= now[76] + 1 && now[79] <= now[77] + 500);
            for counter in &table.counters {
                if let Role::Sourced(Side::Instruction, _) = counter.role {
                    prop_assert!(now[counter.number as usize] <= now[2]);
                }
            }
            before = now;
        }
    }

    #[test]
    fn thread_counts_are_independent_of_others(
        kinds in prop::array::uniform2(memory()),
        segments in prop::collection::vec((any::<bool>(), any::<bool>(), 0_u32..3, 0_u32..3), 1..60),
    ) {
        let table = table(TABLES[1]);
        let mut alone = counters(&table, &[0, 1]);
        let mut among = alone.clone();
        let kinds = kinds.map(|memory| alone.model.profile(&memory));
        for (other, kind, work, sharers) in segments {
            let segment = RunSegment {
                other_work_on_chip: f64::from(work) * 300.0,
                sharers: Sharers::new([sharers, 1, sharers]),
                ..segment(&kinds[usize::from(kind)], MILLISECOND)
            };
            among.run(usize::from(other), segment);
            if !other {
                alone.run(0, segment);
            }
        }
        prop_assert_eq!(values(&alone, &table, 0), values(&among, &table, 0));
    }
}
