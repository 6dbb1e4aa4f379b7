//! Any bytes as a compressed file: it is decompressed up to the limit and no further, and errors
//! are reported.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use zlens_frames::ReadAt;
use zlens_frames::compressed::{Compression, LOOK, decompress, peek_decompressed};

const LIMIT: u64 = 300_000;

fuzz_target!(|bytes: Vec<u8>| {
    let begun = peek_decompressed(&bytes, &|begun| begun.len() > 100);
    assert!(begun.is_none_or(|begun| begun.len() <= LOOK));
    let Some(packing) = Compression::detect(&bytes) else {
        return;
    };
    // In memory, because millions of files would be written otherwise.
    let folder = Path::new("/dev/shm");
    let found = decompress(
        &bytes,
        packing,
        folder,
        LIMIT,
        &|_, _| true,
        &mut |done, total| {
            assert!(done <= total);
            true
        },
    );
    let found = found.expect("memory can be read and written");
    assert!(found.size() <= LIMIT);
    assert!(
        found
            .problems
            .iter()
            .all(|row| row.offset <= found.size() && row.bytes == 0)
    );
});
