//! Transactions: classes, customers, and profiles of load over time.

use crate::random::{DurationDistribution, Stream};
use crate::time::Ticks;

/// A transaction in the system, or a customer between two.
#[derive(Clone, Debug)]
pub struct Customer {
    pub class: u32,
    /// Number in the class.
    pub number: u32,
    /// Step, and what is left of its count.
    pub step: u32,
    /// Operations left of an I/O step.
    pub count: u32,
    /// Start of the transaction.
    pub began: Ticks,
    /// Work left of a CPU step.
    pub work: Ticks,
    /// Random numbers.
    pub stream: Stream,
    /// Index of the next volume.
    pub turn: u32,
}

/// A class of transactions.
#[derive(Clone, Debug)]
pub struct Class {
    pub system: u32,
    /// Number in the scenario.
    pub number: u32,
    /// First customer and their number.
    pub first: u32,
    /// Number of customers.
    pub count: u32,
    /// Customers of an open class that are not in the system.
    pub free: Vec<u32>,
    /// Times between arrivals, or of thinking.
    pub between: DurationDistribution,
    /// Random numbers of arrivals.
    pub stream: Stream,
    /// Height over time.
    pub profile: Vec<(Ticks, f64)>,
    /// Whether customers arrive from outside.
    pub open: bool,
    /// Slot of arrivals.
    pub slot: u32,
    /// Transactions that ended, and the sum of their response times.
    pub completed: u64,
    /// Sum of response times.
    pub response: u128,
    /// Transactions that were refused.
    pub refused: u64,
    /// Transactions in the system, and the integral of their number.
    pub inside: u32,
    /// Integral of their number over time.
    pub integral: u128,
    /// Up to when.
    pub since: Ticks,
}

impl Class {
    /// Brings the integral up to date.
    pub fn settle(&mut self, now: Ticks) {
        self.integral += u128::from(now - self.since) * u128::from(self.inside);
        self.since = now;
    }
}

/// The height of a profile at a moment since the first sample; 1 without a profile.
pub(crate) fn height(profile: &[(Ticks, f64)], at: Ticks) -> f64 {
    let after = profile.partition_point(|(begin, _)| *begin <= at);
    match (
        after.checked_sub(1).map(|before| profile[before]),
        profile.get(after),
    ) {
        (None, None) => 1.0,
        (None, Some(first)) => first.1,
        (Some(last), None) => last.1,
        (Some((begin, low)), Some((end, high))) => {
            let part = (at - begin) as f64 / (end - begin).max(1) as f64;
            low + (high - low) * part
        }
    }
}
