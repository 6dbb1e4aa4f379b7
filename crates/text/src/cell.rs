//! One value of a report as text, not yet padded.

use crate::batch::Values;
use crate::number::{push_float, push_int, push_number};
use crate::time::push_stamp;

/// Format of the values of a column of a report.
#[derive(Clone, Debug)]
pub struct Style {
    /// Whether it is of numbers, which are shortened to fit; identifiers and texts are not.
    pub number: bool,
    pub width: usize,
    pub decimals: usize,
    /// Whether a number below 1 has a zero before its point.
    pub leading_zero: bool,
}

/// Writes values of a column.
pub struct Cell<'a> {
    pub values: &'a Values,
    pub style: &'a Style,
    /// Offset added to UTC for the time that is shown.
    pub offset_us: i64,
}

impl Cell<'_> {
    /// Appends the text of a row; false where it has no value.
    pub fn push(&self, out: &mut String, row: usize) -> bool {
        let style = self.style;
        if self.values.is_null(row) {
            return false;
        }
        match self.values {
            Values::Float(array) if style.number => {
                let value = array.value(row);
                if !value.is_finite() {
                    return false;
                }
                push_number(out, value, style.width, style.decimals, style.leading_zero);
            }
            // An identifier that went through a mean: whole, or shown as it is.
            Values::Float(array) => push_identifier(out, array.value(row)),
            Values::Int(array) if style.number => {
                push_int(
                    out,
                    array.value(row).into(),
                    style.width,
                    style.decimals,
                    style.leading_zero,
                );
            }
            Values::Int(array) => out.push_str(itoa::Buffer::new().format(array.value(row))),
            Values::BigInt(array) => match array.value(row).parse::<i128>() {
                Ok(value) if style.number => {
                    push_int(out, value, style.width, style.decimals, style.leading_zero)
                }
                _ => out.push_str(array.value(row)),
            },
            Values::Bool(array) => out.push_str(if array.value(row) { "Yes" } else { "No" }),
            Values::Text(array) => push_line(out, array.value(row)),
            Values::Time(array) => {
                push_stamp(out, array.value(row).saturating_add(self.offset_us));
            }
        }
        true
    }

    /// Whether a row's text surely fits the column, determined without formatting it.
    pub fn surely_fits(&self, row: usize) -> bool {
        // Up to 999E with four characters; with fewer, whatever has as many digits before its point.
        let limit = if self.style.width < 4 {
            10_f64.powi(self.style.width as i32) - 1.0
        } else {
            999e18
        };
        match self.values {
            Values::Float(array) if self.style.number => (0.0..limit).contains(&array.value(row)),
            Values::Int(array) if self.style.number => {
                (0.0..limit).contains(&(array.value(row) as f64))
            }
            Values::Text(array) => array.value_length(row) as usize <= self.style.width,
            _ => false,
        }
    }
}

fn push_identifier(out: &mut String, value: f64) {
    if !value.is_finite() || value.fract() != 0.0 {
        push_float(out, value);
    } else if value.abs() < 1e18 {
        out.push_str(itoa::Buffer::new().format(value as i64));
    } else {
        out.push_str(&format!("{value:.0}"));
    }
}

/// Names come from input: a control character in one must not break the line or the terminal.
fn push_line(out: &mut String, text: &str) {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        out.push_str(text);
    } else {
        out.extend(text.chars().map(|c| if is_printable(c) { c } else { '?' }));
    }
}

/// Whether a character is neither a control character, a separator other than a space, nor unassigned.
fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // After another character, so that a combining one counts as what it is.
    let mut buffer = [b'a', 0, 0, 0, 0];
    let length = character.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..=length])
        .is_ok_and(|pair| pair.escape_debug().nth(1) != Some('\\'))
}

/// Number of characters of a text.
pub fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_characters() {
        for character in ['a', '~', ' ', 'é', '日', '\u{301}', '\'', '\\', '"'] {
            assert!(is_printable(character), "{character:?}");
        }
        for character in [
            '\0', '\n', '\x1b', '\x7f', '\u{85}', '\u{a0}', '\u{ad}', '\u{202e}', '\u{2028}',
            '\u{e000}', '\u{378}',
        ] {
            assert!(!is_printable(character), "{character:?}");
        }
    }

    #[test]
    fn averaged_identifiers() {
        for (value, text) in [
            (12.0, "12"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (1e22, "10000000000000000000000"),
            (f64::NAN, "nan"),
        ] {
            let mut out = String::new();
            push_identifier(&mut out, value);
            assert_eq!(out, text);
        }
    }
}
