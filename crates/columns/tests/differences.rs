//! Tests of differences against the rules applied row by row.

mod builders;

use std::collections::HashMap;

use builders::counters::{Counter, Interval, NOMINAL, SECOND, START, Sample, bytes, plan};
use builders::{Cell, column, decoder, system, table};
use proptest::prelude::*;
use zlens_columns::zvm::ResetEvidence;
use zlens_columns::zvm::plan::{Difference, Direction};

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

/// Change of a counter from one sample to the next.
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

/// Intervals in which subjects appear, disappear and count; `values` initially hold changes.
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
    resets: Vec<ResetEvidence>,
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
            |(at, who, mine)| ResetEvidence {
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
                // Changes become values of counters, and intervals get their times.
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
                    // Otherwise the files are in the wrong order and overlap earlier files.
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

/// Last sample of a subject.
#[derive(Debug, Clone, Default)]
struct Before {
    tod: u64,
    file: usize,
    since: Option<u8>,
    readings: Vec<Option<u64>>,
}

/// A row before differences are computed: pairs of values that can be compared.
struct Row {
    interval: Option<u64>,
    file: usize,
    seconds: Option<f64>,
    pairs: Vec<Option<(u64, u64)>>,
}

/// Returns the values of each row and its previous sample, by the documented rules.
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

/// Returns the number in the low bits.
fn reading(bits: u64, rule: &Difference) -> i128 {
    let range = 1i128 << (8 * i32::from(rule.width));
    let value = i128::from(bits) & (range - 1);
    if rule.signed && value >= range / 2 {
        value - range
    } else {
        value
    }
}

/// Whether a learned counter counts up: the majority in the first interval in which it moves decides.
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

/// Returns the difference; None if it is NULL.
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
    fn differences_follow_rules(case in case()) {
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
        // All columns at once, and each column separately.
        let (names, all) = table(&decoder, "t", None);
        for (number, counter) in case.counters.iter().enumerate() {
            let rule = &counter.difference;
            let up = match rule.direction {
                Direction::Up => true,
                Direction::Down => false,
                // Repeated samples of a subject in one interval may reverse the direction; the tests below
                // cover them.
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
        // Further scans report nothing again.
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
