//! Tests of the bytes written, against the documented format.

use zlens_frames::PAGE;
use zlens_frames::zvm::{Class, Group, Header, MAX_ENTRIES, MAX_RECORD, WriteError, Writer};

use crate::builders;

fn group(records: &[Vec<u8>], start: u32) -> Group<'_, Vec<u8>> {
    Group {
        class: Class::Event,
        mask1: 0x02,
        mask2: 0x40,
        start,
        records,
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn control_record_locates_data() {
    let records = vec![
        builders::record(6, 1, 100, 1),
        builders::record(6, 2, 50, 2),
    ];
    let mut writer = Writer::new(Vec::new());
    writer
        .write(&[group(&records, 0x0020_0108), group(&records, 0x3000)])
        .expect("good groups");
    let bytes = writer.finish().expect("memory takes it");
    assert_eq!(bytes.len(), 4 * PAGE);
    assert_eq!(word(&bytes, 16) - word(&bytes, 12) + 1, 24);
    assert_eq!(&bytes[40..44], [0xC5, 0x02, 0x40, 0]);
    assert_eq!(word(&bytes, 44), 0x0020_0108);
    assert_eq!(word(&bytes, 48), 0x0020_0108 + 149);
    assert_eq!(&bytes[52..56], [0xC5, 0x02, 0x40, 0]);
    assert_eq!(word(&bytes, 56), 0x3000);
    assert_eq!(word(&bytes, 60), 0x3000 + 149);
    assert_eq!(&bytes[PAGE + 0x108..][..100], records[0]);
    assert_eq!(&bytes[PAGE + 0x108 + 100..][..50], records[1]);
    assert_eq!(&bytes[2 * PAGE..][..100], records[0]);
    assert!(bytes[3 * PAGE..].iter().all(|&byte| byte == 0));
}

#[test]
fn full_frame_ends_with_end_of_frame_record() {
    // After 4000 bytes, 96 are left: not enough for 77 and an end-of-frame record, enough for 76.
    for (length, frames) in [(77, 2), (76, 1)] {
        let records = vec![
            builders::record(6, 1, 4000, 5),
            builders::record(6, 2, length, 6),
            builders::record(6, 3, 21, 7),
        ];
        let mut writer = Writer::new(Vec::new());
        writer.write(&[group(&records, 0)]).expect("a good group");
        let bytes = writer.finish().expect("memory takes it");
        let at = if frames == 2 { 4000 } else { 4076 };
        let end = Header::parse(&bytes[PAGE + at..]).expect("an end of frame");
        assert_eq!((end.domain, end.record), Header::END_OF_FRAME);
        assert_eq!(end.length, 20);
        let before = if frames == 2 { 5 } else { 6 };
        assert_eq!(
            end.tod,
            builders::time(before),
            "the time of the record before"
        );
        assert_eq!(bytes.len(), 4 * PAGE);
    }
}

#[test]
fn last_frame_needs_no_end_of_frame_record() {
    let records = vec![
        builders::record(6, 1, 4000, 5),
        builders::record(6, 2, 96, 6),
    ];
    let mut writer = Writer::new(Vec::new());
    writer.write(&[group(&records, 0)]).expect("a good group");
    let bytes = writer.finish().expect("memory takes it");
    assert_eq!(bytes.len(), 3 * PAGE);
    assert_eq!(word(&bytes, 48), 0xFFF);
}

#[test]
fn data_may_start_at_end_of_frame() {
    let records = vec![builders::record(6, 1, 100, 1)];
    let start = (PAGE - 20) as u32;
    let mut writer = Writer::new(Vec::new());
    writer.write(&[group(&records, start)]).expect("good");
    let bytes = writer.finish().expect("memory takes it");
    assert_eq!(bytes.len(), 4 * PAGE);
    let (_, found) = builders::read(&bytes);
    assert_eq!(
        builders::plain(&found),
        [(Class::Event, records[0].clone())]
    );
}

#[test]
fn unwritable_records_are_rejected() {
    let good = vec![builders::record(6, 1, 100, 1)];
    let mut writer = Writer::new(Vec::new());
    let mut refused = |records: &[Vec<u8>], start| {
        writer
            .write(&[group(&good, 0), group(records, start)])
            .expect_err("it must be refused")
    };
    assert!(matches!(refused(&[], 0), WriteError::Groups));
    assert!(matches!(refused(&good, 0xFED), WriteError::Start(0xFED)));
    assert!(matches!(refused(&good, 0xFFFF_FFF0), WriteError::Start(_)));
    for bad in [
        vec![0; 10],
        vec![0; 30],
        builders::record(12, 1, 40, 1),
        builders::record(1, 13, 20, 1),
        builders::record(6, 1, MAX_RECORD + 1, 1),
        [builders::record(6, 1, 40, 1), vec![0]].concat(),
    ] {
        let records = [good[0].clone(), bad];
        let error = refused(&records, 0);
        assert!(
            matches!(error, WriteError::Record { number: 1, .. }),
            "{error}"
        );
    }
    let many = vec![group(&good, 0); MAX_ENTRIES + 1];
    assert!(matches!(writer.write(&many), Err(WriteError::Groups)));
    let none: [Group<'_, Vec<u8>>; 0] = [];
    assert!(matches!(writer.write(&none), Err(WriteError::Groups)));
    assert!(writer.write(&many[1..]).is_ok());
    let bytes = writer.finish().expect("memory takes it");
    assert_eq!(bytes.len(), (MAX_ENTRIES + 2) * PAGE);
    assert_eq!(builders::read(&bytes).1.len(), MAX_ENTRIES);
}
