//! Tests of the device, with a fake that follows the kernel's documentation of /dev/monreader
//! (Documentation/arch/s390/monreader.rst): no real device was available.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zlens_forward::source::{Device, Event, Gap, Reason, SetReader, Source};
use zlens_frames::zvm::Header;

const EIO: i32 = 5;
const EFAULT: i32 = 14;
const EAGAIN: i32 = 11;
const EINTR: i32 = 4;
const EOVERFLOW: i32 = 75;

/// Result of a read of the device.
enum Read {
    Bytes(Vec<u8>),
    Error(i32),
}

#[derive(Default)]
struct Fake {
    reads: VecDeque<Read>,
    /// Results of reopening the device; success once the list is empty.
    opens: VecDeque<i32>,
    opened: Arc<Mutex<u32>>,
}

impl Device for Fake {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A later read would block.
        match self.reads.pop_front().unwrap_or(Read::Error(EAGAIN)) {
            Read::Bytes(bytes) => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            Read::Error(number) => Err(io::Error::from_raw_os_error(number)),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        *self.opened.lock().unwrap() += 1;
        match self.opens.pop_front() {
            Some(number) => Err(io::Error::from_raw_os_error(number)),
            None => Ok(()),
        }
    }

    fn pause(&mut self, _: Duration) {}
}

/// Returns sets and gaps, with reasons and bytes, until no more arrive.
fn all(mut sets: SetReader<Fake>) -> Vec<(Option<Reason>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut nothing = 0;
    while nothing < 5 {
        match sets.next() {
            Event::Data(bytes) => found.push((None, bytes)),
            Event::Gap(gap) => {
                let bytes = gap.bytes.unwrap_or_default() as usize;
                assert_eq!(gap.sets.is_some(), bytes > 0);
                found.push((Some(gap.reason), vec![b'-'; bytes]));
            }
            Event::Idle => nothing += 1,
            other => panic!("{other:?}"),
        }
    }
    found
}

/// Parses a script: letters are bytes, `.` reads 0 bytes, `!` is an overflow, `?` EIO, `*` EFAULT, `~` EAGAIN, `^` EINTR.
fn script(text: &str) -> Fake {
    let mut reads = VecDeque::new();
    for part in text.split(' ') {
        reads.push_back(match part {
            "." => Read::Bytes(Vec::new()),
            "!" => Read::Error(EOVERFLOW),
            "?" => Read::Error(EIO),
            "*" => Read::Error(EFAULT),
            "~" => Read::Error(EAGAIN),
            "^" => Read::Error(EINTR),
            bytes => Read::Bytes(bytes.as_bytes().to_vec()),
        });
    }
    Fake {
        reads,
        ..Fake::default()
    }
}

fn given(text: &str) -> String {
    all(SetReader::new(script(text)))
        .into_iter()
        .map(|(reason, bytes)| {
            let reason = reason.map_or(String::new(), |reason| format!("{}:", reason.as_str()));
            format!("{reason}{}", String::from_utf8(bytes).unwrap())
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn sets_follow_documentation() {
    for (reads, sets) in [
        // A read of 0 bytes ends a set.
        ("ab cd . ef .", "abcd ef"),
        ("^ ab ^ .", "ab"),
        // Bytes without an end are not a set.
        ("ab . cd", "ab"),
        // EOVERFLOW replaces the next set; the bytes already read are valid.
        ("ab . ! cd .", "ab overflow: cd"),
        ("ab ! cd .", "ab overflow: cd"),
        // EIO replaces the end of the set, and the next read starts another set.
        ("ab ? cd .", "set_invalid:-- cd"),
        // EFAULT occurs within a set, which continues.
        ("ab * cd . ef .", "set_not_copied:-- ef"),
        ("ab * cd ? ef .", "set_not_copied:-- ef"),
        ("ab * cd ! ef .", "set_not_copied:-- overflow:"),
        // An error without bytes of its set.
        ("ab . ? . cd .", "ab set_invalid: cd"),
    ] {
        assert_eq!(given(reads), sets, "{reads}");
    }
}

#[test]
fn severed_device_is_reopened() {
    // The connection is severed: every read fails with EIO at once.
    let mut fake = script("ab . cd ? ? ef .");
    fake.opens = VecDeque::from([EIO, EIO]);
    let opened = Arc::clone(&fake.opened);
    let found = all(SetReader::new(fake));
    assert_eq!(
        found,
        [
            (None, b"ab".to_vec()),
            (Some(Reason::SetInvalid), b"--".to_vec()),
            (Some(Reason::DeviceLost), Vec::new()),
            (None, b"ef".to_vec()),
        ]
    );
    assert_eq!(*opened.lock().unwrap(), 3);
}

#[test]
fn failing_device_is_reopened() {
    assert_eq!(given("ab * * cd ."), "set_not_copied:-- cd");
}

#[test]
fn oversized_set_is_dropped() {
    let sets = SetReader::new(script("abcd ef gh . ij .")).with_largest(5);
    assert_eq!(
        all(sets),
        [
            (Some(Reason::SetTooLarge), vec![b'-'; 6]),
            (None, b"ij".to_vec())
        ]
    );
}

#[test]
fn idle_device_does_not_block_others() {
    let mut sets = SetReader::new(script(". . ~ ab ."));
    assert_eq!(sets.next(), Event::Idle);
    assert_eq!(sets.next(), Event::Idle);
    assert_eq!(sets.next(), Event::Data(b"ab".to_vec()));
}

/// Returns a set of one frame of event records: an element, and record headers only.
fn events(types: &[(u8, u16)]) -> Vec<u8> {
    let records: Vec<u8> = types
        .iter()
        .flat_map(|&(domain, record)| {
            Header {
                length: 20,
                domain,
                record,
                tod: 0xE200_0000_0000_0000,
            }
            .encode()
        })
        .collect();
    let mut bytes = vec![0xC5, 0x80, 0, 0];
    bytes.extend(0x1000_u32.to_be_bytes());
    bytes.extend((0x1000 + records.len() as u32 - 1).to_be_bytes());
    bytes.extend(records);
    bytes
}

#[test]
fn suspended_event_records_are_gap() {
    let mut fake = Fake::default();
    let normal = events(&[(4, 1), (1, 13)]);
    let last = events(&[(4, 1), Header::SUSPENDED]);
    let first = events(&[Header::RESUMED, (4, 1)]);
    for set in [&normal, &last, &normal, &first, &normal, &first] {
        fake.reads.push_back(Read::Bytes(set.clone()));
        fake.reads.push_back(Read::Bytes(Vec::new()));
    }
    let mut sets = SetReader::new(fake);
    for set in [&normal, &last, &normal] {
        assert_eq!(sets.next(), Event::Data(set.clone()));
    }
    let Event::Gap(gap) = sets.next() else {
        panic!("no gap");
    };
    assert_eq!(gap.reason, Reason::Suspended);
    assert!(gap.from.is_some());
    assert_eq!(sets.next(), Event::Data(first.clone()));
    assert_eq!(sets.next(), Event::Data(normal));
    // Only the end of the second suspension was read.
    assert_eq!(sets.next(), Event::Gap(Gap::new(Reason::Suspended)));
    assert_eq!(sets.next(), Event::Data(first));
}
