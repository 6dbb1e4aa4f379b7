//! Tests of files that change while they are read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zlens_frames::zvm::{Pass, index};
use zlens_frames::{Error, FileChange, FileSource, ProblemKind, ReadAt, WINDOW, Windows};

use crate::builders::{self, Made};

/// A source whose first `readable` bytes can be read.
struct Partly {
    bytes: Vec<u8>,
    size: u64,
    readable: usize,
    fails: bool,
}

impl ReadAt for Partly {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if offset >= self.readable as u64 && self.fails {
            return Err(io::Error::other("the disk is gone"));
        }
        let readable = self.bytes[..self.readable].to_vec();
        readable.read_at(offset, buf)
    }

    fn size(&self) -> u64 {
        self.size
    }
}

fn long() -> Vec<u8> {
    let records = (0..3000)
        .map(|nth| builders::record(4, 3, 400, nth))
        .collect();
    builders::file(&[vec![Made {
        class: zlens_frames::zvm::Class::Sample,
        start: 0,
        records,
    }]])
}

fn partly(readable: usize, fails: bool) -> Partly {
    let bytes = long();
    let size = bytes.len() as u64;
    Partly {
        bytes,
        size,
        readable,
        fails,
    }
}

#[test]
fn shrinking_file() {
    for readable in [0, 1, 5000, 8192, WINDOW, WINDOW + 4096, 2 * WINDOW + 5] {
        let source = partly(readable, false);
        let index = index(&source, &mut |_, _| true).expect("something can be read");
        let rows = index.problems.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0].kind, ProblemKind::Changed);
        assert!(rows[0].detail.contains("lost its last"), "{rows:?}");
        assert_eq!(rows[0].offset + rows[0].bytes, source.size);
        assert_eq!(
            index.control_bytes + index.data_bytes + index.padding_bytes + index.skipped_bytes,
            source.size
        );
        assert!(index.records() as usize >= (readable / 4096).saturating_sub(1) * 10);
    }
}

#[test]
fn unreadable_end_of_file() {
    for readable in [5000, WINDOW, WINDOW + 4096] {
        let source = partly(readable, true);
        let index = index(&source, &mut |_, _| true).expect("something can be read");
        let rows = index.problems.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0].kind, ProblemKind::Changed);
        assert!(rows[0].detail.contains("the disk is gone"), "{rows:?}");
    }
    let error = index(&partly(0, true), &mut |_, _| true).expect_err("nothing can be read");
    assert!(matches!(error, Error::Io { offset: 0, .. }));
    assert_eq!(
        error.to_string(),
        "cannot be read at offset 0: the disk is gone"
    );
}

#[test]
fn growing_file() {
    let mut source = partly(0, false);
    source.readable = source.bytes.len();
    source.size = 4096 * 20;
    let index = index(&source, &mut |_, _| true).expect("it can be read");
    let rows = index.problems.rows();
    let grown = rows.last().expect("a problem");
    assert_eq!(
        (grown.kind, grown.offset),
        (ProblemKind::Changed, 4096 * 20)
    );
    assert!(grown.detail.contains("has grown"));
    // The data that existed at opening are read.
    assert_eq!(index.types[0].count, 190);
}

#[test]
fn file_shrinking_between_passes() {
    let bytes = long();
    let found = Arc::new(builders::indexed(&bytes));
    let mut shorter = bytes.clone();
    shorter.truncate(2 * WINDOW + 4096 + 1000);
    let mut pass = Pass::new(Arc::new(shorter), Arc::clone(&found), &[0]);
    let mut records = 0;
    while let Some(window) = pass.next_window().expect("it can be read") {
        records += window.records(0).len();
    }
    assert_eq!(records, 128 * 10 + 2);
    let rows = pass.problems().rows();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0].kind, ProblemKind::Changed);
    assert_eq!(rows[0].offset, (2 * WINDOW + 4096 + 1000) as u64);
    assert_eq!(rows[0].offset + rows[0].bytes, found.size);
}

#[test]
fn file_written_between_passes() {
    let bytes = long();
    let found = Arc::new(builders::indexed(&bytes));
    for value in [0, 0xFF] {
        let mut other = bytes.clone();
        other[3 * 4096 + 400..4 * 4096].fill(value);
        let mut pass = Pass::new(Arc::new(other), Arc::clone(&found), &[0]);
        let mut records = 0;
        while let Some(window) = pass.next_window().expect("it can be read") {
            for &record in window.records(0) {
                assert_eq!(window.bytes_of(record).len(), 400);
                records += 1;
            }
        }
        assert_eq!(records, 2991);
        let rows = pass.problems().rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0].kind, ProblemKind::Changed);
        assert_eq!(rows[0].offset, 3 * 4096 + 400);
    }
}

#[test]
fn progress_is_reported_and_can_cancel() {
    let bytes = vec![0x5A; 40 * WINDOW + 17];
    let mut told = Vec::new();
    let done = index(&bytes, &mut |done, total| {
        told.push((done, total));
        true
    });
    assert!(done.is_ok());
    let size = bytes.len() as u64;
    let step = 16 * WINDOW as u64;
    assert_eq!(
        told,
        [(0, size), (step, size), (2 * step, size), (size, size)]
    );
    for stop_at in 0..4 {
        let mut calls = 0;
        let stopped = index(&bytes, &mut |_, _| {
            calls += 1;
            calls <= stop_at
        });
        assert!(matches!(stopped, Err(Error::Stopped)));
        assert_eq!(calls, stop_at + 1);
    }
}

/// Returns a unique path in the folder for test files.
fn name() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("frames {} \u{fc}\n{next}.mon", std::process::id()))
}

#[test]
fn file_changes_are_reported() {
    let path = name();
    fs::write(&path, long()).expect("the folder is there");
    let source = FileSource::open(&path).expect("it is there");
    assert_eq!(source.path(), path);
    assert_eq!(source.changed(), None);
    let append = |bytes: &[u8]| {
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(bytes))
            .expect("it can be written");
    };
    append(b"more");
    assert_eq!(source.changed(), Some(FileChange::Grew(4)));
    let resize = |size| {
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(size))
            .expect("it can be cut");
    };
    resize(source.size() - 7);
    assert_eq!(source.changed(), Some(FileChange::Shrank(7)));
    let found = index(&source, &mut |_, _| true).expect("it can be read");
    assert_eq!(found.problems.count_of(ProblemKind::Changed), 1);
    resize(source.size());
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(later))
        .expect("its time can be set");
    assert_eq!(source.changed(), Some(FileChange::Rewritten));
    fs::remove_file(&path).expect("it is there");
    assert_eq!(source.changed(), Some(FileChange::Vanished));
    // An open file can still be read.
    assert!(index(&source, &mut |_, _| true).is_ok());
    fs::write(&path, b"another").expect("the folder is there");
    assert_eq!(source.changed(), Some(FileChange::Replaced));
    fs::remove_file(&path).expect("it is there");
    let said = FileChange::Shrank(7).to_string();
    assert_eq!(said, "the file has lost 7 bytes since it was opened");
}

#[test]
fn only_regular_files_are_opened() {
    let folder = FileSource::open(env!("CARGO_TARGET_TMPDIR")).expect_err("a folder");
    assert_eq!(folder.kind(), io::ErrorKind::InvalidInput);
    let device = FileSource::open("/dev/null").expect_err("a device");
    assert_eq!(device.kind(), io::ErrorKind::InvalidInput);
    let missing = FileSource::open(name()).expect_err("nothing");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[test]
fn more_files_than_descriptors_are_read() {
    let path = name();
    fs::write(&path, long()).expect("the folder is there");
    let sources: Vec<FileSource> = (0..150)
        .map(|_| FileSource::open(&path).expect("it is there"))
        .collect();
    let open = fs::read_dir("/proc/self/fd").map_or(0, |all| {
        all.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .filter(|target| *target == path)
            .count()
    });
    assert!(open <= 100, "{open}");
    let mut bytes = vec![0; 5000];
    for source in &sources {
        assert_eq!(source.read_at(10, &mut bytes).expect("it is there"), 5000);
    }
    // A file that is not held open has no data once its name is removed or reused.
    fs::remove_file(&path).expect("it is there");
    let last = &sources[149];
    assert_eq!(last.read_at(10, &mut bytes).expect("it is cut off"), 0);
    fs::write(&path, vec![0; 9000]).expect("the folder is there");
    assert_eq!(last.read_at(10, &mut bytes).expect("it is cut off"), 0);
    let found = index(last, &mut |_, _| true).expect("it can be read");
    assert_eq!(found.problems.count_of(ProblemKind::Changed), 1);
    fs::remove_file(&path).expect("it is there");
}
