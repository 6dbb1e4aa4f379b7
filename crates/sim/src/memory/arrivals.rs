//! Pages of guests that are relocated to this system: they need frames before the guest continues here.

use super::Memory;

impl Memory {
    /// Pages of a user's address spaces.
    fn pages_of(&self, user: usize) -> f64 {
        let spaces = self.spaces.iter();
        spaces
            .filter(|space| space.owner == Some(user as u32))
            .flat_map(|space| &space.classes)
            .map(|class| class.pages)
            .sum()
    }

    /// The part of a user's storage that is on paging volumes and has no frame, of all that was ever referenced.
    pub fn paged_out(&self, user: usize) -> f64 {
        let (mut out, mut all) = (0.0, 0.0);
        for space in &self.spaces {
            if space.owner == Some(user as u32) {
                for class in &space.classes {
                    out += class.paged_out();
                    all += class.pages - class.untouched;
                }
            }
        }
        if all > 0.0 { out / all } else { 0.0 }
    }

    /// The MiB that a guest of `touched` MiB can send to a user here: half of the list of available frames below its
    /// low threshold is left to others.
    pub fn room(&self, user: usize, touched: f64) -> f64 {
        let pages = self.pages_of(user);
        if pages <= 0.0 {
            return f64::INFINITY;
        }
        let frames = self.available - 0.5 * self.frames.thresholds[0];
        (frames / self.per_page / pages * touched).max(0.0)
    }

    /// A part of a guest's storage arrives.
    pub fn arrive(&mut self, user: usize, part: f64) {
        let frames = (self.pages_of(user) * part * self.per_page).min(self.available);
        self.available -= frames;
        self.arriving[user] += frames;
    }

    /// A guest that was arriving does not come.
    pub fn turn_away(&mut self, user: usize) {
        self.available += std::mem::take(&mut self.arriving[user]);
    }

    /// The pages of a guest that has logged on here are in the frames that they were sent to.
    pub fn settle_arrival(&mut self, user: usize) {
        let frames = std::mem::take(&mut self.arriving[user]);
        let pages = self.pages_of(user);
        if pages <= 0.0 {
            self.available += frames;
            return;
        }
        let part = (frames / self.per_page / pages).min(1.0);
        let last = self.born.len() - 1;
        for space in &mut self.spaces {
            if space.owner != Some(user as u32) {
                continue;
            }
            for class in &mut space.classes {
                let arrived = class.pages * part;
                class.untouched = class.pages - arrived;
                class.in_frames = arrived;
                class.resident[last] = arrived;
            }
        }
        self.available += frames - part * pages * self.per_page;
    }
}
