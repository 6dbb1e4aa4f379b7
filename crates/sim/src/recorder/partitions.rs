//! Samples of partitions and of PR/SM's own time.

use std::io::Write;

use super::*;

impl<W: Write> Recorder<W> {
    pub(super) fn partitions(&mut self, world: &World, tod: Ticks) {
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
}
