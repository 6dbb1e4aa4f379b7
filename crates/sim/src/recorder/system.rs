//! Samples of the system as a whole: users in lists, frames, instructions, the scheduler lock.

use std::io::Write;

use super::*;

impl<W: Write> Recorder<W> {
    pub(super) fn system_wide(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        let (mut logged_on, mut dormant, mut queued, mut limited) = (0, 0, 0, 0);
        let mut used = 0.0;
        for user in &world.users[world.users_of[self.system].clone()] {
            if !user.logged_on {
                continue;
            }
            logged_on += 1;
            let spec = &system.users[user.number as usize];
            used += spec.working_set_mib.min(spec.storage_mib) * PAGES;
            let vcpus = &world.vcpus[user.vcpus()];
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
        for core in &world.cores[self.cores(world)] {
            for cpu in &world.cpus[core.first as usize..(core.first + core.most) as usize] {
                taken += cpu.counts.pages[0];
                simulated += cpu.counts.simulated;
                dispatches += cpu.counts.dispatches;
                totals = totals.and(Counts::new(&system.cp.instructions, cpu.counts.simulated));
            }
        }
        let memory = world.memory[self.system].as_ref();
        let (frames, empty) = match memory {
            Some(memory) => (memory.frames(), memory.empty),
            None => {
                let frames = self.available.sample(system, used, taken, world.now);
                (frames, self.available.empty)
            }
        };
        let reserved = memory.map_or(0.0, |memory| memory.reserved());
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
                .number("RSAEMPTY", empty)
                .number("ZLRSVD", reserved as u64);
        });
        let (cores, configured) = self.configured(world);
        let elapsed = (world.now - system.ipl_tod) / MICROSECOND / 1_000;
        let (capability, nominal) = (world.capability, world.scenario.machine.capability);
        let (mut translated, mut transport, mut transport_writes) = (0, 0, 0);
        for (at, volume) in system.volumes.iter().enumerate() {
            let counts = world.io[self.system].volume(at);
            if !volume.paging {
                translated += counts.operations;
            }
            transport += counts.transport[0] + counts.transport[1];
            transport_writes += counts.transport[1];
        }
        self.write_record("D0R19", tod, |record| {
            record
                .number("XCTMSACT", elapsed)
                .number("FTRDONE", translated)
                .number("CPUCAPAB", u64::from(capability))
                .number("SCPCAPAB", u64::from(capability))
                .number("ZLNOMCAP", u64::from(nominal))
                .number(
                    "ZLCAPIND",
                    (100 * u64::from(nominal))
                        .checked_div(u64::from(capability))
                        .unwrap_or(0),
                )
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
        let scheduler = &world.scheduler_locks[self.system];
        let mut locks = vec![("SRMSLOCK", scheduler.collisions, scheduler.spin)];
        if let Some(memory) = memory {
            let all = &memory.locks;
            locks.push(("RSAAVLLK", [all.collisions, 0], [all.spin, 0]));
        }
        self.write_record("D0R23", tod, |record| {
            record.entries("CALLKDATA", locks.len(), |at, entry| {
                let (name, collisions, spin) = locks[at];
                entry
                    .text("CALLCKID", name)
                    .number("CALXSCNT", collisions[0])
                    .number("CALXTIME", spin[0])
                    .number("CALSSCNT", collisions[1])
                    .number("CALSTIME", spin[1]);
            });
        });
    }
}
