//! SET RESERVED: frames that CP leaves a user, within the limit of the system.

use super::Memory;
use crate::storage::PAGES;

impl Memory {
    /// Reserves frames for a user from now on; what other spaces have reserved stays theirs.
    pub fn set_reserved(&mut self, user: usize, mib: f64) {
        self.spaces[user].reserve = 0.0;
        let left = self.reserve_limit - self.reserved();
        self.spaces[user].reserve = (mib * PAGES).min(left.max(0.0));
    }

    /// Reserved frames of users and segments.
    pub fn reserved(&self) -> f64 {
        self.spaces.iter().map(|space| space.reserve).sum()
    }
}
