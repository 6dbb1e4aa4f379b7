//! Dispatch vectors: what is ready, in which order, and which processor takes it.

use crate::custom_policy::PolicyKind;
use crate::limits::Grant;
use crate::scenario::Scheduler;
use crate::state::{CpuState, NO_INDEX, Vcpu, VcpuState};
use crate::time::Ticks;
use crate::tournament::NO_KEY;
use crate::world::World;

/// Marks the keys of virtual CPUs that run only when nothing else is ready (LIMITSOFT without credit). Deadlines have this
/// bit since 1971, so keys of others are without it.
const SOFT: u64 = 1 << 63;

impl Vcpu {
    /// Its deadline as a sort key while it runs, or `NO_KEY` beyond its LIMITSOFT.
    pub(super) fn running_key(&self) -> u64 {
        if self.beyond {
            NO_KEY
        } else {
            self.deadline & !SOFT
        }
    }
}

impl World {
    /// Puts a virtual CPU whose slice is over back into a vector, unless it has no credit.
    pub(super) fn requeue(&mut self, v: usize, number: usize) {
        self.serve(v, number);
        let stretch = self.cpus[number].stretch;
        self.cpus[number].counts.simulated += self.vcpus[v].simulate(stretch);
        let pool = self.pool_of_vcpu(v);
        let system = self.pools[pool].system as usize;
        if self.scenario.systems[system].cp.scheduler == Scheduler::Memoryless {
            let present = self.scheduler_time(pool);
            let slice = self.cp[system].slice[usize::from(self.cpus[number].paired)];
            // By its part of all processors, not of one: it does not wait for those before it to end.
            let processors = u64::from(self.pools[pool].online.max(1));
            let vcpu = &mut self.vcpus[v];
            let offset = vcpu.pace.times(slice).saturating_mul(processors);
            vcpu.deadline = present.saturating_add(offset);
        }
        self.enter(v);
    }

    /// The present of the scheduler: real time without the time that was lost.
    pub(super) fn scheduler_time(&self, pool: usize) -> Ticks {
        let pool = &self.pools[pool];
        self.now
            .saturating_sub(pool.stolen / u64::from(pool.online.max(1)))
    }

    /// Enters a virtual CPU into its vector, or among those without credit.
    pub(super) fn enter(&mut self, v: usize) {
        if let Some(key) = self.admit(v) {
            self.wait_in_vector(v, key);
        }
    }

    #[inline]
    fn wait_in_vector(&mut self, v: usize, key: u64) {
        let pool = self.pool_of_vcpu(v);
        let vector = self.vcpus[v].vector;
        self.vectors
            .push(&mut self.pools[pool], vector, key, v as u32);
    }

    /// Makes a virtual CPU ready if it has credit; its sort key in its vector, which it is not in yet.
    #[inline]
    fn admit(&mut self, v: usize) -> Option<u64> {
        let credit = self.request_credit(v);
        if credit == Grant::MustWait {
            return None;
        }
        let index = self.pool_of_vcpu(v);
        let key = if credit == Grant::OverSoftLimit {
            let lag = self.cp[self.pools[index].system as usize].lag;
            let earliest = self.pools[index].excess.saturating_sub(lag);
            let user = &mut self.users[self.vcpus[v].user as usize];
            user.excess = user.excess.max(earliest);
            self.pools[index].excess = self.pools[index].excess.max(user.excess);
            SOFT | user.excess
        } else {
            self.vcpus[v].deadline.max(self.earliest(index)) & !SOFT
        };
        self.settle_state(v);
        let pool = &self.pools[index];
        let vcpu = &mut self.vcpus[v];
        vcpu.state = VcpuState::Ready;
        let vector = if pool.vectors.1 == 1 {
            pool.vectors.0
        } else {
            vcpu.home
        };
        vcpu.vector = vector;
        Some(key)
    }

    /// Returns the sort key of a virtual CPU in its vector: its deadline, at most the lag before the scheduler time.
    pub(crate) fn queue_deadline(&self, v: usize) -> u64 {
        self.vcpus[v]
            .deadline
            .max(self.earliest(self.pool_of_vcpu(v)))
            & !SOFT
    }

    /// The earliest deadline that counts: the lag before the scheduler time.
    fn earliest(&self, pool: usize) -> Ticks {
        let lag = self.cp[self.pools[pool].system as usize].lag;
        self.scheduler_time(pool).saturating_sub(lag)
    }

    /// The pool of processors that a virtual CPU runs on.
    pub(super) fn pool_of_vcpu(&self, v: usize) -> usize {
        self.users[self.vcpus[v].user as usize].processors as usize
    }

    /// A virtual CPU that waited has work.
    pub(crate) fn make_ready(&mut self, v: usize) {
        let pool = self.pool_of_vcpu(v);
        let earliest = self.earliest(pool);
        let vcpu = &mut self.vcpus[v];
        if vcpu.state != VcpuState::Limited {
            vcpu.deadline = vcpu.deadline.max(earliest);
        }
        if vcpu.dedicated {
            let cpu = vcpu.cpu as usize;
            self.settle_state(v);
            if self.cpus[cpu].state == CpuState::Idle {
                self.start_processor(cpu, v);
            } else {
                // Its processor is offline; it waits for it.
                self.vcpus[v].state = VcpuState::Idle;
            }
            return;
        }
        let Some(key) = self.admit(v) else {
            return;
        };
        if let Some(cpu) = self.idle_processor(pool, v) {
            self.start_processor(cpu, v);
            return;
        }
        self.wait_in_vector(v, key);
        if !self.vcpus[v].beyond {
            self.preempt(pool, v);
        }
    }

    /// Takes the processor of the virtual CPU with the latest deadline, if that is later by a slice. A policy of the
    /// user has no deadlines.
    pub(crate) fn preempt(&mut self, pool: usize, v: usize) {
        let state = &self.pools[pool];
        let system = state.system as usize;
        let key = self.vectors.key(self.vcpus[v].vector, v);
        let own = key.saturating_add(self.cp[system].slice[0]);
        let running = &self.running_until[state.first as usize..state.end as usize];
        if running.iter().all(|until| *until <= own)
            || !self.scenario.systems[system].cp.preempts
            || self.policies[system].decides(PolicyKind::Scheduler)
        {
            return;
        }
        self.preempt_latest(pool, v, own);
    }

    fn preempt_latest(&mut self, pool: usize, v: usize, own: u64) {
        let state = &self.pools[pool];
        let mut latest = (own, None);
        for number in state.first as usize..state.end as usize {
            let until = self.running_until[number];
            let cpu = &self.cpus[number];
            let core = &self.cores[cpu.core as usize];
            // One whose own event is being handled is not in a state to be left.
            if until <= latest.0
                || core.threads != 1
                || core.physical == NO_INDEX
                || core.parked
                || !core.online
                || number as u32 == self.handling
                || cpu.state != CpuState::Running
                || self.reserved[number] != NO_INDEX
            {
                continue;
            }
            let key = if until == NO_KEY {
                let user = self.vcpus[cpu.vcpu as usize].user;
                SOFT | self.users[user as usize].excess
            } else {
                until
            };
            if key > latest.0 {
                latest = (key, Some(number));
            }
        }
        let (_, Some(number)) = latest else { return };
        self.update_accounting(number);
        let other = self.cpus[number].vcpu as usize;
        self.requeue(other, number);
        let vector = self.vcpus[v].vector;
        self.vectors.remove(&mut self.pools[pool], vector, v as u32);
        self.place(number, v);
        self.set_speed(number);
        self.reschedule(number);
    }

    /// The idle processor nearest to where a virtual CPU was.
    pub(super) fn idle_cpu(&self, pool: usize, v: usize) -> Option<usize> {
        let pool = &self.pools[pool];
        let last = self.vcpus[v].cpu;
        let start = last.saturating_sub(pool.first) as usize;
        if self.scenario.systems[pool.system as usize]
            .cp
            .idle_cores_first
        {
            let core = self.cpus[last as usize].core;
            let start_core = (core - pool.cores[0]) as usize;
            if let Some(core) = pool.idle_cores.next(start_core) {
                let core = pool.cores[core] as usize;
                // The thread where it was, if it is on that core.
                if self.cpus[last as usize].core as usize == core
                    && self.cpus[last as usize].state == CpuState::Idle
                {
                    return Some(last as usize);
                }
                return Some(self.cores[core].first as usize);
            }
        }
        pool.idle.next(start).map(|at| pool.first as usize + at)
    }

    /// The virtual CPU that a processor runs next, taken from its vector.
    pub(super) fn pick(&mut self, number: usize) -> Option<usize> {
        let core = self.cpus[number].core as usize;
        let state = &self.cores[core];
        let (own, system) = (state.vector, state.system as usize);
        let index = state.pool as usize;
        let first = self.pools[index].ready.least();
        if first == NO_KEY {
            return None;
        }
        let chosen = self.chosen(index, number);
        if let Some(v) = chosen {
            self.take(number, self.vcpus[v].vector, v as u32);
            return chosen;
        }
        let mine = self.vectors.heaps[own as usize].first();
        let vector = match mine {
            Some(mine) if first.saturating_add(self.cp[system].steal_lag) >= mine.key => own,
            // Far behind, or with nothing but soft-limited ones here.
            Some(_) => self.pools[index].first_vector()?,
            None => self.nearest(index, core, first & SOFT),
        };
        let taken = self.vectors.heaps[vector as usize].first()?.number;
        self.take(number, vector, taken);
        Some(taken as usize)
    }

    /// A processor takes a virtual CPU from a vector, of another core perhaps.
    #[inline]
    fn take(&mut self, number: usize, vector: u32, v: u32) {
        let core = self.cpus[number].core as usize;
        let (own, index) = (self.cores[core].vector, self.cores[core].pool as usize);
        self.vectors.remove(&mut self.pools[index], vector, v);
        if vector != own {
            let from = vector - self.pools[index].vectors.0;
            let other = self.pools[index].cores[from as usize] as usize;
            let distance = self.distance(core, other);
            self.cpus[number].counts.steals[distance] += 1;
        }
    }

    /// The nearest vector that is not empty; of soft-limited ones alone only if all are.
    fn nearest(&self, pool: usize, core: usize, soft: u64) -> u32 {
        let pool = &self.pools[pool];
        let own = self.cores[core].vector;
        let mut best = (usize::MAX, u32::MAX, own);
        for vector in pool.vectors.0..pool.vectors.0 + pool.vectors.1 {
            let first = self.vectors.heaps[vector as usize].first();
            if first.is_none_or(|first| first.key & SOFT > soft) {
                continue;
            }
            let other = pool.cores[(vector - pool.vectors.0) as usize] as usize;
            let candidate = (self.distance(core, other), vector.abs_diff(own), vector);
            best = best.min(candidate);
        }
        best.2
    }
}
