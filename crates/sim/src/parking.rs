//! Parking: collects a system's observations every two seconds and applies its decision.

use crate::state::{NO_INDEX, Parking, Polarity};
use crate::time::Ticks;
use crate::unpark_policy::{Cores, Decision, INTERVAL, Observation, PeerPartition, Unparker};
use crate::world::{EventKind, World};

impl World {
    /// Systems that park begin to decide.
    pub(crate) fn start_parking(&mut self) {
        for system in 0..self.scenario.systems.len() {
            let rules = &self.scenario.systems[system].cp.unparking;
            if !rules.active {
                self.parking.push(None);
                continue;
            }
            self.parking.push(Some(Parking {
                unparker: Unparker::new(rules, self.scenario.partitions.len()),
                before: vec![0; self.shares.len()],
                others: Vec::new(),
            }));
            let slot = self.slots.unparks + system as u32;
            self.schedule(slot, self.now + INTERVAL);
        }
    }

    /// A system decides on parking for all of its types.
    pub(crate) fn unpark(&mut self, system: usize) {
        let Some(mut parking) = self.parking[system].take() else {
            return;
        };
        for core in 0..self.cores.len() {
            self.settle_core(core);
        }
        let mut decisions = Vec::new();
        for kind in 0..self.pool_of[system].len() {
            let pool = self.pool_of[system][kind];
            if pool == NO_INDEX {
                continue;
            }
            let decision = self.decide(&mut parking, pool as usize);
            self.follow(pool as usize, decision.unparked as usize);
            decisions.push((kind as u8, decision));
        }
        for (share, before) in parking.before.iter_mut().enumerate() {
            *before = self.used_by(share);
        }
        self.parking[system] = Some(parking);
        self.set_shares(system);
        self.log_event(system, EventKind::Parking(decisions));
        self.schedule(self.slots.unparks + system as u32, self.now + INTERVAL);
    }

    /// Time that the cores of a share were dispatched.
    fn used_by(&self, share: usize) -> Ticks {
        let cores = self.shares[share].cores.iter();
        cores
            .map(|core| self.cores[*core as usize].dispatched)
            .sum()
    }

    fn decide(&mut self, parking: &mut Parking, pool: usize) -> Decision {
        let percent = |used: Ticks| 100.0 * used as f64 / INTERVAL as f64;
        let used_since = |share: usize| percent(self.used_by(share) - parking.before[share]);
        let own = self.cores[self.pools[pool].cores[0] as usize].share as usize;
        let spec = self.share_spec(own);
        let mut cores = Cores {
            highs: 0,
            mediums: 0,
            lows: 0,
            medium: 100.0 * (spec.entitlement - f64::from(spec.highs))
                / f64::from(spec.mediums.max(1)),
        };
        for core in &self.pools[pool].cores {
            let core = &self.cores[*core as usize];
            if core.online {
                match core.polarity {
                    Polarity::High | Polarity::Horizontal => cores.highs += 1,
                    Polarity::Medium => cores.mediums += 1,
                    Polarity::Low => cores.lows += 1,
                }
            }
        }
        parking.others.clear();
        for (share, state) in self.shares.iter().enumerate() {
            let of = self.share_spec(share);
            if share == own || state.kind != self.pools[pool].kind || of.dedicated {
                continue;
            }
            let used = used_since(share);
            parking.others.push(PeerPartition {
                weight: f64::from(of.weight),
                entitlement: 100.0 * of.entitlement,
                used,
                demand: used,
            });
        }
        let capped = spec.capped.then_some(spec.entitlement);
        let group = spec
            .group
            .map(|group| self.scenario.partition_groups[group as usize].cap);
        let cap = [capped, spec.cap, group]
            .into_iter()
            .flatten()
            .fold(f64::INFINITY, f64::min);
        let seen = Observation {
            cores,
            weight: f64::from(spec.weight),
            used: used_since(own),
            cap: cap.is_finite().then_some(100.0 * cap),
            others: &parking.others,
        };
        let mut decision = parking.unparker.decide(&seen);
        let of = &self.pools[pool];
        self.unparked_by_policy(of.system as usize, of.kind, &seen, &mut decision);
        decision
    }

    pub(crate) fn share_spec(&self, share: usize) -> &crate::scenario::PartitionShare {
        let state = &self.shares[share];
        let specs = &self.scenario.partitions[state.partition as usize].shares;
        let own = specs.iter().position(|spec| spec.kind == state.kind);
        &specs[own.unwrap_or(0)]
    }

    /// Leaves the first cores unparked, and parks the others.
    fn follow(&mut self, pool: usize, unparked: usize) {
        let mut open = 0;
        for at in 0..self.pools[pool].cores.len() {
            let core = self.pools[pool].cores[at] as usize;
            if !self.cores[core].online {
                continue;
            }
            let stays = open < unparked;
            open += usize::from(stays);
            if stays && self.cores[core].parked {
                self.activate(core);
            } else if !stays && !self.cores[core].parked {
                // Cores with a dedicated virtual CPU are never parked.
                let dedicated = self
                    .threads_of(core)
                    .any(|cpu| self.reserved[cpu] != NO_INDEX);
                if !dedicated {
                    self.deactivate(core, false);
                }
            }
        }
    }
}
