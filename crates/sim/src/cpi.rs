//! CPI as time: the pace of work on a thread, from where the lines of its virtual CPU are and what is around it.
//!
//! Work is a number of instructions. Its pace is set when a virtual CPU comes to a thread, when its core comes to a
//! physical core, when the other thread of the core begins or ceases to run, and with each segment of work; what is around
//! it is taken to stay the same in between. The counters count with the same pace, so that CPI and its misses agree with
//! the time.
//!
//! A virtual CPU leaves lines in the caches of its core, chip and drawer. What comes to these caches while it is away
//! displaces them, so it fetches them again: from the chip's cache, the drawer's, that of another drawer, or memory. They
//! are in physical caches: other partitions displace them, too, and a logical core that PR/SM moves leaves them behind.

use crate::counters::{ColdLines, Counters, PacedSegment, Surroundings};
use crate::state::{CpuState, NO_INDEX, Paces, VcpuTimes};
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
        Paces {
            of: vec![Default::default(); self.cpus.len()],
            arrived: vec![false; self.cpus.len()],
            left: vec![Default::default(); self.vcpus.len()],
            came: [cores, last + 1, drawers].map(|places| vec![0.0; places]),
        }
    }

    /// The chip and the drawer of a physical core.
    fn chip_and_drawer(&self, physical: usize) -> (usize, usize) {
        let machine = &self.scenario.machine;
        let chip = self.physical[physical].number / machine.cores_per_chip.max(1);
        let drawer = chip / machine.chips_per_drawer.max(1);
        (chip as usize, drawer as usize)
    }

    /// Lines that have come to the caches of a physical core, its chip and its drawer.
    fn came(&self, paces: &Paces, physical: usize) -> [f64; 3] {
        let (chip, drawer) = self.chip_and_drawer(physical);
        let [cores, chips, drawers] = &paces.came;
        [cores[physical], chips[chip], drawers[drawer]]
    }

    /// What a virtual CPU's services, traffic and references are in proportion to: its time, or where CPI is time, its
    /// work.
    pub(crate) fn progress(&self, times: &VcpuTimes) -> Ticks {
        match self.counting.paces {
            Some(_) => times.work,
            None => times.emulation,
        }
    }

    /// A virtual CPU was put on a logical processor.
    pub(crate) fn comes(&mut self, number: usize) {
        if let Some(paces) = &mut self.counting.paces {
            paces.arrived[number] = false;
        }
    }

    /// A logical core came to a physical one.
    pub(crate) fn arrives(&mut self, core: usize) {
        if self.counting.paces.is_none() {
            return;
        }
        // What its virtual CPUs have on the chip where it was last is no longer there.
        for cpu in self.threads_of(core) {
            self.count_piece(cpu);
        }
        let physical = self.cores[core].physical as usize;
        self.counting.chips[core] = self.chip_and_drawer(physical).0 as u32;
        for cpu in self.threads_of(core) {
            self.comes(cpu);
        }
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

    /// The lines that the virtual CPU on a physical core fetches again.
    fn cold_lines(
        &self,
        counters: &Counters,
        paces: &Paces,
        v: usize,
        physical: usize,
    ) -> ColdLines {
        let kept = self.counting.profiles[self.vcpus[v].user as usize].kept();
        let last = &paces.left[v];
        let Some(core) = last.core else {
            return ColdLines {
                lines: kept,
                from: [0.0, 0.0, 0.0, 1.0],
            };
        };
        let core = core as usize;
        let mut came = self.came(paces, core);
        for (came, before) in came.iter_mut().zip(last.came) {
            *came -= before;
        }
        let [in_core, in_chip, in_drawer] = counters.stay(came);
        let lines = if core == physical {
            kept - (kept - last.cold.lines).max(0.0) * in_core
        } else {
            kept
        };
        let near = if in_core > in_chip { in_core } else { in_chip };
        let far = (1.0 - near) * in_drawer;
        let memory = 1.0 - near - far;
        let (old, new) = (self.chip_and_drawer(core), self.chip_and_drawer(physical));
        let from = if old.0 == new.0 {
            [near, far, 0.0, memory]
        } else if old.1 == new.1 {
            [0.0, near + far, 0.0, memory]
        } else {
            [0.0, 0.0, near + far, memory]
        };
        ColdLines { lines, from }
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
        let user = self.vcpus[v].user as usize;
        let sibling = self
            .threads_of(core)
            .find(|other| paired && *other != number && self.cpus[*other].vcpu != NO_INDEX)
            .map(|other| self.vcpus[self.cpus[other].vcpu as usize].user as usize);
        let (Some(mut counters), Some(mut paces)) =
            (self.counting.counters.take(), self.counting.paces.take())
        else {
            return;
        };
        let counting = &self.counting;
        let memory = &counting.profiles[user];
        if !paces.arrived[number] {
            paces.arrived[number] = true;
            paces.left[v].cold = self.cold_lines(&counters, &paces, v, physical as usize);
        }
        let pace = counters.pace(&Surroundings {
            memory,
            sibling: sibling.map(|user| &counting.profiles[user]),
            other_work_on_chip: counting.resident[counting.chips[core] as usize] as f64 / 1_024.0,
            sharers: counting.sharers[core],
            cold: paces.left[v].cold,
            work,
            slice,
        });
        paces.of[number] = pace;
        self.counting.counters = Some(counters);
        self.counting.paces = Some(paces);
        self.cpus[number].speed = pace.speed().scaled_by(self.speed);
        self.resides(number);
    }

    /// Counts what ran on a logical processor at its pace.
    pub(crate) fn count_at_pace(&mut self, number: usize) {
        let core = self.cpus[number].core as usize;
        let chip = self.counting.chips[core] as usize;
        self.counting.resident[chip] -= std::mem::take(&mut self.counting.adds[number]);
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
        let (chip, drawer) = self.chip_and_drawer(physical as usize);
        let counting = &mut self.counting;
        let (Some(counters), Some(paces)) = (&mut counting.counters, &mut counting.paces) else {
            return;
        };
        let problem = counting.footprints[user].1;
        let inflow = counters.run_at(
            number,
            &counting.profiles[user],
            &paces.of[number],
            &PacedSegment {
                ticks: pending.ticks,
                cp: pending.cp,
                problem: ((u128::from(pending.emulation) * u128::from(problem)) >> 16) as u64,
                work: pending.work - pending.cp,
                both: pending.both > 0,
                fetching,
                changed: pending.changed,
            },
        );
        let places = [physical as usize, chip, drawer];
        let left = &mut paces.left[v];
        for (level, (place, came)) in places.into_iter().zip(inflow.came).enumerate() {
            paces.came[level][place] += came;
            left.came[level] = paces.came[level][place];
        }
        left.core = Some(physical);
        left.cold.lines = (left.cold.lines - inflow.again).max(0.0);
    }
}
