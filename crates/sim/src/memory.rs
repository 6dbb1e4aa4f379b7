//! Frames of a system whose users fault: which pages are referenced, which are in frames, and which CP takes.
//!
//! Pages are not simulated one by one. An address space has classes of pages with equal reference rates per second
//! of its users' virtual CPU time, in which references are independent (a Poisson process per page), or come in turn
//! (a sweep). Resident pages of a class are counted by generation: the search of CP that found them referenced last.
//! Old generations are merged, so that each spans at most an eighth of its age. CP takes frames from the oldest
//! generations (the global aging list), or from all that were not referenced since its last reorder (demand scan).
//!
//! Counts are expected values and thus fractions; faults are events.

mod selection;

use std::collections::VecDeque;

use crate::custom_policy::FrameGroup;
use crate::random::{Stream, ln};
use crate::relocation::exp_of_minus;
use crate::scenario::{Pattern, References, Selection, System};
use crate::storage::{BELOW, Frames, PAGES, frames_of};
use crate::time::{MICROSECOND, Ticks, micros, seconds};

/// A generation spans at most this part of its age.
const RESOLUTION: u64 = 8;
/// Classes of a Zipf pattern: each has this many times as many pages as the one before.
const CLASS_GROWTH: f64 = 1.5;
/// Writes ahead of need that are under way at once, for each paging volume.
const EARLY_AT_ONCE: u64 = 4;

/// Pages of equal reference rates.
#[derive(Clone, Debug)]
struct PageClass {
    pages: f64,
    /// References of a page per second of virtual CPU time.
    rate: f64,
    /// Pages that come in turn.
    sweep: bool,
    /// Pages never referenced since logon; they have no frame and no slot.
    untouched: f64,
    /// In frames.
    in_frames: f64,
    /// The same by generation, oldest first.
    resident: Vec<f64>,
    /// Of these, those whose slots hold the same.
    clean: Vec<f64>,
}

impl PageClass {
    /// Pages that are on paging volumes and have no frame; less than one page counts as none.
    fn paged_out(&self) -> f64 {
        let rest = self.pages - self.untouched - self.in_frames;
        if rest < 1.0 { 0.0 } else { rest }
    }

    /// Page faults per second of virtual CPU time.
    fn fault_rate(&self) -> f64 {
        let out = self.paged_out();
        if self.sweep && out > 0.0 {
            // What is out is what comes next.
            self.rate * self.pages
        } else {
            self.rate * out
        }
    }

    fn move_to_newest(&mut self, at: usize, part: f64, changed: f64) {
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
struct Space {
    /// Its user, for those that have one.
    owner: Option<u32>,
    /// Users whose virtual CPU time counts, by number.
    users: Vec<u32>,
    logged_on: bool,
    /// Frames that CP leaves it.
    reserve: f64,
    /// Part of references that change a page.
    changed: f64,
    /// Mean number of pages next to each other that a visit references, and a constant of its distribution.
    run: f64,
    run_scale: f64,
    /// Virtual CPU time after which other pages are the busy ones.
    phase: Option<f64>,
    used: f64,
    classes: Vec<PageClass>,
    /// Pages written and taken from it.
    written: f64,
    stolen: f64,
}

impl Space {
    fn in_frames(&self) -> f64 {
        self.classes.iter().map(|class| class.in_frames).sum()
    }

    /// What CP may take, of all that is in frames.
    fn takable(&self) -> f64 {
        (self.in_frames() - self.reserve).max(0.0)
    }

    fn slots(&self) -> f64 {
        let clean = |class: &PageClass| class.clean.iter().sum::<f64>();
        let of = |class: &PageClass| class.paged_out() + clean(class);
        self.classes.iter().map(of).sum()
    }
}

/// A visit to pages next to each other that are not in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    space: u32,
    class: u32,
    /// Pages still to be referenced.
    pub left: u32,
}

/// What a search for frames leads to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search {
    /// Blocks to write before their frames are available.
    pub blocks: u64,
    /// Blocks to write ahead of need.
    pub early: u64,
}

/// Searches for frames below 2 GB, before storage has zones.
#[derive(Clone, Copy, Debug)]
struct Needle {
    /// Part of the faults that need one.
    part: f64,
    /// Time for each frame above that is passed over, in ticks, and their mean number.
    each: f64,
    passed: f64,
}

/// Frames and address spaces of a system.
#[derive(Clone, Debug)]
pub struct Memory {
    spaces: Vec<Space>,
    /// Spaces by user.
    of_user: Vec<Vec<u32>>,
    /// Search at which each generation began, oldest first.
    born: Vec<u64>,
    /// Searches so far.
    pub searches: u64,
    frames: Frames,
    /// Frames that a page needs with its part of page tables.
    per_page: f64,
    selection: Selection,
    /// Searches between two reorders.
    reorder: u64,
    early_frames: f64,
    block: f64,
    /// Frames on the list of available frames, and those that become available once written.
    available: f64,
    writing: f64,
    /// Pages to be written that do not fill a block yet.
    unwritten: [f64; 2],
    early_under_way: u64,
    early_most: u64,
    /// Virtual CPUs that wait for a frame.
    pub waiting: VecDeque<u32>,
    /// Times the list of available frames was empty.
    pub empty: u64,
    /// Paging volumes, their slots, and those in use.
    volumes: Vec<usize>,
    slots: Vec<f64>,
    used: Vec<f64>,
    /// Ends of the last hold of the lock of each zone.
    locks: Vec<Ticks>,
    hold: Ticks,
    fault: Ticks,
    needle: Option<Needle>,
    /// Between two searches.
    pub interval: Ticks,
    stream: Stream,
}

fn classes_of(references: &References, pages: f64) -> Vec<PageClass> {
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

impl Memory {
    /// The frames of a system when it begins: what users that are logged on use is in frames as far as these
    /// suffice, as if it had been referenced for long.
    pub fn new(system: &System, seed: u64) -> Self {
        let cp = &system.cp;
        let frames = frames_of(system);
        let block = f64::from(cp.block_pages);
        let space =
            |owner: Option<u32>, users: Vec<u32>, mib: f64, reserve: f64, of: &References| {
                let run = of.run_pages.max(1.0);
                Space {
                    owner,
                    users,
                    logged_on: true,
                    reserve: reserve * PAGES,
                    changed: of.changed_pct / 100.0,
                    run,
                    run_scale: if run > 1.0 {
                        ln(run / (run - 1.0))
                    } else {
                        0.0
                    },
                    phase: of.phase_s,
                    used: 0.0,
                    classes: classes_of(of, mib * PAGES),
                    written: 0.0,
                    stolen: 0.0,
                }
            };
        let mut spaces: Vec<Space> = system
            .users
            .iter()
            .zip(0..)
            .map(|(user, number)| Space {
                logged_on: user.logged_on,
                ..space(
                    Some(number),
                    vec![number],
                    user.working_set_mib.min(user.storage_mib),
                    user.reserve_mib,
                    &user.references,
                )
            })
            .collect();
        for one in &system.spaces {
            let owner = match one.users[..] {
                [user] => Some(user),
                _ => None,
            };
            spaces.push(space(
                owner,
                one.users.clone(),
                one.storage_mib,
                one.reserve_mib,
                &one.references,
            ));
        }
        // Reserves beyond the system's limit do not count.
        let mut left = cp.reserve_limit_mib.map_or(f64::MAX, |mib| mib * PAGES);
        for space in &mut spaces {
            space.reserve = space.reserve.min(left);
            left -= space.reserve;
        }
        let mut of_user = vec![Vec::new(); system.users.len()];
        for (space, number) in spaces.iter().zip(0..) {
            for user in &space.users {
                of_user[*user as usize].push(number);
            }
        }
        let volumes: Vec<usize> = (0..system.volumes.len())
            .filter(|volume| system.volumes[*volume].paging)
            .collect();
        let slots: Vec<f64> = volumes
            .iter()
            .map(|volume| system.volumes[*volume].slots as f64)
            .collect();
        let interval = seconds(cp.steal_s).max(MICROSECOND);
        let zones = cp
            .zone_mib
            .map_or(1.0, |mib| (system.storage_mib / mib).clamp(1.0, 4_096.0));
        let high = frames.thresholds[1].max(4.0 * block);
        let mut memory = Self {
            spaces,
            of_user,
            born: vec![1],
            searches: 1,
            frames: Frames {
                thresholds: [frames.thresholds[0].max(2.0 * block).min(high), high],
                ..frames
            },
            per_page: 1.0 + cp.page_table_kib / 1_024.0,
            selection: cp.selection,
            reorder: (seconds(cp.reorder_s) / interval).max(1),
            early_frames: frames.pageable * cp.early_writes_pct / 100.0,
            block,
            available: 0.0,
            writing: 0.0,
            unwritten: [0.0; 2],
            early_under_way: 0,
            early_most: EARLY_AT_ONCE * slots.len() as u64,
            waiting: VecDeque::new(),
            empty: 0,
            volumes,
            used: vec![0.0; slots.len()],
            slots,
            locks: vec![0; zones as usize],
            hold: micros(cp.frame_lock_us),
            fault: micros(cp.fault_us),
            needle: (cp.zone_mib.is_none() && cp.below_2g_pct > 0.0).then(|| Needle {
                part: cp.below_2g_pct / 100.0,
                each: cp.needle_us * MICROSECOND as f64,
                passed: (system.storage_mib * PAGES / BELOW).max(1.0) - 1.0,
            }),
            interval,
            stream: Stream::new(seed, &format!("{}/memory", system.name)),
        };
        memory.fill();
        memory
    }

    /// Places the pages of those that are logged on.
    fn fill(&mut self) {
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

    /// The CP time of a page fault: its work, and waiting for the lock of a zone.
    pub fn fault_cost(&mut self, now: Ticks, cpu: usize) -> (Ticks, Ticks) {
        let count = self.locks.len();
        let hold = self.hold + self.search_below();
        let lock = &mut self.locks[cpu % count];
        let spin = lock.saturating_sub(now);
        *lock = now + spin + hold;
        (self.fault + hold, spin)
    }

    /// The time of a search for a frame below 2 GB among available ones, in no order.
    fn search_below(&mut self) -> Ticks {
        match &self.needle {
            Some(needle) if self.stream.unit() <= needle.part => {
                (self.stream.exponential() * needle.passed * needle.each) as Ticks
            }
            _ => 0,
        }
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

    /// The paging volume with the block of a read.
    pub fn volume_of_read(&mut self) -> usize {
        let all: f64 = self.used.iter().sum();
        let mut at = self.stream.unit() * all;
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

    /// Slots whose pages have changed or gone are free again.
    fn settle_slots(&mut self) {
        let all: f64 = self.used.iter().sum();
        let needed: f64 = self.spaces.iter().map(Space::slots).sum();
        if all > 0.0 {
            let part = needed / all;
            for (used, slots) in self.used.iter_mut().zip(&self.slots) {
                *used = (*used * part).min(*slots);
            }
        }
    }

    /// The frames of the system now.
    pub fn frames(&self) -> Frames {
        Frames {
            available: self.available.max(0.0),
            waiting: self.waiting.len() as f64 * self.block,
            ..self.frames
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

    /// Reserved frames of users and segments.
    pub fn reserved(&self) -> f64 {
        self.spaces.iter().map(|space| space.reserve).sum()
    }

    /// Pages of a user in frames, its slots, pages written and taken, and pages of its virtual disks in frames.
    pub fn of_user(&self, user: usize) -> [f64; 5] {
        let mut all = [0.0; 5];
        for (number, space) in self.spaces.iter().enumerate() {
            if space.owner != Some(user as u32) {
                continue;
            }
            all[if number == user { 0 } else { 4 }] += space.in_frames();
            all[1] += space.slots();
            all[2] += space.written;
            all[3] += space.stolen;
        }
        all
    }

    /// Checks that frames and pages are neither lost nor made.
    ///
    /// # Errors
    /// What does not add up.
    pub fn check(&self) -> Result<(), String> {
        let in_frames: f64 = self.spaces.iter().map(Space::in_frames).sum();
        let unwritten = self.unwritten[0] * self.per_page;
        let all = in_frames * self.per_page + self.available + self.writing + unwritten;
        if (all - self.frames.pageable).abs() > 1e-6 * self.frames.pageable + 1.0 {
            return Err(format!("{all} of {} pageable frames", self.frames.pageable));
        }
        for class in self.spaces.iter().flat_map(|space| &space.classes) {
            let pages = class.in_frames + class.untouched;
            if pages > class.pages * (1.0 + 1e-9) + 1.0 {
                return Err(format!("{pages} of {} pages in frames", class.pages));
            }
        }
        Ok(())
    }
}

/// References of a class in some virtual CPU time; pages that were referenced for the first time.
fn reference(class: &mut PageClass, time: f64, changed: f64) -> f64 {
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
fn distribute(classes: &mut [PageClass]) {
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
