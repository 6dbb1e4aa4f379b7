//! Records of channel paths: the work of their volumes, and of other partitions.
//!
//! Each path of a control unit has the same part of its work.

use std::io::Write;

use super::*;

const KIB: f64 = 1_024.0;
/// KiB of a page.
const PAGE: f64 = 4.0;
/// Channel measurement group of the fields that are filled.
const GROUP: u64 = 2;
/// All seven words of the entry are valid, and all five characteristics.
const VALID_WORDS: u64 = 0x7F;
const VALID_CHARACTERISTICS: u64 = 0x1F;

impl<W: Write> Recorder<W> {
    pub(super) fn channels(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        let io = &world.io[self.system];
        let limits = &world.scenario.machine.channels;
        for (number, unit) in system.control_units.iter().enumerate() {
            let paths = unit.chpids.len().max(1) as f64;
            // Operations, KiB read and written.
            let mut own = [0.0; 3];
            for (at, volume) in system.volumes.iter().enumerate() {
                if volume.control_unit as usize != number {
                    continue;
                }
                let counts = io.volume(at);
                let writes = counts.operations - counts.reads;
                own[0] += counts.operations as f64;
                if volume.paging {
                    own[1] += PAGE * counts.pages[0] as f64;
                    own[2] += PAGE * counts.pages[1] as f64;
                } else {
                    own[1] += volume.operation_kib * counts.reads as f64;
                    own[2] += volume.operation_kib * writes as f64;
                }
            }
            let data = KIB / f64::from(limits.unit_bytes);
            let [work, read, written] =
                [own[0], own[1] * data, own[2] * data].map(|all| all / paths);
            let whole = 1.0 / (1.0 - (unit.others_pct / 100.0).clamp(0.0, 0.99));
            let cycles = (read + written) * whole * f64::from(limits.cycles_per_unit);
            for chpid in &unit.chpids {
                let chpid = u64::from(*chpid);
                self.write_record("D0R20", tod, |record| {
                    record.number("CALCHPID", chpid);
                    record.entries("ECMENTRY", 1, |_, entry| {
                        entry
                            .number("CUIV", VALID_WORDS)
                            .number("SMF73TBC", cycles as u64)
                            .number("SMF73TUC", (work * whole) as u64)
                            .number("SMF73PUC", work as u64)
                            .number("SMF73TWU", (written * whole) as u64)
                            .number("SMF73PWU", written as u64)
                            .number("SMF73TRU", (read * whole) as u64)
                            .number("SMF73PRU", read as u64);
                    });
                    record.entries("CMCHARS", 1, |_, entry| {
                        entry
                            .number("CHPID", chpid)
                            .number("CMCV", VALID_CHARACTERISTICS)
                            .number("CMG", GROUP)
                            .number("SMF73MBC", u64::from(limits.bus_cycles))
                            .number("SMF73MCU", u64::from(limits.work_units))
                            .number("SMF73MWU", u64::from(limits.data_units))
                            .number("SMF73MRU", u64::from(limits.data_units))
                            .number("SMF73US", u64::from(limits.unit_bytes));
                    });
                });
            }
        }
    }
}
