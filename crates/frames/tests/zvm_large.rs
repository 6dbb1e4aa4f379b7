//! Huge files of nothing end soon and in little memory.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zlens_frames::zvm::{Capture, Class, Group, HEADER, Header, Index, Writer, index};
use zlens_frames::{ReadAt, tod};

const SIZE: u64 = 4 << 30;

/// A beginning, and after it the same bytes over and over up to 4 GB.
struct Huge {
    head: Vec<u8>,
    rest: Vec<u8>,
}

impl ReadAt for Huge {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        let count = usize::try_from(SIZE.saturating_sub(offset))
            .map_or(buf.len(), |left| left.min(buf.len()));
        while done < count {
            let at = offset as usize + done;
            let from = match at.checked_sub(self.head.len()) {
                None => &self.head[at..],
                Some(at) => &self.rest[at % self.rest.len()..],
            };
            let part = from.len().min(count - done);
            buf[done..done + part].copy_from_slice(&from[..part]);
            done += part;
        }
        Ok(count)
    }

    fn size(&self) -> u64 {
        SIZE
    }
}

/// A control record, and a frame with one record.
fn control_and_frame() -> Vec<u8> {
    let header = Header {
        length: HEADER as u16,
        domain: 4,
        record: 3,
        tod: tod::from_unix_us(1_767_225_600_000_000),
    };
    let group = Group {
        class: Class::Sample,
        mask1: 0x08,
        mask2: 0,
        start: 0,
        records: &[header.encode()],
    };
    let mut writer = Writer::new(Vec::new());
    writer.write(&[group]).expect("a good group");
    writer.finish().expect("memory takes it")
}

/// A control record whose data fill the rest of 4 GB, or just one frame.
fn control(long: bool) -> Vec<u8> {
    let mut bytes = control_and_frame();
    bytes.truncate(4096);
    if long {
        bytes[48..52].fill(0xFF);
    }
    bytes
}

fn random(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn run(head: Vec<u8>, rest: Vec<u8>) -> Index {
    let begin = Instant::now();
    let source = Huge { head, rest };
    let found = index(&source, &mut |_, _| true).expect("it can be read");
    let accounted =
        found.control_bytes + found.data_bytes + found.padding_bytes + found.skipped_bytes;
    assert_eq!(accounted, SIZE);
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
    found
}

/// An element of a capture with one record, whose data fill the rest of 4 GB or are just that.
fn element(long: bool) -> Vec<u8> {
    let record = control_and_frame()[4096..4096 + HEADER].to_vec();
    let end = if long { u32::MAX } else { HEADER as u32 - 1 };
    [
        &[0xE2, 0x08, 0, 0][..],
        &0_u32.to_be_bytes(),
        &end.to_be_bytes(),
        &record,
    ]
    .concat()
}

fn run_capture(head: Vec<u8>, rest: Vec<u8>) -> Index {
    let begin = Instant::now();
    let source = Arc::new(Huge { head, rest });
    let capture = Capture::walk(source, &mut |_, _| true).expect("it can be read");
    let lost: u64 = capture.problems().rows().iter().map(|row| row.bytes).sum();
    assert_eq!(capture.read_bytes() + lost, SIZE);
    let found = capture.index(&mut |_, _| true).expect("it can be read");
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
    found
}

#[test]
#[ignore = "4 GB several times: make test-all"]
fn captures_of_nothing_end_soon_and_in_little_memory() {
    let noise = random((1 << 23) + 4099);
    for (long, rest) in [(false, noise), (true, vec![0; 1 << 20])] {
        let found = run_capture(element(long), rest);
        assert!(found.records() >= 1);
    }
    let used = peak();
    assert!(used < 200 << 20, "{used}");
}

/// The most memory this process has used, in bytes (where the system says so).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[test]
#[ignore = "4 GB several times: make test-all"]
fn four_gigabytes_of_nothing_end_soon_and_in_little_memory() {
    for long in [false, true] {
        let found = run(control(long), vec![0; 1 << 20]);
        assert_eq!(found.records(), 0);
        assert!(found.problems.len() < 10, "{:?}", found.problems);
    }
    // Odd lengths, so that no two pages are the same.
    let noise = random((1 << 23) + 4099);
    for head in [Vec::new(), control(false), control(true)] {
        let found = run(head, noise.clone());
        assert!(found.problems.rows().len() < 10_002);
    }
    let used = peak();
    assert!(used < 100 << 20, "{used}");
    // The worst that is all good: nothing but headers of records.
    let header = Header {
        length: 20,
        domain: 1,
        record: 11,
        tod: u64::MAX,
    };
    let page = [header.encode().repeat(204), vec![0; 16]].concat();
    let found = run(control(true), page);
    assert_eq!(found.records(), ((SIZE >> 12) - 1) * 204);
    let used = peak();
    assert!(used < 200 << 20, "{used}");
}
