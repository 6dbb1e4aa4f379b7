//! Log lines on standard error: `time=... level=... event=... key=value`, for people and for journald. No data and no
//! secrets are in them.

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Info,
    /// Data may be missing or late.
    Warning,
}

/// Writes a line.
pub fn line(level: Level, event: &str, fields: &[(&str, &dyn Display)]) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "{}", format(level, event, fields, now()));
}

/// Time since 1970.
#[must_use]
pub fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn format(level: Level, event: &str, fields: &[(&str, &dyn Display)], at: Duration) -> String {
    let level = match level {
        Level::Info => "info",
        Level::Warning => "warning",
    };
    let mut out = format!("time={} level={level} event={event}", utc(at));
    for (key, value) in fields {
        let value = value.to_string().replace(char::is_control, " ");
        let plain = !value.is_empty() && !value.contains([' ', '"', '=', '\\']);
        let _ = if plain {
            write!(out, " {key}={value}")
        } else {
            write!(
                out,
                " {key}=\"{}\"",
                value.replace('\\', "\\\\").replace('"', "\\\"")
            )
        };
    }
    out
}

/// A time as `2026-11-25T02:15:00.123Z`.
fn utc(at: Duration) -> String {
    let (days, second) = (at.as_secs() / 86_400, at.as_secs() % 86_400);
    // Years of 365.2425 days that begin in March, so that the leap day is the last one.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        at.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_times_equal_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696, "2000-02-29T12:34:56.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (1_795_572_900, "2026-11-25T02:15:00.000Z"),
        ] {
            assert_eq!(utc(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn values_stay_on_their_line() {
        let at = Duration::from_millis(1);
        assert_eq!(
            format(
                Level::Warning,
                "gap",
                &[("sets", &3), ("why", &"a \"b\"\n"), ("x", &"")],
                at
            ),
            "time=1970-01-01T00:00:00.001Z level=warning event=gap sets=3 why=\"a \\\"b\\\" \" x=\"\""
        );
    }
}
