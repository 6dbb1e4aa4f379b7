//! Relocations: users that stop, move and go on, and CP's work for their storage.

use super::work::OF_RELOCATIONS;
use crate::io::Request;
use crate::relocation::{Effect, Surroundings};
use crate::state::{CpuState, NO_INDEX, Task, VcpuState};
use crate::storage::PAGES;
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
        let faults = self.users[self.users_of[system].clone()]
            .iter()
            .flat_map(|user| &self.vcpus[user.vcpus()])
            .map(|vcpu| vcpu.counts.faults);
        let faults = faults.sum();
        self.relocations[system].paging(self.now, faults);
        let spec = &self.scenario.systems[system].relocations[which];
        let target = spec
            .target
            .map(|[to, number]| (to as usize, number as usize));
        let memory = self.memory[system].as_ref();
        let arrives = target.and_then(|(to, number)| {
            let memory = self.memory[to].as_ref()?;
            Some(memory.room(number, spec.touched_mib.max(1.0 / PAGES)))
        });
        let around = Surroundings {
            cpu,
            paged_out: memory.map_or(0.0, |memory| memory.paged_out(number as usize)),
            room: arrives.unwrap_or(f64::INFINITY),
        };
        let (effects, next) = self.relocations[system].fire(self.now, which, around);
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
                    if let Some((to, number)) = target
                        && let Some(memory) = &mut self.memory[to]
                    {
                        memory.turn_away(number);
                    }
                    self.log_relocation_end(system, which);
                }
                Effect::Move => {
                    self.log_relocation_end(system, which);
                    match target {
                        Some((to, number)) => {
                            self.move_guest(user, self.users_of[to].start + number);
                            if let Some(memory) = &mut self.memory[to] {
                                memory.settle_arrival(number);
                            }
                        }
                        None => self.logoff(user),
                    }
                }
                Effect::Walk(seconds) => {
                    let link = self.scenario.systems[system].link.as_ref();
                    if link.is_some_and(|link| link.cpu_ms > 0.0) {
                        self.charge_link_cpu(system, 1_000.0 * seconds);
                    }
                }
                Effect::Read(mib) => self.read_for_relocation(system, which, mib),
                Effect::Sent { mib, first } => {
                    let spec = &self.scenario.systems[system];
                    let (send, receive) = spec
                        .link
                        .as_ref()
                        .map_or((0.0, 0.0), |link| (link.cpu_ms, link.receive_ms));
                    let touched = spec.relocations[which].touched_mib;
                    self.charge_link_cpu(system, mib * send);
                    if let Some((to, number)) = target {
                        self.charge_link_cpu(to, mib * receive);
                        if let (true, Some(memory)) = (first, &mut self.memory[to]) {
                            memory.arrive(number, mib / touched.max(mib));
                        }
                    }
                }
            }
        }
    }

    /// CP reads pages of a guest from paging volumes, before they are sent.
    fn read_for_relocation(&mut self, system: usize, which: usize, mib: f64) {
        let pages = self.scenario.systems[system].cp.block_pages;
        let number = self.cores_of[system].start;
        let number = self.cores[number].first as usize;
        // One for this loop, so that the last block ends the wait also if it is over at once.
        self.relocation_reads[system][which] = 1;
        let mut left = mib * PAGES;
        while left > 0.0 {
            left -= f64::from(pages);
            let Some(memory) = &mut self.memory[system] else {
                break;
            };
            let at = memory.volume_of_read();
            let Some(volume) = self.io[system].paging_volumes().get(at).copied() else {
                break;
            };
            let costs = &self.costs[system];
            let time = costs.io[volume as usize] + costs.pages(pages, false);
            self.owe(system, time);
            self.cpus[number].counts.pages[0] += u64::from(pages);
            self.relocation_reads[system][which] += 1;
            let request = Request {
                token: OF_RELOCATIONS + which as u32,
                pages,
                write: Some(false),
            };
            self.start_io(system, volume, request, number);
        }
        self.relocation_read(system, which);
    }

    /// A block of a guest's pages was read; after the last one they are sent.
    pub(super) fn relocation_read(&mut self, system: usize, which: usize) {
        let left = &mut self.relocation_reads[system][which];
        *left -= 1;
        if *left == 0 {
            let slot = self.relocation_slots[system] + which as u32;
            self.schedule(slot, self.now + 1);
        }
    }

    /// CP time of the messages that the members of a cluster exchange, up to the next sample.
    pub(crate) fn charge_cluster(&mut self, system: usize) {
        let link = self.scenario.systems[system].link.as_ref();
        let us = link.map_or(0.0, |link| link.cluster_us);
        if us > 0.0 {
            self.charge_link_cpu(system, us * self.scenario.high_frequency_s / 1_000.0);
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
