//! Writes small valid dumps of records of sections as seeds of the fuzzer: `cargo run --example
//! sections_seeds` in this folder.

use std::fs;
use std::path::Path;

use zlens_frames::smf::{Date, Header, Writer};
use zlens_frames::tod;

/// Length of the section with the interval.
const PRODUCT: usize = 38;

fn header() -> Vec<u8> {
    let header = Header {
        length: 0,
        segment: 0,
        flags: 0x5E,
        record: 70,
        time: 90_000,
        date: Date::new(2026, 1),
        system: [0xE2, 0xE8, 0xE2, 0xC1],
        subsystem: [0x40; 4],
        subtype: Some(1),
    };
    let mut bytes = header.encode();
    bytes.resize(52, 0);
    bytes
}

/// A quarter of an hour from midnight; `broken` adds the data of a broken record.
fn product(broken: bool) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0x0F];
    bytes.extend(Date::new(2026, 1).0.to_be_bytes());
    bytes.extend([0x15, 0, 0, 0x0F]);
    bytes.extend(tod::from_unix_us(1_767_226_500_000_000).to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend(900_u16.to_be_bytes());
    bytes.resize(PRODUCT, 0);
    if broken {
        bytes[30..38].copy_from_slice(&[0, 0, 0, PRODUCT as u8, 0, 16, 0, 1]);
    }
    bytes
}

fn item(number: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, number];
    bytes.resize(60, number);
    bytes[17..20].copy_from_slice(&[0x00, 0x12, 0x3F]);
    bytes[52..56].copy_from_slice(&Date::new(2026, 1).0.to_be_bytes());
    bytes
}

fn add(record: &mut Vec<u8>, triplet: usize, sections: &[Vec<u8>]) {
    let Some(first) = sections.first() else {
        return;
    };
    let offset = record.len() as u32;
    record[triplet..triplet + 4].copy_from_slice(&offset.to_be_bytes());
    record[triplet + 4..triplet + 6].copy_from_slice(&(first.len() as u16).to_be_bytes());
    record[triplet + 6..triplet + 8].copy_from_slice(&(sections.len() as u16).to_be_bytes());
    record.extend(sections.concat());
}

fn whole() -> Vec<u8> {
    let mut record = header();
    add(&mut record, 28, &[product(false)]);
    add(&mut record, 36, &[item(1), item(2), item(3)]);
    add(&mut record, 44, &[vec![0, 0, 0, 2], vec![0, 2, 0, 1]]);
    record
}

fn piece(sequence: u16, items: &[Vec<u8>], first: u16) -> Vec<u8> {
    let mut record = header();
    add(&mut record, 28, &[product(true)]);
    let words = [
        2,
        sequence,
        0,
        PRODUCT as u16 + 16,
        4,
        3,
        0,
        0,
        1,
        1,
        3,
        first,
        0,
        0,
    ];
    record.extend(words.iter().flat_map(|word: &u16| word.to_be_bytes()));
    add(&mut record, 36, items);
    record
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/sections");
    fs::create_dir_all(&folder)?;
    let first = piece(1, &[item(1), item(2)], 1);
    let files = [
        ("whole", vec![whole()]),
        ("again", vec![whole(), whole()]),
        ("pieces", vec![first.clone(), piece(2, &[item(3)], 3)]),
        ("half", vec![whole(), first]),
    ];
    for (name, records) in files {
        let mut writer = Writer::new(Vec::new());
        for record in &records {
            writer.write(record)?;
        }
        fs::write(folder.join(name), writer.finish()?)?;
    }
    Ok(())
}
