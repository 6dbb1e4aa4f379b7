//! Tests of zeros written over data, as by a bad sector or a gap in a copy: every loss is reported.

use std::sync::Arc;

use zlens_frames::zvm::{Capture, Class, HEADER, Header};
use zlens_frames::{PAGE, Problem, ProblemKind};

use crate::builders::{self, Made, says};

/// Returns a file in which every frame but the last of an entry is full, with events in several frames.
fn whole() -> Vec<u8> {
    let mut controls = builders::sample();
    for (nth, groups) in (0..).zip(&mut controls) {
        groups.push(Made {
            class: Class::Event,
            start: 0x0040_0C38,
            records: (0..150)
                .map(|event| {
                    builders::record(2, 4, 52 + event as usize % 7 * 4, nth * 1_000_000 + event)
                })
                .collect(),
        });
    }
    builders::file(&controls)
}

fn at(row: &Problem) -> (ProblemKind, u64, u64) {
    (row.kind, row.offset, row.bytes)
}

#[test]
fn records_lost_to_zeros_are_reported() {
    let whole = whole();
    let all = builders::read(&whole).1.len();
    assert!(builders::problems(&whole).is_empty());
    let (mut fell, mut truncated) = (0, 0);
    for (nth, begin) in (0..whole.len()).step_by(512).enumerate() {
        let frame = begin / PAGE * PAGE + PAGE;
        for end in [
            frame,
            (begin + 1024).min(whole.len()),
            begin + 512,
            (begin + 9000).min(whole.len()),
        ] {
            // Mostly sectors, and other offsets.
            let begin = if nth % 3 == 0 {
                (begin + nth * 7).min(end - 1)
            } else {
                begin
            };
            let mut bytes = whole.clone();
            bytes[begin..end].fill(0);
            let (index, found) = builders::read(&bytes);
            if found.len() < all {
                fell += 1;
                assert!(!index.problems.is_empty(), "{begin} to {end}");
                truncated += u32::from(index.problems.count_of(ProblemKind::Truncated) > 0);
            }
        }
    }
    assert!(fell > 500 && truncated > 100, "{fell} {truncated}");
}

#[test]
fn frame_without_its_end_of_frame_record() {
    let records = (0..25)
        .map(|nth| builders::record(4, 3, 400, nth))
        .collect();
    let whole = builders::file(&[vec![Made {
        class: Class::Sample,
        start: 0,
        records,
    }]]);
    let end = 2 * PAGE + 4000;
    assert_eq!(
        Header::parse(&whole[end..]).map(|header| (header.domain, header.record)),
        Some(Header::END_OF_FRAME)
    );
    // Bytes after it are padding, whatever their values.
    let mut bytes = whole.clone();
    bytes[end + HEADER..3 * PAGE].fill(0);
    assert!(builders::problems(&bytes).is_empty());
    // Lost records may have preceded it.
    bytes[end..3 * PAGE].fill(0);
    let row = builders::problem(&bytes);
    assert_eq!(at(&row), (ProblemKind::Truncated, end as u64, 96));
    assert!(row.detail.contains("without an end-of-frame record"));
    assert_eq!(builders::plain(&builders::read(&bytes).1).len(), 25);
    // The previous record appears complete.
    bytes[end - 300..end].fill(0);
    assert_eq!(
        at(&builders::problem(&bytes)),
        (ProblemKind::Truncated, end as u64, 96)
    );
    bytes[end - 400..end].fill(0);
    let row = builders::problem(&bytes);
    assert_eq!(at(&row), (ProblemKind::Truncated, end as u64 - 400, 496));
}

#[test]
fn last_frame_with_early_end_of_data() {
    let events = Made {
        class: Class::Event,
        start: 0x100,
        records: (0..9).map(|nth| builders::record(2, 4, 60, nth)).collect(),
    };
    let mut samples = Made {
        class: Class::Sample,
        start: 0x200,
        records: (0..5).map(|nth| builders::record(0, 2, 108, nth)).collect(),
    };
    samples.records.push(builders::record(1, 11, 20, 9));
    let whole = builders::file(&[vec![events, samples]]);
    let (event, sample) = (PAGE + 0x100, 2 * PAGE + 0x200);
    for (from, end) in [(event + 420, event + 540), (event + 520, event + 540)] {
        let mut bytes = whole.clone();
        bytes[from..end].fill(0);
        // Zeros within the last record cannot be detected.
        let expected = (from > event + 480).then_some(0);
        let rows = builders::problems(&bytes);
        assert_eq!(rows.len(), expected.unwrap_or(1), "{rows:#?}");
        if let Some(row) = rows.first() {
            assert_eq!(at(row), (ProblemKind::Truncated, from as u64, 120));
            assert!(row.detail.contains("the end in the control record"));
        }
    }
    // The interval-end record only, and with a sample.
    for from in [sample + 540, sample + 432] {
        let mut bytes = whole.clone();
        bytes[from..sample + 560].fill(0);
        let row = builders::problem(&bytes);
        let bytes = (sample + 560 - from) as u64;
        assert_eq!(at(&row), (ProblemKind::Truncated, from as u64, bytes));
    }
    // Documented: the interval-end record ends the last frame of sample data.
    let mut bytes = whole.clone();
    bytes[60..64].copy_from_slice(&0x0FFF_u32.to_be_bytes());
    assert!(builders::problems(&bytes).is_empty());
    assert_eq!(builders::read(&bytes).1.len(), 15);
}

#[test]
fn zeros_in_capture() {
    let mut stream = Vec::new();
    let records: Vec<Vec<u8>> = (0..40)
        .map(|nth| builders::record(4, 3, 364, nth))
        .collect();
    let start = 0x123_u32;
    let file = builders::file(&[vec![Made {
        class: Class::Sample,
        start,
        records,
    }]]);
    let end = u32::from_be_bytes(file[48..52].try_into().unwrap());
    let first = PAGE + start as usize;
    for _ in 0..3 {
        stream.extend(&file[40..52]);
        stream.extend(&file[first..first + (end - start) as usize + 1]);
    }
    let read = |bytes: &[u8]| {
        let capture = Capture::walk(Arc::new(bytes.to_vec()), &mut |_, _| true).unwrap();
        let index = capture.index(&mut |_, _| true).unwrap();
        let mut rows = capture.problems().rows();
        rows.extend(index.problems.rows());
        (index.records(), rows)
    };
    let (all, rows) = read(&stream);
    assert!(rows.is_empty(), "{rows:#?}");
    let mut truncated = 0;
    for begin in (0..stream.len()).step_by(128) {
        for count in [12, 512, 1024, 3000] {
            let mut bytes = stream.clone();
            let end = bytes.len().min(begin + count);
            bytes[begin..end].fill(0);
            let (records, rows) = read(&bytes);
            assert!(records >= all || !rows.is_empty(), "{count} at {begin}");
            truncated += u32::from(says(&rows, ProblemKind::Truncated, "only zeros follow"));
        }
    }
    assert!(truncated > 10, "{truncated}");
}
