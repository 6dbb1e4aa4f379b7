//! Any bytes: the index accounts for every byte, and a pass over all types finds the counted
//! records.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use zlens_frames::Windows;
use zlens_frames::zvm::{HEADER, Header, MAX_TYPES, Pass, index, sniff};

fuzz_target!(|bytes: Vec<u8>| {
    let _ = sniff(&bytes, bytes.len() as u64);
    let found = Arc::new(index(&bytes, &mut |_, _| true).expect("memory can be read"));
    let accounted =
        found.control_bytes + found.data_bytes + found.padding_bytes + found.skipped_bytes;
    assert_eq!(accounted, bytes.len() as u64);
    let lost: u64 = found.problems.rows().iter().map(|row| row.bytes).sum();
    assert_eq!(lost, found.skipped_bytes);

    let all: Vec<u16> = (0..found.types.len() as u16).collect();
    let mut pass = Pass::new(Arc::new(bytes), Arc::clone(&found), &all);
    let (mut records, mut data) = (0, 0);
    while let Some(window) = pass.next_window().expect("memory can be read") {
        for (slot, kind) in found.types.iter().enumerate() {
            for &record in window.records(slot) {
                let bytes = window.bytes_of(record);
                assert!(bytes.len() >= HEADER);
                let header = Header::parse(bytes).expect("a record has a header");
                assert_eq!((header.domain, header.record), (kind.domain, kind.record));
                assert_eq!(usize::from(header.length), bytes.len());
                records += 1;
                data += bytes.len() as u64;
            }
        }
    }
    assert!(pass.problems().is_empty());
    assert_eq!(records, found.records());
    assert!(data == found.data_bytes || found.types.len() == MAX_TYPES);
});
