//! Cores that are parked, varied or back, and where virtual CPUs go then.

use crate::scenario::Dispatch;
use crate::state::{CpuState, NO_INDEX, Task, VcpuState};
use crate::world::World;

impl World {
    pub(crate) fn kind_of(&self, share: u32) -> usize {
        usize::from(self.shares[share as usize].kind)
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
                self.vectors.remove(pool, vector, entry.number);
                self.vectors.push(pool, target, entry.key, entry.number);
                self.vcpus[v].vector = target;
                self.vcpus[v].home = target;
            }
        }
    }

    /// Parks a core, or varies it off: its virtual CPUs go elsewhere.
    pub(crate) fn deactivate(&mut self, number: usize, offline: bool) {
        let pool = self.cores[number].pool as usize;
        if offline {
            self.cores[number].online = false;
        } else {
            self.cores[number].parked = true;
        }
        self.set_search();
        self.set_sharers();
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
            self.vectors.remove(pool, vector, entry.number);
            self.vectors.push(pool, target, entry.key, entry.number);
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
        let pool = core.pool as usize;
        self.set_search();
        self.set_sharers();
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
            let Some(first) = self.pools[pool].first_vector() else {
                break;
            };
            let Some(entry) = self.vectors.heaps[first as usize].first() else {
                break;
            };
            let (vector, v) = match self.chosen(pool, cpu) {
                Some(v) => (self.vcpus[v].vector, v as u32),
                None => (first, entry.number),
            };
            self.vectors.remove(&mut self.pools[pool], vector, v);
            self.start_processor(cpu, v as usize);
        }
    }
}
