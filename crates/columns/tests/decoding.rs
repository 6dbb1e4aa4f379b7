//! Tests of every kind of column at every offset, against a decoder of single values.

mod builders;

use std::collections::BTreeSet;

use builders::{Cell, Record, decoder, file, scan, system, table};
use proptest::prelude::*;
use zlens_columns::zvm::Plan;
use zlens_columns::zvm::plan::{
    Column, Difference, Direction, Field, Kind, Layout, Match, Part, Section,
};
use zlens_frames::zvm::Class;
use zlens_frames::{ebcdic, tod};

/// Types of the generated records; some have a plan.
const TYPES: [(u8, u16); 3] = [(0, 2), (4, 3), (6, 3)];

const START: u64 = 0xE000_0000_0000_0000;

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::Int),
        1 => Just(Kind::Float),
        2 => Just(Kind::Text),
        1 => Just(Kind::Hex),
        1 => Just(Kind::Ascii),
        1 => Just(Kind::Time),
        1 => Just(Kind::Bool),
    ]
}

fn length(kind: Kind) -> BoxedStrategy<u32> {
    match kind {
        Kind::Int => prop_oneof![4 => Just(4u32), 3 => 1..=8u32].boxed(),
        Kind::Float => prop_oneof![Just(4u32), Just(8)].boxed(),
        Kind::Time => Just(8).boxed(),
        Kind::Bool => (1..=3u32).boxed(),
        Kind::Text | Kind::Ascii | Kind::Hex => {
            prop_oneof![2 => 0..=20u32, 1 => Just(8u32), 1 => Just(16u32)].boxed()
        }
    }
}

fn field(column: usize, kind: Kind, section: bool) -> impl Strategy<Value = Field> {
    let part = if section {
        prop_oneof![Just(Part::Record), Just(Part::Entry)].boxed()
    } else {
        Just(Part::Record).boxed()
    };
    let element = prop_oneof![3 => Just(None), 1 => (0..3u32).prop_map(Some)];
    (length(kind), part, 0..60u32, any::<bool>(), element).prop_map(
        move |(length, part, at, signed, element)| {
            let offset = if part == Part::Record {
                20 + at
            } else {
                at / 4
            };
            Field {
                column,
                offset,
                length,
                signed,
                part,
                element,
            }
        },
    )
}

/// Adjacent words, which the decoder reads as one run.
fn words(columns: usize) -> impl Strategy<Value = Vec<Field>> {
    (20..50u32).prop_map(move |offset| {
        (0..columns as u32)
            .map(|at| Field {
                column: at as usize,
                offset: offset + 4 * at,
                length: 4,
                signed: false,
                part: Part::Record,
                element: None,
            })
            .collect()
    })
}

fn layout(kinds: Vec<Kind>, section: bool) -> impl Strategy<Value = Vec<Field>> {
    let fields: Vec<_> = kinds
        .iter()
        .enumerate()
        .map(|(column, &kind)| prop::option::weighted(0.9, field(column, kind, section)))
        .collect();
    let any = fields.prop_map(|fields| fields.into_iter().flatten().collect::<Vec<Field>>());
    if kinds.iter().all(|kind| *kind == Kind::Int) {
        prop_oneof![any, words(kinds.len())].boxed()
    } else {
        any.boxed()
    }
}

/// A section with offset, stride and count of its entries in the first bytes of the record.
fn section() -> impl Strategy<Value = Section> {
    let matching = prop::option::weighted(
        0.2,
        Just(Match {
            at: 23,
            hex: "0c".into(),
        }),
    );
    (any::<bool>(), any::<bool>(), 0..3u8, matching).prop_map(
        |(offset, stride, count, matching)| Section {
            offset_at: offset.then_some(20),
            offset_len: 1,
            offset: (!offset).then_some(28),
            stride_at: stride.then_some(21),
            stride_len: 1,
            stride: (!stride).then_some(12),
            count_at: (count == 0).then_some(22),
            count_len: 1,
            count: (count == 1).then_some(3),
            matching,
            ..Section::default()
        },
    )
}

fn difference() -> impl Strategy<Value = Option<Difference>> {
    let direction = prop_oneof![
        Just(Direction::Up),
        Just(Direction::Down),
        Just(Direction::Learn)
    ];
    let rule =
        (1..=8u8, any::<bool>(), direction).prop_map(|(width, signed, direction)| Difference {
            width,
            signed,
            direction,
            half_range: 0.5,
            max_rate: 1e7,
        });
    prop::option::of(rule)
}

/// Columns of a table, and the indexes of its subject columns and reset columns.
type Columns = (Vec<(Kind, Option<Difference>)>, Vec<usize>, Vec<usize>);

fn columns() -> impl Strategy<Value = Columns> {
    let any = prop::collection::vec((kind(), difference()), 1..9);
    let ints = prop::collection::vec((Just(Kind::Int), difference()), 1..12);
    let some = || prop::collection::vec(0..12usize, 0..3);
    (prop_oneof![3 => any, 1 => ints], some(), some())
}

fn plan(number: usize) -> impl Strategy<Value = Plan> {
    let section = prop::option::weighted(0.4, section());
    (columns(), section, prop::sample::select(TYPES.to_vec())).prop_flat_map(
        move |((columns, subject, reset_on), section, (domain, record))| {
            let fields = layout(
                columns.iter().map(|(kind, _)| *kind).collect(),
                section.is_some(),
            );
            let lengths = prop_oneof![Just(Vec::new()), prop::collection::vec(20..120u32, 1..40)];
            let name = |column: usize| format!("c{column}");
            let named = |chosen: &Vec<usize>| -> Vec<String> {
                chosen
                    .iter()
                    .map(|column| name(column % columns.len()))
                    .collect()
            };
            let plan = Plan {
                table: format!("t{number}"),
                domain,
                record,
                subject: named(&subject),
                reset_on: named(&reset_on),
                columns: (0..)
                    .zip(&columns)
                    .map(|(column, &(kind, difference))| Column {
                        name: name(column),
                        kind,
                        difference: difference.filter(|_| kind == Kind::Int),
                    })
                    .collect(),
                section,
                join: None,
                layouts: Vec::new(),
            };
            prop::collection::vec((lengths, fields), 1..4).prop_map(move |layouts| Plan {
                layouts: layouts
                    .into_iter()
                    .map(|(lengths, fields)| Layout { lengths, fields })
                    .collect(),
                ..plan.clone()
            })
        },
    )
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => Just(0u8), 2 => Just(0x40), 4 => 0xC1..=0xC9u8, 2 => any::<u8>()];
    // Offset, stride and count of the entries, and the byte to match.
    let found = (
        24..50u8,
        0..20u8,
        0..6u8,
        prop_oneof![Just(0x0Cu8), any::<u8>()],
    );
    (found, prop::collection::vec(byte, 0..100)).prop_map(
        |((offset, stride, count, matched), mut body)| {
            for (place, byte) in body.iter_mut().zip([offset, stride, count, matched]) {
                *place = byte;
            }
            body
        },
    )
}

/// Returns records without a plan, enough to move the next record to another window.
fn filler(tod: u64) -> Vec<Record> {
    let body = vec![0; 4000];
    (0..zlens_frames::WINDOW / 4096)
        .map(|_| Record {
            domain: 9,
            record: 2,
            tod,
            body: body.clone(),
        })
        .collect()
}

/// Groups of repeated records, so that windows have many or few records of a type.
fn groups() -> impl Strategy<Value = Vec<(Class, Vec<Record>)>> {
    let class = prop_oneof![4 => Just(Class::Sample), 1 => Just(Class::Event)];
    let some = (
        prop::sample::select(TYPES.to_vec()),
        prop::collection::vec(body(), 1..5),
        1..90usize,
    );
    let group = (class, prop::collection::vec(some, 1..5), any::<bool>());
    prop::collection::vec(group, 1..5).prop_map(|groups| {
        let mut tod = START;
        let mut made = Vec::new();
        for (class, parts, apart) in groups {
            let mut records = Vec::new();
            for ((domain, record), bodies, times) in parts {
                for body in bodies.iter().cycle().take(bodies.len() * times) {
                    tod += 0x1_0000_0000;
                    // A stopped clock: TOD 0 is not a time.
                    let tod = if tod % 11 == 3 { 0 } else { tod };
                    records.push(Record {
                        domain,
                        record,
                        tod,
                        body: body.clone(),
                    });
                }
            }
            records.push(Record {
                domain: 1,
                record: 11,
                tod,
                body: Vec::new(),
            });
            made.push((class, records));
            if apart {
                made.push((Class::Sample, filler(tod)));
            }
        }
        made
    })
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn time(tod: u64) -> Cell {
    if tod == 0 {
        Cell::Null
    } else {
        Cell::Time(tod::to_unix_us(tod, 0))
    }
}

/// Decodes one field of one record.
fn value(kind: Kind, field: &Field, record: &[u8], entry: &[u8]) -> Cell {
    let part = if field.part == Part::Record {
        record
    } else {
        entry
    };
    let start = (field.offset + field.element.unwrap_or(0) * field.length) as usize;
    let end = if field.length == 0 {
        part.len().max(start)
    } else {
        start + field.length as usize
    };
    let Some(bytes) = part.get(start..end) else {
        return Cell::Null;
    };
    match kind {
        Kind::Int if field.signed => {
            let shift = 64 - 8 * bytes.len();
            Cell::Int((number(bytes) << shift) as i64 >> shift)
        }
        Kind::Int => i64::try_from(number(bytes)).map_or(Cell::Null, Cell::Int),
        Kind::Float if bytes.len() == 4 => {
            Cell::Float(f64::from(f32::from_bits(number(bytes) as u32)))
        }
        Kind::Float => Cell::Float(f64::from_bits(number(bytes))),
        Kind::Text => Cell::Text(ebcdic::text(bytes)),
        Kind::Ascii => {
            let text: String = bytes
                .iter()
                .map(|&byte| {
                    if byte.is_ascii() {
                        char::from(byte)
                    } else {
                        '?'
                    }
                })
                .collect();
            Cell::Text(text.trim_end_matches([' ', '\0']).to_owned())
        }
        Kind::Hex => Cell::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        Kind::Time => time(number(bytes)),
        Kind::Bool => Cell::Bool(bytes.iter().any(|&byte| byte != 0)),
    }
}

/// Returns the entries of a record by the documented rule.
fn entries<'r>(section: &Section, record: &'r [u8]) -> Vec<&'r [u8]> {
    let read = |at: Option<u32>, fixed: Option<u32>| match (at, fixed) {
        (Some(at), _) => record.get(at as usize).map(|&byte| u32::from(byte)),
        (None, fixed) => fixed,
    };
    if let Some(matching) = &section.matching
        && !record
            .get(matching.at as usize..)
            .is_some_and(|rest| rest.starts_with(&matching.bytes().unwrap()))
    {
        return Vec::new();
    }
    let counted = section.count_at.is_some() || section.count.is_some();
    let (Some(first), Some(stride)) = (
        read(section.offset_at, section.offset),
        read(section.stride_at, section.stride),
    ) else {
        return Vec::new();
    };
    let count = match (counted, read(section.count_at, section.count)) {
        (true, None) => return Vec::new(),
        (true, Some(count)) => count as usize,
        (false, _) => usize::MAX,
    };
    if first < 20 || stride == 0 {
        return Vec::new();
    }
    let rest = record.get(first as usize..).unwrap_or(&[]);
    rest.chunks_exact(stride as usize).take(count).collect()
}

/// Decodes the rows of a table value by value, each with its record and without the columns of its origin.
fn naive(plan: &Plan, groups: &[(Class, Vec<Record>)]) -> Vec<(Vec<Cell>, Vec<u8>)> {
    let mut rows = Vec::new();
    for record in groups.iter().flat_map(|(_, records)| records) {
        if (record.domain, record.record) != (plan.domain, plan.record) {
            continue;
        }
        let bytes = record.bytes();
        let parts = plan
            .section
            .as_ref()
            .map_or(vec![&[][..]], |section| entries(section, &bytes));
        let length = bytes.len() as u32;
        let named = plan
            .layouts
            .iter()
            .find(|layout| layout.lengths.contains(&length));
        let layout = named.or_else(|| plan.layouts.iter().find(|layout| layout.lengths.is_empty()));
        for entry in parts {
            let cell = |column: usize| {
                let field = layout?.fields.iter().find(|field| field.column == column)?;
                Some(value(plan.columns[column].kind, field, &bytes, entry))
            };
            let mut row = vec![time(record.tod)];
            row.extend((0..plan.columns.len()).map(|column| cell(column).unwrap_or(Cell::Null)));
            rows.push((row, bytes.clone()));
        }
    }
    rows
}

/// Compares cells; NaN equals NaN.
fn same(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Float(a), Cell::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        _ => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_value_equals_single_decoding(
        plans in (plan(0), plan(1), plan(2)),
        groups in groups(),
        picked in prop::collection::btree_set(0..20usize, 0..6),
    ) {
        let plans = vec![plans.0, plans.1, plans.2];
        let whole_file = file(&groups);
        let system = system(vec![whole_file.clone()], None, Vec::new());
        let decoder = decoder(vec![system], plans.clone());
        let all: Vec<_> = plans.iter().map(|plan| decoder.select(&plan.table, None, false).unwrap()).collect();
        // All tables in one pass.
        let tables = scan(&decoder, &all);
        for (plan, rows) in plans.iter().zip(&tables) {
            let expected = naive(plan, &groups);
            prop_assert_eq!(rows.len(), expected.len());
            let mut last = 0;
            for (row, (expected, record)) in rows.iter().zip(&expected) {
                // system, source, file, offset, tod, interval_end, then the fields.
                prop_assert_eq!(&row[0], &Cell::Text("SYS".into()));
                prop_assert_eq!(&row[2], &Cell::Text("file0".into()));
                let Cell::Int(offset) = row[3] else { panic!("{row:?}") };
                prop_assert_eq!(&whole_file[offset as usize..][..record.len()], record.as_slice());
                prop_assert!(offset >= last);
                last = offset;
                prop_assert_eq!(&row[4], &expected[0]);
                let fields = row[6..].iter().zip(&expected[1..]);
                for (found, expected) in fields {
                    prop_assert!(same(found, expected), "{:?} should be {:?}", found, expected);
                }
            }
            // A stream of some columns, in any order, has the values of the complete table.
            let (names, whole) = table(&decoder, &plan.table, None);
            let picked: BTreeSet<usize> = picked.iter().map(|at| at % names.len()).collect();
            let chosen: Vec<String> = picked.iter().rev().map(|&at| names[at].clone()).collect();
            let (_, narrow) = table(&decoder, &plan.table, Some(&chosen));
            prop_assert_eq!(narrow.len(), whole.len());
            for (narrow, whole) in narrow.iter().zip(&whole) {
                let expected = picked.iter().rev().map(|&at| &whole[at]);
                prop_assert!(narrow.iter().zip(expected).all(|(a, b)| same(a, b)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_bytes_decode_without_panic(
        plans in (plan(0), plan(1)),
        groups in groups(),
        changed in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = file(&groups);
        for (place, byte) in changed {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let decoder = decoder(vec![system(vec![bytes], Some(60.0), Vec::new())], vec![plans.0, plans.1]);
        for name in ["t0", "t1"] {
            table(&decoder, name, None);
        }
        prop_assert!(decoder.problems().iter().all(|found| !found.problem.detail.is_empty()));
        prop_assert!(decoder.resets().iter().all(|reset| !reset.evidence.is_empty()));
    }
}

#[test]
fn offsets_locate_records() {
    let records = |number: u8, count: usize| -> Vec<Record> {
        (0..count)
            .map(|at| Record {
                domain: 0,
                record: 2,
                tod: START + at as u64,
                body: vec![number, at as u8],
            })
            .collect()
    };
    // Groups of few records are gathered before decoding, large groups are not.
    let groups: Vec<_> = [3, 300, 5, 2, 700, 1]
        .iter()
        .zip(0..)
        .map(|(&count, number)| (Class::Sample, records(number, count)))
        .collect();
    let bytes = file(&groups);
    let plan = Plan::parse(
        r#"[{"table":"t","domain":0,"record":2,"columns":[{"name":"a","type":"hex"}],
             "layouts":[{"fields":[{"column":0,"offset":0,"length":22}]}]}]"#,
    );
    let decoder = decoder(
        vec![system(vec![bytes.clone()], None, Vec::new())],
        plan.unwrap(),
    );
    let (_, rows) = table(&decoder, "t", Some(&["offset".into(), "a".into()]));
    assert_eq!(rows.len(), 1011);
    for row in rows {
        let [Cell::Int(offset), Cell::Text(hex)] = &row[..] else {
            panic!("{row:?}")
        };
        let at = *offset as usize;
        let there: String = bytes[at..at + 22]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(*hex, there);
    }
}

#[test]
fn oversized_values_are_null_and_reported() {
    let plan = r#"[{"table":"t","domain":0,"record":2,
        "columns":[{"name":"big","type":"int"},{"name":"behind","type":"int"}],
        "layouts":[{"lengths":[28],"fields":[{"column":0,"offset":20,"length":8},
                                            {"column":1,"offset":26,"length":4}]}]},
       {"table":"t_entry","domain":0,"record":2,"columns":[{"name":"e","type":"int"}],
        "section":{"offset_at":20,"offset_len":1,"stride":4,"count":2},
        "layouts":[{"fields":[{"column":0,"offset":0,"length":1,"part":"entry"}]}]}]"#;
    let bodies = [vec![0xFF; 8], vec![0, 0, 0, 0, 0, 0, 0, 7], vec![0; 3]];
    let records = bodies.map(|body| Record {
        domain: 0,
        record: 2,
        tod: START,
        body,
    });
    let bytes = file(&[(Class::Sample, records.to_vec())]);
    let decoder = decoder(
        vec![system(vec![bytes], None, Vec::new())],
        Plan::parse(plan).unwrap(),
    );
    for _ in 0..2 {
        let (_, rows) = table(&decoder, "t", Some(&["big".into(), "behind".into()]));
        let expected = [
            [Cell::Null, Cell::Null],
            [Cell::Int(7), Cell::Null],
            [Cell::Null, Cell::Null],
        ];
        assert_eq!(rows, expected);
        assert_eq!(table(&decoder, "t_entry", None).1.len(), 0);
    }
    let problems = decoder.problems();
    let kinds: Vec<&str> = problems
        .iter()
        .map(|found| found.problem.kind.as_str())
        .collect();
    assert_eq!(
        kinds,
        ["long", "no_layout", "section", "section", "section"],
        "{problems:?}"
    );
    assert_eq!(problems[0].problem.record, Some((0, 2)));
    assert_eq!(problems[0].problem.offset, 4096);
}
