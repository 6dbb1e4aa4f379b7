//! Where pages are when a simulation begins, and after a logon and a logoff.

use super::Memory;
use super::pages::{PageClass, Space};
use crate::relocation::exp_of_minus;

impl Memory {
    /// Places the pages of those that are logged on.
    pub(super) fn fill(&mut self) {
        let room = (self.frames.pageable - self.frames.thresholds[1]) / self.per_page;
        // Pages that were referenced within this virtual CPU time are in frames.
        let part = |class: &PageClass, time: f64| {
            if class.sweep {
                (class.rate * time).min(1.0)
            } else {
                1.0 - exp_of_minus(class.rate * time)
            }
        };
        let needed = |spaces: &[Space], time: f64| {
            let on = spaces.iter().filter(|space| space.logged_on);
            on.map(|space| {
                let pages = |class: &PageClass| class.pages * part(class, time);
                let all: f64 = space.classes.iter().map(|class| class.pages).sum();
                let pages: f64 = space.classes.iter().map(pages).sum();
                pages.max(space.reserve.min(all))
            })
            .sum::<f64>()
        };
        let all: f64 = self
            .spaces
            .iter()
            .filter(|space| space.logged_on)
            .flat_map(|space| &space.classes)
            .map(|class| class.pages)
            .sum();
        let (mut shortest, mut longest) = (0.0, 1e9);
        if all > room {
            for _ in 0..80 {
                let middle = 0.5 * (shortest + longest);
                if needed(&self.spaces, middle) > room {
                    longest = middle;
                } else {
                    shortest = middle;
                }
            }
        }
        let mut in_frames = 0.0;
        for space in &mut self.spaces {
            let pages: f64 = space.classes.iter().map(|class| class.pages).sum();
            let referenced: f64 = space
                .classes
                .iter()
                .map(|class| class.pages * part(class, shortest))
                .sum();
            let reserved = space.reserve.min(pages);
            for class in &mut space.classes {
                if !space.logged_on {
                    class.untouched = class.pages;
                    continue;
                }
                let mut kept = if all > room {
                    part(class, shortest)
                } else {
                    1.0
                };
                if referenced < reserved && referenced < pages {
                    kept += (1.0 - kept) * (reserved - referenced) / (pages - referenced);
                }
                class.in_frames = class.pages * kept;
                class.resident[0] = class.in_frames;
                if all > room {
                    class.clean[0] = class.in_frames * (1.0 - space.changed);
                }
                in_frames += class.in_frames;
            }
        }
        self.available = (self.frames.pageable - in_frames * self.per_page).max(0.0);
        let out: f64 = self.spaces.iter().map(Space::slots).sum();
        let slots: f64 = self.slots.iter().sum();
        for (used, slots_of) in self.used.iter_mut().zip(&self.slots) {
            *used = out * slots_of / slots.max(1.0);
        }
        self.sum_used();
    }

    /// A user logs on with storage that nothing has referenced yet.
    pub fn logon(&mut self, user: usize) {
        for space in &mut self.spaces {
            if space.owner == Some(user as u32) {
                space.logged_on = true;
                (space.written, space.stolen) = (0.0, 0.0);
            }
        }
    }

    /// A user logs off; its frames and slots become free.
    pub fn logoff(&mut self, user: usize) {
        for space in &mut self.spaces {
            if space.owner != Some(user as u32) {
                continue;
            }
            space.logged_on = false;
            self.available += space.in_frames() * self.per_page;
            for class in &mut space.classes {
                class.untouched = class.pages;
                class.in_frames = 0.0;
                class.resident.fill(0.0);
                class.clean.fill(0.0);
            }
        }
    }
}
