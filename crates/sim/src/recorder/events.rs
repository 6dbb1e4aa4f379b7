//! Event records of an interval.

use std::io::Write;

use super::*;

/// Virtual device number of the minidisk that seeks are for.
const MINIDISK: u64 = 0x0100;

impl<W: Write> Recorder<W> {
    /// Volumes and functions that came and went.
    pub(super) fn changes(&mut self, world: &World, from: Ticks, to: Ticks) {
        self.attachments(world, from, to);
        let system = &world.scenario.systems[self.system];
        for (at, volume) in system.volumes.iter().enumerate() {
            let unit = &system.control_units[volume.control_unit as usize];
            for (off, on) in &volume.offline {
                let moment = world.begin + seconds(*off);
                if *off > 0.0 && (from..to).contains(&moment) {
                    self.write_record("D6R2", moment, |record| device(record, volume, at));
                }
                let moment = world.begin + seconds(*on);
                if (from..to).contains(&moment) {
                    self.write_record("D6R1", moment, |record| {
                        device(record, volume, at);
                        model(record, volume, unit);
                    });
                }
            }
        }
    }

    pub(super) fn parking(
        &mut self,
        world: &World,
        tod: Ticks,
        decisions: &[(u8, crate::unpark_policy::Decision)],
    ) {
        let unparking = &world.scenario.systems[self.system].cp.unparking;
        self.write_record("D5R16", tod, |record| {
            record.entries("TYPES", decisions.len(), |at, entry| {
                let (kind, decision) = &decisions[at];
                let mask = match decision.unparked {
                    0 => 0,
                    count => u64::MAX << (64 - count.min(64)),
                };
                let kind = world.scenario.machine.type_codes[usize::from(*kind)];
                entry
                    .number("ZLTYPE", u64::from(kind))
                    .number("ZLEXU", excess_use(unparking.excess_pct))
                    .number("ZLPAD", unparking.pad_pct as u64)
                    .number("ZLONLINE", u64::from(decision.online))
                    .number("ZLUNPARK", u64::from(decision.unparked))
                    .number("ZLENTITL", u64::from(decision.entitlement))
                    .number("ZLPROJLD", u64::from(decision.projection))
                    .number("ZLCAP", u64::from(decision.cap))
                    .number("ZLPROJXP", u64::from(decision.excess))
                    .number("ZLMASK", mask);
            });
        });
    }

    /// Writes the CPU time of a user since its logon, one record for each virtual CPU.
    fn used(&mut self, world: &World, tod: Ticks, name: &str, user: usize, used: &[VcpuUsage]) {
        let kind = world.scenario.machine.type_codes[usize::from(world.users[user].kind)];
        let pages = self.pages(world, user);
        for (number, (times, counts)) in used.iter().enumerate() {
            self.write_record(name, tod, |record| {
                identify(record, world, user);
                record
                    .number("VMDCPUAD", number as u64)
                    .number("VMDPUTYP", u64::from(kind))
                    .number("VMDTTIME", times.total)
                    .number("VMDVTIME", times.emulation)
                    .number("VMDTTMP", times.total)
                    .number("VMDVTMP", times.emulation)
                    .number("VMDCTPVG", pages.resident as u64)
                    .number("VMDWSSPR", pages.used as u64)
                    .number("CALCTPGS", pages.slots as u64)
                    .number("VMDVDSCT", counts.starts)
                    .number("VMDMDCIA", counts.avoided)
                    .number("CALCPPGR", counts.pages[0])
                    .number("CALCPPGW", pages.written.unwrap_or(counts.pages[1]))
                    .number("VMDCTFLT", counts.faults);
                if name == "D4R2" {
                    activity(record, times);
                }
            });
        }
    }

    pub(super) fn event(&mut self, world: &World, event: &RecordedEvent) {
        match &event.what {
            EventKind::Logon(user) => self.write_record("D4R1", event.at, |record| {
                identify(record, world, *user as usize);
                quick_dispatch(record, world, *user as usize);
            }),
            EventKind::Logoff(user, used) | EventKind::TransactionEnd(user, used) => {
                let name = match event.what {
                    EventKind::Logoff(..) => "D4R2",
                    _ => "D4R9",
                };
                self.used(world, event.at, name, *user as usize, used);
            }
            EventKind::VaryOn(core) | EventKind::VaryOff(core) => {
                let on = matches!(event.what, EventKind::VaryOn(_));
                let core = *core as usize;
                for cpu in world.threads_of(core) {
                    let (number, _) = world.address(cpu);
                    if on {
                        let kind = code(world, core);
                        self.write_record("D5R1", event.at, |record| {
                            processor(record, number, kind);
                        });
                    } else {
                        self.write_record("D5R2", event.at, |record| {
                            record.number("PFXCPUAD", number);
                        });
                    }
                }
            }
            EventKind::Share(user) => {
                let user = &world.users[*user as usize];
                let spec = &world.scenario.systems[self.system].users[user.number as usize];
                self.write_record("D2R9", event.at, |record| {
                    record.text("VMDUSER", &spec.name);
                    share(record, &user.share, spec);
                });
            }
            EventKind::Threads(threads) => {
                let types = &world.scenario.machine.types;
                let of = |name: &str| {
                    let kind = types.iter().position(|kind| kind == name);
                    u64::from(kind.map_or(1, |kind| threads[kind]))
                };
                let status = multithreading_status(&world.scenario.systems[self.system]);
                self.write_record("D5R21", event.at, |record| {
                    record
                        .number("ZLMTSTAT", status)
                        .number("ZLMTCP", of("CP"))
                        .number("ZLMTIFL", of("IFL"))
                        .number("ZLMTICF", of("ICF"))
                        .number("ZLMTZIIP", of("ZIIP"));
                });
            }
            EventKind::Joined(user, pool) => {
                let system = &world.scenario.systems[self.system];
                let user = &system.users[world.users[*user as usize].number as usize];
                self.write_record("D4R13", event.at, |record| {
                    record
                        .text("ZLUSER", &user.name)
                        .text("ZLPOOL", &system.pools[*pool as usize].name)
                        .number("ZLACTN", 1)
                        .number("ZLCMD", 1);
                });
            }
            EventKind::Limited(pool) => {
                let pool = &world.scenario.systems[self.system].pools[*pool as usize];
                let kind = world.scenario.machine.type_codes[usize::from(pool.kind)];
                let (limited, limit) = limit_of(pool);
                self.write_record("D1R29", event.at, |record| {
                    record
                        .text("LIMPOOL", &pool.name)
                        .number("ZLACTN", 2)
                        .number("ZLTYPE", u64::from(kind))
                        .number("ZLLIMTY", limited)
                        .number("ZLLIMIT", limit);
                });
            }
            EventKind::Settings => {
                let fields = scheduler_settings(world, self.system);
                self.write_record("D2R7", event.at, |record| {
                    for (name, value) in fields {
                        record.number(name, value);
                    }
                });
            }
            EventKind::Capability => {
                let capability = u64::from(world.capability);
                self.write_record("D1R18", event.at, |record| {
                    record
                        .number("CPUCAPAB", capability)
                        .number("SCPCAPAB", capability);
                });
            }
            EventKind::Seek {
                user,
                volume,
                from,
                to,
            } => {
                let system = &world.scenario.systems[self.system];
                let user = &system.users[world.users[*user as usize].number as usize];
                let volume = &system.volumes[*volume as usize];
                self.write_record("D7R1", event.at, |record| {
                    record
                        .number("RDEVDEV", u64::from(volume.device))
                        .text("VMDUSER", &user.name)
                        .number("VDEVDEV", MINIDISK)
                        .number("CALCURCY", u64::from(*from))
                        .number("CALSKCYL", u64::from(*to));
                });
            }
            EventKind::RelocationBegan(which) => {
                let spec = &world.scenario.systems[self.system].relocations[*which as usize];
                self.write_record("D4R11", event.at, |record| {
                    relocated(record, world, self_name(world, event), spec)
                });
            }
            EventKind::RelocationEnded(which, state) => {
                let spec = &world.scenario.systems[self.system].relocations[*which as usize];
                let quiesced = if state.stopped > 0 {
                    state.ended - state.stopped
                } else {
                    0
                };
                self.write_record("D4R12", event.at, |record| {
                    relocated(record, world, self_name(world, event), spec);
                    record
                        .number("ZLSTART", state.began)
                        .number("ZLRLTM", state.ended - state.began)
                        .number("ZLQUTM", quiesced)
                        .number("ZLPASS", u64::from(state.passes))
                        .number("ZLPAGE", (state.sent * PAGES + 0.5) as u64)
                        .number("ZLCODE", u64::from(state.code));
                });
            }
            EventKind::Parking(decisions) => self.parking(world, event.at, decisions),
        }
    }
}

/// The name of the system of an event.
fn self_name<'w>(world: &'w World, event: &RecordedEvent) -> &'w str {
    &world.scenario.systems[event.system as usize].name
}

/// Writes the leading fields of both records of a relocation.
fn relocated(
    record: &mut Record<'_>,
    world: &World,
    from: &str,
    spec: &crate::scenario::Relocation,
) {
    let system = world.scenario.systems.iter().find(|of| of.name == from);
    if let Some(user) = system.and_then(|of| of.users.get(spec.user as usize)) {
        record
            .text("ZLUSER", &user.name)
            .text("ZLFROM", from)
            .text("ZLTO", &spec.to);
    }
}
