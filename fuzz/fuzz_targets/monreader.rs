//! Any bytes as a capture of the live stream: every byte is accounted for, and the capture contains
//! every record found.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use zlens_frames::zvm::{Capture, Pass, sniff};
use zlens_frames::{ReadAt, Windows};

fuzz_target!(|bytes: Vec<u8>| {
    let _ = sniff(&bytes, bytes.len() as u64);
    let source: Arc<dyn ReadAt> = Arc::new(bytes.clone());
    let capture = Arc::new(Capture::walk(source, &mut |_, _| true).expect("memory can be read"));
    let lost: u64 = capture.problems().rows().iter().map(|row| row.bytes).sum();
    assert_eq!(capture.read_bytes() + lost, bytes.len() as u64);

    let found = Arc::new(capture.index(&mut |_, _| true).expect("memory can be read"));
    let accounted =
        found.control_bytes + found.data_bytes + found.padding_bytes + found.skipped_bytes;
    assert_eq!(accounted, capture.size());

    let all: Vec<u16> = (0..found.types.len() as u16).collect();
    let mut pass = Pass::new(Arc::clone(&capture) as _, Arc::clone(&found), &all);
    while let Some(window) = pass.next_window().expect("memory can be read") {
        for slot in 0..all.len() {
            for &record in window.records(slot) {
                let shown = window.offset_of(record);
                let at = usize::try_from(capture.original(shown)).expect("it is memory");
                let record = window.bytes_of(record);
                assert_eq!(&bytes[at..at + record.len()], record);
                assert_eq!(capture.shown(at as u64), shown);
            }
        }
    }
    assert!(pass.problems().is_empty());
});
