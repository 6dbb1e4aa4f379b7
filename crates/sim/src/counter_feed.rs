//! Feeds the hardware counters with segments of work and their cache context.

use crate::counters::Counters;
use crate::run_segment::{Distance, RunSegment, Sharers};
use crate::state::{Counting, NO_INDEX};
use crate::world::World;

impl Counting {
    /// The counters of a world at its beginning.
    pub(crate) fn new(world: &World) -> Self {
        let machine = &world.scenario.machine;
        let Some(hardware) = &machine.counters else {
            return Self::default();
        };
        let core_of: Vec<u32> = world.cpus.iter().map(|cpu| cpu.core).collect();
        let counters = Counters::new(
            &hardware.table,
            &hardware.caches,
            &hardware.costs,
            machine.megahertz,
            machine.chips_per_drawer,
            &core_of,
        );
        let memory = |user: &crate::state::User| {
            &world.scenario.systems[user.system as usize].users[user.number as usize].memory
        };
        let footprint = |user| {
            let memory = memory(user);
            let problem = memory.problem_state_pct.clamp(0.0, 100.0) / 100.0;
            (
                (memory.footprint_mib * 1_024.0) as u64,
                (problem * 65_536.0) as u64,
            )
        };
        let place = |core: &crate::state::Core| {
            if core.home == NO_INDEX {
                core.number
            } else {
                world.physical[core.home as usize].number
            }
        };
        let chips: Vec<u32> = world
            .cores
            .iter()
            .map(|core| place(core) / machine.cores_per_chip.max(1))
            .collect();
        // Where CPI is time, logical cores come to all physical ones.
        let physical = world.physical.iter().map(|core| core.number);
        let physical = physical.map(|number| number / machine.cores_per_chip.max(1));
        let last = physical.chain(chips.iter().copied()).max().unwrap_or(0);
        let sharers = (0..world.cores.len()).map(|core| world.sharers(core));
        Self {
            active: true,
            profiles: world
                .users
                .iter()
                .map(|user| counters.model.profile(memory(user)))
                .collect(),
            footprints: world.users.iter().map(footprint).collect(),
            sharers: sharers.collect(),
            resident: vec![0; last as usize + 1],
            adds: vec![0; world.cpus.len()],
            counted: vec![(0, 0); world.cores.len()],
            chips,
            paces: machine.cpi_time.then(|| world.paces()),
            counters: Some(counters),
        }
    }

    /// The counters of a logical processor's set, in the order of their numbers.
    pub fn set(&self, cpu: usize, set: usize) -> Vec<u64> {
        self.counters
            .as_ref()
            .map_or_else(Vec::new, |counters| counters.set(cpu, set).collect())
    }
}

impl World {
    /// The other cores that run the system of a core.
    pub(crate) fn sharers(&self, core: usize) -> Sharers {
        let mut others = [0; 3];
        for other in 0..self.cores.len() {
            let place = &self.cores[other];
            // Where CPI is time, cores that are parked change no lines.
            let runs = self.counting.paces.is_none() || !place.parked;
            if other != core && place.system == self.cores[core].system && runs {
                others[self.distance(core, other)] += 1;
            }
        }
        Sharers::new(others)
    }

    /// Counts what ran on a logical processor, whose virtual CPU goes or is counted again.
    #[inline]
    pub(crate) fn count_piece(&mut self, number: usize) {
        if self.counting.active {
            self.count_segment(number);
        }
    }

    fn count_segment(&mut self, number: usize) {
        if self.counting.paces.is_some() {
            self.count_at_pace(number);
            return;
        }
        let counting = &mut self.counting;
        let Some(counters) = &mut counting.counters else {
            return;
        };
        let cpu = &mut self.cpus[number];
        let core = cpu.core as usize;
        let chip = counting.chips[core] as usize;
        counting.resident[chip] -= std::mem::take(&mut counting.adds[number]);
        if cpu.vcpu == NO_INDEX {
            return;
        }
        let user = self.vcpus[cpu.vcpu as usize].user as usize;
        let pending = std::mem::take(&mut cpu.pending);
        let problem = counting.footprints[user].1;
        let moved = Distance::ALL.get(usize::from(pending.moved).wrapping_sub(1));
        counters.run(
            number,
            RunSegment {
                memory: &counting.profiles[user],
                ticks: pending.ticks,
                work: pending.work,
                problem: ((u128::from(pending.emulation) * u128::from(problem)) >> 16) as u64,
                both: pending.both,
                moved: moved.copied(),
                other_work_on_chip: counting.resident[chip] as f64 / 1_024.0,
                sharers: counting.sharers[core],
            },
        );
    }

    /// Notes what runs on a logical processor now.
    #[inline]
    pub(crate) fn resides(&mut self, number: usize) {
        let counting = &mut self.counting;
        let cpu = &self.cpus[number];
        if counting.active && counting.paces.is_none() && cpu.vcpu != NO_INDEX {
            let user = self.vcpus[cpu.vcpu as usize].user as usize;
            let footprint = counting.footprints[user].0;
            counting.resident[counting.chips[cpu.core as usize] as usize] += footprint;
            counting.adds[number] = footprint;
        }
    }

    /// Brings the counters of cores up to date.
    pub(crate) fn count_cores(&mut self) {
        if let Some(counters) = &mut self.counting.counters {
            for (number, core) in self.cores.iter().enumerate() {
                let counted = &mut self.counting.counted[number];
                counters.run_core(number, core.one - counted.0, core.two - counted.1);
                *counted = (core.one, core.two);
            }
        }
    }
}
