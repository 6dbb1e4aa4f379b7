//! Frames of a system whose users fault: which pages are referenced, which are in frames, and which CP takes.
//!
//! Pages are not simulated one by one. An address space has classes of pages with equal reference rates per second
//! of its users' virtual CPU time, in which references are independent (a Poisson process per page), or come in turn
//! (a sweep). Resident pages of a class are counted by generation: the search of CP that found them referenced last.
//! Old generations are merged, so that each spans at most an eighth of its age. CP takes frames from the oldest
//! generations (the global aging list), or from all that were not referenced since its last reorder (demand scan).
//!
//! Counts are expected values and thus fractions; faults are events.

mod arrivals;
mod beginning;
mod faults;
mod frame_locks;
mod generations;
mod pages;
mod reserves;
mod selection;
mod slots;
mod taking;

use std::collections::VecDeque;

use frame_locks::FrameLocks;
use pages::{Space, classes_of};

use crate::random::{Stream, ln};
use crate::scenario::{References, Selection, System};
use crate::storage::{Frames, PAGES, frames_of};
use crate::time::{MICROSECOND, Ratio, Ticks, micros, seconds};

/// Writes ahead of need that are under way at once, for each paging volume.
const EARLY_AT_ONCE: u64 = 4;

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

/// Frames and address spaces of a system.
#[derive(Clone, Debug)]
pub struct Memory {
    spaces: Vec<Space>,
    /// Frames that can be reserved in all.
    reserve_limit: f64,
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
    /// Frames with pages of guests that arrive, by user.
    arriving: Vec<f64>,
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
    all_used: f64,
    pub locks: FrameLocks,
    /// CP time of a page fault besides what its locks are held.
    pub fault: Ticks,
    /// Between two searches.
    pub interval: Ticks,
    stream: Stream,
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
        let reserve_limit = cp.reserve_limit_mib.map_or(f64::MAX, |mib| mib * PAGES);
        let mut left = reserve_limit;
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
            reserve_limit,
            per_page: 1.0 + cp.page_table_kib / 1_024.0,
            selection: cp.selection,
            reorder: (seconds(cp.reorder_s) / interval).max(1),
            early_frames: frames.pageable * cp.early_writes_pct / 100.0,
            block,
            available: 0.0,
            writing: 0.0,
            arriving: vec![0.0; system.users.len()],
            unwritten: [0.0; 2],
            early_under_way: 0,
            early_most: EARLY_AT_ONCE * slots.len() as u64,
            waiting: VecDeque::new(),
            empty: 0,
            volumes,
            used: vec![0.0; slots.len()],
            all_used: 0.0,
            slots,
            locks: FrameLocks::new(system, seed),
            fault: micros(cp.fault_us),
            interval,
            stream: Stream::new(seed, &format!("{}/memory", system.name)),
        };
        memory.fill();
        memory
    }

    /// Sets the CP time of page faults to that at a speed of the processors.
    pub(crate) fn set_speed(&mut self, system: &System, speed: Ratio) {
        self.fault = speed.divide(micros(system.cp.fault_us));
        self.locks.set_speed(speed);
    }

    /// The frames of the system now.
    pub fn frames(&self) -> Frames {
        Frames {
            available: self.available.max(0.0),
            waiting: self.waiting.len() as f64 * self.block,
            ..self.frames
        }
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
        let arriving: f64 = self.arriving.iter().sum();
        let all = in_frames * self.per_page + self.available + self.writing + unwritten + arriving;
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
