//! Hardware counters of an interval.

use std::io::Write;

use super::*;

/// The section of counters in their records.
const SECTION: &str = "counters";
/// Bytes of counters in a record; the next one continues them.
const PIECE: usize = 1_000;

impl<W: Write> Recorder<W> {
    /// Hardware counters of every thread, and of cores with multithreading.
    pub(super) fn counters(&mut self, world: &World, tod: Ticks) {
        let machine = &world.scenario.machine;
        if machine.counters.is_none() {
            return;
        }
        for core in self.cores(world) {
            let state = &world.cores[core];
            for cpu in world.threads_of(core) {
                if world.cpus[cpu].state == CpuState::Offline {
                    continue;
                }
                let (number, thread) = world.address(cpu);
                self.counter_records(world, tod, cpu, "D5R13", |record| {
                    record
                        .number("ZLCPUAD", number)
                        .number("ZLCPUTY", code(world, core))
                        .number("ZLCPSP", u64::from(machine.megahertz));
                });
                if state.threads > 1 {
                    self.counter_records(world, tod, cpu, "D5R20", |record| {
                        record
                            .number("ZLCPUAD", number)
                            .number("ZLTHRD", thread)
                            .number("ZLCORE", u64::from(state.number));
                    });
                }
            }
        }
    }

    /// Writes the counters of a processor that a record's layout has.
    fn counter_records(
        &mut self,
        world: &World,
        tod: Ticks,
        cpu: usize,
        name: &str,
        fill: impl Fn(&mut Record<'_>),
    ) {
        let Some(hardware) = &world.scenario.machine.counters else {
            return;
        };
        let table = &hardware.table;
        let known = self.encoder.counter_sets(name, SECTION);
        let versions = [table.cfvn, table.csvn].map(u64::from);
        let mut active = 0;
        let mut bytes = Vec::new();
        for (at, set) in table.sets.iter().enumerate() {
            if let Some(own) = known.iter().find(|own| own.name == set.name) {
                active |= own.bit;
                let values = world.counting.set(cpu, at).into_iter();
                bytes.extend(values.flat_map(u64::to_be_bytes));
            }
        }
        for (at, piece) in bytes.chunks(PIECE).enumerate() {
            self.write_record(name, tod, |record| {
                fill(record);
                let more = (at + 1) * PIECE < bytes.len();
                record.counters(SECTION, active, versions, piece, more);
            });
        }
    }
}
