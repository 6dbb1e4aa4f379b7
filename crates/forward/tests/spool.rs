//! Tests of the spool: truncation at any offset loses or duplicates no record, and drops and damage are reported.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::{TempDir, tempdir};
use zlens_forward::spool::{AppendResult, MIN_SIZE, MissingRange, ReadResult, Record, Spool};
use zlens_forward::wire::{ENDS_SET, FrameKind, decode};

const fn data(payload: &[u8], flags: u8) -> Record<'_> {
    Record {
        kind: FrameKind::Data,
        flags,
        payload,
    }
}

fn open(folder: &Path) -> Spool {
    Spool::open(folder, MIN_SIZE).unwrap()
}

fn push(spool: &Spool, payload: &[u8]) -> AppendResult {
    spool.append(&[data(payload, ENDS_SET)], true).unwrap()
}

/// Reads from a record on; returns payloads by number, and missing ranges.
fn read(spool: &Spool, from: u64) -> (BTreeMap<u64, Vec<u8>>, Vec<MissingRange>) {
    let (mut found, mut holes) = (BTreeMap::new(), Vec::new());
    let mut cursor = spool.cursor(from);
    loop {
        let before = cursor.next();
        match spool.read(&mut cursor).unwrap() {
            ReadResult::Frame(bytes) => {
                let (head, payload) = decode(&bytes).unwrap().unwrap();
                assert_eq!((head.sequence, cursor.next()), (before, before + 1));
                found.insert(before, payload.to_vec());
            }
            ReadResult::Missing(hole) => {
                assert_eq!((hole.from, hole.next), (before, cursor.next()));
                assert!(hole.next > hole.from);
                holes.push(hole);
            }
            ReadResult::Empty => return (found, holes),
        }
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some())
        .collect();
    paths.sort();
    paths
}

#[test]
fn acknowledged_records_are_removed_in_order() {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    for number in 0..50_u8 {
        assert_eq!(
            push(&spool, &[number; 10_000]),
            AppendResult::Done { dropped: 0 }
        );
    }
    let (found, holes) = read(&spool, 0);
    assert!(holes.is_empty());
    assert_eq!(found.len(), 50);
    assert!(
        found
            .iter()
            .all(|(&number, payload)| payload == &[number as u8; 10_000])
    );
    assert_eq!(read(&spool, 37).0.len(), 13);
    let before = segments(folder.path()).len();
    assert!(before > 5);
    spool.acknowledge(49).unwrap();
    assert_eq!(segments(folder.path()).len(), 1);
    assert_eq!(read(&spool, 49).0.len(), 1);
}

#[test]
fn oldest_sets_are_dropped_and_counted() {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    let mut dropped = 0;
    for number in 0..200_u8 {
        match push(&spool, &[number; 10_000]) {
            AppendResult::Done { dropped: bytes } => dropped += bytes,
            AppendResult::Full => panic!("{number}"),
        }
    }
    let size: u64 = segments(folder.path())
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(size <= MIN_SIZE);
    let (found, holes) = read(&spool, 0);
    // The oldest segment may have been sent in part; the segments after it were dropped.
    let [hole] = holes[..] else {
        panic!("{holes:?}");
    };
    assert_eq!(hole.lost, Some(((hole.next - hole.from), dropped)));
    assert_eq!(dropped, (hole.next - hole.from) * 10_000);
    assert_eq!(found.len() as u64 + hole.next - hole.from, 200);
    assert!(found.contains_key(&0) && found.contains_key(&199));
    // A set larger than the spool does not fit.
    assert_eq!(push(&spool, &vec![0; 1 << 20]), AppendResult::Full);
    assert_eq!(spool.next(), 200);
}

#[test]
fn waiting_source_loses_nothing() {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    let mut count = 0;
    while spool
        .append(&[data(&[1; 10_000], ENDS_SET)], false)
        .unwrap()
        != AppendResult::Full
    {
        count += 1;
    }
    assert_eq!(read(&spool, 0).0.len(), count);
    spool.acknowledge(count as u64 / 2).unwrap();
    assert_ne!(
        spool
            .append(&[data(&[1; 10_000], ENDS_SET)], false)
            .unwrap(),
        AppendResult::Full
    );
}

#[test]
fn record_being_sent_is_not_dropped() {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    for number in 0..30_u8 {
        push(&spool, &[number; 10_000]);
    }
    spool.acknowledge(3).unwrap();
    let mut cursor = spool.cursor(17);
    assert!(matches!(
        spool.read(&mut cursor).unwrap(),
        ReadResult::Frame(_)
    ));
    for number in 30..250_u8 {
        push(&spool, &[number; 10_000]);
    }
    // The segment with record 3 was received in part; after the segment with 17, some are missing too.
    let (found, holes) = read(&spool, 3);
    assert!(
        found.contains_key(&3) && found.contains_key(&18),
        "{holes:?}"
    );
    assert_eq!(holes.len(), 2);
}

#[test]
fn one_forwarder_uses_spool() {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    let error = Spool::open(folder.path(), MIN_SIZE).unwrap_err();
    assert!(error.to_string().contains("another forwarder"), "{error}");
    drop(spool);
    open(folder.path());
}

#[test]
fn stream_keeps_name_and_position() {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    let begin = Record {
        kind: FrameKind::Begin,
        flags: 0,
        payload: b"file day.smf\ndevice 3\ninode 4\n",
    };
    spool.append(&[begin], false).unwrap();
    push(&spool, b"abcdef");
    let (stream, mark) = (spool.stream(), spool.mark());
    assert_eq!((mark.device, mark.inode, mark.offset), (3, 4, 6));
    drop(spool);
    let spool = open(folder.path());
    assert_eq!(
        (spool.stream(), spool.mark(), spool.next()),
        (stream, mark, 2)
    );
    // Also in another segment.
    for _ in 0..20 {
        push(&spool, &[0; 10_000]);
    }
    spool.acknowledge(spool.next()).unwrap();
    drop(spool);
    let spool = open(folder.path());
    assert_eq!(spool.mark().offset, 200_006);
    assert_ne!(open(tempdir().unwrap().path()).stream(), spool.stream());
}

/// Creates a spool with sets of three records each, in several segments.
fn full() -> (TempDir, Vec<Vec<u8>>) {
    let folder = tempdir().unwrap();
    let spool = open(folder.path());
    let mut all = Vec::new();
    for set in 0..12_u8 {
        let parts: Vec<Vec<u8>> = (0..3).map(|part| vec![set * 3 + part; 7_000]).collect();
        let mut records: Vec<Record<'_>> = parts.iter().map(|part| data(part, 0)).collect();
        records[2].flags = ENDS_SET;
        spool.append(&records, true).unwrap();
        all.extend(parts);
    }
    (folder, all)
}

fn rounds(many: u32, few: u32) -> u32 {
    if std::env::var_os("PROPTEST_CASES").is_some() {
        many
    } else {
        few
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(1000, 40)))]

    #[test]
    fn truncated_spool_ends_with_complete_set(cut in 0..40_000_u64) {
        let (folder, all) = full();
        let last = segments(folder.path()).pop().unwrap();
        let length = fs::metadata(&last).unwrap().len();
        // The header remains, because it is written before the segment is named.
        let kept = 80.max(length.saturating_sub(cut));
        fs::OpenOptions::new().write(true).open(&last).unwrap().set_len(kept).unwrap();
        let spool = open(folder.path());
        let next = spool.next() as usize;
        prop_assert_eq!(next % 3, 0);
        prop_assert!((next + 3) * 7_000 + cut as usize > all.len() * 7_000 - 7_000);
        push(&spool, b"more");
        let (found, holes) = read(&spool, 0);
        prop_assert!(holes.is_empty());
        let found: Vec<Vec<u8>> = found.into_values().collect();
        prop_assert_eq!(&found[..next], &all[..next]);
        prop_assert_eq!(found.last().unwrap(), b"more");
    }

    #[test]
    fn damaged_spool_returns_intact_sets(file: prop::sample::Index, at: prop::sample::Index, bit in 0..8) {
        let (folder, all) = full();
        let paths = segments(folder.path());
        let path = &paths[file.index(paths.len())];
        let mut bytes = fs::read(path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        fs::write(path, bytes).unwrap();
        let spool = open(folder.path());
        push(&spool, b"more");
        let (found, holes) = read(&spool, 0);
        for (number, payload) in &found {
            let expected = all.get(*number as usize).map_or(&b"more"[..], Vec::as_slice);
            prop_assert!(payload == expected || payload == b"more");
        }
        let lost: u64 = holes.iter().map(|hole| hole.next - hole.from).sum();
        prop_assert_eq!(found.len() as u64 + lost, spool.next());
    }
}

#[test]
fn spool_is_private() {
    let folder = tempdir().unwrap();
    let spool_folder = folder.path().join("var").join("spool");
    push(&open(&spool_folder), b"secret");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&spool_folder), 0o700);
    for entry in fs::read_dir(&spool_folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
