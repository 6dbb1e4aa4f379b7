//! Tests of nested entries, consecutive texts, torn or truncated data, and records that continue each other.

mod builders;

use builders::{Cell, Record, column, decoder, file, system, table};
use proptest::prelude::*;
use zlens_columns::zvm::Plan;
use zlens_frames::ProblemKind;
use zlens_frames::zvm::Class;

const START: u64 = 0xE000_0000_0000_0000;
/// A microsecond in TOD units.
const US: u64 = 4096;

fn record(body: Vec<u8>) -> Record {
    Record {
        domain: 10,
        record: 2,
        tod: START,
        body,
    }
}

fn at(number: u64, body: Vec<u8>) -> Record {
    Record {
        tod: START + number * US,
        ..record(body)
    }
}

fn ints(values: &[i64]) -> Vec<Cell> {
    values.iter().copied().map(Cell::Int).collect()
}

fn open(records: Vec<Record>, plan: &str) -> std::sync::Arc<zlens_columns::zvm::Decoder> {
    let files = vec![file(&[(Class::Sample, records)])];
    let plan = format!(r#"[{{"table":"t","domain":10,"record":2,{plan}}}]"#);
    decoder(
        vec![system(files, None, Vec::new())],
        Plan::parse(&plan).unwrap(),
    )
}

fn problems(decoder: &zlens_columns::zvm::Decoder) -> Vec<(ProblemKind, String)> {
    let rows = decoder.problems().into_iter();
    rows.map(|found| (found.problem.kind, found.problem.detail))
        .collect()
}

/// A payload at 24, its length at 20: count, stride and offset of entries, two marks, the entries.
const OUTER: &str = r#""offset":24,"stride":8,"count":1,"bound":{"at":20,"len":2},"equal":{"at":3,"other":4,"len":1}"#;

fn payload(length: u16, count: u8, marks: [u8; 2], entries: &[u8]) -> Record {
    let mut body = length.to_be_bytes().to_vec();
    body.extend([0, 0, count, 3, 8, marks[0], marks[1], 0, 0, 0]);
    body.extend(entries);
    record(body)
}

fn nested(records: Vec<Record>) -> std::sync::Arc<zlens_columns::zvm::Decoder> {
    let plan = format!(
        r#""columns":[{{"name":"number","type":"int"}},{{"name":"a","type":"int"}},{{"name":"b","type":"int"}}],
        "section":{{"offset_at":2,"offset_len":1,"stride_at":1,"stride_len":1,"count_at":0,"count_len":1,
                    "within":{{{OUTER}}}}},
        "layouts":[{{"fields":[{{"column":0,"offset":1,"length":4,"part":"ordinal"}},
            {{"column":1,"offset":0,"length":1,"part":"entry"}},
            {{"column":2,"offset":2,"length":2,"part":"entry"}}]}}]"#
    );
    open(records, &plan)
}

#[test]
fn nested_entries_are_counted() {
    let decoder = nested(vec![
        payload(14, 2, [5, 5], &[7, 0, 0, 8, 0, 0]),
        payload(11, 1, [5, 5], &[9, 0, 0]),
    ]);
    assert_eq!(column(&decoder, "t", "a"), ints(&[7, 8, 9]));
    assert_eq!(column(&decoder, "t", "number"), ints(&[1, 2, 1]));
    // The entry is shorter than its layout; fields beyond its end are NULL.
    assert_eq!(column(&decoder, "t", "b"), vec![Cell::Null; 3]);
    assert!(problems(&decoder).is_empty());
}

#[test]
fn entries_end_with_data() {
    // The count is two, the data hold one entry, and padding follows.
    let decoder = nested(vec![payload(11, 2, [5, 5], &[7, 0, 0, 8, 0, 0])]);
    assert_eq!(column(&decoder, "t", "a"), ints(&[7]));
    let [(ProblemKind::Section, detail)] = &problems(&decoder)[..] else {
        panic!("one problem");
    };
    assert!(
        detail.contains("2 entries") && detail.contains("1 fit"),
        "{detail}"
    );
}

#[test]
fn torn_data_is_skipped_and_reported() {
    let plan = format!(
        r#""columns":[{{"name":"count","type":"int"}}],"section":{{{OUTER}}},
        "layouts":[{{"fields":[{{"column":0,"offset":0,"length":1,"part":"entry"}}]}}]"#
    );
    let records = vec![payload(8, 3, [5, 6], &[]), payload(8, 4, [6, 6], &[])];
    let decoder = open(records.clone(), &plan);
    assert_eq!(column(&decoder, "t", "count"), ints(&[4]));
    assert!(
        matches!(&problems(&decoder)[..], [(ProblemKind::Section, why)] if why.contains("torn"))
    );
    // Torn data have no nested entries either.
    let decoder = nested(records);
    assert_eq!(column(&decoder, "t", "a"), ints(&[]));
}

#[test]
fn short_data_gives_existing_fields() {
    let plan = format!(
        r#""columns":[{{"name":"count","type":"int"}},{{"name":"mark","type":"int"}}],"section":{{{OUTER}}},
        "layouts":[{{"fields":[{{"column":0,"offset":0,"length":1,"part":"entry"}},
            {{"column":1,"offset":4,"length":1,"part":"entry"}}]}}]"#
    );
    let decoder = open(vec![payload(3, 4, [6, 6], &[])], &plan);
    assert_eq!(column(&decoder, "t", "count"), ints(&[4]));
    assert_eq!(column(&decoder, "t", "mark"), vec![Cell::Null]);
    assert!(
        matches!(&problems(&decoder)[..], [(ProblemKind::Section, why)] if why.contains("3 bytes"))
    );
}

/// Columns from separate entries: one from each of two tables of words.
#[test]
fn consecutive_tables_are_rows() {
    let plan = r#""columns":[{"name":"number","type":"int"},{"name":"a","type":"int"},{"name":"b","type":"int"}],
        "section":{"offset":20,"stride":2,"count":3,"span":8},
        "layouts":[{"fields":[{"column":0,"offset":1,"length":4,"part":"ordinal"},
            {"column":1,"offset":0,"length":2,"part":"entry"},
            {"column":2,"offset":6,"length":2,"part":"entry"}]}]"#;
    let words = |words: &[u16]| record(words.iter().flat_map(|word| word.to_be_bytes()).collect());
    let decoder = open(vec![words(&[1, 2, 3, 4, 5, 6])], plan);
    assert_eq!(column(&decoder, "t", "number"), ints(&[1, 2, 3]));
    assert_eq!(column(&decoder, "t", "a"), ints(&[1, 2, 3]));
    assert_eq!(column(&decoder, "t", "b"), ints(&[4, 5, 6]));
    // If the second table is truncated, only complete rows remain.
    let decoder = open(vec![words(&[1, 2, 3, 4, 5])], plan);
    assert_eq!(column(&decoder, "t", "b"), ints(&[4, 5]));
    assert_eq!(problems(&decoder).len(), 1);
}

const TEXTS: &str = r#""columns":[{"name":"x","type":"int"},{"name":"one","type":"ascii"},{"name":"two","type":"ascii"},
        {"name":"y","type":"int"}],
    "section":{"offset":24,"stride":4,"count":1,"bound":{"at":20,"len":2},
        "inner":{"offset":{"at":0,"len":1},"length":{"at":1,"len":1}},
        "strings":{"at":4,"count":2,"tail":2}},
    "layouts":[{"fields":[{"column":0,"offset":3,"length":1,"part":"entry"},
        {"column":1,"offset":0,"length":0,"part":"string","element":0},
        {"column":2,"offset":0,"length":0,"part":"string","element":1},
        {"column":3,"offset":0,"length":2,"part":"tail"}]}]"#;

fn texts(number: u8, one: &[u8], two: &[u8], y: u16, padding: usize) -> Vec<u8> {
    let mut data = vec![0, number];
    for text in [one, two] {
        data.extend((text.len() as u16).to_be_bytes());
        data.extend(text);
    }
    data.extend(y.to_be_bytes());
    let inner = data.len() as u8;
    let mut body = vec![0, inner + 2 + padding as u8, 0, 0, 2, inner];
    body.extend(data);
    body.resize(body.len() + padding, b'x');
    body
}

proptest! {
    #[test]
    fn texts_of_any_length_are_read(
        rows in prop::collection::vec((any::<u8>(), "[ -~]{0,20}", "[ -~]{0,20}", any::<u16>(), 0..30usize), 1..80)
    ) {
        let records = rows.iter().map(|(x, one, two, y, padding)| {
            record(texts(*x, one.as_bytes(), two.as_bytes(), *y, *padding))
        });
        let decoder = open(records.collect(), TEXTS);
        let (_, found) = table(&decoder, "t", Some(&["x", "one", "two", "y"].map(str::to_owned)));
        let text = |text: &str| Cell::Text(text.trim_end_matches(' ').to_owned());
        let expected: Vec<Vec<Cell>> = rows.iter().map(|(x, one, two, y, _)| {
            vec![Cell::Int((*x).into()), text(one), text(two), Cell::Int((*y).into())]
        }).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(problems(&decoder).is_empty());
    }

    #[test]
    fn damaged_texts_are_reported_without_panic(
        mut body in "[ -~]{0,9}".prop_map(|text| texts(1, text.as_bytes(), b"two", 9, 3)),
        at in 0..40usize, byte: u8, cut in 0..40usize,
    ) {
        let place = at % body.len();
        body[place] = byte;
        body.truncate(body.len().max(cut) - cut.min(body.len()));
        let decoder = open(vec![record(body)], TEXTS);
        let (_, rows) = table(&decoder, "t", None);
        prop_assert!(rows.len() == 1 || !problems(&decoder).is_empty());
    }
}

/// Processor at 20, continuation in the first bit of 21, mask at 22, version at 23, offset and length of the counters
/// at 24 and 26, then the counters. Set a has 2 counters from number 0, set b 3 or 1 from number 32.
const JOIN: &str = r#""columns":[{"name":"cpu","type":"int"},{"name":"a","type":"int"},{"name":"b","type":"int"},
        {"name":"c0","type":"int"},{"name":"c1","type":"int","difference":{"width":8}},
        {"name":"c32","type":"int"},{"name":"c34","type":"int"}],
    "subject":["cpu"],
    "join":{"more":{"at":21,"len":1},"more_bit":128,"same":[{"at":20,"len":1}],"within_us":1000,
        "counters":{"offset":{"at":24,"len":2},"length":{"at":26,"len":2}},"active":{"at":22,"len":1},
        "sets":[{"name":"a","first":0,"bit":1,"version":{"at":23,"len":1},"sizes":[{"from":0,"counters":2}]},
            {"name":"b","first":32,"bit":2,"version":{"at":23,"len":1},
             "sizes":[{"from":1,"to":2,"counters":3},{"from":3,"to":5,"counters":1}]}]},
    "layouts":[{"fields":[{"column":0,"offset":20,"length":1},
        {"column":1,"offset":0,"length":2,"part":"count"},{"column":2,"offset":1,"length":2,"part":"count"},
        {"column":3,"offset":0,"length":8,"part":"counter"},{"column":4,"offset":1,"length":8,"part":"counter"},
        {"column":5,"offset":32,"length":8,"part":"counter"},{"column":6,"offset":34,"length":8,"part":"counter"}]}]"#;

fn piece(cpu: u8, more: bool, mask: u8, version: u8, counters: &[u8]) -> Vec<u8> {
    let mut body = vec![cpu, if more { 0x80 } else { 0 }, mask, version, 0, 28];
    body.extend((counters.len() as u16).to_be_bytes());
    body.extend(counters);
    body
}

fn counters(values: &[u64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect()
}

const NAMES: [&str; 7] = ["cpu", "a", "b", "c0", "c1", "c32", "c34"];

fn rows(decoder: &std::sync::Arc<zlens_columns::zvm::Decoder>) -> Vec<Vec<Cell>> {
    table(decoder, "t", Some(&NAMES.map(str::to_owned))).1
}

proptest! {
    /// Rows do not depend on how the counters of a processor are split into records.
    #[test]
    fn any_split_of_counters_reads_back(
        samples in prop::collection::vec(
            (0..4u8, 0..4u8, 1..6u8, prop::collection::vec(0..1u64 << 60, 5), prop::collection::vec(0..41usize, 0..4)),
            1..60,
        )
    ) {
        let mut records = Vec::new();
        let mut expected = Vec::new();
        for (number, (cpu, mask, version, values, cuts)) in (0..).zip(&samples) {
            let second = if *version > 2 { 1 } else { 3 };
            let mut there = Vec::new();
            if mask & 1 != 0 { there.extend(&values[..2]); }
            if mask & 2 != 0 { there.extend(&values[2..2 + second]); }
            let bytes = counters(&there);
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
            ends.push(bytes.len());
            ends.sort_unstable();
            let mut from = 0;
            for (piece_number, &end) in ends.iter().enumerate() {
                let more = piece_number + 1 < ends.len();
                let body = piece(*cpu, more, *mask, *version, &bytes[from..end]);
                records.push(at(10_000 * number + piece_number as u64, body));
                from = end;
            }
            let of = |on: bool, value: u64| if on { Cell::Int(value as i64) } else { Cell::Null };
            let (a, b) = (mask & 1 != 0, mask & 2 != 0);
            expected.push(vec![
                Cell::Int((*cpu).into()), of(a, 2), of(b, second as u64), of(a, values[0]), of(a, values[1]),
                of(b, values[2]), of(b && second == 3, values[4]),
            ]);
        }
        let decoder = open(records, JOIN);
        prop_assert_eq!(rows(&decoder), expected);
        prop_assert!(problems(&decoder).is_empty(), "{:?}", problems(&decoder));
    }
}

#[test]
fn differences_use_joined_records() {
    let sample = |time: u64, value: u64| {
        let bytes = counters(&[0, value]);
        [
            at(time, piece(1, true, 1, 1, &bytes[..12])),
            at(time + 1, piece(1, false, 1, 1, &bytes[12..])),
        ]
    };
    let records = [sample(10_000, 5), sample(60_000_000, 25)].concat();
    let decoder = open(records, JOIN);
    assert_eq!(column(&decoder, "t", "c1_d"), [Cell::Null, Cell::Int(20)]);
}

#[test]
fn missing_record_costs_only_its_sets() {
    let bytes = counters(&[1, 2, 3, 4, 5]);
    let whole = |time: u64| at(time, piece(1, false, 3, 1, &bytes));
    let first = |time: u64| at(time, piece(1, true, 3, 1, &bytes[..20]));
    let last = |time: u64| at(time, piece(1, false, 3, 1, &bytes[20..]));
    let good = rows(&open(vec![whole(0)], JOIN)).remove(0);
    let half = [1, 2, 0, 1, 2, 0, 0].map(|value| {
        if value == 0 {
            Cell::Null
        } else {
            Cell::Int(value)
        }
    });
    // The next record has another processor or another interval, or is missing.
    let other = at(1, piece(2, false, 3, 1, &bytes));
    for (records, count) in [
        (vec![first(0), other], 2),
        (vec![first(0), whole(5_000)], 2),
        (vec![first(0)], 1),
    ] {
        let decoder = open(records, JOIN);
        let found = rows(&decoder);
        assert_eq!(found.len(), count);
        assert_eq!(found[0], half);
        assert!(!problems(&decoder).is_empty());
    }
    let decoder = open(vec![first(0), last(1), whole(5_000)], JOIN);
    assert_eq!(rows(&decoder), [good.clone(), good]);
}

#[test]
fn unsplittable_sets_are_reported() {
    let bytes = counters(&[1, 2, 3, 4, 5]);
    for (body, why) in [
        (piece(1, false, 3, 9, &bytes), "version 9 is not known"),
        (
            piece(1, false, 3, 1, &bytes[..30]),
            "counter set is incomplete",
        ),
        (piece(1, false, 1, 1, &bytes), "24 bytes of counters follow"),
        (
            [&piece(1, false, 3, 1, &bytes)[..6], &[1, 0][..], &bytes].concat(),
            "exceed the record",
        ),
    ] {
        let decoder = open(vec![at(0, body)], JOIN);
        assert_eq!(rows(&decoder).len(), 1);
        assert!(
            problems(&decoder)[0].1.contains(why),
            "{:?}",
            problems(&decoder)
        );
    }
}

#[test]
fn inconsistent_plans_are_rejected() {
    for (from, to, why) in [
        (r#""part":"count""#, r#""part":"tail""#, "texts of an entry"),
        (r#""part":"counter""#, r#""part":"entry""#, "no section"),
        (
            r#""join":{"#,
            r#""section":{"offset":20,"stride":1},"join":{"#,
            "either",
        ),
        (
            r#""active":{"at":22,"len":1}"#,
            r#""active":{"at":22,"len":9}"#,
            "9 bytes",
        ),
    ] {
        let json = format!(
            r#"[{{"table":"t","domain":10,"record":2,{}}}]"#,
            JOIN.replacen(from, to, 1)
        );
        let error = Plan::parse(&json).unwrap_err().to_string();
        assert!(error.contains(why), "{error} should speak of {why}");
    }
}
