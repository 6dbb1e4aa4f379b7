//! Tests of captures of the live stream, which contain the records of MONWRITE files at offsets of the capture.

use std::sync::Arc;

use proptest::prelude::*;
use zlens_frames::zvm::{Capture, Class, Sniff, sniff};
use zlens_frames::{PAGE, Problem, ProblemKind, ReadAt};

use crate::builders::{self, Found, Made};
use crate::mutations::damage;
use crate::random::Random;

/// Returns the stream for an undamaged MONWRITE file: its entries, each before its data.
fn stream(monwrite: &[u8], zeros: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pages = monwrite.chunks(PAGE);
    while let Some(control) = pages.next() {
        let word = |at: usize| u32::from_be_bytes(control[at..at + 4].try_into().unwrap());
        let count = if control[1] == 0 {
            0
        } else {
            (word(16) - word(12) + 1) / 12
        };
        for entry in control[40..].chunks(12).take(count as usize) {
            let address = |at: usize| u32::from_be_bytes(entry[at..at + 4].try_into().unwrap());
            let (start, end) = (address(4), address(8));
            let frames = (end >> 12) - (start >> 12) + 1;
            let data: Vec<u8> = pages
                .by_ref()
                .take(frames as usize)
                .flatten()
                .copied()
                .collect();
            let first = (start & 0xFFF) as usize;
            bytes.extend(entry);
            bytes.extend(&data[first..first + (end - start) as usize + 1]);
        }
        if zeros && count > 0 {
            bytes.extend([0; 12]);
        }
    }
    bytes
}

fn sample() -> Vec<u8> {
    stream(&builders::file(&builders::sample()), false)
}

/// Returns the problems and records of a capture, with its offsets; checks what holds for any bytes.
fn read(bytes: &[u8]) -> (Vec<Problem>, Vec<Found>, bool) {
    let source: Arc<dyn ReadAt> = Arc::new(bytes.to_vec());
    let capture = Capture::walk(source, &mut |_, _| true).expect("memory can be read");
    let own = capture.problems().rows();
    let lost: u64 = own.iter().map(|row| row.bytes).sum();
    assert_eq!(capture.read_bytes() + lost, bytes.len() as u64, "{own:#?}");
    let mut shown = vec![0; usize::try_from(capture.size()).unwrap()];
    assert_eq!(capture.read_at(0, &mut shown).unwrap(), shown.len());
    // Partial reads return the same bytes.
    for at in (0..shown.len()).step_by(1237) {
        let mut some = vec![1; 700.min(shown.len() - at)];
        assert_eq!(capture.read_at(at as u64, &mut some).unwrap(), some.len());
        assert!(some == shown[at..at + some.len()]);
    }
    let index = capture.index(&mut |_, _| true).expect("memory can be read");
    let (index, records) = builders::held(&shown, index);
    let complete = index.complete;
    // A capture has no end that could be missing.
    let end = (ProblemKind::Truncated, capture.size());
    let found = index.problems.rows().into_iter();
    let found = found.filter(|row| capture.size() == 0 || (row.kind, row.offset) != end);
    let found = found.map(|row| Problem {
        offset: capture.original(row.offset),
        ..row
    });
    let problems: Vec<Problem> = own.into_iter().chain(found).collect();
    assert!(complete || !problems.is_empty());
    for row in &problems {
        assert!(row.offset + row.bytes <= bytes.len() as u64, "{row:?}");
    }
    let records = records.into_iter().map(|record| {
        let offset = capture.original(record.offset);
        assert_eq!(capture.shown(offset), record.offset);
        let at = usize::try_from(offset).unwrap();
        assert_eq!(bytes[at..at + record.bytes.len()], record.bytes);
        Found { offset, ..record }
    });
    (problems, records.collect(), complete)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Records read back for any start and length of an element's data.
    #[test]
    fn capture_equals_monwrite_file(
        sets in prop::collection::vec(
            prop::collection::vec(((0..0x7_u32, 0..=0xFEC_u32), 20..600_usize, 1..60_u64, any::<bool>()), 1..5), 1..5),
        zeros: bool,
    ) {
        let controls: Vec<Vec<Made>> = sets.iter().map(|groups| {
            groups.iter().map(|&((page, place), length, count, event)| Made {
                class: if event { Class::Event } else { Class::Sample },
                start: page << 12 | place,
                records: (0..count).map(|nth| builders::record(4, 3, length, nth)).collect(),
            }).collect()
        }).collect();
        let bytes = stream(&builders::file(&controls), zeros);
        prop_assert_eq!(sniff(&bytes, bytes.len() as u64), Sniff::Capture);
        let (problems, records, complete) = read(&bytes);
        prop_assert!(problems.is_empty(), "{:?}", problems);
        prop_assert!(complete);
        prop_assert_eq!(builders::plain(&records), builders::expected(&controls));
    }
}

#[test]
fn capture_may_end_anywhere() {
    let whole = sample();
    let all = read(&whole).1.len();
    let mut last = 0;
    for size in (32..whole.len()).step_by(977) {
        let (problems, records, complete) = read(&whole[..size]);
        assert!(
            !complete && builders::says(&problems, ProblemKind::Truncated, "the file ends inside"),
            "{problems:?}"
        );
        assert!(records.len() >= last && records.len() < all);
        last = records.len();
    }
    // A completely missing set cannot be distinguished from one that was never sent.
    let (_, _, complete) = read(&whole);
    assert!(complete);
}

/// Returns the offsets of the elements.
fn elements(bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        found.push(at);
        let address = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        at += 12 + (address(at + 8) - address(at + 4)) as usize + 1;
    }
    found
}

#[test]
fn damaged_element_costs_only_its_data() {
    let whole = sample();
    let all = read(&whole).1.len();
    let places = elements(&whole);
    for (number, value) in [(0, 0x00), (1, 0x00), (8, 0x7F)] {
        let mut bytes = whole.clone();
        bytes[places[2] + number] = value;
        let (problems, records, complete) = read(&bytes);
        assert!(
            complete && all - records.len() < 60 && records.len() >= all - 60,
            "{}",
            records.len()
        );
        let told = problems
            .iter()
            .find(|row| row.offset == places[2] as u64)
            .expect("it is told");
        match told.kind {
            // Without its flag or masks, its data are skipped to the next element.
            ProblemKind::Resync => {
                assert_eq!(told.bytes as usize, places[3] - places[2]);
                assert!(
                    told.detail.contains("skipped to the next control element"),
                    "{told:?}"
                );
            }
            // With a wrong length, its data are read up to the next element.
            kind => {
                assert_eq!(kind, ProblemKind::Length, "{told:?}");
                assert_eq!(records.len(), all);
            }
        }
    }
}

#[test]
fn bytes_between_elements_are_skipped() {
    let whole = sample();
    let all = builders::plain(&read(&whole).1);
    let place = elements(&whole)[3];
    let mut bytes = whole.clone();
    bytes.splice(place..place, [0x5A; 777]);
    let (problems, records, _) = read(&bytes);
    assert_eq!(builders::plain(&records), all);
    assert!(
        problems
            .iter()
            .any(|row| (row.offset, row.bytes) == (place as u64, 777)),
        "{problems:?}"
    );
    // Zeros end a set of data once; further zeros mean nothing.
    bytes = whole;
    bytes.splice(place..place, [0; 12 * 5]);
    let (problems, records, _) = read(&bytes);
    assert_eq!(builders::plain(&records), all);
    assert_eq!(problems.iter().map(|row| row.bytes).sum::<u64>(), 12 * 4);
}

#[test]
fn any_damage_is_accounted_for() {
    let whole = sample();
    let mut random = Random(20_260_102);
    let mut with_problems = 0;
    for _ in 0..1500 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(6) {
            damage(&mut bytes, &mut random);
        }
        with_problems += u32::from(!read(&bytes).0.is_empty());
        let _ = sniff(&bytes[..bytes.len().min(8192)], bytes.len() as u64);
    }
    assert!(with_problems > 700, "{with_problems}");
}

#[test]
fn translated_capture_is_reported() {
    let bytes: Vec<u8> = sample()
        .into_iter()
        .map(|byte| match byte {
            0xE2 => b'S',
            0xC5 => b'E',
            0x80..=0xFF => b'?',
            other => other,
        })
        .collect();
    let Sniff::Damaged(sentence) = sniff(&bytes, bytes.len() as u64) else {
        panic!("it is damaged");
    };
    assert!(
        sentence.contains("ASCII") && sentence.contains("binary"),
        "{sentence}"
    );
}

#[test]
fn shrinking_capture_ends_there() {
    let bytes = sample();
    struct Shorter(Vec<u8>);
    impl ReadAt for Shorter {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
            let kept = self.0[..self.0.len() / 2].to_vec();
            // The walk still finds the elements, but their data are missing when they are read.
            if buf.len() <= 32 {
                self.0.read_at(offset, buf)
            } else {
                kept.read_at(offset, buf)
            }
        }

        fn size(&self) -> u64 {
            self.0.len() as u64
        }
    }
    let capture = Capture::walk(Arc::new(Shorter(bytes)), &mut |_, _| true).unwrap();
    let index = capture.index(&mut |_, _| true).unwrap();
    assert!(builders::says(
        &index.problems.rows(),
        ProblemKind::Changed,
        "lost its last"
    ));
}

#[test]
fn walk_can_be_canceled() {
    let stopped = Capture::walk(Arc::new(sample()), &mut |_, _| false);
    assert!(matches!(stopped, Err(zlens_frames::Error::Stopped)));
}

/// Data that resemble a control record remain data, because elements locate the data.
#[test]
fn data_resembling_control_record_is_data() {
    let inner = builders::file(&builders::sample())[..PAGE].to_vec();
    let mut monwrite = builders::file(&[vec![Made {
        class: Class::Sample,
        start: 0x1000,
        records: (0..40)
            .map(|nth| builders::record(4, 3, 364, nth))
            .collect(),
    }]]);
    monwrite[2 * PAGE..3 * PAGE].copy_from_slice(&inner);
    let bytes = stream(&monwrite, false);
    let (problems, records, complete) = read(&bytes);
    assert!(complete && records.len() >= 30, "{}", records.len());
    assert!(
        problems.iter().any(|row| row.bytes == PAGE as u64),
        "{problems:?}"
    );
}
