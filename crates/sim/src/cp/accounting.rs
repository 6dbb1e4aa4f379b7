//! What the time of logical processors and virtual CPUs is counted as.

use crate::state::{CpuState, NO_INDEX, VcpuState};
use crate::world::World;

impl World {
    /// Brings the times of a logical processor up to date.
    pub(crate) fn update_accounting(&mut self, number: usize) {
        let cpu = &mut self.cpus[number];
        let mut span = self.now - cpu.since;
        if span == 0 {
            return;
        }
        let since = cpu.since;
        cpu.since = self.now;
        match cpu.state {
            CpuState::Idle => {
                cpu.times.wait += span;
                return;
            }
            CpuState::Parked => {
                cpu.times.parked += span;
                return;
            }
            CpuState::Offline => {
                cpu.times.offline += span;
                return;
            }
            CpuState::Running => {}
        }
        let core = &self.cores[cpu.core as usize];
        let pool = core.pool;
        if core.physical == NO_INDEX {
            cpu.times.suspend += span;
            self.pools[pool as usize].stolen += span;
            return;
        }
        let delayed = self.held_until[cpu.core as usize]
            .min(self.now)
            .saturating_sub(since);
        if delayed > 0 {
            cpu.times.suspend += delayed;
            self.pools[pool as usize].stolen += delayed;
            span -= delayed;
        }
        let system = span.min(cpu.overhead);
        if system > 0 {
            cpu.overhead -= system;
            cpu.times.system += system;
            let spun = system.min(cpu.spinning);
            cpu.spinning -= spun;
            cpu.times.spin += spun;
            self.pools[pool as usize].stolen += system;
            let core = &mut self.cores[cpu.core as usize];
            core.work += cpu.speed.times(system);
            core.paired_work += if cpu.paired {
                cpu.speed.times(system)
            } else {
                0
            };
            if self.counting.active {
                cpu.pending.ticks += system;
                cpu.pending.work += system;
                cpu.pending.cp += system;
                cpu.pending.spinning += spun;
                cpu.pending.both += if cpu.paired { system } else { 0 };
            }
            span -= system;
        }
        if span == 0 {
            return;
        }
        let vcpu = &mut self.vcpus[cpu.vcpu as usize];
        cpu.slice = cpu.slice.saturating_sub(span);
        cpu.times.user += span;
        vcpu.deadline = vcpu.deadline.saturating_add(vcpu.pace.times(span));
        self.running_until[number] = vcpu.running_key();
        vcpu.times.total += span;
        let charged = span.min(vcpu.overhead);
        vcpu.overhead -= charged;
        let emulation = span - charged;
        cpu.times.emulation += emulation;
        vcpu.times.emulation += emulation;
        let reload = emulation.min(vcpu.reload);
        vcpu.reload -= reload;
        let work = cpu.speed.times(emulation - reload).min(vcpu.work);
        vcpu.work -= work;
        vcpu.times.work += work;
        let progress = if self.counting.paces.is_some() {
            work
        } else {
            emulation
        };
        vcpu.owed += vcpu.simulation.times(progress);
        // What CP does for a guest is work, too.
        let core = &mut self.cores[cpu.core as usize];
        let done = work + cpu.speed.times(charged);
        core.work += done;
        core.paired_work += if cpu.paired { done } else { 0 };
        if cpu.paired {
            let speed = match &self.counting.paces {
                Some(paces) => paces.of[number].single(),
                None => self.users[vcpu.user as usize].paired_speed,
            };
            vcpu.times.mt1[0] += speed.times(span);
            vcpu.times.mt1[1] += speed.times(emulation);
            vcpu.times.prorated[0] += span / 2;
            vcpu.times.prorated[1] += emulation / 2;
        } else {
            vcpu.times.mt1[0] += span;
            vcpu.times.mt1[1] += emulation;
            vcpu.times.prorated[0] += span;
            vcpu.times.prorated[1] += emulation;
        }
        if self.counting.active {
            // What CP does for a guest is work at full speed.
            let pending = &mut cpu.pending;
            pending.ticks += span;
            pending.work += charged + work;
            pending.cp += charged;
            pending.emulation += emulation;
            pending.both += if cpu.paired { span } else { 0 };
        }
        let v = cpu.vcpu as usize;
        self.charge(v, span);
    }

    /// Adds the time in a state to what it is counted as.
    pub(crate) fn settle_state(&mut self, v: usize) {
        let vcpu = &mut self.vcpus[v];
        let span = self.now - vcpu.since;
        vcpu.since = self.now;
        if vcpu.state == VcpuState::Ready {
            vcpu.times.ready += span;
        }
        if vcpu.state.wants() {
            vcpu.times.wanting += span;
        }
    }
}
