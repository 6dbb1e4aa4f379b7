//! Costs of what CP does for users, in ticks, and who has the data that it changes.

use crate::scenario::{Scenario, System};
use crate::time::{Ratio, Ticks, micros};

/// No core.
pub(crate) const NO_OWNER: u32 = u32::MAX;

/// Costs of a system's CP in ticks, and its shared data.
#[derive(Clone, Debug)]
pub struct CpCosts {
    /// An operation of each volume.
    pub(crate) io: Vec<Ticks>,
    /// A page read and a page written.
    pub(crate) page: [Ticks; 2],
    /// Starting an idle processor.
    pub(crate) signal: Ticks,
    /// Fetching the data that each operation changes, by distance.
    pub(crate) shared: [Ticks; 3],
    /// The core that has them, or `NO_OWNER`.
    pub(crate) owner: u32,
    /// Part of this time at a dispatch in which the scheduler lock is held.
    pub(crate) locked: Ratio,
    /// The lists of layer-3 switches.
    pub(crate) lists: Vec<List>,
    /// Time that is not charged to users and not paid yet.
    pub(crate) owed: Ticks,
}

/// The list of a layer-3 switch: the core that has its first lines, and until when they are fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) owner: u32,
    pub(crate) until: Ticks,
}

/// Services in proportion to the virtual CPU time of a virtual CPU.
#[derive(Clone, Debug)]
pub struct Services {
    /// CP time per virtual time.
    pub(crate) time: Ratio,
    /// Lists that its packets search, and the time to fetch their first lines per virtual time, by distance.
    pub(crate) searches: Vec<(u32, [Ratio; 3])>,
    /// Virtual time that is charged.
    pub(crate) charged: Ticks,
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
            owner: NO_OWNER,
            until: 0,
        };
        Self {
            io: system.volumes.iter().map(io).collect(),
            page: [costs.decrypt_us, costs.encrypt_us].map(|cipher| micros(costs.page_us + cipher)),
            signal: micros(costs.signal_us),
            shared: costs.line_us.map(|line| micros(costs.lines * line)),
            owner: NO_OWNER,
            locked: Ratio::from_f64(costs.locked_pct / 100.0),
            lists: vec![list; system.switches.len()],
            owed: 0,
        }
    }

    /// Sets the costs to those at a speed of the processors.
    pub(crate) fn set_speed(&mut self, system: &System, speed: Ratio) {
        let nominal = Self::new(system);
        let at = |cost: Ticks| speed.divide(cost);
        self.io = nominal.io.into_iter().map(at).collect();
        self.page = nominal.page.map(at);
        self.signal = at(nominal.signal);
        self.shared = nominal.shared.map(at);
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
