//! Relocations: users that stop, move and go on, and CP's work for their storage.

use crate::relocation::Effect;
use crate::state::{CpuState, NO_INDEX, Task, VcpuState};
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
                Effect::Resume => {
                    for v in vcpus.clone() {
                        if self.vcpus[v].state == VcpuState::Quiesced {
                            self.resume(v);
                        }
                    }
                    self.log_relocation_end(system, which);
                }
                Effect::Move => {
                    self.log_relocation_end(system, which);
                    let target = self.scenario.systems[system].relocations[which].target;
                    match target {
                        Some([to, number]) => {
                            let to = self.users_of[to as usize].start + number as usize;
                            self.move_guest(user, to);
                        }
                        None => self.logoff(user),
                    }
                }
                Effect::Sent(mib) => {
                    let spec = &self.scenario.systems[system];
                    let (send, receive) = spec
                        .link
                        .as_ref()
                        .map_or((0.0, 0.0), |link| (link.cpu_ms, link.receive_ms));
                    let target = spec.relocations[which].target;
                    self.charge_link_cpu(system, mib * send);
                    if let Some([to, _]) = target {
                        self.charge_link_cpu(to as usize, mib * receive);
                    }
                }
            }
        }
    }

    fn log_relocation_end(&mut self, system: usize, which: usize) {
        let state = self.relocations[system].states[which].clone();
        let ended = EventKind::RelocationEnded(which as u32, Box::new(state));
        self.log_event(system, ended);
    }

    /// A stopped guest continues at another member: what its virtual CPUs have to do, and their random numbers, go
    /// with it. Its CPU time counts from 0 there, as after any logon.
    fn move_guest(&mut self, from: usize, to: usize) {
        let (sources, targets) = (self.users[from].vcpus(), self.users[to].vcpus());
        let mut work = Vec::with_capacity(sources.len());
        for v in sources {
            let vcpu = &mut self.vcpus[v];
            // Customers are in the queue of their user again after its logoff.
            if vcpu.task == Task::Load && vcpu.load.demand.is_some() {
                let done = vcpu.segment - vcpu.work;
                vcpu.backlog += vcpu.left[0].saturating_sub(done);
            }
            let burst = self.events.at(self.slots.bursts + v as u32);
            work.push((vcpu.backlog, vcpu.turn, vcpu.stream.clone(), burst));
        }
        self.logoff(from);
        self.users[from].moved_to = to as u32;
        let mut queue = std::mem::take(&mut self.users[from].queue);
        self.users[to].queue.append(&mut queue);
        self.logon(to);
        for (v, (backlog, turn, stream, burst)) in targets.zip(work) {
            let vcpu = &mut self.vcpus[v];
            (vcpu.backlog, vcpu.turn, vcpu.stream) = (backlog, turn, stream);
            if vcpu.load.demand.is_some() {
                self.schedule(self.slots.bursts + v as u32, burst);
            }
            self.wake(v);
        }
    }

    /// A user, or the one of another system that it continues as.
    pub(super) fn present_user(&self, mut user: usize) -> usize {
        while self.users[user].moved_to != NO_INDEX {
            user = self.users[user].moved_to as usize;
        }
        user
    }

    /// CP takes time for moving storage, in ms, from the first processor that runs, now or the next time.
    fn charge_link_cpu(&mut self, system: usize, ms: f64) {
        let cost = self.relocations[system].owed + micros(1_000.0 * ms);
        let first = self.cores_of[system]
            .clone()
            .flat_map(|core| self.threads_of(core))
            .find(|cpu| self.cpus[*cpu].state == CpuState::Running);
        self.relocations[system].owed = if first.is_some() { 0 } else { cost };
        if let (Some(cpu), true) = (first, cost > 0) {
            self.update_accounting(cpu);
            self.cpus[cpu].overhead += cost;
            self.reschedule(cpu);
        }
    }
}
