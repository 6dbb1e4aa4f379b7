//! Times as text, from microseconds since 1970.

const DAY_US: i64 = 86_400_000_000;

/// Year, month and day of a number of days since 1970, by the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, u32, u32) {
    // Years begin in March here, so that a leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day = shifted.rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let calendar = if month < 10 { month + 3 } else { month - 9 };
    let begun = i64::from(calendar <= 2);
    (era * 400 + year + begun, calendar as u32, date as u32)
}

fn two(out: &mut String, value: u32) {
    out.push(char::from(b'0' + (value / 10) as u8));
    out.push(char::from(b'0' + (value % 10) as u8));
}

/// The number of the day that a time lies in.
pub fn day_of(us: i64) -> i64 {
    us.div_euclid(DAY_US)
}

/// `2010-03-09`, with any separator.
pub fn push_day(out: &mut String, us: i64, separator: char) {
    let (year, month, day) = civil(day_of(us));
    if year < 0 {
        out.push('-');
    }
    let digits = year.unsigned_abs().to_string();
    for _ in digits.len()..4 {
        out.push('0');
    }
    out.push_str(&digits);
    out.push(separator);
    two(out, month);
    out.push(separator);
    two(out, day);
}

/// `08:30:00`
pub fn push_clock(out: &mut String, us: i64) {
    let second = us.rem_euclid(DAY_US) / 1_000_000;
    two(out, (second / 3600) as u32);
    out.push(':');
    two(out, (second / 60 % 60) as u32);
    out.push(':');
    two(out, (second % 60) as u32);
}

/// `2010/03/09 08:30:00`
pub fn push_stamp(out: &mut String, us: i64) {
    push_day(out, us, '/');
    out.push(' ');
    push_clock(out, us);
}

/// `2010-03-09T08:30:00Z`, with fractions only where there are any.
pub fn push_iso(out: &mut String, us: i64) {
    push_day(out, us, '-');
    out.push('T');
    push_clock(out, us);
    let fraction = us.rem_euclid(1_000_000);
    if fraction != 0 {
        let digits = fraction.to_string();
        out.push('.');
        for _ in digits.len()..6 {
            out.push('0');
        }
        out.push_str(&digits);
    }
    out.push('Z');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(us: i64) -> String {
        let mut out = String::new();
        push_iso(&mut out, us);
        out
    }

    #[test]
    fn known_times() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(iso(951_782_400_000_000), "2000-02-29T00:00:00Z");
        assert_eq!(iso(-2_208_988_800_000_000), "1900-01-01T00:00:00Z");
        assert_eq!(iso(1_268_123_400_500_000), "2010-03-09T08:30:00.500000Z");
        assert_eq!(iso(253_402_300_799_999_999), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn consecutive_days() {
        let mut last = civil(-800_000);
        for days in -799_999..800_000 {
            let now = civil(days);
            let next = (last.0, last.1, last.2 + 1);
            let first = now.2 == 1 && last.2 >= 28;
            assert!(now == next || first, "{last:?} {now:?}");
            last = now;
        }
    }
}
