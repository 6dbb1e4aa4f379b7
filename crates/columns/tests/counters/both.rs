//! Tests of dumps with both subtypes.

use zlens_frames::ProblemKind;

use crate::builders::{self, Cell, Made, column, maybe};

/// Returns records of both subtypes for four intervals and two processors, in the order of a machine.
fn both() -> Vec<Made> {
    let mut records = Vec::new();
    for nth in 1..=4_u64 {
        for cpu in 0..2 {
            records.push(Made::delta(cpu, 900 * nth, &[nth, 2]));
        }
        for cpu in 0..2 {
            records.push(Made::absolute(
                cpu,
                900 * nth,
                &[nth * (nth + 1) / 2, 2 * nth],
            ));
        }
    }
    records
}

#[test]
fn subtype_1_is_shown() {
    let decoder = builders::decoder(&[builders::dump_of(&both())]);
    for check in [false, true] {
        let rows = builders::scan(&decoder, None, check);
        assert_eq!(column(&rows, "subtype"), vec![Cell::from(1); 8]);
        let counted = [1, 1, 2, 2, 3, 3, 4, 4].map(Cell::from);
        assert_eq!(column(&rows, "c0_d"), counted);
        assert!(decoder.problems().is_empty(), "{:?}", decoder.problems());
    }
}

#[test]
fn subtype_2_fills_gaps_of_subtype_1() {
    let mut records = both();
    records.retain(|record| record.subtype == 2 || record.end != 2700);
    let decoder = builders::decoder(&[builders::dump_of(&records)]);
    for check in [false, true] {
        let rows = builders::scan(&decoder, None, check);
        let subtypes: Vec<Cell> = [1, 1, 1, 1, 2, 2, 1, 1].map(Cell::from).to_vec();
        assert_eq!(column(&rows, "subtype"), subtypes);
        // The difference is computed against the record of subtype 2 that is not shown.
        let counted = [1, 1, 2, 2, 3, 3, 4, 4].map(Cell::from);
        assert_eq!(column(&rows, "c0_d"), counted);
        assert_eq!(rows[4]["seconds"], 900.0.into());
        assert!(decoder.problems().is_empty(), "{:?}", decoder.problems());
    }
}

#[test]
fn disagreement_is_reported_once() {
    let mut records = both();
    for record in &mut records {
        if record.subtype == 1 && record.end >= 2700 && record.cpu == 1 {
            record.sets[0].2[1] += 1;
        }
    }
    for order in [false, true] {
        if order {
            // Subtype 2 first.
            records.sort_by_key(|record| (record.end, 3 - record.subtype));
        }
        let decoder = builders::decoder(&[builders::dump_of(&records)]);
        builders::scan(&decoder, None, false);
        assert!(decoder.problems().is_empty());
        for _ in 0..2 {
            builders::scan(&decoder, None, true);
            let problems = decoder.problems();
            let words = "8 times and differ 2 times, here first: counter 1 is 3 and 2; subtype 1";
            assert!(
                builders::says(&problems, ProblemKind::Duplicate, words),
                "{problems:?}"
            );
            assert_eq!(problems[0].problem.bytes, 0);
        }
    }
}

#[test]
fn systems_are_separate() {
    let mut records = both();
    for record in both().into_iter().filter(|record| record.subtype == 2) {
        records.push(Made {
            system: "SYSB",
            ..record
        });
    }
    let decoder = builders::decoder(&[builders::dump_of(&records)]);
    let rows = builders::scan(&decoder, Some(&["system", "subtype", "c0_d"]), false);
    assert_eq!(rows.len(), 16);
    let of_b: Vec<_> = rows
        .iter()
        .filter(|row| row["system"] == "SYSB".into())
        .collect();
    assert!(of_b.iter().all(|row| row["subtype"] == 2.into()));
    let counted: Vec<Cell> = of_b.iter().map(|row| row["c0_d"].clone()).collect();
    let expected = [
        None,
        None,
        Some(2),
        Some(2),
        Some(3),
        Some(3),
        Some(4),
        Some(4),
    ]
    .map(maybe);
    assert_eq!(counted, expected);
}
