//! Writes small valid inputs for the fuzzer of `columns`: `cargo run --example columns_seeds` in
//! this folder.

use std::fs;
use std::path::Path;

/// A record as the target reads it: kind, length, time since the previous one, body.
fn record(kind: u8, later: u8, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).unwrap_or(u8::MAX);
    [&[kind, length, later][..], body].concat()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/columns");
    fs::create_dir_all(&folder)?;
    let body =
        |step: u8| -> Vec<u8> { (0..40).map(|at| if at < 2 { 0xC1 } else { step }).collect() };
    let samples: Vec<u8> = (1..9)
        .flat_map(|step| [record(0, 1, &body(step)), record(0x42, 8, &[])].concat())
        .collect();
    let mut entries = vec![24, 4, 0, 3, 0, 7];
    entries.extend(b"\xC1\xC2\xC3\x05".repeat(3));
    let sections = [
        record(1, 1, &entries),
        record(0x41, 1, &entries),
        record(0x81, 2, &entries),
    ]
    .concat();
    let short = [
        record(0, 1, &[7; 24]),
        record(0, 1, &[9; 3]),
        record(0x80, 1, &[]),
    ]
    .concat();
    let plan = b"[{\"table\":\"t\",\"domain\":0,\"record\":2,\"columns\":[{\"name\":\"a\",\"type\":\"int\"}],\
        \"layouts\":[{\"fields\":[{\"column\":0,\"offset\":20,\"length\":3}]}]}]\n";
    let planned = [&plan[..], &samples].concat();
    for (name, bytes) in [
        ("samples", samples),
        ("sections", sections),
        ("short", short),
        ("plan", planned),
    ] {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
