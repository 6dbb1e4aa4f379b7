//! Decisions of CP that a policy of the user takes.

use crate::custom_policy::{FrameGroup, PolicyKind, ReadyCpu};
use crate::time::{SECOND, Ticks};
use crate::unpark_policy::{Decision, Observation};
use crate::world::World;

fn to_seconds(later: Ticks, earlier: Ticks) -> f64 {
    (later as f64 - earlier as f64) / SECOND as f64
}

impl World {
    fn policy_time(&self) -> f64 {
        to_seconds(self.now, self.begin)
    }

    fn ready_cpu(&self, v: usize) -> ReadyCpu {
        let vcpu = &self.vcpus[v];
        let pace = vcpu.pace.value();
        ReadyCpu {
            user: self.users[vcpu.user as usize].number,
            number: vcpu.number,
            part: if pace > 0.0 { 1.0 / pace } else { 0.0 },
            waiting: to_seconds(self.now, vcpu.since),
            used: vcpu.times.total as f64 / SECOND as f64,
            deadline: to_seconds(vcpu.deadline, self.scheduler_time(self.pool_of_vcpu(v))),
            processor: self.address(vcpu.cpu as usize).0 as u32,
        }
    }

    /// The virtual CPU that a policy chooses for a processor: any that is ready, and one beyond its LIMITSOFT only if
    /// no other is. `None` if CP chooses.
    #[inline]
    pub(super) fn chosen(&mut self, pool: usize, number: usize) -> Option<usize> {
        let system = self.pools[pool].system as usize;
        if self.policies[system].decides(PolicyKind::Scheduler) {
            return self.choose(system, pool, number);
        }
        None
    }

    #[cold]
    fn choose(&mut self, system: usize, pool: usize, number: usize) -> Option<usize> {
        let state = &self.pools[pool];
        let mut ready: Vec<usize> = (state.vectors.0..state.vectors.0 + state.vectors.1)
            .flat_map(|vector| {
                let heap = &self.vectors.heaps[vector as usize];
                (0..heap.len()).filter_map(|at| heap.at(at as u32))
            })
            .map(|entry| entry.number as usize)
            .collect();
        if ready.iter().any(|v| !self.vcpus[*v].beyond) {
            ready.retain(|v| !self.vcpus[*v].beyond);
        }
        if ready.is_empty() {
            return None;
        }
        ready.sort_unstable();
        let cpus: Vec<ReadyCpu> = ready.iter().map(|v| self.ready_cpu(*v)).collect();
        let now = self.policy_time();
        let processor = self.address(number).0 as u32;
        let at = self.policies[system].decision(|policy| policy.choose(now, processor, &cpus))?;
        ready.get(at).copied()
    }

    /// The idle processor for a virtual CPU that is ready: by the policy, or else the nearest.
    #[inline]
    pub(super) fn idle_processor(&mut self, pool: usize, v: usize) -> Option<usize> {
        let system = self.pools[pool].system as usize;
        if self.policies[system].decides(PolicyKind::Dispatcher)
            && let Some(cpu) = self.choose_idle(system, pool, v)
        {
            return Some(cpu);
        }
        self.idle_cpu(pool, v)
    }

    #[cold]
    fn choose_idle(&mut self, system: usize, pool: usize, v: usize) -> Option<usize> {
        let state = &self.pools[pool];
        let (first, count) = (state.first as usize, (state.end - state.first) as usize);
        let idle: Vec<usize> = (0..count)
            .filter(|at| state.idle.contains(*at))
            .map(|at| first + at)
            .collect();
        if idle.is_empty() {
            return None;
        }
        let numbers: Vec<u32> = idle.iter().map(|cpu| self.address(*cpu).0 as u32).collect();
        let ready = self.ready_cpu(v);
        let now = self.policy_time();
        let at = self.policies[system].decision(|policy| policy.place(now, &ready, &numbers))?;
        idle.get(at).copied()
    }

    /// Replaces the number of unparked cores by that of the policy.
    pub(crate) fn unparked_by_policy(
        &mut self,
        system: usize,
        kind: u8,
        seen: &Observation,
        decision: &mut Decision,
    ) {
        if self.policies[system].decides(PolicyKind::Unparking) {
            let now = self.policy_time();
            let decided = self.policies[system].decision(|policy| policy.unpark(now, kind, seen));
            if let Some(unparked) = decided {
                decision.unparked = unparked.clamp(decision.online.min(1), decision.online);
            }
        }
    }

    /// The groups of frames that the policy takes first; none if CP selects, or wants no frames.
    pub(crate) fn selected_frames(&mut self, system: usize) -> Vec<FrameGroup> {
        if !self.policies[system].decides(PolicyKind::PageSelection) {
            return Vec::new();
        }
        let Some((wanted, groups)) = self.memory[system].as_ref().and_then(|m| m.choice()) else {
            return Vec::new();
        };
        let now = self.policy_time();
        let order = self.policies[system].decision(|policy| policy.select(now, wanted, &groups));
        let order = order.unwrap_or_default();
        order
            .iter()
            .filter_map(|at| groups.get(*at).copied())
            .collect()
    }
}
