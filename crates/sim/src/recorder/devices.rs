//! Volumes, control units, caches and pools of aliases.

use std::io::Write;

use super::*;

impl<W: Write> Recorder<W> {
    pub(super) fn devices(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        let io = &world.io[self.system];
        // Times of the channel subsystem count in units of 128 microseconds.
        let unit = 128 * MICROSECOND;
        let slots: u64 = system
            .volumes
            .iter()
            .filter(|volume| volume.paging)
            .map(|volume| volume.slots)
            .sum();
        let paged_out = self.frames.map_or(0.0, |frames| frames.paged_out());
        let mut blocks = 0;
        for (at, volume) in system.volumes.iter().enumerate() {
            if !online(world, volume) {
                continue;
            }
            let control = &system.control_units[volume.control_unit as usize];
            let counts = io.volume(at);
            let writes = counts.operations - counts.reads;
            let mask = 0xFF00_u16 >> control.chpids.len().min(8);
            self.write_record("D6R3", tod, |record| {
                device(record, volume, at);
                record
                    .text("RDEVSER", &volume.name)
                    .number("RDEVLPM", u64::from(mask & 0xFF))
                    .number("SCMSSCH", counts.operations)
                    .number("SCMCOUNT", counts.operations)
                    .number("SCGSSCH", counts.operations)
                    .number("SCGCOUNT", counts.operations)
                    .number("SCMFPTIM", counts.pending / unit)
                    .number("SCMDDTIM", counts.disconnect / unit)
                    .number("SCMCNTIM", counts.connect / unit)
                    .number("HFRDEVCT", counts.samples[0])
                    .number("HFCTIO", counts.samples[1])
                    .number("RDEVHPPL", u64::from(volume.control_unit))
                    .number("PAVUSES", counts.alias_uses)
                    .number("RDEVLCNT", u64::from(volume.links))
                    .number("RDEVMCIA", counts.avoided)
                    .number("ZLREADS", counts.reads)
                    .number("ZLWRITES", writes);
            });
            self.write_record("D6R4", tod, |record| {
                record
                    .number("RDEVSID", subchannel(at))
                    .number("NR_SSID", u64::from(control.ssid))
                    .number("NR_UNIT_ADDRESS", u64::from(volume.device & 0xFF))
                    .number("NR_READ_NORMAL", counts.reads)
                    .number("NR_READ_NORMAL_HITS", counts.hits)
                    .number("NR_WRITE_NORMAL", writes)
                    .number("NR_WRITE_FAST_NORMAL_HITS", writes)
                    .number("NR_DASD_TO_CACHE", counts.reads - counts.hits);
            });
            if volume.paging {
                let (service, queue) = io.load(at);
                blocks += counts.reads;
                // Pages spread evenly over all slots.
                let (used, pages) = match &world.memory[self.system] {
                    Some(memory) => (memory.slots_used(at), system.cp.block_pages),
                    None => {
                        let full = (paged_out / slots.max(1) as f64).min(1.0);
                        (volume.slots as f64 * full, 1)
                    }
                };
                self.write_record("D3R4", tod, |record| {
                    device(record, volume, at);
                    record
                        .text("CALVSER", &volume.name)
                        .number("CALPAGE", used as u64)
                        .number("EXPCTPRD", counts.pages[0])
                        .number("EXPCTPWR", counts.pages[1])
                        .number("EXPCURQC", u64::from(queue))
                        .number("SCMSSCH", counts.operations)
                        .number("SCGSSCH", counts.operations)
                        .number("ZLMLOAD", service / u64::from(pages) / MICROSECOND);
                });
            }
            if volume.spool_slots > 0 {
                let (service, _) = io.load(at);
                self.write_record("D3R4", tod, |record| {
                    device(record, volume, at);
                    record
                        .text("CALVSER", &volume.name)
                        .number("CALSPOOL", part(volume.spool_slots, volume.spool_used_pct))
                        .number("SCGSSCH", counts.operations)
                        .number("ZLMLOAD", service / MICROSECOND);
                });
            }
        }
        let block = (system.cp.block_pages as usize).wrapping_sub(1);
        self.write_record("D3R8", tod, |record| {
            record.element("PGDBR", block, blocks);
        });
        for (number, control) in system.control_units.iter().enumerate() {
            if control.aliases == 0 {
                continue;
            }
            let pool = io.pool(number);
            let shares = control.shares.unwrap_or([1, 1]);
            let bases = system
                .volumes
                .iter()
                .filter(|volume| volume.control_unit as usize == number)
                .count();
            self.write_record("D6R28", tod, |record| {
                record
                    .number("HPPOOLNM", number as u64)
                    .number("HPPTOKEN", u64::from(control.ssid))
                    .number("HPPNBASE", bases as u64)
                    .number("HPPNALIS", u64::from(control.aliases))
                    .number("HPPTRIES", pool.tries)
                    .number("HPPFAILS", pool.fails)
                    .number("HPPMAXCT", u64::from(control.aliases));
                record.entries("CALUSE", 2, |usage, entry| {
                    let micros = |sum: u128| (sum / u128::from(MICROSECOND)) as u64;
                    entry
                        .text("ZLTYPE", ["MDISK", "PAGING"][usage])
                        .number("ZLSHARE", u64::from(shares[usage]))
                        .number("ZLINUSE", micros(pool.in_use[usage]))
                        .number("ZLQUEUED", micros(pool.waited[usage]));
                });
            });
        }
    }
}
