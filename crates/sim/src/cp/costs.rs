//! CP time of what CP does for users: I/O, pages, packets, messages, signals, and the cache lines it shares.
//!
//! What is for a user is charged to it: the virtual CPU that asked for it runs on only after that time. All else
//! is paid by the next processor that dispatches a virtual CPU. The data that CP changes at each dispatch, I/O
//! operation and page fault are in the caches of the core that did so last, so the cost of fetching them follows
//! from how far apart the cores are that take turns.
//!
//! A layer-3 switch has a list of its NICs, which each packet searches. Every search changes the list's first
//! cache lines, so they are on one core at a time, and the others spin until they have them.

use crate::costs::{List, NO_OWNER};
use crate::state::VcpuState;
use crate::time::{Ratio, Ticks};
use crate::world::World;

impl World {
    /// The time that CP takes on a processor for what takes `time` alone on the machine. Its data and code are fetched from
    /// where those of the virtual CPU are that it runs for.
    #[inline]
    pub(crate) fn stretched(&self, number: usize, time: Ticks) -> Ticks {
        self.cpus[number].stretch.times(time)
    }

    /// Charges CP time to a virtual CPU, which runs on after it.
    pub(crate) fn charge_user(&mut self, v: usize, time: Ticks) {
        if time == 0 {
            return;
        }
        let cpu = self.vcpus[v].cpu;
        let running = self.vcpus[v].state == VcpuState::Running;
        if running {
            self.update_accounting(cpu as usize);
        }
        self.vcpus[v].overhead += time;
        if running && cpu != self.handling {
            self.reschedule(cpu as usize);
        }
    }

    /// Adds CP time that no user is charged for.
    pub(crate) fn owe(&mut self, system: usize, time: Ticks) {
        self.costs[system].owed += time;
    }

    /// Charges an I/O operation to a virtual CPU.
    pub(crate) fn charge_io(&mut self, v: usize, system: usize, volume: u32) {
        let cpu = self.vcpus[v].cpu as usize;
        let own = self.stretched(cpu, self.costs[system].io[volume as usize]);
        let time = own + self.shared_data(system, cpu);
        self.charge_user(v, time);
    }

    /// Charges reading a block of pages to a virtual CPU.
    pub(crate) fn charge_read(&mut self, v: usize, system: usize, volume: u32, pages: u32) {
        self.charge_io(v, system, volume);
        let cpu = self.vcpus[v].cpu as usize;
        self.charge_user(
            v,
            self.stretched(cpu, self.costs[system].pages(pages, false)),
        );
    }

    /// Adds writing a block of pages to the time that no user is charged for.
    pub(crate) fn owe_write(&mut self, system: usize, volume: u32, pages: u32) {
        let costs = &self.costs[system];
        let time = costs.io[volume as usize] + costs.pages(pages, true);
        self.owe(system, time);
    }

    /// An idle processor is signaled to run.
    pub(super) fn signal(&mut self, system: usize) {
        let time = self.costs[system].signal;
        self.owe(system, time);
    }

    /// Returns the time that a dispatch costs a system and its user, besides the dispatcher's own.
    pub(super) fn dispatch_costs(&mut self, system: usize, cpu: usize) -> (Ticks, Ticks) {
        let owed = std::mem::take(&mut self.costs[system].owed);
        (owed, self.shared_data(system, cpu))
    }

    /// Returns the time in which a processor fetches the data that CP changes, which its core has afterwards.
    #[inline]
    fn shared_data(&mut self, system: usize, cpu: usize) -> Ticks {
        if self.costs[system].shared[2] == 0 {
            return 0;
        }
        self.fetch_shared_data(system, cpu)
    }

    fn fetch_shared_data(&mut self, system: usize, cpu: usize) -> Ticks {
        let costs = &mut self.costs[system];
        let core = self.cpus[cpu].core;
        let owner = std::mem::replace(&mut costs.owner, core);
        if owner == core || owner == NO_OWNER {
            return 0;
        }
        let distance = self.distance(owner as usize, core as usize);
        let time = self.costs[system].shared[distance];
        if self.counting.paces.is_some() {
            let pending = &mut self.cpus[cpu].pending;
            pending.fetching += time;
            pending.changed[distance] += self.scenario.systems[system].cp.costs.lines;
        }
        time
    }

    /// Charges the services of the virtual time that passed; whether there was anything to charge.
    #[inline]
    pub(crate) fn serve(&mut self, v: usize, number: usize) -> bool {
        let services = &self.vcpus[v].services;
        let any = services.time != Ratio::ZERO || !services.searches.is_empty();
        any && self.charge_services(v, number)
    }

    fn charge_services(&mut self, v: usize, number: usize) -> bool {
        let done = self.progress(&self.vcpus[v].times);
        let vcpu = &mut self.vcpus[v];
        let services = &mut vcpu.services;
        let span = done.saturating_sub(services.charged);
        services.charged = done;
        let own = services.time.times(span);
        let mut time = self.stretched(number, own);
        let core = self.cpus[number].core;
        let system = self.cores[core as usize].system as usize;
        for at in 0..self.vcpus[v].services.searches.len() {
            let (list, holds) = self.vcpus[v].services.searches[at];
            let List { owner, until } = self.costs[system].lists[list as usize];
            let hold = if owner == core || owner == NO_OWNER {
                0
            } else {
                holds[self.distance(owner as usize, core as usize)].times(span)
            };
            let begin = until.max(self.now);
            self.costs[system].lists[list as usize] = List {
                owner: core,
                until: begin + hold,
            };
            time += begin + hold - self.now;
        }
        self.vcpus[v].overhead += time;
        time > 0
    }
}
