//! Printed numbers, with half of a unit of their last digit.

/// A number as printed. `half`: half of a unit of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    pub half: f64,
}

/// A text that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseNumberError;

/// More digits than a double has are no number of a report.
const MOST_DIGITS: usize = 18;
const POWERS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

/// A printed number: 1.06, .5, 152k, 3,545.7, 95.8%. `Ok(None)`: dots, dashes or N/A, which are for what was not
/// computable; `Err`: none of this.
pub fn number(text: &str) -> Result<Option<Number>, ParseNumberError> {
    let bytes = text.as_bytes();
    let plain = bytes.strip_suffix(b"%").unwrap_or(bytes);
    let (factor, plain) = match plain.last() {
        Some(b'k') => (1e3, &plain[..plain.len() - 1]),
        Some(b'M') => (1e6, &plain[..plain.len() - 1]),
        Some(b'G') => (1e9, &plain[..plain.len() - 1]),
        Some(b'T') => (1e12, &plain[..plain.len() - 1]),
        Some(b'P') => (1e15, &plain[..plain.len() - 1]),
        Some(b'E') => (1e18, &plain[..plain.len() - 1]),
        _ => (1.0, plain),
    };
    let (negative, digits) = match plain.first() {
        Some(b'-') => (true, &plain[1..]),
        Some(b'+') => (false, &plain[1..]),
        _ => (false, plain),
    };
    let (mut whole, mut count, mut decimals, mut point) = (0_u64, 0, 0, false);
    for &byte in digits {
        match byte {
            b'0'..=b'9' if count < MOST_DIGITS => {
                whole = whole * 10 + u64::from(byte - b'0');
                count += 1;
                decimals += usize::from(point);
            }
            b'.' if !point => point = true,
            b',' if !point && count > 0 => {}
            _ => return nothing(text),
        }
    }
    if count == 0 {
        return nothing(text);
    }
    let value = whole as f64 / POWERS[decimals] * factor;
    Ok(Some(Number {
        value: if negative { -value } else { value },
        half: 0.5 / POWERS[decimals] * factor,
    }))
}

/// Whether a text means a number that was not computable.
fn nothing(text: &str) -> Result<Option<Number>, ParseNumberError> {
    let dots = text.bytes().all(|byte| matches!(byte, b'.' | b'-' | b'*'));
    if (dots && !text.is_empty()) || matches!(text, "N/A" | "n/a" | "na") {
        Ok(None)
    } else {
        Err(ParseNumberError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> (f64, f64) {
        let found = number(text).unwrap().unwrap();
        (found.value, found.half)
    }

    #[test]
    fn numbers_have_printed_precision() {
        assert_eq!(value("1.06"), (1.06, 0.005));
        assert_eq!(value(".5"), (0.5, 0.05));
        assert_eq!(value("-3."), (-3.0, 0.5));
        assert_eq!(value("152k"), (152_000.0, 500.0));
        assert_eq!(value("1.5M"), (1_500_000.0, 50_000.0));
        assert_eq!(value("3,545.743"), (3545.743, 0.0005));
        assert_eq!(value("95.8%"), (95.8, 0.05));
    }

    #[test]
    fn dashes_are_null_and_words_are_not_numbers() {
        for text in ["....", "-----", "N/A", "na", "*"] {
            assert_eq!(number(text), Ok(None), "{text}");
        }
        for text in [
            "",
            "MIX",
            "1.2.3",
            "k",
            "12x",
            "1e5",
            "--1",
            "9999999999999999999",
        ] {
            assert_eq!(number(text), Err(ParseNumberError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_number_round_trips(value in -1_000_000_000_i64..1_000_000_000, decimals in 0_usize..9) {
            let wanted = value as f64 / 1000.0;
            let text = format!("{wanted:.decimals$}");
            let found = number(&text).unwrap().unwrap();
            prop_assert!((found.value - wanted).abs() <= found.half * (1.0 + 1e-9));
        }

        #[test]
        fn any_text_is_parsed(text in "\\PC{0,20}") {
            let _ = number(&text);
        }
    }
}
