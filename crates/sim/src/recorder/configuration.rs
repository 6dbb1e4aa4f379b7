//! Configuration records of a system, written before its first sample.

use std::io::Write;

use super::*;

impl<W: Write> Recorder<W> {
    pub(super) fn configuration(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        let machine = &world.scenario.machine;
        let partition = &world.scenario.partitions[system.partition as usize];
        let (cores, configured) = self.configured(world);
        let dedicated: u32 = partition
            .shares
            .iter()
            .filter(|share| share.dedicated)
            .map(|share| share.cores)
            .sum();
        let threads = |name: &str| {
            let kind = machine.types.iter().position(|kind| kind == name);
            u64::from(kind.map_or(1, |kind| system.threads[kind].max(1)))
        };
        let status = multithreading_status(system);
        let most_threads = u64::from(*system.threads.iter().max().unwrap_or(&1));
        self.write_record("D1R4", tod, |record| {
            record
                .text("HCPCPEID", &system.release)
                .number("SYSTODST", system.ipl_tod)
                .number("SYSZONE", world.scenario.zone_s as u64)
                .text("SYSTMID", &system.name)
                .text("SYSMTYPE", &machine.machine_type)
                .text("SYSMMODL", &machine.model)
                .text("SYSMSEQC", &machine.serial)
                .text("SYSMPOM", "ZL")
                .number("LPNUMBER", u64::from(partition.number))
                .number("CPUCHAR", if dedicated > 0 { 0x80 } else { 0x40 })
                .number("CPUCOUNT", cores)
                .number("CPUCFGCT", configured)
                .number("CPUSTNBY", cores - configured)
                .text("LPARNAME", &partition.name)
                .number("CPUDEDCT", u64::from(dedicated))
                .number("CPUSHARD", configured - u64::from(dedicated))
                .number("CPUCAPAB", u64::from(world.capability))
                .number("SCPCAPAB", u64::from(world.capability))
                .number("ZLMTSTAT", status)
                .number("ZLMTCP", threads("CP"))
                .number("ZLMTIFL", threads("IFL"))
                .number("ZLMTICF", threads("ICF"))
                .number("ZLMTZIIP", threads("ZIIP"))
                .number("ZLRCPTOT", world.physical.len() as u64)
                .number("ZLRCPCFG", world.physical.len() as u64)
                .number("ZLCFGMOD", u64::from(system.mode));
        });
        let interval = (world.machine_timings.interval / SECOND).max(1);
        let rate = world.machine_timings.high_frequency / (SECOND / 100);
        self.write_record("D1R9", tod, |record| {
            record
                .number("INTERVAL", interval)
                .number("HFRATE", rate)
                .number("SDOMAINS", 0xFE)
                .number("CONFIG", 241);
        });
        let serial = machine.serial.as_bytes();
        let mut identity = [0; 3];
        for (byte, pair) in identity.iter_mut().rev().zip(serial.rchunks(2)) {
            let text = std::str::from_utf8(pair).unwrap_or("0");
            *byte = u8::from_str_radix(text, 16).unwrap_or(0);
        }
        for core in self.cores(world) {
            for cpu in world.cores[core].first..world.cores[core].first + world.cores[core].threads
            {
                let (number, thread) = world.address(cpu as usize);
                self.write_record("D1R5", tod, |record| {
                    record
                        .number("PFXCPUAD", number)
                        .bytes("PFXIDSER", &identity)
                        .number("PFXCPUTY", code(world, core))
                        .number("ZLCORE", u64::from(world.cores[core].number))
                        .number("ZLTHRD", thread)
                        .number("ZLSTATUS", u64::from(number > 0));
                });
            }
        }
        for (at, volume) in system.volumes.iter().enumerate() {
            if !online(world, volume) {
                continue;
            }
            let unit = &system.control_units[volume.control_unit as usize];
            let mask = 0xFF00_u16 >> unit.chpids.len().min(8);
            self.write_record("D1R6", tod, |record| {
                device(record, volume, at);
                model(record, volume, unit);
                record
                    .number("RDEVLPM", u64::from(mask & 0xFF))
                    .number("RDEVHPPL", u64::from(volume.control_unit));
            });
        }
        self.network_configuration(world, tod);
        self.cluster_configuration(world, tod);
        let bytes = (system.storage_mib * MIB) as u64;
        self.write_record("D1R7", tod, |record| {
            record.number("RSAGSTOR", bytes);
        });
        let volumes = || system.volumes.iter().enumerate();
        let paging = volumes().filter(|(_, volume)| volume.paging);
        let spool = volumes().filter(|(_, volume)| volume.spool_slots > 0);
        let extents = paging
            .map(|(at, volume)| (at, volume, "page", at as u64, volume.slots))
            .chain(spool.map(|(at, volume)| (at, volume, "spol", 1, volume.spool_slots)));
        for (at, volume, kind, start, slots) in extents {
            self.write_record("D1R8", tod, |record| {
                device(record, volume, at);
                record
                    .text("CPVOLSER", &volume.name)
                    .text("CALTYPE", kind)
                    .number("CALSTART", start)
                    .number("ZLSLOTS", slots);
            });
        }
        for user in world.users_of[self.system].clone() {
            if world.users[user].logged_on {
                let of_type = count_field(world, user);
                self.write_record("D1R15", tod, |record| {
                    identify(record, world, user);
                    quick_dispatch(record, world, user);
                    record
                        .number("VMDCPUCT", u64::from(world.users[user].count))
                        .number(of_type, u64::from(world.users[user].count));
                });
            }
        }
        let settings = scheduler_settings(world, self.system);
        let cp = &system.cp;
        let unparking = &cp.unparking;
        self.write_record("D1R16", tod, |record| {
            for (name, value) in settings {
                record.number(name, value);
            }
            record
                .number("ZLMTSTAT", status)
                .number("ZLMTRQMX", 255)
                .number("ZLMTACMX", most_threads)
                .number("ZLTHWCP", 1)
                .number("ZLTRQCP", 255)
                .number("ZLTSYCP", threads("CP"))
                .number("ZLTACCP", threads("CP"))
                .number("ZLTHWIFL", 2)
                .number("ZLTRQIFL", 255)
                .number("ZLTSYIFL", threads("IFL"))
                .number("ZLTACIFL", threads("IFL"))
                .number("ZLTHWICF", 2)
                .number("ZLTRQICF", 255)
                .number("ZLTSYICF", threads("ICF"))
                .number("ZLTACICF", threads("ICF"))
                .number("ZLTHWZIIP", 2)
                .number("ZLTRQZIIP", 255)
                .number("ZLTSYZIIP", threads("ZIIP"))
                .number("ZLTACZIIP", threads("ZIIP"))
                .number("ZLLIMIT", 1)
                .number("ZLDSPWD", u64::from(!cp.rebalance))
                .number("ZLPOLAR", u64::from(partition.vertical))
                .number("ZLGPD", u64::from(unparking.global_performance_data))
                .number("ZLPADIFL", unparking.pad_pct as u64);
        });
        let cores = self.cores(world);
        self.write_record("D1R26", tod, |record| {
            record.entries("CORES", cores.len(), |at, entry| {
                let number = cores.start + at;
                let core = &world.cores[number];
                let place = if core.home == NO_INDEX {
                    core.number
                } else {
                    world.physical[core.home as usize].number
                };
                let chip = place / machine.cores_per_chip.max(1);
                let drawer = chip / machine.chips_per_drawer.max(1);
                entry
                    .number("ZLCORE", u64::from(core.number))
                    .number("ZLTYPE", code(world, number))
                    .number("ZLPOLAR", polarity(world, number))
                    .number("ZLNEST3", 1 + u64::from(drawer))
                    .number("ZLNEST2", 1 + u64::from(chip))
                    .number("ZLNEST1", 1 + u64::from(chip));
            });
        });
        for pool in &system.pools {
            let (kind, limit) = limit_of(pool);
            self.write_record("D1R28", tod, |record| {
                record
                    .text("LIMPOOL", &pool.name)
                    .number(
                        "ZLTYPE",
                        u64::from(machine.type_codes[usize::from(pool.kind)]),
                    )
                    .number("ZLLIMTY", kind)
                    .number("ZLLIMIT", limit);
            });
        }
    }
}
