//! Tests of single rules of differences.

mod builders;

use builders::counters::{Counter, Interval, NOMINAL, SECOND, START, Sample, bytes, plan};
use builders::{Cell, column, decoder, file, system};
use zlens_columns::zvm::ResetEvidence;
use zlens_columns::zvm::plan::{Difference, Direction};
use zlens_frames::zvm::Class;

/// Returns the differences of one counter of one subject, sampled once a minute.
fn minutes(counter: Counter, values: &[u64]) -> Vec<Cell> {
    let samples = |from: usize| Interval {
        seconds: NOMINAL,
        samples: vec![Sample {
            tod: START + (from as u64 + 1) * NOMINAL * SECOND,
            who: 7,
            since: 0,
            values: vec![values[from]],
            short: false,
        }],
    };
    let intervals: Vec<Interval> = (0..values.len()).map(samples).collect();
    let system = system(
        vec![bytes(&intervals, &[counter])],
        Some(NOMINAL as f64),
        Vec::new(),
    );
    column(&decoder(vec![system], vec![plan(&[counter])]), "t", "c0_d")
}

fn of(width: u8, direction: Direction, max_rate: f64) -> Counter {
    let difference = Difference {
        width,
        signed: false,
        direction,
        half_range: 0.5,
        max_rate,
    };
    Counter {
        difference,
        length: u32::from(width),
    }
}

#[test]
fn direction_follows_majority_of_first_moving_interval() {
    let counter = of(8, Direction::Learn, 1e10);
    let sample = |minute: u64, who: u16, value: u64| Sample {
        tod: START + minute * NOMINAL * SECOND - u64::from(10 - who),
        who,
        since: 0,
        values: vec![value],
        short: false,
    };
    // No counter moves in the second minute; in the third, two of three decrease and one was reset.
    let minutes: [[u64; 3]; 4] = [
        [900, 900, 900],
        [900, 900, 900],
        [2_000, 850, 840],
        [1_990, 800, 840],
    ];
    let intervals: Vec<Interval> = (1..)
        .zip(minutes)
        .map(|(minute, values)| Interval {
            seconds: NOMINAL,
            samples: (1..)
                .zip(values)
                .map(|(who, value)| sample(minute, who, value))
                .collect(),
        })
        .collect();
    let system = system(vec![bytes(&intervals, &[counter])], Some(60.0), Vec::new());
    let decoder = decoder(vec![system], vec![plan(&[counter])]);
    let (null, int) = (Cell::Null, Cell::Int);
    let expected = [
        [null.clone(), null.clone(), null.clone()],
        [int(0), int(0), int(0)],
        [null, int(50), int(60)],
        [int(10), int(50), int(0)],
    ];
    assert_eq!(column(&decoder, "t", "c0_d"), expected.concat());
    let resets = decoder.resets();
    assert_eq!(resets.len(), 1, "{resets:?}");
    assert_eq!(
        (resets[0].subject.as_str(), resets[0].evidence.as_str()),
        ("1", "value stepped back")
    );
    assert_eq!(resets[0].tod, START + 3 * NOMINAL * SECOND - 9);
}

#[test]
fn direction_is_learned_from_complete_interval() {
    let counter = of(4, Direction::Learn, 1e7);
    // Most counters count up in the first window, and down in the complete interval.
    let (up, all) = (5_500u16, 12_000u16);
    let interval = |minute: u64| Interval {
        seconds: NOMINAL,
        samples: (0..all)
            .map(|who| Sample {
                tod: START + minute * NOMINAL * SECOND + u64::from(who),
                who,
                since: 0,
                values: vec![if who < up {
                    1_000 + minute
                } else {
                    1_000 - minute
                }],
                short: false,
            })
            .collect(),
    };
    let intervals = [interval(1), interval(2), interval(3)];
    let system = system(vec![bytes(&intervals, &[counter])], Some(60.0), Vec::new());
    let decoder = decoder(vec![system], vec![plan(&[counter])]);
    let found = column(&decoder, "t", "c0_d");
    let all = usize::from(all);
    assert_eq!(found.len(), 3 * all);
    for (row, found) in found.iter().enumerate() {
        // A timer that counts down is reset where it increases.
        let expected = if row < all || row % all < usize::from(up) {
            Cell::Null
        } else {
            Cell::Int(1)
        };
        assert_eq!(*found, expected, "row {row}");
    }
}

#[test]
fn counters_wrap_at_their_width() {
    let (null, int) = (Cell::Null, Cell::Int);
    let narrow = of(2, Direction::Up, 1e4);
    assert_eq!(
        minutes(narrow, &[0xFFF0, 0x10, 0x20]),
        [null.clone(), int(0x20), int(0x10)]
    );
    let full = of(4, Direction::Up, 1e7);
    assert_eq!(
        minutes(full, &[0xFFFF_FFFF, 1, 0]),
        [null.clone(), int(2), null.clone()]
    );
    // Beyond 63 bits the column is NULL, but the difference is not.
    let long = of(8, Direction::Up, 1e7);
    assert_eq!(
        minutes(long, &[u64::MAX - 1, 3, 1, 4]),
        [null.clone(), int(5), null.clone(), int(3)]
    );
    let timer = of(8, Direction::Down, 1e10);
    let values = [
        0x7FFF_FFFF_FFFF_FFFF,
        0x7FFF_FFFF_FFFF_0000,
        0x7FFF_FFFF_FFFF_FFFF,
    ];
    assert_eq!(minutes(timer, &values), [null.clone(), int(0xFFFF), null]);
}

#[test]
fn step_back_is_reported_with_offset() {
    let counter = of(4, Direction::Up, 1e3);
    let samples = |minute: u64, value: u64| Interval {
        seconds: NOMINAL,
        samples: vec![Sample {
            tod: START + minute * NOMINAL * SECOND,
            who: 7,
            since: 0,
            values: vec![value],
            short: false,
        }],
    };
    let intervals = [samples(1, 500), samples(2, 400), samples(3, 410)];
    let system = system(vec![bytes(&intervals, &[counter])], Some(60.0), Vec::new());
    let decoder = decoder(vec![system], vec![plan(&[counter])]);
    assert_eq!(
        column(&decoder, "t", "c0_d"),
        [Cell::Null, Cell::Null, Cell::Int(10)]
    );
    let problems = decoder.problems();
    assert_eq!(problems.len(), 1);
    let problem = &problems[0].problem;
    assert_eq!(
        (problem.kind.as_str(), problem.record, problem.bytes),
        ("changed", Some((0, 2)), 0)
    );
    assert_eq!(
        problem.detail,
        "c0 of 7 stepped back from 500 to 400 without evidence of a reset"
    );
    assert!(decoder.resets().is_empty());
}

#[test]
fn evidence_nulls_differences_and_is_reported() {
    let counters = [of(4, Direction::Up, 1e7), of(8, Direction::Down, 1e10)];
    let samples = |minute: u64, since: u8| Interval {
        seconds: NOMINAL,
        samples: (1..3)
            .map(|who| Sample {
                tod: START + minute * NOMINAL * SECOND + u64::from(who),
                who,
                since: if who == 2 { since } else { 0 },
                values: vec![minute * 10, 9_000 - minute],
                short: false,
            })
            .collect(),
    };
    let intervals = [
        samples(1, 0),
        samples(2, 0),
        samples(3, 0),
        samples(4, 1),
        samples(5, 1),
    ];
    let evidence = |at: u64, subject: Option<&str>, what: &str| ResetEvidence {
        tod: START + at * SECOND,
        table: "t".into(),
        subject: subject.map(Into::into),
        what: what.into(),
    };
    let resets = vec![evidence(90, Some("1"), "logon"), evidence(150, None, "IPL")];
    let system = system(vec![bytes(&intervals, &counters)], Some(60.0), resets);
    let decoder = decoder(vec![system], vec![plan(&counters)]);
    let (null, int) = (Cell::Null, Cell::Int);
    let nulls = [null.clone(), null.clone()];
    for (name, step) in [("c0_d", 10), ("c1_d", 1)] {
        let expected = [
            nulls.clone(),
            [null.clone(), int(step)],
            nulls.clone(),
            [int(step), null.clone()],
            [int(step), int(step)],
        ];
        assert_eq!(column(&decoder, "t", name), expected.concat());
    }
    let seconds = column(&decoder, "t", "seconds");
    assert!(
        seconds
            .iter()
            .zip(column(&decoder, "t", "c0_d"))
            .all(|(s, d)| (*s == null) == (d == null))
    );
    let mut told: Vec<_> = decoder
        .resets()
        .into_iter()
        .map(|r| ((r.tod - START) / SECOND, r.subject, r.evidence))
        .collect();
    told.sort();
    let told: Vec<_> = told
        .iter()
        .map(|(at, who, what)| (*at, who.as_str(), what.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (90, "1", "logon"),
            (150, "1", "IPL"),
            (150, "2", "IPL"),
            (240, "2", "since changed")
        ]
    );
}

#[test]
fn events_have_elapsed_time_and_no_flag() {
    let counter = of(4, Direction::Up, 1e7);
    let event = |second: u64| {
        let sample = Sample {
            tod: START + second * SECOND,
            who: 1,
            since: 0,
            values: vec![second],
            short: false,
        };
        (Class::Event, vec![sample.record(&[counter])])
    };
    let system = system(
        vec![file(&[event(2), event(4), event(600)])],
        Some(60.0),
        Vec::new(),
    );
    let decoder = decoder(vec![system], vec![plan(&[counter])]);
    assert_eq!(
        column(&decoder, "t", "seconds"),
        [Cell::Null, Cell::Float(2.0), Cell::Float(596.0)]
    );
    assert_eq!(
        column(&decoder, "t", "flag"),
        [Cell::Null, Cell::Null, Cell::Null]
    );
    assert_eq!(
        column(&decoder, "t", "c0_d"),
        [Cell::Null, Cell::Int(2), Cell::Int(596)]
    );
    assert_eq!(
        column(&decoder, "t", "interval_end"),
        [Cell::Null, Cell::Null, Cell::Null]
    );
}
