//! Tests of differences between consecutive records.

use proptest::collection::vec;
use proptest::prelude::*;
use zlens_frames::ProblemKind;

use crate::builders::{self, Cell, Made, column, maybe};

/// Returns the first counter of each row.
fn counted(records: &[Made]) -> Vec<Cell> {
    column(&builders::table(records).0, "c0_d")
}

#[test]
fn offline_processor_leaves_gap() {
    for subtype in [1, 2] {
        let records: Vec<Made> = [900, 1800, 4500, 5400]
            .map(|end| {
                let mut record = Made::absolute(3, end, &[end * 10]);
                if subtype == 1 {
                    record = Made::delta(3, end, &[9000]);
                }
                record
            })
            .to_vec();
        let (rows, problems) = builders::table(&records);
        assert!(problems.is_empty(), "{problems:?}");
        let first = if subtype == 1 { Some(900.0) } else { None };
        assert_eq!(
            column(&rows, "seconds"),
            [maybe(first), 900.0.into(), 2700.0.into(), 900.0.into()]
        );
        let flags = [None, None, Some("gap"), None].map(maybe);
        assert_eq!(column(&rows, "flag"), flags);
    }
}

/// Differences exist for any 16-bit processor number.
#[test]
fn every_processor_has_its_differences() {
    for cpu in [0, 1, 1023, 1024, 1025, 65_535] {
        let records: Vec<Made> = (1..=3)
            .map(|nth| Made::absolute(cpu, 900 * nth, &[1000 * nth]))
            .collect();
        let expected = [None, Some(1000), Some(1000)].map(maybe);
        assert_eq!(counted(&records), expected, "{cpu}");
    }
}

#[test]
fn short_intervals_are_flagged() {
    let mut records: Vec<Made> = [900, 919, 1800]
        .map(|end| Made::absolute(0, end, &[end]))
        .to_vec();
    records[1].end = 1800;
    records[1].written = 919;
    let (rows, _) = builders::table(&records);
    assert_eq!(
        column(&rows, "flag"),
        [None, Some("short"), None].map(maybe)
    );
    assert_eq!(column(&rows, "c0_d"), [Cell::Null, 19.into(), 881.into()]);
    // The interval of a record that was written early ends at that time.
    let ends = [900, 919, 1800].map(|end| builders::us(end).into());
    assert_eq!(column(&rows, "interval_end"), ends);
}

#[test]
fn restarted_counters() {
    type Change = fn(&mut Made);
    let changes: [(&str, Change); 4] = [
        ("another run was started", |record| record.run = 2000),
        ("first record of a run", |record| record.flags = 0x8000),
        ("counter version changed", |record| record.versions.1 = 8),
        ("value stepped back", |record| record.sets[0].2[0] = 5),
    ];
    for (evidence, change) in changes {
        let mut records: Vec<Made> = (1..=4)
            .map(|nth| Made::absolute(1, 900 * nth, &[1000 * nth, 7]))
            .collect();
        change(&mut records[2]);
        if evidence == "another run was started" {
            records[3].run = 2000;
        }
        if evidence == "counter version changed" {
            records[3].versions.1 = 8;
        }
        let decoder = builders::decoder(&[builders::dump_of(&records)]);
        let rows = builders::scan(&decoder, None, false);
        let after = if evidence == "value stepped back" {
            3995
        } else {
            1000
        };
        let expected = [None, Some(1000), None, Some(after)].map(maybe);
        assert_eq!(column(&rows, "c0_d"), expected, "{evidence}");
        // A decrease of one counter resets all counters of the record.
        assert_eq!(rows[2]["c1_d"], Cell::Null);
        assert_eq!(rows[2]["seconds"], Cell::Null);
        let resets = decoder.resets();
        assert_eq!(resets.len(), 1, "{evidence}");
        assert_eq!((&*resets[0].subject, &*resets[0].evidence), ("1", evidence));
        let when = if evidence == "another run was started" {
            2000
        } else {
            2700
        };
        assert_eq!(resets[0].tod, builders::time(when));
    }
}

#[test]
fn one_counter_stepping_back() {
    let records = [[10, 500], [20, 400], [30, 450]];
    let records: Vec<Made> = (1..)
        .zip(records)
        .map(|(nth, counters)| Made::absolute(1, 900 * nth, &counters))
        .collect();
    let decoder = builders::decoder(&[builders::dump_of(&records)]);
    let rows = builders::scan(&decoder, None, false);
    assert_eq!(column(&rows, "c0_d"), [None, Some(10), Some(10)].map(maybe));
    assert_eq!(column(&rows, "c1_d"), [None, None, Some(50)].map(maybe));
    assert_eq!(decoder.resets()[0].evidence, "counter 1 stepped back");
}

#[test]
fn new_run_of_subtype_1_counts_from_start() {
    let mut records: Vec<Made> = (1..=3)
        .map(|nth| Made::delta(1, 900 * nth, &[nth]))
        .collect();
    records[1].run = 1500;
    records[2].run = 1500;
    let decoder = builders::decoder(&[builders::dump_of(&records)]);
    let rows = builders::scan(&decoder, None, false);
    assert_eq!(column(&rows, "c0_d"), [1, 2, 3].map(Cell::from));
    assert_eq!(
        column(&rows, "seconds"),
        [900.0, 300.0, 900.0].map(Cell::from)
    );
    assert_eq!(
        column(&rows, "flag"),
        [None, Some("short"), None].map(maybe)
    );
    assert_eq!(decoder.resets().len(), 1);
}

#[test]
fn changes_of_speed_and_version_are_reported() {
    let mut records = Vec::new();
    for (nth, speed) in (1..).zip([5206, 5206, 4452, 4452, 5206]) {
        for cpu in 0..2 {
            let mut record = Made::absolute(cpu, 900 * nth, &[nth]);
            record.speed = speed;
            record.versions.1 = if nth == 5 { 8 } else { 7 };
            records.push(record);
        }
    }
    let decoder = builders::decoder(&[builders::dump_of(&records)]);
    for _ in 0..2 {
        builders::scan(&decoder, Some(&["cpu_id"]), false);
        let changes = decoder.changes();
        assert_eq!(changes.len(), 6);
        let one = &changes[0];
        assert_eq!((&*one.column, one.before, one.after), ("cpsp", 5206, 4452));
        assert_eq!(
            (one.since, one.tod),
            (builders::time(1800), builders::time(2700))
        );
        assert_eq!(
            (one.processor, one.interval_end),
            (0, Some(builders::time(2700)))
        );
        let versions = changes.iter().filter(|one| one.column == "version2");
        assert_eq!(versions.count(), 2);
    }
}

#[test]
fn files_in_time_order_are_one_series() {
    let records: Vec<Made> = (1..=6)
        .map(|nth| Made::absolute(1, 900 * nth, &[nth * nth]))
        .collect();
    let dumps = [
        builders::dump_of(&records[..2]),
        builders::dump_of(&records[2..]),
    ];
    let decoder = builders::decoder(&dumps);
    let rows = builders::scan(&decoder, None, false);
    let expected = [None, Some(3), Some(5), Some(7), Some(9), Some(11)].map(maybe);
    assert_eq!(column(&rows, "c0_d"), expected);
    assert_eq!(rows[3]["file"], "dump1".into());
    assert!(decoder.problems().is_empty());
}

#[test]
fn repeated_records_are_read_once() {
    for make in [Made::delta, Made::absolute] {
        let records: Vec<Made> = (1..=4)
            .flat_map(|nth| (0..3).map(move |cpu| make(cpu, 900 * nth, &[nth * 100])))
            .collect();
        let once = counted(&records);
        let twice = builders::dump_of(&records).repeat(2);
        // In one file, in two files, and in overlapping files.
        for dumps in [
            vec![twice.clone()],
            vec![builders::dump_of(&records), builders::dump_of(&records)],
            vec![
                builders::dump_of(&records[..9]),
                builders::dump_of(&records[3..]),
            ],
        ] {
            let decoder = builders::decoder(&dumps);
            let rows = builders::scan(&decoder, None, false);
            assert_eq!(column(&rows, "c0_d"), once);
            let problems = decoder.problems();
            assert!(
                builders::says(&problems, ProblemKind::Duplicate, "duplicate records"),
                "{problems:?}"
            );
            let size =
                dumps.iter().map(Vec::len).sum::<usize>() - builders::dump_of(&records).len();
            assert_eq!(problems[0].problem.bytes, size as u64);
        }
    }
}

#[test]
fn records_out_of_order() {
    let mut records: Vec<Made> = (1..=6)
        .map(|nth| Made::absolute(1, 900 * nth, &[nth * 10]))
        .collect();
    records.rotate_left(3);
    let (rows, problems) = builders::table(&records);
    let expected = [None, Some(10), Some(10), None, Some(10), Some(10)].map(maybe);
    assert_eq!(column(&rows, "c0_d"), expected);
    assert!(
        builders::says(&problems, ProblemKind::Time, "older"),
        "{problems:?}"
    );
    let mut records: Vec<Made> = (1..=6)
        .map(|nth| Made::delta(1, 900 * nth, &[nth]))
        .collect();
    records.rotate_left(3);
    let (rows, _) = builders::table(&records);
    assert_eq!(column(&rows, "seconds"), vec![Cell::from(900.0); 6]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Differences of cumulative counters equal the steps added to them.
    #[test]
    fn differences_add_up_to_counts(
        steps in vec(vec(0..=1_u64 << 40, 6), 2..40),
        start in 0..=u64::MAX >> 2,
        processors in 1_u16..5,
    ) {
        let mut records = Vec::new();
        let mut totals = vec![start; 6];
        for (nth, step) in steps.iter().enumerate() {
            totals.iter_mut().zip(step).for_each(|(total, step)| *total += step);
            for cpu in 0..processors {
                records.push(Made::absolute(cpu, 900 * (nth as u64 + 1), &totals));
            }
        }
        let (rows, problems) = builders::table(&records);
        prop_assert!(problems.is_empty());
        prop_assert_eq!(rows.len(), steps.len() * usize::from(processors));
        for (row, record) in rows.iter().zip(&records) {
            let nth = (record.end / 900 - 1) as usize;
            for counter in 0..6 {
                let expected = (nth > 0).then(|| steps[nth][counter] as i64);
                prop_assert_eq!(&row[&format!("c{counter}_d")], &maybe(expected));
            }
        }
    }
}

#[test]
fn values_beyond_signed_range() {
    let records = vec![
        Made::delta(0, 900, &[1 << 63, 5]),
        Made::delta(0, 1800, &[7, 6]),
    ];
    let (rows, problems) = builders::table(&records);
    assert_eq!(column(&rows, "c0_d"), [None, Some(7)].map(maybe));
    assert!(
        builders::says(&problems, ProblemKind::Long, "counter 0"),
        "{problems:?}"
    );
    let records = vec![
        Made::absolute(0, 900, &[0, 1 << 63]),
        Made::absolute(0, 1800, &[u64::MAX, (1 << 63) + 4]),
    ];
    let (rows, problems) = builders::table(&records);
    assert_eq!(column(&rows, "c0_d"), [None, None].map(maybe::<i64>));
    assert_eq!(column(&rows, "c1_d"), [None, Some(4)].map(maybe));
    assert!(
        builders::says(&problems, ProblemKind::Long, "counter 0"),
        "{problems:?}"
    );
}
