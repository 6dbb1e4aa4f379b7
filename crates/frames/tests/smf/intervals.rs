//! Tests of the intervals that records report.

use zlens_frames::smf::{IntervalLayout, index};

use crate::builders::{self, CLOCK};

#[test]
fn each_interval_is_found_once() {
    let mut records = Vec::new();
    for interval in 0..5 {
        let (start, end) = (900 * interval, 900 * (interval + 1));
        for system in ["SYSA", "SYSB"] {
            for nth in 0..3 {
                let mut record = builders::counters(system, start, end, end + 1);
                record.push(nth);
                let length = record.len() as u16;
                record[..2].copy_from_slice(&length.to_be_bytes());
                // Duplicates do not count.
                records.extend([record.clone(), record]);
            }
        }
    }
    // Written nine minutes early, as after a change of the machine's state.
    records.push(builders::counters("SYSA", 4500, 5400, 4860));
    let (found, _) = builders::read(&builders::file(&records));
    assert_eq!(found.intervals.len(), 11);
    assert!(found.intervals[..10].iter().all(|seen| seen.records == 3));
    let last = found.intervals[10];
    assert_eq!(last.end, builders::time(4860));
    assert_eq!(last.start, Some(builders::time(4500)));
    assert_eq!((last.record, last.subtype), (113, 1));
    let ends: Vec<u64> = found.intervals.iter().map(|seen| seen.end).collect();
    assert_eq!(ends[0], builders::time(900));
    assert_eq!(ends[0], ends[1]);
    assert_ne!(found.intervals[0].system, found.intervals[1].system);
}

#[test]
fn record_across_windows_has_interval() {
    let record = |nth: u64| {
        let mut record = builders::counters("SYSA", 60 * nth, 60 * nth + 60, 60 * nth + 60);
        // The section is far from the start of the record, beyond the bytes read ahead.
        record.resize(20_000 + nth as usize * 7, 1);
        let identification = record[52..92].to_vec();
        let at = record.len() - 40;
        record[at..].copy_from_slice(&identification);
        record[36..40].copy_from_slice(&(at as u32).to_be_bytes());
        let length = record.len() as u16;
        record[..2].copy_from_slice(&length.to_be_bytes());
        record
    };
    let records: Vec<Vec<u8>> = (0..100).map(record).collect();
    let (found, _) = builders::read(&builders::file(&records));
    let ends: Vec<u64> = found.intervals.iter().map(|seen| seen.end).collect();
    let expected: Vec<u64> = (1..=100).map(|nth| builders::time(60 * nth)).collect();
    assert_eq!(ends, expected);
}

#[test]
fn record_without_sections_has_no_interval() {
    let mut record = builders::counters("SYSA", 0, 900, 900);
    record[42..44].fill(0);
    record[44..48].fill(0xFF);
    let (found, _) = builders::read(&builders::file(&[record]));
    assert!(found.intervals.is_empty());
    // A record of another subtype has no interval either.
    let bytes = builders::file(&[builders::counters("SYSA", 0, 900, 900)]);
    let clock = IntervalLayout {
        subtype: 2,
        ..CLOCK
    };
    let found = index(&bytes, &[clock], &mut |_, _| true).expect("memory can be read");
    assert!(found.intervals.is_empty());
}
