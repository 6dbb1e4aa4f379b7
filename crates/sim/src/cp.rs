//! CP: virtual CPUs on logical processors.
//!
//! A virtual CPU that is ready waits in a dispatch vector, ordered by deadline. At the end of a time slice its
//! deadline advances by the time it used over its part of all processors, so use above or below its share is
//! carried on as debt or credit. The deadline of one that waited is at least the present minus a lag; the
//! present of the scheduler stops while processors are lost to overhead or to other partitions.
//!
//! A processor takes the first virtual CPU of its own vector, unless another vector has one with a deadline
//! that is earlier by `steal_lag_ms`; if its own vector is empty, it takes from the nearest one that is not.

use crate::limits::Grant;
use crate::scenario::{Dispatch, Scheduler};
use crate::state::{CpuState, NO_INDEX, Task, VcpuState};
use crate::time::{NEVER, Ratio, Ticks};
use crate::world::World;

/// Marks the keys of virtual CPUs that run only when nothing else is ready (LIMITSOFT without credit).
const SOFT: u64 = 1 << 63;

impl World {
    /// Brings the times of a logical processor up to date.
    pub(crate) fn update_accounting(&mut self, number: usize) {
        let cpu = &mut self.cpus[number];
        let mut span = self.now - cpu.since;
        if span == 0 {
            return;
        }
        let since = cpu.since;
        cpu.since = self.now;
        match cpu.state {
            CpuState::Idle => {
                cpu.times.wait += span;
                return;
            }
            CpuState::Parked => {
                cpu.times.parked += span;
                return;
            }
            CpuState::Offline => {
                cpu.times.offline += span;
                return;
            }
            CpuState::Running => {}
        }
        let core = &self.cores[cpu.core as usize];
        let pool = self.pool_of[core.system as usize][self.kind_of(core.share)];
        let cpu = &mut self.cpus[number];
        if core.physical == NO_INDEX {
            cpu.times.suspend += span;
            self.pools[pool as usize].stolen += span;
            return;
        }
        let delayed = self.held_until[cpu.core as usize]
            .min(self.now)
            .saturating_sub(since);
        if delayed > 0 {
            cpu.times.suspend += delayed;
            self.pools[pool as usize].stolen += delayed;
            span -= delayed;
        }
        let system = span.min(cpu.overhead);
        if system > 0 {
            cpu.overhead -= system;
            cpu.times.system += system;
            let spun = system.min(cpu.spinning);
            cpu.spinning -= spun;
            cpu.times.spin += spun;
            self.pools[pool as usize].stolen += system;
            let core = &mut self.cores[cpu.core as usize];
            core.work += cpu.speed.times(system);
            core.paired_work += if cpu.paired {
                cpu.speed.times(system)
            } else {
                0
            };
            if self.counting.active {
                cpu.pending.ticks += system;
                cpu.pending.work += system;
                cpu.pending.both += if cpu.paired { system } else { 0 };
            }
            span -= system;
        }
        if span == 0 {
            return;
        }
        let vcpu = &mut self.vcpus[cpu.vcpu as usize];
        cpu.slice = cpu.slice.saturating_sub(span);
        cpu.times.user += span;
        vcpu.deadline = vcpu.deadline.saturating_add(vcpu.pace.times(span));
        let latest = if vcpu.beyond { NEVER } else { vcpu.deadline };
        self.running_until[number] = latest;
        vcpu.times.total += span;
        let charged = span.min(vcpu.overhead);
        vcpu.overhead -= charged;
        let emulation = span - charged;
        cpu.times.emulation += emulation;
        vcpu.times.emulation += emulation;
        let reload = emulation.min(vcpu.reload);
        vcpu.reload -= reload;
        let work = cpu.speed.times(emulation - reload).min(vcpu.work);
        vcpu.work -= work;
        vcpu.times.work += work;
        vcpu.owed += vcpu.simulation.times(emulation);
        // What CP does for a guest is work, too.
        let core = &mut self.cores[cpu.core as usize];
        let done = work + cpu.speed.times(charged);
        core.work += done;
        core.paired_work += if cpu.paired { done } else { 0 };
        if cpu.paired {
            let speed = self.users[vcpu.user as usize].paired_speed;
            vcpu.times.mt1[0] += speed.times(span);
            vcpu.times.mt1[1] += speed.times(emulation);
            vcpu.times.prorated[0] += span / 2;
            vcpu.times.prorated[1] += emulation / 2;
        } else {
            vcpu.times.mt1[0] += span;
            vcpu.times.mt1[1] += emulation;
            vcpu.times.prorated[0] += span;
            vcpu.times.prorated[1] += emulation;
        }
        if self.counting.active {
            // What CP does for a guest is work at full speed.
            let pending = &mut cpu.pending;
            pending.ticks += span;
            pending.work += charged + work;
            pending.emulation += emulation;
            pending.both += if cpu.paired { span } else { 0 };
        }
        let v = cpu.vcpu as usize;
        self.charge(v, span);
    }

    pub(crate) fn kind_of(&self, share: u32) -> usize {
        usize::from(self.shares[share as usize].kind)
    }

    /// Sets the event of a running processor to the end of its work or of its slice.
    pub(crate) fn reschedule(&mut self, number: usize) {
        let cpu = &self.cpus[number];
        if cpu.state != CpuState::Running {
            return;
        }
        let core = &self.cores[cpu.core as usize];
        let at = if core.physical == NO_INDEX {
            NEVER
        } else {
            let vcpu = &self.vcpus[cpu.vcpu as usize];
            let work = vcpu
                .overhead
                .saturating_add(vcpu.reload)
                .saturating_add(cpu.speed.divide(vcpu.work));
            let delayed = self.held_until[cpu.core as usize].saturating_sub(self.now);
            (self.now + delayed + cpu.overhead).saturating_add(work.min(cpu.slice))
        };
        self.schedule(number as u32, at);
    }

    /// The event of a processor.
    pub(crate) fn cpu_due(&mut self, number: usize) {
        self.update_accounting(number);
        let cpu = &self.cpus[number];
        let v = cpu.vcpu as usize;
        let vcpu = &self.vcpus[v];
        if cpu.overhead == 0
            && vcpu.overhead == 0
            && vcpu.reload == 0
            && vcpu.work == 0
            && !self.on_segment_end(v, number)
        {
            self.dispatch_next(number);
            return;
        }
        if self.cpus[number].slice == 0 {
            self.cpus[number].counts.slices += 1;
            self.requeue(v, number);
            self.dispatch_next(number);
            // Another one came first here; a later one may run elsewhere.
            if self.vcpus[v].state == VcpuState::Ready && !self.vcpus[v].beyond {
                let user = &self.users[self.vcpus[v].user as usize];
                let pool = self.pool_of[user.system as usize][usize::from(user.kind)];
                self.preempt(pool as usize, v);
            }
            return;
        }
        self.reschedule(number);
    }

    /// Puts a virtual CPU whose slice is over back into a vector, unless it has no credit.
    fn requeue(&mut self, v: usize, number: usize) {
        let vcpu = &mut self.vcpus[v];
        self.cpus[number].counts.simulated += vcpu.simulate();
        let user = &self.users[vcpu.user as usize];
        let (system, kind) = (user.system as usize, usize::from(user.kind));
        if self.scenario.systems[system].cp.scheduler == Scheduler::Memoryless {
            let present = self.scheduler_time(self.pool_of[system][kind] as usize);
            let slice = self.cp[system].slice[usize::from(self.cpus[number].paired)];
            let vcpu = &mut self.vcpus[v];
            vcpu.deadline = present.saturating_add(vcpu.pace.times(slice));
        }
        self.enter(v);
    }

    /// The present of the scheduler: real time without the time that was lost.
    fn scheduler_time(&self, pool: usize) -> Ticks {
        let pool = &self.pools[pool];
        self.now
            .saturating_sub(pool.stolen / u64::from(pool.online.max(1)))
    }

    /// Enters a virtual CPU into its vector, or among those without credit.
    fn enter(&mut self, v: usize) {
        let vcpu = &self.vcpus[v];
        let user = &self.users[vcpu.user as usize];
        let (system, kind) = (user.system as usize, usize::from(user.kind));
        let credit = self.request_credit(v);
        if credit == Grant::MustWait {
            return;
        }
        let key = if credit == Grant::OverSoftLimit {
            let index = self.pool_of[system][kind] as usize;
            let earliest = self.pools[index].excess.saturating_sub(self.cp[system].lag);
            let user = &mut self.users[self.vcpus[v].user as usize];
            user.excess = user.excess.max(earliest);
            self.pools[index].excess = self.pools[index].excess.max(user.excess);
            SOFT | user.excess
        } else {
            self.queue_deadline(v)
        };
        self.settle_state(v);
        let pool = &mut self.pools[self.pool_of[system][kind] as usize];
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
        let vcpu = &self.vcpus[v];
        let user = &self.users[vcpu.user as usize];
        let system = user.system as usize;
        let pool = self.pool_of[system][usize::from(user.kind)] as usize;
        let earliest = self
            .scheduler_time(pool)
            .saturating_sub(self.cp[system].lag);
        vcpu.deadline.max(earliest) & !SOFT
    }

    /// A virtual CPU that waited has work.
    pub(crate) fn make_ready(&mut self, v: usize) {
        let vcpu = &self.vcpus[v];
        let user = &self.users[vcpu.user as usize];
        let system = user.system as usize;
        let pool = self.pool_of[system][usize::from(user.kind)] as usize;
        let earliest = self
            .scheduler_time(pool)
            .saturating_sub(self.cp[system].lag);
        let waited = vcpu.state != VcpuState::Limited;
        let vcpu = &mut self.vcpus[v];
        if waited {
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
        if let Some(cpu) = self.idle_cpu(pool, v) {
            let vector = self.vcpus[v].vector;
            self.vectors
                .remove(&mut self.pools[pool].ready, vector, v as u32);
            self.start_processor(cpu, v);
        } else if !self.vcpus[v].beyond {
            self.preempt(pool, v);
        }
    }

    /// Takes the processor of the virtual CPU with the latest deadline, if that is later by a slice.
    pub(crate) fn preempt(&mut self, pool: usize, v: usize) {
        let state = &self.pools[pool];
        let system = state.system as usize;
        if !self.scenario.systems[system].cp.preempts {
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
        self.reschedule(number);
    }

    /// The idle processor nearest to where a virtual CPU was.
    fn idle_cpu(&self, pool: usize, v: usize) -> Option<usize> {
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

    /// An idle processor begins to run.
    fn start_processor(&mut self, number: usize, v: usize) {
        self.update_accounting(number);
        let core = self.cpus[number].core as usize;
        self.settle_core(core);
        self.not_idle(number);
        self.cpus[number].state = CpuState::Running;
        self.cores[core].running += 1;
        let running = self.cores[core].running;
        self.place(number, v);
        if running == 2 {
            self.pair(core, true);
        } else {
            self.cpus[number].paired = false;
            self.cpus[number].speed = Ratio::ONE;
            self.core_ready(core);
        }
        self.reschedule(number);
    }

    /// Both threads of a core begin or cease to share it.
    fn pair(&mut self, core: usize, paired: bool) {
        for cpu in self.threads_of(core) {
            if self.cpus[cpu].state == CpuState::Running {
                self.update_accounting(cpu);
                let user = self.vcpus[self.cpus[cpu].vcpu as usize].user;
                let speed = self.users[user as usize].paired_speed;
                let cpu_state = &mut self.cpus[cpu];
                cpu_state.paired = paired;
                cpu_state.speed = if paired { speed } else { Ratio::ONE };
                self.reschedule(cpu);
            }
        }
    }

    /// Gives a running processor its next virtual CPU, or lets it wait.
    pub(crate) fn dispatch_next(&mut self, number: usize) {
        let v = self.cpus[number].vcpu as usize;
        if !matches!(
            self.vcpus[v].state,
            VcpuState::Ready | VcpuState::Running | VcpuState::Limited
        ) {
            self.return_credit(v);
        }
        // A dedicated processor waits for its own virtual CPU.
        let next = if self.vcpus[v].dedicated || self.cores[self.cpus[number].core as usize].parked
        {
            None
        } else {
            self.pick(number)
        };
        if let Some(next) = next {
            self.place(number, next);
            if self.cpus[number].paired {
                let user = self.vcpus[next].user;
                self.cpus[number].speed = self.users[user as usize].paired_speed;
            }
            self.reschedule(number);
            return;
        }
        self.idle(number);
    }

    /// A running processor has nothing to run.
    pub(crate) fn idle(&mut self, number: usize) {
        self.count_piece(number);
        let core = self.cpus[number].core as usize;
        self.settle_core(core);
        let cpu = &mut self.cpus[number];
        cpu.vcpu = NO_INDEX;
        self.running_until[number] = 0;
        cpu.state = CpuState::Idle;
        cpu.overhead = 0;
        cpu.spinning = 0;
        cpu.paired = false;
        cpu.speed = Ratio::ONE;
        self.schedule(number as u32, NEVER);
        self.cores[core].running -= 1;
        if self.cores[core].running == 0 {
            self.core_idle(core);
        } else {
            self.pair(core, false);
        }
        self.becomes_idle(number);
    }

    pub(crate) fn becomes_idle(&mut self, number: usize) {
        let core = self.cpus[number].core as usize;
        let state = &self.cores[core];
        if state.parked || !state.online || self.reserved[number] != NO_INDEX {
            return;
        }
        let pool = self.pool_of[state.system as usize][self.kind_of(state.share)] as usize;
        let none_runs = state.running == 0;
        let pool = &mut self.pools[pool];
        pool.idle.insert(number - pool.first as usize);
        if none_runs {
            pool.idle_cores.insert(core - pool.cores[0] as usize);
        }
    }

    pub(crate) fn not_idle(&mut self, number: usize) {
        let core = self.cpus[number].core as usize;
        let state = &self.cores[core];
        let pool = self.pool_of[state.system as usize][self.kind_of(state.share)] as usize;
        let pool = &mut self.pools[pool];
        pool.idle.remove(number - pool.first as usize);
        pool.idle_cores.remove(core - pool.cores[0] as usize);
    }

    /// The virtual CPU that a processor runs next, taken from its vector.
    fn pick(&mut self, number: usize) -> Option<usize> {
        let core = self.cpus[number].core as usize;
        let state = &self.cores[core];
        let (own, system) = (state.vector, state.system as usize);
        let index = self.pool_of[system][self.kind_of(state.share)] as usize;
        let first = self.pools[index].ready.first()?;
        let mine = self.vectors.heaps[own as usize].first();
        let vector = match mine {
            Some(mine) if first.key.saturating_add(self.cp[system].steal_lag) >= mine.key => own,
            // Far behind, or with nothing but soft-limited ones here.
            Some(_) => first.number,
            None => self.nearest(index, core, first.key & SOFT),
        };
        let taken = self.vectors.heaps[vector as usize].first()?.number;
        self.vectors
            .remove(&mut self.pools[index].ready, vector, taken);
        if vector != own {
            let from = vector - self.pools[index].vectors.0;
            let other = self.pools[index].cores[from as usize] as usize;
            let distance = self.distance(core, other);
            self.cpus[number].counts.steals[distance] += 1;
        }
        Some(taken as usize)
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

    /// Puts a virtual CPU on a running processor, with the cost of its dispatch.
    fn place(&mut self, number: usize, v: usize) {
        self.count_piece(number);
        self.settle_state(v);
        let core = self.cpus[number].core as usize;
        let system = self.cores[core].system as usize;
        let last = self.vcpus[v].cpu as usize;
        let smt = usize::from(self.cores[core].threads > 1);
        let mut reload = 0;
        if last != number {
            let from = self.cpus[last].core as usize;
            if from != core {
                let distance = self.distance(from, core);
                reload = self.machine_timings.moves[distance];
                self.vcpus[v].counts.moves[distance] += 1;
                self.cpus[number].pending.moved = distance as u8 + 1;
            }
        }
        let spin = self.scheduler_lock(system);
        let spans = &self.cp[system];
        let cpu = &mut self.cpus[number];
        let vcpu = &mut self.vcpus[v];
        vcpu.state = VcpuState::Running;
        vcpu.cpu = number as u32;
        self.running_until[number] = if vcpu.beyond { NEVER } else { vcpu.deadline };
        vcpu.home = self.cores[core].vector;
        vcpu.counts.dispatches += 1;
        cpu.counts.dispatches += 1;
        cpu.counts.spins += u64::from(spin > 0);
        cpu.vcpu = v as u32;
        cpu.overhead += spin;
        cpu.spinning += spin;
        if vcpu.dedicated {
            cpu.slice = NEVER;
        } else {
            cpu.overhead += spans.dispatch_system + spans.lock_hold;
            vcpu.overhead += spans.dispatch_user;
            cpu.slice = spans.slice[smt];
        }
        cpu.counts.simulated += vcpu.simulate();
        vcpu.reload += reload;
        self.resides(number);
    }

    /// Returns the time spent spinning for the scheduler lock, and holds the lock.
    fn scheduler_lock(&mut self, system: usize) -> Ticks {
        let hold = self.cp[system].lock_hold;
        if hold == 0 {
            return 0;
        }
        let shared = self.cp[system].lock_shared;
        let shared = shared > 0 && (self.lock_streams[system].bits() >> 32) < shared;
        let lock = &mut self.scheduler_locks[system];
        let free = if shared {
            lock.until
        } else {
            lock.until.max(lock.shared_until)
        };
        let spin = free.saturating_sub(self.now);
        let end = self.now + spin + hold;
        if shared {
            lock.shared_until = lock.shared_until.max(end);
        } else {
            lock.until = end;
        }
        if spin > 0 {
            lock.collisions[usize::from(shared)] += 1;
            lock.spin[usize::from(shared)] += spin;
        }
        spin
    }

    /// Adds the time in a state to what it is counted as.
    pub(crate) fn settle_state(&mut self, v: usize) {
        let vcpu = &mut self.vcpus[v];
        let span = self.now - vcpu.since;
        vcpu.since = self.now;
        match vcpu.state {
            VcpuState::Ready => vcpu.times.ready += span,
            VcpuState::Limited => vcpu.times.limited += span,
            _ => {}
        }
    }

    /// Takes a virtual CPU away from wherever it is; it ends in `state`.
    pub(crate) fn withdraw(&mut self, v: usize, state: VcpuState) {
        self.settle_state(v);
        let user = self.vcpus[v].user as usize;
        let pool = self.pool_of[self.users[user].system as usize]
            [usize::from(self.users[user].kind)] as usize;
        match self.vcpus[v].state {
            VcpuState::Running => {
                let cpu = self.vcpus[v].cpu as usize;
                self.update_accounting(cpu);
                self.vcpus[v].state = state;
                self.dispatch_next(cpu);
            }
            VcpuState::Ready => {
                let vector = self.vcpus[v].vector;
                self.vectors
                    .remove(&mut self.pools[pool].ready, vector, v as u32);
                self.return_credit(v);
                self.vcpus[v].state = state;
            }
            VcpuState::Limited => {
                self.stop_waiting(v);
                self.vcpus[v].state = state;
            }
            _ => self.vcpus[v].state = state,
        }
    }

    /// Redistributes the virtual CPUs that are ready over the vectors of their type.
    pub(crate) fn reshuffle(&mut self, system: usize) {
        let spans = self.cp[system].reshuffle;
        if spans > 0 && self.scenario.systems[system].cp.dispatch == Dispatch::Vectors {
            for kind in 0..self.pool_of[system].len() {
                let index = self.pool_of[system][kind];
                if index != NO_INDEX {
                    self.rebalance(index as usize);
                }
            }
            self.schedule(self.slots.reshuffles + system as u32, self.now + spans);
        }
    }

    fn rebalance(&mut self, index: usize) {
        let open: Vec<u32> = self.pools[index]
            .cores
            .iter()
            .filter(|core| {
                let core = &self.cores[**core as usize];
                core.online && !core.parked
            })
            .map(|core| self.cores[*core as usize].vector)
            .collect();
        if open.is_empty() {
            return;
        }
        let pool = &self.pools[index];
        let mut ready = Vec::new();
        for vector in pool.vectors.0..pool.vectors.0 + pool.vectors.1 {
            let heap = &self.vectors.heaps[vector as usize];
            ready.extend((0..heap.len()).filter_map(|at| heap.at(at as u32)));
        }
        ready.sort_unstable();
        let by_deadline = self.scenario.systems[self.pools[index].system as usize]
            .cp
            .rebalance;
        for (turn, entry) in ready.into_iter().enumerate() {
            let v = entry.number as usize;
            let target = if by_deadline {
                open[turn % open.len()]
            } else {
                // Each to the vector of its user and number, which stays the same.
                open[(self.vcpus[v].user as usize + self.vcpus[v].number as usize) % open.len()]
            };
            let vector = self.vcpus[v].vector;
            if vector != target {
                let pool = &mut self.pools[index];
                self.vectors.remove(&mut pool.ready, vector, entry.number);
                self.vectors
                    .push(&mut pool.ready, target, entry.key, entry.number);
                self.vcpus[v].vector = target;
                self.vcpus[v].home = target;
            }
        }
    }

    /// Parks a core, or varies it off: its virtual CPUs go elsewhere.
    pub(crate) fn deactivate(&mut self, number: usize, offline: bool) {
        let core = &self.cores[number];
        let pool = self.pool_of[core.system as usize][self.kind_of(core.share)] as usize;
        if offline {
            self.cores[number].online = false;
        } else {
            self.cores[number].parked = true;
        }
        for cpu in self.threads_of(number) {
            self.update_accounting(cpu);
            self.not_idle(cpu);
            if self.cpus[cpu].state == CpuState::Running {
                let v = self.cpus[cpu].vcpu as usize;
                self.settle_state(v);
                self.vcpus[v].state = VcpuState::Idle;
                self.idle(cpu);
                if !self.vcpus[v].dedicated {
                    self.make_ready(v);
                }
            }
            self.cpus[cpu].state = if offline {
                CpuState::Offline
            } else {
                CpuState::Parked
            };
            // Dedicated processors are not among those that are scheduled.
            self.pools[pool].online -= u32::from(self.reserved[cpu] == NO_INDEX);
        }
        let vector = self.cores[number].vector;
        if self.pools[pool].vectors.1 > 1 {
            self.drain_vector(pool, number, vector);
        }
    }

    /// Moves what waits in the vector of a core that closes to one that is open.
    fn drain_vector(&mut self, pool: usize, number: usize, vector: u32) {
        let Some(open) = self.pools[pool].cores.iter().copied().find(|other| {
            let other = &self.cores[*other as usize];
            other.online && !other.parked
        }) else {
            return;
        };
        let target = self.cores[open as usize].vector;
        debug_assert_ne!(open as usize, number);
        while let Some(entry) = self.vectors.heaps[vector as usize].first() {
            let pool = &mut self.pools[pool];
            self.vectors.remove(&mut pool.ready, vector, entry.number);
            self.vectors
                .push(&mut pool.ready, target, entry.key, entry.number);
            let vcpu = &mut self.vcpus[entry.number as usize];
            vcpu.vector = target;
            vcpu.home = target;
        }
    }

    /// Unparks a core, or varies it on.
    pub(crate) fn activate(&mut self, number: usize) {
        let core = &mut self.cores[number];
        core.online = true;
        core.parked = false;
        let (system, share) = (core.system as usize, core.share);
        let pool = self.pool_of[system][self.kind_of(share)] as usize;
        for cpu in self.threads_of(number) {
            self.update_accounting(cpu);
            self.cpus[cpu].state = CpuState::Idle;
            self.pools[pool].online += u32::from(self.reserved[cpu] == NO_INDEX);
            self.becomes_idle(cpu);
            let reserved = self.reserved[cpu];
            if reserved != NO_INDEX && self.vcpus[reserved as usize].task != Task::None {
                self.make_ready(reserved as usize);
            }
        }
        // What waits is looked for at once.
        for cpu in self.threads_of(number) {
            if self.cpus[cpu].state != CpuState::Idle || self.reserved[cpu] != NO_INDEX {
                continue;
            }
            let Some(first) = self.pools[pool].ready.first() else {
                break;
            };
            let Some(entry) = self.vectors.heaps[first.number as usize].first() else {
                break;
            };
            self.vectors
                .remove(&mut self.pools[pool].ready, first.number, entry.number);
            self.start_processor(cpu, entry.number as usize);
        }
    }

    /// The parts that users have of all processors, as their shares say now.
    pub(crate) fn set_shares(&mut self, system: usize) {
        let users = self.users_of[system] as usize..self.users_of[system + 1] as usize;
        for kind in 0..self.pool_of[system].len() {
            let index = self.pool_of[system][kind];
            if index == NO_INDEX {
                continue;
            }
            let online = f64::from(self.pools[index as usize].online.max(1));
            let at_most = self.scenario.systems[system].cp.absolute_shares_at_most;
            let mut absolute = 0.0;
            let mut relative = 0.0;
            for user in users.clone() {
                let user = &self.users[user];
                if usize::from(user.kind) == kind && user.logged_on {
                    match user.share {
                        crate::scenario::Share::Absolute(share) => absolute += share,
                        crate::scenario::Share::Relative(share) => relative += f64::from(share),
                    }
                }
            }
            let scale = if absolute > at_most {
                at_most / absolute
            } else {
                1.0
            };
            let rest = 100.0 - absolute * scale;
            for number in users.clone() {
                let user = &self.users[number];
                if usize::from(user.kind) != kind || !user.logged_on {
                    continue;
                }
                let part = match user.share {
                    crate::scenario::Share::Absolute(share) => share * scale,
                    crate::scenario::Share::Relative(share) => rest * f64::from(share) / relative,
                } / 100.0;
                let (first, count) = (user.first, user.count);
                let spec = &self.scenario.systems[system].users[user.number as usize];
                if let (Some(maximum), true) = (spec.maximum, user.limit != NO_INDEX) {
                    let maximum = match maximum {
                        crate::scenario::Share::Absolute(share) => share,
                        crate::scenario::Share::Relative(share) => {
                            rest * f64::from(share) / relative.max(1.0)
                        }
                    };
                    let rate = Ratio::from_f64(maximum / 100.0 * online);
                    let limit = user.limit as usize;
                    self.limits[limit].limiter.change(rate, self.now);
                }
                let each = part / f64::from(count.max(1)) * online;
                for v in first..first + count {
                    self.vcpus[v as usize].pace = Ratio::from_f64(1.0 / each.max(1e-9));
                }
            }
            for (number, pool) in self.scenario.systems[system].pools.iter().enumerate() {
                if usize::from(pool.kind) != kind {
                    continue;
                }
                let by_part = pool.limithard_pct.map(|part| part / 100.0 * online);
                let most = [by_part, pool.capacity]
                    .into_iter()
                    .flatten()
                    .fold(f64::INFINITY, f64::min);
                if most.is_finite() {
                    let limit = self.pool_limits[system][number] as usize;
                    let rate = Ratio::from_f64(most);
                    self.limits[limit].limiter.change(rate, self.now);
                }
            }
        }
    }
}
