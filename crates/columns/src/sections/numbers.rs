//! Numbers as z/OS writes them: hexadecimal floating point, packed decimal, TOD units, times of day.

use zlens_frames::smf::Date;

/// TOD units in a second.
const TOD_S: f64 = 4_096_000_000.0;
/// Microseconds in a day.
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// A long hexadecimal floating point number: sign, exponent of 16 in excess 64, fraction of 56 bits.
#[must_use]
pub fn hfp(bytes: [u8; 8]) -> f64 {
    let word = u64::from_be_bytes(bytes);
    let fraction = (word & 0x00FF_FFFF_FFFF_FFFF) as f64;
    let exponent = ((word >> 56) & 0x7F) as i64;
    // A power of two between 2^-312 and 2^196, which is exact.
    let scale = f64::from_bits(((1023 + 4 * (exponent - 64) - 56) as u64) << 52);
    let value = fraction * scale;
    if word >> 63 == 0 { value } else { -value }
}

/// A short one: its fraction has 24 bits.
#[must_use]
pub fn hfp_short([a, b, c, d]: [u8; 4]) -> f64 {
    hfp([a, b, c, d, 0, 0, 0, 0])
}

/// Seconds of a duration in TOD units.
#[must_use]
pub fn duration(bytes: [u8; 8]) -> f64 {
    u64::from_be_bytes(bytes) as f64 / TOD_S
}

/// Seconds of a difference in TOD units.
#[must_use]
pub fn offset(bytes: [u8; 8]) -> f64 {
    i64::from_be_bytes(bytes) as f64 / TOD_S
}

/// A packed decimal number: digits, and a sign in the last half byte. `None` if a digit or the sign is invalid.
#[must_use]
pub fn packed(bytes: &[u8]) -> Option<i64> {
    let (last, front) = bytes.split_last()?;
    let mut value = 0_i64;
    let mut add = |digit: u8| -> Option<()> {
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
        Some(())
    };
    for byte in front {
        add(byte >> 4)?;
        add(byte & 0xF)?;
    }
    add(last >> 4)?;
    match last & 0xF {
        0xB | 0xD => Some(-value),
        0xA | 0xC | 0xE | 0xF => Some(value),
        _ => None,
    }
}

/// Microseconds since midnight of a packed time `0hhmmssF`.
#[must_use]
pub fn packed_time(bytes: [u8; 4]) -> Option<i64> {
    let digits = packed(&bytes)?;
    let (hours, minutes, seconds) = (digits / 10_000, digits / 100 % 100, digits % 100);
    let fits = digits >= 0 && hours <= 24 && minutes < 60 && seconds < 60;
    fits.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000)
}

/// Seconds of a packed duration `mmsstttF`.
#[must_use]
pub fn packed_duration(bytes: [u8; 4]) -> Option<f64> {
    let digits = packed(&bytes)?;
    let (minutes, milliseconds) = (digits / 100_000, digits % 100_000);
    let fits = digits >= 0 && milliseconds < 60_000;
    fits.then_some((minutes * 60_000 + milliseconds) as f64 / 1000.0)
}

/// Microseconds since midnight of hundredths of a second.
#[must_use]
pub fn hundredths(bytes: [u8; 4]) -> Option<i64> {
    let us = i64::from(u32::from_be_bytes(bytes)) * 10_000;
    (us <= DAY_US).then_some(us)
}

/// Microseconds from 1970 to the midnight that a packed date `0cyydddF` begins with.
#[must_use]
pub fn midnight(bytes: [u8; 4]) -> Option<i64> {
    Some(Date(u32::from_be_bytes(bytes)).days()? * DAY_US)
}

/// Year, month and day of a packed date.
#[must_use]
pub fn calendar(bytes: [u8; 4]) -> Option<(u16, u16, u16)> {
    let (year, mut day) = Date(u32::from_be_bytes(bytes)).parts()?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let months = [
        31,
        if leap { 29 } else { 28 },
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    for (month, days) in (1..).zip(months) {
        if day <= days {
            return Some((year, month, day));
        }
        day -= days;
    }
    None
}
