//! Any bytes: the index accounts for every one, and a pass finds the records that it counted.

#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use zlens_frames::ReadAt;
use zlens_frames::smf::{Clock, Header, MAX_KINDS, Pass, Triplet, index, sniff};

const fn triplet(at: u16) -> Triplet {
    Triplet {
        offset_at: at,
        length_at: at + 4,
        count_at: at + 6,
    }
}

const CLOCK: Clock = Clock {
    record: 113,
    subtype: 1,
    identification: triplet(36),
    start: 24,
    end: 32,
    data: triplet(44),
    written: 8,
};

fuzz_target!(|bytes: Vec<u8>| {
    let _ = sniff(&bytes, bytes.len() as u64);
    let found = index(&bytes, &[CLOCK], &mut |_, _| true).expect("memory can be read");
    assert_eq!(found.record_bytes + found.skipped_bytes, bytes.len() as u64);
    let lost: u64 = found.problems.rows().iter().map(|row| row.bytes).sum();
    assert_eq!(lost, found.skipped_bytes);

    let wanted: BTreeSet<(u8, u16)> = found
        .kinds
        .iter()
        .filter_map(|info| Some((info.kind.record, info.kind.subtype?)))
        .collect();
    let wanted: Vec<(u8, u16)> = wanted.into_iter().collect();
    let counted: u64 = found
        .kinds
        .iter()
        .filter(|info| info.kind.subtype.is_some())
        .map(|info| info.count)
        .sum();
    let whole = found.kinds.len() < MAX_KINDS;
    let source: Arc<dyn ReadAt> = Arc::new(bytes);
    let mut pass = Pass::new(source, Arc::new(found), &wanted);
    let mut records = 0;
    while let Some(window) = pass.next_window().expect("memory can be read") {
        for (slot, &kind) in wanted.iter().enumerate() {
            for &record in window.records(slot) {
                let bytes = window.bytes_of(record);
                let header = Header::parse(bytes).expect("a record has a header");
                assert_eq!((header.record, header.subtype), (kind.0, Some(kind.1)));
                assert_eq!(usize::from(header.length), bytes.len());
                records += 1;
            }
        }
    }
    assert!(pass.problems().is_empty());
    assert!(records == counted || !whole);
});
