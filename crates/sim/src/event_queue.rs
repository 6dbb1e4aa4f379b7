//! The event queue: the next moment of every subject, in tournaments.
//!
//! Every subject (a processor, a customer, a volume, a timer) has one slot and at most one pending event, so
//! an event that no longer holds is moved or removed in place, nothing is allocated while the simulation runs,
//! and the queue never contains events that are void. Events at the same moment come in the order of slots.
//! `examples/speed.rs` measures it against a binary heap.

use crate::time::{NEVER, Ticks};
use crate::tournament::Tournament;

/// A subject's position in the queue.
pub type Slot = u32;

/// The pending events of all subjects.
///
/// The first slots, those of processors, change most often; they play in a tournament of their own, which is small.
#[derive(Clone, Debug)]
pub struct EventQueue {
    near: Tournament,
    far: Tournament,
    /// Slots below this one are near.
    split: usize,
}

impl EventQueue {
    /// Creates an empty queue for `slots` subjects; the first `near` of them change most often.
    #[must_use]
    pub fn new(near: usize, slots: usize) -> Self {
        Self {
            near: Tournament::new(near),
            far: Tournament::new(slots.saturating_sub(near)),
            split: near,
        }
    }

    /// The earliest event.
    #[must_use]
    pub fn first(&self) -> Option<(Ticks, Slot)> {
        let (near, far) = (self.near.least(), self.far.least());
        if far < near {
            Some((far, (self.split + self.far.winner()) as Slot))
        } else if near != NEVER {
            Some((near, self.near.winner() as Slot))
        } else {
            None
        }
    }

    /// The moment of a subject's event, or `NEVER`.
    #[must_use]
    pub fn at(&self, slot: Slot) -> Ticks {
        match (slot as usize).checked_sub(self.split) {
            Some(place) => self.far.key(place),
            None => self.near.key(slot as usize),
        }
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Whether no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Replaces a subject's event; `NEVER` removes it.
    pub fn set(&mut self, slot: Slot, at: Ticks) {
        match (slot as usize).checked_sub(self.split) {
            Some(place) => self.far.set(place, at),
            None => self.near.set(slot as usize, at),
        }
    }
}

/// The slots of one mechanism, numbered from 0.
#[derive(Debug)]
pub struct Schedule<'e> {
    events: &'e mut EventQueue,
    base: Slot,
}

impl<'e> Schedule<'e> {
    /// The slots from `base`.
    pub const fn new(events: &'e mut EventQueue, base: Slot) -> Self {
        Self { events, base }
    }

    /// Replaces the event of a slot; `NEVER` removes it.
    pub fn set(&mut self, slot: usize, at: Ticks) {
        self.events.set(self.base + slot as Slot, at);
    }
}
