//! Bytes of a field, at many places of a window, to values of a column.
//!
//! Each kernel is one loop over places for one field: no dispatch for each value, the window in the processor's
//! second cache, the column written in one stream. `window` is always cut so that it begins at the field of a
//! record that begins at its byte 0; a place beyond it would be a mistake in the caller and panics.

use zlens_frames::ebcdic::{BLANK, CP037};
use zlens_frames::tod;

use crate::plan::Kind;

/// How the bytes of one field are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    Int {
        width: u8,
        signed: bool,
    },
    Float {
        width: u8,
    },
    Time,
    Bool {
        len: u32,
    },
    Text {
        len: u32,
    },
    Hex {
        len: u32,
    },
    /// Text up to the end of the part.
    TextRest,
    /// Bytes up to the end of the part.
    HexRest,
}

impl Kernel {
    /// The kernel of a field that the plan has checked.
    pub(crate) fn of(kind: Kind, len: u32, signed: bool) -> Self {
        match (kind, len) {
            (Kind::Int, _) => Self::Int {
                width: len as u8,
                signed,
            },
            (Kind::Float, _) => Self::Float { width: len as u8 },
            (Kind::Time, _) => Self::Time,
            (Kind::Bool, _) => Self::Bool { len },
            (Kind::Text, 0) => Self::TextRest,
            (Kind::Text, _) => Self::Text { len },
            (Kind::Hex, 0) => Self::HexRest,
            (Kind::Hex, _) => Self::Hex { len },
        }
    }
}

#[inline(always)]
fn word<const N: usize>(window: &[u8], place: u32) -> [u8; N] {
    let place = place as usize;
    let mut bytes = [0; N];
    bytes.copy_from_slice(&window[place..place + N]);
    bytes
}

/// Bytes of an integer of odd width, at the low end of eight.
#[inline(always)]
fn low(window: &[u8], place: u32, width: usize) -> u64 {
    let place = place as usize;
    let mut bytes = [0; 8];
    bytes[8 - width..].copy_from_slice(&window[place..place + width]);
    u64::from_be_bytes(bytes)
}

/// Big-endian integers. An unsigned one of eight bytes keeps its bits, so that it may come out negative.
pub(crate) fn ints(out: &mut Vec<i64>, window: &[u8], places: &[u32], width: u8, signed: bool) {
    let places = places.iter();
    match (width, signed) {
        (1, false) => out.extend(places.map(|&p| i64::from(window[p as usize]))),
        (1, true) => out.extend(places.map(|&p| i64::from(window[p as usize].cast_signed()))),
        (2, false) => out.extend(places.map(|&p| i64::from(u16::from_be_bytes(word(window, p))))),
        (2, true) => out.extend(places.map(|&p| i64::from(i16::from_be_bytes(word(window, p))))),
        (4, false) => out.extend(places.map(|&p| i64::from(u32::from_be_bytes(word(window, p))))),
        (4, true) => out.extend(places.map(|&p| i64::from(i32::from_be_bytes(word(window, p))))),
        (8, _) => out.extend(places.map(|&p| i64::from_be_bytes(word(window, p)))),
        (width, false) => {
            let width = usize::from(width.min(8));
            out.extend(places.map(|&p| low(window, p, width).cast_signed()));
        }
        (width, true) => {
            let width = usize::from(width.min(8));
            let shift = 64 - 8 * width as u32;
            out.extend(places.map(|&p| (low(window, p, width) << shift).cast_signed() >> shift));
        }
    }
}

/// Big-endian IEEE numbers.
pub(crate) fn floats(out: &mut Vec<f64>, window: &[u8], places: &[u32], width: u8) {
    let places = places.iter();
    if width == 4 {
        out.extend(places.map(|&p| f64::from(f32::from_be_bytes(word(window, p)))));
    } else {
        out.extend(places.map(|&p| f64::from_be_bytes(word(window, p))));
    }
}

/// TOD values as microseconds since 1970; whether one of them was zero, which is no time.
pub(crate) fn times(out: &mut Vec<i64>, window: &[u8], places: &[u32], leap_s: i32) -> bool {
    let mut zero = false;
    out.extend(places.iter().map(|&p| {
        let value = u64::from_be_bytes(word(window, p));
        zero |= value == 0;
        tod::to_unix_us(value, leap_s)
    }));
    zero
}

/// Whether any bit is set.
pub(crate) fn bools(out: &mut Vec<bool>, window: &[u8], places: &[u32], len: u32) {
    if len == 1 {
        out.extend(places.iter().map(|&p| window[p as usize] != 0));
    } else {
        let len = len as usize;
        out.extend(
            places
                .iter()
                .map(|&p| window[p as usize..p as usize + len].iter().any(|&b| b != 0)),
        );
    }
}

/// Text of a column: all values one after the other, and where each ends (the first offset is 0).
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) offsets: Vec<i32>,
    pub(crate) values: Vec<u8>,
}

impl Texts {
    /// Bytes of one value.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// `count` empty values.
    pub(crate) fn empty(&mut self, count: usize) {
        let end = self.end();
        self.offsets.resize(self.offsets.len() + count, end);
    }

    // A batch holds at most MAX_ROWS values of at most 64 KiB in UTF-8 or hexadecimal, below 2 GiB (batch.rs).
    fn end(&self) -> i32 {
        self.values.len() as i32
    }

    /// EBCDIC text of `len` bytes at each place.
    pub(crate) fn text(&mut self, window: &[u8], places: &[u32], len: u32) {
        let len = len as usize;
        let start = self.values.len();
        // The most the values can take while they are ASCII; given back below.
        self.values.resize(start + len * places.len(), 0);
        self.offsets.reserve(places.len());
        let mut end = start;
        for (number, &place) in places.iter().enumerate() {
            let field = &window[place as usize..place as usize + len];
            let room = &mut self.values[end..end + len];
            let mut high = 0;
            for (out, &byte) in room.iter_mut().zip(field) {
                *out = CP037[usize::from(byte)];
                high |= *out;
            }
            if high >= 0x80 {
                self.values.truncate(end);
                return self.latin(window, &places[number..], len);
            }
            let blank = |byte: &u8| *byte == BLANK || *byte == 0;
            end += len - field.iter().rev().take_while(|byte| blank(byte)).count();
            self.offsets.push(end as i32);
        }
        self.values.truncate(end);
    }

    /// Text with characters that need two bytes, value by value.
    fn latin(&mut self, window: &[u8], places: &[u32], len: usize) {
        for &place in places {
            self.push_text(&window[place as usize..place as usize + len]);
        }
    }

    /// EBCDIC text of one value.
    pub(crate) fn push_text(&mut self, field: &[u8]) {
        let kept = field
            .iter()
            .rposition(|&byte| byte != BLANK && byte != 0)
            .map_or(0, |last| last + 1);
        for &byte in &field[..kept] {
            let latin = CP037[usize::from(byte)];
            if latin < 0x80 {
                self.values.push(latin);
            } else {
                self.values.extend([0xC0 | latin >> 6, 0x80 | latin & 0x3F]);
            }
        }
        self.offsets.push(self.end());
    }

    /// The `len` bytes at each place in hexadecimal.
    pub(crate) fn hex(&mut self, window: &[u8], places: &[u32], len: u32) {
        let len = len as usize;
        let mut end = self.values.len();
        self.values.resize(end + 2 * len * places.len(), 0);
        self.offsets.reserve(places.len());
        let (pairs, _) = self.values[end..].as_chunks_mut::<2>();
        for (pairs, &place) in pairs.chunks_exact_mut(len.max(1)).zip(places) {
            for (pair, &byte) in pairs
                .iter_mut()
                .zip(&window[place as usize..place as usize + len])
            {
                *pair = HEX[usize::from(byte)];
            }
        }
        for _ in places {
            end += 2 * len;
            self.offsets.push(end as i32);
        }
    }

    /// One value in hexadecimal.
    pub(crate) fn push_hex(&mut self, field: &[u8]) {
        self.values
            .extend(field.iter().flat_map(|&byte| HEX[usize::from(byte)]));
        self.offsets.push(self.end());
    }
}

/// The two digits of every byte.
const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    table
};
