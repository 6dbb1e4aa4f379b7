//! Pages of an address space: classes of equal reference rates, in frames by generation.

use crate::random::ln;
use crate::relocation::exp_of_minus;
use crate::scenario::{Pattern, References};

/// Classes of a Zipf pattern: each has this many times as many pages as the one before.
const CLASS_GROWTH: f64 = 1.5;

/// Pages of equal reference rates.
#[derive(Clone, Debug)]
pub(super) struct PageClass {
    pub(super) pages: f64,
    /// References of a page per second of virtual CPU time.
    pub(super) rate: f64,
    /// Pages that come in turn.
    pub(super) sweep: bool,
    /// Pages never referenced since logon; they have no frame and no slot.
    pub(super) untouched: f64,
    /// In frames.
    pub(super) in_frames: f64,
    /// The same by generation, oldest first.
    pub(super) resident: Vec<f64>,
    /// Of these, those whose slots hold the same.
    pub(super) clean: Vec<f64>,
}

impl PageClass {
    /// Pages that are on paging volumes and have no frame; less than one page counts as none.
    pub(super) fn paged_out(&self) -> f64 {
        let rest = self.pages - self.untouched - self.in_frames;
        if rest < 1.0 { 0.0 } else { rest }
    }

    /// Page faults per second of virtual CPU time.
    pub(super) fn fault_rate(&self) -> f64 {
        let out = self.paged_out();
        if self.sweep && out > 0.0 {
            // What is out is what comes next.
            self.rate * self.pages
        } else {
            self.rate * out
        }
    }

    pub(super) fn move_to_newest(&mut self, at: usize, part: f64, changed: f64) {
        let last = self.resident.len() - 1;
        let moved = self.resident[at] * part;
        let clean = self.clean[at] * part;
        self.resident[at] -= moved;
        self.clean[at] -= clean;
        self.resident[last] += moved;
        self.clean[last] += clean * (1.0 - changed);
    }
}

/// An address space: of a user, or a VDISK or saved segment of several.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Its user, for those that have one.
    pub(super) owner: Option<u32>,
    /// Users whose virtual CPU time counts, by number.
    pub(super) users: Vec<u32>,
    pub(super) logged_on: bool,
    /// Frames that CP leaves it.
    pub(super) reserve: f64,
    /// Part of references that change a page.
    pub(super) changed: f64,
    /// Mean number of pages next to each other that a visit references, and a constant of its distribution.
    pub(super) run: f64,
    pub(super) run_scale: f64,
    /// Virtual CPU time after which other pages are the busy ones.
    pub(super) phase: Option<f64>,
    pub(super) used: f64,
    pub(super) classes: Vec<PageClass>,
    /// Pages written and taken from it.
    pub(super) written: f64,
    pub(super) stolen: f64,
}

impl Space {
    pub(super) fn in_frames(&self) -> f64 {
        self.classes.iter().map(|class| class.in_frames).sum()
    }

    /// What CP may take, of all that is in frames.
    pub(super) fn takable(&self) -> f64 {
        (self.in_frames() - self.reserve).max(0.0)
    }

    pub(super) fn slots(&self) -> f64 {
        let clean = |class: &PageClass| class.clean.iter().sum::<f64>();
        let of = |class: &PageClass| class.paged_out() + clean(class);
        self.classes.iter().map(of).sum()
    }
}

/// The classes of `pages` pages, none of them in a frame.
pub(super) fn classes_of(references: &References, pages: f64) -> Vec<PageClass> {
    let class = |pages: f64, part: f64, sweep: bool| PageClass {
        pages,
        rate: references.rate * part / pages,
        sweep,
        untouched: 0.0,
        in_frames: 0.0,
        resident: vec![0.0],
        clean: vec![0.0],
    };
    if pages < 1.0 {
        return Vec::new();
    }
    match references.pattern {
        Pattern::Uniform => vec![class(pages, 1.0, false)],
        Pattern::Sweep => vec![class(pages, 1.0, true)],
        Pattern::HotSet => {
            let hot = (pages * references.hot_pct / 100.0).clamp(0.5, pages - 0.5);
            let part = references.hot_references_pct / 100.0;
            vec![
                class(hot, part, false),
                class(pages - hot, 1.0 - part, false),
            ]
        }
        Pattern::Zipf => {
            let mut parts = Vec::new();
            let (mut first, mut length) = (0.0, 1.0);
            while first < pages {
                let count = if first + length * (1.0 + CLASS_GROWTH) > pages {
                    pages - first
                } else {
                    length
                };
                // The rank in the middle of the class stands for all.
                let middle = first + 0.5 * (count + 1.0);
                parts.push((count, count * exp_of_minus(references.skew * ln(middle))));
                first += count;
                length = (length * CLASS_GROWTH + 0.5).floor();
            }
            let all: f64 = parts.iter().map(|(_, part)| part).sum();
            parts
                .iter()
                .map(|(count, part)| class(*count, part / all, false))
                .collect()
        }
    }
}

/// References of a class in some virtual CPU time; pages that were referenced for the first time.
pub(super) fn reference(class: &mut PageClass, time: f64, changed: f64) -> f64 {
    let last = class.resident.len() - 1;
    if class.sweep {
        let mut due = class.rate * class.pages * time;
        let new = class.untouched.min(due);
        class.untouched -= new;
        class.resident[last] += new;
        due -= new;
        if class.paged_out() > 0.0 {
            return new;
        }
        for at in 0..last {
            let pages = class.resident[at];
            if due <= 0.0 {
                break;
            }
            if pages > 0.0 {
                class.move_to_newest(at, (due / pages).min(1.0), changed);
                due -= pages;
            }
        }
        return new;
    }
    let part = 1.0 - exp_of_minus(class.rate * time);
    for at in 0..last {
        class.move_to_newest(at, part, changed);
    }
    let new = class.untouched * part;
    class.untouched -= new;
    class.resident[last] += new;
    new
}

/// Gives each class frames, and pages never referenced, in proportion to its pages.
pub(super) fn distribute(classes: &mut [PageClass]) {
    let pages: f64 = classes.iter().map(|class| class.pages).sum();
    let untouched: f64 = classes.iter().map(|class| class.untouched).sum();
    let generations = classes.first().map_or(0, |class| class.resident.len());
    for at in 0..generations {
        let resident: f64 = classes.iter().map(|class| class.resident[at]).sum();
        let clean: f64 = classes.iter().map(|class| class.clean[at]).sum();
        for class in &mut *classes {
            class.resident[at] = resident * class.pages / pages;
            class.clean[at] = clean * class.pages / pages;
        }
    }
    for class in classes {
        class.untouched = untouched * class.pages / pages;
    }
}
