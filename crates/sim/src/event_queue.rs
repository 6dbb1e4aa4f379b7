//! The event queue: the next moment of every subject, in a tournament tree.
//!
//! Every subject (a processor, a customer, a volume, a timer) has one slot and at most one pending event, so
//! an event that no longer holds is moved or removed in place, nothing is allocated while the simulation runs,
//! and the queue never contains events that are void. Events at the same moment come in the order of slots.
//!
//! The slots are the leaves of a binary tree whose inner nodes are the earlier of their two children. Setting
//! a slot plays its matches again, one per level, without a branch that depends on the outcome; `examples/
//! speed.rs` measures it against a binary heap.

use crate::time::{NEVER, Ticks};

/// A subject's position in the queue.
pub type Slot = u32;

/// A moment and its slot in one number, so that one comparison orders both.
type Entry = u128;

const VOID: Entry = Entry::MAX;

const fn entry(at: Ticks, slot: Slot) -> Entry {
    (at as u128) << 32 | slot as u128
}

/// The earlier one, without a branch: which one it is cannot be predicted.
const fn earlier(one: Entry, other: Entry) -> Entry {
    let mask = 0u128.wrapping_sub((one < other) as u128);
    other ^ ((one ^ other) & mask)
}

/// A tournament.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// The root is node 1, the children of node n are 2n and 2n+1, the leaves come last.
    nodes: Vec<Entry>,
    leaves: usize,
}

impl Tree {
    fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        Self {
            nodes: vec![VOID; 2 * leaves],
            leaves,
        }
    }

    fn set(&mut self, leaf: usize, mut winner: Entry) {
        let mut node = self.leaves + leaf;
        self.nodes[node] = winner;
        while node > 1 {
            winner = earlier(self.nodes[node ^ 1], winner);
            node /= 2;
            // Above a match whose winner stays the same nothing changes.
            if self.nodes[node] == winner {
                break;
            }
            self.nodes[node] = winner;
        }
    }

    /// The same, to the root in any case: where there are few levels, that costs less than guessing.
    fn set_all(&mut self, leaf: usize, mut winner: Entry) {
        let mut node = self.leaves + leaf;
        self.nodes[node] = winner;
        while node > 1 {
            winner = earlier(self.nodes[node ^ 1], winner);
            node /= 2;
            self.nodes[node] = winner;
        }
    }
}

/// The pending events of all subjects.
///
/// The first slots, those of processors, change most often; they play in a tree of their own, which is small.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    near: Tree,
    far: Tree,
    /// Slots below this one are near.
    split: usize,
}

impl EventQueue {
    /// Creates an empty queue for `slots` subjects; the first `near` of them change most often.
    #[must_use]
    pub fn new(near: usize, slots: usize) -> Self {
        Self {
            near: Tree::new(near),
            far: Tree::new(slots.saturating_sub(near)),
            split: near,
        }
    }

    /// The earliest event.
    #[must_use]
    pub fn first(&self) -> Option<(Ticks, Slot)> {
        let first = self.near.nodes[1].min(self.far.nodes[1]);
        (first != VOID).then_some(((first >> 32) as Ticks, first as Slot))
    }

    /// The moment of a subject's event, or `NEVER`.
    #[must_use]
    pub fn at(&self, slot: Slot) -> Ticks {
        let (tree, leaf) = match (slot as usize).checked_sub(self.split) {
            Some(leaf) => (&self.far, leaf),
            None => (&self.near, slot as usize),
        };
        match tree.nodes[tree.leaves + leaf] {
            VOID => NEVER,
            entry => (entry >> 32) as Ticks,
        }
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        let leaves = |tree: &Tree| {
            let leaves = &tree.nodes[tree.leaves..];
            leaves.iter().filter(|leaf| **leaf != VOID).count()
        };
        leaves(&self.near) + leaves(&self.far)
    }

    /// Whether no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Replaces a subject's event; `NEVER` removes it.
    pub fn set(&mut self, slot: Slot, at: Ticks) {
        let winner = if at == NEVER { VOID } else { entry(at, slot) };
        match (slot as usize).checked_sub(self.split) {
            Some(leaf) => self.far.set(leaf, winner),
            None => self.near.set_all(slot as usize, winner),
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
