//! Small functions on single values: text, times, telling formats apart.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zlens_frames::zvm::Sniff;
use zlens_frames::{ebcdic, tod};

/// `text` in code page 037, padded with blanks to `width` bytes.
#[pyfunction]
pub fn encode_text(text: &str, width: usize) -> PyResult<Vec<u8>> {
    ebcdic::encode(text, width).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{text:?} does not fit {width} bytes of code page 037"
        ))
    })
}

/// The TOD value of a time in microseconds since 1970 UTC.
#[pyfunction]
pub fn tod_from_unix_us(us: i64) -> u64 {
    tod::from_unix_us(us)
}

/// Microseconds since 1970 UTC of a TOD value, leap seconds taken off.
#[pyfunction]
#[pyo3(signature = (tod, leap = 0))]
pub fn unix_us_from_tod(tod: u64, leap: i32) -> i64 {
    tod::to_unix_us(tod, leap)
}

/// Format of a file by its first bytes: `monwrite`, `monreader`, `damaged` with a sentence, or `no`.
#[pyfunction]
pub fn sniff(head: &[u8], size: u64) -> (&'static str, String) {
    match zlens_frames::zvm::sniff(head, size) {
        Sniff::Monwrite => ("monwrite", String::new()),
        Sniff::Capture => ("monreader", String::new()),
        Sniff::Damaged(sentence) => ("damaged", sentence),
        Sniff::No => ("no", String::new()),
    }
}
