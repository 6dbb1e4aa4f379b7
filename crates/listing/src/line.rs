//! Start of a row: a time of day, or a label such as >>Mean>>.

/// Start of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowStart<'a> {
    /// Days since 1970 if it has a date, and seconds of the day.
    Time(Option<i64>, i64),
    /// The kind of row.
    Label(&'a str),
    /// Neither.
    None,
}

/// A label that a table is known to have, and the kind of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub text: String,
    pub kind: String,
}

/// Returns the start of a line, and where it ends.
pub fn start<'a>(line: &'a str, labels: &'a [Label], timed: bool) -> (RowStart<'a>, usize) {
    if timed && let Some((date, seconds, end)) = time(line.as_bytes()) {
        return (RowStart::Time(date, seconds), end);
    }
    if let Some(label) = labels.iter().find(|label| line.starts_with(&label.text)) {
        return (RowStart::Label(&label.kind), label.text.len());
    }
    match arrow_label_end(line.as_bytes()) {
        Some(end) => {
            let words = line[..end].trim_matches(|char| matches!(char, '<' | '>' | '.' | ' '));
            (RowStart::Label(words), end)
        }
        None => (RowStart::None, 0),
    }
}

/// A time of day, with or without a date: HH:MM:SS, YYYY/MM/DD HH:MM:SS.
fn time(line: &[u8]) -> Option<(Option<i64>, i64, usize)> {
    let lead = line.iter().position(|&byte| byte != b' ')?;
    let mut at = lead;
    let mut date = None;
    if line.len() >= at + 11 && matches!(line[at + 4], b'/' | b'-') && line[at + 10] == b' ' {
        let (year, month, day) = (
            digits(line, at, 4)?,
            digits(line, at + 5, 2)?,
            digits(line, at + 8, 2)?,
        );
        date = Some(days(year, month, day)?);
        at += 11;
    }
    if line.len() < at + 8 || line[at + 2] != b':' || line[at + 5] != b':' {
        return None;
    }
    let (hour, minute, second) = (
        digits(line, at, 2)?,
        digits(line, at + 3, 2)?,
        digits(line, at + 6, 2)?,
    );
    let ends = line.get(at + 8).is_none_or(|&byte| byte == b' ');
    (ends && hour < 48 && minute < 60 && second < 60).then_some((
        date,
        (hour * 60 + minute) * 60 + second,
        at + 8,
    ))
}

fn digits(line: &[u8], at: usize, count: usize) -> Option<i64> {
    line.get(at..at + count)?.iter().try_fold(0, |sum, &byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + i64::from(byte - b'0'))
    })
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1900..2200).contains(&year) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Microseconds since 1970 of `2024-05-14,07:31:00` or `2024/05/14 07:31`.
pub fn stamp(text: &str) -> Option<i64> {
    let line = text.as_bytes();
    let cut = line.get(10).is_some_and(|byte| matches!(byte, b' ' | b','));
    if !cut || !matches!(line[4], b'/' | b'-') {
        return None;
    }
    let day = days(
        digits(line, 0, 4)?,
        digits(line, 5, 2)?,
        digits(line, 8, 2)?,
    )?;
    let second = match line.len() {
        16 => 0,
        19 => digits(line, 17, 2)?,
        _ => return None,
    };
    let seconds = (digits(line, 11, 2)? * 60 + digits(line, 14, 2)?) * 60 + second;
    (seconds < 2 * 86_400).then_some((day * 86_400 + seconds) * 1_000_000)
}

/// Returns the end of a label in arrows: >>Mean>>, >System<, >> All DASD <<.
fn arrow_label_end(line: &[u8]) -> Option<usize> {
    let mut at = line.iter().take_while(|&&byte| byte == b'>').count();
    if at == 0 || at > 2 {
        return None;
    }
    at += usize::from(line.get(at) == Some(&b' '));
    if !line.get(at)?.is_ascii_uppercase() {
        return None;
    }
    let inner = line[at..]
        .iter()
        .take(20)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b' ' | b'_'))
        .count();
    at += inner;
    let closing = line[at..]
        .iter()
        .take_while(|byte| matches!(byte, b'>' | b'<'))
        .count();
    at += closing;
    ((1..=2).contains(&closing) && line.get(at).is_none_or(|&byte| byte == b' ')).then_some(at)
}

/// The line as text, if it is ASCII without tabs, entities and tags.
pub fn as_plain_text(line: &[u8]) -> Option<&str> {
    let odd = |at: usize, byte: u8| match byte {
        b'&' => true,
        b'<' => line
            .get(at + 1)
            .is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!')),
        _ => !(0x20..0x7f).contains(&byte),
    };
    if line.iter().enumerate().any(|(at, &byte)| odd(at, byte)) {
        return None;
    }
    std::str::from_utf8(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_start_with_times_and_labels() {
        assert_eq!(
            start("09:31:00  0 IFL", &[], true),
            (RowStart::Time(None, 34_260), 8)
        );
        let (found, end) = start("2024/05/14 09:31:00  0", &[], true);
        assert_eq!((found, end), (RowStart::Time(Some(19_857), 34_260), 19));
        assert_eq!(
            start(">>Mean>>  0", &[], true),
            (RowStart::Label("Mean"), 8)
        );
        assert_eq!(
            start(">> All DASD <<  1", &[], false),
            (RowStart::Label("All DASD"), 14)
        );
        assert_eq!(start("LINUX01", &[], false), (RowStart::None, 0));
        assert_eq!(start("09:31:00", &[], false), (RowStart::None, 0));
        assert_eq!(start("09:61:00", &[], true), (RowStart::None, 0));
    }

    #[test]
    fn timestamps_are_microseconds() {
        assert_eq!(stamp("1970-01-02,00:00:01"), Some(86_401_000_000));
        assert_eq!(stamp("2024/02/29 00:00"), Some(19_782 * 86_400_000_000));
        assert_eq!(stamp("2024/13/29 00:00"), None);
        assert_eq!(stamp("now"), None);
    }

    proptest! {
        #[test]
        fn any_line_has_a_start(line in "\\PC{0,40}") {
            let (_, end) = start(&line, &[], true);
            prop_assert!(end <= line.len());
            let _ = stamp(&line);
        }
    }
}
