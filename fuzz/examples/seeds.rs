//! Writes small valid files, and captures of the same data, as seeds of the fuzzer: `cargo run
//! --example seeds` in this folder.

use std::fs;
use std::path::Path;

use zlens_forward::wire::{FrameKind, encode};
use zlens_frames::zvm::{Class, Group, Header, Writer};
use zlens_frames::{PAGE, tod};

fn record(domain: u8, number: u16, length: u16, second: i64) -> Vec<u8> {
    let tod = tod::from_unix_us((1_767_225_600 + second) * 1_000_000);
    let header = Header {
        length,
        domain,
        record: number,
        tod,
    };
    let mut bytes = header.encode().to_vec();
    bytes.resize(usize::from(length), 0x40);
    bytes
}

fn group(class: Class, start: u32, records: &[Vec<u8>]) -> Group<'_, Vec<u8>> {
    Group {
        class,
        mask1: 0x84,
        mask2: 0,
        start,
        records,
    }
}

/// The entries of a valid file, each before its data, as in the live stream.
fn capture(monwrite: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pages = monwrite.chunks(PAGE);
    while let Some(control) = pages.next() {
        for entry in control[40..].chunks(12).take_while(|entry| entry[0] != 0) {
            let address = |at: usize| {
                u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            };
            let (start, end) = (address(4), address(8));
            let frames = (end >> 12) - (start >> 12) + 1;
            let data: Vec<u8> = pages
                .by_ref()
                .take(frames as usize)
                .flatten()
                .copied()
                .collect();
            let first = (start & 0xFFF) as usize;
            bytes.extend(entry);
            bytes.extend(&data[first..=first + (end - start) as usize]);
        }
    }
    bytes
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/frames");
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/monreader");
    fs::create_dir_all(&folder)?;
    let frames = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/forward");
    fs::create_dir_all(&captures)?;
    fs::create_dir_all(&frames)?;
    // The third record of the target's spool, and a receiver's response.
    for (name, kind, sequence, payload) in [
        ("data", FrameKind::Data, 2, &b"more"[..]),
        ("refused", FrameKind::Refused, 0, b"reason full\n"),
    ] {
        let mut bytes = Vec::new();
        encode(&mut bytes, kind, 1, sequence, payload);
        fs::write(frames.join(name), bytes)?;
    }
    let few = [
        record(0, 2, 108, 0),
        record(0, 2, 108, 0),
        record(1, 11, 20, 0),
    ];
    let many: Vec<Vec<u8>> = (0..30).map(|nth| record(4, 3, 364, nth)).collect();
    let events = [record(2, 4, 52, 1), record(5, 21, 40, 1)];
    type Groups<'g> = Vec<Group<'g, Vec<u8>>>;
    let files: [(&str, Vec<Groups<'_>>); 4] = [
        ("one", vec![vec![group(Class::Sample, 0, &few)]]),
        ("placed", vec![vec![group(Class::Event, 0xFE0, &events)]]),
        ("frames", vec![vec![group(Class::Sample, 0x10, &many)]]),
        (
            "entries",
            vec![
                vec![
                    group(Class::Sample, 0x10_0000, &few),
                    group(Class::Event, 0x800, &events),
                ],
                vec![group(Class::Sample, 0x10_0300, &few)],
            ],
        ),
    ];
    for (name, controls) in files {
        let mut writer = Writer::new(Vec::new());
        for groups in controls {
            writer.write(&groups)?;
        }
        let bytes = writer.finish()?;
        fs::write(captures.join(name), capture(&bytes))?;
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
