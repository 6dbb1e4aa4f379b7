//! Recognising a dump, and the forms of one that cannot be read.

use zlens_frames::smf::{Sniff, sniff};
use zlens_frames::{ProblemKind, ebcdic};

use crate::made;

fn say(bytes: &[u8]) -> Sniff {
    sniff(&bytes[..bytes.len().min(65_536)], bytes.len() as u64)
}

/// Says that a form is recognised by these words, by a look at the head and by a pass.
fn damaged(bytes: &[u8], words: &str) {
    let Sniff::Damaged(sentence) = say(bytes) else {
        panic!("{words}: {:?}", say(bytes));
    };
    assert!(sentence.contains(words), "{sentence}");
    assert!(sentence.contains("QUOTE SITE RDW"), "{sentence}");
    let rows = made::problems(bytes);
    assert!(made::says(&rows, ProblemKind::Transfer, words), "{rows:?}");
}

#[test]
fn a_dump() {
    let whole = made::file(&made::sample());
    assert_eq!(say(&whole), Sniff::Smf);
    assert_eq!(say(&whole[..18]), Sniff::Smf);
    assert_eq!(say(&whole[..500]), Sniff::Smf);
    assert_eq!(say(&made::file(&made::sample()[1..])), Sniff::Smf);
    // The beginning is lost.
    assert_eq!(say(&whole[7..]), Sniff::Smf);
}

#[test]
fn what_is_no_dump() {
    assert_eq!(say(&[]), Sniff::No);
    assert_eq!(say(b"<?xml version='1.0'?><ddsml>"), Sniff::No);
    assert_eq!(say(&[0; 9000]), Sniff::No);
    assert_eq!(say(&[0xFF; 9000]), Sniff::No);
    assert_eq!(say(&[0x40; 100]), Sniff::No);
}

/// Records in blocks of at most 27,998 bytes.
fn blocked(records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block: Vec<u8> = Vec::new();
    let mut close = |block: &mut Vec<u8>| {
        if !block.is_empty() {
            out.extend((block.len() as u16 + 4).to_be_bytes());
            out.extend([0, 0]);
            out.append(block);
        }
    };
    for record in records {
        if block.len() + record.len() > 27_994 {
            close(&mut block);
        }
        block.extend_from_slice(record);
    }
    close(&mut block);
    out
}

fn small() -> Vec<Vec<u8>> {
    let mut records = made::sample();
    records.retain(|record| record.len() < 2000);
    records
}

#[test]
fn blocks() {
    damaged(&blocked(&small()), "in blocks");
    // Blocks of a tape may be longer.
    let records = made::file(&small());
    let mut extended = (0x8000_0004 + records.len() as u32).to_be_bytes().to_vec();
    extended.extend(&records);
    damaged(&extended, "in blocks");
}

/// A record in segments of at most 700 bytes.
fn segments(record: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = record[4..].chunks(696).collect();
    let mut out = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        let bits = match (nth == 0, nth + 1 == parts.len()) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        out.extend((part.len() as u16 + 4).to_be_bytes());
        out.extend([bits, 0]);
        out.extend_from_slice(part);
    }
    out
}

#[test]
fn spanned_records_among_whole_ones() {
    let records = small();
    let mut bytes = Vec::new();
    let mut long = 0;
    for record in &records {
        let in_segments = segments(record);
        long += u64::from(in_segments.len() > record.len());
        bytes.extend(in_segments);
    }
    assert_eq!(say(&bytes), Sniff::Smf);
    let (index, _) = made::read(&bytes);
    assert_eq!(index.records, records.len() as u64 - long);
    let rows = index.problems.rows();
    assert!(
        made::says(&rows, ProblemKind::Transfer, "in 2 segments"),
        "{rows:?}"
    );
    assert!(rows.iter().all(|row| row.kind == ProblemKind::Transfer));
    // The first record in segments.
    let bytes = segments(&records[1]).repeat(5);
    damaged(&bytes, "segments");
    // In blocks too, as a VBS data set is stored.
    let part = segments(&records[1])[..700].to_vec();
    let mut block = (part.len() as u16 + 4).to_be_bytes().to_vec();
    block.extend([0, 0]);
    block.extend(part);
    damaged(&block, "block descriptor words and segments");
}

#[test]
fn descriptor_words_that_are_gone() {
    let bytes: Vec<u8> = small()
        .iter()
        .flat_map(|record| record[4..].to_vec())
        .collect();
    damaged(&bytes, "without their record descriptor words");
}

#[test]
fn a_translation_to_ascii() {
    let ascii = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .map(|&byte| ebcdic::to_char(byte) as u32 as u8)
            .collect()
    };
    damaged(&ascii(&made::file(&small())), "EBCDIC to ASCII");
    // As FTP does it: descriptor words go, line ends come.
    let lines: Vec<u8> = small()
        .iter()
        .flat_map(|record| [ascii(&record[4..]), b"\r\n".to_vec()].concat())
        .collect();
    damaged(&lines, "EBCDIC to ASCII");
}
