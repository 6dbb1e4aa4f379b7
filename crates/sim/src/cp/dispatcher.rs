//! The dispatcher: a logical processor begins to run, ends a slice or its work, and becomes idle.

use crate::state::{CpuState, NO_INDEX, VcpuState};
use crate::time::{NEVER, Ticks};
use crate::world::World;

impl World {
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
            && !self.serve(v, number)
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
                self.preempt(self.pool_of_vcpu(v), v);
            }
            return;
        }
        if self.counting.paces.is_some() {
            self.set_pace(number);
        }
        self.reschedule(number);
    }

    /// An idle processor begins to run.
    pub(super) fn start_processor(&mut self, number: usize, v: usize) {
        self.update_accounting(number);
        let core = self.cpus[number].core as usize;
        self.settle_core(core);
        self.not_idle(number);
        self.cpus[number].state = CpuState::Running;
        self.cores[core].running += 1;
        let running = self.cores[core].running;
        self.signal(self.cores[core].system as usize);
        self.place(number, v);
        if running == 2 {
            self.pair(core, true);
        } else {
            self.cpus[number].paired = false;
            self.set_speed(number);
            self.core_ready(core);
        }
        self.reschedule(number);
    }

    /// Both threads of a core begin or cease to share it.
    fn pair(&mut self, core: usize, paired: bool) {
        for cpu in self.threads_of(core) {
            if self.cpus[cpu].state == CpuState::Running {
                self.update_accounting(cpu);
                self.cpus[cpu].paired = paired;
                self.set_speed(cpu);
                self.reschedule(cpu);
            }
        }
    }

    /// The speed of a running processor: that of the machine, or a part of it.
    pub(crate) fn set_speed(&mut self, number: usize) {
        if self.counting.paces.is_some() {
            self.set_pace(number);
            return;
        }
        let cpu = &mut self.cpus[number];
        let user = self.vcpus[cpu.vcpu as usize].user;
        cpu.speed = if cpu.paired {
            self.users[user as usize].paired_speed.scaled_by(self.speed)
        } else {
            self.speed
        };
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
            if self.cpus[number].paired && self.counting.paces.is_some() {
                // The other thread has another neighbor, too.
                self.pair(self.cpus[number].core as usize, true);
                return;
            }
            self.set_speed(number);
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
        let none_runs = state.running == 0;
        let pool = &mut self.pools[state.pool as usize];
        pool.idle.insert(number - pool.first as usize);
        if none_runs {
            pool.idle_cores.insert(core - pool.cores[0] as usize);
        }
    }

    pub(crate) fn not_idle(&mut self, number: usize) {
        let core = self.cpus[number].core as usize;
        let pool = &mut self.pools[self.cores[core].pool as usize];
        pool.idle.remove(number - pool.first as usize);
        pool.idle_cores.remove(core - pool.cores[0] as usize);
    }

    /// Puts a virtual CPU on a running processor, with the cost of its dispatch.
    pub(super) fn place(&mut self, number: usize, v: usize) {
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
                // Where CPI is time, fetching its lines takes it.
                if self.counting.paces.is_none() {
                    reload = self.machine_timings.moves[distance];
                }
                self.vcpus[v].counts.moves[distance] += 1;
                self.cpus[number].pending.moved = distance as u8 + 1;
            }
        }
        let (owed, shared) = self.dispatch_costs(system, number);
        let spin = self.scheduler_lock(system, shared);
        let stretch = self.cpus[number].stretch;
        let spans = &self.cp[system];
        let cpu = &mut self.cpus[number];
        let vcpu = &mut self.vcpus[v];
        vcpu.state = VcpuState::Running;
        vcpu.cpu = number as u32;
        self.running_until[number] = vcpu.running_key();
        vcpu.home = self.cores[core].vector;
        vcpu.counts.dispatches += 1;
        cpu.counts.dispatches += 1;
        cpu.counts.spins += u64::from(spin > 0);
        cpu.vcpu = v as u32;
        cpu.overhead += spin + stretch.times(owed);
        cpu.spinning += spin;
        vcpu.overhead += shared;
        if vcpu.dedicated {
            cpu.slice = NEVER;
        } else {
            cpu.overhead += stretch.times(spans.dispatch_system) + spans.lock_hold;
            vcpu.overhead += stretch.times(spans.dispatch_user);
            cpu.slice = spans.slice[smt];
        }
        cpu.counts.simulated += vcpu.simulate(stretch);
        vcpu.reload += reload;
        self.resides(number);
    }

    /// Returns the time spent spinning for the scheduler lock, and holds the lock, also while some of the data of a dispatch
    /// are fetched.
    fn scheduler_lock(&mut self, system: usize, fetching: Ticks) -> Ticks {
        let mut hold = self.cp[system].lock_hold;
        if fetching > 0 {
            hold += self.costs[system].locked.times(fetching);
        }
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

    /// Takes a virtual CPU away from wherever it is; it ends in `state`.
    pub(crate) fn withdraw(&mut self, v: usize, state: VcpuState) {
        self.settle_state(v);
        let pool = self.pool_of_vcpu(v);
        match self.vcpus[v].state {
            VcpuState::Running => {
                let cpu = self.vcpus[v].cpu as usize;
                self.update_accounting(cpu);
                self.vcpus[v].state = state;
                self.dispatch_next(cpu);
            }
            VcpuState::Ready => {
                let vector = self.vcpus[v].vector;
                self.vectors.remove(&mut self.pools[pool], vector, v as u32);
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
}
