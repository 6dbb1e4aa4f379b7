//! Synthetic files, and checks that hold for any file.

use std::sync::Arc;

use zlens_frames::zvm::{Class, Group, HEADER, Header, Index, MAX_TYPES, Pass, Writer, index};
use zlens_frames::{Problem, ProblemKind, Window, Windows, tod};

/// A group of records to write.
#[derive(Clone, Debug)]
pub struct Made {
    pub class: Class,
    pub start: u32,
    pub records: Vec<Vec<u8>>,
}

/// A record read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub offset: u64,
    pub class: Class,
    pub bytes: Vec<u8>,
}

impl Found {
    pub fn id(&self) -> (u8, u16) {
        Header::parse(&self.bytes).map_or((0, 0), |header| (header.domain, header.record))
    }
}

/// Returns the TOD value `us` microseconds into 2026.
pub fn time(us: u64) -> u64 {
    tod::from_unix_us(1_767_225_600_000_000) + us * tod::UNITS_PER_US
}

/// Returns a record with a unique body.
pub fn record(domain: u8, number: u16, length: usize, nth: u64) -> Vec<u8> {
    let header = Header {
        length: length as u16,
        domain,
        record: number,
        tod: time(nth),
    };
    let mut bytes = header.encode().to_vec();
    bytes.extend((HEADER as u64..length as u64).map(|place| (place * 7 + nth * 13) as u8 | 1));
    bytes
}

/// Returns a MONWRITE file with one control record for each inner list, and an end-of-data record.
pub fn file(controls: &[Vec<Made>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for groups in controls {
        let groups: Vec<Group<'_, Vec<u8>>> = groups
            .iter()
            .map(|made| Group {
                class: made.class,
                mask1: 0x80,
                mask2: 0,
                start: made.start,
                records: &made.records,
            })
            .collect();
        writer.write(&groups).expect("the groups are good");
    }
    writer.finish().expect("memory takes it")
}

/// Returns the index of bytes in memory.
pub fn indexed(bytes: &[u8]) -> Index {
    index(&bytes.to_vec(), &mut |_, _| true).expect("memory can be read")
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

/// Returns the index and all records, by position; checks what holds for any bytes.
pub fn read(bytes: &[u8]) -> (Index, Vec<Found>) {
    held(bytes, indexed(bytes))
}

/// Does the same with an existing index of the bytes.
pub fn held(bytes: &[u8], found: Index) -> (Index, Vec<Found>) {
    assert_eq!(found.size, bytes.len() as u64);
    let accounted =
        found.control_bytes + found.data_bytes + found.padding_bytes + found.skipped_bytes;
    assert_eq!(accounted, found.size, "bytes are accounted for: {found:#?}");
    let rows = found.problems.rows();
    let lost: u64 = rows.iter().map(|row| row.bytes).sum();
    assert_eq!(
        lost, found.skipped_bytes,
        "problems say what was skipped: {rows:#?}"
    );
    for row in &rows {
        assert!(row.offset + row.bytes <= found.size, "{row:?}");
        assert!(row.detail.len() > 10, "{row:?}");
    }
    let all: Vec<u16> = (0..found.types.len() as u16).collect();
    let source = Arc::new(bytes.to_vec());
    let found = Arc::new(found);
    let mut pass = Pass::new(source, Arc::clone(&found), &all);
    let mut records = Vec::new();
    while let Some(window) = pass.next_window().expect("memory can be read") {
        records.extend(all.iter().flat_map(|&id| taken(&window, &found, id, id)));
    }
    assert!(pass.problems().is_empty(), "{:?}", pass.problems());
    records.sort_by_key(|record| record.offset);
    check_types(&found, &records);
    drop(pass);
    let found = Arc::into_inner(found).expect("the pass is gone");
    (found, records)
}

/// Returns the records in one slot of a window.
pub fn taken(window: &Window<'_>, index: &Index, slot: u16, id: u16) -> Vec<Found> {
    let kind = &index.types[usize::from(id)];
    let records = window.records(usize::from(slot)).iter();
    records
        .map(|&record| {
            let bytes = window.bytes_of(record).to_vec();
            let header = Header::parse(&bytes).expect("a record has a header");
            assert_eq!((header.domain, header.record), (kind.domain, kind.record));
            Found {
                offset: window.offset_of(record),
                class: kind.class,
                bytes,
            }
        })
        .collect()
}

fn check_types(found: &Index, records: &[Found]) {
    assert_eq!(found.records(), records.len() as u64);
    if found.types.len() < MAX_TYPES {
        let bytes: u64 = records.iter().map(|record| record.bytes.len() as u64).sum();
        assert_eq!(bytes, found.data_bytes);
    }
    for (id, kind) in (0..).zip(&found.types) {
        assert_eq!(
            found.type_id(kind.domain, kind.record, kind.class),
            Some(id)
        );
        let of_type = || {
            records.iter().filter(|record| {
                record.id() == (kind.domain, kind.record) && record.class == kind.class
            })
        };
        assert_eq!(kind.count, of_type().count() as u64);
        assert_eq!(
            kind.bytes,
            of_type().map(|one| one.bytes.len() as u64).sum::<u64>()
        );
        assert_eq!(
            of_type().next().map(|one| one.offset),
            Some(kind.first_offset)
        );
        for (&length, &count) in &kind.lengths {
            let same = of_type().filter(|one| one.bytes.len() == usize::from(length));
            assert_eq!(count, same.count() as u64);
        }
        let times = || {
            of_type()
                .filter_map(|one| Header::parse(&one.bytes))
                .map(|header| header.tod)
                .filter(|&tod| tod::is_plausible(tod))
        };
        assert_eq!(kind.first_tod, times().min().unwrap_or(0));
        assert_eq!(kind.last_tod, times().max().unwrap_or(0));
    }
}

/// Returns the written records as they read back, without offsets.
pub fn expected(controls: &[Vec<Made>]) -> Vec<(Class, Vec<u8>)> {
    controls
        .iter()
        .flatten()
        .flat_map(|made| {
            made.records
                .iter()
                .map(|record| (made.class, record.clone()))
        })
        .collect()
}

/// Returns records without their offsets, except end-of-frame records.
pub fn plain(records: &[Found]) -> Vec<(Class, Vec<u8>)> {
    records
        .iter()
        .filter(|record| record.id() != Header::END_OF_FRAME)
        .map(|record| (record.class, record.bytes.clone()))
        .collect()
}

/// Returns several intervals with several entries per control record, data that start within their first
/// frame, and records of many lengths: about three dozen frames.
pub fn sample() -> Vec<Vec<Made>> {
    (0..6_u64)
        .map(|interval| {
            let nth = |place: u64| interval * 1_000_000 + place;
            let mut records: Vec<Vec<u8>> = (0..12)
                .map(|cpu| record(0, 2, 108, nth(cpu)))
                .chain(
                    (0..20).map(|user| record(4, 3, 364 + user as usize % 3 * 4, nth(20 + user))),
                )
                .chain((0..15).map(|device| record(6, 3, 260, nth(50 + device))))
                .collect();
            records.push(record(1, 11, 20, nth(99)));
            let events = (0..8).map(|event| record(2, 4, 52, nth(event))).collect();
            let sample = Made {
                class: Class::Sample,
                start: 0x0060_0000 + interval as u32 * 0x123,
                records,
            };
            let event = Made {
                class: Class::Event,
                start: 0x00A0_0F00,
                records: events,
            };
            vec![sample, event]
        })
        .collect()
}

/// Whether one of the problems has this kind and contains these words.
pub fn says(rows: &[Problem], kind: ProblemKind, words: &str) -> bool {
    rows.iter()
        .any(|row| row.kind == kind && row.detail.contains(words))
}
