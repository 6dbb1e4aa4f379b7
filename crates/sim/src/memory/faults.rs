//! Page faults: how often, to which pages, and the block that comes in.

use super::pages::PageClass;
use super::{Memory, Visit};

impl Memory {
    /// Visits of a user to pages that are not in frames, per second of virtual CPU time.
    pub fn visit_rate(&self, user: usize) -> f64 {
        let spaces = self.of_user[user].iter();
        spaces
            .map(|space| &self.spaces[*space as usize])
            .map(|space| space.classes.iter().map(PageClass::fault_rate).sum::<f64>() / space.run)
            .sum()
    }

    /// Which pages a visit goes to, and how many.
    pub fn visit(&mut self, user: usize) -> Option<Visit> {
        let mut at = self.stream.unit() * self.visit_rate(user);
        let mut found = None;
        'found: for number in &self.of_user[user] {
            let space = &self.spaces[*number as usize];
            for (class, index) in space.classes.iter().zip(0..) {
                let rate = class.fault_rate() / space.run;
                if rate > 0.0 {
                    found = Some((*number, index));
                    at -= rate;
                    if at <= 0.0 {
                        break 'found;
                    }
                }
            }
        }
        let (space, class) = found?;
        let scale = self.spaces[space as usize].run_scale;
        let left = if scale > 0.0 {
            1 + (self.stream.exponential() / scale).min(1e6) as u32
        } else {
            1
        };
        Some(Visit { space, class, left })
    }

    /// Whether a block may come in now.
    pub fn has_frames(&self) -> bool {
        self.available >= self.block * self.per_page
    }

    /// Brings in a block with the pages of a visit; how many pages it has, and how many of the visit.
    pub fn bring_in(&mut self, visit: &Visit) -> (u32, u32) {
        let block = self.block;
        let space = &mut self.spaces[visit.space as usize];
        let last = self.born.len() - 1;
        let class = &mut space.classes[visit.class as usize];
        // Counts are fractions; less than a page may be left.
        let useful = f64::from(visit.left)
            .min(block)
            .min(class.paged_out().floor());
        class.in_frames += useful;
        class.resident[last] += useful;
        class.clean[last] += useful * (1.0 - space.changed);
        let out: f64 = space.classes.iter().map(PageClass::paged_out).sum();
        let others = (block - useful).min(out.floor()).max(0.0);
        if others > 0.0 {
            // Neighbors that the visit does not reference.
            for class in &mut space.classes {
                let part = others * class.paged_out() / out;
                class.in_frames += part;
                class.resident[last] += part;
                class.clean[last] += part;
            }
        }
        self.available -= (useful + others) * self.per_page;
        let pages = (useful + others).max(1.0) as u32;
        (pages, (useful as u32).max(1))
    }
}
