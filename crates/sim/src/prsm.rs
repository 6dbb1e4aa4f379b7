//! PR/SM: logical cores on physical cores, by weight.
//!
//! Each partition share (a partition's cores of one type) has a claim: the time it used, over its entitlement.
//! The share with the least claim goes first, so what one partition leaves goes to the others in proportion
//! to their weights. A logical core gives its physical core back when it waits; otherwise it keeps it for
//! its run time. A vertical-high core has a physical core of its own, on which others run while it waits.
//! Of the horizontal cores of a share, the one with the least claim of its own goes first, so they have equal
//! amounts of what all of them want; vertical ones of a polarity wait in turn.

use crate::heap::{ABSENT, Entry};
use crate::state::{CpuState, NO_INDEX, Polarity};
use crate::time::{NEVER, Ticks};
use crate::world::World;

impl World {
    /// Brings the times of a core up to date.
    pub(crate) fn settle_core(&mut self, number: usize) {
        let core = &mut self.cores[number];
        let span = self.now - core.since;
        if span == 0 {
            return;
        }
        let delayed = self.held_until[number]
            .min(self.now)
            .saturating_sub(core.since);
        core.since = self.now;
        if core.physical == NO_INDEX || core.running == 0 {
            return;
        }
        core.dispatched += span;
        core.claim += span;
        if core.running == 1 {
            core.one += span - delayed;
        } else {
            core.two += span - delayed;
        }
        if core.dedicated && core.polarity == Polarity::Horizontal {
            return;
        }
        let index = core.share;
        let share = &mut self.shares[index as usize];
        share.claim = share.claim.saturating_add(share.pace.times(span));
        let taken = span.min(core.reserved);
        core.reserved -= taken;
        for limit in share.limits {
            if limit != NO_INDEX {
                self.limits[limit as usize].limiter.charge(span - taken);
                self.limits[limit as usize].used += span;
            }
        }
        if self.share_positions[index as usize] != ABSENT {
            self.contend(index);
        }
    }

    /// Enters a share among those with ready cores, or moves it.
    fn contend(&mut self, share: u32) {
        let state = &self.shares[share as usize];
        let kind = usize::from(state.kind);
        if state.waiting.is_empty() || state.capped {
            self.contending[kind].remove(share, &mut self.share_positions);
        } else {
            let entry = Entry {
                key: state.claim,
                number: share,
            };
            self.contending[kind].set(entry, &mut self.share_positions);
        }
    }

    /// A core has work: it gets a physical core now, or when its turn comes.
    pub(crate) fn core_ready(&mut self, number: usize) {
        let core = &self.cores[number];
        if core.physical != NO_INDEX {
            return;
        }
        let (index, home, polarity, own) = (core.share, core.home, core.polarity, core.dedicated);
        let share = &mut self.shares[index as usize];
        if share.dispatched == 0 && share.waiting.is_empty() {
            let mut present = self.now;
            let group = share.limits[1];
            if group != NO_INDEX && self.limits[group as usize].since != NEVER {
                // All of a group that is capped are late.
                present = present.min(self.limits[group as usize].present);
            }
            let share = &mut self.shares[index as usize];
            share.claim = share
                .claim
                .max(present.saturating_sub(self.machine_timings.lag));
        }
        let share = &self.shares[index as usize];
        // What a core did not want is not made up for.
        let core = &mut self.cores[number];
        core.claim = core.claim.max(share.turn);
        let kind = usize::from(share.kind);
        if !share.capped {
            let first = self.physical_first[kind] as usize;
            let start = if home == NO_INDEX {
                0
            } else {
                home as usize - first
            };
            if let Some(free) = self.free[kind].next(start) {
                self.free[kind].remove(free);
                self.dispatch_core(number, first + free);
                return;
            }
            if own && polarity == Polarity::High && self.scenario.machine.high_preempts {
                let occupant = self.physical[home as usize].logical;
                if occupant != NO_INDEX && self.cores[occupant as usize].polarity != Polarity::High
                {
                    self.undispatch(occupant as usize);
                    self.wait_for_physical(occupant as usize);
                    self.dispatch_core(number, home as usize);
                    return;
                }
            }
        }
        self.wait_for_physical(number);
    }

    fn wait_for_physical(&mut self, number: usize) {
        let core = &self.cores[number];
        let rank = match core.polarity {
            Polarity::High => 0,
            Polarity::Medium => 1,
            Polarity::Horizontal | Polarity::Low => 2,
        };
        let order = match core.polarity {
            Polarity::Horizontal => core.claim,
            _ => self.now,
        };
        let entry = Entry {
            key: rank << 62 | (order & (u64::MAX >> 2)),
            number: number as u32,
        };
        let share = core.share;
        self.shares[share as usize]
            .waiting
            .set(entry, &mut self.core_positions);
        self.contend(share);
    }

    /// Dispatches a core on a physical core that is free.
    fn dispatch_core(&mut self, number: usize, physical: usize) {
        let share = self.cores[number].share;
        self.shares[share as usize]
            .waiting
            .remove(number as u32, &mut self.core_positions);
        self.contend(share);
        for cpu in self.threads_of(number) {
            self.update_accounting(cpu);
        }
        self.settle_core(number);
        let mut management = self.machine_timings.management;
        if !self.cores[number].dedicated {
            management += self.search[usize::from(self.physical[physical].kind)];
        }
        let core = &mut self.cores[number];
        core.physical = physical as u32;
        if !core.dedicated {
            core.home = physical as u32;
        }
        core.dispatches += 1;
        core.overhead += self.machine_timings.overhead;
        core.management += management;
        let run_time = self.run_time(number);
        self.reserve(number, run_time);
        let claim = self.cores[number].claim;
        let state = &mut self.shares[share as usize];
        state.dispatched += 1;
        state.turn = state.turn.max(claim);
        self.physical[physical].logical = number as u32;
        self.physical[physical].management += management;
        self.held_until[number] = self.now + self.machine_timings.overhead + management;
        let until = self.held_until[number] + run_time;
        self.schedule(self.slots.physical + physical as u32, until);
        self.arrives(number);
        for cpu in self.threads_of(number) {
            self.reschedule(cpu);
        }
    }

    /// Sets what it costs PR/SM to dispatch one of the cores that share physical cores: it looks at all of them
    /// that can run.
    pub(crate) fn set_search(&mut self) {
        self.search.fill(0);
        for core in &self.cores {
            if core.online && !core.parked && !core.dedicated {
                let kind = usize::from(self.shares[core.share as usize].kind);
                self.search[kind] += self.machine_timings.search;
            }
        }
    }

    /// Time that a core keeps its physical core.
    fn run_time(&self, number: usize) -> Ticks {
        let core = &self.cores[number];
        let share = &self.shares[core.share as usize];
        // Credit of caps is handed out in shorter slices than vertical-high cores run.
        if core.polarity == Polarity::High && share.limits == [NO_INDEX; 2] {
            self.machine_timings.high_run_time
        } else {
            self.machine_timings.run_time[usize::from(share.kind)]
        }
    }

    /// Takes a core off its physical core, which the caller gives to another one.
    fn undispatch(&mut self, number: usize) -> usize {
        for cpu in self.threads_of(number) {
            self.update_accounting(cpu);
        }
        self.settle_core(number);
        self.leaves(number);
        let core = &mut self.cores[number];
        let physical = core.physical as usize;
        core.physical = NO_INDEX;
        self.held_until[number] = 0;
        let share = core.share;
        let unused = std::mem::take(&mut core.reserved);
        self.shares[share as usize].dispatched -= 1;
        for limit in self.shares[share as usize].limits {
            if limit != NO_INDEX && unused > 0 {
                self.limits[limit as usize].limiter.refund(unused);
            }
        }
        self.physical[physical].logical = NO_INDEX;
        for cpu in self.threads_of(number) {
            if self.cpus[cpu].state == CpuState::Running {
                self.schedule(cpu as u32, NEVER);
            }
        }
        physical
    }

    /// A core has no more work.
    pub(crate) fn core_idle(&mut self, number: usize) {
        let core = &self.cores[number];
        if core.physical == NO_INDEX {
            let share = core.share;
            self.shares[share as usize]
                .waiting
                .remove(number as u32, &mut self.core_positions);
            self.contend(share);
            self.ask_again(share as usize);
            return;
        }
        if core.dedicated && core.polarity == Polarity::Horizontal {
            return;
        }
        let physical = self.undispatch(number);
        self.schedule(self.slots.physical + physical as u32, NEVER);
        self.dispatch_next_core(physical);
    }

    /// Gives a physical core to the core whose turn it is.
    fn dispatch_next_core(&mut self, physical: usize) {
        if let Some(core) = self.next_core(physical) {
            self.dispatch_core(core, physical);
            return;
        }
        let kind = usize::from(self.physical[physical].kind);
        let first = self.physical_first[kind] as usize;
        self.free[kind].insert(physical - first);
    }

    fn next_core(&self, physical: usize) -> Option<usize> {
        let home_of = self.physical[physical].home_of;
        if home_of != NO_INDEX
            && self.core_positions[home_of as usize] != ABSENT
            && !self.shares[self.cores[home_of as usize].share as usize].capped
        {
            return Some(home_of as usize);
        }
        let kind = usize::from(self.physical[physical].kind);
        let share = self.contending[kind].first()?.number;
        let core = self.shares[share as usize].waiting.first()?;
        Some(core.number as usize)
    }

    /// The run time of the core on a physical core is over.
    pub(crate) fn run_time_over(&mut self, physical: usize) {
        let number = self.physical[physical].logical;
        if number == NO_INDEX {
            return;
        }
        let number = number as usize;
        self.settle_core(number);
        let own = self.cores[number].share;
        if self.cores[number].reserved == 0 && self.cap(own as usize) {
            self.undispatch(number);
            self.wait_for_physical(number);
            self.dispatch_next_core(physical);
            return;
        }
        let Some(next) = self.next_core(physical) else {
            self.extend(physical, number);
            return;
        };
        let core = &self.cores[next];
        let goes_first = if next as u32 == self.physical[physical].home_of {
            true
        } else if self.physical[physical].home_of == number as u32 {
            false
        } else if core.share == own {
            match core.polarity {
                Polarity::Horizontal => core.claim < self.cores[number].claim,
                polarity => polarity >= self.cores[number].polarity,
            }
        } else {
            self.shares[core.share as usize].claim < self.shares[own as usize].claim
        };
        if goes_first {
            self.undispatch(number);
            self.wait_for_physical(number);
            self.dispatch_core(next, physical);
        } else {
            self.extend(physical, number);
        }
    }

    fn extend(&mut self, physical: usize, number: usize) {
        let run_time = self.run_time(number);
        if self.cores[number].reserved == 0 {
            self.reserve(number, run_time);
        }
        self.schedule(self.slots.physical + physical as u32, self.now + run_time);
    }

    /// Takes the credit of a run time from the caps of a core's share; without any left, its other cores wait.
    fn reserve(&mut self, number: usize, run_time: Ticks) {
        let index = self.cores[number].share as usize;
        if !self.scenario.machine.caps || self.shares[index].limits == [NO_INDEX; 2] {
            return;
        }
        for limit in self.shares[index].limits {
            if limit != NO_INDEX {
                self.limits[limit as usize].limiter.charge(run_time);
            }
        }
        self.cores[number].reserved += run_time;
        self.cap(index);
        self.ask_again(index);
    }

    /// Others of its group may have waited for a share.
    fn ask_again(&mut self, index: usize) {
        let group = self.shares[index].limits[1];
        if group == NO_INDEX {
            return;
        }
        let now = self.now;
        let state = &mut self.limits[group as usize];
        if state.shares.len() > 1 {
            let at = state.limiter.available(now).max(now + 1);
            let slot = state.slot;
            self.schedule(slot, at);
        }
    }

    /// Whether the caps of a share leave it no credit now; it is looked at again when they do.
    fn cap(&mut self, index: usize) -> bool {
        let mut capped = false;
        let now = self.now;
        for limit in self.shares[index].limits {
            if limit == NO_INDEX || !self.scenario.machine.caps {
                continue;
            }
            self.provide(limit, self.shares[index].claim);
            if self.limits[limit as usize].limiter.allows(now) && !self.yields(index, limit) {
                continue;
            }
            capped = true;
            let state = &mut self.limits[limit as usize];
            if state.since == NEVER {
                state.since = now;
                state.times += 1;
            }
            let at = state.limiter.available(now).max(now + 1);
            let slot = state.slot;
            self.schedule(slot, at);
        }
        if self.shares[index].capped != capped {
            self.shares[index].capped = capped;
            self.contend(index as u32);
        }
        capped
    }

    /// Whether another share of a group waits for its credit and used less of its entitlement.
    fn yields(&self, index: usize, limit: u32) -> bool {
        let state = &self.limits[limit as usize];
        state.shares.len() > 1
            && state.shares.iter().any(|other| {
                *other as usize != index
                    && self.shares[*other as usize].claim < self.shares[index].claim
                    && self.waits_for(*other as usize, limit)
            })
    }

    /// Gives cores that run their next credit of a group, those of shares with a claim less than this.
    fn provide(&mut self, limit: u32, claim: Ticks) {
        let at = limit as usize;
        while self.limits[at].shares.len() > 1 && self.limits[at].limiter.allows(self.now) {
            let short = self.limits[at]
                .shares
                .iter()
                .map(|share| *share as usize)
                .filter(|share| self.shares[*share].claim < claim)
                .filter_map(|share| Some((share, self.core_on_last_credit(share, limit)?)))
                .min_by_key(|(share, _)| (self.shares[*share].claim, *share));
            let Some((_, core)) = short else { break };
            let run_time = self.run_time(core);
            self.reserve(core, run_time);
        }
    }

    /// A core of a share that runs on its last credit, if nothing but this limit is in the way of more.
    fn core_on_last_credit(&self, index: usize, limit: u32) -> Option<usize> {
        let share = &self.shares[index];
        if share.dispatched == 0 || !self.others_allow(index, limit) {
            return None;
        }
        let cores = share.cores.iter().map(|core| *core as usize);
        cores.into_iter().find(|core| {
            self.cores[*core].physical != NO_INDEX
                && self.cores[*core].reserved <= self.run_time(*core)
        })
    }

    /// Whether a share wants more cores and nothing but this limit is in its way.
    fn waits_for(&self, index: usize, limit: u32) -> bool {
        let share = &self.shares[index];
        share.capped && !share.waiting.is_empty() && self.others_allow(index, limit)
    }

    /// Whether the other caps of a share have credit left.
    fn others_allow(&self, index: usize, limit: u32) -> bool {
        self.shares[index].limits.iter().all(|other| {
            *other == NO_INDEX
                || *other == limit
                || self.limits[*other as usize].limiter.has_credit(self.now)
        })
    }

    /// The shares that a limit capped may go on as long as it has credit, those with the least claim first.
    pub(crate) fn uncap(&mut self, limit: usize) {
        let now = self.now;
        while self.limits[limit].limiter.allows(now) {
            let first = self.limits[limit]
                .shares
                .iter()
                .map(|share| *share as usize)
                .filter(|share| self.waits_for(*share, limit as u32))
                .min_by_key(|share| (self.shares[*share].claim, *share));
            let Some(index) = first else { break };
            self.provide(limit as u32, self.shares[index].claim);
            if !self.limits[limit].limiter.allows(now) {
                break;
            }
            self.shares[index].capped = false;
            let state = &mut self.limits[limit];
            state.present = state.present.max(self.shares[index].claim);
            self.contend(index as u32);
            if !self.begin_core(index) {
                // Its turn comes with a physical core.
                break;
            }
        }
        let mut capped = false;
        for at in 0..self.limits[limit].shares.len() {
            let index = self.limits[limit].shares[at] as usize;
            if self.shares[index].waiting.is_empty() && self.others_allow(index, limit as u32) {
                self.shares[index].capped &= !self.limits[limit].limiter.allows(now);
            }
            capped |= self.shares[index].capped;
        }
        if capped && !self.limits[limit].limiter.allows(now) {
            let state = &mut self.limits[limit];
            let at = state.limiter.available(now).max(now + 1);
            let slot = state.slot;
            self.schedule(slot, at);
        }
    }

    /// Dispatches the next core of a share, if a physical one is free.
    fn begin_core(&mut self, index: usize) -> bool {
        let kind = usize::from(self.shares[index].kind);
        let Some(core) = self.shares[index].waiting.first() else {
            return false;
        };
        let home = self.cores[core.number as usize].home;
        let first = self.physical_first[kind] as usize;
        let start = if home == NO_INDEX {
            0
        } else {
            home as usize - first
        };
        let Some(free) = self.free[kind].next(start) else {
            return false;
        };
        self.free[kind].remove(free);
        self.dispatch_core(core.number as usize, first + free);
        true
    }

    /// The logical processors of a core that are in use.
    pub(crate) fn threads_of(&self, number: usize) -> std::ops::Range<usize> {
        let core = &self.cores[number];
        core.first as usize..(core.first + core.threads) as usize
    }
}
