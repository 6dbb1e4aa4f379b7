//! In which order the records of one kind come, and how regularly.

/// Records that come within this of the one before belong to the same time: what describes one
/// interval is written back to back. In hundredths of a second.
const SAME_MOMENT: i64 = 20 * 100;
/// A step of more than this many halves of the usual one leaves a gap.
const GAP_HALVES: i64 = 3;
/// Steps that differ by less than this part of the usual one are usual.
const LIKE: i64 = 10;
/// Fewer steps than this show no rule.
const LEAST: usize = 3;
/// Maximum number of times kept for all kinds of a file.
pub(crate) const MAX_MOMENTS: usize = 2_000_000;

/// The times of the records of one kind as they come.
#[derive(Debug, Default)]
pub(crate) struct Cadence {
    /// The latest time so far, and that of the record before.
    latest: Option<i64>,
    before: i64,
    /// Whether the record before was earlier than the latest.
    behind: bool,
    /// Stretches of records that are earlier than one before them.
    pub out_of_order: u64,
    /// When records came after none had for a while.
    moments: Vec<i64>,
    /// Whether times were dropped to save memory.
    full: bool,
}

/// Summary of the times of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CadenceSummary {
    /// The usual time between two of them, if there is one.
    pub period: Option<i64>,
    /// Number of steps that leave out at least one time.
    pub gaps: Option<u64>,
}

impl Cadence {
    /// Processes a record; `room` is the space left for times of all kinds.
    #[inline]
    pub(crate) fn add(&mut self, time: i64, room: &mut usize) {
        let Some(latest) = self.latest else {
            self.latest = Some(time);
            self.before = time;
            self.moment(time, room);
            return;
        };
        let behind = time < latest;
        self.out_of_order += u64::from(behind && !self.behind);
        self.behind = behind;
        if !behind {
            self.latest = Some(time);
        }
        if (time - self.before).abs() >= SAME_MOMENT {
            self.moment(time, room);
        }
        self.before = time;
    }

    fn moment(&mut self, time: i64, room: &mut usize) {
        if *room == 0 {
            self.full = true;
        } else {
            *room -= 1;
            self.moments.push(time);
        }
    }

    /// Says whether records come at a regular pace, and where they did not.
    pub(crate) fn summarize(&mut self) -> CadenceSummary {
        if self.full {
            return CadenceSummary::default();
        }
        // What is in the file twice, or in another order, leaves no gap.
        self.moments.sort_unstable();
        let steps = self.moments.windows(2).map(|pair| pair[1] - pair[0]);
        let mut steps: Vec<i64> = steps.filter(|&step| step >= SAME_MOMENT).collect();
        if steps.len() < LEAST {
            return CadenceSummary::default();
        }
        steps.sort_unstable();
        let usual = steps[(steps.len() - 1) / 2];
        let like = |step: &&i64| (**step - usual).abs() <= usual / LIKE;
        if 2 * steps.iter().filter(like).count() < steps.len() {
            return CadenceSummary::default();
        }
        let gaps = steps.iter().filter(|&&step| 2 * step > GAP_HALVES * usual);
        CadenceSummary {
            period: Some(usual),
            gaps: Some(gaps.count() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(times: impl IntoIterator<Item = i64>) -> (u64, Option<i64>, Option<u64>) {
        let mut pace = Cadence::default();
        let mut budget = 1000;
        for second in times {
            pace.add(second * 100, &mut budget);
        }
        let CadenceSummary { period: step, gaps } = pace.summarize();
        (pace.out_of_order, step.map(|step| step / 100), gaps)
    }

    #[test]
    fn intervals_and_gaps_in_them() {
        // Three records for each interval.
        let interval = |n: i64| [900 * n, 900 * n + 1, 900 * n + 2];
        let all = || (0..20).flat_map(interval);
        assert_eq!(pace(all()), (0, Some(900), Some(0)));
        let holes = (0..20).filter(|n| ![3, 4, 9].contains(n));
        assert_eq!(pace(holes.flat_map(interval)), (0, Some(900), Some(2)));
        // All records again, and an earlier part after a later one.
        assert_eq!(pace(all().chain(all())), (1, Some(900), Some(0)));
        let parts = (10..20).chain(0..10).flat_map(interval);
        assert_eq!(pace(parts), (1, Some(900), Some(0)));
    }

    #[test]
    fn irregular_records_have_no_gaps() {
        assert_eq!(pace([0, 40, 1000, 7000, 7100, 20_000]), (0, None, None));
        assert_eq!(pace(0..5000), (0, None, None));
        assert_eq!(pace([]), (0, None, None));
        assert_eq!(pace([5, 4, 3, 6, 5]), (2, None, None));
    }

    #[test]
    fn gaps_are_not_reported_without_space() {
        let mut pace = Cadence::default();
        let mut budget = 3;
        for n in 0..10 {
            pace.add(n * 90_000, &mut budget);
        }
        assert_eq!(pace.summarize(), CadenceSummary::default());
    }
}
