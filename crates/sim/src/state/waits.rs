//! What users wait for besides processors: credit, the dispatch list, locks.

use std::collections::VecDeque;

use crate::limiter::Limiter;
use crate::time::Ticks;

/// A limit with its subjects and waiters.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Credit.
    pub limiter: Limiter,
    /// Virtual CPUs that wait; partition shares have none.
    pub waiting: Vec<u32>,
    /// Partition shares that it caps.
    pub shares: Vec<u32>,
    pub slot: u32,
    /// Time for which it was in force.
    pub limited: Ticks,
    /// Since when, or `NEVER`.
    pub since: Ticks,
    /// How often it came into force.
    pub times: u64,
    /// Use charged.
    pub used: Ticks,
    /// Its own time: the start of the last slice of credit.
    pub present: Ticks,
    /// Virtual CPUs that have credit of it.
    pub holders: Vec<u32>,
    /// User whose limit it is, or `NO_INDEX`.
    pub user: u32,
}

/// The eligible list of a system.
#[derive(Clone, Debug)]
pub struct Eligible {
    /// Working sets that the dispatch list holds at most, in KiB.
    pub room: u64,
    /// Those that it holds.
    pub used: u64,
    /// Users that wait, longest first.
    pub waiting: VecDeque<u32>,
    /// Elapsed time slice.
    pub slice: Ticks,
    /// How long an idle user stays in the dispatch list.
    pub test_idle: Ticks,
    pub slot: u32,
}

/// A lock of the scheduler, or of guests.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinLock {
    /// End of the exclusive hold.
    pub until: Ticks,
    /// End of the last shared hold.
    pub shared_until: Ticks,
    /// Exclusive and shared collisions.
    pub collisions: [u64; 2],
    /// Exclusive and shared spin time.
    pub spin: [Ticks; 2],
}

/// A serialized part of work.
#[derive(Clone, Debug, Default)]
pub struct WorkLock {
    /// Customer that has it.
    pub owner: Option<u32>,
    /// Customers that wait.
    pub waiting: VecDeque<u32>,
}
