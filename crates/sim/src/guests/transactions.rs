//! Transactions: arrival, think time, and the steps between them.

use super::POLL_INTERVAL;
use crate::io::Request;
use crate::random::DurationDistribution;
use crate::scenario::Step;
use crate::state::{NO_INDEX, height};
use crate::time::{MICROSECOND, Ticks};
use crate::world::World;

impl World {
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
                let user = self.users_of[system].start + users[at % users.len()] as usize;
                let mean = 1_000.0 * cpu_ms * MICROSECOND as f64;
                let work = DurationDistribution::new(mean, *variation);
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
                self.enqueue(number, user);
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
                let mean = 1_000.0 * delay_ms * MICROSECOND as f64;
                let delay = DurationDistribution::new(mean, *variation);
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
                Some(self.users_of[system].start + *user as usize)
            }
            Step::Delay { .. } => None,
        }
    }

    fn enqueue(&mut self, number: usize, user: usize) {
        let user = self.present_user(user);
        let state = &mut self.users[user];
        state.queue.push_back(number as u32);
        if state.logged_on && state.idle != 0 {
            // Where CPI is time it matters which one: all of them, in turn, as they are processors of Linux or guests.
            let later = state.idle & u128::MAX.checked_shl(state.turn).unwrap_or(0);
            let first = if later == 0 { state.idle } else { later };
            let number = first.trailing_zeros();
            if self.counting.paces.is_some() {
                state.turn = number + 1;
            }
            let v = state.first + number;
            self.wake(v as usize);
        }
    }

    pub(super) fn cpu_step_over(&mut self, number: usize) {
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
        if user.is_some() {
            self.charge_io(vcpu, system, volume);
        }
        self.start_io(system, volume, request, cpu);
    }

    pub(super) fn io_step_over(&mut self, number: usize) {
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
}
