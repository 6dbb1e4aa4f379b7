//! Tests of z/OS number formats against simple definitions.

use proptest::prelude::*;
use zlens_columns::sections::{
    calendar, duration, hfp, hundredths, midnight, offset, packed, packed_duration, packed_time,
};
use zlens_frames::tod;

/// Returns the half bytes from left to right.
fn halves(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .collect()
}

/// Returns the sum of the hexadecimal digits after the point, times the power of 16.
fn by_digits(bytes: [u8; 8]) -> f64 {
    let digits = halves(&bytes);
    let exponent = i32::from(bytes[0] & 0x7F) - 64;
    let fraction = digits[2..]
        .iter()
        .rev()
        .fold(0.0, |sum, &digit| (sum + f64::from(digit)) / 16.0);
    let value = fraction * 16_f64.powi(exponent);
    if bytes[0] & 0x80 == 0 { value } else { -value }
}

/// Parses packed digits and their sign as text.
fn by_text(bytes: &[u8]) -> Option<i64> {
    let halves = halves(bytes);
    let (sign, digits) = halves.split_last()?;
    if digits.iter().any(|&digit| digit > 9) || *sign < 10 {
        return None;
    }
    let text: String = digits.iter().map(|digit| (b'0' + digit) as char).collect();
    let value: i64 = text.parse().ok()?;
    Some(if matches!(sign, 0xB | 0xD) {
        -value
    } else {
        value
    })
}

/// Returns the days since 1970, counted year by year.
fn by_walking(year: u16, day: u16) -> i64 {
    let length = |year: u16| {
        if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) {
            366
        } else {
            365
        }
    };
    if year >= 1970 {
        (1970..year).map(length).sum::<i64>() + i64::from(day) - 1
    } else {
        i64::from(day) - 1 - (year..1970).map(length).sum::<i64>()
    }
}

fn date(year: u16, day: u16) -> [u8; 4] {
    let text = format!("0{}{:02}{day:03}f", year / 100 - 19, year % 100);
    u32::from_str_radix(&text, 16).unwrap().to_be_bytes()
}

proptest! {
    #[test]
    fn hexadecimal_number_is_sum_of_digits(bytes: [u8; 8]) {
        let (value, slow) = (hfp(bytes), by_digits(bytes));
        // 56 bits do not fit into 53; the slow sum rounds at every digit.
        prop_assert!((value - slow).abs() <= slow.abs() * 1e-15, "{value} {slow}");
    }

    #[test]
    fn hexadecimal_number_round_trips(value in -1e15..1e15_f64) {
        let mut fraction = value.abs();
        let mut exponent = 64_u8;
        while fraction >= 1.0 {
            fraction /= 16.0;
            exponent += 1;
        }
        let mut bytes = ((fraction * 2_f64.powi(56)) as u64).to_be_bytes();
        bytes[0] = exponent | if value < 0.0 { 0x80 } else { 0 };
        prop_assert!((hfp(bytes) - value).abs() <= value.abs() * 1e-13);
    }

    #[test]
    fn packed_digits_equal_text(bytes in prop::collection::vec(any::<u8>(), 1..9)) {
        prop_assert_eq!(packed(&bytes), by_text(&bytes));
    }

    #[test]
    fn valid_packed_digits_are_read(digits in 0_i64..10_000_000, sign in 10_u8..16) {
        let word = u32::from_str_radix(&format!("{digits:07}{sign:x}"), 16).unwrap();
        let value = if sign == 11 || sign == 13 { -digits } else { digits };
        prop_assert_eq!(packed(&word.to_be_bytes()), Some(value));
    }

    #[test]
    fn times_and_durations_add_up_their_parts(hour in 0_i64..24, minute in 0_i64..100, second in 0_i64..60, ms in 0_i64..1000) {
        let word = |text: String| u32::from_str_radix(&text, 16).unwrap().to_be_bytes();
        let time = packed_time(word(format!("0{hour:02}{minute:02}{second:02}f")));
        let fits = minute < 60;
        prop_assert_eq!(time, fits.then_some((hour * 3600 + minute * 60 + second) * 1_000_000));
        let length = packed_duration(word(format!("{minute:02}{second:02}{ms:03}f"))).unwrap();
        let slow = minute as f64 * 60.0 + second as f64 + ms as f64 / 1000.0;
        prop_assert!((length - slow).abs() < 1e-9);
    }

    #[test]
    fn date_counts_days(year in 1900_u16..2100, day in 1_u16..366) {
        let bytes = date(year, day);
        prop_assert_eq!(midnight(bytes), Some(by_walking(year, day) * 86_400_000_000));
        let (of, month, rest) = calendar(bytes).unwrap();
        prop_assert_eq!(of, year);
        let leap = by_walking(year + 1, 1) - by_walking(year, 1) == 366;
        let before: u16 = [31, 28 + u16::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            .iter().take(usize::from(month) - 1).sum();
        prop_assert_eq!(before + rest, day);
    }

    #[test]
    fn tod_units_are_4096_microsecond(us in 0_i64..2_290_000_000_000_000) {
        let value = tod::from_unix_us(us);
        // Seconds from 1900 to 1970: 70 years with 17 leap days.
        let since_1900 = i128::from(us) + (70 * 365 + 17) * 86_400_000_000;
        prop_assert_eq!(i128::from(value), since_1900 << 12);
        prop_assert_eq!(tod::to_unix_us(value, 0), us);
    }

    #[test]
    fn durations_are_seconds(us in 0_u64..1 << 50) {
        let seconds = duration((us << 12).to_be_bytes());
        prop_assert!((seconds - us as f64 / 1e6).abs() < 1e-6);
        let behind = offset((-((us << 12) as i64)).to_be_bytes());
        prop_assert!((behind + us as f64 / 1e6).abs() < 1e-6);
    }

    #[test]
    fn hundredths_end_with_day(count: u32) {
        let fits = count <= 8_640_000;
        prop_assert_eq!(hundredths(count.to_be_bytes()), fits.then_some(i64::from(count) * 10_000));
    }
}

#[test]
fn known_hexadecimal_numbers() {
    // IBM, Principles of Operation: 1.0, 0.5, 1/64, 0, -15 and the largest number, close to 7.2 x 10^75.
    let of = |word: u64| hfp(word.to_be_bytes());
    assert_eq!(of(0x4110_0000_0000_0000), 1.0);
    assert_eq!(of(0x4080_0000_0000_0000), 0.5);
    assert_eq!(of(0x3F40_0000_0000_0000), 1.0 / 64.0);
    assert_eq!(of(0), 0.0);
    assert_eq!(of(0xC1F0_0000_0000_0000), -15.0);
    assert!((of(0x7FFF_FFFF_FFFF_FFFF) / 7.237e75 - 1.0).abs() < 1e-3);
}

#[test]
fn invalid_packed_number_is_none() {
    assert_eq!(packed(&[]), None);
    assert_eq!(packed(&[0x12, 0x34]), None);
    assert_eq!(packed(&[0x1A, 0x3F]), None);
    assert_eq!(packed_time([0x02, 0x46, 0x05, 0x9F]), None);
    assert_eq!(packed_duration([0x15, 0x60, 0x00, 0x0F]), None);
    assert_eq!(calendar([0x01, 0x25, 0x36, 0x6F]), None);
    assert_eq!(midnight([0; 4]), None);
}
