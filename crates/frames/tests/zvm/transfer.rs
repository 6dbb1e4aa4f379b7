//! Tests of recognizing files, and damage by transfers.

use zlens_frames::zvm::{Class, Sniff, sniff};
use zlens_frames::{PAGE, ProblemKind};

use crate::builders::{self, Made, says};

/// Returns the file after a transfer as text: bytes translated from code page 037 to ASCII, and bytes without
/// ASCII replaced.
fn translated(bytes: &[u8], replacement: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in bytes {
        match zlens_frames::ebcdic::CP037[usize::from(byte)] {
            ascii @ 0..=0x7F => out.push(ascii),
            _ => out.extend_from_slice(replacement),
        }
    }
    out
}

fn is_damaged(bytes: &[u8], words: &str) {
    let rows = builders::problems(bytes);
    assert!(says(&rows, ProblemKind::Transfer, words), "{rows:#?}");
    assert!(says(&rows, ProblemKind::Transfer, "binary"), "{rows:#?}");
    assert!(says(&rows, ProblemKind::Transfer, "FIX 4096"), "{rows:#?}");
    match sniff(&bytes[..bytes.len().min(65_536)], bytes.len() as u64) {
        Sniff::Damaged(sentence) => assert!(sentence.contains(words), "{sentence}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn file_translated_to_ascii() {
    let bytes = builders::file(&builders::sample());
    is_damaged(&translated(&bytes, b"?"), "translated to ASCII");
    let row = builders::problem(&translated(&bytes, b"?"));
    assert_eq!((row.kind, row.offset), (ProblemKind::Transfer, 0));
    assert_eq!(row.bytes, bytes.len() as u64);
    let events = builders::file(&[vec![Made {
        class: Class::Event,
        start: 0,
        records: vec![builders::record(6, 1, 100, 1)],
    }]]);
    is_damaged(&translated(&events, b"?"), "x'45'");
}

#[test]
fn file_with_replacement_characters() {
    let bytes = builders::file(&builders::sample());
    let replaced = String::from_utf8_lossy(&bytes);
    is_damaged(replaced.as_bytes(), "x'EFBFBD'");
}

#[test]
fn file_reencoded_as_utf8() {
    let bytes = builders::file(&builders::sample());
    let encoded: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    is_damaged(encoded.as_bytes(), "UTF-8");
}

#[test]
fn file_with_line_end_after_every_record() {
    let bytes = builders::file(&builders::sample());
    for separator in [&b"\n"[..], b"\r\n"] {
        let damaged: Vec<u8> = bytes
            .chunks(PAGE)
            .flat_map(|page| [page, separator].concat())
            .collect();
        is_damaged(&damaged, "a line end");
    }
}

#[test]
fn file_with_doubled_line_feeds() {
    let mut bytes = builders::file(&builders::sample());
    bytes[3 * PAGE..]
        .iter_mut()
        .step_by(997)
        .for_each(|byte| *byte = b'\n');
    let damaged: Vec<u8> = bytes
        .iter()
        .flat_map(|&byte| match byte {
            b'\n' => vec![b'\r', b'\n'],
            b'\r' => vec![b'?'],
            _ => vec![byte],
        })
        .collect();
    assert_ne!(damaged.len() % PAGE, 0);
    is_damaged(&damaged, "line ends were changed");
}

#[test]
fn undamaged_file_is_recognized() {
    let bytes = builders::file(&builders::sample());
    for count in [64, PAGE, 2 * PAGE, 65_536] {
        assert_eq!(sniff(&bytes[..count], bytes.len() as u64), Sniff::Monwrite);
    }
    // Also with a damaged start, and without a count of entries.
    let mut late = bytes.clone();
    late[..PAGE].fill(0xFF);
    assert_eq!(sniff(&late[..65_536], late.len() as u64), Sniff::Monwrite);
    let mut uncounted = bytes.clone();
    uncounted[..40].fill(0);
    let size = bytes.len() as u64;
    assert_eq!(sniff(&uncounted[..2 * PAGE], size), Sniff::Monwrite);
    assert_eq!(sniff(&[0; 65_536], 1 << 32), Sniff::No);
    // The second control record is then not at a page boundary.
    assert_eq!(sniff(&bytes[17..65_536], size), Sniff::Monwrite);
}

#[test]
fn other_files_are_not_recognized() {
    let text = "Not monitor data at all.\r\n".repeat(3000);
    for other in [text.as_bytes(), &[], b"short", b"<?xml version='1.0'?>"] {
        assert_eq!(sniff(other, other.len() as u64), Sniff::No);
    }
}
