//! Writes the monitor records of a simulated z/VM system as a MONWRITE file.
//!
//! Each function writes the records of one topic from the state at the end of an interval. Fields for which
//! nothing is simulated stay zero.

mod channels;
mod cluster;
mod configuration;
mod counters;
mod devices;
mod events;
mod fields;
mod guests;
mod linux;
mod network;
mod partitions;
mod power;
mod processors;
mod system;

use std::io::Write;
use std::ops::Range;

use zlens_frames::zvm::{Class, Group, Header, WriteError, Writer};

use crate::encode::{EncodeError, Encoder, Record};
use crate::instructions::{Counts, part};
use crate::state::{CpuState, NO_INDEX, Polarity, VcpuState};
use crate::storage::{Available, Frames, PAGES};
use crate::time::{MICROSECOND, SECOND, Ticks, seconds};
use crate::world::{EventKind, RecordedEvent, VcpuUsage, World};
use fields::*;

/// First bytes of the domain masks of a control record's entry.
const MONITOR: u8 = 0x40;
const EVENTS: u8 = 0x7E;
const SAMPLES: u8 = 0xFE;
/// Places of the first record in its frame.
const SAMPLE_START: u32 = 0x0400;
const EVENT_START: u32 = 0x0C38;
/// Records of one group: a group has less than 16 MB.
const GROUP: usize = 20_000;

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
    system: usize,
    encoder: Encoder,
    writer: Writer<W>,
    records: Vec<Vec<u8>>,
    before: Vec<CoreBefore>,
    available: Available,
    since: Ticks,
    frames: Option<Frames>,
    linux: Vec<LinuxBefore>,
    /// Of PCI functions that are attached later: virtual CPU time of their user when they were first sampled.
    attached: Vec<Option<f64>>,
    power: PowerSums,
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

/// Sums of power readings in milliwatts, at the end of the interval before.
#[derive(Clone, Debug, Default)]
struct PowerSums {
    /// Time of the first sample.
    begin: Ticks,
    last: Ticks,
    /// Dispatched time of all cores of the machine.
    dispatched: Vec<Ticks>,
    readings: u64,
    /// Processors, storage and I/O of the partition; total, unassigned and infrastructure of the machine.
    sums: [u64; 6],
}

impl<W: Write> Recorder<W> {
    /// A recorder of a system, with the plan of the layouts of records.
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
            attached: Vec::new(),
            power: PowerSums::default(),
        })
    }

    /// Writes the configuration, and the first sample.
    ///
    /// # Errors
    /// If a record cannot be encoded, or the file cannot be written.
    pub fn begin(&mut self, world: &World) -> Result<(), RecordError> {
        self.before = vec![CoreBefore::default(); world.cores.len()];
        let functions = world.scenario.systems[self.system].functions.len();
        self.attached = vec![None; functions];
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
        let tod = |record: &Vec<u8>| Header::parse(record).map(|header| header.tod);
        self.records.sort_by_key(tod);
        self.flush(Class::Event, EVENTS, EVENT_START)?;
        // A sample takes a moment; its records are stamped in order before the interval's end.
        let tod = world.now - 20_000 * MICROSECOND;
        self.processors(world, tod);
        self.system_wide(world, tod);
        self.power(world, tod);
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
    fn write_record(&mut self, name: &str, tod: Ticks, fill: impl FnOnce(&mut Record<'_>)) {
        if let Some(mut record) = self.encoder.record(name, tod) {
            fill(&mut record);
            self.records.push(record.end());
        }
    }

    fn interval_end(&mut self, tod: Ticks) {
        self.write_record("D1R11", tod, |_| {});
    }

    fn cores(&self, world: &World) -> Range<usize> {
        world.cores_of[self.system].clone()
    }

    /// The system's cores, and those that are online.
    fn configured(&self, world: &World) -> (u64, u64) {
        let cores = &world.cores[self.cores(world)];
        let online = cores.iter().filter(|core| core.online);
        (cores.len() as u64, online.count() as u64)
    }

    /// Whether multithreading is enabled, with one thread per core or two.
    fn multithreading(&self, world: &World) -> bool {
        world.scenario.systems[self.system].multithreading
    }
}
