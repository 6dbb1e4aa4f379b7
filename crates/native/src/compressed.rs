//! Compressed SMF dumps: what is inside, and decompression it.

use std::ffi::OsStr;

use pyo3::prelude::*;
use zlens_frames::compressed::{self, Compression, Decompressed};
use zlens_frames::smf::{Sniff, sniff};
use zlens_frames::{FileSource, ReadAt};

use crate::errors::InputError;

/// Format of a file, compressed or not, by its first bytes: `smf`, `damaged` with a sentence, or `no`.
#[pyfunction]
pub fn sniff_smf(head: &[u8], size: u64) -> (&'static str, String) {
    let Some(packing) = Compression::detect(head) else {
        return sniff_result(sniff(head, size), "");
    };
    let whole = head.len() as u64 == size;
    // How much is compressed is known only where all of it was checked.
    let of = |begun: &[u8]| {
        let all = whole && begun.len() < compressed::LOOK;
        sniff(begun, if all { begun.len() as u64 } else { u64::MAX })
    };
    match compressed::peek_decompressed(head, &|begun| of(begun) != Sniff::No) {
        Some(begun) => sniff_result(of(&begun), &format!("a {} file with ", packing.name())),
        None => sniff_result(Sniff::No, ""),
    }
}

fn sniff_result(found: Sniff, within: &str) -> (&'static str, String) {
    match found {
        Sniff::Smf => ("smf", String::new()),
        Sniff::Damaged(sentence) => ("damaged", format!("{within}{sentence}")),
        Sniff::No => ("no", String::new()),
    }
}

/// This many times the size of a compressed file may come of it, and this much in any case: SMF data is
/// seldom compressed to less than a twentieth.
const MAX_RATIO: u64 = 100;
const MIN_LIMIT: u64 = 1 << 30;

/// The part that `done` of `total` is of `whole`.
pub fn scale_progress(done: u64, total: u64, whole: u64) -> u64 {
    (u128::from(done) * u128::from(whole) / u128::from(total.max(1))) as u64
}

/// Decompresses the file if it is compressed; half of the progress is then reported.
pub fn decompress_if_needed(
    file: &FileSource,
    limit: Option<u64>,
    report: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Option<Decompressed>, compressed::Error> {
    let mut head = [0; 4];
    let got = file.read_at(0, &mut head).unwrap_or(0);
    let Some(packing) = Compression::detect(&head[..got]) else {
        return Ok(None);
    };
    let usual = file.size().saturating_mul(MAX_RATIO).max(MIN_LIMIT);
    let is_dump = |begun: &[u8], size: u64| sniff(begun, size) != Sniff::No;
    compressed::decompress(
        file,
        packing,
        &std::env::temp_dir(),
        limit.unwrap_or(usual),
        &is_dump,
        &mut |done, total| report(done.min(total) / 2, total),
    )
    .map(Some)
}

pub fn decompress_error(py: Python<'_>, path: &OsStr, error: &compressed::Error) -> PyErr {
    InputError {
        message: error.to_string(),
        file: path,
        offset: None,
        expected: Some("space for the decompressed data next to the compressed file"),
        cure: Some("free some space, or name another folder in TMPDIR"),
    }
    .raise(py)
}
