//! Kernels: bytes of a field, at many offsets of a window, to values of a column.
//!
//! Each kernel is one loop over offsets for one field: no dispatch for each value, the records in the processor's
//! first cache, the column written in one stream. `window` is always cut so that it begins at the field of a
//! record that begins at its byte 0; an offset beyond it is a bug of the caller and panics.

use zlens_frames::tod;

use super::plan::Kind;

/// Method of reading the bytes of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    U8,
    U16,
    U32,
    /// Keeps its bits, so that it may come out negative.
    U64,
    I8,
    I16,
    I32,
    I64,
    /// An integer that is no machine word.
    Odd {
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
    Ascii {
        len: u32,
    },
    /// ASCII text up to the end of the part.
    AsciiRest,
    /// The number of the entry, from its index.
    Ordinal,
}

impl Kernel {
    /// The kernel of a field that the plan has checked.
    pub(crate) fn for_kind(kind: Kind, len: u32, signed: bool) -> Self {
        match (kind, len, signed) {
            (Kind::Int, 1, false) => Self::U8,
            (Kind::Int, 2, false) => Self::U16,
            (Kind::Int, 4, false) => Self::U32,
            (Kind::Int, 8, false) => Self::U64,
            (Kind::Int, 1, true) => Self::I8,
            (Kind::Int, 2, true) => Self::I16,
            (Kind::Int, 4, true) => Self::I32,
            (Kind::Int, 8, true) => Self::I64,
            (Kind::Int, _, _) => Self::Odd {
                width: len as u8,
                signed,
            },
            (Kind::Float, _, _) => Self::Float { width: len as u8 },
            (Kind::Time, _, _) => Self::Time,
            (Kind::Bool, _, _) => Self::Bool { len },
            (Kind::Text, 0, _) => Self::TextRest,
            (Kind::Text, _, _) => Self::Text { len },
            (Kind::Ascii, 0, _) => Self::AsciiRest,
            (Kind::Ascii, _, _) => Self::Ascii { len },
            (Kind::Hex, 0, _) => Self::HexRest,
            (Kind::Hex, _, _) => Self::Hex { len },
        }
    }
}

/// Converts the `N` bytes at each offset to a value of `out`.
///
/// Eight at a time, so that the loads of eight records are under way together.
#[inline(always)]
pub(crate) fn map_fields<const N: usize, T>(
    out: &mut [T],
    window: &[u8],
    places: &[u32],
    mut value: impl FnMut([u8; N]) -> T,
) {
    let mut word = |place: u32| {
        let place = place as usize;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&window[place..place + N]);
        value(bytes)
    };
    let (out_blocks, out_rest) = out.as_chunks_mut::<8>();
    let (blocks, rest) = places.as_chunks::<8>();
    for (out, places) in out_blocks.iter_mut().zip(blocks) {
        for (out, &place) in out.iter_mut().zip(places) {
            *out = word(place);
        }
    }
    for (out, &place) in out_rest.iter_mut().zip(rest) {
        *out = word(place);
    }
}

/// Reads four consecutive unsigned integers of four bytes at each offset, each into its own column.
#[inline]
pub(crate) fn read_u32x4(out: [&mut [i64]; 4], bytes: &[u8], places: &[u32]) {
    const ROWS: usize = 4;
    let words = |place: u32| {
        let place = place as usize;
        let mut words = [[0; 4]; 4];
        words
            .as_flattened_mut()
            .copy_from_slice(&bytes[place..place + 16]);
        words.map(|word| i64::from(u32::from_be_bytes(word)))
    };
    let [first, second, third, fourth] = out.map(|column| column.as_chunks_mut::<ROWS>());
    let (blocks, rest) = places.as_chunks::<ROWS>();
    let pairs = first
        .0
        .iter_mut()
        .zip(second.0)
        .zip(third.0.iter_mut().zip(fourth.0));
    for (((first, second), (third, fourth)), places) in pairs.zip(blocks) {
        for row in 0..ROWS {
            [first[row], second[row], third[row], fourth[row]] = words(places[row]);
        }
    }
    let pairs = first
        .1
        .iter_mut()
        .zip(second.1)
        .zip(third.1.iter_mut().zip(fourth.1));
    for (((first, second), (third, fourth)), &place) in pairs.zip(rest) {
        [*first, *second, *third, *fourth] = words(place);
    }
}

/// An integer of odd width, at the high end of eight bytes.
#[inline(always)]
fn high<const N: usize>(bytes: [u8; N]) -> u64 {
    let mut eight = [0; 8];
    eight[..N].copy_from_slice(&bytes);
    u64::from_be_bytes(eight)
}

/// Integers of `N` bytes that are no machine word.
fn odd_words<const N: usize>(out: &mut [i64], window: &[u8], places: &[u32], signed: bool) {
    let shift = 64 - 8 * N as u32;
    if signed {
        map_fields(out, window, places, |bytes: [u8; N]| {
            high(bytes).cast_signed() >> shift
        });
    } else {
        map_fields(out, window, places, |bytes: [u8; N]| {
            (high(bytes) >> shift).cast_signed()
        });
    }
}

/// Big-endian integers of 3, 5, 6 or 7 bytes.
pub(crate) fn read_odd_width(
    out: &mut [i64],
    window: &[u8],
    places: &[u32],
    width: u8,
    signed: bool,
) {
    match width {
        3 => odd_words::<3>(out, window, places, signed),
        5 => odd_words::<5>(out, window, places, signed),
        6 => odd_words::<6>(out, window, places, signed),
        _ => odd_words::<7>(out, window, places, signed),
    }
}

/// Big-endian IEEE numbers.
pub(crate) fn read_floats(out: &mut [f64], window: &[u8], places: &[u32], width: u8) {
    if width == 4 {
        map_fields(out, window, places, |bytes| {
            f64::from(f32::from_be_bytes(bytes))
        });
    } else {
        map_fields(out, window, places, f64::from_be_bytes);
    }
}

/// TOD values as microseconds since 1970; whether one of them was zero, which is no time.
pub(crate) fn read_tod(out: &mut [i64], window: &[u8], places: &[u32], leap_s: i32) -> bool {
    let mut zero = false;
    map_fields(out, window, places, |bytes| {
        let value = u64::from_be_bytes(bytes);
        zero |= value == 0;
        tod::to_unix_us(value, leap_s)
    });
    zero
}

/// Whether any bit is set.
pub(crate) fn read_bools(out: &mut [bool], window: &[u8], places: &[u32], len: u32) {
    if len == 1 {
        map_fields(out, window, places, |[byte]| byte != 0);
        return;
    }
    let len = len as usize;
    for (out, &place) in out.iter_mut().zip(places) {
        *out = window[place as usize..place as usize + len]
            .iter()
            .any(|&byte| byte != 0);
    }
}
