//! Guests: what virtual CPUs do, transactions, logon and logoff, commands.
//!
//! A virtual CPU runs the steps of transactions in the order of their arrival and, when there are none, its own
//! load. Its work is cut at the next I/O operation and the next page fault, for which it waits.

use crate::io::Request;
use crate::relocation::Effect;
use crate::scenario::{Action, Step};
use crate::state::{CpuState, NO_INDEX, Task, VcpuState, height};
use crate::time::{NEVER, Ratio, Ticks, micros, seconds};
use crate::world::{EventKind, RecordedEvent, World};

/// Work of a virtual CPU without end.
const UNBOUNDED: Ticks = 1 << 52;
/// A profile is looked at again after this long.
const POLL_INTERVAL: Ticks = 10 * crate::time::SECOND;
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
    fn task_over(&mut self, v: usize) {
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
    fn wake(&mut self, v: usize) {
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
        // A block is read, and another is written to free space for it.
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

    fn start_io(&mut self, system: usize, volume: u32, request: Request, number: usize) {
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
    fn resume(&mut self, v: usize) {
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

    // Transactions -------------------------------------------------------------------------------

    /// A transaction of an open class arrives.
    pub(crate) fn arrival(&mut self, number: usize) {
        let at = self.now.saturating_sub(self.begin);
        let class = &mut self.classes[number];
        let height = height(&class.profile, at);
        let slot = class.slot;
        if height <= 0.0 {
            self.schedule(slot, self.now + POLL_INTERVAL);
            return;
        }
        let between = class.between.sample(&mut class.stream);
        let between = ((between as f64 / height + 0.5) as Ticks).max(1);
        let customer = class.free.pop();
        if customer.is_none() {
            class.refused += 1;
        }
        self.schedule(slot, self.now.saturating_add(between));
        if let Some(customer) = customer {
            self.begin_transaction(customer as usize);
        }
    }

    /// A customer has thought, or waited.
    pub(crate) fn customer_due(&mut self, number: usize) {
        let customer = &mut self.customers[number];
        if customer.step == NO_INDEX {
            self.begin_transaction(number);
        } else {
            customer.step += 1;
            self.step(number);
        }
    }

    fn begin_transaction(&mut self, number: usize) {
        let customer = &mut self.customers[number];
        customer.step = 0;
        customer.began = self.now;
        let class = &mut self.classes[customer.class as usize];
        class.settle(self.now);
        class.inside += 1;
        self.step(number);
    }

    /// Begins the step that a customer has come to.
    fn step(&mut self, number: usize) {
        let customer = &self.customers[number];
        let class = &self.classes[customer.class as usize];
        let (system, which) = (class.system as usize, class.number as usize);
        let at = customer.number as usize;
        match self.scenario.systems[system].transactions[which]
            .steps
            .get(customer.step as usize)
        {
            None => self.end_transaction(number),
            Some(Step::Cpu {
                users,
                cpu_ms,
                variation,
                lock,
            }) => {
                let user = self.users_of[system] + users[at % users.len()];
                let mean = 1_000.0 * cpu_ms * crate::time::MICROSECOND as f64;
                let work = crate::random::DurationDistribution::new(mean, *variation);
                let lock = *lock;
                let customer = &mut self.customers[number];
                customer.work = work.sample(&mut customer.stream);
                if let Some(lock) = lock {
                    let lock = &mut self.work_locks[system][lock as usize];
                    if lock.owner.is_some() {
                        lock.waiting.push_back(number as u32);
                        return;
                    }
                    lock.owner = Some(number as u32);
                }
                self.enqueue(number, user as usize);
            }
            Some(Step::Io { count, .. }) => {
                let count = *count;
                self.customers[number].count = count;
                if count == 0 {
                    self.customers[number].step += 1;
                    self.step(number);
                } else {
                    self.next_io(number);
                }
            }
            Some(Step::Delay {
                delay_ms,
                variation,
            }) => {
                let mean = 1_000.0 * delay_ms * crate::time::MICROSECOND as f64;
                let delay = crate::random::DurationDistribution::new(mean, *variation);
                let span = delay.sample(&mut self.customers[number].stream);
                self.schedule(self.slots.customers + number as u32, self.now + span);
            }
        }
    }

    /// The user on whose virtual CPUs the step of a customer runs.
    fn user_of_step(&self, number: usize) -> Option<usize> {
        let customer = &self.customers[number];
        let class = &self.classes[customer.class as usize];
        let system = class.system as usize;
        let steps = &self.scenario.systems[system].transactions[class.number as usize].steps;
        match steps.get(customer.step as usize)? {
            Step::Cpu { users, .. } | Step::Io { users, .. } => {
                let user = users.get(customer.number as usize % users.len().max(1))?;
                Some((self.users_of[system] + user) as usize)
            }
            Step::Delay { .. } => None,
        }
    }

    fn enqueue(&mut self, number: usize, user: usize) {
        let state = &mut self.users[user];
        state.queue.push_back(number as u32);
        if state.logged_on && state.idle != 0 {
            let v = state.first + state.idle.trailing_zeros();
            self.wake(v as usize);
        }
    }

    fn cpu_step_over(&mut self, number: usize) {
        let customer = &self.customers[number];
        let class = &self.classes[customer.class as usize];
        let system = class.system as usize;
        let steps = &self.scenario.systems[system].transactions[class.number as usize].steps;
        if let Some(Step::Cpu {
            lock: Some(lock), ..
        }) = steps.get(customer.step as usize)
        {
            let lock = &mut self.work_locks[system][*lock as usize];
            lock.owner = lock.waiting.pop_front();
            if let Some(next) = lock.owner
                && let Some(user) = self.user_of_step(next as usize)
            {
                self.enqueue(next as usize, user);
            }
        }
        self.customers[number].step += 1;
        self.step(number);
    }

    fn next_io(&mut self, number: usize) {
        let user = self.user_of_step(number);
        let customer = &self.customers[number];
        let class = &self.classes[customer.class as usize];
        let system = class.system as usize;
        let steps = &self.scenario.systems[system].transactions[class.number as usize].steps;
        let Some(Step::Io { volumes, .. }) = steps.get(customer.step as usize) else {
            return;
        };
        let volume = volumes[customer.turn as usize % volumes.len()];
        let customer = &mut self.customers[number];
        customer.turn = customer.turn.wrapping_add(1);
        let request = Request {
            token: number as u32,
            pages: 0,
            write: None,
        };
        let (vcpu, cpu) = match user {
            Some(user) => {
                let first = self.users[user].first as usize;
                (first, self.vcpus[first].cpu as usize)
            }
            None => (0, 0),
        };
        self.vcpus[vcpu].counts.starts += 1;
        self.start_io(system, volume, request, cpu);
    }

    fn io_step_over(&mut self, number: usize) {
        let customer = &mut self.customers[number];
        customer.count -= 1;
        if customer.count > 0 {
            self.next_io(number);
        } else {
            customer.step += 1;
            self.step(number);
        }
    }

    fn end_transaction(&mut self, number: usize) {
        let at = self.now.saturating_sub(self.begin);
        let customer = &mut self.customers[number];
        let class = &mut self.classes[customer.class as usize];
        class.settle(self.now);
        class.inside -= 1;
        class.completed += 1;
        class.response += u128::from(self.now - customer.began);
        customer.step = NO_INDEX;
        if class.open {
            class.free.push(number as u32);
            return;
        }
        let factor = height(&class.profile, at);
        let think = class.between.sample(&mut customer.stream);
        let think = if factor > 0.0 {
            (think as f64 / factor + 0.5) as Ticks
        } else {
            POLL_INTERVAL
        };
        self.schedule(
            self.slots.customers + number as u32,
            self.now.saturating_add(think.max(1)),
        );
    }

    // Operators ----------------------------------------------------------------------------------

    /// The next command of a system.
    pub(crate) fn command(&mut self, system: usize) {
        let commands = &self.scenario.systems[system].commands;
        let Some(command) = commands.get(self.next_command[system]) else {
            return;
        };
        let action = command.action.clone();
        self.next_command[system] += 1;
        self.schedule_command(system);
        match action {
            Action::Logon { user } => self.logon((self.users_of[system] + user) as usize),
            Action::Logoff { user } => self.logoff((self.users_of[system] + user) as usize),
            Action::VaryOn { core } => self.vary(system, core, true),
            Action::VaryOff { core } => self.vary(system, core, false),
            Action::SetShare { user, share } => {
                let user = (self.users_of[system] + user) as usize;
                self.users[user].share = share;
                self.set_shares(system);
                self.log_event(system, EventKind::Share(user as u32));
            }
            Action::SetMultithread { kind, threads } => self.set_threads(system, kind, threads),
            Action::SetPool { user, pool } => {
                let number = (self.users_of[system] + user) as usize;
                if self.users[number].member.is_none() {
                    self.users[number].member = Some(pool);
                    self.users[number].pool = self.pool_limits[system][pool as usize];
                    self.log_event(system, EventKind::Joined(number as u32, pool));
                }
            }
            Action::SetPoolLimit { pool, limit } => {
                let spec = &mut self.scenario.systems[system].pools[pool as usize];
                if spec.capacity.is_some() {
                    spec.capacity = Some(limit);
                } else if spec.limithard_pct.is_some() {
                    spec.limithard_pct = Some(limit);
                }
                self.set_shares(system);
                self.log_event(system, EventKind::Limited(pool));
            }
        }
    }

    /// Sets the event of a system's next command.
    pub(crate) fn schedule_command(&mut self, system: usize) {
        let next = self.next_command[system];
        if let Some(command) = self.scenario.systems[system].commands.get(next) {
            let at = self.begin + seconds(command.at_s);
            self.schedule(self.slots.commands + system as u32, at.max(self.now + 1));
        }
    }

    pub(crate) fn log_event(&mut self, system: usize, what: EventKind) {
        self.happened.push(RecordedEvent {
            at: self.now,
            system: system as u32,
            what,
        });
    }

    /// A user logs on: its counters start again.
    pub(crate) fn logon(&mut self, number: usize) {
        let user = &mut self.users[number];
        if user.logged_on {
            return;
        }
        user.logged_on = true;
        user.logon = self.now;
        user.idle = if user.count >= 128 {
            u128::MAX
        } else {
            (1 << user.count) - 1
        };
        let (system, first, count) = (user.system as usize, user.first, user.count);
        self.set_shares(system);
        for v in first..first + count {
            let v = v as usize;
            let vcpu = &mut self.vcpus[v];
            vcpu.state = VcpuState::Idle;
            vcpu.since = self.now;
            vcpu.times = Default::default();
            vcpu.counts = Default::default();
            vcpu.samples = Default::default();
            vcpu.task = Task::None;
            vcpu.deadline = 0;
            if let Some(demand) = vcpu.load.demand
                && demand > 0.0
            {
                // Bursts of different virtual CPUs do not coincide.
                let span = vcpu.load.bursts.sample(&mut vcpu.stream);
                let after = vcpu.stream.below(((span as f64 / demand) as u64).max(1));
                self.schedule(self.slots.bursts + v as u32, self.now + 1 + after);
            }
            self.wake(v);
        }
        self.log_event(system, EventKind::Logon(number as u32));
    }

    /// A user logs off: what it was doing is lost, steps of transactions wait for its return.
    pub(crate) fn logoff(&mut self, number: usize) {
        let user = &self.users[number];
        if !user.logged_on {
            return;
        }
        let (system, first, count) = (user.system as usize, user.first, user.count);
        let mut used = Vec::with_capacity(count as usize);
        for v in first..first + count {
            let v = v as usize;
            self.withdraw(v, VcpuState::Off);
            self.schedule(self.slots.bursts + v as u32, NEVER);
            let vcpu = &mut self.vcpus[v];
            if let Task::Customer(customer) = vcpu.task {
                self.users[number].queue.push_front(customer);
            }
            vcpu.task = Task::None;
            vcpu.backlog = 0;
            vcpu.work = 0;
            vcpu.segment = 0;
            vcpu.overhead = 0;
            vcpu.reload = 0;
            used.push((vcpu.times, vcpu.counts));
        }
        self.leave_lists(number);
        let emulation = used.iter().map(|(times, _)| times.emulation);
        self.users[number].earlier += emulation.sum::<Ticks>();
        self.users[number].logged_on = false;
        self.users[number].active = false;
        self.users[number].idle = 0;
        self.set_shares(system);
        self.log_event(system, EventKind::Logoff(number as u32, used));
    }

    /// The event of a relocation.
    pub(crate) fn relocation_due(&mut self, system: usize, slot: u32) {
        let which = (slot - self.relocation_slots[system]) as usize;
        let number = self.scenario.systems[system].relocations[which].user;
        let user = (self.users_of[system] + number) as usize;
        let vcpus = self.users[user].first as usize
            ..(self.users[user].first + self.users[user].count) as usize;
        let mut cpu = 0;
        for v in vcpus.clone() {
            if self.vcpus[v].state == VcpuState::Running {
                self.update_accounting(self.vcpus[v].cpu as usize);
            }
            cpu += self.vcpus[v].times.emulation;
        }
        if self.relocations[system].throttles() {
            let users = self.users_of[system] as usize..self.users_of[system + 1] as usize;
            let faults = self.users[users]
                .iter()
                .flat_map(|user| user.first..user.first + user.count)
                .map(|v| self.vcpus[v as usize].counts.faults);
            let faults = faults.sum();
            self.relocations[system].paging(self.now, faults);
        }
        let (effects, next) = self.relocations[system].fire(self.now, which, cpu);
        if let Some(next) = next {
            self.schedule(slot, next.max(self.now + 1));
        }
        for effect in effects {
            match effect {
                Effect::Begin => self.log_event(system, EventKind::RelocationBegan(which as u32)),
                Effect::Stop => {
                    for v in vcpus.clone() {
                        if self.vcpus[v].state != VcpuState::Off {
                            let user = self.vcpus[v].user as usize;
                            self.users[user].idle &= !(1 << self.vcpus[v].number);
                            self.withdraw(v, VcpuState::Quiesced);
                        }
                    }
                }
                Effect::Resume | Effect::Move => {
                    for v in vcpus.clone() {
                        if self.vcpus[v].state == VcpuState::Quiesced {
                            self.resume(v);
                        }
                    }
                    let state = self.relocations[system].states[which].clone();
                    self.log_event(
                        system,
                        EventKind::RelocationEnded(which as u32, Box::new(state)),
                    );
                    if effect == Effect::Move {
                        self.logoff(user);
                    }
                }
                Effect::Sent(mib) => self.charge_link_cpu(system, mib),
            }
        }
    }

    /// CP takes the time for sending storage from the first processor that runs.
    fn charge_link_cpu(&mut self, system: usize, mib: f64) {
        let cost = self.scenario.systems[system]
            .link
            .as_ref()
            .map_or(0.0, |link| 1_000.0 * link.cpu_ms);
        let cost = micros(mib * cost);
        let cores = self.cores_of[system] as usize..self.cores_of[system + 1] as usize;
        let first = cores
            .flat_map(|core| self.threads_of(core))
            .find(|cpu| self.cpus[*cpu].state == CpuState::Running);
        if let (Some(cpu), true) = (first, cost > 0) {
            self.update_accounting(cpu);
            self.cpus[cpu].overhead += cost;
            self.reschedule(cpu);
        }
    }

    fn vary(&mut self, system: usize, core: u32, on: bool) {
        let number = (self.cores_of[system] + core) as usize;
        if number >= self.cores_of[system + 1] as usize || self.cores[number].online == on {
            return;
        }
        if on {
            self.activate(number);
            for cpu in self.threads_of(number) {
                self.since_vary[cpu] = (self.cpus[cpu].times, self.cpus[cpu].counts);
            }
        } else {
            let pool = self.pool_of[system]
                [usize::from(self.shares[self.cores[number].share as usize].kind)];
            // The last one stays.
            let threads = self.cores[number].threads;
            if self.pools[pool as usize].online <= threads {
                return;
            }
            if self.cores[number].parked {
                self.activate(number);
            }
            self.deactivate(number, true);
        }
        self.set_shares(system);
        let what = if on {
            EventKind::VaryOn(number as u32)
        } else {
            EventKind::VaryOff(number as u32)
        };
        self.log_event(system, what);
    }

    fn set_threads(&mut self, system: usize, kind: u8, threads: u32) {
        for core in self.cores_of[system]..self.cores_of[system + 1] {
            let number = core as usize;
            let state = &self.cores[number];
            if self.shares[state.share as usize].kind != kind || state.threads == threads {
                continue;
            }
            let (online, parked) = (state.online, state.parked);
            if online && !parked {
                self.deactivate(number, false);
            }
            let most = self.scenario.systems[system].threads[usize::from(kind)].max(threads);
            debug_assert!(threads <= most);
            for cpu in self.threads_of(number) {
                self.update_accounting(cpu);
                self.cpus[cpu].state = CpuState::Offline;
            }
            self.cores[number].threads = threads;
            for cpu in self.threads_of(number) {
                self.update_accounting(cpu);
                self.cpus[cpu].state = CpuState::Parked;
            }
            if online && !parked {
                self.activate(number);
            }
        }
        self.set_shares(system);
        let types = 0..self.scenario.machine.types.len();
        let now = types.map(|kind| {
            let mut cores = (self.cores_of[system]..self.cores_of[system + 1])
                .map(|core| &self.cores[core as usize]);
            let own = cores.find(|core| self.kind_of(core.share) == kind);
            own.map_or(1, |core| core.threads)
        });
        let what = EventKind::Threads(now.collect());
        self.log_event(system, what);
    }
}

/// A load that is ready for use.
#[must_use]
pub fn load_state(load: &crate::scenario::Load) -> crate::state::LoadState {
    let mean = |rate: f64| {
        if rate > 0.0 {
            crate::time::SECOND as f64 / rate
        } else {
            0.0
        }
    };
    let profile = load.profile.iter();
    crate::state::LoadState {
        demand: load.demand_pct.map(|part| part / 100.0),
        bursts: crate::random::DurationDistribution::new(
            micros(1_000.0 * load.burst_ms) as f64,
            load.variation,
        ),
        most: seconds(load.backlog_s).max(micros(4_000.0 * load.burst_ms)),
        io_mean: if load.volumes.is_empty() {
            0.0
        } else {
            mean(load.io_rate)
        },
        page_mean: mean(load.page_rate),
        volumes: load.volumes.clone(),
        cached: (load.cached_pct.clamp(0.0, 100.0) / 100.0 * 4_294_967_296.0) as u64,
        profile: profile.map(|(at, high)| (seconds(*at), *high)).collect(),
    }
}

/// CP time per virtual time that simulation of instructions takes.
#[must_use]
pub fn simulation(load: &crate::scenario::Load) -> Ratio {
    Ratio::from_f64(load.simulation_rate * load.simulation_cost_us / 1e6)
}
