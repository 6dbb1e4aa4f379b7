//! Tests of later passes, which return the records counted by the first one, for selected types only.

use std::sync::Arc;

use zlens_frames::zvm::{Class, Index, Pass};
use zlens_frames::{ReadAt, Windows};

use crate::builders::{self, Found, Made};

fn pass(bytes: &Arc<Vec<u8>>, index: &Arc<Index>, wanted: &[u16]) -> Vec<Found> {
    let mut pass = Pass::new(
        Arc::clone(bytes) as Arc<dyn ReadAt>,
        Arc::clone(index),
        wanted,
    );
    let mut found = Vec::new();
    while let Some(window) = pass.next_window().expect("memory can be read") {
        for (slot, &id) in (0..).zip(wanted) {
            found.extend(builders::taken(&window, index, slot, id));
        }
    }
    assert_eq!(pass.position(), index.size);
    found.sort_by_key(|record| record.offset);
    found
}

#[test]
fn type_selection_equals_filter() {
    // Long enough for several windows; some types occur in few of them.
    let mut controls = Vec::new();
    for round in 0..5_u64 {
        let mut intervals = builders::sample();
        intervals.push(vec![Made {
            class: Class::Event,
            start: 0x10,
            records: (0..400)
                .map(|nth| builders::record(8, round as u16 + 1, 500, nth))
                .collect(),
        }]);
        controls.extend(intervals);
    }
    let bytes = builders::file(&controls);
    let (index, all) = builders::read(&bytes);
    assert!(bytes.len() > 4 * zlens_frames::WINDOW);
    let (bytes, index) = (Arc::new(bytes), Arc::new(index));
    let count = index.types.len() as u16;
    assert!((8..14).contains(&count), "{count}");
    for set in 0..1_u32 << count {
        // All sets would take too long: small ones, and some of the others.
        if set.count_ones() > 2 && set % 37 != 0 {
            continue;
        }
        let wanted: Vec<u16> = (0..count).filter(|id| set >> id & 1 == 1).collect();
        let filtered: Vec<&Found> = all
            .iter()
            .filter(|record| {
                let (domain, number) = record.id();
                let id = index.type_id(domain, number, record.class);
                id.is_some_and(|id| wanted.contains(&id))
            })
            .collect();
        let found = pass(&bytes, &index, &wanted);
        assert!(found.iter().eq(filtered), "types {wanted:?}");
    }
}

#[test]
fn only_pages_with_selected_records_are_read() {
    let rare = vec![Made {
        class: Class::Event,
        start: 0,
        records: vec![builders::record(5, 21, 40, 7)],
    }];
    let bulk = vec![Made {
        class: Class::Sample,
        start: 0,
        records: (0..9000)
            .map(|nth| builders::record(4, 3, 364, nth))
            .collect(),
    }];
    let bytes = builders::file(&[bulk.clone(), rare, bulk]);
    let (index, _) = builders::read(&bytes);
    let id = index.type_id(5, 21, Class::Event).expect("it is there");
    assert_eq!(index.bytes_with(&[id]), 4096);
    let all: Vec<u16> = (0..index.types.len() as u16).collect();
    // All except the first control record and the end; other control records are read too.
    assert_eq!(index.bytes_with(&all), index.size - 2 * 4096);
    assert_eq!(index.bytes_with(&[]), 0);
    assert_eq!(index.bytes_with(&[400]), 0);
}

#[test]
fn first_records_of_type_have_offsets() {
    let bytes = builders::file(&builders::sample());
    let (index, all) = builders::read(&bytes);
    for (id, kind) in (0..).zip(&index.types) {
        let of_type: Vec<(u64, Vec<u8>)> = all
            .iter()
            .filter(|one| one.id() == (kind.domain, kind.record) && one.class == kind.class)
            .map(|one| (one.offset, one.bytes.clone()))
            .collect();
        for limit in [0, 1, 3, usize::MAX] {
            let found = index
                .first_records(&bytes, id, limit)
                .expect("memory can be read");
            assert_eq!(found, of_type[..limit.min(of_type.len())]);
        }
    }
    let none = index.first_records(&bytes, 400, 5);
    assert_eq!(none.expect("memory can be read"), []);
}

#[test]
fn unknown_and_repeated_types_are_ignored() {
    let bytes = builders::file(&builders::sample());
    let (index, _) = builders::read(&bytes);
    let (bytes, index) = (Arc::new(bytes), Arc::new(index));
    assert_eq!(pass(&bytes, &index, &[]), []);
    let mut pass = Pass::new(bytes, Arc::clone(&index), &[0, 9999, 0]);
    let window = pass
        .next_window()
        .expect("memory can be read")
        .expect("there are records");
    assert!(window.records(0).is_empty());
    assert!(window.records(1).is_empty());
    assert!(!window.records(2).is_empty());
    assert!(window.records(3).is_empty());
}

#[test]
fn records_starting_in_skipped_bytes_are_omitted() {
    let (bytes, all) = {
        let mut controls = builders::sample();
        controls.extend(builders::sample());
        let bytes = builders::file(&controls);
        let (_, all) = builders::read(&bytes);
        (bytes, all)
    };
    let (index, _) = builders::read(&bytes);
    let types: Vec<u16> = (0..index.types.len() as u16).collect();
    let (bytes, index) = (Arc::new(bytes), Arc::new(index));
    let (third, last) = (all[2].offset, all[all.len() - 1].offset);
    let middle = all[all.len() / 2].offset;
    let cases: [&[(u64, u64)]; 5] = [
        &[],
        &[(0, third)],
        &[(third, third + 1), (middle, last)],
        &[(0, middle), (middle + 1, u64::MAX)],
        &[(last + 1, u64::MAX)],
    ];
    for case in cases {
        let ranges: Vec<_> = case.iter().map(|&(from, to)| from..to).collect();
        let mut pass = Pass::new(
            Arc::clone(&bytes) as Arc<dyn ReadAt>,
            Arc::clone(&index),
            &types,
        )
        .without(ranges.clone().into());
        let mut found = Vec::new();
        while let Some(window) = pass.next_window().expect("memory can be read") {
            for slot in 0..types.len() {
                let records = window.records(slot).iter();
                found.extend(records.map(|record| window.offset_of(*record)));
            }
        }
        found.sort_unstable();
        let wanted: Vec<u64> = all
            .iter()
            .map(|record| record.offset)
            .filter(|at| !ranges.iter().any(|range| range.contains(at)))
            .collect();
        assert_eq!(found, wanted, "{ranges:?}");
    }
}
