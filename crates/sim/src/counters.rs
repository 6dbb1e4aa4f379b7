//! Hardware counters (CPU MF) of every thread, by a model of footprint, sharing and distance.
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
//! **Distance.** After a move, lines that would be in the core's cache come from the core that was left: a
//! part of those that it held. What is not loaded in a segment stays for those that follow.
//!
//! **Cost.** A miss costs cycles by where its line comes from, and a TLB miss too. Work at the speed of a
//! single thread has the instructions that these costs allow it by itself on the core; in its time it has no
//! more than the costs in effect allow. So cycles per instruction rise with misses whether the time of a
//! segment was longer because of them (multithreading, the cost of a move) or not; what is longer beyond the
//! cost of misses counts as complexity of instructions.
//!
//! **Time.** Where CPI is time (`Machine::cpi_time`), work is a number of instructions, and its time follows: [`Pace`]. A
//! thread waits for the other one while that uses the pipeline, as one of two customers of a queueing network whose other
//! station is waiting for misses. What a virtual CPU has of each cache takes the place of the cache's size in the power law:
//! each miss adds a line, so that a cold cache fills with the power 2/3 of instructions, and each line that comes, of
//! whatever, displaces any other one. What is held of the core's cache, the chip's, the drawer's and another drawer's says
//! where lines come from after a move.
//!
//! Cycles are exact: ticks times megahertz, with what is left over carried on. Lines that came from somewhere
//! add up to L1 misses, and what happens in problem state is at most all that happens.

use crate::hardware::{Caches, Costs, Role, SOURCES, Side, Source, Table};
use crate::profile::{LINES_PER_MIB, Profile};
use crate::run_segment::{Held, PacedSegment, RunSegment, Sharers, Surroundings};
use crate::scenario::Memory;
use crate::time::{MICROSECOND, Ratio, Ticks};

/// Sources of lines left on the previous core, changed by another core, and in memory, by distance.
const LEFT: [Source; 3] = [Source::Chip, Source::Drawer, Source::Machine];
const CHANGED: [Source; 3] = [
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
    rates: Rates,
    /// Cycles per instruction: these, with the core for itself, and alone on the machine.
    cpi: f64,
    single: f64,
    alone: f64,
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

/// Cycles of ticks, exactly.
#[derive(Clone, Copy, Debug, Default)]
struct Cycles {
    whole: u64,
    left: u64,
}

impl Cycles {
    fn add(&mut self, ticks: Ticks, megahertz: u64) {
        let sum = u128::from(ticks) * u128::from(megahertz) + u128::from(self.left);
        self.whole += (sum / u128::from(MICROSECOND)) as u64;
        self.left = (sum % u128::from(MICROSECOND)) as u64;
    }
}

/// Sums of what is not whole; their integer parts are the counts. Rounding never makes the sum of smaller
/// numbers the larger one, and loses less than one of 2^53.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    cycles: Cycles,
    problem_cycles: Cycles,
    instructions: f64,
    problem_instructions: f64,
    sourced: [f64; SOURCES],
    outstanding: f64,
    translations: f64,
    crypto: f64,
    blocked: f64,
    /// Lines that are still where the virtual CPU came from.
    left_behind: f64,
    from: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Core {
    one: Cycles,
    two: Cycles,
}

/// Source of a counter's value: one of several counters with the same role.
#[derive(Clone, Copy, Debug)]
struct Shown {
    role: Role,
    nth: u64,
    of: u64,
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
struct CacheContext {
    memory: Profile,
    other_work_on_chip: f64,
    sharers: Sharers,
}

/// Of an instruction: L1 misses by where their lines come from, TLB misses, and the cycles that these cost.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    sourced: [f64; SOURCES],
    tlb: f64,
    cost: f64,
}

/// Rates that were computed last. They take longer than all else of a segment, and most segments are like others.
#[derive(Clone, Debug)]
struct Recent(Vec<(CacheContext, Rates)>);

impl Recent {
    /// Places of rates, as a power of two: few enough for the processor's L1 cache.
    const BITS: u32 = 6;

    fn new() -> Self {
        // Right from the start: memory without misses costs nothing.
        Self(vec![Default::default(); 1 << Self::BITS])
    }

    fn place(around: &CacheContext) -> usize {
        let CacheContext {
            memory, sharers, ..
        } = around;
        let mixed = memory.of_footprint.to_bits()
            ^ around.other_work_on_chip.to_bits().rotate_left(7)
            ^ sharers.0[0].to_bits().rotate_left(14);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Self::BITS)) as usize
    }
}

/// The counters of all threads.
#[derive(Clone, Debug)]
pub struct Counters {
    caches: Caches,
    costs: Costs,
    megahertz: u64,
    chips: f64,
    /// `1/√S` of the cache of the core, of what its TLB covers, and of the cache of the chip.
    of_core: f64,
    of_tlb: f64,
    of_chip: f64,
    /// Part of the cycles without misses in which a thread keeps the other from the pipeline.
    pipeline: f64,
    instruction_part: Ratio,
    at_once: Ratio,
    tlb_cycles: Ratio,
    crypto_cycles: Ratio,
    sets: Vec<Vec<Option<Shown>>>,
    core_of: Vec<u32>,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    recent: Recent,
}

impl Counters {
    /// All at 0. The core of each thread is given; there are `chips` in a drawer.
    #[must_use]
    pub fn new(
        table: &Table,
        caches: &Caches,
        costs: &Costs,
        megahertz: u32,
        chips: u32,
        core_of: &[u32],
    ) -> Self {
        let shown = |number: u32| {
            let role = table.counters.iter().find(|one| one.number == number)?.role;
            let alike = table.counters.iter().filter(|one| one.role == role);
            Some(Shown {
                role,
                nth: alike.clone().filter(|one| one.number < number).count() as u64,
                of: alike.count() as u64,
            })
        };
        let numbers = table
            .sets
            .iter()
            .map(|set| set.first..set.first + set.count);
        let cores = core_of.iter().max().map_or(0, |last| *last as usize + 1);
        Self {
            caches: *caches,
            costs: *costs,
            megahertz: u64::from(megahertz),
            chips: f64::from(chips.max(1)),
            of_core: 1.0 / caches.core_mib.sqrt(),
            of_tlb: 1.0 / costs.tlb_reach_mib.sqrt(),
            of_chip: 1.0 / caches.chip_mib.sqrt(),
            pipeline: costs.pipeline_pct / 100.0,
            instruction_part: Ratio::from_f64(costs.instruction_misses_pct / 100.0),
            at_once: Ratio::from_f64(costs.misses_at_once),
            tlb_cycles: Ratio::from_f64(costs.tlb_cycles * costs.misses_at_once),
            crypto_cycles: Ratio::from_f64(costs.crypto_cycles),
            sets: numbers.map(|set| set.map(shown).collect()).collect(),
            core_of: core_of.to_vec(),
            threads: vec![Thread::default(); core_of.len()],
            cores: vec![Core::default(); cores],
            recent: Recent::new(),
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
        let second = self.megahertz as f64 * 1e6;
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
        let to_cycles = self.megahertz as f64 / MICROSECOND as f64;
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

    /// A thread ran something at a pace; returns the lines that came to the caches of its core, chip and drawer.
    pub fn run_at(
        &mut self,
        cpu: usize,
        memory: &Profile,
        pace: &Pace,
        segment: &PacedSegment,
    ) -> [f64; 3] {
        let PacedSegment { ticks, cp, .. } = *segment;
        if ticks == 0 {
            return [0.0; 3];
        }
        let to_cycles = self.megahertz as f64 / MICROSECOND as f64;
        let worked = segment.work as f64 * to_cycles;
        let fetching = segment.fetching as f64 * to_cycles;
        let own = worked / pace.alone;
        let spinning = segment.spinning as f64 * to_cycles;
        let in_cp = (cp as f64 * to_cycles - fetching - spinning).max(0.0);
        let instructions = own + in_cp / pace.cpi;
        let Rates { sourced, tlb, cost } = pace.rates;
        let mut lines = sourced.map(|rate| instructions * rate);
        for (place, changed) in CHANGED.into_iter().zip(segment.changed) {
            lines[place as usize] += changed;
        }
        let thread = &mut self.threads[cpu];
        let problem = segment.problem.min(ticks);
        thread.cycles.add(ticks, self.megahertz);
        thread.problem_cycles.add(problem, self.megahertz);
        // A loop that waits for a lock has what it needs in the L1 cache.
        thread.instructions += instructions + spinning / memory.perfect;
        if ticks > cp {
            thread.problem_instructions += own * (problem as f64 / (ticks - cp) as f64).min(1.0);
        }
        for (sum, lines) in thread.sourced.iter_mut().zip(lines) {
            *sum += lines;
        }
        thread.outstanding += instructions * cost + fetching;
        thread.translations += instructions * tlb;
        let functions = worked * memory.crypto;
        thread.crypto += functions;
        if segment.both {
            thread.blocked += functions * memory.crypto_busy;
        }
        let all: f64 = lines.iter().sum();
        let of = |source: Source| lines[source as usize];
        let core = all - of(Source::Core);
        let chip = core - of(Source::Chip) - of(Source::ChipChanged);
        let drawer = chip - of(Source::Drawer) - of(Source::DrawerChanged);
        [core, chip, drawer].map(|lines| lines.max(0.0))
    }

    /// A thread ran something.
    pub fn run(&mut self, cpu: usize, segment: RunSegment) {
        let RunSegment { memory, ticks, .. } = segment;
        if ticks == 0 {
            return;
        }
        let problem = segment.problem.min(ticks);
        let to_cycles = self.megahertz as f64 / MICROSECOND as f64;
        let worked = segment.work.min(ticks) as f64 * to_cycles;
        let mut time = ticks as f64 * to_cycles;

        let around = CacheContext {
            memory: *memory,
            other_work_on_chip: segment.other_work_on_chip,
            sharers: segment.sharers,
        };
        let mut rates = self.alone(&around);
        let at_most = worked / (memory.perfect + rates.cost);
        let mut both = 0.0;
        if segment.both > 0 {
            both = segment.both.min(ticks) as f64 / ticks as f64;
            rates = self.rates(&around, (1.0 + both).sqrt());
        }
        let Rates { sourced, tlb, cost } = rates;

        let thread = &mut self.threads[cpu];
        if let Some(distance) = segment.moved {
            thread.left_behind = memory.kept;
            thread.from = distance as usize;
        }
        // While lines remain in the old cache, they are read from there and not from the core's own.
        let mut instructions = 0.0;
        let mut fetched = 0.0;
        let mut farther = 0.0;
        let near = sourced[Source::Core as usize];
        if thread.left_behind > 0.0 && near > 0.0 {
            farther = self.costs.miss_cycles[thread.from + 1] - self.costs.miss_cycles[0];
            let slowly = memory.perfect + cost + near * farther;
            let first = (thread.left_behind / near).min(time / slowly);
            time -= first * slowly;
            instructions = first.min(at_most);
            fetched = (instructions * near).min(thread.left_behind);
            thread.left_behind -= fetched;
        }
        if time > 0.0 {
            instructions += (time / (memory.perfect + cost)).min(at_most - instructions);
        }

        thread.cycles.add(ticks, self.megahertz);
        thread.problem_cycles.add(problem, self.megahertz);
        thread.instructions += instructions;
        thread.problem_instructions += instructions * (problem as f64 / ticks as f64);
        let mut lines = sourced.map(|rate| instructions * rate);
        lines[Source::Core as usize] = (lines[Source::Core as usize] - fetched).max(0.0);
        lines[LEFT[thread.from] as usize] += fetched;
        for (sum, lines) in thread.sourced.iter_mut().zip(lines) {
            *sum += lines;
        }
        thread.outstanding += instructions * cost + fetched * farther;
        thread.translations += instructions * tlb;
        let functions = worked * memory.crypto;
        thread.crypto += functions;
        thread.blocked += functions * both * memory.crypto_busy;
    }

    /// The rates of a thread that has its core for itself.
    fn alone(&mut self, around: &CacheContext) -> Rates {
        let place = Recent::place(around);
        if self.recent.0[place].0 != *around {
            self.recent.0[place] = (*around, self.rates(around, 1.0));
        }
        self.recent.0[place].1
    }

    /// The rates with caches of the core that are smaller by the square of `narrower`.
    fn rates(&self, around: &CacheContext, narrower: f64) -> Rates {
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

    /// The core of a thread ran, so long with one thread and so long with two.
    pub fn run_core(&mut self, core: usize, one: Ticks, two: Ticks) {
        let counts = &mut self.cores[core];
        counts.one.add(one, self.megahertz);
        counts.two.add(two, self.megahertz);
    }

    /// Returns the counters of a set by its index in the table, in the order of their numbers.
    pub fn set(&self, cpu: usize, set: usize) -> impl Iterator<Item = u64> {
        let value = move |shown: &Option<Shown>| shown.map_or(0, |shown| self.value(cpu, shown));
        self.sets[set].iter().map(value)
    }

    fn value(&self, cpu: usize, shown: Shown) -> u64 {
        let thread = &self.threads[cpu];
        let core = &self.cores[self.core_of[cpu] as usize];
        let sourced = |from: Source| thread.sourced[from as usize] as u64;
        let misses = |side| {
            thread
                .sourced
                .iter()
                .map(|from| self.side(*from as u64, side))
                .sum()
        };
        let crypto_cycles = |functions: u64| self.crypto_cycles.times(functions);
        let count = match shown.role {
            Role::Cycles => thread.cycles.whole,
            Role::Instructions => thread.instructions as u64,
            Role::ProblemCycles => thread.problem_cycles.whole,
            Role::ProblemInstructions => thread.problem_instructions as u64,
            Role::Misses(side) => misses(side),
            Role::Penalty(side) => self.side(self.at_once.times(thread.outstanding as u64), side),
            Role::Sourced(side, from) => self.side(sourced(from), side),
            Role::Outstanding => thread.outstanding as u64,
            Role::Translations(side) => self.side(thread.translations as u64, side),
            Role::TranslationCycles(side) => {
                self.side(self.tlb_cycles.times(thread.translations as u64), side)
            }
            Role::PageEntries => thread.translations as u64,
            Role::CryptoFunctions => thread.crypto as u64,
            Role::CryptoCycles => crypto_cycles(thread.crypto as u64),
            Role::CryptoBlockedFunctions => thread.blocked as u64,
            // One that waits finds the other function half done.
            Role::CryptoBlockedCycles => crypto_cycles(thread.blocked as u64) / 2,
            Role::OneThread => core.one.whole,
            Role::TwoThreads => core.two.whole,
        };
        // The parts of counters with the same role add up to the count, and none ever decreases.
        (count + shown.nth) / shown.of
    }

    /// The part of a side; both sides add up, and neither ever decreases.
    fn side(&self, count: u64, side: Side) -> u64 {
        let instruction = self.instruction_part.times(count);
        match side {
            Side::Both => count,
            Side::Instruction => instruction,
            Side::Data => count - instruction,
        }
    }
}
