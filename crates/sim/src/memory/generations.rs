//! Searches of CP for what was referenced, and the generations of pages that they found.

use super::Memory;
use super::pages::{distribute, reference};

/// A generation spans at most this part of its age.
const RESOLUTION: u64 = 8;

impl Memory {
    /// CP looks at what was referenced since the last time; `used` is the virtual CPU time of each user since then,
    /// in seconds.
    pub fn search(&mut self, used: &[f64]) {
        self.searches += 1;
        self.born.push(self.searches);
        for space in &mut self.spaces {
            let time: f64 = space.users.iter().map(|user| used[*user as usize]).sum();
            space.used += time;
            for class in &mut space.classes {
                class.resident.push(0.0);
                class.clean.push(0.0);
                if time > 0.0 {
                    let new = reference(class, time, space.changed);
                    self.available -= new * self.per_page;
                }
            }
            if let Some(phase) = space.phase
                && space.used >= phase
            {
                space.used = 0.0;
                distribute(&mut space.classes);
            }
            for class in &mut space.classes {
                class.in_frames = class.resident.iter().sum();
            }
        }
        self.merge();
        self.settle_slots();
    }

    /// Merges generations that are old enough to be taken for one.
    fn merge(&mut self) {
        let mut at = 0;
        while at + 2 < self.born.len() {
            let end = self.born[at + 2];
            if (end - self.born[at]) * RESOLUTION > self.searches - end {
                at += 1;
                continue;
            }
            self.born.remove(at + 1);
            for class in self.spaces.iter_mut().flat_map(|space| &mut space.classes) {
                class.resident[at] += class.resident.remove(at + 1);
                class.clean[at] += class.clean.remove(at + 1);
            }
        }
    }
}
