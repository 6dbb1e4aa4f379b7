//! What changes at the Hardware Management Console: weights, caps, and the capability of the machine.

use crate::state::{CpuState, NO_INDEX, Polarity};
use crate::time::Ratio;
use crate::world::{EventKind, World, cp_timings};

impl World {
    /// The place of a partition's share of a type.
    fn share_of(&self, partition: u32, kind: u8) -> Option<usize> {
        let of = |share: &crate::state::Share| share.partition == partition && share.kind == kind;
        self.shares.iter().position(of)
    }

    /// Partitions have other weights: their entitlements, caps and polarities change.
    pub(crate) fn set_weights(&mut self, kind: u8, weights: &[crate::scenario::Weight]) {
        for core in 0..self.cores.len() {
            self.settle_core(core);
        }
        let mut rising = Vec::new();
        for change in weights {
            let Some(share) = self.share_of(change.partition, kind) else {
                continue;
            };
            let partition = &mut self.scenario.partitions[change.partition as usize];
            let vertical = partition.vertical;
            let Some(spec) = partition.shares.iter_mut().find(|spec| spec.kind == kind) else {
                continue;
            };
            spec.weight = change.weight;
            spec.entitlement = change.entitlement;
            spec.highs = change.highs;
            spec.mediums = change.mediums;
            let spec = spec.clone();
            self.shares[share].pace = Ratio::from_f64(1.0 / spec.entitlement.max(1e-6));
            self.change_cap(share, spec.most());
            if !vertical {
                continue;
            }
            for at in 0..self.shares[share].cores.len() {
                let number = self.shares[share].cores[at] as usize;
                let polarity = Polarity::at_position(&spec, at as u32);
                let core = &mut self.cores[number];
                let before = std::mem::replace(&mut core.polarity, polarity);
                if before == Polarity::High && polarity != Polarity::High {
                    core.dedicated = false;
                    self.physical[core.home as usize].home_of = NO_INDEX;
                } else if before != Polarity::High && polarity == Polarity::High {
                    rising.push(number);
                }
            }
        }
        // Homes are given out when all that lose theirs have.
        for number in rising {
            self.give_home(number);
        }
    }

    /// Gives a core that has become vertical-high a physical core of its own: the one it was on, if that is free.
    fn give_home(&mut self, number: usize) {
        let kind = self.shares[self.cores[number].share as usize].kind;
        let taken = |physical: usize| {
            let state = &self.physical[physical];
            let dedicated = state.logical != NO_INDEX && {
                let core = &self.cores[state.logical as usize];
                core.dedicated && core.polarity == Polarity::Horizontal
            };
            state.kind != kind || state.home_of != NO_INDEX || dedicated
        };
        let before = self.cores[number].home as usize;
        let free = (before < self.physical.len() && !taken(before))
            .then_some(before)
            .or_else(|| (0..self.physical.len()).find(|physical| !taken(*physical)));
        if let Some(home) = free {
            self.physical[home].home_of = number as u32;
            self.cores[number].home = home as u32;
            self.cores[number].dedicated = true;
        }
    }

    /// A partition has another absolute cap; it has had one from the beginning.
    pub(crate) fn set_cap(&mut self, partition: u32, kind: u8, cap: f64) {
        let Some(share) = self.share_of(partition, kind) else {
            return;
        };
        let specs = &mut self.scenario.partitions[partition as usize].shares;
        if let Some(spec) = specs.iter_mut().find(|spec| spec.kind == kind) {
            spec.cap = Some(cap);
            let most = spec.most();
            self.change_cap(share, most);
        }
    }

    fn change_cap(&mut self, share: usize, most: Option<f64>) {
        let limit = self.shares[share].limits[0];
        if let (Some(most), true) = (most, limit != NO_INDEX) {
            let now = self.now;
            self.limits[limit as usize]
                .limiter
                .change(Ratio::from_f64(most), now);
        }
    }

    /// The machine becomes slower, to save energy, or as fast as before: work of guests and of CP takes longer or
    /// shorter. All its systems notice.
    pub(crate) fn set_capability(&mut self, capability: u32) {
        let nominal = self.scenario.machine.capability;
        self.capability = capability;
        self.speed = Ratio::new(u64::from(nominal), u64::from(capability));
        for (timings, system) in self.cp.iter_mut().zip(&self.scenario.systems) {
            let nominal = cp_timings(&system.cp);
            timings.dispatch_user = self.speed.divide(nominal.dispatch_user);
            timings.dispatch_system = self.speed.divide(nominal.dispatch_system);
            timings.lock_hold = self.speed.divide(nominal.lock_hold);
        }
        for (costs, system) in self.costs.iter_mut().zip(&self.scenario.systems) {
            costs.set_speed(system, self.speed);
        }
        for (memory, system) in self.memory.iter_mut().zip(&self.scenario.systems) {
            if let Some(memory) = memory {
                memory.set_speed(system, self.speed);
            }
        }
        for number in 0..self.cpus.len() {
            if self.cpus[number].state == CpuState::Running {
                self.update_accounting(number);
                self.set_speed(number);
                self.reschedule(number);
            }
        }
        for system in 0..self.scenario.systems.len() {
            self.log_event(system, EventKind::Capability);
        }
    }
}
