//! Tests of huge SMF dumps without records: indexing needs little time and memory.

use std::io;
use std::sync::Arc;

use zlens_frames::ReadAt;
use zlens_frames::smf::{Date, Header, Index, MAX_BREAKS, index, open};

/// A source that repeats the same bytes.
struct Huge {
    bytes: Vec<u8>,
    size: u64,
}

impl ReadAt for Huge {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.size.saturating_sub(offset))
            .map_or(buf.len(), |left| left.min(buf.len()));
        let mut done = 0;
        while done < count {
            let from = &self.bytes[(offset as usize + done) % self.bytes.len()..];
            let part = from.len().min(count - done);
            buf[done..done + part].copy_from_slice(&from[..part]);
            done += part;
        }
        Ok(count)
    }

    fn size(&self) -> u64 {
        self.size
    }
}

fn run(bytes: Vec<u8>, size: u64) -> Index {
    let found = index(&Huge { bytes, size }, &[], &mut |_, _| true).expect("it can be read");
    assert_eq!(found.record_bytes + found.skipped_bytes, size);
    found
}

/// Returns the peak memory of this process in bytes, if the system reports it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn record() -> Vec<u8> {
    let header = Header {
        length: 24,
        segment: 0,
        flags: 0x5E,
        record: 113,
        time: 0,
        date: Date::new(2026, 1),
        system: [0xE2; 4],
        subsystem: [0x40; 4],
        subtype: Some(1),
    };
    header.encode()
}

#[test]
fn gigabytes_of_zeros_need_little_time_and_memory() {
    const SIZE: u64 = 1 << 29;
    let found = run(vec![0; 1 << 20], SIZE);
    assert_eq!((found.records, found.problems.len()), (0, 1));
    let mut state = 1_u64;
    let noise = (0..(1 << 23) + 4099).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    let found = run(noise.collect(), SIZE);
    assert_eq!((found.records, found.problems.len()), (0, 1));
    let used = peak();
    assert!(used < 100 << 20, "{used}");
    // Headers only.
    let found = run(record().repeat(1000), SIZE);
    assert_eq!(found.records, SIZE / 24);
    // A break after every second record.
    let mut broken = record().repeat(2);
    broken.push(0);
    let found = run(broken.repeat(1000), SIZE / 8);
    assert!(found.problems.len() >= MAX_BREAKS as u64);
    assert!(found.records >= MAX_BREAKS as u64);
    // As many breaks as are followed, and one more: records up to it are read.
    let breaks = MAX_BREAKS as u64;
    let found = run(broken.repeat(1000), breaks * 49 + 48);
    assert_eq!(
        (found.records, found.skipped_bytes),
        (2 * breaks + 2, breaks)
    );
    assert_eq!(found.problems.len(), breaks);
    let found = run(broken.repeat(1000), (breaks + 1) * 49 + 48);
    assert_eq!(
        (found.records, found.skipped_bytes),
        (2 * breaks + 2, breaks + 1 + 48)
    );
    let used = peak();
    assert!(used < 200 << 20, "{used}");
    // Blocks of one record each, more than the index stores.
    let block = [&[0, 28, 0, 0][..], &record()].concat();
    let size = 28 * (10 << 20);
    let source = Arc::new(Huge {
        bytes: block.repeat(1000),
        size,
    });
    let (_, found) = open(source, &[], &[], &mut |_, _| true).expect("it can be read");
    assert_eq!(found.forms.blocks, 8 << 20);
    assert_eq!(found.records, 8 << 20);
    assert_eq!(
        found.record_bytes + found.skipped_bytes + found.word_bytes,
        size
    );
    let rows = found.problems.rows();
    assert!(
        rows[0].detail.contains("more than 8388608 blocks"),
        "{rows:?}"
    );
    let used = peak();
    assert!(used < 500 << 20, "{used}");
}
