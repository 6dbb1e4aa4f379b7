//! Tests of parking against the solver's rules and measurements.

use proptest::prelude::*;
use serde::Deserialize;
use zlens_sim::random::Stream;
use zlens_sim::scenario::{Unparking, UnparkingModel};
use zlens_sim::unpark_policy::{Cores, Observation, PeerPartition, Unparker};

const MODELS: [UnparkingModel; 3] = [
    UnparkingModel::Large,
    UnparkingModel::Medium,
    UnparkingModel::Small,
];

/// A partition and the decision by the solver's rules, from `tests/models/test_unparking_simulated.py`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    highs: u32,
    mediums: u32,
    lows: u32,
    medium: f64,
    weight: f64,
    used: f64,
    cap: Option<f64>,
    others: Vec<[f64; 4]>,
    factor: f64,
    base: f64,
    excess_pct: Option<f64>,
    pad: f64,
    pad_beyond_entitlement: bool,
    low_powered: f64,
    lows_evenly: bool,
    unparked: [u32; 3],
    alone: u32,
    entitlement: u32,
    projection: u32,
    excess: u32,
}

fn rules(model: UnparkingModel) -> Unparking {
    Unparking {
        active: true,
        model,
        excess_pct: Some(70.0),
        global_performance_data: true,
        pad_pct: 100.0,
        pad_beyond_entitlement: false,
        projection_factor: 1.18,
        projection_base_pct: 95.0,
        low_powered_pct: 50.0,
        lows_evenly: false,
    }
}

const fn other([weight, entitlement, used, demand]: [f64; 4]) -> PeerPartition {
    PeerPartition {
        weight,
        entitlement,
        used,
        demand,
    }
}

fn highs(count: u32, used: f64) -> Observation<'static> {
    Observation {
        cores: Cores {
            highs: count,
            mediums: 0,
            lows: 0,
            medium: 0.0,
        },
        weight: 100.0,
        used,
        cap: None,
        others: &[],
    }
}

#[test]
fn policy_agrees_with_solver() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("expected/unparking.json")).expect("cases");
    assert!(cases.len() >= 300);
    for (at, case) in cases.iter().enumerate() {
        let others: Vec<PeerPartition> = case.others.iter().copied().map(other).collect();
        let seen = Observation {
            cores: Cores {
                highs: case.highs,
                mediums: case.mediums,
                lows: case.lows,
                medium: case.medium,
            },
            weight: case.weight,
            used: case.used,
            cap: case.cap,
            others: &others,
        };
        let decide = |model, global_performance_data| {
            let rules = Unparking {
                active: true,
                model,
                excess_pct: case.excess_pct,
                global_performance_data,
                pad_pct: case.pad,
                pad_beyond_entitlement: case.pad_beyond_entitlement,
                projection_factor: case.factor,
                projection_base_pct: case.base,
                low_powered_pct: case.low_powered,
                lows_evenly: case.lows_evenly,
            };
            Unparker::new(&rules, others.len()).decide(&seen)
        };
        let decided = MODELS.map(|model| decide(model, true));
        assert_eq!(decided.map(|one| one.unparked), case.unparked, "case {at}");
        for one in decided {
            assert_eq!(
                (one.entitlement, one.projection, one.excess),
                (case.entitlement, case.projection, case.excess),
                "case {at}"
            );
            assert_eq!(one.online, case.highs + case.mediums + case.lows);
            assert_eq!(f64::from(one.cap), case.cap.unwrap_or(0.0) * 100.0);
        }
        let alone = MODELS.map(|model| decide(model, false));
        assert_eq!(alone.map(|one| one.unparked), [case.alone; 3], "case {at}");
        assert_eq!(alone[0].excess, 0);
    }
}

/// IBM, "Eighty Logical Processors", Tables 9 and 10 (UNPARKING SMALL): logical processors, their average
/// utilization, and the average number unparked.
#[test]
fn unparked_cores_equal_measured() {
    let rows = [
        (16, 64.7, 13.4),
        (32, 27.5, 12.0),
        (48, 24.6, 15.5),
        (64, 18.9, 15.6),
        (80, 18.0, 18.5),
    ];
    for (processors, busy, published) in rows {
        let mut unparker = Unparker::new(&rules(UnparkingModel::Small), 0);
        let mut stream = Stream::new(1, "use");
        let used = f64::from(processors) * busy;
        let counts = (0..900).map(|_| {
            let seen = highs(processors, used + 200.0 * stream.unit() - 100.0);
            f64::from(unparker.decide(&seen).unparked)
        });
        let mean = counts.sum::<f64>() / 900.0;
        assert!((mean - published).abs() < 0.4, "{processors}: {mean}");
        let mut unparker = Unparker::new(&rules(UnparkingModel::Large), 0);
        assert_eq!(
            unparker.decide(&highs(processors, used)).unparked,
            processors
        );
    }
}

#[test]
fn excess_power_unparks_vertical_lows() {
    let cores = Cores {
        highs: 10,
        mediums: 0,
        lows: 6,
        medium: 0.0,
    };
    let others = [other([100.0, 1000.0, 600.0, 600.0])];
    let seen = Observation {
        cores,
        weight: 100.0,
        used: 400.0,
        cap: None,
        others: &others,
    };
    let parts = [Some(100.0), Some(70.0), Some(40.0), None];
    let decided = parts.map(|excess_pct| {
        let rules = Unparking {
            excess_pct,
            ..rules(UnparkingModel::Large)
        };
        let decision = Unparker::new(&rules, 1).decide(&seen);
        (decision.unparked, decision.excess)
    });
    assert_eq!(decided, [(14, 40_000), (13, 28_000), (12, 16_000), (10, 0)]);
    // Capacity beyond the cap is not available.
    let capped = Observation {
        cap: Some(1_100.0),
        ..seen
    };
    let rules = Unparking {
        excess_pct: Some(100.0),
        ..rules(UnparkingModel::Large)
    };
    let decision = Unparker::new(&rules, 1).decide(&capped);
    assert_eq!(
        (decision.unparked, decision.excess, decision.cap),
        (11, 10_000, 110_000)
    );
}

#[test]
fn all_run_if_none_are_parked() {
    let rules = Unparking {
        active: false,
        ..rules(UnparkingModel::Small)
    };
    assert_eq!(Unparker::new(&rules, 0).decide(&highs(7, 0.0)).unparked, 7);
}

fn powers() -> impl Strategy<Value = [f64; 4]> {
    [0.0..900.0, 0.0..900.0, 0.0..900.0, 0.0..1500.0]
}

proptest! {
    #[test]
    fn small_is_at_most_medium_and_that_at_most_large(
        (highs, mediums, lows, medium) in (0_u32..90, 0_u32..3, 0_u32..20, 0.0..100.0),
        (weight, used) in (0.0..999.0, 0.0..10_000.0),
        cap in proptest::option::of(0.0..9_000.0),
        others in prop::collection::vec(powers().prop_map(other), 0..8),
        (excess_pct, low_powered_pct) in (proptest::option::of(0.0..100.0), 0.0..100.0),
        (lows_evenly, global_performance_data, pad_beyond_entitlement) in any::<(bool, bool, bool)>(),
    ) {
        let seen = Observation {
            cores: Cores { highs, mediums, lows, medium },
            weight,
            used,
            cap,
            others: &others,
        };
        let [large, medium, small] = MODELS.map(|model| {
            let rules = Unparking {
                excess_pct,
                low_powered_pct,
                lows_evenly,
                global_performance_data,
                pad_beyond_entitlement,
                ..rules(model)
            };
            Unparker::new(&rules, others.len()).decide(&seen).unparked
        });
        let online = highs + mediums + lows;
        prop_assert!(small <= medium && medium <= large && large <= online);
        prop_assert!(small >= online.min(1));
    }
}
