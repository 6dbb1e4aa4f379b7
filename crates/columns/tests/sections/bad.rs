//! Tests of damaged records, which only result in problems.

use proptest::prelude::*;
use zlens_columns::sections::Plan;
use zlens_frames::ProblemKind;

use crate::builders::{Cell, decoder, header, item, owner, piece, problems, record, rows_of};

#[test]
fn sections_outside_record_are_skipped_and_reported() {
    let good = record(4500, &[item(1), item(2)], &[]);
    let mut short = good.clone();
    short.truncate(good.len() - 5);
    let mut none = good.clone();
    none[36..40].copy_from_slice(&9_000_u32.to_be_bytes());
    let mut tiny = good.clone();
    tiny[40..44].copy_from_slice(&[0, 1, 0, 120]);
    let mut early = good.clone();
    early[36..40].copy_from_slice(&4_u32.to_be_bytes());
    for (bytes, left, words) in [
        (
            short,
            1,
            "2 item sections of 60 bytes from offset 90 on do not lie in the record of 205 bytes; 1 do",
        ),
        (none, 0, "at offset 9000 does not lie after the header"),
        (tiny, 0, "120 item sections of 1 bytes can hold nothing"),
        (early, 0, "at offset 4 does not lie after the header"),
    ] {
        let decoder = decoder(&[vec![bytes]]);
        assert_eq!(rows_of(&decoder, "item", None).len(), left);
        let told = problems(&decoder);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].problem.kind, ProblemKind::Section);
        assert!(
            told[0].problem.detail.contains(words),
            "{}",
            told[0].problem.detail
        );
    }
}

#[test]
fn invalid_values_are_null_and_reported() {
    let mut wrong = item(1);
    wrong[17..20].copy_from_slice(&[0xAA, 0, 0]);
    wrong[40..48].fill(0xFF);
    wrong[52..56].copy_from_slice(&[0xFF; 4]);
    let decoder = decoder(&[vec![record(4500, &[item(0), wrong], &[])]]);
    let rows = rows_of(&decoder, "item", None);
    for name in ["digits", "large", "begin"] {
        assert_ne!(rows[0][name], Cell::Null, "{name}");
        assert_eq!(rows[1][name], Cell::Null, "{name}");
    }
    let mut told: Vec<String> = problems(&decoder)
        .into_iter()
        .map(|f| f.problem.detail)
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "begin: not a valid time of day (first occurrence); invalid values are NULL",
            "digits: not a valid packed number (first occurrence); invalid values are NULL",
            "large is above 2^63 - 1 (first occurrence); such values are NULL",
            // The same bytes are the triplet of inner sections.
            "the inner section of 65535 bytes at offset 4294967295 does not lie after the header of the record of 210 bytes",
        ]
    );
}

#[test]
fn without_zone_local_times_are_null() {
    let decoder = decoder(&[vec![header("SYSA", 4500, 1)]]);
    let rows = rows_of(&decoder, "header", None);
    assert_eq!(rows[0]["tod"], Cell::Null);
    assert_eq!(rows[0]["written"], Cell::Null);
    assert!(problems(&decoder)[0].problem.detail.contains("option tz"));
}

#[test]
fn unnumbered_segment_is_read_alone() {
    let mut lone = piece(4500, (1, 2), (&[item(1)], 2, 1), (&[], 0, 0));
    let at = 52 + crate::builders::PRODUCT;
    lone[at..at + 4].fill(0);
    let decoder = decoder(&[vec![lone]]);
    assert_eq!(rows_of(&decoder, "item", None).len(), 1);
    assert!(
        problems(&decoder)[0]
            .problem
            .detail
            .contains("decoded on its own")
    );
}

#[test]
fn contradicting_plans_are_rejected() {
    let good = include_str!("plan.json");
    for (from, to, words) in [
        (
            "\"kind\": \"hfp\", \"offset\": 20, \"length\": 8",
            "\"kind\": \"hfp\", \"offset\": 20, \"length\": 6",
            "service",
        ),
        ("\"within\": 2", "\"within\": 4", "in no section"),
        ("\"within\": 2", "\"within\": 9", "in no section"),
        (
            "\"length\": 4, \"value\": 1",
            "\"length\": 9, \"value\": 1",
            "raw_of_1",
        ),
        (
            "\"part\": 3,\n        \"first\"",
            "\"part\": 9,\n        \"first\"",
            "no such section",
        ),
        (
            "\"name\": \"raw\"",
            "\"name\": \"large\"",
            "specified twice",
        ),
        ("\"subtypes\": [1, 2]", "\"subtypes\": []", "no subtype"),
        (
            "\"table\": \"owner\"",
            "\"table\": \"item\"",
            "specified twice",
        ),
        ("\"record\": 70", "\"record\": 700", "700"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Plan::parse(&good.replace(from, to))
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// After any change of good records, nothing panics and all columns have the same number of rows.
    #[test]
    fn changed_bytes_are_handled(changes in prop::collection::vec((24_usize..500, any::<u8>()), 1..12)) {
        let mut records = vec![
            record(4500, &[item(1), item(2)], &[owner(0, 2)]),
            piece(5400, (1, 2), (&[item(3)], 2, 1), (&[], 1, 0)),
            piece(5400, (2, 2), (&[item(4)], 2, 2), (&[owner(0, 2)], 1, 1)),
        ];
        let mut total = 0;
        for bytes in &mut records {
            for &(at, byte) in &changes {
                if let Some(at) = at.checked_sub(total).filter(|&at| (24..bytes.len()).contains(&at)) {
                    bytes[at] = byte;
                }
            }
            total += bytes.len();
        }
        let decoder = decoder(&[records]);
        for table in ["header", "product", "item", "owner"] {
            let all = rows_of(&decoder, table, None).len();
            let few = rows_of(&decoder, table, Some(&["offset".to_owned(), "section_no".to_owned()])).len();
            prop_assert_eq!(all, few);
        }
        problems(&decoder);
    }
}
