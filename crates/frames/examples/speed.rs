//! How fast the index and the passes are, as a ratio to reading the same file with one byte touched
//! in 64.
//!
//!     cargo run --release -p zlens-frames --example speed -- FILE [MEGABYTES]
//!
//! makes FILE if it is absent (1000 MB, records of about 350 bytes) and leaves it there.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use zlens_frames::zvm::{Class, Group, Header, Index, Pass, Writer, index};
use zlens_frames::{FileSource, ReadAt, WINDOW, Windows, tod};

/// Domain, number, length and how many there are in an interval.
const MIX: [(u8, u16, u16, usize); 8] = [
    (0, 2, 352, 16),
    (0, 16, 184, 4),
    (3, 2, 760, 16),
    (4, 3, 508, 120),
    (5, 13, 700, 16),
    (6, 3, 260, 300),
    (4, 9, 352, 80),
    (5, 16, 120, 40),
];

fn write(path: &Path, megabytes: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = Writer::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    let record = |domain, record, length: u16, tod| {
        let header = Header {
            length,
            domain,
            record,
            tod,
        };
        let mut bytes = header.encode().to_vec();
        bytes.resize(usize::from(length), 0x5A);
        bytes
    };
    let mut written = 0;
    for interval in 0.. {
        let now = tod::from_unix_us(1_767_225_600_000_000 + interval * 60_000_000);
        let made = |mix: &[(u8, u16, u16, usize)]| -> Vec<Vec<u8>> {
            mix.iter()
                .flat_map(|&(domain, number, length, count)| {
                    (0..count as u64).map(move |nth| record(domain, number, length, now + nth))
                })
                .collect()
        };
        let mut sample = made(&MIX[..6]);
        sample.push(record(1, 11, 20, now));
        let event = made(&MIX[6..]);
        written += sample.iter().chain(&event).map(Vec::len).sum::<usize>();
        out.write(&[
            Group {
                class: Class::Sample,
                mask1: 0xFF,
                mask2: 0,
                start: 0x20,
                records: &sample,
            },
            Group {
                class: Class::Event,
                mask1: 0xFF,
                mask2: 0,
                start: 0x0080_0000,
                records: &event,
            },
        ])?;
        if written > megabytes * 1_000_000 {
            break;
        }
    }
    out.finish()?;
    Ok(())
}

fn touch(source: &FileSource) -> io::Result<u64> {
    let (mut sum, mut at) = (0, 0);
    let mut buffer = vec![0; WINDOW];
    loop {
        let got = source.read_at(at, &mut buffer)?;
        if got == 0 {
            return Ok(sum);
        }
        sum += buffer[..got]
            .iter()
            .step_by(64)
            .map(|&byte| u64::from(byte))
            .sum::<u64>();
        at += got as u64;
    }
}

fn pass(source: &Arc<FileSource>, index: &Arc<Index>, wanted: &[u16]) -> io::Result<u64> {
    let mut pass = Pass::new(source.clone(), index.clone(), wanted);
    let mut records = 0;
    while let Some(window) = pass.next_window()? {
        records += (0..wanted.len())
            .map(|slot| window.records(slot).len() as u64)
            .sum::<u64>();
    }
    Ok(records)
}

/// How long something takes, in seconds.
fn timed<T>(run: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    black_box(run());
    begin.elapsed().as_secs_f64()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which file?")?;
    let megabytes = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    if !Path::new(&path).exists() {
        write(Path::new(&path), megabytes)?;
    }
    let source = Arc::new(FileSource::open(&path)?);
    let gigabytes = source.size() as f64 / 1e9;
    let found = Arc::new(index(&*source, &mut |_, _| true)?);
    println!(
        "{gigabytes:.3} GB, {} records of {} types, {} problems",
        found.records(),
        found.types.len(),
        found.problems.len()
    );
    let all: Vec<u16> = (0..found.types.len() as u16).collect();
    assert_eq!(pass(&source, &found, &all)?, found.records());
    let only = |domain, number| {
        let id = found.type_id(domain, number, Class::Sample);
        id.map(|id| [id]).ok_or("the file lacks a type")
    };
    let (many, few) = (only(6, 3)?, only(0, 2)?);
    // In turns, so that what else the machine does weighs on all alike.
    let mut least = [f64::MAX; 5];
    for _ in 0..15 {
        let round = [
            timed(|| touch(&source)),
            timed(|| index(&*source, &mut |_, _| true)),
            timed(|| pass(&source, &found, &all)),
            timed(|| pass(&source, &found, &many)),
            timed(|| pass(&source, &found, &few)),
        ];
        for (least, seconds) in least.iter_mut().zip(round) {
            *least = least.min(seconds);
        }
    }
    let [base, indexed, every, many, few] = least;
    for (what, seconds) in [
        ("pread and touch", base),
        ("index", indexed),
        ("pass over all types", every),
        ("index and pass over D6R3", indexed + many),
        ("index and pass over D0R2", indexed + few),
    ] {
        let (rate, ratio) = (gigabytes / seconds, base / seconds);
        println!("{what:25} {rate:6.2} GB/s  ratio {ratio:.2}");
    }
    Ok(())
}
