//! Simulated time: TOD clock units, 4,096 to the microsecond, as unsigned integers.

/// A moment or a span in TOD clock units.
pub type Ticks = u64;

/// One microsecond.
pub const MICROSECOND: Ticks = 4_096;
/// One second.
pub const SECOND: Ticks = 1_000_000 * MICROSECOND;
/// A moment that is never reached.
pub const NEVER: Ticks = Ticks::MAX;

/// A span given in microseconds, rounded to the nearest unit; what is not a positive number is 0.
#[must_use]
pub fn micros(us: f64) -> Ticks {
    ticks(us * MICROSECOND as f64)
}

/// A span given in seconds, rounded to the nearest unit; what is not a positive number is 0.
#[must_use]
pub fn seconds(s: f64) -> Ticks {
    ticks(s * SECOND as f64)
}

/// Rounds without going through platform functions; casts saturate.
fn ticks(value: f64) -> Ticks {
    (value + 0.5) as Ticks
}

/// A ratio with 32 fraction bits, for arithmetic on spans that is the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u64);

impl Ratio {
    /// One.
    pub const ONE: Self = Self(1 << 32);
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// The nearest ratio; what is not a positive number is 0, and 4 billion is the most.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self((value * 4_294_967_296.0 + 0.5) as u64)
    }

    /// The ratio of two numbers; by zero it is the largest ratio.
    #[must_use]
    pub fn new(over: u64, under: u64) -> Self {
        match (u128::from(over) << 32).checked_div(u128::from(under)) {
            Some(ratio) => Self(u64::try_from(ratio).unwrap_or(u64::MAX)),
            None => Self(u64::MAX),
        }
    }

    /// The product of two ratios, rounded down.
    #[must_use]
    pub fn scaled_by(self, other: Self) -> Self {
        Self(self.times(other.0))
    }

    /// A span times this ratio, rounded down.
    #[must_use]
    pub fn times(self, span: Ticks) -> Ticks {
        if self == Self::ONE {
            return span;
        }
        let product = (u128::from(span) * u128::from(self.0)) >> 32;
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// The shortest span whose product with this ratio is at least `span`; without end if it is 0.
    #[must_use]
    pub fn divide(self, span: Ticks) -> Ticks {
        if self == Self::ONE {
            return span;
        }
        if self.0 == 0 {
            return NEVER;
        }
        let quotient = (u128::from(span) << 32).div_ceil(u128::from(self.0));
        u64::try_from(quotient).unwrap_or(NEVER)
    }

    /// Whether it is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// As a floating-point number, for reports.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }
}
