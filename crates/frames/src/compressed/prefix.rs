//! The uncompressed bytes that identify a format, and how their decompression ended.

use std::io::{self, Read};

use super::sink::Sink;
use crate::problem::{ProblemKind, ProblemLog};

/// Uncompressed bytes that are read to identify the format.
pub const LOOK: usize = 64 * 1024;

/// Reads what can be read up to [`LOOK`] bytes.
pub(super) fn begin(mut packed: impl Read, begun: &mut Vec<u8>) {
    let mut part = [0; 4096];
    while begun.len() < LOOK {
        match packed.read(&mut part) {
            Ok(count) if count > 0 => begun.extend_from_slice(&part[..count]),
            _ => break,
        }
    }
    begun.truncate(LOOK);
}

/// Whether a stream was copied to its end; what stopped it otherwise is a problem.
pub(super) fn ended_well(
    copied: io::Result<bool>,
    position: u64,
    sink: &Sink<'_>,
    form: &str,
    problems: &mut ProblemLog,
) -> bool {
    let at = sink.written();
    match copied {
        Ok(true) => return true,
        Ok(false) => {
            if let Some(limit) = sink.at_limit() {
                problems.add(ProblemKind::Length, at, 0, None, || {
                    format!(
                        "decompression stopped at {limit} bytes (byte {position} of the file): the \
                         ratio is implausible for real data; set ZLENS_UNPACK_LIMIT=BYTES to allow \
                         more"
                    )
                });
            }
        }
        Err(error) => {
            let short = error.kind() == io::ErrorKind::UnexpectedEof;
            let kind = if short {
                ProblemKind::Truncated
            } else {
                ProblemKind::Transfer
            };
            problems.add(kind, at, 0, None, || {
                format!(
                    "the {form} data is damaged or truncated near byte {position} of the file \
                     ({error}); the data unpacked before is read"
                )
            });
        }
    }
    false
}
