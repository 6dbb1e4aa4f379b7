//! Tests of large files without records: a fixed number of reads, and little memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zlens_frames::zvm::{Capture, Class, Group, HEADER, Header, Index, Writer, index};
use zlens_frames::{ReadAt, tod};

/// File sizes of a test that always runs, and of one that runs before a release.
const SMALL: u64 = 128 << 20;
const LARGE: u64 = 4 << 30;

/// A pass, and searches for the next good record over the same bytes.
const MOST_READS: u64 = 3;

/// First bytes, followed by repeated bytes up to `size`; counts the bytes read.
struct Huge {
    head: Vec<u8>,
    rest: Vec<u8>,
    size: u64,
    read: AtomicU64,
}

impl Huge {
    fn new(size: u64, head: Vec<u8>, rest: Vec<u8>) -> Self {
        let read = AtomicU64::new(0);
        Self {
            head,
            rest,
            size,
            read,
        }
    }

    /// Fails if the bytes read grow faster than the file.
    fn assert_read_few_times(&self) {
        let times = self.read.load(Ordering::Relaxed) / self.size;
        assert!(times <= MOST_READS, "read {times} times");
    }
}

impl ReadAt for Huge {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        let count = usize::try_from(self.size.saturating_sub(offset))
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
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// Returns a control record, and a frame with one record.
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

/// Returns a control record whose data fill the rest of 4 GB, or just one frame.
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

fn run(size: u64, head: Vec<u8>, rest: Vec<u8>) -> Index {
    let source = Huge::new(size, head, rest);
    let found = index(&source, &mut |_, _| true).expect("it can be read");
    let accounted =
        found.control_bytes + found.data_bytes + found.padding_bytes + found.skipped_bytes;
    assert_eq!(accounted, size);
    source.assert_read_few_times();
    found
}

/// Returns an element of a capture with one record, whose data fill the rest of 4 GB or are only this record.
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

fn run_capture(size: u64, head: Vec<u8>, rest: Vec<u8>) -> Index {
    let source = Arc::new(Huge::new(size, head, rest));
    let capture = Capture::walk(Arc::clone(&source) as Arc<dyn ReadAt>, &mut |_, _| true)
        .expect("it can be read");
    let lost: u64 = capture.problems().rows().iter().map(|row| row.bytes).sum();
    assert_eq!(capture.read_bytes() + lost, size);
    source.assert_read_few_times();
    capture.index(&mut |_, _| true).expect("it can be read")
}

fn captures_without_records(size: u64) {
    let noise = random((1 << 23) + 4099);
    for (long, rest) in [(false, noise), (true, vec![0; 1 << 20])] {
        let found = run_capture(size, element(long), rest);
        assert!(found.records() >= 1);
    }
    let used = peak();
    assert!(used < 200 << 20, "{used}");
}

/// Returns the peak memory of this process in bytes, if the system reports it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn files_without_records(size: u64) {
    for long in [false, true] {
        let found = run(size, control(long), vec![0; 1 << 20]);
        assert_eq!(found.records(), 0);
        assert!(found.problems.len() < 10, "{:?}", found.problems);
    }
    // An odd length, so that no two pages are equal.
    let noise = random((1 << 23) + 4099);
    for head in [Vec::new(), control(false), control(true)] {
        let found = run(size, head, noise.clone());
        assert!(found.problems.rows().len() < 10_002);
    }
    let used = peak();
    assert!(used < 100 << 20, "{used}");
    // The worst valid case: record headers only.
    let header = Header {
        length: 20,
        domain: 1,
        record: 11,
        tod: u64::MAX,
    };
    let page = [header.encode().repeat(204), vec![0; 16]].concat();
    let found = run(size, control(true), page);
    assert_eq!(found.records(), ((size >> 12) - 1) * 204);
    let used = peak();
    assert!(used < 200 << 20, "{used}");
}

#[test]
fn captures_without_records_need_little_memory() {
    captures_without_records(SMALL);
}

#[test]
fn files_without_records_need_little_memory() {
    files_without_records(SMALL);
}

#[test]
#[ignore = "reads 8 GB: make test-all"]
fn large_captures_without_records_need_little_memory() {
    captures_without_records(LARGE);
}

#[test]
#[ignore = "reads 24 GB: make test-all"]
fn large_files_without_records_need_little_memory() {
    files_without_records(LARGE);
}
