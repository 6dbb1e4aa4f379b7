//! Gives out slots of events, and limits.

use crate::limiter::Limiter;
use crate::state::{EventSource, Limit, NO_INDEX};
use crate::time::{NEVER, Ratio, Ticks};

/// Most subjects of one kind: memory stays bounded.
pub(super) const MAX_OBJECTS: usize = 1_000_000;

pub(super) struct Allocator {
    pub(super) now: Ticks,
    pub(super) subjects: Vec<EventSource>,
    pub(super) limits: Vec<Limit>,
}

impl Allocator {
    pub(super) fn limit(&mut self, rate: Ratio, burst: Ticks) -> u32 {
        self.limits.push(Limit {
            limiter: Limiter::new(rate, burst.max(4), self.now),
            waiting: Vec::new(),
            shares: Vec::new(),
            slot: 0,
            limited: 0,
            since: NEVER,
            times: 0,
            used: 0,
            present: 0,
            holders: Vec::new(),
            user: NO_INDEX,
        });
        (self.limits.len() - 1) as u32
    }

    /// Slots of as many subjects; the first one.
    pub(super) fn slots(&mut self, count: usize, subject: impl Fn(u32) -> EventSource) -> u32 {
        let first = self.subjects.len() as u32;
        self.subjects.extend((0..count as u32).map(subject));
        first
    }
}
