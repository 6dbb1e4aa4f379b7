//! LIMITHARD, LIMITSOFT and CPU pools: which virtual CPU gets the credit of a limit.
//!
//! Those that share a hard limit get its credit by start-time fair queuing: each slice of credit has a start in
//! the limit's own time: the end of the virtual CPU's slice before, but no more than the lag before that time.
//! The earliest start goes first, and the limit's time is the latest start so far. The end is the start plus
//! the slice over the virtual CPU's part. Those that run ask for their next slice of credit before the one they have is
//! over, so a virtual CPU whose start is always the earliest runs without a pause.

use crate::state::{CpuState, NO_INDEX, VcpuState};
use crate::time::{NEVER, Ticks};
use crate::world::World;

/// Result of a request for credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Run.
    Granted,
    /// Run on what all others leave, because it is beyond its LIMITSOFT.
    OverSoftLimit,
    /// Nothing: it waits for credit.
    MustWait,
}

impl World {
    /// The hard limits of a virtual CPU: its user's and its pool's.
    fn hard_limits(&self, v: usize) -> [u32; 2] {
        let user = &self.users[self.vcpus[v].user as usize];
        if !self.scenario.systems[user.system as usize].cp.limits {
            return [NO_INDEX; 2];
        }
        [if user.hard { user.limit } else { NO_INDEX }, user.pool]
    }

    /// The limits whose credit it takes ahead: all but a LIMITSOFT that it is beyond.
    fn credited(&self, v: usize) -> [u32; 2] {
        let [own, pool] = self.hard_limits(v);
        let vcpu = &self.vcpus[v];
        let user = &self.users[vcpu.user as usize];
        let limits = self.scenario.systems[user.system as usize].cp.limits;
        if limits && !user.hard && !vcpu.beyond {
            return [user.limit, pool];
        }
        [own, pool]
    }

    /// The credit that is taken at once: a time slice.
    fn slice_of_credit(&self, v: usize) -> Ticks {
        let user = &self.users[self.vcpus[v].user as usize];
        let system = user.system as usize;
        let threads = self.scenario.systems[system].threads[usize::from(user.kind)];
        self.cp[system].slice[usize::from(threads > 1)]
    }

    /// Asks for credit for a virtual CPU that is to be ready.
    #[inline]
    pub(crate) fn request_credit(&mut self, v: usize) -> Grant {
        let user = &self.users[self.vcpus[v].user as usize];
        if user.limit == NO_INDEX && user.pool == NO_INDEX {
            return Grant::Granted;
        }
        self.request_limited(v)
    }

    fn request_limited(&mut self, v: usize) -> Grant {
        if self.vcpus[v].reserved == 0 {
            self.vcpus[v].beyond = self.is_beyond(v);
            let limits = self.hard_limits(v);
            for limit in limits {
                // One that comes first gets its next slice, though it runs.
                while limit != NO_INDEX && self.exhausted_limit([limit, NO_INDEX]).is_none() {
                    let order = self.order(limit as usize, v);
                    let Some(ahead) = self.runner_ahead_of(limit as usize, order) else {
                        break;
                    };
                    self.give_credit(ahead);
                }
            }
            if let Some(limit) = self.exhausted_limit(limits) {
                self.wait_for_credit(v, limit);
                return Grant::MustWait;
            }
            if self.credited(v) != [NO_INDEX; 2] {
                self.give_credit(v);
            }
        }
        if self.vcpus[v].beyond {
            Grant::OverSoftLimit
        } else {
            Grant::Granted
        }
    }

    /// Whether its user is beyond LIMITSOFT; it is looked at again when there is credit.
    fn is_beyond(&mut self, v: usize) -> bool {
        let user = &self.users[self.vcpus[v].user as usize];
        let (limit, system) = (user.limit, user.system as usize);
        if limit == NO_INDEX || user.hard || !self.scenario.systems[system].cp.limits {
            return false;
        }
        let now = self.now;
        let state = &mut self.limits[limit as usize];
        if state.limiter.allows(now) {
            return false;
        }
        let at = state.limiter.available(now);
        let slot = state.slot;
        let pending = self.events.at(slot);
        // One of the past is being handled.
        if pending == NEVER || pending <= self.now {
            self.schedule(slot, at);
        }
        true
    }

    /// The limit that has no credit for another one.
    fn exhausted_limit(&mut self, limits: [u32; 2]) -> Option<u32> {
        let now = self.now;
        limits.into_iter().find(|limit| {
            *limit != NO_INDEX && {
                let state = &mut self.limits[*limit as usize];
                !state.waiting.is_empty() || !state.limiter.allows(now)
            }
        })
    }

    /// The start of a virtual CPU's next slice of credit in a limit's own time.
    fn credit_start(&self, v: usize, limit: u32) -> Ticks {
        let own = self.hard_limits(v)[0] == limit;
        let system = self.users[self.vcpus[v].user as usize].system;
        let present = self.limits[limit as usize].present;
        let earliest = present.saturating_sub(self.cp[system as usize].lag);
        self.vcpus[v].claims[usize::from(!own)].max(earliest)
    }

    /// Takes a slice of credit from all limits of a virtual CPU but a LIMITSOFT that it is beyond.
    fn give_credit(&mut self, v: usize) {
        let slice = self.slice_of_credit(v);
        let span = self.vcpus[v].pace.times(slice);
        let beyond = self.vcpus[v].beyond;
        for (at, limit) in self.credited(v).into_iter().enumerate() {
            if limit == NO_INDEX {
                continue;
            }
            let start = self.credit_start(v, limit);
            let state = &mut self.limits[limit as usize];
            state.limiter.charge(slice);
            if !beyond {
                state.present = state.present.max(start);
            }
            if self.vcpus[v].reserved == 0 {
                state.holders.push(v as u32);
            }
            self.vcpus[v].claims[at] = start.saturating_add(span);
        }
        self.vcpus[v].reserved += slice;
    }

    /// Charges what a virtual CPU used to its limits.
    pub(crate) fn charge(&mut self, v: usize, span: Ticks) {
        let user = &mut self.users[self.vcpus[v].user as usize];
        if user.limit == NO_INDEX && user.pool == NO_INDEX {
            return;
        }
        let limits = [user.limit, user.pool];
        if self.vcpus[v].beyond {
            let part = self.vcpus[v].pace.times(span) / u64::from(user.count.max(1));
            user.excess = user.excess.saturating_add(part);
        }
        let credited = self.credited(v);
        let vcpu = &mut self.vcpus[v];
        let more = span.saturating_sub(vcpu.reserved);
        vcpu.reserved -= span - more;
        for (at, limit) in limits.into_iter().enumerate() {
            if limit == NO_INDEX {
                continue;
            }
            let state = &mut self.limits[limit as usize];
            state.used += span;
            // What is used beyond LIMITSOFT is not charged to it.
            if credited[at] == NO_INDEX {
                continue;
            }
            state.limiter.charge(more);
            vcpu.claims[at] = vcpu.claims[at].saturating_add(vcpu.pace.times(more));
            if vcpu.reserved == 0 && span > more {
                state.holders.retain(|holder| *holder != v as u32);
            }
        }
    }

    /// Gives back the credit that a virtual CPU took and did not use.
    pub(crate) fn return_credit(&mut self, v: usize) {
        let unused = std::mem::take(&mut self.vcpus[v].reserved);
        if unused == 0 {
            return;
        }
        let span = self.vcpus[v].pace.times(unused);
        for (at, limit) in self.credited(v).into_iter().enumerate() {
            if limit == NO_INDEX {
                continue;
            }
            let claim = &mut self.vcpus[v].claims[at];
            *claim = claim.saturating_sub(span);
            let state = &mut self.limits[limit as usize];
            state.limiter.refund(unused);
            state.holders.retain(|holder| *holder != v as u32);
            if !state.waiting.is_empty() {
                let at = state.limiter.available(self.now);
                let slot = state.slot;
                self.schedule(slot, at);
            }
        }
    }

    /// A virtual CPU no longer waits for credit.
    pub(crate) fn stop_waiting(&mut self, v: usize) {
        for limit in self.hard_limits(v) {
            if limit != NO_INDEX {
                let state = &mut self.limits[limit as usize];
                state.waiting.retain(|waiting| *waiting != v as u32);
            }
        }
    }

    fn wait_for_credit(&mut self, v: usize, limit: u32) {
        self.settle_state(v);
        let vcpu = &mut self.vcpus[v];
        if vcpu.state != VcpuState::Limited {
            vcpu.counts.limits += 1;
        }
        vcpu.state = VcpuState::Limited;
        let now = self.now;
        let state = &mut self.limits[limit as usize];
        state.waiting.push(v as u32);
        if state.since == NEVER {
            state.since = now;
            state.times += 1;
        }
        let at = state.limiter.available(now);
        let slot = state.slot;
        self.schedule(slot, at);
    }

    /// There is credit again.
    pub(crate) fn on_credit(&mut self, limit: usize) {
        let now = self.now;
        let state = &mut self.limits[limit];
        if !state.limiter.allows(now) {
            let at = state.limiter.available(now).max(now + 1);
            let slot = state.slot;
            self.schedule(slot, at);
            return;
        }
        if state.since != NEVER {
            state.limited += now - state.since;
            state.since = NEVER;
        }
        while !self.limits[limit].waiting.is_empty() && self.limits[limit].limiter.allows(now) {
            self.grant_first(limit);
        }
        if !self.limits[limit].waiting.is_empty() {
            let state = &mut self.limits[limit];
            if state.since == NEVER {
                state.since = now;
            }
            let at = state.limiter.available(now).max(now + 1);
            let slot = state.slot;
            self.schedule(slot, at);
        }
        if !self.limits[limit].shares.is_empty() {
            self.uncap(limit);
        }
        self.promote_soft_limited(limit);
    }

    /// Grants a slice of credit to the first virtual CPU that waits or runs.
    fn grant_first(&mut self, limit: usize) {
        let Some((at, first)) = self.limits[limit]
            .waiting
            .iter()
            .enumerate()
            .map(|(at, v)| (at, self.order(limit, *v as usize)))
            .min_by_key(|(_, order)| *order)
        else {
            return;
        };
        if let Some(v) = self.runner_ahead_of(limit, first) {
            self.give_credit(v);
            return;
        }
        let v = self.limits[limit].waiting.swap_remove(at) as usize;
        if self.vcpus[v].state != VcpuState::Limited {
            return;
        }
        if !self.vcpus[v].beyond && self.is_beyond(v) {
            // Others of its user took the credit of LIMITSOFT.
            self.vcpus[v].beyond = true;
            self.limits[limit].waiting.push(v as u32);
            return;
        }
        let others = self.other_than(v, limit as u32);
        if let Some(other) = self.exhausted_limit(others) {
            self.wait_for_credit(v, other);
            return;
        }
        self.give_credit(v);
        self.make_ready(v);
    }

    /// Returns the order in a limit: the smallest is first.
    fn order(&self, limit: usize, v: usize) -> (bool, Ticks, usize) {
        let start = self.credit_start(v, limit as u32);
        (self.vcpus[v].beyond, start, v)
    }

    /// The first of those that run and come before this one.
    fn runner_ahead_of(&mut self, limit: usize, mut first: (bool, Ticks, usize)) -> Option<usize> {
        let mut ahead = None;
        for at in 0..self.limits[limit].holders.len() {
            let v = self.limits[limit].holders[at] as usize;
            if !self.is_on_last_slice(v) {
                continue;
            }
            let order = self.order(limit, v);
            if order >= first || (!self.vcpus[v].beyond && self.is_beyond(v)) {
                continue;
            }
            let others = self.other_than(v, limit as u32);
            if self.exhausted_limit(others).is_none() {
                first = order;
                ahead = Some(v);
            }
        }
        ahead
    }

    /// The hard limits of a virtual CPU but for one.
    fn other_than(&self, v: usize, limit: u32) -> [u32; 2] {
        self.hard_limits(v)
            .map(|other| if other == limit { NO_INDEX } else { other })
    }

    /// Whether it runs on its last slice of credit.
    fn is_on_last_slice(&self, v: usize) -> bool {
        let vcpu = &self.vcpus[v];
        vcpu.state == VcpuState::Running
            && self.cpus[vcpu.cpu as usize].state == CpuState::Running
            && vcpu.reserved <= self.slice_of_credit(v)
    }

    /// Virtual CPUs of a user with LIMITSOFT that has credit again are ready like any other.
    fn promote_soft_limited(&mut self, limit: usize) {
        let number = self.limits[limit].user;
        if number == NO_INDEX || self.users[number as usize].hard {
            return;
        }
        let user = &self.users[number as usize];
        let pool = user.processors as usize;
        let now = self.now;
        let mut beyond = false;
        for v in user.vcpus() {
            let slice = self.slice_of_credit(v);
            let vcpu = &mut self.vcpus[v];
            let state = &mut self.limits[limit];
            if !vcpu.beyond {
                continue;
            }
            if !state.limiter.allows(now) {
                beyond = true;
                continue;
            }
            match vcpu.state {
                VcpuState::Limited => vcpu.beyond = false,
                VcpuState::Ready => {
                    vcpu.beyond = false;
                    if vcpu.reserved == 0 {
                        vcpu.reserved = slice;
                    }
                    state.limiter.charge(vcpu.reserved);
                    let key = self.queue_deadline(v);
                    let vector = self.vcpus[v].vector;
                    self.vectors
                        .push(&mut self.pools[pool], vector, key, v as u32);
                    self.preempt(pool, v);
                }
                _ => {}
            }
        }
        if beyond {
            let state = &mut self.limits[limit];
            let at = state.limiter.available(now).max(now + 1);
            let slot = state.slot;
            self.schedule(slot, at);
        }
    }
}
