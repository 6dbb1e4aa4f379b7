//! Samples of virtual CPUs and CPU pools.

use std::io::Write;

use super::*;

impl<W: Write> Recorder<W> {
    pub(super) fn guests(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        for user in world.users_of[self.system].clone() {
            let state = &world.users[user];
            if !state.logged_on {
                continue;
            }
            let spec = &system.users[state.number as usize];
            let pages = self.pages(world, user);
            for vcpu in &world.vcpus[state.vcpus()] {
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
                        .number("VMDCTPVG", pages.resident as u64)
                        .number("VMDWSSPR", pages.used as u64)
                        .number("CALCTPGS", pages.slots as u64)
                        .number("VMDVDISK", pages.disks as u64)
                        .number("VMDMDCIA", vcpu.counts.avoided)
                        .number("CALCPPGR", vcpu.counts.pages[0])
                        .number("CALCPPGW", pages.written.unwrap_or(vcpu.counts.pages[1]))
                        .number("CALCPPST", pages.stolen.unwrap_or(vcpu.counts.pages[1]))
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
                .flat_map(|user| &world.vcpus[user.vcpus()])
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

    /// Pages of a user, the same part for each virtual CPU.
    pub(super) fn pages(&self, world: &World, user: usize) -> UserPages {
        let state = &world.users[user];
        let spec = &world.scenario.systems[self.system].users[state.number as usize];
        let count = f64::from(state.count);
        let used = spec.working_set_mib.min(spec.storage_mib) * PAGES / count;
        if let Some(memory) = &world.memory[self.system] {
            let [resident, slots, written, stolen, disks] = memory
                .of_user(state.number as usize)
                .map(|pages| pages / count);
            return UserPages {
                used,
                resident,
                slots,
                written: Some(written as u64),
                stolen: Some(stolen as u64),
                disks: disks * count,
            };
        }
        let resident = used * self.frames.map_or(1.0, |frames| frames.resident);
        UserPages {
            used,
            resident,
            slots: used - resident,
            written: None,
            stolen: None,
            disks: 0.0,
        }
    }
}

/// Pages of a virtual CPU's user.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserPages {
    /// That it works with.
    pub(super) used: f64,
    /// In frames.
    pub(super) resident: f64,
    /// On paging volumes.
    pub(super) slots: f64,
    /// Written and taken from it, where that does not follow from its faults.
    pub(super) written: Option<u64>,
    pub(super) stolen: Option<u64>,
    /// Of its virtual disks, in frames.
    pub(super) disks: f64,
}
