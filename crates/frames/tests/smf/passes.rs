//! Tests of passes, which read only selected records, at any offset.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zlens_frames::smf::{Pass, index};
use zlens_frames::{ReadAt, WINDOW, Windows, ebcdic};

use crate::builders;

/// A source that counts the bytes read.
struct Counting {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ReadAt for Counting {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let got = self.bytes.read_at(offset, buf)?;
        self.read.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }

    fn size(&self) -> u64 {
        self.bytes.size()
    }
}

#[test]
fn only_windows_with_selected_records_are_read() {
    let mut records: Vec<Vec<u8>> = (0..3000)
        .map(|nth| builders::record(30, Some(4), 1000, nth))
        .collect();
    records.insert(1500, builders::record(113, Some(2), 1716, 5));
    let source = Arc::new(Counting {
        bytes: builders::file(&records),
        read: AtomicU64::new(0),
    });
    let found = Arc::new(index(&*source, &[], &mut |_, _| true).expect("memory can be read"));
    source.read.store(0, Ordering::Relaxed);
    let mut pass = Pass::new(source.clone(), found.clone(), &[(113, 1), (113, 2)]);
    let window = pass.next_window().expect("memory can be read");
    let window = window.expect("the record is in one");
    assert!(window.records(0).is_empty());
    let &[record] = window.records(1) else {
        panic!("one record");
    };
    assert_eq!(window.offset_of(record), 1_500_000);
    assert_eq!(window.bytes_of(record), records[1500]);
    assert!(pass.next_window().expect("memory can be read").is_none());
    assert!(source.read.load(Ordering::Relaxed) <= 2 * WINDOW as u64);
    assert_eq!(pass.position(), found.size);
    // Nothing is read for a type without records.
    source.read.store(0, Ordering::Relaxed);
    let mut pass = Pass::new(source.clone(), found, &[(70, 1)]);
    assert!(pass.next_window().expect("memory can be read").is_none());
    assert_eq!(source.read.load(Ordering::Relaxed), 0);
}

#[test]
fn first_records_of_one_system_or_of_all() {
    let records: Vec<Vec<u8>> = (0..4000)
        .map(|nth| {
            let system = if nth >= 3000 { "SYSB" } else { "SYSA" };
            builders::counters(system, nth, nth + 1, nth + 1)
        })
        .collect();
    let bytes = builders::file(&records);
    let found = Arc::new(index(&bytes, &[], &mut |_, _| true).expect("memory can be read"));
    let source: Arc<dyn ReadAt> = Arc::new(bytes);
    let first = |system: Option<&str>, limit| {
        let system = system.map(|name| {
            let name = ebcdic::encode(name, 4).expect("four letters");
            <[u8; 4]>::try_from(name).expect("four bytes")
        });
        found
            .first_records(&source, (113, 1), system, limit)
            .expect("memory can be read")
    };
    assert_eq!(first(None, 2)[1].1, records[1]);
    let b = first(Some("SYSB"), 3);
    assert_eq!(b.len(), 3);
    assert_eq!(b[0].1, records[3000]);
    assert_eq!(
        b[0].0,
        records[..3000].iter().map(|r| r.len() as u64).sum::<u64>()
    );
    assert!(first(Some("SYSC"), 3).is_empty());
    assert_eq!(first(Some("SYSB"), 2000).len(), 1000);
}
