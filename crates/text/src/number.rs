//! Numbers as Python prints them, and as the classic reports do.

/// Letters of thousands, millions and so on.
const SUFFIXES: [(u64, char); 6] = [
    (1_000, 'k'),
    (1_000_000, 'M'),
    (1_000_000_000, 'G'),
    (1_000_000_000_000, 'T'),
    (1_000_000_000_000_000, 'P'),
    (1_000_000_000_000_000_000, 'E'),
];

/// Rounding goes by the binary value; this lifts 62.5, and .285 that is a little less, to what people expect.
const TIE: f64 = 1.0 + 1e-15;

/// More decimals than this are left to the standard library.
const MOST_PLACES: usize = 22;

/// A float as Python's `repr` writes it: the shortest digits that read back as the same value.
pub fn push_float(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str(if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    let size = value.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        out.push_str(text);
    } else {
        push_scientific(out, text);
    }
}

/// Digits with an exponent of at least two digits and its sign.
fn push_scientific(out: &mut String, text: &str) {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned.len() < text.len() {
        out.push('-');
    }
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let significant = digits.trim_matches('0');
    let exponent = exponent.parse::<i32>().unwrap_or(0) + whole.len() as i32 - 1 - leading as i32;
    let (first, rest) = significant.split_at(1);
    out.push_str(first);
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    out.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
}

/// A value times a power of ten, rounded half to even by its exact binary value; None beyond 128 bits.
fn scaled(value: f64, places: usize) -> Option<u128> {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if exponent == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, exponent - 1075)
    };
    if exponent >= 0 || places > MOST_PLACES {
        return None;
    }
    let exact = u128::from(mantissa) * 10_u128.pow(places as u32);
    let shift = exponent.unsigned_abs();
    if shift > 127 {
        // Less than half: 53 bits times 10^22 are fewer than 127.
        return Some(0);
    }
    let whole = exact >> shift;
    let rest = exact & ((1 << shift) - 1);
    let half = 1_u128 << (shift - 1);
    let up = rest > half || (rest == half && whole & 1 == 1);
    Some(whole + u128::from(up))
}

/// `value` with that many decimals, with or without a zero before the point, without a sign before nothing.
fn push_fixed(out: &mut String, value: f64, places: usize, zero: bool) {
    let value = value * TIE;
    if !value.is_finite() {
        push_float(out, value);
        return;
    }
    let Some(number) = scaled(value.abs(), places) else {
        // At least 2^53: there is a digit that is not zero before the point.
        out.push_str(&format!("{value:.places$}"));
        return;
    };
    let below = value < 0.0 && number != 0;
    if below {
        out.push('-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = match u64::try_from(number) {
        Ok(small) => buffer.format(small),
        Err(_) => buffer.format(number),
    };
    if places == 0 {
        out.push_str(digits);
        return;
    }
    let before = digits.len().saturating_sub(places);
    if number != 0 && before > 0 {
        out.push_str(&digits[..before]);
    } else if zero {
        out.push('0');
    }
    out.push('.');
    let after = if number == 0 { "" } else { &digits[before..] };
    for _ in after.len()..places {
        out.push('0');
    }
    out.push_str(after);
}

/// A number in at most `width` characters if any form of it fits, else its shortest form; `zero`: below 1 with a
/// zero before the point.
pub fn push_number(out: &mut String, value: f64, width: usize, decimals: usize, zero: bool) {
    let start = out.len();
    for places in (0..=decimals).rev() {
        push_fixed(out, value, places, zero);
        if out.len() - start <= width {
            return;
        }
        out.truncate(start);
    }
    push_with_suffix(out, width, |factor| value / factor as f64);
}

/// As `push_number`; whole numbers do not go through a float, which would round beyond 2^53.
pub fn push_int(out: &mut String, value: i128, width: usize, decimals: usize, zero: bool) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value);
    for places in (0..=decimals).rev() {
        let before = if places > 0 && value == 0 && !zero {
            ""
        } else {
            digits
        };
        let point = usize::from(places > 0);
        if before.len() + point + places <= width {
            out.push_str(before);
            if places > 0 {
                out.push('.');
                out.extend(std::iter::repeat_n('0', places));
            }
            return;
        }
    }
    push_with_suffix(out, width, |factor| quotient(value, factor));
}

/// The first form in thousands, millions and so on that fits, else the shortest of them.
fn push_with_suffix(out: &mut String, width: usize, divided: impl Fn(u64) -> f64) {
    let start = out.len();
    let mut shortest: Option<String> = None;
    for (factor, letter) in SUFFIXES {
        push_fixed(out, divided(factor), 0, false);
        out.push(letter);
        if out.len() - start <= width {
            return;
        }
        if shortest
            .as_ref()
            .is_none_or(|text| out.len() - start < text.len())
        {
            shortest = Some(out[start..].to_owned());
        }
        out.truncate(start);
    }
    out.push_str(&shortest.unwrap_or_default());
}

/// The float nearest to a quotient of whole numbers.
fn quotient(value: i128, factor: u64) -> f64 {
    let size = value.unsigned_abs();
    if size < 1 << 53 {
        return value as f64 / factor as f64;
    }
    // At least 64 bits of the quotient, and whether anything follows them, decide how it is rounded.
    let shift = size.leading_zeros();
    let dividend = size << shift;
    let factor = u128::from(factor);
    let bits = (dividend / factor) | u128::from(!dividend.is_multiple_of(factor));
    let exact = bits as f64 / (2.0_f64).powi(shift as i32);
    if value < 0 { -exact } else { exact }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(value: f64, places: usize) -> String {
        let mut out = String::new();
        push_fixed(&mut out, value, places, false);
        out
    }

    fn float(value: f64) -> String {
        let mut out = String::new();
        push_float(&mut out, value);
        out
    }

    #[test]
    fn prefix_does_not_reduce_number_width() {
        let mut out = String::from("a long text before it ");
        let start = out.len();
        push_number(&mut out, 12.345, 5, 2, false);
        assert_eq!(&out[start..], "12.35");
        push_int(&mut out, 12, 5, 2, false);
        assert_eq!(&out[start + 5..], "12.00");
    }

    #[test]
    fn floats_are_formatted_like_python() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.000012345, "-1.2345e-05"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (1e22, "1e+22"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn numbers_of_published_listings() {
        for (value, width, decimals, text) in [
            (0.0, 5, 1, ".0"),
            (95.7, 5, 1, "95.7"),
            (2061.7, 5, 1, "2062"),
            (152399.0, 5, 1, "152k"),
            (0.229, 4, 3, ".229"),
            (1.174, 4, 3, "1.17"),
            (62.5, 4, 0, "63"),
            (0.285, 4, 2, ".29"),
            (-0.04, 5, 1, ".0"),
            (-0.04, 5, 0, "0"),
            (-1234567.0, 5, 1, "-1M"),
            (99_999.96, 5, 1, "100k"),
        ] {
            let mut out = String::new();
            push_number(&mut out, value, width, decimals, false);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn zero_is_printed_before_point() {
        for (value, width, decimals, text) in [
            (0.05, 10, 2, "0.05"),
            (0.0, 10, 1, "0.0"),
            (-0.43, 6, 2, "-0.43"),
            (0.43, 3, 2, "0.4"),
            (12.5, 10, 1, "12.5"),
        ] {
            let mut out = String::new();
            push_number(&mut out, value, width, decimals, true);
            assert_eq!(out, text);
        }
        let mut out = String::new();
        push_int(&mut out, 0, 5, 1, true);
        assert_eq!(out, "0.0");
    }

    #[test]
    fn whole_numbers_are_exact() {
        let mut out = String::new();
        push_int(&mut out, (1 << 53) + 1, 16, 0, false);
        assert_eq!(out, "9007199254740993");
        out.clear();
        push_int(&mut out, 0, 5, 1, false);
        assert_eq!(out, ".0");
        out.clear();
        push_int(&mut out, -152_399_000, 5, 0, false);
        assert_eq!(out, "-152M");
    }

    proptest! {
        #[test]
        fn float_round_trips(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            prop_assert_eq!(float(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }

        #[test]
        fn decimals_equal_standard_library(value in -1e17..1e17_f64, places in 0_usize..7) {
            let text = format!("{:.places$}", value * TIE);
            let mut wanted = text.replacen("-0.", "-.", 1);
            if wanted.starts_with("0.") { wanted.remove(0); }
            if !wanted.contains(|c: char| c.is_ascii_digit() && c != '0') {
                wanted = wanted.trim_start_matches('-').to_owned();
            }
            prop_assert_eq!(fixed(value, places), wanted);
        }
    }
}
