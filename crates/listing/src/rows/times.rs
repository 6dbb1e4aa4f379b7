//! The times of rows: intervals from the times of day of their lines and the header of their report.

use super::{DAY_S, INTERVAL, MICRO, ReportRows, Rows};
use crate::report_header::{Interval, ReportHeader};
use crate::values::Values;

/// Rows may be a little older than the time that their report begins at: a configuration, say.
const OLDER_S: i64 = 60;

/// Whether a time of day before that of the report's begin is one of the day after.
fn is_next_day(second: i64, start_us: i64, end_us: Option<i64>) -> bool {
    let start = start_us.div_euclid(MICRO);
    let earlier = start.rem_euclid(DAY_S) - second;
    let next_day = (start.div_euclid(DAY_S) + 1) * DAY_S + second;
    earlier > DAY_S / 2
        || earlier > OLDER_S && end_us.is_none_or(|end| next_day <= end.div_euclid(MICRO))
}

impl Rows {
    fn is_row(&self, at: usize) -> bool {
        let kind = self.kind_names[usize::from(self.kinds[at])].as_str();
        kind == INTERVAL || kind == "row"
    }

    /// Gives the rows read since the last call their times, and names their system. Gives their intervals.
    pub fn place(&mut self, chunk: ReportHeader) -> Vec<Interval> {
        let first = self.ends.len();
        let rows = first..self.len();
        let only = !rows
            .clone()
            .any(|at| self.kind_names[usize::from(self.kinds[at])] == INTERVAL);
        let start = chunk.start_us;
        let known = start.or(chunk.end_us);
        let mut day = known.unwrap_or(chunk.day_us).div_euclid(DAY_S * MICRO);
        let mut dated = true;
        let length = chunk.seconds.or_else(|| {
            Some((chunk.end_us? - start?) as f64 / MICRO as f64).filter(|&length| length > 0.0)
        });
        let (mut last, mut moment, mut seconds): (Option<i64>, Option<i64>, Option<f64>) =
            (None, None, None);
        let mut previous = start;
        let mut first_moment = None;
        let mut first_known = None;
        let mut day_known = false;
        for at in rows.clone() {
            let (mut end, mut own) = (i64::MIN, length);
            if let Some(second) = self.seconds_of_day[at] {
                if let Some(date) = self.days[at] {
                    day = date;
                    day_known = true;
                } else if last.map_or_else(
                    || start.is_some_and(|start| is_next_day(second, start, chunk.end_us)),
                    |last| second < last - DAY_S / 2,
                ) {
                    day += 1;
                }
                dated &= known.is_some() || day_known;
                last = Some(second);
                let local = (day * DAY_S + second) * MICRO;
                if moment != Some(local) {
                    seconds = match previous {
                        Some(previous) if local > previous => {
                            Some((local - previous) as f64 / MICRO as f64)
                        }
                        _ if moment.is_some() => None,
                        _ => seconds,
                    };
                    previous = Some(local);
                    moment = Some(local);
                    first_moment = first_moment.or(moment);
                    first_known = first_known.or(seconds);
                }
                end = local - chunk.offset_us;
                own = seconds;
            } else if let Some(utc) = self.utc[at] {
                if moment != Some(utc) {
                    seconds = moment
                        .filter(|&before| utc > before)
                        .map(|before| (utc - before) as f64 / MICRO as f64);
                    moment = Some(utc);
                    first_moment = first_moment.or(moment);
                    first_known = first_known.or(seconds);
                }
                end = utc;
                own = seconds;
            }
            self.ends.push(end);
            self.lengths.push(own.unwrap_or(f64::NAN));
            self.flags.push(None);
        }
        let whole = chunk.end_us.or(moment).unwrap_or(chunk.day_us) - chunk.offset_us;
        dated &= chunk.end_us.or(moment).is_some();
        let shift = |local: i64| local - chunk.offset_us;
        for at in rows.clone() {
            if self.ends[at] == i64::MIN {
                self.ends[at] = whole;
            } else if self.lengths[at].is_nan()
                && first_moment
                    .is_some_and(|first| self.ends[at] == first || self.ends[at] == shift(first))
            {
                // The first interval of a listing that does not say when it begins is as long as the next one.
                self.lengths[at] = first_known.unwrap_or(f64::NAN);
            }
        }
        for column in &mut self.columns {
            if let Values::Times(values) = &mut column.values {
                for value in values[first..].iter_mut().flatten() {
                    *value -= chunk.offset_us;
                }
            }
        }
        let spans = self.spans(rows, only);
        let source = if only {
            &chunk.sources.1
        } else {
            &chunk.sources.0
        }
        .clone();
        self.chunks.push(ReportRows {
            first,
            source,
            chunk,
            only,
            dated,
        });
        spans
    }

    fn spans(&self, rows: std::ops::Range<usize>, only: bool) -> Vec<Interval> {
        let mut spans: Vec<Interval> = Vec::new();
        for at in rows {
            let known = spans
                .last()
                .is_some_and(|span| span.end_us == self.ends[at]);
            if !known && (only || self.is_row(at)) {
                spans.push(Interval {
                    end_us: self.ends[at],
                    seconds: Some(self.lengths[at]).filter(|length| !length.is_nan()),
                    line: self.lines[at],
                    offset: self.offsets[at],
                });
            }
        }
        spans
    }

    /// Whether the rows of the last chunk have a date of their own.
    pub fn dated(&self) -> bool {
        self.chunks.last().is_none_or(|placed| placed.dated)
    }

    /// The source of the rows of the last chunk.
    pub fn source(&self) -> &str {
        self.chunks.last().map_or("", |placed| &placed.source)
    }

    /// Marks the rows of the last chunk that end at a time, as their interval has another length: they are in no
    /// measure.
    pub fn flag(&mut self, end_us: i64) {
        let first = self.chunks.last().map_or(0, |placed| placed.first);
        for at in first..self.ends.len() {
            if self.ends[at] == end_us {
                self.flags[at] = Some("other length");
            }
        }
    }
}
