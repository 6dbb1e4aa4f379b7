//! Writes small good dumps for the fuzzer to begin with: `cargo run --example smf_seeds` in this folder.

use std::fs;
use std::path::Path;

use zlens_frames::smf::{Date, Header, Writer};
use zlens_frames::tod;

fn header(record: u8, subtype: Option<u16>) -> Vec<u8> {
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
    }
    Ok(())
}
