//! How CP takes frames when few are available, and which pages it writes for that.

use super::pages::{PageClass, Space};
use super::{Memory, Search};
use crate::custom_policy::FrameGroup;
use crate::scenario::Selection;

impl Memory {
    /// Takes frames if the list of available frames is short: those selected, in this order, then the oldest.
    pub fn take_frames(&mut self, selected: &[FrameGroup]) -> Search {
        let mut search = Search::default();
        let Some(mut wanted) = self.wanted() else {
            return search;
        };
        // Reserved pages only if there are no others.
        for reserved in [false, true] {
            for group in selected.iter().filter(|_| !reserved) {
                let generation = group.generation as usize;
                if wanted > 0.01 {
                    let only = Some(group.space as usize);
                    wanted -= self.take_from(generation..generation + 1, wanted, false, only);
                }
            }
            let generations = self.born.len();
            let old = match self.selection {
                Selection::Aging => 0,
                Selection::Scan => {
                    let limit = self.searches.saturating_sub(self.reorder);
                    self.born.iter().filter(|born| **born < limit).count()
                }
            };
            if old > 0 {
                wanted -= self.take_from(0..old, wanted, reserved, None);
            }
            for generation in old..generations {
                if wanted <= 0.01 {
                    break;
                }
                wanted -= self.take_from(generation..generation + 1, wanted, reserved, None);
            }
        }
        let blocks = (self.unwritten[0] / self.block).floor();
        self.unwritten[0] -= blocks * self.block;
        search.blocks = blocks as u64;
        self.writing += blocks * self.block * self.per_page;
        search.early = self.write_ahead();
        search
    }

    /// Takes pages of some generations, the same part of each space, or of `only` one; how many.
    fn take_from(
        &mut self,
        generations: std::ops::Range<usize>,
        wanted: f64,
        reserved: bool,
        only: Option<usize>,
    ) -> f64 {
        let old = |space: &Space| {
            let classes = space.classes.iter();
            classes
                .map(|class| class.resident[generations.clone()].iter().sum::<f64>())
                .sum::<f64>()
        };
        let most = |space: &Space| {
            let old = old(space);
            if reserved {
                old
            } else {
                old.min(space.takable())
            }
        };
        let (first, end) = only.map_or((0, self.spaces.len()), |one| (one, one + 1));
        let all: f64 = self.spaces[first..end].iter().map(most).sum();
        if all <= 0.0 {
            return 0.0;
        }
        let part = (wanted / all).min(1.0);
        let mut taken = 0.0;
        for space in &mut self.spaces[first..end] {
            let found = old(space);
            if found <= 0.0 {
                continue;
            }
            let of_each = part * most(space) / found;
            for class in &mut space.classes {
                for at in generations.clone() {
                    let pages = class.resident[at] * of_each;
                    let clean = class.clean[at] * of_each;
                    class.in_frames -= pages;
                    class.resident[at] -= pages;
                    class.clean[at] -= clean;
                    taken += pages;
                    space.stolen += pages;
                    space.written += pages - clean;
                    self.unwritten[0] += pages - clean;
                    self.available += clean * self.per_page;
                }
            }
        }
        taken
    }

    /// Writes the oldest pages before their frames are needed; the blocks.
    fn write_ahead(&mut self) -> u64 {
        if self.selection != Selection::Aging {
            return 0;
        }
        let mut budget = self.early_most.saturating_sub(self.early_under_way) as f64 * self.block;
        let mut left = self.early_frames;
        for generation in 0..self.born.len() {
            if left <= 0.0 || budget <= 0.0 {
                break;
            }
            let of = |class: &PageClass| {
                (
                    class.resident[generation],
                    class.resident[generation] - class.clean[generation],
                )
            };
            let (mut pages, mut changed) = (0.0, 0.0);
            for class in self
                .spaces
                .iter()
                .filter(|s| s.takable() > 0.0)
                .flat_map(|s| &s.classes)
            {
                pages += of(class).0;
                changed += of(class).1;
            }
            if changed > 0.0 {
                let due = changed * (left / pages).min(1.0);
                let part = due.min(budget) / changed;
                budget -= due.min(budget);
                for space in self.spaces.iter_mut().filter(|s| s.takable() > 0.0) {
                    for class in &mut space.classes {
                        let written = of(class).1 * part;
                        class.clean[generation] += written;
                        space.written += written;
                        self.unwritten[1] += written;
                    }
                }
            }
            left -= pages;
        }
        let blocks = (self.unwritten[1] / self.block).floor();
        self.unwritten[1] -= blocks * self.block;
        self.early_under_way += blocks as u64;
        blocks as u64
    }

    /// A block was written whose frames become available, or one written ahead of need.
    pub fn write_ended(&mut self, early: bool) {
        if early {
            self.early_under_way -= 1;
        } else {
            let frames = self.block * self.per_page;
            self.writing -= frames;
            self.available += frames;
        }
    }
}
