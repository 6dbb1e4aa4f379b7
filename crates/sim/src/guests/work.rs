//! The work of virtual CPUs: tasks, cut at I/O operations and page faults.

use super::POLL_INTERVAL;
use crate::io::Request;
use crate::state::{Task, VcpuState, height};
use crate::time::{NEVER, Ticks};
use crate::world::{EventKind, World};

/// Work of a virtual CPU without end.
const UNBOUNDED: Ticks = 1 << 52;
/// Marks I/O requests of virtual CPUs instead of customers.
const OF_VCPU: u32 = 1 << 31;
/// Marks I/O without a waiter.
const OF_NOBODY: u32 = u32::MAX;

impl World {
    /// Handles the end of a running virtual CPU's segment; returns whether it continues at once.
    pub(crate) fn on_segment_end(&mut self, v: usize, number: usize) -> bool {
        let vcpu = &mut self.vcpus[v];
        let segment = std::mem::take(&mut vcpu.segment);
        for left in &mut vcpu.left {
            if *left != NEVER {
                *left = left.saturating_sub(segment);
            }
        }
        if vcpu.task == Task::Load && vcpu.load.demand.is_none() {
            vcpu.left[0] = UNBOUNDED;
        }
        self.cpus[number].counts.simulated += vcpu.simulate();
        if vcpu.left[2] == 0 {
            self.page_fault(v, number);
            return false;
        }
        let io_due = vcpu.left[1] == 0;
        if io_due && !self.cached(v) {
            self.own_io(v, number);
            return false;
        }
        if self.vcpus[v].left[0] == 0 {
            self.task_over(v);
            self.next_task(v);
        }
        if self.vcpus[v].task == Task::None {
            self.settle_state(v);
            self.vcpus[v].state = VcpuState::Idle;
            let user = self.vcpus[v].user as usize;
            self.users[user].idle |= 1 << self.vcpus[v].number;
            return false;
        }
        self.start_segment(v);
        true
    }

    /// Cuts the next segment of work.
    fn start_segment(&mut self, v: usize) {
        let vcpu = &mut self.vcpus[v];
        let segment = vcpu.left[0].min(vcpu.left[1]).min(vcpu.left[2]);
        vcpu.segment = segment;
        vcpu.work = segment;
    }

    /// The task that a virtual CPU takes next: the first customer, else its own load.
    fn next_task(&mut self, v: usize) {
        let vcpu = &mut self.vcpus[v];
        let user = &mut self.users[vcpu.user as usize];
        if let Some(customer) = user.queue.pop_front() {
            vcpu.task = Task::Customer(customer);
            vcpu.left[0] = self.customers[customer as usize]
                .work
                .min(user.quantum)
                .max(1);
        } else if vcpu.load.demand.is_none() {
            vcpu.task = Task::Load;
            vcpu.left[0] = UNBOUNDED;
        } else if vcpu.backlog > 0 {
            vcpu.task = Task::Load;
            vcpu.left[0] = std::mem::take(&mut vcpu.backlog);
        } else {
            vcpu.task = Task::None;
        }
    }

    /// The task of a virtual CPU has come to its end.
    pub(super) fn task_over(&mut self, v: usize) {
        let vcpu = &mut self.vcpus[v];
        let task = std::mem::replace(&mut vcpu.task, Task::None);
        let Task::Customer(customer) = task else {
            return;
        };
        let user = &mut self.users[vcpu.user as usize];
        let state = &mut self.customers[customer as usize];
        state.work = state.work.saturating_sub(user.quantum);
        if state.work > 0 && user.quantum < NEVER {
            user.queue.push_back(customer);
            return;
        }
        self.cpu_step_over(customer as usize);
    }

    /// A virtual CPU without work gets some, if there is any.
    pub(super) fn wake(&mut self, v: usize) {
        if self.vcpus[v].state != VcpuState::Idle || self.vcpus[v].task != Task::None {
            return;
        }
        self.next_task(v);
        if self.vcpus[v].task == Task::None {
            return;
        }
        let user = self.vcpus[v].user as usize;
        self.tell_transaction_end(user);
        self.users[user].active = true;
        self.users[user].idle &= !(1 << self.vcpus[v].number);
        self.start_segment(v);
        if !self.must_wait(v) {
            self.make_ready(v);
        }
    }

    /// A burst of demand arrives.
    pub(crate) fn burst(&mut self, v: usize) {
        let slot = self.slots.bursts + v as u32;
        let at = self.now.saturating_sub(self.begin);
        let vcpu = &mut self.vcpus[v];
        let Some(demand) = vcpu.load.demand else {
            return;
        };
        if vcpu.state == VcpuState::Off {
            return;
        }
        let demand = demand * height(&vcpu.load.profile, at);
        if demand <= 0.0 {
            self.schedule(slot, self.now + POLL_INTERVAL);
            return;
        }
        let length = vcpu.load.bursts.sample(&mut vcpu.stream);
        if vcpu.backlog + length > vcpu.load.most {
            vcpu.refused += length;
        } else {
            vcpu.backlog += length;
        }
        let between = ((length as f64 / demand + 0.5) as Ticks).max(1);
        self.schedule(slot, self.now.saturating_add(between));
        self.wake(v);
    }

    /// Whether the minidisk cache has the data of the next I/O; the virtual CPU then continues.
    fn cached(&mut self, v: usize) -> bool {
        let vcpu = &mut self.vcpus[v];
        if vcpu.load.cached == 0 || vcpu.stream.bits() >> 32 >= vcpu.load.cached {
            return false;
        }
        vcpu.left[1] = ((vcpu.stream.exponential() * vcpu.load.io_mean) as Ticks).max(1);
        let volume = vcpu.next_volume();
        vcpu.counts.avoided += 1;
        let system = self.users[vcpu.user as usize].system as usize;
        self.io[system].avoid(volume as usize);
        true
    }

    fn own_io(&mut self, v: usize, number: usize) {
        let vcpu = &mut self.vcpus[v];
        let mean = vcpu.load.io_mean;
        vcpu.left[1] = ((vcpu.stream.exponential() * mean) as Ticks).max(1);
        let volume = vcpu.next_volume();
        vcpu.counts.starts += 1;
        let user = vcpu.user;
        self.wait_for(v, VcpuState::Io);
        let system = self.users[user as usize].system as usize;
        if let Some((from, to)) = self.io[system].seek(volume as usize) {
            self.log_event(
                system,
                EventKind::Seek {
                    user,
                    volume,
                    from,
                    to,
                },
            );
        }
        let request = Request {
            token: OF_VCPU | v as u32,
            pages: 0,
            write: None,
        };
        self.start_io(system, volume, request, number);
    }

    fn page_fault(&mut self, v: usize, number: usize) {
        let vcpu = &mut self.vcpus[v];
        let mean = vcpu.load.page_mean;
        vcpu.left[2] = ((vcpu.stream.exponential() * mean) as Ticks).max(1);
        vcpu.counts.faults += 1;
        let system = self.users[self.vcpus[v].user as usize].system as usize;
        let pages = self.scenario.systems[system].cp.block_pages;
        // A block comes in, and one goes out to make room for it.
        for write in [false, true] {
            let Some(volume) = self.io[system].paging_volume() else {
                self.wait_for(v, VcpuState::Page);
                self.io_done(OF_VCPU | v as u32);
                return;
            };
            let token = if write {
                OF_NOBODY
            } else {
                self.wait_for(v, VcpuState::Page);
                OF_VCPU | v as u32
            };
            let request = Request {
                token,
                pages,
                write: Some(write),
            };
            self.vcpus[v].counts.pages[usize::from(write)] += u64::from(pages);
            self.cpus[number].counts.pages[usize::from(write)] += u64::from(pages);
            self.start_io(system, volume, request, number);
        }
    }

    fn wait_for(&mut self, v: usize, state: VcpuState) {
        self.settle_state(v);
        self.vcpus[v].state = state;
    }

    pub(super) fn start_io(&mut self, system: usize, volume: u32, request: Request, number: usize) {
        self.cpus[number].counts.starts += 1;
        let base = self.io_slots[system];
        let mut schedule = crate::event_queue::Schedule::new(&mut self.events, base);
        self.io[system].start(self.now, volume, request, &mut schedule);
    }

    /// An I/O operation has ended.
    pub(crate) fn io_done(&mut self, token: u32) {
        if token == OF_NOBODY {
            return;
        }
        if token & OF_VCPU == 0 {
            self.io_step_over(token as usize);
            return;
        }
        let v = (token & !OF_VCPU) as usize;
        if !matches!(self.vcpus[v].state, VcpuState::Io | VcpuState::Page) {
            return;
        }
        self.resume(v);
    }

    /// Resumes a virtual CPU that waited or was stopped.
    pub(super) fn resume(&mut self, v: usize) {
        self.wait_for(v, VcpuState::Idle);
        if self.vcpus[v].task != Task::None && self.vcpus[v].work == 0 {
            // A boundary of several kinds: the task may have ended as well.
            if self.vcpus[v].left[0] == 0 {
                self.task_over(v);
                self.next_task(v);
            }
            if self.vcpus[v].task != Task::None {
                self.start_segment(v);
            }
        }
        if self.vcpus[v].task == Task::None {
            let user = self.vcpus[v].user as usize;
            self.users[user].idle |= 1 << self.vcpus[v].number;
            self.wake(v);
            return;
        }
        if !self.must_wait(v) {
            self.make_ready(v);
        }
    }
}
