//! The work of virtual CPUs: tasks, cut at I/O operations and page faults.

use super::POLL_INTERVAL;
use crate::io::Request;
use crate::memory::Search;
use crate::state::{Task, VcpuState, height};
use crate::storage::PAGES;
use crate::time::{NEVER, SECOND, Ticks};
use crate::world::{EventKind, World};

/// Work of a virtual CPU without end.
const UNBOUNDED: Ticks = 1 << 52;
/// Marks I/O requests of virtual CPUs instead of customers.
const OF_VCPU: u32 = 1 << 31;
/// Marks I/O without a waiter.
const OF_NOBODY: u32 = u32::MAX;
/// Marks the write of a block ahead of need, and of one whose frames are then available.
const OF_EARLY_WRITE: u32 = OF_NOBODY - 1;
const OF_FRAMES: u32 = OF_NOBODY - 2;
/// Marks the reads of relocations, of which a system has at most as many.
pub(super) const OF_RELOCATIONS: u32 = OF_FRAMES - MOST_RELOCATIONS;
const MOST_RELOCATIONS: u32 = 1 << 16;
/// Virtual CPU time after which the next page fault is drawn again: rates change with what is in frames.
const REDRAW: Ticks = SECOND / 10;

impl World {
    /// Handles the end of a running virtual CPU's segment; returns whether it continues at once.
    pub(crate) fn on_segment_end(&mut self, v: usize, number: usize) -> bool {
        let stretch = self.cpus[number].stretch;
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
        self.cpus[number].counts.simulated += vcpu.simulate(stretch);
        if vcpu.left[2] == 0 {
            if self.fault_is_due(v) {
                return self.page_fault(v, number);
            }
            self.draw_fault(v);
        }
        let io_due = self.vcpus[v].left[1] == 0;
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

    /// Whether there is a page fault at the end of a segment, and not just the time to draw it again.
    fn fault_is_due(&self, v: usize) -> bool {
        let vcpu = &self.vcpus[v];
        let system = self.users[vcpu.user as usize].system as usize;
        self.memory[system].is_none() || vcpu.fault.due
    }

    /// Draws the time to the next page fault at the present rate.
    fn draw_fault(&mut self, v: usize) {
        let vcpu = &mut self.vcpus[v];
        let user = &self.users[vcpu.user as usize];
        let Some(memory) = &self.memory[user.system as usize] else {
            return;
        };
        let rate = memory.visit_rate(user.number as usize);
        let span = vcpu.stream.exponential() / rate.max(1e-12) * SECOND as f64;
        vcpu.fault.due = span < REDRAW as f64;
        vcpu.fault.drawn = memory.searches;
        vcpu.left[2] = (span.min(REDRAW as f64) as Ticks).max(1);
    }

    /// Cuts the next segment of work.
    fn start_segment(&mut self, v: usize) {
        let user = &self.users[self.vcpus[v].user as usize];
        if let Some(memory) = &self.memory[user.system as usize] {
            let fault = &self.vcpus[v].fault;
            if fault.visit.left == 0 && fault.drawn != memory.searches {
                self.draw_fault(v);
            }
        }
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
        // I/O in transport mode turns the cache off for a minidisk.
        let system = &self.scenario.systems[self.users[vcpu.user as usize].system as usize];
        let transport = system.volumes[vcpu.volume() as usize].transport_pct;
        if transport.is_some() && !system.cp.transport_cached {
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
        let system = self.users[user as usize].system as usize;
        self.charge_io(v, system, volume);
        self.wait_for(v, VcpuState::Io);
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

    /// Handles a page fault; returns whether the processor spins for a lock first.
    fn page_fault(&mut self, v: usize, number: usize) -> bool {
        let user = &self.users[self.vcpus[v].user as usize];
        if self.memory[user.system as usize].is_some() {
            return self.fault_of_reference(v, number);
        }
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
                self.io_done(system, OF_VCPU | v as u32);
                return false;
            };
            let token = if write {
                self.owe_write(system, volume, pages);
                OF_NOBODY
            } else {
                self.charge_read(v, system, volume, pages);
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
        false
    }

    /// A reference to a page that is not in a frame: the virtual CPU waits for a frame and then for the page.
    /// Returns whether its processor is busy with locks before.
    fn fault_of_reference(&mut self, v: usize, number: usize) -> bool {
        let stretch = self.cpus[number].stretch;
        let vcpu = &mut self.vcpus[v];
        let user = &self.users[vcpu.user as usize];
        let system = user.system as usize;
        let Some(memory) = &mut self.memory[system] else {
            return false;
        };
        if vcpu.fault.visit.left == 0 {
            let Some(visit) = memory.visit(user.number as usize) else {
                // It has come in meanwhile.
                self.draw_fault(v);
                self.wait_for(v, VcpuState::Page);
                self.resume(v);
                return false;
            };
            vcpu.fault.visit = visit;
        }
        let had = vcpu.fault.locks;
        if had < memory.locks.of_fault() {
            let (spin, hold) = memory.locks.request(self.now, number, had);
            vcpu.fault.locks += 1;
            vcpu.overhead += hold;
            let cpu = &mut self.cpus[number];
            cpu.overhead += spin;
            cpu.spinning += spin;
            if spin > 0 || had + 1 < memory.locks.of_fault() {
                return true;
            }
        }
        vcpu.fault.locks = 0;
        vcpu.counts.faults += 1;
        vcpu.overhead += stretch.times(memory.fault);
        self.wait_for(v, VcpuState::Page);
        if let Some(memory) = &mut self.memory[system] {
            memory.waiting.push_back(v as u32);
        }
        self.serve_faults(system);
        false
    }

    /// Starts the reads of those who wait for frames, as long as there are some, and takes more.
    fn serve_faults(&mut self, system: usize) {
        while let Some(memory) = &mut self.memory[system]
            && let Some(v) = memory.waiting.front().copied()
        {
            if !memory.has_frames() {
                memory.empty += 1;
                self.take_frames(system);
                if self.memory[system]
                    .as_ref()
                    .is_none_or(|memory| !memory.has_frames())
                {
                    return;
                }
                continue;
            }
            memory.waiting.pop_front();
            let vcpu = &mut self.vcpus[v as usize];
            let visit = &mut vcpu.fault.visit;
            let (pages, useful) = memory.bring_in(visit);
            visit.left = visit.left.saturating_sub(useful);
            if visit.left > 0 {
                // The next page of the visit is out, too.
                vcpu.left[2] = 1;
                vcpu.fault.due = true;
            } else {
                self.draw_fault(v as usize);
            }
            let vcpu = &mut self.vcpus[v as usize];
            let Some(memory) = &mut self.memory[system] else {
                return;
            };
            let at = memory.volume_of_read();
            let number = vcpu.cpu as usize;
            vcpu.counts.pages[0] += u64::from(pages);
            self.cpus[number].counts.pages[0] += u64::from(pages);
            let volume = self.io[system].paging_volumes()[at];
            self.charge_read(v as usize, system, volume, pages);
            let request = Request {
                token: OF_VCPU | v,
                pages,
                write: Some(false),
            };
            self.start_io(system, volume, request, number);
            self.take_frames(system);
        }
    }

    /// CP takes frames, and writes what has changed in them.
    fn take_frames(&mut self, system: usize) {
        let selected = self.selected_frames(system);
        let Some(memory) = &mut self.memory[system] else {
            return;
        };
        let search = memory.take_frames(&selected);
        self.write_blocks(system, search);
    }

    fn write_blocks(&mut self, system: usize, search: Search) {
        let pages = self.scenario.systems[system].cp.block_pages;
        let number = self.cores_of[system].start;
        let number = self.cores[number].first as usize;
        for (blocks, token) in [(search.blocks, OF_FRAMES), (search.early, OF_EARLY_WRITE)] {
            for _ in 0..blocks {
                let Some(memory) = &mut self.memory[system] else {
                    return;
                };
                let Some((volume, at)) =
                    self.io[system].paging_volume_of(|at| memory.has_slots(at))
                else {
                    memory.write_ended(token == OF_EARLY_WRITE);
                    continue;
                };
                memory.written(at);
                self.owe_write(system, volume, pages);
                self.cpus[number].counts.pages[1] += u64::from(pages);
                let request = Request {
                    token,
                    pages,
                    write: Some(true),
                };
                self.start_io(system, volume, request, number);
            }
        }
    }

    /// CP looks at what was referenced.
    pub(crate) fn search_frames(&mut self, system: usize) {
        for core in self.cores_of[system].clone() {
            for cpu in self.threads_of(core) {
                self.update_accounting(cpu);
            }
        }
        let users = self.users_of[system].clone();
        let mut used = Vec::with_capacity(users.len());
        for user in users {
            let vcpus = &self.vcpus[self.users[user].vcpus()];
            let now: Ticks = vcpus.iter().map(|vcpu| self.progress(&vcpu.times)).sum();
            let before = std::mem::replace(&mut self.virtual_before[user], now);
            // A logon in between starts again.
            used.push(now.checked_sub(before).unwrap_or(now) as f64 / SECOND as f64);
        }
        let Some(memory) = &mut self.memory[system] else {
            return;
        };
        memory.search(&used);
        let next = self.now + memory.interval;
        let spec = &self.scenario.systems[system];
        for (unit, number) in spec.control_units.iter().zip(0..) {
            if let Some(cache) = unit.cache_mib {
                let slots = memory.slots_used_of(|at| spec.volumes[at].control_unit == number);
                // Each of its pages is as likely to be read.
                self.io[system].set_paging_hits(number, cache * PAGES / slots.max(1.0));
            }
        }
        self.schedule(self.slots.searches + system as u32, next);
        self.take_frames(system);
        self.serve_faults(system);
    }

    fn wait_for(&mut self, v: usize, state: VcpuState) {
        self.settle_state(v);
        self.vcpus[v].state = state;
    }

    pub(super) fn start_io(&mut self, system: usize, volume: u32, request: Request, number: usize) {
        self.cpus[number].counts.starts += 1;
        let base = self.io_slots[system];
        let mut schedule = crate::event_queue::Schedule::new(&mut self.events, base);
        let servers = &mut self.storage_servers;
        self.io[system].start(self.now, volume, request, servers, &mut schedule);
    }

    /// An I/O operation has ended.
    pub(crate) fn io_done(&mut self, system: usize, token: u32) {
        if token == OF_NOBODY {
            return;
        }
        if token >= OF_FRAMES {
            if let Some(memory) = &mut self.memory[system] {
                memory.write_ended(token == OF_EARLY_WRITE);
            }
            self.serve_faults(system);
            return;
        }
        if token >= OF_RELOCATIONS {
            self.relocation_read(system, (token - OF_RELOCATIONS) as usize);
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
