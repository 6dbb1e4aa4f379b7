//! The character of memory references on a machine: misses by the power law of caches.

/// Lines of 256 bytes in a MiB.
pub(crate) const LINES_PER_MIB: f64 = 4_096.0;

/// The character of memory references on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Profile {
    pub(crate) shared: f64,
    /// Cycles per instruction without misses, and with those of a virtual CPU alone on the machine.
    pub(crate) perfect: f64,
    pub(crate) alone: f64,
    /// L1 misses per instruction, and how fast misses grow with `1/√S`.
    pub(crate) l1_misses: f64,
    pub(crate) slope: f64,
    pub(crate) footprint: f64,
    pub(crate) of_footprint: f64,
    /// Lines that are used again after a move.
    pub(crate) kept: f64,
    /// Cryptographic functions per cycle, and the part of time that they take.
    pub(crate) crypto: f64,
    pub(crate) crypto_busy: f64,
}

impl Profile {
    /// Misses per instruction beyond a cache, from `1/√S` of its size.
    pub(crate) fn beyond(&self, of_size: f64) -> f64 {
        (self.slope * (of_size - self.of_footprint)).clamp(0.0, self.l1_misses)
    }

    /// Cycles per instruction of a virtual CPU alone on the machine.
    #[must_use]
    pub const fn cycles_alone(&self) -> f64 {
        self.alone
    }

    /// Mean misses per instruction beyond a cache with so much of its lines, in MiB, over the next instructions: each line that
    /// misses comes to it, until all of it or of the footprint is there.
    pub(crate) fn filling(&self, held: f64, size: f64, instructions: f64) -> f64 {
        let most = size.min(self.footprint);
        let at_end = self.beyond(1.0 / most.sqrt());
        if held >= most {
            return at_end;
        }
        let at_first = self.beyond(1.0 / held.sqrt());
        let per_instruction = 1.5 * self.slope / LINES_PER_MIB;
        let begin = held * held.sqrt();
        let full = (most * most.sqrt() - begin) / per_instruction;
        let lines = if instructions < full {
            two_thirds_power(begin + per_instruction * instructions) - held
        } else {
            most - held + (instructions - full) * at_end / LINES_PER_MIB
        };
        let mean = lines * LINES_PER_MIB / instructions;
        // Without the part of the law that depends on the footprint, the mean is too large near its end.
        if mean < at_first {
            mean.max(at_end)
        } else {
            at_first
        }
    }
}

/// A power, of square roots, which are the same on every machine.
fn two_thirds_power(base: f64) -> f64 {
    if base <= 0.0 {
        return 0.0;
    }
    // 2/3 is nearly 1/2 + 1/8 + 1/32 + 1/128; a step of Newton's method does the rest.
    let mut guess = 1.0;
    let mut part = base;
    for _ in 0..4 {
        part = part.sqrt();
        guess *= part;
        part = part.sqrt();
    }
    (2.0 * guess + base * base / (guess * guess)) / 3.0
}
