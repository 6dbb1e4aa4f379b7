//! Tests of damaged counter records.

use zlens_frames::ProblemKind;

use crate::builders::{self, Cell, Made, column, maybe};

/// Returns the rows and problems of three records, the second of which `change` alters.
fn changed(
    subtype: u16,
    change: impl Fn(&mut Vec<u8>),
) -> (Vec<builders::Row>, Vec<zlens_columns::DecodeProblem>) {
    let records: Vec<Vec<u8>> = (1..=3)
        .map(|nth| {
            let counters = [nth, 2, 3, 4, 5, 6];
            let mut record = if subtype == 1 {
                Made::delta(0, 900 * nth, &counters)
            } else {
                Made::absolute(0, 900 * nth, &counters.map(|counter| counter * nth))
            };
            record.sets.push((2, 8, vec![7 * nth; 2]));
            let mut bytes = record.bytes();
            if nth == 2 {
                change(&mut bytes);
            }
            bytes
        })
        .collect();
    let decoder = builders::decoder(&[builders::dump(&records)]);
    let rows = builders::scan(&decoder, None, true);
    let problems = decoder.problems();
    for found in &problems {
        assert_eq!(found.problem.record, Some((113, subtype)));
        assert!(found.problem.bytes <= records[1].len() as u64);
    }
    // A scan of one column returns the same values.
    let one = builders::scan(&decoder, Some(&["c33_d"]), false);
    assert_eq!(column(&one, "c33_d"), column(&rows, "c33_d"));
    (rows, problems)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn put2(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[test]
fn data_section_outside_record() {
    for subtype in [1, 2] {
        for offset in [500, u32::MAX, u32::MAX - 70] {
            let (rows, problems) = changed(subtype, |bytes| put(bytes, 44, offset));
            assert_eq!(rows.len(), 2);
            assert!(
                builders::says(&problems, ProblemKind::Section, "data section"),
                "{problems:?}"
            );
        }
        let (rows, problems) = changed(subtype, |bytes| put2(bytes, 50, 0));
        assert_eq!(rows.len(), 2);
        assert!(
            builders::says(&problems, ProblemKind::Section, "no data section"),
            "{problems:?}"
        );
    }
}

#[test]
fn identification_section_outside_record() {
    let (rows, problems) = changed(1, |bytes| put(bytes, 36, 5000));
    // The time of writing is not in the identification section.
    assert_eq!(rows[1]["interval_end"], builders::us(1800).into());
    assert_eq!(rows[1]["c0_d"], 2.into());
    assert!(
        builders::says(&problems, ProblemKind::Section, "identification"),
        "{problems:?}"
    );
    let (rows, problems) = changed(1, |bytes| put2(bytes, 42, 0));
    assert_eq!(rows[1]["c0_d"], 2.into());
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn record_ending_before_triplets() {
    for length in [30, 40, 49] {
        let (rows, problems) = changed(1, |bytes| bytes.truncate(length));
        assert_eq!(rows.len(), 2);
        assert!(!problems.is_empty());
        assert!(
            problems
                .iter()
                .all(|found| found.problem.kind == ProblemKind::Section)
        );
    }
}

#[test]
fn counter_sets_outside_record() {
    // The list of counter sets is at offset 52 of the data section in subtype 1, at 24 in subtype 2.
    for (subtype, at) in [(1, 112 + 52), (2, 112 + 24)] {
        let (rows, problems) = changed(subtype, |bytes| put(bytes, at, 9999));
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[1]["c0_d"], Cell::Null);
        assert_eq!(rows[1]["cpu_id"], 0.into());
        assert!(!problems.is_empty());
        let (rows, problems) = changed(subtype, |bytes| put2(bytes, at + 6, 900));
        assert_eq!(rows.len(), 3);
        assert!(
            problems
                .iter()
                .any(|found| found.problem.detail.contains("do not lie")),
            "{problems:?}"
        );
        let (rows, problems) = changed(subtype, |bytes| put2(bytes, at + 4, 1));
        assert_eq!(rows[1]["c0_d"], Cell::Null);
        assert!(
            problems
                .iter()
                .any(|found| found.problem.detail.contains("1 bytes")),
            "{problems:?}"
        );
    }
    // Counter area of subtype 2: truncated, moved out, with an unexpected width.
    for (at, value, c0, c33) in [
        (38, 7_u16, Some(2), None),
        (36, 3, None, None),
        (38, 0, None, None),
    ] {
        let (rows, problems) = changed(2, |bytes| put2(bytes, 112 + at, value));
        assert_eq!(rows[1]["c0_d"], maybe(c0.map(|_| 3)), "{at} {value}");
        assert_eq!(rows[1]["c33_d"], maybe(c33.map(|_: i64| 0)), "{at} {value}");
        assert!(!problems.is_empty());
    }
    // Counters of one set in subtype 1.
    let entry = 112 + 78;
    let (rows, problems) = changed(1, |bytes| put(bytes, entry + 4, 99_999));
    assert_eq!(
        (&rows[1]["c0_d"], &rows[1]["c33_d"]),
        (&Cell::Null, &14.into())
    );
    assert!(
        builders::says(&problems, ProblemKind::Section, "counter set 1"),
        "{problems:?}"
    );
    let (rows, problems) = changed(1, |bytes| put2(bytes, entry + 8, 5));
    assert_eq!(
        (&rows[1]["c0_d"], &rows[1]["c33_d"]),
        (&Cell::Null, &14.into())
    );
    assert!(
        builders::says(&problems, ProblemKind::Section, "5 bytes"),
        "{problems:?}"
    );
}

#[test]
fn unexpected_counter_sets() {
    let entry = 112 + 78;
    let (rows, problems) = changed(1, |bytes| put2(bytes, entry, 9));
    assert_eq!(
        (&rows[1]["c0_d"], &rows[1]["c33_d"]),
        (&Cell::Null, &14.into())
    );
    assert!(
        builders::says(
            &problems,
            ProblemKind::Section,
            "counter set 9 is not known"
        ),
        "{problems:?}"
    );
    let (rows, problems) = changed(1, |bytes| put2(bytes, entry + 12, 1));
    assert_eq!(
        (&rows[1]["c0_d"], &rows[1]["c33_d"]),
        (&2.into(), &Cell::Null)
    );
    assert!(
        builders::says(&problems, ProblemKind::Section, "is a duplicate"),
        "{problems:?}"
    );
    // More counters than the set has on any machine: only counters with a column are decoded.
    let mut records = Vec::new();
    for nth in 1..=3 {
        records.push(Made::delta(0, 900 * nth, &(0..9).collect::<Vec<u64>>()));
    }
    let (rows, problems) = builders::table(&records);
    assert_eq!(rows[1]["c5_d"], 5.into());
    assert_eq!(rows[1]["basic_counters"], 9.into());
    assert!(
        builders::says(&problems, ProblemKind::Long, "the last 3 have no column"),
        "{problems:?}"
    );
}

#[test]
fn several_data_sections() {
    let (rows, problems) = changed(1, |bytes| put2(bytes, 50, 3));
    assert_eq!(rows.len(), 3);
    assert!(
        builders::says(&problems, ProblemKind::Section, "3 data sections"),
        "{problems:?}"
    );
}

#[test]
fn record_without_time() {
    for subtype in [1, 2] {
        let (rows, problems) = changed(subtype, |bytes| bytes[112 + 8..112 + 16].fill(0));
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[1]["tod"], Cell::Null);
        assert_eq!(rows[1]["interval_end"], builders::us(1800).into());
        assert!(
            builders::says(&problems, ProblemKind::Time, "no timestamp"),
            "{problems:?}"
        );
    }
    // Without a time and an identification section, the record has no interval end.
    let (rows, _) = changed(1, |bytes| {
        bytes[112 + 8..112 + 16].fill(0);
        put2(bytes, 42, 0);
    });
    assert_eq!(rows[1]["interval_end"], Cell::Null);
    assert_eq!(rows[1]["c0_d"], 2.into());
}

#[test]
fn any_damage_is_handled() {
    let records: Vec<Made> = (1..=6_u64)
        .flat_map(|nth| {
            (0..3).flat_map(move |cpu| {
                let mut one = Made::delta(cpu, 900 * nth, &[nth; 6]);
                one.sets.push((4, 4, vec![nth; 12]));
                let mut two = Made::absolute(cpu, 900 * nth, &[nth * 5; 6]);
                two.sets.push((4, 8, vec![nth * 9; 12]));
                [one, two]
            })
        })
        .collect();
    let whole = builders::dump_of(&records);
    let mut state = 113_u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut met = 0;
    for _ in 0..1500 {
        let mut bytes = whole.clone();
        for _ in 0..=next() % 8 {
            let at = next() % bytes.len();
            bytes[at] = if next() % 2 == 0 {
                next() as u8
            } else {
                [0, 1, 0xFF, 0x80][next() % 4]
            };
        }
        let decoder = builders::decoder(&[bytes]);
        let rows = builders::scan(&decoder, None, true);
        assert!(rows.len() <= records.len());
        let few = builders::scan(&decoder, Some(&["c0_d", "interval_end", "seconds"]), false);
        assert_eq!(few.len(), rows.len());
        met += decoder.problems().len();
    }
    assert!(met > 500, "{met}");
}
