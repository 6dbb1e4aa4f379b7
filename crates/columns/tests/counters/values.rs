//! Tests of decoded values.

use zlens_frames::ProblemKind;

use crate::builders::{self, Cell, Made, column, maybe, us};

#[test]
fn every_field_of_subtype_1() {
    let mut record = Made::delta(5, 900, &[100, 50, 3, 4, 5, 6]);
    record.class = 4;
    record.flags = 0xC000;
    record.run = 300;
    record.written = 901;
    record.sets.push((3, 4, (0..20).map(|n| n * 7).collect()));
    record
        .sets
        .push((4, 8, (0..160).map(|n| n + 1000).collect()));
    let (rows, problems) = builders::table(&[record]);
    assert!(problems.is_empty(), "{problems:?}");
    let [row] = &rows[..] else {
        panic!("one row");
    };
    let expected: [(&str, Cell); 27] = [
        ("system", "SYSA".into()),
        ("source", "smf".into()),
        ("file", "dump0".into()),
        ("offset", 0.into()),
        ("tod", us(901).into()),
        ("interval_end", us(900).into()),
        // The run started five minutes into the interval.
        ("seconds", 601.0.into()),
        ("flag", Cell::Null),
        ("subtype", 1.into()),
        ("run_start", us(300).into()),
        ("cpu_id", 5.into()),
        ("core_id", 2.into()),
        ("cpu_class", 4.into()),
        ("cpu_type", "ZIIP".into()),
        ("cpsp", 5200.into()),
        ("machine_type", "3931".into()),
        ("model", "A01-704".into()),
        ("serial", "00000000000ABCDE".into()),
        ("version0", 1.into()),
        ("version1", 3.into()),
        ("version2", 7.into()),
        ("flags", "c000".into()),
        ("lost", true.into()),
        ("lost_mt", true.into()),
        ("zcbp", false.into()),
        ("first_of_run", Cell::Null),
        ("basic_counters", 6.into()),
    ];
    for (name, value) in expected {
        assert_eq!(row[name], value, "{name}");
    }
    for (number, value) in [
        (0, Some(100)),
        (5, Some(6)),
        (32, None),
        (64, Some(0)),
        (83, Some(133)),
    ] {
        assert_eq!(row[&format!("c{number}_d")], maybe(value), "{number}");
    }
    for (number, value) in [(128, Some(1000)), (287, Some(1159)), (448, None)] {
        assert_eq!(row[&format!("c{number}_d")], maybe(value), "{number}");
    }
    for (name, value) in [
        ("problem_counters", None),
        ("crypto_counters", Some(20)),
        ("extended_counters", Some(160)),
        ("mt_diag_counters", None),
        ("zos_counters", None),
    ] {
        assert_eq!(row[name], maybe(value), "{name}");
    }
}

#[test]
fn every_field_of_subtype_2() {
    let mut first = Made::absolute(5, 900, &[100; 6]);
    first.flags = 0x8000;
    let mut second = Made::absolute(5, 1800, &[300, 200, 100, 100, 101, 102]);
    second.flags = 0x4000;
    for record in [&mut first, &mut second] {
        let count = record.end;
        record.sets.push((2, 8, vec![count; 2]));
        record.sets.push((6, 8, vec![2 * count; 48]));
    }
    let (rows, problems) = builders::table(&[first, second]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(column(&rows, "seconds"), [Cell::Null, 900.0.into()]);
    assert_eq!(column(&rows, "first_of_run"), [true.into(), false.into()]);
    assert_eq!(column(&rows, "subtype"), [2.into(), 2.into()]);
    assert_eq!(column(&rows, "core_id"), [Cell::Null, Cell::Null]);
    assert_eq!(column(&rows, "lost_mt"), [Cell::Null, Cell::Null]);
    assert_eq!(column(&rows, "version0"), [Cell::Null, Cell::Null]);
    assert_eq!(rows[1]["serial"], "00000000000ABCDE".into());
    assert_eq!(rows[1]["cpsp"], 5200.into());
    for (number, value) in [
        (0, 200),
        (1, 100),
        (2, 0),
        (5, 2),
        (32, 900),
        (448, 1800),
        (495, 1800),
    ] {
        let name = format!("c{number}_d");
        assert_eq!(column(&rows, &name), [Cell::Null, value.into()], "{name}");
    }
}

#[test]
fn unnamed_classes_and_counters() {
    let mut records = Vec::new();
    for (cpu, class, flags) in [
        (0, 0, 0),
        (1, 2, 0),
        (2, 2, 0x2000),
        (3, 4, 0),
        (4, 1, 0),
        (5, 6, 0),
    ] {
        for interval in 1..=3 {
            let mut record = Made::delta(cpu, 900 * interval, &[1]);
            (record.class, record.flags) = (class, flags);
            records.push(record);
        }
    }
    let (rows, problems) = builders::table(&records);
    let types = column(&rows, "cpu_type");
    let expected = ["CP", "ZAAP", "ZCBP", "ZIIP", "1", "6"].map(Cell::from);
    assert_eq!(
        types
            .chunks(3)
            .map(|same| same[0].clone())
            .collect::<Vec<_>>(),
        expected
    );
    assert!(
        types
            .chunks(3)
            .all(|same| same.iter().all(|cell| *cell == same[0]))
    );
    // One problem per class, for any number of records.
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems
            .iter()
            .all(|found| found.problem.kind == ProblemKind::Section)
    );
    assert!(
        problems[0]
            .problem
            .detail
            .starts_with("1: unknown cpu_type"),
        "{problems:?}"
    );
    assert!(
        problems[1]
            .problem
            .detail
            .starts_with("6: unknown cpu_type"),
        "{problems:?}"
    );
}

#[test]
fn older_records_are_shorter() {
    // No core; subtype 2 ends after the speed and has a processor number of one byte.
    let mut one = Made::delta(7, 900, &[1, 2]);
    one.core = None;
    let mut two = Made::absolute(7, 900, &[1, 2]).bytes();
    two[48..50].copy_from_slice(&44_u16.to_be_bytes());
    let decoder = builders::decoder(&[builders::dump(&[one.bytes()]), builders::dump(&[two])]);
    let rows = builders::scan(&decoder, None, true);
    assert!(decoder.problems().is_empty(), "{:?}", decoder.problems());
    assert_eq!(column(&rows, "core_id"), [Cell::Null]);
    assert_eq!(column(&rows, "cpu_id"), [7.into()]);
    let alone = builders::decoder(&[builders::dump(&[{
        let mut two = Made::absolute(7, 900, &[1, 2]).bytes();
        two[48..50].copy_from_slice(&44_u16.to_be_bytes());
        two
    }])]);
    let rows = builders::scan(&alone, None, true);
    assert_eq!(column(&rows, "cpu_id"), [7.into()]);
    assert_eq!(column(&rows, "cpsp"), [5200.into()]);
    assert_eq!(column(&rows, "machine_type"), [Cell::Null]);
    assert_eq!(column(&rows, "basic_counters"), [2.into()]);
}

#[test]
fn subset_of_columns_equals_all() {
    let mut records = Vec::new();
    for interval in 1..=300_u64 {
        for cpu in 0..6 {
            let mut record = if cpu % 3 == 2 {
                Made::absolute(cpu, 900 * interval, &[interval * 5, interval * 3])
            } else {
                Made::delta(cpu, 900 * interval, &[interval, 7])
            };
            record.system = if cpu < 3 { "SYSA" } else { "SYSB" };
            if cpu % 2 == 0 {
                // One thread of a core has the MT-diagnostic set.
                record
                    .sets
                    .push((6, 8, (0..48).map(|n| n * interval).collect()));
            }
            records.push(record);
        }
    }
    // Subtype 1 hides subtype 2 of the same processor; here their processors differ.
    let decoder = builders::decoder(&[builders::dump_of(&records)]);
    let all = builders::scan(&decoder, None, false);
    assert_eq!(all.len(), 1200);
    for columns in [
        &["c0_d"][..],
        &[
            "system",
            "interval_end",
            "cpu_id",
            "c448_d",
            "mt_diag_counters",
        ],
        &["offset", "seconds", "flag", "c495_d", "c1_d", "tod"],
        &["cpu_type"],
    ] {
        let some = builders::scan(&decoder, Some(columns), false);
        assert_eq!(some.len(), all.len());
        for (row, whole) in some.iter().zip(&all) {
            assert_eq!(row.len(), columns.len());
            assert!(
                row.iter().all(|(name, value)| whole[name] == *value),
                "{row:?}"
            );
        }
    }
    assert!(decoder.select(Some(&["nothing".to_owned()])).is_err());
    assert!(
        decoder
            .select(Some(&["c0_d".to_owned(), "c0_d".to_owned()]))
            .is_err()
    );
    assert_eq!(decoder.schema().len(), all[0].len());
}
