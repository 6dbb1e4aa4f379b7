//! Hardware counters (CPU MF) of every thread: what ran on it, counted with the rates of misses of [`MissModel`].
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
//! Cycles are exact: ticks times megahertz, with what is left over carried on. Lines that came from somewhere
//! add up to L1 misses, and what happens in problem state is at most all that happens.

use crate::hardware::{Caches, Costs, Role, SOURCES, Side, Source, Table};
use crate::misses::{CHANGED, CacheContext, MissModel, Pace, Rates};
use crate::profile::Profile;
use crate::run_segment::{PacedSegment, RunSegment};
use crate::time::{MICROSECOND, Ratio, Ticks};

/// Sources of lines left on the previous core, by distance.
const LEFT: [Source; 3] = [Source::Chip, Source::Drawer, Source::Machine];

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
    pub model: MissModel,
    miss_cycles: [f64; 5],
    megahertz: u64,
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
            model: MissModel::new(caches, costs, megahertz, chips),
            miss_cycles: costs.miss_cycles,
            megahertz: u64::from(megahertz),
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
            rates = self.model.rates(&around, (1.0 + both).sqrt());
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
            farther = self.miss_cycles[thread.from + 1] - self.miss_cycles[0];
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
            self.recent.0[place] = (*around, self.model.rates(around, 1.0));
        }
        self.recent.0[place].1
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
