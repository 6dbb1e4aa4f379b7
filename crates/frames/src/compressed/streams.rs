//! gzip and Zstandard: one stream, or several back to back.

use std::io::{self, BufRead};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::input::Input;
use super::prefix::ended_well;
use super::sink::Sink;
use crate::problem::{ProblemKind, ProblemLog};

/// The length of a frame of Zstandard that holds no data, if one begins here.
pub(super) fn skippable(bytes: &[u8]) -> Option<u32> {
    match *bytes {
        [magic, 0x2A, 0x4D, 0x18, a, b, c, d, ..] if magic >> 4 == 5 => {
            Some(u32::from_le_bytes([a, b, c, d]))
        }
        _ => None,
    }
}

pub(super) fn gzip(input: &mut Input<'_>, sink: &mut Sink<'_>, problems: &mut ProblemLog) {
    sink.member();
    loop {
        let copied = sink.copy(&mut GzDecoder::new(&mut *input));
        if !ended_well(copied, input.position(), sink, "gzip", problems) {
            return;
        }
        match input.fill_buf() {
            Ok([]) | Err(_) => return,
            Ok([0x1F, 0x8B, ..]) => {}
            Ok(_) => return report_trailing_bytes(input, sink, "gzip", problems),
        }
    }
}

pub(super) fn zstd(input: &mut Input<'_>, sink: &mut Sink<'_>, problems: &mut ProblemLog) {
    sink.member();
    loop {
        let mut head = [0; 8];
        let count = input.peek(&mut head);
        if let Some(length) = skippable(&head[..count]) {
            input.skip(8 + u64::from(length));
            continue;
        }
        match &head[..count] {
            [] => return,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => {}
            _ => return report_trailing_bytes(input, sink, "Zstandard", problems),
        }
        let copied = match StreamingDecoder::new(&mut *input) {
            Ok(mut decoder) => sink.copy(&mut decoder).and_then(|whole| {
                let stated = decoder.decoder.get_checksum_from_data();
                if !whole || stated.is_none() || stated == decoder.decoder.get_calculated_checksum()
                {
                    Ok(whole)
                } else {
                    Err(io::Error::other("checksum mismatch"))
                }
            }),
            Err(error) => Err(io::Error::other(error)),
        };
        if !ended_well(copied, input.position(), sink, "Zstandard", problems) {
            return;
        }
    }
}

/// Bytes after the compressed data.
fn report_trailing_bytes(
    input: &mut Input<'_>,
    sink: &Sink<'_>,
    form: &str,
    problems: &mut ProblemLog,
) {
    let (from, rest) = (input.position(), input.rest());
    problems.add(ProblemKind::Length, sink.written(), 0, None, || {
        format!("{rest} bytes after the {form} data (from byte {from}) are ignored")
    });
}
