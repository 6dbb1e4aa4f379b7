//! Writes the monitor records of a simulated z/VM system as a MONWRITE file.
//!
//! Each function writes the records of one topic from the state at the end of an interval. Fields for which
//! nothing is simulated stay zero.

mod cluster;
mod configuration;
mod counters;
mod devices;
mod events;
mod linux;

use std::io::Write;

use zlens_frames::zvm::{Class, Group, WriteError, Writer};

use crate::encode::{EncodeError, Encoder};
use crate::instructions::{Counts, part};
use crate::scenario::{PartitionShare, Share, Volume};
use crate::state::{CpuState, NO_INDEX, Polarity, VcpuState, VcpuTimes};
use crate::storage::{Available, Frames, PAGES};
use crate::time::{MICROSECOND, SECOND, Ticks, seconds};
use crate::world::{EventKind, RecordedEvent, VcpuUsage, World};

/// A timer that counts down starts here.
const TIMER_START: u64 = 0x7FFF_FFFF_FFFF_FFFF;
/// First bytes of the domain masks of a control record's entry.
const MONITOR: u8 = 0x40;
const EVENTS: u8 = 0x7E;
const SAMPLES: u8 = 0xFE;
/// Places of the first record in its frame.
const SAMPLE_START: u32 = 0x0400;
const EVENT_START: u32 = 0x0C38;
/// Bytes of a MiB.
pub(crate) const MIB: f64 = 1_048_576.0;
/// A ratio of 1 in the fields of productivity and capacity factors.
const UNIT: u64 = 1024;
/// Virtual device number of the minidisk that seeks are for.
const MINIDISK: u64 = 0x0100;
/// Records of one group: a group has less than 16 MB.
const GROUP: usize = 20_000;

/// Counter sets with their bits in the mask of active ones.
const SETS: [(&str, u64); 5] = [
    ("basic", 2),
    ("problem", 4),
    ("crypto", 8),
    ("extended", 1),
    (MT_DIAGNOSTIC, 32),
];
/// The set of a core's multithreading counters, which has a record of its own.
const MT_DIAGNOSTIC: &str = "mt_diag";
/// Bytes of counters in the first of two records.
const FIRST_BYTES: usize = 1_000;

/// Every record that is written, for the plan of layouts.
pub const RECORDS: &[&str] = &[
    "D0R1", "D0R2", "D0R3", "D0R8", "D0R10", "D0R11", "D0R15", "D0R16", "D0R17", "D0R19", "D0R20",
    "D0R23", "D1R4", "D1R5", "D1R6", "D1R7", "D1R8", "D1R9", "D1R11", "D1R15", "D1R16", "D1R23",
    "D1R24", "D1R25", "D1R26", "D1R27", "D1R28", "D1R29", "D2R9", "D3R1", "D3R2", "D3R4", "D3R8",
    "D4R1", "D4R2", "D4R3", "D4R4", "D4R9", "D4R11", "D4R12", "D4R13", "D5R1", "D5R2", "D5R3",
    "D5R11", "D5R12", "D5R13", "D5R16", "D5R17", "D5R19", "D5R20", "D5R21", "D6R1", "D6R2", "D6R3",
    "D6R4", "D6R21", "D6R26", "D6R28", "D6R36", "D6R39", "D7R1", "D8R1", "D8R4", "D9R2", "D9R4",
    "D10R2", "D11R1", "D11R2",
];

/// Error of recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Records cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the monitor data of one system.
#[derive(Debug)]
pub struct Recorder<W: Write> {
    pub(crate) system: usize,
    encoder: Encoder,
    writer: Writer<W>,
    records: Vec<Vec<u8>>,
    before: Vec<CoreBefore>,
    available: Available,
    since: Ticks,
    frames: Option<Frames>,
    linux: Vec<LinuxBefore>,
}

/// A core at the end of the interval before, for ratios of the interval.
#[derive(Clone, Copy, Debug, Default)]
struct CoreBefore {
    one: Ticks,
    two: Ticks,
    work: Ticks,
    paired_work: Ticks,
}

/// A Linux guest's load averages at the end of the interval before, and how long its virtual CPUs had wanted to
/// run.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxBefore {
    averages: [f64; 3],
    wanted: Ticks,
}

impl<W: Write> Recorder<W> {
    /// A recorder of a system, with the plan of layouts for [`RECORDS`].
    ///
    /// # Errors
    /// If the plan cannot be read.
    pub fn new(system: usize, plan: &str, out: W) -> Result<Self, RecordError> {
        Ok(Self {
            system,
            encoder: Encoder::new(plan)?,
            writer: Writer::new(out),
            records: Vec::new(),
            before: Vec::new(),
            available: Available::default(),
            since: 0,
            frames: None,
            linux: Vec::new(),
        })
    }

    /// Writes the configuration, and the first sample.
    ///
    /// # Errors
    /// If a record cannot be encoded, or the file cannot be written.
    pub fn begin(&mut self, world: &World) -> Result<(), RecordError> {
        self.before = vec![CoreBefore::default(); world.cores.len()];
        self.since = world.now;
        // Written when sampling starts, shortly before the first sample.
        let tod = world.now - 5 * SECOND / 2;
        self.configuration(world, tod);
        self.interval_end(world.now - 2 * SECOND);
        self.flush(Class::Sample, MONITOR, SAMPLE_START)?;
        self.interval(world, &[])
    }

    /// Writes the events of an interval, and the sample at its end.
    ///
    /// # Errors
    /// If a record cannot be encoded, or the file cannot be written.
    pub fn interval(
        &mut self,
        world: &World,
        happened: &[RecordedEvent],
    ) -> Result<(), RecordError> {
        for event in happened {
            if event.system as usize == self.system {
                self.event(world, event);
            }
        }
        self.changes(world, self.since, world.now);
        self.since = world.now;
        // Their times follow the header of 8 bytes.
        self.records
            .sort_by(|one, other| one[8..16].cmp(&other[8..16]));
        self.flush(Class::Event, EVENTS, EVENT_START)?;
        // A sample takes a moment; its records are stamped in order before the interval's end.
        let tod = world.now - 20_000 * MICROSECOND;
        self.processors(world, tod);
        self.system_wide(world, tod);
        self.partitions(world, tod);
        self.guests(world, tod);
        self.devices(world, tod);
        self.channels(world, tod);
        self.network(world, tod);
        self.cluster(world, tod);
        self.linux(world, tod);
        self.counters(world, tod);
        self.interval_end(world.now);
        self.flush(Class::Sample, SAMPLES, SAMPLE_START)?;
        self.encoder.check()?;
        Ok(())
    }

    /// Writes the end of the file and gives back what it was written to.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<W, RecordError> {
        Ok(self.writer.finish()?)
    }

    fn flush(&mut self, class: Class, mask1: u8, start: u32) -> Result<(), RecordError> {
        let records = std::mem::take(&mut self.records);
        for chunk in records.chunks(GROUP) {
            self.writer.write(&[Group {
                class,
                mask1,
                mask2: 0,
                start,
                records: chunk,
            }])?;
        }
        Ok(())
    }

    /// Begins a record, fills and keeps it.
    pub(crate) fn write_record(
        &mut self,
        name: &str,
        tod: Ticks,
        fill: impl FnOnce(&mut crate::encode::Record<'_>),
    ) {
        if let Some(mut record) = self.encoder.record(name, tod) {
            fill(&mut record);
            self.records.push(record.end());
        }
    }

    fn interval_end(&mut self, tod: Ticks) {
        self.write_record("D1R11", tod, |_| {});
    }

    // Configuration ------------------------------------------------------------------------------

    fn cores(&self, world: &World) -> impl Iterator<Item = usize> + use<W> {
        world.cores_of[self.system] as usize..world.cores_of[self.system + 1] as usize
    }

    /// The system's cores, and those that are online.
    fn configured(&self, world: &World) -> (u64, u64) {
        let online = self.cores(world).filter(|core| world.cores[*core].online);
        (self.cores(world).count() as u64, online.count() as u64)
    }

    /// The address of a logical processor and its thread.
    fn address(&self, world: &World, cpu: usize) -> (u64, u64) {
        let core = &world.cores[world.cpus[cpu].core as usize];
        let thread = cpu as u64 - u64::from(core.first);
        let width = u64::from(core.threads.max(1));
        (u64::from(core.number) * width + thread, thread)
    }

    // Samples ------------------------------------------------------------------------------------

    fn processors(&mut self, world: &World, tod: Ticks) {
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
        for core in self.cores(world).collect::<Vec<_>>() {
            let state = &world.cores[core];
            let kind = usize::from(world.shares[state.share as usize].kind);
            let before = self.before[core];
            let busy = state.one - before.one + state.two - before.two;
            let work = state.work - before.work;
            let ratio = |over: u64, under: u64| (over * UNIT).checked_div(under).unwrap_or(0);
            let smt = state.threads > 1;
            let maximum = match ratio(sums[kind].2, sums[kind].3) {
                0 => assumed,
                measured => measured,
            };
            let productivity = (ratio(work, busy) * UNIT).checked_div(maximum).unwrap_or(0);
            let factor = ratio(sums[kind].0, sums[kind].1);
            let share = &world.shares[state.share as usize];
            let entitlement = entitled(world, core);
            for cpu in state.first as usize..(state.first + state.threads) as usize {
                let thread = &world.cpus[cpu];
                if thread.state == CpuState::Offline {
                    continue;
                }
                let (number, which) = self.address(world, cpu);
                let begin = world.since_vary[cpu];
                let (times, counts) = (thread.times - begin.0, thread.counts - begin.1);
                let kind_code = code(world, core);
                let parts = &world.scenario.systems[self.system].cp.instructions;
                let kinds = Counts::new(parts, counts.simulated);
                self.write_record("D0R1", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .number("PFXCPUTY", kind_code)
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
                    record
                        .number("PFXCPUAD", number)
                        .number("PFXCPUTY", kind_code)
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
                        .number("ZLPOLAR", polarity(state.polarity))
                        .number("ZLDED", u64::from(share.pace.is_zero()))
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
                    record
                        .number("PFXCPUAD", number)
                        .number("PFXCPUTY", kind_code)
                        .number("ZLSIGP", kinds.sigp);
                });
                self.write_record("D3R2", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .number("PFXCPUTY", kind_code)
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
                        .number("PLSTOTDI", kinds.diagnose);
                });
                self.write_record("D5R3", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .number("PFXCPUTY", kind_code)
                        .number("HFCOUNT", counts.samples[0])
                        .number("HFUSERZ", counts.samples[1])
                        .number("HFUSERC", counts.queued);
                });
                self.write_record("D5R17", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .number("PFXCPUTY", kind_code)
                        .number("HFCOUNT", counts.samples[0])
                        .number("HFUSERZ", counts.samples[1])
                        .number("HFUSERC", counts.queued)
                        .number("ZLSTEAL", counts.steals.iter().sum());
                });
            }
            self.before[core] = CoreBefore {
                one: state.one,
                two: state.two,
                work: state.work,
                paired_work: state.paired_work,
            };
        }
    }

    fn system_wide(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        let users = world.users_of[self.system] as usize..world.users_of[self.system + 1] as usize;
        let (mut logged_on, mut dormant, mut queued, mut limited) = (0, 0, 0, 0);
        let mut used = 0.0;
        for user in &world.users[users] {
            if !user.logged_on {
                continue;
            }
            logged_on += 1;
            let spec = &system.users[user.number as usize];
            used += spec.working_set_mib.min(spec.storage_mib) * PAGES;
            let vcpus = &world.vcpus[user.first as usize..(user.first + user.count) as usize];
            if vcpus.iter().all(|vcpu| vcpu.state == VcpuState::Idle) {
                dormant += 1;
            } else if user.eligible == crate::time::NEVER {
                queued += 1;
            }
            limited += vcpus
                .iter()
                .filter(|vcpu| vcpu.state == VcpuState::Limited)
                .count() as u64;
        }
        self.write_record("D0R8", tod, |record| {
            record
                .number("SYSUSRS", logged_on)
                .number("SRMCDORM", dormant);
        });
        let spin = &world.scheduler_locks[self.system];
        let eligible = world.in_eligible_list(self.system);
        self.write_record("D0R10", tod, |record| {
            record
                .number("SRMCDISP", queued)
                .number("SRMC3DSP", queued)
                .number("SRMC3ELG", eligible)
                .number("SRMLLCNT", limited);
        });
        let mut totals = Counts::default();
        let (mut taken, mut simulated, mut dispatches) = (0, 0, 0);
        for core in self.cores(world) {
            let core = &world.cores[core];
            for cpu in &world.cpus[core.first as usize..(core.first + core.most) as usize] {
                taken += cpu.counts.pages[0];
                simulated += cpu.counts.simulated;
                dispatches += cpu.counts.dispatches;
                totals = totals.and(Counts::new(&system.cp.instructions, cpu.counts.simulated));
            }
        }
        let frames = self.available.sample(system, used, taken, world.now);
        let empty = self.available.empty;
        self.frames = Some(frames);
        let available = frames.split(frames.available);
        let thresholds = frames.thresholds.map(|all| frames.split(all));
        self.write_record("D0R3", tod, |record| {
            record
                .number("RSAPGABL", frames.pageable as u64)
                .number("RSANONPG", frames.nonpageable as u64)
                .number("RSAAVAIL", available[0])
                .number("RSA2GAVL", available[1])
                .number("RSAFRQWT", frames.waiting as u64);
        });
        self.write_record("D3R1", tod, |record| {
            record
                .number("RSAAVLLT", thresholds[0][0])
                .number("RSAAVLHT", thresholds[1][0])
                .number("RSAAVLLG", thresholds[0][1])
                .number("RSAAVLHG", thresholds[1][1])
                .number("RSAEMPTY", empty);
        });
        let (cores, configured) = self.configured(world);
        let elapsed = (world.now - system.ipl_tod) / MICROSECOND / 1_000;
        let capability = world.scenario.machine.capability;
        let (mut translated, mut transport, mut transport_writes) = (0, 0, 0);
        for (at, volume) in system.volumes.iter().enumerate() {
            let counts = world.io[self.system].volume(at);
            if !volume.paging {
                translated += counts.operations;
            }
            if volume.transport_pct.is_some() {
                transport += counts.operations;
                transport_writes += counts.operations - counts.reads;
            }
        }
        self.write_record("D0R19", tod, |record| {
            record
                .number("XCTMSACT", elapsed)
                .number("FTRDONE", translated)
                .number("CPUCAPAB", u64::from(capability))
                .number("SCPCAPAB", u64::from(capability))
                .number("ZLNOMCAP", u64::from(capability))
                .number("ZLCAPIND", if capability > 0 { 100 } else { 0 })
                .number("ZLDIAGIO", totals.diagnose_io)
                .number("ZLFPSIGP", totals.fast_sigp)
                .number("ZLFPDG44", totals.fast_44)
                .number("ZL9CDISP", totals.dispatched)
                .number("ZL9CWAIT", totals.diagnose_9c - totals.dispatched)
                .number("ZLSIEINT", simulated + dispatches)
                .number("ZLHPFDON", transport)
                .number("ZLHPFWRT", transport_writes)
                .number("ZLAVREQA", taken)
                .number("ZLAVEMPA", empty)
                .number("CPUCOUNT", cores)
                .number("CPUCFGCT", configured)
                .number("CPUSTNBY", cores - configured);
        });
        self.write_record("D0R23", tod, |record| {
            record.entries("CALLKDATA", 1, |_, entry| {
                entry
                    .text("CALLCKID", "SRMSLOCK")
                    .number("CALXSCNT", spin.collisions[0])
                    .number("CALXTIME", spin.spin[0])
                    .number("CALSSCNT", spin.collisions[1])
                    .number("CALSTIME", spin.spin[1]);
            });
        });
    }

    fn partitions(&mut self, world: &World, tod: Ticks) {
        let own = world.scenario.systems[self.system].partition as usize;
        let scenario = &world.scenario;
        let partition = &scenario.partitions[own];
        let (cores, configured) = self.configured(world);
        self.write_record("D0R15", tod, |record| {
            record
                .text("LPARNAME", &partition.name)
                .number("LPNUMBER", u64::from(partition.number))
                .number("LCUTNPAR", scenario.partitions.len() as u64)
                .number("LCUTPCCT", world.physical.len() as u64)
                .number("CPUCHAR", 0x40)
                .number("CPUCOUNT", cores)
                .number("CPUCFGCT", configured)
                .number("CPUSTNBY", cores - configured)
                .number("CPUSHARD", configured);
        });
        for (number, partition) in scenario.partitions.iter().enumerate() {
            let shares = world
                .shares
                .iter()
                .zip(scenario.partitions.iter().flat_map(|of| &of.shares))
                .filter(|(share, _)| share.partition as usize == number);
            let cores: Vec<_> = shares
                .clone()
                .flat_map(|(share, spec)| share.cores.iter().map(move |core| (*core, spec)))
                .collect();
            let capped = partition.shares.iter().any(|share| share.capped);
            self.write_record("D0R16", tod, |record| {
                record
                    .text("LCUPNAME", &partition.name)
                    .number("LCUPPNUM", u64::from(partition.number))
                    .number("LCXPUPID", u64::from(partition.number))
                    .number("LCUTCTOD", tod)
                    .number("ZLCAPPED", u64::from(capped));
                record.entries("CPUDATA", cores.len(), |at, entry| {
                    let (core, spec) = cores[at];
                    let state = &world.cores[core as usize];
                    // What PR/SM takes for the partition is part of its dispatch time, what it takes for
                    // itself is not.
                    let dispatched = state.dispatched.saturating_sub(state.management);
                    let own = dispatched.saturating_sub(state.overhead);
                    entry
                        .number("LCUCPUID", u64::from(state.number))
                        .number(
                            "LCUCWGHT",
                            if spec.dedicated {
                                0xFFFF
                            } else {
                                u64::from(spec.weight)
                            },
                        )
                        .number("LCUCACTM", dispatched / MICROSECOND)
                        .number("LCUCLPTM", own / MICROSECOND)
                        .text("LCXCPTYP", &scenario.machine.types[usize::from(spec.kind)]);
                });
                record.number("LCUPCPCT", cores.len() as u64);
            });
        }
        self.write_record("D0R17", tod, |record| {
            record.number("LCUTCTOD", tod);
            record.entries("MIBDATA", world.physical.len(), |at, entry| {
                let physical = &world.physical[at];
                entry
                    .number("LCUMCPU", at as u64)
                    .number("LCUMGTM", physical.management / MICROSECOND)
                    .text(
                        "LCUPTYPE",
                        &scenario.machine.types[usize::from(physical.kind)],
                    );
            });
            record.number("LCUPCPCT", world.physical.len() as u64);
        });
    }

    fn guests(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        for user in world.users_of[self.system]..world.users_of[self.system + 1] {
            let user = user as usize;
            let state = &world.users[user];
            if !state.logged_on {
                continue;
            }
            let spec = &system.users[state.number as usize];
            let (used, resident) = self.pages(world, user);
            for v in state.first as usize..(state.first + state.count) as usize {
                let vcpu = &world.vcpus[v];
                let list = match vcpu.state {
                    VcpuState::Eligible => 0x21,
                    VcpuState::Idle => 0x0B,
                    _ => 0x37,
                };
                let kind = u64::from(world.scenario.machine.type_codes[usize::from(state.kind)]);
                self.write_record("D4R3", tod, |record| {
                    identify(record, world, user);
                    activity(record, &vcpu.times);
                    record
                        .number("VMDCPUAD", u64::from(vcpu.number))
                        .number("VMDVTIME_MT1", vcpu.times.mt1[1])
                        .number("VMDVTIME_PRO", vcpu.times.prorated[1])
                        .number("VMDSLIST", list)
                        .number("VMDPUTYP", kind)
                        .number("ZLDSPWT", vcpu.times.ready)
                        .number("ZLDSPCT", vcpu.counts.dispatches)
                        .number("VMDVDSCT", vcpu.counts.starts)
                        .number("VMDCTPVG", resident as u64)
                        .number("VMDWSSPR", used as u64)
                        .number("CALCTPGS", (used - resident) as u64)
                        .number("VMDMDCIA", vcpu.counts.avoided)
                        .number("CALCPPGR", vcpu.counts.pages[0])
                        .number("CALCPPGW", vcpu.counts.pages[1])
                        .number("CALCPPST", vcpu.counts.pages[1])
                        .number("VMDCTFLT", vcpu.counts.faults);
                    if let Some(pool) = state.member {
                        record.text("ZLPOOL", &system.pools[pool as usize].name);
                    }
                });
                let samples = &vcpu.samples;
                let all: u64 = samples.iter().sum();
                let of = |state: VcpuState| samples[state as usize];
                self.write_record("D4R4", tod, |record| {
                    record
                        .text("VMDUSER", &spec.name)
                        .number("VMDCPUAD", u64::from(vcpu.number))
                        .number("HFQUCT", all)
                        .number(
                            "HFDISP3",
                            all - of(VcpuState::Idle) - of(VcpuState::Eligible),
                        )
                        .number("HFELIG3", of(VcpuState::Eligible))
                        .number("HFCPURN", of(VcpuState::Running))
                        .number("HFCPUWT", of(VcpuState::Ready))
                        .number("HFLLIST", of(VcpuState::Limited))
                        .number("HFWTPAG", of(VcpuState::Page))
                        .number("HFIOWT", of(VcpuState::Io))
                        .number("HFDORM", of(VcpuState::Idle))
                        .number("HFOTHR", of(VcpuState::Quiesced));
                });
            }
        }
        for (number, pool) in system.pools.iter().enumerate() {
            let limit = world.pool_limits[self.system][number];
            let members = |user: &crate::state::User| {
                user.logged_on
                    && user.system as usize == self.system
                    && user.member == Some(number as u32)
            };
            let users: Vec<_> = world.users.iter().filter(|user| members(user)).collect();
            let used: Ticks = users
                .iter()
                .flat_map(|user| {
                    &world.vcpus[user.first as usize..(user.first + user.count) as usize]
                })
                .map(|vcpu| vcpu.times.total)
                .sum();
            let (used, limited, times) = if limit == NO_INDEX {
                (used, 0, 0)
            } else {
                let limit = &world.limits[limit as usize];
                let since = limit.since.min(world.now);
                (limit.used, limit.limited + world.now - since, limit.times)
            };
            self.write_record("D5R19", tod, |record| {
                record
                    .text("ZLPOOL", &pool.name)
                    .number("ZLCPUTM", used)
                    .number("ZLLIMTM", limited)
                    .number("ZLLIMCT", times)
                    .number("ZLUSERS", users.len() as u64);
            });
        }
    }

    /// Pages that each virtual CPU of a user works with, and those of them in storage.
    fn pages(&self, world: &World, user: usize) -> (f64, f64) {
        let state = &world.users[user];
        let spec = &world.scenario.systems[self.system].users[state.number as usize];
        let used = spec.working_set_mib.min(spec.storage_mib) * PAGES / f64::from(state.count);
        (
            used,
            used * self.frames.map_or(1.0, |frames| frames.resident),
        )
    }
}

/// The kind of a pool's limit, and the limit in hundredths.
fn limit_of(pool: &crate::scenario::Pool) -> (u64, u64) {
    let (kind, limit) = match (pool.limithard_pct, pool.capacity) {
        (Some(part), _) => (1, part),
        (None, Some(processors)) => (2, processors),
        (None, None) => (0, 0.0),
    };
    (kind, (limit * 100.0 + 0.5) as u64)
}

/// Whether a volume is online.
fn online(world: &World, volume: &Volume) -> bool {
    let at = world.now.saturating_sub(world.begin);
    !volume
        .offline
        .iter()
        .any(|(from, to)| (seconds(*from)..seconds(*to)).contains(&at))
}

/// Virtual CPU time of a user since the beginning of the simulation, in seconds.
pub(crate) fn virtual_s(world: &World, user: usize) -> f64 {
    let user = &world.users[user];
    let vcpus = &world.vcpus[user.first as usize..(user.first + user.count) as usize];
    let now: Ticks = if user.logged_on {
        vcpus.iter().map(|vcpu| vcpu.times.emulation).sum()
    } else {
        0
    };
    (user.earlier + now) as f64 / SECOND as f64
}

/// The code of EXCESSUSE by the part of the excess it takes.
fn excess_use(part: Option<f64>) -> u64 {
    match part {
        None => 4,
        Some(part) if part >= 75.0 => 3,
        Some(part) if part >= 35.0 => 2,
        Some(_) => 1,
    }
}

/// The code of a core's type.
fn code(world: &World, core: usize) -> u64 {
    let kind = world.shares[world.cores[core].share as usize].kind;
    u64::from(world.scenario.machine.type_codes[usize::from(kind)])
}

/// A polarity in STSI's code.
const fn polarity(polarity: Polarity) -> u64 {
    match polarity {
        Polarity::Horizontal => 0,
        Polarity::Low => 1,
        Polarity::Medium => 2,
        Polarity::High => 3,
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

/// The subchannel of a volume.
const fn subchannel(volume: usize) -> u64 {
    0x0001_0000 | volume as u64
}

/// The field that counts a user's virtual CPUs of its type.
fn count_field(world: &World, user: usize) -> &'static str {
    let kind = usize::from(world.users[user].kind);
    match world.scenario.machine.types[kind].as_str() {
        "IFL" => "CALIFLCT",
        "ZIIP" => "CALZIPCT",
        _ => "CALCPCT",
    }
}

/// Writes the common fields of a user's records.
fn identify(record: &mut crate::encode::Record<'_>, world: &World, user: usize) {
    let state = &world.users[user];
    let spec = &world.scenario.systems[state.system as usize].users[state.number as usize];
    record
        .text("VMDUSER", &spec.name)
        .text("VMDACTNO", &spec.account)
        .number("ASCDEFSZ", (spec.storage_mib * MIB) as u64)
        .number("CALTODON", state.logon);
    if let Share::Relative(share) = state.share {
        record.number("VMDRELSH", u64::from(share));
    }
    // The unit is not public, only that 0 is no limit.
    match spec.maximum {
        Some(Share::Relative(maximum)) => _ = record.number("VMDMXSHR", u64::from(maximum)),
        Some(Share::Absolute(maximum)) => _ = record.number("VMDMXSHR", maximum.ceil() as u64),
        None => {}
    }
}

/// The CPU times of a virtual CPU.
fn activity(record: &mut crate::encode::Record<'_>, times: &VcpuTimes) {
    record
        .number("VMDTTIME", times.total)
        .number("VMDVTIME", times.emulation)
        .number("VMDTTIME_MT1", times.mt1[0])
        .number("VMDTTIME_PRO", times.prorated[0]);
}
