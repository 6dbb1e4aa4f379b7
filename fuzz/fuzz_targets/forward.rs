//! Any bytes from a receiver, and any bytes as a segment of the spool: frames read from it are
//! complete, and the rest is a gap.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::process;

use libfuzzer_sys::fuzz_target;
use zlens_forward::spool::{MIN_SIZE, ReadResult, Record, Spool};
use zlens_forward::wire::{FrameKind, decode, encode, field};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((head, payload))) = decode(bytes) {
        let _ = field(payload, "reason");
        let mut again = Vec::new();
        encode(&mut again, head.kind, head.flags, head.sequence, payload);
        assert_eq!(again, bytes[..again.len()]);
    }
    // In memory if the system supports it.
    let shared = PathBuf::from("/dev/shm");
    let parent = if shared.is_dir() {
        shared
    } else {
        std::env::temp_dir()
    };
    let folder = parent.join(format!("zlens-fuzz-{}", process::id()));
    let _ = fs::remove_dir_all(&folder);
    let made = Spool::open(&folder, MIN_SIZE).expect("a new spool can be made");
    let record = |kind, payload| Record {
        kind,
        flags: 1,
        payload,
    };
    let first = [
        record(FrameKind::Begin, &b"inode 7\n"[..]),
        record(FrameKind::Data, b"abc"),
    ];
    made.append(&first, true).expect("memory can be written");
    drop(made);
    // After a valid header, and as an entire segment.
    let path = folder.join(format!("{:020}.seg", 0));
    let mut segment = fs::read(&path).expect("it was made");
    segment.extend(bytes);
    fs::write(&path, segment).expect("memory can be written");
    fs::write(folder.join(format!("{:020}.seg", 9)), bytes).expect("memory can be written");

    let spool = Spool::open(&folder, MIN_SIZE).expect("whatever is in it");
    spool
        .append(&[record(FrameKind::Data, &b"more"[..])], true)
        .expect("memory can be written");
    let mut cursor = spool.cursor(0);
    let mut last = Vec::new();
    loop {
        let before = cursor.next();
        match spool.read(&mut cursor).expect("memory can be read") {
            ReadResult::Frame(frame) => {
                let (head, payload) = decode(&frame).expect("it is whole").expect("it is whole");
                assert_eq!(head.sequence, before);
                last = payload.to_vec();
            }
            ReadResult::Missing(hole) => assert!(hole.from == before && hole.next > before),
            ReadResult::Empty => break,
        }
    }
    assert_eq!(cursor.next(), spool.next());
    assert_eq!(last, b"more");
    let _ = fs::remove_dir_all(&folder);
});
