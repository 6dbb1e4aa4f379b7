//! Relocations: users that stop, move and go on, and CP's work for their storage.

use crate::relocation::Effect;
use crate::state::{CpuState, VcpuState};
use crate::time::micros;
use crate::world::{EventKind, World};

impl World {
    /// The event of a relocation.
    pub(crate) fn relocation_due(&mut self, system: usize, slot: u32) {
        let which = (slot - self.relocation_slots[system]) as usize;
        let number = self.scenario.systems[system].relocations[which].user;
        let user = self.users_of[system].start + number as usize;
        let vcpus = self.users[user].vcpus();
        let mut cpu = 0;
        for v in vcpus.clone() {
            if self.vcpus[v].state == VcpuState::Running {
                self.update_accounting(self.vcpus[v].cpu as usize);
            }
            cpu += self.vcpus[v].times.emulation;
        }
        if self.relocations[system].throttles() {
            let faults = self.users[self.users_of[system].clone()]
                .iter()
                .flat_map(|user| &self.vcpus[user.vcpus()])
                .map(|vcpu| vcpu.counts.faults);
            let faults = faults.sum();
            self.relocations[system].paging(self.now, faults);
        }
        let (effects, next) = self.relocations[system].fire(self.now, which, cpu);
        if let Some(next) = next {
            self.schedule(slot, next.max(self.now + 1));
        }
        for effect in effects {
            match effect {
                Effect::Begin => self.log_event(system, EventKind::RelocationBegan(which as u32)),
                Effect::Stop => {
                    for v in vcpus.clone() {
                        if self.vcpus[v].state != VcpuState::Off {
                            let user = self.vcpus[v].user as usize;
                            self.users[user].idle &= !(1 << self.vcpus[v].number);
                            self.withdraw(v, VcpuState::Quiesced);
                        }
                    }
                }
                Effect::Resume | Effect::Move => {
                    for v in vcpus.clone() {
                        if self.vcpus[v].state == VcpuState::Quiesced {
                            self.resume(v);
                        }
                    }
                    let state = self.relocations[system].states[which].clone();
                    self.log_event(
                        system,
                        EventKind::RelocationEnded(which as u32, Box::new(state)),
                    );
                    if effect == Effect::Move {
                        self.logoff(user);
                    }
                }
                Effect::Sent(mib) => self.charge_link_cpu(system, mib),
            }
        }
    }

    /// CP takes the time for sending storage from the first processor that runs.
    fn charge_link_cpu(&mut self, system: usize, mib: f64) {
        let cost = self.scenario.systems[system]
            .link
            .as_ref()
            .map_or(0.0, |link| 1_000.0 * link.cpu_ms);
        let cost = micros(mib * cost);
        let first = self.cores_of[system]
            .clone()
            .flat_map(|core| self.threads_of(core))
            .find(|cpu| self.cpus[*cpu].state == CpuState::Running);
        if let (Some(cpu), true) = (first, cost > 0) {
            self.update_accounting(cpu);
            self.cpus[cpu].overhead += cost;
            self.reschedule(cpu);
        }
    }
}
