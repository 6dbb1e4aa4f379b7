//! What operators do at their times: logon and logoff, shares, pools, processors; other settings.

use crate::event_queue::Schedule;
use crate::scenario::Action;
use crate::state::{CpuState, Task, VcpuState};
use crate::time::{NEVER, Ticks, seconds};
use crate::world::{EventKind, RecordedEvent, World};

impl World {
    /// The next command of a system.
    pub(crate) fn command(&mut self, system: usize) {
        let commands = &self.scenario.systems[system].commands;
        let Some(command) = commands.get(self.next_command[system]) else {
            return;
        };
        let action = command.action.clone();
        let first = self.users_of[system].start;
        self.next_command[system] += 1;
        self.schedule_command(system);
        match action {
            Action::Logon { user } => self.logon(first + user as usize),
            Action::Logoff { user } => self.logoff(first + user as usize),
            Action::VaryOn { core } => self.vary(system, core, true),
            Action::VaryOff { core } => self.vary(system, core, false),
            Action::SetShare { user, share } => {
                let user = first + user as usize;
                self.users[user].share = share;
                self.set_shares(system);
                self.log_event(system, EventKind::Share(user as u32));
            }
            Action::SetMultithread { kind, threads } => self.set_threads(system, kind, threads),
            Action::SetPool { user, pool } => {
                let number = first + user as usize;
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
            Action::SetReserved { user, reserve_mib } => {
                if let Some(memory) = &mut self.memory[system] {
                    memory.set_reserved(user as usize, reserve_mib);
                }
                self.scenario.systems[system].users[user as usize].reserve_mib = reserve_mib;
            }
            Action::SetSrmUnparking { model } => {
                self.scenario.systems[system].cp.unparking.model = model;
                self.set_unparking(system);
            }
            Action::SetSrmExcessuse { excess_pct } => {
                self.scenario.systems[system].cp.unparking.excess_pct = excess_pct;
                self.set_unparking(system);
            }
            Action::SetPagingAlias { on } => {
                let mut schedule = Schedule::new(&mut self.events, self.io_slots[system]);
                let servers = &mut self.storage_servers;
                self.io[system].set_paging_alias(self.now, on, servers, &mut schedule);
            }
            Action::SetPagingHpf { on } => self.io[system].set_paging_hpf(on),
            Action::SetCu {
                control_unit,
                shares,
            } => {
                let unit = control_unit as usize;
                self.io[system].set_alias_shares(unit, shares);
                self.scenario.systems[system].control_units[unit].shares = Some(shares);
            }
            Action::SetWeight { kind, weights } => self.set_weights(kind, &weights),
            Action::SetCap {
                partition,
                kind,
                cap,
            } => self.set_cap(partition, kind, cap),
            Action::SetCapability { capability } => self.set_capability(capability),
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
        let (system, vcpus) = (user.system as usize, user.vcpus());
        let own = user.number as usize;
        if let Some(memory) = &mut self.memory[system] {
            memory.logon(own);
        }
        self.set_shares(system);
        for v in vcpus {
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
        let (system, vcpus) = (user.system as usize, user.vcpus());
        let mut used = Vec::with_capacity(vcpus.len());
        for v in vcpus {
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
            vcpu.fault = Default::default();
            used.push((vcpu.times, vcpu.counts));
        }
        self.leave_lists(number);
        let own = &self.users[number];
        if let Some(memory) = &mut self.memory[system] {
            let vcpus = own.vcpus();
            memory.waiting.retain(|v| !vcpus.contains(&(*v as usize)));
            memory.logoff(own.number as usize);
        }
        let progress: Ticks = used.iter().map(|(times, _)| self.progress(times)).sum();
        self.users[number].earlier += progress;
        self.users[number].logged_on = false;
        self.users[number].active = false;
        self.users[number].idle = 0;
        self.set_shares(system);
        self.log_event(system, EventKind::Logoff(number as u32, used));
    }

    /// The rules of unparking have changed; the next decision follows them.
    fn set_unparking(&mut self, system: usize) {
        if let Some(parking) = &mut self.parking[system] {
            let rules = &self.scenario.systems[system].cp.unparking;
            parking.unparker.set_rules(rules);
        }
        self.log_event(system, EventKind::Settings);
    }

    pub(super) fn vary(&mut self, system: usize, core: u32, on: bool) {
        let cores = &self.cores_of[system];
        let number = cores.start + core as usize;
        if !cores.contains(&number) || self.cores[number].online == on {
            return;
        }
        if on {
            self.activate(number);
            for cpu in self.threads_of(number) {
                self.since_vary[cpu] = (self.cpus[cpu].times, self.cpus[cpu].counts);
            }
        } else {
            // The last one stays.
            let core = &self.cores[number];
            if self.pools[core.pool as usize].online <= core.threads {
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

    pub(super) fn set_threads(&mut self, system: usize, kind: u8, threads: u32) {
        for number in self.cores_of[system].clone() {
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
                self.since_vary[cpu] = (self.cpus[cpu].times, self.cpus[cpu].counts);
            }
            if online && !parked {
                self.activate(number);
            }
        }
        self.set_shares(system);
        let types = 0..self.scenario.machine.types.len();
        let now = types.map(|kind| {
            let mut cores = self.cores[self.cores_of[system].clone()].iter();
            let own = cores.find(|core| self.kind_of(core.share) == kind);
            own.map_or(1, |core| core.threads)
        });
        let what = EventKind::Threads(now.collect());
        self.log_event(system, what);
    }
}
