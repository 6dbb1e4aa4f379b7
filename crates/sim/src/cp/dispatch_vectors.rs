//! Dispatch vectors: what is ready, in which order, and which processor takes it.

use crate::custom_policy::PolicyKind;
use crate::limits::Grant;
use crate::scenario::Scheduler;
use crate::state::{CpuState, NO_INDEX, VcpuState};
use crate::time::Ticks;
use crate::world::World;

/// Marks the keys of virtual CPUs that run only when nothing else is ready (LIMITSOFT without credit).
const SOFT: u64 = 1 << 63;

impl World {
    /// Puts a virtual CPU whose slice is over back into a vector, unless it has no credit.
    pub(super) fn requeue(&mut self, v: usize, number: usize) {
        self.serve(v, number);
        let vcpu = &mut self.vcpus[v];
        self.cpus[number].counts.simulated += vcpu.simulate();
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
        let credit = self.request_credit(v);
        if credit == Grant::MustWait {
            return;
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
            self.queue_deadline(v)
        };
        self.settle_state(v);
        let pool = &mut self.pools[index];
        let vcpu = &mut self.vcpus[v];
        vcpu.state = VcpuState::Ready;
        let vector = if pool.vectors.1 == 1 {
            pool.vectors.0
        } else {
            vcpu.home
        };
        vcpu.vector = vector;
        self.vectors.push(&mut pool.ready, vector, key, v as u32);
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
        self.enter(v);
        if self.vcpus[v].state != VcpuState::Ready {
            return;
        }
        if let Some(cpu) = self.idle_processor(pool, v) {
            let vector = self.vcpus[v].vector;
            self.vectors
                .remove(&mut self.pools[pool].ready, vector, v as u32);
            self.start_processor(cpu, v);
        } else if !self.vcpus[v].beyond {
            self.preempt(pool, v);
        }
    }

    /// Takes the processor of the virtual CPU with the latest deadline, if that is later by a slice. A policy of the
    /// user has no deadlines.
    pub(crate) fn preempt(&mut self, pool: usize, v: usize) {
        let state = &self.pools[pool];
        let system = state.system as usize;
        if !self.scenario.systems[system].cp.preempts
            || self.policies[system].decides(PolicyKind::Scheduler)
        {
            return;
        }
        let own = self
            .queue_deadline(v)
            .saturating_add(self.cp[system].slice[0]);
        let cpus = state.first as usize..state.end as usize;
        if self.running_until[cpus].iter().all(|until| *until <= own) {
            return;
        }
        let mut latest = (own, None);
        for core in &state.cores {
            let core = &self.cores[*core as usize];
            // One whose own event is being handled is not in a state to be left.
            if core.threads != 1
                || core.physical == NO_INDEX
                || core.parked
                || !core.online
                || core.first == self.handling
            {
                continue;
            }
            let cpu = &self.cpus[core.first as usize];
            if cpu.state != CpuState::Running || self.reserved[core.first as usize] != NO_INDEX {
                continue;
            }
            let running = &self.vcpus[cpu.vcpu as usize];
            let key = if running.beyond {
                SOFT | self.users[running.user as usize].excess
            } else {
                running.deadline & !SOFT
            };
            if key > latest.0 {
                latest = (key, Some(core.first as usize));
            }
        }
        let (_, Some(number)) = latest else { return };
        self.update_accounting(number);
        let other = self.cpus[number].vcpu as usize;
        self.requeue(other, number);
        let vector = self.vcpus[v].vector;
        self.vectors
            .remove(&mut self.pools[pool].ready, vector, v as u32);
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
        let first = self.pools[index].ready.first()?;
        let chosen = self.chosen(index, number);
        if let Some(v) = chosen {
            self.take(number, self.vcpus[v].vector, v as u32);
            return chosen;
        }
        let mine = self.vectors.heaps[own as usize].first();
        let vector = match mine {
            Some(mine) if first.key.saturating_add(self.cp[system].steal_lag) >= mine.key => own,
            // Far behind, or with nothing but soft-limited ones here.
            Some(_) => first.number,
            None => self.nearest(index, core, first.key & SOFT),
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
        self.vectors.remove(&mut self.pools[index].ready, vector, v);
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
