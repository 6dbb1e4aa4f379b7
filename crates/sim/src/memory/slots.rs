//! Slots of paging volumes: where blocks are read and written.

use super::Memory;
use super::pages::Space;

impl Memory {
    /// The paging volume with the block of a read.
    pub fn volume_of_read(&mut self) -> usize {
        let mut at = self.stream.unit() * self.all_used;
        for (volume, used) in self.used.iter().enumerate() {
            at -= used;
            if at <= 0.0 {
                return volume;
            }
        }
        0
    }

    /// Whether a paging volume has room for a block.
    pub fn has_slots(&self, volume: usize) -> bool {
        self.used[volume] + self.block <= self.slots[volume]
    }

    /// A block goes to a paging volume.
    pub fn written(&mut self, volume: usize) {
        self.used[volume] += self.block;
        self.sum_used();
    }

    /// Brings the sum of slots in use up to date; there are more reads, which need it, than changes.
    pub(super) fn sum_used(&mut self) {
        self.all_used = self.used.iter().sum();
    }

    /// Slots whose pages have changed or gone are free again.
    pub(super) fn settle_slots(&mut self) {
        let all = self.all_used;
        let needed: f64 = self.spaces.iter().map(Space::slots).sum();
        if all > 0.0 {
            let part = needed / all;
            for (used, slots) in self.used.iter_mut().zip(&self.slots) {
                *used = (*used * part).min(*slots);
            }
            self.sum_used();
        }
    }

    /// Slots in use on a paging volume.
    pub fn slots_used(&self, volume: usize) -> f64 {
        let at = self.volumes.iter().position(|one| *one == volume);
        at.map_or(0.0, |at| self.used[at])
    }

    /// Slots in use on the paging volumes among some.
    pub fn slots_used_of(&self, among: impl Fn(usize) -> bool) -> f64 {
        let volumes = self.volumes.iter().zip(&self.used);
        volumes
            .filter(|(volume, _)| among(**volume))
            .map(|(_, used)| used)
            .sum()
    }
}
