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

/// A record of type 113 with an identification section and a data section.
fn counters() -> Vec<u8> {
    let mut bytes = header(113, Some(1));
    bytes.resize(52, 0);
    for (at, offset, length) in [(36, 52_u32, 40_u16), (44, 92, 16)] {
        bytes[at..at + 4].copy_from_slice(&offset.to_be_bytes());
        bytes[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
        bytes[at + 6..at + 8].copy_from_slice(&1_u16.to_be_bytes());
    }
    bytes.resize(76, 0x40);
    for minute in [0, 15, 0, 15] {
        let tod = tod::from_unix_us((1_767_225_600 + minute * 60) * 1_000_000);
        bytes.extend(tod.to_be_bytes());
    }
    bytes
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/smf");
    fs::create_dir_all(&folder)?;
    let mut long = header(70, Some(1));
    long.resize(3000, 1);
    let files = [
        ("plain", vec![header(2, None), header(3, None)]),
        ("counters", vec![counters(); 3]),
        (
            "mixed",
            vec![
                header(2, None),
                counters(),
                long,
                counters(),
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
