//! CP time of what CP does for users: I/O, pages, packets, messages, signals, and the cache lines it shares.
//!
//! What is for a user is charged to it: the virtual CPU that asked for it runs on only after that time. All else
//! is paid by the next processor that dispatches a virtual CPU. The data that CP changes at each dispatch, I/O
//! operation and page fault are in the caches of the core that did so last, so the cost of fetching them follows
//! from how far apart the cores are that take turns.
//!
//! A layer-3 switch has a list of its NICs, which each packet searches. Every search changes the list's first
//! cache lines, so they are on one core at a time, and the others spin until they have them.

use crate::scenario::{Scenario, System};
use crate::state::{NO_INDEX, VcpuState};
use crate::time::{Ratio, Ticks, micros};
use crate::world::World;

/// Costs of a system's CP in ticks, and its shared data.
#[derive(Clone, Debug)]
pub struct CpCosts {
    /// An operation of each volume.
    io: Vec<Ticks>,
    /// A page read and a page written.
    page: [Ticks; 2],
    /// Starting an idle processor.
    signal: Ticks,
    /// Fetching the data that each operation changes, by distance.
    shared: [Ticks; 3],
    /// The core that has them, or `NO_INDEX`.
    owner: u32,
    /// The lists of layer-3 switches.
    lists: Vec<List>,
    /// Time that is not charged to users and not paid yet.
    owed: Ticks,
}

/// The list of a layer-3 switch: the core that has its first lines, and until when they are fetched.
#[derive(Clone, Copy, Debug)]
struct List {
    owner: u32,
    until: Ticks,
}

/// Services in proportion to the virtual CPU time of a virtual CPU.
#[derive(Clone, Debug)]
pub struct Services {
    /// CP time per virtual time.
    time: Ratio,
    /// Lists that its packets search, and the time to fetch their first lines per virtual time, by distance.
    searches: Vec<(u32, [Ratio; 3])>,
    /// Virtual time that is charged.
    charged: Ticks,
}

impl CpCosts {
    /// The costs of a system.
    pub(crate) fn new(system: &System) -> Self {
        let costs = &system.cp.costs;
        let io = |volume: &crate::scenario::Volume| {
            let (operation, record) = match volume.transport_pct {
                Some(_) => (costs.transport_us, costs.transport_record_us),
                None => (costs.io_us, costs.io_record_us),
            };
            // The pages of paging I/O have a cost of their own.
            let records = if volume.paging { 0.0 } else { volume.records };
            micros(operation + record * records)
        };
        let list = List {
            owner: NO_INDEX,
            until: 0,
        };
        Self {
            io: system.volumes.iter().map(io).collect(),
            page: [costs.decrypt_us, costs.encrypt_us].map(|cipher| micros(costs.page_us + cipher)),
            signal: micros(costs.signal_us),
            shared: costs.line_us.map(|line| micros(costs.lines * line)),
            owner: NO_INDEX,
            lists: vec![list; system.switches.len()],
            owed: 0,
        }
    }

    /// Time to move pages.
    pub(crate) fn pages(&self, pages: u32, write: bool) -> Ticks {
        u64::from(pages) * self.page[usize::from(write)]
    }
}

impl Services {
    /// The services that a user's virtual CPUs ask for.
    pub(crate) fn new(system: &System, user: u32, message_rate: f64) -> Self {
        let costs = &system.cp.costs;
        let mut us = message_rate * costs.message_us;
        let mut searches = Vec::new();
        for (switch, list) in system.switches.iter().zip(0..) {
            let mib: f64 = switch
                .ports
                .iter()
                .filter(|port| port.user == user)
                .map(|port| port.out_mib + port.in_mib + port.next_mib)
                .sum();
            let packets = mib * 1_048_576.0 / switch.packet_bytes.max(1.0);
            if switch.layer == 2 {
                us += packets * costs.packet_us[0];
                continue;
            }
            // On average, half of the list is searched.
            let nics = 0.5
                * switch
                    .ports
                    .iter()
                    .map(|port| f64::from(port.nics))
                    .sum::<f64>();
            us += packets * (costs.packet_us[1] + nics * costs.nic_us);
            let lines = packets * costs.list_lines;
            let holds = costs
                .line_us
                .map(|line| Ratio::from_f64(lines * line / 1e6));
            if holds.iter().any(|hold| *hold > Ratio::ZERO) {
                searches.push((list, holds));
            }
        }
        Self {
            time: Ratio::from_f64(us / 1e6),
            searches,
            charged: 0,
        }
    }
}

/// The costs of all systems.
pub(crate) fn costs(scenario: &Scenario) -> Vec<CpCosts> {
    scenario.systems.iter().map(CpCosts::new).collect()
}

impl World {
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
        let time = self.costs[system].io[volume as usize] + self.shared_data(system, cpu);
        self.charge_user(v, time);
    }

    /// Charges reading a block of pages to a virtual CPU.
    pub(crate) fn charge_read(&mut self, v: usize, system: usize, volume: u32, pages: u32) {
        self.charge_io(v, system, volume);
        self.charge_user(v, self.costs[system].pages(pages, false));
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
    fn shared_data(&mut self, system: usize, cpu: usize) -> Ticks {
        let costs = &mut self.costs[system];
        if costs.shared[2] == 0 {
            return 0;
        }
        let core = self.cpus[cpu].core;
        let owner = std::mem::replace(&mut costs.owner, core);
        if owner == core || owner == NO_INDEX {
            return 0;
        }
        let distance = self.distance(owner as usize, core as usize);
        self.costs[system].shared[distance]
    }

    /// Charges the services of the virtual time that passed; whether there was anything to charge.
    pub(crate) fn serve(&mut self, v: usize, number: usize) -> bool {
        let vcpu = &mut self.vcpus[v];
        let services = &mut vcpu.services;
        if services.time == Ratio::ZERO && services.searches.is_empty() {
            return false;
        }
        let span = vcpu.times.emulation.saturating_sub(services.charged);
        services.charged = vcpu.times.emulation;
        let mut time = services.time.times(span);
        let core = self.cpus[number].core;
        let system = self.cores[core as usize].system as usize;
        for at in 0..self.vcpus[v].services.searches.len() {
            let (list, holds) = self.vcpus[v].services.searches[at];
            let List { owner, until } = self.costs[system].lists[list as usize];
            let hold = if owner == core || owner == NO_INDEX {
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
