//! Tests of files with added or lost bytes: reading resumes at any offset.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use zlens_frames::zvm::{Class, Index, Sniff, sniff};
use zlens_frames::{PAGE, Problem, ProblemKind, WINDOW};

use crate::builders::{self, Found, Made, says};
use crate::random::Random;

/// Adds bytes at an offset, or removes some.
fn shift(bytes: &mut Vec<u8>, at: usize, by: isize) {
    let count = by.unsigned_abs();
    if by > 0 {
        bytes.splice(at..at, (0..count).map(|nth| (nth * 31 + 7) as u8));
    } else {
        let end = bytes.len().min(at + count);
        bytes.drain(at..end);
    }
}

/// Returns the index and records of a file, after a check of the records' offsets.
fn read(bytes: &[u8]) -> (Index, Vec<Found>) {
    let (index, found) = builders::read(bytes);
    for record in &found {
        let at = usize::try_from(record.offset).unwrap();
        assert_eq!(&bytes[at..at + record.bytes.len()], record.bytes, "{at}");
    }
    (index, found)
}

/// Returns the offsets of the records of `whole` that `found` does not contain. All records of these files differ.
fn lost(whole: &[Found], found: &[Found]) -> Vec<usize> {
    let mut left: HashMap<(Class, &[u8]), usize> = HashMap::new();
    for record in found {
        *left.entry((record.class, &record.bytes)).or_default() += 1;
    }
    let gone = whole.iter().filter(|record| {
        match left.get_mut(&(record.class, record.bytes.as_slice())) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        }
    });
    gone.map(|record| record.offset as usize).collect()
}

/// Returns the offsets of the control records of an undamaged file.
fn controls(bytes: &[u8]) -> Vec<usize> {
    let pages = (0..bytes.len()).step_by(PAGE);
    pages.filter(|&page| bytes[page + 3] == 9).collect()
}

/// Returns a file of one control record and many frames.
fn long(records: u64, length: usize) -> Vec<u8> {
    builders::file(&[vec![Made {
        class: Class::Sample,
        start: 0,
        records: (0..records)
            .map(|nth| builders::record(4, 3, length, nth))
            .collect(),
    }]])
}

#[test]
fn one_wrong_byte_costs_rest_of_frame() {
    let whole = long(1000, 400);
    let all = read(&whole).1;
    let at = 50 * PAGE + 1010;
    for by in [1, -1] {
        let mut bytes = whole.clone();
        shift(&mut bytes, at, by);
        let (index, found) = read(&bytes);
        assert!(index.complete);
        // The previous record ends where the next one should start.
        let broken = 50 * PAGE + 1200;
        let gone = lost(&all, &found);
        assert!(gone.iter().all(|&offset| offset / PAGE == 50), "{gone:?}");
        assert!(
            gone.iter().all(|&offset| offset >= broken - 400),
            "{gone:?}"
        );
        let rows = index.problems.rows();
        assert_eq!(rows.len(), 1, "{rows:#?}");
        let row = &rows[0];
        assert_eq!((row.kind, row.offset), (ProblemKind::Resync, broken as u64));
        let bytes = (PAGE - 1200) as u64;
        assert_eq!(row.bytes, bytes.saturating_add_signed(by as i64));
        assert!(
            row.detail.contains("skipped to the next frame"),
            "{}",
            row.detail
        );
        assert!(row.detail.contains("bytes were added to the file or lost"));
    }
}

#[test]
fn added_or_lost_bytes_cost_few_records() {
    let whole = builders::file(&builders::sample());
    let all = read(&whole).1;
    let mut ends = controls(&whole);
    ends.push(whole.len());
    for (nth, at) in (0..whole.len()).step_by(211).enumerate() {
        let by = [1, -1, 20, -20, 333, -333, 4095, -4095, 4097, 8190][nth % 10];
        let mut bytes = whole.clone();
        shift(&mut bytes, at, by);
        let (index, found) = read(&bytes);
        let gone = lost(&all, &found);
        let rows = index.problems.rows();
        assert!(gone.is_empty() || !rows.is_empty(), "{by} at {at}");
        // Permitted losses: the missing bytes, and the pages in which the change starts and ends; the next
        // page if a record without its end now ends there; all data of changed control records.
        let page = at / PAGE * PAGE;
        let cut = at + by.min(0).unsigned_abs();
        let cut = if by < 0 { cut + 400 } else { cut };
        let mut end = cut.next_multiple_of(PAGE).max(page + PAGE);
        let changed = |control: &&usize| (page..end).contains(*control);
        if let Some(last) = ends[..ends.len() - 1].iter().rposition(|one| changed(&one)) {
            end = end.max(ends[last + 1]);
        }
        let far = gone.iter().find(|offset| !(page..end).contains(*offset));
        assert_eq!(far, None, "{by} at {at}: {rows:#?}");
    }
}

#[test]
fn many_changes_cost_as_many_frames() {
    // Several windows that contain control records.
    let controls: Vec<Vec<Made>> = (0..12)
        .map(|interval| {
            let records = (0..400)
                .map(|nth| {
                    builders::record(4, 3, 364 + nth as usize % 5 * 8, interval * 1000 + nth)
                })
                .collect();
            vec![Made {
                class: Class::Sample,
                start: interval as u32 * 0x321,
                records,
            }]
        })
        .collect();
    let whole = builders::file(&controls);
    assert!(whole.len() > 6 * WINDOW);
    let all = read(&whole).1;
    let mut random = Random(11);
    for _ in 0..20 {
        let mut bytes = whole.clone();
        // From the end backwards, so that offsets remain valid.
        let mut places: Vec<usize> = (0..8).map(|_| random.below(whole.len())).collect();
        places.sort_unstable();
        let mut pages = Vec::new();
        for &at in places.iter().rev() {
            let by = [1, -1, 3, -7, 100, -333][random.below(6)];
            shift(&mut bytes, at, by);
            pages.push(at / PAGE);
            pages.push((at + by.min(0).unsigned_abs()) / PAGE);
        }
        let (index, found) = read(&bytes);
        let gone = lost(&all, &found);
        let rows = index.problems.rows();
        assert!(rows.iter().any(|row| row.kind == ProblemKind::Resync));
        // If two changes affect one control record, the frames between them are lost.
        let begins = self::controls(&whole);
        let control = |offset: usize| begins.partition_point(|&begin| begin <= offset);
        let far = gone.iter().filter(|&&offset| {
            !pages.contains(&(offset / PAGE))
                && !places.iter().any(|&at| control(at) == control(offset))
        });
        assert_eq!(far.count(), 0, "{places:?} {rows:#?}");
        // The first records of a type are found after a change, too.
        let first = index
            .first_records(&bytes, 0, found.len())
            .expect("memory can be read");
        assert_eq!(first.len() as u64, index.types[0].count);
    }
}

#[test]
fn last_frames_are_read_without_control_record() {
    let whole = long(100, 400);
    let all = read(&whole).1;
    for by in [1, -1, 700, -700] {
        for at in [2 * PAGE + 900, 8 * PAGE + 900, 10 * PAGE + 3000] {
            let mut bytes = whole.clone();
            shift(&mut bytes, at, by);
            let (index, found) = read(&bytes);
            assert!(index.complete, "{by} at {at}: {:?}", index.problems);
            let gone = lost(&all, &found);
            let pages = at / PAGE..=(at + by.min(0).unsigned_abs()) / PAGE;
            assert!(gone.iter().all(|offset| pages.contains(&(offset / PAGE))));
        }
    }
}

#[test]
fn bytes_before_first_control_record() {
    let whole = builders::file(&builders::sample());
    let all = read(&whole).1;
    for junk in [1, 17, 512, 5000, WINDOW + 77] {
        let bytes = [vec![0x5A; junk], whole.clone()].concat();
        let (index, found) = read(&bytes);
        assert!(lost(&all, &found).is_empty());
        let row = builders::problem(&bytes);
        assert_eq!((row.kind, row.offset), (ProblemKind::Resync, 0));
        assert_eq!(row.bytes, junk as u64);
        assert!(index.complete);
        let head = &bytes[..65_536];
        let expected = match junk {
            ..=5000 => Sniff::Monwrite,
            _ => Sniff::No,
        };
        assert_eq!(sniff(head, bytes.len() as u64), expected);
    }
    let (_, found) = read(&whole[17..]);
    let second = controls(&whole)[1];
    assert!(lost(&all, &found).iter().all(|&offset| offset < second));
}

#[test]
fn control_record_inside_record_is_ignored() {
    // Application data may contain a control record; without a loss no search starts.
    let image = builders::file(&[vec![Made {
        class: Class::Sample,
        start: 0,
        records: vec![builders::record(4, 3, 60, 1)],
    }]]);
    let mut record = builders::record(10, 2, 4000, 1);
    record[100..3900].copy_from_slice(&image[..3800]);
    let records = vec![record.clone(), record];
    let bytes = builders::file(&[vec![Made {
        class: Class::Sample,
        start: 0,
        records,
    }]]);
    assert!(builders::problems(&bytes).is_empty());
}

#[test]
fn uncounted_control_records_are_found() {
    let mut whole = builders::file(&builders::sample());
    let places = controls(&whole);
    for &place in &places {
        whole[place..place + 40].fill(0);
    }
    let all = read(&whole).1;
    let at = places[1] + PAGE + 700;
    let mut bytes = whole.clone();
    shift(&mut bytes, at, 3);
    let (index, found) = read(&bytes);
    let gone = lost(&all, &found);
    assert!(!gone.is_empty() && gone.iter().all(|offset| offset / PAGE == at / PAGE));
    assert_eq!(index.problems.len(), 1);
}

/// Returns the CPU time of this thread, independent of other load; elapsed time if the system does not report it.
fn cpu_time(start: Instant) -> Duration {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Returns the CPU time to read bytes.
fn took(bytes: &[u8]) -> Duration {
    let start = Instant::now();
    let before = cpu_time(start);
    builders::problems(bytes);
    cpu_time(start) - before
}

#[test]
fn search_time_is_linear_in_file_size() {
    const SIZE: usize = 16 << 20;
    let control = &builders::file(&builders::sample())[..PAGE];
    let mut likely = control[40..52].to_vec();
    // Every offset could be an entry; each control record claims the entire file as its data.
    let mut greedy = control.to_vec();
    greedy[16..20].copy_from_slice(&(0x1000_u32 + 11).to_be_bytes());
    greedy[44..48].fill(0);
    greedy[48..52].copy_from_slice(&(SIZE as u32).to_be_bytes());
    let mut record = builders::record(4, 3, 60, 1);
    record.resize(1001, 0xE2);
    let greedy = [greedy, record].concat();
    likely.extend([0xE2, 0xC5, 0xE2, 0xC5]);
    for pattern in [likely, greedy, vec![0xE2], vec![0]] {
        let mut bytes = control.to_vec();
        while bytes.len() < SIZE {
            bytes.extend(&pattern);
        }
        let whole = took(&bytes);
        let quarter = took(&bytes[..SIZE / 4]).max(Duration::from_millis(50));
        assert!(whole < 12 * quarter, "{whole:?}, a quarter {quarter:?}");
    }
}

#[test]
fn skipped_bytes_are_one_problem() {
    // The record after the change, all frames after it, and the bytes that follow.
    let whole = builders::file(&builders::sample());
    let places = controls(&whole);
    let mut bytes = whole.clone();
    let at = places[2] + PAGE + 700;
    bytes[places[2] + 2 * PAGE..places[3]].fill(0xFF);
    shift(&mut bytes, at, 5);
    let (index, found) = read(&bytes);
    let rows: Vec<Problem> = index.problems.rows();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert!(says(
        &rows,
        ProblemKind::Resync,
        "to the next control record"
    ));
    assert_eq!(rows[0].offset + rows[0].bytes, (places[3] + 5) as u64);
    assert!(found.len() > 200);
}
