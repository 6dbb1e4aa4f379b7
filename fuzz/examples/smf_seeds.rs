//! Writes small valid dumps as seeds of the fuzzer: `cargo run --example smf_seeds` in this folder.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use zlens_frames::smf::{Date, Header, Writer};
use zlens_frames::tod;

fn header(record: u16, subtype: Option<u16>) -> Vec<u8> {
    let header = Header {
        length: 0,
        segment: 0,
        flags: if subtype.is_some() { 0x5E } else { 0x1E },
        record,
        time: 100,
        date: Date::new(2026, 1),
        system: [0xE2, 0xE8, 0xE2, 0xC1],
        subsystem: [0x40; 4],
        subtype,
    };
    header.encode()
}

/// A record of type 113 with its sections and a set of six counters.
fn counters(subtype: u16, minute: i64) -> Vec<u8> {
    let size: u16 = if subtype == 1 { 78 } else { 84 };
    let list = 92 + u32::from(size);
    let entry: u16 = if subtype == 1 { 12 } else { 4 };
    let mut bytes = header(113, Some(subtype));
    bytes.resize(52, 0);
    triplet(&mut bytes, 36, 52, 40, 1);
    triplet(&mut bytes, 44, 92, size, 1);
    bytes.resize(76, 0x40);
    for minute in [minute, minute + 15, 0, minute + 15] {
        let tod = tod::from_unix_us((1_767_225_600 + minute * 60) * 1_000_000);
        bytes.extend(tod.to_be_bytes());
    }
    bytes.resize(list as usize, 0);
    if subtype == 1 {
        triplet(&mut bytes, 92 + 52, list, entry, 1);
        bytes.extend([0, 1, 0x80, 0]);
        bytes.extend([0; 8]);
        triplet(&mut bytes, list as usize + 4, list + 12, 8, 6);
    } else {
        triplet(&mut bytes, 92 + 24, list, entry, 1);
        triplet(&mut bytes, 92 + 32, list + 4, 8, 6);
        bytes.extend([1, 0, 0, 6]);
    }
    for counter in 0..6 {
        bytes.extend((minute as u64 * 100 + counter).to_be_bytes());
    }
    bytes
}

fn triplet(bytes: &mut [u8], at: usize, offset: u32, length: u16, count: u16) {
    bytes[at..at + 4].copy_from_slice(&offset.to_be_bytes());
    bytes[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
    bytes[at + 6..at + 8].copy_from_slice(&count.to_be_bytes());
}

/// All records in one block.
fn blocks(records: &[Vec<u8>]) -> Vec<u8> {
    let length: usize = records.iter().map(Vec::len).sum();
    let mut out = (length as u16 + 4).to_be_bytes().to_vec();
    out.extend([0, 0]);
    for record in records {
        out.extend((record.len() as u16).to_be_bytes());
        out.extend([0, 0]);
        out.extend(&record[4..]);
    }
    out
}

/// Each record in segments, each segment in a block.
fn segments(records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        let parts: Vec<&[u8]> = record[4..].chunks(90).collect();
        for (nth, part) in parts.iter().enumerate() {
            let bits = match (nth, nth + 1 == parts.len()) {
                (0, true) => 0,
                (0, false) => 1,
                (_, true) => 2,
                (_, false) => 3,
            };
            out.extend([
                0,
                part.len() as u8 + 8,
                0,
                0,
                0,
                part.len() as u8 + 4,
                bits,
                0,
            ]);
            out.extend(*part);
        }
    }
    out
}

/// An archive with one uncompressed member.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let size = (bytes.len() as u32).to_le_bytes();
    let facts = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &size,
        &size,
        &[1, 0, 0, 0],
    ]
    .concat();
    let member = [b"PK\x03\x04", &facts[..], b"a", bytes].concat();
    let entry = [b"PK\x01\x02\x14\x00", &facts[..], &[0; 14], b"a"].concat();
    let (at, length) = (member.len() as u32, entry.len() as u32);
    let end = [&length.to_le_bytes()[..], &at.to_le_bytes(), &[0, 0]].concat();
    [&member[..], &entry, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &end].concat()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/smf");
    fs::create_dir_all(&folder)?;
    let mut long = header(70, Some(1));
    long.resize(3000, 1);
    let files = [
        ("plain", vec![header(2, None), header(3, None)]),
        ("deltas", (0..3).map(|nth| counters(1, 15 * nth)).collect()),
        ("totals", (0..3).map(|nth| counters(2, 15 * nth)).collect()),
        (
            "mixed",
            vec![
                header(2, None),
                counters(1, 0),
                long,
                counters(2, 0),
                header(3, None),
            ],
        ),
    ];
    for (name, records) in files {
        let mut writer = Writer::new(Vec::new());
        for record in &records {
            writer.write(record)?;
        }
        fs::write(folder.join(name), writer.finish()?)?;
        fs::write(folder.join(format!("{name}-blocks")), blocks(&records))?;
        fs::write(folder.join(format!("{name}-segments")), segments(&records))?;
    }
    let packed = folder.with_file_name("packed");
    fs::create_dir_all(&packed)?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        if let Some(name) = path.file_name() {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(&bytes)?;
            fs::write(packed.join(name).with_extension("gz"), gzip.finish()?)?;
            let zstd = compress_to_vec(&*bytes, CompressionLevel::Fastest);
            fs::write(packed.join(name).with_extension("zst"), zstd)?;
            fs::write(packed.join(name).with_extension("zip"), stored(&bytes))?;
        }
    }
    Ok(())
}
