//! Limits on CPU time over the long run: LIMITHARD and LIMITSOFT of users and CPU pools, caps of partitions.
//!
//! Credit accrues at the rate of the limit, up to a burst. A virtual CPU that is limited takes the credit of a time slice
//! before it runs and gives back what it did not use; so those of one limit run one after another as credit
//! comes, and not all at once while there is some. Debt is carried, and over time use never exceeds the limit.

use crate::time::{NEVER, Ratio, Ticks};

/// A limit and its credit.
#[derive(Clone, Debug)]
pub struct Limiter {
    rate: Ratio,
    burst: i64,
    credit: i64,
    at: Ticks,
}

impl Limiter {
    /// A limit of this many processors, with full credit at `now`.
    pub fn new(rate: Ratio, burst: Ticks, now: Ticks) -> Self {
        let burst = i64::try_from(burst).unwrap_or(i64::MAX);
        Self {
            rate,
            burst,
            credit: burst,
            at: now,
        }
    }

    /// Changes the limit from now on.
    pub fn change(&mut self, rate: Ratio, now: Ticks) {
        self.accrue(now);
        self.rate = rate;
    }

    /// Charges use, or reserves it.
    pub fn charge(&mut self, used: Ticks) {
        self.credit = self
            .credit
            .saturating_sub(i64::try_from(used).unwrap_or(i64::MAX));
    }

    /// Gives back what was reserved and not used.
    pub fn refund(&mut self, unused: Ticks) {
        let unused = i64::try_from(unused).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(unused).min(self.burst);
    }

    /// Whether more may be used now.
    pub fn allows(&mut self, now: Ticks) -> bool {
        self.accrue(now);
        self.credit > 0
    }

    /// The same, without bringing its credit up to date.
    pub fn has_credit(&self, now: Ticks) -> bool {
        let gained = self.rate.times(now.saturating_sub(self.at));
        self.credit
            .saturating_add(i64::try_from(gained).unwrap_or(i64::MAX))
            > 0
    }

    /// The moment at which there is credit again.
    pub fn available(&mut self, now: Ticks) -> Ticks {
        self.accrue(now);
        let missing = 1_i64.saturating_sub(self.credit).max(1);
        match self.rate.divide(missing.unsigned_abs()) {
            NEVER => NEVER,
            span => now.saturating_add(span.max(1)),
        }
    }

    fn accrue(&mut self, now: Ticks) {
        let gained = self.rate.times(now.saturating_sub(self.at));
        self.at = self.at.max(now);
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(gained).min(self.burst);
    }
}
