//! Tests of each kind of bad input: the records that are read, and the problems reported.

use std::io;
use std::sync::Arc;

use zlens_frames::smf::{MAX_KINDS, Pass, index};
use zlens_frames::{Error, ProblemKind, ReadAt, WINDOW, Windows};

use crate::builders;

/// Returns the offset of each record of the sample.
fn places() -> Vec<usize> {
    let mut at = 0;
    builders::sample()
        .iter()
        .map(|record| {
            let here = at;
            at += record.len();
            here
        })
        .collect()
}

/// Returns the index of a counter record in the middle.
fn middle() -> usize {
    (100..)
        .find(|&nth| builders::sample()[nth].len() == 1022)
        .expect("there is one")
}

fn sample() -> Vec<u8> {
    builders::file(&builders::sample())
}

#[test]
fn empty_file() {
    let (index, found) = builders::read(&[]);
    assert_eq!(index.records, 0);
    assert!(found.is_empty() && index.problems.is_empty());
}

#[test]
fn text() {
    let bytes = b"time,transactions\r\n2026-01-01,17\r\n".repeat(100);
    let problem = builders::problem(&bytes);
    assert_eq!(problem.kind, ProblemKind::Header);
    assert_eq!((problem.offset, problem.bytes), (0, bytes.len() as u64));
}

#[test]
fn file_ending_within_record_or_header() {
    let whole = sample();
    let place = places()[middle()];
    for (length, inside) in [
        (place + 500, "bytes into a record"),
        (place + 24, "bytes into a record"),
        (place + 18, "bytes into a record"),
        (place + 17, "bytes into a record header"),
        (place + 1, "bytes into a record header"),
    ] {
        let problem = builders::problem(&whole[..length]);
        assert_eq!(problem.kind, ProblemKind::Truncated);
        assert!(problem.detail.contains(inside), "{}", problem.detail);
        assert_eq!(problem.offset, place as u64);
        assert_eq!(problem.bytes, (length - place) as u64);
        assert_eq!(builders::read(&whole[..length]).0.records, middle() as u64);
    }
}

#[test]
fn length_of_zero() {
    let mut bytes = sample();
    let place = places()[77];
    bytes[place..place + 2].fill(0);
    let problem = builders::problem(&bytes);
    assert_eq!(problem.kind, ProblemKind::Resync);
    assert!(problem.detail.contains("length zero"), "{}", problem.detail);
    assert_eq!(problem.offset, place as u64);
    assert_eq!(problem.bytes, (places()[78] - place) as u64);
    // Zeros after the last record, as padded by some tools.
    let whole = sample();
    let mut bytes = whole.clone();
    bytes.resize(whole.len() + 5000, 0);
    let problem = builders::problem(&bytes);
    assert_eq!(problem.kind, ProblemKind::Length);
    assert_eq!(problem.offset, whole.len() as u64);
    assert_eq!(problem.bytes, 5000);
}

#[test]
fn length_to_no_record() {
    for length in [5_u16, 30, 900, 60_000] {
        let mut bytes = sample();
        let place = places()[middle()];
        bytes[place..place + 2].copy_from_slice(&length.to_be_bytes());
        let problem = builders::problem(&bytes);
        assert_eq!(problem.kind, ProblemKind::Resync, "{length}");
        let (index, found) = builders::read(&bytes);
        assert_eq!(index.records as usize, builders::sample().len() - 1);
        let next = places()[middle() + 1] as u64;
        assert!(found.iter().any(|one| one.offset == next));
        assert_eq!(problem.offset + problem.bytes, next, "{length}");
    }
}

#[test]
fn length_past_end_of_file() {
    let records = builders::sample();
    let place = places()[records.len() - 4];
    let mut bytes = sample();
    bytes[place..place + 2].fill(0xFF);
    let problem = builders::problem(&bytes);
    assert_eq!(problem.kind, ProblemKind::Resync);
    assert!(
        problem.detail.contains("past the end"),
        "{}",
        problem.detail
    );
    assert_eq!(builders::read(&bytes).0.records as usize, records.len() - 1);
}

#[test]
fn invalid_header_costs_only_its_record() {
    for (at, value, words) in [
        (13, 0x10, "invalid date"),
        (10, 0x33, "invalid date"),
        (6, 0xFF, "invalid time of day"),
        (15, 0x00, "invalid system name"),
        (3, 0x40, "descriptor word"),
    ] {
        let mut bytes = sample();
        let place = places()[60];
        bytes[place + at] = value;
        let problem = builders::problem(&bytes);
        assert_eq!(problem.kind, ProblemKind::Header);
        assert!(problem.detail.contains(words), "{}", problem.detail);
        assert_eq!(problem.offset, place as u64);
        assert_eq!(problem.bytes, builders::sample()[60].len() as u64);
    }
}

#[test]
fn consecutive_invalid_headers_are_one_problem() {
    let mut bytes = sample();
    for nth in 60..70 {
        bytes[places()[nth] + 13] = 0;
    }
    let problem = builders::problem(&bytes);
    assert_eq!(problem.bytes, (places()[70] - places()[60]) as u64);
    assert!(problem.detail.contains("10 records"), "{}", problem.detail);
}

#[test]
fn bytes_between_records_make_previous_suspect() {
    for count in [1, 2, 3, 17, 100, 3 * WINDOW] {
        let mut bytes = sample();
        let place = places()[50];
        bytes.splice(place..place, vec![0x5A; count]);
        let problem = builders::problem(&bytes);
        assert_eq!(problem.kind, ProblemKind::Resync);
        let before = places()[49];
        assert_eq!(
            (problem.offset, problem.bytes),
            (before as u64, (place - before + count) as u64)
        );
        let left = builders::sample().len() - 1;
        assert_eq!(builders::read(&bytes).0.records as usize, left);
    }
}

/// A transfer in text mode makes records longer, by their line feeds, than their length field says.
#[test]
fn added_carriage_returns() {
    let mut records = builders::sample();
    let long: Vec<_> = (0..records.len())
        .filter(|&nth| records[nth].len() == 1022)
        .collect();
    let fed = [long[0], long[9], long[20], long[40]];
    for byte in records.iter_mut().flatten() {
        *byte += u8::from(*byte == b'\n');
    }
    for (nth, &which) in fed.iter().enumerate() {
        for at in 0..=3 * nth {
            records[which][50 + 7 * at] = b'\n';
        }
    }
    let whole = builders::file(&records);
    let mut bytes = Vec::new();
    for &byte in &whole {
        if byte == b'\n' {
            bytes.push(b'\r');
        }
        bytes.push(byte);
    }
    let added = bytes.len() - whole.len();
    assert_eq!(added, 1 + 4 + 7 + 10);
    let (index, found) = builders::read(&bytes);
    assert_eq!(index.records as usize, records.len() - fed.len());
    assert!(found.iter().all(|one| !one.bytes.contains(&b'\n')));
    let kinds: Vec<_> = index
        .problems
        .problems()
        .iter()
        .map(|one| one.kind)
        .collect();
    assert_eq!(kinds, [ProblemKind::Transfer; 4]);
    let detail = &index.problems.problems()[1].detail;
    assert!(detail.contains("each of the 4 line feeds"), "{detail}");
    assert!(detail.contains("BINARY"), "{detail}");
}

#[test]
fn lost_start() {
    let whole = sample();
    let problem = builders::problem(&whole[places()[3] + 7..]);
    assert_eq!(problem.kind, ProblemKind::Resync);
    assert_eq!(problem.offset, 0);
    assert_eq!(problem.bytes, (places()[4] - places()[3] - 7) as u64);
}

#[test]
fn more_kinds_than_are_distinguished() {
    let count = MAX_KINDS as u32 + 50;
    let records: Vec<Vec<u8>> = (0..count)
        .map(|nth| builders::record(200, Some(nth as u16), 40, nth))
        .collect();
    let bytes = builders::file(&records);
    let found = index(&bytes, &[], &mut |_, _| true).expect("memory can be read");
    assert_eq!(found.kinds.len(), MAX_KINDS);
    assert_eq!(found.records, u64::from(count));
    assert_eq!(found.record_bytes, bytes.len() as u64);
    let rows = found.problems.rows();
    assert!(
        builders::says(&rows, ProblemKind::Header, "50 records of further kinds"),
        "{rows:?}"
    );
    // Records of further kinds are still returned.
    let last = (count - 1) as u16;
    let mut pass = Pass::new(Arc::new(bytes), Arc::new(found), &[(200, last)]);
    let window = pass.next_window().expect("memory can be read");
    assert_eq!(window.expect("it is there").records(0).len(), 1);
}

/// A source whose first `readable` bytes can be read.
struct Partly {
    bytes: Vec<u8>,
    readable: usize,
    fails: bool,
}

impl ReadAt for Partly {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if offset >= self.readable as u64 && self.fails {
            return Err(io::Error::other("the disk is gone"));
        }
        self.bytes[..self.readable].to_vec().read_at(offset, buf)
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[test]
fn file_that_shrinks_or_fails() {
    for fails in [false, true] {
        for readable in [1, 24, 5000, WINDOW, WINDOW + 3, WINDOW + 5000] {
            let source = Partly {
                bytes: sample(),
                readable,
                fails,
            };
            let found = index(&source, &[], &mut |_, _| true).expect("something can be read");
            let rows = found.problems.rows();
            assert_eq!(rows.len(), 1, "{rows:?}");
            assert_eq!(rows[0].kind, ProblemKind::Changed);
            let words = if fails {
                "the disk is gone"
            } else {
                "lost its last"
            };
            assert!(rows[0].detail.contains(words), "{rows:?}");
            assert_eq!(found.record_bytes, rows[0].offset);
            assert_eq!(rows[0].offset + rows[0].bytes, source.size());
            let before = places().iter().filter(|&&place| place <= readable).count();
            assert_eq!(found.records as usize, before - 1, "{readable}");
        }
    }
    let nothing = Partly {
        bytes: sample(),
        readable: 0,
        fails: true,
    };
    let error = index(&nothing, &[], &mut |_, _| true).expect_err("nothing can be read");
    assert!(matches!(error, Error::Io { offset: 0, .. }));
}

#[test]
fn file_shrinking_between_passes() {
    let bytes = sample();
    let found = Arc::new(index(&bytes, &[], &mut |_, _| true).expect("memory can be read"));
    let shorter = bytes[..bytes.len() / 2].to_vec();
    let mut pass = Pass::new(Arc::new(shorter), found, &[(113, 1)]);
    let mut records = 0;
    while let Some(window) = pass.next_window().expect("memory can be read") {
        records += window.records(0).len();
    }
    assert!((50..=76).contains(&records), "{records}");
    assert!(builders::says(
        &pass.problems().rows(),
        ProblemKind::Changed,
        "an indexed record no longer exists"
    ));
}

#[test]
fn canceled_pass() {
    let bytes = sample().repeat(30);
    let mut calls = 0;
    let stopped = index(&bytes, &[], &mut |done, total| {
        assert!(done <= total);
        calls += 1;
        calls < 2
    });
    assert!(matches!(stopped, Err(Error::Stopped)));
    // Also during the search for the next record.
    let noise = vec![0x5A; 40 * WINDOW];
    let stopped = index(&noise, &[], &mut |done, _| done == 0);
    assert!(matches!(stopped, Err(Error::Stopped)));
}
