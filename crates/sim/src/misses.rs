//! Misses per instruction by where their lines come from, and the cycles that they cost.
//!
//! **Misses.** By the power law of caches (Hartstein, Srinivasan, Puzak, Emma, "Cache miss behavior: is it
//! √2?", 2006), instructions miss a cache of size `S` in proportion to `1/√S - 1/√F`: a cache that holds the
//! footprint `F` has no misses. `l1_misses` are those of the L1 cache, so the law gives those of every other
//! level, and what one level misses and the next does not comes from there; the same holds for what the TLB
//! covers. Two running threads halve the caches of their core and its TLB. Of the caches of chip and drawer,
//! a workload has the part that its footprint is of all that runs there; the other chips of the drawer are
//! taken to be as full as the own one. The drawer's cache holds lines besides those of the chip's.
//!
//! **Sharing.** Of the misses, the shared part of the footprint was last changed by any of the cores that run
//! the same system with equal probability; if by another one, the line comes from there by intervention.
//! Memory is spread over the drawers like these cores.
//!
//! **Time.** Where CPI is time (`Machine::cpi_time`), work is a number of instructions, and its time follows: [`Pace`]. A
//! thread waits for the other one while that uses the pipeline, as one of two customers of a queueing network whose other
//! station is waiting for misses. What a virtual CPU has of each cache takes the place of the cache's size in the power law:
//! each miss adds a line, so that a cold cache fills with the power 2/3 of instructions, and each line that comes, of
//! whatever, displaces any other one. What is held of the core's cache, the chip's, the drawer's and another drawer's says
//! where lines come from after a move.

use crate::hardware::{Caches, Costs, SOURCES, Source};
use crate::profile::{LINES_PER_MIB, Profile};
use crate::run_segment::{Held, Sharers, Surroundings};
use crate::scenario::Memory;
use crate::time::{MICROSECOND, Ratio};

/// Sources of lines changed by another core, by distance.
pub(crate) const CHANGED: [Source; 3] = [
    Source::ChipChanged,
    Source::DrawerChanged,
    Source::MachineChanged,
];
/// Segments without end are taken to have this many instructions.
const MOST_INSTRUCTIONS: f64 = 1e9;
/// Place of the cost of each source.
const LEVELS: [usize; SOURCES] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// How work on a thread proceeds, until something around it changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    pub(crate) rates: Rates,
    /// Cycles per instruction: these, with the core for itself, and alone on the machine.
    pub(crate) cpi: f64,
    single: f64,
    pub(crate) alone: f64,
}

impl Pace {
    /// Time of what CP does meanwhile, relative to that alone on the machine.
    #[must_use]
    pub fn stretch(&self) -> Ratio {
        Ratio::from_f64(self.cpi / self.alone)
    }

    /// Speed of work relative to that alone on the machine.
    #[must_use]
    pub fn speed(&self) -> Ratio {
        Ratio::from_f64(self.alone / self.cpi)
    }

    /// Time with the core for itself, relative to the time with two threads.
    #[must_use]
    pub fn single(&self) -> Ratio {
        Ratio::from_f64(self.single / self.cpi)
    }
}

/// Misses per instruction: of the L1 cache, beyond the caches of core, chip, drawer and machine, and of the TLB.
#[derive(Clone, Copy, Debug)]
struct Misses {
    l1: f64,
    core: f64,
    chip: f64,
    drawer: f64,
    machine: f64,
    tlb: f64,
}

/// Inputs of the rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CacheContext {
    pub(crate) memory: Profile,
    pub(crate) other_work_on_chip: f64,
    pub(crate) sharers: Sharers,
}

/// Of an instruction: L1 misses by where their lines come from, TLB misses, and the cycles that these cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rates {
    pub(crate) sourced: [f64; SOURCES],
    pub(crate) tlb: f64,
    pub(crate) cost: f64,
}

/// The rates of misses on a machine.
#[derive(Clone, Debug)]
pub struct MissModel {
    caches: Caches,
    costs: Costs,
    megahertz: f64,
    chips: f64,
    /// `1/√S` of the cache of the core, of what its TLB covers, and of the cache of the chip.
    of_core: f64,
    of_tlb: f64,
    of_chip: f64,
    /// Part of the cycles without misses in which a thread keeps the other from the pipeline.
    pipeline: f64,
}

impl MissModel {
    /// There are `chips` in a drawer.
    #[must_use]
    pub fn new(caches: &Caches, costs: &Costs, megahertz: u32, chips: u32) -> Self {
        Self {
            caches: *caches,
            costs: *costs,
            megahertz: f64::from(megahertz),
            chips: f64::from(chips.max(1)),
            of_core: 1.0 / caches.core_mib.sqrt(),
            of_tlb: 1.0 / costs.tlb_reach_mib.sqrt(),
            of_chip: 1.0 / caches.chip_mib.sqrt(),
            pipeline: costs.pipeline_pct / 100.0,
        }
    }

    /// Returns the memory profile of this character on this machine.
    #[must_use]
    pub fn profile(&self, memory: &Memory) -> Profile {
        let Caches {
            l1_mib, core_mib, ..
        } = self.caches;
        // What the L1 cache holds has the misses that it has, and none beyond.
        let footprint = memory.footprint_mib.max(l1_mib);
        let l1_misses = memory.l1_misses / 100.0;
        let of_footprint = 1.0 / footprint.sqrt();
        let below_l1 = 1.0 / l1_mib.sqrt() - of_footprint;
        let second = self.megahertz * 1e6;
        let crypto_busy = memory.crypto_rate * self.costs.crypto_cycles / second;
        let possible = if crypto_busy > 1.0 {
            1.0 / crypto_busy
        } else {
            1.0
        };
        let mut profile = Profile {
            shared: memory.shared_pct / 100.0,
            perfect: 1.0 / memory.instructions_per_cycle,
            alone: 0.0,
            l1_misses,
            slope: if below_l1 > 0.0 {
                l1_misses / below_l1
            } else {
                0.0
            },
            footprint,
            of_footprint,
            kept: footprint.min(core_mib) * LINES_PER_MIB * self.costs.kept_pct / 100.0,
            crypto: memory.crypto_rate / second * possible,
            crypto_busy: crypto_busy * possible,
        };
        let around = CacheContext {
            memory: profile,
            ..CacheContext::default()
        };
        profile.alone = profile.perfect + self.rates(&around, 1.0).cost;
        profile
    }

    /// How work proceeds now.
    #[must_use]
    pub fn pace(&self, now: &Surroundings) -> Pace {
        let Surroundings {
            memory,
            held,
            sharers,
            ..
        } = *now;
        let to_cycles = self.megahertz / MICROSECOND as f64;
        let work = now.work.min(now.slice) as f64 * to_cycles;
        let ahead = (work / memory.alone).clamp(1.0, MOST_INSTRUCTIONS);
        let rates = self.rates_from(memory, held, ahead, sharers, 1.0);
        let single = memory.perfect + rates.cost;
        let mut pace = Pace {
            rates,
            cpi: single,
            single,
            alone: memory.alone,
        };
        if let Some((sibling, of_sibling)) = now.sibling {
            let two = 2.0_f64.sqrt();
            pace.rates = self.rates_from(memory, held, ahead, sharers, two);
            let waits = sibling.perfect
                + self
                    .rates_from(sibling, of_sibling, ahead, sharers, two)
                    .cost;
            let busy = self.pipeline * sibling.perfect / waits;
            pace.cpi = memory.perfect * (1.0 + busy) + pace.rates.cost;
        }
        pace
    }

    /// The mean rates of a virtual CPU that holds so much of the caches, over the next instructions.
    fn rates_from(
        &self,
        memory: &Profile,
        held: Held,
        instructions: f64,
        sharers: Sharers,
        narrower: f64,
    ) -> Rates {
        let mut least = self.caches.l1_mib;
        let mut misses = [0.0; 4];
        for (level, size) in self.sizes().into_iter().enumerate() {
            // A larger cache has what a smaller one has.
            least = held[level].max(least);
            misses[level] = memory.filling(least, size, instructions);
        }
        misses[3] = memory.beyond(1.0 / held[3].max(least).sqrt());
        self.rates_of(&self.misses_of(memory, misses, narrower), memory, sharers)
    }

    /// Sizes of the caches of core, chip and drawer, each with the smaller ones, in MiB.
    const fn sizes(&self) -> [f64; 3] {
        let Caches {
            core_mib,
            chip_mib,
            drawer_mib,
            ..
        } = self.caches;
        [core_mib, chip_mib, chip_mib + drawer_mib]
    }

    /// The part of what a cache of a level has that is left after these lines came to it.
    #[must_use]
    pub fn left(&self, level: usize, came: f64) -> f64 {
        // Each line that comes displaces any other one: nearly an exponential function.
        let eighth = 1.0 + came / (8.0 * self.sizes()[level] * LINES_PER_MIB);
        let fourth = eighth * eighth;
        let half = fourth * fourth;
        1.0 / (half * half)
    }

    /// What a virtual CPU has in a cache of a level after these of its lines came to what was left.
    #[must_use]
    pub fn with(&self, level: usize, memory: &Profile, left: f64, own: f64) -> f64 {
        let held = left + own / LINES_PER_MIB;
        held.min(self.sizes()[level]).min(memory.footprint)
    }

    /// The rates with caches of the core that are smaller by the square of `narrower`.
    pub(crate) fn rates(&self, around: &CacheContext, narrower: f64) -> Rates {
        let memory = &around.memory;
        let Caches {
            chip_mib,
            drawer_mib,
            ..
        } = self.caches;
        let others = around.other_work_on_chip * memory.of_footprint * memory.of_footprint;
        let on_chip = 1.0 + others;
        let in_drawer = 1.0 + others * self.chips;
        let of_drawer = on_chip * in_drawer / (chip_mib * in_drawer + drawer_mib * on_chip);
        let of_drawer = of_drawer.sqrt();
        let of_size = [
            narrower * self.of_core,
            on_chip.sqrt() * self.of_chip,
            of_drawer,
            of_drawer,
        ];
        let beyond = of_size.map(|of_size| memory.beyond(of_size));
        let misses = self.misses_of(memory, beyond, narrower);
        self.rates_of(&misses, memory, around.sharers)
    }

    fn rates_of(&self, misses: &Misses, memory: &Profile, sharers: Sharers) -> Rates {
        let sourced = self.sourced(memory.shared, sharers, misses);
        let cost = self.cost(misses, &sourced);
        let tlb = misses.tlb;
        Rates { sourced, tlb, cost }
    }

    /// Misses per instruction, from those beyond the caches of core, chip, drawer and machine alone; L1 cache and TLB are
    /// smaller by the square of `narrower`.
    fn misses_of(&self, memory: &Profile, beyond: [f64; 4], narrower: f64) -> Misses {
        let [core, chip, drawer, machine] = beyond;
        let chip = core.min(chip);
        let drawer = chip.min(drawer);
        Misses {
            l1: memory.l1_misses * narrower,
            core,
            chip,
            drawer,
            machine: drawer.min(machine),
            tlb: memory.beyond(narrower * self.of_tlb) * self.costs.tlb_misses_pct / 100.0,
        }
    }

    /// L1 misses per instruction by where their lines come from.
    fn sourced(&self, shared: f64, sharers: Sharers, misses: &Misses) -> [f64; SOURCES] {
        let Sharers(places) = sharers;
        let changed = shared * misses.l1;
        let own = 1.0 - shared * (places[0] + places[1] + places[2]);
        // Memory is spread over the drawers like the cores of the system, and evenly over the chips of each.
        let memory = own * misses.machine;
        let elsewhere = memory * places[2];
        let here = (memory - elsewhere) / self.chips;
        let mut sourced = [0.0; SOURCES];
        sourced[Source::Core as usize] = own * (misses.l1 - misses.core);
        sourced[Source::Chip as usize] = own * (misses.core - misses.chip);
        sourced[Source::Drawer as usize] = own * (misses.chip - misses.drawer);
        sourced[Source::Machine as usize] = own * (misses.drawer - misses.machine);
        for (from, place) in CHANGED.into_iter().zip(places) {
            sourced[from as usize] = changed * place;
        }
        sourced[Source::ChipMemory as usize] = here;
        sourced[Source::DrawerMemory as usize] = memory - elsewhere - here;
        sourced[Source::MachineMemory as usize] = elsewhere;
        sourced
    }

    /// Cycles per instruction that misses cost.
    fn cost(&self, misses: &Misses, sourced: &[f64; SOURCES]) -> f64 {
        let mut cycles = misses.tlb * self.costs.tlb_cycles;
        for (rate, level) in sourced.iter().zip(LEVELS) {
            cycles += rate * self.costs.miss_cycles[level];
        }
        cycles
    }
}
