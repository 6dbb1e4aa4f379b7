//! Tests of bad files, one for each kind of damage.

use zlens_frames::zvm::Class;
use zlens_frames::{PAGE, Problem, ProblemKind, ProblemLog};

use crate::builders::{self, Made, says};

fn entry(class: Class, start: u32, records: Vec<Vec<u8>>) -> Made {
    Made {
        class,
        start,
        records,
    }
}

/// Returns a control record, three frames of ten records each (the last frame: five), and the end.
fn three_frames() -> Vec<u8> {
    let records = (0..25)
        .map(|nth| builders::record(4, 3, 400, nth))
        .collect();
    let bytes = builders::file(&[vec![entry(Class::Sample, 0, records)]]);
    assert_eq!(bytes.len(), 5 * PAGE);
    bytes
}

/// Returns the numbers of the records that are read.
fn numbers(bytes: &[u8]) -> Vec<u64> {
    let (_, found) = builders::read(bytes);
    let (base, unit) = (builders::time(0), builders::time(1) - builders::time(0));
    builders::plain(&found)
        .iter()
        .filter_map(|(_, record)| zlens_frames::zvm::Header::parse(record))
        .map(|header| (header.tod - base) / unit)
        .collect()
}

fn at(row: &Problem) -> (ProblemKind, u64, u64) {
    (row.kind, row.offset, row.bytes)
}

#[test]
fn empty_file() {
    let row = builders::problem(&[]);
    assert_eq!(at(&row), (ProblemKind::Truncated, 0, 0));
    assert_eq!(row.detail, "the file is empty");
}

#[test]
fn text_file() {
    let text = "Not monitor data at all.\r\n".repeat(3000);
    let row = builders::problem(text.as_bytes());
    assert_eq!(at(&row), (ProblemKind::Header, 0, text.len() as u64));
    assert!(row.detail.contains("it is text"), "{}", row.detail);
    assert_eq!(builders::problem(b"short").bytes, 5);
}

#[test]
fn cut_off_in_control_record() {
    let mut bytes = builders::file(&builders::sample());
    bytes.truncate(bytes.len() - 1);
    let row = builders::problem(&bytes);
    let offset = (bytes.len() + 1 - PAGE) as u64;
    assert_eq!(at(&row), (ProblemKind::Truncated, offset, 4095));
    assert!(row.detail.contains("inside a control record"));
}

#[test]
fn cut_off_in_record_header() {
    let bytes = &three_frames()[..2 * PAGE + 400 + 10];
    let row = builders::problem(bytes);
    let offset = (2 * PAGE + 400) as u64;
    assert_eq!(at(&row), (ProblemKind::Truncated, offset, 10));
    assert!(row.detail.contains("inside a record header"));
    let missing = 3 * PAGE - PAGE - 410;
    assert!(row.detail.contains(&format!("{missing} bytes are missing")));
    assert_eq!(numbers(bytes).len(), 11);
}

#[test]
fn cut_off_in_record() {
    let bytes = &three_frames()[..2 * PAGE + 400 + 399];
    let row = builders::problem(bytes);
    let offset = (2 * PAGE + 400) as u64;
    assert_eq!(at(&row), (ProblemKind::Truncated, offset, 399));
    assert!(row.detail.contains("inside a record:"));
    assert_eq!(numbers(bytes).len(), 11);
}

#[test]
fn cut_off_between_records_and_between_frames() {
    for size in [2 * PAGE + 400, 2 * PAGE, PAGE] {
        let bytes = &three_frames()[..size];
        let row = builders::problem(bytes);
        assert_eq!(at(&row), (ProblemKind::Truncated, size as u64, 0));
        assert!(row.detail.contains("bytes are missing"), "{}", row.detail);
    }
}

#[test]
fn without_end_of_data_record() {
    let bytes = &three_frames()[..4 * PAGE];
    let row = builders::problem(bytes);
    assert_eq!(at(&row), (ProblemKind::Truncated, 4 * PAGE as u64, 0));
    assert!(row.detail.contains("without an end-of-data record"));
    assert!(!builders::indexed(bytes).complete);
    assert_eq!(numbers(bytes).len(), 25);
}

/// Returns the problem after a change of the eighth record of the second frame.
fn changed(change: impl Fn(&mut [u8])) -> Problem {
    let mut bytes = three_frames();
    let offset = 2 * PAGE + 7 * 400;
    change(&mut bytes[offset..offset + 20]);
    let row = builders::problem(&bytes);
    assert_eq!(row.offset, offset as u64);
    assert_eq!(row.bytes, (PAGE - 7 * 400) as u64);
    // Only the rest of its frame is lost.
    let expected: Vec<u64> = (0..17).chain(20..25).collect();
    assert_eq!(numbers(&bytes), expected);
    row
}

#[test]
fn length_past_frame() {
    let row = changed(|header| header[..2].copy_from_slice(&1297_u16.to_be_bytes()));
    assert_eq!(row.kind, ProblemKind::Length);
    assert_eq!(row.record, Some((4, 3)));
    assert!(row.detail.contains("1297"), "{}", row.detail);
    assert!(row.detail.contains("1296 bytes"), "{}", row.detail);
}

#[test]
fn length_past_end_of_data() {
    let mut bytes = three_frames();
    let offset = 3 * PAGE + 4 * 400;
    bytes[offset + 1] += 1;
    let row = builders::problem(&bytes);
    assert_eq!(at(&row), (ProblemKind::Length, offset as u64, 400));
    assert!(row.detail.contains("the data in the control record"));
    assert_eq!(numbers(&bytes), (0..24).collect::<Vec<u64>>());
}

#[test]
fn length_of_zero() {
    let row = changed(|header| header[..2].fill(0));
    assert_eq!(row.kind, ProblemKind::Length);
    assert!(row.detail.contains("length 0"));
}

#[test]
fn length_below_header() {
    let row = changed(|header| header[..2].copy_from_slice(&[0, 19]));
    assert_eq!(row.kind, ProblemKind::Length);
    assert!(row.detail.contains("length 19"));
}

#[test]
fn domain_out_of_range() {
    let row = changed(|header| header[4] = 12);
    assert_eq!(row.kind, ProblemKind::Header);
    assert!(row.detail.contains("domain 12"));
}

#[test]
fn header_with_nonzero_reserved_bytes() {
    let row = changed(|header| header[2..4].copy_from_slice(&[0x12, 0x34]));
    assert_eq!(row.kind, ProblemKind::Header);
    assert!(row.detail.contains("x'1234'"));
}

#[test]
fn bad_first_record_costs_its_frame() {
    let mut bytes = three_frames();
    bytes[2 * PAGE + 4] = 99;
    let row = builders::problem(&bytes);
    assert_eq!(
        at(&row),
        (ProblemKind::Header, 2 * PAGE as u64, PAGE as u64)
    );
    assert_eq!(numbers(&bytes).len(), 15);
}

#[test]
fn frames_without_records_are_one_problem() {
    let mut bytes = three_frames();
    bytes[PAGE..3 * PAGE].fill(0xFF);
    let row = builders::problem(&bytes);
    assert_eq!(
        at(&row),
        (ProblemKind::Header, PAGE as u64, 2 * PAGE as u64)
    );
    assert!(row.detail.contains("2 frames"), "{}", row.detail);
}

#[test]
fn invalid_end_of_frame_record() {
    let mut bytes = three_frames();
    bytes[PAGE + 4000..2 * PAGE].fill(0);
    bytes[2 * PAGE - 1] = 1;
    let row = builders::problem(&bytes);
    let offset = (PAGE + 4000) as u64;
    assert_eq!(at(&row), (ProblemKind::Length, offset, 96));
    assert_eq!(numbers(&bytes).len(), 25);
}

#[test]
fn short_rest_after_last_record() {
    let mut bytes = three_frames();
    // The data are 11 bytes longer than the records.
    bytes[51] += 11;
    assert!(builders::problems(&bytes).is_empty(), "they are zeros");
    bytes[3 * PAGE + 2000 + 10] = 1;
    let row = builders::problem(&bytes);
    let offset = (3 * PAGE + 2000) as u64;
    assert_eq!(at(&row), (ProblemKind::Header, offset, 11));
    assert!(row.detail.contains("too few"));
}

/// Returns the problems, and the number of records read per interval, after a change of the sample's third
/// control record.
fn third_control(change: impl Fn(&mut [u8])) -> (Vec<Problem>, [usize; 6]) {
    let mut bytes = builders::file(&builders::sample());
    let controls: Vec<usize> = (0..bytes.len())
        .step_by(PAGE)
        .filter(|&at| bytes[at + 3] == 9)
        .collect();
    assert_eq!(controls.len(), 6);
    change(&mut bytes[controls[2]..controls[2] + PAGE]);
    let mut read = [0; 6];
    for number in numbers(&bytes) {
        read[number as usize / 1_000_000] += 1;
    }
    let rows = builders::problems(&bytes);
    let lost: u64 = rows.iter().map(|row| row.bytes).sum();
    assert!(lost <= (controls[3] - controls[2]) as u64);
    for (interval, &count) in read.iter().enumerate().filter(|(at, _)| *at != 2) {
        assert_eq!(count, 56, "interval {interval}: {rows:#?}");
    }
    (rows, read)
}

#[test]
fn descending_addresses() {
    let (rows, read) = third_control(|page| page[48..52].fill(0));
    assert_eq!(read[2], 0);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].kind, ProblemKind::Resync);
    assert!(rows[0].detail.contains("backwards"));
    let skipped = format!("{} bytes skipped to the next control record", rows[0].bytes);
    assert!(rows[0].detail.contains(&skipped), "{}", rows[0].detail);
}

#[test]
fn descending_addresses_of_second_entry() {
    let (rows, read) = third_control(|page| page[60..64].fill(0));
    assert_eq!(read[2], 48, "the first entry is read");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].kind, ProblemKind::Resync);
    assert!(rows[0].detail.contains("entry 2"));
    assert_eq!(rows[0].bytes, 2 * PAGE as u64);
}

#[test]
fn addresses_past_file() {
    let (rows, read) = third_control(|page| page[60..64].fill(0xFF));
    assert_eq!(read[2], 56, "all its records are there");
    assert!(
        says(&rows, ProblemKind::Resync, "before the data end"),
        "{rows:#?}"
    );
}

#[test]
fn addresses_past_file_in_last_control_record() {
    let mut bytes = three_frames();
    bytes[48..52].fill(0xFF);
    let rows = builders::problems(&bytes);
    assert!(says(&rows, ProblemKind::Truncated, "bytes are missing"));
    assert_eq!(numbers(&bytes).len(), 25);
}

#[test]
fn entry_without_domains() {
    let (rows, read) = third_control(|page| page[41..43].fill(0));
    assert_eq!(read[2], 0);
    assert!(says(&rows, ProblemKind::Resync, "names no domain"));
}

#[test]
fn unknown_flag() {
    let (rows, read) = third_control(|page| page[40] = 0x77);
    assert_eq!(read[2], 0);
    assert!(says(&rows, ProblemKind::Resync, "x'77'"));
}

#[test]
fn impossible_entry_count() {
    for buffer in [[0xFF; 40], [0; 40]] {
        let (rows, read) = third_control(|page| page[..40].copy_from_slice(&buffer));
        assert_eq!(read[2], 56, "the entries are counted instead");
        assert!(rows.is_empty());
    }
}

#[test]
fn missing_frames() {
    let mut bytes = builders::file(&builders::sample());
    // The control record of the second interval precedes the end of the first one's data.
    bytes.drain(2 * PAGE..4 * PAGE);
    let rows = builders::problems(&bytes);
    assert!(
        says(&rows, ProblemKind::Resync, "2 frames before"),
        "{rows:#?}"
    );
    assert!(numbers(&bytes).iter().filter(|&&nth| nth > 999_999).count() == 5 * 56);
}

#[test]
fn foreign_frames() {
    let mut bytes = builders::file(&builders::sample());
    let control = (PAGE..).step_by(PAGE).find(|&at| bytes[at + 3] == 9);
    let control = control.expect("a second control record");
    bytes.splice(control..control, [0xAB; 3 * PAGE]);
    let row = builders::problem(&bytes);
    assert_eq!(
        at(&row),
        (ProblemKind::Resync, control as u64, 3 * PAGE as u64)
    );
    assert_eq!(numbers(&bytes).len(), 6 * 56);
}

#[test]
fn damaged_start() {
    let mut bytes = builders::file(&builders::sample());
    bytes[..PAGE].fill(0xFF);
    let row = builders::problem(&bytes);
    assert_eq!((row.kind, row.offset), (ProblemKind::Resync, 0));
    assert_eq!(numbers(&bytes).len(), 5 * 56);
}

#[test]
fn concatenated_files() {
    let one = builders::file(&builders::sample());
    let two = [one.clone(), one].concat();
    let (index, found) = builders::read(&two);
    assert!(index.problems.is_empty(), "{:?}", index.problems);
    assert_eq!(index.end_of_data, 2);
    assert!(index.complete);
    assert_eq!(builders::plain(&found).len(), 2 * 6 * 56);
}

#[test]
fn junk_after_end_of_data() {
    for junk in [[0x31; PAGE + 5], [0; PAGE + 5]] {
        let row = builders::problem(&[three_frames(), junk.to_vec()].concat());
        let offset = 5 * PAGE as u64;
        assert_eq!(at(&row), (ProblemKind::Resync, offset, PAGE as u64 + 5));
        let bytes = [three_frames(), junk.to_vec(), three_frames()].concat();
        let row = builders::problem(&bytes);
        assert_eq!(at(&row), (ProblemKind::Resync, offset, PAGE as u64 + 5));
        assert_eq!(numbers(&bytes).len(), 50);
        let aligned = [three_frames(), junk[..PAGE].to_vec(), three_frames()].concat();
        let row = builders::problem(&aligned);
        assert_eq!(at(&row), (ProblemKind::Resync, offset, PAGE as u64));
        assert_eq!(numbers(&aligned).len(), 50);
    }
}

#[test]
fn end_of_data_record_with_any_content() {
    let mut bytes = three_frames();
    bytes[4 * PAGE..].fill(0x40);
    let (index, _) = builders::read(&bytes);
    assert!(index.problems.is_empty(), "{:?}", index.problems);
    assert!(index.complete);
}

#[test]
fn impossible_times() {
    let mut records: Vec<Vec<u8>> = (0..6).map(|nth| builders::record(4, 3, 60, nth)).collect();
    records[2][8..16].fill(0);
    records[3][8..16].copy_from_slice(&(u64::MAX >> 1).to_be_bytes());
    let bytes = builders::file(&[vec![entry(Class::Sample, 0, records)]]);
    let row = builders::problem(&bytes);
    assert_eq!(at(&row), (ProblemKind::Time, (PAGE + 120) as u64, 0));
    assert_eq!(row.record, Some((4, 3)));
    assert!(row.detail.contains("2 records"));
    let index = builders::indexed(&bytes);
    assert_eq!(index.types[0].count, 6);
    assert_eq!(index.first_tod, Some(builders::time(0)));
    assert_eq!(index.last_tod, Some(builders::time(5)));
}

#[test]
fn more_types_than_possible() {
    let records = (0..1000)
        .map(|nth| builders::record(4, nth, 60, 0))
        .collect();
    let bytes = builders::file(&[vec![entry(Class::Sample, 0, records)]]);
    let (index, found) = builders::read(&bytes);
    assert_eq!(index.types.len(), zlens_frames::zvm::MAX_TYPES);
    let rows = index.problems.rows();
    assert!(says(&rows, ProblemKind::Header, "more than 512 types"));
    // One of the types is the type of end-of-frame records.
    assert_eq!(
        builders::plain(&found).len(),
        zlens_frames::zvm::MAX_TYPES - 1
    );
}

#[test]
fn more_problems_than_limit() {
    // One good and one bad record in every frame.
    let mut bytes = builders::file(&[vec![entry(
        Class::Sample,
        0,
        (0..12_000)
            .map(|nth| builders::record(4, 3, 4076, nth))
            .collect(),
    )]]);
    for frame in bytes[PAGE..12_000 * PAGE].chunks_mut(PAGE) {
        frame[..2].copy_from_slice(&100_u16.to_be_bytes());
    }
    let (index, found) = builders::read(&bytes);
    assert_eq!(found.len(), 12_000);
    assert_eq!(index.problems.problems().len(), ProblemLog::LIMIT);
    assert_eq!(index.problems.len(), 11_999);
    let rows = index.problems.rows();
    assert_eq!(rows.len(), ProblemLog::LIMIT + 1);
    let last = &rows[ProblemLog::LIMIT];
    assert!(
        last.detail.contains("1999 more problems"),
        "{}",
        last.detail
    );
    assert_eq!(last.bytes, 1999 * (PAGE as u64 - 100));
}

#[test]
fn bytes_after_end_of_frame_record_are_ignored() {
    // Frames of the machine contain stale bytes.
    let mut bytes = three_frames();
    let end = PAGE + 4000;
    assert_eq!(
        zlens_frames::zvm::Header::parse(&bytes[end..])
            .map(|header| (header.domain, header.record)),
        Some(zlens_frames::zvm::Header::END_OF_FRAME)
    );
    let stale = builders::record(4, 3, 76, 777);
    bytes[end + 20..2 * PAGE].copy_from_slice(&stale);
    assert!(builders::problems(&bytes).is_empty());
    assert_eq!(numbers(&bytes), (0..25).collect::<Vec<u64>>());
    // The same in the last frame, after the end in the control record.
    let last = 3 * PAGE + 2000;
    bytes[last..last + 76].copy_from_slice(&stale);
    assert!(builders::problems(&bytes).is_empty());
    assert_eq!(numbers(&bytes), (0..25).collect::<Vec<u64>>());
}

#[test]
fn end_of_data_record_before_another_file() {
    // The end of the first file is within a window, or the last page of a window.
    for frames in [3, 62] {
        let records = (0..frames * 10)
            .map(|nth| builders::record(4, 3, 400, nth))
            .collect();
        let mut bytes = builders::file(&[vec![entry(Class::Sample, 0, records)]]);
        let end = bytes.len() - PAGE;
        assert_eq!(end as u64, (frames + 1) * PAGE as u64);
        bytes[end..].fill(0x40);
        bytes.extend(three_frames());
        let (index, _) = builders::read(&bytes);
        assert!(index.problems.is_empty(), "{:?}", index.problems);
        assert_eq!(index.end_of_data, 2);
        assert_eq!(numbers(&bytes).len() as u64, frames * 10 + 25);
        // Among other bytes it is not an end.
        bytes[end + PAGE..end + 2 * PAGE].fill(0x40);
        let (index, _) = builders::read(&bytes);
        assert_eq!(index.end_of_data, 0);
        let row = &index.problems.rows()[0];
        assert_eq!((row.kind, row.offset), (ProblemKind::Resync, end as u64));
    }
}

/// Whether a changed control record is recognized among junk.
fn found_among_junk(change: impl Fn(&mut [u8])) -> bool {
    let mut good = three_frames();
    change(&mut good);
    let bytes = [vec![0x33; 3 * PAGE], good].concat();
    let (index, _) = builders::read(&bytes);
    assert_eq!(index.problems.problems()[0].offset, 0);
    index.control_records == 1
}

#[test]
fn search_ignores_accidental_control_records() {
    assert!(found_among_junk(|_| ()));
    // Without a count, but with a record at the start of its data.
    assert!(found_among_junk(|bytes| bytes[..40].fill(0)));
    assert!(!found_among_junk(|bytes| {
        bytes[..40].fill(0);
        bytes[PAGE + 2] = 1;
    }));
    // With a count: all entries must be valid.
    assert!(!found_among_junk(|bytes| bytes[19] += 12));
    assert!(!found_among_junk(|bytes| bytes[43] = 1));
    assert!(!found_among_junk(|bytes| bytes[40] = 0xE3));
}

#[test]
fn entry_of_one_byte_is_invalid() {
    let mut bytes = three_frames();
    let start: [u8; 4] = bytes[44..48].try_into().expect("four bytes");
    bytes[48..52].copy_from_slice(&start);
    let row = builders::problem(&bytes);
    assert_eq!(
        (row.kind, row.bytes),
        (ProblemKind::Header, 5 * PAGE as u64)
    );
}
