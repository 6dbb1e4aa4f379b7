//! The times of a record: its own, and those of its interval.

use zlens_frames::smf::Header;
use zlens_frames::tod;

use super::numbers::{DAY_US, midnight, packed_duration, packed_time};
use super::plan::Plan;
use crate::core::dumps::Id;
use crate::core::flag::SHORT_FACTOR;

/// A system and what is known about it.
#[derive(Debug, Clone)]
pub struct System {
    /// Its name, as the column `system` shows it.
    pub name: String,
    /// Its names in the records of each file.
    pub ids: Vec<Id>,
    /// Offset of local time from UTC for records without it, in microseconds.
    pub zone_us: Option<i64>,
}

/// Value of an unknown time.
pub(crate) const NO_TIME: i64 = i64::MIN;
/// The time at which an interval was to end is the one at which it ended, if both are as near as this: beginnings
/// are told in whole seconds.
const END_TOLERANCE_US: i64 = 2_000_000;
/// No zone is further from UTC.
const MAX_ZONE_US: i64 = 26 * DAY_US / 24;

/// Metadata of a complete record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecordMeta {
    pub system: u16,
    pub subtype: u16,
    pub file: u32,
    /// Start of the record in its file.
    pub offset: u64,
    /// Time of writing, microseconds UTC or [`NO_TIME`].
    pub tod: i64,
    /// End of its interval.
    pub end: i64,
    /// Length of the interval in seconds; NaN if unknown.
    pub seconds: f64,
    pub short: bool,
    /// Offset of local time from UTC in microseconds, or [`NO_TIME`].
    pub zone: i64,
}

fn chunk<const N: usize>(bytes: Option<&[u8]>) -> Option<[u8; N]> {
    bytes?.try_into().ok()
}

fn tod_us(bytes: Option<&[u8]>, leap_s: i32) -> Option<i64> {
    let value = u64::from_be_bytes(chunk(bytes)?);
    tod::is_plausible(value).then(|| tod::to_unix_us(value, leap_s))
}

/// A local time as UTC; [`NO_TIME`] if the zone is not known.
pub(crate) const fn utc(local: i64, zone: i64) -> i64 {
    if zone == NO_TIME {
        NO_TIME
    } else {
        local - zone
    }
}

/// Fills in the times of a record whose section with the interval is `section`; `zone` is that of its system.
pub(crate) fn fill_times(
    plan: &Plan,
    section: &[u8],
    header: &Header,
    zone: i64,
    leap_s: i32,
    facts: &mut RecordMeta,
) {
    let time = &plan.time;
    facts.zone = time
        .zone
        .and_then(|place| chunk(place.get(section)))
        .map(|bytes| i64::from_be_bytes(bytes) >> 12)
        .filter(|us| us.abs() <= MAX_ZONE_US)
        .unwrap_or(zone);
    facts.tod = header
        .local()
        .map_or(NO_TIME, |hundredths| utc(hundredths * 10_000, facts.zone));
    let planned = tod_us(time.end.and_then(|place| place.get(section)), leap_s);
    let start_bytes = time.start.and_then(|place| place.get(section));
    let (end, seconds) = match time.date {
        Some(date) => {
            let seconds = time
                .length
                .and_then(|place| packed_duration(chunk(place.get(section))?));
            let local = chunk(date.get(section)).and_then(midnight).and_then(|day| {
                let start = day + packed_time(chunk(start_bytes)?)?;
                Some(start + (seconds? * 1e6) as i64)
            });
            let told = local.map_or(NO_TIME, |local| utc(local, facts.zone));
            let end = match planned {
                Some(end) if told == NO_TIME || (end - told).abs() <= END_TOLERANCE_US => Some(end),
                _ => (told != NO_TIME).then_some(told),
            };
            (end, seconds)
        }
        None => {
            let start = tod_us(start_bytes, leap_s);
            let measured = time.length_us.and_then(|place| place.number(section));
            let seconds = measured
                .map(|us| us as f64 / 1e6)
                .or_else(|| Some((planned? - start?) as f64 / 1e6));
            let end = planned.or((facts.tod != NO_TIME).then_some(facts.tod));
            (end, seconds)
        }
    };
    facts.end = end.unwrap_or(NO_TIME);
    facts.seconds = seconds.filter(|&s| s >= 0.0).unwrap_or(f64::NAN);
    let nominal = time.nominal.and_then(|place| place.number(section));
    facts.short = nominal.is_some_and(|nominal| facts.seconds < SHORT_FACTOR * nominal as f64);
}
