//! The time-of-day clock of the machine, in the form monitor records carry it.
//!
//! Documented: 64 bits, bit 51 is one microsecond (4096 units each), counted from 1900-01-01 00:00
//! UTC; wraps on 2042-09-17. Whether leap seconds are in the value depends on the installation, so
//! the caller says how many.

/// The TOD value of 1970-01-01 00:00 UTC.
pub const UNIX_EPOCH: u64 = 0x7D91_048B_CA00_0000;

/// TOD units in a microsecond.
pub const UNITS_PER_US: u64 = 1 << 12;

const EPOCH_US: i64 = (UNIX_EPOCH / UNITS_PER_US) as i64;

/// Microseconds since 1970-01-01 00:00 UTC of a TOD value (rounded down), with `leap_s` leap
/// seconds taken off.
#[must_use]
pub const fn to_unix_us(tod: u64, leap_s: i32) -> i64 {
    (tod / UNITS_PER_US) as i64 - EPOCH_US - leap_s as i64 * 1_000_000
}

/// The TOD value of a time in microseconds since 1970-01-01 00:00 UTC; times the clock cannot hold
/// wrap as it does.
#[must_use]
pub const fn from_unix_us(us: i64) -> u64 {
    (us.wrapping_add(EPOCH_US) as u64).wrapping_mul(UNITS_PER_US)
}

/// Whether a TOD value can be the time of a monitor record: the first bit has been on since
/// 1971-05-11, before the first VM that writes monitor records, and stays on until the clock wraps.
#[must_use]
pub const fn is_plausible(tod: u64) -> bool {
    tod >> 63 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_is_unix_epoch() {
        assert_eq!(to_unix_us(UNIX_EPOCH, 0), 0);
        assert_eq!(from_unix_us(0), UNIX_EPOCH);
        // 1900-01-01 is 2,208,988,800 seconds before 1970.
        assert_eq!(to_unix_us(0, 0), -2_208_988_800_000_000);
    }

    #[test]
    fn time_round_trips() {
        for us in [-1, 0, 1, 1_767_225_600_000_000, 2_294_000_000_000_000] {
            assert_eq!(to_unix_us(from_unix_us(us), 0), us);
        }
    }

    #[test]
    fn leap_seconds_are_subtracted() {
        let tod = from_unix_us(1_767_225_627_000_000);
        assert_eq!(to_unix_us(tod, 27), 1_767_225_600_000_000);
    }

    #[test]
    fn units_below_microsecond_are_rounded_down() {
        assert_eq!(to_unix_us(UNIX_EPOCH + 4095, 0), 0);
        assert_eq!(to_unix_us(UNIX_EPOCH - 1, 0), -1);
    }

    #[test]
    fn no_value_overflows() {
        assert!(to_unix_us(u64::MAX, i32::MIN) > to_unix_us(0, i32::MAX));
        let _ = from_unix_us(i64::MAX);
        let _ = from_unix_us(i64::MIN);
    }

    #[test]
    fn only_times_since_1971_are_plausible() {
        assert!(is_plausible(from_unix_us(1_767_225_600_000_000)));
        assert!(!is_plausible(0));
        assert!(!is_plausible(UNIX_EPOCH));
    }
}
