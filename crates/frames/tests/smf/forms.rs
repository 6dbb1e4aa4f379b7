//! Tests of recognizing dumps, and of formats that cannot be read.

use zlens_frames::smf::{Sniff, sniff};
use zlens_frames::{ProblemKind, ebcdic};

use crate::builders;

fn say(bytes: &[u8]) -> Sniff {
    sniff(&bytes[..bytes.len().min(65_536)], bytes.len() as u64)
}

/// Asserts that `sniff` reports damage with these words.
fn named(bytes: &[u8], words: &str) {
    let Sniff::Damaged(sentence) = say(bytes) else {
        panic!("{words}: {:?}", say(bytes));
    };
    assert!(sentence.contains(words), "{sentence}");
    assert!(sentence.contains("QUOTE SITE RDW"), "{sentence}");
}

/// Asserts the same, and that a pass reports these words.
fn damaged(bytes: &[u8], words: &str) {
    named(bytes, words);
    let rows = builders::problems(bytes);
    assert!(
        builders::says(&rows, ProblemKind::Transfer, words),
        "{rows:?}"
    );
}

#[test]
fn dump_is_recognized() {
    let whole = builders::file(&builders::sample());
    assert_eq!(say(&whole), Sniff::Smf);
    assert_eq!(say(&whole[..18]), Sniff::Smf);
    assert_eq!(say(&whole[..500]), Sniff::Smf);
    assert_eq!(say(&builders::file(&builders::sample()[1..])), Sniff::Smf);
    // The start is missing.
    assert_eq!(say(&whole[7..]), Sniff::Smf);
}

#[test]
fn other_files_are_not_dumps() {
    assert_eq!(say(&[]), Sniff::No);
    assert_eq!(say(b"<?xml version='1.0'?><ddsml>"), Sniff::No);
    assert_eq!(say(&[0; 9000]), Sniff::No);
    assert_eq!(say(&[0xFF; 9000]), Sniff::No);
    assert_eq!(say(&[0x40; 100]), Sniff::No);
}

fn small() -> Vec<Vec<u8>> {
    let mut records = builders::sample();
    records.retain(|record| record.len() < 2000);
    records
}

#[test]
fn missing_descriptor_words() {
    let joined = |with: &dyn Fn(&[u8]) -> Vec<u8>| -> Vec<u8> {
        let bodies = small().into_iter().map(|record| with(&record[4..]));
        bodies.collect::<Vec<_>>().concat()
    };
    let plain = joined(&<[u8]>::to_vec);
    damaged(&plain, "without their record descriptor words");
    damaged(&plain, "the second seems to begin at byte 14)");
    damaged(&plain, "without SITE RDW");
    for end in [&b"\r\n"[..], b"\n", &[0x15], &[0x25]] {
        let lines = joined(&|body| [body, end].concat());
        damaged(&lines, "with line ends between them");
    }
    let filled = joined(&|body| {
        let mut body = body.to_vec();
        body.resize(4096, 0);
        body
    });
    damaged(&filled, "each filled up to 4096 bytes");
    // A single record only shows the missing descriptor word.
    damaged(&builders::record(30, Some(5), 300, 1)[4..], "does not ask");
}

#[test]
fn unusual_descriptor_words() {
    let words = |swapped: bool, less: u16| -> Vec<u8> {
        let mut records = small();
        for record in &mut records {
            let length = record.len() as u16 - less;
            let bytes = if swapped {
                length.to_le_bytes()
            } else {
                length.to_be_bytes()
            };
            record[..2].copy_from_slice(&bytes);
        }
        records.concat()
    };
    named(&words(true, 0), "are little-endian; write each word");
    named(&words(false, 4), "do not count themselves");
    named(
        &words(true, 4),
        "are little-endian and do not count themselves",
    );
    assert_eq!(say(&words(false, 0)), Sniff::Smf);
}

#[test]
fn translation_to_ascii() {
    let ascii = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .map(|&byte| ebcdic::to_char(byte) as u32 as u8)
            .collect()
    };
    damaged(&ascii(&builders::file(&small())), "EBCDIC to ASCII");
    // Like FTP: no descriptor words, but line ends.
    let lines: Vec<u8> = small()
        .iter()
        .flat_map(|record| [ascii(&record[4..]), b"\r\n".to_vec()].concat())
        .collect();
    damaged(&lines, "EBCDIC to ASCII");
}
