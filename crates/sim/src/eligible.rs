//! The eligible list: users wait in it until the working sets of those in the dispatch list leave enough storage.
//!
//! All users are of class 3. One may enter while the working sets, its own included, fit into STORBUF, or if
//! the dispatch list is empty; with QUICKDSP always. It leaves the dispatch list when it was idle for a time, or
//! when its elapsed time slice ends while others wait. The longest wait ends first.

use crate::state::{Eligible, VcpuState};
use crate::time::{NEVER, micros, seconds};
use crate::world::{EventKind, RecordedEvent, World};

/// KiB per MiB.
const KIB: f64 = 1_024.0;

impl World {
    /// The eligible list of each system; `None` where all users fit at the same time.
    pub(crate) fn start_eligible(&mut self) {
        for (index, system) in self.scenario.systems.iter().enumerate() {
            let room = (system.storage_mib * KIB * system.cp.storbuf_pct / 100.0) as u64;
            let all: u64 = system.users.iter().map(working_set).sum();
            let eligible = (all > room).then(|| Eligible {
                room,
                used: 0,
                waiting: Default::default(),
                slice: seconds(system.cp.eligible_slice_s).max(1),
                test_idle: micros(1_000.0 * system.cp.test_idle_ms).max(1),
                slot: self.slots.eligible + index as u32,
            });
            self.eligible.push(eligible);
        }
    }

    fn storage(&self, user: usize) -> u64 {
        let state = &self.users[user];
        working_set(&self.scenario.systems[state.system as usize].users[state.number as usize])
    }

    /// Whether a virtual CPU that has work must wait in the eligible list; it then does.
    pub(crate) fn must_wait(&mut self, v: usize) -> bool {
        let user = self.vcpus[v].user as usize;
        let system = self.users[user].system as usize;
        if self.eligible[system].is_none() || self.users[user].listed != NEVER {
            return false;
        }
        if self.users[user].eligible == NEVER {
            self.drop_idle(system);
            if self.fits(user) {
                self.enter_list(user);
                return false;
            }
            self.users[user].eligible = self.now;
            if let Some(eligible) = &mut self.eligible[system] {
                eligible.waiting.push_back(user as u32);
            }
            self.look_again(system);
        }
        self.settle_state(v);
        self.vcpus[v].state = VcpuState::Eligible;
        true
    }

    fn fits(&self, user: usize) -> bool {
        let state = &self.users[user];
        let spec = &self.scenario.systems[state.system as usize].users[state.number as usize];
        let Some(eligible) = &self.eligible[state.system as usize] else {
            return true;
        };
        spec.quick_dispatch
            || eligible.used == 0
            || eligible.waiting.is_empty() && eligible.used + working_set(spec) <= eligible.room
    }

    fn enter_list(&mut self, user: usize) {
        let storage = self.storage(user);
        let now = self.now;
        let state = &mut self.users[user];
        state.listed = now;
        state.eligible = NEVER;
        if let Some(eligible) = &mut self.eligible[state.system as usize] {
            eligible.used += storage;
        }
    }

    /// A user leaves both lists.
    pub(crate) fn leave_lists(&mut self, user: usize) {
        let storage = self.storage(user);
        let state = &mut self.users[user];
        let Some(eligible) = &mut self.eligible[state.system as usize] else {
            return;
        };
        if state.listed != NEVER {
            eligible.used -= storage;
        }
        state.listed = NEVER;
        state.eligible = NEVER;
        eligible.waiting.retain(|waiting| *waiting != user as u32);
    }

    /// Since when a user has had nothing to do, if it has not.
    fn idle_since(&self, user: usize) -> Option<u64> {
        let state = &self.users[user];
        let vcpus = &self.vcpus[state.vcpus()];
        let idle = vcpus.iter().all(|vcpu| vcpu.state == VcpuState::Idle);
        idle.then(|| vcpus.iter().map(|vcpu| vcpu.since).max().unwrap_or(0))
    }

    /// Reports the end of a user's transaction once it has been idle for as long as CP waits for more to do.
    pub(crate) fn tell_transaction_end(&mut self, user: usize) {
        let state = &self.users[user];
        let system = &self.scenario.systems[state.system as usize];
        if !state.active || !system.transaction_ends {
            return;
        }
        let test_idle = micros(1_000.0 * system.cp.test_idle_ms).max(1);
        let Some(at) = self.idle_since(user).map(|since| since + test_idle) else {
            return;
        };
        if at > self.now {
            return;
        }
        let vcpus = &self.vcpus[state.vcpus()];
        let used = vcpus.iter().map(|vcpu| (vcpu.times, vcpu.counts)).collect();
        self.happened.push(RecordedEvent {
            at,
            system: state.system,
            what: EventKind::TransactionEnd(user as u32, used),
        });
        self.users[user].active = false;
    }

    /// Takes those out of the dispatch list that were idle long enough.
    fn drop_idle(&mut self, system: usize) {
        let Some(test_idle) = self.eligible[system].as_ref().map(|of| of.test_idle) else {
            return;
        };
        for user in self.users_of[system].clone() {
            if self.users[user].listed != NEVER
                && self
                    .idle_since(user)
                    .is_some_and(|since| since + test_idle <= self.now)
            {
                self.leave_lists(user);
            }
        }
    }

    /// Takes those out of the dispatch list whose elapsed time slice is over; they wait for their next turn.
    fn end_slices(&mut self, system: usize) {
        let Some(slice) = self.eligible[system].as_ref().map(|of| of.slice) else {
            return;
        };
        for number in self.users_of[system].clone() {
            let user = &self.users[number];
            let spec = &self.scenario.systems[system].users[user.number as usize];
            if user.listed == NEVER || user.listed + slice > self.now || spec.quick_dispatch {
                continue;
            }
            let vcpus = user.vcpus();
            self.leave_lists(number);
            let mut waits = false;
            for v in vcpus {
                if matches!(
                    self.vcpus[v].state,
                    VcpuState::Ready | VcpuState::Running | VcpuState::Limited
                ) {
                    self.withdraw(v, VcpuState::Eligible);
                    waits = true;
                }
            }
            if waits {
                self.users[number].eligible = self.now;
                if let Some(eligible) = &mut self.eligible[system] {
                    eligible.waiting.push_back(number as u32);
                }
            }
        }
    }

    /// Users leave the dispatch list, and others enter it.
    pub(crate) fn review_lists(&mut self, system: usize) {
        self.drop_idle(system);
        self.end_slices(system);
        loop {
            let Some(eligible) = &self.eligible[system] else {
                return;
            };
            let Some(first) = eligible.waiting.front().copied() else {
                break;
            };
            let user = first as usize;
            if eligible.used > 0 && eligible.used + self.storage(user) > eligible.room {
                break;
            }
            if let Some(eligible) = &mut self.eligible[system] {
                eligible.waiting.pop_front();
            }
            self.enter_list(user);
            for v in self.users[user].vcpus() {
                if self.vcpus[v].state == VcpuState::Eligible {
                    self.make_ready(v);
                }
            }
        }
        self.look_again(system);
    }

    /// Sets the event of the next change, as long as users wait.
    fn look_again(&mut self, system: usize) {
        let Some(eligible) = &self.eligible[system] else {
            return;
        };
        let slot = eligible.slot;
        if eligible.waiting.is_empty() {
            self.schedule(slot, NEVER);
            return;
        }
        let (slice, test_idle) = (eligible.slice, eligible.test_idle);
        let mut next = NEVER;
        for user in self.users_of[system].clone() {
            let listed = self.users[user].listed;
            if listed == NEVER {
                continue;
            }
            let number = self.users[user].number as usize;
            let over = if self.scenario.systems[system].users[number].quick_dispatch {
                NEVER
            } else {
                listed.saturating_add(slice)
            };
            // One that is not idle now may be so right away.
            let idle = self.idle_since(user).unwrap_or(self.now) + test_idle;
            next = next.min(over.max(self.now + 1)).min(idle.max(self.now + 1));
        }
        self.schedule(slot, next);
    }

    /// Users of a system in the eligible list.
    pub fn in_eligible_list(&self, system: usize) -> u64 {
        self.eligible[system]
            .as_ref()
            .map_or(0, |eligible| eligible.waiting.len() as u64)
    }
}

fn working_set(user: &crate::scenario::User) -> u64 {
    (user.working_set_mib.min(user.storage_mib) * KIB) as u64
}
