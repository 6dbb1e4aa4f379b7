//! Synthetic dumps, and checks that hold for any bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use zlens_frames::smf::{
    Date, Header, Index, IntervalLayout, LONG, MAX_KINDS, Pass, SHORT, Triplet, Writer, open,
};
use zlens_frames::{Problem, ProblemKind, ReadAt, Windows, ebcdic, tod};

/// A record read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub offset: u64,
    pub bytes: Vec<u8>,
}

pub fn header(record: u16, subtype: Option<u16>, system: &str, second: u32) -> Header {
    Header {
        length: 0,
        segment: 0,
        flags: if subtype.is_some() { 0x5E } else { 0x1E },
        record,
        time: second * 100,
        date: Date::new(2026, 1),
        system: ebcdic::encode(system, 4)
            .expect("a name of four letters")
            .try_into()
            .expect("four bytes"),
        subsystem: [0x40; 4],
        subtype,
    }
}

/// Returns a record with a unique body, in which no record can be found.
pub fn record(record: u16, subtype: Option<u16>, length: usize, nth: u32) -> Vec<u8> {
    let mut bytes = header(record, subtype, "SYSA", nth % 86_400).encode();
    let from = bytes.len();
    bytes.extend((from..length).map(|place| (place as u32 * 7 + nth * 13) as u8 | 1));
    bytes[..2].copy_from_slice(&(length as u16).to_be_bytes());
    bytes
}

/// Returns the triplet at `at` in the usual layout.
pub const fn triplet(at: u16) -> Triplet {
    Triplet {
        offset_at: at,
        length_at: at + 4,
        count_at: at + 6,
    }
}

/// The interval fields of type 113, subtype 1.
pub const CLOCK: IntervalLayout = IntervalLayout {
    record: 113,
    subtype: 1,
    identification: triplet(36),
    start: 24,
    end: 32,
    data: triplet(44),
    written: 8,
};

/// Returns the TOD value `second` seconds into 2026.
pub fn time(second: u64) -> u64 {
    tod::from_unix_us(1_767_225_600_000_000) + second * 1_000_000 * tod::UNITS_PER_US
}

/// Returns a record of type 113, subtype 1, for an interval.
pub fn counters(system: &str, start: u64, end: u64, written: u64) -> Vec<u8> {
    let mut bytes = header(113, Some(1), system, end as u32).encode();
    bytes.resize(52, 0);
    for (at, offset, length) in [(36, 52_u32, 40_u16), (44, 92, 16)] {
        bytes[at..at + 4].copy_from_slice(&offset.to_be_bytes());
        bytes[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
        bytes[at + 6..at + 8].copy_from_slice(&1_u16.to_be_bytes());
    }
    bytes.resize(76, 0x40);
    bytes.extend(time(start).to_be_bytes());
    bytes.extend(time(end).to_be_bytes());
    bytes.extend(time(0).to_be_bytes());
    bytes.extend(time(written).to_be_bytes());
    let length = bytes.len() as u16;
    bytes[..2].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// Returns a dump of these records.
pub fn file(records: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for record in records {
        writer.write(record).expect("the record is good");
    }
    writer.finish().expect("memory takes it")
}

/// Returns the records of a dump: several types and lengths, with its first and last record.
pub fn sample() -> Vec<Vec<u8>> {
    let mut records = vec![record(2, None, 18, 0)];
    for nth in 0..150 {
        records.push(record(113, Some(1), 1022, nth));
        records.push(record(
            30,
            Some(nth as u16 % 3),
            300 + nth as usize % 40 * 4,
            nth,
        ));
        if nth % 10 == 0 {
            records.push(record(70, Some(1), 30_000, nth));
            records.push(record(4, None, 60, nth));
        }
    }
    records.push(record(3, None, 18, 150));
    records
}

/// Returns the problems of bytes in memory, after the checks of `read`.
pub fn problems(bytes: &[u8]) -> Vec<Problem> {
    read(bytes).0.problems.rows()
}

/// Returns the only problem of bytes in memory.
pub fn problem(bytes: &[u8]) -> Problem {
    let mut rows = problems(bytes);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows.remove(0)
}

/// Whether one of the problems has this kind and contains these words.
pub fn says(rows: &[Problem], kind: ProblemKind, words: &str) -> bool {
    rows.iter()
        .any(|row| row.kind == kind && row.detail.contains(words))
}

/// Returns the index and all records with a subtype, by position; checks what holds for any bytes.
pub fn read(bytes: &[u8]) -> (Index, Vec<Found>) {
    let source: Arc<dyn ReadAt> = Arc::new(bytes.to_vec());
    let (source, found) = open(source, &[CLOCK], &[], &mut |done, total| {
        assert!(done <= total && total == bytes.len() as u64);
        true
    })
    .expect("memory can be read");
    assert_eq!(found.size, bytes.len() as u64);
    assert_eq!(
        found.record_bytes + found.skipped_bytes + found.word_bytes,
        found.size,
        "bytes are accounted for: {found:#?}"
    );
    let rows = found.problems.rows();
    let lost: u64 = rows.iter().map(|row| row.bytes).sum();
    assert_eq!(lost, found.skipped_bytes, "{rows:#?}");
    for row in &rows {
        assert!(row.offset + row.bytes <= found.size, "{row:?}");
        assert!(row.detail.len() > 10, "{row:?}");
    }
    let wanted: BTreeSet<(u8, u16)> = found
        .kinds
        .iter()
        .filter_map(|info| Some((info.kind.record.try_into().ok()?, info.kind.subtype?)))
        .collect();
    let wanted: Vec<(u8, u16)> = wanted.into_iter().collect();
    let found = Arc::new(found);
    let mut pass = Pass::new(source, Arc::clone(&found), &wanted);
    let mut records = Vec::new();
    while let Some(window) = pass.next_window().expect("memory can be read") {
        for (slot, &kind) in wanted.iter().enumerate() {
            for &record in window.records(slot) {
                let bytes = window.bytes_of(record).to_vec();
                let header = Header::parse(&bytes).expect("a record has a header");
                assert_eq!(
                    (header.record, header.subtype),
                    (u16::from(kind.0), Some(kind.1))
                );
                assert_eq!(usize::from(header.length), bytes.len());
                records.push(Found {
                    offset: window.offset_of(record),
                    bytes,
                });
            }
        }
    }
    assert!(pass.problems().is_empty(), "{:?}", pass.problems());
    records.sort_by_key(|record| record.offset);
    check_kinds(&found, &records);
    drop(pass);
    let found = Arc::into_inner(found).expect("the pass is gone");
    (found, records)
}

fn check_kinds(found: &Index, records: &[Found]) {
    let counted: u64 = found.kinds.iter().map(|info| info.count).sum();
    if found.kinds.len() < MAX_KINDS {
        assert_eq!(counted, found.records);
        let bytes: u64 = found.kinds.iter().map(|info| info.bytes).sum();
        assert_eq!(bytes, found.record_bytes);
    }
    for info in &found.kinds {
        assert!(info.first_local <= info.last_local);
        assert!(usize::from(info.min_length) >= SHORT && info.min_length <= info.max_length);
        assert!(info.duplicates < info.count && info.out_of_order < info.count);
        if info.kind.subtype.is_none() || info.kind.record > 255 {
            continue;
        }
        let of_kind = || {
            records
                .iter()
                .map(|one| (one, Header::parse(&one.bytes).expect("a header")))
                .filter(|(_, header)| {
                    (header.system, header.record, header.subtype)
                        == (info.kind.system, info.kind.record, info.kind.subtype)
                })
        };
        assert_eq!(info.count, of_kind().count() as u64);
        let lengths = || of_kind().map(|(one, _)| one.bytes.len());
        assert_eq!(info.bytes, lengths().sum::<usize>() as u64);
        assert_eq!(Some(usize::from(info.min_length)), lengths().min());
        assert_eq!(Some(usize::from(info.max_length)), lengths().max());
        assert!(usize::from(info.min_length) >= LONG);
        let times = || of_kind().filter_map(|(_, header)| header.local());
        assert_eq!(Some(info.first_local), times().min());
        assert_eq!(Some(info.last_local), times().max());
        assert_eq!(
            Some(info.first_offset),
            of_kind().map(|(one, _)| one.offset).next()
        );
    }
}
