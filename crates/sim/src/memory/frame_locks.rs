//! Locks of the lists of frames: of each zone, or one of all storage; processors spin for them.

use crate::random::Stream;
use crate::scenario::System;
use crate::storage::{BELOW, PAGES};
use crate::time::{MICROSECOND, Ratio, Ticks, micros};

/// Searches for frames below 2 GB, before storage has zones.
#[derive(Clone, Copy, Debug)]
struct Needle {
    /// Part of the faults that need one.
    part: f64,
    /// Time for each frame above that is passed over, in ticks, and their mean number.
    each: f64,
    passed: f64,
}

/// The locks of a system's storage.
#[derive(Clone, Debug)]
pub struct FrameLocks {
    /// End of the last hold of each.
    until: Vec<Ticks>,
    /// Time that one is held to take frames.
    hold: Ticks,
    /// The same to return frames; `None` if they are queued for the next holder instead.
    returns: Option<Ticks>,
    needle: Option<Needle>,
    /// Speed of the processors; the times above are at full speed.
    speed: Ratio,
    stream: Stream,
    /// Times that a processor spun, and for how long.
    pub collisions: u64,
    pub spin: Ticks,
}

impl FrameLocks {
    pub(super) fn new(system: &System, seed: u64) -> Self {
        let cp = &system.cp;
        let zones = cp
            .zone_mib
            .map_or(1.0, |mib| (system.storage_mib / mib).clamp(1.0, 4_096.0));
        Self {
            until: vec![0; zones as usize],
            hold: micros(cp.frame_lock_us),
            returns: (!cp.queued_returns).then(|| micros(cp.frame_return_us)),
            needle: (cp.zone_mib.is_none() && cp.below_2g_pct > 0.0).then(|| Needle {
                part: cp.below_2g_pct / 100.0,
                each: cp.needle_us * MICROSECOND as f64,
                passed: (system.storage_mib * PAGES / BELOW).max(1.0) - 1.0,
            }),
            speed: Ratio::ONE,
            stream: Stream::new(seed, &format!("{}/frame locks", system.name)),
            collisions: 0,
            spin: 0,
        }
    }

    pub(super) const fn set_speed(&mut self, speed: Ratio) {
        self.speed = speed;
    }

    /// Number of locks that a page fault needs, each after the one before.
    pub const fn of_fault(&self) -> u8 {
        if self.returns.is_some() { 2 } else { 1 }
    }

    /// A processor asks for a lock of a page fault: how long it spins for it, and then holds it. The first is that
    /// of the processor's own zone, to take frames; frames are returned to any zone.
    pub fn request(&mut self, now: Ticks, cpu: usize, which: u8) -> (Ticks, Ticks) {
        let count = self.until.len();
        let (zone, hold) = match self.returns {
            Some(hold) if which > 0 => (self.stream.below(count as u64) as usize, hold),
            _ => (cpu % count, self.hold + self.search_below()),
        };
        let hold = self.speed.divide(hold);
        let spin = self.until[zone].saturating_sub(now);
        self.until[zone] = now + spin + hold;
        self.collisions += u64::from(spin > 0);
        self.spin += spin;
        (spin, hold)
    }

    /// The time of a search for a frame below 2 GB among available ones, in no order.
    fn search_below(&mut self) -> Ticks {
        match &self.needle {
            Some(needle) if self.stream.unit() <= needle.part => {
                (self.stream.exponential() * needle.passed * needle.each) as Ticks
            }
            _ => 0,
        }
    }
}
