//! Frames and pages of a system: what its users hold, what is on paging volumes, and the list of available frames.
//!
//! This is what a system records whose page faults are given, or that has none; [`crate::memory`] simulates others.
//! Users hold what they use, as long as it fits; else CP takes the same part from each, and the rest is on paging
//! volumes. CP looks for frames again and again and fills the list of available frames up to its high
//! threshold; page faults take from it in between, and where they want more than it has, it is empty.

use crate::scenario::System;
use crate::time::{SECOND, Ticks};

/// Pages of a MiB.
pub const PAGES: f64 = 256.0;
/// Frames below 2 GB.
pub const BELOW: f64 = 2_048.0 * PAGES;

/// The frames of a system at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// All that CP can page.
    pub pageable: f64,
    /// All others.
    pub nonpageable: f64,
    /// Part of what users use that is in frames.
    pub resident: f64,
    /// Pages that users use.
    pub used: f64,
    /// Thresholds of the list of available frames.
    pub thresholds: [f64; 2],
    /// Available frames.
    pub available: f64,
    /// Frames for which page faults wait.
    pub waiting: f64,
}

/// The list of available frames from one sample to the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Available {
    taken: u64,
    at: Ticks,
    /// Times it was empty.
    pub empty: u64,
}

impl Available {
    /// The frames at a sample: `used` pages of users, and frames `taken` by page faults since the beginning.
    pub fn sample(&mut self, system: &System, used: f64, taken: u64, now: Ticks) -> Frames {
        let cp = &system.cp;
        let frames = frames_of(system);
        let (pageable, thresholds) = (frames.pageable, frames.thresholds);
        let room = pageable - thresholds[1];
        let seconds = now.saturating_sub(self.at) as f64 / SECOND as f64;
        let first = self.at == 0;
        let rate = if first || seconds <= 0.0 {
            0.0
        } else {
            (taken - self.taken) as f64 / seconds
        };
        let wanted = rate * cp.steal_s;
        let free = (pageable - used).max(thresholds[1]);
        let available = (free - wanted).max(0.0);
        if wanted > free {
            self.empty += (seconds / cp.steal_s) as u64;
        }
        self.taken = taken;
        self.at = now;
        Frames {
            resident: if used > room { room / used } else { 1.0 },
            used,
            available,
            waiting: (wanted - free).max(0.0),
            ..frames
        }
    }
}

/// The frames of a system of which no user has any.
pub fn frames_of(system: &System) -> Frames {
    let cp = &system.cp;
    let frames = system.storage_mib * PAGES;
    let nonpageable = frames * cp.nonpageable_pct / 100.0;
    let pageable = frames - nonpageable;
    Frames {
        pageable,
        nonpageable,
        resident: 1.0,
        used: 0.0,
        thresholds: cp.available_pct.map(|part| pageable * part / 100.0),
        available: pageable,
        waiting: 0.0,
    }
}

impl Frames {
    /// Pages of users on paging volumes.
    pub fn paged_out(&self) -> f64 {
        self.used * (1.0 - self.resident)
    }

    /// A number of frames below 2 GB and above.
    pub fn split(&self, frames: f64) -> [u64; 2] {
        let all = self.pageable + self.nonpageable;
        let below = (frames * (BELOW / all).min(1.0)) as u64;
        [below, frames as u64 - below]
    }
}
