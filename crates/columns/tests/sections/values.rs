//! Tests of decoded values, for the fields that the section length in the triplet covers.

use proptest::prelude::*;

use crate::builders::{
    Cell, ITEM, add, at, decoder, header, int, item, owner, product, record, rows, rows_of,
};

#[test]
fn every_field_kind_is_decoded() {
    let found = rows(&[record(4500, &[item(3)], &[owner(0, 1)])], "item");
    let [row] = &found[..] else {
        panic!("one row");
    };
    let expected = [
        ("system", Cell::Text("A".into())),
        ("source", Cell::Text("smf".into())),
        ("file", Cell::Text("dump0".into())),
        ("offset", int(0)),
        ("tod", at(4500)),
        ("interval_end", at(4500)),
        ("seconds", Cell::Float(900.0)),
        ("flag", Cell::Null),
        ("section_no", int(0)),
        ("owner_no", int(0)),
        ("number", int(3)),
        ("name", Cell::Text("I3".into())),
        ("busy", Cell::Float(4.5)),
        ("flags", int(0x41)),
        ("flags_second", Cell::Bool(true)),
        ("digits", int(123)),
        ("service", Cell::Float(1.5)),
        ("signed", int(-7)),
        ("raw", Cell::Text("abcd".into())),
        ("local", at(7200)),
        ("large", int(3)),
        // One second after midnight: not before the interval start at 01:00, so on the next day.
        ("begin", at(86_401)),
        ("short", Cell::Float(1.5)),
        ("raw_of_1", Cell::Null),
    ];
    assert_eq!(row.len(), expected.len());
    for (name, value) in expected {
        assert_eq!(row[name], value, "{name}");
    }
}

#[test]
fn local_times_become_utc_by_zone_of_record() {
    let mut bytes = header("SYSA", 4500 + 3600, 1);
    add(&mut bytes, 28, &[product(4500, 3600)]);
    add(&mut bytes, 36, &[item(1)]);
    let item = &rows(&[bytes.clone()], "item")[0];
    assert_eq!(item["interval_end"], at(4500));
    assert_eq!(item["tod"], at(4500));
    assert_eq!(item["local"], at(3600));
    assert_eq!(item["begin"], at(86_401 - 3600));
    let product = &rows(&[bytes], "product")[0];
    assert_eq!(product["start"], at(3600));
    assert_eq!(product["day"], Cell::Text("2026-01-01".into()));
    assert_eq!(product["length"], Cell::Float(900.0));
    assert_eq!(product["zone"], Cell::Float(3600.0));
}

#[test]
fn early_interval_end_is_preserved() {
    let mut bytes = header("SYSA", 4500, 1);
    let mut section = product(4500, 0);
    // The interval lasts two minutes, but was due to end at 4500.
    section[8..12].copy_from_slice(&[0x02, 0x00, 0x00, 0x0F]);
    add(&mut bytes, 28, &[section]);
    let row = &rows(&[bytes], "product")[0];
    assert_eq!(row["interval_end"], at(3600 + 120));
    assert_eq!(row["seconds"], Cell::Float(120.0));
    assert_eq!(row["flag"], Cell::Text("short".into()));
}

#[test]
fn single_column_equals_all() {
    let records = [
        record(4500, &[item(1), item(2)], &[owner(1, 1)]),
        record(5400, &[item(3)], &[]),
    ];
    let decoder = decoder(&[records.to_vec()]);
    let all = rows_of(&decoder, "item", None);
    for name in all[0].keys() {
        let alone = rows_of(&decoder, "item", Some(std::slice::from_ref(name)));
        let expected: Vec<_> = all.iter().map(|row| &row[name]).collect();
        assert_eq!(
            alone.iter().map(|row| &row[name]).collect::<Vec<_>>(),
            expected,
            "{name}"
        );
    }
}

#[test]
fn both_subtypes_and_header_are_read() {
    let mut second = record(4500, &[item(1)], &[]);
    second[23] = 2;
    let found = rows(&[record(4500, &[], &[]), second], "header");
    let subtypes: Vec<_> = found.iter().map(|row| row["subtype"].clone()).collect();
    assert_eq!(subtypes, [int(1), int(2)]);
    assert_eq!(found[1]["written"], at(4500));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Fields that the section length covers have values, all others are NULL.
    #[test]
    fn fields_are_gated_by_length_of_their_section(length in 4_usize..100, count in 1_u32..5) {
        let sections: Vec<Vec<u8>> = (0..count)
            .map(|number| {
                let mut bytes = item(number);
                bytes.resize(length, 0);
                bytes
            })
            .collect();
        let whole: Vec<Vec<u8>> = (0..count).map(item).collect();
        let found = rows(&[record(4500, &sections, &[])], "item");
        let expected = rows(&[record(4500, &whole, &[])], "item");
        prop_assert_eq!(found.len(), count as usize);
        // Name, and the offset after each field.
        let ends = [
            ("number", 4), ("name", 8), ("busy", 16), ("flags", 17), ("flags_second", 17), ("digits", 20),
            ("service", 28), ("signed", 30), ("raw", 32), ("local", 40), ("large", 48), ("begin", ITEM),
        ];
        for (row, whole) in found.iter().zip(&expected) {
            for (name, end) in ends {
                let value = if end <= length { whole[name].clone() } else { Cell::Null };
                prop_assert_eq!(&row[name], &value, "{} of {} bytes", name, length);
            }
        }
    }

    /// A triplet locates consecutive sections of its length within the record.
    #[test]
    fn triplets_locate_sections(offset in 0_u32..200, length in 0_u16..40, count in 0_u16..12) {
        let mut bytes = header("SYSA", 4500, 1);
        add(&mut bytes, 28, &[product(4500, 0)]);
        bytes.extend((0..60_u8).map(|byte| byte + 1));
        bytes[36..40].copy_from_slice(&offset.to_be_bytes());
        bytes[40..42].copy_from_slice(&length.to_be_bytes());
        bytes[42..44].copy_from_slice(&count.to_be_bytes());
        let size = bytes.len();
        let mut expected = Vec::new();
        for nth in 0..usize::from(count) {
            let start = offset as usize + nth * usize::from(length);
            if offset >= 24 && length >= 4 && start + usize::from(length) <= size {
                let at = bytes.get(start..start + 4);
                expected.push(at.map_or(Cell::Null, |b| int(i64::from(u32::from_be_bytes([b[0], b[1], b[2], b[3]])))));
            }
        }
        // The first two bytes are the record length, which the writer fills in.
        let found = rows(&[bytes], "item");
        prop_assert_eq!(found.iter().map(|row| row["number"].clone()).collect::<Vec<_>>(), expected);
    }

    /// Claims are consecutive gaps and lengths; a section belongs to the owner whose range contains it.
    #[test]
    fn sections_belong_to_claiming_sections(claims in prop::collection::vec((0_i16..4, 0_i16..4), 0..5)) {
        let items: Vec<Vec<u8>> = (0..8).map(item).collect();
        let mut owners = Vec::new();
        let mut expected = [0; 8].map(|_| Cell::Null);
        let mut next = 0;
        for (number, &(gap, count)) in claims.iter().enumerate() {
            owners.push(owner(next + gap, count));
            let own = (next + gap) as usize..(next + gap + count) as usize;
            for place in own.filter(|&place| place < 8) {
                expected[place] = int(number as i64);
            }
            next += gap + count;
        }
        let found = rows(&[record(4500, &items, &owners)], "item");
        let found: Vec<Cell> = found.iter().map(|row| row["owner_no"].clone()).collect();
        prop_assert_eq!(found, expected.to_vec());
    }
}

#[test]
fn triplet_in_section_leads_to_sections() {
    let mut items = [item(7), item(8)];
    let inner = [[1, 2, 3, 0], [0, 0, 9, 0]];
    let mut bytes = record(4500, &items, &[]);
    let offset = bytes.len() as u32;
    items[0][40..44].copy_from_slice(&offset.to_be_bytes());
    items[0][44..48].copy_from_slice(&[0, 4, 0, 2]);
    let mut bytes_of = |items: &[Vec<u8>]| {
        bytes = record(4500, items, &[]);
        bytes.extend(inner.concat());
        rows(std::slice::from_ref(&bytes), "inner")
    };
    let found = bytes_of(&items);
    let values: Vec<_> = found.iter().map(|row| row["value"].clone()).collect();
    assert_eq!(values, [int(0x01_0203), int(9)]);
    // Each section of a kind may lead to some.
    let first = items[0][40..48].to_vec();
    items[1][40..48].copy_from_slice(&first);
    assert_eq!(bytes_of(&items).len(), 4);
}

#[test]
fn triplet_beyond_its_section_is_none() {
    let mut bytes = header("SYSA", 4500, 1);
    add(&mut bytes, 28, &[product(4500, 0)]);
    add(&mut bytes, 36, &[vec![0xFF; 44]]);
    assert_eq!(rows(&[bytes], "inner"), []);
}

#[test]
fn field_is_read_if_its_condition_holds() {
    let items = [item(1), item(2), item(1), item(1)];
    let found = rows(&[record(4500, &items, &[])], "item");
    let raw: Vec<_> = found.iter().map(|row| row["raw_of_1"].clone()).collect();
    let read = Cell::Text("abcd".to_owned());
    assert_eq!(raw, [read.clone(), Cell::Null, read.clone(), read]);
    // 0x41180000: 16 to the power of 1, times 0x18/0x100.
    assert!(found.iter().all(|row| row["short"] == Cell::Float(1.5)));
}
