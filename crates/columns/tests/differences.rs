//! Differences held against the rules taken one row after the other, and each rule by itself.

mod made;

use std::collections::HashMap;

use made::{Cell, Record, column, decoder, file, system, table};
use proptest::prelude::*;
use zlens_columns::plan::{Column, Difference, Direction, Field, Kind, Layout, Part};
use zlens_columns::{Evidence, Plan};
use zlens_frames::Class;

const START: u64 = 0xE000_0000_0000_0000;
const SECOND: u64 = 4_096_000_000;
/// The usual interval.
const NOMINAL: u64 = 60;

/// A counter as the plan says it, and its length in the record.
#[derive(Debug, Clone, Copy)]
struct Counter {
    difference: Difference,
    length: u32,
}

fn counter() -> impl Strategy<Value = Counter> {
    let width = prop_oneof![Just(2u8), Just(4), Just(8)];
    let direction = prop_oneof![
        Just(Direction::Up),
        Just(Direction::Down),
        Just(Direction::Learn)
    ];
    let max_rate = prop_oneof![Just(f64::INFINITY), Just(100.0), Just(1e7)];
    (width, any::<bool>(), direction, max_rate).prop_map(|(width, signed, direction, max_rate)| {
        Counter {
            difference: Difference {
                width,
                signed,
                direction,
                half_range: 0.5,
                max_rate,
            },
            length: u32::from(width),
        }
    })
}

/// A record is: who (2 bytes), since when (1 byte), the counters. A short one lacks the last counter.
fn plan(counters: &[Counter]) -> Plan {
    let mut columns = vec![
        Column {
            name: "who".into(),
            kind: Kind::Int,
            difference: None,
        },
        Column {
            name: "since".into(),
            kind: Kind::Int,
            difference: None,
        },
    ];
    let mut fields = Vec::new();
    let mut place = |column: usize, length: u32, signed: bool, offset: &mut u32| {
        fields.push(Field {
            column,
            offset: *offset,
            length,
            signed,
            part: Part::Record,
            element: None,
        });
        *offset += length;
    };
    let mut offset = 20;
    place(0, 2, false, &mut offset);
    place(1, 1, false, &mut offset);
    for (number, counter) in counters.iter().enumerate() {
        let difference = Some(counter.difference);
        columns.push(Column {
            name: format!("c{number}"),
            kind: Kind::Int,
            difference,
        });
        place(
            2 + number,
            counter.length,
            counter.difference.signed,
            &mut offset,
        );
    }
    Plan {
        table: "t".into(),
        domain: 0,
        record: 2,
        columns,
        subject: vec!["who".into()],
        reset_on: vec!["since".into()],
        section: None,
        layouts: vec![Layout {
            lengths: Vec::new(),
            fields,
        }],
    }
}

/// One sample: of whom, since when, the counters' bits, whether the last counter is cut off.
#[derive(Debug, Clone)]
struct Sample {
    tod: u64,
    who: u16,
    since: u8,
    values: Vec<u64>,
    short: bool,
}

impl Sample {
    fn record(&self, counters: &[Counter]) -> Record {
        let mut body = self.who.to_be_bytes().to_vec();
        body.push(self.since);
        let kept = counters.len() - usize::from(self.short);
        for (counter, value) in counters.iter().zip(&self.values).take(kept) {
            body.extend(&value.to_be_bytes()[8 - counter.length as usize..]);
        }
        Record {
            domain: 0,
            record: 2,
            tod: self.tod,
            body,
        }
    }
}

/// How a counter moves from one sample to the next.
fn movement() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(0i64),
        6 => 1..5_000i64,
        3 => -5_000..0i64,
        1 => any::<i64>(),
        1 => Just(1 << 15),
        1 => Just(1 << 31),
    ]
}

#[derive(Debug, Clone)]
struct Interval {
    seconds: u64,
    samples: Vec<Sample>,
}

/// Intervals in which subjects come, go and move; `values` are movements at first.
fn intervals(counters: usize) -> impl Strategy<Value = Vec<Interval>> {
    let sample = (
        0..5u16,
        prop_oneof![9 => Just(0u8), 1 => 1..3u8],
        prop::collection::vec(movement(), counters),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(who, since, moved, short)| Sample {
            tod: 0,
            who,
            since,
            values: moved.iter().map(|moved| moved.cast_unsigned()).collect(),
            short,
        });
    let seconds = prop_oneof![5 => Just(NOMINAL), 1 => 1..400u64];
    let interval = (seconds, prop::collection::vec(sample, 0..8))
        .prop_map(|(seconds, samples)| Interval { seconds, samples });
    prop::collection::vec(interval, 1..14)
}

#[derive(Debug, Clone)]
struct Case {
    counters: Vec<Counter>,
    files: Vec<Vec<Interval>>,
    resets: Vec<Evidence>,
}

fn case() -> impl Strategy<Value = Case> {
    let start = prop_oneof![
        Just(0u64),
        any::<u64>(),
        Just(0xFFF0),
        Just(0xFFFF_FFF0),
        Just(u64::MAX - 9)
    ];
    prop::collection::vec((counter(), start), 1..4).prop_flat_map(|counters| {
        let count = counters.len();
        let evidence = (0..20 * NOMINAL, prop::option::of(0..5u16), any::<bool>()).prop_map(
            |(at, who, mine)| Evidence {
                tod: START + at * SECOND,
                table: if mine { "t".into() } else { "other".into() },
                subject: who.map(|who| who.to_string()),
                what: format!("evidence at {at}"),
            },
        );
        (
            Just(counters),
            intervals(count),
            prop::collection::vec(evidence, 0..4),
            prop::collection::vec(0..14usize, 0..3),
            any::<bool>(),
        )
            .prop_map(|(counters, mut intervals, resets, mut cuts, swap)| {
                // Movements become readings, intervals get their times.
                let mut now = START;
                let mut readings: HashMap<u16, Vec<u64>> = HashMap::new();
                for interval in &mut intervals {
                    now += interval.seconds * SECOND;
                    let behind = interval.samples.len() as u64;
                    for (number, sample) in interval.samples.iter_mut().enumerate() {
                        sample.tod = now - 1000 * (behind - number as u64);
                        let starts = || counters.iter().map(|(_, start)| *start).collect();
                        let reading = readings.entry(sample.who).or_insert_with(starts);
                        for (reading, moved) in reading.iter_mut().zip(&mut sample.values) {
                            *reading = reading.wrapping_add(*moved);
                            *moved = *reading;
                        }
                    }
                }
                cuts.sort_unstable();
                let mut files = Vec::new();
                for cut in cuts.iter().rev() {
                    files.push(intervals.split_off(intervals.len().min(*cut)));
                }
                files.push(intervals);
                if !swap {
                    // Else the files come in the wrong order, and overlap what was read.
                    files.reverse();
                }
                Case {
                    counters: counters.into_iter().map(|(counter, _)| counter).collect(),
                    files,
                    resets,
                }
            })
    })
}

fn bytes(intervals: &[Interval], counters: &[Counter]) -> Vec<u8> {
    let mut now = 0;
    let mut groups = Vec::new();
    for interval in intervals {
        let mut records: Vec<Record> = interval
            .samples
            .iter()
            .map(|sample| sample.record(counters))
            .collect();
        now = interval
            .samples
            .last()
            .map_or(now + 1, |sample| sample.tod + 1);
        records.push(Record {
            domain: 1,
            record: 11,
            tod: now,
            body: Vec::new(),
        });
        groups.push((Class::Sample, records));
    }
    file(&groups)
}

/// What is kept of a subject.
#[derive(Debug, Clone, Default)]
struct Before {
    tod: u64,
    file: usize,
    since: Option<u8>,
    readings: Vec<Option<u64>>,
}

/// One row on the way: the readings that can be compared, and with what.
struct Row {
    interval: Option<u64>,
    file: usize,
    seconds: Option<f64>,
    pairs: Vec<Option<(u64, u64)>>,
}

/// Readings of each row and the ones before, by the rules as they are written.
fn rows(case: &Case, ends: &[u64]) -> Vec<Row> {
    let mut subjects: HashMap<u16, Before> = HashMap::new();
    let mut rows = Vec::new();
    let count = case.counters.len();
    for (file, intervals) in case.files.iter().enumerate() {
        for sample in intervals.iter().flat_map(|interval| &interval.samples) {
            let interval = ends.iter().copied().filter(|&end| end >= sample.tod).min();
            let new = !subjects.contains_key(&sample.who);
            let before = subjects.entry(sample.who).or_default();
            before.readings.resize(count, None);
            if !new && sample.tod < before.tod && before.file != file {
                rows.push(Row {
                    interval,
                    file,
                    seconds: None,
                    pairs: vec![None; count],
                });
                continue;
            }
            let evidence = case.resets.iter().any(|reset| {
                let whose = reset
                    .subject
                    .as_ref()
                    .is_none_or(|who| *who == sample.who.to_string());
                reset.table == "t" && whose && before.tod < reset.tod && reset.tod <= sample.tod
            });
            let since = before.since.replace(sample.since);
            let changed = since.is_some_and(|since| since != sample.since);
            let usable = !new && sample.tod > before.tod && !evidence && !changed;
            let seconds = usable.then(|| (sample.tod - before.tod) as f64 / SECOND as f64);
            let mut pairs = Vec::new();
            for (number, &now) in sample.values.iter().enumerate() {
                let now = (!sample.short || number + 1 < count).then_some(now);
                let last = std::mem::replace(&mut before.readings[number], now);
                pairs.push(last.zip(now).filter(|_| usable));
            }
            (before.tod, before.file) = (sample.tod, file);
            rows.push(Row {
                interval,
                file,
                seconds,
                pairs,
            });
        }
    }
    rows
}

/// The number that the low bits are.
fn reading(bits: u64, rule: &Difference) -> i128 {
    let range = 1i128 << (8 * i32::from(rule.width));
    let value = i128::from(bits) & (range - 1);
    if rule.signed && value >= range / 2 {
        value - range
    } else {
        value
    }
}

/// Which way a learned counter runs: the first interval in which it moves decides by majority.
fn learned(rows: &[Row], number: usize, rule: &Difference) -> bool {
    let range = 1i128 << (8 * i32::from(rule.width));
    let lean = |row: &Row| {
        let (last, now) = row.pairs[number]?;
        let ran = (reading(now, rule) - reading(last, rule)).rem_euclid(range);
        (ran != 0).then_some(if ran < range / 2 { 1 } else { -1 })
    };
    let Some(first) = rows.iter().position(|row| lean(row).is_some()) else {
        return true;
    };
    let alike = |row: &&Row| (row.interval, row.file) == (rows[first].interval, rows[first].file);
    rows[first..]
        .iter()
        .take_while(alike)
        .filter_map(lean)
        .sum::<i32>()
        >= 0
}

/// The difference, or NULL.
fn difference(pair: (u64, u64), rule: &Difference, up: bool, seconds: f64) -> Option<i64> {
    let range = 1i128 << (8 * i32::from(rule.width));
    let (last, now) = (reading(pair.0, rule), reading(pair.1, rule));
    let ran = if up { now - last } else { last - now };
    if ran >= 0 {
        return i64::try_from(ran).ok();
    }
    let ran = ran + range;
    let plausible = ran as f64 <= 0.5 * range as f64 && ran as f64 <= rule.max_rate * seconds;
    plausible.then(|| i64::try_from(ran).ok()).flatten()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn differences_are_as_the_rules_say(case in case()) {
        let files: Vec<Vec<u8>> = case.files.iter().map(|file| bytes(file, &case.counters)).collect();
        let system = system(files, Some(NOMINAL as f64), case.resets.clone());
        let ends = system.interval_ends.clone();
        let decoder = decoder(vec![system], vec![plan(&case.counters)]);
        let expected = rows(&case, &ends);
        let seconds = column(&decoder, "t", "seconds");
        let flags = column(&decoder, "t", "flag");
        prop_assert_eq!(seconds.len(), expected.len());
        for ((row, seconds), flag) in expected.iter().zip(&seconds).zip(&flags) {
            prop_assert_eq!(seconds, &row.seconds.map_or(Cell::Null, Cell::Float));
            let nominal = NOMINAL as f64;
            let expected = match row.seconds {
                Some(seconds) if seconds > 1.5 * nominal => Cell::Text("gap".into()),
                Some(seconds) if seconds < 0.5 * nominal => Cell::Text("short".into()),
                _ => Cell::Null,
            };
            prop_assert_eq!(flag, &expected);
        }
        // All columns at once, and each by itself.
        let (names, all) = table(&decoder, "t", None);
        for (number, counter) in case.counters.iter().enumerate() {
            let rule = &counter.difference;
            let up = match rule.direction {
                Direction::Up => true,
                Direction::Down => false,
                // Repeated samples of a subject in one interval may lean the other way once more; those cases are
                // for the tests below.
                Direction::Learn if repeats(&case) => continue,
                Direction::Learn => learned(&expected, number, rule),
            };
            let name = format!("c{number}_d");
            let alone = column(&decoder, "t", &name);
            let place = names.iter().position(|known| *known == name).unwrap();
            for ((row, alone), all) in expected.iter().zip(&alone).zip(&all) {
                let pair = row.pairs[number].zip(row.seconds);
                let found = pair.and_then(|(pair, seconds)| difference(pair, rule, up, seconds));
                prop_assert_eq!(alone, &found.map_or(Cell::Null, Cell::Int));
                prop_assert_eq!(alone, &all[place]);
            }
        }
        // Nothing is reported twice, however often the files are read.
        let (problems, resets) = (decoder.problems().len(), decoder.resets().len());
        table(&decoder, "t", None);
        prop_assert_eq!((decoder.problems().len(), decoder.resets().len()), (problems, resets));
    }
}

/// Whether a subject has two samples in one interval.
fn repeats(case: &Case) -> bool {
    case.files.iter().flatten().any(|interval| {
        let who: Vec<u16> = interval.samples.iter().map(|sample| sample.who).collect();
        (1..who.len()).any(|at| who[..at].contains(&who[at]))
    })
}

/// Samples of one subject a minute apart, one counter.
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
fn a_learned_direction_is_that_of_the_majority_in_the_first_interval_with_movement() {
    let counter = of(8, Direction::Learn, 1e10);
    let sample = |minute: u64, who: u16, value: u64| Sample {
        tod: START + minute * NOMINAL * SECOND - u64::from(10 - who),
        who,
        since: 0,
        values: vec![value],
        short: false,
    };
    // Nothing moves in the second minute; in the third two of three step down, one was reset.
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
    // Beyond 63 bits the column is NULL, the difference is not.
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
fn a_step_back_is_told_with_where_and_what() {
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
fn evidence_makes_all_differences_of_the_row_null_and_is_told() {
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
    let evidence = |at: u64, subject: Option<&str>, what: &str| Evidence {
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
