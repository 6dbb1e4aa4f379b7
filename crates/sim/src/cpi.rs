//! CPI as time: the pace of work on a thread, from where the lines of its virtual CPU are and what is around it.
//!
//! Work is a number of instructions. Its pace is set when a virtual CPU comes to a thread, when its core comes to a
//! physical core, when the other thread of the core begins or ceases to run, and with each segment of work; what is around
//! it is taken to stay the same in between. The counters count with the same pace, so that CPI and its misses agree with
//! the time.
//!
//! A virtual CPU has lines in the caches of each core, chip and drawer that it was on. What comes to these caches, also from
//! itself, displaces them; where they are missing, it fetches them from the next larger cache that has them, or from memory.
//! They are in physical caches: other partitions displace them, too, and a logical core that PR/SM moves leaves them behind.
//! What CP does for a virtual CPU takes as much longer as the virtual CPU's own instructions.

use crate::counters::Counters;
use crate::run_segment::{Held, PacedSegment, Surroundings};
use crate::state::{CpuState, NO_INDEX, Paces, Remains, VcpuTimes};
use crate::time::Ticks;
use crate::world::World;

impl World {
    /// The paces of a world at its beginning.
    pub(crate) fn paces(&self) -> Paces {
        let machine = &self.scenario.machine;
        let cores = self.physical.len();
        let numbers = self.physical.iter().map(|core| core.number as usize);
        let last = numbers.max().unwrap_or(0) / machine.cores_per_chip.max(1) as usize;
        let drawers = last / machine.chips_per_drawer.max(1) as usize + 1;
        let places = [cores, last + 1, drawers];
        Paces {
            of: vec![Default::default(); self.cpus.len()],
            came: places.map(|places| vec![0.0; places]),
            remains: places.map(|places| vec![Remains::default(); places * self.vcpus.len()]),
        }
    }

    /// The chip and the drawer of a physical core.
    fn chip_and_drawer(&self, physical: usize) -> (usize, usize) {
        let machine = &self.scenario.machine;
        let chip = self.physical[physical].number / machine.cores_per_chip.max(1);
        let drawer = chip / machine.chips_per_drawer.max(1);
        (chip as usize, drawer as usize)
    }

    /// The places of the caches around a physical core.
    fn places(&self, physical: usize) -> [usize; 3] {
        let (chip, drawer) = self.chip_and_drawer(physical);
        [physical, chip, drawer]
    }

    /// What a virtual CPU's services, traffic and references are in proportion to: its time, or where CPI is time, its
    /// work.
    pub(crate) fn progress(&self, times: &VcpuTimes) -> Ticks {
        match self.counting.paces {
            Some(_) => times.work,
            None => times.emulation,
        }
    }

    /// A logical core came to a physical one.
    pub(crate) fn arrives(&mut self, core: usize) {
        if self.counting.paces.is_none() {
            return;
        }
        for cpu in self.threads_of(core) {
            self.count_piece(cpu);
        }
        let physical = self.cores[core].physical as usize;
        self.counting.chips[core] = self.chip_and_drawer(physical).0 as u32;
        for cpu in self.threads_of(core) {
            self.set_pace(cpu);
        }
    }

    /// A logical core leaves its physical one.
    pub(crate) fn leaves(&mut self, core: usize) {
        if self.counting.paces.is_some() {
            for cpu in self.threads_of(core) {
                self.count_piece(cpu);
            }
        }
    }

    /// Cores were parked or unparked.
    pub(crate) fn set_sharers(&mut self) {
        if self.counting.paces.is_some() {
            for core in 0..self.cores.len() {
                self.counting.sharers[core] = self.sharers(core);
            }
        }
    }

    /// What a virtual CPU has in the caches around a physical core.
    fn held(&self, counters: &Counters, paces: &Paces, v: usize, physical: usize) -> Held {
        let at = |level: usize, place: usize| {
            let came = &paces.came[level];
            let remains = &paces.remains[level][v * came.len() + place];
            remains.held * counters.model.left(level, came[place] - remains.came)
        };
        let [core, chip, drawer] = self.places(physical);
        let others = (0..paces.came[2].len()).filter(|other| *other != drawer);
        let far = others.map(|other| at(2, other)).fold(0.0, f64::max);
        [at(0, core), at(1, chip), at(2, drawer), far]
    }

    /// Sets the pace and the speed of a running processor.
    pub(crate) fn set_pace(&mut self, number: usize) {
        self.count_piece(number);
        let cpu = &self.cpus[number];
        let core = cpu.core as usize;
        let physical = self.cores[core].physical;
        if cpu.state != CpuState::Running || physical == NO_INDEX {
            return;
        }
        let v = cpu.vcpu as usize;
        let (work, slice, paired) = (self.vcpus[v].work, cpu.slice, cpu.paired);
        let sibling = self
            .threads_of(core)
            .find(|other| paired && *other != number && self.cpus[*other].vcpu != NO_INDEX)
            .map(|other| self.cpus[other].vcpu as usize);
        let counting = &self.counting;
        let (Some(counters), Some(paces)) = (&counting.counters, &counting.paces) else {
            return;
        };
        let held = |v: usize| self.held(counters, paces, v, physical as usize);
        let profile = |v: usize| &counting.profiles[self.vcpus[v].user as usize];
        let pace = counters.model.pace(&Surroundings {
            memory: profile(v),
            held: held(v),
            sibling: sibling.map(|other| (profile(other), held(other))),
            sharers: counting.sharers[core],
            work,
            slice,
        });
        if let Some(paces) = &mut self.counting.paces {
            paces.of[number] = pace;
        }
        let cpu = &mut self.cpus[number];
        cpu.speed = pace.speed().scaled_by(self.speed);
        cpu.stretch = pace.stretch();
    }

    /// Counts what ran on a logical processor at its pace.
    pub(crate) fn count_at_pace(&mut self, number: usize) {
        let core = self.cpus[number].core as usize;
        let cpu = &mut self.cpus[number];
        let physical = self.cores[core].physical;
        if cpu.vcpu == NO_INDEX || physical == NO_INDEX || cpu.pending.ticks == 0 {
            return;
        }
        let v = cpu.vcpu as usize;
        let user = self.vcpus[v].user as usize;
        let pending = std::mem::take(&mut cpu.pending);
        // Lines are fetched in time in CP, which may be still to come.
        let fetching = pending.fetching.min(pending.cp);
        cpu.pending.fetching = pending.fetching - fetching;
        let places = self.places(physical as usize);
        let counting = &mut self.counting;
        let (Some(counters), Some(paces)) = (&mut counting.counters, &mut counting.paces) else {
            return;
        };
        let problem = counting.footprints[user].1;
        let profile = &counting.profiles[user];
        let own = counters.run_at(
            number,
            profile,
            &paces.of[number],
            &PacedSegment {
                ticks: pending.ticks,
                cp: pending.cp,
                problem: ((u128::from(pending.emulation) * u128::from(problem)) >> 16) as u64,
                work: pending.work - pending.cp,
                both: pending.both > 0,
                fetching,
                changed: pending.changed,
                spinning: pending.spinning,
            },
        );
        for (level, place) in places.into_iter().enumerate() {
            let came = &mut paces.came[level];
            let remains = &mut paces.remains[level][v * came.len() + place];
            let displacing = came[place] - remains.came + own[level];
            let left = remains.held * counters.model.left(level, displacing);
            came[place] += own[level];
            *remains = Remains {
                held: counters.model.with(level, profile, left, own[level]),
                came: came[place],
            };
        }
    }
}
