//! What a policy of the user selects frames from.

use super::Memory;
use super::pages::PageClass;
use crate::custom_policy::FrameGroup;
use crate::time::SECOND;

impl Memory {
    /// Pages whose frames CP takes if the list of available frames is short.
    pub(super) fn wanted(&self) -> Option<f64> {
        let coming = self.available + self.writing;
        (coming < self.frames.thresholds[0])
            .then(|| (self.frames.thresholds[1] - self.available - self.writing) / self.per_page)
    }

    /// The pages wanted, and the groups of frames to select from; `None` if the list of available frames suffices.
    pub(crate) fn choice(&self) -> Option<(f64, Vec<FrameGroup>)> {
        let wanted = self.wanted()?;
        let mut groups = Vec::new();
        for (space, number) in self.spaces.iter().zip(0..) {
            for (generation, born) in (0..).zip(&self.born) {
                let of = |pages: fn(&PageClass) -> &[f64]| -> f64 {
                    let classes = space.classes.iter();
                    classes.map(|class| pages(class)[generation as usize]).sum()
                };
                let pages = of(|class| &class.resident);
                if pages > 0.0 {
                    groups.push(FrameGroup {
                        space: number,
                        generation,
                        age: ((self.searches - born) * self.interval) as f64 / SECOND as f64,
                        pages,
                        changed: pages - of(|class| &class.clean),
                    });
                }
            }
        }
        Some((wanted, groups))
    }
}
