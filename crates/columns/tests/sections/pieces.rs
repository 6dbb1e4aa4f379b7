//! Tests of segmented records, which equal unsegmented ones.

use proptest::prelude::*;
use zlens_frames::ProblemKind;

use crate::builders::{
    Cell, Row, at, decoder, int, item, owner, piece, problems, record, rows, rows_of,
};

fn numbers(rows: &[Row]) -> Vec<(Cell, Cell)> {
    let pair = |row: &Row| (row["section_no"].clone(), row["number"].clone());
    rows.iter().map(pair).collect()
}

/// Returns three segments of a record with ten items and two owners; indexes start at `base`.
fn three(end: i64, base: u16) -> Vec<Vec<u8>> {
    let items: Vec<Vec<u8>> = (0..10).map(item).collect();
    let owners = [owner(0, 4), owner(4, 6)];
    vec![
        piece(end, (1, 3), (&items[..4], 10, base), (&[], 2, 0)),
        piece(end, (2, 3), (&items[4..9], 10, base + 4), (&[], 2, 0)),
        piece(end, (3, 3), (&items[9..], 10, base + 9), (&owners, 2, base)),
    ]
}

fn whole(end: i64) -> Vec<u8> {
    let items: Vec<Vec<u8>> = (0..10).map(item).collect();
    record(end, &items, &[owner(0, 4), owner(4, 6)])
}

fn alike(mut rows: Vec<Row>) -> Vec<Row> {
    for row in &mut rows {
        row.remove("offset");
    }
    rows
}

#[test]
fn segments_give_rows_of_complete_record() {
    for base in [0, 1] {
        let decoder = decoder(&[three(4500, base)]);
        for table in ["item", "owner", "header", "product"] {
            let found = rows_of(&decoder, table, None);
            let mut expected = alike(rows(&[whole(4500)], table));
            if table == "header" {
                expected.truncate(1);
            }
            if table != "product" {
                assert_eq!(alike(found), expected, "{table} from {base}");
            } else {
                assert_eq!(found.len(), 1);
            }
        }
        assert_eq!(problems(&decoder), []);
    }
}

#[test]
fn segments_of_several_records_are_matched() {
    let (mut first, mut second) = (three(4500, 1), three(5400, 1));
    second.reverse();
    let last = first.pop().unwrap();
    let mut mixed: Vec<Vec<u8>> = first
        .into_iter()
        .zip(second)
        .flat_map(|(a, b)| [a, b])
        .collect();
    mixed.push(three(5400, 1).remove(0));
    let decoder = decoder(&[mixed, vec![last]]);
    let found = rows_of(&decoder, "item", None);
    for end in [4500, 5400] {
        let own: Vec<Row> = found
            .iter()
            .filter(|row| row["interval_end"] == at(end))
            .cloned()
            .collect();
        assert_eq!(
            numbers(&own),
            (0..10).map(|n| (int(n), int(n))).collect::<Vec<_>>()
        );
        // The complete record has the location of its first segment.
        assert!(
            own.iter()
                .all(|row| row["file"] == Cell::Text("dump0".into()))
        );
    }
    assert_eq!(problems(&decoder), []);
}

#[test]
fn segments_of_one_interval_are_distinguished() {
    // Two records of one interval, with four and six items and interleaved segments.
    let items: Vec<Vec<u8>> = (0..6).map(item).collect();
    let cut = |all: u16, at: usize| {
        let place = 1 + at as u16;
        [
            piece(4500, (1, 2), (&items[..at], all, 1), (&[], 0, 0)),
            piece(
                4500,
                (2, 2),
                (&items[at..usize::from(all)], all, place),
                (&[], 0, 0),
            ),
        ]
    };
    let ([one, two], [three, four]) = (cut(4, 2), cut(6, 3));
    let decoder = decoder(&[vec![one, three, four, two]]);
    let found = rows_of(&decoder, "item", None);
    let counted = |first: i64| {
        found
            .iter()
            .filter(|row| row["offset"] == int(first))
            .count()
    };
    assert_eq!((found.len(), counted(0)), (10, 4));
    assert_eq!(problems(&decoder), []);
}

#[test]
fn incomplete_record_shows_existing_sections() {
    let mut pieces = three(4500, 1);
    pieces.remove(0);
    let decoder = decoder(&[pieces]);
    let found = rows_of(&decoder, "item", None);
    assert_eq!(
        numbers(&found),
        (4..10).map(|n| (int(n), int(n))).collect::<Vec<_>>()
    );
    assert!(found.iter().all(|row| row["owner_no"] == int(1)));
    let told = problems(&decoder);
    assert_eq!(told[0].problem.kind, ProblemKind::Truncated);
    assert!(
        told[0]
            .problem
            .detail
            .contains("incomplete: 2 of 3 parts found (2, 3)")
    );
    assert!(told[1].problem.detail.contains("6 of 10 found"));
}

#[test]
fn section_repeated_in_segments_is_shown_once() {
    let items: Vec<Vec<u8>> = (0..4).map(item).collect();
    let owners = [owner(0, 4)];
    let pieces = vec![
        piece(4500, (1, 2), (&items[..2], 4, 1), (&owners, 1, 1)),
        piece(4500, (2, 2), (&items[2..], 4, 3), (&owners, 1, 1)),
    ];
    let decoder = decoder(&[pieces]);
    assert_eq!(rows_of(&decoder, "owner", None).len(), 1);
    assert_eq!(rows_of(&decoder, "item", None).len(), 4);
    assert_eq!(problems(&decoder), []);
}

#[test]
fn contradicting_segment_numbers_are_reported() {
    let items: Vec<Vec<u8>> = (0..4).map(item).collect();
    let pieces = vec![
        piece(4500, (1, 2), (&items[..2], 4, 1), (&[], 0, 0)),
        piece(4500, (2, 2), (&items[2..], 4, 9), (&[], 0, 0)),
    ];
    let decoder = decoder(&[pieces]);
    let found = rows_of(&decoder, "item", None);
    assert_eq!(numbers(&found)[2..], [(int(8), int(2)), (int(9), int(3))]);
    assert!(
        problems(&decoder)[0]
            .problem
            .detail
            .contains("are not consecutive")
    );
}

#[test]
fn unnumbered_segments_keep_their_order() {
    let items: Vec<Vec<u8>> = (0..4).map(item).collect();
    let mut pieces = vec![
        piece(4500, (2, 2), (&items[2..], 4, 3), (&[], 0, 0)),
        piece(4500, (1, 2), (&items[..2], 4, 1), (&[], 0, 0)),
    ];
    for piece in &mut pieces {
        // No blocks: their number is the last word but two of the segment description.
        let at = 52 + crate::builders::PRODUCT + 10;
        piece[at..at + 2].fill(0);
    }
    let decoder = decoder(&[pieces]);
    let found = rows_of(&decoder, "item", None);
    assert_eq!(
        numbers(&found),
        (0..4).map(|n| (int(n), int(n))).collect::<Vec<_>>()
    );
    assert!(
        problems(&decoder)[0]
            .problem
            .detail
            .contains("in the order of the parts")
    );
}

#[test]
fn earlier_record_is_read_once() {
    let records = [whole(4500), whole(5400), whole(4500)];
    let decoder = decoder(&[records.to_vec(), vec![whole(5400)]]);
    assert_eq!(rows_of(&decoder, "owner", None).len(), 4);
    let told = problems(&decoder);
    assert_eq!(told.len(), 2);
    assert!(
        told.iter()
            .all(|found| found.problem.kind == ProblemKind::Duplicate)
    );
    assert_eq!(told[0].problem.bytes, whole(4500).len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Records are complete for any split into segments in any order.
    #[test]
    fn any_split_gives_complete_record(
        cuts in prop::collection::btree_set(1_usize..10, 1..5),
        base in 0_u16..2,
        turn in 0_usize..5,
    ) {
        let items: Vec<Vec<u8>> = (0..10).map(item).collect();
        let owners = [owner(0, 4), owner(4, 6)];
        let mut ends: Vec<usize> = cuts.into_iter().collect();
        ends.push(10);
        let total = ends.len() as u16;
        let mut from = 0;
        let mut pieces = Vec::new();
        for (number, end) in (1..).zip(ends) {
            let own: &[Vec<u8>] = if number == total { &owners } else { &[] };
            let place = base + from as u16;
            let first = if number == total { base } else { 0 };
            pieces.push(piece(4500, (number, total), (&items[from..end], 10, place), (own, 2, first)));
            from = end;
        }
        let turn = turn % pieces.len();
        pieces.rotate_left(turn);
        let decoder = decoder(&[pieces]);
        let mut found = alike(rows_of(&decoder, "item", None));
        found.sort_by_key(|row| match row["section_no"] { Cell::Int(n) => n, _ => -1 });
        prop_assert_eq!(found, alike(rows(&[whole(4500)], "item")));
        prop_assert_eq!(problems(&decoder), vec![]);
    }
}
