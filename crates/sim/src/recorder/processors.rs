//! Samples of logical processors: what each did since it was varied on.

use std::io::Write;

use super::*;

/// A timer that counts down starts here.
const TIMER_START: u64 = 0x7FFF_FFFF_FFFF_FFFF;
/// A ratio of 1 in the fields of productivity and capacity factors.
const UNIT: u64 = 1024;

impl<W: Write> Recorder<W> {
    pub(super) fn processors(&mut self, world: &World, tod: Ticks) {
        // Of each type: work and time of busy cores, and the same while two threads ran.
        let mut sums = vec![(0, 0, 0, 0); world.scenario.machine.types.len()];
        for core in self.cores(world) {
            let state = &world.cores[core];
            let before = self.before[core];
            let kind = usize::from(world.shares[state.share as usize].kind);
            sums[kind].0 += state.work - before.work;
            sums[kind].1 += state.one - before.one + state.two - before.two;
            sums[kind].2 += state.paired_work - before.paired_work;
            sums[kind].3 += state.two - before.two;
        }
        let speedup = world.scenario.systems[self.system].cp.smt_speedup_pct / 100.0;
        let assumed = (speedup * UNIT as f64 + 0.5) as u64;
        // Cores of types with one thread are measured, too, in a system with multithreading.
        let smt = self.multithreading(world);
        for core in self.cores(world) {
            let state = &world.cores[core];
            let kind = usize::from(world.shares[state.share as usize].kind);
            let before = self.before[core];
            let busy = state.one - before.one + state.two - before.two;
            let work = state.work - before.work;
            let ratio = |over: u64, under: u64| (over * UNIT).checked_div(under).unwrap_or(0);
            let maximum = match ratio(sums[kind].2, sums[kind].3) {
                _ if state.threads == 1 => UNIT,
                0 => assumed,
                measured => measured,
            };
            let productivity = (ratio(work, busy) * UNIT).checked_div(maximum).unwrap_or(0);
            let factor = ratio(sums[kind].0, sums[kind].1);
            let dedicated = world.share_spec(state.share as usize).dedicated;
            let entitlement = entitled(world, core);
            for cpu in world.threads_of(core) {
                let thread = &world.cpus[cpu];
                if thread.state == CpuState::Offline {
                    continue;
                }
                let (number, which) = world.address(cpu);
                let begin = world.since_vary[cpu];
                let (times, counts) = (thread.times - begin.0, thread.counts - begin.1);
                let kind_code = code(world, core);
                let parts = &world.scenario.systems[self.system].cp.instructions;
                let kinds = Counts::new(parts, counts.simulated);
                self.write_record("D0R1", tod, |record| {
                    processor(record, number, kind_code);
                    record
                        .number("PLSPRVIS", counts.simulated)
                        .number("PLSDIAGT", kinds.diagnose)
                        .number("PLSEXTNX", counts.slices)
                        .number("PLSCTSS", counts.starts)
                        .number("PLSCTSI", counts.interrupts)
                        .number("PLSPIOPR", counts.pages[0])
                        .number("PLSPIOPW", counts.pages[1])
                        .number("PLSPAGPS", counts.pages[0]);
                });
                let online = times.total() - times.offline - times.parked;
                self.write_record("D0R2", tod, |record| {
                    processor(record, number, kind_code);
                    record
                        .number("PFXPRBTM", TIMER_START - times.emulation)
                        .number("PFXUTIME", times.user)
                        .number("PFXTMSYS", times.system)
                        .number("PFXTOTWT", times.wait)
                        .number("PFXRUNCI", counts.dispatches)
                        .number("PFXRUNCP", counts.dispatches)
                        .number("PFXFSTSG", kinds.fast_sigp)
                        .number("PFXFST44", kinds.fast_44)
                        .number(
                            "PLSWRUCP",
                            counts.simulated - kinds.fast_sigp - kinds.fast_44,
                        )
                        .number("PFXSPINT", times.spin)
                        .number("PFXSPINC", counts.spins)
                        .number("ZLCORE", u64::from(state.number))
                        .number("ZLTHRD", which)
                        .number("ZLPOLAR", polarity(world, core))
                        .number("ZLDED", u64::from(dedicated))
                        .number("ZLDVID", u64::from(state.vector))
                        .number("ZLENTITL", entitlement)
                        .number("ZLPARKTM", times.parked);
                    if smt {
                        record
                            .number("ZLCSAMPT", online)
                            .number("ZLCBUSYT", state.one + state.two)
                            .number("ZLCTHRDT", state.one + 2 * state.two)
                            .number("ZLCPRODN", productivity)
                            .number("ZLTCAPFN", factor)
                            .number("ZLTMAXFN", maximum);
                    }
                });
                self.write_record("D0R11", tod, |record| {
                    processor(record, number, kind_code);
                    record.number("ZLSIGP", kinds.sigp);
                });
                self.write_record("D3R2", tod, |record| {
                    processor(record, number, kind_code);
                    record
                        .number("ZLPGIN", counts.pages[0])
                        .number("ZLPGINF", counts.pages[0]);
                });
                self.write_record("D5R11", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .number("PLSLPSWE", kinds.lpswe);
                });
                self.write_record("D5R12", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .number("PLSDGXA8", kinds.diagnose_io)
                        .number("PLSDGX9C", kinds.diagnose_9c)
                        .number("PLSDGX44", kinds.diagnose_44)
                        .number("PLSDGX10", kinds.diagnose_other)
                        .number("PLSTOTDI", kinds.diagnose);
                });
                // One replaced the other.
                for name in ["D5R3", "D5R17"] {
                    self.write_record(name, tod, |record| {
                        processor(record, number, kind_code);
                        record
                            .number("HFCOUNT", counts.samples[0])
                            .number("HFUSERZ", counts.samples[1])
                            .number("HFUSERC", counts.queued);
                        if name == "D5R17" {
                            record.number("ZLSTEAL", counts.steals.iter().sum());
                        }
                    });
                }
            }
            self.before[core] = CoreBefore {
                one: state.one,
                two: state.two,
                work: state.work,
                paired_work: state.paired_work,
            };
        }
    }
}

/// The entitlement of a core, in hundredths of a percent of a physical one.
fn entitled(world: &World, core: usize) -> u64 {
    let state = &world.cores[core];
    let share = &world.shares[state.share as usize];
    let spec = world.scenario.partitions[share.partition as usize]
        .shares
        .iter()
        .find(|spec| spec.kind == share.kind);
    let Some(spec) = spec else { return 0 };
    let part = match state.polarity {
        _ if spec.dedicated => 1.0,
        Polarity::Horizontal => spec.entitlement / f64::from(spec.cores),
        Polarity::High => 1.0,
        Polarity::Medium => {
            (spec.entitlement - f64::from(spec.highs)) / f64::from(spec.mediums.max(1))
        }
        Polarity::Low => 0.0,
    };
    (part * 10_000.0 + 0.5) as u64
}
