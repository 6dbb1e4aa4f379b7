//! The parts that users and CPU pools have of all processors.

use crate::scenario::Share;
use crate::state::NO_INDEX;
use crate::time::Ratio;
use crate::world::World;

impl World {
    /// The parts that users have of all processors, as their shares say now.
    pub(crate) fn set_shares(&mut self, system: usize) {
        let users = self.users_of[system].clone();
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
                        Share::Absolute(share) => absolute += share,
                        Share::Relative(share) => relative += f64::from(share),
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
                    Share::Absolute(share) => share * scale,
                    Share::Relative(share) => rest * f64::from(share) / relative,
                } / 100.0;
                let vcpus = user.vcpus();
                let spec = &self.scenario.systems[system].users[user.number as usize];
                if let (Some(maximum), true) = (spec.maximum, user.limit != NO_INDEX) {
                    let maximum = match maximum {
                        Share::Absolute(share) => share,
                        Share::Relative(share) => rest * f64::from(share) / relative.max(1.0),
                    };
                    let rate = Ratio::from_f64(maximum / 100.0 * online);
                    let limit = user.limit as usize;
                    self.limits[limit].limiter.change(rate, self.now);
                }
                let each = part / vcpus.len().max(1) as f64 * online;
                for vcpu in &mut self.vcpus[vcpus] {
                    vcpu.pace = Ratio::from_f64(1.0 / each.max(1e-9));
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
