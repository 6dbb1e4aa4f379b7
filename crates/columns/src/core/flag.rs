//! Classifies the time between two samples as normal, `short` or `gap`.

use zlens_frames::tod;

/// TOD units in a second.
pub(crate) const TOD_PER_SECOND: f64 = tod::UNITS_PER_US as f64 * 1e6;
/// Older than this many nominal intervals, the sample before leaves a gap.
const GAP_FACTOR: f64 = 1.5;
/// Below this part of the nominal interval, an interval is a stub.
pub(crate) const SHORT_FACTOR: f64 = 0.5;

/// Value of the column `flag` of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntervalFlag {
    None,
    Gap,
    Short,
}

impl IntervalFlag {
    /// Of an interval of this many seconds, beside how long it should be.
    pub(crate) fn classify(seconds: f64, nominal_s: Option<f64>) -> Self {
        match nominal_s {
            Some(nominal) if seconds > GAP_FACTOR * nominal => Self::Gap,
            Some(nominal) if seconds < SHORT_FACTOR * nominal => Self::Short,
            _ => Self::None,
        }
    }

    pub(crate) const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gap => Some("gap"),
            Self::Short => Some("short"),
        }
    }
}
