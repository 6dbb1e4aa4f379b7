//! Random numbers by named streams, the same on every machine.
//!
//! A stream depends on the seed and its name only, so adding a guest leaves the numbers of the others as they
//! were. The generator is xoshiro256++ (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators",
//! 2021), seeded by SplitMix64 from an FNV-1a hash of the name.

use crate::time::Ticks;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// The stream of a name under a seed.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut mixed = hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let state = [(); 4].map(|()| {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = mixed;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        });
        Self { state }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let shifted = b << 17;
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ shifted, d.rotate_left(45)];
        result
    }

    /// A number above 0 and at most 1, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / 9_007_199_254_740_992.0
    }

    /// An integer below `bound`; 0 if `bound` is 0. Bias is below 2^-32 for bounds of up to 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -ln(self.unit())
    }
}

/// Steps of the table of logarithms between two powers of two.
const STEPS: usize = 128;
/// Of the middle of each step: one over it, and its logarithm.
static LOGARITHMS: [(f64, f64); STEPS] = {
    let mut table = [(0.0, 0.0); STEPS];
    let mut step = 0;
    while step < STEPS {
        let middle = 1.0 + (step as f64 + 0.5) / STEPS as f64;
        table[step] = (1.0 / middle, ln_of_mantissa(middle));
        step += 1;
    }
    table
};

/// The natural logarithm of a number of 1 to 2, as 2 atanh((x - 1) / (x + 1)).
const fn ln_of_mantissa(x: f64) -> f64 {
    let ratio = (x - 1.0) / (x + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    let mut odd = 35.0;
    while odd >= 1.0 {
        sum = sum * square + 1.0 / odd;
        odd -= 2.0;
    }
    2.0 * ratio * sum
}

/// The natural logarithm of a positive normal number by exactly rounded operations only, so that it is the
/// same on every machine; the error is below 1e-14.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1_023;
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let (inverse, logarithm) = LOGARITHMS[(bits >> 45) as usize % STEPS];
    // ln (1 + r) as its series; r is at most 2^-8.
    let r = mantissa * inverse - 1.0;
    let square = r * r;
    let high = 1.0 / 3.0 - 0.25 * r + square * (0.2 - r / 6.0);
    let series = r - square * 0.5 + square * r * high;
    exponent as f64 * core::f64::consts::LN_2 + (logarithm + series)
}

/// A distribution of spans by mean and squared coefficient of variation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DurationDistribution {
    /// Always the same.
    Constant(Ticks),
    /// A sum of `phases` exponential spans of this mean each (Erlang).
    Erlang {
        /// Number of phases; 1 is the exponential distribution.
        phases: u32,
        /// Mean of each, in ticks.
        mean: f64,
    },
    /// One of two exponential distributions with balanced means.
    Hyperexponential {
        /// Probability of the first.
        first: f64,
        /// Means of both, in ticks.
        means: [f64; 2],
    },
}

impl DurationDistribution {
    /// The distribution with this mean in ticks and this squared coefficient of variation: 0 is constant, 1 is
    /// exponential, in between the nearest Erlang distribution, above the hyperexponential one with balanced means.
    #[must_use]
    pub fn new(mean: f64, variation: f64) -> Self {
        if variation <= 0.0 || mean <= 0.0 {
            return Self::Constant((mean + 0.5) as Ticks);
        }
        if variation <= 1.0 {
            let phases = ((1.0 / variation + 0.5) as u32).clamp(1, 1_000);
            return Self::Erlang {
                phases,
                mean: mean / f64::from(phases),
            };
        }
        let first = 0.5 * (1.0 + ((variation - 1.0) / (variation + 1.0)).sqrt());
        Self::Hyperexponential {
            first,
            means: [mean / (2.0 * first), mean / (2.0 * (1.0 - first))],
        }
    }

    /// A span of at least one tick.
    pub fn sample(&self, stream: &mut Stream) -> Ticks {
        let span = match *self {
            Self::Constant(span) => return span.max(1),
            Self::Erlang { phases, mean } => {
                let mut sum = 0.0;
                for _ in 0..phases {
                    sum += stream.exponential();
                }
                sum * mean
            }
            Self::Hyperexponential { first, means } => {
                let mean = if stream.unit() <= first {
                    means[0]
                } else {
                    means[1]
                };
                stream.exponential() * mean
            }
        };
        ((span + 0.5) as Ticks).max(1)
    }
}
