//! Instructions that CP simulates for guests, as fixed parts of their number.
//!
//! Every count is a part of another one, rounded down, so counts never step back and parts never exceed their
//! whole.

use crate::scenario::Instructions;

/// Counts of kinds of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub diagnose: u64,
    /// DIAGNOSE X'44'.
    pub diagnose_44: u64,
    /// Those on the fast path.
    pub fast_44: u64,
    /// DIAGNOSE X'9C'.
    pub diagnose_9c: u64,
    /// Those whose target is dispatched.
    pub dispatched: u64,
    /// DIAGNOSE that asks for I/O.
    pub diagnose_io: u64,
    /// All others, counted as DIAGNOSE X'10'.
    pub diagnose_other: u64,
    pub sigp: u64,
    /// Those on the fast path.
    pub fast_sigp: u64,
    pub lpswe: u64,
}

impl Counts {
    /// Splits a number of instructions by kind.
    pub fn new(parts: &Instructions, simulated: u64) -> Self {
        let diagnose = part(simulated, parts.diagnose_pct);
        let diagnose_44 = part(diagnose, parts.diagnose_44_pct);
        let diagnose_9c = part(diagnose, parts.diagnose_9c_pct);
        let other_pct =
            100.0 - parts.diagnose_44_pct - parts.diagnose_9c_pct - parts.diagnose_io_pct;
        let sigp = part(simulated, parts.sigp_pct);
        Self {
            diagnose,
            diagnose_44,
            fast_44: part(diagnose_44, parts.fast_pct),
            diagnose_9c,
            dispatched: part(diagnose_9c, parts.dispatched_pct),
            diagnose_io: part(diagnose, parts.diagnose_io_pct),
            diagnose_other: part(diagnose, other_pct),
            sigp,
            fast_sigp: part(sigp, parts.fast_pct),
            lpswe: part(simulated, parts.lpswe_pct),
        }
    }

    /// Both together.
    pub const fn and(self, other: Self) -> Self {
        Self {
            diagnose: self.diagnose + other.diagnose,
            diagnose_44: self.diagnose_44 + other.diagnose_44,
            fast_44: self.fast_44 + other.fast_44,
            diagnose_9c: self.diagnose_9c + other.diagnose_9c,
            dispatched: self.dispatched + other.dispatched,
            diagnose_io: self.diagnose_io + other.diagnose_io,
            diagnose_other: self.diagnose_other + other.diagnose_other,
            sigp: self.sigp + other.sigp,
            fast_sigp: self.fast_sigp + other.fast_sigp,
            lpswe: self.lpswe + other.lpswe,
        }
    }
}

/// A part of a count, rounded down.
pub fn part(count: u64, percent: f64) -> u64 {
    let ratio = (percent.clamp(0.0, 100.0) / 100.0 * 4_294_967_296.0 + 0.5) as u64;
    ((u128::from(count) * u128::from(ratio)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_never_exceed_total_or_step_back() {
        let parts = Instructions {
            diagnose_pct: 30.0,
            diagnose_44_pct: 25.0,
            diagnose_9c_pct: 50.0,
            diagnose_io_pct: 15.0,
            dispatched_pct: 100.0,
            sigp_pct: 10.0,
            lpswe_pct: 60.0,
            fast_pct: 33.0,
        };
        let mut before = Counts::default();
        for simulated in 0..2_000 {
            let now = Counts::new(&parts, simulated);
            assert!(now.diagnose + now.sigp + now.lpswe <= simulated);
            let codes = now.diagnose_44 + now.diagnose_9c + now.diagnose_io + now.diagnose_other;
            assert!((codes..codes + 4).contains(&now.diagnose));
            assert_eq!(now.dispatched, now.diagnose_9c);
            assert!(now.fast_44 <= now.diagnose_44 && now.fast_sigp <= now.sigp);
            assert!(now.diagnose >= before.diagnose && now.fast_44 >= before.fast_44);
            before = now;
        }
        assert_eq!(before.diagnose, 599);
    }
}
